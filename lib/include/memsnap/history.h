/* history.h -- one device's books: every allocation's life and the totals after every event.
 *
 * The books are run forward from the state before the first event. Where the recording began
 * with memory already in use, that state is rebuilt backwards from the segments at the dump
 * (the rule: adjacent free blocks always merge, so what is not in use is one free block).
 * Sizes of blocks follow PyTorch's rounding and splitting, so allocated and active count
 * whole blocks as torch.cuda.memory_stats() does.
 */
#ifndef MEMSNAP_HISTORY_H
#define MEMSNAP_HISTORY_H

#include <memsnap/snapshot.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MSNAP_NO_EVENT UINT32_MAX /* "never", or "before the first event" */

enum msnap_coverage {
    MSNAP_HISTORY_NONE,    /* no events: only the state at the dump is known */
    MSNAP_HISTORY_CUT,     /* the recording began late, or its ring buffer dropped the beginning */
    MSNAP_HISTORY_COMPLETE /* undoing all events leaves no segment */
};

/* Bytes, in the meaning of torch.cuda.memory_stats(): allocated and active count whole blocks,
 * pending frees are active and not allocated; requested counts active blocks' requests. */
struct msnap_totals {
    uint64_t allocated, active, reserved, requested;
};

/* The state after `event`; MSNAP_NO_EVENT: before the first. */
struct msnap_moment {
    uint32_t event;
    struct msnap_totals totals;
};

/* Allocations: first those that were live before event 0 (of these the last n_initial_pending
 * had been freed already and waited for their streams), then one for each alloc event in order:
 * the ordinal of row r is r - n_initial + 1. Event numbers count within the device's trace. */
struct msnap_allocs {
    size_t n, n_initial, n_initial_pending;
    const uint32_t *alloc_event;    /* MSNAP_NO_EVENT for the initial ones */
    const uint32_t *request_event;  /* free_requested (or the free_completed, if that stands alone); MSNAP_NO_EVENT: none */
    const uint32_t *free_event;     /* free_completed; MSNAP_NO_EVENT: not completed in the recording */
    const uint64_t *block_size;     /* rounded, an unsplit remainder included */
    const uint32_t *pool;           /* pool ids; NULL where no pool but the default one is known */
    const uint64_t *initial_addr;   /* of the first n_initial rows */
    const uint64_t *initial_size;
    const uint32_t *initial_stack;
    const uint32_t *initial_stream;
};

struct msnap_history {
    const struct msnap_snapshot *snapshot;
    const struct msnap_device *device;
    enum msnap_coverage coverage;
    struct msnap_totals start; /* before event 0; the whole state where coverage is NONE */
    struct msnap_totals end;   /* after the last event */
    struct msnap_moment peak;  /* highest allocated bytes, the earliest of equals */
    uint64_t peak_reserved, peak_active, peak_requested; /* each at its own moment */
    struct msnap_allocs allocs;
    /* After each event of the device's trace; NULL unless asked for. */
    const uint64_t *allocated, *active, *reserved, *requested;
    /* NULL; whoever classifies may point it to the result, and MSNAP_BY_CATEGORY groups by that. */
    const struct msnap_classes *classes;
    const struct msnap_steps *steps; /* the same for MSNAP_BY_STEP */
    /* Faults met on the way: the file against itself (see check.h for their names). */
    uint64_t n_faults;
    const struct msnap_start *start_state; /* private: for running the books again */
    const struct msnap_fault_log *faults;  /* private */
};

enum { MSNAP_WITH_SERIES = 1 }; /* flags: keep the four byte series (32 bytes an event) */

/* Runs the books of one device. Results live in `arena`. O(n) time. A contradiction in the data
 * is a fault that is counted and lived with, never an error. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_history_build(const struct msnap_snapshot *s, const struct msnap_device *device, unsigned flags,
                    struct msnap_arena *arena, struct msnap_history *out, struct msnap_error *err);

/* Only the coverage, which needs the segment events alone. Scratch memory comes from `arena`. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_history_coverage(const struct msnap_snapshot *s, const struct msnap_device *device, struct msnap_arena *arena,
                       enum msnap_coverage *out, struct msnap_error *err);

/* One allocation's facts, whatever its row. */
static inline bool msnap_alloc_is_initial(const struct msnap_history *h, size_t row) { return row < h->allocs.n_initial; }
static inline size_t msnap_alloc_event_row(const struct msnap_history *h, size_t row)
{
    return h->device->first_event + h->allocs.alloc_event[row];
}
static inline uint64_t msnap_alloc_addr(const struct msnap_history *h, size_t row)
{
    return row < h->allocs.n_initial ? h->allocs.initial_addr[row] : h->snapshot->events.addr[msnap_alloc_event_row(h, row)];
}
static inline uint64_t msnap_alloc_size(const struct msnap_history *h, size_t row)
{
    return row < h->allocs.n_initial ? h->allocs.initial_size[row] : h->snapshot->events.size[msnap_alloc_event_row(h, row)];
}
static inline uint32_t msnap_alloc_stack(const struct msnap_history *h, size_t row)
{
    return row < h->allocs.n_initial ? h->allocs.initial_stack[row] : h->snapshot->events.stack[msnap_alloc_event_row(h, row)];
}
static inline uint32_t msnap_alloc_stream(const struct msnap_history *h, size_t row)
{
    return row < h->allocs.n_initial ? h->allocs.initial_stream[row] : h->snapshot->events.stream[msnap_alloc_event_row(h, row)];
}
static inline uint32_t msnap_alloc_pool(const struct msnap_history *h, size_t row)
{
    return h->allocs.pool ? h->allocs.pool[row] : 1; /* pool id 1: the default pool */
}
/* Whether the allocation counts in `allocated` after `event` (MSNAP_NO_EVENT: before the first). */
static inline bool msnap_alloc_is_allocated(const struct msnap_history *h, size_t row, uint32_t event)
{
    const struct msnap_allocs *a = &h->allocs;
    if (row < a->n_initial) {
        if (row >= a->n_initial - a->n_initial_pending)
            return false;
        return event == MSNAP_NO_EVENT || a->request_event[row] == MSNAP_NO_EVENT || a->request_event[row] > event;
    }
    return event != MSNAP_NO_EVENT && a->alloc_event[row] <= event &&
           (a->request_event[row] == MSNAP_NO_EVENT || a->request_event[row] > event);
}
/* The last event of the device's trace; MSNAP_NO_EVENT if it is empty. */
static inline uint32_t msnap_last_event(const struct msnap_history *h)
{
    return h->device->n_events ? (uint32_t)(h->device->n_events - 1) : MSNAP_NO_EVENT;
}

#ifdef __cplusplus
}
#endif
#endif
