/* replay.c -- one replay: how full the card is made, the mode's run, and how it ended. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#endif
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
#define TICKS 256 /* events between two calls of the caller's progress */

/* ---- how a replay ends ---- */

static void say(struct msnap_error *err, enum msnap_status status, const char *format, va_list args)
{
    if (!err)
        return;
    *err = (struct msnap_error){.status = status};
    vsnprintf(err->text, sizeof err->text, format, args);
}

enum msnap_status msnap_replay_fail(struct msnap_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(err, MSNAP_EDEVICE, format, args);
    va_end(args);
    return MSNAP_EDEVICE;
}

bool msnap_replay_stop(struct replay *r, enum msnap_status status, const char *format, ...)
{
    if (r->status == MSNAP_OK) {
        va_list args;
        va_start(args, format);
        say(r->err, status, format, args);
        va_end(args);
        r->status = status;
    }
    return false;
}

bool msnap_replay_no_memory(struct replay *r) { return msnap_replay_stop(r, MSNAP_ENOMEM, "no memory for the replay"); }

bool msnap_replay_call_failed(struct replay *r, const char *call, int code)
{
    return msnap_replay_stop(r, MSNAP_EDEVICE, "%s failed (%s); everything that was taken has been given back", call, r->gpu->error_name(r->gpu->ctx, code));
}

bool msnap_replay_oom(struct replay *r, uint32_t event, uint64_t requested, bool limited)
{
    if (!r->out->oom) {
        r->out->oom = true;
        r->out->oom_event = event;
        r->out->oom_requested = requested;
        r->out->limited = limited;
        r->out->events_issued = event + 1;
    }
    return false;
}

/* ---- before each event ---- */

static bool tell(struct replay *r, uint32_t event)
{
    if (r->o->progress && r->o->progress(r->o->progress_ctx, event, r->h->device->n_events, r->held_bytes))
        return msnap_replay_stop(r, MSNAP_ECANCELLED, "stopped; everything that was taken has been given back");
    return true;
}

static bool wait_for(struct replay *r, uint32_t event, double due)
{
    double left;
    while ((left = due - msnap_replay_now()) > 0) {
        const double piece = left < 0.1 ? left : 0.1; /* short, to be stopped soon */
        const struct timespec t = {0, (long)(piece * 1e9)};
        nanosleep(&t, NULL);
        if (!tell(r, event))
            return false;
    }
    return true;
}

bool msnap_replay_tick(struct replay *r, uint32_t event)
{
    const struct msnap_events *e = &r->h->snapshot->events;
    const size_t row = r->h->device->first_event + event;
    if (r->o->recorded_pace && (e->has[row] & MSNAP_HAS_TIME) && !wait_for(r, event, r->begun + (double)(e->time_us[row] - r->first_time_us) * 1e-6))
        return false;
    if (event < r->next_progress)
        return true;
    r->next_progress = event + TICKS;
    return tell(r, event);
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
    const uint64_t stream = r->stream[msnap_alloc_stream(r->h, row)];
    int code = size >= 4 ? r->gpu->fill(r->gpu->ctx, addr, size / 4 * 4, pattern_of(row), stream) : 0;
    if (code)
        return msnap_replay_call_failed(r, "cuMemsetD32Async", code);
    if ((code = r->gpu->stream_wait(r->gpu->ctx, stream)))
        return msnap_replay_call_failed(r, "cuStreamSynchronize", code);
    r->pattern_of[row] = pattern_of(row);
    return true;
}

static bool all_equal(const unsigned char *bytes, uint64_t size, uint32_t want)
{
    for (uint64_t i = 0; i < size; i += 4) {
        uint32_t got;
        memcpy(&got, bytes + i, 4);
        if (got != want)
            return false;
    }
    return true;
}

bool msnap_touch_verify(struct replay *r, size_t row, uint64_t addr, uint64_t size, uint32_t event)
{
    const uint64_t stream = r->stream[msnap_alloc_stream(r->h, row)], whole = size / 4 * 4;
    bool kept = true;
    if (!r->pattern_of[row])
        return true; /* it was there before the first event */
    for (uint64_t done = 0; done < whole && kept;) {
        const uint64_t piece = whole - done < BUFFER ? whole - done : BUFFER;
        const int code = r->gpu->read(r->gpu->ctx, addr + done, r->buffer, piece, stream);
        if (code)
            return msnap_replay_call_failed(r, "cuMemcpyDtoHAsync", code);
        kept = all_equal(r->buffer, piece, r->pattern_of[row]);
        done += piece;
    }
    if (!kept && r->out->overlaps++ == 0)
        r->out->first_overlap = event;
    return true;
}

/* ---- capacity ---- */

static bool hold_ballast(struct replay *r, uint64_t want)
{
    want = want / (2 * MIB) * (2 * MIB);
    r->ballast = msnap_arena_alloc(r->arena, (size_t)(want / BALLAST_PIECE) + 1, sizeof *r->ballast);
    if (!r->ballast)
        return msnap_replay_no_memory(r);
    while (want) {
        const uint64_t size = want < BALLAST_PIECE ? want : BALLAST_PIECE;
        const int code = r->gpu->alloc(r->gpu->ctx, size, &r->ballast[r->n_ballast]);
        if (code)
            return msnap_replay_call_failed(r, "cuMemAlloc (ballast)", code);
        r->n_ballast++;
        r->out->ballast_bytes += size;
        want -= size;
    }
    return true;
}

/* A card of --capacity: what it has beyond that is held. */
static bool emulate_capacity(struct replay *r, uint64_t free_now, uint64_t total)
{
    const uint64_t capacity = r->o->capacity_bytes;
    if (capacity > total)
        return msnap_replay_stop(r, MSNAP_EDEVICE, "the card has %" PRIu64 " MiB, less than the %" PRIu64 " MiB of --capacity", total / MIB, capacity / MIB);
    if (total - capacity > free_now)
        return msnap_replay_stop(r, MSNAP_EDEVICE, "the context and other processes hold %" PRIu64 " MiB of the card, more than the %" PRIu64 " MiB of --capacity",
                                 (total - free_now) / MIB, capacity / MIB);
    return hold_ballast(r, total - capacity);
}

/* Free memory at the recorded OOM becomes what the file says. */
static bool emulate_fullness(struct replay *r, uint64_t free_now, const struct msnap_oom *judged)
{
    const uint64_t need = judged->totals.reserved + judged->device_free_bytes;
    if (free_now < need)
        return msnap_replay_stop(r, MSNAP_EDEVICE,
                                 "the card has %" PRIu64 " MiB free, but the recording held %" PRIu64 " MiB with %" PRIu64 " MiB free at its OOM; use a larger card "
                                 "(in a dry run: --capacity with a larger size), or --no-ballast to try it on this one", free_now / MIB, judged->totals.reserved / MIB, judged->device_free_bytes / MIB);
    return hold_ballast(r, free_now - need);
}

static bool take_ballast(struct replay *r, const struct msnap_oom *judged)
{
    uint64_t free_now = 0, total = 0;
    const int code = r->gpu->mem_info(r->gpu->ctx, &free_now, &total);
    if (code)
        return msnap_replay_call_failed(r, "cuMemGetInfo", code);
    r->out->free_at_start_bytes = free_now;
    r->out->context_bytes = total - free_now;
    if (r->o->no_ballast)
        return true;
    if (r->o->capacity_bytes)
        return emulate_capacity(r, free_now, total);
    return !judged || judged->limited || !judged->device_free_known || emulate_fullness(r, free_now, judged);
}

/* ---- preparing ---- */

/* The OOM that ended the recording; NULL: there is none. */
static const struct msnap_oom *fatal_oom(const struct replay *r)
{
    for (size_t i = r->n_ooms; i-- > 0;)
        if (!r->ooms[i].survived)
            return &r->ooms[i];
    return NULL;
}

/* The lower end of the range that the recording shows: what was held for certain. */
static uint64_t limit_of(const struct replay *r, const struct msnap_oom *judged)
{
    uint64_t limit = MSNAP_NO_LIMIT;
    if (r->o->limit_bytes)
        return r->o->limit_bytes;
    for (size_t i = 0; i < r->n_ooms; i++)
        if (r->ooms[i].limited && (!judged || &r->ooms[i] == judged))
            limit = r->ooms[i].limit_at_least > r->h->peak_reserved ? r->ooms[i].limit_at_least : r->h->peak_reserved;
    return limit;
}

static bool make_tables(struct replay *r)
{
    const struct msnap_history *h = r->h;
    r->stream = msnap_arena_alloc(r->arena, h->snapshot->streams.n + 1, sizeof *r->stream);
    r->freed = msnap_arena_alloc(r->arena, h->device->n_events + 1, sizeof *r->freed);
    r->pattern_of = msnap_arena_alloc(r->arena, h->allocs.n + 1, sizeof *r->pattern_of);
    if (!r->stream || !r->freed || !r->pattern_of || (r->o->touch && !(r->buffer = malloc(BUFFER))))
        return msnap_replay_no_memory(r);
    for (size_t row = 0; row < h->allocs.n; row++)
        if (h->allocs.request_event[row] != MSNAP_NO_EVENT)
            r->freed[h->allocs.request_event[row]] = (uint32_t)row + 1;
    for (size_t i = 0; i < h->device->n_events; i++)
        if (h->snapshot->events.has[h->device->first_event + i] & MSNAP_HAS_TIME) {
            r->first_time_us = h->snapshot->events.time_us[h->device->first_event + i];
            break;
        }
    return true;
}

/* A stream of its own for each recorded one; the default stream stands for itself. */
static bool make_streams(struct replay *r)
{
    const struct msnap_streams *s = &r->h->snapshot->streams;
    for (size_t i = 1; i < s->n; i++) {
        if (s->raw[i] == 0)
            continue;
        const int code = r->gpu->stream_new(r->gpu->ctx, &r->stream[i]);
        if (code) {
            r->stream[i] = 0;
            return msnap_replay_call_failed(r, "cuStreamCreate", code);
        }
    }
    return true;
}

static bool prepare(struct replay *r, const struct msnap_oom **judged)
{
    *judged = NULL;
    if ((r->status = msnap_oom_find(r->h, NULL, r->arena, &r->ooms, &r->n_ooms, r->err)) != MSNAP_OK)
        return false;
    *judged = fatal_oom(r);
    r->limit = limit_of(r, *judged);
    if (!make_tables(r) || !make_streams(r))
        return false;
    if (r->o->mode == MSNAP_REPLAY_SEGMENTS && !msnap_replay_prepare_segments(r))
        return false;
    return take_ballast(r, *judged);
}

/* ---- the run ---- */

static bool run_mode(struct replay *r)
{
    switch (r->o->mode) {
    case MSNAP_REPLAY_ALLOCATOR: return msnap_replay_allocator(r);
    case MSNAP_REPLAY_ASYNC:
    case MSNAP_REPLAY_DIRECT: return msnap_replay_blocks(r);
    case MSNAP_REPLAY_SEGMENTS: break;
    }
    return msnap_replay_segments(r);
}

static void conclude(struct replay *r, const struct msnap_oom *judged)
{
    struct msnap_replay_result *out = r->out;
    if (judged) {
        out->recorded_oom = true;
        out->recorded_oom_event = judged->event;
        out->recorded_oom_requested = judged->requested_bytes;
    }
    out->reproduced = !judged && !out->oom ? -1 : judged && out->oom && out->oom_event == judged->event;
}

enum msnap_status msnap_replay_run(const struct msnap_history *h, struct msnap_gpu *gpu, const struct msnap_replay_options *options,
                                   struct msnap_replay_result *out, struct msnap_error *err)
{
    static const struct msnap_replay_options defaults;
    struct msnap_replay_result result = {0};
    const struct msnap_oom *judged;
    struct replay r = {.h = h, .gpu = gpu, .o = options ? options : &defaults, .out = &result, .err = err, .arena = msnap_arena_new(msnap_mem_default())};
    if (!r.arena) {
        msnap_replay_no_memory(&r);
        return r.status;
    }
    if (prepare(&r, &judged)) {
        r.begun = msnap_replay_now();
        if (run_mode(&r))
            result.events_issued = h->device->n_events;
        result.seconds = msnap_replay_now() - r.begun;
        conclude(&r, judged);
        msnap_replay_fill_times(&r);
    }
    msnap_replay_give_all_back(&r);
    msnap_arena_free(r.arena);
    if (r.status == MSNAP_OK)
        *out = result;
    return r.status;
}
