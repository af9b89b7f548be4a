/* sim_core.c -- malloc, free, growth and release of the simulated allocator. */
#include "analysis/sim_core.h"

#include <string.h>

static void tell(struct sim *s, enum msnap_action a, uint64_t addr, uint64_t size, uint32_t row)
{
    if (s->on_event)
        s->on_event(s->on_event_ctx, a, addr, size, row);
}

static uint64_t round_of(const struct sim *s, uint64_t n)
{
    struct msnap_alloc_config c = {.max_split = s->config.max_split_size};
    memcpy(c.divisions, s->config.divisions, sizeof c.divisions);
    return msnap_round_size(&c, n);
}

static uint64_t segment_size_of(const struct sim *s, uint64_t rounded)
{
    struct msnap_alloc_config c = {.large_segment = s->config.large_segment_size};
    return msnap_segment_size(&c, rounded);
}

static uint64_t granule_of(const struct sim *s, const struct sim_lane *l) { return l->small ? MSNAP_SMALL_BUFFER : s->config.large_segment_size; }
static bool gc_is_on(const struct sim *s) { return s->config.limit != MSNAP_NO_LIMIT && s->config.gc_threshold > 0; }
static bool is_expandable(const struct sim *s, const struct sim_block *b) { return sim_segment_at(s, b->segment)->expandable; }

/* ---- blocks and lanes ---- */

static uint32_t new_block(struct sim *s, struct sim_block v)
{
    uint32_t id = s->unused_block;
    if (id) {
        s->unused_block = sim_block_at(s, id)->next;
        *sim_block_at(s, id) = v;
        return id;
    }
    if (s->blocks.n >= UINT32_MAX - 1 || !MSNAP_VEC_PUSH(&s->blocks, s->mem, struct sim_block, v)) {
        s->out_of_memory = true;
        return 0;
    }
    return (uint32_t)s->blocks.n - 1;
}

static void drop_block(struct sim *s, uint32_t id)
{
    *sim_block_at(s, id) = (struct sim_block){.next = s->unused_block, .row = SIM_NO_ROW};
    s->unused_block = id;
}

static uint32_t new_segment(struct sim *s, struct sim_segment g)
{
    if (!MSNAP_VEC_PUSH(&s->segments, s->mem, struct sim_segment, g)) {
        s->out_of_memory = true;
        return 0;
    }
    return (uint32_t)s->segments.n - 1;
}

uint32_t msnap_sim_lane(struct sim *s, uint32_t pool, uint32_t stream, uint64_t raw_stream, bool small)
{
    for (size_t i = 0; i < s->lanes.n; i++) {
        const struct sim_lane *l = sim_lane_at(s, (uint32_t)i);
        if (l->stream == stream && l->small == small && l->pool == pool)
            return (uint32_t)i;
    }
    uint32_t bp = 0;
    while (bp < s->block_pools.n && (MSNAP_VEC_AT(&s->block_pools, struct sim_block_pool, bp).pool != pool ||
                                     MSNAP_VEC_AT(&s->block_pools, struct sim_block_pool, bp).small != small))
        bp++;
    struct sim_lane l = {.pool = pool, .stream = stream, .raw_stream = raw_stream, .small = small, .block_pool = bp};
    if ((bp == s->block_pools.n && !MSNAP_VEC_PUSH(&s->block_pools, s->mem, struct sim_block_pool, ((struct sim_block_pool){pool, small, 0}))) ||
        !MSNAP_VEC_PUSH(&s->lanes, s->mem, struct sim_lane, l)) {
        s->out_of_memory = true;
        return UINT32_MAX;
    }
    return (uint32_t)s->lanes.n - 1;
}

static struct sim_block_pool *block_pool_of(const struct sim *s, const struct sim_lane *l)
{
    return &MSNAP_VEC_AT(&s->block_pools, struct sim_block_pool, l->block_pool);
}

static void set_add(struct sim *s, uint32_t id)
{
    struct sim_block *b = sim_block_at(s, id);
    struct sim_lane *l = sim_lane_at(s, b->lane);
    b->age_base = block_pool_of(s, l)->searches; /* every insertion makes a block young again (4) */
    if (!msnap_sim_set_add(&l->free, s->mem, (struct sim_key){b->size, b->addr, id}))
        s->out_of_memory = true;
}

static void set_remove(struct sim *s, uint32_t id)
{
    const struct sim_block *b = sim_block_at(s, id);
    msnap_sim_set_remove(&sim_lane_at(s, b->lane)->free, s->mem, b->size, b->addr);
}

static void unmapped_add(struct sim *s, uint32_t id)
{
    struct sim_block *b = sim_block_at(s, id);
    struct sim_lane *l = sim_lane_at(s, b->lane);
    b->state = SIM_UNMAPPED;
    if (!MSNAP_VEC_PUSH(&l->unmapped, s->mem, uint32_t, id)) {
        s->out_of_memory = true;
        return;
    }
    uint32_t *v = l->unmapped.data;
    for (size_t i = l->unmapped.n - 1; i && sim_block_at(s, v[i - 1])->addr > b->addr; i--) {
        v[i] = v[i - 1];
        v[i - 1] = id;
    }
}

static void unmapped_remove(struct sim *s, uint32_t id)
{
    struct sim_lane *l = sim_lane_at(s, sim_block_at(s, id)->lane);
    uint32_t *v = l->unmapped.data;
    size_t i = 0;
    while (i < l->unmapped.n && v[i] != id)
        i++;
    if (i < l->unmapped.n) {
        memmove(v + i, v + i + 1, (l->unmapped.n - i - 1) * sizeof *v);
        l->unmapped.n--;
    }
}

/* Cuts `front` bytes off; the rear part is a new block of the same state, in no set. */
static uint32_t cut(struct sim *s, uint32_t id, uint64_t front)
{
    struct sim_block v = *sim_block_at(s, id);
    v.addr += front;
    v.size -= front;
    v.prev = id;
    v.row = SIM_NO_ROW;
    uint32_t rear = new_block(s, v);
    if (!rear)
        return 0;
    sim_block_at(s, id)->size = front;
    sim_block_at(s, id)->next = rear;
    if (v.next)
        sim_block_at(s, v.next)->prev = rear;
    return rear;
}

static void join_next(struct sim *s, uint32_t id)
{
    struct sim_block *b = sim_block_at(s, id);
    uint32_t gone = b->next;
    const struct sim_block *n = sim_block_at(s, gone);
    b->size += n->size;
    b->next = n->next;
    if (n->next)
        sim_block_at(s, n->next)->prev = id;
    drop_block(s, gone);
}

/* Merges a free block, which is in no set, with free neighbours and puts it into its set (9.4). */
static uint32_t settle(struct sim *s, uint32_t id)
{
    uint32_t prev = sim_block_at(s, id)->prev, next = sim_block_at(s, id)->next;
    if (next && sim_block_at(s, next)->state == SIM_FREE) {
        set_remove(s, next);
        join_next(s, id);
    }
    if (prev && sim_block_at(s, prev)->state == SIM_FREE) {
        set_remove(s, prev);
        join_next(s, prev);
        id = prev;
    }
    set_add(s, id);
    return id;
}

/* ---- free ---- */

static void free_block(struct sim *s, uint32_t id)
{
    struct sim_block *b = sim_block_at(s, id);
    bool small = sim_lane_at(s, b->lane)->small;
    tell(s, MSNAP_FREE_COMPLETED, b->addr, b->requested, b->row);
    if (!is_expandable(s, b)) { /* one net change of count and bytes each (16.2) */
        int64_t count = 0, bytes = 0;
        uint64_t size = b->size;
        uint32_t left = b->prev, right = b->next;
        if (left && sim_block_at(s, left)->state == SIM_FREE) {
            count--;
            bytes -= (int64_t)sim_block_at(s, left)->size;
            size += sim_block_at(s, left)->size;
            left = sim_block_at(s, left)->prev;
        }
        if (right && sim_block_at(s, right)->state == SIM_FREE) {
            count--;
            bytes -= (int64_t)sim_block_at(s, right)->size;
            size += sim_block_at(s, right)->size;
            right = sim_block_at(s, right)->next;
        }
        if (left || right) {
            count++;
            bytes += (int64_t)size;
        }
        msnap_family_by(&s->counters, MSNAP_COUNT_INACTIVE_SPLIT, small, count);
        msnap_family_by(&s->counters, MSNAP_BYTES_INACTIVE_SPLIT, small, bytes);
    }
    msnap_family_down(&s->counters, MSNAP_COUNT_ACTIVE, small, 1);
    msnap_family_down(&s->counters, MSNAP_BYTES_ACTIVE, small, b->size);
    msnap_family_down(&s->counters, MSNAP_BYTES_REQUESTED, small, b->requested);
    b->state = SIM_FREE;
    b->row = SIM_NO_ROW;
    settle(s, id);
}

void msnap_sim_free(struct sim *s, uint32_t id, bool pending)
{
    struct sim_block *b = sim_block_at(s, id);
    if (b->state != SIM_ALLOCATED)
        return;
    bool small = sim_lane_at(s, b->lane)->small;
    msnap_family_down(&s->counters, MSNAP_COUNT_ALLOCATION, small, 1);
    msnap_family_down(&s->counters, MSNAP_BYTES_ALLOCATED, small, b->size);
    tell(s, MSNAP_FREE_REQUESTED, b->addr, b->requested, b->row);
    if (b->size >= s->config.max_split_size)
        msnap_count_down(&s->counters.oversize_allocations, 1);
    if (!pending) {
        free_block(s, id);
        return;
    }
    b->state = SIM_PENDING;
    b->ready = false;
    if (!MSNAP_VEC_PUSH(&s->pending, s->mem, uint32_t, id))
        s->out_of_memory = true;
}

void msnap_sim_ready(struct sim *s, uint32_t id)
{
    struct sim_block *b = sim_block_at(s, id);
    if (b->state != SIM_PENDING || b->ready)
        return; /* a retry or empty_cache() has waited for it already */
    b->ready = true;
    if (!MSNAP_VEC_PUSH(&s->ready, s->mem, uint32_t, id))
        s->out_of_memory = true;
}

static void process_events(struct sim *s)
{
    if (!s->ready.n)
        return;
    for (size_t i = 0; i < s->ready.n; i++)
        free_block(s, MSNAP_VEC_AT(&s->ready, uint32_t, i));
    s->ready.n = 0;
    size_t kept = 0;
    uint32_t *v = s->pending.data;
    for (size_t i = 0; i < s->pending.n; i++)
        if (sim_block_at(s, v[i])->state == SIM_PENDING && !sim_block_at(s, v[i])->ready)
            v[kept++] = v[i];
    s->pending.n = kept;
}

/* 11.2: every stream is waited for, so every pending block is free afterwards. */
static void synchronise(struct sim *s)
{
    s->counters.syncs++;
    process_events(s);
    for (size_t i = 0; i < s->pending.n; i++)
        free_block(s, MSNAP_VEC_AT(&s->pending, uint32_t, i));
    s->pending.n = 0;
}

/* ---- giving memory back ---- */

static void release_block(struct sim *s, uint32_t id)
{
    struct sim_block *b = sim_block_at(s, id);
    bool small = sim_lane_at(s, b->lane)->small;
    uint64_t addr = b->addr, size = b->size;
    uint32_t segment = b->segment;
    set_remove(s, id);
    s->counters.device_frees++;
    tell(s, MSNAP_SEGMENT_FREE, addr, size, SIM_NO_ROW);
    s->driver.segment_gone(s->driver.ctx, addr, size, false);
    s->held -= size;
    msnap_family_down(&s->counters, MSNAP_COUNT_SEGMENT, small, 1);
    msnap_family_down(&s->counters, MSNAP_BYTES_RESERVED, small, size);
    if (size >= s->config.max_split_size)
        msnap_count_down(&s->counters.oversize_segments, 1);
    sim_segment_at(s, segment)->gone = true;
    drop_block(s, id);
}

/* 11.5: whole granules of a free block go back; what is left of it stays free. */
static void unmap_block(struct sim *s, uint32_t id)
{
    struct sim_block b = *sim_block_at(s, id);
    struct sim_lane *l = sim_lane_at(s, b.lane);
    uint64_t base = sim_segment_at(s, b.segment)->addr, g = granule_of(s, l);
    uint64_t low = (b.addr - base + g - 1) / g * g + base, high = (b.addr + b.size - base) / g * g + base;
    if (low >= high)
        return;
    set_remove(s, id);
    if (low > b.addr) {
        uint32_t rear = cut(s, id, low - b.addr);
        if (!rear)
            return;
        set_add(s, id);
        id = rear;
    }
    if (b.addr + b.size > high) {
        uint32_t rear = cut(s, id, high - low);
        if (!rear)
            return;
        set_add(s, rear);
    }
    s->held -= high - low;
    s->counters.device_frees++;
    msnap_family_down(&s->counters, MSNAP_BYTES_RESERVED, l->small, high - low);
    tell(s, MSNAP_SEGMENT_UNMAP, low, high - low, SIM_NO_ROW);
    s->driver.unmap(s->driver.ctx, low, high - low);
    uint32_t prev = sim_block_at(s, id)->prev, next = sim_block_at(s, id)->next;
    if (next && sim_block_at(s, next)->state == SIM_UNMAPPED) {
        unmapped_remove(s, next);
        join_next(s, id);
    }
    if (prev && sim_block_at(s, prev)->state == SIM_UNMAPPED) {
        unmapped_remove(s, prev);
        join_next(s, prev);
        id = prev;
    }
    struct sim_segment *seg = sim_segment_at(s, b.segment);
    if (sim_block_at(s, id)->size == seg->size) { /* the whole reservation: given up */
        s->driver.segment_gone(s->driver.ctx, seg->addr, seg->size, true);
        seg->gone = true;
        drop_block(s, id);
    } else {
        unmapped_add(s, id);
    }
}

/* Lanes of one pool and class by raw stream, unsigned: the order of PyTorch's set. Returns the next
 * lane after `last` (SIM_NO_ROW: the first); SIM_NO_ROW at the end. */
static uint32_t next_lane(const struct sim *s, uint32_t pool, bool small, uint32_t last)
{
    uint32_t best = SIM_NO_ROW;
    for (uint32_t i = 0; i < s->lanes.n; i++) {
        const struct sim_lane *l = sim_lane_at(s, i);
        if (l->pool != pool || l->small != small)
            continue;
        if (last != SIM_NO_ROW && (l->raw_stream < sim_lane_at(s, last)->raw_stream ||
                                   (l->raw_stream == sim_lane_at(s, last)->raw_stream && i <= last)))
            continue;
        if (best == SIM_NO_ROW || l->raw_stream < sim_lane_at(s, best)->raw_stream)
            best = i;
    }
    return best;
}

static bool is_whole(const struct sim_block *b) { return !b->prev && !b->next; }

/* 11.4: all whole ordinary segments in set order, then the pages of expandable blocks. */
static void release_blocks(struct sim *s, uint32_t pool, bool small)
{
    struct msnap_vec expandable = {0};
    for (uint32_t lane = next_lane(s, pool, small, SIM_NO_ROW); lane != SIM_NO_ROW; lane = next_lane(s, pool, small, lane)) {
        struct sim_set *set = &sim_lane_at(s, lane)->free;
        for (struct sim_place p = {0, 0}; !sim_place_ends(set, p);) {
            struct sim_key k = *sim_set_at(set, p);
            const struct sim_block *b = sim_block_at(s, k.block);
            if (is_expandable(s, b)) {
                if (!MSNAP_VEC_PUSH(&expandable, s->mem, uint32_t, k.block))
                    s->out_of_memory = true;
                p = sim_set_next(set, p);
            } else if (is_whole(b)) {
                release_block(s, k.block);
                p = msnap_sim_set_from(set, k.size, k.addr);
            } else {
                p = sim_set_next(set, p);
            }
        }
    }
    for (size_t i = 0; i < expandable.n; i++)
        unmap_block(s, MSNAP_VEC_AT(&expandable, uint32_t, i));
    msnap_vec_release(&expandable, s->mem, sizeof(uint32_t));
}

void msnap_sim_empty_cache(struct sim *s, uint32_t pool)
{
    synchronise(s);
    if (pool == UINT32_MAX) {
        release_blocks(s, 1, false);
        release_blocks(s, 1, true);
    } else {
        release_blocks(s, pool, true);
        release_blocks(s, pool, false);
    }
}

/* 11.3: with max_split_size, one oversize block that is large enough, or several. */
static bool release_available(struct sim *s, uint32_t lane, uint64_t rounded)
{
    uint64_t max_split = s->config.max_split_size, need = rounded > max_split ? rounded : max_split, released = 0;
    struct sim_set *set = &sim_lane_at(s, lane)->free;
    if (max_split == MSNAP_NO_LIMIT)
        return false;
    struct sim_place p = msnap_sim_set_from(set, need, 0);
    if (!sim_place_ends(set, p) && !is_expandable(s, sim_block_at(s, sim_set_at(set, p)->block))) {
        release_block(s, sim_set_at(set, p)->block);
        return true;
    }
    uint64_t size = need, addr = 0;
    while (released < need) {
        /* The last block before (size, addr). */
        p = msnap_sim_set_from(set, size, addr);
        if (p.i)
            p.i--;
        else if (p.chunk)
            p = (struct sim_place){p.chunk - 1, sim_set_chunk(set, p.chunk - 1)->n - 1};
        else
            break;
        struct sim_key k = *sim_set_at(set, p);
        if (k.size < max_split)
            break;
        size = k.size;
        addr = k.addr;
        if (!is_expandable(s, sim_block_at(s, k.block))) {
            released += k.size;
            release_block(s, k.block);
        }
    }
    return released >= need;
}

/* 10: whole free segments of the default large pool that were not used for long. */
static void collect_garbage(struct sim *s)
{
    uint64_t threshold = (uint64_t)(s->config.gc_threshold * (double)s->config.limit);
    if (s->held <= threshold)
        return;
    uint64_t target = s->held - threshold, freed = 0, ages = 0, count = 0;
    uint32_t lane;
    for (lane = next_lane(s, 1, false, SIM_NO_ROW); lane != SIM_NO_ROW; lane = next_lane(s, 1, false, lane)) {
        const struct sim_set *set = &sim_lane_at(s, lane)->free;
        uint64_t now = block_pool_of(s, sim_lane_at(s, lane))->searches;
        for (struct sim_place p = {0, 0}; !sim_place_ends(set, p); p = sim_set_next(set, p)) {
            const struct sim_block *b = sim_block_at(s, sim_set_at(set, p)->block);
            if (is_whole(b)) {
                ages += now - b->age_base;
                count++;
            }
        }
    }
    bool any = true;
    while (freed < target && any && count) {
        double least = (double)ages / (double)count;
        any = false;
        for (lane = next_lane(s, 1, false, SIM_NO_ROW); lane != SIM_NO_ROW; lane = next_lane(s, 1, false, lane)) {
            struct sim_set *set = &sim_lane_at(s, lane)->free;
            uint64_t now = block_pool_of(s, sim_lane_at(s, lane))->searches;
            for (struct sim_place p = {0, 0}; !sim_place_ends(set, p);) {
                struct sim_key k = *sim_set_at(set, p);
                const struct sim_block *b = sim_block_at(s, k.block);
                uint64_t age = now - b->age_base;
                if (!is_whole(b) || is_expandable(s, b) || (double)age < least) {
                    p = sim_set_next(set, p);
                    continue;
                }
                any = true;
                freed += k.size;
                ages -= age;
                count--;
                release_block(s, k.block);
                p = msnap_sim_set_from(set, k.size, k.addr);
            }
        }
    }
}

/* ---- growth ---- */

/* 8.2: backs whole granules from an unmapped block's start; 0: the driver has no more. */
static uint32_t map_block(struct sim *s, uint32_t id, uint64_t want)
{
    struct sim_block u = *sim_block_at(s, id);
    struct sim_lane *l = sim_lane_at(s, u.lane);
    uint64_t g = granule_of(s, l), size = (want + g - 1) / g * g;
    if (size > u.size)
        size = u.size;
    if (s->config.capacity != MSNAP_NO_LIMIT && (size > s->config.capacity || s->held > s->config.capacity - size))
        return 0;
    if (!s->driver.map(s->driver.ctx, u.addr, size, g))
        return 0;
    unmapped_remove(s, id);
    if (u.size > size) {
        uint32_t rest = cut(s, id, size);
        if (!rest)
            return 0;
        unmapped_add(s, rest);
    }
    sim_block_at(s, id)->state = SIM_FREE;
    uint32_t merged = settle(s, id);
    s->held += size;
    s->counters.device_allocs++;
    msnap_family_up(&s->counters, MSNAP_BYTES_RESERVED, l->small, size);
    tell(s, MSNAP_SEGMENT_MAP, u.addr, size, SIM_NO_ROW);
    return merged;
}

static uint32_t new_reservation(struct sim *s, uint32_t lane)
{
    const struct sim_lane *l = sim_lane_at(s, lane);
    /* 9/8 of the device; its total is in no file, and only its being large matters (17.4). */
    uint64_t total = s->config.capacity != MSNAP_NO_LIMIT ? s->config.capacity : UINT64_C(1) << 39, g = granule_of(s, l);
    uint64_t size = (total + total / 8 + g - 1) / g * g;
    if (size < UINT64_C(1) << 36)
        size = (UINT64_C(1) << 36) / g * g + g;
    uint64_t addr = s->driver.reservation(s->driver.ctx, size, l->pool, l->stream, l->small);
    if (!addr)
        return 0;
    uint32_t segment = new_segment(s, (struct sim_segment){addr, size, 0, true, false});
    if (!segment)
        return 0;
    uint32_t id = new_block(s, (struct sim_block){.addr = addr, .size = size, .lane = lane, .segment = segment, .row = SIM_NO_ROW, .state = SIM_UNMAPPED});
    if (!id)
        return 0;
    sim_segment_at(s, segment)->first = id;
    unmapped_add(s, id);
    return id;
}

/* The place where r bytes can be had by mapping: an unmapped block, or the free one before it. */
static uint32_t find_room(struct sim *s, uint32_t lane, uint64_t rounded)
{
    const struct sim_lane *l = sim_lane_at(s, lane);
    for (size_t i = 0; i < l->unmapped.n; i++) {
        uint32_t start = MSNAP_VEC_AT(&l->unmapped, uint32_t, i), prev = sim_block_at(s, start)->prev;
        if (prev && sim_block_at(s, prev)->state == SIM_FREE)
            start = prev;
        uint64_t sum = 0;
        for (uint32_t id = start; id && sum < rounded; id = sim_block_at(s, id)->next) {
            const struct sim_block *b = sim_block_at(s, id);
            if (b->state != SIM_FREE && b->state != SIM_UNMAPPED)
                break;
            sum += b->size;
        }
        if (sum >= rounded)
            return start;
    }
    return new_reservation(s, lane);
}

static uint32_t grow_expandable(struct sim *s, uint32_t lane, uint64_t rounded)
{
    uint32_t id = find_room(s, lane, rounded);
    if (!id)
        return 0;
    if (sim_block_at(s, id)->state == SIM_UNMAPPED) {
        uint64_t size = sim_block_at(s, id)->size;
        id = map_block(s, id, size < rounded ? size : rounded);
    }
    while (id && sim_block_at(s, id)->size < rounded) {
        const struct sim_block *b = sim_block_at(s, id);
        uint64_t missing = rounded - b->size;
        if (!b->next || sim_block_at(s, b->next)->state != SIM_UNMAPPED)
            return 0;
        uint64_t size = sim_block_at(s, b->next)->size;
        id = map_block(s, b->next, size < missing ? size : missing);
    }
    if (id)
        set_remove(s, id);
    return id;
}

static uint32_t grow(struct sim *s, uint32_t lane, uint64_t rounded, bool retry)
{
    uint64_t size = segment_size_of(s, rounded);
    if (retry)
        s->counters.retries++;
    if (s->config.limit != MSNAP_NO_LIMIT && (size > s->config.limit || s->held > s->config.limit - size))
        return 0;
    if (s->config.expandable_segments)
        return grow_expandable(s, lane, rounded);
    if (s->config.capacity != MSNAP_NO_LIMIT && (size > s->config.capacity || s->held > s->config.capacity - size))
        return 0;
    uint64_t addr = s->driver.segment(s->driver.ctx, size);
    if (!addr)
        return 0;
    uint32_t segment = new_segment(s, (struct sim_segment){addr, size, 0, false, false});
    uint32_t id = segment ? new_block(s, (struct sim_block){.addr = addr, .size = size, .lane = lane, .segment = segment, .row = SIM_NO_ROW}) : 0;
    if (!id)
        return 0;
    bool small = sim_lane_at(s, lane)->small;
    sim_segment_at(s, segment)->first = id;
    s->held += size;
    s->counters.device_allocs++;
    msnap_family_up(&s->counters, MSNAP_COUNT_SEGMENT, small, 1);
    msnap_family_up(&s->counters, MSNAP_BYTES_RESERVED, small, size);
    if (size >= s->config.max_split_size)
        msnap_count_up(&s->counters.oversize_segments, 1);
    tell(s, MSNAP_SEGMENT_ALLOC, addr, size, SIM_NO_ROW);
    return id;
}

/* ---- malloc ---- */

/* Size of a block and of the unmapped range behind it: what it could become. */
static uint64_t reach(const struct sim *s, const struct sim_block *b)
{
    const struct sim_block *n = b->next ? sim_block_at(s, b->next) : NULL;
    return b->size + (n && n->state == SIM_UNMAPPED ? n->size : 0);
}

/* 7.1: best fit by size, lowest address of equals; 0: none. */
static uint32_t get_free_block(struct sim *s, uint32_t lane, uint64_t rounded)
{
    struct sim_lane *l = sim_lane_at(s, lane);
    if (gc_is_on(s))
        block_pool_of(s, l)->searches++;
    struct sim_place p = msnap_sim_set_from(&l->free, rounded, 0);
    if (sim_place_ends(&l->free, p))
        return 0;
    uint32_t id = sim_set_at(&l->free, p)->block;
    if (is_expandable(s, sim_block_at(s, id))) {
        if (s->config.expandable_segments) { /* keep the growing tail for last */
            while (is_expandable(s, sim_block_at(s, id))) {
                p = sim_set_next(&l->free, p);
                if (sim_place_ends(&l->free, p))
                    break;
                uint32_t d = sim_set_at(&l->free, p)->block;
                const struct sim_block *b = sim_block_at(s, d);
                if ((is_expandable(s, b) ? reach(s, b) : b->size) >= reach(s, sim_block_at(s, id)))
                    break;
                id = d;
            }
        } else {
            while (is_expandable(s, sim_block_at(s, id))) {
                p = sim_set_next(&l->free, p);
                if (sim_place_ends(&l->free, p))
                    return 0;
                id = sim_set_at(&l->free, p)->block;
            }
        }
    }
    uint64_t size = sim_block_at(s, id)->size, max_split = s->config.max_split_size;
    if (rounded < max_split && size >= max_split)
        return 0;
    if (rounded >= max_split && size >= rounded + s->config.max_non_split_rounding)
        return 0;
    set_remove(s, id);
    return id;
}

static bool should_split(const struct sim *s, bool small, uint64_t size, uint64_t rounded)
{
    if (small || s->config.expandable_segments)
        return size - rounded >= MSNAP_MIN_BLOCK;
    return rounded < s->config.max_split_size && size - rounded > MSNAP_SMALL_SIZE;
}

static void hand_out(struct sim *s, uint32_t id, uint64_t n, uint64_t rounded, uint32_t row)
{
    struct sim_block *b = sim_block_at(s, id);
    bool small = sim_lane_at(s, b->lane)->small, ordinary = !is_expandable(s, b), was_split = !is_whole(b);
    uint64_t size = b->size;
    if (should_split(s, small, size, rounded)) {
        uint32_t rest = cut(s, id, rounded);
        if (!rest)
            return;
        sim_block_at(s, rest)->state = SIM_FREE;
        set_add(s, rest);
        b = sim_block_at(s, id);
        if (ordinary && was_split) {
            msnap_family_down(&s->counters, MSNAP_BYTES_INACTIVE_SPLIT, small, rounded);
        } else if (ordinary) {
            msnap_family_up(&s->counters, MSNAP_BYTES_INACTIVE_SPLIT, small, size - rounded);
            msnap_family_up(&s->counters, MSNAP_COUNT_INACTIVE_SPLIT, small, 1);
        }
    } else if (ordinary && was_split) {
        msnap_family_down(&s->counters, MSNAP_BYTES_INACTIVE_SPLIT, small, size);
        msnap_family_down(&s->counters, MSNAP_COUNT_INACTIVE_SPLIT, small, 1);
    }
    b->state = SIM_ALLOCATED;
    b->requested = n;
    b->row = row;
    b->ready = false;
    tell(s, MSNAP_ALLOC, b->addr, n, row);
    msnap_family_up(&s->counters, MSNAP_COUNT_ALLOCATION, small, 1);
    msnap_family_up(&s->counters, MSNAP_BYTES_ALLOCATED, small, b->size);
    msnap_family_up(&s->counters, MSNAP_COUNT_ACTIVE, small, 1);
    msnap_family_up(&s->counters, MSNAP_BYTES_ACTIVE, small, b->size);
    msnap_family_up(&s->counters, MSNAP_BYTES_REQUESTED, small, n);
    if (b->size >= s->config.max_split_size)
        msnap_count_up(&s->counters.oversize_allocations, 1);
}

uint32_t msnap_sim_malloc(struct sim *s, uint64_t n, uint32_t pool, uint32_t stream, uint64_t raw_stream, bool capturing, uint32_t row)
{
    if (!capturing)
        process_events(s);
    uint64_t rounded = round_of(s, n);
    uint32_t lane = msnap_sim_lane(s, pool, stream, raw_stream, rounded <= MSNAP_SMALL_SIZE);
    if (lane == UINT32_MAX)
        return 0;
    uint32_t id = get_free_block(s, lane, rounded);
    if (!id) { /* 6.3, in this order */
        if (gc_is_on(s))
            collect_garbage(s);
        id = grow(s, lane, rounded, false);
        if (!id && !s->out_of_memory && release_available(s, lane, rounded))
            id = grow(s, lane, rounded, false);
        if (!id && !s->out_of_memory && !capturing) {
            synchronise(s);
            release_blocks(s, 1, false);
            release_blocks(s, 1, true);
            id = grow(s, lane, rounded, true);
        }
    }
    if (s->out_of_memory)
        return 0;
    if (!id) {
        s->counters.ooms++;
        tell(s, MSNAP_OOM, 0, rounded, row);
        return 0;
    }
    hand_out(s, id, n, rounded, row);
    return s->out_of_memory ? 0 : id;
}

/* ---- a state to begin with ---- */

uint32_t msnap_sim_put_segment(struct sim *s, uint64_t addr, uint64_t size, uint32_t lane, bool expandable)
{
    s->held += size;
    uint32_t segment = new_segment(s, (struct sim_segment){addr, size, 0, expandable, false});
    uint32_t id = segment ? new_block(s, (struct sim_block){.addr = addr, .size = size, .lane = lane, .segment = segment, .row = SIM_NO_ROW}) : 0;
    if (!id)
        return 0;
    sim_segment_at(s, segment)->first = id;
    set_add(s, id);
    return segment;
}

uint32_t msnap_sim_put_reservation(struct sim *s, uint64_t addr, uint64_t size, uint32_t lane)
{
    uint32_t segment = new_segment(s, (struct sim_segment){addr, size, 0, true, false});
    uint32_t id = segment ? new_block(s, (struct sim_block){.addr = addr, .size = size, .lane = lane, .segment = segment, .row = SIM_NO_ROW}) : 0;
    if (!id)
        return 0;
    sim_segment_at(s, segment)->first = id;
    unmapped_add(s, id);
    return segment;
}

void msnap_sim_put_range(struct sim *s, uint32_t segment, uint64_t addr, uint64_t size)
{
    uint32_t id = sim_segment_at(s, segment)->first;
    while (id && addr >= sim_block_at(s, id)->addr + sim_block_at(s, id)->size)
        id = sim_block_at(s, id)->next;
    if (!id || sim_block_at(s, id)->state != SIM_UNMAPPED || addr < sim_block_at(s, id)->addr)
        return;
    uint64_t front = addr - sim_block_at(s, id)->addr;
    unmapped_remove(s, id);
    if (front) {
        uint32_t rear = cut(s, id, front);
        if (!rear)
            return;
        unmapped_add(s, id);
        id = rear;
    }
    if (sim_block_at(s, id)->size > size) {
        uint32_t rear = cut(s, id, size);
        if (!rear)
            return;
        unmapped_add(s, rear);
    }
    sim_block_at(s, id)->state = SIM_FREE;
    set_add(s, id);
    s->held += size;
}

uint32_t msnap_sim_put_block(struct sim *s, uint32_t segment, uint64_t addr, uint64_t size, uint64_t requested, enum sim_state state, uint32_t row)
{
    uint32_t id = sim_segment_at(s, segment)->first;
    while (id && addr >= sim_block_at(s, id)->addr + sim_block_at(s, id)->size)
        id = sim_block_at(s, id)->next;
    if (!id || sim_block_at(s, id)->state != SIM_FREE || addr < sim_block_at(s, id)->addr ||
        size > sim_block_at(s, id)->size - (addr - sim_block_at(s, id)->addr))
        return 0;
    set_remove(s, id);
    if (addr > sim_block_at(s, id)->addr) {
        uint32_t rear = cut(s, id, addr - sim_block_at(s, id)->addr);
        if (!rear)
            return 0;
        set_add(s, id);
        id = rear;
    }
    if (sim_block_at(s, id)->size > size) {
        uint32_t rear = cut(s, id, size);
        if (!rear)
            return 0;
        set_add(s, rear);
    }
    struct sim_block *b = sim_block_at(s, id);
    b->state = (uint8_t)state;
    b->requested = requested;
    b->row = row;
    if (state == SIM_PENDING && !MSNAP_VEC_PUSH(&s->pending, s->mem, uint32_t, id))
        s->out_of_memory = true;
    return id;
}

void msnap_sim_start(struct sim *s)
{
    memset(&s->counters, 0, sizeof s->counters);
    for (size_t i = 1; i < s->segments.n; i++) {
        const struct sim_segment *g = sim_segment_at(s, (uint32_t)i);
        for (uint32_t id = g->gone ? 0 : g->first; id; id = sim_block_at(s, id)->next) {
            const struct sim_block *b = sim_block_at(s, id);
            bool small = sim_lane_at(s, b->lane)->small;
            if (b->state == SIM_UNMAPPED)
                continue;
            msnap_family_up(&s->counters, MSNAP_BYTES_RESERVED, small, b->size);
            if (!g->expandable && id == g->first)
                msnap_family_up(&s->counters, MSNAP_COUNT_SEGMENT, small, 1);
            if (b->state == SIM_FREE) {
                if (!g->expandable && !is_whole(b)) {
                    msnap_family_up(&s->counters, MSNAP_COUNT_INACTIVE_SPLIT, small, 1);
                    msnap_family_up(&s->counters, MSNAP_BYTES_INACTIVE_SPLIT, small, b->size);
                }
                continue;
            }
            msnap_family_up(&s->counters, MSNAP_COUNT_ACTIVE, small, 1);
            msnap_family_up(&s->counters, MSNAP_BYTES_ACTIVE, small, b->size);
            msnap_family_up(&s->counters, MSNAP_BYTES_REQUESTED, small, b->requested);
            if (b->state == SIM_ALLOCATED) {
                msnap_family_up(&s->counters, MSNAP_COUNT_ALLOCATION, small, 1);
                msnap_family_up(&s->counters, MSNAP_BYTES_ALLOCATED, small, b->size);
            }
        }
    }
    for (int f = 0; f < MSNAP_N_FAMILIES; f++)
        for (int p = 0; p < 3; p++)
            s->counters.family[f][p].allocated = 0;
}

bool msnap_sim_init(struct sim *s, struct msnap_mem mem, const struct msnap_sim_config *config, const struct msnap_sim_driver *driver)
{
    *s = (struct sim){.mem = mem, .config = *config, .driver = *driver};
    return MSNAP_VEC_PUSH(&s->blocks, mem, struct sim_block, ((struct sim_block){.row = SIM_NO_ROW})) &&
           MSNAP_VEC_PUSH(&s->segments, mem, struct sim_segment, ((struct sim_segment){.gone = true}));
}

void msnap_sim_release(struct sim *s)
{
    for (size_t i = 0; i < s->lanes.n; i++) {
        msnap_sim_set_release(&sim_lane_at(s, (uint32_t)i)->free, s->mem);
        msnap_vec_release(&sim_lane_at(s, (uint32_t)i)->unmapped, s->mem, sizeof(uint32_t));
    }
    msnap_vec_release(&s->blocks, s->mem, sizeof(struct sim_block));
    msnap_vec_release(&s->segments, s->mem, sizeof(struct sim_segment));
    msnap_vec_release(&s->lanes, s->mem, sizeof(struct sim_lane));
    msnap_vec_release(&s->block_pools, s->mem, sizeof(struct sim_block_pool));
    msnap_vec_release(&s->pending, s->mem, sizeof(uint32_t));
    msnap_vec_release(&s->ready, s->mem, sizeof(uint32_t));
}
