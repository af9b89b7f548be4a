/* bursts.c -- retries and explicit releases, told from the trace. */
#include "analysis/columns.h"
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

/* Whether garbage collection alone explains a burst: it runs above a share of the limit (which is at
 * least what was ever held) and frees ordinary large segments, in rounds; a retry goes on with the
 * small pool and with pages. */
static bool collector_explains(const struct msnap_history *h, const struct msnap_books *b, const struct msnap_books_feed *f, size_t first, size_t last)
{
    double threshold = h->snapshot->settings.gc_threshold;
    if (!(threshold > 0) || (double)b->totals.reserved <= threshold * (double)h->peak_reserved)
        return false;
    for (size_t i = first; i <= last; i++)
        if (gives_back(f->action[i]) && (f->action[i] == MSNAP_SEGMENT_UNMAP || f->size[i] == MSNAP_SMALL_BUFFER))
            return false;
    return true;
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
    const uint32_t *stack = EVENT_COLUMN(h, stack);
    return stack[a] == stack[b] || stack[a] == MSNAP_STACK_NONE || stack[b] == MSNAP_STACK_NONE;
}

struct finding {
    struct burst_counts counts;
    struct msnap_arena *arena;
    struct burst_release *list;
    size_t n, cap;
};

static bool add_release(struct finding *f, uint32_t event, uint32_t pool)
{
    if (!f->arena)
        return true;
    if (f->n == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 64;
        struct burst_release *v = MSNAP_NEW_RAW(f->arena, struct burst_release, cap);
        if (!v)
            return false;
        for (size_t i = 0; i < f->n; i++)
            v[i] = f->list[i];
        f->list = v;
        f->cap = cap;
    }
    f->list[f->n++] = (struct burst_release){event, pool};
    return true;
}

/* Applies a burst, noting which pools' memory it gives back. */
static bool apply_release(struct msnap_books *b, struct msnap_books_feed *f, size_t first, size_t last, struct finding *out, bool explicit)
{
    bool any_default = false, ok = true;
    uint32_t last_private = 0;
    size_t at = out->n;
    for (size_t i = first; i <= last; i++) {
        if (gives_back(f->action[i]) && explicit) {
            uint32_t id = msnap_books_find(b, f->addr[i]), g = id ? msnap_books_segment_of(b, msnap_books_block_at(b, id)->segment) : 0;
            uint32_t pool = g ? msnap_books_segment_at(b, g)->pool : 0;
            any_default = any_default || pool <= 1;
            if (pool > 1 && pool != last_private) {
                ok = ok && add_release(out, (uint32_t)first, pool);
                last_private = pool;
            }
        }
        msnap_books_apply(b, f, i);
    }
    if (explicit && any_default) { /* before the private ones */
        ok = ok && add_release(out, (uint32_t)first, UINT32_MAX);
        if (ok && out->arena)
            for (size_t i = out->n - 1; i > at; i--) {
                struct burst_release t = out->list[i];
                out->list[i] = out->list[i - 1];
                out->list[i - 1] = t;
            }
    }
    return ok;
}

static enum msnap_status find(const struct msnap_history *h, struct msnap_arena *scratch, struct finding *out, struct msnap_error *err)
{
    struct msnap_alloc_config config;
    struct msnap_books b;
    struct msnap_books_feed f;
    msnap_alloc_config_of(h->snapshot, &config);
    bool any = false, ok = true;
    for (size_t i = 0; i < h->device->n_events; i++) {
        uint8_t a = h->snapshot->events.action[h->device->first_event + i];
        any = any || gives_back(a);
        out->counts.ooms += a == MSNAP_OOM;
    }
    out->counts.retries = out->counts.ooms; /* each comes after a retry that failed, too */
    if (!any)
        return MSNAP_OK;
    if (!msnap_books_begin(&b, &f, h, msnap_arena_mem(scratch), &config, NULL))
        b.out_of_memory = true;
    for (size_t i = 0; i < f.n && !b.out_of_memory && ok;) {
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
        bool same = op < f.n && same_stack(h, u.first, op);
        bool retry = same && f.action[op] == MSNAP_ALLOC && op > u.last + 1 && takes(f.action[op - 1]);
        bool of_request = same && (f.action[op] == MSNAP_OOM || retry);
        if (retry) {
            uint64_t rounded = msnap_round_size(&config, f.size[op]);
            uint32_t stream = h->snapshot->events.stream[h->device->first_event + op];
            retry = b.totals.reserved + msnap_segment_size(&config, rounded) > h->peak_reserved && !any_could_serve(&b, stream, rounded) &&
                    !collector_explains(h, &b, &f, u.first, u.last);
            of_request = !any_could_serve(&b, stream, rounded);
        }
        /* With garbage collection or a split limit, a request may release a part. */
        bool partial = h->snapshot->settings.gc_threshold > 0 || config.max_split != MSNAP_UNLIMITED;
        bool by_request = of_request && (partial || f.action[op] == MSNAP_OOM);
        ok = apply_release(&b, &f, u.first, u.last, out, !retry && !by_request);
        i = u.last + 1;
        bool full = !any_releasable(&b);
        out->counts.retries += retry && full; /* else it was the garbage collector, or one oversize block */
        out->counts.explicit_releases += !retry && !by_request;
    }
    bool failed = b.out_of_memory || !ok;
    msnap_books_release(&b);
    return failed ? msnap_fail(err, MSNAP_ENOMEM, "no memory for the statistics") : MSNAP_OK;
}

enum msnap_status msnap_bursts_count(const struct msnap_history *h, struct msnap_arena *arena, struct burst_counts *out,
                                     struct msnap_error *err)
{
    struct finding f = {.arena = NULL};
    enum msnap_status st = find(h, arena, &f, err);
    *out = f.counts;
    return st;
}

enum msnap_status msnap_bursts_list(const struct msnap_history *h, struct msnap_arena *arena, struct burst_release **out, size_t *n,
                                    struct msnap_error *err)
{
    struct finding f = {.arena = arena};
    enum msnap_status st = find(h, arena, &f, err);
    *out = f.list;
    *n = f.n;
    return st;
}
