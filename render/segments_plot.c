/* segments_plot.c -- the segments at one or several moments, packed in rows, and the blocks in them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "segments.h"
#include "text_width.h"

enum { MAX_PANELS = MSNAP_PLOT_MAX_MOMENTS, MAX_GROUPS = MSNAP_PLOT_MAX_TOP + 1 };
#define PANEL_GAP 28.0f
#define PANEL_HEAD 24.0f
#define AXIS_SPACE 44.0f
#define LOWEST 300.0f /* a fitted picture is at least so high */

/* The whole picture. */
struct segments {
    struct msnap_canvas *c;
    size_t n;
    struct msnap_seg_panel panels[MAX_PANELS];
    struct msnap_seg_scale scale;
    struct msnap_seg_colours colours;
    enum msnap_group_by by;
    struct msnap_grouping grouping; /* where colours stand for groups */
    uint8_t looks[MAX_GROUPS];
    float width; /* of a panel */
};

static const struct msnap_plot_moment *moment(const struct segments *g, size_t i) { return &g->c->plot->moments[i]; }

static enum msnap_status look_at(struct segments *g, struct msnap_error *err)
{
    struct msnap_canvas *c = g->c;
    const float height = c->box.bottom - c->box.top;
    const size_t max_groups = (size_t)(0.5f * height / (float)(MSNAP_SEG_HEADING + MSNAP_SEG_GROUP_GAP + 6));
    for (size_t i = 0; i < g->n; i++) {
        struct msnap_seg_panel *p = &g->panels[i];
        const enum msnap_status status = msnap_blockmap_build(c->h, moment(g, i)->event, c->scene->arena, &p->map, err);
        if (status != MSNAP_OK)
            return status;
        if (!msnap_seg_sort(p, c->h->snapshot, max_groups > 1 ? max_groups : 1, c->scene->arena))
            return msnap_render_fail(err, MSNAP_ENOMEM, "no memory for %zu segments", p->map.n_segments);
    }
    if (c->plot->by == MSNAP_PLOT_BY_AUTO)
        return MSNAP_OK;
    g->by = (enum msnap_group_by)c->plot->by;
    const size_t rows = msnap_canvas_legend_rows(c), room = rows > 8 ? rows - 6 : 2;
    const size_t top = c->plot->top < room ? c->plot->top : room;
    size_t fullest = 0; /* the groups of the moment with the most to tell apart */
    for (size_t i = 1; i < g->n; i++)
        if (g->panels[i].map.totals.allocated > g->panels[fullest].map.totals.allocated)
            fullest = i;
    const enum msnap_status status = msnap_grouping_build(c->h, moment(g, fullest)->event, g->by, top + 1, c->scene->arena, &g->grouping, err);
    if (status != MSNAP_OK)
        return status;
    const size_t n_named = g->grouping.n_groups - (g->grouping.has_rest ? 1 : 0);
    for (size_t i = 0; i < n_named && i < MAX_GROUPS; i++)
        g->looks[i] = (uint8_t)msnap_look_of_group(g->by == MSNAP_BY_CATEGORY ? g->grouping.rows[i].key : i);
    g->colours = (struct msnap_seg_colours){g->grouping.group_of, n_named < MAX_GROUPS ? n_named : MAX_GROUPS, g->looks};
    return MSNAP_OK;
}

/* ---- words ---- */

static const char *stream_words(struct msnap_scene *s, const struct msnap_snapshot *snapshot, uint32_t stream)
{
    const int64_t raw = snapshot->streams.raw[stream];
    if (!stream)
        return "";
    return raw ? msnap_scene_format(s, ", stream 0x%" PRIx64, (uint64_t)raw) : ", default stream";
}

static const char *group_words(struct segments *g, const struct msnap_seg_panel *p, const struct msnap_seg_group *group)
{
    struct msnap_scene *s = g->c->scene;
    const struct msnap_snapshot *snapshot = g->c->h->snapshot;
    char size[24], largest[24], number[32];
    const int64_t first = snapshot->pools.first[group->pool], second = snapshot->pools.second[group->pool];
    bool several_streams = false, several_pools = false;
    for (size_t i = 0; i < p->n_groups; i++) {
        several_streams = several_streams || p->groups[i].stream != group->stream;
        several_pools = several_pools || p->groups[i].pool != group->pool;
    }
    const char *text = "";
    /* The words that are missed least go first where the panel is narrow. */
    for (int brevity = 0; brevity < 4; brevity++) {
        const char *pool = first || second                  ? msnap_scene_format(s, "private pool (%" PRId64 ", %" PRId64 "), ", first, second)
                           : several_pools && brevity < 2 ? "default pool, "
                                                          : "";
        const char *where = group->mixed ? "other pools and streams"
                                         : msnap_scene_format(s, "%s%s%s%s", pool, group->small ? "small" : "large", brevity < 2 ? " requests" : "",
                                                              several_streams ? stream_words(s, snapshot, group->stream) : "");
        const char *count = brevity < 3 ? msnap_scene_format(s, "%s segment%s, ", msnap_format_count(number, group->n), group->n == 1 ? "" : "s") : "";
        text = msnap_scene_format(s, "%s: %s%s, %s used", where, count, msnap_format_bytes(size, group->bytes),
                                  msnap_share_text(s, group->active, group->bytes));
        if (brevity == 0 && group->largest_free)
            text = msnap_scene_format(s, "%s, largest free block %s", text, msnap_format_bytes(largest, group->largest_free));
        if (msnap_text_width(text, msnap_look(MSNAP_LOOK_LABEL)->font_size, false) <= g->width)
            break;
    }
    return text;
}

static const char *finding(struct segments *g)
{
    struct msnap_scene *s = g->c->scene;
    const struct msnap_seg_panel *p = &g->panels[0];
    char unused[24], reserved[24], largest[24], size[24];
    uint64_t asked;
    if (g->n == 1) {
        const char *when = msnap_moment_text(s, g->c->h, moment(g, 0), false);
        msnap_format_bytes(unused, p->unused);
        msnap_format_bytes(reserved, p->reserved);
        msnap_format_bytes(largest, p->largest_free);
        if (!p->reserved)
            return msnap_scene_format(s, "Nothing is reserved %s", when);
        if (msnap_moment_is_oom(g->c->h, moment(g, 0)->event, &asked))
            return msnap_scene_format(s, "%s of %s reserved unused %s; largest free block %s, %s asked", unused, reserved, when,
                                      largest, msnap_format_bytes(size, asked));
        if (!p->unused)
            return msnap_scene_format(s, "All of %s reserved is used %s", reserved, when);
        return msnap_scene_format(s, "%s of %s reserved unused %s; largest free block %s", unused, reserved, when, largest);
    }
    const char *text = "Unused:";
    for (size_t i = 0; i < g->n; i++) {
        p = &g->panels[i];
        const char *amount = p->reserved ? msnap_scene_format(s, "%s of %s", msnap_format_bytes(unused, p->unused), msnap_format_bytes(reserved, p->reserved))
                                         : "nothing reserved";
        text = msnap_scene_format(s, "%s%s %s %s", text, i ? "," : "", amount, msnap_moment_text(s, g->c->h, moment(g, i), false));
    }
    return text;
}

/* ---- drawing ---- */

static void draw_label(struct segments *g, const struct msnap_map_segment *m, const struct msnap_seg_panel *p,
                       const struct msnap_seg_piece *piece, float left, float top, float room)
{
    struct msnap_scene *s = g->c->scene;
    char size[24];
    uint64_t used = 0;
    if (!(g->scale.label > 0) || piece->from > 0)
        return;
    for (size_t i = m->first_block; i < m->first_block + m->n_blocks; i++)
        used += p->map.blocks[i].state == MSNAP_BLOCK_INACTIVE ? 0 : p->map.blocks[i].size;
    msnap_format_bytes(size, m->size);
    const char *share = msnap_share_text(s, used, m->size);
    const char *texts[] = {
        msnap_scene_format(s, "%s%s, %s used, 0x%" PRIx64, size, m->expandable ? ", expandable" : "", share, m->addr),
        msnap_scene_format(s, "%s%s, %s used", size, m->expandable ? ", expandable" : "", share),
        msnap_scene_format(s, "%s, %s", size, share), msnap_scene_format(s, "%s", size)};
    for (size_t i = piece->w < 400 ? 1 : 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (msnap_text_width(texts[i], msnap_look(MSNAP_LOOK_NOTE)->font_size, false) <= room) {
            msnap_scene_text(s, MSNAP_LOOK_NOTE, MSNAP_ANCHOR_START, left + piece->x, top - 3, texts[i], NULL);
            return;
        }
    }
}

static float draw_group(struct segments *g, const struct msnap_seg_panel *p, const struct msnap_seg_group *group, float y)
{
    struct msnap_seg_cursor at = {0};
    struct msnap_seg_piece piece = {0};
    struct msnap_seg_crowd crowd = {0};
    const float left = p->box.left;
    msnap_canvas_text(g->c, MSNAP_LOOK_LABEL, left, y + 13, group_words(g, p, group), g->width, NULL);
    y += (float)MSNAP_SEG_HEADING;
    for (size_t i = 0; i < group->n; i = at.i) {
        const struct msnap_map_segment *m = &p->map.segments[p->order[group->first + at.i]];
        if (!msnap_seg_next(p, group, &g->scale, g->width, &at, &piece))
            break;
        if (piece.x == 0)
            msnap_seg_end_crowd(g->c, &crowd);
        const float top = y + (float)piece.row * g->scale.pitch + g->scale.label;
        /* A bar that is alone in its group may have a label that goes on beyond it. */
        draw_label(g, m, p, &piece, left, top, group->n == 1 ? g->width : piece.w - 2);
        msnap_seg_draw(g->c, p, m, &piece, &g->scale, &g->colours, left, top, &crowd);
    }
    msnap_seg_end_crowd(g->c, &crowd);
    return y + (float)(piece.row + 1) * g->scale.pitch + (float)MSNAP_SEG_GROUP_GAP;
}

static void draw_axis(struct segments *g, const struct msnap_seg_panel *p, float y)
{
    struct msnap_scene *s = g->c->scene;
    struct msnap_ticks ticks;
    const double bytes = (double)g->width / g->scale.px_per_byte;
    const size_t n_wanted = (size_t)(g->width / 90);
    const float font = msnap_look(MSNAP_LOOK_TICK)->font_size, base = (float)(int)y + 0.5f;
    msnap_ticks_bytes(bytes, n_wanted < 2 ? 2 : n_wanted, &ticks);
    msnap_scene_segment(s, MSNAP_LOOK_AXIS, p->box.left, base, p->box.left + g->width, base, NULL);
    float used = 0;
    for (size_t i = 0; i < ticks.n; i++) {
        const float x = p->box.left + (float)(ticks.tick[i].value / bytes * (double)g->width);
        const float w = msnap_text_width(ticks.tick[i].label, font, false);
        const float end = p->box.left + g->width;
        const float left = i == 0 ? x : x + w / 2 > end + PANEL_GAP / 2 - 4 && x <= end ? end - w : x - w / 2;
        msnap_scene_segment(s, MSNAP_LOOK_AXIS, x, base, x, base + 4, NULL);
        if (left < used)
            continue;
        used = left + w + 8;
        msnap_scene_text(s, MSNAP_LOOK_TICK, MSNAP_ANCHOR_START, left, base + 17, ticks.tick[i].label, NULL);
    }
    msnap_canvas_text(g->c, MSNAP_LOOK_NOTE, p->box.left, base + 33, "bytes along a row", g->width, NULL);
}

static const char *panel_head(struct segments *g, size_t i)
{
    struct msnap_scene *s = g->c->scene;
    const struct msnap_seg_panel *p = &g->panels[i];
    char size[24];
    const char *text = "";
    for (int brevity = 0; brevity < 3; brevity++) {
        const char *when = msnap_moment_text(s, g->c->h, moment(g, i), brevity == 0);
        text = !p->reserved ? msnap_scene_format(s, "%c%s: nothing", when[0] - 'a' + 'A', when + 1)
                            : msnap_scene_format(s, "%c%s: %s%s, %s used", when[0] - 'a' + 'A', when + 1, msnap_format_bytes(size, p->reserved),
                                                 brevity < 2 ? " reserved" : "", msnap_share_text(s, p->reserved - p->unused, p->reserved));
        if (msnap_text_width(text, msnap_look(MSNAP_LOOK_HEAD)->font_size, true) <= g->width)
            break;
    }
    return text;
}

/* Panel by panel; where the rows of the highest one end. */
static float draw_panels(struct segments *g)
{
    struct msnap_canvas *c = g->c;
    float lowest = c->box.top;
    for (size_t i = 0; i < g->n; i++) {
        const struct msnap_seg_panel *p = &g->panels[i];
        const char *head = panel_head(g, i);
        float y = p->box.top + PANEL_HEAD;
        msnap_canvas_text(c, MSNAP_LOOK_HEAD, p->box.left, p->box.top + 12, head, g->width, NULL);
        for (size_t k = 0; k < p->n_groups; k++)
            y = draw_group(g, p, &p->groups[k], y);
        lowest = y > lowest ? y : lowest;
    }
    for (size_t i = 0; i < g->n; i++)
        if (g->panels[i].reserved)
            draw_axis(g, &g->panels[i], lowest);
    return lowest + AXIS_SPACE;
}

/* ---- legend ---- */

struct entry {
    unsigned look;
    const char *label, *title;
    bool bold;
    uint64_t bytes[MAX_PANELS];
};

static void add_groups(struct segments *g, struct entry *entries, size_t *n)
{
    const struct msnap_grouping *grouping = &g->grouping;
    const size_t n_named = g->colours.n_named, first = *n;
    for (size_t k = 0; k <= n_named; k++)
        entries[(*n)++] = k < n_named ? (struct entry){.look = g->looks[k], .label = msnap_group_label(g->c->scene, g->c->h, g->by, &grouping->rows[k]),
                                                       .title = msnap_group_title(g->c->scene, g->c->h, g->by, &grouping->rows[k], UINT64_MAX)}
                                      : (struct entry){.look = MSNAP_LOOK_SEGMENT_REST, .label = "all others"};
    for (size_t i = 0; i < g->n; i++) {
        const struct msnap_blockmap *map = &g->panels[i].map;
        for (size_t b = 0; b < map->n_blocks; b++) {
            const struct msnap_map_block *v = &map->blocks[b];
            if (v->state == MSNAP_BLOCK_INACTIVE || v->state == MSNAP_BLOCK_PENDING)
                continue;
            const size_t group = v->row < g->c->h->allocs.n ? grouping->group_of[v->row] : n_named;
            entries[first + (group < n_named ? group : n_named)].bytes[i] += v->size;
        }
    }
}

static bool is_empty(const struct segments *g, const struct entry *e)
{
    for (size_t i = 0; i < g->n; i++)
        if (e->bytes[i])
            return false;
    return true;
}

/* "peak" and "end" as heads of columns. */
static const char *column_head(const struct segments *g, size_t i)
{
    const struct msnap_plot_moment *m = moment(g, i);
    if (g->n == 1)
        return "bytes";
    if (m->event == MSNAP_NO_EVENT)
        return "start";
    char number[32];
    if (m->name && (!strcmp(m->name, "peak") || !strcmp(m->name, "end")))
        return m->name;
    if (msnap_moment_is_oom(g->c->h, m->event, NULL))
        return "OOM";
    return msnap_scene_format(g->c->scene, "%s", msnap_format_count(number, m->event));
}

static bool has_expandable(const struct segments *g)
{
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->panels[i].map.n_segments; k++)
            if (g->panels[i].map.segments[k].expandable)
                return true;
    return false;
}

static void draw_legend(struct segments *g)
{
    struct msnap_scene *s = g->c->scene;
    const bool by_state = !g->colours.group_of;
    struct entry entries[MAX_GROUPS + 10];
    struct msnap_legend_row rows[MAX_GROUPS + 10];
    size_t n = 0, n_rows = 0, outside = 0;
    char bytes[24];
    uint64_t asked;
    entries[n++] = (struct entry){.bold = true, .label = "reserved"};
    if (by_state) {
        entries[n++] = (struct entry){.look = MSNAP_LOOK_ALLOCATED_AREA, .label = "requested",
                                      .title = "allocated, and asked for by the program"};
        entries[n++] = (struct entry){.look = MSNAP_LOOK_SEGMENT_WASTE, .label = "rounding",
                                      .title = "allocated and not asked for: rounding, and remainders too small to be split off"};
    } else {
        add_groups(g, entries, &n);
    }
    const size_t pending = n;
    entries[n++] = (struct entry){.look = by_state ? MSNAP_LOOK_ACTIVE_AREA : MSNAP_LOOK_SEGMENT_PENDING, .label = "pending frees",
                                  .title = "freed, waiting for another stream"};
    entries[n++] = (struct entry){.look = MSNAP_LOOK_SEGMENT_FREE, .label = "unused", .title = "free blocks: kept by the allocator"};
    entries[n++] = (struct entry){.look = MSNAP_LOOK_LARGEST_FREE, .label = "largest free block"};
    for (size_t i = 0; i < g->n; i++) {
        const struct msnap_seg_panel *p = &g->panels[i];
        outside += p->map.n_outside;
        entries[0].bytes[i] = p->reserved;
        if (by_state) {
            entries[1].bytes[i] = p->requested;
            entries[2].bytes[i] = p->waste;
        }
        entries[pending].bytes[i] = p->pending;
        entries[pending + 1].bytes[i] = p->unused;
        entries[pending + 2].bytes[i] = p->largest_free;
    }
    const size_t last = g->n - 1;
    for (size_t i = 0; i < n; i++) {
        if (i && is_empty(g, &entries[i]))
            continue;
        rows[n_rows++] = (struct msnap_legend_row){
            .look = entries[i].look, .bold = entries[i].bold, .label = entries[i].label, .title = entries[i].title,
            .bytes = entries[i].bytes[0],
            .extra = g->n == 1 ? msnap_share_text(s, entries[i].bytes[0], entries[0].bytes[0])
                               : msnap_scene_format(s, "%s", msnap_format_bytes(bytes, entries[i].bytes[last]))};
    }
    if (g->n == 1 && msnap_moment_is_oom(g->c->h, moment(g, 0)->event, &asked))
        rows[n_rows++] = (struct msnap_legend_row){.bold = true, .label = "asked, not given", .bytes = asked};
    const char *note = outside             ? msnap_scene_format(s, "%zu live blocks lie outside every known segment: memsnap check", outside)
                       : has_expandable(g) ? "Area is bytes; a dashed edge: expandable memory."
                                           : "Area is bytes; blocks below a pixel share columns.";
    msnap_canvas_legend(g->c, by_state ? "Blocks" : g->by == MSNAP_BY_CATEGORY ? "Blocks by category" : "Blocks by who allocated them", column_head(g, 0),
                        g->n == 1 ? "share" : column_head(g, last), rows, n_rows, note);
}

enum msnap_status msnap_draw_segments(struct msnap_canvas *c, struct msnap_error *err)
{
    struct segments g = {.c = c, .n = c->plot->n_moments};
    c->box.left = 24; /* no labels of bytes beside the rows, no marks above them */
    c->box.top = 78;
    const enum msnap_status status = look_at(&g, err);
    if (status != MSNAP_OK)
        return status;
    msnap_canvas_whole_window(c);
    g.width = (c->box.right - c->box.left - PANEL_GAP * (float)(g.n - 1)) / (float)g.n;
    for (size_t i = 0; i < g.n; i++) {
        const float left = c->box.left + (float)i * (g.width + PANEL_GAP);
        g.panels[i].box = (struct msnap_box){left, c->box.top, left + g.width, c->box.bottom};
    }
    g.scale = msnap_seg_fit(g.panels, g.n, g.width, c->box.bottom - c->box.top - PANEL_HEAD);
    msnap_scene_rect(c->scene, MSNAP_LOOK_PAPER, 0, 0, c->scene->width, c->scene->height, NULL);
    const float bottom = draw_panels(&g);
    msnap_canvas_titles(c, finding(&g));
    draw_legend(&g);
    if (c->plot->fit && bottom < c->scene->height) {
        float lowest = bottom > LOWEST ? bottom : LOWEST;
        for (size_t i = 1; i < c->scene->n; i++) {
            const float end = msnap_item_box(&c->scene->items[i]).bottom + 12;
            lowest = end > lowest ? end : lowest;
        }
        msnap_canvas_set_height(c, lowest < c->scene->height ? lowest : c->scene->height);
    }
    return MSNAP_OK;
}
