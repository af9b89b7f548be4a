/* frag.h -- memory that is reserved and not used at a moment: where it lies and what holds it there.
 *
 * Definitions (docs/frag.md shows them on an example):
 *   external fragmentation  1 - largest free block / all free bytes: the share of the unused memory
 *                           that cannot serve one large request. 0 where nothing is unused.
 *   internal fragmentation  1 - requested / active: the share of the used memory that nobody asked for
 *                           (rounding, and remainders too small to be split off).
 *   releasable              free bytes that empty_cache() gives back: whole free segments, and whole
 *                           granules of expandable ones.
 *   pinned                  free bytes that it cannot give back because live blocks lie between them.
 */
#ifndef MEMSNAP_FRAG_H
#define MEMSNAP_FRAG_H

#include <memsnap/blockmap.h>

#ifdef __cplusplus
extern "C" {
#endif

struct msnap_frag_pool { /* one pool, stream and size class (small: requests up to 1 MiB) */
    uint32_t pool, stream;
    bool small;
    uint64_t segments, reserved, allocated, pending, inactive, releasable;
    uint64_t largest_free;
};

struct msnap_frag_segment {
    size_t segment; /* index in the block map */
    uint64_t allocated, pending, inactive, releasable, largest_free;
    uint64_t live_blocks;
};

/* Free blocks with at least `from` and less than 2 * from bytes. */
struct msnap_frag_class {
    uint64_t from, blocks, bytes;
};

/* Live blocks of one stack in segments that hold pinned memory. */
struct msnap_frag_pin {
    uint32_t stack;
    uint64_t blocks, bytes;  /* the live blocks */
    uint64_t segments;       /* that they lie in */
    uint64_t held_back;      /* pinned bytes in these segments; segments with several stacks count for each */
    uint64_t released;       /* what empty_cache() could give back more if only these blocks were gone */
};

/* A moment of the recording. */
struct msnap_frag_point {
    uint32_t event;
    struct msnap_totals totals;
    uint64_t largest_free;
};
#define MSNAP_FRAG_POINTS 12

struct msnap_frag {
    struct msnap_blockmap map;
    uint64_t inactive, pending, releasable, pinned, largest_free;
    double external, internal;
    size_t n_pools, n_segments, n_classes, n_pins, n_points;
    const struct msnap_frag_pool *pools;       /* most inactive bytes first */
    const struct msnap_frag_segment *segments; /* those with free bytes, most pinned bytes first */
    const struct msnap_frag_class *classes;    /* smallest first, no empty ones */
    const struct msnap_frag_pin *pins;         /* most released bytes first, then most held back */
    const struct msnap_frag_point *points;     /* evenly over the recording; none without events */
};

enum { MSNAP_FRAG_OVER_TIME = 1 }; /* flags: fill in `points`, which runs through all events */

/* The state after `event` (MSNAP_NO_EVENT: before the first). Results live in `arena`.
 * O(events up to `event` + blocks). */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_frag_build(const struct msnap_history *h, uint32_t event, unsigned flags, struct msnap_arena *arena, struct msnap_frag *out,
                 struct msnap_error *err);

#ifdef __cplusplus
}
#endif
#endif
