/* segments_bar.c -- a segment's bar: its blocks by state or group; blocks below a pixel share columns. */
#include <inttypes.h>

#include "segments.h"

/* Columns that several small blocks share are so wide; each is divided in height by their bytes. */
static const float COLUMN = 2;
struct bar {
    struct msnap_canvas *c;
    const struct msnap_seg_panel *p;
    const struct msnap_map_segment *g;
    const struct msnap_seg_piece *piece;
    const struct msnap_seg_colours *colours;
    double px_per_byte;
    float left, top, height;
    struct msnap_seg_crowd *crowd;
};

static unsigned look_of(const struct bar *b, const struct msnap_map_block *v)
{
    if (v->state == MSNAP_BLOCK_PENDING)
        return b->colours->group_of ? MSNAP_LOOK_SEGMENT_PENDING : MSNAP_LOOK_ACTIVE_AREA;
    if (!b->colours->group_of)
        return MSNAP_LOOK_ALLOCATED_AREA;
    const size_t group = v->row < b->c->h->allocs.n ? b->colours->group_of[v->row] : SIZE_MAX;
    return group < b->colours->n_named ? b->colours->look[group] : MSNAP_LOOK_SEGMENT_REST;
}

static const char *block_title(struct bar *b, const struct msnap_map_block *v)
{
    struct msnap_scene *s = b->c->scene;
    const struct msnap_history *h = b->c->h;
    char size[24], asked[24], number[32];
    msnap_format_bytes(size, v->size);
    if (v->state == MSNAP_BLOCK_INACTIVE)
        return msnap_scene_format(s, "unused: %s\n0x%" PRIx64 "%s", size, v->addr,
                                  v->size == b->p->largest_free ? "\nthe largest free block" : "");
    const char *state = v->state == MSNAP_BLOCK_PENDING ? "freed, waiting for another stream" : "allocated";
    const char *text = msnap_scene_format(s, "%s: %s, %s asked for\n0x%" PRIx64, state, size,
                                          msnap_format_bytes(asked, v->requested), v->addr);
    if (v->row >= h->allocs.n)
        return text;
    const uint32_t stack = msnap_alloc_stack(h, v->row), user = msnap_stack_user_frame(h->snapshot, stack);
    const struct msnap_rank_row row = {.key = stack, .stack = stack};
    text = msnap_scene_format(s, "%s\n%s", text, user ? msnap_frame_label(s, h->snapshot, user, true)
                                                      : msnap_group_label(s, h, MSNAP_BY_STACK, &row));
    if (msnap_alloc_is_initial(h, v->row))
        return msnap_scene_format(s, "%s\nallocated before the recording", text);
    return msnap_scene_format(s, "%s\nallocated at event %s", text, msnap_format_count(number, h->allocs.alloc_event[v->row]));
}

/* Draws the crowd's column: its shares from the bottom up, what is free on top. */
void msnap_seg_end_crowd(struct msnap_canvas *c, struct msnap_seg_crowd *k)
{
    char all[24], unused[24];
    if (k->n_blocks && k->end > k->x && k->n_looks) {
        const char *title = msnap_scene_format(c->scene, "%zu block%s or parts of them, %s; of these unused: %s", k->n_blocks, k->n_blocks == 1 ? "" : "s",
                                               msnap_format_bytes(all, k->all_bytes), msnap_format_bytes(unused, k->free_bytes));
        float bottom = k->top + k->height;
        for (size_t i = 0; i < k->n_looks; i++) {
            const float h = (float)((double)k->bytes[i] / (double)k->all_bytes * (double)k->height);
            msnap_scene_rect(c->scene, k->look[i], k->x, bottom - h, k->end - k->x, h, title);
            bottom -= h;
        }
    }
    *k = (struct msnap_seg_crowd){0};
}

static void add_share(struct msnap_seg_crowd *k, unsigned look, uint64_t bytes)
{
    size_t i = 0;
    while (i < k->n_looks && k->look[i] != look)
        i++;
    if (i == MSNAP_SEG_SHARES)
        return;
    k->n_looks += i == k->n_looks;
    k->look[i] = look;
    k->bytes[i] += bytes;
}

static void add_to_crowd(struct bar *b, const struct msnap_map_block *v, uint64_t bytes, float x0, float x1)
{
    struct msnap_seg_crowd *k = b->crowd;
    if (!k->n_blocks) {
        k->x = x0;
        k->top = b->top;
        k->height = b->height;
    }
    k->end = x1;
    k->n_blocks++;
    k->all_bytes += bytes;
    if (v->state == MSNAP_BLOCK_INACTIVE)
        k->free_bytes += bytes;
    else
        add_share(k, look_of(b, v), bytes);
    if (k->end - k->x >= COLUMN)
        msnap_seg_end_crowd(b->c, k);
}

static float x_of(const struct bar *b, uint64_t byte)
{
    return b->left + b->piece->x + (float)((double)(byte - b->piece->from) * b->px_per_byte);
}

static void draw_block(struct bar *b, const struct msnap_map_block *v, uint64_t from, uint64_t to, bool after_block)
{
    struct msnap_scene *s = b->c->scene;
    const float x0 = x_of(b, from), x1 = x_of(b, to);
    if (x1 - x0 < 1.0f) {
        add_to_crowd(b, v, to - from, x0, x1);
        return;
    }
    msnap_seg_end_crowd(b->c, b->crowd);
    const char *title = block_title(b, v);
    const uint64_t start = v->addr - b->g->addr;
    if (v->state == MSNAP_BLOCK_INACTIVE) {
        msnap_scene_rect(s, MSNAP_LOOK_SEGMENT_FREE, x0, b->top, x1 - x0, b->height, title);
        return;
    }
    float end = x1;
    if (v->state != MSNAP_BLOCK_PENDING && !b->colours->group_of && v->requested < v->size) {
        const uint64_t asked_to = start + v->requested;
        const float edge = x_of(b, asked_to < from ? from : asked_to < to ? asked_to : to);
        if (x1 - edge >= 0.5f) {
            msnap_scene_rect(s, MSNAP_LOOK_SEGMENT_WASTE, edge, b->top, x1 - edge, b->height, title);
            end = edge;
        }
    }
    if (end > x0)
        msnap_scene_rect(s, look_of(b, v), x0, b->top, end - x0, b->height, title);
    if (after_block && x1 - x0 >= 3)
        msnap_scene_segment(s, MSNAP_LOOK_BLOCK_EDGE, x0, b->top, x0, b->top + b->height, NULL);
}

/* Around the piece; open where the segment goes on in another row. */
static void draw_edge(const struct bar *b)
{
    const unsigned look = b->g->expandable ? MSNAP_LOOK_SEGMENT_DASHED : MSNAP_LOOK_SEGMENT_EDGE;
    struct msnap_scene *s = b->c->scene;
    const float x0 = b->left + b->piece->x, x1 = x0 + b->piece->w, y0 = b->top, y1 = b->top + b->height;
    if (b->piece->w < 4 || b->height < 4)
        return;
    msnap_scene_segment(s, look, x0, y0, x1, y0, NULL);
    msnap_scene_segment(s, look, x0, y1, x1, y1, NULL);
    if (b->piece->from == 0)
        msnap_scene_segment(s, look, x0, y0, x0, y1, NULL);
    if (b->piece->to == b->g->size)
        msnap_scene_segment(s, look, x1, y0, x1, y1, NULL);
}

static void draw_largest(struct bar *b, const struct msnap_map_block *v, uint64_t from, uint64_t to)
{
    struct msnap_scene *s = b->c->scene;
    struct msnap_point *at = msnap_arena_alloc(s->arena, 5, sizeof *at);
    const float x0 = x_of(b, from) + 1, x1 = x_of(b, to) - 1, y0 = b->top + 1, y1 = b->top + b->height - 1;
    if (!at)
        s->failed = true;
    if (!at || x1 - x0 < 2 || y1 - y0 < 2)
        return;
    at[0] = at[4] = (struct msnap_point){x0, y0};
    at[1] = (struct msnap_point){x1, y0};
    at[2] = (struct msnap_point){x1, y1};
    at[3] = (struct msnap_point){x0, y1};
    msnap_scene_line(s, MSNAP_LOOK_LARGEST_FREE, at, 5, block_title(b, v));
}

void msnap_seg_draw(struct msnap_canvas *c, const struct msnap_seg_panel *p, const struct msnap_map_segment *g,
                    const struct msnap_seg_piece *piece, const struct msnap_seg_scale *scale,
                    const struct msnap_seg_colours *colours, float left, float top, struct msnap_seg_crowd *crowd)
{
    struct bar b = {.c = c, .p = p, .g = g, .piece = piece, .colours = colours, .px_per_byte = scale->px_per_byte,
                    .left = left, .top = top, .height = scale->bar, .crowd = crowd};
    char size[24];
    const char *title = msnap_scene_format(c->scene, "segment of %s at 0x%" PRIx64 ", %zu blocks%s", msnap_format_bytes(size, g->size),
                                           g->addr, g->n_blocks, g->expandable ? ", expandable" : "");
    msnap_scene_rect(c->scene, MSNAP_LOOK_SEGMENT_FREE, left + piece->x, top, piece->w, scale->bar, title);
    const struct msnap_map_block *largest = NULL;
    bool after_block = false;
    for (size_t i = g->first_block; i < g->first_block + g->n_blocks; i++) {
        const struct msnap_map_block *v = &p->map.blocks[i];
        const uint64_t start = v->addr - g->addr, end = start + v->size;
        if (end <= piece->from || start >= piece->to)
            continue;
        draw_block(&b, v, start > piece->from ? start : piece->from, end < piece->to ? end : piece->to, after_block);
        after_block = v->state != MSNAP_BLOCK_INACTIVE;
        largest = i == p->largest_block ? v : largest;
    }
    if (piece->w >= COLUMN) /* narrower bars stand side by side and share columns too */
        msnap_seg_end_crowd(c, crowd);
    draw_edge(&b);
    if (largest) {
        const uint64_t start = largest->addr - g->addr, end = start + largest->size;
        draw_largest(&b, largest, start > piece->from ? start : piece->from, end < piece->to ? end : piece->to);
    }
}
