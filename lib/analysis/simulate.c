/* simulate.c -- one run of the recorded requests through the simulated allocator. */
#include "analysis/requests.h"
#include "analysis/estimate.h"
#include "base/arena.h"
#include "base/status.h"

#include <string.h>

struct run {
    const struct msnap_requests *r;
    const struct msnap_sim_options *options;
    struct sim sim;
    struct sim_chunks chunks;
    uint32_t *block_of; /* by row; 0: none */
    uint32_t event;     /* of the op at hand */
    bool stopped;
    struct msnap_sim_result *out;
};

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the simulation"); }

static uint64_t raw_of(const struct msnap_history *h, uint32_t stream) { return (uint64_t)h->snapshot->streams.raw[stream]; }
static uint32_t pool_of(const struct msnap_history *h, size_t row)
{
    uint32_t pool = msnap_alloc_pool(h, row);
    return pool ? pool : 1;
}

/* ---- the state before the recording ---- */

static bool put_start(struct run *u)
{
    const struct msnap_start *st = u->r->start;
    const struct msnap_history *h = u->r->h;
    struct sim *s = &u->sim;
    struct msnap_mem mem = s->mem;
    size_t n_allocated = st->n_blocks - st->n_pending, a = 0, p = n_allocated, g = 0;
    uint32_t *segment = mem.resize(mem.ctx, NULL, 0, (st->n_segments + 1) * sizeof *segment);
    if (!segment)
        return false;
    for (size_t i = 0; i < st->n_segments; i++) {
        const struct start_segment *v = &st->segments[i];
        uint32_t pool = v->kind.pool ? v->kind.pool : 1;
        uint32_t lane = msnap_sim_lane(s, pool, v->kind.stream, raw_of(h, v->kind.stream), v->kind.small);
        if (lane == UINT32_MAX)
            break;
        segment[i] = 0;
        if (!v->kind.expandable) {
            segment[i] = msnap_sim_put_segment(s, v->addr, v->size, lane, false);
            continue;
        }
        /* Ranges of one lane within one reservation's reach belong together; the first is its base. */
        for (size_t k = i; k-- > 0 && !segment[i];)
            if (st->segments[k].kind.expandable && st->segments[k].kind.stream == v->kind.stream && st->segments[k].kind.small == v->kind.small &&
                (st->segments[k].kind.pool <= 1) == (v->kind.pool <= 1) &&
                v->addr - sim_segment_at(s, segment[k])->addr < sim_segment_at(s, segment[k])->size)
                segment[i] = segment[k];
        if (!segment[i])
            segment[i] = msnap_sim_put_reservation(s, v->addr, UINT64_C(1) << 38, lane);
        if (segment[i])
            msnap_sim_put_range(s, segment[i], v->addr, v->size);
    }
    while ((a < n_allocated || p < st->n_blocks) && !s->out_of_memory) {
        bool take_a = a < n_allocated && (p == st->n_blocks || st->blocks[a].addr < st->blocks[p].addr);
        size_t i = take_a ? a++ : p++;
        const struct start_block *v = &st->blocks[i];
        while (g < st->n_segments && v->addr >= st->segments[g].addr + st->segments[g].size)
            g++;
        if (g < st->n_segments && v->addr >= st->segments[g].addr && segment[g])
            u->block_of[i] = msnap_sim_put_block(s, segment[g], v->addr, v->size, v->requested,
                                                 v->state == BOOKS_PENDING ? SIM_PENDING : SIM_ALLOCATED, (uint32_t)i);
    }
    msnap_mem_release(mem, segment, (st->n_segments + 1) * sizeof *segment);
    msnap_sim_start(s);
    return !s->out_of_memory;
}

/* ---- the run ---- */

static void pass_on(void *ctx, enum msnap_action action, uint64_t addr, uint64_t size, uint32_t row)
{
    struct run *u = ctx;
    if (!u->stopped && !u->options->on_event(u->options->on_event_ctx, action, addr, size, row, u->event))
        u->stopped = true;
}

static void fail_at(struct run *u, uint64_t ordinal, uint64_t requested)
{
    struct msnap_alloc_config c = {.large_segment = u->sim.config.large_segment_size};
    struct msnap_sim_result *o = u->out;
    memcpy(c.divisions, u->sim.config.divisions, sizeof c.divisions);
    o->oom = true;
    o->oom_event = u->event;
    o->oom_ordinal = ordinal;
    o->oom_requested = requested;
    o->oom_held = u->sim.held;
    o->oom_segment = msnap_segment_size(&c, msnap_round_size(&c, requested));
}

static void alloc(struct run *u, uint32_t row)
{
    const struct msnap_history *h = u->r->h;
    uint32_t stream = msnap_alloc_stream(h, row), pool = pool_of(h, row);
    uint64_t n = msnap_alloc_size(h, row);
    uint32_t id = msnap_sim_malloc(&u->sim, n, pool, stream, raw_of(h, stream), pool > 1, row);
    u->block_of[row] = id;
    if (!id) {
        if (!u->sim.out_of_memory)
            fail_at(u, row - u->r->first_ordinal_row + 1, n);
        return;
    }
    u->out->requests++;
    if (u->out->placed) {
        u->out->compared++;
        u->out->different += sim_block_at(&u->sim, id)->addr != msnap_alloc_addr(h, row);
    }
}

static bool step(struct run *u, request_op op)
{
    uint32_t index = op >> 3;
    switch ((enum request_kind)(op & 7)) {
    case REQUEST_ALLOC:
        alloc(u, index);
        return !u->out->oom;
    case REQUEST_FREE:
    case REQUEST_FREE_LATER:
        if (u->block_of[index])
            msnap_sim_free(&u->sim, u->block_of[index], (op & 7) == REQUEST_FREE_LATER);
        if ((op & 7) == REQUEST_FREE)
            u->block_of[index] = 0;
        return true;
    case REQUEST_READY:
        if (u->block_of[index]) {
            const struct sim_block *b = sim_block_at(&u->sim, u->block_of[index]);
            if (b->row == index) /* else a retry completed it, and the id is another's */
                msnap_sim_ready(&u->sim, u->block_of[index]);
            u->block_of[index] = 0;
        }
        return true;
    case REQUEST_EMPTY: msnap_sim_empty_cache(&u->sim, u->r->empties[index]); return true;
    case REQUEST_OOM: {
        const struct request_oom *q = &u->r->ooms[index];
        uint32_t id = msnap_sim_malloc(&u->sim, q->size, 1, q->stream, raw_of(u->r->h, q->stream), false, SIM_NO_ROW);
        if (id) { /* it fits here; the program's further way is not known, so it gives it back */
            if (q->survived)
                msnap_sim_free(&u->sim, id, false);
        } else if (!q->survived && !u->sim.out_of_memory && !u->out->oom) {
            /* The recorded end: only frees follow, and they are part of the recorded statistics. */
            fail_at(u, u->r->h->allocs.n - u->r->first_ordinal_row + 1, q->size);
        }
        return true;
    }
    }
    return true;
}

static void run_ops(struct run *u)
{
    const struct msnap_requests *r = u->r;
    const struct msnap_sim_options *o = u->options;
    size_t next_empty = 0, filled = 0;
    for (size_t i = 0; i < r->n_ops && !u->sim.out_of_memory; i++) {
        for (; o && next_empty < o->n_empty_cache && o->empty_cache_at[next_empty] < r->event[i]; next_empty++)
            msnap_sim_empty_cache(&u->sim, UINT32_MAX);
        if (o && o->reserved_series)
            for (; filled < r->event[i]; filled++)
                o->reserved_series[filled] = u->sim.held;
        u->event = r->event[i];
        if (!step(u, r->ops[i]) || u->stopped)
            break;
    }
    if (o && o->reserved_series)
        for (; filled < r->h->device->n_events; filled++)
            o->reserved_series[filled] = u->sim.held;
}

/* The final blocks against the recorded ones. */
static void compare_end(struct run *u)
{
    const struct msnap_snapshot *s = u->r->h->snapshot;
    const struct msnap_device *d = u->r->h->device;
    struct msnap_addrmap map;
    struct sim *sim = &u->sim;
    size_t recorded = 0, held = 0;
    if (!msnap_addrmap_init(&map, sim->mem))
        return;
    for (size_t i = 1; i < sim->segments.n; i++) {
        const struct sim_segment *g = sim_segment_at(sim, (uint32_t)i);
        for (uint32_t id = g->gone ? 0 : g->first; id; id = sim_block_at(sim, id)->next)
            if (sim_block_at(sim, id)->state != SIM_UNMAPPED) {
                held++;
                if (!msnap_addrmap_insert(&map, sim->mem, sim_block_at(sim, id)->addr, id))
                    sim->out_of_memory = true;
            }
    }
    for (size_t g = d->first_segment; g < d->first_segment + d->n_segments; g++)
        for (size_t k = 0; k < s->segments.n_blocks[g]; k++, recorded++) {
            size_t i = s->segments.first_block[g] + k;
            uint32_t id = msnap_addrmap_find(&map, s->blocks.address[i]);
            const struct sim_block *b = id ? sim_block_at(sim, id) : NULL;
            uint8_t want = s->blocks.state[i] == MSNAP_BLOCK_ALLOCATED ? SIM_ALLOCATED : s->blocks.state[i] == MSNAP_BLOCK_PENDING ? SIM_PENDING : SIM_FREE;
            u->out->end_different += !b || b->size != s->blocks.size[i] || b->state != want ||
                                     (want != SIM_FREE && b->requested != s->blocks.requested_size[i]);
        }
    u->out->end_different += held > recorded ? held - recorded : recorded - held;
    u->out->end_compared = true;
    msnap_addrmap_release(&map, sim->mem);
}

static void fill_stats(struct run *u)
{
    const struct msnap_counters *c = &u->sim.counters;
    const struct msnap_history *h = u->r->h;
    struct msnap_stats *s = &u->out->stats;
    memcpy(s->family, c->family, sizeof s->family);
    s->oversize_allocations = c->oversize_allocations;
    s->oversize_segments = c->oversize_segments;
    s->num_device_alloc = c->device_allocs;
    s->num_device_free = c->device_frees;
    s->num_ooms = c->ooms;
    s->num_alloc_retries = c->retries;
    s->num_sync_all_streams = c->syncs;
    s->max_split_size = u->sim.config.max_split_size == MSNAP_NO_LIMIT ? -1 : (int64_t)u->sim.config.max_split_size;
    s->totals_known = h->coverage == MSNAP_HISTORY_COMPLETE;
    s->settings_known = true;
}

enum msnap_status msnap_simulate(const struct msnap_requests *r, const struct msnap_sim_config *config, const struct msnap_sim_options *options,
                                 struct msnap_sim_result *out, struct msnap_error *err)
{
    struct msnap_sim_result result;
    struct msnap_mem mem = msnap_mem_default();
    struct run u = {.r = r, .options = options, .out = &result};
    size_t size = (r->h->allocs.n + 1) * sizeof *u.block_of;
    memset(&result, 0, sizeof result);
    if (config->async_backend || config->no_caching) {
        msnap_estimate(r, config, options, out);
        return MSNAP_OK;
    }
    u.block_of = mem.resize(mem.ctx, NULL, 0, size);
    if (!u.block_of)
        return no_memory(err);
    memset(u.block_of, 0, size);
    msnap_sim_chunks_init(&u.chunks, mem, r->lowest_address);
    if (options && options->follow_recorded_addresses) {
        result.placed = true;
    }
    u.chunks.segments = r->segments;
    u.chunks.n_segments = r->n_segments;
    u.chunks.reservations = r->reservations;
    u.chunks.n_reservations = r->n_reservations;
    struct msnap_sim_driver driver = options && options->driver ? *options->driver : msnap_sim_chunks_driver(&u.chunks);
    bool ok = msnap_sim_init(&u.sim, mem, config, &driver);
    if (options && options->on_event) {
        u.sim.on_event = pass_on;
        u.sim.on_event_ctx = &u;
    }
    ok = ok && put_start(&u);
    if (ok) {
        run_ops(&u);
        fill_stats(&u);
        if (result.placed)
            compare_end(&u);
        ok = !u.sim.out_of_memory;
    }
    msnap_sim_release(&u.sim);
    msnap_sim_chunks_release(&u.chunks);
    msnap_mem_release(mem, u.block_of, size);
    if (!ok)
        return no_memory(err);
    *out = result;
    return MSNAP_OK;
}
