/* test_replay.c -- the recorded driver calls on a modelled device, each of them failing in turn. */
#include "support/story.h"

#include <memsnap/replay.h>

/* ---- a modelled device whose calls are counted, and known by the names that errors must say ---- */

static struct {
    struct msnap_gpu gpu;
    uint64_t n, fail_at;
    const char *failed; /* the name of call number fail_at */
} model;

static int noted(const char *name, int code)
{
    if (++model.n == model.fail_at)
        model.failed = name;
    return code;
}

#define CALLS(X)                                                                                                     \
    X(mem_info, "cuMemGetInfo", (void *c, uint64_t *f, uint64_t *t), (c, f, t))                                      \
    X(alloc, "cuMemAlloc", (void *c, uint64_t s, uint64_t *a), (c, s, a))                                            \
    X(release, "cuMemFree", (void *c, uint64_t a), (c, a))                                                           \
    X(reserve, "cuMemAddressReserve", (void *c, uint64_t s, uint64_t *a), (c, s, a))                                 \
    X(unreserve, "cuMemAddressFree", (void *c, uint64_t a, uint64_t s), (c, a, s))                                   \
    X(create, "cuMemCreate", (void *c, uint64_t s, uint64_t *h), (c, s, h))                                          \
    X(destroy, "cuMemRelease", (void *c, uint64_t h), (c, h))                                                        \
    X(map, "cuMemMap", (void *c, uint64_t a, uint64_t s, uint64_t h), (c, a, s, h))                                  \
    X(unmap, "cuMemUnmap", (void *c, uint64_t a, uint64_t s), (c, a, s))                                             \
    X(allow, "cuMemSetAccess", (void *c, uint64_t a, uint64_t s), (c, a, s))                                         \
    X(stream_new, "cuStreamCreate", (void *c, uint64_t *s), (c, s))                                                  \
    X(stream_free, "cuStreamDestroy", (void *c, uint64_t s), (c, s))                                                 \
    X(stream_wait, "cuStreamSynchronize", (void *c, uint64_t s), (c, s))                                             \
    X(alloc_async, "cuMemAllocAsync", (void *c, uint64_t s, uint64_t q, uint64_t *a), (c, s, q, a))                  \
    X(release_async, "cuMemFreeAsync", (void *c, uint64_t a, uint64_t q), (c, a, q))                                 \
    X(pool_used, "cuMemPoolGetAttribute", (void *c, uint64_t *u, uint64_t *v), (c, u, v))                            \
    X(fill, "cuMemsetD32Async", (void *c, uint64_t a, uint64_t s, uint32_t p, uint64_t q), (c, a, s, p, q))          \
    X(read, "cuMemcpyDtoHAsync", (void *c, uint64_t a, void *to, uint64_t s, uint64_t q), (c, a, to, s, q))
#define X(field, name, params, args) \
    static int counted_##field params { return noted(name, model.gpu.field args); }
CALLS(X)
#undef X

static struct msnap_gpu device(uint64_t total, uint64_t context, uint64_t fail_at)
{
    struct msnap_error err = {0};
    memset(&model, 0, sizeof model);
    model.fail_at = fail_at;
    if (msnap_gpu_model(total, context, fail_at, (struct msnap_mem){0}, &model.gpu, &err) != MSNAP_OK)
        fail_msg("%s", err.text);
    struct msnap_gpu g = model.gpu;
#define X(field, name, params, args) g.field = counted_##field;
    CALLS(X)
#undef X
    return g;
}

/* ---- one replay; nothing may be held after it, however it ended ---- */

struct outcome {
    enum msnap_status status;
    struct msnap_replay_result r;
    struct msnap_error err;
};

struct card {
    uint64_t total, context, fail_at;
};

static struct outcome replayed(const struct msnap_history *h, struct card c, struct msnap_replay_options o)
{
    struct outcome out;
    memset(&out, 0, sizeof out);
    struct msnap_gpu g = device(c.total, c.context, c.fail_at);
    out.status = msnap_replay_run(h, &g, &o, &out.r, &out.err);
    if (msnap_gpu_model_held(&model.gpu))
        fail_msg("still held, after call %llu (%s) failed and %s", (unsigned long long)c.fail_at, model.failed ? model.failed : "none", out.err.text);
    g.close(g.ctx);
    return out;
}

static struct outcome succeeds(const struct msnap_history *h, struct card c, struct msnap_replay_options o)
{
    struct outcome out = replayed(h, c, o);
    if (out.status != MSNAP_OK)
        fail_msg("%s", out.err.text);
    return out;
}

static struct outcome is_refused(const struct msnap_history *h, struct card c, struct msnap_replay_options o, enum msnap_status status, const char *words)
{
    struct outcome out = replayed(h, c, o);
    assert_int_equal(out.status, status);
    assert_int_equal(out.err.status, status);
    if (!strstr(out.err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", out.err.text, words);
    return out;
}

static const struct card big = {160 * G, G / 2, 0};

#define OPTIONS(...) ((struct msnap_replay_options){.mode = __VA_ARGS__}) /* the mode, then others by name */
#define SERVED UINT32_MAX

/* Fails at that event, or SERVED. */
#define assert_ends(o, at, is_reproduced)                       \
    do {                                                        \
        assert_int_equal((o).r.oom ? (o).r.oom_event : SERVED, at); \
        assert_int_equal((o).r.reproduced, is_reproduced);      \
    } while (0)

/* ---- real files ---- */

static struct story real(struct fixture *f, const char *name)
{
    struct story b;
    char path[1000];
    struct msnap_open_options o = {.mem = counting_mem(&f->mem)};
    snprintf(path, sizeof path, "%s/real/%s.pickle.gz", TESTDATA, name);
    if (msnap_snapshot_open(path, &o, &b.s, &f->err) != MSNAP_OK)
        fail_msg("%s: %s", name, f->err.text);
    if (msnap_history_build(b.s, msnap_device_default(b.s), 0, f->arena, &b.h, &f->err) != MSNAP_OK)
        fail_msg("%s: %s", name, f->err.text);
    return b;
}

static const struct file {
    const char *name;
    uint32_t oom; /* the event of the one that ended it */
    bool limited, late;
} files[] = {{"annotated", SERVED, false, false}, {"dcgan", SERVED, false, false}, {"device_oom", 163, false, false}, {"exhausted_oom", 20, true, false},
    {"frag.oom", SERVED, false, false}, {"fragmented_expandable", SERVED, false, false}, {"fragmented_oom", 104, true, false}, {"fx", SERVED, false, false},
    {"gpt.ring", SERVED, false, true}, {"gpt_var.oom", 9244, true, false}, {"graphs", SERVED, false, false}, {"graphs.expandable", SERVED, false, false},
    {"leak_list", SERVED, false, false}, {"mempool", SERVED, false, false}, {"outside_oom", 9, false, false}, {"pending_ok", SERVED, false, false},
    {"streams", SERVED, false, false}, {"streams.expandable", SERVED, false, false}};
#define N_FILES (sizeof files / sizeof *files)

static void real_recordings_end_as_they_did(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < N_FILES; i++) {
        struct story b = real(f, files[i].name);
        const int want = files[i].oom == SERVED ? -1 : 1;
        struct outcome o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_SEGMENTS));
        assert_ends(o, files[i].oom, want);
        assert_int_equal(o.r.limited, files[i].limited);
        assert_int_equal(o.r.peak_held_bytes, b.h.peak_reserved);
        assert_int_equal(o.r.events_issued, files[i].oom == SERVED ? b.h.device->n_events : files[i].oom + 1);
        if (!files[i].late) {
            o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_ALLOCATOR));
            assert_ends(o, files[i].oom, want);
            assert_int_equal(o.r.limited, files[i].limited);
            assert_int_equal(o.r.events_issued, files[i].oom == SERVED ? b.h.device->n_events : files[i].oom + 1);
        }
        story_over(&b);
    }
}

static void blocks_alone_need_no_more_than_they_are(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < N_FILES; i++) {
        struct story b = real(f, files[i].name);
        for (enum msnap_replay_mode mode = MSNAP_REPLAY_ASYNC; mode <= MSNAP_REPLAY_DIRECT; mode++) {
            struct outcome o = succeeds(&b.h, big, OPTIONS(mode));
            assert_true(o.r.peak_held_bytes <= b.h.peak_reserved);
            if (files[i].oom == SERVED)
                assert_ends(o, SERVED, -1);
        }
        story_over(&b);
    }
}

static void no_genuine_blocks_overlap(void **state)
{
    static const char *const names[] = {"graphs", "graphs.expandable", "streams", "streams.expandable", "mempool", "fx"};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct story b = real(f, names[i]);
        for (enum msnap_replay_mode mode = MSNAP_REPLAY_SEGMENTS; mode <= MSNAP_REPLAY_DIRECT; mode++) {
            struct outcome o = succeeds(&b.h, big, OPTIONS(mode, .touch = true));
            assert_int_equal(o.r.overlaps, 0);
            assert_ends(o, SERVED, -1);
        }
        story_over(&b);
    }
}

/* ---- OOM, by the device and by a limit ---- */

#define FULL "seg 0 4096M, alloc 0 4096M, oom 4096M 1024M"
#define FULL_STATE "0: 4096Ma4096M"

static void a_full_card_is_emulated_by_ballast(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, FULL, FULL_STATE);
    for (enum msnap_replay_mode mode = MSNAP_REPLAY_SEGMENTS; mode <= MSNAP_REPLAY_DIRECT; mode++) {
        struct outcome o = succeeds(&b.h, (struct card){80 * G, G, 0}, OPTIONS(mode));
        assert_ends(o, 2, 1);
        assert_int_equal(o.r.ballast_bytes, 80 * G - G - 4 * G - G);
        assert_int_equal(o.r.free_at_start_bytes, 79 * G);
        assert_int_equal(o.r.context_bytes, G);
        assert_int_equal(o.r.peak_held_bytes, 4 * G);
        assert_int_equal(o.r.recorded_oom_event, 2);
        assert_int_equal(o.r.oom_requested, 4 * G);
        assert_false(o.r.limited);
        o = succeeds(&b.h, (struct card){80 * G, G, 0}, OPTIONS(mode, .no_ballast = true));
        assert_ends(o, SERVED, 0);
        assert_int_equal(o.r.ballast_bytes, 0);
        assert_int_equal(o.r.events_issued, 3);
    }
    story_over(&b);
}

static void a_refused_map_asks_for_one_granule_too_many(void **state)
{
    struct fixture *f = *state;
    /* 4500 granules of 20 MiB were free, and the next one was not. */
    struct story b = story(f, "{expandable_segments:True} map 0 20M, alloc 0 20M, oom 100000M 90000M", "x0: 20Ma");
    struct outcome o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_SEGMENTS));
    assert_ends(o, 2, 1);
    assert_false(o.r.limited);
    assert_int_equal(o.r.calls[MSNAP_CALL_MAP].count, 1 + 4501);
    assert_int_equal(o.r.peak_held_bytes, 20 * M);
    o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_SEGMENTS, .no_ballast = true));
    assert_ends(o, SERVED, 0);
    story_over(&b);
}

static void a_limit_says_no_where_the_device_has_room(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, "seg 0 4096M, alloc 0 4096M, oom 4096M 65536M", FULL_STATE);
    for (enum msnap_replay_mode mode = MSNAP_REPLAY_SEGMENTS; mode <= MSNAP_REPLAY_DIRECT; mode++) {
        struct outcome o = succeeds(&b.h, big, OPTIONS(mode));
        assert_ends(o, 2, 1);
        assert_true(o.r.limited);
        o = succeeds(&b.h, big, OPTIONS(mode, .limit_bytes = 9 * G));
        assert_ends(o, SERVED, 0);
        o = succeeds(&b.h, big, OPTIONS(mode, .limit_bytes = 3 * G)); /* refused before the recording was */
        assert_ends(o, mode == MSNAP_REPLAY_SEGMENTS ? 0 : 1, 0);
        assert_true(o.r.limited);
        assert_int_equal(o.r.peak_held_bytes, 0);
    }
    story_over(&b);
}

static void the_device_says_no_within_a_limit(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, FULL, FULL_STATE);
    struct outcome o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_ALLOCATOR, .limit_bytes = 100 * G));
    assert_ends(o, 2, 1);
    assert_false(o.r.limited);
    story_over(&b);
}

static void a_survived_oom_goes_on(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, FULL ", free 0 4096M, alloc 0 1024M", "0: 1024Ma 3072Mi");
    for (enum msnap_replay_mode mode = MSNAP_REPLAY_SEGMENTS; mode <= MSNAP_REPLAY_DIRECT; mode++) {
        struct outcome o = succeeds(&b.h, (struct card){6 * G, G, 0}, OPTIONS(mode));
        assert_ends(o, SERVED, -1);
        assert_false(o.r.recorded_oom);
        assert_int_equal(o.r.events_issued, 6);
    }
    story_over(&b);
}

static void what_fits_fails_on_a_smaller_card(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, "seg 0 2M, alloc 0 1000, seg 4096M 4096M, alloc 4096M 4096M", "0: 1024a1000 2096128i; 4096M: 4096Ma4096M");
    assert_ends(succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_SEGMENTS)), SERVED, -1);
    struct outcome o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_SEGMENTS, .capacity_bytes = 3 * G));
    assert_ends(o, 2, 0);
    assert_int_equal(o.r.oom_requested, 4 * G);
    assert_false(o.r.recorded_oom);
    o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_ALLOCATOR, .capacity_bytes = 3 * G));
    assert_ends(o, 3, 0);
    story_over(&b);
}

static void a_card_that_cannot_do_it_says_why(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, FULL, FULL_STATE);
    is_refused(&b.h, (struct card){5 * G, G, 0}, OPTIONS(MSNAP_REPLAY_SEGMENTS), MSNAP_EDEVICE, "the card has 4096 MiB free, but the recording held 4096 MiB with 1024 MiB free");
    is_refused(&b.h, big, OPTIONS(MSNAP_REPLAY_SEGMENTS, .capacity_bytes = 161 * G), MSNAP_EDEVICE, "the card has 163840 MiB, less than the 164864 MiB of --capacity");
    is_refused(&b.h, big, OPTIONS(MSNAP_REPLAY_SEGMENTS, .capacity_bytes = G / 4), MSNAP_EDEVICE, "hold 512 MiB of the card, more than the 256 MiB");
    assert_ends(succeeds(&b.h, (struct card){6 * G, G, 0}, OPTIONS(MSNAP_REPLAY_SEGMENTS)), 2, 1); /* just enough */
    story_over(&b);
}

static void another_setting_survives(void **state)
{
    struct fixture *f = *state;
    struct story b = real(f, "fragmented_oom");
    struct msnap_sim_config expandable;
    static const char conf[] = "expandable_segments:True";
    assert_int_equal(msnap_sim_config_parse(conf, sizeof conf - 1, &expandable, &f->err), MSNAP_OK);
    struct outcome o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_ALLOCATOR, .config = &expandable));
    assert_ends(o, SERVED, 0);
    assert_true(o.r.recorded_oom);
    assert_true(o.r.calls[MSNAP_CALL_MAP].count > 0);
    assert_int_equal(o.r.calls[MSNAP_CALL_ALLOC].count, 0);
    story_over(&b);
}

/* ---- late starts ---- */

static void what_was_there_before_is_taken_first(void **state)
{
    struct fixture *f = *state;
    struct story b = story(f, "free 1024 2000, alloc 1024 500, seg 32M 20M", "0: 1024a1000 512a500 2095616i; 32M: 20Mi; x64M: 4Ma 2Mi");
    struct outcome o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_SEGMENTS));
    assert_ends(o, SERVED, -1);
    assert_int_equal(o.r.peak_held_bytes, 28 * M);
    assert_int_equal(o.r.calls[MSNAP_CALL_ALLOC].count, 2);
    assert_int_equal(o.r.calls[MSNAP_CALL_RESERVE].count, 1);
    o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_DIRECT));
    assert_int_equal(o.r.peak_held_bytes, 4 * M + 1000 + 2000);
    o = succeeds(&b.h, (struct card){12 * M, 5 * M, 0}, OPTIONS(MSNAP_REPLAY_SEGMENTS));
    assert_ends(o, 0, 0); /* its start does not fit */
    o = succeeds(&b.h, (struct card){8 * M, 5 * M, 0}, OPTIONS(MSNAP_REPLAY_DIRECT));
    assert_ends(o, 0, 0);
    is_refused(&b.h, big, OPTIONS(MSNAP_REPLAY_ALLOCATOR), MSNAP_EUSAGE, "begins late");
    story_over(&b);
}

/* ---- recordings that contradict themselves ---- */

static void a_planted_overlap_is_found(void **state)
{
    struct fixture *f = *state;
    struct story b = story(f, "seg 0 2M, alloc 0 2048, alloc 1024 1024, alloc 4096 512, free 4096 512, free 0 2048, free 1024 1024", "0: 2Mi");
    struct outcome o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_SEGMENTS, .touch = true));
    assert_int_equal(o.r.overlaps, 1);
    assert_int_equal(o.r.first_overlap, 6);
    o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_DIRECT, .touch = true)); /* there each block has its own memory */
    assert_int_equal(o.r.overlaps, 0);
    story_over(&b);
}

static void pages_that_were_never_mapped_are_said(void **state)
{
    struct fixture *f = *state;
    struct story b = story(f, "map 0 2M, unmap 0 2M, unmap 0 2M", "");
    is_refused(&b.h, big, OPTIONS(MSNAP_REPLAY_SEGMENTS), MSNAP_EDATA, "never mapped");
    story_over(&b);
}

/* ---- every call fails in turn ---- */

static bool takes_memory(const char *call) { return !strcmp(call, "cuMemAlloc") || !strcmp(call, "cuMemCreate") || !strcmp(call, "cuMemAllocAsync"); }

/* Returns how many calls there were to fail. */
static uint64_t sweep(const struct msnap_history *h, struct msnap_replay_options o)
{
    const struct outcome whole = succeeds(h, big, o);
    const uint64_t n = model.n;
    for (uint64_t k = 1; k <= n; k++) {
        const struct card c = {big.total, big.context, k};
        struct outcome got = replayed(h, c, o);
        assert_non_null(model.failed);
        if (got.status == MSNAP_OK) {
            if (!takes_memory(model.failed))
                fail_msg("%s failed as call %llu, and nobody said so", model.failed, (unsigned long long)k);
            assert_true(got.r.events_issued <= whole.r.events_issued || whole.r.oom);
        } else {
            assert_int_equal(got.status, MSNAP_EDEVICE);
            if (strncmp(got.err.text, model.failed, strlen(model.failed)) != 0)
                fail_msg("%s failed as call %llu; said was: %s", model.failed, (unsigned long long)k, got.err.text);
        }
    }
    const struct card untouched = {big.total, big.context, n + 1};
    struct outcome again = succeeds(h, untouched, o);
    assert_int_equal(model.n, n);
    assert_int_equal(again.r.events_issued, whole.r.events_issued);
    assert_int_equal(again.r.peak_held_bytes, whole.r.peak_held_bytes);
    return n;
}

static void sweep_modes(const struct msnap_history *h, bool late)
{
    for (enum msnap_replay_mode mode = MSNAP_REPLAY_SEGMENTS; mode <= MSNAP_REPLAY_DIRECT; mode++)
        if (mode != MSNAP_REPLAY_ALLOCATOR || !late)
            for (int touch = 0; touch < 2; touch++)
                assert_true(sweep(h, OPTIONS(mode, .touch = touch == 1)) > 0);
}

static void each_call_fails_in_scripts(void **state)
{
    static const struct {
        const char *events, *segments;
        bool late;
    } scripts[] = {
        {FULL, FULL_STATE, false},
        {"seg 0 64M, alloc 0 64M, oom 64M 32M, free 0 64M, alloc 0 16M", "0: 16Ma 48Mi", false},
        {"seg 0 4096M, alloc 0 4096M, oom 4096M 65536M", FULL_STATE, false},
        {"{expandable_segments:True} map 0 2M, alloc 0 1000, oom 1000 8M", "x0: 1024a1000 2096128i", false},
        {"{expandable_segments:True} map 0 20M, map 20M 20M, alloc 0 30M, free 0 30M, unmap 0 40M, map 0 20M, alloc 0 20M", "x0: 20Ma", false},
        {"seg 0 2M #7, alloc 0 1000 #7, free 0 1000 #7, unseg 0 2M #7", "", false},
        {"free 1024 2000, alloc 1024 500, seg 32M 20M", "0: 1024a1000 512a500 2095616i; 32M: 20Mi; x64M: 4Ma 2Mi", true}};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct story b = story(f, scripts[i].events, scripts[i].segments);
        sweep_modes(&b.h, scripts[i].late);
        story_over(&b);
    }
}

static void each_call_fails_in_real_recordings(void **state)
{
    static const char *const names[] = {"exhausted_oom", "fragmented_expandable", "graphs.expandable", "graphs", "streams.expandable", "mempool", "device_oom"};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct story b = real(f, names[i]);
        for (enum msnap_replay_mode mode = MSNAP_REPLAY_SEGMENTS; mode <= MSNAP_REPLAY_DIRECT; mode++)
            sweep(&b.h, OPTIONS(mode));
        story_over(&b);
    }
    struct story b = real(f, "metadata");
    for (enum msnap_replay_mode mode = MSNAP_REPLAY_SEGMENTS; mode <= MSNAP_REPLAY_ALLOCATOR; mode++)
        sweep(&b.h, OPTIONS(mode, .touch = true));
    story_over(&b);
}

/* ---- stopping ---- */

static int stop_later(void *ctx, uint64_t event, uint64_t n_events, uint64_t held)
{
    int *left = ctx;
    (void)held;
    assert_true(event < n_events);
    return (*left)-- == 0;
}

/* Returns how often it could be stopped. */
static int stopped_at_each_tick(const struct msnap_history *h, struct msnap_replay_options o)
{
    for (int k = 0;; k++) {
        int left = k;
        o.progress = stop_later;
        o.progress_ctx = &left;
        struct outcome got = replayed(h, big, o);
        if (got.status == MSNAP_OK)
            return k;
        assert_int_equal(got.status, MSNAP_ECANCELLED);
        assert_int_equal(got.err.status, MSNAP_ECANCELLED);
        assert_non_null(strstr(got.err.text, "given back"));
    }
}

static void stopping_gives_everything_back(void **state)
{
    static const char *const names[] = {"dcgan", "streams.expandable", "gpt_var.oom", "frag.oom"};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct story b = real(f, names[i]);
        for (enum msnap_replay_mode mode = MSNAP_REPLAY_SEGMENTS; mode <= MSNAP_REPLAY_DIRECT; mode++)
            assert_true(stopped_at_each_tick(&b.h, OPTIONS(mode)) > 0);
        story_over(&b);
    }
}

static void the_recorded_pace_is_kept(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, "seg 0 2M, alloc 0 1000, free 0 1000, alloc 0 1000, free 0 1000, alloc 0 500", "0: 512a500 2096640i");
    for (enum msnap_replay_mode mode = MSNAP_REPLAY_SEGMENTS; mode <= MSNAP_REPLAY_DIRECT; mode++) {
        struct outcome o = succeeds(&b.h, big, OPTIONS(mode, .recorded_pace = true));
        assert_true(o.r.seconds >= 70e-6); /* the last event begins 70 microseconds after the first */
        assert_true(stopped_at_each_tick(&b.h, OPTIONS(mode, .recorded_pace = true)) > 0);
    }
    story_over(&b);
}

/* ---- the rest ---- */

static void calls_are_counted_and_timed(void **state)
{
    struct fixture *f = *state;
    struct story b = true_story(f, "seg 0 2M, alloc 0 1000, free 0 1000, unseg 0 2M, seg 0 2M, alloc 0 1000", "0: 1024a1000 2096128i");
    struct outcome o = succeeds(&b.h, big, OPTIONS(MSNAP_REPLAY_SEGMENTS));
    assert_int_equal(o.r.calls[MSNAP_CALL_ALLOC].count, 2);
    assert_int_equal(o.r.calls[MSNAP_CALL_FREE].count, 1);
    assert_int_equal(o.r.calls[MSNAP_CALL_MAP].count, 0);
    const struct msnap_call_times *t = &o.r.calls[MSNAP_CALL_ALLOC];
    assert_true(t->median <= t->p99 || t->count < 100);
    assert_true(t->p99 <= t->max && t->max <= t->sum);
    assert_string_equal(msnap_call_name(MSNAP_CALL_UNMAP), "unmap");
    assert_string_equal(msnap_call_name(MSNAP_N_CALLS), "");
    story_over(&b);
}

static void a_model_needs_memory_and_room_for_its_context(void **state)
{
    struct fixture *f = *state;
    struct msnap_gpu g;
    assert_int_equal(msnap_gpu_model(G, 2 * G, 0, (struct msnap_mem){0}, &g, &f->err), MSNAP_EDEVICE);
    f->mem.left = 0;
    assert_int_equal(msnap_gpu_model(2 * G, G, 0, counting_mem(&f->mem), &g, &f->err), MSNAP_ENOMEM);
    f->mem.left = 1; /* the model itself, and no table */
    assert_int_equal(msnap_gpu_model(2 * G, G, 0, counting_mem(&f->mem), &g, &f->err), MSNAP_OK);
    uint64_t addr;
    assert_int_equal(g.alloc(g.ctx, M, &addr), MSNAP_GPU_OUT_OF_MEMORY);
    assert_int_equal(msnap_gpu_model_held(&g), 0);
    g.close(g.ctx);
    f->mem.left = SIZE_MAX;
}

static void a_model_takes_back_only_what_it_gave(void **state)
{
    struct fixture *f = *state;
    struct msnap_gpu g;
    uint64_t addr, at, handle;
    assert_int_equal(msnap_gpu_model(2 * G, G, 0, (struct msnap_mem){0}, &g, &f->err), MSNAP_OK);
    assert_int_equal(g.alloc(g.ctx, 2 * G, &addr), MSNAP_GPU_OUT_OF_MEMORY);
    assert_int_equal(g.alloc(g.ctx, UINT64_MAX, &addr), MSNAP_GPU_OUT_OF_MEMORY);
    assert_int_equal(g.alloc(g.ctx, 1, &addr), 0);
    assert_int_equal(msnap_gpu_model_held(&g), 2 * M + 1);
    assert_int_equal(g.release(g.ctx, addr), 0);
    assert_int_not_equal(g.release(g.ctx, addr), 0);
    assert_int_equal(g.reserve(g.ctx, 4 * M, &at), 0);
    assert_int_equal(g.create(g.ctx, 4 * M, &handle), 0);
    assert_int_not_equal(g.map(g.ctx, at + 2 * M, 4 * M, handle), 0); /* beyond the reservation */
    assert_int_equal(g.map(g.ctx, at, 4 * M, handle), 0);
    assert_int_not_equal(g.unreserve(g.ctx, at, 4 * M), 0); /* still mapped */
    assert_int_not_equal(g.unmap(g.ctx, at, 2 * M), 0);
    assert_int_equal(g.unmap(g.ctx, at, 4 * M), 0);
    assert_int_equal(g.destroy(g.ctx, handle), 0);
    assert_int_equal(g.unreserve(g.ctx, at, 4 * M), 0);
    assert_int_equal(msnap_gpu_model_held(&g), 0);
    g.close(g.ctx);
}

static void a_gpu_that_is_not_there_is_said(void **state)
{
    struct fixture *f = *state;
    struct msnap_gpu g;
    assert_int_equal(msnap_gpu_open(100000, &g, &f->err), MSNAP_EDEVICE); /* with a driver and without */
    assert_true(strstr(f->err.text, "GPU") || strstr(f->err.text, "CUDA driver"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(real_recordings_end_as_they_did),
        TEST(blocks_alone_need_no_more_than_they_are),
        TEST(no_genuine_blocks_overlap),
        TEST(a_full_card_is_emulated_by_ballast),
        TEST(a_refused_map_asks_for_one_granule_too_many),
        TEST(a_limit_says_no_where_the_device_has_room),
        TEST(the_device_says_no_within_a_limit),
        TEST(a_survived_oom_goes_on),
        TEST(what_fits_fails_on_a_smaller_card),
        TEST(a_card_that_cannot_do_it_says_why),
        TEST(another_setting_survives),
        TEST(what_was_there_before_is_taken_first),
        TEST(a_planted_overlap_is_found),
        TEST(pages_that_were_never_mapped_are_said),
        TEST(each_call_fails_in_scripts),
        TEST(each_call_fails_in_real_recordings),
        TEST(stopping_gives_everything_back),
        TEST(the_recorded_pace_is_kept),
        TEST(calls_are_counted_and_timed),
        TEST(a_model_needs_memory_and_room_for_its_context),
        TEST(a_model_takes_back_only_what_it_gave),
        TEST(a_gpu_that_is_not_there_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
