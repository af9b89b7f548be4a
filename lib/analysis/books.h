/* books.h -- the state of one device's caching allocator, moved by the recorded events.
 *
 * Blocks tile each segment; a hash finds a block by its address; neighbours are linked. The
 * recording says where each allocation went, the allocator's rules say how large its block is
 * (rounding, splitting) and which free blocks merge. Expandable memory is kept as mapped ranges.
 */
#ifndef MSNAP_ANALYSIS_BOOKS_H
#define MSNAP_ANALYSIS_BOOKS_H

#include <memsnap/history.h>

#include "analysis/alloc_config.h"
#include "analysis/counters.h"
#include "base/addrmap.h"

enum msnap_fault_id {
#define FAULT(id, rule) MSNAP_FAULT_##id,
#include "analysis/faults.def"
#undef FAULT
    MSNAP_N_FAULTS
};

/* The first of each kind is kept as the example. */
struct msnap_fault_log {
    uint64_t count[MSNAP_N_FAULTS];
    uint32_t event[MSNAP_N_FAULTS]; /* MSNAP_NO_EVENT: not at an event */
    uint64_t addr[MSNAP_N_FAULTS];
};
void msnap_fault_note(struct msnap_fault_log *log, enum msnap_fault_id id, uint32_t event, uint64_t addr);

enum msnap_books_state { BOOKS_FREE, BOOKS_ALLOCATED, BOOKS_PENDING };
#define BOOKS_NO_ROW UINT32_MAX

struct msnap_books_block {
    uint64_t addr, size, requested;
    uint32_t prev, next; /* block ids; 0: none (the segment's or mapped range's end) */
    uint32_t segment;    /* segment id; 0: outside every known segment */
    uint32_t row;        /* allocation row, BOOKS_NO_ROW for a free block */
    uint8_t state;       /* enum msnap_books_state */
    bool is_free_slot;   /* in the list of unused ids; `next` links it */
};

struct msnap_books_segment {
    uint64_t addr, size;
    uint32_t first, last; /* block ids */
    uint32_t stream, pool;
    uint32_t merged_into; /* expandable ranges that grew together; 0: this one stands */
    bool small, expandable, gone;
};

struct msnap_books {
    struct msnap_mem mem;
    struct msnap_alloc_config config;
    struct msnap_vec blocks;   /* struct msnap_books_block; id 0 is not used */
    struct msnap_vec segments; /* struct msnap_books_segment; id 0 is "none" */
    uint32_t unused_block;     /* head of the list of unused ids */
    struct msnap_addrmap map;  /* a block's address to its id */
    struct msnap_vec ranges;   /* uint32_t: ids of expandable segments, some of them gone */
    struct msnap_totals totals;
    struct msnap_counters *counters; /* NULL: not counted */
    struct msnap_fault_log *faults;
    uint32_t event;            /* the current one, for faults */
    uint64_t work_left;        /* steps that searching may take; hostile files must not make it quadratic */
    bool out_of_memory;        /* stays set: the books are worthless then */
};

bool msnap_books_init(struct msnap_books *b, struct msnap_mem mem, const struct msnap_alloc_config *config, struct msnap_fault_log *faults);
void msnap_books_release(struct msnap_books *b);

struct msnap_books_kind {
    uint32_t stream, pool;
    bool small, expandable;
};
/* A segment of one free block. Returns its id; 0 when there is no memory. */
uint32_t msnap_books_add_segment(struct msnap_books *b, uint64_t addr, uint64_t size, struct msnap_books_kind kind);
void msnap_books_drop_segment(struct msnap_books *b, uint64_t addr, uint64_t size);
void msnap_books_map(struct msnap_books *b, uint64_t addr, uint64_t size, struct msnap_books_kind kind);
void msnap_books_unmap(struct msnap_books *b, uint64_t addr, uint64_t size);

/* The start of the recording: a live block at its exact place and size, cut out of the free block
 * at the segment's end, so in ascending order. Segment 0: outside every known segment. */
void msnap_books_place(struct msnap_books *b, uint32_t segment, uint64_t addr, uint64_t size, uint64_t requested, enum msnap_books_state state, uint32_t row);

/* Events. Each returns the block's id, 0 if there is none (a fault was noted, or no memory). The
 * row of an allocation whose free was never seen is in *displaced where an alloc takes its place. */
uint32_t msnap_books_alloc(struct msnap_books *b, uint64_t addr, uint64_t requested, uint32_t row, uint32_t *displaced);
uint32_t msnap_books_free_requested(struct msnap_books *b, uint64_t addr, uint64_t requested);
/* Returns the row of the allocation that ended, BOOKS_NO_ROW if there was none. `was_requested`
 * tells whether free_requested had come before. */
uint32_t msnap_books_free_completed(struct msnap_books *b, uint64_t addr, uint64_t requested, bool *was_requested);

/* Sets the counters' current values (and peaks) from the state as it is; totals so far are 0. */
void msnap_books_count_state(struct msnap_books *b);

uint32_t msnap_books_find(const struct msnap_books *b, uint64_t addr); /* the block that starts there; 0: none */
static inline struct msnap_books_block *msnap_books_block_at(const struct msnap_books *b, uint32_t id)
{
    return &MSNAP_VEC_AT(&b->blocks, struct msnap_books_block, id);
}
uint32_t msnap_books_segment_of(const struct msnap_books *b, uint32_t segment); /* follows merged_into */
static inline struct msnap_books_segment *msnap_books_segment_at(const struct msnap_books *b, uint32_t id)
{
    return &MSNAP_VEC_AT(&b->segments, struct msnap_books_segment, id);
}

#endif
