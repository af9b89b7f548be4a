/* segments.h -- the picture of segments: how they are packed into rows, and how a bar is drawn. */
#ifndef MSNAP_RENDER_SEGMENTS_H
#define MSNAP_RENDER_SEGMENTS_H

#include <memsnap/blockmap.h>

#include "plot.h"

/* Segments of one pool, stream and size class, or (`mixed`) of those that there is no room for. */
struct msnap_seg_group {
    uint32_t pool, stream;
    bool small, mixed;
    size_t first, n; /* in the panel's order */
    uint64_t bytes, active, largest_free;
};

/* One moment. */
struct msnap_seg_panel {
    struct msnap_blockmap map;
    const uint32_t *order; /* indices of segments, group by group */
    size_t n_groups;
    struct msnap_seg_group *groups;
    uint64_t reserved, requested, waste, pending, unused; /* requested and waste: of allocated blocks */
    uint64_t largest_free;
    size_t largest_block; /* index of that block; SIZE_MAX: none */
    struct msnap_box box;
};

/* How the segments of all panels are drawn: one scale for all. */
struct msnap_seg_scale {
    double px_per_byte;
    float pitch;  /* from row to row */
    float bar;    /* height of a bar */
    float label;  /* height of the label above it; 0: none */
};

/* Where a part of a segment lies: bytes [from, to) of it, `x` from the left edge, in row `row` of its
 * group. A segment longer than a row goes on in the next. */
struct msnap_seg_piece {
    uint64_t from, to;
    float x, w;
    size_t row;
};

enum { MSNAP_SEG_HEADING = 20, MSNAP_SEG_GROUP_GAP = 8 }; /* pixels */

/* Groups and sorts a panel's segments: default pool first, then by stream, large before small; in a
 * group the largest first. At most `max_groups`; the smallest are then gathered. False: no memory. */
bool msnap_seg_sort(struct msnap_seg_panel *p, const struct msnap_snapshot *s, size_t max_groups, struct msnap_arena *arena);
/* The scale at which all panels fit into `height` pixels, `width` each. */
struct msnap_seg_scale msnap_seg_fit(const struct msnap_seg_panel *panels, size_t n, float width, float height);
/* Goes through a group's pieces: `at` is zero before the first; false after the last. */
struct msnap_seg_cursor {
    size_t i, row;
    uint64_t done; /* bytes of segment i */
    double x;
};
bool msnap_seg_next(const struct msnap_seg_panel *p, const struct msnap_seg_group *g, const struct msnap_seg_scale *scale,
                    float width, struct msnap_seg_cursor *at, struct msnap_seg_piece *out);
/* Pixels between the bars of a group's rows: none where they are about a pixel wide. */
float msnap_seg_gap(const struct msnap_seg_group *g, const struct msnap_seg_scale *scale);
/* How high a panel is. */
float msnap_seg_height(const struct msnap_seg_panel *p, const struct msnap_seg_scale *scale, float width);

/* What an allocation's block looks like, by row: NULL group_of: by state. */
struct msnap_seg_colours {
    const uint8_t *group_of;
    size_t n_named; /* groups from here on are the rest */
    const uint8_t *look; /* by group: the class */
};

/* Consecutive blocks that are too narrow to be drawn one by one, of one row. Zero: none. */
enum { MSNAP_SEG_SHARES = 48 };
struct msnap_seg_crowd {
    float x, end, top, height;         /* pixels, of the column being filled */
    uint64_t bytes[MSNAP_SEG_SHARES];  /* by class, in the order of `look` */
    unsigned look[MSNAP_SEG_SHARES];
    size_t n_looks, n_blocks;
    uint64_t free_bytes, all_bytes;
};

/* segments_bar.c: one piece with its blocks. The crowd goes on from piece to piece of a row. */
void msnap_seg_end_crowd(struct msnap_canvas *c, struct msnap_seg_crowd *crowd);
void msnap_seg_draw(struct msnap_canvas *c, const struct msnap_seg_panel *p, const struct msnap_map_segment *g,
                    const struct msnap_seg_piece *piece, const struct msnap_seg_scale *scale,
                    const struct msnap_seg_colours *colours, float left, float top, struct msnap_seg_crowd *crowd);

#endif
