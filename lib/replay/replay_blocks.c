/* replay_blocks.c -- each allocation a call of its own, stream-ordered (async) or not (direct). */
#include "replay_parts.h"

static size_t row_of(const struct replay *r, uint32_t event) { return r->h->device->first_event + event; }

static enum taken take_row(struct replay *r, size_t row)
{
    return msnap_take_block(r, row, msnap_alloc_size(r->h, row), r->stream[msnap_alloc_stream(r->h, row)]);
}

/* What was live before the first event. */
static bool take_start(struct replay *r)
{
    for (size_t row = 0; row < r->h->allocs.n_initial; row++) {
        const enum taken t = take_row(r, row);
        if (t == REFUSED)
            return msnap_replay_oom(r, 0, msnap_alloc_size(r->h, row), false);
        if (t == FAILED)
            return false;
    }
    return true;
}

static bool take(struct replay *r, uint32_t event, size_t row)
{
    const uint64_t size = msnap_alloc_size(r->h, row);
    if (msnap_replay_over_limit(r, size))
        return msnap_replay_oom(r, event, size, true);
    const enum taken t = take_row(r, row);
    if (t == REFUSED)
        return msnap_replay_oom(r, event, size, false);
    return t == TAKEN && (!r->o->touch || msnap_touch_fill(r, row, r->block[row].addr, size));
}

static bool give(struct replay *r, uint32_t event, size_t row)
{
    const struct held_block *b = &r->block[row];
    if (!b->addr)
        return true;
    if (r->o->touch && !msnap_touch_verify(r, row, b->addr, b->size, event))
        return false;
    return msnap_give_block(r, row);
}

/* The request that failed in the recording; it has no row. */
static bool try_refused(struct replay *r, uint32_t event)
{
    const struct msnap_oom *o = msnap_replay_recorded_oom(r, event);
    bool refused;
    if (!o)
        return true;
    const bool over = msnap_replay_over_limit(r, o->requested_bytes);
    refused = over;
    if (!over && !msnap_probe_block(r, o->requested_bytes, r->stream[r->h->snapshot->events.stream[row_of(r, event)]], &refused))
        return false;
    return !refused || o->survived || msnap_replay_oom(r, event, o->requested_bytes, over);
}

bool msnap_replay_blocks(struct replay *r)
{
    const struct msnap_events *e = &r->h->snapshot->events;
    size_t row = r->h->allocs.n_initial;
    r->block = msnap_arena_alloc(r->arena, r->h->allocs.n + 1, sizeof *r->block);
    if (!r->block)
        return msnap_replay_no_memory(r);
    if (!take_start(r))
        return false;
    for (uint32_t i = 0; i < r->h->device->n_events; i++) {
        const uint8_t action = e->action[row_of(r, i)];
        bool ok = msnap_replay_tick(r, i);
        if (ok && action == MSNAP_ALLOC)
            ok = take(r, i, row++);
        else if (ok && action == MSNAP_FREE_REQUESTED && r->freed[i])
            ok = give(r, i, r->freed[i] - 1);
        else if (ok && action == MSNAP_OOM)
            ok = try_refused(r, i);
        if (!ok)
            return false;
        r->out->events_issued = i + 1;
    }
    return true;
}
