/* load_state.c -- segments and their blocks, of every version. */
#include "base/status.h"
#include "model/load.h"

#include <inttypes.h>

/* A device's segments can never add up to this. */
#define MAX_TOTAL (UINT64_C(1) << 62)

static enum msnap_status bytes_of(struct msnap_loader *ld, msnap_cell v, const char *what, const char *key, uint64_t *out,
                                  struct msnap_error *err)
{
    if (!msnap_value_u64(ld->pk, v, out))
        return msnap_load_wrong(ld, what, key, v, "a number of bytes", err);
    return MSNAP_OK;
}

static enum msnap_status too_large(struct msnap_loader *ld, const char *what, uint64_t v, struct msnap_error *err)
{
    return msnap_load_damaged(ld, err, "%s of %" PRIu64 " bytes (or their sum) is beyond what any device can hold; the file is damaged", what, v);
}

struct block {
    uint64_t address, size, requested;
    uint32_t stack;
    uint8_t state;
    bool has_address, has_requested;
};

/* `history` (1.13 and 2.0): element 0 of an active block is the live allocation. */
static enum msnap_status load_history(struct msnap_loader *ld, msnap_cell v, struct block *b, struct msnap_error *err)
{
    if (!msnap_value_is_list(v))
        return msnap_load_wrong(ld, "block", "history", v, "a list", err);
    if (msnap_value_length(ld->pk, v) == 0)
        return MSNAP_OK;
    msnap_cell first = msnap_value_items(ld->pk, v) ? msnap_value_items(ld->pk, v)[0] : 0;
    if (msnap_cell_kind(first) != MSNAP_KIND_DICT)
        return msnap_load_wrong(ld, "block", "history", first, "a list of dicts", err);
    const struct msnap_obj *o = msnap_pickle_obj(ld->pk, first);
    for (uint32_t i = 0; i + 1 < o->n; i += 2) {
        uint32_t key = msnap_cell_kind(o->items[i]) == MSNAP_KIND_STR ? msnap_cell_index(o->items[i]) : 0;
        enum msnap_status s = MSNAP_OK;
        uint64_t real;
        if (key == MSNAP_KEY_REAL_SIZE) {
            s = bytes_of(ld, o->items[i + 1], "block", "real_size", &real, err);
            if (s == MSNAP_OK && !b->has_requested) {
                b->requested = real;
                b->has_requested = true;
            }
        } else if (key == MSNAP_KEY_FRAMES && !b->stack) {
            s = msnap_load_stack(ld, o->items[i + 1], "block", &b->stack, err);
        }
        if (s != MSNAP_OK)
            return s;
    }
    return MSNAP_OK;
}

static uint8_t state_of(struct msnap_loader *ld, msnap_cell v)
{
    switch (msnap_cell_kind(v) == MSNAP_KIND_STR ? msnap_cell_index(v) : 0) {
    case MSNAP_KEY_ACTIVE_ALLOCATED: return MSNAP_BLOCK_ALLOCATED;
    case MSNAP_KEY_ACTIVE_PENDING_FREE:
    case MSNAP_KEY_ACTIVE_AWAITING_FREE: return MSNAP_BLOCK_PENDING;
    case MSNAP_KEY_INACTIVE: return MSNAP_BLOCK_INACTIVE;
    default:
        msnap_store_odd(ld->st, MSNAP_ODD_unknown_state, msnap_cell_kind(v) == MSNAP_KIND_STR ? msnap_cell_index(v) : 0);
        return MSNAP_BLOCK_UNKNOWN;
    }
}

static enum msnap_status add_block(struct msnap_loader *ld, const struct block *b, uint32_t segment, struct msnap_error *err)
{
    struct msnap_store *st = ld->st;
    bool ok = MSNAP_VEC_PUSH(&st->blocks.address, st->mem, uint64_t, b->address) &&
              MSNAP_VEC_PUSH(&st->blocks.size, st->mem, uint64_t, b->size) &&
              MSNAP_VEC_PUSH(&st->blocks.requested_size, st->mem, uint64_t, b->requested) &&
              MSNAP_VEC_PUSH(&st->blocks.state, st->mem, uint8_t, b->state) &&
              MSNAP_VEC_PUSH(&st->blocks.stack, st->mem, uint32_t, b->stack) &&
              MSNAP_VEC_PUSH(&st->blocks.segment, st->mem, uint32_t, segment);
    return ok ? MSNAP_OK : msnap_load_no_memory(ld, err);
}

static enum msnap_status load_block(struct msnap_loader *ld, msnap_cell c, uint32_t segment, uint64_t *next_address,
                                    struct msnap_error *err)
{
    if (msnap_cell_kind(c) != MSNAP_KIND_DICT)
        return msnap_load_wrong(ld, "block", NULL, c, "a dict", err);
    const struct msnap_obj *o = msnap_pickle_obj(ld->pk, c);
    struct block b = {.address = *next_address};
    enum msnap_status s = msnap_load_work(ld, o->n, err);
    msnap_cell history = 0;
    for (uint32_t i = 0; i + 1 < o->n && s == MSNAP_OK; i += 2) {
        msnap_cell v = o->items[i + 1];
        uint32_t key = msnap_cell_kind(o->items[i]) == MSNAP_KIND_STR ? msnap_cell_index(o->items[i]) : 0;
        switch (key) {
        case MSNAP_KEY_ADDRESS:
        case MSNAP_KEY_ADDR:
            if (!msnap_value_bits64(ld->pk, v, &b.address))
                return msnap_load_wrong(ld, "block", "address", v, "an integer", err);
            b.has_address = true;
            break;
        case MSNAP_KEY_SIZE: s = bytes_of(ld, v, "block", "size", &b.size, err); break;
        case MSNAP_KEY_REQUESTED_SIZE:
            s = bytes_of(ld, v, "block", "requested_size", &b.requested, err);
            b.has_requested = true;
            break;
        case MSNAP_KEY_STATE: b.state = state_of(ld, v); break;
        case MSNAP_KEY_FRAMES: s = msnap_load_stack(ld, v, "block", &b.stack, err); break;
        case MSNAP_KEY_HISTORY: history = v; break;
        case MSNAP_KEY_FORWARD_FRAMES:
        case MSNAP_KEY_CPP_FRAMES: break;
        case MSNAP_KEY_CATEGORY: msnap_store_odd(ld->st, MSNAP_ODD_profiler_category, 0); break;
        default: msnap_store_odd(ld->st, MSNAP_ODD_unknown_key, key);
        }
    }
    if (s == MSNAP_OK && history && (b.state == MSNAP_BLOCK_ALLOCATED || b.state == MSNAP_BLOCK_PENDING))
        s = load_history(ld, history, &b, err);
    if (s != MSNAP_OK)
        return s;
    if (!b.has_requested && b.state != MSNAP_BLOCK_INACTIVE)
        b.requested = b.size;
    if (b.size > MAX_TOTAL || b.address > UINT64_MAX - b.size)
        return too_large(ld, "a block", b.size, err);
    *next_address = b.address + b.size;
    return add_block(ld, &b, segment, err);
}

static enum msnap_status load_segment(struct msnap_loader *ld, msnap_cell c, bool host, uint64_t *total, struct msnap_error *err)
{
    struct msnap_store *st = ld->st;
    if (msnap_cell_kind(c) != MSNAP_KIND_DICT)
        return msnap_load_wrong(ld, "segment", NULL, c, "a dict", err);
    const struct msnap_obj *o = msnap_pickle_obj(ld->pk, c);
    uint64_t address = 0, total_size = 0, allocated = 0, active = 0, requested = 0;
    uint32_t stream = 0, pool = 0, stack = 0, row = (uint32_t)st->segments.device.n;
    uint8_t type = MSNAP_SEGMENT_UNKNOWN, expandable = 0, state = 0;
    int64_t device = host ? MSNAP_HOST : 0, flag;
    bool has_total = false, has_allocated = false, has_active = false, has_requested = false;
    msnap_cell blocks = MSNAP_CELL(MSNAP_KIND_EMPTY_LIST, 0);
    bool has_blocks = false, has_address = false;
    enum msnap_status s = msnap_load_work(ld, o->n, err);
    for (uint32_t i = 0; i + 1 < o->n && s == MSNAP_OK; i += 2) {
        msnap_cell v = o->items[i + 1];
        uint32_t key = msnap_cell_kind(o->items[i]) == MSNAP_KIND_STR ? msnap_cell_index(o->items[i]) : 0;
        switch (key) {
        case MSNAP_KEY_DEVICE:
            if (!msnap_value_i64(ld->pk, v, &device) || device < 0 || device > 65535)
                return msnap_load_wrong(ld, "segment", "device", v, "a device number", err);
            break;
        case MSNAP_KEY_ADDRESS:
        case MSNAP_KEY_ADDR:
            if (!msnap_value_bits64(ld->pk, v, &address))
                return msnap_load_wrong(ld, "segment", "address", v, "an integer", err);
            has_address = true;
            break;
        case MSNAP_KEY_TOTAL_SIZE:
        case MSNAP_KEY_SIZE:
            s = bytes_of(ld, v, "segment", "total_size", &total_size, err);
            has_total = true;
            break;
        case MSNAP_KEY_ALLOCATED_SIZE:
            s = bytes_of(ld, v, "segment", "allocated_size", &allocated, err);
            has_allocated = true;
            break;
        case MSNAP_KEY_ACTIVE_SIZE:
            s = bytes_of(ld, v, "segment", "active_size", &active, err);
            has_active = true;
            break;
        case MSNAP_KEY_REQUESTED_SIZE:
            s = bytes_of(ld, v, "segment", "requested_size", &requested, err);
            has_requested = true;
            break;
        case MSNAP_KEY_STREAM: s = msnap_load_stream(ld, v, "segment", &stream, err); break;
        case MSNAP_KEY_SEGMENT_TYPE:
            type = v == MSNAP_CELL(MSNAP_KIND_STR, MSNAP_KEY_SMALL)   ? MSNAP_SEGMENT_SMALL
                   : v == MSNAP_CELL(MSNAP_KIND_STR, MSNAP_KEY_LARGE) ? MSNAP_SEGMENT_LARGE
                                                                      : MSNAP_SEGMENT_UNKNOWN;
            break;
        case MSNAP_KEY_SEGMENT_POOL_ID:
        case MSNAP_KEY_POOL_ID: s = msnap_load_pool(ld, v, "segment", &pool, err); break;
        case MSNAP_KEY_IS_EXPANDABLE: expandable = msnap_value_i64(ld->pk, v, &flag) && flag; break;
        case MSNAP_KEY_FRAMES: s = msnap_load_stack(ld, v, "segment", &stack, err); break;
        case MSNAP_KEY_BLOCKS:
            if (!msnap_value_is_list(v) || (msnap_cell_kind(v) == MSNAP_KIND_LIST && msnap_pickle_obj(ld->pk, v)->role != MSNAP_ROLE_NONE))
                return msnap_load_wrong(ld, "segment", "blocks", v, "a list", err);
            blocks = v;
            has_blocks = true;
            break;
        case MSNAP_KEY_STATE: state = state_of(ld, v); break;
        case MSNAP_KEY_ALLOCATED:
            if (msnap_value_i64(ld->pk, v, &flag) && flag)
                state = MSNAP_BLOCK_ALLOCATED;
            break;
        case MSNAP_KEY_ACTIVE:
            if (msnap_value_i64(ld->pk, v, &flag) && state == 0)
                state = flag ? MSNAP_BLOCK_PENDING : MSNAP_BLOCK_INACTIVE;
            break;
        default: msnap_store_odd(st, MSNAP_ODD_unknown_key, key);
        }
    }
    if (s != MSNAP_OK)
        return s;
    uint32_t first_block = (uint32_t)st->blocks.address.n;
    if (!has_blocks && host) {
        struct block b = {.address = address, .size = total_size, .requested = total_size, .state = state, .stack = stack};
        if ((s = add_block(ld, &b, row, err)) != MSNAP_OK)
            return s;
    }
    size_t n = msnap_value_length(ld->pk, blocks);
    const msnap_cell *items = msnap_value_items(ld->pk, blocks);
    uint64_t next = address;
    if (n > UINT32_MAX / 2 - st->blocks.address.n)
        return msnap_load_no_memory(ld, err);
    if (!has_address)
        msnap_store_odd(st, MSNAP_ODD_no_address, 0);
    ld->item = "block";
    for (ld->item_index = 0; ld->item_index < n; ld->item_index++)
        if ((s = load_block(ld, items[ld->item_index], row, &next, err)) != MSNAP_OK)
            return s;
    ld->item = NULL;
    uint64_t sum = 0, sum_allocated = 0, sum_active = 0, sum_requested = 0;
    for (size_t i = first_block; i < st->blocks.address.n; i++) {
        uint64_t size = MSNAP_VEC_AT(&st->blocks.size, uint64_t, i);
        uint8_t bs = MSNAP_VEC_AT(&st->blocks.state, uint8_t, i);
        if (size > MAX_TOTAL - sum)
            return too_large(ld, "a block", size, err);
        sum += size;
        if (bs == MSNAP_BLOCK_ALLOCATED)
            sum_allocated += size;
        if (bs == MSNAP_BLOCK_ALLOCATED || bs == MSNAP_BLOCK_PENDING) {
            sum_active += size;
            uint64_t r = MSNAP_VEC_AT(&st->blocks.requested_size, uint64_t, i);
            sum_requested += r > size ? size : r;
        }
    }
    if (!has_total)
        total_size = sum;
    if (total_size != sum)
        msnap_store_odd(st, MSNAP_ODD_segment_sum, 0);
    if (total_size > MAX_TOTAL - *total || address > UINT64_MAX - total_size)
        return too_large(ld, "a segment", total_size, err);
    *total += total_size;
    bool ok = MSNAP_VEC_PUSH(&st->segments.device, st->mem, int32_t, (int32_t)device) &&
              MSNAP_VEC_PUSH(&st->segments.address, st->mem, uint64_t, address) &&
              MSNAP_VEC_PUSH(&st->segments.total_size, st->mem, uint64_t, total_size) &&
              MSNAP_VEC_PUSH(&st->segments.allocated_size, st->mem, uint64_t, has_allocated ? allocated : sum_allocated) &&
              MSNAP_VEC_PUSH(&st->segments.active_size, st->mem, uint64_t, has_active ? active : sum_active) &&
              MSNAP_VEC_PUSH(&st->segments.requested_size, st->mem, uint64_t, has_requested ? requested : sum_requested) &&
              MSNAP_VEC_PUSH(&st->segments.stream, st->mem, uint32_t, stream) &&
              MSNAP_VEC_PUSH(&st->segments.pool, st->mem, uint32_t, pool) &&
              MSNAP_VEC_PUSH(&st->segments.stack, st->mem, uint32_t, stack) &&
              MSNAP_VEC_PUSH(&st->segments.type, st->mem, uint8_t, type) &&
              MSNAP_VEC_PUSH(&st->segments.is_expandable, st->mem, uint8_t, expandable) &&
              MSNAP_VEC_PUSH(&st->segments.first_block, st->mem, uint32_t, first_block) &&
              MSNAP_VEC_PUSH(&st->segments.n_blocks, st->mem, uint32_t, (uint32_t)(st->blocks.address.n - first_block));
    return ok ? MSNAP_OK : msnap_load_no_memory(ld, err);
}

enum msnap_status msnap_load_segments(struct msnap_loader *ld, msnap_cell list, bool host, struct msnap_error *err)
{
    const char *key = host ? "host_segments" : "segments";
    if (!msnap_value_is_list(list) || (msnap_cell_kind(list) == MSNAP_KIND_LIST && msnap_pickle_obj(ld->pk, list)->role != MSNAP_ROLE_NONE))
        return msnap_load_wrong(ld, "snapshot", key, list, "a list", err);
    size_t n = msnap_value_length(ld->pk, list);
    const msnap_cell *items = msnap_value_items(ld->pk, list);
    uint64_t total = 0;
    enum msnap_status s = MSNAP_OK;
    ld->part = host ? "host segment" : "segment";
    for (ld->part_index = 0; ld->part_index < n && s == MSNAP_OK; ld->part_index++)
        s = load_segment(ld, items[ld->part_index], host, &total, err);
    ld->part = NULL;
    return s;
}
