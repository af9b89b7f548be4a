/* plot.h -- what the plots share: layout, axes, markers, legend, names of groups. */
#ifndef MSNAP_RENDER_PLOT_H
#define MSNAP_RENDER_PLOT_H

#include "axis.h"
#include "scene.h"

#include <memsnap/classify.h>

enum { MSNAP_STRIP_ROWS = 2 };

/* One picture in the making. */
struct msnap_canvas {
    struct msnap_scene *scene;
    const struct msnap_history *h;
    const struct msnap_plot *plot;
    struct msnap_areas areas;
    struct msnap_box box;    /* the plot proper */
    struct msnap_box legend; /* beside it, or below it where the picture is narrow */
    double y_max;            /* bytes at box.top */
    uint64_t *simulated;     /* the plot's simulated series, highest in each column; NULL: none */
    unsigned phases;         /* kinds of phases in the window, a bit each */
    float band, drop;        /* step_marks.c: below the plot, the band of phases; that and the steps' numbers */
};

struct msnap_legend_row {
    unsigned look;         /* of the swatch; a line class gives a line */
    const char *label;
    uint64_t bytes;
    const char *extra;     /* right of the bytes; NULL: nothing */
    const char *title;
    bool bold;             /* a total: no swatch */
};

/* layout.c */
void msnap_canvas_layout(struct msnap_canvas *c);
size_t msnap_canvas_legend_rows(const struct msnap_canvas *c); /* how many fit, heading and notes left out */
/* One line of text from x on, shortened to `width`. */
void msnap_canvas_text(struct msnap_canvas *c, unsigned look, float x, float y, const char *text, float width,
                       const char *title);
/* "41 %", "0.3 %", "< 0.1 %"; "" of nothing. */
const char *msnap_share_text(struct msnap_scene *s, uint64_t part, uint64_t whole);
void msnap_canvas_titles(struct msnap_canvas *c, const char *finding);
void msnap_canvas_legend(struct msnap_canvas *c, const char *heading, const char *bytes_head,
                         const char *extra_head, const struct msnap_legend_row *rows, size_t n_rows,
                         const char *note);

/* axes.c */
void msnap_canvas_grid(struct msnap_canvas *c);  /* behind the data: paper, grid, byte labels */
void msnap_canvas_x_axis(struct msnap_canvas *c); /* before the data: base line, time or event labels */
void msnap_canvas_markers(struct msnap_canvas *c); /* peak and OOM events, with their labels */
float msnap_canvas_y(const struct msnap_canvas *c, uint64_t bytes);
/* The stepped upper edge of one value a column; closed down to the base line for areas. */
const struct msnap_point *msnap_canvas_steps(struct msnap_canvas *c, const uint64_t *values, bool closed,
                                             size_t *n_points);

/* step_marks.c: where the plot has steps and room for them. */
void msnap_marks_layout(struct msnap_canvas *c); /* after msnap_canvas_layout: takes the room from the plot's bottom */
void msnap_canvas_steps_marks(struct msnap_canvas *c); /* over the data: a line and a number where a step begins */
void msnap_canvas_band(struct msnap_canvas *c);
/* The band's colours, from the plot's left edge on; false where they and the caption have no room. */
bool msnap_canvas_band_legend(struct msnap_canvas *c, float y, float caption_width);
/* ", 59 % activations", ", step 2"; "" where that is not known. */
const char *msnap_peak_share(struct msnap_canvas *c);
const char *msnap_peak_step(struct msnap_canvas *c);

/* The last `oom` event that no allocation followed; MSNAP_NO_EVENT if there is none in the window. */
uint32_t msnap_final_oom(const struct msnap_history *h, struct msnap_window window);

/* moment_label.c: pictures of a moment. */
const char *msnap_moment_text(struct msnap_scene *s, const struct msnap_history *h, const struct msnap_plot_moment *m,
                              bool with_event); /* "at the peak", "at the OOM, event 1,234" */
bool msnap_moment_is_oom(const struct msnap_history *h, uint32_t event, uint64_t *asked);
/* The window that the subtitle tells of: all of it. */
void msnap_canvas_whole_window(struct msnap_canvas *c);
/* Makes the picture so high; its first item is the paper. */
void msnap_canvas_set_height(struct msnap_canvas *c, float height);

/* group_label.c */
/* "model.py:42 forward"; C++ frames have no file. `in_full`: the whole path, the whole name. */
const char *msnap_frame_label(struct msnap_scene *scene, const struct msnap_snapshot *s, uint32_t frame, bool in_full);
/* A Python file, whoever's. */
bool msnap_frame_is_python(const struct msnap_snapshot *s, uint32_t frame);
const char *msnap_group_label(struct msnap_scene *s, const struct msnap_history *h, enum msnap_group_by by,
                              const struct msnap_rank_row *row);
/* Several lines: the label in full, `bytes` at the peak (UINT64_MAX: nothing of it), and the stack of the group's
 * largest allocation. */
const char *msnap_group_title(struct msnap_scene *s, const struct msnap_history *h, enum msnap_group_by by,
                              const struct msnap_rank_row *row, uint64_t bytes);

/* timeline_plot.c, reserved_plot.c: the canvas has its areas and layout. */
enum msnap_status msnap_draw_timeline(struct msnap_canvas *c, struct msnap_error *err);
enum msnap_status msnap_draw_reserved(struct msnap_canvas *c, struct msnap_error *err);
/* segments_plot.c, flame_plot.c: the canvas has its layout. */
enum msnap_status msnap_draw_segments(struct msnap_canvas *c, struct msnap_error *err);
enum msnap_status msnap_draw_flame(struct msnap_canvas *c, struct msnap_error *err);

#endif
