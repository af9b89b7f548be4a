/* plot.c -- from a history and a wish to a scene: checks, choices, and the kind that draws. */
#include "plot.h"

#include <math.h>

struct msnap_plot msnap_plot_default(const struct msnap_history *h, enum msnap_plot_kind kind)
{
    return (struct msnap_plot){.kind = kind, .by = MSNAP_PLOT_BY_AUTO, .x = MSNAP_PLOT_X_AUTO,
                               .window = msnap_window_all(h), .width = 1280, .height = 720, .top = 10};
}

static bool is_between(float v, float low, float high) { return v >= low && v <= high; }

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

    struct msnap_scene scene = msnap_scene_make(plot->width, plot->height, arena);
    struct msnap_canvas c = {.scene = &scene, .h = h, .plot = plot};
    msnap_canvas_layout(&c);
    const enum msnap_x_mode x = plot->x == MSNAP_PLOT_X_AUTO   ? msnap_areas_suggest_x(h, plot->window)
                                : plot->x == MSNAP_PLOT_X_TIME ? MSNAP_X_TIME
                                                               : MSNAP_X_EVENTS;
    const size_t n_columns = (size_t)(c.box.right - c.box.left);
    enum msnap_status status = msnap_areas_build(h, x, plot->window, n_columns, arena, &c.areas, err);
    if (status != MSNAP_OK)
        return status;
    /* A faulty file can have more allocated than reserved: what is drawn must fit all the same. */
    uint64_t highest = c.areas.highest_reserved;
    if (c.areas.peak.totals.allocated > highest)
        highest = c.areas.peak.totals.allocated;
    for (size_t i = 0; i < c.areas.n_columns; i++)
        if (c.areas.active[i] > highest)
            highest = c.areas.active[i];
    c.y_max = highest ? (double)highest * 1.04 : 1.0;

    switch (plot->kind) {
    case MSNAP_PLOT_TIMELINE:
        status = msnap_draw_timeline(&c, err);
        break;
    case MSNAP_PLOT_RESERVED:
        status = msnap_draw_reserved(&c, err);
        break;
    }
    if (status != MSNAP_OK)
        return status;
    if (scene.failed)
        return msnap_render_fail(err, MSNAP_ENOMEM, "no memory for the picture");
    *out = scene;
    return MSNAP_OK;
}
