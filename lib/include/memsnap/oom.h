/* oom.h -- why an allocation failed, judged at its `oom` event.
 *
 * At the dump an out-of-memory error has often been unwound already, so everything here is the state
 * at the event, after the failing call's own releases. Definitions and order of the verdicts are in
 * docs/oom.md.
 */
#ifndef MEMSNAP_OOM_H
#define MEMSNAP_OOM_H

#include <memsnap/blockmap.h>

#ifdef __cplusplus
extern "C" {
#endif

enum msnap_verdict {
    MSNAP_EXHAUSTED,    /* what is unused and what could still be taken do not add up to the request */
    MSNAP_FRAGMENTED,   /* they do, but not in one piece */
    MSNAP_PENDING_FREES, /* freed memory that waited for another stream would have been enough */
    MSNAP_OUTSIDE       /* memory held outside this allocator took the room */
};

struct msnap_oom {
    uint32_t event;
    bool survived;              /* allocations follow on the device */
    uint64_t requested_bytes;   /* rounded, as the event has it */
    uint64_t segment_bytes;     /* what the driver would have been asked for */
    bool device_free_known;
    uint64_t device_free_bytes; /* the driver's word at that moment */
    struct msnap_totals totals;
    uint64_t inactive_bytes;    /* reserved less active */
    uint64_t pending_bytes;     /* active less allocated */
    uint64_t releasable_bytes;  /* whole free segments and pages that were not given back */
    uint64_t largest_free_block_bytes; /* in the request's pool and stream */
    uint64_t largest_free_anywhere_bytes; /* in any pool and stream */
    bool capacity_known;
    uint64_t outside_bytes;     /* capacity less reserved less device free */
    bool limited;               /* the device had room: a per-process limit said no */
    uint64_t limit_at_least, limit_below; /* the range it must lie in */
    uint64_t available_bytes;   /* what could still be taken: device free, or the limit less what is held */
    uint64_t completed_in_call_bytes; /* frees that completed while the call was failing */
    enum msnap_verdict verdict;
    bool certain;               /* false where another value within the limit's range would change the verdict */
};

struct msnap_oom_options {
    uint64_t capacity_bytes; /* of the device; 0: not known */
    uint64_t limit_bytes;    /* of the process; 0: not known */
};

/* More than this outside the allocator is more than a CUDA context. */
#define MSNAP_ORDINARY_CONTEXT (UINT64_C(2) << 30)

/* All `oom` events of the device, in order. `options` may be NULL. O(events + ooms * blocks). */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_oom_find(const struct msnap_history *h, const struct msnap_oom_options *options, struct msnap_arena *arena,
               const struct msnap_oom **out, size_t *n, struct msnap_error *err);

/* "fragmented" */
MSNAP_API const char *msnap_verdict_name(enum msnap_verdict v);

#ifdef __cplusplus
}
#endif
#endif
