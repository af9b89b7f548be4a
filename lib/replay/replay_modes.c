/* replay_modes.c -- the four ways to issue the recorded sequence. */
#include <memsnap/blockmap.h>
#include <memsnap/oom.h>

#include "replay_parts.h"

#include <string.h>

#define SMALL_GRANULE (UINT64_C(2) << 20)

static const struct msnap_events *events_of(const struct replay *r) { return &r->h->snapshot->events; }
static size_t row_of(const struct replay *r, uint32_t event) { return r->h->device->first_event + event; }

static void count_held(struct replay *r, uint64_t size, bool up)
{
    r->held_bytes = up ? r->held_bytes + size : r->held_bytes - size;
    if (r->held_bytes > r->out->peak_held_bytes)
        r->out->peak_held_bytes = r->held_bytes;
}

/* ---- segments ---- */

/* The check that PyTorch makes before it asks the driver. */
static bool over_limit(const struct replay *r, uint64_t size) { return r->limit != MSNAP_NO_LIMIT && (size > r->limit || r->held_bytes > r->limit - size); }

/* cuMemAlloc of a segment. 1: done, 0: out of memory, -1: another failure. */
static int take_segment(struct replay *r, uint64_t recorded, uint64_t size)
{
    uint64_t addr = 0;
    int code = CALL(r, MSNAP_CALL_ALLOC, r->gpu->alloc(r->gpu->ctx, size, &addr));
    if (code == MSNAP_GPU_OUT_OF_MEMORY)
        return 0;
    if (code) {
        msnap_replay_call_failed(r, "cuMemAlloc", code);
        return -1;
    }
    count_held(r, size, true);
    if (msnap_held_add(r, (struct held_range){recorded, size, addr, 0}))
        return 1;
    r->gpu->release(r->gpu->ctx, addr);
    return -1;
}

static bool give_segment(struct replay *r, size_t i)
{
    struct held_range v = r->held.v[i];
    msnap_held_remove(r, i);
    count_held(r, v.size, false);
    int code = CALL(r, MSNAP_CALL_FREE, r->gpu->release(r->gpu->ctx, v.addr));
    return code == 0 || msnap_replay_call_failed(r, "cuMemFree", code);
}

static struct reservation *reservation_of(struct replay *r, uint64_t recorded)
{
    for (size_t i = 0; i < r->n_reservations; i++)
        if (recorded >= r->reservations[i].recorded && recorded - r->reservations[i].recorded < r->reservations[i].size)
            return &r->reservations[i];
    return NULL;
}

static bool give_granule(struct replay *r, size_t i)
{
    struct held_range v = r->held.v[i];
    msnap_held_remove(r, i);
    count_held(r, v.size, false);
    int code = CALL(r, MSNAP_CALL_UNMAP, r->gpu->unmap(r->gpu->ctx, v.addr, v.size));
    if (code)
        msnap_replay_call_failed(r, "cuMemUnmap", code);
    int code2 = r->gpu->destroy(r->gpu->ctx, v.handle);
    if (code2)
        msnap_replay_call_failed(r, "cuMemRelease", code2);
    return !code && !code2;
}

/* Backs a range granule by granule; on a refusal those of this call go back. As take_segment. */
static int map_range(struct replay *r, uint64_t recorded, uint64_t size)
{
    struct reservation *v = reservation_of(r, recorded);
    if (!v)
        return msnap_replay_fail(r->err, "the recording maps memory that belongs to no reservation"), r->status = MSNAP_EDEVICE, -1;
    if (!v->made) {
        int code = CALL(r, MSNAP_CALL_RESERVE, r->gpu->reserve(r->gpu->ctx, v->size, &v->addr));
        if (code)
            return msnap_replay_call_failed(r, "cuMemAddressReserve", code), -1;
        v->made = true;
    }
    uint64_t done = 0;
    int result = 1;
    while (done < size && result == 1) {
        uint64_t piece = size - done < v->granule ? size - done : v->granule, handle = 0, at = v->addr + (recorded - v->recorded) + done;
        int code = CALL(r, MSNAP_CALL_MAP, r->gpu->create(r->gpu->ctx, piece, &handle));
        if (code == MSNAP_GPU_OUT_OF_MEMORY) {
            result = 0;
        } else if (code) {
            msnap_replay_call_failed(r, "cuMemCreate", code);
            result = -1;
        } else if ((code = r->gpu->map(r->gpu->ctx, at, piece, handle))) {
            r->gpu->destroy(r->gpu->ctx, handle);
            msnap_replay_call_failed(r, "cuMemMap", code);
            result = -1;
        } else {
            count_held(r, piece, true);
            if (!msnap_held_add(r, (struct held_range){recorded + done, piece, at, handle})) {
                r->gpu->unmap(r->gpu->ctx, at, piece);
                r->gpu->destroy(r->gpu->ctx, handle);
                result = -1;
            } else {
                done += piece;
            }
        }
    }
    if (result == 1) {
        int code = r->gpu->allow(r->gpu->ctx, v->addr + (recorded - v->recorded), size);
        if (code) {
            msnap_replay_call_failed(r, "cuMemSetAccess", code);
            result = -1;
        }
    }
    for (uint64_t back = 0; result != 1 && back < done;) {
        size_t i = msnap_held_find(r, recorded + back);
        if (i == r->held.n)
            break;
        back += r->held.v[i].size;
        give_granule(r, i);
    }
    return result;
}

static bool unmap_range(struct replay *r, uint64_t recorded, uint64_t size)
{
    for (uint64_t done = 0; done < size;) {
        size_t i = msnap_held_find(r, recorded + done);
        if (i == r->held.n || !r->held.v[i].handle)
            return msnap_replay_fail(r->err, "the recording gives back pages that were never mapped; memsnap check says more"), r->status = MSNAP_EDATA, false;
        done += r->held.v[i].size;
        if (!give_granule(r, i))
            return false;
    }
    return true;
}

/* The request that the recording's OOM event names: it is not in the trace, for it failed. */
static bool try_refused(struct replay *r, uint32_t event)
{
    const struct msnap_oom *o = msnap_replay_recorded_oom(r, event);
    if (!o)
        return true;
    bool refused, limited = o->limited;
    if (limited) {
        refused = over_limit(r, o->segment_bytes);
    } else {
        const struct reservation *v = NULL;
        for (size_t i = 0; i < r->n_reservations && !v; i++)
            if ((o->requested_bytes <= (UINT64_C(1) << 20)) == (r->reservations[i].granule == SMALL_GRANULE))
                v = &r->reservations[i];
        uint64_t addr = 0;
        if (v && r->h->snapshot->settings.expandable_segments) { /* one granule more than was free */
            uint64_t handles[4096];
            size_t n = 0, want = (size_t)(o->device_free_bytes / v->granule) + 1;
            int code = 0;
            while (n < want && n < 4096 && code == 0)
                if ((code = CALL(r, MSNAP_CALL_MAP, r->gpu->create(r->gpu->ctx, v->granule, &handles[n]))) == 0)
                    n++;
            while (n)
                r->gpu->destroy(r->gpu->ctx, handles[--n]);
            if (code && code != MSNAP_GPU_OUT_OF_MEMORY)
                return msnap_replay_call_failed(r, "cuMemCreate", code);
            refused = code == MSNAP_GPU_OUT_OF_MEMORY;
        } else {
            int code = CALL(r, MSNAP_CALL_ALLOC, r->gpu->alloc(r->gpu->ctx, o->segment_bytes, &addr));
            if (code == 0)
                code = r->gpu->release(r->gpu->ctx, addr);
            else if (code == MSNAP_GPU_OUT_OF_MEMORY)
                code = 0;
            else
                return msnap_replay_call_failed(r, "cuMemAlloc", code);
            if (code)
                return msnap_replay_call_failed(r, "cuMemFree", code);
            refused = addr == 0;
        }
    }
    if (refused && !o->survived) {
        msnap_replay_oom(r, event, o->requested_bytes, limited);
        return false;
    }
    return true;
}

static bool touch_event(struct replay *r, uint32_t event, uint8_t action, size_t *row)
{
    if (action == MSNAP_ALLOC) {
        size_t k = (*row)++;
        if (!r->o->touch)
            return true;
        uint64_t recorded = msnap_alloc_addr(r->h, k);
        size_t i = msnap_held_find(r, recorded);
        if (i == r->held.n)
            return true; /* outside every segment that is held */
        /* Granules of one reservation lie side by side on the device, too. */
        return msnap_touch_fill(r, k, r->held.v[i].addr + (recorded - r->held.v[i].recorded), r->h->allocs.block_size[k]);
    }
    if (action == MSNAP_FREE_REQUESTED && r->o->touch && r->freed[event]) {
        size_t k = r->freed[event] - 1;
        uint64_t recorded = msnap_alloc_addr(r->h, k);
        size_t i = msnap_held_find(r, recorded);
        if (i < r->held.n)
            return msnap_touch_verify(r, k, r->held.v[i].addr + (recorded - r->held.v[i].recorded), r->h->allocs.block_size[k], event);
    }
    return true;
}

/* Segments before the first event, for a recording that begins late. */
static bool take_start(struct replay *r)
{
    struct msnap_blockmap m;
    if (msnap_blockmap_build(r->h, MSNAP_NO_EVENT, r->arena, &m, r->err) != MSNAP_OK)
        return r->status = MSNAP_ENOMEM, false;
    for (size_t g = 0; g < m.n_segments; g++) {
        int ok = m.segments[g].expandable ? map_range(r, m.segments[g].addr, m.segments[g].size) : take_segment(r, m.segments[g].addr, m.segments[g].size);
        if (ok == 0)
            msnap_replay_oom(r, 0, m.segments[g].size, false);
        if (ok != 1)
            return false;
    }
    return true;
}

bool msnap_replay_segments(struct replay *r)
{
    const struct msnap_events *e = events_of(r);
    size_t row = r->h->allocs.n_initial;
    if (!take_start(r))
        return false;
    for (uint32_t i = 0; i < r->h->device->n_events; i++) {
        size_t k = row_of(r, i);
        uint8_t a = e->action[k];
        int ok = 1;
        if ((a == MSNAP_ALLOC || a == MSNAP_FREE_REQUESTED) && !r->o->touch && !r->o->recorded_pace) {
            row += a == MSNAP_ALLOC;
            continue; /* nothing for the driver to do */
        }
        if (!msnap_replay_tick(r, i))
            return false;
        switch (a) {
        case MSNAP_SEGMENT_ALLOC:
        case MSNAP_SEGMENT_MAP:
            ok = over_limit(r, a == MSNAP_SEGMENT_ALLOC ? e->size[k] : 0) ? 0 : a == MSNAP_SEGMENT_ALLOC ? take_segment(r, e->addr[k], e->size[k]) : map_range(r, e->addr[k], e->size[k]);
            if (ok == 0)
                msnap_replay_oom(r, i, e->size[k], over_limit(r, e->size[k]));
            break;
        case MSNAP_SEGMENT_FREE: {
            size_t s = msnap_held_find(r, e->addr[k]);
            ok = s < r->held.n && r->held.v[s].recorded == e->addr[k] ? give_segment(r, s) : 1;
            break;
        }
        case MSNAP_SEGMENT_UNMAP: ok = unmap_range(r, e->addr[k], e->size[k]); break;
        case MSNAP_OOM: ok = try_refused(r, i); break;
        default: ok = touch_event(r, i, a, &row); break;
        }
        if (ok != 1)
            return false;
        r->out->events_issued = i + 1;
    }
    r->out->events_issued = r->h->device->n_events;
    return true;
}

/* ---- the simulated allocator on the real device ---- */

static uint64_t allocator_segment(void *ctx, uint64_t size)
{
    struct replay *r = ctx;
    uint64_t addr = 0;
    if (r->status != MSNAP_OK)
        return 0;
    int code = CALL(r, MSNAP_CALL_ALLOC, r->gpu->alloc(r->gpu->ctx, size, &addr));
    if (code) {
        if (code != MSNAP_GPU_OUT_OF_MEMORY)
            msnap_replay_call_failed(r, "cuMemAlloc", code);
        return 0;
    }
    count_held(r, size, true);
    if (msnap_held_add(r, (struct held_range){addr, size, addr, 0}))
        return addr;
    r->gpu->release(r->gpu->ctx, addr);
    return 0;
}

static uint64_t allocator_reservation(void *ctx, uint64_t size, uint32_t pool, uint32_t stream, bool small)
{
    struct replay *r = ctx;
    uint64_t addr = 0;
    (void)pool;
    (void)stream;
    (void)small;
    int code = CALL(r, MSNAP_CALL_RESERVE, r->gpu->reserve(r->gpu->ctx, size, &addr));
    if (code) {
        msnap_replay_call_failed(r, "cuMemAddressReserve", code);
        return 0;
    }
    struct reservation *more = msnap_arena_alloc(r->arena, r->n_reservations + 1, sizeof *more);
    if (!more) {
        r->gpu->unreserve(r->gpu->ctx, addr, size);
        r->status = MSNAP_ENOMEM;
        return 0;
    }
    if (r->n_reservations)
        memcpy(more, r->reservations, r->n_reservations * sizeof *more);
    r->reservations = more;
    more[r->n_reservations++] = (struct reservation){addr, size, addr, 0, true};
    return addr;
}

static bool allocator_map(void *ctx, uint64_t addr, uint64_t size, uint64_t granule)
{
    struct replay *r = ctx;
    struct reservation *v = reservation_of(r, addr);
    if (!v || r->status != MSNAP_OK)
        return false;
    v->granule = granule;
    return map_range(r, addr, size) == 1;
}

static void allocator_unmap(void *ctx, uint64_t addr, uint64_t size) { (void)unmap_range(ctx, addr, size); }

static void allocator_gone(void *ctx, uint64_t addr, uint64_t size, bool reservation)
{
    struct replay *r = ctx;
    if (reservation) {
        struct reservation *v = reservation_of(r, addr);
        if (v && v->made) {
            v->made = false;
            v->size = 0;
            int code = r->gpu->unreserve(r->gpu->ctx, addr, size);
            if (code)
                msnap_replay_call_failed(r, "cuMemAddressFree", code);
        }
        return;
    }
    size_t i = msnap_held_find(r, addr);
    if (i < r->held.n)
        give_segment(r, i);
}

static bool allocator_event(void *ctx, enum msnap_action action, uint64_t addr, uint64_t size, uint32_t row, uint32_t event)
{
    struct replay *r = ctx;
    (void)size;
    if (r->status != MSNAP_OK)
        return false;
    if (event + 1 > r->out->events_issued) {
        r->out->events_issued = event + 1;
        if (!msnap_replay_tick(r, event))
            return false;
    }
    if (action == MSNAP_OOM) {
        const struct msnap_oom *o = msnap_replay_recorded_oom(r, event);
        if (!o || !o->survived)
            msnap_replay_oom(r, event, size, r->limit != MSNAP_NO_LIMIT);
    } else if (r->o->touch && row != UINT32_MAX && action == MSNAP_ALLOC) {
        return msnap_touch_fill(r, row, addr, (msnap_alloc_size(r->h, row) + 3) / 4 * 4);
    } else if (r->o->touch && row != UINT32_MAX && action == MSNAP_FREE_REQUESTED) {
        return msnap_touch_verify(r, row, addr, (msnap_alloc_size(r->h, row) + 3) / 4 * 4, event);
    }
    return true;
}

bool msnap_replay_allocator(struct replay *r)
{
    const struct msnap_requests *requests;
    struct msnap_sim_config config;
    struct msnap_sim_result result;
    if (r->h->coverage == MSNAP_HISTORY_CUT)
        return msnap_replay_fail(r->err, "the recording begins late, and the allocator mode starts from nothing; use --mode segments"), r->status = MSNAP_EUSAGE, false;
    if ((r->status = msnap_sim_config_recorded(r->h, r->arena, &config, r->err)) != MSNAP_OK)
        return false;
    if (r->o->config) {
        config = *r->o->config;
    }
    config.limit = r->limit;
    config.capacity = MSNAP_NO_LIMIT; /* the device itself says no */
    const struct msnap_sim_driver driver = {r, allocator_segment, allocator_reservation, allocator_map, allocator_unmap, allocator_gone};
    const struct msnap_sim_options options = {.driver = &driver, .on_event = allocator_event, .on_event_ctx = r};
    struct msnap_error err = {0};
    if ((r->status = msnap_requests_build(r->h, r->arena, &requests, r->err)) != MSNAP_OK)
        return false;
    enum msnap_status st = msnap_simulate(requests, &config, &options, &result, &err);
    if (r->status != MSNAP_OK)
        return false; /* a call failed: said already */
    if (st != MSNAP_OK) {
        r->status = st;
        if (r->err)
            *r->err = err;
        return false;
    }
    if (!r->out->oom)
        r->out->events_issued = r->h->device->n_events;
    return !r->out->oom;
}

/* ---- each allocation a call of its own ---- */

bool msnap_replay_blocks(struct replay *r)
{
    const struct msnap_events *e = events_of(r);
    const struct msnap_allocs *a = &r->h->allocs;
    bool async = r->o->mode == MSNAP_REPLAY_ASYNC;
    uint64_t *addr = msnap_arena_alloc(r->arena, a->n + 1, sizeof *addr);
    size_t row = a->n_initial;
    if (!addr)
        return r->status = MSNAP_ENOMEM, false;
    for (size_t k = 0; k < a->n_initial || k == 0; k++) { /* what was there before */
        if (k >= a->n_initial)
            break;
        uint64_t size = msnap_alloc_size(r->h, k), stream = r->stream[msnap_alloc_stream(r->h, k)];
        int code = async ? CALL(r, MSNAP_CALL_ALLOC, r->gpu->alloc_async(r->gpu->ctx, size, stream, &addr[k]))
                         : CALL(r, MSNAP_CALL_ALLOC, r->gpu->alloc(r->gpu->ctx, size, &addr[k]));
        if (code == MSNAP_GPU_OUT_OF_MEMORY)
            return msnap_replay_oom(r, 0, size, false), false;
        if (code)
            return msnap_replay_call_failed(r, async ? "cuMemAllocAsync" : "cuMemAlloc", code);
        count_held(r, size, true);
    }
    bool ok = true;
    for (uint32_t i = 0; i < r->h->device->n_events && ok; i++) {
        uint8_t action = e->action[row_of(r, i)];
        if (action != MSNAP_ALLOC && action != MSNAP_FREE_REQUESTED && action != MSNAP_OOM)
            continue;
        if (!msnap_replay_tick(r, i)) {
            ok = false;
            break;
        }
        if (action == MSNAP_ALLOC || action == MSNAP_OOM) {
            const struct msnap_oom *o = action == MSNAP_OOM ? msnap_replay_recorded_oom(r, i) : NULL;
            if (action == MSNAP_OOM && !o)
                continue;
            uint64_t size = o ? o->requested_bytes : msnap_alloc_size(r->h, row), got = 0;
            uint64_t stream = r->stream[e->stream[row_of(r, i)]];
            bool over = r->limit != MSNAP_NO_LIMIT && (size > r->limit || r->held_bytes > r->limit - size);
            int code = over ? MSNAP_GPU_OUT_OF_MEMORY
                            : async ? CALL(r, MSNAP_CALL_ALLOC, r->gpu->alloc_async(r->gpu->ctx, size, stream, &got))
                                    : CALL(r, MSNAP_CALL_ALLOC, r->gpu->alloc(r->gpu->ctx, size, &got));
            if (code == MSNAP_GPU_OUT_OF_MEMORY && !(o && o->survived)) {
                msnap_replay_oom(r, i, size, over);
                ok = false;
            } else if (code && code != MSNAP_GPU_OUT_OF_MEMORY) {
                ok = msnap_replay_call_failed(r, async ? "cuMemAllocAsync" : "cuMemAlloc", code);
            } else if (o && code == 0) {
                code = async ? r->gpu->release_async(r->gpu->ctx, got, stream) : r->gpu->release(r->gpu->ctx, got);
            } else if (code == 0) {
                addr[row] = got;
                count_held(r, size, true);
                if (r->o->touch)
                    ok = msnap_touch_fill(r, row, got, size / 4 * 4);
            }
            row += action == MSNAP_ALLOC;
        } else if (r->freed[i] && addr[r->freed[i] - 1]) {
            size_t k = r->freed[i] - 1;
            uint64_t size = msnap_alloc_size(r->h, k);
            if (r->o->touch)
                ok = msnap_touch_verify(r, k, addr[k], size / 4 * 4, i);
            int code = async ? CALL(r, MSNAP_CALL_FREE, r->gpu->release_async(r->gpu->ctx, addr[k], r->stream[msnap_alloc_stream(r->h, k)]))
                             : CALL(r, MSNAP_CALL_FREE, r->gpu->release(r->gpu->ctx, addr[k]));
            addr[k] = 0;
            count_held(r, size, false);
            if (code)
                ok = msnap_replay_call_failed(r, async ? "cuMemFreeAsync" : "cuMemFree", code);
        }
        if (ok)
            r->out->events_issued = i + 1;
    }
    if (ok)
        r->out->events_issued = r->h->device->n_events;
    for (size_t k = 0; k < a->n; k++)
        if (addr[k]) {
            int code = async ? r->gpu->release_async(r->gpu->ctx, addr[k], r->stream[msnap_alloc_stream(r->h, k)]) : r->gpu->release(r->gpu->ctx, addr[k]);
            if (code)
                ok = msnap_replay_call_failed(r, async ? "cuMemFreeAsync" : "cuMemFree", code);
        }
    return ok;
}
