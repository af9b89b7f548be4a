/* test_stats.c -- each step of the allocator adds to the counters what PyTorch's own adds. */
#include "support/story.h"

#include <memsnap/stats.h>

static struct msnap_stats stats_of(struct fixture *f, const struct story *b)
{
    struct msnap_stats stats;
    if (msnap_stats_build(&b->h, f->arena, &stats, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return stats;
}

static void check_key(const struct msnap_stats *stats, const char *key, int64_t want)
{
    struct msnap_stat list[MSNAP_N_STATS];
    msnap_stats_list(stats, list);
    for (size_t i = 0; i < MSNAP_N_STATS; i++) {
        if (strcmp(list[i].key, key) != 0)
            continue;
        if (!list[i].known)
            fail_msg("%s is not known", key);
        if (list[i].value != want)
            fail_msg("%s is %lld, not %lld", key, (long long)list[i].value, (long long)want);
        return;
    }
    fail_msg("no key %s", key);
}

/* The script's statistics, as "key value, key value". */
static void check_stats(struct fixture *f, const char *events, const char *segments, const char *want)
{
    struct story b = true_story(f, events, segments);
    struct msnap_stats stats = stats_of(f, &b);
    for (const char *p = want; *p;) {
        char key[64];
        long long value;
        int n = 0;
        if (sscanf(p, " %63[^ ] %lld%n", key, &value, &n) != 2)
            fail_msg("not \"key value\": %s", p);
        check_key(&stats, key, value);
        p += n;
        p += *p == ',';
    }
    story_over(&b);
}

/* ---- inactive splits ---- */

static void splitting_a_whole_segment_leaves_an_inactive_split(void **state)
{
    check_stats(*state, "seg 0 2M, alloc 0 1000", "0: 1024a1000 2096128i",
                "inactive_split.all.current 1, inactive_split_bytes.all.current 2096128, inactive_split.small_pool.current 1,"
                "inactive_split.large_pool.current 0, inactive_split_bytes.all.allocated 2096128");
}

static void splitting_a_remainder_again_moves_only_bytes(void **state)
{
    check_stats(*state, "seg 0 2M, alloc 0 1000, alloc 1024 512", "0: 1024a1000 512a512 2095616i",
                "inactive_split.all.current 1, inactive_split.all.allocated 1, inactive_split_bytes.all.current 2095616,"
                "inactive_split_bytes.all.freed 512");
}

static void taking_a_remainder_whole_ends_the_split(void **state)
{
    check_stats(*state, "seg 0 20M, alloc 0 12M, alloc 12M 8M", "0: 12Ma12M 8Ma8M",
                "inactive_split.all.current 0, inactive_split.all.freed 1, inactive_split_bytes.all.current 0, inactive_split_bytes.all.freed 8388608");
}

static void a_whole_segment_was_never_split(void **state)
{
    check_stats(*state, "seg 0 12M, alloc 0 12M, free 0 12M", "0: 12Mi",
                "inactive_split.all.allocated 0, inactive_split.all.freed 0, inactive_split_bytes.all.allocated 0");
}

static void an_unsplit_remainder_is_allocated(void **state)
{
    /* Half a MiB is left over: too little to be split off in the large pool. */
    check_stats(*state, "seg 0 20M, alloc 0 20447232", "0: 20Ma20447232",
                "allocated_bytes.all.current 20971520, requested_bytes.all.current 20447232, inactive_split.all.allocated 0");
}

static void merging_is_one_net_change(void **state)
{
    /* Free the first: +1. The third joins the tail: -1 + 1 is no change of the count, 512 bytes more.
     * The second joins both neighbours to a whole segment: -2. */
    check_stats(*state, "seg 0 2M, alloc 0 512, alloc 512 512, alloc 1024 512, free 0 512, free 1024 512, free 512 512", "0: 2Mi",
                "inactive_split.all.current 0, inactive_split.all.allocated 2, inactive_split.all.freed 2, inactive_split.all.peak 2,"
                "inactive_split_bytes.all.current 0, inactive_split_bytes.all.allocated 2097664, inactive_split_bytes.all.freed 2097664");
}

static void a_free_between_two_live_blocks_is_a_new_split(void **state)
{
    check_stats(*state, "seg 0 2M, alloc 0 512, alloc 512 512, alloc 1024 512, free 512 512", "0: 512a512 512i 512a512 2095616i",
                "inactive_split.all.current 2, inactive_split_bytes.all.current 2096128");
}

/* ---- segments and pools ---- */

static void expandable_memory_counts_as_reserved_and_not_as_segments(void **state)
{
    check_stats(*state, "map 0 20M, alloc 0 3M, map 20M 60M, alloc 3M 60M, free 3M 60M, unmap 20M 60M", "x0: 3Ma3M 17Mi",
                "segment.all.allocated 0, reserved_bytes.all.current 20971520, reserved_bytes.all.peak 83886080, num_device_alloc 2,"
                "num_device_free 1, inactive_split.all.allocated 0, reserved_bytes.large_pool.freed 62914560");
}

static void the_pools_are_counted_apart(void **state)
{
    check_stats(*state, "seg 0 2M, alloc 0 512, seg 32M 20M, alloc 32M 9M", "0: 512a512 2096640i; 32M: 9Ma9M 11Mi",
                "segment.all.current 2, segment.small_pool.current 1, segment.large_pool.current 1, allocation.small_pool.current 1,"
                "allocated_bytes.large_pool.current 9437184, reserved_bytes.small_pool.current 2097152");
}

static void a_private_pool_counts_in_its_class(void **state)
{
    check_stats(*state, "seg 0 20M, alloc 0 9M", "0: 9Ma9M 11Mi %1", "segment.large_pool.current 1, allocated_bytes.large_pool.current 9437184");
}

static void giving_a_segment_back_counts_what_it_held(void **state)
{
    check_stats(*state, "seg 0 20M, alloc 0 9M, free 0 9M, unseg 0 20M", "",
                "segment.all.current 0, segment.all.peak 1, segment.all.allocated 1, segment.all.freed 1, reserved_bytes.all.freed 20971520,"
                "num_device_alloc 1, num_device_free 1");
}

static void oversize_blocks_and_segments_are_those_above_the_split_limit(void **state)
{
    check_stats(*state, "{max_split_size_mb:64} seg 0 100M, alloc 0 100M, free 0 100M, seg 128M 40M, alloc 128M 40M", "0: 100Mi; 128M: 40Ma40M",
                "oversize_segments.current 1, oversize_allocations.current 0, oversize_allocations.allocated 1, oversize_allocations.freed 1,"
                "max_split_size 67108864");
}

static void without_a_split_limit_nothing_is_oversize(void **state)
{
    check_stats(*state, "seg 0 100M, alloc 0 100M", "0: 100Ma100M", "oversize_segments.allocated 0, oversize_allocations.allocated 0, max_split_size -1");
}

static void a_pending_free_is_active_and_not_allocated(void **state)
{
    check_stats(*state, "seg 0 2M, alloc 0 1000, alloc 1024 512, req 0 1000, free 1024 512", "0: 1024p1000 2096128i",
                "allocation.all.current 0, allocated_bytes.all.current 0, active.all.current 1, active_bytes.all.current 1024,"
                "requested_bytes.all.current 1000");
}

static void peaks_are_kept_for_each_counter_alone(void **state)
{
    check_stats(*state, "seg 0 2M, alloc 0 512, alloc 512 512, alloc 1024 512, free 0 512, free 512 512, alloc 0 1024",
                "0: 1024a1024 512a512 2095616i", "allocation.all.peak 3, allocated_bytes.all.peak 1536, allocation.all.current 2");
}

/* ---- what the file cannot tell ---- */

static void a_cut_history_knows_the_state_and_no_totals(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, "alloc 1024 500", "0: 1024a1000 512a500 2095616i");
    struct msnap_stats stats = stats_of(f, &b);
    struct msnap_stat list[MSNAP_N_STATS];
    msnap_stats_list(&stats, list);
    check_key(&stats, "allocated_bytes.all.current", 1536);
    check_key(&stats, "reserved_bytes.all.current", 2 * M);
    check_key(&stats, "inactive_split.all.current", 1);
    for (size_t i = 0; i < MSNAP_N_STATS; i++)
        if (strstr(list[i].key, ".peak") || strstr(list[i].key, ".allocated") || strstr(list[i].key, ".freed") || strncmp(list[i].key, "num_", 4) == 0)
            if (list[i].known)
                fail_msg("%s cannot be known", list[i].key);
    story_over(&b);
}

static void keys_are_those_of_pytorch_in_order(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, "seg 0 2M, alloc 0 512", "0: 512a512 2096640i");
    struct msnap_stats stats = stats_of(f, &b);
    struct msnap_stat list[MSNAP_N_STATS];
    msnap_stats_list(&stats, list);
    for (size_t i = 1; i < MSNAP_N_STATS; i++)
        if (strcmp(list[i - 1].key, list[i].key) >= 0)
            fail_msg("%s does not stand before %s", list[i - 1].key, list[i].key);
    story_over(&b);
}

/* ---- retries: not recorded, told from the releases ---- */

static void a_release_that_a_failed_cudamalloc_explains_is_a_retry(void **state)
{
    check_stats(*state,
                "seg 0 20M @A, alloc 0 20M @A, seg 32M 30M @A, alloc 32M 30M @A, free 0 20M @A, unseg 0 20M @B, seg 64M 24M @B, alloc 64M 24M @B",
                "32M: 30Ma30M; 64M: 24Ma24M", "num_alloc_retries 1, num_sync_all_streams 1");
}

static void a_release_with_another_stack_is_an_empty_cache(void **state)
{
    check_stats(*state,
                "seg 0 20M @A, alloc 0 20M @A, seg 32M 30M @A, alloc 32M 30M @A, free 0 20M @A, unseg 0 20M @C, seg 64M 24M @B, alloc 64M 24M @B",
                "32M: 30Ma30M; 64M: 24Ma24M", "num_alloc_retries 0, num_sync_all_streams 1");
}

static void a_release_that_fits_below_what_was_held_before_is_an_empty_cache(void **state)
{
    /* 80 MiB were held once, so 20 + 24 cannot have been refused. */
    check_stats(*state,
                "seg 0 20M, alloc 0 20M, seg 128M 60M, alloc 128M 60M, free 128M 60M, unseg 128M 60M, free 0 20M, unseg 0 20M, seg 64M 24M, alloc 64M 24M",
                "64M: 24Ma24M", "num_alloc_retries 0");
}

static void giving_back_what_would_have_served_is_an_empty_cache(void **state)
{
    /* cudnn.benchmark: the release has the stack of the allocation that follows. */
    check_stats(*state, "seg 0 20M @A, alloc 0 20M @A, free 0 20M @A, unseg 0 20M @B, seg 32M 20M @B, alloc 32M 20M @B", "32M: 20Ma20M",
                "num_alloc_retries 0, num_sync_all_streams 1");
}

static void a_release_at_the_end_is_an_empty_cache(void **state)
{
    check_stats(*state, "seg 0 20M, alloc 0 20M, free 0 20M, unseg 0 20M", "", "num_alloc_retries 0, num_sync_all_streams 1");
}

static void the_garbage_collector_neither_retries_nor_waits(void **state)
{
    check_stats(*state,
                "{garbage_collection_threshold:0.5} seg 0 20M, alloc 0 20M, seg 32M 40M, alloc 32M 40M, free 0 20M, unseg 0 20M, seg 96M 2M, alloc 96M 500",
                "32M: 40Ma40M; 96M: 512a500 2096640i", "num_alloc_retries 0, num_sync_all_streams 0");
}

static void an_oom_comes_after_a_retry(void **state)
{
    check_stats(*state, "seg 0 2M, alloc 0 512, oom 64M 3M", "0: 512a512 2096640i", "num_ooms 1, num_alloc_retries 1, num_sync_all_streams 1");
}

static void releases_of_a_failing_call_belong_to_its_retry(void **state)
{
    check_stats(*state, "seg 0 20M @A, alloc 0 20M @A, free 0 20M @A, unseg 0 20M @B, oom 64M 3M @B", "",
                "num_ooms 1, num_alloc_retries 1, num_sync_all_streams 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(splitting_a_whole_segment_leaves_an_inactive_split),
        TEST(splitting_a_remainder_again_moves_only_bytes),
        TEST(taking_a_remainder_whole_ends_the_split),
        TEST(a_whole_segment_was_never_split),
        TEST(an_unsplit_remainder_is_allocated),
        TEST(merging_is_one_net_change),
        TEST(a_free_between_two_live_blocks_is_a_new_split),
        TEST(expandable_memory_counts_as_reserved_and_not_as_segments),
        TEST(the_pools_are_counted_apart),
        TEST(a_private_pool_counts_in_its_class),
        TEST(giving_a_segment_back_counts_what_it_held),
        TEST(oversize_blocks_and_segments_are_those_above_the_split_limit),
        TEST(without_a_split_limit_nothing_is_oversize),
        TEST(a_pending_free_is_active_and_not_allocated),
        TEST(peaks_are_kept_for_each_counter_alone),
        TEST(a_cut_history_knows_the_state_and_no_totals),
        TEST(keys_are_those_of_pytorch_in_order),
        TEST(a_release_that_a_failed_cudamalloc_explains_is_a_retry),
        TEST(a_release_with_another_stack_is_an_empty_cache),
        TEST(a_release_that_fits_below_what_was_held_before_is_an_empty_cache),
        TEST(giving_back_what_would_have_served_is_an_empty_cache),
        TEST(a_release_at_the_end_is_an_empty_cache),
        TEST(the_garbage_collector_neither_retries_nor_waits),
        TEST(an_oom_comes_after_a_retry),
        TEST(releases_of_a_failing_call_belong_to_its_retry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
