/* sizes.h -- a multiset of sizes in bytes. */
#ifndef MSNAP_ANALYSIS_SIZES_H
#define MSNAP_ANALYSIS_SIZES_H

#include "base/arena.h"

struct msnap_sizes {
    struct msnap_arena *arena;
    uint64_t *size; /* 0: free */
    uint32_t *count;
    size_t n, n_slots;
};

/* False: no memory. Sizes of 0 are not counted. All zero but for the arena is an empty set. */
bool msnap_sizes_add(struct msnap_sizes *s, uint64_t size);
uint32_t msnap_sizes_count(const struct msnap_sizes *s, uint64_t size);

#endif
