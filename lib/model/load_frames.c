/* load_frames.c -- lists of frame dicts to stacks that share their callers. */
#include "base/status.h"
#include "model/load.h"

static enum msnap_status load_frame(struct msnap_loader *ld, msnap_cell c, const char *what, uint32_t *out,
                                    struct msnap_error *err)
{
    if (msnap_cell_kind(c) != MSNAP_KIND_DICT)
        return msnap_load_wrong(ld, what, "frames", c, "a list of dicts", err);
    struct msnap_obj *o = msnap_pickle_obj(ld->pk, c);
    if (o->aux) { /* the same dict stands in many stacks */
        *out = o->aux;
        return MSNAP_OK;
    }
    uint32_t name = 0, filename = 0, fx[4] = {0};
    int64_t line = 0;
    uint64_t bits;
    bool has_fx = false;
    for (uint32_t i = 0; i + 1 < o->n; i += 2) {
        msnap_cell k = o->items[i], v = o->items[i + 1];
        uint32_t key = msnap_cell_kind(k) == MSNAP_KIND_STR ? msnap_cell_index(k) : 0;
        uint32_t text = msnap_cell_kind(v) == MSNAP_KIND_STR ? msnap_cell_index(v) : 0;
        switch (key) {
        case MSNAP_KEY_NAME:
        case MSNAP_KEY_FILENAME:
            if (msnap_cell_kind(v) != MSNAP_KIND_STR)
                msnap_store_odd(ld->st, MSNAP_ODD_frame_text, 0);
            *(key == MSNAP_KEY_NAME ? &name : &filename) = text;
            break;
        case MSNAP_KEY_LINE:
            if (!msnap_value_bits64(ld->pk, v, &bits))
                return msnap_load_wrong(ld, what, "line", v, "an integer", err);
            if (msnap_value_i64(ld->pk, v, &line))
                line = line == MSNAP_LINE_U64_MAX ? line - 1 : line;
            else
                line = MSNAP_LINE_U64_MAX;
            break;
        case MSNAP_KEY_FX_NODE_OP:
        case MSNAP_KEY_FX_NODE_NAME:
        case MSNAP_KEY_FX_NODE_TARGET:
        case MSNAP_KEY_FX_ORIGINAL_TRACE:
            fx[key - MSNAP_KEY_FX_NODE_OP] = text;
            has_fx = has_fx || text;
            break;
        default: msnap_store_odd(ld->st, MSNAP_ODD_unknown_key, key ? key : 0);
        }
    }
    uint32_t id = msnap_store_frame(ld->st, name, filename, line, has_fx ? fx : NULL);
    if (!id)
        return msnap_load_no_memory(ld, err);
    *out = o->aux = id;
    return MSNAP_OK;
}

enum msnap_status msnap_load_stack(struct msnap_loader *ld, msnap_cell frames, const char *what, uint32_t *out,
                                   struct msnap_error *err)
{
    if (msnap_cell_kind(frames) == MSNAP_KIND_NONE) {
        *out = MSNAP_STACK_NONE;
        return MSNAP_OK;
    }
    if (!msnap_value_is_sequence(frames))
        return msnap_load_wrong(ld, what, "frames", frames, "a list", err);
    uint32_t stack = MSNAP_STACK_EMPTY;
    struct msnap_obj *o = NULL;
    if (msnap_cell_kind(frames) != MSNAP_KIND_EMPTY_LIST) {
        o = msnap_pickle_obj(ld->pk, frames);
        if (o->role != MSNAP_ROLE_NONE && o->role != MSNAP_ROLE_SHARED)
            return msnap_load_wrong(ld, what, "frames", frames, "a list of dicts", err);
        if (o->aux) {
            *out = o->aux;
            return MSNAP_OK;
        }
        for (uint32_t i = o->n; i-- > 0;) { /* outermost first, so that callers are shared */
            uint32_t frame = 0;
            enum msnap_status st = load_frame(ld, o->items[i], what, &frame, err);
            if (st != MSNAP_OK)
                return st;
            stack = msnap_store_stack(ld->st, stack, frame);
            if (!stack)
                return msnap_load_no_memory(ld, err);
        }
    }
    msnap_store_stack_used(ld->st, stack);
    if (o)
        o->aux = stack;
    *out = stack;
    return MSNAP_OK;
}
