/* oom.c -- the state at each `oom` event, and what would have had to be different. */
#include <memsnap/oom.h>

#include "analysis/replay_books.h"
#include "base/arena.h"
#include "base/status.h"

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the OOM events"); }

/* The request as the allocator saw it. */
struct request {
    uint64_t rounded, segment;
    uint32_t stream;
    bool small;
};

/* Whether get_free_block would have taken a block of this size for the request (7.1 of the
 * allocator's description: oversize blocks are kept for oversize requests). */
static bool acceptable(const struct msnap_alloc_config *c, const struct request *q, uint64_t size)
{
    if (size < q->rounded)
        return false;
    return q->rounded < c->max_split ? size < c->max_split : size < q->rounded + c->large_segment;
}

static bool usable_segment(const struct msnap_books_segment *g, const struct request *q)
{
    return g->stream == q->stream && g->small == q->small && g->pool <= 1;
}

struct free_facts {
    uint64_t releasable, largest, largest_anywhere;
    bool fits;                 /* a free block that the request could have used */
    bool fits_if_completed;    /* with all pending frees completed */
    uint64_t released_if_completed; /* whole segments that completing them would make releasable */
};

/* Bytes that empty_cache could give back of a free run: the whole ordinary segment, or whole
 * granules of expandable memory. */
static uint64_t releasable_of(const struct msnap_alloc_config *c, const struct msnap_books_segment *g, uint64_t addr, uint64_t size)
{
    if (!g->expandable)
        return addr == g->addr && size == g->size ? size : 0;
    uint64_t granule = g->small ? MSNAP_SMALL_BUFFER : c->large_segment;
    uint64_t low = (addr - g->addr + granule - 1) / granule * granule, high = (addr - g->addr + size) / granule * granule;
    return high > low ? high - low : 0;
}

/* One segment: runs of free blocks, and of free and pending blocks together. */
static void look_at(const struct msnap_books *b, const struct msnap_books_segment *g, const struct request *q, struct free_facts *f)
{
    uint64_t run = 0, run_addr = 0, run_completed = 0;
    for (uint32_t id = g->first;; id = msnap_books_block_at(b, id)->next) {
        const struct msnap_books_block *v = id ? msnap_books_block_at(b, id) : NULL;
        if (v && v->state != BOOKS_ALLOCATED) {
            if (run == 0)
                run_addr = v->addr;
            run += v->size;
            run_completed += v->state == BOOKS_PENDING ? v->size : 0;
            if (v->state == BOOKS_FREE) {
                f->releasable += releasable_of(&b->config, g, v->addr, v->size);
                f->largest_anywhere = v->size > f->largest_anywhere ? v->size : f->largest_anywhere;
                if (usable_segment(g, q)) {
                    f->largest = v->size > f->largest ? v->size : f->largest;
                    f->fits = f->fits || acceptable(&b->config, q, v->size);
                }
            }
            continue;
        }
        if (run_completed) {
            f->fits_if_completed = f->fits_if_completed || (usable_segment(g, q) && acceptable(&b->config, q, run));
            f->released_if_completed += releasable_of(&b->config, g, run_addr, run);
        }
        run = run_completed = 0;
        if (!v)
            break;
    }
}

/* Frees that completed after the failing call began: entries right before the event that a failing
 * malloc writes. A free of the program itself is preceded by its own request. */
static uint64_t completed_in_call(const struct msnap_books_feed *f, size_t event)
{
    uint64_t bytes = 0;
    for (size_t i = event; i-- > 0;) {
        uint8_t a = f->action[i];
        if (a == MSNAP_SEGMENT_FREE || a == MSNAP_SEGMENT_UNMAP || a == MSNAP_SEGMENT_MAP)
            continue;
        if (a != MSNAP_FREE_COMPLETED || (i && f->action[i - 1] == MSNAP_FREE_REQUESTED && f->addr[i - 1] == f->addr[i]))
            break;
        bytes += f->size[i];
    }
    return bytes;
}

/* The verdict if `available` bytes could still have been taken from the device. */
static enum msnap_verdict judge(const struct msnap_oom *o, const struct free_facts *f, uint64_t available)
{
    uint64_t missing = o->segment_bytes > available ? o->segment_bytes - available : 0;
    if (f->fits || f->fits_if_completed || (f->released_if_completed && f->released_if_completed >= missing))
        return MSNAP_PENDING_FREES;
    if (!o->limited && o->device_free_known) {
        if (o->capacity_known && o->outside_bytes > MSNAP_ORDINARY_CONTEXT &&
            o->segment_bytes <= available + (o->outside_bytes - MSNAP_ORDINARY_CONTEXT))
            return MSNAP_OUTSIDE;
        if (!o->capacity_known && o->totals.reserved + o->device_free_bytes < (UINT64_C(4) << 30))
            return MSNAP_OUTSIDE;
    }
    return o->inactive_bytes + available >= o->requested_bytes ? MSNAP_FRAGMENTED : MSNAP_EXHAUSTED;
}

static void fill(const struct msnap_history *h, const struct msnap_books *b, const struct msnap_books_feed *feed, size_t event, bool survived,
                 const struct msnap_oom_options *options, struct msnap_oom *o)
{
    const struct msnap_events *e = &h->snapshot->events;
    size_t row = h->device->first_event + event;
    struct request q = {.rounded = e->size[row], .segment = msnap_segment_size(&b->config, e->size[row]),
                        .stream = e->stream[row], .small = e->size[row] <= MSNAP_SMALL_SIZE};
    struct free_facts f = {0};
    for (size_t g = 1; g < b->segments.n; g++)
        if (!msnap_books_segment_at(b, (uint32_t)g)->gone)
            look_at(b, msnap_books_segment_at(b, (uint32_t)g), &q, &f);
    const struct msnap_totals *t = &b->totals;
    *o = (struct msnap_oom){.event = (uint32_t)event, .survived = survived, .requested_bytes = q.rounded, .segment_bytes = q.segment,
                            .device_free_known = (e->has[row] & MSNAP_HAS_DEVICE_FREE) != 0, .device_free_bytes = e->addr[row],
                            .totals = *t, .inactive_bytes = t->reserved > t->active ? t->reserved - t->active : 0,
                            .pending_bytes = t->active - t->allocated, .releasable_bytes = f.releasable,
                            .largest_free_block_bytes = f.largest, .largest_free_anywhere_bytes = f.largest_anywhere,
                            .completed_in_call_bytes = completed_in_call(feed, event), .certain = true};
    if (!o->device_free_known)
        o->device_free_bytes = 0;
    if (options->capacity_bytes && o->device_free_known) {
        o->capacity_known = true;
        uint64_t known = t->reserved + o->device_free_bytes;
        o->outside_bytes = options->capacity_bytes > known ? options->capacity_bytes - known : 0;
    }
    o->limited = o->device_free_known && o->device_free_bytes >= q.segment;
    o->available_bytes = o->device_free_bytes;
    uint64_t most = o->available_bytes;
    if (o->limited) {
        /* The check was "held + segment > limit": the limit lies in [held, held + segment). */
        o->limit_at_least = t->reserved;
        o->limit_below = t->reserved + q.segment;
        if (options->limit_bytes) {
            o->available_bytes = options->limit_bytes > t->reserved ? options->limit_bytes - t->reserved : 0;
            most = o->available_bytes;
        } else {
            o->available_bytes = 0;
            most = q.segment - 1;
        }
    }
    o->verdict = judge(o, &f, o->available_bytes);
    o->certain = o->device_free_known && judge(o, &f, most) == o->verdict;
}

enum msnap_status msnap_oom_find(const struct msnap_history *h, const struct msnap_oom_options *options, struct msnap_arena *arena,
                                 const struct msnap_oom **out, size_t *n_out, struct msnap_error *err)
{
    static const struct msnap_oom_options nothing_known;
    size_t n = 0, k = 0, last_alloc = 0;
    bool any_alloc = false;
    *out = NULL;
    *n_out = 0;
    for (size_t i = 0; i < h->device->n_events; i++) {
        uint8_t a = h->snapshot->events.action[h->device->first_event + i];
        n += a == MSNAP_OOM;
        if (a == MSNAP_ALLOC) {
            last_alloc = i;
            any_alloc = true;
        }
    }
    if (n == 0)
        return MSNAP_OK;
    struct msnap_alloc_config config;
    struct msnap_books b;
    struct msnap_books_feed f;
    struct msnap_oom *ooms = MSNAP_NEW(arena, struct msnap_oom, n);
    if (!ooms)
        return no_memory(err);
    msnap_alloc_config_of(h->snapshot, &config);
    bool ok = msnap_books_begin(&b, &f, h, msnap_arena_mem(arena), &config, NULL);
    for (size_t i = 0; ok && i < f.n && k < n; i++) {
        if (f.action[i] == MSNAP_OOM) {
            fill(h, &b, &f, i, any_alloc && last_alloc > i, options ? options : &nothing_known, &ooms[k]);
            k++;
        }
        msnap_books_apply(&b, &f, i);
        ok = !b.out_of_memory;
    }
    msnap_books_release(&b);
    if (!ok)
        return no_memory(err);
    *out = ooms;
    *n_out = k;
    return MSNAP_OK;
}

const char *msnap_verdict_name(enum msnap_verdict v)
{
    switch (v) {
    case MSNAP_EXHAUSTED: return "exhausted";
    case MSNAP_FRAGMENTED: return "fragmented";
    case MSNAP_PENDING_FREES: return "pending_frees";
    case MSNAP_OUTSIDE: return "outside";
    }
    return "exhausted";
}
