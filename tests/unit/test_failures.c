/* test_failures.c -- every allocation fails in turn; each time it is said, and nothing is kept. */
#include "support/check.h"

#include <memsnap/check.h>
#include <memsnap/classify.h>
#include <memsnap/frag.h>
#include <memsnap/oom.h>
#include <memsnap/rank.h>
#include <memsnap/tune.h>

/* What rests on the books. */
static enum msnap_status judge(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_error *err)
{
    struct msnap_stats stats;
    struct msnap_frag frag;
    struct msnap_sim_config config;
    const struct msnap_requests *requests;
    const struct msnap_oom *ooms;
    size_t n;
    uint64_t packed;
    enum msnap_status status = msnap_stats_build(h, arena, &stats, err);
    if (status == MSNAP_OK)
        status = msnap_oom_find(h, NULL, arena, &ooms, &n, err);
    if (status == MSNAP_OK)
        status = msnap_frag_build(h, msnap_last_event(h), MSNAP_FRAG_OVER_TIME, arena, &frag, err);
    if (status == MSNAP_OK)
        status = msnap_sim_config_recorded(h, arena, &config, err);
    if (status == MSNAP_OK)
        status = msnap_requests_build(h, arena, &requests, err);
    return status == MSNAP_OK ? msnap_pack_offline(h, arena, &packed, err) : status;
}

/* Reads and analyses one file on an allocator that grants `grants` pieces. */
static enum msnap_status whole_run(struct counting *c, const char *path, const void *bytes, size_t n, struct msnap_error *err)
{
    struct msnap_open_options o = {.mem = counting_mem(c)};
    struct msnap_snapshot *s = NULL;
    enum msnap_status status = path ? msnap_snapshot_open(path, &o, &s, err) : msnap_snapshot_read(bytes, n, &o, &s, err);
    if (status != MSNAP_OK) {
        assert_null(s);
        return status;
    }
    struct msnap_arena *arena = msnap_arena_new(o.mem);
    if (!arena)
        status = MSNAP_ENOMEM;
    for (size_t d = 0; d < s->n_devices && status == MSNAP_OK; d++) {
        struct msnap_history h;
        struct msnap_rank r;
        struct msnap_grouping g;
        struct msnap_steps steps;
        struct msnap_classes classes;
        status = msnap_history_build(s, &s->devices[d], MSNAP_WITH_SERIES, arena, &h, err);
        if (status == MSNAP_OK)
            status = msnap_steps_build(&h, arena, &steps, err);
        if (status == MSNAP_OK)
            status = msnap_classify(&h, &steps, NULL, arena, &classes, err);
        if (status == MSNAP_OK)
            h.classes = &classes;
        h.steps = &steps;
        for (int by = 0; by < MSNAP_N_GROUP_BY && status == MSNAP_OK; by++)
            status = msnap_rank_build(&h, h.peak.event, (enum msnap_group_by)by, arena, &r, err);
        if (status == MSNAP_OK && s->devices[d].device != MSNAP_HOST)
            status = judge(&h, arena, err);
        if (status == MSNAP_OK)
            status = msnap_grouping_build(&h, h.peak.event, MSNAP_BY_STACK, 8, arena, &g, err);
    }
    const struct msnap_fault *faults;
    size_t n_faults;
    if (status == MSNAP_OK)
        status = msnap_check(s, NULL, arena, &faults, &n_faults, err);
    msnap_arena_free(arena);
    msnap_snapshot_free(s);
    return status;
}

static void sweep(const char *name, bool from_path)
{
    char path[1000];
    size_t n, grants = 0;
    unsigned char *bytes = file_bytes(name, &n);
    enum msnap_status status = MSNAP_ENOMEM;
    snprintf(path, sizeof path, "%s/%s", TESTDATA, name);
    for (; status == MSNAP_ENOMEM; grants++) {
        struct counting c = {.left = grants};
        struct msnap_error err = {0};
        status = whole_run(&c, from_path ? path : NULL, bytes, n, &err);
        if (c.held)
            fail_msg("%s, %zu grants: %zu bytes are still held", name, grants, c.held);
        if (status != MSNAP_OK && status != MSNAP_ENOMEM)
            fail_msg("%s, %zu grants: status %d: %s", name, grants, (int)status, err.text);
        if (status == MSNAP_OK)
            assert_int_equal(c.refused, 0); /* a refusal that nobody reports is a bug */
    }
    assert_true(grants > 5);
    free(bytes);
}

static void reading_and_books(void **state)
{
    (void)state;
    static const char *const files[] = {"good_protocol4.pickle", "good_protocol0_python2.pickle", "good_2.0_history.pickle", "good_cut.pickle",
        "good_devices_1_and_5.pickle", "good_fx_frames.pickle", "good_user_metadata.pickle", "good_2.14.pickle", "good_host.pickle",
        "odd_unknown_action.pickle", "odd_unknown_keys.pickle", "good_gzip.pickle.gz", "real/graphs.expandable.pickle.gz", "real/fragmented_oom.pickle.gz",
        "real/gpt_var.oom.pickle.gz"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        sweep(files[i], false);
}

static void opening_a_file(void **state)
{
    (void)state;
    sweep("good_protocol4.pickle", true);
    sweep("real/streams.pickle.gz", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(reading_and_books), TEST(opening_a_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
