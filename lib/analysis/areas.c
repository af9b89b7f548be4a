/* areas.c -- memory over time, reduced to columns that keep every peak. */
#include <memsnap/areas.h>

#include "analysis/columns.h"
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
    const uint8_t *has = EVENT_COLUMN(h, has);
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

/* Which allocation an event ends: a free_requested takes it out of the allocated, a free_completed
 * out of the active, and one that stands alone does both. In a sound file an event ends one
 * allocation at most; where a faulty one ends several, they are in the list. */
struct endings {
    uint32_t *row_of; /* by event: row + 1; 0: none; SEVERAL: see the list */
    struct ending {
        uint32_t event, row;
    } *list;
    size_t n_list;
};
#define SEVERAL UINT32_MAX

/* Goes over all (event, row) pairs; with a NULL list it fills row_of and counts, else it fills the list. */
static void note_ending(struct endings *e, uint32_t event, uint32_t row)
{
    uint32_t *slot = &e->row_of[event];
    if (e->list) {
        if (*slot == SEVERAL)
            e->list[e->n_list++] = (struct ending){event, row};
        return;
    }
    if (*slot == 0 || *slot == row + 1) {
        *slot = row + 1;
        return;
    }
    /* The first one of a slot was not counted when it came. */
    e->n_list += *slot == SEVERAL ? 1 : 2;
    *slot = SEVERAL;
}

static void note_endings(const struct msnap_history *h, struct endings *e)
{
    const struct msnap_allocs *a = &h->allocs;
    const size_t n_events = h->device->n_events;
    for (size_t row = 0; row < a->n; row++) {
        const uint32_t request = a->request_event[row], completion = a->free_event[row];
        if (request < n_events)
            note_ending(e, request, (uint32_t)row);
        if (completion < n_events && completion != request)
            note_ending(e, completion, (uint32_t)row);
    }
}

static bool endings_build(const struct msnap_history *h, struct msnap_arena *arena, struct endings *e)
{
    const size_t n_events = h->device->n_events;
    *e = (struct endings){.row_of = msnap_arena_alloc(arena, n_events ? n_events : 1, sizeof *e->row_of)};
    if (!e->row_of)
        return false;
    note_endings(h, e);
    if (e->n_list == 0)
        return true;
    e->list = msnap_arena_alloc(arena, e->n_list, sizeof *e->list);
    if (!e->list)
        return false;
    e->n_list = 0;
    note_endings(h, e);
    return true;
}

/* The running totals, advanced event by event. */
struct walk {
    const struct msnap_history *h;
    struct endings endings;
    const uint8_t *action;
    const uint64_t *size;
    size_t next_row, pending_from;
    struct msnap_totals now;
};

static uint64_t less(uint64_t from, uint64_t bytes) { return from - (bytes < from ? bytes : from); }

static void end_row(struct walk *w, uint32_t event, size_t row)
{
    const struct msnap_allocs *a = &w->h->allocs;
    const bool was_pending = row >= w->pending_from && row < a->n_initial;
    if (a->request_event[row] == event && !was_pending)
        w->now.allocated -= a->block_size[row];
    if (a->free_event[row] == event) {
        w->now.active = less(w->now.active, a->block_size[row]);
        w->now.requested = less(w->now.requested, msnap_alloc_size(w->h, row));
    }
}

static void walk_step(struct walk *w, uint32_t event)
{
    const struct msnap_allocs *a = &w->h->allocs;
    while (w->next_row < a->n && a->alloc_event[w->next_row] == event) {
        const uint64_t bytes = a->block_size[w->next_row++];
        w->now.allocated += bytes;
        w->now.active += bytes;
        w->now.requested += w->size[event];
    }
    const uint32_t ends = w->endings.row_of[event];
    if (ends == SEVERAL) {
        for (size_t i = 0; i < w->endings.n_list; i++)
            if (w->endings.list[i].event == event)
                end_row(w, event, w->endings.list[i].row);
    } else if (ends) {
        end_row(w, event, ends - 1);
    }
    switch (w->action[event]) {
    case MSNAP_SEGMENT_ALLOC:
    case MSNAP_SEGMENT_MAP:
        w->now.reserved += w->size[event];
        break;
    case MSNAP_SEGMENT_FREE:
    case MSNAP_SEGMENT_UNMAP:
        /* A faulty file may free what it never had: the line then stays at zero. */
        w->now.reserved = less(w->now.reserved, w->size[event]);
        break;
    default:
        break;
    }
    if (w->h->reserved) {
        w->now.active = w->h->active[event];
        w->now.reserved = w->h->reserved[event];
        w->now.requested = w->h->requested[event];
    }
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

static void consider(struct columns *c, size_t column, const struct msnap_totals *now, uint32_t state, bool is_first)
{
    if (is_first || now->allocated > c->highest[column]) {
        c->highest[column] = now->allocated;
        c->moment[column] = event_of(state);
    }
    if (is_first || now->allocated < c->lowest[column])
        c->lowest[column] = now->allocated;
    if (is_first || now->reserved > c->reserved[column])
        c->reserved[column] = now->reserved;
    if (is_first || now->active > c->active[column])
        c->active[column] = now->active;
    if (is_first || now->requested > c->requested[column])
        c->requested[column] = now->requested;
}

static bool columns_new(struct columns *c, size_t n, struct msnap_arena *arena)
{
    c->moment = msnap_arena_alloc(arena, n, sizeof *c->moment);
    c->highest = msnap_arena_alloc(arena, n, sizeof *c->highest);
    c->lowest = msnap_arena_alloc(arena, n, sizeof *c->lowest);
    c->reserved = msnap_arena_alloc(arena, n, sizeof *c->reserved);
    c->active = msnap_arena_alloc(arena, n, sizeof *c->active);
    c->requested = msnap_arena_alloc(arena, n, sizeof *c->requested);
    return c->moment && c->highest && c->lowest && c->reserved && c->active && c->requested;
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
    const int64_t lasting = areas.last_time_us - areas.first_time_us;
    areas.span_us = lasting > 0 ? lasting + lasting / 100 + 1 : 0;
    const int64_t span = by_time ? areas.span_us : (int64_t)n_states;

    struct columns c;
    struct walk w = {.h = h, .next_row = h->allocs.n_initial, .now = h->start,
                     .pending_from = h->allocs.n_initial - h->allocs.n_initial_pending};
    w.now.allocated = allocated_at_start(h);
    if (!endings_build(h, arena, &w.endings) || !columns_new(&c, n_columns, arena))
        return msnap_fail(err, MSNAP_ENOMEM, "no memory for a picture of %zu events", h->device->n_events);
    if (h->device->n_events) {
        w.action = EVENT_COLUMN(h, action);
        w.size = EVENT_COLUMN(h, size);
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
                    consider(&c, column, &w.now, s - 1, true);
                    is_first = false;
                }
            }
            walk_step(&w, event_of(s));
        }
        consider(&c, column, &w.now, s, is_first);
        is_first = false;
        if (s == first_state || w.now.allocated > areas.peak.totals.allocated) {
            areas.peak = (struct msnap_moment){event_of(s), w.now};
            areas.peak_column = column;
        }
        if (w.now.reserved > areas.highest_reserved)
            areas.highest_reserved = w.now.reserved;
        if (s == last_state)
            break;
    }
    /* The last state lasts to the right edge. */
    for (size_t i = column + 1; i < n_columns; i++)
        consider(&c, i, &w.now, last_state, true);

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

void msnap_areas_series(const struct msnap_history *h, const struct msnap_areas *areas, uint64_t start,
                        const uint64_t *values, uint64_t *out)
{
    const size_t n = areas->n_columns;
    const bool no_events = areas->window.first_event == MSNAP_NO_EVENT, by_time = areas->x_mode == MSNAP_X_TIME;
    const uint32_t first = no_events ? 0 : areas->window.first_event, last = no_events ? 0 : state_of(areas->window.last_event);
    const int64_t begin = by_time ? areas->first_time_us : (int64_t)first;
    const int64_t span = by_time ? areas->span_us : (int64_t)(last - first) + 1;
    size_t column = 0;
    uint64_t now = first ? values[first - 1] : start;
    int64_t bound = next_bound(0, n, begin, span);
    out[0] = now;
    for (uint32_t s = first + 1; s <= last; s++) { /* the columns of msnap_areas_build */
        const int64_t at = by_time ? time_of(h, event_of(s)) : (int64_t)s;
        while (at >= bound && column + 1 < n) {
            column++;
            bound = next_bound(column, n, begin, span);
            out[column] = by_time || at >= bound ? now : 0;
        }
        now = values[event_of(s)];
        if (now > out[column])
            out[column] = now;
    }
    while (++column < n)
        out[column] = now;
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
        x = (double)(time_of(h, event) - areas->first_time_us) / (double)areas->span_us;
    } else {
        const double n_states = (double)(w.last_event - w.first_event) + 2.0;
        x = ((double)state_of(event) - (double)w.first_event) / n_states;
    }
    return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
}
