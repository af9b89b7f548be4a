/* replay_allocator.c -- the simulated allocator, its memory taken from the device. */
#include "replay_parts.h"

#include <string.h>

static uint64_t segment(void *ctx, uint64_t size)
{
    struct replay *r = ctx;
    uint64_t addr = 0;
    if (r->status != MSNAP_OK)
        return 0;
    const enum taken t = msnap_take_segment(r, 0, size, &addr);
    r->device_refused |= t == REFUSED;
    return t == TAKEN ? addr : 0;
}

/* One more reservation in the table. NULL: no memory. */
static struct reservation *add_reservation(struct replay *r)
{
    struct reservation *more = msnap_arena_alloc(r->arena, r->n_reservations + 1, sizeof *more);
    if (!more)
        return NULL;
    if (r->n_reservations)
        memcpy(more, r->reservations, r->n_reservations * sizeof *more);
    r->reservations = more;
    return &more[r->n_reservations];
}

static uint64_t reservation(void *ctx, uint64_t size, uint32_t pool, uint32_t stream, bool small)
{
    struct replay *r = ctx;
    uint64_t addr = 0;
    (void)pool;
    (void)stream;
    (void)small;
    if (r->status != MSNAP_OK)
        return 0;
    struct reservation *v = add_reservation(r);
    if (!v) {
        msnap_replay_no_memory(r);
        return 0;
    }
    const int code = CALL(r, MSNAP_CALL_RESERVE, r->gpu->reserve(r->gpu->ctx, size, &addr));
    if (code) {
        msnap_replay_call_failed(r, "cuMemAddressReserve", code);
        return 0;
    }
    *v = (struct reservation){addr, size, addr, 0, true};
    r->n_reservations++;
    return addr;
}

static bool map(void *ctx, uint64_t addr, uint64_t size, uint64_t granule)
{
    struct replay *r = ctx;
    struct reservation *v = msnap_reservation_of(r, addr);
    if (!v || r->status != MSNAP_OK)
        return false;
    v->granule = granule;
    const enum taken t = msnap_take_pages(r, addr, size);
    r->device_refused |= t == REFUSED;
    return t == TAKEN;
}

static void unmap(void *ctx, uint64_t addr, uint64_t size)
{
    struct replay *r = ctx;
    if (r->status == MSNAP_OK) /* else what is held is given back at the end */
        msnap_give_pages(r, addr, size);
}

static void give_reservation(struct replay *r, uint64_t addr)
{
    struct reservation *v = msnap_reservation_of(r, addr);
    if (!v || !v->made)
        return;
    const int code = r->gpu->unreserve(r->gpu->ctx, v->addr, v->size);
    if (code) {
        msnap_replay_call_failed(r, "cuMemAddressFree", code);
        return;
    }
    v->made = false;
    v->size = 0;
}

static void gone(void *ctx, uint64_t addr, uint64_t size, bool whole_reservation)
{
    struct replay *r = ctx;
    (void)size;
    if (r->status != MSNAP_OK)
        return;
    if (whole_reservation) {
        give_reservation(r, addr);
        return;
    }
    const size_t i = msnap_held_find(r, addr);
    if (i < r->held.n)
        msnap_held_give(r, i);
}

static bool touch(struct replay *r, enum msnap_action action, uint64_t addr, uint32_t row, uint32_t event)
{
    if (!r->o->touch || row == UINT32_MAX)
        return true;
    const uint64_t size = (msnap_alloc_size(r->h, row) + 3) / 4 * 4;
    if (action == MSNAP_ALLOC)
        return msnap_touch_fill(r, row, addr, size);
    return action != MSNAP_FREE_REQUESTED || msnap_touch_verify(r, row, addr, size, event);
}

static bool on_event(void *ctx, enum msnap_action action, uint64_t addr, uint64_t size, uint32_t row, uint32_t event)
{
    struct replay *r = ctx;
    if (r->status != MSNAP_OK)
        return false;
    if (action == MSNAP_OOM) {
        const struct msnap_oom *o = msnap_replay_recorded_oom(r, event);
        if (!o || !o->survived)
            msnap_replay_oom(r, event, size, r->limit != MSNAP_NO_LIMIT && !r->device_refused);
    }
    if (action == MSNAP_ALLOC || action == MSNAP_OOM)
        r->device_refused = false; /* the request is over */
    if (event + 1 > r->out->events_issued && !r->out->oom) {
        r->out->events_issued = event + 1;
        if (!msnap_replay_tick(r, event))
            return false;
    }
    return touch(r, action, addr, row, event);
}

bool msnap_replay_allocator(struct replay *r)
{
    const struct msnap_requests *requests;
    struct msnap_sim_config config;
    struct msnap_sim_result result;
    struct msnap_error err = {0};
    if (r->h->coverage == MSNAP_HISTORY_CUT)
        return msnap_replay_stop(r, MSNAP_EUSAGE, "the recording begins late, and the allocator mode starts from nothing; use --mode segments");
    if ((r->status = msnap_sim_config_recorded(r->h, r->arena, &config, r->err)) != MSNAP_OK ||
        (r->status = msnap_requests_build(r->h, r->arena, &requests, r->err)) != MSNAP_OK)
        return false;
    if (r->o->config)
        config = *r->o->config;
    config.limit = r->limit;
    config.capacity = MSNAP_NO_LIMIT; /* the device itself says no */
    const struct msnap_sim_driver driver = {r, segment, reservation, map, unmap, gone};
    const struct msnap_sim_options options = {.driver = &driver, .on_event = on_event, .on_event_ctx = r};
    const enum msnap_status st = msnap_simulate(requests, &config, &options, &result, &err);
    if (st != MSNAP_OK) /* after a failed call that was said already */
        return msnap_replay_stop(r, st, "%s", err.text);
    return r->status == MSNAP_OK && !r->out->oom;
}
