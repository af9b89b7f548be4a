/* areas.c -- memory over time, reduced to columns that keep every peak. */
#include <memsnap/areas.h>

#include "base/status.h"

/* States are numbered here: state 0 is before event 0, state s is after event s - 1. So the
 * unsigned arithmetic below turns MSNAP_NO_EVENT into state 0 and back. */
static uint32_t state_of(uint32_t event) { return event + 1u; }
static uint32_t event_of(uint32_t state) { return state - 1u; }

struct msnap_window msnap_window_all(const struct msnap_history *h)
{
    const uint32_t last = msnap_last_event(h);
    return (struct msnap_window){last == MSNAP_NO_EVENT ? MSNAP_NO_EVENT : 0, last};
}

static int64_t time_of(const struct msnap_history *h, uint32_t event)
{
    return h->snapshot->events.time_us[h->device->first_event + event];
}

static bool has_times(const struct msnap_history *h, struct msnap_window w)
{
    if (w.first_event == MSNAP_NO_EVENT || !h->snapshot->events.time_us)
        return false;
    const uint8_t *has = h->snapshot->events.has + h->device->first_event;
    for (uint32_t e = w.first_event; e <= w.last_event && e != MSNAP_NO_EVENT; e++)
        if (!(has[e] & MSNAP_HAS_TIME))
            return false;
    return true;
}

enum msnap_x_mode msnap_areas_suggest_x(const struct msnap_history *h, struct msnap_window w)
{
    enum { BINS = 240 };
    uint8_t busy[BINS] = {0};
    if (!has_times(h, w))
        return MSNAP_X_EVENTS;
    const int64_t first = time_of(h, w.first_event), last = time_of(h, w.last_event);
    if (last <= first)
        return MSNAP_X_EVENTS;
    const double scale = (double)BINS / ((double)(last - first) + 1.0);
    for (uint32_t e = w.first_event; e <= w.last_event; e++) {
        const double bin = (double)(time_of(h, e) - first) * scale;
        if (bin < 0 || bin >= BINS)
            return MSNAP_X_EVENTS; /* the clock went back */
        busy[(size_t)bin] = 1;
    }
    size_t n_busy = 0;
    for (size_t i = 0; i < BINS; i++)
        n_busy += busy[i];
    const size_t n_events = (size_t)(w.last_event - w.first_event) + 1;
    const size_t possible = n_events < BINS ? n_events : BINS;
    return 3 * n_busy >= possible ? MSNAP_X_TIME : MSNAP_X_EVENTS;
}

/* The running totals, advanced event by event. */
struct walk {
    const struct msnap_history *h;
    const uint64_t *freed; /* bytes that stop being allocated at each event */
    const uint8_t *action;
    const uint64_t *size;
    size_t next_row;
    uint64_t allocated, reserved;
};

static void walk_step(struct walk *w, uint32_t event)
{
    const struct msnap_allocs *a = &w->h->allocs;
    while (w->next_row < a->n && a->alloc_event[w->next_row] == event)
        w->allocated += a->block_size[w->next_row++];
    w->allocated -= w->freed[event];
    if (w->h->reserved) {
        w->reserved = w->h->reserved[event];
        return;
    }
    switch (w->action[event]) {
    case MSNAP_SEGMENT_ALLOC:
    case MSNAP_SEGMENT_MAP:
        w->reserved += w->size[event];
        break;
    case MSNAP_SEGMENT_FREE:
    case MSNAP_SEGMENT_UNMAP:
        /* A faulty file may free what it never had: the line then stays at zero. */
        w->reserved -= w->size[event] < w->reserved ? w->size[event] : w->reserved;
        break;
    default:
        break;
    }
}

/* Bytes by the event at which they stop being allocated. */
static uint64_t *freed_by_event(const struct msnap_history *h, struct msnap_arena *arena)
{
    const struct msnap_allocs *a = &h->allocs;
    const size_t n_events = h->device->n_events;
    uint64_t *freed = msnap_arena_alloc(arena, n_events ? n_events : 1, sizeof *freed);
    if (!freed)
        return NULL;
    const size_t pending_from = a->n_initial - a->n_initial_pending;
    for (size_t row = 0; row < a->n; row++) {
        if (row == pending_from)
            row = a->n_initial; /* freed before the recording: never allocated in it */
        if (row >= a->n)
            break;
        if (a->request_event[row] < n_events)
            freed[a->request_event[row]] += a->block_size[row];
    }
    return freed;
}

static uint64_t allocated_at_start(const struct msnap_history *h)
{
    uint64_t sum = 0;
    for (size_t row = 0; row < h->allocs.n_initial - h->allocs.n_initial_pending; row++)
        sum += h->allocs.block_size[row];
    return sum;
}

/* The columns while they are written. */
struct columns {
    uint32_t *moment;
    uint64_t *highest, *lowest, *reserved, *active, *requested;
};

static void consider(struct columns *c, size_t column, const struct walk *w, uint32_t state, bool is_first)
{
    if (is_first || w->allocated > c->highest[column]) {
        c->highest[column] = w->allocated;
        c->moment[column] = event_of(state);
    }
    if (is_first || w->allocated < c->lowest[column])
        c->lowest[column] = w->allocated;
    if (is_first || w->reserved > c->reserved[column])
        c->reserved[column] = w->reserved;
    if (c->active) {
        const struct msnap_history *h = w->h;
        const uint64_t active = state ? h->active[state - 1] : h->start.active;
        const uint64_t requested = state ? h->requested[state - 1] : h->start.requested;
        if (is_first || active > c->active[column])
            c->active[column] = active;
        if (is_first || requested > c->requested[column])
            c->requested[column] = requested;
    }
}

static bool columns_new(struct columns *c, size_t n, bool with_series, struct msnap_arena *arena)
{
    c->moment = msnap_arena_alloc(arena, n, sizeof *c->moment);
    c->highest = msnap_arena_alloc(arena, n, sizeof *c->highest);
    c->lowest = msnap_arena_alloc(arena, n, sizeof *c->lowest);
    c->reserved = msnap_arena_alloc(arena, n, sizeof *c->reserved);
    c->active = c->requested = NULL;
    if (with_series) {
        c->active = msnap_arena_alloc(arena, n, sizeof *c->active);
        c->requested = msnap_arena_alloc(arena, n, sizeof *c->requested);
        if (!c->active || !c->requested)
            return false;
    }
    return c->moment && c->highest && c->lowest && c->reserved;
}

/* The first state of column c + 1 in event mode, its first microsecond in time mode. */
static int64_t next_bound(size_t c, size_t n_columns, int64_t first, int64_t span)
{
    return first + (int64_t)(((double)(c + 1) * (double)span) / (double)n_columns + 0.999999);
}

enum msnap_status
msnap_areas_build(const struct msnap_history *h, enum msnap_x_mode x_mode, struct msnap_window window,
                  size_t n_columns, struct msnap_arena *arena, struct msnap_areas *out, struct msnap_error *err)
{
    const bool no_events = window.first_event == MSNAP_NO_EVENT;
    if (n_columns == 0)
        return msnap_fail(err, MSNAP_EUSAGE, "a picture needs at least one column");
    if (no_events ? h->device->n_events > 0
                  : window.last_event >= h->device->n_events || window.first_event > window.last_event)
        return msnap_fail(err, MSNAP_EUSAGE, "the window holds no events of this device's %zu",
                          h->device->n_events);

    /* States to show: the one before the window's first event, and one after each of its events. */
    const uint32_t first_state = no_events ? 0 : window.first_event;
    const uint32_t last_state = no_events ? 0 : state_of(window.last_event);
    const bool by_time = x_mode == MSNAP_X_TIME;
    const bool timed = has_times(h, window);
    struct msnap_areas areas = {.x_mode = x_mode, .window = window};
    if (timed) {
        areas.first_time_us = time_of(h, window.first_event);
        areas.last_time_us = time_of(h, window.last_event);
    }
    if (by_time && areas.last_time_us <= areas.first_time_us)
        return msnap_fail(err, MSNAP_EUSAGE, timed ? "the window spans no time; use events as the x axis"
                                                   : "the events have no times; use events as the x axis");
    const size_t n_states = (size_t)(last_state - first_state) + 1;
    if (!by_time && n_columns > n_states)
        n_columns = n_states;
    const int64_t begin = by_time ? areas.first_time_us : (int64_t)first_state;
    const int64_t span = by_time ? areas.last_time_us - areas.first_time_us : (int64_t)n_states;

    struct columns c;
    const bool with_series = h->allocated != NULL || (no_events && h->device->n_events == 0);
    uint64_t *freed = freed_by_event(h, arena);
    if (!freed || !columns_new(&c, n_columns, with_series, arena))
        return msnap_fail(err, MSNAP_ENOMEM, "no memory for a picture of %zu events", h->device->n_events);

    struct walk w = {.h = h, .freed = freed, .next_row = h->allocs.n_initial,
                     .allocated = allocated_at_start(h), .reserved = h->start.reserved};
    if (h->device->n_events) {
        w.action = h->snapshot->events.action + h->device->first_event;
        w.size = h->snapshot->events.size + h->device->first_event;
    }
    for (uint32_t s = 0; s < first_state; s++)
        walk_step(&w, s); /* event s leads from state s to s + 1 */

    size_t column = 0;
    int64_t bound = next_bound(0, n_columns, begin, span);
    bool is_first = true;
    for (uint32_t s = first_state;; s++) {
        if (s > first_state) {
            const int64_t at = by_time ? time_of(h, event_of(s)) : (int64_t)s;
            while (at >= bound && column + 1 < n_columns) {
                column++;
                bound = next_bound(column, n_columns, begin, span);
                is_first = true;
                if (by_time || at >= bound) { /* the state that this span begins with */
                    consider(&c, column, &w, s - 1, true);
                    is_first = false;
                }
            }
            walk_step(&w, event_of(s));
        }
        consider(&c, column, &w, s, is_first);
        is_first = false;
        if (s == first_state || w.allocated > areas.peak.totals.allocated) {
            areas.peak.event = event_of(s);
            areas.peak.totals.allocated = w.allocated;
            areas.peak.totals.reserved = w.reserved;
            areas.peak_column = column;
        }
        if (w.reserved > areas.highest_reserved)
            areas.highest_reserved = w.reserved;
        if (s == last_state)
            break;
    }
    /* In time mode the last event sits on the right edge: no column is left over. */
    for (size_t i = column + 1; i < n_columns; i++)
        consider(&c, i, &w, last_state, true);

    if (with_series) {
        const uint32_t e = areas.peak.event;
        areas.peak.totals.active = e == MSNAP_NO_EVENT ? h->start.active : h->active[e];
        areas.peak.totals.requested = e == MSNAP_NO_EVENT ? h->start.requested : h->requested[e];
    }
    areas.n_columns = n_columns;
    areas.moment = c.moment;
    areas.highest = c.highest;
    areas.lowest = c.lowest;
    areas.reserved = c.reserved;
    areas.active = c.active;
    areas.requested = c.requested;
    *out = areas;
    return MSNAP_OK;
}

/* The first column at or after `from` whose moment is state `s` or later. Most allocations live
 * shortly, so the search gallops away from `from`. */
static size_t first_column_at(const struct msnap_areas *areas, size_t from, uint32_t s)
{
    const size_t n = areas->n_columns;
    size_t low = from, step = 1;
    while (low < n && state_of(areas->moment[low]) < s) {
        if (low + step >= n || state_of(areas->moment[low + step]) >= s) {
            size_t high = low + step < n ? low + step : n;
            low++;
            while (low < high) {
                const size_t middle = low + (high - low) / 2;
                if (state_of(areas->moment[middle]) < s)
                    low = middle + 1;
                else
                    high = middle;
            }
            return low;
        }
        low += step;
        step *= 2;
    }
    return low;
}

enum msnap_status
msnap_areas_split(const struct msnap_history *h, const struct msnap_areas *areas,
                  const struct msnap_grouping *grouping, bool split_before, struct msnap_arena *arena,
                  struct msnap_area_groups *out, struct msnap_error *err)
{
    const struct msnap_allocs *a = &h->allocs;
    const size_t n_columns = areas->n_columns;
    const size_t n_groups = grouping->n_groups + (split_before ? 1 : 0);
    uint64_t *bytes = msnap_arena_alloc(arena, n_groups ? n_groups : 1, n_columns * sizeof *bytes);
    uint64_t *at_peak = msnap_arena_alloc(arena, n_groups ? n_groups : 1, sizeof *at_peak);
    uint64_t *sum = msnap_arena_alloc(arena, n_groups ? n_groups : 1, sizeof *sum);
    if (!bytes || !at_peak || !sum)
        return msnap_fail(err, MSNAP_ENOMEM, "no memory for %zu groups of %zu columns", n_groups, n_columns);

    /* Differences first: an allocation adds its bytes where it begins and, modulo 2^64, takes them
     * away where it ends. */
    size_t column = 0;
    const size_t pending_from = a->n_initial - a->n_initial_pending;
    for (size_t row = 0; row < a->n; row++) {
        if (row == pending_from)
            row = a->n_initial;
        if (row >= a->n)
            break;
        const bool before = row < a->n_initial;
        if (!before) {
            const uint32_t begin = state_of(a->alloc_event[row]);
            while (column < n_columns && state_of(areas->moment[column]) < begin)
                column++;
            if (column == n_columns)
                break; /* rows come in the order of their events */
        }
        const size_t end = a->request_event[row] == MSNAP_NO_EVENT
                               ? n_columns
                               : first_column_at(areas, column, state_of(a->request_event[row]));
        if (end <= column)
            continue;
        const size_t group = before && split_before ? n_groups - 1 : grouping->group_of[row];
        uint64_t *line = bytes + group * n_columns;
        line[column] += a->block_size[row];
        if (end < n_columns)
            line[end] -= a->block_size[row];
    }
    for (size_t g = 0; g < n_groups; g++) {
        uint64_t *line = bytes + g * n_columns;
        uint64_t level = 0;
        for (size_t i = 0; i < n_columns; i++) {
            level += line[i];
            line[i] = level;
            sum[g] += level;
        }
        at_peak[g] = line[areas->peak_column];
    }
    *out = (struct msnap_area_groups){n_groups, bytes, at_peak, sum, split_before};
    return MSNAP_OK;
}

double msnap_areas_position(const struct msnap_history *h, const struct msnap_areas *areas, uint32_t event)
{
    const struct msnap_window w = areas->window;
    if (w.first_event == MSNAP_NO_EVENT)
        return 0.0;
    double x;
    if (areas->x_mode == MSNAP_X_TIME) {
        if (event == MSNAP_NO_EVENT || event < w.first_event)
            return 0.0;
        if (event > w.last_event)
            return 1.0;
        x = (double)(time_of(h, event) - areas->first_time_us) /
            (double)(areas->last_time_us - areas->first_time_us);
    } else {
        const double n_states = (double)(w.last_event - w.first_event) + 2.0;
        x = ((double)state_of(event) - (double)w.first_event) / n_states;
    }
    return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
}
