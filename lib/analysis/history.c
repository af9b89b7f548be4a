/* history.c -- the books of one device, event by event: lives, totals, peaks. */
#include <memsnap/history.h>

#include "analysis/replay_books.h"
#include "base/arena.h"
#include "base/status.h"

#include <string.h>

struct recording {
    struct msnap_books books;
    struct msnap_history *out;
    uint32_t *alloc_event, *request_event, *free_event;
    uint64_t *block_size;
    uint32_t *pool; /* NULL where the file knows no pool but the default one */
    uint64_t *allocated, *active, *reserved, *requested;
    struct msnap_books_feed feed;
};

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the history"); }

/* An allocation whose end the trace does not show ended at this event at the latest. */
static void end_life(struct recording *r, uint32_t row, uint32_t event)
{
    if (row == BOOKS_NO_ROW)
        return;
    if (r->request_event[row] == MSNAP_NO_EVENT)
        r->request_event[row] = event;
    r->free_event[row] = event;
}

static void keep_peaks(struct recording *r, uint32_t event)
{
    const struct msnap_totals *t = &r->books.totals;
    struct msnap_history *h = r->out;
    if (t->allocated > h->peak.totals.allocated)
        h->peak = (struct msnap_moment){event, *t};
    if (t->reserved > h->peak_reserved)
        h->peak_reserved = t->reserved;
    if (t->active > h->peak_active)
        h->peak_active = t->active;
    if (t->requested > h->peak_requested)
        h->peak_requested = t->requested;
}

static uint32_t pool_of(const struct msnap_books *b, uint32_t block)
{
    uint32_t segment = block ? msnap_books_segment_of(b, msnap_books_block_at(b, block)->segment) : 0;
    return segment ? msnap_books_segment_at(b, segment)->pool : 0;
}

static void run(struct recording *r)
{
    struct msnap_books *b = &r->books;
    for (size_t i = 0; i < r->feed.n && !b->out_of_memory; i++) {
        uint32_t event = (uint32_t)i, row = r->feed.row;
        struct msnap_books_effect e = msnap_books_apply(b, &r->feed, i);
        if (e.requested != BOOKS_NO_ROW)
            r->request_event[e.requested] = event;
        end_life(r, e.completed, event);
        if (r->feed.row != row) {
            end_life(r, e.displaced, event);
            r->alloc_event[row] = event;
            r->request_event[row] = r->free_event[row] = MSNAP_NO_EVENT;
            r->block_size[row] = e.block ? msnap_books_block_at(b, e.block)->size : 0;
            if (r->pool)
                r->pool[row] = pool_of(b, e.block);
            keep_peaks(r, event);
        } else if (b->totals.reserved > r->out->peak_reserved) {
            r->out->peak_reserved = b->totals.reserved;
        }
        if (r->allocated) {
            r->allocated[i] = b->totals.allocated;
            r->active[i] = b->totals.active;
            r->reserved[i] = b->totals.reserved;
            r->requested[i] = b->totals.requested;
        }
    }
}

/* The rows of what was live before event 0. */
static bool fill_initial(struct recording *r, const struct msnap_start *start, struct msnap_arena *arena)
{
    struct msnap_allocs *a = &r->out->allocs;
    size_t n = start->n_blocks;
    uint64_t *addr = MSNAP_NEW_RAW(arena, uint64_t, n), *size = MSNAP_NEW_RAW(arena, uint64_t, n);
    uint32_t *stack = MSNAP_NEW_RAW(arena, uint32_t, n), *stream = MSNAP_NEW_RAW(arena, uint32_t, n);
    if (!addr || !size || !stack || !stream)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct start_block *v = &start->blocks[i];
        addr[i] = v->addr;
        size[i] = v->requested;
        stack[i] = v->stack;
        stream[i] = v->stream;
        r->alloc_event[i] = r->request_event[i] = r->free_event[i] = MSNAP_NO_EVENT;
        r->block_size[i] = v->size;
    }
    a->n_initial = n;
    a->n_initial_pending = start->n_pending;
    a->initial_addr = addr;
    a->initial_size = size;
    a->initial_stack = stack;
    a->initial_stream = stream;
    return true;
}

/* The state after the last event against the recorded one, block for block. */
static void compare_end(struct recording *r, struct msnap_fault_log *log)
{
    const struct msnap_snapshot *s = r->out->snapshot;
    const struct msnap_device *d = r->out->device;
    const struct msnap_books *b = &r->books;
    static const uint8_t state_of[] = {[MSNAP_BLOCK_UNKNOWN] = BOOKS_FREE, [MSNAP_BLOCK_ALLOCATED] = BOOKS_ALLOCATED,
                                       [MSNAP_BLOCK_PENDING] = BOOKS_PENDING, [MSNAP_BLOCK_INACTIVE] = BOOKS_FREE};
    size_t recorded = 0, held = 0;
    for (size_t g = d->first_segment; g < d->first_segment + d->n_segments; g++) {
        for (size_t k = 0; k < s->segments.n_blocks[g]; k++, recorded++) {
            size_t i = s->segments.first_block[g] + k;
            uint32_t id = msnap_books_find(b, s->blocks.address[i]);
            const struct msnap_books_block *v = id ? msnap_books_block_at(b, id) : NULL;
            if (!v || v->size != s->blocks.size[i] || v->state != state_of[s->blocks.state[i]] ||
                (v->state != BOOKS_FREE && v->requested != s->blocks.requested_size[i]))
                msnap_fault_note(log, MSNAP_FAULT_end_differs, MSNAP_NO_EVENT, s->blocks.address[i]);
        }
    }
    for (size_t i = 1; i < b->blocks.n; i++)
        held += !msnap_books_block_at(b, (uint32_t)i)->is_free_slot;
    if (held > recorded)
        msnap_fault_note(log, MSNAP_FAULT_end_differs, MSNAP_NO_EVENT, 0);
}

static enum msnap_status build(struct recording *r, unsigned flags, struct msnap_fault_log *log, struct msnap_arena *arena,
                               struct msnap_error *err)
{
    struct msnap_history *h = r->out;
    const struct msnap_device *d = h->device;
    const struct msnap_start *start = h->start_state;
    size_t n = start->n_blocks;
    for (size_t i = 0; i < d->n_events; i++)
        n += r->feed.action[i] == MSNAP_ALLOC;
    r->alloc_event = MSNAP_NEW_RAW(arena, uint32_t, n);
    r->request_event = MSNAP_NEW_RAW(arena, uint32_t, n);
    r->free_event = MSNAP_NEW_RAW(arena, uint32_t, n);
    r->block_size = MSNAP_NEW_RAW(arena, uint64_t, n);
    if (h->snapshot->pools.n > 2 && !(r->pool = MSNAP_NEW(arena, uint32_t, n)))
        return no_memory(err);
    if (!r->alloc_event || !r->request_event || !r->free_event || !r->block_size || !fill_initial(r, start, arena))
        return no_memory(err);
    if (flags & MSNAP_WITH_SERIES) {
        r->allocated = MSNAP_NEW_RAW(arena, uint64_t, d->n_events);
        r->active = MSNAP_NEW_RAW(arena, uint64_t, d->n_events);
        r->reserved = MSNAP_NEW_RAW(arena, uint64_t, d->n_events);
        r->requested = MSNAP_NEW_RAW(arena, uint64_t, d->n_events);
        if (!r->allocated || !r->active || !r->reserved || !r->requested)
            return no_memory(err);
    }
    h->start = r->books.totals;
    h->peak = (struct msnap_moment){MSNAP_NO_EVENT, r->books.totals};
    keep_peaks(r, MSNAP_NO_EVENT);
    for (size_t i = 0; r->pool && i < start->n_blocks; i++)
        r->pool[i] = pool_of(&r->books, msnap_books_find(&r->books, start->blocks[i].addr));
    run(r);
    if (r->books.out_of_memory)
        return no_memory(err);
    h->end = r->books.totals;
    if (d->n_events)
        compare_end(r, log);
    h->allocs.n = n;
    h->allocs.alloc_event = r->alloc_event;
    h->allocs.request_event = r->request_event;
    h->allocs.free_event = r->free_event;
    h->allocs.block_size = r->block_size;
    h->allocs.pool = r->pool;
    h->allocated = r->allocated;
    h->active = r->active;
    h->reserved = r->reserved;
    h->requested = r->requested;
    for (int i = 0; i < MSNAP_N_FAULTS; i++)
        h->n_faults += log->count[i];
    return MSNAP_OK;
}

bool msnap_books_begin(struct msnap_books *b, struct msnap_books_feed *f, const struct msnap_history *h, struct msnap_mem mem,
                 const struct msnap_alloc_config *config, struct msnap_fault_log *faults)
{
    const struct msnap_events *e = &h->snapshot->events;
    const struct msnap_device *d = h->device;
    *f = (struct msnap_books_feed){.n = d->n_events, .start = h->start_state, .row = (uint32_t)h->start_state->n_blocks};
    size_t requests = 0, completions = 0;
    if (d->n_events) {
        f->action = e->action + d->first_event;
        f->addr = e->addr + d->first_event;
        f->size = e->size + d->first_event;
    }
    for (size_t i = 0; i < d->n_events && !completions; i++) {
        requests += f->action[i] == MSNAP_FREE_REQUESTED;
        completions += f->action[i] == MSNAP_FREE_COMPLETED;
    }
    /* Where blocks are pending at the dump, completions were recorded; there just was none. */
    size_t pending = 0;
    for (size_t g = d->first_segment; g < d->first_segment + d->n_segments && !pending; g++)
        for (size_t k = 0; k < h->snapshot->segments.n_blocks[g]; k++)
            pending += h->snapshot->blocks.state[h->snapshot->segments.first_block[g] + k] == MSNAP_BLOCK_PENDING;
    f->requested_completes = requests && !completions && !pending;
    if (!msnap_books_init(b, mem, config, faults))
        return false;
    msnap_start_set(h->start_state, b);
    return !b->out_of_memory;
}

enum msnap_status msnap_history_build(const struct msnap_snapshot *s, const struct msnap_device *device, unsigned flags,
                                      struct msnap_arena *arena, struct msnap_history *out, struct msnap_error *err)
{
    struct msnap_alloc_config config;
    struct msnap_start *start = MSNAP_NEW(arena, struct msnap_start, 1);
    struct msnap_fault_log *log = MSNAP_NEW(arena, struct msnap_fault_log, 1);
    if (!start || !log)
        return no_memory(err);
    msnap_alloc_config_of(s, &config);
    enum msnap_status st = msnap_start_find(s, device, &config, log, arena, start, err);
    if (st != MSNAP_OK)
        return st;
    struct msnap_history h = {.snapshot = s, .device = device, .coverage = start->coverage, .start_state = start, .faults = log};
    struct recording r = {.out = &h};
    if (msnap_books_begin(&r.books, &r.feed, &h, msnap_arena_mem(arena), &config, log))
        st = build(&r, flags, log, arena, err);
    else
        st = no_memory(err);
    msnap_books_release(&r.books);
    if (st == MSNAP_OK)
        *out = h;
    return st;
}

enum msnap_status msnap_history_coverage(const struct msnap_snapshot *s, const struct msnap_device *device, struct msnap_arena *arena,
                                         enum msnap_coverage *out, struct msnap_error *err)
{
    struct msnap_alloc_config config;
    struct msnap_start start;
    struct msnap_snapshot kept;
    struct msnap_device rows;
    bool allocs_only = false;
    if (s->counts) { /* the segment events are there, as a table of their own */
        const struct msnap_device_counts *c = &s->counts[device - s->devices];
        kept = *s;
        kept.events = s->kept;
        rows = *device;
        rows.first_event = device->first_kept;
        rows.n_events = device->n_kept;
        allocs_only = c->by_action[MSNAP_ALLOC] && !c->by_action[MSNAP_SEGMENT_ALLOC] && !c->by_action[MSNAP_SEGMENT_MAP];
        s = &kept;
    }
    msnap_alloc_config_of(s, &config);
    enum msnap_status st = msnap_start_segments(s, s == &kept ? &rows : device, &config, NULL, arena, &start, err);
    if (st != MSNAP_OK)
        return st;
    *out = start.coverage;
    if (s == &kept && device->n_events) /* entries that were not kept are entries, too */
        *out = start.n_segments || allocs_only ? MSNAP_HISTORY_CUT : MSNAP_HISTORY_COMPLETE;
    return MSNAP_OK;
}
