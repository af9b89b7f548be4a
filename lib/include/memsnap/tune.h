/* tune.h -- many allocator settings on one recording, ranked; and what no setting can beat. */
#ifndef MEMSNAP_TUNE_H
#define MEMSNAP_TUNE_H

#include <memsnap/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

enum msnap_tune_by {
    MSNAP_TUNE_BY_PEAK, /* lowest peak of reserved bytes */
    MSNAP_TUNE_BY_LIMIT /* smallest limit at which the run still fits */
};

struct msnap_tune_row {
    char conf[160];            /* PYTORCH_CUDA_ALLOC_CONF; "" is PyTorch's default */
    bool recorded;             /* the settings that the recording ran under */
    bool fits;                 /* under the limit that was asked about, or that the recording shows */
    uint64_t peak_reserved;    /* under that limit; up to the failure where it does not fit */
    uint64_t cuda_mallocs, retries;
    bool limit_known;          /* smallest_limit was searched */
    uint64_t smallest_limit;   /* bytes, to within 2 MiB */
};

struct msnap_tune {
    size_t n;
    const struct msnap_tune_row *rows; /* best first: what fits before what does not; equals: fewer cudaMallocs, shorter string */
    uint64_t live_peak;      /* highest sum of whole blocks in use, as the recorded settings rounded them */
    uint64_t requested_peak; /* the same of requested bytes: no allocator can hold less */
    uint64_t packed;         /* a good offline packing that moves nothing and knows the future */
    uint64_t limit, capacity; /* that `fits` was judged under; MSNAP_NO_LIMIT: none */
};

struct msnap_tune_options {
    enum msnap_tune_by by;
    uint64_t limit, capacity; /* MSNAP_NO_LIMIT: none */
    unsigned threads;         /* 0: one for each processor */
};

/* The result does not depend on the number of threads. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_tune_run(const struct msnap_history *h, const struct msnap_requests *r, const struct msnap_tune_options *options,
               struct msnap_arena *arena, struct msnap_tune *out, struct msnap_error *err);

/* Bytes that a packing of all allocations in one address range needs where no block ever moves:
 * largest first, each at the lowest place that is free during its whole life. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_pack_offline(const struct msnap_history *h, struct msnap_arena *arena, uint64_t *out, struct msnap_error *err);

#ifdef __cplusplus
}
#endif
#endif
