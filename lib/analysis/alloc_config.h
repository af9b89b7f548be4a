/* alloc_config.h -- the caching allocator's settings, as numbers, and its rounding. */
#ifndef MSNAP_ANALYSIS_ALLOC_CONFIG_H
#define MSNAP_ANALYSIS_ALLOC_CONFIG_H

#include <memsnap/snapshot.h>

/* CUDACachingAllocator.cpp, 2.0 to 2.11: fixed at compile time. */
#define MSNAP_MIN_BLOCK UINT64_C(512)
#define MSNAP_SMALL_SIZE (UINT64_C(1) << 20)   /* rounded requests up to this use the small pool */
#define MSNAP_SMALL_BUFFER (UINT64_C(2) << 20) /* segment of the small pool, granule of its expandable ones */
#define MSNAP_MIN_LARGE_ALLOC (UINT64_C(10) << 20)
#define MSNAP_ROUND_LARGE (UINT64_C(2) << 20)
#define MSNAP_UNLIMITED UINT64_MAX

struct msnap_alloc_config {
    uint64_t divisions[16];
    uint64_t max_split;       /* MSNAP_UNLIMITED: none */
    uint64_t large_segment;   /* kLargeBuffer, 20 MiB; large_segment_size_mb since 2.11 */
    bool expandable;
    bool known;               /* the file has settings */
};

/* From the snapshot's settings; large_segment_size_mb only stands in the option string. */
void msnap_alloc_config_of(const struct msnap_snapshot *s, struct msnap_alloc_config *out);

/* round_size of c10/cuda/CUDACachingAllocator.cpp (2.4 to 2.11): request to block size. */
uint64_t msnap_round_size(const struct msnap_alloc_config *c, uint64_t n);
/* The segment size that a rounded request asks the driver for. */
uint64_t msnap_segment_size(const struct msnap_alloc_config *c, uint64_t rounded);

#endif
