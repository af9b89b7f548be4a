/* test_oom.c -- each verdict, their order, and the sums that they rest on. */
#include "support/story.h"

#include <memsnap/oom.h>

static struct msnap_oom only_oom(struct fixture *f, const char *events, const char *segments, struct msnap_oom_options options)
{
    struct story b = story(f, events, segments);
    const struct msnap_oom *ooms;
    size_t n;
    if (msnap_oom_find(&b.h, &options, f->arena, &ooms, &n, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    assert_int_equal(n, 1);
    struct msnap_oom o = ooms[0];
    story_over(&b);
    return o;
}

#define OOM(...) only_oom(*state, __VA_ARGS__, (struct msnap_oom_options){0})
#define OOM_KNOWING(options, ...) only_oom(*state, __VA_ARGS__, (struct msnap_oom_options){options})

#define assert_verdict(o, want) assert_string_equal(msnap_verdict_name((o).verdict), want)

/* 8 GiB held in two large blocks; what is said of the device's free memory differs. */
#define EIGHT_GIB "seg 0 4096M, alloc 0 4096M, seg 8192M 4096M, alloc 8192M 4096M"
#define EIGHT_GIB_STATE "0: 4096Ma4096M; 8192M: 4096Ma4096M"

static void no_oom_event_no_oom(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, "seg 0 2M, alloc 0 512", "0: 512a512 2096640i");
    const struct msnap_oom *ooms;
    size_t n = 9;
    assert_int_equal(msnap_oom_find(&b.h, NULL, f->arena, &ooms, &n, &f->err), MSNAP_OK);
    assert_int_equal(n, 0);
    story_over(&b);
}

static void the_sum_is_the_state_at_the_event(void **state)
{
    struct msnap_oom o = OOM("seg 0 4096M, alloc 0 1024M, alloc 1024M 1024M, req 1024M 1024M, oom 8192M 1024M, done 1024M 1024M, free 0 1024M", "0: 4096Mi");
    assert_int_equal(o.event, 4);
    assert_int_equal(o.requested_bytes, 8 * G);
    assert_int_equal(o.device_free_bytes, 1 * G);
    assert_int_equal(o.totals.reserved, 4 * G);
    assert_int_equal(o.totals.allocated, 1 * G);
    assert_int_equal(o.pending_bytes, 1 * G);
    assert_int_equal(o.inactive_bytes, 2 * G);
    assert_int_equal(o.largest_free_block_bytes, 2 * G);
}

static void too_little_in_sum_is_exhausted(void **state)
{
    struct msnap_oom o = OOM(EIGHT_GIB ", oom 4096M 1024M", EIGHT_GIB_STATE);
    assert_verdict(o, "exhausted");
    assert_true(o.certain);
    assert_false(o.limited);
}

/* The published case: 12.7 GiB free on the device and 9.3 reserved and unallocated do not make 22.8. */
static void twelve_free_and_nine_unused_do_not_serve_twentytwo(void **state)
{
    struct msnap_oom o = OOM("seg 0 19046M, alloc 0 9523M, oom 23347M 13005M", "0: 9523Ma9523M 9523Mi");
    assert_int_equal(o.inactive_bytes, 9523 * M);
    assert_verdict(o, "exhausted");
}

static void enough_in_sum_and_not_in_one_piece_is_fragmented(void **state)
{
    /* Two free gibibytes with a live one between them, half of one on the device; two were asked for. */
    struct msnap_oom o = OOM("seg 0 5120M, alloc 0 1024M, alloc 1024M 1024M, alloc 2048M 3072M, free 0 1024M, free 2048M 3072M, alloc 2048M 1024M, "
                             "alloc 3072M 1024M, free 2048M 1024M, oom 2048M 512M",
                             "0: 1024Mi 1024Ma1024M 1024Mi 1024Ma1024M 1024Mi");
    assert_int_equal(o.inactive_bytes, 3 * G);
    assert_int_equal(o.largest_free_block_bytes, 1 * G);
    assert_verdict(o, "fragmented");
}

static void the_device_s_free_bytes_belong_to_the_sum(void **state)
{
    const char *events = "seg 0 4096M, alloc 0 4096M, free 0 4096M, alloc 0 3072M, oom 2048M %s", *end = "0: 3072Ma3072M 1024Mi";
    char text[200];
    snprintf(text, sizeof text, events, "1024M");
    assert_verdict(OOM(text, end), "fragmented"); /* 1 + 1 */
    snprintf(text, sizeof text, events, "1023M");
    assert_verdict(OOM(text, end), "exhausted");
}

static void a_pending_block_that_is_large_enough_comes_first(void **state)
{
    /* It would also be "fragmented" by its sum. */
    struct msnap_oom o = OOM("seg 0 2048M, alloc 0 2048M, seg 4096M 3072M, alloc 4096M 3072M, req 0 2048M, oom 1024M 512M", "0: 2048Mp2048M; 4096M: 3072Ma3072M");
    assert_verdict(o, "pending_frees");
    assert_int_equal(o.pending_bytes, 2 * G);
}

static void a_pending_block_of_another_stream_helps_as_a_released_segment(void **state)
{
    struct msnap_oom o = OOM("seg 0 2048M #7, alloc 0 2048M #7, seg 4096M 3072M, alloc 4096M 3072M, req 0 2048M #7, oom 1024M 512M",
                             "0: 2048Mp2048M #7; 4096M: 3072Ma3072M");
    assert_verdict(o, "pending_frees");
}

static void a_pending_block_that_is_too_small_changes_nothing(void **state)
{
    struct msnap_oom o = OOM("seg 0 4096M, alloc 0 4095M, seg 8192M 20M, alloc 8192M 12M, alloc 8204M 8M, req 8192M 12M, oom 1024M 512M",
                             "0: 4096Ma4095M; 8192M: 12Mp12M 8Ma8M");
    assert_verdict(o, "exhausted");
}

static void a_free_that_completed_while_the_call_failed_is_a_pending_free(void **state)
{
    /* 11.2: the call waited for the block and did not search again. */
    struct msnap_oom o = OOM("seg 0 3072M, alloc 0 1024M, alloc 1024M 2048M, req 0 1024M, seg 4096M 2048M, alloc 4096M 2048M, done 0 1024M, oom 1024M 512M",
                             "0: 1024Mi 2048Ma2048M; 4096M: 2048Ma2048M");
    assert_int_equal(o.completed_in_call_bytes, 1 * G);
    assert_verdict(o, "pending_frees");
}

static void memory_outside_needs_the_capacity_to_be_seen(void **state)
{
    /* 8 GiB held, 1 free, of 20: 11 are elsewhere, where a context takes 2. */
    assert_verdict(OOM(EIGHT_GIB ", oom 4096M 1024M", EIGHT_GIB_STATE), "exhausted");
    struct msnap_oom o = OOM_KNOWING(.capacity_bytes = 20 * G, EIGHT_GIB ", oom 4096M 1024M", EIGHT_GIB_STATE);
    assert_true(o.capacity_known);
    assert_int_equal(o.outside_bytes, 11 * G);
    assert_verdict(o, "outside");
}

static void an_ordinary_context_is_not_outside(void **state)
{
    struct msnap_oom o = OOM_KNOWING(.capacity_bytes = 10 * G, EIGHT_GIB ", oom 4096M 1024M", EIGHT_GIB_STATE);
    assert_int_equal(o.outside_bytes, 1 * G);
    assert_verdict(o, "exhausted");
}

static void outside_only_where_the_request_would_have_fitted_without_it(void **state)
{
    /* 3 GiB outside are 1 more than a context takes: 1 + 1 is less than 4. */
    struct msnap_oom o = OOM_KNOWING(.capacity_bytes = 12 * G, EIGHT_GIB ", oom 4096M 1024M", EIGHT_GIB_STATE);
    assert_verdict(o, "exhausted");
}

static void a_tiny_device_is_a_crowded_one(void **state)
{
    /* Reserved and free make 3 GiB: no GPU of today is that small. */
    struct msnap_oom o = OOM("seg 0 2048M, alloc 0 2048M, oom 2048M 1024M", "0: 2048Ma2048M");
    assert_false(o.capacity_known);
    assert_verdict(o, "outside");
}

static void with_room_on_the_device_a_limit_said_no(void **state)
{
    struct msnap_oom o = OOM(EIGHT_GIB ", oom 4096M 65536M", EIGHT_GIB_STATE);
    assert_true(o.limited);
    assert_int_equal(o.limit_at_least, 8 * G);
    assert_int_equal(o.limit_below, 12 * G);
    assert_int_equal(o.available_bytes, 0);
    assert_verdict(o, "exhausted");
}

static void the_limit_s_range_follows_the_segment_and_not_the_request(void **state)
{
    /* 3 MiB need a segment of 20. */
    struct msnap_oom o = OOM(EIGHT_GIB ", oom 3M 65536M", EIGHT_GIB_STATE);
    assert_int_equal(o.segment_bytes, 20 * M);
    assert_int_equal(o.limit_below, 8 * G + 20 * M);
}

static void a_verdict_that_hangs_on_the_limit_is_not_certain(void **state)
{
    /* 1 GiB unused; up to 2 GiB less one byte may have been left under the limit. */
    const char *events = "seg 0 4096M, alloc 0 3072M, oom 2048M 65536M", *end = "0: 3072Ma3072M 1024Mi";
    struct msnap_oom o = OOM(events, end);
    assert_verdict(o, "exhausted");
    assert_false(o.certain);
    o = OOM_KNOWING(.limit_bytes = 5 * G, events, end);
    assert_verdict(o, "fragmented");
    assert_true(o.certain);
    o = OOM_KNOWING(.limit_bytes = 4 * G, events, end);
    assert_verdict(o, "exhausted");
    assert_true(o.certain);
}

static void a_verdict_that_no_limit_changes_is_certain(void **state)
{
    struct msnap_oom o = OOM("seg 0 4096M, alloc 0 1024M, alloc 1024M 1024M, alloc 2048M 1024M, free 1024M 1024M, oom 2048M 65536M",
                             "0: 1024Ma1024M 1024Mi 1024Ma1024M 1024Mi");
    assert_verdict(o, "fragmented"); /* 1 + 1 are unused already */
    assert_true(o.certain);
}

static void under_a_limit_nothing_outside_matters(void **state)
{
    struct msnap_oom o = OOM_KNOWING(.capacity_bytes = 140 * G, EIGHT_GIB ", oom 4096M 65536M", EIGHT_GIB_STATE);
    assert_true(o.outside_bytes > MSNAP_ORDINARY_CONTEXT);
    assert_verdict(o, "exhausted");
}

static void allocations_that_follow_mean_that_it_was_survived(void **state)
{
    struct msnap_oom o = OOM(EIGHT_GIB ", oom 4096M 1024M, seg 16384M 2M, alloc 16384M 512", EIGHT_GIB_STATE "; 16384M: 512a512 2096640i");
    assert_true(o.survived);
    o = OOM(EIGHT_GIB ", oom 4096M 1024M, free 0 4096M", "0: 4096Mi; 8192M: 4096Ma4096M");
    assert_false(o.survived);
}

static void every_oom_is_judged_at_its_own_moment(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, EIGHT_GIB ", oom 4096M 1024M, free 0 4096M, alloc 0 2048M, oom 4096M 2048M", "0: 2048Ma2048M 2048Mi; 8192M: 4096Ma4096M");
    const struct msnap_oom *ooms;
    size_t n;
    assert_int_equal(msnap_oom_find(&b.h, NULL, f->arena, &ooms, &n, &f->err), MSNAP_OK);
    assert_int_equal(n, 2);
    assert_verdict(ooms[0], "exhausted");
    assert_true(ooms[0].survived);
    assert_verdict(ooms[1], "fragmented");
    assert_false(ooms[1].survived);
    story_over(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_oom_event_no_oom),
        TEST(the_sum_is_the_state_at_the_event),
        TEST(too_little_in_sum_is_exhausted),
        TEST(twelve_free_and_nine_unused_do_not_serve_twentytwo),
        TEST(enough_in_sum_and_not_in_one_piece_is_fragmented),
        TEST(the_device_s_free_bytes_belong_to_the_sum),
        TEST(a_pending_block_that_is_large_enough_comes_first),
        TEST(a_pending_block_of_another_stream_helps_as_a_released_segment),
        TEST(a_pending_block_that_is_too_small_changes_nothing),
        TEST(a_free_that_completed_while_the_call_failed_is_a_pending_free),
        TEST(memory_outside_needs_the_capacity_to_be_seen),
        TEST(an_ordinary_context_is_not_outside),
        TEST(outside_only_where_the_request_would_have_fitted_without_it),
        TEST(a_tiny_device_is_a_crowded_one),
        TEST(with_room_on_the_device_a_limit_said_no),
        TEST(the_limit_s_range_follows_the_segment_and_not_the_request),
        TEST(a_verdict_that_hangs_on_the_limit_is_not_certain),
        TEST(a_verdict_that_no_limit_changes_is_certain),
        TEST(under_a_limit_nothing_outside_matters),
        TEST(allocations_that_follow_mean_that_it_was_survived),
        TEST(every_oom_is_judged_at_its_own_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
