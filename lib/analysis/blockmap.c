/* blockmap.c -- the books at a moment as a table of segments and blocks. */
#include <memsnap/blockmap.h>

#include "analysis/blockmap_of.h"
#include "base/arena.h"
#include "base/status.h"

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the block map"); }

static void sort_segments(struct msnap_map_segment *v, size_t n)
{
    for (size_t end = n, start = n / 2; end > 1;) { /* heap sort by address */
        if (start)
            start--;
        else {
            end--;
            struct msnap_map_segment t = v[0];
            v[0] = v[end];
            v[end] = t;
        }
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && v[child].addr < v[child + 1].addr)
                child++;
            if (v[root].addr >= v[child].addr)
                break;
            struct msnap_map_segment t = v[root];
            v[root] = v[child];
            v[child] = t;
        }
    }
}

static struct msnap_map_block block_of(const struct msnap_books_block *v)
{
    static const uint8_t state[] = {[BOOKS_FREE] = MSNAP_BLOCK_INACTIVE, [BOOKS_ALLOCATED] = MSNAP_BLOCK_ALLOCATED,
                                    [BOOKS_PENDING] = MSNAP_BLOCK_PENDING};
    return (struct msnap_map_block){v->addr, v->size, v->state == BOOKS_FREE ? 0 : v->requested, v->row, state[v->state]};
}

enum msnap_status msnap_blockmap_of(const struct msnap_books *b, uint32_t event, struct msnap_arena *arena, struct msnap_blockmap *out,
                                    struct msnap_error *err)
{
    size_t n_segments = 0, n_blocks = 0, n_outside = 0;
    for (size_t g = 1; g < b->segments.n; g++)
        n_segments += !msnap_books_segment_at(b, (uint32_t)g)->gone;
    for (size_t i = 1; i < b->blocks.n; i++) {
        const struct msnap_books_block *v = msnap_books_block_at(b, (uint32_t)i);
        n_blocks += !v->is_free_slot && v->segment;
        n_outside += !v->is_free_slot && !v->segment;
    }
    struct msnap_map_segment *segments = MSNAP_NEW_RAW(arena, struct msnap_map_segment, n_segments);
    struct msnap_map_block *blocks = MSNAP_NEW_RAW(arena, struct msnap_map_block, n_blocks);
    struct msnap_map_block *outside = MSNAP_NEW_RAW(arena, struct msnap_map_block, n_outside);
    if (!segments || !blocks || !outside)
        return no_memory(err);
    size_t g_n = 0, b_n = 0, o_n = 0;
    for (size_t g = 1; g < b->segments.n; g++) {
        const struct msnap_books_segment *v = msnap_books_segment_at(b, (uint32_t)g);
        if (!v->gone) /* the first block's id, until the segments are in order */
            segments[g_n++] = (struct msnap_map_segment){v->addr, v->size, v->stream, v->pool, v->small, v->expandable, v->first, 0};
    }
    sort_segments(segments, g_n);
    for (size_t g = 0; g < g_n; g++) {
        uint32_t id = (uint32_t)segments[g].first_block;
        segments[g].first_block = b_n;
        for (; id && b_n < n_blocks; id = msnap_books_block_at(b, id)->next)
            blocks[b_n++] = block_of(msnap_books_block_at(b, id));
        segments[g].n_blocks = b_n - segments[g].first_block;
    }
    for (size_t i = 1; i < b->blocks.n; i++) {
        const struct msnap_books_block *v = msnap_books_block_at(b, (uint32_t)i);
        if (!v->is_free_slot && !v->segment)
            outside[o_n++] = block_of(v);
    }
    *out = (struct msnap_blockmap){event, b->totals, g_n, b_n, segments, blocks, o_n, outside};
    return MSNAP_OK;
}

enum msnap_status msnap_blockmap_build(const struct msnap_history *h, uint32_t event, struct msnap_arena *arena,
                                       struct msnap_blockmap *out, struct msnap_error *err)
{
    struct msnap_alloc_config config;
    struct msnap_books b;
    struct msnap_books_feed f;
    if (event != MSNAP_NO_EVENT && !h->device->n_events)
        return msnap_fail(err, MSNAP_EUSAGE, "there is no event %u; the device has none", event);
    if (event != MSNAP_NO_EVENT && event >= h->device->n_events)
        return msnap_fail(err, MSNAP_EUSAGE, "there is no event %u; the last one is %zu", event, h->device->n_events - 1);
    msnap_alloc_config_of(h->snapshot, &config);
    enum msnap_status st = MSNAP_OK;
    if (!msnap_books_begin(&b, &f, h, msnap_arena_mem(arena), &config, NULL))
        st = no_memory(err);
    for (size_t i = 0; st == MSNAP_OK && event != MSNAP_NO_EVENT && i <= event; i++) {
        msnap_books_apply(&b, &f, i);
        if (b.out_of_memory)
            st = no_memory(err);
    }
    if (st == MSNAP_OK)
        st = msnap_blockmap_of(&b, event, arena, out, err);
    msnap_books_release(&b);
    return st;
}
