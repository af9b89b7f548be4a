/* plot.c -- from a history and a wish to a scene: checks, choices, and the kind that draws. */
#include "plot.h"

struct msnap_plot msnap_plot_default(const struct msnap_history *h, enum msnap_plot_kind kind)
{
    return (struct msnap_plot){.kind = kind, .by = MSNAP_PLOT_BY_AUTO, .x = MSNAP_PLOT_X_AUTO,
                               .window = msnap_window_all(h), .width = 1280, .height = 720, .top = 10, .fit = true,
                               .simulated_oom = MSNAP_NO_EVENT,
                               .n_moments = 1, .moments = {{h->peak.event, "peak"}}};
}

static bool is_between(float v, float low, float high) { return v >= low && v <= high; }

/* The kinds with a horizontal axis of time or events. */
static enum msnap_status draw_over_time(struct msnap_canvas *c, struct msnap_error *err)
{
    const struct msnap_history *h = c->h;
    const struct msnap_plot *plot = c->plot;
    const enum msnap_x_mode x = plot->x == MSNAP_PLOT_X_AUTO   ? msnap_areas_suggest_x(h, plot->window)
                                : plot->x == MSNAP_PLOT_X_TIME ? MSNAP_X_TIME
                                                               : MSNAP_X_EVENTS;
    const size_t n_columns = (size_t)(c->box.right - c->box.left);
    const enum msnap_status status = msnap_areas_build(h, x, plot->window, n_columns, c->scene->arena, &c->areas, err);
    if (status != MSNAP_OK)
        return status;
    /* A faulty file can have more allocated than reserved: what is drawn must fit all the same. */
    uint64_t highest = c->areas.highest_reserved;
    if (c->areas.peak.totals.allocated > highest)
        highest = c->areas.peak.totals.allocated;
    for (size_t i = 0; i < c->areas.n_columns; i++)
        if (c->areas.active[i] > highest)
            highest = c->areas.active[i];
    if (plot->simulated && plot->kind == MSNAP_PLOT_RESERVED) {
        c->simulated = msnap_arena_alloc(c->scene->arena, c->areas.n_columns, sizeof *c->simulated);
        if (!c->simulated)
            return msnap_render_fail(err, MSNAP_ENOMEM, "no memory for the picture");
        msnap_areas_series(h, &c->areas, h->start.reserved, plot->simulated, c->simulated);
        for (size_t i = 0; i < c->areas.n_columns; i++)
            if (c->simulated[i] > highest)
                highest = c->simulated[i];
    }
    c->y_max = highest ? (double)highest * 1.04 : 1.0;
    return plot->kind == MSNAP_PLOT_RESERVED ? msnap_draw_reserved(c, err) : msnap_draw_timeline(c, err);
}

/* The pictures of a moment need one that there is. */
static enum msnap_status check_moments(const struct msnap_history *h, const struct msnap_plot *plot, struct msnap_error *err)
{
    const size_t most = plot->kind == MSNAP_PLOT_SEGMENTS ? MSNAP_PLOT_MAX_MOMENTS : 1;
    if (plot->kind != MSNAP_PLOT_SEGMENTS && plot->kind != MSNAP_PLOT_FLAME)
        return MSNAP_OK;
    if (plot->n_moments < 1 || plot->n_moments > most)
        return msnap_render_fail(err, MSNAP_EUSAGE, "such a picture shows 1 to %zu moments", most);
    for (size_t i = 0; i < plot->n_moments; i++)
        if (plot->moments[i].event != MSNAP_NO_EVENT && plot->moments[i].event >= h->device->n_events)
            return msnap_render_fail(err, MSNAP_EUSAGE, "there is no event %u", (unsigned)plot->moments[i].event);
    return MSNAP_OK;
}

enum msnap_status msnap_plot_draw(const struct msnap_history *h, const struct msnap_plot *plot,
                                  struct msnap_arena *arena, struct msnap_scene *out, struct msnap_error *err)
{
    if (!is_between(plot->width, MSNAP_PLOT_MIN_WIDTH, MSNAP_PLOT_MAX_WIDTH) ||
        !is_between(plot->height, MSNAP_PLOT_MIN_HEIGHT, MSNAP_PLOT_MAX_HEIGHT))
        return msnap_render_fail(err, MSNAP_EUSAGE, "a picture has %d to %d pixels across and %d to %d down",
                                 MSNAP_PLOT_MIN_WIDTH, MSNAP_PLOT_MAX_WIDTH, MSNAP_PLOT_MIN_HEIGHT,
                                 MSNAP_PLOT_MAX_HEIGHT);
    if (plot->top < 1 || plot->top > MSNAP_PLOT_MAX_TOP)
        return msnap_render_fail(err, MSNAP_EUSAGE, "a picture shows 1 to %d groups", MSNAP_PLOT_MAX_TOP);

    enum msnap_status status = check_moments(h, plot, err);
    if (status != MSNAP_OK)
        return status;
    struct msnap_scene scene = msnap_scene_make(plot->width, plot->height, arena);
    struct msnap_canvas c = {.scene = &scene, .h = h, .plot = plot};
    msnap_canvas_layout(&c);
    msnap_marks_layout(&c);
    status = plot->kind == MSNAP_PLOT_SEGMENTS ? msnap_draw_segments(&c, err)
             : plot->kind == MSNAP_PLOT_FLAME  ? msnap_draw_flame(&c, err)
                                               : draw_over_time(&c, err);
    if (status != MSNAP_OK)
        return status;
    if (scene.failed)
        return msnap_render_fail(err, MSNAP_ENOMEM, "no memory for the picture");
    *out = scene;
    return MSNAP_OK;
}
