/* addrmap.h -- device addresses to 32-bit ids; open addressing, removal leaves no tombstones. */
#ifndef MSNAP_BASE_ADDRMAP_H
#define MSNAP_BASE_ADDRMAP_H

#include "base/mem.h"

struct msnap_addrslot {
    uint64_t addr;
    uint32_t id; /* 0: free */
};

struct msnap_addrmap {
    struct msnap_addrslot *slots;
    size_t n_slots, n_used;
    uint64_t seed;
};

bool msnap_addrmap_init(struct msnap_addrmap *m, struct msnap_mem mem);
void msnap_addrmap_release(struct msnap_addrmap *m, struct msnap_mem mem);
/* Ids are not 0. An address may be inserted twice; find gives one of them. False: no memory. */
bool msnap_addrmap_insert(struct msnap_addrmap *m, struct msnap_mem mem, uint64_t addr, uint32_t id);
void msnap_addrmap_remove(struct msnap_addrmap *m, uint64_t addr, uint32_t id);

static inline size_t msnap_addrmap_home(const struct msnap_addrmap *m, uint64_t addr)
{
    /* Addresses are multiples of 512 in any real file; the seed keeps a hostile one from aiming. */
    uint64_t h = (addr ^ m->seed) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)((h ^ h >> 29) >> 20) & (m->n_slots - 1);
}

static inline uint32_t msnap_addrmap_find(const struct msnap_addrmap *m, uint64_t addr)
{
    for (size_t i = msnap_addrmap_home(m, addr); m->slots[i].id; i = (i + 1) & (m->n_slots - 1))
        if (m->slots[i].addr == addr)
            return m->slots[i].id;
    return 0;
}

#endif
