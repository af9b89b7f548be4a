/* axes.c -- grid, axes, stepped edges, and the markers above the plot. */
#include "plot.h"

#include <string.h>

#include "text_width.h"

enum { MAX_OOM_MARKS = 48 };

float msnap_canvas_y(const struct msnap_canvas *c, uint64_t bytes)
{
    const double share = (double)bytes / c->y_max;
    return c->box.bottom - (float)(share * (double)(c->box.bottom - c->box.top));
}

static float x_at(const struct msnap_canvas *c, double share)
{
    return c->box.left + (float)(share * (double)(c->box.right - c->box.left));
}

void msnap_canvas_grid(struct msnap_canvas *c)
{
    struct msnap_ticks ticks;
    msnap_scene_rect(c->scene, MSNAP_LOOK_PAPER, 0, 0, c->scene->width, c->scene->height, NULL);
    size_t n_wanted = (size_t)((c->box.bottom - c->box.top) / 55);
    msnap_ticks_bytes(c->y_max, n_wanted < 2 ? 2 : n_wanted > 10 ? 10 : n_wanted, &ticks);
    if (c->areas.highest_reserved == 0 && c->areas.peak.totals.allocated == 0)
        ticks.n = 1; /* nothing at all: zero says it */
    for (size_t i = 0; i < ticks.n; i++) {
        /* On the half pixel, a line of one pixel is one pixel. */
        const float y = (float)(int)msnap_canvas_y(c, (uint64_t)ticks.tick[i].value) + 0.5f;
        if (i > 0)
            msnap_scene_segment(c->scene, MSNAP_LOOK_GRID, c->box.left, y, c->box.right, y, NULL);
    }
    for (size_t i = 0; i < ticks.n; i++)
        msnap_scene_text(c->scene, MSNAP_LOOK_TICK, MSNAP_ANCHOR_END, c->box.left - 8,
                         msnap_canvas_y(c, (uint64_t)ticks.tick[i].value) + 4, ticks.tick[i].label, NULL);
}

/* Where a tick's value lies, from 0 to 1. */
static double tick_position(const struct msnap_canvas *c, double value, double first)
{
    if (c->areas.x_mode == MSNAP_X_TIME)
        return (value - first) / (double)c->areas.span_us;
    return msnap_areas_position(c->h, &c->areas, (uint32_t)value);
}

void msnap_canvas_x_axis(struct msnap_canvas *c)
{
    struct msnap_scene *s = c->scene;
    const struct msnap_window w = c->areas.window;
    const struct msnap_box b = c->box;
    const float base = (float)(int)(b.bottom + c->drop) + 0.5f, foot = (float)(int)b.bottom + 0.5f;
    const float middle = (b.left + b.right) / 2;
    msnap_scene_segment(s, MSNAP_LOOK_AXIS, b.left, foot, b.right, foot, NULL);
    if (c->drop > 0)
        msnap_scene_segment(s, MSNAP_LOOK_GRID, b.left, base, b.right, base, NULL);
    msnap_canvas_band(c);
    if (w.first_event == MSNAP_NO_EVENT) {
        msnap_scene_text(s, MSNAP_LOOK_TICK, MSNAP_ANCHOR_MIDDLE, middle, b.bottom + 20,
                         "no events recorded: state at the dump", NULL);
        return;
    }
    struct msnap_ticks ticks;
    double first = w.first_event, last = w.last_event;
    size_t n_wanted = (size_t)((b.right - b.left) / 80);
    n_wanted = n_wanted < 4 ? 4 : n_wanted;
    const bool by_time = c->areas.x_mode == MSNAP_X_TIME;
    if (by_time) {
        const int64_t zero = c->h->snapshot->events.time_us[c->h->device->first_event];
        first = (double)(c->areas.first_time_us - zero);
        last = (double)(c->areas.last_time_us - zero);
        msnap_ticks_time(first, last, n_wanted, &ticks);
    } else {
        msnap_ticks_count(first, last, n_wanted, &ticks);
    }
    for (size_t i = 0; i < ticks.n; i++) {
        const float x = (float)(int)x_at(c, tick_position(c, ticks.tick[i].value, first)) + 0.5f;
        msnap_scene_segment(s, MSNAP_LOOK_AXIS, x, base, x, base + 4, NULL);
    }
    const float font = msnap_look(MSNAP_LOOK_TICK)->font_size;
    float used = 0;
    for (size_t i = 0; i < ticks.n; i++) {
        const float x = x_at(c, tick_position(c, ticks.tick[i].value, first));
        const float half = msnap_text_width(ticks.tick[i].label, font, false) / 2;
        if (x - half < used || x + half > b.right + 20)
            continue;
        used = x + half + 8;
        msnap_scene_text(s, MSNAP_LOOK_TICK, MSNAP_ANCHOR_MIDDLE, x, base + 18, ticks.tick[i].label, NULL);
    }
    const char *caption = by_time ? "time since the first event" : "event";
    const float width = msnap_text_width(caption, msnap_look(MSNAP_LOOK_NOTE)->font_size, false);
    if (msnap_canvas_band_legend(c, base + 36, width))
        msnap_scene_text(s, MSNAP_LOOK_NOTE, MSNAP_ANCHOR_END, b.right, base + 36, caption, NULL);
    else
        msnap_scene_text(s, MSNAP_LOOK_NOTE, MSNAP_ANCHOR_MIDDLE, middle, base + 36, caption, NULL);
}

const struct msnap_point *msnap_canvas_steps(struct msnap_canvas *c, const uint64_t *values, bool closed,
                                             size_t *n_points)
{
    const size_t n = c->areas.n_columns;
    struct msnap_point *points = msnap_arena_alloc(c->scene->arena, 2 * n + 4, sizeof *points);
    *n_points = 0;
    if (!points) {
        c->scene->failed = true;
        return NULL;
    }
    size_t used = 0;
    float before = c->box.bottom;
    if (closed)
        points[used++] = (struct msnap_point){c->box.left, c->box.bottom};
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && values[i] == values[i - 1])
            continue;
        const float x = x_at(c, (double)i / (double)n), y = msnap_canvas_y(c, values[i]);
        if (i > 0)
            points[used++] = (struct msnap_point){x, before};
        points[used++] = (struct msnap_point){x, y};
        before = y;
    }
    points[used++] = (struct msnap_point){c->box.right, before};
    if (closed)
        points[used++] = (struct msnap_point){c->box.right, c->box.bottom};
    *n_points = used;
    return points;
}

static const uint8_t *actions(const struct msnap_history *h)
{
    return h->snapshot->events.action + h->device->first_event;
}

uint32_t msnap_final_oom(const struct msnap_history *h, struct msnap_window w)
{
    if (w.first_event == MSNAP_NO_EVENT)
        return MSNAP_NO_EVENT;
    const uint8_t *action = actions(h);
    for (size_t e = h->device->n_events; e-- > w.first_event;) {
        if (action[e] == MSNAP_ALLOC)
            break;
        if (action[e] == MSNAP_OOM && e <= w.last_event)
            return (uint32_t)e;
    }
    return MSNAP_NO_EVENT;
}

/* A mark above the plot. */
struct mark {
    uint32_t event;
    const char *text;
    unsigned line, look;
};

static size_t find_ooms(const struct msnap_canvas *c, struct mark *marks, uint32_t final)
{
    const struct msnap_window w = c->areas.window;
    char bytes[24];
    size_t n = 0;
    if (w.first_event == MSNAP_NO_EVENT)
        return 0;
    const uint8_t *action = actions(c->h);
    const uint64_t *size = c->h->snapshot->events.size + c->h->device->first_event;
    /* Backwards: where there are too many, the last ones are marked. */
    for (size_t e = (size_t)w.last_event + 1; e-- > w.first_event && n < MAX_OOM_MARKS;) {
        if (action[e] != MSNAP_OOM)
            continue;
        const bool is_final = final != MSNAP_NO_EVENT && e >= final;
        marks[n].event = (uint32_t)e;
        marks[n].text = msnap_scene_format(c->scene, is_final ? "out of memory: %s asked" : "OOM survived: %s asked",
                                           msnap_format_bytes(bytes, size[e]));
        marks[n].line = is_final ? MSNAP_LOOK_OOM_LINE : MSNAP_LOOK_OOM_SOFT_LINE;
        marks[n].look = MSNAP_LOOK_OOM_TEXT;
        n++;
    }
    return n;
}

void msnap_canvas_markers(struct msnap_canvas *c)
{
    struct mark marks[MAX_OOM_MARKS + 1];
    struct msnap_strip_label labels[MAX_OOM_MARKS + 1];
    char bytes[24];
    struct msnap_scene *s = c->scene;
    const struct msnap_box b = c->box;

    /* The peak's label comes first, then the OOM that ended it, then those before. */
    marks[0] = (struct mark){c->areas.peak.event,
                             msnap_scene_format(s, "peak %s", msnap_format_bytes(bytes, c->areas.peak.totals.allocated)),
                             MSNAP_LOOK_PEAK_LINE, MSNAP_LOOK_PEAK_TEXT};
    const bool has_peak = c->areas.window.first_event != MSNAP_NO_EVENT && c->areas.peak.totals.allocated > 0;
    const size_t skip = has_peak ? 0 : 1;
    const size_t n = 1 + find_ooms(c, marks + 1, msnap_final_oom(c->h, c->areas.window));
    for (size_t i = skip; i < n; i++) {
        const struct msnap_look *look = msnap_look(marks[i].look);
        /* The peak is drawn at its column's middle, where the areas show it. */
        const double at = i == 0 ? ((double)c->areas.peak_column + 0.5) / (double)c->areas.n_columns
                                 : msnap_areas_position(c->h, &c->areas, marks[i].event);
        labels[i] = (struct msnap_strip_label){
            .x = x_at(c, at), .width = msnap_text_width(marks[i].text, look->font_size, look->bold)};
    }
    msnap_strip_place(labels + skip, n - skip, MSNAP_STRIP_ROWS, b.left, b.right, 10);
    const float row = 17, lowest = b.top - 8;
    for (size_t i = n; i-- > skip;) {
        const float y = lowest - row * (float)(labels[i].row < 0 ? 0 : labels[i].row);
        const float end = i == 0 ? msnap_canvas_y(c, c->areas.peak.totals.allocated) : b.bottom;
        msnap_scene_segment(s, marks[i].line, labels[i].x, labels[i].row < 0 ? b.top - 4 : y - 10, labels[i].x, end,
                            marks[i].text);
        if (i == 0)
            msnap_scene_circle(s, MSNAP_LOOK_PEAK_DOT, labels[i].x, end, 4);
    }
    for (size_t i = skip; i < n; i++)
        if (labels[i].row >= 0)
            msnap_scene_text(s, marks[i].look, MSNAP_ANCHOR_START, labels[i].left,
                             lowest - row * (float)labels[i].row, marks[i].text, NULL);
}
