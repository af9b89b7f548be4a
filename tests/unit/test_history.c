/* test_history.c -- the books agree with what PyTorch's counters would have said. */
#include "support/check.h"
#include "support/script.h"

#include <memsnap/history.h>

struct books {
    struct msnap_snapshot *s;
    struct msnap_history h;
};

static struct books build(struct fixture *f, size_t device, const char *events, const char *segments)
{
    struct books b = {.s = script_snapshot(counting_mem(&f->mem), events, segments)};
    assert_true(device < b.s->n_devices);
    if (msnap_history_build(b.s, &b.s->devices[device], MSNAP_WITH_SERIES, f->arena, &b.h, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return b;
}

#define assert_series(b, name, ...)                                                \
    do {                                                                           \
        const uint64_t want_[] = {__VA_ARGS__};                                    \
        assert_int_equal((b).h.device->n_events, sizeof want_ / sizeof *want_);    \
        for (size_t i_ = 0; i_ < sizeof want_ / sizeof *want_; i_++)               \
            if ((b).h.name[i_] != want_[i_])                                       \
                fail_msg(#name " after event %zu: %llu, not %llu", i_,             \
                         (unsigned long long)(b).h.name[i_], (unsigned long long)want_[i_]); \
    } while (0)

#define M (UINT64_C(1) << 20)

static void whole_blocks_count(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, 0, "seg 0 2M, alloc 0 1000, alloc 1024 2000, free 1024 2000, alloc 1024 500", "0: 1024a1000 512a500 2095616i");
    assert_series(b, allocated, 0, 1024, 3072, 1024, 1024, 1536);
    assert_series(b, active, 0, 1024, 3072, 3072, 1024, 1536);
    assert_series(b, reserved, 2 * M, 2 * M, 2 * M, 2 * M, 2 * M, 2 * M);
    assert_series(b, requested, 0, 1000, 3000, 3000, 1000, 1500);
    assert_int_equal(b.h.coverage, MSNAP_HISTORY_COMPLETE);
    assert_int_equal(b.h.start.reserved, 0);
    assert_int_equal(b.h.end.allocated, 1536);
    assert_int_equal(b.h.peak.event, 2);
    assert_int_equal(b.h.peak.totals.allocated, 3072);
    assert_int_equal(b.h.peak_reserved, 2 * M);
    assert_int_equal(b.h.n_faults, 0);
    msnap_snapshot_free(b.s);
}

static void lives_have_their_events(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, 0, "seg 0 2M, alloc 0 1000, alloc 1024 2000, req 1024 2000, alloc 3072 5, done 1024 2000", "0: 1024a1000 2048i 512a5 2093568i");
    const struct msnap_allocs *a = &b.h.allocs;
    assert_int_equal(a->n, 3);
    assert_int_equal(a->n_initial, 0);
    assert_int_equal(a->alloc_event[1], 2);
    assert_int_equal(a->request_event[1], 3);
    assert_int_equal(a->free_event[1], 5);
    assert_int_equal(a->block_size[1], 2048);
    assert_int_equal(a->request_event[0], MSNAP_NO_EVENT);
    assert_int_equal(a->free_event[2], MSNAP_NO_EVENT);
    assert_true(msnap_alloc_is_allocated(&b.h, 1, 2));
    assert_false(msnap_alloc_is_allocated(&b.h, 1, 3));
    assert_int_equal(msnap_alloc_addr(&b.h, 1), SCRIPT_BASE + 1024);
    assert_int_equal(msnap_alloc_size(&b.h, 1), 2000);
    msnap_snapshot_free(b.s);
}

static void a_lost_beginning_is_rebuilt(void **state)
{
    struct fixture *f = *state;
    /* The ring dropped the allocs of 1000 and 2000 bytes; their free and a new tenant are left. */
    struct books b = build(f, 0, "free 1024 2000, alloc 1024 500", "0: 1024a1000 512a500 2095616i");
    assert_int_equal(b.h.coverage, MSNAP_HISTORY_CUT);
    assert_int_equal(b.h.allocs.n_initial, 2);
    assert_int_equal(b.h.start.allocated, 3072);
    assert_int_equal(b.h.start.reserved, 2 * M);
    assert_int_equal(b.h.start.requested, 3000);
    assert_series(b, allocated, 1024, 1024, 1536);
    assert_int_equal(b.h.peak.event, MSNAP_NO_EVENT); /* before the first event */
    assert_int_equal(b.h.peak.totals.allocated, 3072);
    assert_int_equal(b.h.n_faults, 0);
    msnap_snapshot_free(b.s);
}

static void pending_frees_are_active_and_not_allocated(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, 0, "seg 0 2M, alloc 0 1000, alloc 1024 512, free 1024 512, req 0 1000", "0: 1024p1000 2096128i");
    assert_series(b, allocated, 0, 1024, 1536, 1024, 1024, 0);
    assert_series(b, active, 0, 1024, 1536, 1536, 1024, 1024);
    assert_int_equal(b.h.end.requested, 1000);
    assert_int_equal(b.h.n_faults, 0);
    msnap_snapshot_free(b.s);
}

static void a_pending_block_at_the_dump_says_that_the_only_free_did_not_complete(void **state)
{
    struct fixture *f = *state;
    /* No free_completed at all looks like skip_actions; the block's state knows better. */
    struct books b = build(f, 0, "seg 0 2M, alloc 0 1000, req 0 1000", "0: 1024p1000 2096128i");
    assert_series(b, active, 0, 1024, 1024);
    msnap_snapshot_free(b.s);
    b = build(f, 0, "seg 0 2M, alloc 0 1000, req 0 1000, alloc 0 600", "0: 1024a600 2096128i");
    assert_series(b, active, 0, 1024, 0, 1024);
    msnap_snapshot_free(b.s);
}

static void a_pending_free_from_before_is_active_from_the_start(void **state)
{
    struct fixture *f = *state;
    /* Pending at the dump, and no event speaks of it. */
    struct books b = build(f, 0, "alloc 1024 1000", "0: 1024p1000 1024a1000 2095104i");
    assert_int_equal(b.h.allocs.n_initial, 1);
    assert_int_equal(b.h.allocs.n_initial_pending, 1);
    assert_int_equal(b.h.start.allocated, 0);
    assert_int_equal(b.h.start.active, 1024);
    assert_series(b, allocated, 1024);
    assert_series(b, active, 2048);
    msnap_snapshot_free(b.s);
}

static void without_events_the_state_is_all_there_is(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, 0, "", "0: 1024a1000 512p300 2095616i; 32M: 20Mi");
    assert_int_equal(b.h.coverage, MSNAP_HISTORY_NONE);
    assert_int_equal(b.h.start.allocated, 1024);
    assert_int_equal(b.h.start.active, 1536);
    assert_int_equal(b.h.start.reserved, 22 * M);
    assert_int_equal(b.h.end.reserved, 22 * M);
    assert_int_equal(b.h.allocs.n, 2);
    assert_int_equal(b.h.peak.event, MSNAP_NO_EVENT);
    assert_int_equal(b.h.peak.totals.allocated, 1024);
    assert_int_equal(msnap_last_event(&b.h), MSNAP_NO_EVENT);
    msnap_snapshot_free(b.s);
}

static void a_small_remainder_of_a_large_block_is_not_split_off(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, 0, "seg 0 20M, alloc 0 20447232", "0: 20Ma20447232");
    assert_series(b, allocated, 0, 20 * M);
    assert_series(b, requested, 0, 20447232);
    msnap_snapshot_free(b.s);
}

static void segments_come_and_go(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, 0, "seg 0 20M, alloc 0 5M, free 0 5M, unseg 0 20M", "");
    assert_series(b, reserved, 20 * M, 20 * M, 20 * M, 20 * M, 0);
    assert_int_equal(b.h.coverage, MSNAP_HISTORY_COMPLETE);
    assert_int_equal(b.h.peak_reserved, 20 * M);
    assert_int_equal(b.h.n_faults, 0);
    msnap_snapshot_free(b.s);
}

static void mapped_ranges_count_as_reserved(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, 0, "map 0 20M, alloc 0 5M, map 20M 20M, alloc 5M 30M, free 5M 30M, unmap 20M 20M", "x0: 5Ma5M 15Mi");
    assert_series(b, reserved, 20 * M, 20 * M, 40 * M, 40 * M, 40 * M, 40 * M, 20 * M);
    assert_series(b, allocated, 0, 5 * M, 5 * M, 35 * M, 5 * M, 5 * M, 5 * M);
    assert_int_equal(b.h.coverage, MSNAP_HISTORY_COMPLETE);
    assert_int_equal(b.h.n_faults, 0);
    msnap_snapshot_free(b.s);
}

static void devices_do_not_mix(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, 1, "seg 0 2M, alloc 0 1000 | seg 0 2M, alloc 0 600", "0: 1024a1000 2096128i | 0: 1024a600 2096128i");
    assert_int_equal(b.h.device->device, 1);
    assert_series(b, requested, 0, 600);
    assert_int_equal(b.h.allocs.alloc_event[0], 1); /* counted within the device */
    assert_int_equal(msnap_alloc_size(&b.h, 0), 600);
    msnap_snapshot_free(b.s);
}

static void the_earliest_of_equal_peaks_wins(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, 0, "seg 0 2M, alloc 0 512, free 0 512, alloc 0 512", "0: 512a512 2096640i");
    assert_int_equal(b.h.peak.event, 1);
    msnap_snapshot_free(b.s);
}

static void a_lone_completed_free_frees(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, 0, "seg 0 2M, alloc 0 1000, done 0 1000, alloc 0 600", "0: 1024a600 2096128i"); /* skip_actions */
    assert_series(b, allocated, 0, 1024, 0, 1024);
    assert_int_equal(b.h.allocs.request_event[0], 2);
    assert_int_equal(b.h.allocs.free_event[0], 2);
    msnap_snapshot_free(b.s);
}

static void an_oom_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, 0, "seg 0 2M, alloc 0 512, oom 64M 3M, snap, alloc 512 512", "0: 512a512 512a512 2096128i");
    assert_series(b, allocated, 0, 512, 512, 512, 1024);
    assert_int_equal(b.h.allocs.n, 2);
    msnap_snapshot_free(b.s);
}

static void contradictions_are_faults_and_never_errors(void **state)
{
    struct fixture *f = *state;
    static const char *const scripts[][2] = {
        {"seg 0 2M, alloc 0 512, alloc 0 512", "0: 512a512 2096640i"},                 /* twice */
        {"seg 0 2M, alloc 0 1000, alloc 512 512", "0: 512i 512a512 2096128i"},         /* inside a live one */
        {"seg 0 2M, alloc 0 1000, free 0 512", "0: 2Mi"},                              /* another size */
        {"seg 0 2M, alloc 0 512, free 0 512, free 0 512", "0: 2Mi"},                   /* freed twice */
        {"seg 0 2M, alloc 4M 512", "0: 2Mi"},                                          /* outside all segments */
        {"seg 0 2M, alloc 0 4M", "0: 2Mi"},                                            /* larger than its segment */
        {"seg 0 2M, seg 1M 2M", "0: 2Mi"},                                             /* overlapping */
        {"unseg 0 2M, unseg 0 2M", ""},
        {"seg 0 2M, alloc 0 512, unseg 0 2M", ""},                                     /* given back in use */
        {"seg 0 2M, alloc 0 512, free 0 512", "0: 512a512 2096640i"},                  /* live only in the state */
        {"seg 0 2M, alloc 0 512", "0: 2Mi"},                                           /* live only in the trace */
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct books b = build(f, 0, scripts[i][0], scripts[i][1]);
        if (b.h.n_faults == 0)
            fail_msg("no fault: %s / %s", scripts[i][0], scripts[i][1]);
        msnap_snapshot_free(b.s);
    }
}

static void without_the_flag_there_are_no_series(void **state)
{
    struct fixture *f = *state;
    struct msnap_snapshot *s = script_snapshot(counting_mem(&f->mem), "seg 0 2M, alloc 0 512", "0: 512a512 2096640i");
    struct msnap_history h;
    assert_int_equal(msnap_history_build(s, &s->devices[0], 0, f->arena, &h, &f->err), MSNAP_OK);
    assert_null(h.allocated);
    assert_null(h.reserved);
    assert_int_equal(h.peak.totals.allocated, 512);
    msnap_snapshot_free(s);
}

/* The shipped files, by what their allocations add up to: series and lives must tell the same story. */
static void lives_add_up_to_the_series(void **state)
{
    struct fixture *f = *state;
    static const char *const files[] = {"good_protocol4.pickle", "good_cut.pickle", "good_skip_free_requested.pickle", "good_frees_only.pickle",
        "odd_double_alloc.pickle", "odd_rotated_ring.pickle", "odd_missing_addr.pickle", "odd_missing_size.pickle", "real/streams.pickle.gz",
        "real/graphs.expandable.pickle.gz", "real/gpt.ring.pickle.gz", "real/pending_ok.pickle.gz"};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        char path[1000];
        struct msnap_snapshot *s = NULL;
        struct msnap_open_options o = {.mem = counting_mem(&f->mem)};
        snprintf(path, sizeof path, "%s/%s", TESTDATA, files[k]);
        if (msnap_snapshot_open(path, &o, &s, &f->err) != MSNAP_OK)
            fail_msg("%s: %s", files[k], f->err.text);
        for (size_t d = 0; d < s->n_devices; d++) {
            struct msnap_history h;
            if (s->devices[d].device == MSNAP_HOST)
                continue;
            assert_int_equal(msnap_history_build(s, &s->devices[d], MSNAP_WITH_SERIES, f->arena, &h, &f->err), MSNAP_OK);
            const size_t step = h.device->n_events / 60 + 1;
            for (size_t e = 0; e < h.device->n_events; e += step) {
                uint64_t sum = 0;
                for (size_t r = 0; r < h.allocs.n; r++)
                    sum += msnap_alloc_is_allocated(&h, r, (uint32_t)e) ? h.allocs.block_size[r] : 0;
                if (sum != h.allocated[e])
                    fail_msg("%s: after event %zu lives add up to %llu, the series says %llu", files[k], e, (unsigned long long)sum, (unsigned long long)h.allocated[e]);
            }
        }
        msnap_snapshot_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whole_blocks_count),
        TEST(lives_have_their_events),
        TEST(a_lost_beginning_is_rebuilt),
        TEST(pending_frees_are_active_and_not_allocated),
        TEST(a_pending_block_at_the_dump_says_that_the_only_free_did_not_complete),
        TEST(a_pending_free_from_before_is_active_from_the_start),
        TEST(without_events_the_state_is_all_there_is),
        TEST(a_small_remainder_of_a_large_block_is_not_split_off),
        TEST(segments_come_and_go),
        TEST(mapped_ranges_count_as_reserved),
        TEST(devices_do_not_mix),
        TEST(the_earliest_of_equal_peaks_wins),
        TEST(a_lone_completed_free_frees),
        TEST(an_oom_changes_nothing),
        TEST(contradictions_are_faults_and_never_errors),
        TEST(without_the_flag_there_are_no_series),
        TEST(lives_add_up_to_the_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
