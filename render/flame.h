/* flame.h -- allocated bytes at a moment as a tree of frames, outermost first. */
#ifndef MSNAP_RENDER_FLAME_H
#define MSNAP_RENDER_FLAME_H

#include "plot.h"

enum msnap_flame_kind {
    MSNAP_FLAME_USER,    /* a frame of the user's own code */
    MSNAP_FLAME_LIBRARY, /* of a Python library */
    MSNAP_FLAME_NATIVE,  /* C++ */
    MSNAP_FLAME_NO_STACK,
    MSNAP_FLAME_EMPTY_STACK,
    MSNAP_FLAME_BEFORE   /* what was allocated before the recording, with its stacks above it */
};

/* A frame, or several in a row that all bytes pass through: `stack` is the innermost of `n_frames`. */
struct msnap_flame_node {
    uint64_t bytes, count; /* with all that it called */
    uint32_t stack;        /* 0 for NO_STACK and BEFORE */
    uint32_t n_frames;
    uint8_t kind;          /* enum msnap_flame_kind */
    bool folded;           /* into its caller: not part of the tree any more */
    uint32_t depth;        /* 0: the root */
    uint64_t start;        /* bytes left of it */
    uint32_t first_child, next; /* 0: none; children have the most bytes first */
};

struct msnap_flame_tree {
    size_t n;                       /* node 0 is the root: all that is allocated */
    struct msnap_flame_node *nodes;
};

/* C++ frames that are left out: they stand between any two Python frames, and at the end of every stack. */
bool msnap_flame_is_plumbing(const struct msnap_snapshot *s, uint32_t frame);

/* Stacks of allocations that are allocated after `event`, plumbing left out, stacks that are equal
 * without it joined. Consecutive library (or C++) frames that branch nowhere are one node. A caller's number is below those of its callees, so a run through the
 * nodes needs no recursion, however deep the stacks. O(allocations + stacks log stacks). */
enum msnap_status msnap_flame_build(const struct msnap_history *h, uint32_t event, struct msnap_arena *arena,
                                    struct msnap_flame_tree *out, struct msnap_error *err);
/* Levels below the root that hold a node of at least `least` bytes. */
size_t msnap_flame_depth(const struct msnap_flame_tree *t, uint64_t least);

#endif
