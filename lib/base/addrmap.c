/* addrmap.c -- growth and removal. */
#include "base/addrmap.h"

#include "base/intern.h"

#include <string.h>

bool msnap_addrmap_init(struct msnap_addrmap *m, struct msnap_mem mem)
{
    *m = (struct msnap_addrmap){NULL, 1024, 0, msnap_hash_seed()};
    m->slots = mem.resize(mem.ctx, NULL, 0, m->n_slots * sizeof *m->slots);
    if (m->slots)
        memset(m->slots, 0, m->n_slots * sizeof *m->slots);
    return m->slots != NULL;
}

void msnap_addrmap_release(struct msnap_addrmap *m, struct msnap_mem mem)
{
    msnap_mem_release(mem, m->slots, m->n_slots * sizeof *m->slots);
    m->slots = NULL;
}

static void put(struct msnap_addrmap *m, struct msnap_addrslot s)
{
    size_t i = msnap_addrmap_home(m, s.addr);
    while (m->slots[i].id)
        i = (i + 1) & (m->n_slots - 1);
    m->slots[i] = s;
}

bool msnap_addrmap_insert(struct msnap_addrmap *m, struct msnap_mem mem, uint64_t addr, uint32_t id)
{
    if ((m->n_used + 1) * 2 > m->n_slots) {
        struct msnap_addrmap old = *m;
        m->slots = mem.resize(mem.ctx, NULL, 0, 2 * old.n_slots * sizeof *m->slots);
        if (!m->slots) {
            *m = old;
            return false;
        }
        m->n_slots = 2 * old.n_slots;
        memset(m->slots, 0, m->n_slots * sizeof *m->slots);
        for (size_t i = 0; i < old.n_slots; i++)
            if (old.slots[i].id)
                put(m, old.slots[i]);
        msnap_addrmap_release(&old, mem);
    }
    put(m, (struct msnap_addrslot){addr, id});
    m->n_used++;
    return true;
}

void msnap_addrmap_remove(struct msnap_addrmap *m, uint64_t addr, uint32_t id)
{
    size_t mask = m->n_slots - 1, i = msnap_addrmap_home(m, addr);
    while (m->slots[i].id && (m->slots[i].id != id || m->slots[i].addr != addr))
        i = (i + 1) & mask;
    if (!m->slots[i].id)
        return;
    m->n_used--;
    for (size_t j = (i + 1) & mask; m->slots[j].id; j = (j + 1) & mask) {
        /* Close the gap where the entry at j could not be found across it. */
        if (((j - msnap_addrmap_home(m, m->slots[j].addr)) & mask) >= ((j - i) & mask)) {
            m->slots[i] = m->slots[j];
            i = j;
        }
    }
    m->slots[i].id = 0;
}
