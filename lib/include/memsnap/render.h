/* render.h -- pictures: a scene of plain shapes, and what writes it to SVG, PNG or PDF.
 *
 * A scene is geometry and nothing else: rectangles, areas, lines and texts in a list, the later
 * over the earlier, each with a class that palette.c gives its look. It knows no history, and
 * the writers know no plots. Coordinates are pixels from the top left corner.
 */
#ifndef MEMSNAP_RENDER_H
#define MEMSNAP_RENDER_H

#include <memsnap/areas.h>
#include <memsnap/steps.h>
#include <memsnap/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- scenes ---- */
enum msnap_shape {
    MSNAP_SHAPE_RECT,    /* x, y, w, h */
    MSNAP_SHAPE_LINE,    /* points, open, stroked */
    MSNAP_SHAPE_POLYGON, /* points, closed, filled */
    MSNAP_SHAPE_CIRCLE,  /* centre x, y; radius w */
    MSNAP_SHAPE_TEXT     /* x is where the anchor is, y the baseline; w is the measured width */
};
enum msnap_anchor { MSNAP_ANCHOR_START, MSNAP_ANCHOR_MIDDLE, MSNAP_ANCHOR_END };

struct msnap_point {
    float x, y;
};

struct msnap_item {
    uint8_t shape;  /* enum msnap_shape */
    uint8_t look;   /* a class: an index for msnap_look */
    uint8_t anchor; /* enum msnap_anchor, of texts */
    float x, y, w, h;
    const struct msnap_point *points;
    size_t n_points;
    const char *text;  /* UTF-8, of texts */
    const char *title; /* shown when the pointer rests on the shape (SVG); NULL: none */
};

/* Everything, its texts included, lives in the arena that it was made with. */
struct msnap_scene {
    float width, height;
    const char *title; /* of the whole picture */
    size_t n, capacity;
    struct msnap_item *items;
    struct msnap_arena *arena;
    bool failed; /* a piece found no memory: the scene is not complete and is not to be written */
};

/* One line of text for each item: for tests, and for eyes. */
MSNAP_API void msnap_scene_dump(const struct msnap_scene *scene, struct msnap_sink *sink);

/* SVG with real text and hover titles. Ends with a newline; the caller flushes the sink. */
MSNAP_API void msnap_scene_write_svg(const struct msnap_scene *scene, struct msnap_sink *sink);
/* Whether this build draws PNG and PDF; SVG needs no cairo. */
MSNAP_API bool msnap_render_has_cairo(void);
/* PNG (scale: pixels of the image for each pixel of the scene) and PDF (one pixel is 1/96 inch).
 * MSNAP_ENOMEM, MSNAP_EIO where the sink failed, or MSNAP_EDEVICE in a build without cairo. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_scene_write_png(const struct msnap_scene *scene, double scale, struct msnap_sink *sink,
                      struct msnap_error *err);
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_scene_write_pdf(const struct msnap_scene *scene, struct msnap_sink *sink, struct msnap_error *err);

/* ---- plots ---- */
enum msnap_plot_kind {
    MSNAP_PLOT_TIMELINE, /* allocated bytes over time, by who holds them */
    MSNAP_PLOT_RESERVED, /* reserved, active, allocated and requested bytes over time */
    MSNAP_PLOT_SEGMENTS, /* the segments at some moments, and the blocks in them */
    MSNAP_PLOT_FLAME     /* allocated bytes at a moment by call stack */
};
enum msnap_plot_x { MSNAP_PLOT_X_AUTO, MSNAP_PLOT_X_EVENTS, MSNAP_PLOT_X_TIME };
enum msnap_plot_by { MSNAP_PLOT_BY_AUTO = -1 }; /* else enum msnap_group_by */

#define MSNAP_PLOT_MIN_WIDTH 320
#define MSNAP_PLOT_MAX_WIDTH 16384
#define MSNAP_PLOT_MIN_HEIGHT 240
#define MSNAP_PLOT_MAX_HEIGHT 16384
#define MSNAP_PLOT_MAX_TOP 40
#define MSNAP_PLOT_MAX_MOMENTS 4

struct msnap_plot_moment {
    uint32_t event;   /* the state after it; MSNAP_NO_EVENT: before the first */
    const char *name; /* "peak", "oom", "end": "at the peak"; anything else or NULL: by its number */
};

struct msnap_plot {
    enum msnap_plot_kind kind;
    int by;                     /* enum msnap_group_by, or MSNAP_PLOT_BY_AUTO: by line where the
                                   user's code is in the stacks, else by stack; segments: by state */
    enum msnap_plot_x x;
    struct msnap_window window; /* msnap_window_all(), or a part of it */
    size_t n_moments;           /* segments: 1 to MSNAP_PLOT_MAX_MOMENTS, side by side; flame: 1 */
    struct msnap_plot_moment moments[MSNAP_PLOT_MAX_MOMENTS];
    float width, height;        /* pixels, within the limits above */
    bool fit;                   /* segments, flame: as high as their contents, up to twice the height */
    size_t top;                 /* groups shown one by one, 1 to MSNAP_PLOT_MAX_TOP; fewer where
                                   the picture is too low for their legend */
    /* Reserved bytes of a simulated run, against the recorded ones (MSNAP_PLOT_RESERVED): one entry an event of the
     * device; NULL: none. The line ends at `simulated_oom`, where that run fails (MSNAP_NO_EVENT: nowhere). */
    const uint64_t *simulated;
    uint32_t simulated_oom;
    const char *simulated_label; /* the settings, as in "expandable_segments:True" */
    const struct msnap_steps *steps; /* timeline, reserved: marks of steps and phases; NULL: none */
    const char *title;          /* NULL: the finding */
    const char *source;         /* the file's name for the subtitle, or NULL */
};
/* 1280 x 720, the whole history, ten groups; segments and flame: at the peak, as high as they need. */
MSNAP_API struct msnap_plot msnap_plot_default(const struct msnap_history *h, enum msnap_plot_kind kind);

/* Draws; the history needs no series. The scene lives in `arena`.
 * O(events + allocations + stacks). MSNAP_EUSAGE for a plot outside its limits, and as msnap_areas_build. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_plot_draw(const struct msnap_history *h, const struct msnap_plot *plot, struct msnap_arena *arena,
                struct msnap_scene *out, struct msnap_error *err);

#ifdef __cplusplus
}
#endif
#endif
