/* start.h -- the allocator's state before the first event, rebuilt from the state at the dump. */
#ifndef MSNAP_ANALYSIS_START_H
#define MSNAP_ANALYSIS_START_H

#include "analysis/books.h"

struct start_segment {
    uint64_t addr, size;
    struct msnap_books_kind kind;
};

struct start_block {
    uint64_t addr, size, requested;
    uint32_t stack, stream;
    uint32_t first_free; /* its first free event; MSNAP_NO_EVENT: none */
    uint8_t state;       /* BOOKS_ALLOCATED or BOOKS_PENDING */
    bool exact;          /* the size is recorded, not inferred */
};

/* What kind of memory a segment_alloc or segment_map makes; events ascending. */
struct start_kind {
    uint32_t event;
    struct msnap_books_kind kind;
};

struct msnap_start {
    enum msnap_coverage coverage;
    size_t n_segments, n_blocks, n_pending, n_kinds;
    struct start_segment *segments; /* by address */
    struct start_block *blocks;     /* allocated ones by address, then pending ones by address */
    struct start_kind *kinds;
};

/* Undoes the segment events of a device's trace: segments before the first event, kinds, coverage. */
enum msnap_status msnap_start_segments(const struct msnap_snapshot *s, const struct msnap_device *d,
                                       const struct msnap_alloc_config *config, struct msnap_fault_log *faults,
                                       struct msnap_arena *arena, struct msnap_start *out, struct msnap_error *err);
/* The same, and where memory is left before the first event, also what was live then. Rules: section 17.3 of the allocator's description. */
enum msnap_status msnap_start_find(const struct msnap_snapshot *s, const struct msnap_device *d,
                                   const struct msnap_alloc_config *config, struct msnap_fault_log *faults,
                                   struct msnap_arena *arena, struct msnap_start *out, struct msnap_error *err);
/* Puts the books into that state; block i gets row i. */
void msnap_start_set(const struct msnap_start *start, struct msnap_books *b);

#endif
