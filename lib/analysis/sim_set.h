/* sim_set.h -- free blocks in order of size, then address; small sorted chunks under a directory. */
#ifndef MSNAP_ANALYSIS_SIM_SET_H
#define MSNAP_ANALYSIS_SIM_SET_H

#include "base/mem.h"

#define SIM_CHUNK 64

struct sim_key {
    uint64_t size, addr;
    uint32_t block;
};
struct sim_chunk {
    size_t n; /* 1 to SIM_CHUNK */
    struct sim_key key[SIM_CHUNK];
};
struct sim_set {
    struct msnap_vec chunks; /* struct sim_chunk *, none empty */
};
/* A place in a set; chunk == set->chunks.n: the end. */
struct sim_place {
    size_t chunk, i;
};

static inline int sim_key_compare(uint64_t size, uint64_t addr, const struct sim_key *k)
{
    return size != k->size ? (size < k->size ? -1 : 1) : addr != k->addr ? (addr < k->addr ? -1 : 1) : 0;
}
static inline struct sim_chunk *sim_set_chunk(const struct sim_set *s, size_t i) { return MSNAP_VEC_AT(&s->chunks, struct sim_chunk *, i); }
static inline bool sim_place_ends(const struct sim_set *s, struct sim_place p) { return p.chunk == s->chunks.n; }
static inline struct sim_key *sim_set_at(const struct sim_set *s, struct sim_place p) { return &sim_set_chunk(s, p.chunk)->key[p.i]; }
static inline struct sim_place sim_set_next(const struct sim_set *s, struct sim_place p)
{
    if (++p.i == sim_set_chunk(s, p.chunk)->n)
        p = (struct sim_place){p.chunk + 1, 0};
    return p;
}
/* The first key that is not before (size, addr). */
struct sim_place msnap_sim_set_from(const struct sim_set *s, uint64_t size, uint64_t addr);
/* False when there is no memory. */
bool msnap_sim_set_add(struct sim_set *s, struct msnap_mem mem, struct sim_key k);
void msnap_sim_set_remove(struct sim_set *s, struct msnap_mem mem, uint64_t size, uint64_t addr);
void msnap_sim_set_release(struct sim_set *s, struct msnap_mem mem);

#endif
