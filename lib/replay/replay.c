/* replay.c -- one replay: capacity, the mode's run, and giving everything back. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L /* clock_gettime, nanosleep */
#endif
#include <memsnap/oom.h>

#include "replay_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB (UINT64_C(1) << 20)
#define BUFFER ((size_t)8 << 20)
#define BALLAST_PIECE ((uint64_t)4 << 30)
#define RESERVATION_GAP ((uint64_t)24 << 30) /* reservations lie further apart than what is mapped in one */

enum msnap_status msnap_replay_fail(struct msnap_error *err, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        *err = (struct msnap_error){.status = MSNAP_EDEVICE};
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return MSNAP_EDEVICE;
}

bool msnap_replay_call_failed(struct replay *r, const char *call, int code)
{
    if (r->status == MSNAP_OK)
        r->status = msnap_replay_fail(r->err, "%s failed (%s); everything that was taken has been given back", call, r->gpu->error_name(r->gpu->ctx, code));
    return false;
}

/* ---- times ---- */

struct call_log {
    float *us;
    size_t n, cap;
    double sum, begun;
};

double msnap_replay_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void msnap_replay_before(struct replay *r) { r->log[0].begun = msnap_replay_now(); }

int msnap_replay_after(struct replay *r, enum msnap_call kind, int result)
{
    msnap_replay_log(r, kind, msnap_replay_now() - r->log[0].begun);
    return result;
}

void msnap_replay_log(struct replay *r, enum msnap_call kind, double seconds)
{
    struct call_log *l = &r->log[kind];
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 1024;
        float *v = realloc(l->us, cap * sizeof *v);
        if (!v)
            return; /* a time that is not kept does not stop a replay */
        l->us = v;
        l->cap = cap;
    }
    l->us[l->n++] = (float)(seconds * 1e6);
    l->sum += seconds * 1e6;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static void fill_times(struct replay *r)
{
    for (int k = 0; k < MSNAP_N_CALLS; k++) {
        struct call_log *l = &r->log[k];
        if (!l->n)
            continue;
        qsort(l->us, l->n, sizeof *l->us, by_value);
        r->out->calls[k] = (struct msnap_call_times){l->n, (double)l->us[l->n / 2], (double)l->us[(l->n - 1) * 99 / 100], (double)l->us[l->n - 1], l->sum};
    }
}

const char *msnap_call_name(enum msnap_call c)
{
    static const char *const names[] = {"alloc", "free", "reserve", "map", "unmap"};
    return c < MSNAP_N_CALLS ? names[c] : "";
}

/* ---- what is held ---- */

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

bool msnap_held_add(struct replay *r, struct held_range range)
{
    if (r->held.n == r->held.cap) {
        size_t cap = r->held.cap ? r->held.cap * 2 : 256;
        struct held_range *v = realloc(r->held.v, cap * sizeof *v);
        if (!v) {
            r->status = MSNAP_ENOMEM;
            return false;
        }
        r->held.v = v;
        r->held.cap = cap;
    }
    size_t i = place_of(r, range.recorded);
    memmove(r->held.v + i + 1, r->held.v + i, (r->held.n - i) * sizeof *r->held.v);
    r->held.v[i] = range;
    r->held.n++;
    return true;
}

size_t msnap_held_find(const struct replay *r, uint64_t recorded)
{
    size_t i = place_of(r, recorded);
    if (i == 0 || recorded - r->held.v[i - 1].recorded >= r->held.v[i - 1].size)
        return r->held.n;
    return i - 1;
}

void msnap_held_remove(struct replay *r, size_t i)
{
    memmove(r->held.v + i, r->held.v + i + 1, (r->held.n - i - 1) * sizeof *r->held.v);
    r->held.n--;
}

static void give_all_back(struct replay *r)
{
    struct msnap_gpu *g = r->gpu;
    for (size_t i = 0; r->stream && i < r->h->snapshot->streams.n; i++)
        if (r->stream[i])
            g->stream_wait(g->ctx, r->stream[i]);
    while (r->held.n) {
        struct held_range v = r->held.v[--r->held.n];
        if (v.handle) {
            g->unmap(g->ctx, v.addr, v.size);
            g->destroy(g->ctx, v.handle);
        } else {
            g->release(g->ctx, v.addr);
        }
    }
    for (size_t i = 0; i < r->n_reservations; i++)
        if (r->reservations[i].made)
            g->unreserve(g->ctx, r->reservations[i].addr, r->reservations[i].size);
    for (size_t i = 0; i < r->n_ballast; i++)
        g->release(g->ctx, r->ballast[i].addr);
    for (size_t i = 0; r->stream && i < r->h->snapshot->streams.n; i++)
        if (r->stream[i])
            g->stream_free(g->ctx, r->stream[i]);
    free(r->held.v);
    free(r->buffer);
    for (int k = 0; k < MSNAP_N_CALLS; k++)
        free(r->log[k].us);
}

/* ---- before each event ---- */

bool msnap_replay_tick(struct replay *r, uint32_t event)
{
    const struct msnap_events *e = &r->h->snapshot->events;
    size_t row = r->h->device->first_event + event;
    if (r->o->recorded_pace && (e->has[row] & MSNAP_HAS_TIME)) {
        double due = r->begun + (double)(e->time_us[row] - r->first_time_us) * 1e-6, wait;
        while ((wait = due - msnap_replay_now()) > 0) {
            double piece = wait < 0.1 ? wait : 0.1; /* to be stopped soon */
            struct timespec t = {0, (long)(piece * 1e9)};
            nanosleep(&t, NULL);
            if (r->o->progress && r->o->progress(r->o->progress_ctx, event, r->h->device->n_events, r->held_bytes)) {
                r->status = MSNAP_ECANCELLED;
                return false;
            }
        }
    }
    if (r->o->progress && event >= r->next_progress) {
        r->next_progress = event + 256;
        if (r->o->progress(r->o->progress_ctx, event, r->h->device->n_events, r->held_bytes)) {
            if (r->err)
                *r->err = (struct msnap_error){.status = MSNAP_ECANCELLED, .text = "stopped; everything that was taken has been given back"};
            r->status = MSNAP_ECANCELLED;
            return false;
        }
    }
    return true;
}

void msnap_replay_oom(struct replay *r, uint32_t event, uint64_t requested, bool limited)
{
    if (r->out->oom)
        return;
    r->out->oom = true;
    r->out->oom_event = event;
    r->out->oom_requested = requested;
    r->out->limited = limited;
    r->out->events_issued = event + 1;
}

const struct msnap_oom *msnap_replay_recorded_oom(const struct replay *r, uint32_t event)
{
    for (size_t i = 0; i < r->n_ooms; i++)
        if (r->ooms[i].event == event)
            return &r->ooms[i];
    return NULL;
}

/* ---- --touch ---- */

static uint32_t pattern_of(size_t row) { return (uint32_t)((row + 1) * UINT64_C(2654435761) >> 3) | 1; }

bool msnap_touch_fill(struct replay *r, size_t row, uint64_t addr, uint64_t size)
{
    uint64_t stream = r->stream[msnap_alloc_stream(r->h, row)];
    int code = size >= 4 ? r->gpu->fill(r->gpu->ctx, addr, size / 4 * 4, pattern_of(row), stream) : 0;
    if (code == 0)
        code = r->gpu->stream_wait(r->gpu->ctx, stream);
    if (code)
        return msnap_replay_call_failed(r, "cuMemsetD32Async", code);
    r->pattern_of[row] = pattern_of(row);
    return true;
}

bool msnap_touch_verify(struct replay *r, size_t row, uint64_t addr, uint64_t size, uint32_t event)
{
    uint64_t stream = r->stream[msnap_alloc_stream(r->h, row)];
    uint32_t want = r->pattern_of[row];
    bool whole = true;
    for (uint64_t done = 0; want && done + 4 <= size && whole;) {
        uint64_t piece = size / 4 * 4 - done < BUFFER ? size / 4 * 4 - done : BUFFER;
        int code = r->gpu->read(r->gpu->ctx, addr + done, r->buffer, piece, stream);
        if (code)
            return msnap_replay_call_failed(r, "cuMemcpyDtoHAsync", code);
        for (uint64_t i = 0; i < piece && whole; i += 4) {
            uint32_t got;
            memcpy(&got, r->buffer + i, 4);
            whole = got == want;
        }
        done += piece;
    }
    if (!whole && r->out->overlaps++ == 0)
        r->out->first_overlap = event;
    return true;
}

/* ---- capacity ---- */

/* Holds memory so that free memory at the recorded OOM is what the file says. */
static bool take_ballast(struct replay *r, const struct msnap_oom *judged)
{
    uint64_t now = 0, total = 0, want;
    int code = r->gpu->mem_info(r->gpu->ctx, &now, &total);
    if (code)
        return msnap_replay_call_failed(r, "cuMemGetInfo", code);
    r->out->free_at_start_bytes = now;
    r->out->context_bytes = total - now;
    if (r->o->no_ballast)
        return true;
    if (r->o->capacity_bytes) {
        if (r->o->capacity_bytes > total)
            return msnap_replay_fail(r->err, "the card has %" PRIu64 " MiB, less than the %" PRIu64 " MiB of --capacity", total / MIB, r->o->capacity_bytes / MIB),
                   r->status = MSNAP_EDEVICE, false;
        want = total - r->o->capacity_bytes;
    } else if (judged && !judged->limited && judged->device_free_known) {
        uint64_t need = judged->totals.reserved + judged->device_free_bytes;
        if (now < need)
            return msnap_replay_fail(r->err,
                                     "the card has %" PRIu64 " MiB free, but the recording held %" PRIu64 " MiB with %" PRIu64 " MiB free at its OOM; use a larger card, "
                                     "or --no-ballast to try it on this one", now / MIB, judged->totals.reserved / MIB, judged->device_free_bytes / MIB),
                   r->status = MSNAP_EDEVICE, false;
        want = now - need;
    } else {
        return true;
    }
    want = want / (2 * MIB) * (2 * MIB);
    size_t pieces = (size_t)(want / BALLAST_PIECE) + 2;
    r->ballast = msnap_arena_alloc(r->arena, pieces, sizeof *r->ballast);
    if (!r->ballast)
        return r->status = MSNAP_ENOMEM, false;
    while (want && r->n_ballast < pieces) {
        uint64_t size = want < BALLAST_PIECE ? want : BALLAST_PIECE, addr = 0;
        if ((code = r->gpu->alloc(r->gpu->ctx, size, &addr)))
            return msnap_replay_call_failed(r, "cuMemAlloc (ballast)", code);
        r->ballast[r->n_ballast++] = (struct held_range){0, size, addr, 0};
        r->out->ballast_bytes += size;
        want -= size;
    }
    return true;
}

/* ---- preparing ---- */

struct interval {
    uint64_t addr, size;
};

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct interval *)a)->addr, y = ((const struct interval *)b)->addr;
    return x < y ? -1 : x > y;
}

/* Reservations are not recorded: mapped ranges that lie near each other belong to one. */
static bool find_reservations(struct replay *r)
{
    const struct msnap_events *e = &r->h->snapshot->events;
    const struct msnap_segments *g = &r->h->snapshot->segments;
    const struct msnap_device *d = r->h->device;
    struct msnap_sim_config config;
    size_t n = 0, most = d->n_segments;
    if ((r->status = msnap_sim_config_recorded(r->h, r->arena, &config, r->err)) != MSNAP_OK)
        return false;
    for (size_t i = 0; i < d->n_events; i++) {
        uint8_t a = e->action[d->first_event + i];
        most += a == MSNAP_SEGMENT_MAP || a == MSNAP_SEGMENT_UNMAP;
    }
    struct interval *v = msnap_arena_alloc(r->arena, most + 1, sizeof *v);
    r->reservations = msnap_arena_alloc(r->arena, most + 1, sizeof *r->reservations);
    if (!v || !r->reservations)
        return r->status = MSNAP_ENOMEM, false;
    for (size_t i = 0; i < d->n_segments; i++)
        if (g->is_expandable[d->first_segment + i])
            v[n++] = (struct interval){g->address[d->first_segment + i], g->total_size[d->first_segment + i]};
    for (size_t i = 0; i < d->n_events; i++) {
        uint8_t a = e->action[d->first_event + i];
        if (a == MSNAP_SEGMENT_MAP || a == MSNAP_SEGMENT_UNMAP)
            v[n++] = (struct interval){e->addr[d->first_event + i], e->size[d->first_event + i]};
    }
    qsort(v, n, sizeof *v, by_address);
    for (size_t i = 0; i < n; i++) {
        struct reservation *last = r->n_reservations ? &r->reservations[r->n_reservations - 1] : NULL;
        if (!last || v[i].addr - last->recorded > last->size + RESERVATION_GAP) {
            last = &r->reservations[r->n_reservations++];
            *last = (struct reservation){.recorded = v[i].addr, .granule = config.large_segment_size};
        }
        uint64_t end = v[i].addr + v[i].size - last->recorded;
        last->size = end > last->size ? end : last->size;
        if (v[i].size % config.large_segment_size || (v[i].addr - last->recorded) % config.large_segment_size)
            last->granule = 2 * MIB;
    }
    for (size_t i = 0; i < r->n_reservations; i++)
        r->reservations[i].size = (r->reservations[i].size + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    return true;
}

static bool prepare(struct replay *r, const struct msnap_oom **judged)
{
    const struct msnap_history *h = r->h;
    size_t n_streams = h->snapshot->streams.n;
    if ((r->status = msnap_oom_find(h, NULL, r->arena, &r->ooms, &r->n_ooms, r->err)) != MSNAP_OK)
        return false;
    *judged = NULL;
    for (size_t i = 0; i < r->n_ooms; i++)
        if (!r->ooms[i].survived)
            *judged = &r->ooms[i];
    r->limit = MSNAP_NO_LIMIT;
    if (r->o->limit_bytes) {
        r->limit = r->o->limit_bytes;
    } else {
        for (size_t i = 0; i < r->n_ooms; i++)
            if (r->ooms[i].limited && (!*judged || &r->ooms[i] == *judged)) /* the lower end: what was held for certain */
                r->limit = r->ooms[i].limit_at_least > h->peak_reserved ? r->ooms[i].limit_at_least : h->peak_reserved;
    }
    r->stream = msnap_arena_alloc(r->arena, n_streams, sizeof *r->stream);
    r->freed = msnap_arena_alloc(r->arena, h->device->n_events + 1, sizeof *r->freed);
    r->pattern_of = msnap_arena_alloc(r->arena, h->allocs.n + 1, sizeof *r->pattern_of);
    if (!r->stream || !r->freed || !r->pattern_of || (r->o->touch && !(r->buffer = malloc(BUFFER))))
        return r->status = MSNAP_ENOMEM, false;
    for (size_t row = 0; row < h->allocs.n; row++)
        if (h->allocs.request_event[row] != MSNAP_NO_EVENT)
            r->freed[h->allocs.request_event[row]] = (uint32_t)row + 1;
    for (size_t i = 1; i < n_streams && h->device->n_events; i++) {
        if (h->snapshot->streams.raw[i] == 0)
            continue; /* the default stream */
        int code = r->gpu->stream_new(r->gpu->ctx, &r->stream[i]);
        if (code) {
            r->stream[i] = 0;
            return msnap_replay_call_failed(r, "cuStreamCreate", code);
        }
    }
    for (size_t i = 0; i < h->device->n_events; i++)
        if (h->snapshot->events.has[h->device->first_event + i] & MSNAP_HAS_TIME) {
            r->first_time_us = h->snapshot->events.time_us[h->device->first_event + i];
            break;
        }
    if (r->o->mode == MSNAP_REPLAY_SEGMENTS && !find_reservations(r))
        return false;
    return take_ballast(r, *judged);
}

enum msnap_status msnap_replay_run(const struct msnap_history *h, struct msnap_gpu *gpu, const struct msnap_replay_options *options,
                                   struct msnap_replay_result *out, struct msnap_error *err)
{
    static const struct msnap_replay_options defaults;
    struct msnap_replay_result result;
    struct call_log log[MSNAP_N_CALLS];
    const struct msnap_oom *judged = NULL;
    memset(&result, 0, sizeof result);
    memset(log, 0, sizeof log);
    struct replay r = {.h = h, .gpu = gpu, .o = options ? options : &defaults, .out = &result, .err = err, .log = log,
                       .arena = msnap_arena_new(msnap_mem_default())};
    if (!r.arena)
        return MSNAP_ENOMEM;
    if (prepare(&r, &judged)) {
        if (judged) {
            result.recorded_oom = true;
            result.recorded_oom_event = judged->event;
            result.recorded_oom_requested = judged->requested_bytes;
        }
        r.begun = msnap_replay_now();
        switch (r.o->mode) {
        case MSNAP_REPLAY_SEGMENTS: msnap_replay_segments(&r); break;
        case MSNAP_REPLAY_ALLOCATOR: msnap_replay_allocator(&r); break;
        case MSNAP_REPLAY_ASYNC:
        case MSNAP_REPLAY_DIRECT: msnap_replay_blocks(&r); break;
        }
        result.seconds = msnap_replay_now() - r.begun;
        result.reproduced = !judged && !result.oom ? -1 : judged && result.oom && result.oom_event == judged->event;
        fill_times(&r);
    }
    give_all_back(&r);
    msnap_arena_free(r.arena);
    if (r.status == MSNAP_ENOMEM)
        msnap_replay_fail(err, "no memory for the replay");
    if (r.status == MSNAP_OK)
        *out = result;
    return r.status;
}
