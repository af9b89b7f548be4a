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

static const char *finding(struct msnap_canvas *c)
{
    char reserved[24], allocated[24];
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
    struct msnap_legend_row rows[5];
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
    msnap_canvas_x_axis(c);
    msnap_canvas_markers(c);
    msnap_canvas_titles(c, finding(c));
    const char *heading = a->window.first_event == MSNAP_NO_EVENT ? "At the dump"
                          : a->peak.event == MSNAP_NO_EVENT       ? "Before the first event"
                                                                  : msnap_scene_format(c->scene, "Event %s", msnap_format_count(number, a->peak.event));
    msnap_canvas_legend(c, heading, "at the peak", "highest", rows, n + 1,
                        "Each pixel shows the highest value within it.");
    return MSNAP_OK;
}
