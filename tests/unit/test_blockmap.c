/* test_blockmap.c -- which blocks tile each segment, at any moment. */
#include "support/story.h"

#include <memsnap/blockmap.h>

#include <inttypes.h>

static struct msnap_blockmap map_at(struct fixture *f, const struct story *b, uint32_t event)
{
    struct msnap_blockmap m;
    if (msnap_blockmap_build(&b->h, event, f->arena, &m, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return m;
}

/* A size as scripts write it. */
static int put_size(char *at, size_t n, uint64_t v)
{
    return v && v % M == 0 ? snprintf(at, n, "%" PRIu64 "M", v / M) : snprintf(at, n, "%" PRIu64, v);
}

/* The map in the script's own language: "0: 1024a1000 512p300 2095616i; x32M: 20Mi". */
static const char *words(const struct msnap_blockmap *m)
{
    static char text[1000];
    size_t at = 0;
    text[0] = '\0';
    for (size_t g = 0; g < m->n_segments; g++) {
        const struct msnap_map_segment *s = &m->segments[g];
        uint64_t sum = 0;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", g ? "; " : "", s->expandable ? "x" : "");
        at += (size_t)put_size(text + at, sizeof text - at, s->addr - SCRIPT_BASE);
        at += (size_t)snprintf(text + at, sizeof text - at, ":");
        for (size_t i = s->first_block; i < s->first_block + s->n_blocks; i++) {
            const struct msnap_map_block *b = &m->blocks[i];
            assert_int_equal(b->addr, s->addr + sum); /* no gap, no overlap */
            sum += b->size;
            at += (size_t)snprintf(text + at, sizeof text - at, " ");
            at += (size_t)put_size(text + at, sizeof text - at, b->size);
            at += (size_t)snprintf(text + at, sizeof text - at, "%c", b->state == MSNAP_BLOCK_ALLOCATED ? 'a' : b->state == MSNAP_BLOCK_PENDING ? 'p' : 'i');
            if (b->state != MSNAP_BLOCK_INACTIVE)
                at += (size_t)put_size(text + at, sizeof text - at, b->requested);
            assert_int_equal(b->row == UINT32_MAX, b->state == MSNAP_BLOCK_INACTIVE);
        }
        assert_int_equal(sum, s->size);
    }
    return text;
}

static void check_map(struct fixture *f, const char *events, const char *segments, uint32_t event, const char *want)
{
    struct story b = true_story(f, events, segments);
    struct msnap_blockmap m = map_at(f, &b, event);
    assert_string_equal(words(&m), want);
    assert_int_equal(m.n_outside, 0);
    story_over(&b);
}

#define SHORT_RUN "seg 0 2M, alloc 0 1000, alloc 1024 512, free 0 1000", "0: 1024i 512a512 2095616i"

static void before_a_whole_history_there_is_nothing(void **state) { check_map(*state, SHORT_RUN, MSNAP_NO_EVENT, ""); }
static void a_new_segment_is_one_free_block(void **state) { check_map(*state, SHORT_RUN, 0, "0: 2Mi"); }
static void an_allocation_is_cut_from_the_front(void **state) { check_map(*state, SHORT_RUN, 1, "0: 1024a1000 2096128i"); }
static void a_requested_free_is_pending(void **state) { check_map(*state, SHORT_RUN, 3, "0: 1024p1000 512a512 2095616i"); }
static void a_completed_free_is_inactive(void **state) { check_map(*state, SHORT_RUN, 4, "0: 1024i 512a512 2095616i"); }

static void neighbours_that_are_free_are_one(void **state)
{
    check_map(*state, "seg 0 2M, alloc 0 512, alloc 512 512, alloc 1024 512, free 0 512, free 512 512", "0: 1024i 512a512 2095616i", 7, "0: 1024i 512a512 2095616i");
}

static void a_pending_block_keeps_its_neighbours_apart(void **state)
{
    check_map(*state, "seg 0 2M, alloc 0 512, alloc 512 512, req 512 512, free 0 512", "0: 512i 512p512 2096128i", 5, "0: 512i 512p512 2096128i");
}

static void slack_belongs_to_its_block(void **state)
{
    /* The worked example: 3, 12 and 4.5 MiB in 20; half a MiB stays with the last. Then 3 MiB serve 2 MiB + 600 KiB whole. */
    check_map(*state, "seg 0 20M, alloc 0 3M, alloc 3M 12M, alloc 15M 4608K, free 0 3M, alloc 0 2648K", "0: 3Ma2648K 12Ma12M 5Ma4608K", 6,
              "0: 3Ma2711552 12Ma12M 5Ma4718592");
}

static void a_mebibyte_is_slack_and_more_is_split_off(void **state)
{
    check_map(*state, "seg 0 20M, alloc 0 19M", "0: 20Ma19M", 1, "0: 20Ma19M");
    check_map(*state, "seg 0 20M, alloc 0 19922432", "0: 19922432a19922432 1049088i", 1, "0: 19922432a19922432 1049088i");
}

static void an_oversize_block_fills_its_segment(void **state)
{
    check_map(*state, "{max_split_size_mb:64} seg 0 100M, alloc 0 100M, free 0 100M, alloc 0 90M", "0: 100Ma90M", 4, "0: 100Ma90M");
}

static void expandable_memory_splits_to_512(void **state)
{
    check_map(*state, "{expandable_segments:True} map 0 20M, alloc 0 20971008", "x0: 20971008a20971008 512i", 1, "x0: 20971008a20971008 512i");
}

static void pages_given_back_leave_a_hole(void **state)
{
    check_map(*state, "map 0 60M, alloc 0 5M, alloc 5M 40M, alloc 45M 15M, free 5M 40M, unmap 20M 20M", "x0: 5Ma5M 15Mi; x40M: 5Mi 15Ma15M", 6,
              "x0: 5Ma5M 15Mi; x40M: 5Mi 15Ma15M");
}

static void pages_that_fill_a_hole_join_both_sides(void **state)
{
    check_map(*state, "map 0 60M, alloc 0 5M, alloc 5M 40M, alloc 45M 15M, free 5M 40M, unmap 20M 20M, map 20M 20M, alloc 5M 39M",
              "x0: 5Ma5M 39Ma39M 1Mi 15Ma15M", 8, "x0: 5Ma5M 39Ma39M 1Mi 15Ma15M");
}

static void segments_stand_by_address(void **state)
{
    check_map(*state, "seg 32M 20M, alloc 32M 9M, seg 0 2M, alloc 0 512", "0: 512a512 2096640i; 32M: 9Ma9M 11Mi", 3, "0: 512a512 2096640i; 32M: 9Ma9M 11Mi");
}

static void a_late_start_is_rebuilt_from_the_end(void **state)
{
    /* The allocs of 1000 and 2000 bytes were not recorded: the first is live at the dump, the second is freed. */
    check_map(*state, "free 1024 2000, alloc 1024 500", "0: 1024a1000 512a500 2095616i", MSNAP_NO_EVENT, "0: 1024a1000 2048a2000 2094080i");
}

static void slack_of_a_block_from_before_is_found(void **state)
{
    /* Nothing but the free of 19.5 MiB is known; the half MiB behind it was too little to be split off. */
    check_map(*state, "free 0 20447232", "0: 20Mi", MSNAP_NO_EVENT, "0: 20Ma20447232");
}

static void a_segment_given_back_later_was_there_at_the_start(void **state)
{
    check_map(*state, "free 0 9M, unseg 0 20M, alloc 32M 512", "32M: 512a512 2096640i", MSNAP_NO_EVENT, "0: 9Ma9M 11Mi; 32M: 2Mi");
}

static void without_events_the_map_is_the_dump(void **state)
{
    check_map(*state, "", "0: 1024a1000 512p300 2095616i; 32M: 20Mi", MSNAP_NO_EVENT, "0: 1024a1000 512p300 2095616i; 32M: 20Mi");
}

static void what_lies_outside_every_segment_is_kept_apart(void **state)
{
    struct fixture *f = *state;
    struct story b = story(f, "seg 0 2M, alloc 4M 512", "0: 2Mi");
    struct msnap_blockmap m = map_at(f, &b, 1);
    assert_int_equal(m.n_outside, 1);
    assert_int_equal(m.outside[0].addr, SCRIPT_BASE + 4 * M);
    assert_string_equal(words(&m), "0: 2Mi");
    story_over(&b);
}

static void classes_streams_and_pools_are_named(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, "seg 0 20M #7, alloc 0 9M #7", "0: 9Ma9M 11Mi #7 %3");
    struct msnap_blockmap m = map_at(f, &b, 1);
    assert_false(m.segments[0].small);
    assert_int_equal(b.s->streams.raw[m.segments[0].stream], 7);
    assert_int_equal(b.s->pools.second[m.segments[0].pool], 3);
    story_over(&b);
}

static void there_is_no_moment_after_the_last(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, SHORT_RUN);
    struct msnap_blockmap m;
    assert_int_equal(msnap_blockmap_build(&b.h, 5, f->arena, &m, &f->err), MSNAP_EUSAGE);
    assert_string_equal(f->err.text, "there is no event 5; the last one is 4");
    story_over(&b);
}

static void a_file_without_events_has_no_event_0(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, "", "0: 2Mi");
    struct msnap_blockmap m;
    assert_int_equal(msnap_blockmap_build(&b.h, 0, f->arena, &m, &f->err), MSNAP_EUSAGE);
    assert_string_equal(f->err.text, "there is no event 0; the device has none");
    story_over(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(before_a_whole_history_there_is_nothing),
        TEST(a_new_segment_is_one_free_block),
        TEST(an_allocation_is_cut_from_the_front),
        TEST(a_requested_free_is_pending),
        TEST(a_completed_free_is_inactive),
        TEST(neighbours_that_are_free_are_one),
        TEST(a_pending_block_keeps_its_neighbours_apart),
        TEST(slack_belongs_to_its_block),
        TEST(a_mebibyte_is_slack_and_more_is_split_off),
        TEST(an_oversize_block_fills_its_segment),
        TEST(expandable_memory_splits_to_512),
        TEST(pages_given_back_leave_a_hole),
        TEST(pages_that_fill_a_hole_join_both_sides),
        TEST(segments_stand_by_address),
        TEST(a_late_start_is_rebuilt_from_the_end),
        TEST(slack_of_a_block_from_before_is_found),
        TEST(a_segment_given_back_later_was_there_at_the_start),
        TEST(without_events_the_map_is_the_dump),
        TEST(what_lies_outside_every_segment_is_kept_apart),
        TEST(classes_streams_and_pools_are_named),
        TEST(there_is_no_moment_after_the_last),
        TEST(a_file_without_events_has_no_event_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
