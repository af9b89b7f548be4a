/* bursts.c -- retries and explicit releases, told from the trace. */
#include "analysis/bursts.h"

#include "analysis/replay_books.h"
#include "base/arena.h"
#include "base/status.h"

static bool gives_back(uint8_t a) { return a == MSNAP_SEGMENT_FREE || a == MSNAP_SEGMENT_UNMAP; }
static bool takes(uint8_t a) { return a == MSNAP_SEGMENT_ALLOC || a == MSNAP_SEGMENT_MAP; }

/* Whether a free block of the request's pool could have served it: then no cudaMalloc was tried. */
static bool could_serve(const struct msnap_books *b, const struct msnap_books_segment *g, const struct msnap_books_block *v, uint32_t stream, bool small,
                        uint64_t rounded)
{
    if (v->state != BOOKS_FREE || v->is_free_slot || g->gone || g->stream != stream || g->small != small || v->size < rounded || g->pool > 1)
        return false;
    if (rounded < b->config.max_split)
        return v->size < b->config.max_split;
    return v->size < rounded + b->config.large_segment;
}

static bool any_could_serve(struct msnap_books *b, uint32_t stream, uint64_t rounded)
{
    bool small = rounded <= MSNAP_SMALL_SIZE;
    for (size_t i = 1; i < b->blocks.n; i++) {
        const struct msnap_books_block *v = msnap_books_block_at(b, (uint32_t)i);
        if (!v->is_free_slot && v->segment && v->state == BOOKS_FREE &&
            could_serve(b, msnap_books_segment_at(b, msnap_books_segment_of(b, v->segment)), v, stream, small, rounded))
            return true;
    }
    return false;
}

/* Whether a whole free ordinary segment of the default pools is left: a retry releases them all. */
static bool any_releasable(const struct msnap_books *b)
{
    for (size_t g = 1; g < b->segments.n; g++) {
        const struct msnap_books_segment *s = msnap_books_segment_at(b, (uint32_t)g);
        if (!s->gone && !s->expandable && s->pool <= 1 && s->first == s->last && msnap_books_block_at(b, s->first)->state == BOOKS_FREE)
            return true;
    }
    return false;
}

struct burst {
    size_t first, last; /* entries that give back; completed frees may stand between */
};

/* The entry that the operation around a burst ends in: alloc or oom; n if the burst stands alone. */
static size_t operation_end(const struct msnap_books_feed *f, size_t i)
{
    size_t n = f->n;
    while (i < n && (takes(f->action[i]) || f->action[i] == MSNAP_FREE_COMPLETED))
        i++;
    return i < n && (f->action[i] == MSNAP_ALLOC || f->action[i] == MSNAP_OOM) ? i : n;
}

static bool same_stack(const struct msnap_history *h, size_t a, size_t b)
{
    const uint32_t *stack = h->snapshot->events.stack + h->device->first_event;
    return stack[a] == stack[b] || stack[a] == MSNAP_STACK_NONE || stack[b] == MSNAP_STACK_NONE;
}

enum msnap_status msnap_bursts_count(const struct msnap_history *h, struct msnap_arena *arena, struct burst_counts *out,
                                     struct msnap_error *err)
{
    struct msnap_alloc_config config;
    struct msnap_books b;
    struct msnap_books_feed f;
    *out = (struct burst_counts){0};
    msnap_alloc_config_of(h->snapshot, &config);
    bool any = false;
    for (size_t i = 0; i < h->device->n_events; i++) {
        uint8_t a = h->snapshot->events.action[h->device->first_event + i];
        any = any || gives_back(a);
        out->ooms += a == MSNAP_OOM;
    }
    out->retries = out->ooms; /* each comes after a retry that failed, too */
    if (!any)
        return MSNAP_OK;
    if (!msnap_books_begin(&b, &f, h, msnap_arena_mem(arena), &config, NULL))
        b.out_of_memory = true;
    for (size_t i = 0; i < f.n && !b.out_of_memory;) {
        if (!gives_back(f.action[i])) {
            msnap_books_apply(&b, &f, i++);
            continue;
        }
        struct burst u = {i, i};
        size_t end = i;
        while (end < f.n && (gives_back(f.action[end]) || f.action[end] == MSNAP_FREE_COMPLETED)) {
            if (gives_back(f.action[end]))
                u.last = end;
            end++;
        }
        size_t op = operation_end(&f, u.last + 1);
        bool retry = op < f.n && f.action[op] == MSNAP_ALLOC && op > u.last + 1 && takes(f.action[op - 1]) && same_stack(h, u.first, op);
        if (retry) {
            uint64_t rounded = f.action[op] == MSNAP_OOM ? f.size[op] : msnap_round_size(&config, f.size[op]);
            uint32_t stream = h->snapshot->events.stream[h->device->first_event + op];
            retry = b.totals.reserved + msnap_segment_size(&config, rounded) > h->peak_reserved && !any_could_serve(&b, stream, rounded);
        }
        for (; i <= u.last; i++)
            msnap_books_apply(&b, &f, i);
        if (retry)
            retry = !any_releasable(&b); /* else it was the garbage collector, or one oversize block */
        bool of_oom = op < f.n && f.action[op] == MSNAP_OOM && same_stack(h, u.first, op);
        out->retries += retry;
        out->explicit_releases += !retry && !of_oom;
    }
    bool failed = b.out_of_memory;
    msnap_books_release(&b);
    return failed ? msnap_fail(err, MSNAP_ENOMEM, "no memory for the statistics") : MSNAP_OK;
}
