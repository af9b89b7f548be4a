/* world.h -- histories made by hand from a seed: for tests of what reads histories, whoever builds them. */
#ifndef MEMSNAP_TESTS_WORLD_H
#define MEMSNAP_TESTS_WORLD_H

#include <memsnap/history.h>

#include "support/check.h"

enum { WORLD_FRAMES = 6, WORLD_STACKS = 8, WORLD_STRINGS = 9, WORLD_STREAMS = 3 };

struct world {
    uint8_t *action, *has;
    uint64_t *addr, *size;
    int64_t *time_us;
    uint32_t *stream, *stack;
    uint32_t *alloc_event, *request_event, *free_event, *initial_stack, *initial_stream;
    uint64_t *block_size, *initial_addr, *initial_size;
    uint64_t *series[4]; /* allocated, active, reserved, requested */
    struct msnap_snapshot s;
    struct msnap_device device;
    struct msnap_history h;
};

static inline uint32_t world_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Stack 0: none, 1: empty, 2..: one frame each; frames 1 to 4 are the user's, 5 is a library's. */
static inline void world_tables(struct msnap_snapshot *s)
{
    static const char *const strings[WORLD_STRINGS] = {
        "", "/home/user/project/models/transformer/attention_with_a_long_name.py", "forward", "/home/user/project/train.py",
        "step", "<b>&\"'\x01\xff</b>", "main", "/usr/lib/python3/site-packages/torch/nn/functional.py", "linear"};
    static const uint32_t lengths[WORLD_STRINGS] = {0};
    static const uint32_t names[WORLD_FRAMES] = {0, 2, 4, 5, 6, 8};
    static const uint32_t files[WORLD_FRAMES] = {0, 1, 3, 3, 3, 7};
    static const int64_t lines[WORLD_FRAMES] = {0, 42, 7, 0, 1234567, 99};
    static const uint32_t parent[WORLD_STACKS] = {0, 0, 1, 1, 1, 1, 1, 3};
    static const uint32_t frame[WORLD_STACKS] = {0, 0, 1, 2, 3, 4, 5, 1};
    static const int64_t raw[WORLD_STREAMS] = {0, 0, -5};
    static const int64_t pools[2] = {0, 0};
    s->strings = (struct msnap_strings){WORLD_STRINGS, strings, lengths};
    s->frames = (struct msnap_frames){.n = WORLD_FRAMES, .name = names, .filename = files, .line = lines};
    s->stacks = (struct msnap_stacks){WORLD_STACKS, WORLD_STACKS - 1, parent, frame};
    s->streams = (struct msnap_streams){WORLD_STREAMS, raw};
    s->pools = (struct msnap_pools){2, pools, pools};
}

/* `n` events after `n_initial` allocations (a third of them pending); `step_us`: the longest time
 * between events, 0: no event has a time. */
static inline struct world *world_make(uint32_t seed, size_t n, size_t n_initial, uint32_t step_us)
{
    struct world *w = calloc(1, sizeof *w);
    const size_t m = n + n_initial + 1;
    uint32_t *live = calloc(m, sizeof *live);
    size_t n_live = 0, rows = 0, largest_live = 40;
    uint64_t allocated = 0, active = 0, reserved = 1 << 20, requested = 0;
    assert_non_null(w);
    assert_non_null(live);
    w->action = calloc(m, 1), w->has = calloc(m, 1), w->addr = calloc(m, 8), w->size = calloc(m, 8);
    w->time_us = calloc(m, 8), w->stream = calloc(m, 4), w->stack = calloc(m, 4);
    w->alloc_event = calloc(m, 4), w->request_event = calloc(m, 4), w->free_event = calloc(m, 4);
    w->initial_stack = calloc(m, 4), w->initial_stream = calloc(m, 4);
    w->block_size = calloc(m, 8), w->initial_addr = calloc(m, 8), w->initial_size = calloc(m, 8);
    for (size_t i = 0; i < 4; i++)
        w->series[i] = calloc(m, 8);

    const size_t n_pending = n_initial / 3;
    for (; rows < n_initial; rows++) {
        const bool pending = rows >= n_initial - n_pending;
        w->block_size[rows] = 512 * (uint64_t)(1 + world_random(&seed) % 2000);
        w->initial_size[rows] = w->block_size[rows] - 12;
        w->initial_stack[rows] = world_random(&seed) % WORLD_STACKS;
        w->initial_stream[rows] = 1;
        w->alloc_event[rows] = w->request_event[rows] = w->free_event[rows] = MSNAP_NO_EVENT;
        active += w->block_size[rows];
        requested += w->initial_size[rows];
        if (!pending) {
            allocated += w->block_size[rows];
            live[n_live++] = (uint32_t)rows;
        }
    }
    reserved += active;
    w->h.start = (struct msnap_totals){allocated, active, reserved, requested};
    w->h.peak = (struct msnap_moment){MSNAP_NO_EVENT, w->h.start};
    int64_t time = 1700000000000000;
    for (size_t e = 0; e < n; e++) {
        const uint32_t dice = world_random(&seed) % 100;
        time += step_us ? world_random(&seed) % step_us : 0;
        w->time_us[e] = time;
        w->has[e] = (uint8_t)(step_us ? 31 : 31 & ~MSNAP_HAS_TIME);
        w->stream[e] = 1 + world_random(&seed) % 2;
        w->stack[e] = world_random(&seed) % WORLD_STACKS;
        if (e % 50 == 0)
            largest_live = 5 + world_random(&seed) % 200;
        if (dice < 3) {
            w->action[e] = dice == 0 ? MSNAP_OOM : MSNAP_SNAPSHOT_TAKEN;
            w->size[e] = 64 << 20;
        } else if (reserved < active + (4 << 20)) {
            w->action[e] = MSNAP_SEGMENT_ALLOC;
            w->size[e] = 8 << 20;
            reserved += w->size[e];
        } else if (dice < 6 && reserved > active + (16 << 20)) {
            w->action[e] = MSNAP_SEGMENT_FREE;
            w->size[e] = 8 << 20;
            reserved -= w->size[e];
        } else if (n_live < largest_live && dice < 60) {
            w->action[e] = MSNAP_ALLOC;
            w->size[e] = 512 * (uint64_t)(1 + world_random(&seed) % 4000) - 5;
            w->alloc_event[rows] = (uint32_t)e;
            w->request_event[rows] = w->free_event[rows] = MSNAP_NO_EVENT;
            w->block_size[rows] = w->size[e] + 5;
            allocated += w->block_size[rows];
            active += w->block_size[rows];
            requested += w->size[e];
            live[n_live++] = (uint32_t)rows++;
        } else if (n_live) {
            const size_t which = world_random(&seed) % n_live;
            const uint32_t row = live[which];
            live[which] = live[--n_live];
            w->action[e] = MSNAP_FREE_COMPLETED;
            w->request_event[row] = w->free_event[row] = (uint32_t)e;
            allocated -= w->block_size[row];
            active -= w->block_size[row];
            requested -= w->block_size[row] - (row < n_initial ? 12 : 5);
        }
        const uint64_t now[4] = {allocated, active, reserved, requested};
        for (size_t i = 0; i < 4; i++)
            w->series[i][e] = now[i];
        if (allocated > w->h.peak.totals.allocated)
            w->h.peak = (struct msnap_moment){(uint32_t)e, {allocated, active, reserved, requested}};
    }
    free(live);

    world_tables(&w->s);
    w->s.events = (struct msnap_events){.n = n, .action = w->action, .has = w->has, .addr = w->addr, .size = w->size,
                                        .time_us = w->time_us, .stream = w->stream, .stack = w->stack};
    w->device = (struct msnap_device){.device = 0, .n_events = n};
    w->s.n_devices = 1;
    w->s.devices = &w->device;
    w->h.snapshot = &w->s;
    w->h.device = &w->device;
    w->h.coverage = n == 0 ? MSNAP_HISTORY_NONE : n_initial ? MSNAP_HISTORY_CUT : MSNAP_HISTORY_COMPLETE;
    w->h.end = (struct msnap_totals){allocated, active, reserved, requested};
    w->h.allocs = (struct msnap_allocs){
        .n = rows, .n_initial = n_initial, .n_initial_pending = n_pending, .alloc_event = w->alloc_event,
        .request_event = w->request_event, .free_event = w->free_event, .block_size = w->block_size,
        .initial_addr = w->initial_addr, .initial_size = w->initial_size, .initial_stack = w->initial_stack,
        .initial_stream = w->initial_stream};
    return w;
}

/* As if MSNAP_WITH_SERIES had been asked for. */
static inline void world_with_series(struct world *w)
{
    w->h.allocated = w->series[0];
    w->h.active = w->series[1];
    w->h.reserved = w->series[2];
    w->h.requested = w->series[3];
}

static inline void world_free(struct world *w)
{
    free(w->action), free(w->has), free(w->addr), free(w->size), free(w->time_us), free(w->stream), free(w->stack);
    free(w->alloc_event), free(w->request_event), free(w->free_event), free(w->initial_stack), free(w->initial_stream);
    free(w->block_size), free(w->initial_addr), free(w->initial_size);
    for (size_t i = 0; i < 4; i++)
        free(w->series[i]);
    free(w);
}

#endif
