/* palette.h -- what each class of shape looks like. */
#ifndef MSNAP_RENDER_PALETTE_H
#define MSNAP_RENDER_PALETTE_H

#include <memsnap/base.h>

#define MSNAP_N_GROUP_COLOURS 24

enum msnap_look_class {
    MSNAP_LOOK_PAPER,
    MSNAP_LOOK_GRID,
    MSNAP_LOOK_AXIS,
    MSNAP_LOOK_TITLE,
    MSNAP_LOOK_TITLE_SMALL, /* for what does not fit otherwise */
    MSNAP_LOOK_SUBTITLE,
    MSNAP_LOOK_TICK,
    MSNAP_LOOK_NOTE,
    MSNAP_LOOK_HEAD,
    MSNAP_LOOK_LABEL,
    MSNAP_LOOK_NUMBER,
    MSNAP_LOOK_TOTAL,
    MSNAP_LOOK_RESERVED,   /* line */
    MSNAP_LOOK_SIMULATED,  /* line: reserved in another run than the recorded one */
    MSNAP_LOOK_LOWEST,     /* line */
    MSNAP_LOOK_REQUESTED,  /* line */
    MSNAP_LOOK_STEP_LINE,  /* line */
    MSNAP_LOOK_FORWARD,    /* phases in the band */
    MSNAP_LOOK_BACKWARD,
    MSNAP_LOOK_OPTIMIZER,
    MSNAP_LOOK_CACHE_AREA, /* areas of the reserved plot, from the outermost in */
    MSNAP_LOOK_ACTIVE_AREA,
    MSNAP_LOOK_ALLOCATED_AREA,
    MSNAP_LOOK_PEAK_LINE,
    MSNAP_LOOK_PEAK_DOT,
    MSNAP_LOOK_PEAK_TEXT,
    MSNAP_LOOK_OOM_LINE,
    MSNAP_LOOK_OOM_SOFT_LINE, /* one that the program survived */
    MSNAP_LOOK_OOM_TEXT,
    MSNAP_LOOK_SEGMENT_FREE,  /* the ground of a segment: what no block uses */
    MSNAP_LOOK_SEGMENT_WASTE, /* of a block, what was not asked for */
    MSNAP_LOOK_SEGMENT_PENDING, /* pending frees where colours stand for groups */
    MSNAP_LOOK_SEGMENT_REST, /* allocated, of no group with a colour; darker than what is free */
    MSNAP_LOOK_SEGMENT_EDGE,  /* line: around a segment */
    MSNAP_LOOK_SEGMENT_DASHED, /* line: around a range of expandable memory */
    MSNAP_LOOK_BLOCK_EDGE,    /* line: between blocks */
    MSNAP_LOOK_LARGEST_FREE,  /* line: around the largest free block */
    MSNAP_LOOK_FLAME_ROOT,
    MSNAP_LOOK_FLAME_LIBRARY, /* frames of Python libraries */
    MSNAP_LOOK_FLAME_NATIVE,  /* C++ frames */
    MSNAP_LOOK_FLAME_NONE,    /* stacks without frames */
    MSNAP_LOOK_FLAME_BEFORE,
    MSNAP_LOOK_FLAME_SMALL,   /* frames too narrow to be drawn, together */
    MSNAP_LOOK_FLAME_EDGE,    /* line: between frames */
    MSNAP_LOOK_FRAME_TEXT,
    MSNAP_LOOK_FRAME_TEXT_LIGHT, /* on dark colours */
    MSNAP_LOOK_BEFORE, /* memory that predates the recording */
    MSNAP_LOOK_REST,
    MSNAP_LOOK_GROUP, /* the first of MSNAP_N_GROUP_COLOURS */
    MSNAP_N_LOOKS = MSNAP_LOOK_GROUP + MSNAP_N_GROUP_COLOURS
};

#define MSNAP_NO_COLOUR UINT32_MAX

struct msnap_look {
    const char *name;     /* in scene dumps */
    uint32_t fill;        /* 0xRRGGBB, or MSNAP_NO_COLOUR */
    uint32_t stroke;      /* the same */
    float stroke_width;   /* pixels */
    float dash;           /* length of dashes and gaps; 0: solid */
    float font_size;      /* pixels; 0: no text class */
    bool bold;
};

const struct msnap_look *msnap_look(unsigned look_class);
/* The class of the n-th group: colours come around again after MSNAP_N_GROUP_COLOURS. */
unsigned msnap_look_of_group(size_t n);

#endif
