/* load_entry.c -- one trace entry's keys to the event columns. */
#include "base/status.h"
#include "model/load.h"

#include <inttypes.h>
#include <string.h>

/* No allocator hands out more: PyTorch refuses requests from 2^60 bytes on. */
#define MAX_SIZE (UINT64_C(1) << 60)

enum msnap_status msnap_load_stream(struct msnap_loader *ld, msnap_cell c, const char *what, uint32_t *out,
                                    struct msnap_error *err)
{
    uint64_t raw;
    if (!msnap_value_bits64(ld->pk, c, &raw))
        return msnap_load_wrong(ld, what, "stream", c, "an integer", err);
    uint32_t id = msnap_store_stream(ld->st, (int64_t)raw);
    if (id == UINT32_MAX)
        return ld->st->streams.n >= 4096
                   ? msnap_fail_at(err, MSNAP_ELIMIT, MSNAP_BYTE, msnap_source_offset(ld->pk->src),
                                   "more than 4095 streams; no real program has that many, the file is damaged")
                   : msnap_load_no_memory(ld, err);
    ld->last_stream_cell = c;
    ld->last_stream = *out = id;
    return MSNAP_OK;
}

enum msnap_status msnap_load_pool(struct msnap_loader *ld, msnap_cell c, const char *what, uint32_t *out,
                                  struct msnap_error *err)
{
    int64_t a, b;
    if (c == ld->last_pool_cell && ld->last_pool) {
        *out = ld->last_pool;
        return MSNAP_OK;
    }
    const msnap_cell *items = msnap_value_is_sequence(c) && msnap_value_length(ld->pk, c) == 2 ? msnap_value_items(ld->pk, c) : NULL;
    if (!items || !msnap_value_i64(ld->pk, items[0], &a) || !msnap_value_i64(ld->pk, items[1], &b))
        return msnap_load_wrong(ld, what, "pool id", c, "a pair of integers", err);
    uint32_t id = msnap_store_pool(ld->st, a, b);
    if (id == UINT32_MAX)
        return msnap_load_no_memory(ld, err);
    ld->last_pool_cell = c;
    ld->last_pool = *out = id;
    return MSNAP_OK;
}

static enum msnap_status set_action(struct msnap_loader *ld, uint32_t row, msnap_cell v, struct msnap_error *err)
{
    if (msnap_cell_kind(v) != MSNAP_KIND_STR)
        return msnap_load_wrong(ld, "trace entry", "action", v, "a string", err);
    uint8_t a = msnap_store_action(ld->st, msnap_cell_index(v));
    if (a >= MSNAP_N_ACTIONS || a == 0)
        msnap_store_odd(ld->st, MSNAP_ODD_unknown_action, msnap_cell_index(v));
    ld->st->events.action[row] = a;
    return MSNAP_OK;
}

static enum msnap_status set_size(struct msnap_loader *ld, uint32_t row, msnap_cell v, struct msnap_error *err)
{
    struct msnap_event_columns *e = &ld->st->events;
    uint64_t size;
    if (!msnap_value_u64(ld->pk, v, &size))
        return msnap_load_wrong(ld, "trace entry", "size", v, "a number of bytes", err);
    if (size > MAX_SIZE || size >= (UINT64_C(1) << 63) - e->sum)
        return msnap_fail_at(err, MSNAP_EDATA, MSNAP_BYTE, msnap_source_offset(ld->pk->src),
                             "a trace entry of %" PRIu64 " bytes (or their sum) is beyond what any device can hold; "
                             "the file is damaged", size);
    e->sum += size - e->size[row];
    e->size[row] = size;
    e->has[row] |= MSNAP_HAS_SIZE;
    return MSNAP_OK;
}

/* Strings joined without separator: formatted traceback lines. */
static enum msnap_status set_forward_frames(struct msnap_loader *ld, uint32_t row, msnap_cell v, struct msnap_error *err)
{
    struct msnap_store *st = ld->st;
    if (!msnap_value_is_list(v)) {
        msnap_store_odd(st, MSNAP_ODD_ignored_value, MSNAP_KEY_FORWARD_FRAMES);
        return MSNAP_OK;
    }
    size_t n = msnap_value_length(ld->pk, v), total = 0;
    const msnap_cell *items = msnap_value_items(ld->pk, v);
    const uint32_t *len = st->strings.len.data;
    if (n == 0 || !items)
        return MSNAP_OK;
    struct msnap_obj *o = msnap_pickle_obj(ld->pk, v);
    if (!o->aux) {
        for (size_t i = 0; i < n; i++) {
            if (msnap_cell_kind(items[i]) != MSNAP_KIND_STR) {
                msnap_store_odd(st, MSNAP_ODD_ignored_value, MSNAP_KEY_FORWARD_FRAMES);
                return MSNAP_OK;
            }
            total += len[msnap_cell_index(items[i])];
        }
        char *text = st->mem.resize(st->mem.ctx, NULL, 0, total + 1);
        if (!text)
            return msnap_load_no_memory(ld, err);
        size_t at = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t id = msnap_cell_index(items[i]);
            memcpy(text + at, MSNAP_VEC_AT(&st->strings.bytes, const char *, id), len[id]);
            at += len[id];
        }
        o->aux = msnap_intern_add(&st->strings, text, total);
        msnap_mem_release(st->mem, text, total + 1);
        if (!o->aux)
            return msnap_load_no_memory(ld, err);
    }
    return msnap_store_set_sparse(st, row, &st->events.forward_frames, o->aux) ? MSNAP_OK : msnap_load_no_memory(ld, err);
}

/* Rare keys: their values are strings in every known version. */
static enum msnap_status set_text(struct msnap_loader *ld, uint32_t row, uint32_t key, msnap_cell v, struct msnap_error *err)
{
    struct msnap_store *st = ld->st;
    bool ok = true;
    if (msnap_cell_kind(v) != MSNAP_KIND_STR) {
        msnap_store_odd(st, MSNAP_ODD_ignored_value, key);
        return MSNAP_OK;
    }
    uint32_t id = msnap_cell_index(v);
    if (key == MSNAP_KEY_COMPILE_CONTEXT)
        ok = msnap_store_set_context(st, row, &st->events.compile_context, &st->events.all_compile_context, id);
    else
        ok = msnap_store_set_context(st, row, &st->events.user_metadata, &st->events.all_user_metadata, id);
    return ok ? MSNAP_OK : msnap_load_no_memory(ld, err);
}

enum msnap_status msnap_load_entry(void *ctx, struct msnap_pickle *pk, uint32_t *row_io, const msnap_cell *pairs,
                                   size_t n, struct msnap_error *err)
{
    struct msnap_loader *ld = ctx;
    struct msnap_store *st = ld->st;
    struct msnap_event_columns *e = &st->events;
    enum msnap_status s = MSNAP_OK;
    uint32_t row = *row_io;
    uint64_t v;
    int64_t i;
    if (row == MSNAP_NEW_ROW) {
        row = msnap_store_add_event(st);
        if (row == UINT32_MAX)
            return msnap_load_no_memory(ld, err);
        *row_io = row;
    }
    for (size_t k = 0; k < n && s == MSNAP_OK; k += 2) {
        msnap_cell value = pairs[k + 1];
        uint32_t key = msnap_cell_kind(pairs[k]) == MSNAP_KIND_STR ? msnap_cell_index(pairs[k]) : 0;
        switch (key) {
        case MSNAP_KEY_ACTION:
            if (value >= MSNAP_CELL(MSNAP_KIND_STR, MSNAP_KEY_A_ALLOC) && value <= MSNAP_CELL(MSNAP_KIND_STR, MSNAP_KEY_A_USER_DEFINED))
                e->action[row] = (uint8_t)(msnap_cell_index(value) - MSNAP_KEY_A_ALLOC + MSNAP_ALLOC);
            else
                s = set_action(ld, row, value, err);
            break;
        case MSNAP_KEY_ADDR:
        case MSNAP_KEY_DEVICE_FREE:
            if (msnap_cell_kind(value) == MSNAP_KIND_INT)
                v = (uint64_t)msnap_cell_int(value);
            else if (!msnap_value_bits64(pk, value, &v))
                return msnap_load_wrong(ld, "trace entry", key == MSNAP_KEY_ADDR ? "addr" : "device_free", value, "an integer", err);
            e->addr[row] = v;
            e->has[row] |= key == MSNAP_KEY_ADDR ? MSNAP_HAS_ADDR : MSNAP_HAS_DEVICE_FREE;
            break;
        case MSNAP_KEY_SIZE: s = set_size(ld, row, value, err); break;
        case MSNAP_KEY_STREAM:
            if (value == ld->last_stream_cell && ld->last_stream)
                e->stream[row] = ld->last_stream;
            else
                s = msnap_load_stream(ld, value, "trace entry", &e->stream[row], err);
            e->has[row] |= MSNAP_HAS_STREAM;
            break;
        case MSNAP_KEY_TIME_US:
            if (msnap_cell_kind(value) == MSNAP_KIND_INT)
                i = msnap_cell_int(value);
            else if (!msnap_value_i64(pk, value, &i))
                return msnap_load_wrong(ld, "trace entry", "time_us", value, "an integer", err);
            e->time_us[row] = i;
            e->has[row] |= MSNAP_HAS_TIME;
            break;
        case MSNAP_KEY_FRAMES:
            if (msnap_cell_kind(value) == MSNAP_KIND_LIST && msnap_pickle_obj(pk, value)->role == MSNAP_ROLE_SHARED &&
                msnap_pickle_obj(pk, value)->aux)
                e->stack[row] = msnap_pickle_obj(pk, value)->aux;
            else
                s = msnap_load_stack(ld, value, "trace entry", &e->stack[row], err);
            e->has[row] |= MSNAP_HAS_STACK;
            break;
        case MSNAP_KEY_COMPILE_CONTEXT:
            if (!e->compile_context && row && value == MSNAP_CELL(MSNAP_KIND_STR, e->all_compile_context))
                break;
            s = set_text(ld, row, key, value, err);
            break;
        case MSNAP_KEY_USER_METADATA:
            if (!e->user_metadata && row && value == MSNAP_CELL(MSNAP_KIND_STR, e->all_user_metadata))
                break;
            s = set_text(ld, row, key, value, err); break;
        case MSNAP_KEY_POOL_ID: {
            uint32_t pool;
            s = msnap_load_pool(ld, value, "trace entry", &pool, err);
            if (s == MSNAP_OK && !msnap_store_set_sparse(st, row, &e->pool, pool))
                return msnap_load_no_memory(ld, err);
            break;
        }
        case MSNAP_KEY_FORWARD_FRAMES: s = set_forward_frames(ld, row, value, err); break;
        case MSNAP_KEY_CATEGORY: msnap_store_odd(st, MSNAP_ODD_profiler_category, 0); break;
        case MSNAP_KEY_INTERNAL_METADATA:
        case MSNAP_KEY_CPP_FRAMES: break; /* text for people; nothing is computed from it */
        default: msnap_store_odd(st, MSNAP_ODD_unknown_key, key);
        }
    }
    return s;
}

#define SLOT(key) (MSNAP_KEY_##key - MSNAP_KEY_ACTION)
#define BIT(key) (UINT32_C(1) << SLOT(key))
#define USUAL (BIT(ACTION) | BIT(ADDR) | BIT(SIZE) | BIT(STREAM) | BIT(TIME_US))

/* An entry of 2.2 or later with its usual values in their usual form; false: the general way. */
static inline bool load_usual(struct msnap_loader *ld, struct msnap_pickle *pk, uint32_t *row_out, const msnap_cell s[],
                              uint32_t mask)
{
    struct msnap_store *st = ld->st;
    struct msnap_event_columns *e = &st->events;
    msnap_cell action = s[SLOT(ACTION)], addr = s[SLOT(ADDR)], size = s[SLOT(SIZE)], time = s[SLOT(TIME_US)];
    uint32_t stack = MSNAP_STACK_NONE;
    uint8_t has = MSNAP_HAS_ADDR | MSNAP_HAS_SIZE | MSNAP_HAS_STREAM | MSNAP_HAS_TIME;
    if ((mask & USUAL) != USUAL || mask & ~(USUAL | BIT(FRAMES) | BIT(COMPILE_CONTEXT) | BIT(USER_METADATA)) ||
        action < MSNAP_CELL(MSNAP_KIND_STR, MSNAP_KEY_A_ALLOC) || action > MSNAP_CELL(MSNAP_KIND_STR, MSNAP_KEY_A_USER_DEFINED) ||
        msnap_cell_kind(addr) != MSNAP_KIND_INT || msnap_cell_kind(size) != MSNAP_KIND_INT ||
        msnap_cell_kind(time) != MSNAP_KIND_INT || s[SLOT(STREAM)] != ld->last_stream_cell || e->pool || e->forward_frames ||
        e->compile_context || e->user_metadata || e->n == 0)
        return false;
    if ((mask & BIT(COMPILE_CONTEXT) && s[SLOT(COMPILE_CONTEXT)] != MSNAP_CELL(MSNAP_KIND_STR, e->all_compile_context)) ||
        (mask & BIT(USER_METADATA) && s[SLOT(USER_METADATA)] != MSNAP_CELL(MSNAP_KIND_STR, e->all_user_metadata)))
        return false;
    int64_t bytes = msnap_cell_int(size);
    if (bytes < 0 || (uint64_t)bytes > MAX_SIZE || (uint64_t)bytes >= (UINT64_C(1) << 63) - e->sum)
        return false;
    if (mask & BIT(FRAMES)) {
        msnap_cell frames = s[SLOT(FRAMES)];
        if (msnap_cell_kind(frames) == MSNAP_KIND_EMPTY_LIST) {
            if (!MSNAP_VEC_AT(&st->stacks.used, uint8_t, MSNAP_STACK_EMPTY))
                return false;
            stack = MSNAP_STACK_EMPTY;
        } else if (msnap_cell_kind(frames) == MSNAP_KIND_LIST && msnap_pickle_obj(pk, frames)->role == MSNAP_ROLE_SHARED) {
            stack = msnap_pickle_obj(pk, frames)->aux;
            if (!stack)
                return false;
        } else {
            return false;
        }
        has |= MSNAP_HAS_STACK;
    }
    if (e->n == e->cap) {
        if (msnap_store_add_event(st) == UINT32_MAX)
            return false;
        e->n--;
    }
    size_t row = e->n++;
    e->action[row] = (uint8_t)(msnap_cell_index(action) - MSNAP_KEY_A_ALLOC + MSNAP_ALLOC);
    e->has[row] = has;
    e->addr[row] = (uint64_t)msnap_cell_int(addr);
    e->size[row] = (uint64_t)bytes;
    e->sum += (uint64_t)bytes;
    e->time_us[row] = msnap_cell_int(time);
    e->stream[row] = ld->last_stream;
    e->stack[row] = stack;
    *row_out = (uint32_t)row;
    return true;
}

enum msnap_status msnap_load_slots(void *ctx, struct msnap_pickle *pk, uint32_t *row, const msnap_cell slots[],
                                   uint32_t mask, struct msnap_error *err)
{
    if (load_usual(ctx, pk, row, slots, mask))
        return MSNAP_OK;
    msnap_cell pairs[2 * MSNAP_N_SLOTS];
    size_t n = 0;
    for (uint32_t k = 0; k < MSNAP_N_SLOTS; k++)
        if (mask >> k & 1) {
            pairs[n++] = MSNAP_CELL(MSNAP_KIND_STR, MSNAP_KEY_ACTION + k);
            pairs[n++] = slots[k];
        }
    return msnap_load_entry(ctx, pk, row, pairs, n, err);
}
