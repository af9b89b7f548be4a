/* requests.h -- what a recording asks of an allocator, in order. */
#ifndef MSNAP_ANALYSIS_REQUESTS_H
#define MSNAP_ANALYSIS_REQUESTS_H

#include "analysis/sim_driver.h"
#include "analysis/start.h"

enum request_kind { REQUEST_ALLOC, REQUEST_FREE, REQUEST_FREE_LATER, REQUEST_READY, REQUEST_EMPTY, REQUEST_OOM };

/* kind in the lower 3 bits; above: the allocation's row, or an index into `empties` or `ooms`. */
typedef uint32_t request_op;

struct request_oom {
    uint64_t size; /* rounded */
    uint32_t stream, event;
    bool survived;
};

struct msnap_requests {
    const struct msnap_history *h;
    const struct msnap_start *start;
    size_t n_ops;
    const request_op *ops;
    const uint32_t *event; /* NULL, or the event of each op: for series and --empty-cache-at */
    const uint32_t *empties; /* pools; UINT32_MAX: the default ones */
    const struct request_oom *ooms;
    size_t n_segments, n_reservations;
    const struct recorded_segment *segments;
    const struct recorded_reservation *reservations;
    uint64_t lowest_address;
    uint64_t first_ordinal_row; /* rows from here on have ordinals 1, 2, ... */
};

#endif
