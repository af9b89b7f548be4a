/* start.c -- what was there before the first event: undo, pair, measure. */
#include "analysis/start.h"

#include "base/arena.h"
#include "base/status.h"

#include <string.h>

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the history"); }

static uint64_t round_of(const struct msnap_alloc_config *c, const struct msnap_snapshot *s, size_t row)
{
    return msnap_round_size(c, s->events.size[row]);
}

/* ---- segments ---- */

/* The pool class of memory mapped at `event`: that of the request that needed it, which follows. */
static bool small_by_request(const struct msnap_snapshot *s, const struct msnap_device *d, const struct msnap_alloc_config *c,
                             size_t event, bool otherwise)
{
    for (size_t i = event + 1; i < d->n_events && i < event + 64; i++) {
        size_t row = d->first_event + i;
        uint8_t a = s->events.action[row];
        if (a == MSNAP_ALLOC || a == MSNAP_OOM)
            return round_of(c, s, row) <= MSNAP_SMALL_SIZE;
    }
    return otherwise;
}

static struct msnap_books_kind kind_of_recorded(const struct msnap_snapshot *s, size_t i)
{
    const struct msnap_segments *g = &s->segments;
    bool small = g->type[i] == MSNAP_SEGMENT_SMALL || (g->type[i] == MSNAP_SEGMENT_UNKNOWN && g->total_size[i] == MSNAP_SMALL_BUFFER);
    return (struct msnap_books_kind){g->stream[i], g->pool[i], small, g->is_expandable[i] != 0};
}

static struct msnap_books_kind kind_of_event(const struct msnap_snapshot *s, size_t row, bool expandable, const struct msnap_alloc_config *c)
{
    uint64_t size = s->events.size[row];
    bool small = expandable ? size % c->large_segment != 0 : size == MSNAP_SMALL_BUFFER;
    return (struct msnap_books_kind){s->events.stream[row], s->events.pool ? s->events.pool[row] : 0, small, expandable};
}

/* The kind of the segment that contains an address in the books; false if there is none. */
static bool kind_in_books(const struct msnap_books *b, uint64_t addr, struct msnap_books_kind *kind)
{
    uint32_t id = msnap_books_find(b, addr), g = id ? msnap_books_segment_of(b, msnap_books_block_at(b, id)->segment) : 0;
    for (size_t i = 0; !g && i < b->ranges.n; i++) {
        uint32_t r = MSNAP_VEC_AT(&b->ranges, uint32_t, i);
        const struct msnap_books_segment *v = msnap_books_segment_at(b, r);
        if (!v->gone && addr >= v->addr && addr - v->addr < v->size)
            g = r;
    }
    if (!g)
        return false;
    const struct msnap_books_segment *v = msnap_books_segment_at(b, g);
    *kind = (struct msnap_books_kind){v->stream, v->pool, v->small, v->expandable};
    return true;
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct start_segment *)a)->addr, y = ((const struct start_segment *)b)->addr;
    return x < y ? -1 : x > y;
}

static void sort_segments(struct start_segment *v, size_t n)
{
    /* Heap sort: no recursion, no extra memory, and qsort's order of equals is not portable. */
    for (size_t end = n, start = n / 2; end > 1;) {
        if (start)
            start--;
        else {
            end--;
            struct start_segment t = v[0];
            v[0] = v[end];
            v[end] = t;
        }
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && by_address(&v[child], &v[child + 1]) < 0)
                child++;
            if (by_address(&v[root], &v[child]) >= 0)
                break;
            struct start_segment t = v[root];
            v[root] = v[child];
            v[child] = t;
        }
    }
}

static enum msnap_status undo_segments(const struct msnap_snapshot *s, const struct msnap_device *d, struct msnap_books *b,
                                       struct msnap_arena *arena, struct msnap_start *out, struct msnap_error *err)
{
    const struct msnap_events *e = &s->events;
    size_t n = 0;
    for (size_t i = 0; i < d->n_segments; i++) {
        size_t g = d->first_segment + i;
        if (s->segments.total_size[g])
            msnap_books_add_segment(b, s->segments.address[g], s->segments.total_size[g], kind_of_recorded(s, g));
    }
    for (size_t i = 0; i < d->n_events; i++) {
        uint8_t a = e->action[d->first_event + i];
        n += a == MSNAP_SEGMENT_ALLOC || a == MSNAP_SEGMENT_MAP;
    }
    out->kinds = MSNAP_NEW_RAW(arena, struct start_kind, n);
    out->n_kinds = n;
    if (!out->kinds)
        return no_memory(err);
    for (size_t i = d->n_events; i-- > 0 && !b->out_of_memory;) {
        size_t row = d->first_event + i;
        uint8_t a = e->action[row];
        if (a < MSNAP_SEGMENT_ALLOC || a > MSNAP_SEGMENT_UNMAP)
            continue;
        uint64_t addr = e->addr[row], size = e->size[row];
        bool expandable = a == MSNAP_SEGMENT_MAP || a == MSNAP_SEGMENT_UNMAP;
        struct msnap_books_kind kind = kind_of_event(s, row, expandable, &b->config);
        b->event = (uint32_t)i;
        if (size == 0 || addr > UINT64_MAX - size) {
            if (a == MSNAP_SEGMENT_ALLOC || a == MSNAP_SEGMENT_MAP)
                out->kinds[--n] = (struct start_kind){(uint32_t)i, kind};
            continue;
        }
        switch ((enum msnap_action)a) {
        case MSNAP_SEGMENT_ALLOC:
        case MSNAP_SEGMENT_MAP: {
            struct msnap_books_kind known;
            if (kind_in_books(b, addr, &known) && known.expandable == expandable) {
                kind.pool = kind.pool ? kind.pool : known.pool;
                kind.small = known.small;
            }
            if (expandable) {
                kind.small = small_by_request(s, d, &b->config, i, kind.small);
                msnap_books_unmap(b, addr, size);
            } else {
                msnap_books_drop_segment(b, addr, size);
            }
            out->kinds[--n] = (struct start_kind){(uint32_t)i, kind};
            break;
        }
        case MSNAP_SEGMENT_FREE: msnap_books_add_segment(b, addr, size, kind); break;
        case MSNAP_SEGMENT_UNMAP: msnap_books_map(b, addr, size, kind); break;
        default: break;
        }
    }
    if (b->out_of_memory)
        return no_memory(err);
    size_t left = 0;
    for (size_t g = 1; g < b->segments.n; g++)
        left += !msnap_books_segment_at(b, (uint32_t)g)->gone;
    out->segments = MSNAP_NEW_RAW(arena, struct start_segment, left);
    if (!out->segments)
        return no_memory(err);
    for (size_t g = 1; g < b->segments.n; g++) {
        const struct msnap_books_segment *v = msnap_books_segment_at(b, (uint32_t)g);
        if (!v->gone)
            out->segments[out->n_segments++] =
                (struct start_segment){v->addr, v->size, {v->stream, v->pool, v->small, v->expandable}};
    }
    sort_segments(out->segments, out->n_segments);
    return MSNAP_OK;
}

/* ---- live blocks ---- */

struct pairing {
    struct msnap_mem mem;
    struct msnap_addrmap live; /* 1: allocated in the trace; else index + 2 of a block found by its free */
    struct msnap_vec found;    /* struct start_block */
};

static bool pair_events(const struct msnap_snapshot *s, const struct msnap_device *d, struct pairing *p)
{
    const struct msnap_events *e = &s->events;
    bool any_request = false;
    for (size_t i = 0; i < d->n_events && !any_request; i++)
        any_request = e->action[d->first_event + i] == MSNAP_FREE_REQUESTED;
    for (size_t i = 0; i < d->n_events; i++) {
        size_t row = d->first_event + i;
        uint8_t a = e->action[row];
        if (a != MSNAP_ALLOC && a != MSNAP_FREE_REQUESTED && a != MSNAP_FREE_COMPLETED)
            continue;
        uint64_t addr = e->addr[row];
        uint32_t v = msnap_addrmap_find(&p->live, addr);
        if (a == MSNAP_ALLOC) {
            if (v)
                msnap_addrmap_remove(&p->live, addr, v);
            if (!msnap_addrmap_insert(&p->live, p->mem, addr, 1))
                return false;
            continue;
        }
        bool completed = a == MSNAP_FREE_COMPLETED;
        if (!v) {
            /* The free's stack is not the allocation's, so that one stays unknown. */
            struct start_block f = {.addr = addr, .requested = e->size[row], .stream = e->stream[row], .first_free = (uint32_t)i,
                                    .state = completed && any_request ? BOOKS_PENDING : BOOKS_ALLOCATED};
            if (!MSNAP_VEC_PUSH(&p->found, p->mem, struct start_block, f))
                return false;
            if (!completed && !msnap_addrmap_insert(&p->live, p->mem, addr, (uint32_t)p->found.n + 1))
                return false;
        } else if (completed) {
            msnap_addrmap_remove(&p->live, addr, v);
        }
    }
    /* What is active at the dump and was never allocated in the trace was there all along. */
    const struct msnap_blocks *blocks = &s->blocks;
    for (size_t g = d->first_segment; g < d->first_segment + d->n_segments; g++) {
        for (size_t i = s->segments.first_block[g]; i < s->segments.first_block[g] + s->segments.n_blocks[g]; i++) {
            if (blocks->state[i] != MSNAP_BLOCK_ALLOCATED && blocks->state[i] != MSNAP_BLOCK_PENDING)
                continue;
            uint32_t v = msnap_addrmap_find(&p->live, blocks->address[i]);
            if (v == 1)
                continue;
            if (v) { /* freed in the trace, not completed: its size is recorded */
                struct start_block *f = &MSNAP_VEC_AT(&p->found, struct start_block, v - 2);
                f->size = blocks->size[i];
                f->stack = blocks->stack[i];
                f->exact = true;
                continue;
            }
            struct start_block f = {.addr = blocks->address[i], .size = blocks->size[i], .requested = blocks->requested_size[i],
                                    .stack = blocks->stack[i], .stream = s->segments.stream[g], .first_free = MSNAP_NO_EVENT,
                                    .state = blocks->state[i] == MSNAP_BLOCK_PENDING ? BOOKS_PENDING : BOOKS_ALLOCATED, .exact = true};
            if (f.requested > f.size)
                f.requested = f.size;
            if (f.size && !MSNAP_VEC_PUSH(&p->found, p->mem, struct start_block, f))
                return false;
        }
    }
    return true;
}

static bool sift_before(const struct start_block *a, const struct start_block *b, bool by_state)
{
    if (by_state && a->state != b->state)
        return a->state < b->state; /* BOOKS_ALLOCATED first */
    return a->addr < b->addr;
}

static void sort_blocks(struct start_block *v, size_t n, bool by_state)
{
    for (size_t end = n, start = n / 2; end > 1;) {
        if (start)
            start--;
        else {
            end--;
            struct start_block t = v[0];
            v[0] = v[end];
            v[end] = t;
        }
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && sift_before(&v[child], &v[child + 1], by_state))
                child++;
            if (!sift_before(&v[root], &v[child], by_state))
                break;
            struct start_block t = v[root];
            v[root] = v[child];
            v[child] = t;
        }
    }
}

/* The segment that contains an address, by binary search; NULL: none. */
static const struct start_segment *segment_around(const struct msnap_start *st, uint64_t addr)
{
    size_t low = 0, high = st->n_segments;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (st->segments[mid].addr <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0 || addr - st->segments[low - 1].addr >= st->segments[low - 1].size)
        return NULL;
    return &st->segments[low - 1];
}

/* Index of the last block at or below an address; n if there is none. */
static size_t block_below(const struct start_block *v, size_t n, uint64_t addr)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (v[mid].addr <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? low - 1 : n;
}

/* Sizes of blocks known from their free alone: the rounded request, and what was not split off. */
static void measure(const struct msnap_snapshot *s, const struct msnap_device *d, const struct msnap_alloc_config *c,
                    const struct msnap_start *st, struct start_block *v, size_t n)
{
    size_t undecided = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i].exact)
            continue;
        const struct start_segment *g = segment_around(st, v[i].addr);
        uint64_t rounded = msnap_round_size(c, v[i].requested);
        v[i].size = rounded;
        v[i].exact = true; /* until shown otherwise */
        if (!g)
            continue;
        uint64_t end = g->addr + g->size;
        if (i + 1 < n && v[i + 1].addr < end)
            end = v[i + 1].addr;
        uint64_t room = end - v[i].addr;
        if (room < rounded) {
            v[i].size = room;
            continue;
        }
        bool splits_small = g->kind.small || (c->known ? c->expandable : g->kind.expandable);
        if (splits_small)
            continue;
        if (room - rounded <= MSNAP_SMALL_SIZE || rounded >= c->max_split) {
            v[i].size = room;
        } else {
            v[i].exact = false; /* there may be slack behind it that was split off again since */
            undecided++;
        }
    }
    const struct msnap_events *e = &s->events;
    for (size_t i = 0; i < d->n_events && undecided; i++) {
        size_t row = d->first_event + i;
        if (e->action[row] != MSNAP_ALLOC)
            continue;
        uint64_t addr = e->addr[row];
        size_t k = block_below(v, n, addr);
        if (k == n || v[k].exact)
            continue;
        undecided--;
        v[k].exact = true;
        if (i > v[k].first_free)
            continue; /* it was gone by then */
        /* An allocation begins where its free block began, which is where this one ended. */
        uint64_t slack = addr - v[k].addr - v[k].size;
        if (addr >= v[k].addr + v[k].size && slack <= MSNAP_SMALL_SIZE)
            v[k].size += slack;
    }
}

static enum msnap_status find_blocks(const struct msnap_snapshot *s, const struct msnap_device *d, const struct msnap_alloc_config *c,
                                     struct msnap_arena *arena, struct msnap_start *out, struct msnap_error *err)
{
    struct pairing p = {.mem = msnap_arena_mem(arena)};
    bool ok = msnap_addrmap_init(&p.live, p.mem) && pair_events(s, d, &p);
    if (ok) {
        out->n_blocks = p.found.n;
        out->blocks = MSNAP_NEW_RAW(arena, struct start_block, p.found.n);
        ok = out->blocks != NULL;
    }
    if (ok && p.found.n) {
        memcpy(out->blocks, p.found.data, p.found.n * sizeof *out->blocks);
        sort_blocks(out->blocks, out->n_blocks, false);
        measure(s, d, c, out, out->blocks, out->n_blocks);
        sort_blocks(out->blocks, out->n_blocks, true);
        for (size_t i = 0; i < out->n_blocks; i++)
            out->n_pending += out->blocks[i].state == BOOKS_PENDING;
    }
    msnap_addrmap_release(&p.live, p.mem);
    msnap_vec_release(&p.found, p.mem, sizeof(struct start_block));
    return ok ? MSNAP_OK : no_memory(err);
}

enum msnap_status msnap_start_segments(const struct msnap_snapshot *s, const struct msnap_device *d,
                                       const struct msnap_alloc_config *config, struct msnap_fault_log *faults,
                                       struct msnap_arena *arena, struct msnap_start *out, struct msnap_error *err)
{
    struct msnap_books undo;
    struct msnap_fault_log undone = {{0}, {0}, {0}};
    *out = (struct msnap_start){0};
    enum msnap_status st = MSNAP_OK;
    if (msnap_books_init(&undo, msnap_arena_mem(arena), config, &undone))
        st = undo_segments(s, d, &undo, arena, out, err);
    else
        st = no_memory(err);
    msnap_books_release(&undo);
    if (st != MSNAP_OK)
        return st;
    /* Undoing a segment_alloc that has nothing to take away is the same contradiction as a
     * segment_free without a segment. */
    enum msnap_fault_id id = MSNAP_FAULT_segment_free_unknown;
    if (faults && undone.count[id]) {
        msnap_fault_note(faults, id, undone.event[id], undone.addr[id]);
        faults->count[id] += undone.count[id] - 1;
    }
    bool segment_events = out->n_kinds > 0, allocs = false;
    for (size_t i = 0; i < d->n_events && !segment_events && !allocs; i++)
        allocs = s->events.action[d->first_event + i] == MSNAP_ALLOC;
    /* Without any segment at either end and in between, the entries were left out (skip_actions). */
    out->coverage = d->n_events == 0                                                ? MSNAP_HISTORY_NONE
                    : out->n_segments || (allocs && !segment_events)                ? MSNAP_HISTORY_CUT
                                                                                    : MSNAP_HISTORY_COMPLETE;
    return MSNAP_OK;
}

enum msnap_status msnap_start_find(const struct msnap_snapshot *s, const struct msnap_device *d, const struct msnap_alloc_config *config,
                                   struct msnap_fault_log *faults, struct msnap_arena *arena, struct msnap_start *out,
                                   struct msnap_error *err)
{
    enum msnap_status st = msnap_start_segments(s, d, config, faults, arena, out, err);
    if (st != MSNAP_OK || out->coverage == MSNAP_HISTORY_COMPLETE)
        return st;
    return find_blocks(s, d, config, arena, out, err);
}

void msnap_start_set(const struct msnap_start *start, struct msnap_books *b)
{
    b->event = MSNAP_NO_EVENT;
    for (size_t i = 0; i < start->n_segments; i++)
        msnap_books_add_segment(b, start->segments[i].addr, start->segments[i].size, start->segments[i].kind);
    /* Blocks are placed in ascending order: allocated and pending ones are two ascending runs. */
    size_t n_allocated = start->n_blocks - start->n_pending, a = 0, p = n_allocated, g = 0;
    while ((a < n_allocated || p < start->n_blocks) && !b->out_of_memory) {
        bool take_a = a < n_allocated && (p == start->n_blocks || start->blocks[a].addr < start->blocks[p].addr);
        size_t i = take_a ? a++ : p++;
        const struct start_block *v = &start->blocks[i];
        while (g < start->n_segments && v->addr >= start->segments[g].addr + start->segments[g].size)
            g++;
        bool inside = g < start->n_segments && v->addr >= start->segments[g].addr;
        msnap_books_place(b, inside ? (uint32_t)g + 1 : 0, v->addr, v->size, v->requested, (enum msnap_books_state)v->state, (uint32_t)i);
    }
}
