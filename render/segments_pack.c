/* segments_pack.c -- segments in rows: their order, the scale at which all fit, and where each lies. */
#include <math.h>
#include <stdlib.h>

#include "segments.h"

struct key {
    const struct msnap_map_segment *g;
    bool is_private;
    uint32_t pool, index;
};

static int compare(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int by_place(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->is_private != y->is_private)
        return x->is_private ? 1 : -1;
    if (x->pool != y->pool)
        return compare(x->pool, y->pool);
    if (x->g->stream != y->g->stream)
        return compare(x->g->stream, y->g->stream);
    if (x->g->small != y->g->small)
        return x->g->small ? 1 : -1;
    if (x->g->size != y->g->size)
        return x->g->size > y->g->size ? -1 : 1;
    return compare(x->g->addr, y->g->addr);
}

static bool is_same_group(const struct key *a, const struct key *b)
{
    return a->pool == b->pool && a->g->stream == b->g->stream && a->g->small == b->g->small;
}

static void add_segment(struct msnap_seg_panel *p, struct msnap_seg_group *to, const struct msnap_map_segment *g)
{
    to->n++;
    to->bytes += g->size;
    for (size_t b = g->first_block; b < g->first_block + g->n_blocks; b++) {
        const struct msnap_map_block *v = &p->map.blocks[b];
        if (v->state == MSNAP_BLOCK_INACTIVE) {
            to->largest_free = v->size > to->largest_free ? v->size : to->largest_free;
            p->unused += v->size;
            if (v->size > p->largest_free) {
                p->largest_free = v->size;
                p->largest_block = b;
            }
        } else if (v->state == MSNAP_BLOCK_PENDING) {
            p->pending += v->size;
            to->active += v->size;
        } else {
            const uint64_t asked = v->requested < v->size ? v->requested : v->size;
            p->requested += asked;
            p->waste += v->size - asked;
            to->active += v->size;
        }
    }
    p->reserved += g->size;
}

/* Where there are too many groups for a heading each, the last ones are one. */
static void gather(struct msnap_seg_panel *p, size_t max_groups)
{
    if (p->n_groups <= max_groups)
        return;
    struct msnap_seg_group *to = &p->groups[max_groups - 1];
    for (size_t i = max_groups; i < p->n_groups; i++) {
        const struct msnap_seg_group *g = &p->groups[i];
        to->n += g->n;
        to->bytes += g->bytes;
        to->active += g->active;
        to->largest_free = g->largest_free > to->largest_free ? g->largest_free : to->largest_free;
    }
    to->mixed = true;
    p->n_groups = max_groups;
}

bool msnap_seg_sort(struct msnap_seg_panel *p, const struct msnap_snapshot *s, size_t max_groups, struct msnap_arena *arena)
{
    const size_t n = p->map.n_segments;
    struct key *keys = msnap_arena_alloc(arena, n ? n : 1, sizeof *keys);
    uint32_t *order = msnap_arena_alloc(arena, n ? n : 1, sizeof *order);
    if (!keys || !order)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct msnap_map_segment *g = &p->map.segments[i];
        const bool is_private = s->pools.first[g->pool] || s->pools.second[g->pool];
        keys[i] = (struct key){g, is_private, is_private ? g->pool : 0, (uint32_t)i}; /* no pool named: the default one */
    }
    qsort(keys, n, sizeof *keys, by_place);
    size_t n_groups = 0;
    for (size_t i = 0; i < n; i++)
        n_groups += i == 0 || !is_same_group(&keys[i], &keys[i - 1]);
    p->groups = msnap_arena_alloc(arena, n_groups ? n_groups : 1, sizeof *p->groups);
    if (!p->groups)
        return false;
    p->largest_block = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const struct msnap_map_segment *g = keys[i].g;
        if (i == 0 || !is_same_group(&keys[i], &keys[i - 1]))
            p->groups[p->n_groups++] = (struct msnap_seg_group){.pool = keys[i].pool, .stream = g->stream, .small = g->small, .first = i};
        add_segment(p, &p->groups[p->n_groups - 1], g);
        order[i] = keys[i].index;
    }
    p->order = order;
    gather(p, max_groups);
    return true;
}

float msnap_seg_gap(const struct msnap_seg_group *g, const struct msnap_seg_scale *scale)
{
    const double mean = g->n ? (double)g->bytes / (double)g->n * scale->px_per_byte : 0;
    return mean >= 24 ? 4 : mean >= 8 ? 2 : mean >= 3 ? 1 : 0;
}

bool msnap_seg_next(const struct msnap_seg_panel *p, const struct msnap_seg_group *g, const struct msnap_seg_scale *scale,
                    float width, struct msnap_seg_cursor *at, struct msnap_seg_piece *out)
{
    if (at->i == g->n)
        return false;
    const uint64_t size = p->map.segments[p->order[g->first + at->i]].size;
    const double s = scale->px_per_byte, room = (double)width, whole = (double)size * s, slack = 0.01;
    if (at->done == 0 && at->x > 0 && at->x + (whole < room ? whole : room) > room + slack) {
        at->row++;
        at->x = 0;
    }
    double w = (double)(size - at->done) * s;
    uint64_t to = size;
    if (at->x + w > room + slack) { /* only where the segment is longer than a row */
        const uint64_t fits = (uint64_t)((room - at->x) / s);
        to = at->done + (fits ? fits : 1);
        to = to < size ? to : size;
        w = room - at->x;
    }
    *out = (struct msnap_seg_piece){at->done, to, (float)at->x, (float)w, at->row};
    at->done = to;
    at->x += w + (double)msnap_seg_gap(g, scale);
    if (to == size) {
        at->i++;
        at->done = 0;
    } else {
        at->row++;
        at->x = 0;
    }
    return true;
}

float msnap_seg_height(const struct msnap_seg_panel *p, const struct msnap_seg_scale *scale, float width)
{
    float height = 0;
    for (size_t i = 0; i < p->n_groups; i++) {
        struct msnap_seg_cursor at = {0};
        struct msnap_seg_piece piece = {0};
        while (msnap_seg_next(p, &p->groups[i], scale, width, &at, &piece))
            ;
        height += (float)MSNAP_SEG_HEADING + (float)(piece.row + 1) * scale->pitch + (float)MSNAP_SEG_GROUP_GAP;
    }
    return height;
}

static struct msnap_seg_scale scale_of(double px_per_byte, float pitch)
{
    const float label = pitch >= 30 ? 14 : 0, space = pitch >= 18 ? 5 : pitch >= 9 ? 3 : 1.5f;
    return (struct msnap_seg_scale){px_per_byte, pitch, pitch - label - space, label};
}

static bool fits(const struct msnap_seg_panel *panels, size_t n, const struct msnap_seg_scale *scale, float width, float height)
{
    for (size_t i = 0; i < n; i++)
        if (msnap_seg_height(&panels[i], scale, width) > height)
            return false;
    return true;
}

/* A segment with few blocks stays in one row; one with many may fill several. */
static double largest_scale(const struct msnap_seg_panel *panels, size_t n, float width)
{
    enum { BLOCKS_IN_A_ROW = 60 };
    double most = 1e9;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < panels[i].map.n_segments; k++) {
            const struct msnap_map_segment *g = &panels[i].map.segments[k];
            const double rows = (double)(1 + g->n_blocks / BLOCKS_IN_A_ROW), size = g->size ? (double)g->size : 1;
            most = fmin(most, rows * (double)width / size);
        }
    }
    return most;
}

/* The size of the segment that a byte lies in, on average. */
static double usual_size(const struct msnap_seg_panel *p)
{
    double weighted = 0, sum = 0;
    for (size_t k = 0; k < p->map.n_segments; k++) {
        const double size = (double)p->map.segments[k].size;
        weighted += size * size;
        sum += size;
    }
    return sum > 0 ? weighted / sum : 0;
}

struct msnap_seg_scale msnap_seg_fit(const struct msnap_seg_panel *panels, size_t n, float width, float height)
{
    static const float pitches[] = {54, 44, 36, 30, 22, 16, 12, 9, 6, 4};
    enum { WIDE_ENOUGH = 56, USUAL = 6 /* 12 pixels */ };
    double usual = 0;
    const double most = largest_scale(panels, n, width);
    for (size_t i = 0; i < n; i++)
        usual = fmax(usual, usual_size(&panels[i]));
    struct msnap_seg_scale best = {0};
    for (size_t k = 0; k < sizeof pitches / sizeof pitches[0]; k++) {
        double low = 0, high = most;
        struct msnap_seg_scale scale = scale_of(most, pitches[k]);
        if (!fits(panels, n, &scale, width, height)) {
            for (int round = 0; round < 40; round++) {
                const double middle = (low + high) / 2;
                scale = scale_of(middle, pitches[k]);
                *(fits(panels, n, &scale, width, height) ? &low : &high) = middle;
            }
            scale = scale_of(low, pitches[k]);
        } else {
            low = most;
        }
        if (low <= 0)
            continue;
        best = scale;
        if (low >= 0.999 * most || low * usual >= WIDE_ENOUGH || k >= USUAL)
            return best;
    }
    return best.pitch > 0 ? best : scale_of((double)width / 1e12, 4);
}
