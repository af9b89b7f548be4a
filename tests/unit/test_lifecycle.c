/* test_lifecycle.c -- when each category's blocks appear, and how most of its bytes go. */
#include "support/loop.h"

#include <memsnap/lifecycle.h>
#include <memsnap/rank.h>

#define SET_UP "W+w40 W+v10 "
#define STEP "U+x3 F+h5 F+t7 F-t L+l1 A+s1 B+d10 B+a6 B+g40 B-h B-a A-s "
#define FIRST STEP "O+m40 O+n10 O+u40 O-u Z-g Z-d U-x U-l "
#define LATER STEP "O+u40 O-u Z-g Z-d U-x U-l "

static struct msnap_life_cycle lives_of(struct fixture *f, const char *words, struct loop **l)
{
    struct msnap_life_cycle c;
    *l = loop_classified(f, words, NULL, NULL);
    if (msnap_life_cycle_build(&(*l)->h, &(*l)->steps, &(*l)->classes, f->arena, &c, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return c;
}

static void each_category_of_a_training_run(void **state)
{
    static const struct {
        enum msnap_category category;
        bool in_step;
        enum msnap_phase_kind phase;
        enum msnap_goes goes;
    } wanted[] = {
        {MSNAP_WEIGHT, false, MSNAP_PHASE_OTHER, MSNAP_GOES_END},
        {MSNAP_GRADIENT, true, MSNAP_PHASE_BACKWARD, MSNAP_GOES_SAME_STEP},
        {MSNAP_OPTIMIZER_STATE, true, MSNAP_PHASE_OPTIMIZER, MSNAP_GOES_END},
        {MSNAP_ACTIVATION, true, MSNAP_PHASE_FORWARD, MSNAP_GOES_BACKWARD},
        {MSNAP_INPUT, true, MSNAP_PHASE_OTHER, MSNAP_GOES_NEXT_STEP},
        {MSNAP_TEMPORARY, true, MSNAP_PHASE_OPTIMIZER, MSNAP_GOES_AT_ONCE},
    };
    struct loop *l;
    const struct msnap_life_cycle c = lives_of(*state, SET_UP FIRST LATER LATER, &l);
    assert_int_equal(c.n, MSNAP_N_CATEGORIES);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct msnap_life *life = &c.lives[wanted[i].category];
        assert_int_equal(life->in_step, wanted[i].in_step);
        assert_int_equal(life->step, wanted[i].in_step ? 1 : 0);
        assert_int_equal(life->phase, wanted[i].phase);
        assert_int_equal(life->goes, wanted[i].goes);
    }
    assert_int_equal(c.lives[MSNAP_WEIGHT].first_event, 0);
    assert_int_equal(c.lives[MSNAP_COMMUNICATION].n, 0);
    free(l);
}

static void gradients_may_stay_for_the_next_step(void **state)
{
    struct loop *l;
    const struct msnap_life_cycle c = lives_of(*state, SET_UP STEP "O+u40 O-u U-x U-l U+x3 Z-g Z-d F+h5 L+l1 A+s1 B+d10 B+g40 B-h A-s O+u40 O-u U-x U-l U+x3 Z-g Z-d F+h5 "
                                               "L+l1 A+s1 B+d10 B+g40 B-h A-s O+u40 O-u", &l);
    assert_int_equal(c.lives[MSNAP_GRADIENT].goes, MSNAP_GOES_NEXT_STEP);
    free(l);
}

static void bytes_at_the_peak_add_up(void **state)
{
    struct loop *l;
    uint64_t sum = 0, count = 0, live = 0;
    const struct msnap_life_cycle c = lives_of(*state, SET_UP FIRST LATER, &l);
    for (size_t i = 0; i < c.n; i++) {
        sum += c.lives[i].peak_bytes;
        count += c.lives[i].peak_count;
    }
    for (size_t r = 0; r < l->h.allocs.n; r++)
        live += msnap_alloc_is_allocated(&l->h, r, l->h.peak.event);
    assert_int_equal(sum, l->h.peak.totals.allocated);
    assert_int_equal(count, live);
    free(l);
}

static void the_end_of_the_program_frees_what_stayed(void **state)
{
    struct loop *l;
    const struct msnap_life_cycle c = lives_of(*state, SET_UP FIRST LATER LATER "U-m U-n U-w U-v", &l);
    assert_int_equal(c.lives[MSNAP_WEIGHT].goes, MSNAP_GOES_END);
    assert_int_equal(c.lives[MSNAP_OPTIMIZER_STATE].goes, MSNAP_GOES_END);
    free(l);
}

static void without_steps_phases_tell(void **state)
{
    struct loop *l;
    const struct msnap_life_cycle c = lives_of(*state, SET_UP STEP, &l);
    assert_int_equal(l->steps.n, 0);
    assert_false(c.lives[MSNAP_ACTIVATION].in_step);
    assert_int_equal(c.lives[MSNAP_ACTIVATION].phase, MSNAP_PHASE_FORWARD);
    assert_int_equal(c.lives[MSNAP_ACTIVATION].goes, MSNAP_GOES_BACKWARD);
    free(l);
}

static void every_way_has_words(void **state)
{
    (void)state;
    for (int g = MSNAP_GOES_UNKNOWN + 1; g < MSNAP_N_GOES; g++)
        assert_true(strlen(msnap_goes_text((enum msnap_goes)g)) > 0);
}

static void a_moment_by_the_steps_that_made_it(void **state)
{
    struct fixture *f = *state;
    struct msnap_rank rank;
    struct loop *l = loop_classified(f, SET_UP FIRST "U+k8 " LATER LATER "U+z1", NULL, NULL);
    const uint32_t last = (uint32_t)l->device.n_events - 1;
    uint64_t by_key[16] = {0};
    assert_int_equal(msnap_rank_build(&l->h, last, MSNAP_BY_STEP, f->arena, &rank, &f->err), MSNAP_EUSAGE); /* the steps are not named */
    l->h.steps = &l->steps;
    assert_int_equal(msnap_rank_build(&l->h, last, MSNAP_BY_STEP, f->arena, &rank, &f->err), MSNAP_OK);
    for (size_t i = 0; i < rank.n; i++)
        by_key[rank.rows[i].key] = rank.rows[i].bytes;
    assert_int_equal(by_key[MSNAP_STEP_BEFORE], 50 * 512);
    assert_int_equal(by_key[MSNAP_STEP_KEY], 50 * 512); /* the optimizer's state */
    assert_int_equal(by_key[MSNAP_STEP_KEY + 1], 8 * 512);
    assert_int_equal(rank.total_bytes, (50 + 50 + 8 + 1) * 512);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_category_of_a_training_run), TEST(gradients_may_stay_for_the_next_step), TEST(bytes_at_the_peak_add_up),
        TEST(the_end_of_the_program_frees_what_stayed), TEST(without_steps_phases_tell), TEST(every_way_has_words),
        TEST(a_moment_by_the_steps_that_made_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
