/* test_sim.c -- the simulated allocator decides as PyTorch's does. Sections are those of docs/allocator.md. */
#include "support/sim_play.h"

/* A world under `conf`, with what the test says. */
#define WORLD(conf)                                          \
    struct fixture *f_ = *state;                             \
    struct play w_, *w = &w_;                                \
    play_start(w, counting_mem(&f_->mem), conf)
#define PLAY(words, heard) assert_string_equal(play(w, words), heard)
#define END play_end(w)

/* ---- rounding ---- */

struct rounding {
    uint64_t n, with[5]; /* 1, 2, 4, 8, 16 divisions */
};

static void requests_are_rounded_by_division(void **state)
{
    (void)state;
    static const struct rounding table[] = {
        {1, {512, 512, 512, 512, 512}},
        {512, {512, 512, 512, 512, 512}},
        {513, {1024, 1024, 1024, 1024, 1024}},
        {1200, {1536, 1536, 1536, 1536, 1536}},
        {2049, {2560, 3072, 2560, 2560, 2560}},
        {4097, {4608, 6144, 5120, 4608, 4608}},
        {1048575, {1048576, 1048576, 1048576, 1048576, 1048576}},
        {1048577, {1049088, 1572864, 1310720, 1179648, 1114112}},
        {3000000, {3000320, 3145728, 3145728, 3145728, 3014656}},
        {7340033, {7340544, 8388608, 8388608, 7864320, 7602176}},
        {88080384, {88080384, 100663296, 100663296, 92274688, 88080384}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (unsigned d = 0; d < 5; d++) {
            struct msnap_alloc_config c = {.max_split = MSNAP_UNLIMITED};
            for (int k = 0; k < 16; k++)
                c.divisions[k] = 1u << d;
            const uint64_t got = msnap_round_size(&c, table[i].n);
            if (got != table[i].with[d])
                fail_msg("%" PRIu64 " with %u divisions is %" PRIu64 ", not %" PRIu64, table[i].n, 1u << d, got, table[i].with[d]);
        }
}

static void no_divisions_is_one(void **state)
{
    (void)state;
    const struct msnap_alloc_config c = {.max_split = MSNAP_UNLIMITED};
    assert_int_equal(msnap_round_size(&c, 1048577), 1049088);
}

static void divisions_go_by_the_class_of_the_request(void **state)
{
    (void)state;
    struct msnap_alloc_config c = {.max_split = MSNAP_UNLIMITED};
    c.divisions[1] = 2; /* [2, 4) MiB */
    assert_int_equal(msnap_round_size(&c, 2 * M - 1), 2 * M);
    assert_int_equal(msnap_round_size(&c, 2 * M + 1), 3 * M);
    assert_int_equal(msnap_round_size(&c, 4 * M + 1), 4 * M + 512);
}

static void segments_go_by_the_rounded_size(void **state)
{
    (void)state;
    const struct msnap_alloc_config c = {.large_segment = 20 * M}, big = {.large_segment = 64 * M};
    assert_int_equal(msnap_segment_size(&c, 512), 2 * M);
    assert_int_equal(msnap_segment_size(&c, 1 * M), 2 * M);
    assert_int_equal(msnap_segment_size(&c, 1 * M + 512), 20 * M);
    assert_int_equal(msnap_segment_size(&c, 10 * M - 512), 20 * M);
    assert_int_equal(msnap_segment_size(&c, 10 * M), 10 * M);
    assert_int_equal(msnap_segment_size(&c, 10 * M + 512), 12 * M);
    assert_int_equal(msnap_segment_size(&big, 10 * M - 512), 64 * M);
    assert_int_equal(msnap_segment_size(&big, 10 * M), 10 * M); /* that boundary stays */
}

/* ---- the worked examples of the specification ---- */

static void example_slack(void **state)
{
    WORLD("");
    PLAY("a=3M", "seg S0 20M, a S0");
    PLAY("b=12M", "b S0+3M");
    PLAY("c=4608K", "c S0+15M");
    assert_int_equal(play_block_size(w, 'c'), 5 * M); /* half a MiB is not split off */
    PLAY("d=1000", "seg S1 2M, d S1");
    assert_int_equal(play_block_size(w, 'd'), 1024);
    PLAY("-a e=2648K", "e S0");
    assert_int_equal(play_block_size(w, 'e'), 3 * M);
    PLAY("-b -c -d -e !", "unseg S0, unseg S1"); /* the large pool first */
    END;
}

static void example_tie(void **state)
{
    WORLD("");
    w->descending = true;
    PLAY("a=20M b=20M -a -b", "seg S0 20M, a S0, seg S1 20M, b S1");
    PLAY("c=20971008", "c S1"); /* the lower address, though it came last and was freed last */
    assert_int_equal(play_block_size(w, 'c'), 20 * M);
    END;
}

static void example_expandable(void **state)
{
    WORLD("expandable_segments:True");
    PLAY("a=3M", "map V0 20M, a V0");
    PLAY("b=60M", "map V0+20M 60M, b V0+3M");
    PLAY("c=5M", "c V0+63M");
    PLAY("-b !", "unmap V0+20M 40M"); /* left: free [3, 20) and [60, 63) */
    assert_int_equal(w->sim.held, 40 * M);
    PLAY("d=17M", "d V0+3M");
    PLAY("e=25M", "map V0+20M 40M, e V0+20M");
    PLAY("-a -c -d -e !", "unmap V0 80M");
    assert_int_equal(w->sim.held, 0);
    PLAY("f=1M", "map V1 2M, f V1"); /* the reservation was given up; the small pool has its own */
    END;
}

static void example_max_split(void **state)
{
    WORLD("max_split_size_mb:64");
    PLAY("a=100M -a b=90M", "seg S0 100M, a S0, b S0");
    assert_int_equal(play_block_size(w, 'b'), 100 * M);
    PLAY("-b c=79M", "seg S1 80M, c S1"); /* 100 is not below 79 + 20 */
    assert_int_equal(play_block_size(w, 'c'), 80 * M);
    PLAY("d=10M", "seg S2 10M, d S2"); /* an oversize block is for oversize requests */
    END;
}

static void slack_of_oversize_blocks_is_strictly_below_its_limit(void **state)
{
    WORLD("max_split_size_mb:64");
    PLAY("a=100M -a b=80M", "seg S0 100M, a S0, seg S1 80M, b S1");
    PLAY("c=83886592", "c S0"); /* 80 MiB and 512 bytes */
    END;
}

static void example_garbage_collection(void **state)
{
    WORLD("garbage_collection_threshold:0.5");
    w->sim.config.limit = 100 * M;
    PLAY("a=20M b=40M -a", "seg S0 20M, a S0, seg S1 40M, b S1");
    PLAY("c=500", "unseg S0, seg S2 2M, c S2");
    assert_int_equal(w->sim.counters.retries, 0);
    assert_int_equal(w->sim.counters.syncs, 0);
    END;
}

static void example_limit(void **state)
{
    WORLD("");
    w->sim.config.limit = 64 * M;
    PLAY("a=20M b=30M -a c=24M", "seg S0 20M, a S0, seg S1 30M, b S1, unseg S0, seg S2 24M, c S2");
    assert_int_equal(w->sim.counters.retries, 1);
    assert_int_equal(w->sim.counters.syncs, 1);
    END;
}

/* ---- choosing a block ---- */

static void the_smallest_block_that_fits_is_taken(void **state)
{
    WORLD("");
    PLAY("a=30M b=20M c=40M -a -b -c", "seg S0 30M, a S0, seg S1 20M, b S1, seg S2 40M, c S2");
    PLAY("d=15M", "d S1");
    PLAY("e=25M", "e S0");
    END;
}

static void a_mebibyte_is_kept_and_more_is_split_off(void **state)
{
    WORLD("");
    PLAY("a=19M", "seg S0 20M, a S0");
    assert_int_equal(play_block_size(w, 'a'), 20 * M);
    PLAY("b=19922432", "seg S1 20M, b S1"); /* 19 MiB - 1 KiB would be 20 - 1 MiB - 512 */
    END;
}

static void small_blocks_split_to_512(void **state)
{
    WORLD("");
    PLAY("a=1048064 b=512 c=1048576", "seg S0 2M, a S0, b S0+1048064, c S0+1M");
    END;
}

static void streams_do_not_share(void **state)
{
    WORLD("");
    PLAY("a=20M -a b=20M#7", "seg S0 20M, a S0, seg S1 20M, b S1");
    END;
}

static void pools_do_not_share(void **state)
{
    WORLD("");
    PLAY("a=20M -a b=20M%3 -b c=20M%4 d=20M", "seg S0 20M, a S0, seg S1 20M, b S1, seg S2 20M, c S2, d S0");
    END;
}

static void small_and_large_do_not_share(void **state)
{
    WORLD("");
    PLAY("a=20M -a b=1M", "seg S0 20M, a S0, seg S1 2M, b S1");
    END;
}

static void division_may_push_a_request_into_the_large_pool(void **state)
{
    WORLD("roundup_power2_divisions:2");
    PLAY("a=1100000", "seg S0 20M, a S0");
    assert_int_equal(play_block_size(w, 'a'), 1572864);
    END;
}

static void the_growing_tail_of_expandable_memory_is_kept_for_last(void **state)
{
    /* Free: [0, 20) and the tail [40, 60); the tail is the larger for what lies unmapped behind it. */
    WORLD("expandable_segments:True");
    PLAY("a=20M b=20M c=20M -a -c", "map V0 20M, a V0, map V0+20M 20M, b V0+20M, map V0+40M 20M, c V0+40M");
    PLAY("d=15M", "d V0");
    END;
}

static void of_equal_expandable_blocks_the_lower_is_taken(void **state)
{
    WORLD("expandable_segments:True");
    PLAY("a=20M b=20M c=20M d=20M -a -c",
         "map V0 20M, a V0, map V0+20M 20M, b V0+20M, map V0+40M 20M, c V0+40M, map V0+60M 20M, d V0+60M");
    PLAY("e=15M", "e V0");
    END;
}

static void expandable_blocks_split_to_512(void **state)
{
    WORLD("expandable_segments:True");
    PLAY("a=20971008 b=19M", "map V0 20M, a V0, map V0+20M 20M, b V0+20971008");
    assert_int_equal(play_block_size(w, 'a'), 20 * M - 512);
    END;
}

static void small_expandable_memory_grows_by_two_mebibytes(void **state)
{
    WORLD("expandable_segments:True");
    PLAY("a=1M b=1M c=1M", "map V0 2M, a V0, b V0+1M, map V0+2M 2M, c V0+2M");
    END;
}

static void large_segment_size_is_also_the_granule(void **state)
{
    WORLD("expandable_segments:True,large_segment_size_mb:64");
    PLAY("a=3M b=62M", "map V0 64M, a V0, map V0+64M 64M, b V0+3M");
    END;
}

/* ---- pending frees ---- */

static void a_pending_block_serves_nobody(void **state)
{
    WORLD("");
    PLAY("a=20M ~a b=20M", "seg S0 20M, a S0, seg S1 20M, b S1");
    assert_int_equal(w->sim.counters.family[MSNAP_BYTES_ACTIVE][0].current, 40 * M);
    assert_int_equal(w->sim.counters.family[MSNAP_BYTES_ALLOCATED][0].current, 20 * M);
    END;
}

static void a_block_that_is_done_is_freed_by_the_next_malloc(void **state)
{
    WORLD("");
    PLAY("a=20M ~a ^a", "seg S0 20M, a S0");
    PLAY("b=20M", "done a, b S0");
    END;
}

static void nothing_is_completed_during_a_capture(void **state)
{
    WORLD("");
    PLAY("a=20M ~a ^a b=20M%3", "seg S0 20M, a S0, seg S1 20M, b S1");
    END;
}

static void pending_blocks_do_not_merge(void **state)
{
    WORLD("");
    PLAY("a=10M -a", "seg S0 10M, a S0");
    PLAY("b=4M c=6M ~b -c d=10M", "b S0, c S0+4M, seg S1 10M, d S1");
    END;
}

static void empty_cache_waits_for_pending_blocks(void **state)
{
    WORLD("");
    PLAY("a=20M ~a !", "seg S0 20M, a S0, done a, unseg S0");
    PLAY("", "");
    END;
}

static void done_twice_is_done_once(void **state)
{
    WORLD("");
    PLAY("a=20M b=20M ~a ^a ^a -b c=20M", "seg S0 20M, a S0, seg S1 20M, b S1, done a, c S0");
    END;
}

/* ---- growth, releases, failure ---- */

static void a_retry_gives_everything_back_large_before_small(void **state)
{
    WORLD("");
    w->sim.config.limit = 64 * M;
    PLAY("a=1M b=20M#7 c=20M -a -b -c d=44M",
         "seg S0 2M, a S0, seg S1 20M, b S1, seg S2 20M, c S2, unseg S2, unseg S1, unseg S0, seg S3 44M, d S3");
    END;
}

static void a_block_that_a_retry_waits_for_is_not_searched_again(void **state)
{
    /* Its segment cannot go, for b lies in it: PyTorch fails here although 6 MiB are free by then. */
    WORLD("");
    w->sim.config.limit = 20 * M;
    PLAY("a=10M -a b=4M a=6M", "seg S0 10M, a S0, b S0, a S0+4M");
    PLAY("~a c=6M", "done a, oom 6M");
    END;
}

static void after_an_oom_everything_stands(void **state)
{
    WORLD("");
    w->sim.config.limit = 64 * M;
    PLAY("a=30M b=40M", "seg S0 30M, a S0, oom 40M");
    assert_int_equal(w->sim.counters.ooms, 1);
    assert_int_equal(w->sim.counters.retries, 1);
    PLAY("c=30M", "seg S1 30M, c S1");
    END;
}

static void the_limit_is_checked_with_the_whole_segment(void **state)
{
    WORLD("");
    w->sim.config.limit = 39 * M;
    PLAY("a=18M b=3M", "seg S0 18M, a S0, seg S1 20M, b S1");
    PLAY("-a -b !", "unseg S0, unseg S1");
    PLAY("a=20M b=3M", "seg S2 20M, a S2, oom 3M"); /* 3 MiB would need 20 */
    END;
}

static void the_limit_itself_may_be_held(void **state)
{
    WORLD("");
    w->sim.config.limit = 64 * M;
    PLAY("a=30M b=34M c=2M", "seg S0 30M, a S0, seg S1 34M, b S1, oom 2M");
    END;
}

static void expandable_memory_is_checked_as_if_it_were_ordinary(void **state)
{
    /* 8.2: 100 MiB are checked as 100 and map 120, so that held exceeds the limit by less than a granule. */
    WORLD("expandable_segments:True");
    w->sim.config.limit = 105 * M;
    PLAY("a=100M", "map V0 100M, a V0");
    PLAY("b=3M", "oom 3M"); /* a granule of 20 is headroom that is asked for */
    PLAY("-a !", "unmap V0 100M");
    PLAY("c=101M", "map V1 120M, c V1");
    assert_int_equal(w->sim.held, 120 * M);
    END;
}

static void the_device_s_capacity_ends_growth_as_a_limit_does(void **state)
{
    WORLD("");
    w->sim.config.capacity = 64 * M;
    PLAY("a=30M b=34M c=2M", "seg S0 30M, a S0, seg S1 34M, b S1, oom 2M");
    END;
}

static void what_was_mapped_before_the_device_said_no_stays(void **state)
{
    WORLD("expandable_segments:True");
    w->sim.config.capacity = 80 * M;
    PLAY("a=20M b=20M c=20M -b !", "map V0 20M, a V0, map V0+20M 20M, b V0+20M, map V0+40M 20M, c V0+40M, unmap V0+20M 20M");
    PLAY("-c d=65M", "map V0+20M 20M, unmap V0+20M 40M, oom 65M");
    assert_int_equal(w->sim.held, 20 * M); /* a; the retry gave the rest back */
    END;
}

static void with_a_split_limit_one_oversize_block_may_be_enough(void **state)
{
    WORLD("max_split_size_mb:64");
    w->sim.config.limit = 300 * M;
    PLAY("a=100M b=150M -a -b", "seg S0 100M, a S0, seg S1 150M, b S1");
    PLAY("c=70M", "unseg S0, seg S2 70M, c S2"); /* 11.3: only the smallest that is large enough goes */
    assert_int_equal(w->sim.counters.retries, 0);
    END;
}

static void with_a_split_limit_several_are_released_from_the_largest_down(void **state)
{
    WORLD("max_split_size_mb:64");
    w->sim.config.limit = 300 * M;
    PLAY("a=100M b=90M c=70M -a -b -c", "seg S0 100M, a S0, seg S1 90M, b S1, seg S2 70M, c S2");
    PLAY("d=180M", "unseg S0, unseg S1, seg S3 180M, d S3");
    END;
}

static void the_collector_takes_the_old_and_spares_the_young(void **state)
{
    WORLD("garbage_collection_threshold:0.5");
    w->sim.config.limit = 100 * M;
    PLAY("a=20M -a b=22M c=24M -c", "seg S0 20M, a S0, seg S1 22M, b S1, seg S2 24M, c S2");
    PLAY("d=26M", "unseg S0, seg S3 26M, d S3"); /* a has age 3, c 1: the mean is 2 */
    END;
}

static void the_collector_goes_on_in_rounds_until_it_has_enough(void **state)
{
    WORLD("garbage_collection_threshold:0.5");
    w->sim.config.limit = 100 * M;
    PLAY("a=12M -a b=22M c=44M -c", "seg S0 12M, a S0, seg S1 22M, b S1, seg S2 44M, c S2");
    PLAY("d=46M", "unseg S0, unseg S2, seg S3 46M, d S3"); /* 78 - 50 = 28 are wanted, the first round gives 12 */
    assert_int_equal(w->sim.counters.retries, 0);
    END;
}

static void without_a_limit_there_is_no_collector(void **state)
{
    WORLD("garbage_collection_threshold:0.5");
    PLAY("a=20M -a b=30M", "seg S0 20M, a S0, seg S1 30M, b S1");
    END;
}

static void a_private_pool_is_given_back_when_it_is_asked_for(void **state)
{
    WORLD("");
    PLAY("a=20M%3 -a !", "seg S0 20M, a S0");
    PLAY("!%3", "unseg S0");
    END;
}

/* ---- published: each cycle takes 91 and 45.5 MiB and keeps 2 ---- */

static uint64_t cycles(struct play *w, int n, const char *cycle)
{
    for (int i = 0; i < n; i++)
        play(w, cycle);
    return w->sim.held;
}

static void kept_blocks_split_what_the_next_cycle_needs(void **state)
{
    /* The 2 MiB go into the freed 46, which 45.5 then no longer fit: one more segment, and from there on the
     * remainder serves the kept blocks. */
    WORLD("");
    assert_int_equal(cycles(w, 1, "a=91M b=46592K -a -b k=2M"), 138 * M);
    assert_int_equal(cycles(w, 1, "a=91M b=46592K -a -b k=2M"), 184 * M);
    assert_int_equal(cycles(w, 21, "a=91M b=46592K -a -b k=2M"), 184 * M);
    assert_int_equal(cycles(w, 2, "a=91M b=46592K -a -b k=2M"), 230 * M);
    END;
}

static void a_split_limit_keeps_them_apart(void **state)
{
    WORLD("max_split_size_mb:32");
    assert_int_equal(cycles(w, 1, "a=91M b=46592K -a -b k=2M"), 158 * M);
    assert_int_equal(cycles(w, 9, "a=91M b=46592K -a -b k=2M"), 158 * M); /* ten of 2 MiB in a segment of 20 */
    assert_int_equal(cycles(w, 1, "a=91M b=46592K -a -b k=2M"), 178 * M);
    END;
}

static void expandable_memory_grows_by_what_is_kept(void **state)
{
    WORLD("expandable_segments:True");
    const uint64_t first = cycles(w, 1, "a=91M b=46592K -a -b k=2M");
    assert_int_equal(first, 140 * M);
    assert_int_equal(cycles(w, 30, "a=91M b=46592K -a -b k=2M"), 200 * M); /* 31 * 2 + 136.5, in granules of 20 */
    END;
}

/* ---- a state to begin with ---- */

static void a_late_start_counts_from_its_state(void **state)
{
    WORLD("");
    const uint32_t lane = msnap_sim_lane(&w->sim, 1, 0, 0, false);
    const uint32_t segment = msnap_sim_put_segment(&w->sim, play_segment(w, 20 * M), 20 * M, lane, false);
    w->block['a'] = msnap_sim_put_block(&w->sim, segment, w->segment[0] + 4 * M, 4 * M, 4 * M - 5, SIM_ALLOCATED, 'a');
    msnap_sim_start(&w->sim);
    assert_int_equal(w->sim.held, 20 * M);
    assert_int_equal(w->sim.counters.family[MSNAP_BYTES_ALLOCATED][0].current, 4 * M);
    assert_int_equal(w->sim.counters.family[MSNAP_BYTES_REQUESTED][0].current, 4 * M - 5);
    assert_int_equal(w->sim.counters.family[MSNAP_COUNT_INACTIVE_SPLIT][0].current, 2);
    PLAY("b=4M", "b S0"); /* the smaller of the two gaps */
    PLAY("-a -b c=20M", "c S0");
    END;
}

/* ---- failure of our own ---- */

static void without_memory_it_says_so(void **state)
{
    struct fixture *f = *state;
    for (size_t grants = 0;; grants++) {
        struct play w;
        struct msnap_sim_config c;
        assert_int_equal(msnap_sim_config_parse("", 0, &c, &f->err), MSNAP_OK);
        memset(&w, 0, sizeof w);
        f->mem.left = grants;
        f->mem.refused = 0;
        const struct msnap_sim_driver driver = {&w, play_segment, play_reservation, play_map, play_unmap, play_gone};
        bool ok = msnap_sim_init(&w.sim, counting_mem(&f->mem), &c, &driver);
        for (uint32_t i = 0; ok && i < 40; i++) {
            const uint32_t id = msnap_sim_malloc(&w.sim, (1 + i % 7) << 20, 1, i % 3, i % 3, false, i);
            if (id && i % 3)
                msnap_sim_free(&w.sim, id, i % 2);
            ok = !w.sim.out_of_memory;
        }
        msnap_sim_release(&w.sim);
        f->mem.left = SIZE_MAX;
        if (ok) {
            assert_int_equal(f->mem.refused, 0);
            assert_true(grants > 5);
            return;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_are_rounded_by_division),
        TEST(no_divisions_is_one),
        TEST(divisions_go_by_the_class_of_the_request),
        TEST(segments_go_by_the_rounded_size),
        TEST(example_slack),
        TEST(example_tie),
        TEST(example_expandable),
        TEST(example_max_split),
        TEST(slack_of_oversize_blocks_is_strictly_below_its_limit),
        TEST(example_garbage_collection),
        TEST(example_limit),
        TEST(the_smallest_block_that_fits_is_taken),
        TEST(a_mebibyte_is_kept_and_more_is_split_off),
        TEST(small_blocks_split_to_512),
        TEST(streams_do_not_share),
        TEST(pools_do_not_share),
        TEST(small_and_large_do_not_share),
        TEST(division_may_push_a_request_into_the_large_pool),
        TEST(the_growing_tail_of_expandable_memory_is_kept_for_last),
        TEST(of_equal_expandable_blocks_the_lower_is_taken),
        TEST(expandable_blocks_split_to_512),
        TEST(small_expandable_memory_grows_by_two_mebibytes),
        TEST(large_segment_size_is_also_the_granule),
        TEST(a_pending_block_serves_nobody),
        TEST(a_block_that_is_done_is_freed_by_the_next_malloc),
        TEST(nothing_is_completed_during_a_capture),
        TEST(pending_blocks_do_not_merge),
        TEST(empty_cache_waits_for_pending_blocks),
        TEST(done_twice_is_done_once),
        TEST(a_retry_gives_everything_back_large_before_small),
        TEST(a_block_that_a_retry_waits_for_is_not_searched_again),
        TEST(after_an_oom_everything_stands),
        TEST(the_limit_is_checked_with_the_whole_segment),
        TEST(the_limit_itself_may_be_held),
        TEST(expandable_memory_is_checked_as_if_it_were_ordinary),
        TEST(the_device_s_capacity_ends_growth_as_a_limit_does),
        TEST(what_was_mapped_before_the_device_said_no_stays),
        TEST(with_a_split_limit_one_oversize_block_may_be_enough),
        TEST(with_a_split_limit_several_are_released_from_the_largest_down),
        TEST(the_collector_takes_the_old_and_spares_the_young),
        TEST(the_collector_goes_on_in_rounds_until_it_has_enough),
        TEST(without_a_limit_there_is_no_collector),
        TEST(a_private_pool_is_given_back_when_it_is_asked_for),
        TEST(kept_blocks_split_what_the_next_cycle_needs),
        TEST(a_split_limit_keeps_them_apart),
        TEST(expandable_memory_grows_by_what_is_kept),
        TEST(a_late_start_counts_from_its_state),
        TEST(without_memory_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
