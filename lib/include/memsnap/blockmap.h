/* blockmap.h -- which blocks tile each segment at a moment. */
#ifndef MEMSNAP_BLOCKMAP_H
#define MEMSNAP_BLOCKMAP_H

#include <memsnap/history.h>

#ifdef __cplusplus
extern "C" {
#endif

struct msnap_map_block {
    uint64_t addr, size;
    uint64_t requested; /* 0 for an inactive block */
    uint32_t row;       /* allocation row; UINT32_MAX for an inactive block */
    uint8_t state;      /* enum msnap_block_state */
};

/* An ordinary segment, or one contiguous mapped range of expandable memory. */
struct msnap_map_segment {
    uint64_t addr, size;
    uint32_t stream, pool; /* ids; pool 0: not known, taken for the default one */
    bool small;            /* of the small pool (requests up to 1 MiB) */
    bool expandable;
    size_t first_block, n_blocks; /* blocks in address order, adding up to `size` */
};

struct msnap_blockmap {
    uint32_t event; /* the state after it; MSNAP_NO_EVENT: before the first */
    struct msnap_totals totals;
    size_t n_segments, n_blocks;
    const struct msnap_map_segment *segments; /* by address */
    const struct msnap_map_block *blocks;
    size_t n_outside;                       /* live blocks outside every known segment: the file contradicts itself */
    const struct msnap_map_block *outside;
};

/* Runs the books up to `event`: O(events). The result lives in `arena`. MSNAP_EUSAGE if there is
 * no such event. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_blockmap_build(const struct msnap_history *h, uint32_t event, struct msnap_arena *arena, struct msnap_blockmap *out,
                     struct msnap_error *err);

#ifdef __cplusplus
}
#endif
#endif
