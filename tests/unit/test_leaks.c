/* test_leaks.c -- what goes on leaving bytes behind is a leak; what stops, is given back or is made once is none. */
#include "support/loop.h"

#include <memsnap/leaks.h>

enum { WORDS = 8000 };

/* `n` steps of a small model; `extra(i)` (from 1) is what step i does besides, before its forward pass. */
static struct msnap_leaks leaks_of(struct fixture *f, size_t n, void (*extra)(char *to, size_t size, size_t step), struct loop **out)
{
    char words[WORDS] = "W+w40 ", more[200];
    struct msnap_leaks leaks = {0};
    for (size_t i = 1; i <= n; i++) {
        more[0] = '\0';
        extra(more, sizeof more, i);
        const size_t used = strlen(words);
        snprintf(words + used, sizeof words - used, "U+x3 %s F+h5 A+s1 B+g40 B-h A-s O+u2 O-u Z-g U-x ", more);
    }
    struct loop *l = loop_history(words, NULL);
    if (msnap_steps_build(&l->h, f->arena, &l->steps, &f->err) != MSNAP_OK || msnap_leaks_find(&l->h, &l->steps, f->arena, &leaks, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    assert_int_equal(l->steps.n, n);
    *out = l;
    return leaks;
}

static void nothing(char *to, size_t size, size_t step)
{
    (void)step;
    snprintf(to, size, "%s", "");
}

static void a_loop_that_keeps_nothing(void **state)
{
    struct loop *l;
    const struct msnap_leaks k = leaks_of(*state, 8, nothing, &l);
    assert_true(k.judged);
    assert_int_equal(k.n, 0);
    assert_int_equal(k.bytes_per_step, 0);
    assert_int_equal(k.outside_bytes, 40 * 512); /* the weights, made before the steps */
    free(l);
}

static void each(char *to, size_t size, size_t step)
{
    (void)step;
    snprintf(to, size, "V+k7");
}

static void a_line_that_leaves_a_block_each_step(void **state)
{
    struct loop *l;
    const struct msnap_leaks k = leaks_of(*state, 8, each, &l);
    assert_int_equal(k.n, 1);
    assert_int_equal(k.leaks[0].bytes_per_step, 7 * 512);
    assert_int_equal(k.leaks[0].every, 1);
    assert_int_equal(k.leaks[0].first_step, 1);
    assert_int_equal(k.leaks[0].stack, l->stack_of['V']);
    assert_int_equal(l->s.frames.line[k.leaks[0].user_frame], 11);
    assert_int_equal(k.bytes_per_step, 7 * 512);
    free(l);
}

static void a_workspace_is_none(void **state)
{
    struct fixture *f = *state;
    struct loop *l;
    struct msnap_leaks k = leaks_of(f, 8, each, &l);
    assert_int_equal(k.n, 1);
    uint8_t *category = calloc(l->h.allocs.n, 1);
    assert_non_null(category);
    memset(category, MSNAP_WORKSPACE, l->h.allocs.n);
    const struct msnap_classes classes = {.category = category};
    l->h.classes = &classes;
    assert_int_equal(msnap_leaks_find(&l->h, &l->steps, f->arena, &k, &f->err), MSNAP_OK);
    assert_int_equal(k.n, 0);
    assert_int_equal(k.bytes_per_step, 0);
    free(category);
    free(l);
}

static void two_lines(char *to, size_t size, size_t step)
{
    (void)step;
    snprintf(to, size, "V+k7 L+m9 L+n1");
}

static void the_line_that_leaves_most_comes_first(void **state)
{
    struct loop *l;
    const struct msnap_leaks k = leaks_of(*state, 8, two_lines, &l);
    assert_int_equal(k.n, 2);
    assert_int_equal(k.leaks[0].stack, l->stack_of['L']);
    assert_int_equal(k.leaks[0].bytes_per_step, 10 * 512);
    assert_int_equal(k.bytes_per_step, 17 * 512);
    free(l);
}

static void late(char *to, size_t size, size_t step) { snprintf(to, size, "%s", step >= 4 ? "V+k7" : ""); }

static void a_leak_may_begin_later(void **state)
{
    struct loop *l;
    const struct msnap_leaks k = leaks_of(*state, 10, late, &l);
    assert_int_equal(k.n, 1);
    assert_int_equal(k.leaks[0].first_step, 4);
    free(l);
}

static void every_third(char *to, size_t size, size_t step) { snprintf(to, size, "%s", step % 3 == 0 ? "V+k9" : ""); }

static void a_leak_every_third_step(void **state)
{
    struct loop *l;
    const struct msnap_leaks k = leaks_of(*state, 13, every_third, &l);
    assert_int_equal(k.n, 1);
    assert_int_equal(k.leaks[0].every, 3);
    assert_int_equal(k.leaks[0].bytes_per_step, 3 * 512);
    assert_int_equal(k.leaks[0].first_step, 3);
    free(l);
}

static void warm_up(char *to, size_t size, size_t step) { snprintf(to, size, "%s", step <= 3 ? "V+k7" : ""); }

static void a_warm_up_is_none(void **state)
{
    struct loop *l;
    assert_int_equal(leaks_of(*state, 10, warm_up, &l).n, 0);
    free(l);
}

static void cache(char *to, size_t size, size_t step) { snprintf(to, size, "%s", step <= 7 ? "V+k7" : ""); }

static void a_cache_that_fills_is_none(void **state)
{
    struct loop *l;
    assert_int_equal(leaks_of(*state, 12, cache, &l).n, 0);
    free(l);
}

/* The newest three stay: each step drops the block made three steps before. */
static void queue(char *to, size_t size, size_t step)
{
    static const char letters[] = "klm";
    if (step > 3)
        snprintf(to, size, "V-%c V+%c7", letters[step % 3], letters[step % 3]);
    else
        snprintf(to, size, "V+%c7", letters[step % 3]);
}

static void a_queue_of_bounded_length_is_none(void **state)
{
    struct loop *l;
    assert_int_equal(leaks_of(*state, 12, queue, &l).n, 0);
    free(l);
}

static void growing(char *to, size_t size, size_t step) { snprintf(to, size, step > 1 ? "V-k V+k%zu" : "V+k%zu", 10 * step); }

static void a_growing_sequence_is_none(void **state)
{
    struct loop *l;
    assert_int_equal(leaks_of(*state, 10, growing, &l).n, 0);
    free(l);
}

static void first_state(char *to, size_t size, size_t step) { snprintf(to, size, "%s", step == 1 ? "O+m40 O+n40" : ""); }

static void optimizer_state_is_none(void **state)
{
    struct loop *l;
    assert_int_equal(leaks_of(*state, 8, first_state, &l).n, 0);
    free(l);
}

static void three_steps_are_too_few_to_tell(void **state)
{
    struct loop *l;
    const struct msnap_leaks k = leaks_of(*state, 3, each, &l);
    assert_false(k.judged);
    assert_int_equal(k.n, 0);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_loop_that_keeps_nothing), TEST(a_line_that_leaves_a_block_each_step), TEST(a_workspace_is_none), TEST(the_line_that_leaves_most_comes_first),
        TEST(a_leak_may_begin_later), TEST(a_leak_every_third_step), TEST(a_warm_up_is_none), TEST(a_cache_that_fills_is_none),
        TEST(a_queue_of_bounded_length_is_none), TEST(a_growing_sequence_is_none), TEST(optimizer_state_is_none), TEST(three_steps_are_too_few_to_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
