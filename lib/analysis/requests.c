/* requests.c -- the recorded events as requests, frees, and releases that the program asked for. */
#include "analysis/requests.h"

#include "analysis/bursts.h"
#include "base/arena.h"
#include "base/status.h"

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the requests"); }

/* The recorded segments, and the base of each reservation: its first mapping (17.4). */
static bool collect_memory(struct msnap_requests *r, struct msnap_arena *arena)
{
    const struct msnap_snapshot *s = r->h->snapshot;
    const struct msnap_device *d = r->h->device;
    size_t segments = 0, maps = 0, kind = 0;
    for (size_t i = 0; i < d->n_events; i++) {
        uint8_t a = s->events.action[d->first_event + i];
        segments += a == MSNAP_SEGMENT_ALLOC;
        maps += a == MSNAP_SEGMENT_MAP;
    }
    struct recorded_segment *seg = MSNAP_NEW_RAW(arena, struct recorded_segment, segments);
    struct recorded_reservation *res = MSNAP_NEW_RAW(arena, struct recorded_reservation, maps);
    uint64_t *mapped = MSNAP_NEW(arena, uint64_t, maps); /* bytes of each reservation at the moment */
    if (!seg || !res || !mapped)
        return false;
    r->lowest_address = UINT64_MAX;
    for (size_t i = 0; i < r->start->n_segments; i++)
        if (r->start->segments[i].addr < r->lowest_address)
            r->lowest_address = r->start->segments[i].addr;
    for (size_t i = 0; i < d->n_events; i++) {
        size_t row = d->first_event + i;
        uint8_t a = s->events.action[row];
        uint64_t addr = s->events.addr[row], size = s->events.size[row];
        if (a == MSNAP_SEGMENT_ALLOC) {
            seg[r->n_segments++] = (struct recorded_segment){addr, size};
            r->lowest_address = addr < r->lowest_address ? addr : r->lowest_address;
            kind++;
        } else if (a == MSNAP_SEGMENT_MAP || a == MSNAP_SEGMENT_UNMAP) {
            struct msnap_books_kind k = {0};
            if (a == MSNAP_SEGMENT_MAP)
                k = r->start->kinds[kind++].kind;
            size_t at = r->n_reservations;
            for (size_t j = r->n_reservations; j-- > 0 && at == r->n_reservations;)
                if (mapped[j] && addr >= res[j].addr && addr - res[j].addr < UINT64_C(1) << 40 &&
                    (a == MSNAP_SEGMENT_UNMAP ||
                     (res[j].stream == k.stream && res[j].small == k.small && (res[j].pool > 1 ? res[j].pool : 1) == (k.pool > 1 ? k.pool : 1))))
                    at = j;
            if (a == MSNAP_SEGMENT_UNMAP) {
                if (at < r->n_reservations)
                    mapped[at] -= size < mapped[at] ? size : mapped[at];
                continue;
            }
            if (at == r->n_reservations)
                res[r->n_reservations++] = (struct recorded_reservation){addr, k.pool, k.stream, k.small};
            mapped[at] += size;
        }
    }
    r->segments = seg;
    r->reservations = res;
    return true;
}

static enum msnap_status build(struct msnap_requests *r, struct msnap_arena *arena, struct msnap_error *err)
{
    const struct msnap_history *h = r->h;
    const struct msnap_allocs *a = &h->allocs;
    const struct msnap_device *d = h->device;
    const uint8_t *action = d->n_events ? h->snapshot->events.action + d->first_event : NULL;
    struct burst_release *releases;
    size_t n_releases, n_ooms = 0, last_alloc = 0, n = 0;
    if (!collect_memory(r, arena))
        return no_memory(err);
    enum msnap_status st = msnap_bursts_list(h, arena, &releases, &n_releases, err);
    if (st != MSNAP_OK)
        return st;
    /* Which row an event frees: 0 none, else row + 1. Two columns in one: requests and completions
     * never share an event but where the completion stands alone. */
    uint32_t *freed = MSNAP_NEW(arena, uint32_t, d->n_events);
    if (!freed)
        return no_memory(err);
    for (size_t row = 0; row < a->n; row++) {
        if (a->request_event[row] != MSNAP_NO_EVENT)
            freed[a->request_event[row]] = (uint32_t)row + 1;
        if (a->free_event[row] != MSNAP_NO_EVENT)
            freed[a->free_event[row]] = (uint32_t)row + 1;
    }
    for (size_t i = 0; i < d->n_events; i++) {
        n_ooms += action[i] == MSNAP_OOM;
        if (action[i] == MSNAP_ALLOC)
            last_alloc = i;
    }
    size_t most = a->n * 3 + n_releases + n_ooms + 1;
    if (most > d->n_events + n_releases + 1)
        most = d->n_events + n_releases + 1;
    request_op *ops = MSNAP_NEW_RAW(arena, request_op, most);
    uint32_t *event = MSNAP_NEW_RAW(arena, uint32_t, most), *empties = MSNAP_NEW_RAW(arena, uint32_t, n_releases);
    struct request_oom *ooms = MSNAP_NEW_RAW(arena, struct request_oom, n_ooms);
    if (!ops || !event || !empties || !ooms || a->n >= UINT32_MAX >> 3)
        return no_memory(err);
    size_t release = 0, oom = 0, row = a->n_initial;
    for (size_t i = 0; i < d->n_events; i++) {
        for (; release < n_releases && releases[release].event == i; release++) {
            empties[release] = releases[release].pool;
            event[n] = (uint32_t)i;
            ops[n++] = (request_op)release << 3 | REQUEST_EMPTY;
        }
        enum request_kind kind;
        uint32_t index;
        if (action[i] == MSNAP_ALLOC) {
            kind = REQUEST_ALLOC;
            index = (uint32_t)row++;
        } else if (action[i] == MSNAP_OOM) {
            size_t e = d->first_event + i;
            ooms[oom] = (struct request_oom){h->snapshot->events.size[e], h->snapshot->events.stream[e], (uint32_t)i, last_alloc > i};
            kind = REQUEST_OOM;
            index = (uint32_t)oom++;
        } else if ((action[i] == MSNAP_FREE_REQUESTED || action[i] == MSNAP_FREE_COMPLETED) && freed[i]) {
            index = freed[i] - 1;
            uint32_t requested = a->request_event[index], completed = a->free_event[index];
            if (i == requested)
                kind = completed == i || completed == i + 1 ? REQUEST_FREE : REQUEST_FREE_LATER;
            else if (completed == requested + 1 && requested != MSNAP_NO_EVENT)
                continue; /* done with the request */
            else
                kind = REQUEST_READY;
        } else {
            continue;
        }
        event[n] = (uint32_t)i;
        ops[n++] = index << 3 | kind;
    }
    r->n_ops = n;
    r->ops = ops;
    r->event = event;
    r->empties = empties;
    r->ooms = ooms;
    r->first_ordinal_row = a->n_initial;
    return MSNAP_OK;
}

enum msnap_status msnap_requests_build(const struct msnap_history *h, struct msnap_arena *arena, const struct msnap_requests **out,
                                       struct msnap_error *err)
{
    struct msnap_requests *r = MSNAP_NEW(arena, struct msnap_requests, 1);
    if (!r)
        return no_memory(err);
    r->h = h;
    r->start = h->start_state;
    enum msnap_status st = build(r, arena, err);
    if (st == MSNAP_OK)
        *out = r;
    return st;
}
