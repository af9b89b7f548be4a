/* intern.h -- bytes to a 32-bit id and back; id 0 is "no string". */
#ifndef MSNAP_BASE_INTERN_H
#define MSNAP_BASE_INTERN_H

#include "base/arena.h"

struct msnap_intern {
    struct msnap_mem mem;
    struct msnap_arena *arena; /* the bytes */
    struct msnap_vec bytes;    /* const char * */
    struct msnap_vec len;      /* uint32_t */
    uint32_t *slots;           /* ids; 0: free */
    size_t n_slots;            /* a power of two */
    uint64_t seed;
};

/* False when there is no memory; msnap_intern_release is fine after that, too. */
bool msnap_intern_init(struct msnap_intern *t, struct msnap_mem mem, struct msnap_arena *arena);
void msnap_intern_release(struct msnap_intern *t); /* the bytes stay, they are the arena's */
/* The id of these bytes, new or not; 0 when there is no memory (or more than 2^29 strings). */
uint32_t msnap_intern_add(struct msnap_intern *t, const char *bytes, size_t n);

/* A hash that an input cannot steer: it depends on a seed drawn for each table. */
uint64_t msnap_hash_bytes(uint64_t seed, const void *bytes, size_t n);
static inline uint64_t msnap_hash_u64(uint64_t seed, uint64_t v)
{
    v = (v ^ seed) * UINT64_C(0x9E3779B97F4A7C15);
    v ^= v >> 32;
    v *= UINT64_C(0xD6E8FEB86659FD93);
    return v ^ (v >> 29);
}
uint64_t msnap_hash_seed(void);

#endif
