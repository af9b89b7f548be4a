/* test_tune.c -- settings ranked by what simulating them gives, and the bounds that none beats. */
#include "support/story.h"

#include <memsnap/tune.h>

static struct msnap_tune tuned(struct fixture *f, const struct story *b, enum msnap_tune_by by, uint64_t limit, unsigned threads)
{
    const struct msnap_requests *r;
    struct msnap_tune t = {0};
    const struct msnap_tune_options o = {.by = by, .limit = limit, .capacity = MSNAP_NO_LIMIT, .threads = threads};
    if (msnap_requests_build(&b->h, f->arena, &r, &f->err) != MSNAP_OK || msnap_tune_run(&b->h, r, &o, f->arena, &t, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return t;
}

/* A recording whose cycles of 91 and 45.5 MiB keep 2 MiB: the default settings need a segment more than a split limit. */
static struct story two_cycles(struct fixture *f)
{
    return true_story(f,
                      "seg 0 92M, alloc 0 91M, seg 128M 46M, alloc 128M 46592K, free 0 91M, free 128M 46592K, alloc 128M 2M,"
                      "alloc 0 91M, seg 192M 46M, alloc 192M 46592K, free 0 91M, free 192M 46592K, alloc 130M 2M",
                      "0: 92Mi; 128M: 2Ma2M 2Ma2M 42Mi; 192M: 46Mi");
}

static struct story real_file(struct fixture *f, const char *name)
{
    struct story b = {NULL, {0}};
    char path[1000];
    struct msnap_open_options o = {.mem = counting_mem(&f->mem)};
    snprintf(path, sizeof path, "%s/real/%s", TESTDATA, name);
    if (msnap_snapshot_open(path, &o, &b.s, &f->err) != MSNAP_OK || msnap_history_build(b.s, &b.s->devices[0], 0, f->arena, &b.h, &f->err) != MSNAP_OK)
        fail_msg("%s: %s", name, f->err.text);
    return b;
}

static const struct msnap_tune_row *row_of(const struct msnap_tune *t, const char *conf)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->rows[i].conf, conf) == 0)
            return &t->rows[i];
    fail_msg("\"%s\" was not tried", conf);
    return NULL;
}

static void at_least_sixty_settings_are_tried(void **state)
{
    struct story b = two_cycles(*state);
    struct msnap_tune t = tuned(*state, &b, MSNAP_TUNE_BY_PEAK, 400 * M, 1);
    assert_true(t.n >= 60);
    story_over(&b);
}

static void the_collector_is_left_out_where_no_limit_would_let_it_work(void **state)
{
    struct story b = two_cycles(*state);
    struct msnap_tune t = tuned(*state, &b, MSNAP_TUNE_BY_PEAK, MSNAP_NO_LIMIT, 1);
    assert_true(t.n >= 50);
    for (size_t i = 0; i < t.n; i++)
        assert_null(strstr(t.rows[i].conf, "garbage_collection_threshold"));
    story_over(&b);
}

static void every_setting_is_one_that_pytorch_takes(void **state)
{
    struct fixture *f = *state;
    struct story b = two_cycles(f);
    struct msnap_tune t = tuned(f, &b, MSNAP_TUNE_BY_PEAK, MSNAP_NO_LIMIT, 1);
    for (size_t i = 0; i < t.n; i++) {
        struct msnap_sim_config c;
        if (msnap_sim_config_parse(t.rows[i].conf, strlen(t.rows[i].conf), &c, &f->err) != MSNAP_OK)
            fail_msg("%s: %s", t.rows[i].conf, f->err.text);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(t.rows[k].conf, t.rows[i].conf);
    }
    story_over(&b);
}

static void peaks_are_those_of_the_simulation(void **state)
{
    struct story b = two_cycles(*state);
    struct msnap_tune t = tuned(*state, &b, MSNAP_TUNE_BY_PEAK, MSNAP_NO_LIMIT, 1);
    assert_int_equal(row_of(&t, "")->peak_reserved, 184 * M);
    assert_int_equal(row_of(&t, "max_split_size_mb:32")->peak_reserved, 158 * M);
    assert_int_equal(row_of(&t, "expandable_segments:True")->peak_reserved, 140 * M);
    story_over(&b);
}

static void the_lowest_peak_comes_first(void **state)
{
    struct story b = two_cycles(*state);
    struct msnap_tune t = tuned(*state, &b, MSNAP_TUNE_BY_PEAK, MSNAP_NO_LIMIT, 1);
    for (size_t i = 1; i < t.n; i++)
        assert_true(t.rows[i - 1].peak_reserved <= t.rows[i].peak_reserved);
    story_over(&b);
}

static void what_fits_comes_before_what_does_not(void **state)
{
    struct story b = two_cycles(*state);
    struct msnap_tune t = tuned(*state, &b, MSNAP_TUNE_BY_PEAK, 150 * M, 1);
    bool failed = false;
    assert_true(t.rows[0].fits);
    assert_true(row_of(&t, "expandable_segments:True")->fits);
    for (size_t i = 0; i < t.n; i++) {
        assert_false(failed && t.rows[i].fits);
        failed = failed || !t.rows[i].fits;
    }
    story_over(&b);
}

static void the_recorded_settings_are_marked(void **state)
{
    struct story b = two_cycles(*state);
    struct msnap_tune t = tuned(*state, &b, MSNAP_TUNE_BY_PEAK, MSNAP_NO_LIMIT, 1);
    size_t marked = 0;
    for (size_t i = 0; i < t.n; i++)
        marked += t.rows[i].recorded;
    assert_true(marked >= 1);
    assert_true(row_of(&t, "")->recorded);
    assert_false(row_of(&t, "expandable_segments:True")->recorded);
    story_over(&b);
}

static void threads_change_nothing(void **state)
{
    struct story b = real_file(*state, "gpt_var.oom.pickle.gz");
    for (int by = MSNAP_TUNE_BY_PEAK; by <= MSNAP_TUNE_BY_LIMIT; by++) {
        struct msnap_tune one = tuned(*state, &b, (enum msnap_tune_by)by, MSNAP_NO_LIMIT, 1);
        struct msnap_tune four = tuned(*state, &b, (enum msnap_tune_by)by, MSNAP_NO_LIMIT, 4);
        assert_int_equal(one.n, four.n);
        for (size_t i = 0; i < one.n; i++) {
            assert_string_equal(one.rows[i].conf, four.rows[i].conf);
            assert_int_equal(one.rows[i].peak_reserved, four.rows[i].peak_reserved);
            assert_int_equal(one.rows[i].cuda_mallocs, four.rows[i].cuda_mallocs);
            assert_int_equal(one.rows[i].smallest_limit, four.rows[i].smallest_limit);
        }
        assert_int_equal(one.packed, four.packed);
    }
    story_over(&b);
}

static bool fits_under(struct fixture *f, const struct story *b, const char *conf, uint64_t limit)
{
    const struct msnap_requests *r;
    struct msnap_sim_config c;
    struct msnap_sim_result res;
    if (msnap_requests_build(&b->h, f->arena, &r, &f->err) != MSNAP_OK || msnap_sim_config_parse(conf, strlen(conf), &c, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    c.limit = limit;
    if (msnap_simulate(r, &c, NULL, &res, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return !res.oom;
}

static void the_smallest_limit_fits_and_two_mebibytes_less_do_not(void **state)
{
    struct fixture *f = *state;
    struct story b = two_cycles(f);
    struct msnap_tune t = tuned(f, &b, MSNAP_TUNE_BY_LIMIT, MSNAP_NO_LIMIT, 1);
    size_t known = 0;
    for (size_t i = 0; i < t.n; i++) {
        if (!t.rows[i].limit_known)
            continue;
        known++;
        if (!fits_under(f, &b, t.rows[i].conf, t.rows[i].smallest_limit))
            fail_msg("%s does not fit under its limit", t.rows[i].conf);
        if (!strstr(t.rows[i].conf, "garbage") && fits_under(f, &b, t.rows[i].conf, t.rows[i].smallest_limit - 2 * M))
            fail_msg("%s fits under a smaller limit", t.rows[i].conf);
    }
    assert_int_equal(known, t.n);
    story_over(&b);
}

static void a_limit_below_the_recorded_blocks_may_hold_with_less_rounding(void **state)
{
    /* 84 MiB, recorded with halves of powers of two as 96. */
    struct story b = true_story(*state, "{roundup_power2_divisions:2} seg 0 96M, alloc 0 84M, free 0 84M", "0: 96Mi");
    struct msnap_tune t = tuned(*state, &b, MSNAP_TUNE_BY_LIMIT, MSNAP_NO_LIMIT, 1);
    assert_true(row_of(&t, "")->limit_known);
    assert_in_range(row_of(&t, "")->smallest_limit, 84 * M, 86 * M);
    assert_in_range(row_of(&t, "roundup_power2_divisions:2")->smallest_limit, 96 * M, 98 * M);
    story_over(&b);
}

static void no_setting_beats_the_bounds(void **state)
{
    static const char *const files[] = {"gpt_var.oom.pickle.gz", "frag.oom.pickle.gz", "streams.pickle.gz", "graphs.pickle.gz"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct story b = real_file(*state, files[i]);
        struct msnap_tune t = tuned(*state, &b, MSNAP_TUNE_BY_PEAK, MSNAP_NO_LIMIT, 1);
        assert_true(t.requested_peak <= t.live_peak);
        if (t.packed < t.requested_peak)
            fail_msg("%s: packed into %llu, though %llu are live at once", files[i], (unsigned long long)t.packed, (unsigned long long)t.requested_peak);
        for (size_t k = 0; k < t.n; k++)
            if (t.rows[k].fits && t.rows[k].peak_reserved < t.requested_peak)
                fail_msg("%s: %s holds less than what is live", files[i], t.rows[k].conf);
        story_over(&b);
    }
}

/* ---- packing ---- */

static uint64_t packed(struct fixture *f, const char *events, const char *segments)
{
    struct story b = true_story(f, events, segments);
    uint64_t bytes;
    if (msnap_pack_offline(&b.h, f->arena, &bytes, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    story_over(&b);
    return bytes;
}

static void what_lives_together_adds_up(void **state)
{
    assert_int_equal(packed(*state, "seg 0 20M, alloc 0 4M, alloc 4M 5M, alloc 9M 3M", "0: 4Ma4M 5Ma5M 3Ma3M 8Mi"), 12 * M);
}

static void what_never_meets_shares_a_place(void **state)
{
    assert_int_equal(packed(*state, "seg 0 20M, alloc 0 4M, free 0 4M, alloc 0 5M, free 0 5M, alloc 0 3M", "0: 3Ma3M 17Mi"), 5 * M);
}

static void the_future_is_known(void **state)
{
    /* 4 and 4 leave a place of 8 only if they lie side by side: 2 lives on, and is put elsewhere. */
    assert_int_equal(packed(*state, "seg 0 20M, alloc 0 4M, alloc 4M 2M, alloc 6M 4M, free 0 4M, free 6M 4M, alloc 6M 8M", "0: 4Mi 2Ma2M 8Ma8M 6Mi"), 10 * M);
}

static void a_block_from_before_the_recording_lives_from_the_start(void **state)
{
    assert_int_equal(packed(*state, "alloc 4M 4M", "0: 4Ma4M 4Ma4M 12Mi"), 8 * M);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(at_least_sixty_settings_are_tried),
        TEST(the_collector_is_left_out_where_no_limit_would_let_it_work),
        TEST(every_setting_is_one_that_pytorch_takes),
        TEST(peaks_are_those_of_the_simulation),
        TEST(the_lowest_peak_comes_first),
        TEST(what_fits_comes_before_what_does_not),
        TEST(the_recorded_settings_are_marked),
        TEST(threads_change_nothing),
        TEST(the_smallest_limit_fits_and_two_mebibytes_less_do_not),
        TEST(a_limit_below_the_recorded_blocks_may_hold_with_less_rounding),
        TEST(no_setting_beats_the_bounds),
        TEST(what_lives_together_adds_up),
        TEST(what_never_meets_shares_a_place),
        TEST(the_future_is_known),
        TEST(a_block_from_before_the_recording_lives_from_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
