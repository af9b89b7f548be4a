/* reserved_plot.c -- reserved, active, allocated and requested bytes over time, one inside the other. */
#include "plot.h"

#include <stdio.h>

static uint64_t highest_of(const uint64_t *values, size_t n)
{
    uint64_t highest = 0;
    for (size_t i = 0; i < n; i++)
        if (values[i] > highest)
            highest = values[i];
    return highest;
}

static void draw_area(struct msnap_canvas *c, unsigned look, const uint64_t *values, const char *title)
{
    size_t n_points;
    const struct msnap_point *points = msnap_canvas_steps(c, values, true, &n_points);
    if (points)
        msnap_scene_polygon(c->scene, look, points, n_points, title);
}

static void draw_line(struct msnap_canvas *c, unsigned look, const uint64_t *values, const char *title)
{
    size_t n_points;
    const struct msnap_point *points = msnap_canvas_steps(c, values, false, &n_points);
    if (points)
        msnap_scene_line(c->scene, look, points, n_points, title);
}

static float simulated_end(const struct msnap_canvas *c)
{
    const uint32_t oom = c->plot->simulated_oom;
    const double share = oom == MSNAP_NO_EVENT ? 1.0 : msnap_areas_position(c->h, &c->areas, oom);
    return c->box.left + (c->box.right - c->box.left) * (float)share;
}

/* The other run's line, up to where that run fails. */
static void draw_simulated(struct msnap_canvas *c)
{
    size_t n_points, n = 0;
    const struct msnap_point *points = msnap_canvas_steps(c, c->simulated, false, &n_points);
    struct msnap_point *line = msnap_arena_alloc(c->scene->arena, n_points + 1, sizeof *line);
    const float end = simulated_end(c);
    if (!points || !line) {
        c->scene->failed = true;
        return;
    }
    while (n < n_points && points[n].x <= end) {
        line[n] = points[n];
        n++;
    }
    if (n < n_points && n > 0) {
        line[n] = (struct msnap_point){end, line[n - 1].y};
        n++;
    }
    msnap_scene_line(c->scene, MSNAP_LOOK_SIMULATED, line, n, c->plot->simulated_label);
    if (c->plot->simulated_oom == MSNAP_NO_EVENT || n == 0)
        return;
    const struct msnap_point last = line[n - 1];
    const char *text = "the simulated run fails here";
    const bool left = last.x > (c->box.left + c->box.right) / 2;
    msnap_scene_circle(c->scene, MSNAP_LOOK_OOM_TEXT, last.x, last.y, 4);
    msnap_scene_text(c->scene, MSNAP_LOOK_OOM_TEXT, left ? MSNAP_ANCHOR_END : MSNAP_ANCHOR_START,
                     left ? last.x - 8 : last.x + 8, last.y - 6, text, NULL);
}

/* Reserved bytes of the simulated run after the peak's event. */
static uint64_t simulated_at_peak(const struct msnap_canvas *c)
{
    const uint32_t event = c->areas.peak.event, oom = c->plot->simulated_oom;
    if (oom != MSNAP_NO_EVENT && (event == MSNAP_NO_EVENT || event >= oom))
        return event == MSNAP_NO_EVENT ? c->h->start.reserved : UINT64_MAX;
    return event == MSNAP_NO_EVENT ? c->h->start.reserved : c->plot->simulated[event];
}

static const char *finding(struct msnap_canvas *c)
{
    char reserved[24], allocated[24], event[32];
    if (c->simulated) {
        msnap_format_bytes(reserved, c->areas.highest_reserved);
        msnap_format_bytes(allocated, highest_of(c->simulated, c->areas.n_columns));
        if (c->plot->simulated_oom != MSNAP_NO_EVENT)
            return msnap_scene_format(c->scene, "Simulated, the run fails at event %s (%s reserved before)",
                                      msnap_format_count(event, c->plot->simulated_oom), allocated);
        return msnap_scene_format(c->scene, "%s reserved at most; simulated: %s", reserved, allocated);
    }
    const uint64_t most = c->areas.highest_reserved, held = c->areas.peak.totals.allocated;
    const char *at_dump = c->areas.window.first_event == MSNAP_NO_EVENT ? "" : "at most ";
    msnap_format_bytes(reserved, most);
    msnap_format_bytes(allocated, held);
    if (most == 0)
        return "Nothing was reserved";
    return msnap_scene_format(c->scene, "%s reserved for %s%s allocated (%.0f %%)", reserved, at_dump, allocated,
                              100.0 * (double)held / (double)most);
}

enum msnap_status msnap_draw_reserved(struct msnap_canvas *c, struct msnap_error *err)
{
    (void)err;
    const struct msnap_areas *a = &c->areas;
    const struct msnap_totals *peak = &a->peak.totals;
    struct {
        unsigned look;
        const char *label, *title;
        const uint64_t *values;
        uint64_t at_peak;
    } layers[] = {
        {MSNAP_LOOK_CACHE_AREA, "reserved", "reserved from the device; what no block uses is cache", a->reserved,
         peak->reserved},
        {MSNAP_LOOK_ACTIVE_AREA, "active: pending frees as well", "active: allocated, or freed and waiting for a stream",
         a->active, peak->active},
        {MSNAP_LOOK_ALLOCATED_AREA, "allocated", "allocated: whole blocks", a->highest, peak->allocated},
        {MSNAP_LOOK_REQUESTED, "requested", "requested: what active blocks were asked for", a->requested,
         peak->requested},
    };
    const size_t n = sizeof layers / sizeof layers[0];
    struct msnap_legend_row rows[6];
    char number[32], bytes[24];

    msnap_canvas_grid(c);
    for (size_t i = 0; i < n; i++) {
        const uint64_t highest = highest_of(layers[i].values, a->n_columns);
        if (layers[i].look == MSNAP_LOOK_REQUESTED)
            draw_line(c, layers[i].look, layers[i].values, layers[i].title);
        else
            draw_area(c, layers[i].look, layers[i].values, layers[i].title);
        rows[i] = (struct msnap_legend_row){
            .look = layers[i].look, .label = layers[i].label, .bytes = layers[i].at_peak, .title = layers[i].title,
            .extra = msnap_scene_format(c->scene, "%s", msnap_format_bytes(bytes, highest))};
    }
    msnap_canvas_steps_marks(c);
    draw_line(c, MSNAP_LOOK_RESERVED, a->reserved, layers[0].title);
    rows[n] = (struct msnap_legend_row){.bold = true, .label = "cache: reserved, not active",
                                        .bytes = peak->reserved > peak->active ? peak->reserved - peak->active : 0};
    size_t n_rows = n + 1;
    if (c->simulated) {
        draw_simulated(c);
        rows[n_rows++] = (struct msnap_legend_row){
            .look = MSNAP_LOOK_SIMULATED, .label = "reserved, simulated", .bytes = simulated_at_peak(c),
            .title = c->plot->simulated_label,
            .extra = msnap_scene_format(c->scene, "%s", msnap_format_bytes(bytes, highest_of(c->simulated, a->n_columns)))};
    }
    msnap_canvas_x_axis(c);
    msnap_canvas_markers(c);
    msnap_canvas_titles(c, finding(c));
    const char *heading = a->window.first_event == MSNAP_NO_EVENT ? "At the dump"
                          : a->peak.event == MSNAP_NO_EVENT       ? "Before the first event"
                                                                  : msnap_scene_format(c->scene, "Event %s", msnap_format_count(number, a->peak.event));
    msnap_canvas_legend(c, heading, "at the peak", "highest", rows, n_rows,
                        c->simulated ? msnap_scene_format(c->scene, "Simulated under %s", c->plot->simulated_label)
                                     : "Each pixel shows the highest value within it.");
    return MSNAP_OK;
}
