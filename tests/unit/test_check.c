/* test_check.c -- each rule has a file that breaks it, found at its place, beside one that does not. */
#include "support/story.h"

#include <memsnap/check.h>

static const char *const rules[] = {
#define FAULT(id, rule) #id,
#include "analysis/faults.def"
#undef FAULT
};
enum { N_RULES = sizeof rules / sizeof *rules };
static bool broken[N_RULES]; /* by some test here */

static const struct msnap_fault *faults_of(struct fixture *f, const struct msnap_snapshot *s, uint64_t capacity, size_t *n)
{
    const struct msnap_fault *faults;
    const struct msnap_check_options o = {capacity};
    if (msnap_check(s, &o, f->arena, &faults, n, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return faults;
}

static void check_clean(struct fixture *f, const struct msnap_snapshot *s, uint64_t capacity)
{
    size_t n;
    const struct msnap_fault *faults = faults_of(f, s, capacity, &n);
    if (n)
        fail_msg("the undamaged file has the fault %s", faults[0].id);
}

static void check_found(struct fixture *f, const struct msnap_snapshot *s, uint64_t capacity, const char *id, uint32_t event, uint64_t addr)
{
    size_t n;
    const struct msnap_fault *faults = faults_of(f, s, capacity, &n);
    for (size_t r = 0; r < N_RULES; r++)
        broken[r] = broken[r] || strcmp(rules[r], id) == 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(faults[i].id, id) != 0)
            continue;
        assert_true(faults[i].count > 0);
        assert_int_equal(faults[i].device, 0);
        if (faults[i].event != event || faults[i].addr != addr)
            fail_msg("%s is placed at event %u, address +%llu", id, faults[i].event, (unsigned long long)(faults[i].addr - SCRIPT_BASE));
        return;
    }
    fail_msg("%s is not found; the first of %zu faults is %s", id, n, n ? faults[0].id : "none");
}

static void clean(struct fixture *f, const char *events, const char *segments)
{
    struct msnap_snapshot *s = script_snapshot(counting_mem(&f->mem), events, segments);
    check_clean(f, s, 0);
    msnap_snapshot_free(s);
}

/* `at`: the place's address, counted from SCRIPT_BASE; NOWHERE: the fault has none. */
#define NOWHERE UINT64_MAX
static void found(struct fixture *f, const char *events, const char *segments, const char *id, uint32_t event, uint64_t at)
{
    struct msnap_snapshot *s = script_snapshot(counting_mem(&f->mem), events, segments);
    check_found(f, s, 0, id, event, at == NOWHERE ? 0 : SCRIPT_BASE + at);
    msnap_snapshot_free(s);
}
#define DUMP MSNAP_NO_EVENT /* the place is in the state at the dump */

/* Columns are read-only for everyone else; a damaged file is one with another value in a column. */
#define DAMAGE(type, column, row, value) (((type *)(uintptr_t)(column))[row] = (value))

#define GOOD "seg 0 2M, alloc 0 1000, alloc 1024 512", "0: 1024a1000 512a512 2095616i"
static struct msnap_snapshot *good(struct fixture *f)
{
    struct msnap_snapshot *s = script_snapshot(counting_mem(&f->mem), GOOD);
    check_clean(f, s, 0);
    return s;
}

/* ---- the state ---- */

static void a_gap_between_blocks(void **state)
{
    struct msnap_snapshot *s = good(*state);
    DAMAGE(uint64_t, s->blocks.address, 1, SCRIPT_BASE + 1536);
    check_found(*state, s, 0, "blocks_do_not_tile", DUMP, SCRIPT_BASE);
    msnap_snapshot_free(s);
}

static void blocks_that_end_before_their_segment(void **state)
{
    struct msnap_snapshot *s = good(*state);
    DAMAGE(uint64_t, s->segments.total_size, 0, 4 * M);
    check_found(*state, s, 0, "blocks_do_not_tile", DUMP, SCRIPT_BASE);
    msnap_snapshot_free(s);
}

static void a_sum_that_is_not_the_blocks(void **state)
{
    struct msnap_snapshot *s = good(*state);
    DAMAGE(uint64_t, s->segments.active_size, 0, 2048);
    check_found(*state, s, 0, "segment_sums", DUMP, SCRIPT_BASE);
    msnap_snapshot_free(s);
}

static void segments_over_each_other(void **state)
{
    clean(*state, "", "0: 2Mi; 2M: 2Mi");
    found(*state, "", "0: 2Mi; 1M: 2Mi", "segments_overlap", DUMP, 1 * M);
}

static void segments_out_of_order(void **state) { found(*state, "", "32M: 2Mi; 0: 2Mi", "segments_unsorted", DUMP, 0); }

static void two_free_blocks_side_by_side(void **state) { found(*state, "", "0: 1Mi 1Mi", "free_neighbours", DUMP, 1 * M); }

static void a_pending_block_beside_a_free_one_is_no_fault(void **state) { clean(*state, "", "0: 1024p1000 2096128i"); }

static void a_block_smaller_than_its_request(void **state) { found(*state, "", "0: 512a1000 2096640i", "block_size", DUMP, 0); }

static void a_block_off_the_grid_of_512(void **state) { found(*state, "", "0: 1024a1000 600a600 2095528i", "block_size", DUMP, 1024); }

static void a_small_segment_of_another_size(void **state)
{
    struct msnap_snapshot *s = script_snapshot((struct msnap_mem){0}, "", "0: 20Mi");
    check_clean(*state, s, 0);
    DAMAGE(uint8_t, s->segments.type, 0, MSNAP_SEGMENT_SMALL);
    check_found(*state, s, 0, "segment_size", DUMP, SCRIPT_BASE);
    msnap_snapshot_free(s);
}

static void a_large_segment_of_two_mebibytes(void **state)
{
    struct msnap_snapshot *s = good(*state);
    DAMAGE(uint8_t, s->segments.type, 0, MSNAP_SEGMENT_LARGE);
    check_found(*state, s, 0, "segment_size", DUMP, SCRIPT_BASE);
    msnap_snapshot_free(s);
}

static void a_free_block_with_a_stack(void **state)
{
    clean(*state, "", "0: 1024a1000@A 2096128i");
    found(*state, "", "0: 1024a1000@A 2096128i@B", "inactive_stack", DUMP, 1024);
}

/* ---- the entries ---- */

static void an_alloc_without_its_size(void **state)
{
    struct msnap_snapshot *s = good(*state);
    DAMAGE(uint8_t, s->events.has, 1, MSNAP_HAS_ADDR | MSNAP_HAS_STREAM | MSNAP_HAS_TIME);
    check_found(*state, s, 0, "entry_keys", 1, SCRIPT_BASE);
    msnap_snapshot_free(s);
}

static void an_address_that_is_live(void **state) { found(*state, "seg 0 2M, alloc 0 512, alloc 0 512", "0: 512a512 2096640i", "alloc_live", 2, 0); }

static void an_address_inside_a_live_block(void **state)
{
    found(*state, "seg 0 2M, alloc 0 1000, alloc 512 512", "0: 1024a1000 2096128i", "alloc_live", 2, 512);
}

static void a_free_of_another_size(void **state)
{
    clean(*state, "seg 0 2M, alloc 0 1000, free 0 1000", "0: 2Mi");
    found(*state, "seg 0 2M, alloc 0 1000, free 0 512", "0: 2Mi", "free_size", 2, 0);
}

static void a_second_free(void **state) { found(*state, "seg 0 2M, alloc 0 512, free 0 512, free 0 512", "0: 2Mi", "free_without_alloc", 4, 0); }

static void a_free_of_what_was_live_before_the_recording_is_no_fault(void **state) { clean(*state, "free 0 512", "0: 2Mi"); }

static void a_completion_that_nobody_requested(void **state)
{
    clean(*state, "seg 0 2M, alloc 0 512, alloc 512 512, free 0 512, free 512 512", "0: 2Mi");
    found(*state, "seg 0 2M, alloc 0 512, alloc 512 512, free 0 512, done 512 512", "0: 2Mi", "completed_without_request", 5, 512);
}

static void a_clock_that_runs_backwards(void **state)
{
    struct msnap_snapshot *s = good(*state);
    DAMAGE(int64_t, s->events.time_us, 2, 1005);
    check_found(*state, s, 0, "clock_backwards", 2, 0);
    msnap_snapshot_free(s);
}

static void a_segment_that_nobody_needed(void **state)
{
    found(*state, "seg 0 2M, seg 32M 20M, alloc 32M 5M, alloc 0 512", "0: 512a512 2096640i; 32M: 5Ma5M 15Mi", "segment_alloc_unused", 0, 0);
}

static void a_segment_before_an_alloc_elsewhere(void **state)
{
    found(*state, "seg 0 20M, alloc 0 5M, seg 32M 20M, alloc 5M 5M", "0: 5Ma5M 5Ma5M 10Mi; 32M: 20Mi", "segment_alloc_unused", 2, 32 * M);
}

static void an_alloc_outside_all_segments(void **state) { found(*state, "seg 0 2M, alloc 4M 512", "0: 2Mi", "alloc_outside", 1, 4 * M); }

static void an_alloc_in_the_middle_of_a_free_block(void **state)
{
    found(*state, "seg 0 2M, alloc 512 512", "0: 512i 512a512 2096128i", "alloc_misplaced", 1, 512);
}

static void an_alloc_larger_than_its_free_block(void **state) { found(*state, "seg 0 2M, alloc 0 4M", "0: 2Mi", "alloc_misplaced", 1, 0); }

static void a_segment_where_one_exists(void **state)
{
    found(*state, "seg 0 2M, alloc 0 512, seg 0 2M, alloc 0 600", "0: 1024a600 2096128i", "segment_alloc_overlaps", 2, 0);
}

static void a_segment_given_back_in_use(void **state) { found(*state, "seg 0 2M, alloc 0 512, unseg 0 2M", "", "segment_free_unknown", 2, 0); }

static void pages_given_back_in_use(void **state)
{
    clean(*state, "map 0 40M, alloc 0 40M, free 0 40M, alloc 0 20M, unmap 20M 20M", "x0: 20Ma20M");
    found(*state, "map 0 40M, alloc 0 40M, unmap 20M 20M", "x0: 20Ma20M", "segment_free_unknown", 2, 20 * M);
}

/* ---- both ---- */

static void a_block_that_the_events_do_not_leave(void **state)
{
    found(*state, "seg 0 2M, alloc 0 1000, free 0 1000", "0: 1024a1000 2096128i", "end_differs", DUMP, 0);
}

static void a_block_that_the_events_leave_and_the_dump_lacks(void **state) { found(*state, "seg 0 2M, alloc 0 1000", "0: 2Mi", "end_differs", DUMP, 0); }

static void a_size_that_the_rounding_does_not_give(void **state) { found(*state, "", "0: 2048a600 2095104i", "settings_contradict", DUMP, 0); }

static void a_size_that_only_the_settings_explain(void **state)
{
    /* 3,000,000 in halves of 2 MiB are 3 MiB; plain rounding is 2,930 times 1 KiB. */
    clean(*state, "{roundup_power2_divisions:2}", "0: 3Ma3000000 17Mi");
    found(*state, "{max_split_size_mb:64}", "0: 5Ma3000000 15Mi", "settings_contradict", DUMP, 0);
}

static void expandable_memory_with_the_option_off(void **state)
{
    clean(*state, "{expandable_segments:True}", "x0: 20Mi");
    found(*state, "{expandable_segments:False}", "x0: 20Mi", "settings_contradict", DUMP, 0);
}

static void more_than_the_device_holds(void **state)
{
    struct msnap_snapshot *s = good(*state);
    check_clean(*state, s, 2 * M);
    check_found(*state, s, 2 * M - 1, "above_capacity", DUMP, 0);
    msnap_snapshot_free(s);
}

/* ---- annotations ---- */

static const uint32_t note_names[] = {0, 0, 0};
static struct msnap_annotations notes(size_t n, const uint8_t *is_end, const int32_t *device, const int64_t *time_us)
{
    return (struct msnap_annotations){n, note_names, is_end, device, time_us};
}

static void pairs_are_no_fault_and_an_open_one_neither(void **state)
{
    struct msnap_snapshot *s = good(*state);
    s->annotations = notes(3, (const uint8_t[]){0, 1, 0}, (const int32_t[]){0, 0, 0}, (const int64_t[]){1000, 1010, 1010});
    check_clean(*state, s, 0);
    msnap_snapshot_free(s);
}

static void an_end_without_its_start(void **state)
{
    struct msnap_snapshot *s = good(*state);
    s->annotations = notes(3, (const uint8_t[]){0, 1, 1}, (const int32_t[]){0, 0, 0}, (const int64_t[]){1000, 1010, 1010});
    check_found(*state, s, 0, "annotation_pairs", DUMP, 0);
    msnap_snapshot_free(s);
}

static void an_annotation_of_a_device_that_is_not_there(void **state)
{
    struct msnap_snapshot *s = good(*state);
    s->annotations = notes(1, (const uint8_t[]){0}, (const int32_t[]){7}, (const int64_t[]){1000});
    check_found(*state, s, 0, "annotation_pairs", DUMP, 0);
    msnap_snapshot_free(s);
}

static void annotations_out_of_time(void **state)
{
    struct msnap_snapshot *s = good(*state);
    s->annotations = notes(2, (const uint8_t[]){0, 1}, (const int32_t[]){0, 0}, (const int64_t[]){1010, 1000});
    check_found(*state, s, 0, "annotation_pairs", DUMP, 0);
    msnap_snapshot_free(s);
}

/* ---- all together ---- */

static void every_fault_is_counted(void **state)
{
    struct fixture *f = *state;
    struct msnap_snapshot *s = script_snapshot(counting_mem(&f->mem), "seg 0 2M, alloc 4M 512, alloc 8M 512, alloc 16M 512", "0: 2Mi");
    size_t n;
    const struct msnap_fault *faults = faults_of(f, s, 0, &n);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++)
        if (strcmp(faults[i].id, "alloc_outside") == 0)
            assert_int_equal(faults[i].count, 3);
    msnap_snapshot_free(s);
}

static void the_device_is_named(void **state)
{
    struct fixture *f = *state;
    struct msnap_snapshot *s = script_snapshot(counting_mem(&f->mem), "seg 0 2M, alloc 0 512 | seg 0 2M, alloc 4M 512", "0: 512a512 2096640i | 0: 2Mi");
    size_t n;
    const struct msnap_fault *faults = faults_of(f, s, 0, &n);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(faults[i].device, 1);
    msnap_snapshot_free(s);
}

/* Whole runs of PyTorch, with every way a recording may begin and end. */
static void genuine_files_are_clean(void **state)
{
    struct fixture *f = *state;
    static const char *const files[] = {
        "annotated", "cppwriter.python", "dcgan", "device_oom", "exhausted_oom", "frag.oom", "fragmented_expandable", "fragmented_oom", "gpt.ring",
        "gpt_var.nocache", "gpt_var.oom", "graphs", "graphs.expandable", "leak_list", "mempool", "metadata", "mnist.alloc", "outside_oom", "pending_ok",
        "pinned", "streams", "streams.expandable"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1000];
        struct msnap_snapshot *s = NULL;
        size_t n;
        snprintf(path, sizeof path, "%s/real/%s.pickle.gz", TESTDATA, files[i]);
        if (msnap_snapshot_open(path, NULL, &s, &f->err) != MSNAP_OK)
            fail_msg("%s: %s", files[i], f->err.text);
        const struct msnap_fault *faults = faults_of(f, s, 0, &n);
        if (n)
            fail_msg("%s: %s", files[i], faults[0].id);
        msnap_snapshot_free(s);
    }
}

static void every_rule_was_broken_above(void **state)
{
    (void)state;
    for (size_t r = 0; r < N_RULES; r++)
        if (!broken[r])
            fail_msg("no test breaks the rule %s", rules[r]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gap_between_blocks),
        TEST(blocks_that_end_before_their_segment),
        TEST(a_sum_that_is_not_the_blocks),
        TEST(segments_over_each_other),
        TEST(segments_out_of_order),
        TEST(two_free_blocks_side_by_side),
        TEST(a_pending_block_beside_a_free_one_is_no_fault),
        TEST(a_block_smaller_than_its_request),
        TEST(a_block_off_the_grid_of_512),
        TEST(a_small_segment_of_another_size),
        TEST(a_large_segment_of_two_mebibytes),
        TEST(a_free_block_with_a_stack),
        TEST(an_alloc_without_its_size),
        TEST(an_address_that_is_live),
        TEST(an_address_inside_a_live_block),
        TEST(a_free_of_another_size),
        TEST(a_second_free),
        TEST(a_free_of_what_was_live_before_the_recording_is_no_fault),
        TEST(a_completion_that_nobody_requested),
        TEST(a_clock_that_runs_backwards),
        TEST(a_segment_that_nobody_needed),
        TEST(a_segment_before_an_alloc_elsewhere),
        TEST(an_alloc_outside_all_segments),
        TEST(an_alloc_in_the_middle_of_a_free_block),
        TEST(an_alloc_larger_than_its_free_block),
        TEST(a_segment_where_one_exists),
        TEST(a_segment_given_back_in_use),
        TEST(pages_given_back_in_use),
        TEST(a_block_that_the_events_do_not_leave),
        TEST(a_block_that_the_events_leave_and_the_dump_lacks),
        TEST(a_size_that_the_rounding_does_not_give),
        TEST(a_size_that_only_the_settings_explain),
        TEST(expandable_memory_with_the_option_off),
        TEST(more_than_the_device_holds),
        TEST(pairs_are_no_fault_and_an_open_one_neither),
        TEST(an_end_without_its_start),
        TEST(an_annotation_of_a_device_that_is_not_there),
        TEST(annotations_out_of_time),
        TEST(every_fault_is_counted),
        TEST(the_device_is_named),
        TEST(genuine_files_are_clean),
        TEST(every_rule_was_broken_above), /* last */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
