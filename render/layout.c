/* layout.c -- where things go: plot, legend, titles; none over another. */
#include "plot.h"

#include <stdio.h>
#include <string.h>

#include "text_width.h"

#define MARGIN 24.0f
#define TICK_SPACE 66.0f   /* left of the plot, for byte labels */
#define AXIS_SPACE 46.0f   /* below it, for x labels and caption */
#define HEAD_SPACE 70.0f   /* titles */
#define STRIP_ROW 17.0f
#define LEGEND_ROW 19.0f
#define LEGEND_GAP 28.0f
#define BYTES_SPACE 76.0f  /* columns of the legend */
#define EXTRA_SPACE 74.0f
#define SWATCH 12.0f
#define NARROW 640.0f /* below it, the legend goes under the plot */
#define LOW 420.0f    /* and below that as well, there is none */

enum { NO_LEGEND_ROWS = 12 }; /* as many colours as the plot of a thumbnail may have, and five */

static float clamp(float v, float low, float high) { return v < low ? low : v > high ? high : v; }

void msnap_canvas_layout(struct msnap_canvas *c)
{
    const float width = c->plot->width, height = c->plot->height;
    const float top = HEAD_SPACE + STRIP_ROW * MSNAP_STRIP_ROWS + 4;
    if (width >= NARROW) {
        const float legend = clamp(0.31f * width, 250, 430);
        c->box = (struct msnap_box){TICK_SPACE + 12, top, width - MARGIN - legend - LEGEND_GAP, height - AXIS_SPACE - 8};
        c->legend = (struct msnap_box){width - MARGIN - legend, HEAD_SPACE + 8, width - MARGIN, height - 12};
    } else if (height < LOW) { /* a thumbnail: the picture alone */
        c->box = (struct msnap_box){TICK_SPACE + 4, top, width - MARGIN, height - AXIS_SPACE - 4};
        c->legend = (struct msnap_box){0, 0, 0, 0};
    } else {
        /* Five rows of legend at least, a third of the picture at most. */
        const float legend = clamp(height / 3, 5 * LEGEND_ROW, height - top - AXIS_SPACE - 60);
        c->box = (struct msnap_box){TICK_SPACE + 4, top, width - MARGIN, height - AXIS_SPACE - legend - 12};
        c->legend = (struct msnap_box){MARGIN, height - legend - 4, width - MARGIN, height - 8};
    }
}

size_t msnap_canvas_legend_rows(const struct msnap_canvas *c)
{
    if (c->legend.right <= c->legend.left)
        return NO_LEGEND_ROWS;
    const float rows = (c->legend.bottom - c->legend.top) / LEGEND_ROW - 2; /* heading and note */
    return rows < 1 ? 1 : (size_t)rows;
}

void msnap_canvas_text(struct msnap_canvas *c, unsigned look, float x, float y, const char *text, float width,
                       const char *title)
{
    char shown[512];
    const struct msnap_look *l = msnap_look(look);
    msnap_text_shorten(text, l->font_size, l->bold, width, shown, sizeof shown);
    msnap_scene_text(c->scene, look, MSNAP_ANCHOR_START, x, y, shown, title);
}

static const char *coverage_text(struct msnap_canvas *c)
{
    char bytes[24];
    switch (c->h->coverage) {
    case MSNAP_HISTORY_NONE:
        return "no recording, only the state at the dump";
    case MSNAP_HISTORY_COMPLETE:
        return "recorded from the beginning";
    case MSNAP_HISTORY_CUT:
        break;
    }
    if (c->h->start.allocated == 0)
        return "beginning cut off";
    return msnap_scene_format(c->scene, "beginning cut off: %s were allocated before",
                              msnap_format_bytes(bytes, c->h->start.allocated));
}

static const char *events_text(struct msnap_canvas *c)
{
    char n[32], first[32], last[32], span[32];
    const struct msnap_window w = c->areas.window;
    const size_t n_events = c->h->device->n_events;
    if (n_events == 0)
        return "no events";
    msnap_format_count(n, n_events);
    const int64_t us = c->areas.last_time_us - c->areas.first_time_us;
    const char *during = us > 0 ? msnap_scene_format(c->scene, " in %s", msnap_format_duration(span, (uint64_t)us)) : "";
    if (w.first_event == 0 && w.last_event + 1 == n_events)
        return msnap_scene_format(c->scene, "%s event%s%s", n, n_events == 1 ? "" : "s", during);
    return msnap_scene_format(c->scene, "events %s to %s of %s%s", msnap_format_count(first, w.first_event),
                              msnap_format_count(last, w.last_event), n, during);
}

void msnap_canvas_titles(struct msnap_canvas *c, const char *finding)
{
    const float width = c->plot->width - 2 * MARGIN;
    const char *title = c->plot->title ? c->plot->title : finding;
    const int32_t device = c->h->device->device;
    const char *where = device == MSNAP_HOST ? "pinned host memory" : msnap_scene_format(c->scene, "GPU %d", (int)device);
    const char *subtitle = msnap_scene_format(c->scene, "%s%s%s \xC2\xB7 %s \xC2\xB7 %s",
                                              c->plot->source ? c->plot->source : "",
                                              c->plot->source ? " \xC2\xB7 " : "", where, events_text(c), coverage_text(c));
    c->scene->title = msnap_scene_format(c->scene, "%s", title);
    const struct msnap_look *large = msnap_look(MSNAP_LOOK_TITLE);
    const bool fits = msnap_text_width(title, large->font_size, large->bold) <= width;
    msnap_canvas_text(c, fits ? MSNAP_LOOK_TITLE : MSNAP_LOOK_TITLE_SMALL, MARGIN, 36, title, width, NULL);
    msnap_canvas_text(c, MSNAP_LOOK_SUBTITLE, MARGIN, 58, subtitle, width, NULL);
}

static void swatch(struct msnap_canvas *c, const struct msnap_legend_row *row, float x, float y)
{
    const struct msnap_look *look = msnap_look(row->look);
    if (row->bold)
        return;
    if (row->look == MSNAP_LOOK_LOWEST) /* a light line, shown as it lies on the areas */
        msnap_scene_rect(c->scene, MSNAP_LOOK_GROUP, x, y - SWATCH + 2, SWATCH, SWATCH, NULL);
    if (look->fill == MSNAP_NO_COLOUR)
        msnap_scene_segment(c->scene, row->look, x, y - SWATCH / 2 + 2, x + SWATCH, y - SWATCH / 2 + 2, NULL);
    else
        msnap_scene_rect(c->scene, row->look, x, y - SWATCH + 2, SWATCH, SWATCH, row->title);
}

void msnap_canvas_legend(struct msnap_canvas *c, const char *heading, const char *bytes_head,
                         const char *extra_head, const struct msnap_legend_row *rows, size_t n_rows,
                         const char *note)
{
    struct msnap_scene *s = c->scene;
    const float left = c->legend.left, right = c->legend.right;
    const float bytes_right = right - EXTRA_SPACE, label_left = left + SWATCH + 8;
    const float label_width = bytes_right - BYTES_SPACE - label_left;
    float y = c->legend.top + LEGEND_ROW - 6;
    if (right <= left)
        return;

    msnap_canvas_text(c, MSNAP_LOOK_HEAD, left, y, heading, bytes_right - BYTES_SPACE - left, NULL);
    msnap_scene_text(s, MSNAP_LOOK_NOTE, MSNAP_ANCHOR_END, bytes_right, y, bytes_head, NULL);
    msnap_scene_text(s, MSNAP_LOOK_NOTE, MSNAP_ANCHOR_END, right, y, extra_head, NULL);
    msnap_scene_segment(s, MSNAP_LOOK_GRID, left, y + 6.5f, right, y + 6.5f, NULL);
    const size_t fit = msnap_canvas_legend_rows(c);
    for (size_t i = 0; i < n_rows && i < fit; i++) {
        char bytes[24];
        y += LEGEND_ROW;
        swatch(c, &rows[i], left, y);
        msnap_canvas_text(c, rows[i].bold ? MSNAP_LOOK_TOTAL : MSNAP_LOOK_LABEL, rows[i].bold ? left : label_left, y,
                    rows[i].label, rows[i].bold ? label_width + SWATCH + 8 : label_width, rows[i].title);
        const unsigned look = rows[i].bold ? MSNAP_LOOK_TOTAL : MSNAP_LOOK_NUMBER;
        if (rows[i].bytes != UINT64_MAX)
            msnap_scene_text(s, look, MSNAP_ANCHOR_END, bytes_right, y, msnap_format_bytes(bytes, rows[i].bytes), NULL);
        if (rows[i].extra)
            msnap_scene_text(s, look, MSNAP_ANCHOR_END, right, y, rows[i].extra, NULL);
    }
    if (note)
        msnap_canvas_text(c, MSNAP_LOOK_NOTE, left, y + LEGEND_ROW, note, right - left, NULL);
}

const char *msnap_share_text(struct msnap_scene *s, uint64_t part, uint64_t whole)
{
    if (whole == 0)
        return "";
    const double percent = 100.0 * (double)part / (double)whole;
    if (percent > 0 && percent < 0.05)
        return "< 0.1 %";
    return msnap_scene_format(s, percent > 0 && percent < 0.95 ? "%.1f %%" : "%.0f %%", percent);
}
