/* test_findings.c -- each finding where it is so, and none where it is not. */
#include "support/loop.h"

#include <memsnap/findings.h>

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* Sizes are units of 512 bytes: 2048 are a MiB. */
struct scene {
    struct loop *l;
    struct msnap_leaks leaks;
    struct msnap_facts facts;
    struct msnap_oom oom;
    const struct msnap_finding *v;
    size_t n;
};

static void look(struct fixture *f, struct scene *s, const char *words)
{
    s->l = loop_classified(f, words, NULL, NULL);
    s->l->h.coverage = MSNAP_HISTORY_COMPLETE;
    if (msnap_leaks_find(&s->l->h, &s->l->steps, f->arena, &s->leaks, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    s->facts = (struct msnap_facts){.history = &s->l->h, .steps = &s->l->steps, .classes = &s->l->classes, .leaks = &s->leaks};
}

static void judge(struct fixture *f, struct scene *s)
{
    if (msnap_findings_build(&s->facts, f->arena, &s->v, &s->n, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    for (size_t i = 0; i < s->n; i++) {
        assert_true(strlen(s->v[i].title) > 0 && strlen(s->v[i].evidence) > 0 && strlen(s->v[i].advice) > 0);
        assert_true(i == 0 || s->v[i - 1].severity >= s->v[i].severity);
    }
}

static const struct msnap_finding *find(const struct scene *s, const char *id)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].id, id) == 0)
            return &s->v[i];
    return NULL;
}

static bool has(struct fixture *f, const char *words, const char *id)
{
    struct scene s = {0};
    look(f, &s, words);
    judge(f, &s);
    const bool found = find(&s, id) != NULL;
    free(s.l);
    return found;
}

/* An OOM that ends the run. */
static void give_oom(struct scene *s, enum msnap_verdict verdict)
{
    s->oom = (struct msnap_oom){.event = 1, .requested_bytes = 64 * MIB, .verdict = verdict, .certain = true};
    s->facts.ooms = &s->oom;
    s->facts.n_ooms = 1;
}

/* ---- a run without trouble ---- */

#define PLAIN "U+x3 F+h5000 A+s1 B+g4000 B-h A-s O+u2 O-u Z-g U-x "

static void a_plain_run_has_none(void **state)
{
    struct fixture *f = *state;
    struct scene s = {0};
    look(f, &s, "W+w4000 " PLAIN PLAIN PLAIN PLAIN PLAIN);
    judge(f, &s);
    assert_int_equal(s.n, 0);
    free(s.l);
}

/* ---- over time ---- */

/* Tried, one after the other, then dropped. */
#define TRIALS "B+a40000 B-a B+b140000 B-b B+c20000 B-c B+d150000 B-d "
#define WITH(what) "U+x3 F+h5 A+s1 " what "B+g40 B-h A-s O+u2 O-u Z-g U-x "

static void autotuning(void **state)
{
    assert_true(has(*state, "W+w40 " WITH(TRIALS) WITH("B+e900 B-e ") WITH("B+e900 B-e "), "cudnn_autotune_spike"));
    /* The same in every step is no tuning. */
    assert_false(has(*state, "W+w40 " WITH(TRIALS) WITH(TRIALS "B+e150000 B-e "), "cudnn_autotune_spike"));
    /* One size after the other has been freed, but something was made meanwhile. */
    assert_false(has(*state, "W+w40 " WITH("B+a40000 B+b140000 B+c150000 B+d160000 B-a B-b B-c B-d ") WITH(""), "cudnn_autotune_spike"));
}

#define FIRST "U+x3 F+h60000 A+s1 B+g20000 B-h A-s O+m20000 O+n20000 O+u2 O-u Z-g U-x "
#define LATER "U+x3 F+h60000 A+s1 B+g20000 B-h A-s O+u2 O-u Z-g U-x "

static void the_second_step_is_higher(void **state)
{
    assert_true(has(*state, "W+w20000 " FIRST LATER LATER, "second_iteration_peak"));
    assert_false(has(*state, "W+w20000 " LATER LATER LATER, "second_iteration_peak"));
}

/* Enough of a pass to judge: at least sixteen events. */
#define LONG "B+a2 B-a B+a2 B-a B+a2 B-a B+a2 B-a B+a2 B-a B+a2 B-a B+a2 B-a B+a2 B-a B+a2 B-a "

static void retained_graphs(void **state)
{
    assert_true(has(*state, "W+w40 U+x3 F+h9000 A+s1 " LONG "B+g40 A-s O+u2 O-u Z-g U-h U-x U+x3 F+h9000 A+s1 " LONG "B+g40 A-s O+u2 O-u Z-g U-h U-x", "retained_graph"));
    assert_false(has(*state, "W+w40 U+x3 F+h9000 A+s1 B-h " LONG "B+g40 A-s O+u2 O-u Z-g U-x U+x3 F+h9000 A+s1 B-h " LONG "B+g40 A-s O+u2 O-u Z-g U-x", "retained_graph"));
}

static void kept_gradients(void **state)
{
    assert_true(has(*state, "W+w4000 U+x3 F+h5 A+s1 B+g4000 B-h A-s O+u2 O-u U-x U+x3 F+h5 A+s1 B+a2 B-a B-h A-s O+u2 O-u U-x "
                            "U+x3 F+h5 A+s1 B+a2 B-a B-h A-s O+u2 O-u U-x U+x3 F+h5 A+s1 B+a2 B-a B-h A-s O+u2 O-u U-x", "gradients_kept"));
    assert_false(has(*state, "W+w4000 " PLAIN PLAIN PLAIN PLAIN, "gradients_kept"));
}

#define KEEPS "U+x3 V+k4000 F+h5000 A+s1 B+g4000 B-h A-s O+u2 O-u Z-g U-x "
#define HOLDS "U+x3 F+h5000 F+o6000 A+s1 B+g4000 B-h A-s O+u2 O-u Z-g U-x "

static void growth(void **state)
{
    struct fixture *f = *state;
    struct scene s = {0};
    look(f, &s, "W+w4000 " KEEPS KEEPS KEEPS KEEPS KEEPS KEEPS);
    judge(f, &s);
    assert_non_null(find(&s, "growing_allocations"));
    assert_int_equal(find(&s, "growing_allocations")->severity, MSNAP_PROBLEM);
    assert_int_equal(find(&s, "growing_allocations")->bytes, 4000 * 512);
    assert_non_null(strstr(find(&s, "growing_allocations")->evidence, "train.py:11"));
    assert_null(strstr(find(&s, "growing_allocations")->evidence, "runs out"));
    /* Where the room is known, so is the end. */
    s.facts.capacity_bytes = s.l->h.end.reserved + 10 * 4000 * 512;
    judge(f, &s);
    assert_non_null(strstr(find(&s, "growing_allocations")->evidence, "after 10 more steps"));
    free(s.l);
    assert_true(has(f, "W+w4000 " HOLDS HOLDS HOLDS HOLDS HOLDS HOLDS, "accumulated_outputs"));
    assert_false(has(f, "W+w4000 " HOLDS HOLDS HOLDS HOLDS HOLDS HOLDS, "growing_allocations"));
}

/* ---- proportions ---- */

static void large_optimizer_state(void **state)
{
#define STATED(m, n) "W+w80000 U+x3 F+h9 A+s1 B+g80000 B-h A-s O+m" m " O+n" n " Z-g U-x U+x3 F+h9 A+s1 B+g80000 B-h A-s O+u2 O-u Z-g U-x"
    assert_true(has(*state, STATED("80000", "80000"), "optimizer_state_large"));
    assert_false(has(*state, STATED("80000", "20000"), "optimizer_state_large"));
}

static void activations_that_fill_what_there_is(void **state)
{
    struct fixture *f = *state;
    struct scene s = {0};
    look(f, &s, "W+w4000 U+x3 F+h90000 A+s1 B+g4000 B-h A-s O+u2 O-u Z-g U-x U+x3 F+h90000");
    judge(f, &s);
    assert_null(find(&s, "activation_bound")); /* there is room */
    give_oom(&s, MSNAP_EXHAUSTED);
    judge(f, &s);
    assert_non_null(find(&s, "activation_bound"));
    free(s.l);
}

static void buckets_beside_gradients(void **state)
{
    assert_true(has(*state, "W+w40000 C+b40000 U+x3 F+h5 A+s1 B+g40000 B-h A-s O+u2 O-u Z-g U-x U+x3 F+h5 A+s1 B+g40000 B-h A-s O+u2 O-u Z-g U-x", "ddp_buckets"));
    assert_false(has(*state, "W+w40000 C+b4000 U+x3 F+h5 A+s1 B+g40000 B-h A-s O+u2 O-u Z-g U-x U+x3 F+h5 A+s1 B+g40000 B-h A-s O+u2 O-u Z-g U-x", "ddp_buckets"));
}

/* ---- out of memory ---- */

static void verdicts(void **state)
{
    static const struct {
        enum msnap_verdict verdict;
        const char *id;
    } cases[] = {{MSNAP_EXHAUSTED, "exhausted"}, {MSNAP_PENDING_FREES, "pending_frees"}, {MSNAP_OUTSIDE, "outside"}};
    struct fixture *f = *state;
    struct scene s = {0};
    look(f, &s, "W+w4000 " PLAIN PLAIN PLAIN);
    for (size_t i = 0; i < 3; i++) {
        give_oom(&s, cases[i].verdict);
        judge(f, &s);
        assert_int_equal(s.n, 1);
        assert_string_equal(s.v[0].id, cases[i].id);
        assert_int_equal(s.v[0].severity, MSNAP_PROBLEM);
        s.oom.survived = true;
        judge(f, &s);
        assert_int_equal(s.v[0].severity, MSNAP_WARNING);
    }
    free(s.l);
}

static void memory_outside_the_allocator(void **state)
{
    struct fixture *f = *state;
    struct scene s = {0};
    look(f, &s, "W+w4000 " PLAIN PLAIN PLAIN);
    give_oom(&s, MSNAP_EXHAUSTED);
    s.oom.capacity_known = true;
    s.oom.outside_bytes = 3 * GIB;
    judge(f, &s);
    assert_non_null(find(&s, "context_large"));
    s.oom.outside_bytes = GIB / 2;
    judge(f, &s);
    assert_null(find(&s, "context_large"));
    free(s.l);
}

/* ---- reserved and not used ---- */

/* Settings that the simulator does not model, so that no remedy is sought. */
static void set_backend(struct loop *l)
{
    l->s.settings.known = true;
    l->s.settings.conf = loop_string(l, "backend:cudaMallocAsync");
    l->s.strings.n = l->n_strings;
}

static void an_oom_beside_free_memory(void **state)
{
    struct fixture *f = *state;
    struct scene s = {0};
    look(f, &s, "W+w4000 " PLAIN PLAIN PLAIN);
    set_backend(s.l);
    give_oom(&s, MSNAP_FRAGMENTED);
    judge(f, &s);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.v[0].id, "fragmented");
    assert_int_equal(s.v[0].severity, MSNAP_PROBLEM);
    assert_int_equal(s.v[0].bytes, 64 * MIB);
    free(s.l);
}

static void reserved_and_never_used(void **state)
{
    struct fixture *f = *state;
    struct scene s = {0};
    look(f, &s, "W+w4000 " PLAIN PLAIN PLAIN);
    s.l->h.peak_active = 600 * MIB;
    s.l->h.peak_reserved = 650 * MIB;
    judge(f, &s);
    assert_null(find(&s, "fragmented"));
    set_backend(s.l);
    s.l->h.peak_reserved = 1000 * MIB;
    judge(f, &s);
    assert_non_null(find(&s, "fragmented"));
    assert_int_equal(find(&s, "fragmented")->bytes, 400 * MIB);
    s.l->h.coverage = MSNAP_HISTORY_CUT; /* what was in use before is not known */
    judge(f, &s);
    assert_null(find(&s, "fragmented"));
    free(s.l);
}

static void cache_after_a_peak(void **state)
{
    struct fixture *f = *state;
    struct scene s = {0};
    look(f, &s, "W+w4000 U+k3000000 U-k " PLAIN PLAIN PLAIN PLAIN PLAIN);
    s.l->h.end.reserved = s.l->h.peak_reserved = s.l->h.peak_active = 1500 * MIB;
    judge(f, &s);
    assert_non_null(find(&s, "cache_after_peak"));
    s.l->h.end.reserved = 20 * MIB; /* given back */
    judge(f, &s);
    assert_null(find(&s, "cache_after_peak"));
    free(s.l);
}

/* ---- the recording ---- */

static void what_the_recording_lacks(void **state)
{
    struct fixture *f = *state;
    struct scene s = {0};
    look(f, &s, "W+w4000 " PLAIN PLAIN PLAIN);
    s.l->h.coverage = MSNAP_HISTORY_CUT;
    judge(f, &s);
    assert_non_null(find(&s, "history_cut"));
    s.l->h.coverage = MSNAP_HISTORY_NONE;
    s.l->device.n_segments = 1;
    judge(f, &s);
    assert_non_null(find(&s, "no_history"));
    assert_null(find(&s, "no_frames"));
    free(s.l);
    assert_true(has(f, "N+a1 N+b1 N+c1 N+d1 N+e1 N+f1 N+g1 N+h1 U+k1", "no_frames"));
    assert_false(has(f, "N+a1 N+b1 N+c1 N+d1 U+e1 U+f1 U+g1 U+h1 U+k1", "no_frames"));
}

static void severity_comes_before_bytes(void **state)
{
    struct fixture *f = *state;
    struct scene s = {0};
    look(f, &s, "W+w20000 " FIRST LATER LATER);
    give_oom(&s, MSNAP_PENDING_FREES);
    s.oom.requested_bytes = 512;
    judge(f, &s);
    assert_true(s.n >= 2);
    assert_string_equal(s.v[0].id, "pending_frees");
    assert_string_equal(s.v[1].id, "second_iteration_peak");
    free(s.l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_plain_run_has_none), TEST(autotuning), TEST(the_second_step_is_higher), TEST(retained_graphs), TEST(kept_gradients), TEST(growth),
        TEST(large_optimizer_state), TEST(activations_that_fill_what_there_is), TEST(buckets_beside_gradients), TEST(verdicts),
        TEST(memory_outside_the_allocator), TEST(an_oom_beside_free_memory), TEST(reserved_and_never_used), TEST(cache_after_a_peak), TEST(what_the_recording_lacks),
        TEST(severity_comes_before_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
