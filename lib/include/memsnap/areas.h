/* areas.h -- memory over time, reduced to a fixed number of columns, for pictures.
 *
 * A picture has some thousand columns and a recording has millions of events. Each column keeps
 * the highest and the lowest total of its span, and remembers the moment of the highest: what a
 * column shows is the state at that one moment, so that groups add up to the total and no peak,
 * however short, is lost.
 *
 * Two steps: msnap_areas_build finds the columns and the peak; a grouping made at that peak
 * (rank.h) then goes into msnap_areas_split. Both are O(events + allocations + columns).
 */
#ifndef MEMSNAP_AREAS_H
#define MEMSNAP_AREAS_H

#include <memsnap/history.h>
#include <memsnap/rank.h>

#ifdef __cplusplus
extern "C" {
#endif

enum msnap_x_mode {
    MSNAP_X_EVENTS, /* columns hold equal numbers of events */
    MSNAP_X_TIME    /* columns hold equal spans of time */
};

/* Events [first_event, last_event] of the device's trace; the state before first_event is part of
 * the window as well. Both are MSNAP_NO_EVENT where the device has no events. */
struct msnap_window {
    uint32_t first_event, last_event;
};

struct msnap_areas {
    size_t n_columns;
    enum msnap_x_mode x_mode;
    struct msnap_window window;
    int64_t first_time_us, last_time_us; /* of the window; 0 without times */
    int64_t span_us; /* width of the time axis: a hundredth more, so that the last state shows */
    /* One entry a column. `moment` is the event after which the total is highest (MSNAP_NO_EVENT:
     * the state before the first event); moments never go back from a column to the next. */
    const uint32_t *moment;
    const uint64_t *highest, *lowest; /* allocated bytes */
    const uint64_t *reserved, *active, *requested; /* each the highest within the column */
    /* The window's peak of allocated bytes, the earliest of equals. */
    struct msnap_moment peak;
    size_t peak_column;
    uint64_t highest_reserved;        /* over the window */
};

/* What each group holds in each column, at the column's moment. */
struct msnap_area_groups {
    size_t n_groups;          /* as in the grouping, plus one if memory from before is split off */
    const uint64_t *bytes;    /* n_groups rows of n_columns entries; a column's entries add up to `highest` */
    const uint64_t *at_peak;  /* n_groups entries: the peak column */
    const uint64_t *sum;      /* n_groups entries: over all columns; how steadily a group holds its bytes */
    bool has_before;          /* the last group is memory that predates the recording */
};

/* The whole recording. */
MSNAP_API struct msnap_window msnap_window_all(const struct msnap_history *h);

/* Which x axis suits: events where an event has no time, where the clock stands still, or where
 * nothing happens in more than two thirds of the time; else time. O(events). */
MSNAP_API enum msnap_x_mode msnap_areas_suggest_x(const struct msnap_history *h, struct msnap_window window);

/* Builds at most `n_columns` columns (fewer where there are fewer states to show, in event mode).
 * The results live in `arena`; 4 bytes an event are scratch and
 * stay in it too. The history needs no series. MSNAP_EUSAGE if
 * n_columns is 0, if the window is empty or outside the trace, or if time mode is asked for and
 * the window spans no time. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_areas_build(const struct msnap_history *h, enum msnap_x_mode x_mode, struct msnap_window window,
                  size_t n_columns, struct msnap_arena *arena, struct msnap_areas *out, struct msnap_error *err);

/* Splits every column's highest total by group. With `split_before`, allocations that predate the
 * recording form a group of their own, whatever the grouping says. 8 bytes for each group and
 * column, in `arena`. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_areas_split(const struct msnap_history *h, const struct msnap_areas *areas,
                  const struct msnap_grouping *grouping, bool split_before, struct msnap_arena *arena,
                  struct msnap_area_groups *out, struct msnap_error *err);

/* The highest within each column of another series of bytes: `values` has one entry an event of the device, what
 * holds after it, and `start` is what holds before the first. `out` has n_columns entries. O(events of the window). */
MSNAP_API void msnap_areas_series(const struct msnap_history *h, const struct msnap_areas *areas, uint64_t start,
                                  const uint64_t *values, uint64_t *out);

/* Where the state after `event` begins, from 0 (the window's left edge) to 1; events outside the
 * window are clamped to its edges. */
MSNAP_API double msnap_areas_position(const struct msnap_history *h, const struct msnap_areas *areas, uint32_t event);

#ifdef __cplusplus
}
#endif
#endif
