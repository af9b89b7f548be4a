/* test_steps.c -- iterations are found by what repeats, phases by whose stacks the events carry. */
#include "support/loop.h"

#define SET_UP "W+w40 "
#define STEP "U+x3 F+h5 A+s1 B+g40 B-h A-s O+u2 O-u Z-g U-x "

static struct loop *stepped(struct fixture *f, const char *words, const struct loop_note *notes)
{
    struct loop *l = loop_history(words, notes);
    if (msnap_steps_build(&l->h, f->arena, &l->steps, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return l;
}

static void phases_follow_one_another(void **state)
{
    static const uint8_t kinds[] = {MSNAP_PHASE_OTHER, MSNAP_PHASE_FORWARD, MSNAP_PHASE_BACKWARD, MSNAP_PHASE_OPTIMIZER, MSNAP_PHASE_OTHER};
    static const uint32_t firsts[] = {0, 2, 3, 7, 10};
    struct loop *l = stepped(*state, SET_UP STEP, NULL);
    assert_int_equal(l->steps.n_phases, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(l->steps.phases[i].kind, kinds[i]);
        assert_int_equal(l->steps.phases[i].first, firsts[i]);
        assert_int_equal(l->steps.phases[i].last, i < 4 ? firsts[i + 1] - 1 : 10);
    }
    free(l);
}

static void the_loss_belongs_to_the_forward_pass(void **state)
{
    struct loop *l = stepped(*state, SET_UP "U+x3 F+h5 L+l1 Z-x A+s1 B-h", NULL);
    assert_int_equal(l->steps.phases[1].kind, MSNAP_PHASE_FORWARD);
    assert_int_equal(l->steps.phases[1].last, 3);
    free(l);
}

static void the_optimizer_ends_a_step(void **state)
{
    struct loop *l = stepped(*state, SET_UP STEP STEP STEP, NULL);
    assert_int_equal(l->steps.n, 3);
    assert_int_equal(l->steps.by, MSNAP_STEPS_BY_OPTIMIZER);
    assert_int_equal(l->steps.steps[0].first, 1); /* setting up is no part of it */
    assert_int_equal(l->steps.steps[0].last, 9);  /* dropping gradients is */
    assert_int_equal(l->steps.steps[1].first, 10);
    assert_int_equal(l->steps.steps[0].number, 1);
    free(l);
}

static void a_steps_bytes(void **state)
{
    struct loop *l = stepped(*state, SET_UP STEP "U+k7 " STEP, NULL);
    const struct msnap_step *s = &l->steps.steps[1];
    assert_int_equal(l->steps.n, 2);
    assert_int_equal(l->steps.steps[0].peak_bytes, (40 + 3 + 5 + 1 + 40) * 512);
    assert_int_equal(l->steps.steps[0].end_bytes, (40 + 3) * 512);
    assert_int_equal(s->end_bytes, (40 + 3 + 7) * 512);
    assert_int_equal(s->growth_bytes, 7 * 512);
    free(l);
}

static void two_optimizers_make_one_step(void **state)
{
    struct loop *l = stepped(*state, SET_UP "F+h5 O+u2 O-u F+k5 o+u2 o-u F+i5 O+u2 O-u F+j5 o+u2 o-u", NULL);
    assert_int_equal(l->steps.n, 2);
    assert_int_equal(l->steps.steps[0].last, 6);
    free(l);
}

static void what_comes_least_often_ends_a_step(void **state)
{
    struct loop *l = stepped(*state, SET_UP "F+a5 O+u2 O-u F+b5 O+u2 O-u F+c5 o+u2 o-u F+d5 O+u2 O-u F+e5 O+u2 O-u F+f5 o+u2 o-u", NULL);
    assert_int_equal(l->steps.n, 2);
    assert_int_equal(l->steps.steps[0].last, 9);
    free(l);
}

static void the_profilers_numbers_are_kept(void **state)
{
    static const struct loop_note notes[] = {{"ProfilerStep#7", 1, 10}, {"ProfilerStep#8", 11, 20}, {NULL, 0, 0}};
    struct loop *l = stepped(*state, SET_UP STEP STEP, notes);
    assert_int_equal(l->steps.n, 2);
    assert_int_equal(l->steps.by, MSNAP_STEPS_BY_PROFILER);
    assert_int_equal(l->steps.steps[0].number, 7);
    assert_int_equal(l->steps.steps[1].number, 8);
    free(l);
}

static void an_optimizer_that_makes_nothing_is_told_by_its_annotation(void **state)
{
    static const struct loop_note notes[] = {{"Optimizer.step#SGD.step", 7, 6}, {"Optimizer.step#SGD.step", 13, 12}, {NULL, 0, 0}};
    struct loop *l = stepped(*state, SET_UP "U+x3 F+h5 A+s1 B+g4 B-h A-s F+h5 Z-g A+s1 B+g4 B-h A-s", notes);
    assert_int_equal(l->steps.n, 2);
    assert_int_equal(l->steps.by, MSNAP_STEPS_BY_OPTIMIZER);
    free(l);
}

static void serving_repeats_calls_of_a_module(void **state)
{
    struct loop *l = stepped(*state, SET_UP "U+x3 F+h5 F-h U+y3 U-x F+h5 F-h U+z3 U-y F+h5 F-h U-z", NULL);
    assert_int_equal(l->steps.n, 3);
    assert_int_equal(l->steps.by, MSNAP_STEPS_BY_FORWARD);
    free(l);
}

static void what_never_repeats_has_no_steps(void **state)
{
    struct loop *l = stepped(*state, SET_UP STEP, NULL);
    assert_int_equal(l->steps.n, 0);
    assert_int_equal(l->steps.by, MSNAP_STEPS_NONE);
    free(l);
}

static void annotations_from_before_the_recording_are_none(void **state)
{
    struct loop_note notes[] = {{"Optimizer.step#SGD.step", 0, 0}, {"Optimizer.step#SGD.step", 0, 0}, {NULL, 0, 0}};
    struct loop *l = loop_history("N-a", NULL);
    (void)notes;
    for (size_t i = 0; i < 2; i++)
        loop_note(l, notes[i]);
    for (size_t i = 0; i < 4; i++)
        l->note_time[i] = -100 + (int64_t)i;
    l->s.strings.n = l->n_strings;
    struct fixture *f = *state;
    assert_int_equal(msnap_steps_build(&l->h, f->arena, &l->steps, &f->err), MSNAP_OK);
    assert_int_equal(l->steps.n, 0);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(phases_follow_one_another), TEST(the_loss_belongs_to_the_forward_pass), TEST(the_optimizer_ends_a_step), TEST(a_steps_bytes),
        TEST(two_optimizers_make_one_step), TEST(what_comes_least_often_ends_a_step), TEST(the_profilers_numbers_are_kept),
        TEST(an_optimizer_that_makes_nothing_is_told_by_its_annotation), TEST(serving_repeats_calls_of_a_module),
        TEST(what_never_repeats_has_no_steps), TEST(annotations_from_before_the_recording_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
