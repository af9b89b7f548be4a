/* test_frag.c -- each number of fragmentation by its definition, and the blocks that pin. */
#include "support/story.h"

#include <memsnap/frag.h>

static struct msnap_frag frag_at(struct fixture *f, const struct story *b, uint32_t event)
{
    struct msnap_frag frag;
    if (msnap_frag_build(&b->h, event, MSNAP_FRAG_OVER_TIME, f->arena, &frag, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return frag;
}

/* At the end of the script. The story is over afterwards: what is looked at lives in the arena. */
static struct msnap_frag frag_of(struct fixture *f, const char *events, const char *segments)
{
    struct story b = true_story(f, events, segments);
    struct msnap_frag frag = frag_at(f, &b, msnap_last_event(&b.h));
    story_over(&b);
    return frag;
}

/* 20 MiB: 4 live, 4 free, 4 live, 8 free; and a free segment of 10. */
#define PINNED "seg 0 20M, alloc 0 4M @A, alloc 4M 4M, alloc 8M 4M @B, free 4M 4M, seg 32M 10M, alloc 32M 10M, free 32M 10M", \
               "0: 4Ma4M@A 4Mi 4Ma4M@B 8Mi; 32M: 10Mi"

static void unused_is_releasable_or_pinned(void **state)
{
    struct msnap_frag f = frag_of(*state, PINNED);
    assert_int_equal(f.inactive, 22 * M);
    assert_int_equal(f.releasable, 10 * M);
    assert_int_equal(f.pinned, 12 * M);
    assert_int_equal(f.largest_free, 10 * M);
}

static void external_is_what_the_largest_free_block_leaves(void **state)
{
    struct msnap_frag f = frag_of(*state, PINNED);
    assert_true(f.external > 0.5454 && f.external < 0.5455); /* 1 - 10 / 22 */
}

static void external_is_0_where_nothing_is_unused(void **state)
{
    struct msnap_frag f = frag_of(*state, "seg 0 12M, alloc 0 12M", "0: 12Ma12M");
    assert_true(f.external == 0);
    assert_int_equal(f.inactive, 0);
}

static void internal_is_what_nobody_asked_for(void **state)
{
    /* 19.5 MiB in a block of 20: the rest was too little to be split off. */
    struct msnap_frag f = frag_of(*state, "seg 0 20M, alloc 0 20447232", "0: 20Ma20447232");
    assert_true(f.internal > 0.02499 && f.internal < 0.02501);
}

static void pending_is_neither_unused_nor_allocated(void **state)
{
    struct msnap_frag f = frag_of(*state, "seg 0 20M, alloc 0 12M, alloc 12M 8M, req 0 12M", "0: 12Mp12M 8Ma8M");
    assert_int_equal(f.pending, 12 * M);
    assert_int_equal(f.inactive, 0);
    assert_int_equal(f.pools[0].pending, 12 * M);
    assert_int_equal(f.pools[0].allocated, 8 * M);
}

static void a_pin_is_what_could_be_given_back_without_it(void **state)
{
    /* Neither A nor B alone frees the segment. */
    struct msnap_frag f = frag_of(*state, PINNED);
    assert_int_equal(f.n_pins, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(f.pins[i].blocks, 1);
        assert_int_equal(f.pins[i].bytes, 4 * M);
        assert_int_equal(f.pins[i].segments, 1);
        assert_int_equal(f.pins[i].held_back, 12 * M);
        assert_int_equal(f.pins[i].released, 0);
    }
}

static void a_lone_pin_releases_its_segment(void **state)
{
    struct fixture *fx = *state;
    struct story b = true_story(fx, "seg 0 20M, alloc 0 2M @A, seg 32M 20M, alloc 32M 2M @B, alloc 34M 8M @A", "0: 2Ma2M@A 18Mi; 32M: 2Ma2M@B 8Ma8M@A 10Mi");
    struct msnap_frag f = frag_at(fx, &b, msnap_last_event(&b.h));
    assert_int_equal(f.n_pins, 2);
    assert_int_equal(f.pins[0].released, 20 * M); /* A: the first segment whole */
    assert_int_equal(f.pins[0].blocks, 2);
    assert_int_equal(f.pins[0].segments, 2);
    assert_int_equal(f.pins[0].held_back, 28 * M);
    assert_int_equal(f.pins[1].released, 0);
    story_over(&b);
}

static void small_segments_have_no_pins(void **state)
{
    struct msnap_frag f = frag_of(*state, "seg 0 2M, alloc 0 512 @A", "0: 512a512@A 2096640i");
    assert_int_equal(f.pinned, 2 * M - 512);
    assert_int_equal(f.n_pins, 0);
}

static void pages_are_releasable_in_whole_granules(void **state)
{
    /* Free: [5, 45) of 60. Granules of 20: only [20, 40) can go. */
    struct msnap_frag f = frag_of(*state, "map 0 60M, alloc 0 5M, alloc 5M 40M, alloc 45M 15M, free 5M 40M", "x0: 5Ma5M 40Mi 15Ma15M");
    assert_int_equal(f.inactive, 40 * M);
    assert_int_equal(f.releasable, 20 * M);
}

static void granules_follow_the_settings(void **state)
{
    struct msnap_frag f = frag_of(*state,
                                  "{expandable_segments:True,large_segment_size_mb:32} map 0 96M, alloc 0 5M, alloc 5M 75M, alloc 80M 16M, free 5M 75M",
                                  "x0: 5Ma5M 75Mi 16Ma16M");
    assert_int_equal(f.releasable, 32 * M); /* [32, 64) */
}

static void pools_streams_and_classes_have_rows(void **state)
{
    struct fixture *fx = *state;
    struct story b = true_story(fx, "seg 0 20M, alloc 0 9M, seg 32M 20M #7, alloc 32M 8M #7, seg 64M 20M, alloc 64M 7M, seg 96M 2M, alloc 96M 512",
                                "0: 9Ma9M 11Mi; 32M: 8Ma8M 12Mi #7; 64M: 7Ma7M 13Mi %3; 96M: 512a512 2096640i");
    struct msnap_frag f = frag_at(fx, &b, msnap_last_event(&b.h));
    assert_int_equal(f.n_pools, 4);
    assert_int_equal(b.s->pools.second[f.pools[0].pool], 3); /* most unused bytes first */
    assert_int_equal(f.pools[0].inactive, 13 * M);
    assert_int_equal(b.s->streams.raw[f.pools[1].stream], 7);
    assert_int_equal(f.pools[1].largest_free, 12 * M);
    assert_int_equal(f.pools[2].reserved, 20 * M);
    assert_true(f.pools[3].small);
    assert_int_equal(f.pools[3].segments, 1);
    story_over(&b);
}

static void segments_stand_by_what_is_pinned_in_them(void **state)
{
    struct msnap_frag f = frag_of(*state, PINNED);
    assert_int_equal(f.n_segments, 2);
    assert_int_equal(f.map.segments[f.segments[0].segment].addr, SCRIPT_BASE);
    assert_int_equal(f.segments[0].live_blocks, 2);
    assert_int_equal(f.segments[0].largest_free, 8 * M);
    assert_int_equal(f.segments[1].releasable, 10 * M);
}

static void free_blocks_are_counted_by_size(void **state)
{
    struct msnap_frag f = frag_of(*state, PINNED);
    assert_int_equal(f.n_classes, 2);
    assert_int_equal(f.classes[0].from, 4 * M);
    assert_int_equal(f.classes[0].blocks, 1);
    assert_int_equal(f.classes[1].from, 8 * M);
    assert_int_equal(f.classes[1].blocks, 2);
    assert_int_equal(f.classes[1].bytes, 18 * M);
}

static void the_sums_agree(void **state)
{
    struct msnap_frag f = frag_of(*state, PINNED);
    uint64_t pools = 0, segments = 0, classes = 0;
    for (size_t i = 0; i < f.n_pools; i++)
        pools += f.pools[i].inactive;
    for (size_t i = 0; i < f.n_segments; i++)
        segments += f.segments[i].inactive;
    for (size_t i = 0; i < f.n_classes; i++)
        classes += f.classes[i].bytes;
    assert_int_equal(pools, f.inactive);
    assert_int_equal(segments, f.inactive);
    assert_int_equal(classes, f.inactive);
    assert_int_equal(f.map.totals.reserved, f.map.totals.active + f.inactive);
}

static void moments_before_the_end_are_asked_for_by_their_event(void **state)
{
    struct fixture *fx = *state;
    struct story b = true_story(fx, PINNED);
    struct msnap_frag f = frag_at(fx, &b, 1);
    assert_int_equal(f.inactive, 16 * M);
    f = frag_at(fx, &b, MSNAP_NO_EVENT);
    assert_int_equal(f.inactive, 0);
    story_over(&b);
}

static void points_in_time_end_with_the_last_event(void **state)
{
    struct msnap_frag f = frag_of(*state, PINNED);
    assert_int_equal(f.n_points, 10); /* as many as events */
    assert_int_equal(f.points[9].event, 9);
    assert_int_equal(f.points[9].totals.reserved, 30 * M);
    assert_int_equal(f.points[9].largest_free, 10 * M);
    assert_int_equal(f.points[0].largest_free, 20 * M);
}

static void without_events_there_are_no_points(void **state)
{
    struct msnap_frag f = frag_of(*state, "", "0: 4Ma4M 16Mi");
    assert_int_equal(f.n_points, 0);
    assert_int_equal(f.inactive, 16 * M);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unused_is_releasable_or_pinned),
        TEST(external_is_what_the_largest_free_block_leaves),
        TEST(external_is_0_where_nothing_is_unused),
        TEST(internal_is_what_nobody_asked_for),
        TEST(pending_is_neither_unused_nor_allocated),
        TEST(a_pin_is_what_could_be_given_back_without_it),
        TEST(a_lone_pin_releases_its_segment),
        TEST(small_segments_have_no_pins),
        TEST(pages_are_releasable_in_whole_granules),
        TEST(granules_follow_the_settings),
        TEST(pools_streams_and_classes_have_rows),
        TEST(segments_stand_by_what_is_pinned_in_them),
        TEST(free_blocks_are_counted_by_size),
        TEST(the_sums_agree),
        TEST(moments_before_the_end_are_asked_for_by_their_event),
        TEST(points_in_time_end_with_the_last_event),
        TEST(without_events_there_are_no_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
