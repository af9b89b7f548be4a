/* bursts.h -- why segments were given back: a retry of a failed cudaMalloc, or a release asked for. */
#ifndef MSNAP_ANALYSIS_BURSTS_H
#define MSNAP_ANALYSIS_BURSTS_H

#include <memsnap/history.h>

struct burst_counts {
    uint64_t ooms;
    uint64_t retries;           /* cudaMalloc failed, everything cached was released, cudaMalloc again */
    uint64_t explicit_releases; /* empty_cache(), a graph capture's, cudnn.benchmark's, a MemPool's end */
};

/* One release that the program asked for. */
struct burst_release {
    uint32_t event;    /* its first entry */
    uint32_t pool;     /* UINT32_MAX: the default pools (empty_cache); else one private pool */
};

/* Neither is recorded. What tells them apart: a retry belongs to the allocation that follows, so it
 * has its stack, needs a new segment, found no free block large enough before, and would have
 * exceeded every amount that was ever held. O(events). */
enum msnap_status msnap_bursts_count(const struct msnap_history *h, struct msnap_arena *arena, struct burst_counts *out,
                                     struct msnap_error *err);
/* The explicit ones, in order; a private pool that went with an empty_cache() has an entry of its own after it. */
enum msnap_status msnap_bursts_list(const struct msnap_history *h, struct msnap_arena *arena, struct burst_release **out, size_t *n,
                                    struct msnap_error *err);

#endif
