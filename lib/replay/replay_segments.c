/* replay_segments.c -- what the recording asked of the driver: segments, and pages of expandable ones. */
#include <memsnap/blockmap.h>

#include "replay_parts.h"

#include <stdlib.h>

#define SMALL_GRANULE (UINT64_C(2) << 20)
#define SMALL_REQUEST (UINT64_C(1) << 20)
#define RESERVATION_GAP ((uint64_t)24 << 30) /* reservations lie further apart than what is mapped in one */

static size_t row_of(const struct replay *r, uint32_t event) { return r->h->device->first_event + event; }

/* ---- reservations: not recorded; mapped ranges that lie near each other belong to one ---- */

struct interval {
    uint64_t addr, size;
};

static int by_address(const void *a, const void *b)
{
    const uint64_t x = ((const struct interval *)a)->addr, y = ((const struct interval *)b)->addr;
    return x < y ? -1 : x > y;
}

static bool is_paging(uint8_t action) { return action == MSNAP_SEGMENT_MAP || action == MSNAP_SEGMENT_UNMAP; }

/* All ranges that were ever mapped, or were at the dump; `v` has room for them. */
static size_t mapped_ranges(const struct replay *r, struct interval *v)
{
    const struct msnap_events *e = &r->h->snapshot->events;
    const struct msnap_segments *g = &r->h->snapshot->segments;
    const struct msnap_device *d = r->h->device;
    size_t n = 0;
    for (size_t i = d->first_segment; i < d->first_segment + d->n_segments; i++)
        if (g->is_expandable[i])
            v[n++] = (struct interval){g->address[i], g->total_size[i]};
    for (size_t i = d->first_event; i < d->first_event + d->n_events; i++)
        if (is_paging(e->action[i]))
            v[n++] = (struct interval){e->addr[i], e->size[i]};
    qsort(v, n, sizeof *v, by_address);
    return n;
}

static size_t count_ranges(const struct replay *r)
{
    const struct msnap_device *d = r->h->device;
    size_t n = d->n_segments;
    for (size_t i = d->first_event; i < d->first_event + d->n_events; i++)
        n += is_paging(r->h->snapshot->events.action[i]);
    return n;
}

static void join_ranges(struct replay *r, const struct interval *v, size_t n, uint64_t granule)
{
    struct reservation *last = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!last || v[i].addr - last->recorded > last->size + RESERVATION_GAP) {
            last = &r->reservations[r->n_reservations++];
            *last = (struct reservation){.recorded = v[i].addr, .granule = granule};
        }
        const uint64_t end = v[i].addr + v[i].size - last->recorded;
        last->size = end > last->size ? end : last->size;
        if (v[i].size % granule || (v[i].addr - last->recorded) % granule)
            last->granule = SMALL_GRANULE;
    }
    for (size_t i = 0; i < r->n_reservations; i++)
        r->reservations[i].size = (r->reservations[i].size + SMALL_GRANULE - 1) / SMALL_GRANULE * SMALL_GRANULE;
}

bool msnap_replay_prepare_segments(struct replay *r)
{
    struct msnap_sim_config config;
    if ((r->status = msnap_sim_config_recorded(r->h, r->arena, &config, r->err)) != MSNAP_OK)
        return false;
    const size_t most = count_ranges(r) + 1;
    struct interval *v = msnap_arena_alloc(r->arena, most, sizeof *v);
    r->reservations = msnap_arena_alloc(r->arena, most, sizeof *r->reservations);
    if (!v || !r->reservations)
        return msnap_replay_no_memory(r);
    join_ranges(r, v, mapped_ranges(r, v), config.large_segment_size);
    return true;
}

/* ---- the refused request: it is not in the trace, for it failed; the OOM event tells of it ---- */

static const struct reservation *reservation_for(const struct replay *r, uint64_t request)
{
    for (size_t i = 0; i < r->n_reservations; i++)
        if ((request <= SMALL_REQUEST) == (r->reservations[i].granule == SMALL_GRANULE))
            return &r->reservations[i];
    return NULL;
}

static bool ask_again(struct replay *r, const struct msnap_oom *o, bool *refused)
{
    const struct reservation *v = r->h->snapshot->settings.expandable_segments ? reservation_for(r, o->requested_bytes) : NULL;
    if (o->limited) {
        *refused = msnap_replay_over_limit(r, o->segment_bytes);
        return true;
    }
    if (v) /* one granule more than was free */
        return msnap_probe_granules(r, v->granule, (size_t)(o->device_free_bytes / v->granule) + 1, refused);
    return msnap_probe_segment(r, o->segment_bytes, refused);
}

static bool try_refused(struct replay *r, uint32_t event)
{
    const struct msnap_oom *o = msnap_replay_recorded_oom(r, event);
    bool refused = false;
    if (!o)
        return true;
    if (!ask_again(r, o, &refused))
        return false;
    return !refused || o->survived || msnap_replay_oom(r, event, o->requested_bytes, o->limited);
}

/* ---- --touch: blocks within the segments ---- */

/* Where a recorded block lies on the device; 0: outside every segment that is held. Granules of one
 * reservation lie side by side there, too. */
static uint64_t place_of(const struct replay *r, size_t row)
{
    const uint64_t recorded = msnap_alloc_addr(r->h, row);
    const size_t i = msnap_held_find(r, recorded);
    return i == r->held.n ? 0 : r->held.v[i].addr + (recorded - r->held.v[i].recorded);
}

static bool touch_event(struct replay *r, uint32_t event, uint8_t action, size_t *row)
{
    const bool begins = action == MSNAP_ALLOC, ends = action == MSNAP_FREE_REQUESTED && r->freed[event];
    const size_t k = begins ? (*row)++ : ends ? r->freed[event] - 1 : 0;
    if (!r->o->touch || (!begins && !ends))
        return true;
    const uint64_t addr = place_of(r, k), size = r->h->allocs.block_size[k];
    if (!addr)
        return true;
    return begins ? msnap_touch_fill(r, k, addr, size) : msnap_touch_verify(r, k, addr, size, event);
}

/* ---- the run ---- */

/* Segments before the first event, for a recording that begins late. */
static bool take_start(struct replay *r)
{
    struct msnap_blockmap m;
    uint64_t addr;
    if ((r->status = msnap_blockmap_build(r->h, MSNAP_NO_EVENT, r->arena, &m, r->err)) != MSNAP_OK)
        return false;
    for (size_t g = 0; g < m.n_segments; g++) {
        const enum taken t = m.segments[g].expandable ? msnap_take_pages(r, m.segments[g].addr, m.segments[g].size)
                                                      : msnap_take_segment(r, m.segments[g].addr, m.segments[g].size, &addr);
        if (t == REFUSED)
            return msnap_replay_oom(r, 0, m.segments[g].size, false);
        if (t == FAILED)
            return false;
    }
    return true;
}

/* Pages have been checked against the limit as part of their request, which the trace does not have:
 * only what is held already counts. */
static bool take(struct replay *r, uint32_t event, bool pages)
{
    const struct msnap_events *e = &r->h->snapshot->events;
    const size_t k = row_of(r, event);
    uint64_t addr;
    if (msnap_replay_over_limit(r, pages ? 0 : e->size[k]))
        return msnap_replay_oom(r, event, e->size[k], true);
    const enum taken t = pages ? msnap_take_pages(r, e->addr[k], e->size[k]) : msnap_take_segment(r, e->addr[k], e->size[k], &addr);
    return t == TAKEN || (t == REFUSED && msnap_replay_oom(r, event, e->size[k], false));
}

static bool give_segment(struct replay *r, uint64_t recorded)
{
    const size_t i = msnap_held_find(r, recorded);
    return i == r->held.n || r->held.v[i].recorded != recorded || msnap_held_give(r, i);
}

static bool issue(struct replay *r, uint32_t event, uint8_t action, size_t *row)
{
    const struct msnap_events *e = &r->h->snapshot->events;
    const size_t k = row_of(r, event);
    switch (action) {
    case MSNAP_SEGMENT_ALLOC: return take(r, event, false);
    case MSNAP_SEGMENT_MAP: return take(r, event, true);
    case MSNAP_SEGMENT_FREE: return give_segment(r, e->addr[k]);
    case MSNAP_SEGMENT_UNMAP: return msnap_give_pages(r, e->addr[k], e->size[k]);
    case MSNAP_OOM: return try_refused(r, event);
    default: return touch_event(r, event, action, row);
    }
}

bool msnap_replay_segments(struct replay *r)
{
    const struct msnap_events *e = &r->h->snapshot->events;
    const bool blocks_matter = r->o->touch || r->o->recorded_pace;
    size_t row = r->h->allocs.n_initial;
    if (!take_start(r))
        return false;
    for (uint32_t i = 0; i < r->h->device->n_events; i++) {
        const uint8_t action = e->action[row_of(r, i)];
        if (!blocks_matter && (action == MSNAP_ALLOC || action == MSNAP_FREE_REQUESTED || action == MSNAP_FREE_COMPLETED))
            continue; /* nothing for the driver to do */
        if (!msnap_replay_tick(r, i) || !issue(r, i, action, &row))
            return false;
        r->out->events_issued = i + 1;
    }
    return true;
}
