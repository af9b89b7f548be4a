/* stats.h -- torch.cuda.memory_stats() of a device, rebuilt from its snapshot.
 *
 * Rules: what each step of the allocator adds to each counter, as in c10/cuda/CUDACachingAllocator.cpp
 * (2.4 to 2.11) and c10/core/CachingDeviceAllocator.h; checked against recorded memory_stats().
 */
#ifndef MEMSNAP_STATS_H
#define MEMSNAP_STATS_H

#include <memsnap/history.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `allocated` and `freed` sum all increases and decreases; `peak` is the highest `current`. */
struct msnap_counter {
    uint64_t current, peak, allocated, freed;
};

/* The order of torch.cuda.memory_summary(). */
enum msnap_family {
    MSNAP_BYTES_ALLOCATED,
    MSNAP_BYTES_ACTIVE,
    MSNAP_BYTES_REQUESTED,
    MSNAP_BYTES_RESERVED,
    MSNAP_BYTES_INACTIVE_SPLIT, /* inactive blocks of split ordinary segments: empty_cache() cannot give them back */
    MSNAP_COUNT_ALLOCATION,
    MSNAP_COUNT_ACTIVE,
    MSNAP_COUNT_SEGMENT, /* ordinary segments; expandable ones never count */
    MSNAP_COUNT_INACTIVE_SPLIT,
    MSNAP_N_FAMILIES
};
enum { MSNAP_POOL_ALL, MSNAP_POOL_LARGE, MSNAP_POOL_SMALL };

struct msnap_stats {
    struct msnap_counter family[MSNAP_N_FAMILIES][3];
    struct msnap_counter oversize_allocations, oversize_segments;
    uint64_t num_device_alloc, num_device_free, num_ooms;
    uint64_t num_alloc_retries;    /* inferred: releases that only a failed cudaMalloc explains */
    uint64_t num_sync_all_streams; /* those that left a trace; an empty_cache() that freed nothing does not */
    int64_t max_split_size;        /* -1: unlimited */
    bool totals_known;             /* false: the history is cut or absent, only `current` values hold */
    bool settings_known;           /* false: max_split_size is PyTorch's default, not the file's word */
};

/* One key of the flat dictionary; `known` false: null. */
struct msnap_stat {
    const char *key;
    bool known;
    int64_t value;
};
#define MSNAP_N_STATS 122

/* O(events). Scratch memory comes from `arena`. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_stats_build(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_stats *out, struct msnap_error *err);
/* The flat keys in alphabetical order, as torch.cuda.memory_stats() has them (2.11: 122 keys). */
MSNAP_API void msnap_stats_list(const struct msnap_stats *stats, struct msnap_stat out[MSNAP_N_STATS]);

#ifdef __cplusplus
}
#endif
#endif
