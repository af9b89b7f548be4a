/* frag.c -- free memory by pool, segment and size, and the live blocks that pin it. */
#include <memsnap/frag.h>

#include "analysis/replay_books.h"
#include "base/arena.h"
#include "base/status.h"

#include <string.h>

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the fragmentation"); }

/* Heap sort of rows of any type; `before` is a strict order that leaves no ties. */
static void sort_rows(void *rows, size_t n, size_t size, bool (*before)(const void *, const void *))
{
    char *v = rows, t[128];
    for (size_t end = n, start = n / 2; end > 1;) {
        if (start) {
            start--;
        } else {
            end--;
            memcpy(t, v, size);
            memcpy(v, v + end * size, size);
            memcpy(v + end * size, t, size);
        }
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && before(v + child * size, v + (child + 1) * size))
                child++;
            if (!before(v + root * size, v + child * size))
                break;
            memcpy(t, v + root * size, size);
            memcpy(v + root * size, v + child * size, size);
            memcpy(v + child * size, t, size);
        }
    }
}

static bool pool_before(const void *a, const void *b)
{
    const struct msnap_frag_pool *x = a, *y = b;
    if (x->inactive != y->inactive)
        return x->inactive > y->inactive;
    if (x->pool != y->pool)
        return x->pool < y->pool;
    return x->stream != y->stream ? x->stream < y->stream : x->small < y->small;
}

static bool segment_before(const void *a, const void *b)
{
    const struct msnap_frag_segment *x = a, *y = b;
    uint64_t p = x->inactive - x->releasable, q = y->inactive - y->releasable;
    if (p != q)
        return p > q;
    return x->inactive != y->inactive ? x->inactive > y->inactive : x->segment < y->segment;
}

static bool pin_before(const void *a, const void *b)
{
    const struct msnap_frag_pin *x = a, *y = b;
    if (x->released != y->released)
        return x->released > y->released;
    return x->held_back != y->held_back ? x->held_back > y->held_back : x->stack < y->stack;
}

/* What empty_cache() gives back of a free run in a segment. */
static uint64_t releasable_of(const struct msnap_alloc_config *c, const struct msnap_map_segment *g, uint64_t addr, uint64_t size)
{
    if (!g->expandable)
        return size == g->size ? size : 0;
    uint64_t granule = g->small ? MSNAP_SMALL_BUFFER : c->large_segment, from = addr - g->addr;
    uint64_t low = (from + granule - 1) / granule * granule, high = (from + size) / granule * granule;
    return high > low ? high - low : 0;
}

/* Releasable bytes of a segment if the live blocks of one stack were free (stack UINT32_MAX: none). */
static uint64_t releasable_without(const struct msnap_history *h, const struct msnap_alloc_config *c, const struct msnap_blockmap *m,
                                   const struct msnap_map_segment *g, uint32_t stack)
{
    uint64_t sum = 0, run = 0, run_addr = 0;
    for (size_t i = 0; i <= g->n_blocks; i++) {
        const struct msnap_map_block *b = i < g->n_blocks ? &m->blocks[g->first_block + i] : NULL;
        bool is_free = b && (b->state == MSNAP_BLOCK_INACTIVE || (stack != UINT32_MAX && b->row != UINT32_MAX && msnap_alloc_stack(h, b->row) == stack));
        if (is_free) {
            if (!run)
                run_addr = b->addr;
            run += b->size;
        } else if (run) {
            sum += releasable_of(c, g, run_addr, run);
            run = 0;
        }
    }
    return sum;
}

struct work {
    const struct msnap_history *h;
    struct msnap_arena *arena;
    const struct msnap_alloc_config *config;
    struct msnap_frag *out;
    struct msnap_frag_pool *pools;
    struct msnap_frag_segment *segments;
    struct msnap_frag_pin *pins;
    uint32_t *pin_of;     /* by stack: pin index + 1 */
    uint32_t *seen_in;    /* by stack: segment index + 1 that last counted it */
    uint64_t class_blocks[64], class_bytes[64];
};

static struct msnap_frag_pool *pool_row(struct work *w, const struct msnap_map_segment *g)
{
    uint32_t pool = g->pool ? g->pool : 1;
    for (size_t i = 0; i < w->out->n_pools; i++)
        if (w->pools[i].pool == pool && w->pools[i].stream == g->stream && w->pools[i].small == g->small)
            return &w->pools[i];
    struct msnap_frag_pool *p = &w->pools[w->out->n_pools++];
    *p = (struct msnap_frag_pool){.pool = pool, .stream = g->stream, .small = g->small};
    return p;
}

static void look_at_segment(struct work *w, size_t index)
{
    const struct msnap_blockmap *m = &w->out->map;
    const struct msnap_map_segment *g = &m->segments[index];
    struct msnap_frag_segment s = {.segment = index, .releasable = releasable_without(w->h, w->config, m, g, UINT32_MAX)};
    for (size_t i = g->first_block; i < g->first_block + g->n_blocks; i++) {
        const struct msnap_map_block *b = &m->blocks[i];
        if (b->state == MSNAP_BLOCK_INACTIVE) {
            unsigned c = 0;
            while (c < 63 && b->size >> (c + 1))
                c++;
            w->class_blocks[c]++;
            w->class_bytes[c] += b->size;
            s.inactive += b->size;
            s.largest_free = b->size > s.largest_free ? b->size : s.largest_free;
        } else {
            s.live_blocks++;
            if (b->state == MSNAP_BLOCK_PENDING)
                s.pending += b->size;
            else
                s.allocated += b->size;
        }
    }
    struct msnap_frag_pool *p = pool_row(w, g);
    p->segments++;
    p->reserved += g->size;
    p->allocated += s.allocated;
    p->pending += s.pending;
    p->inactive += s.inactive;
    p->releasable += s.releasable;
    p->largest_free = s.largest_free > p->largest_free ? s.largest_free : p->largest_free;
    w->out->inactive += s.inactive;
    w->out->pending += s.pending;
    w->out->releasable += s.releasable;
    w->out->largest_free = s.largest_free > w->out->largest_free ? s.largest_free : w->out->largest_free;
    if (s.inactive)
        w->segments[w->out->n_segments++] = s;
}

/* Each stack with live blocks in a segment that holds pinned memory. */
static void pin_segment(struct work *w, const struct msnap_frag_segment *s)
{
    const struct msnap_blockmap *m = &w->out->map;
    const struct msnap_map_segment *g = &m->segments[s->segment];
    uint64_t pinned = s->inactive - s->releasable;
    for (size_t i = g->first_block; i < g->first_block + g->n_blocks; i++) {
        const struct msnap_map_block *b = &m->blocks[i];
        if (b->row == UINT32_MAX)
            continue;
        uint32_t stack = msnap_alloc_stack(w->h, b->row);
        if (!w->pin_of[stack]) {
            w->pins[w->out->n_pins] = (struct msnap_frag_pin){.stack = stack};
            w->pin_of[stack] = (uint32_t)++w->out->n_pins;
        }
        struct msnap_frag_pin *p = &w->pins[w->pin_of[stack] - 1];
        p->blocks++;
        p->bytes += b->size;
        if (w->seen_in[stack] == (uint32_t)s->segment + 1)
            continue;
        w->seen_in[stack] = (uint32_t)s->segment + 1;
        p->segments++;
        p->held_back += pinned;
        p->released += releasable_without(w->h, w->config, m, g, stack) - s->releasable;
    }
}

static uint64_t largest_free(const struct msnap_books *b)
{
    uint64_t largest = 0;
    for (size_t i = 1; i < b->blocks.n; i++) {
        const struct msnap_books_block *v = msnap_books_block_at(b, (uint32_t)i);
        if (!v->is_free_slot && v->state == BOOKS_FREE && v->size > largest)
            largest = v->size;
    }
    return largest;
}

/* Twelve moments, evenly over the events, the last one included. */
static enum msnap_status sample(struct work *w, struct msnap_error *err)
{
    size_t n = w->h->device->n_events, want = n < MSNAP_FRAG_POINTS ? n : MSNAP_FRAG_POINTS, k = 0;
    struct msnap_frag_point *points = MSNAP_NEW(w->arena, struct msnap_frag_point, MSNAP_FRAG_POINTS);
    struct msnap_books b;
    struct msnap_books_feed f;
    if (!points)
        return no_memory(err);
    w->out->points = points;
    if (!want)
        return MSNAP_OK;
    bool ok = msnap_books_begin(&b, &f, w->h, msnap_arena_mem(w->arena), w->config, NULL);
    for (size_t i = 0; ok && i < n; i++) {
        msnap_books_apply(&b, &f, i);
        ok = !b.out_of_memory;
        if (i + 1 == (k + 1) * n / want) {
            points[k] = (struct msnap_frag_point){.event = (uint32_t)i, .totals = b.totals, .largest_free = largest_free(&b)};
            k++;
        }
    }
    msnap_books_release(&b);
    w->out->n_points = k;
    return ok ? MSNAP_OK : no_memory(err);
}

enum msnap_status msnap_frag_build(const struct msnap_history *h, uint32_t event, unsigned flags, struct msnap_arena *arena, struct msnap_frag *out,
                                   struct msnap_error *err)
{
    struct msnap_alloc_config config;
    struct msnap_frag frag;
    memset(&frag, 0, sizeof frag);
    struct work w = {.h = h, .arena = arena, .config = &config, .out = &frag};
    msnap_alloc_config_of(h->snapshot, &config);
    enum msnap_status st = msnap_blockmap_build(h, event, arena, &frag.map, err);
    if (st != MSNAP_OK)
        return st;
    size_t n = frag.map.n_segments, stacks = h->snapshot->stacks.n;
    w.pools = MSNAP_NEW(arena, struct msnap_frag_pool, n);
    w.segments = MSNAP_NEW(arena, struct msnap_frag_segment, n);
    w.pins = MSNAP_NEW(arena, struct msnap_frag_pin, stacks < frag.map.n_blocks ? stacks : frag.map.n_blocks);
    w.pin_of = MSNAP_NEW(arena, uint32_t, stacks);
    w.seen_in = MSNAP_NEW(arena, uint32_t, stacks);
    struct msnap_frag_class *classes = MSNAP_NEW(arena, struct msnap_frag_class, 64);
    if (!w.pools || !w.segments || !w.pins || !w.pin_of || !w.seen_in || !classes)
        return no_memory(err);
    for (size_t g = 0; g < n; g++)
        look_at_segment(&w, g);
    sort_rows(w.pools, frag.n_pools, sizeof *w.pools, pool_before);
    sort_rows(w.segments, frag.n_segments, sizeof *w.segments, segment_before);
    for (size_t i = 0; i < frag.n_segments; i++)
        if (w.segments[i].inactive > w.segments[i].releasable && !frag.map.segments[w.segments[i].segment].small)
            pin_segment(&w, &w.segments[i]);
    sort_rows(w.pins, frag.n_pins, sizeof *w.pins, pin_before);
    for (unsigned c = 0; c < 64; c++)
        if (w.class_blocks[c])
            classes[frag.n_classes++] = (struct msnap_frag_class){UINT64_C(1) << c, w.class_blocks[c], w.class_bytes[c]};
    frag.pinned = frag.inactive - frag.releasable;
    frag.external = frag.inactive ? 1 - (double)frag.largest_free / (double)frag.inactive : 0;
    frag.internal = frag.map.totals.active ? 1 - (double)frag.map.totals.requested / (double)frag.map.totals.active : 0;
    frag.pools = w.pools;
    frag.segments = w.segments;
    frag.classes = classes;
    frag.pins = w.pins;
    if (flags & MSNAP_FRAG_OVER_TIME)
        st = sample(&w, err);
    if (st == MSNAP_OK)
        *out = frag;
    return st;
}
