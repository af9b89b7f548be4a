/* timeline_plot.c -- allocated bytes over time, stacked by who holds them, under the reserved line. */
#include "plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAYERS = MSNAP_PLOT_MAX_TOP + 2 };
/* So many groups are followed; those that are drawn are chosen among them. Several groupings share the
 * numbers of a byte: the peak's, and those of other moments where the rest is large. */
enum { MAX_GROUPS = 250, MAX_PEAK_GROUPS = 120, REST_ROUNDS = 3 };

/* What holds less than this part of the peak would be invisible: it joins the rest. */
enum { SMALLEST_SHARE = 400 };
/* The floor line: from so many events a column on; over so many neighbours on each side. */
enum { FLOOR_EVENTS = 60, FLOOR_REACH = 4 };

/* One group as it is drawn. */
struct layer {
    const uint64_t *bytes; /* one entry a column */
    uint64_t at_peak;
    unsigned look;
    const char *label, *title;
    double steadiness; /* mean over highest: 1 for what never changes */
};

static int steadier_first(const void *a, const void *b)
{
    const struct layer *x = a, *y = b;
    if (x->steadiness != y->steadiness)
        return x->steadiness > y->steadiness ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes; /* rows of one array: larger groups first */
}

static enum msnap_status choose_grouping(struct msnap_canvas *c, enum msnap_group_by *by,
                                         struct msnap_grouping *out, struct msnap_error *err)
{
    struct msnap_arena *arena = c->scene->arena;
    const uint32_t peak = c->areas.peak.event;
    *by = c->plot->by == MSNAP_PLOT_BY_AUTO ? MSNAP_BY_LINE : (enum msnap_group_by)c->plot->by;
    enum msnap_status status = msnap_grouping_build(c->h, peak, *by, MAX_PEAK_GROUPS, arena, out, err);
    if (status != MSNAP_OK || c->plot->by != MSNAP_PLOT_BY_AUTO)
        return status;
    for (size_t g = 0; g < out->n_groups; g++)
        if (out->rows[g].key != 0 && !(out->has_rest && g + 1 == out->n_groups))
            return MSNAP_OK; /* there is user code */
    *by = MSNAP_BY_STACK;
    return msnap_grouping_build(c->h, peak, *by, MAX_PEAK_GROUPS, arena, out, err);
}

/* Where groups that hold nothing at the peak fill much of the picture at another time (a spike, then
 * the ordinary steps), they are told apart as well: the rest of `grouping` is split by a grouping made
 * at the rest's own highest column. Without such a rest, nothing changes. */
static enum msnap_status split_rest(struct msnap_canvas *c, enum msnap_group_by by, const struct msnap_area_groups *split,
                                    struct msnap_grouping *grouping, struct msnap_error *err)
{
    struct msnap_arena *arena = c->scene->arena;
    if (!grouping->has_rest)
        return MSNAP_OK;
    const size_t n_named = grouping->n_groups - 1, n_columns = c->areas.n_columns, n_rows = c->h->allocs.n;
    const uint64_t *rest = split->bytes + n_named * n_columns;
    struct msnap_grouping other;
    size_t highest = 0;
    for (size_t i = 0; i < n_columns; i++)
        if (rest[i] > rest[highest])
            highest = i;
    if (n_named + 2 > MAX_GROUPS || rest[highest] < c->areas.peak.totals.allocated / SMALLEST_SHARE)
        return MSNAP_OK;
    enum msnap_status status = msnap_grouping_build(c->h, c->areas.moment[highest], by, MAX_GROUPS - n_named, arena, &other, err);
    if (status != MSNAP_OK)
        return status;
    uint8_t *group_of = msnap_arena_alloc(arena, n_rows ? n_rows : 1, 1);
    struct msnap_rank_row *rows = msnap_arena_alloc(arena, n_named + other.n_groups, sizeof *rows);
    if (!group_of || !rows)
        return msnap_render_fail(err, MSNAP_ENOMEM, "no memory for the groups of %zu allocations", n_rows);
    for (size_t i = 0; i < n_rows; i++)
        group_of[i] = grouping->group_of[i] < n_named ? grouping->group_of[i]
                                                      : (uint8_t)(n_named + other.group_of[i]);
    memcpy(rows, grouping->rows, n_named * sizeof *rows);
    memcpy(rows + n_named, other.rows, other.n_groups * sizeof *rows);
    *grouping = (struct msnap_grouping){n_named + other.n_groups, group_of, rows, other.has_rest};
    return MSNAP_OK;
}

/* What the layers below leave of the total: the grouping's own rest and what was too small. */
static void add_rest(struct msnap_canvas *c, struct layer layers[MAX_LAYERS], size_t *n)
{
    struct msnap_scene *s = c->scene;
    const size_t n_columns = c->areas.n_columns;
    uint64_t *rest = msnap_arena_alloc(s->arena, n_columns, sizeof *rest);
    uint64_t highest = 0;
    char size[24];
    if (!rest) {
        s->failed = true;
        return;
    }
    for (size_t i = 0; i < n_columns; i++) {
        rest[i] = c->areas.highest[i];
        for (size_t k = 0; k < *n; k++)
            rest[i] -= layers[k].bytes[i];
        if (rest[i] > highest)
            highest = rest[i];
    }
    if (highest == 0)
        return;
    const uint64_t at_peak = rest[c->areas.peak_column];
    layers[(*n)++] = (struct layer){rest, at_peak, MSNAP_LOOK_REST, "all others",
                                    msnap_scene_format(s, "All others together\n%s at the peak",
                                                       msnap_format_bytes(size, at_peak)),
                                    0};
}

static uint64_t highest_of(const uint64_t *values, size_t n)
{
    uint64_t highest = 0;
    for (size_t i = 0; i < n; i++)
        if (values[i] > highest)
            highest = values[i];
    return highest;
}

/* Marks the groups to be drawn: the largest at the peak; where that leaves room, because they are few
 * or too small to be seen, those that hold most over the rest of the picture. */
static void choose_groups(struct msnap_canvas *c, const struct msnap_area_groups *split, size_t n_named, size_t top,
                          bool chosen[MAX_GROUPS + 1])
{
    const size_t n_columns = c->areas.n_columns;
    const uint64_t peak = c->areas.peak.totals.allocated, visible = peak / SMALLEST_SHARE;
    size_t n = 0;
    for (; n < top; n++) { /* categories come in an order of their own */
        size_t best = SIZE_MAX;
        for (size_t g = 0; g < n_named; g++)
            if (!chosen[g] && split->at_peak[g] > (n == 0 ? 0 : visible) && (best == SIZE_MAX || split->at_peak[g] > split->at_peak[best]))
                best = g;
        if (best == SIZE_MAX)
            break;
        chosen[best] = true;
    }
    for (; n < top; n++) {
        size_t best = SIZE_MAX;
        for (size_t g = 0; g < n_named; g++)
            if (!chosen[g] && (best == SIZE_MAX || split->sum[g] > split->sum[best]) &&
                highest_of(split->bytes + g * n_columns, n_columns) > visible)
                best = g;
        if (best == SIZE_MAX)
            return;
        chosen[best] = true;
    }
}

/* From the bottom up: what predates the recording, then the groups, the steady ones first, so that
 * weights carry what comes and goes; the rest on top. */
static size_t make_layers(struct msnap_canvas *c, enum msnap_group_by by, size_t top,
                          const struct msnap_grouping *grouping, const struct msnap_area_groups *split,
                          struct layer layers[MAX_LAYERS])
{
    struct msnap_scene *s = c->scene;
    const size_t n_columns = c->areas.n_columns;
    bool chosen[MAX_GROUPS + 1] = {false};
    char size[24];
    size_t n = 0;
    if (split->has_before && split->sum[split->n_groups - 1] > 0) {
        const size_t g = split->n_groups - 1;
        layers[n++] = (struct layer){split->bytes + g * n_columns, split->at_peak[g], MSNAP_LOOK_BEFORE,
                                     "from before the recording",
                                     msnap_scene_format(s, "Allocated before the recording began\n%s at the peak",
                                                        msnap_format_bytes(size, split->at_peak[g])),
                                     1};
    }
    const size_t first = n;
    const size_t n_named = grouping->n_groups - (grouping->has_rest ? 1 : 0);
    choose_groups(c, split, n_named, top, chosen);
    for (size_t g = 0; g < n_named; g++) {
        const uint64_t *bytes = split->bytes + g * n_columns;
        if (!chosen[g])
            continue;
        layers[n++] = (struct layer){bytes, split->at_peak[g], msnap_look_of_group(grouping->rows[g].key), msnap_group_label(s, c->h, by, &grouping->rows[g]),
                                     msnap_group_title(s, c->h, by, &grouping->rows[g], split->at_peak[g]),
                                     (double)split->sum[g] / (double)highest_of(bytes, n_columns)};
    }
    qsort(layers + first, n - first, sizeof *layers, steadier_first);
    for (size_t i = first; i < n && by != MSNAP_BY_CATEGORY; i++) /* a category has one colour in all pictures */
        layers[i].look = msnap_look_of_group(i - first);
    add_rest(c, layers, &n);
    return n;
}

/* Each layer's polygon reaches from its upper edge down to the axis and is painted over by the
 * layers below it: no seams between them, and half the points. */
static void draw_layers(struct msnap_canvas *c, const struct layer *layers, size_t n)
{
    const size_t n_columns = c->areas.n_columns;
    uint64_t *level = msnap_arena_alloc(c->scene->arena, n_columns, sizeof *level);
    if (!level) {
        c->scene->failed = true;
        return;
    }
    memcpy(level, c->areas.highest, n_columns * sizeof *level);
    for (size_t i = n; i-- > 0;) {
        size_t n_points;
        const struct msnap_point *points = msnap_canvas_steps(c, level, true, &n_points);
        if (points)
            msnap_scene_polygon(c->scene, layers[i].look, points, n_points, layers[i].title);
        for (size_t k = 0; k < n_columns; k++)
            level[k] -= layers[i].bytes[k];
    }
}

/* out[i] = the lowest (or highest) of values[i - FLOOR_REACH] to values[i + FLOOR_REACH]. */
static void spread(const uint64_t *values, size_t n, bool lowest, uint64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t best = values[i];
        for (size_t k = i < FLOOR_REACH ? 0 : i - FLOOR_REACH; k < n && k <= i + FLOOR_REACH; k++)
            if (lowest ? values[k] < best : values[k] > best)
                best = values[k];
        out[i] = best;
    }
}

/* The floor under the columns' lowest totals: peaks narrower than some pixels are cut off (a
 * morphological opening, which leaves wide steps where they are), so that it is a line and no
 * hatching. NULL where columns hold so few events that the picture shows them all anyway. */
static const uint64_t *make_floor(struct msnap_canvas *c)
{
    const size_t n = c->areas.n_columns;
    const struct msnap_window w = c->areas.window;
    if (w.first_event == MSNAP_NO_EVENT || (size_t)(w.last_event - w.first_event) < FLOOR_EVENTS * n)
        return NULL;
    uint64_t *eroded = msnap_arena_alloc(c->scene->arena, n, sizeof *eroded);
    uint64_t *opened = msnap_arena_alloc(c->scene->arena, n, sizeof *opened);
    if (!eroded || !opened) {
        c->scene->failed = true;
        return NULL;
    }
    spread(c->areas.lowest, n, true, eroded);
    spread(eroded, n, false, opened);
    return opened;
}

static void draw_legend(struct msnap_canvas *c, enum msnap_group_by by, const struct layer *layers, size_t n,
                        const uint64_t *lowest)
{
    static const char *const names[MSNAP_N_GROUP_BY] = {"stack", "source line", "stream", "memory pool", "category", "step"};
    struct msnap_legend_row rows[MAX_LAYERS + 3];
    struct msnap_scene *s = c->scene;
    char number[32];
    const uint64_t allocated = c->areas.peak.totals.allocated;
    size_t n_rows = 0;
    rows[n_rows++] = (struct msnap_legend_row){.look = MSNAP_LOOK_RESERVED, .label = "reserved from the device",
                                               .bytes = c->areas.peak.totals.reserved};
    if (lowest)
        rows[n_rows++] = (struct msnap_legend_row){.look = MSNAP_LOOK_LOWEST, .label = "lowest nearby",
                                                   .bytes = lowest[c->areas.peak_column]};
    rows[n_rows++] = (struct msnap_legend_row){.bold = true, .label = "allocated", .bytes = allocated,
                                               .extra = allocated ? "100 %" : NULL};
    for (size_t i = n; i-- > 0;)
        rows[n_rows++] = (struct msnap_legend_row){.look = layers[i].look, .label = layers[i].label,
                                                   .bytes = layers[i].at_peak,
                                                   .extra = msnap_share_text(s, layers[i].at_peak, allocated),
                                                   .title = layers[i].title};
    const uint32_t event = c->areas.peak.event;
    const char *heading = c->areas.window.first_event == MSNAP_NO_EVENT ? "At the dump"
                          : event == MSNAP_NO_EVENT                     ? "At the peak, before the first event"
                                                                        : msnap_scene_format(s, "At the peak, event %s", msnap_format_count(number, event));
    msnap_canvas_legend(c, heading, "bytes", "share", rows, n_rows,
                        msnap_scene_format(s, "Stacked by %s, the steadiest at the bottom; whole blocks.", names[by]));
}

static const char *finding(struct msnap_canvas *c)
{
    char allocated[24], reserved[24], asked[24], number[32];
    struct msnap_scene *s = c->scene;
    const struct msnap_moment *peak = &c->areas.peak;
    msnap_format_bytes(allocated, peak->totals.allocated);
    msnap_format_bytes(reserved, peak->totals.reserved);
    if (c->areas.window.first_event == MSNAP_NO_EVENT && c->areas.highest_reserved == 0)
        return "Nothing was recorded, and nothing is reserved";
    if (c->areas.window.first_event == MSNAP_NO_EVENT)
        return msnap_scene_format(s, "%s allocated, %s reserved at the dump", allocated, reserved);
    const uint32_t oom = msnap_final_oom(c->h, c->areas.window);
    if (oom != MSNAP_NO_EVENT) {
        const uint64_t size = c->h->snapshot->events.size[c->h->device->first_event + oom];
        return msnap_scene_format(s, "Out of memory asking for %s; peak %s%s%s; %s reserved", msnap_format_bytes(asked, size), allocated,
                                  msnap_peak_share(c), msnap_peak_step(c), reserved);
    }
    if (*msnap_peak_share(c))
        return msnap_scene_format(s, "Peak %s%s%s; %s reserved", allocated, msnap_peak_share(c), msnap_peak_step(c), reserved);
    if (peak->event == MSNAP_NO_EVENT)
        return msnap_scene_format(s, "Peak %s allocated before the first event; %s reserved", allocated, reserved);
    return msnap_scene_format(s, "Peak %s allocated at event %s; %s reserved", allocated,
                              msnap_format_count(number, peak->event), reserved);
}

enum msnap_status msnap_draw_timeline(struct msnap_canvas *c, struct msnap_error *err)
{
    struct msnap_grouping grouping;
    struct msnap_area_groups split;
    struct layer layers[MAX_LAYERS];
    enum msnap_group_by by;

    /* The legend names every group that has a colour; where it has no room, there are fewer. */
    const size_t rows = msnap_canvas_legend_rows(c);
    const size_t room = rows > 6 ? rows - 5 : 1;
    enum msnap_status status = choose_grouping(c, &by, &grouping, err);
    if (status != MSNAP_OK)
        return status;
    const bool has_before = c->h->allocs.n_initial > c->h->allocs.n_initial_pending && c->h->device->n_events > 0;
    status = msnap_areas_split(c->h, &c->areas, &grouping, has_before, c->scene->arena, &split, err);
    for (int round = 0; round < REST_ROUNDS && status == MSNAP_OK; round++) {
        const size_t n_before = grouping.n_groups;
        status = split_rest(c, by, &split, &grouping, err);
        if (status != MSNAP_OK || grouping.n_groups == n_before)
            break;
        status = msnap_areas_split(c->h, &c->areas, &grouping, has_before, c->scene->arena, &split, err);
    }
    if (status != MSNAP_OK)
        return status;
    const size_t n = make_layers(c, by, c->plot->top < room ? c->plot->top : room, &grouping, &split, layers);
    const uint64_t *lowest = make_floor(c);

    msnap_canvas_grid(c);
    draw_layers(c, layers, n);
    size_t n_points;
    const struct msnap_point *points;
    if (lowest && (points = msnap_canvas_steps(c, lowest, false, &n_points)) != NULL)
        msnap_scene_line(c->scene, MSNAP_LOOK_LOWEST, points, n_points, "lowest within some pixels");
    msnap_canvas_steps_marks(c);
    points = msnap_canvas_steps(c, c->areas.reserved, false, &n_points);
    if (points)
        msnap_scene_line(c->scene, MSNAP_LOOK_RESERVED, points, n_points, "reserved from the device");
    msnap_canvas_x_axis(c);
    msnap_canvas_markers(c);
    msnap_canvas_titles(c, finding(c));
    draw_legend(c, by, layers, n, lowest);
    return MSNAP_OK;
}
