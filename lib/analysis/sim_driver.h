/* sim_driver.h -- a model of the addresses that the CUDA driver hands out.
 *
 * Recorded addresses come first, in order, as long as the simulated requests agree with the recorded
 * ones. After that (and for other settings): cudaMalloc takes virtual chunks aligned to 32 MiB, each new
 * chunk below the last; requests that fit the rest of a chunk, or a hole in it, go there;
 * cuMemAddressReserve ascends, each base at the next multiple of 32 MiB. Addresses decide nothing but
 * ties of equal sizes.
 */
#ifndef MSNAP_ANALYSIS_SIM_DRIVER_H
#define MSNAP_ANALYSIS_SIM_DRIVER_H

#include "analysis/sim_core.h"

struct recorded_segment {
    uint64_t addr, size;
};
struct recorded_reservation {
    uint64_t addr;
    uint32_t pool, stream;
    bool small;
};

struct sim_chunks {
    struct msnap_mem mem;
    const struct recorded_segment *segments; /* segment_alloc entries, in order */
    size_t n_segments, next_segment;
    bool agrees;                             /* so far */
    const struct recorded_reservation *reservations;
    size_t n_reservations, next_reservation; /* those before are used */
    struct msnap_vec holes;                  /* struct recorded_segment, by address: free parts of chunks */
    uint64_t lowest;                         /* start of the lowest chunk */
    uint64_t next_base;                      /* of the next reservation */
};

/* `below`: an address that new chunks lie below (the lowest one of the recording). */
void msnap_sim_chunks_init(struct sim_chunks *c, struct msnap_mem mem, uint64_t below);
void msnap_sim_chunks_release(struct sim_chunks *c);
struct msnap_sim_driver msnap_sim_chunks_driver(struct sim_chunks *c);

#endif
