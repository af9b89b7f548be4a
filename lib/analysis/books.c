/* books.c -- blocks, segments and totals of one device, moved by one event at a time. */
#include "analysis/books.h"

#include <string.h>

#define WORK ((uint64_t)1 << 28)

void msnap_fault_note(struct msnap_fault_log *log, enum msnap_fault_id id, uint32_t event, uint64_t addr)
{
    if (log && log->count[id]++ == 0) {
        log->event[id] = event;
        log->addr[id] = addr;
    }
}

static void fault(struct msnap_books *b, enum msnap_fault_id id, uint64_t addr) { msnap_fault_note(b->faults, id, b->event, addr); }

uint32_t msnap_books_find(const struct msnap_books *b, uint64_t addr) { return msnap_addrmap_find(&b->map, addr); }

/* ---- blocks ---- */

static uint32_t new_block(struct msnap_books *b, struct msnap_books_block v)
{
    uint32_t id = b->unused_block;
    if (id) {
        b->unused_block = msnap_books_block_at(b, id)->next;
    } else {
        if (b->blocks.n >= UINT32_MAX - 1 || !MSNAP_VEC_PUSH(&b->blocks, b->mem, struct msnap_books_block, v)) {
            b->out_of_memory = true;
            return 0;
        }
        id = (uint32_t)(b->blocks.n - 1);
    }
    *msnap_books_block_at(b, id) = v;
    if (!msnap_addrmap_insert(&b->map, b->mem, v.addr, id)) {
        b->out_of_memory = true;
        return 0;
    }
    return id;
}

static void drop_block(struct msnap_books *b, uint32_t id)
{
    struct msnap_books_block *v = msnap_books_block_at(b, id);
    msnap_addrmap_remove(&b->map, v->addr, id);
    *v = (struct msnap_books_block){.next = b->unused_block, .is_free_slot = true, .row = BOOKS_NO_ROW};
    b->unused_block = id;
}

uint32_t msnap_books_segment_of(const struct msnap_books *b, uint32_t segment)
{
    while (segment && msnap_books_segment_at(b, segment)->merged_into)
        segment = msnap_books_segment_at(b, segment)->merged_into;
    return segment;
}

static struct msnap_books_segment *segment_of(const struct msnap_books *b, const struct msnap_books_block *v)
{
    return msnap_books_segment_at(b, msnap_books_segment_of(b, v->segment));
}

/* Cuts a block in two; the rear part is a new free block. Returns the rear part's id. */
static uint32_t cut_block(struct msnap_books *b, uint32_t id, uint64_t front_size)
{
    struct msnap_books_block v = *msnap_books_block_at(b, id);
    uint32_t rear = new_block(b, (struct msnap_books_block){.addr = v.addr + front_size, .size = v.size - front_size,
                                                      .prev = id, .next = v.next, .segment = v.segment,
                                                      .row = BOOKS_NO_ROW, .state = BOOKS_FREE});
    if (!rear)
        return 0;
    msnap_books_block_at(b, id)->size = front_size;
    msnap_books_block_at(b, id)->next = rear;
    if (v.next)
        msnap_books_block_at(b, v.next)->prev = rear;
    else if (v.segment)
        segment_of(b, &v)->last = rear;
    return rear;
}

/* Joins a block with its successor; the successor's id is gone. */
static void join_next(struct msnap_books *b, uint32_t id)
{
    struct msnap_books_block *v = msnap_books_block_at(b, id);
    uint32_t gone = v->next;
    struct msnap_books_block *n = msnap_books_block_at(b, gone);
    v->size += n->size;
    v->next = n->next;
    if (n->next)
        msnap_books_block_at(b, n->next)->prev = id;
    else if (v->segment)
        segment_of(b, v)->last = id;
    drop_block(b, gone);
}

static bool spend(struct msnap_books *b, uint64_t steps)
{
    if (b->work_left < steps) {
        b->work_left = 0;
        return false;
    }
    b->work_left -= steps;
    return true;
}

static uint32_t search_segment(struct msnap_books *b, uint32_t segment, uint64_t addr)
{
    const struct msnap_books_segment *g = msnap_books_segment_at(b, segment);
    if (g->gone || addr < g->addr || addr - g->addr >= g->size)
        return 0;
    for (uint32_t id = g->first; id && spend(b, 1); id = msnap_books_block_at(b, id)->next) {
        const struct msnap_books_block *v = msnap_books_block_at(b, id);
        if (addr >= v->addr && addr - v->addr < v->size)
            return id;
    }
    return 0;
}

/* The block that contains an address, by search; 0: none. Expandable ranges come first: giving
 * back pages needs this, all else only what should not happen. */
static uint32_t containing(struct msnap_books *b, uint64_t addr)
{
    uint32_t id = 0;
    for (size_t i = 0; i < b->ranges.n && !id && spend(b, 1); i++)
        id = search_segment(b, MSNAP_VEC_AT(&b->ranges, uint32_t, i), addr);
    for (size_t s = 1; s < b->segments.n && !id && spend(b, 1); s++)
        id = search_segment(b, (uint32_t)s, addr);
    return id;
}

/* ---- segments ---- */

static uint32_t new_segment(struct msnap_books *b, uint64_t addr, uint64_t size, struct msnap_books_kind kind)
{
    struct msnap_books_segment g = {.addr = addr, .size = size, .stream = kind.stream, .pool = kind.pool,
                              .small = kind.small, .expandable = kind.expandable};
    uint32_t id = (uint32_t)b->segments.n;
    if (b->segments.n >= UINT32_MAX - 1 || !MSNAP_VEC_PUSH(&b->segments, b->mem, struct msnap_books_segment, g)) {
        b->out_of_memory = true;
        return 0;
    }
    if (kind.expandable && !MSNAP_VEC_PUSH(&b->ranges, b->mem, uint32_t, id)) {
        b->out_of_memory = true;
        return 0;
    }
    uint32_t block = new_block(b, (struct msnap_books_block){.addr = addr, .size = size, .segment = id, .row = BOOKS_NO_ROW});
    msnap_books_segment_at(b, id)->first = msnap_books_segment_at(b, id)->last = block;
    return block ? id : 0;
}

/* Takes a segment out. Live blocks in it stay in the totals, as blocks outside every segment. */
static void remove_segment(struct msnap_books *b, uint32_t id)
{
    struct msnap_books_segment *g = msnap_books_segment_at(b, id);
    for (uint32_t v = g->first, next; v; v = next) {
        struct msnap_books_block *block = msnap_books_block_at(b, v);
        next = block->next;
        if (block->state == BOOKS_FREE) {
            drop_block(b, v);
        } else {
            block->segment = block->prev = block->next = 0;
        }
    }
    g->first = g->last = 0;
    g->gone = true;
}

/* A block that stands in the way of new memory at its address: its segment must be gone, though
 * no event said so. */
static void make_way(struct msnap_books *b, uint64_t addr)
{
    uint32_t id = msnap_books_find(b, addr);
    if (!id)
        return;
    fault(b, MSNAP_FAULT_segment_alloc_overlaps, addr);
    struct msnap_books_block *v = msnap_books_block_at(b, id);
    uint32_t segment = msnap_books_segment_of(b, v->segment);
    if (segment) {
        struct msnap_books_segment *g = msnap_books_segment_at(b, segment);
        b->totals.reserved -= g->size;
        msnap_family_down(b->counters, MSNAP_BYTES_RESERVED, g->small, g->size);
        remove_segment(b, segment);
    }
}

uint32_t msnap_books_add_segment(struct msnap_books *b, uint64_t addr, uint64_t size, struct msnap_books_kind kind)
{
    make_way(b, addr);
    b->totals.reserved += size;
    if (b->counters) {
        if (!kind.expandable)
            msnap_family_up(b->counters, MSNAP_COUNT_SEGMENT, kind.small, 1);
        msnap_family_up(b->counters, MSNAP_BYTES_RESERVED, kind.small, size);
        if (!kind.expandable && size >= b->config.max_split)
            msnap_count_up(&b->counters->oversize_segments, 1);
        b->counters->device_allocs++;
    }
    return new_segment(b, addr, size, kind);
}

void msnap_books_drop_segment(struct msnap_books *b, uint64_t addr, uint64_t size)
{
    uint32_t id = msnap_books_find(b, addr), segment = id ? msnap_books_segment_of(b, msnap_books_block_at(b, id)->segment) : 0;
    if (b->counters)
        b->counters->device_frees++;
    if (!segment || msnap_books_segment_at(b, segment)->addr != addr) {
        fault(b, MSNAP_FAULT_segment_free_unknown, addr);
        return;
    }
    struct msnap_books_segment *g = msnap_books_segment_at(b, segment);
    const struct msnap_books_block *v = msnap_books_block_at(b, id);
    if (v->state != BOOKS_FREE || v->prev || v->next || g->size != size)
        fault(b, MSNAP_FAULT_segment_free_unknown, addr);
    b->totals.reserved -= g->size;
    if (!g->expandable)
        msnap_family_down(b->counters, MSNAP_COUNT_SEGMENT, g->small, 1);
    msnap_family_down(b->counters, MSNAP_BYTES_RESERVED, g->small, g->size);
    if (b->counters && g->size >= b->config.max_split)
        msnap_count_down(&b->counters->oversize_segments, 1);
    remove_segment(b, segment);
}

/* The expandable range that ends (or begins) at an address; there are few at any time. */
static uint32_t range_at(struct msnap_books *b, uint64_t addr, bool ending)
{
    uint32_t *ranges = b->ranges.data;
    for (size_t i = 0; i < b->ranges.n && spend(b, 1);) {
        const struct msnap_books_segment *g = msnap_books_segment_at(b, ranges[i]);
        if (g->gone) {
            ranges[i] = ranges[--b->ranges.n];
            continue;
        }
        if ((ending ? g->addr + g->size : g->addr) == addr)
            return ranges[i];
        i++;
    }
    return 0;
}

void msnap_books_map(struct msnap_books *b, uint64_t addr, uint64_t size, struct msnap_books_kind kind)
{
    uint32_t before = range_at(b, addr, true), after = range_at(b, addr + size, false);
    make_way(b, addr);
    if (before && msnap_books_segment_at(b, before)->gone)
        before = 0;
    if (before)
        kind.small = msnap_books_segment_at(b, before)->small;
    else if (after)
        kind.small = msnap_books_segment_at(b, after)->small;
    b->totals.reserved += size;
    msnap_family_up(b->counters, MSNAP_BYTES_RESERVED, kind.small, size);
    if (b->counters)
        b->counters->device_allocs++;
    uint32_t id = new_segment(b, addr, size, kind);
    if (!id)
        return;
    uint32_t block = msnap_books_segment_at(b, id)->first;
    if (before) { /* the new range joins the one before it */
        struct msnap_books_segment *p = msnap_books_segment_at(b, before), *g = msnap_books_segment_at(b, id);
        uint32_t last = p->last;
        msnap_books_block_at(b, last)->next = block;
        msnap_books_block_at(b, block)->prev = last;
        msnap_books_block_at(b, block)->segment = before;
        p->size += size;
        p->last = block;
        g->merged_into = before;
        g->gone = true;
        if (msnap_books_block_at(b, last)->state == BOOKS_FREE) {
            join_next(b, last);
            block = last;
        }
        id = before;
    }
    after = after && !msnap_books_segment_at(b, after)->gone ? after : 0;
    if (after) {
        struct msnap_books_segment *n = msnap_books_segment_at(b, after), *g = msnap_books_segment_at(b, id);
        uint32_t first = n->first;
        msnap_books_block_at(b, block)->next = first;
        msnap_books_block_at(b, first)->prev = block;
        g->size += n->size;
        g->last = n->last;
        n->merged_into = id;
        n->gone = true;
        if (msnap_books_block_at(b, first)->state == BOOKS_FREE)
            join_next(b, block);
    }
}

void msnap_books_unmap(struct msnap_books *b, uint64_t addr, uint64_t size)
{
    if (b->counters)
        b->counters->device_frees++;
    uint32_t id = msnap_books_find(b, addr);
    if (!id)
        id = containing(b, addr);
    struct msnap_books_block *v = id ? msnap_books_block_at(b, id) : NULL;
    if (!v || !v->segment || v->state != BOOKS_FREE || addr < v->addr || size > v->size || addr - v->addr > v->size - size) {
        fault(b, MSNAP_FAULT_segment_free_unknown, addr);
        return;
    }
    uint32_t segment = msnap_books_segment_of(b, v->segment);
    bool small = msnap_books_segment_at(b, segment)->small;
    b->totals.reserved -= size;
    msnap_family_down(b->counters, MSNAP_BYTES_RESERVED, small, size);
    uint64_t front = addr - v->addr, rear = v->size - front - size;
    /* Leave [addr, addr + size) as a block of its own, then take it out of the chain. */
    uint32_t middle = front ? cut_block(b, id, front) : id;
    if (!middle || (rear && !cut_block(b, middle, size)))
        return;
    uint32_t left = msnap_books_block_at(b, middle)->prev, right = msnap_books_block_at(b, middle)->next;
    struct msnap_books_segment *g = msnap_books_segment_at(b, segment);
    uint64_t end = g->addr + g->size;
    if (left)
        msnap_books_block_at(b, left)->next = 0;
    if (right)
        msnap_books_block_at(b, right)->prev = 0;
    msnap_books_block_at(b, middle)->prev = msnap_books_block_at(b, middle)->next = 0;
    drop_block(b, middle);
    if (left && right) { /* a hole: what lies behind it is a range of its own */
        struct msnap_books_segment r = *g;
        r.addr = addr + size;
        r.size = end - r.addr;
        r.first = right;
        g->size = addr - g->addr;
        g->last = left;
        uint32_t new_id = (uint32_t)b->segments.n;
        if (!MSNAP_VEC_PUSH(&b->segments, b->mem, struct msnap_books_segment, r) ||
            !MSNAP_VEC_PUSH(&b->ranges, b->mem, uint32_t, new_id)) {
            b->out_of_memory = true;
            return;
        }
        for (uint32_t k = right; k && spend(b, 1); k = msnap_books_block_at(b, k)->next)
            msnap_books_block_at(b, k)->segment = new_id;
    } else if (left) {
        g->size = addr - g->addr;
        g->last = left;
    } else if (right) {
        g->size = end - (addr + size);
        g->addr = addr + size;
        g->first = right;
    } else {
        g->first = g->last = 0;
        g->gone = true;
    }
}

/* ---- allocations ---- */

static void merge_free(struct msnap_books *b, uint32_t id)
{
    struct msnap_books_block *v = msnap_books_block_at(b, id);
    if (v->next && msnap_books_block_at(b, v->next)->state == BOOKS_FREE)
        join_next(b, id);
    uint32_t prev = msnap_books_block_at(b, id)->prev;
    if (prev && msnap_books_block_at(b, prev)->state == BOOKS_FREE)
        join_next(b, prev);
}

static void request_free(struct msnap_books *b, struct msnap_books_block *v)
{
    v->state = BOOKS_PENDING;
    b->totals.allocated -= v->size;
    if (b->counters) {
        bool small = v->segment ? segment_of(b, v)->small : v->size <= MSNAP_SMALL_SIZE;
        msnap_family_down(b->counters, MSNAP_COUNT_ALLOCATION, small, 1);
        msnap_family_down(b->counters, MSNAP_BYTES_ALLOCATED, small, v->size);
        if (v->size >= b->config.max_split)
            msnap_count_down(&b->counters->oversize_allocations, 1);
    }
}

static void complete_free(struct msnap_books *b, uint32_t id)
{
    struct msnap_books_block *v = msnap_books_block_at(b, id);
    b->totals.active -= v->size;
    b->totals.requested -= v->requested;
    if (b->counters) {
        const struct msnap_books_segment *g = v->segment ? segment_of(b, v) : NULL;
        bool small = g ? g->small : v->size <= MSNAP_SMALL_SIZE;
        if (g && !g->expandable) { /* one net change for count and bytes each */
            int64_t count = 0, bytes = 0;
            uint64_t size = v->size;
            uint32_t left = v->prev, right = v->next;
            if (left && msnap_books_block_at(b, left)->state == BOOKS_FREE) {
                count--;
                bytes -= (int64_t)msnap_books_block_at(b, left)->size;
                size += msnap_books_block_at(b, left)->size;
                left = msnap_books_block_at(b, left)->prev;
            }
            if (right && msnap_books_block_at(b, right)->state == BOOKS_FREE) {
                count--;
                bytes -= (int64_t)msnap_books_block_at(b, right)->size;
                size += msnap_books_block_at(b, right)->size;
                right = msnap_books_block_at(b, right)->next;
            }
            if (left || right) {
                count++;
                bytes += (int64_t)size;
            }
            msnap_family_by(b->counters, MSNAP_COUNT_INACTIVE_SPLIT, small, count);
            msnap_family_by(b->counters, MSNAP_BYTES_INACTIVE_SPLIT, small, bytes);
        }
        msnap_family_down(b->counters, MSNAP_COUNT_ACTIVE, small, 1);
        msnap_family_down(b->counters, MSNAP_BYTES_ACTIVE, small, v->size);
        msnap_family_down(b->counters, MSNAP_BYTES_REQUESTED, small, v->requested);
    }
    v->state = BOOKS_FREE;
    v->row = BOOKS_NO_ROW;
    if (!v->segment)
        drop_block(b, id);
    else
        merge_free(b, id);
}

/* Makes a free block begin at an address where none does; 0 if that cannot be. */
static uint32_t open_up(struct msnap_books *b, uint64_t addr)
{
    uint32_t id = containing(b, addr);
    if (!id) {
        fault(b, MSNAP_FAULT_alloc_outside, addr);
        return 0;
    }
    struct msnap_books_block *v = msnap_books_block_at(b, id);
    uint64_t front = addr - v->addr;
    if (v->state == BOOKS_FREE) {
        fault(b, MSNAP_FAULT_alloc_misplaced, addr);
        return cut_block(b, id, front);
    }
    if (front < msnap_round_size(&b->config, v->requested)) {
        fault(b, MSNAP_FAULT_alloc_live, addr);
        return 0;
    }
    /* What was taken for an unsplit remainder had been split off: other settings held. */
    fault(b, MSNAP_FAULT_settings_contradict, addr);
    uint64_t excess = v->size - front;
    bool small = v->segment ? segment_of(b, v)->small : false;
    b->totals.active -= excess;
    msnap_family_down(b->counters, MSNAP_BYTES_ACTIVE, small, excess);
    if (v->state == BOOKS_ALLOCATED) {
        b->totals.allocated -= excess;
        msnap_family_down(b->counters, MSNAP_BYTES_ALLOCATED, small, excess);
    }
    return cut_block(b, id, front);
}

static uint32_t outside_block(struct msnap_books *b, uint64_t addr, uint64_t rounded, uint64_t requested, uint32_t row)
{
    return new_block(b, (struct msnap_books_block){.addr = addr, .size = rounded, .requested = requested, .row = row,
                                             .state = BOOKS_ALLOCATED});
}

static inline bool should_split(const struct msnap_books *b, const struct msnap_books_segment *g, uint64_t size, uint64_t rounded)
{
    uint64_t remaining = size - rounded;
    if (g->small || (b->config.known ? b->config.expandable : g->expandable))
        return remaining >= MSNAP_MIN_BLOCK;
    return rounded < b->config.max_split && remaining > MSNAP_SMALL_SIZE;
}

uint32_t msnap_books_alloc(struct msnap_books *b, uint64_t addr, uint64_t requested, uint32_t row, uint32_t *displaced)
{
    uint64_t rounded = msnap_round_size(&b->config, requested);
    uint32_t id = msnap_books_find(b, addr);
    *displaced = BOOKS_NO_ROW;
    if (id && msnap_books_block_at(b, id)->state != BOOKS_FREE) {
        /* Its free was not recorded (or its completion was not): it must be over. */
        struct msnap_books_block *v = msnap_books_block_at(b, id);
        fault(b, v->state == BOOKS_PENDING ? MSNAP_FAULT_completed_without_request : MSNAP_FAULT_alloc_live, addr);
        *displaced = v->row;
        if (v->state == BOOKS_ALLOCATED)
            request_free(b, v);
        complete_free(b, id);
        id = msnap_books_find(b, addr);
    }
    if (!id)
        id = open_up(b, addr);
    struct msnap_books_block *v = id ? msnap_books_block_at(b, id) : NULL;
    bool small;
    uint64_t size;
    if (v && v->size >= requested) {
        struct msnap_books_segment *g = segment_of(b, v);
        bool was_split = v->prev || v->next, split = false;
        small = g->small;
        size = v->size;
        if (rounded > size) {
            fault(b, MSNAP_FAULT_settings_contradict, addr);
            rounded = size;
        } else if (rounded < size && should_split(b, g, size, rounded)) {
            split = true;
            if (!cut_block(b, id, rounded))
                return 0;
            v = msnap_books_block_at(b, id);
            g = segment_of(b, v);
        }
        if (b->counters && !g->expandable) {
            if (split && was_split) {
                msnap_family_down(b->counters, MSNAP_BYTES_INACTIVE_SPLIT, small, rounded);
            } else if (split) {
                msnap_family_up(b->counters, MSNAP_BYTES_INACTIVE_SPLIT, small, size - rounded);
                msnap_family_up(b->counters, MSNAP_COUNT_INACTIVE_SPLIT, small, 1);
            } else if (was_split) {
                msnap_family_down(b->counters, MSNAP_BYTES_INACTIVE_SPLIT, small, size);
                msnap_family_down(b->counters, MSNAP_COUNT_INACTIVE_SPLIT, small, 1);
            }
        }
        size = v->size;
        v->state = BOOKS_ALLOCATED;
        v->requested = requested;
        v->row = row;
    } else {
        if (v) { /* a free block that is too small: it cannot be the one; it stays, the alloc stands beside it */
            fault(b, MSNAP_FAULT_alloc_misplaced, addr);
            msnap_addrmap_remove(&b->map, addr, id);
        }
        id = outside_block(b, addr, rounded, requested, row);
        if (!id)
            return 0;
        small = rounded <= MSNAP_SMALL_SIZE;
        size = rounded;
    }
    b->totals.allocated += size;
    b->totals.active += size;
    b->totals.requested += requested;
    if (b->counters) {
        msnap_family_up(b->counters, MSNAP_COUNT_ALLOCATION, small, 1);
        msnap_family_up(b->counters, MSNAP_BYTES_ALLOCATED, small, size);
        msnap_family_up(b->counters, MSNAP_COUNT_ACTIVE, small, 1);
        msnap_family_up(b->counters, MSNAP_BYTES_ACTIVE, small, size);
        msnap_family_up(b->counters, MSNAP_BYTES_REQUESTED, small, requested);
        if (size >= b->config.max_split)
            msnap_count_up(&b->counters->oversize_allocations, 1);
    }
    return id;
}

uint32_t msnap_books_free_requested(struct msnap_books *b, uint64_t addr, uint64_t requested)
{
    uint32_t id = msnap_books_find(b, addr);
    struct msnap_books_block *v = id ? msnap_books_block_at(b, id) : NULL;
    if (!v || v->state != BOOKS_ALLOCATED) {
        fault(b, MSNAP_FAULT_free_without_alloc, addr);
        return 0;
    }
    if (v->requested != requested)
        fault(b, MSNAP_FAULT_free_size, addr);
    request_free(b, v);
    return id;
}

uint32_t msnap_books_free_completed(struct msnap_books *b, uint64_t addr, uint64_t requested, bool *was_requested)
{
    uint32_t id = msnap_books_find(b, addr);
    struct msnap_books_block *v = id ? msnap_books_block_at(b, id) : NULL;
    if (!v || v->state == BOOKS_FREE) {
        fault(b, MSNAP_FAULT_free_without_alloc, addr);
        return BOOKS_NO_ROW;
    }
    *was_requested = v->state == BOOKS_PENDING;
    if (!*was_requested) {
        fault(b, MSNAP_FAULT_completed_without_request, addr);
        if (v->requested != requested)
            fault(b, MSNAP_FAULT_free_size, addr);
        request_free(b, v);
    }
    uint32_t row = v->row;
    complete_free(b, id);
    return row;
}

void msnap_books_place(struct msnap_books *b, uint32_t segment, uint64_t addr, uint64_t size, uint64_t requested,
                 enum msnap_books_state state, uint32_t row)
{
    /* Blocks come in ascending order, so the place is in the segment's last block. */
    uint32_t id = segment ? msnap_books_segment_at(b, segment)->last : 0;
    struct msnap_books_block *v = id ? msnap_books_block_at(b, id) : NULL;
    bool fits = v && v->state == BOOKS_FREE && addr >= v->addr && size <= v->size && addr - v->addr <= v->size - size;
    if (fits) {
        if (v->addr < addr && !(id = cut_block(b, id, addr - v->addr)))
            return;
        if (msnap_books_block_at(b, id)->size > size && !cut_block(b, id, size))
            return;
        v = msnap_books_block_at(b, id);
        v->requested = requested;
        v->row = row;
        v->state = (uint8_t)state;
    } else {
        fault(b, v ? MSNAP_FAULT_alloc_live : MSNAP_FAULT_alloc_outside, addr);
        if (msnap_books_find(b, addr) || !(id = outside_block(b, addr, size, requested, row)))
            return;
        msnap_books_block_at(b, id)->state = (uint8_t)state;
    }
    if (state == BOOKS_ALLOCATED)
        b->totals.allocated += size;
    b->totals.active += size;
    b->totals.requested += requested;
}

static void set_current(struct msnap_books *b, enum msnap_family f, bool small, uint64_t v)
{
    for (int k = 0; k < 2; k++) {
        struct msnap_counter *c = &b->counters->family[f][k ? 1 + small : 0];
        c->current += v;
        c->peak = c->current;
    }
}

void msnap_books_count_state(struct msnap_books *b)
{
    *b->counters = (struct msnap_counters){0};
    for (size_t s = 1; s < b->segments.n; s++) {
        const struct msnap_books_segment *g = msnap_books_segment_at(b, (uint32_t)s);
        if (g->gone)
            continue;
        set_current(b, MSNAP_BYTES_RESERVED, g->small, g->size);
        if (!g->expandable) {
            set_current(b, MSNAP_COUNT_SEGMENT, g->small, 1);
            if (g->size >= b->config.max_split)
                b->counters->oversize_segments.current++;
        }
        for (uint32_t id = g->first; id; id = msnap_books_block_at(b, id)->next) {
            const struct msnap_books_block *v = msnap_books_block_at(b, id);
            if (v->state == BOOKS_FREE && !g->expandable && (v->prev || v->next)) {
                set_current(b, MSNAP_COUNT_INACTIVE_SPLIT, g->small, 1);
                set_current(b, MSNAP_BYTES_INACTIVE_SPLIT, g->small, v->size);
            }
        }
    }
    for (size_t i = 1; i < b->blocks.n; i++) {
        const struct msnap_books_block *v = msnap_books_block_at(b, (uint32_t)i);
        if (v->is_free_slot || v->state == BOOKS_FREE)
            continue;
        bool small = v->segment ? segment_of(b, v)->small : v->size <= MSNAP_SMALL_SIZE;
        set_current(b, MSNAP_COUNT_ACTIVE, small, 1);
        set_current(b, MSNAP_BYTES_ACTIVE, small, v->size);
        set_current(b, MSNAP_BYTES_REQUESTED, small, v->requested);
        if (v->state == BOOKS_ALLOCATED) {
            set_current(b, MSNAP_COUNT_ALLOCATION, small, 1);
            set_current(b, MSNAP_BYTES_ALLOCATED, small, v->size);
            if (v->size >= b->config.max_split)
                b->counters->oversize_allocations.current++;
        }
    }
    b->counters->oversize_allocations.peak = b->counters->oversize_allocations.current;
    b->counters->oversize_segments.peak = b->counters->oversize_segments.current;
}

bool msnap_books_init(struct msnap_books *b, struct msnap_mem mem, const struct msnap_alloc_config *config, struct msnap_fault_log *faults)
{
    *b = (struct msnap_books){.mem = mem, .config = *config, .faults = faults, .event = MSNAP_NO_EVENT, .work_left = WORK};
    return msnap_addrmap_init(&b->map, mem) && MSNAP_VEC_PUSH(&b->blocks, mem, struct msnap_books_block, ((struct msnap_books_block){.is_free_slot = true})) &&
           MSNAP_VEC_PUSH(&b->segments, mem, struct msnap_books_segment, ((struct msnap_books_segment){.gone = true}));
}

void msnap_books_release(struct msnap_books *b)
{
    msnap_addrmap_release(&b->map, b->mem);
    msnap_vec_release(&b->blocks, b->mem, sizeof(struct msnap_books_block));
    msnap_vec_release(&b->segments, b->mem, sizeof(struct msnap_books_segment));
    msnap_vec_release(&b->ranges, b->mem, sizeof(uint32_t));
}
