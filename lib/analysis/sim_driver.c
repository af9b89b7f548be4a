/* sim_driver.c -- chunks of 32 MiB for segments, an ascending line for reservations. */
#include "analysis/sim_driver.h"

#include <string.h>

#define CHUNK (UINT64_C(32) << 20)

static uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

static void remove_hole(struct sim_chunks *c, size_t i)
{
    struct recorded_segment *v = c->holes.data;
    memmove(v + i, v + i + 1, (c->holes.n - i - 1) * sizeof *v);
    c->holes.n--;
}

static void add_hole(struct sim_chunks *c, uint64_t addr, uint64_t size)
{
    if (!size || !msnap_vec_reserve(&c->holes, c->mem, sizeof(struct recorded_segment), c->holes.n + 1))
        return; /* a hole that is forgotten changes addresses, nothing else */
    struct recorded_segment *v = c->holes.data;
    size_t i = c->holes.n;
    while (i && v[i - 1].addr > addr)
        i--;
    memmove(v + i + 1, v + i, (c->holes.n - i) * sizeof *v);
    v[i] = (struct recorded_segment){addr, size};
    c->holes.n++;
    if (i + 1 < c->holes.n && v[i].addr + v[i].size == v[i + 1].addr) {
        v[i].size += v[i + 1].size;
        remove_hole(c, i + 1);
    }
    if (i && v[i - 1].addr + v[i - 1].size == v[i].addr) {
        v[i - 1].size += v[i].size;
        remove_hole(c, i);
    }
}

static uint64_t new_segment(void *ctx, uint64_t size)
{
    struct sim_chunks *c = ctx;
    if (c->agrees && c->next_segment < c->n_segments && c->segments[c->next_segment].size == size)
        return c->segments[c->next_segment++].addr;
    c->agrees = false;
    struct recorded_segment *v = c->holes.data;
    for (size_t i = c->holes.n; i-- > 0;) { /* the newest chunk is the lowest, its rest was made last */
        if (v[i].size < size)
            continue;
        uint64_t addr = v[i].addr;
        v[i].addr += size;
        v[i].size -= size;
        if (!v[i].size)
            remove_hole(c, i);
        return addr;
    }
    uint64_t chunk = round_up(size, CHUNK);
    if (c->lowest < chunk + CHUNK)
        return 0;
    c->lowest = (c->lowest - chunk) / CHUNK * CHUNK;
    add_hole(c, c->lowest + size, chunk - size);
    return c->lowest;
}

static uint64_t new_reservation(void *ctx, uint64_t size, uint32_t pool, uint32_t stream, bool small)
{
    struct sim_chunks *c = ctx;
    for (size_t i = c->next_reservation; i < c->n_reservations; i++) {
        const struct recorded_reservation *r = &c->reservations[i];
        if ((r->pool <= 1) != (pool <= 1) || (pool > 1 && r->pool != pool) || r->stream != stream || r->small != small)
            continue;
        if (i == c->next_reservation)
            c->next_reservation++;
        return r->addr;
    }
    uint64_t base = c->next_base;
    if (base > UINT64_MAX - size - CHUNK)
        return 0;
    c->next_base = round_up(base + size, CHUNK);
    return base;
}

static bool map_pages(void *ctx, uint64_t addr, uint64_t size, uint64_t granule)
{
    (void)ctx;
    (void)addr;
    (void)size;
    (void)granule;
    return true; /* capacity is the simulator's own check */
}

static void unmap_pages(void *ctx, uint64_t addr, uint64_t size)
{
    (void)ctx;
    (void)addr;
    (void)size;
}

static void segment_gone(void *ctx, uint64_t addr, uint64_t size, bool reservation)
{
    struct sim_chunks *c = ctx;
    if (!reservation && addr >= c->lowest && !c->agrees)
        add_hole(c, addr, size);
}

void msnap_sim_chunks_init(struct sim_chunks *c, struct msnap_mem mem, uint64_t below)
{
    *c = (struct sim_chunks){.mem = mem, .agrees = true, .lowest = below / CHUNK * CHUNK, .next_base = UINT64_C(0x302000000)};
    if (c->lowest < UINT64_C(1) << 44) /* room for many chunks */
        c->lowest = UINT64_C(0x7f0000000000);
}

void msnap_sim_chunks_release(struct sim_chunks *c) { msnap_vec_release(&c->holes, c->mem, sizeof(struct recorded_segment)); }

struct msnap_sim_driver msnap_sim_chunks_driver(struct sim_chunks *c)
{
    return (struct msnap_sim_driver){c, new_segment, new_reservation, map_pages, unmap_pages, segment_gone};
}
