/* plot.h -- what the plots over time share: layout, axes, markers, legend, names of groups. */
#ifndef MSNAP_RENDER_PLOT_H
#define MSNAP_RENDER_PLOT_H

#include "axis.h"
#include "scene.h"

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

/* The last `oom` event that no allocation followed; MSNAP_NO_EVENT if there is none in the window. */
uint32_t msnap_final_oom(const struct msnap_history *h, struct msnap_window window);

/* group_label.c */
const char *msnap_group_label(struct msnap_scene *s, const struct msnap_history *h, enum msnap_group_by by,
                              const struct msnap_rank_row *row);
/* Several lines: the label in full, and the stack of the group's largest allocation. */
const char *msnap_group_title(struct msnap_scene *s, const struct msnap_history *h, enum msnap_group_by by,
                              const struct msnap_rank_row *row, uint64_t bytes);

/* timeline_plot.c, reserved_plot.c: the canvas has its areas and layout. */
enum msnap_status msnap_draw_timeline(struct msnap_canvas *c, struct msnap_error *err);
enum msnap_status msnap_draw_reserved(struct msnap_canvas *c, struct msnap_error *err);

#endif
