/* sim_core.h -- PyTorch's CUDA caching allocator, run by us.
 *
 * A faithful model of c10/cuda/CUDACachingAllocator.cpp as of 2.11 (sections in comments are those of
 * docs/allocator.md): rounding, small and large pools, private pools, streams and pending frees, best
 * fit, splitting, garbage collection, expandable segments, limits, every fallback in order, and the
 * statistics. What the driver does (addresses, refusals) comes from the caller.
 */
#ifndef MSNAP_ANALYSIS_SIM_CORE_H
#define MSNAP_ANALYSIS_SIM_CORE_H

#include <memsnap/sim.h>

#include "analysis/alloc_config.h"
#include "analysis/counters.h"
#include "analysis/sim_set.h"

enum sim_state { SIM_FREE, SIM_ALLOCATED, SIM_PENDING, SIM_UNMAPPED };
#define SIM_NO_ROW UINT32_MAX

struct sim_block {
    uint64_t addr, size, requested, age_base;
    uint32_t prev, next; /* neighbours in the segment or reservation; 0: none */
    uint32_t lane, segment, row;
    uint8_t state;
    bool ready;          /* pending, and its streams are done */
};

struct sim_segment { /* an ordinary segment, or a reservation of expandable memory */
    uint64_t addr, size;
    uint32_t first;      /* block id; blocks tile the segment, unmapped ones included */
    bool expandable, gone;
};

/* One stream's part of a block pool: PyTorch orders a pool's free blocks by stream first. */
struct sim_lane {
    uint32_t pool, stream;
    uint64_t raw_stream;  /* compared unsigned */
    bool small;
    uint32_t block_pool;
    struct sim_set free;
    struct msnap_vec unmapped; /* uint32_t block ids by address */
};

struct sim_block_pool { /* a pool's small or large half */
    uint32_t pool;
    bool small;
    uint64_t searches;    /* get_free_block calls while garbage collection is on */
};

struct sim {
    struct msnap_mem mem;
    struct msnap_sim_config config;
    struct msnap_sim_driver driver;
    /* Told of every entry that a recording would get; NULL: nobody. */
    void (*on_event)(void *ctx, enum msnap_action action, uint64_t addr, uint64_t size, uint32_t row);
    void *on_event_ctx;
    struct msnap_vec blocks;      /* struct sim_block, id 0 not used */
    struct msnap_vec segments;    /* struct sim_segment, id 0 not used */
    struct msnap_vec lanes;       /* struct sim_lane */
    struct msnap_vec block_pools; /* struct sim_block_pool */
    struct msnap_vec pending;     /* uint32_t block ids in the order of their frees; some done */
    struct msnap_vec ready;       /* uint32_t block ids to complete at the next malloc */
    uint32_t unused_block, unused_segment;
    uint64_t held;                /* ordinary segments and mapped bytes */
    struct msnap_counters counters;
    bool out_of_memory;           /* of ours: the simulation is worthless then */
};

bool msnap_sim_init(struct sim *s, struct msnap_mem mem, const struct msnap_sim_config *config, const struct msnap_sim_driver *driver);
void msnap_sim_release(struct sim *s);

/* The lane of a pool, stream and class, new or not; UINT32_MAX when there is no memory. */
uint32_t msnap_sim_lane(struct sim *s, uint32_t pool, uint32_t stream, uint64_t raw_stream, bool small);

/* A request. `capturing`: inside a capture or another scope, where nothing is synchronised or released.
 * Returns the block's id; 0: out of memory (counted and told). */
uint32_t msnap_sim_malloc(struct sim *s, uint64_t n, uint32_t pool, uint32_t stream, uint64_t raw_stream, bool capturing, uint32_t row);
/* The program's free; `pending`: other streams still use the block. */
void msnap_sim_free(struct sim *s, uint32_t block, bool pending);
/* The last stream is done with a pending block: it is completed at the next malloc. */
void msnap_sim_ready(struct sim *s, uint32_t block);
/* empty_cache(): pool UINT32_MAX is everything in the default pools; else one private pool that nobody uses any more. */
void msnap_sim_empty_cache(struct sim *s, uint32_t pool);

/* The state before a recording that begins late: memory, then the blocks in it in ascending order. */
uint32_t msnap_sim_put_segment(struct sim *s, uint64_t addr, uint64_t size, uint32_t lane, bool expandable);
uint32_t msnap_sim_put_reservation(struct sim *s, uint64_t addr, uint64_t size, uint32_t lane);
void msnap_sim_put_range(struct sim *s, uint32_t segment, uint64_t addr, uint64_t size);
uint32_t msnap_sim_put_block(struct sim *s, uint32_t segment, uint64_t addr, uint64_t size, uint64_t requested, enum sim_state state, uint32_t row);
/* After the last put: statistics begin with the state as it is. */
void msnap_sim_start(struct sim *s);

static inline struct sim_block *sim_block_at(const struct sim *s, uint32_t id) { return &MSNAP_VEC_AT(&s->blocks, struct sim_block, id); }
static inline struct sim_segment *sim_segment_at(const struct sim *s, uint32_t id) { return &MSNAP_VEC_AT(&s->segments, struct sim_segment, id); }
static inline struct sim_lane *sim_lane_at(const struct sim *s, uint32_t id) { return &MSNAP_VEC_AT(&s->lanes, struct sim_lane, id); }

#endif
