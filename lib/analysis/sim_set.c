/* sim_set.c -- find, add and remove in O(log n + SIM_CHUNK). */
#include "analysis/sim_set.h"

#include <string.h>

/* The chunk that (size, addr) belongs to: the last whose first key is not behind it. */
static size_t chunk_for(const struct sim_set *s, uint64_t size, uint64_t addr)
{
    size_t low = 0, high = s->chunks.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (sim_key_compare(size, addr, &sim_set_chunk(s, mid)->key[0]) >= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? low - 1 : 0;
}

static size_t index_for(const struct sim_chunk *c, uint64_t size, uint64_t addr)
{
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (sim_key_compare(size, addr, &c->key[mid]) > 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct sim_place msnap_sim_set_from(const struct sim_set *s, uint64_t size, uint64_t addr)
{
    if (s->chunks.n == 0)
        return (struct sim_place){0, 0};
    size_t c = chunk_for(s, size, addr), i = index_for(sim_set_chunk(s, c), size, addr);
    return i == sim_set_chunk(s, c)->n ? (struct sim_place){c + 1, 0} : (struct sim_place){c, i};
}

static bool insert_chunk(struct sim_set *s, struct msnap_mem mem, size_t at, struct sim_chunk *c)
{
    if (!msnap_vec_reserve(&s->chunks, mem, sizeof c, s->chunks.n + 1))
        return false;
    struct sim_chunk **v = s->chunks.data;
    memmove(v + at + 1, v + at, (s->chunks.n - at) * sizeof *v);
    v[at] = c;
    s->chunks.n++;
    return true;
}

bool msnap_sim_set_add(struct sim_set *s, struct msnap_mem mem, struct sim_key k)
{
    size_t at = s->chunks.n ? chunk_for(s, k.size, k.addr) : 0;
    struct sim_chunk *c = s->chunks.n ? sim_set_chunk(s, at) : NULL;
    if (!c || c->n == SIM_CHUNK) {
        struct sim_chunk *more = mem.resize(mem.ctx, NULL, 0, sizeof *more);
        if (!more)
            return false;
        more->n = 0;
        if (c) { /* the rear half moves out */
            more->n = SIM_CHUNK / 2;
            memcpy(more->key, c->key + SIM_CHUNK / 2, SIM_CHUNK / 2 * sizeof *c->key);
        }
        if (!insert_chunk(s, mem, c ? at + 1 : 0, more)) {
            msnap_mem_release(mem, more, sizeof *more);
            return false;
        }
        if (c) {
            c->n = SIM_CHUNK / 2;
            if (sim_key_compare(k.size, k.addr, &more->key[0]) > 0)
                c = more;
        } else {
            c = more;
        }
    }
    size_t i = index_for(c, k.size, k.addr);
    memmove(c->key + i + 1, c->key + i, (c->n - i) * sizeof *c->key);
    c->key[i] = k;
    c->n++;
    return true;
}

void msnap_sim_set_remove(struct sim_set *s, struct msnap_mem mem, uint64_t size, uint64_t addr)
{
    struct sim_place p = msnap_sim_set_from(s, size, addr);
    if (sim_place_ends(s, p) || sim_key_compare(size, addr, sim_set_at(s, p)) != 0)
        return;
    struct sim_chunk *c = sim_set_chunk(s, p.chunk);
    c->n--;
    memmove(c->key + p.i, c->key + p.i + 1, (c->n - p.i) * sizeof *c->key);
    if (c->n == 0) {
        struct sim_chunk **v = s->chunks.data;
        memmove(v + p.chunk, v + p.chunk + 1, (s->chunks.n - p.chunk - 1) * sizeof *v);
        s->chunks.n--;
        msnap_mem_release(mem, c, sizeof *c);
    }
}

void msnap_sim_set_release(struct sim_set *s, struct msnap_mem mem)
{
    for (size_t i = 0; i < s->chunks.n; i++)
        msnap_mem_release(mem, sim_set_chunk(s, i), sizeof(struct sim_chunk));
    msnap_vec_release(&s->chunks, mem, sizeof(struct sim_chunk *));
}
