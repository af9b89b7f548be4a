/* replay_held.c -- what a replay holds on the device: taken, found again, and given back whatever happens.
 *
 * A thing leaves its table only once the driver took it back, so that nothing is lost when a call fails.
 */
#include "replay_parts.h"

#include <stdlib.h>
#include <string.h>

static void count_held(struct replay *r, uint64_t size, bool up)
{
    r->held_bytes = up ? r->held_bytes + size : r->held_bytes - size;
    if (r->held_bytes > r->out->peak_held_bytes)
        r->out->peak_held_bytes = r->held_bytes;
}

static bool worked(struct replay *r, const char *call, int code) { return code == 0 || msnap_replay_call_failed(r, call, code); }

bool msnap_replay_over_limit(const struct replay *r, uint64_t size)
{
    return r->limit != MSNAP_NO_LIMIT && (size > r->limit || r->held_bytes > r->limit - size);
}

/* ---- the table of ranges ---- */

static size_t place_of(const struct replay *r, uint64_t recorded)
{
    size_t low = 0, high = r->held.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r->held.v[mid].recorded <= recorded)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Room for one more, asked for before the device is. */
static bool have_room(struct replay *r)
{
    if (r->held.n < r->held.cap)
        return true;
    const size_t cap = r->held.cap ? r->held.cap * 2 : 256;
    struct held_range *v = realloc(r->held.v, cap * sizeof *v);
    if (!v)
        return msnap_replay_no_memory(r);
    r->held.v = v;
    r->held.cap = cap;
    return true;
}

static struct held_range *add(struct replay *r, struct held_range range)
{
    const size_t i = place_of(r, range.recorded);
    memmove(r->held.v + i + 1, r->held.v + i, (r->held.n - i) * sizeof *r->held.v);
    r->held.v[i] = range;
    r->held.n++;
    count_held(r, range.size, true);
    return &r->held.v[i];
}

size_t msnap_held_find(const struct replay *r, uint64_t recorded)
{
    const size_t i = place_of(r, recorded);
    if (i == 0 || recorded - r->held.v[i - 1].recorded >= r->held.v[i - 1].size)
        return r->held.n;
    return i - 1;
}

bool msnap_held_give(struct replay *r, size_t i)
{
    struct held_range *v = &r->held.v[i];
    if (!v->handle) {
        if (!worked(r, "cuMemFree", CALL(r, MSNAP_CALL_FREE, r->gpu->release(r->gpu->ctx, v->addr))))
            return false;
    } else {
        if (v->mapped && !worked(r, "cuMemUnmap", CALL(r, MSNAP_CALL_UNMAP, r->gpu->unmap(r->gpu->ctx, v->addr, v->size))))
            return false;
        v->mapped = false;
        if (!worked(r, "cuMemRelease", r->gpu->destroy(r->gpu->ctx, v->handle)))
            return false;
    }
    count_held(r, v->size, false);
    memmove(v, v + 1, (r->held.n - i - 1) * sizeof *v);
    r->held.n--;
    return true;
}

/* ---- segments ---- */

static enum taken answer(struct replay *r, const char *call, int code)
{
    if (code && code != MSNAP_GPU_OUT_OF_MEMORY)
        msnap_replay_call_failed(r, call, code);
    return code == 0 ? TAKEN : code == MSNAP_GPU_OUT_OF_MEMORY ? REFUSED : FAILED;
}

enum taken msnap_take_segment(struct replay *r, uint64_t recorded, uint64_t size, uint64_t *addr)
{
    *addr = 0;
    if (!have_room(r))
        return FAILED;
    const enum taken t = answer(r, "cuMemAlloc", CALL(r, MSNAP_CALL_ALLOC, r->gpu->alloc(r->gpu->ctx, size, addr)));
    if (t == TAKEN)
        add(r, (struct held_range){.recorded = recorded ? recorded : *addr, .size = size, .addr = *addr});
    return t;
}

/* ---- pages of expandable segments ---- */

struct reservation *msnap_reservation_of(struct replay *r, uint64_t recorded)
{
    for (size_t i = 0; i < r->n_reservations; i++)
        if (recorded >= r->reservations[i].recorded && recorded - r->reservations[i].recorded < r->reservations[i].size)
            return &r->reservations[i];
    return NULL;
}

static bool make_reservation(struct replay *r, struct reservation *v)
{
    if (!v->made)
        v->made = worked(r, "cuMemAddressReserve", CALL(r, MSNAP_CALL_RESERVE, r->gpu->reserve(r->gpu->ctx, v->size, &v->addr)));
    return v->made;
}

static enum taken take_granule(struct replay *r, uint64_t recorded, uint64_t size, uint64_t at)
{
    uint64_t handle = 0;
    if (!have_room(r))
        return FAILED;
    const enum taken t = answer(r, "cuMemCreate", CALL(r, MSNAP_CALL_MAP, r->gpu->create(r->gpu->ctx, size, &handle)));
    if (t != TAKEN)
        return t;
    struct held_range *v = add(r, (struct held_range){.recorded = recorded, .size = size, .addr = at, .handle = handle});
    v->mapped = worked(r, "cuMemMap", r->gpu->map(r->gpu->ctx, at, size, handle));
    return v->mapped ? TAKEN : FAILED;
}

static void give_those_that_came(struct replay *r, uint64_t recorded, uint64_t size)
{
    for (uint64_t back = 0; back < size;) {
        const size_t i = msnap_held_find(r, recorded + back);
        if (i == r->held.n)
            return;
        back += r->held.v[i].size;
        if (!msnap_held_give(r, i))
            return;
    }
}

enum taken msnap_take_pages(struct replay *r, uint64_t recorded, uint64_t size)
{
    struct reservation *v = msnap_reservation_of(r, recorded);
    if (!v) {
        msnap_replay_stop(r, MSNAP_EDATA, "the recording maps memory that belongs to no reservation");
        return FAILED;
    }
    if (!make_reservation(r, v))
        return FAILED;
    const uint64_t at = v->addr + (recorded - v->recorded);
    uint64_t done = 0;
    enum taken t = TAKEN;
    while (done < size && t == TAKEN) {
        const uint64_t piece = size - done < v->granule ? size - done : v->granule;
        if ((t = take_granule(r, recorded + done, piece, at + done)) == TAKEN)
            done += piece;
    }
    if (t == TAKEN && !worked(r, "cuMemSetAccess", r->gpu->allow(r->gpu->ctx, at, size)))
        t = FAILED;
    if (t == REFUSED)
        give_those_that_came(r, recorded, done);
    return r->status == MSNAP_OK ? t : FAILED;
}

bool msnap_give_pages(struct replay *r, uint64_t recorded, uint64_t size)
{
    for (uint64_t done = 0; done < size;) {
        const size_t i = msnap_held_find(r, recorded + done);
        if (i == r->held.n || !r->held.v[i].handle)
            return msnap_replay_stop(r, MSNAP_EDATA, "the recording gives back pages that were never mapped; memsnap check says more");
        done += r->held.v[i].size;
        if (!msnap_held_give(r, i))
            return false;
    }
    return true;
}

/* ---- blocks, each a call of its own ---- */

enum taken msnap_take_block(struct replay *r, size_t row, uint64_t size, uint64_t stream)
{
    const struct msnap_gpu *g = r->gpu;
    const bool async = r->o->mode == MSNAP_REPLAY_ASYNC;
    uint64_t addr = 0;
    const int code = async ? CALL(r, MSNAP_CALL_ALLOC, g->alloc_async(g->ctx, size, stream, &addr)) : CALL(r, MSNAP_CALL_ALLOC, g->alloc(g->ctx, size, &addr));
    const enum taken t = answer(r, async ? "cuMemAllocAsync" : "cuMemAlloc", code);
    if (t == TAKEN) {
        r->block[row] = (struct held_block){addr, size, stream};
        count_held(r, size, true);
    }
    return t;
}

bool msnap_give_block(struct replay *r, size_t row)
{
    const struct msnap_gpu *g = r->gpu;
    struct held_block *b = &r->block[row];
    const bool async = r->o->mode == MSNAP_REPLAY_ASYNC;
    const int code = async ? CALL(r, MSNAP_CALL_FREE, g->release_async(g->ctx, b->addr, b->stream)) : CALL(r, MSNAP_CALL_FREE, g->release(g->ctx, b->addr));
    if (!worked(r, async ? "cuMemFreeAsync" : "cuMemFree", code))
        return false;
    b->addr = 0;
    count_held(r, b->size, false);
    return true;
}

/* ---- asking without keeping ---- */

bool msnap_probe_segment(struct replay *r, uint64_t size, bool *refused)
{
    const uint64_t peak = r->out->peak_held_bytes;
    uint64_t addr;
    if (!have_room(r))
        return false;
    const enum taken t = answer(r, "cuMemAlloc", CALL(r, MSNAP_CALL_ALLOC, r->gpu->alloc(r->gpu->ctx, size, &addr)));
    *refused = t == REFUSED;
    if (t != TAKEN)
        return t == REFUSED;
    const struct held_range *v = add(r, (struct held_range){.recorded = addr, .size = size, .addr = addr});
    r->out->peak_held_bytes = peak;
    return msnap_held_give(r, (size_t)(v - r->held.v));
}

bool msnap_probe_block(struct replay *r, uint64_t size, uint64_t stream, bool *refused)
{
    const uint64_t peak = r->out->peak_held_bytes;
    const size_t row = r->h->allocs.n;
    const enum taken t = msnap_take_block(r, row, size, stream);
    *refused = t == REFUSED;
    r->out->peak_held_bytes = peak;
    return t == TAKEN ? msnap_give_block(r, row) : t == REFUSED;
}

static bool give_probe(struct replay *r)
{
    while (r->probe.n && worked(r, "cuMemRelease", r->gpu->destroy(r->gpu->ctx, r->probe.handle[r->probe.n - 1])))
        r->probe.n--;
    return r->probe.n == 0;
}

bool msnap_probe_granules(struct replay *r, uint64_t size, size_t n, bool *refused)
{
    enum taken t = TAKEN;
    r->probe.handle = msnap_arena_alloc(r->arena, n, sizeof *r->probe.handle);
    if (!r->probe.handle)
        return msnap_replay_no_memory(r);
    while (t == TAKEN && r->probe.n < n) {
        t = answer(r, "cuMemCreate", CALL(r, MSNAP_CALL_MAP, r->gpu->create(r->gpu->ctx, size, &r->probe.handle[r->probe.n])));
        r->probe.n += t == TAKEN;
    }
    *refused = t == REFUSED;
    return give_probe(r) && t != FAILED;
}

/* ---- all of it ---- */

static bool give_streams(struct replay *r)
{
    bool gone = true;
    for (size_t i = 0; r->stream && i < r->h->snapshot->streams.n; i++) {
        if (r->stream[i] && worked(r, "cuStreamDestroy", r->gpu->stream_free(r->gpu->ctx, r->stream[i])))
            r->stream[i] = 0;
        gone = gone && !r->stream[i];
    }
    return gone;
}

static bool give_reservations(struct replay *r)
{
    bool gone = true;
    for (size_t i = 0; i < r->n_reservations; i++) {
        struct reservation *v = &r->reservations[i];
        v->made = v->made && !worked(r, "cuMemAddressFree", r->gpu->unreserve(r->gpu->ctx, v->addr, v->size));
        gone = gone && !v->made;
    }
    return gone;
}

static bool give_memory(struct replay *r)
{
    bool gone = true;
    for (size_t i = r->held.n; i-- > 0;)
        gone &= msnap_held_give(r, i);
    for (size_t row = 0; r->block && row <= r->h->allocs.n; row++)
        gone &= !r->block[row].addr || msnap_give_block(r, row);
    while (r->n_ballast && worked(r, "cuMemFree (ballast)", r->gpu->release(r->gpu->ctx, r->ballast[r->n_ballast - 1])))
        r->n_ballast--;
    return give_probe(r) && gone && !r->n_ballast;
}

void msnap_replay_give_all_back(struct replay *r)
{
    for (size_t i = 0; r->stream && i < r->h->snapshot->streams.n; i++)
        if (r->stream[i])
            worked(r, "cuStreamSynchronize", r->gpu->stream_wait(r->gpu->ctx, r->stream[i]));
    for (int attempt = 0; attempt < 2; attempt++) { /* what the driver refuses once is offered once more */
        bool gone = give_memory(r);
        gone = give_reservations(r) && gone;
        if ((gone || attempt) && give_streams(r)) /* last: blocks are given back on their streams */
            break;
    }
    free(r->held.v);
    free(r->buffer);
    for (int k = 0; k < MSNAP_N_CALLS; k++)
        free(r->log[k].us);
}
