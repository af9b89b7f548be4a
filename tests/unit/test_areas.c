/* test_areas.c -- columns keep every peak, and groups add up to it. */
#include "support/check.h"
#include "support/world.h"

#include <memsnap/areas.h>

/* Allocated bytes after `event`, the slow way. */
static uint64_t allocated_after(const struct msnap_history *h, uint32_t event)
{
    uint64_t sum = 0;
    for (size_t row = 0; row < h->allocs.n; row++)
        if (msnap_alloc_is_allocated(h, row, event))
            sum += h->allocs.block_size[row];
    return sum;
}

static struct msnap_areas build(struct fixture *f, const struct world *w, enum msnap_x_mode x, size_t n_columns)
{
    struct msnap_areas a;
    assert_int_equal(msnap_areas_build(&w->h, x, msnap_window_all(&w->h), n_columns, f->arena, &a, &f->err), MSNAP_OK);
    return a;
}

static void check_columns(const struct world *w, const struct msnap_areas *a)
{
    uint64_t highest = 0;
    for (size_t i = 0; i < a->n_columns; i++) {
        const uint32_t state = a->moment[i] + 1u;
        assert_true(i == 0 || state >= a->moment[i - 1] + 1u);
        assert_true(a->lowest[i] <= a->highest[i]);
        assert_int_equal(a->highest[i], state ? w->series[0][state - 1] : w->h.start.allocated);
        highest = a->highest[i] > highest ? a->highest[i] : highest;
    }
    assert_int_equal(a->peak.event, w->h.peak.event);
    assert_int_equal(a->peak.totals.allocated, w->h.peak.totals.allocated);
    assert_int_equal(a->peak.totals.reserved, w->h.peak.totals.reserved);
    assert_int_equal(highest, a->peak.totals.allocated);
    assert_int_equal(a->highest[a->peak_column], a->peak.totals.allocated);
    assert_int_equal(a->moment[a->peak_column], a->peak.event);
    /* A series of its own falls into the same columns. */
    uint64_t *series = calloc(a->n_columns, sizeof *series);
    assert_non_null(series);
    msnap_areas_series(&w->h, a, w->h.start.allocated, w->series[0], series);
    for (size_t i = 0; i < a->n_columns; i++)
        assert_int_equal(series[i], a->highest[i]);
    free(series);
}

static void no_peak_is_lost(void **state)
{
    struct fixture *f = *state;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        struct world *w = world_make(seed, 1 + seed * 37 % 900, seed % 3 ? seed % 20 : 0, seed % 2 ? 100 : 0);
        static const size_t widths[] = {1, 2, 7, 100, 5000};
        for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
            struct msnap_areas a = build(f, w, MSNAP_X_EVENTS, widths[i]);
            check_columns(w, &a);
            if (seed % 2 && w->device.n_events > 50) {
                a = build(f, w, MSNAP_X_TIME, widths[i]);
                assert_int_equal(a.n_columns, widths[i]);
                check_columns(w, &a);
            }
        }
        world_free(w);
    }
}

static void a_column_spans_its_events(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(5, 999, 10, 0);
    const struct msnap_areas a = build(f, w, MSNAP_X_EVENTS, 100); /* 1000 states: ten a column */
    assert_int_equal(a.n_columns, 100);
    for (size_t i = 0; i < 100; i++) {
        uint64_t high = 0, low = UINT64_MAX, reserved = 0, active = 0, requested = 0;
        for (size_t s = 10 * i; s < 10 * i + 10; s++) {
            const uint64_t now = s ? w->series[0][s - 1] : w->h.start.allocated;
            high = now > high ? now : high;
            low = now < low ? now : low;
            const uint64_t r = s ? w->series[2][s - 1] : w->h.start.reserved;
            reserved = r > reserved ? r : reserved;
            const uint64_t c = s ? w->series[1][s - 1] : w->h.start.active;
            active = c > active ? c : active;
            const uint64_t q = s ? w->series[3][s - 1] : w->h.start.requested;
            requested = q > requested ? q : requested;
        }
        assert_int_equal(a.highest[i], high);
        assert_int_equal(a.lowest[i], low);
        assert_int_equal(a.reserved[i], reserved);
        assert_int_equal(a.active[i], active);
        assert_int_equal(a.requested[i], requested);
    }
    world_free(w);
}

static void the_series_say_the_same(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(9, 800, 5, 50);
    const struct msnap_areas without = build(f, w, MSNAP_X_TIME, 64);
    world_with_series(w);
    const struct msnap_areas with = build(f, w, MSNAP_X_TIME, 64);
    assert_memory_equal(without.reserved, with.reserved, 64 * sizeof *with.reserved);
    assert_memory_equal(without.active, with.active, 64 * sizeof *with.active);
    assert_memory_equal(without.requested, with.requested, 64 * sizeof *with.requested);
    assert_int_equal(without.peak.totals.requested, with.peak.totals.requested);
    assert_memory_equal(without.moment, with.moment, 64 * sizeof *with.moment);
    assert_int_equal(with.peak.totals.active, w->h.peak.totals.active);
    world_free(w);
}

static void groups_add_up_in_every_column(void **state)
{
    struct fixture *f = *state;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        struct world *w = world_make(seed, 700, seed % 25, 30);
        uint8_t *group_of = calloc(w->h.allocs.n + 1, 1);
        uint32_t dice = seed;
        for (size_t i = 0; i < w->h.allocs.n; i++)
            group_of[i] = (uint8_t)(world_random(&dice) % 5);
        const struct msnap_grouping grouping = {.n_groups = 5, .group_of = group_of};
        const struct msnap_areas a = build(f, w, seed % 2 ? MSNAP_X_TIME : MSNAP_X_EVENTS, 90);
        struct msnap_area_groups g;
        const bool before = seed % 4 < 2;
        assert_int_equal(msnap_areas_split(&w->h, &a, &grouping, before, f->arena, &g, &f->err), MSNAP_OK);
        assert_int_equal(g.n_groups, before ? 6 : 5);
        for (size_t i = 0; i < a.n_columns; i++) {
            uint64_t sum = 0, slow[6] = {0};
            for (size_t row = 0; row < w->h.allocs.n; row++)
                if (msnap_alloc_is_allocated(&w->h, row, a.moment[i]))
                    slow[before && msnap_alloc_is_initial(&w->h, row) ? 5 : group_of[row]] += w->block_size[row];
            for (size_t k = 0; k < g.n_groups; k++) {
                assert_int_equal(g.bytes[k * a.n_columns + i], slow[k]);
                sum += slow[k];
            }
            assert_int_equal(sum, a.highest[i]);
            assert_int_equal(sum, allocated_after(&w->h, a.moment[i]));
        }
        for (size_t k = 0; k < g.n_groups; k++)
            assert_int_equal(g.at_peak[k], g.bytes[k * a.n_columns + a.peak_column]);
        free(group_of);
        world_free(w);
    }
}

static void a_window_begins_with_the_state_before_it(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(3, 500, 7, 20);
    struct msnap_areas a;
    const struct msnap_window window = {100, 199};
    assert_int_equal(msnap_areas_build(&w->h, MSNAP_X_EVENTS, window, 1000, f->arena, &a, &f->err), MSNAP_OK);
    assert_int_equal(a.n_columns, 101); /* one column a state is enough */
    for (size_t i = 0; i < 101; i++) {
        assert_int_equal(a.moment[i], 99 + i);
        assert_int_equal(a.highest[i], w->series[0][99 + i]);
        assert_int_equal(a.lowest[i], a.highest[i]);
    }
    assert_true(msnap_areas_position(&w->h, &a, 50) == 0.0);
    assert_true(msnap_areas_position(&w->h, &a, 300) <= 1.0);
    assert_true(msnap_areas_position(&w->h, &a, 150) > 0.5 && msnap_areas_position(&w->h, &a, 150) < 0.52);
    world_free(w);
}

static void what_cannot_be_drawn_is_said(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(3, 50, 7, 0);
    struct msnap_areas a = {.n_columns = 77};
    const struct msnap_window all = msnap_window_all(&w->h), beyond = {40, 50}, backwards = {9, 8};
    assert_int_equal(msnap_areas_build(&w->h, MSNAP_X_EVENTS, all, 0, f->arena, &a, &f->err), MSNAP_EUSAGE);
    assert_int_equal(msnap_areas_build(&w->h, MSNAP_X_EVENTS, beyond, 9, f->arena, &a, &f->err), MSNAP_EUSAGE);
    assert_int_equal(msnap_areas_build(&w->h, MSNAP_X_EVENTS, backwards, 9, f->arena, &a, NULL), MSNAP_EUSAGE);
    assert_int_equal(msnap_areas_build(&w->h, MSNAP_X_TIME, all, 9, f->arena, &a, &f->err), MSNAP_EUSAGE);
    assert_non_null(strstr(f->err.text, "no times"));
    assert_int_equal(a.n_columns, 77);
    world_free(w);
}

static void without_events_there_is_one_column(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(8, 0, 9, 0);
    const struct msnap_areas a = build(f, w, MSNAP_X_EVENTS, 500);
    assert_int_equal(a.n_columns, 1);
    assert_int_equal(a.highest[0], w->h.start.allocated);
    assert_int_equal(a.reserved[0], w->h.start.reserved);
    assert_int_equal(a.requested[0], w->h.start.requested);
    assert_int_equal(a.peak.event, MSNAP_NO_EVENT);
    world_free(w);
}

static void the_clock_decides_the_axis(void **state)
{
    (void)state;
    struct world *w = world_make(4, 1000, 0, 100);
    const struct msnap_window all = msnap_window_all(&w->h);
    assert_int_equal(msnap_areas_suggest_x(&w->h, all), MSNAP_X_TIME);
    for (size_t e = 500; e < 1000; e++)
        w->time_us[e] += 1000000; /* one long pause */
    assert_int_equal(msnap_areas_suggest_x(&w->h, all), MSNAP_X_EVENTS);
    w->time_us[700] = 0; /* a clock that goes back */
    assert_int_equal(msnap_areas_suggest_x(&w->h, all), MSNAP_X_EVENTS);
    world_free(w);
    w = world_make(4, 1000, 0, 0);
    assert_int_equal(msnap_areas_suggest_x(&w->h, msnap_window_all(&w->h)), MSNAP_X_EVENTS);
    world_free(w);
}

static void a_clock_that_goes_back_loses_nothing(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(21, 600, 3, 100);
    for (size_t e = 200; e < 400; e += 3)
        w->time_us[e] -= 5000;
    const struct msnap_areas a = build(f, w, MSNAP_X_TIME, 50);
    check_columns(w, &a);
    world_free(w);
}

static void an_event_may_end_several_allocations(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(17, 1000, 12, 20);
    /* As in a faulty file: what ends between events 300 and 500 all ends at event 500. */
    for (size_t row = 0; row < w->h.allocs.n; row++)
        if (w->request_event[row] >= 300 && w->request_event[row] < 500)
            w->request_event[row] = w->free_event[row] = 500;
    const struct msnap_areas a = build(f, w, MSNAP_X_EVENTS, 1001);
    for (size_t i = 0; i < a.n_columns; i++)
        assert_int_equal(a.highest[i], allocated_after(&w->h, a.moment[i]));
    assert_int_equal(a.highest[1000], w->h.end.allocated);
    assert_int_equal(a.active[1000], w->h.end.active);
    assert_int_equal(a.requested[1000], w->h.end.requested);
    world_free(w);
}

static void every_failing_allocation_is_reported(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(2, 60000, 3, 100);
    uint8_t *group_of = calloc(w->h.allocs.n + 1, 1);
    const struct msnap_grouping grouping = {.n_groups = 200, .group_of = group_of};
    struct msnap_areas a;
    struct msnap_area_groups g;
    enum msnap_status status = MSNAP_ENOMEM;
    size_t failures = 0;
    for (size_t grants = 0; status == MSNAP_ENOMEM; grants++) {
        f->mem.left = SIZE_MAX; /* each round in an arena of its own: the last one's has room */
        struct msnap_arena *arena = msnap_arena_new(counting_mem(&f->mem));
        f->mem.left = grants;
        status = msnap_areas_build(&w->h, MSNAP_X_TIME, msnap_window_all(&w->h), 3000, arena, &a, &f->err);
        if (status == MSNAP_OK)
            status = msnap_areas_split(&w->h, &a, &grouping, true, arena, &g, &f->err);
        failures += status == MSNAP_ENOMEM;
        msnap_arena_free(arena);
    }
    assert_int_equal(status, MSNAP_OK);
    assert_true(failures > 1);
    f->mem.left = SIZE_MAX;
    free(group_of);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(no_peak_is_lost),
                                       TEST(a_column_spans_its_events),
                                       TEST(the_series_say_the_same),
                                       TEST(groups_add_up_in_every_column),
                                       TEST(a_window_begins_with_the_state_before_it),
                                       TEST(what_cannot_be_drawn_is_said),
                                       TEST(without_events_there_is_one_column),
                                       TEST(the_clock_decides_the_axis),
                                       TEST(a_clock_that_goes_back_loses_nothing),
                                       TEST(an_event_may_end_several_allocations),
                                       TEST(every_failing_allocation_is_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
