/* test_sim_config.c -- option strings: every option, its limits, and PyTorch's reason for a bad one. */
#include "support/check.h"

#include <memsnap/sim.h>

#define M (UINT64_C(1) << 20)

static struct msnap_sim_config parsed(struct fixture *f, const char *conf)
{
    struct msnap_sim_config c;
    if (msnap_sim_config_parse(conf, strlen(conf), &c, &f->err) != MSNAP_OK)
        fail_msg("\"%s\": %s", conf, f->err.text);
    return c;
}
#define CONF(text) parsed(*state, text)

static void refused(struct fixture *f, const char *conf, const char *reason)
{
    struct msnap_sim_config c = {.limit = 77};
    if (msnap_sim_config_parse(conf, strlen(conf), &c, &f->err) != MSNAP_EUSAGE)
        fail_msg("\"%s\" is taken", conf);
    if (!strstr(f->err.text, reason))
        fail_msg("\"%s\": %s", conf, f->err.text);
    assert_int_equal(c.limit, 77); /* untouched */
}
#define REFUSED(conf, reason) refused(*state, conf, reason)

static void nothing_is_pytorch_s_defaults(void **state)
{
    struct msnap_sim_config c = CONF("");
    assert_int_equal(c.max_split_size, MSNAP_NO_LIMIT);
    assert_int_equal(c.max_non_split_rounding, 20 * M);
    assert_int_equal(c.large_segment_size, 20 * M);
    assert_true(c.gc_threshold == 0);
    assert_true(c.fraction == 1);
    assert_false(c.expandable_segments);
    assert_false(c.async_backend);
    assert_int_equal(c.limit, MSNAP_NO_LIMIT);
    assert_int_equal(c.capacity, MSNAP_NO_LIMIT);
    for (int k = 0; k < 16; k++)
        assert_int_equal(c.divisions[k], 0);
}

/* ---- each option ---- */

static void max_split_size(void **state)
{
    assert_int_equal(CONF("max_split_size_mb:64").max_split_size, 64 * M);
    assert_int_equal(CONF("max_split_size_mb:20").max_split_size, 20 * M); /* 2.10 and later: the edge itself */
    REFUSED("max_split_size_mb:19", "max_split_size_mb must not be below large_segment_size_mb");
    REFUSED("max_split_size_mb:-1", "max_split_size_mb wants a number");
    REFUSED("max_split_size_mb:lots", "max_split_size_mb wants a number");
    REFUSED("max_split_size_mb:", "max_split_size_mb wants a number");
}

static void max_split_size_is_held_against_large_segment_size_wherever_that_stands(void **state)
{
    assert_int_equal(CONF("large_segment_size_mb:12,max_split_size_mb:12").max_split_size, 12 * M);
    assert_int_equal(CONF("max_split_size_mb:12,large_segment_size_mb:12").max_split_size, 12 * M);
    REFUSED("max_split_size_mb:64,large_segment_size_mb:128", "max_split_size_mb must not be below");
}

static void max_non_split_rounding(void **state)
{
    assert_int_equal(CONF("max_non_split_rounding_mb:64").max_non_split_rounding, 64 * M);
    REFUSED("max_non_split_rounding_mb:19", "max_non_split_rounding_mb must not be below large_segment_size_mb");
}

static void large_segment_size(void **state)
{
    assert_int_equal(CONF("large_segment_size_mb:64").large_segment_size, 64 * M);
    assert_int_equal(CONF("large_segment_size_mb:11").large_segment_size, 11 * M);
    REFUSED("large_segment_size_mb:10", "large_segment_size_mb must be above 10");
    REFUSED("large_segment_size_mb:", "large_segment_size_mb must be above 10");
}

static void the_slack_follows_large_segment_size_unless_given(void **state)
{
    assert_int_equal(CONF("large_segment_size_mb:64").max_non_split_rounding, 64 * M);
    assert_int_equal(CONF("max_non_split_rounding_mb:100,large_segment_size_mb:64").max_non_split_rounding, 100 * M);
}

static void garbage_collection_threshold(void **state)
{
    struct msnap_sim_config c = CONF("garbage_collection_threshold:0.6");
    assert_true(c.gc_threshold > 0.5999 && c.gc_threshold < 0.6001);
    REFUSED("garbage_collection_threshold:0", "between 0 and 1, both excluded");
    REFUSED("garbage_collection_threshold:1", "between 0 and 1, both excluded");
    REFUSED("garbage_collection_threshold:1.5", "between 0 and 1, both excluded");
    REFUSED("garbage_collection_threshold:half", "between 0 and 1, both excluded");
}

static void per_process_memory_fraction(void **state)
{
    assert_true(CONF("per_process_memory_fraction:0.25").fraction == 0.25);
    assert_true(CONF("per_process_memory_fraction:0").fraction == 0);
    assert_true(CONF("per_process_memory_fraction:1").fraction == 1);
    REFUSED("per_process_memory_fraction:1.1", "between 0 and 1");
}

static void expandable_segments(void **state)
{
    assert_true(CONF("expandable_segments:True").expandable_segments);
    assert_false(CONF("expandable_segments:False").expandable_segments);
    REFUSED("expandable_segments:true", "True or False, in this spelling");
    REFUSED("expandable_segments:1", "True or False, in this spelling");
    REFUSED("expandable_segments", "an option is NAME:VALUE");
}

static void backend(void **state)
{
    assert_false(CONF("backend:native").async_backend);
    assert_true(CONF("backend:cudaMallocAsync").async_backend);
    REFUSED("backend:jemalloc", "backend must be native or cudaMallocAsync");
}

static void options_of_host_memory_and_locks_change_nothing(void **state)
{
    struct msnap_sim_config plain = CONF("");
    struct msnap_sim_config c = CONF("release_lock_on_cudamalloc:True,pinned_use_cuda_host_register:True,pinned_num_register_threads:8,"
                                     "pinned_use_background_threads:True,pinned_reserve_segment_size_mb:64,graph_capture_record_stream_reuse:False");
    assert_true(msnap_sim_config_equal(&plain, &c));
    REFUSED("pinned_num_register_threads:3", "a power of two up to 128");
    REFUSED("pinned_num_register_threads:256", "a power of two up to 128");
    REFUSED("pinned_reserve_segment_size_mb:0", "must be above 0");
    REFUSED("pinned_use_background_threads:yes", "True or False");
}

/* ---- roundup_power2_divisions ---- */

static void check_divisions(struct fixture *f, const char *conf, const uint64_t want[16])
{
    struct msnap_sim_config c = parsed(f, conf);
    for (int k = 0; k < 16; k++)
        if (c.divisions[k] != want[k])
            fail_msg("%s: class %d has %llu", conf, k, (unsigned long long)c.divisions[k]);
}
#define DIVISIONS(conf, ...) check_divisions(*state, "roundup_power2_divisions:" conf, (const uint64_t[16]){__VA_ARGS__})

static void one_number_is_for_all_classes(void **state) { DIVISIONS("4", 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4); }

static void the_documented_list(void **state)
{
    DIVISIONS("[256:1,512:2,1024:4,>:8]", 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8);
}

static void the_first_pair_fills_the_classes_below(void **state) { DIVISIONS("[4:8]", 8, 8, 8); }
static void skipped_classes_keep_0(void **state) { DIVISIONS("[1:2,8:4]", 2, 0, 0, 4); }
static void the_rest_begins_after_the_last_key(void **state) { DIVISIONS("[16384:2,>:4]", 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 4); }
static void the_rest_alone_is_everything(void **state) { DIVISIONS("[>:16]", 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16); }
static void keys_above_the_last_class_fall_into_it(void **state) { DIVISIONS("[1:2,131072:4]", 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4); }
static void zero_is_plain_rounding(void **state) { DIVISIONS("[1:4,2:0]", 4, 0); }

static void bad_divisions(void **state)
{
    REFUSED("roundup_power2_divisions:3", "must be a power of two");
    REFUSED("roundup_power2_divisions:0", "must be a power of two");
    REFUSED("roundup_power2_divisions:", "must be a power of two");
    REFUSED("roundup_power2_divisions:[3:2]", "sizes in roundup_power2_divisions must be powers of two");
    REFUSED("roundup_power2_divisions:[4:3]", "divisions must be 0 or powers of two");
    REFUSED("roundup_power2_divisions:[4:2", "a ] is missing");
    REFUSED("roundup_power2_divisions:[4]", "pairs SIZE_MB:DIVISIONS");
    REFUSED("roundup_power2_divisions:[", "pairs SIZE_MB:DIVISIONS");
    REFUSED("roundup_power2_divisions:[4:2;8:4]", "a ] is missing");
}

/* ---- the grammar ---- */

static void white_space_is_dropped(void **state)
{
    struct msnap_sim_config c = CONF(" expandable_segments : True , max_split_size_mb:\t64 ");
    assert_true(c.expandable_segments);
    assert_int_equal(c.max_split_size, 64 * M);
}

static void a_last_comma_is_harmless(void **state) { assert_true(CONF("expandable_segments:True,").expandable_segments); }

static void the_last_word_holds(void **state) { assert_int_equal(CONF("max_split_size_mb:64,max_split_size_mb:128").max_split_size, 128 * M); }

static void names_are_as_they_are(void **state)
{
    REFUSED("Expandable_Segments:True", "no such option");
    REFUSED("max_split_size:64", "no such option");
    REFUSED("roundup_bypass_threshold_mb:64", "no such option"); /* 1.13 only */
}

static void options_are_apart_by_commas(void **state)
{
    REFUSED("expandable_segments:True max_split_size_mb:64", "");
    REFUSED("expandable_segments:True:max_split_size_mb:64", "a comma is missing");
    REFUSED("True", "an option is NAME:VALUE");
    REFUSED(",", "an option is NAME:VALUE");
}

static void digits_end_a_number_as_in_stoull(void **state) { assert_int_equal(CONF("max_split_size_mb:64MB").max_split_size, 64 * M); }

static void a_number_that_overflows_is_none(void **state) { REFUSED("max_split_size_mb:99999999999999999999", "max_split_size_mb wants a number"); }

static void a_bad_word_is_shown_and_made_safe(void **state)
{
    REFUSED("colour:\x1b[31m", "at \"colour\"");
    REFUSED("backend:\x1b\x07", "at \"??\"");
}

static void too_much_is_refused_and_never_overruns(void **state)
{
    struct fixture *f = *state;
    struct msnap_sim_config c;
    char text[5000];
    memset(text, ',', sizeof text);
    assert_int_equal(msnap_sim_config_parse(text, sizeof text, &c, &f->err), MSNAP_EUSAGE);
    assert_int_equal(msnap_sim_config_parse(text, 1000, &c, &f->err), MSNAP_EUSAGE);
    memset(text, 'x', sizeof text);
    assert_int_equal(msnap_sim_config_parse(text, 4096, &c, &f->err), MSNAP_EUSAGE);
}

/* ---- equal settings ---- */

static void one_division_is_none(void **state)
{
    struct msnap_sim_config a = CONF(""), b = CONF("roundup_power2_divisions:1"), c = CONF("roundup_power2_divisions:2");
    assert_true(msnap_sim_config_equal(&a, &b));
    assert_false(msnap_sim_config_equal(&a, &c));
}

static void limits_are_no_settings(void **state)
{
    struct msnap_sim_config a = CONF(""), b = a;
    b.limit = 64 * M;
    b.capacity = 128 * M;
    assert_true(msnap_sim_config_equal(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_pytorch_s_defaults),
        TEST(max_split_size),
        TEST(max_split_size_is_held_against_large_segment_size_wherever_that_stands),
        TEST(max_non_split_rounding),
        TEST(large_segment_size),
        TEST(the_slack_follows_large_segment_size_unless_given),
        TEST(garbage_collection_threshold),
        TEST(per_process_memory_fraction),
        TEST(expandable_segments),
        TEST(backend),
        TEST(options_of_host_memory_and_locks_change_nothing),
        TEST(one_number_is_for_all_classes),
        TEST(the_documented_list),
        TEST(the_first_pair_fills_the_classes_below),
        TEST(skipped_classes_keep_0),
        TEST(the_rest_begins_after_the_last_key),
        TEST(the_rest_alone_is_everything),
        TEST(keys_above_the_last_class_fall_into_it),
        TEST(zero_is_plain_rounding),
        TEST(bad_divisions),
        TEST(white_space_is_dropped),
        TEST(a_last_comma_is_harmless),
        TEST(the_last_word_holds),
        TEST(names_are_as_they_are),
        TEST(options_are_apart_by_commas),
        TEST(digits_end_a_number_as_in_stoull),
        TEST(a_number_that_overflows_is_none),
        TEST(a_bad_word_is_shown_and_made_safe),
        TEST(too_much_is_refused_and_never_overruns),
        TEST(one_division_is_none),
        TEST(limits_are_no_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
