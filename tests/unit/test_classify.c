/* test_classify.c -- one fact a test: what evidence makes a block what it is called. */
#include "support/loop.h"

#define assert_is(l, block, category, rule)                   \
    do {                                                      \
        assert_string_equal(loop_category(l, block), category); \
        assert_string_equal(loop_rule(l, block), rule);       \
    } while (0)

/* One step of a small model: weights w and v, batch x, activation h, gradients g and d. */
#define SET_UP "W+w40 W+v10 "
#define STEP "U+x3 F+h5 F+t7 F-t L+l1 A+s1 B+d10 B+a6 B+g40 B-h B-a A-s "

static void a_whole_step(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP STEP "O+m40 O+n10 O+u40 O-u Z-g Z-d U-x U-l " STEP "O+u40 O-u Z-g Z-d", NULL, NULL);
    assert_is(l, 'w', "weight", "module_parameters");
    assert_is(l, 'x', "input", "made_before_forward");
    assert_is(l, 'h', "activation", "held_for_backward");
    assert_is(l, 't', "temporary", "forward_scratch");
    assert_is(l, 'l', "activation", "held_for_backward");
    assert_is(l, 'a', "temporary", "backward_scratch");
    assert_is(l, 'g', "gradient", "dropped_by_zero_grad");
    assert_is(l, 'm', "optimizer_state", "optimizer_keeps");
    assert_is(l, 'u', "temporary", "optimizer_scratch");
    free(l);
}

static void what_a_backward_pass_leaves_is_a_gradient(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP STEP "U-x " STEP, NULL, NULL);
    assert_is(l, 'g', "gradient", "outlives_backward");
    free(l);
}

static void a_size_that_no_parameter_has_is_no_gradient(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "U+x3 F+h5 A+s1 B+d10 B+g40 B+q17 B-h A-s Z-g Z-d U+y3 F+k5", NULL, NULL);
    assert_is(l, 'q', "activation", "gradient_of_activation");
    free(l);
}

static void what_a_later_backward_frees_is_of_second_order(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "U+x3 F+h5 A+s1 B+q40 A-s L+l1 A+r1 B-q B+g40 B-h A-r Z-g", NULL, NULL);
    assert_is(l, 'q', "activation", "second_order");
    free(l);
}

static void what_autograd_grad_returns_is_no_gradient(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "U+x3 F+h5 H+s1 B+g40 B+d10 B-h H-s L+l1 U-g U-d", NULL, NULL);
    assert_is(l, 'g', "activation", "returned_by_grad");
    free(l);
}

static void an_optimizer_may_step_within_a_backward_pass(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "U+x3 F+h5 A+s1 B+g40 P+m40 P+u40 P-u B-h A-s U-x U+x3 F+h5", NULL, NULL);
    assert_is(l, 'm', "optimizer_state", "optimizer_keeps");
    assert_is(l, 'u', "temporary", "optimizer_scratch");
    free(l);
}

static void what_only_autograd_holds_is_no_input(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "U+x3 V+n4 F+h5 A+s1 B+g40 B-h B-n A-s Z-g U-x", NULL, NULL);
    assert_is(l, 'x', "input", "made_before_forward");
    assert_is(l, 'n', "activation", "only_autograd_holds");
    free(l);
}

static void user_code_alone_can_be_the_forward_pass(void **state)
{
    struct loop *l = loop_classified(*state, "I+w40 U+x3 V+h5 V+k6 A+s1 B+g40 B-h A-s U-g U+y3 U-x V+h5 V-k V+k6 A+s1 B+g40 B-h A-s U-g", NULL, NULL);
    assert_is(l, 'w', "weight", "has_a_gradient");
    assert_is(l, 'x', "input", "made_before_forward");
    assert_is(l, 'h', "activation", "held_for_backward");
    assert_is(l, 'k', "activation", "held_for_backward"); /* a variable holds it: the line tells */
    free(l);
}

static void zero_grad_within_a_backward_pass_drops_gradients(void **state)
{
    /* Optimizer steps in hooks: no gradient outlives the pass. */
    struct loop *l = loop_classified(*state, SET_UP "U+x3 F+h5 A+s1 B+g40 Z-g B+d10 Z-d B-h A-s", NULL, NULL);
    assert_is(l, 'g', "gradient", "dropped_by_zero_grad");
    free(l);
}

static void checkpointing_makes_activations_again(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "U+x3 F+h5 A+s1 R+r9 R+t8 R-t B+g40 B-r B-h A-s Z-g", NULL, NULL);
    assert_is(l, 'r', "activation", "recomputed");
    assert_is(l, 't', "temporary", "forward_scratch");
    free(l);
}

static void a_forward_pass_alone_keeps_nothing_but_what_outlives_it(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "U+x3 F+h5 F+o6 F-h U+y3 U-x F+h5 F+p6 F-h U-o U-y", NULL, NULL);
    assert_is(l, 'h', "temporary", "forward_scratch");
    assert_is(l, 'o', "activation", "kept_between_calls");
    free(l);
}

static void a_cache_of_keys_is_kept(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "U+x3 K+k5 F+h4 F-h U+y3 F+q4 F-q K+c5 K-k", NULL, NULL);
    assert_is(l, 'k', "activation", "key_value_cache");
    free(l);
}

static void a_loader_moves_input(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "D+x3 D+y2 D-y F+h5 U-x", NULL, NULL);
    assert_is(l, 'x', "input", "batch_loader");
    assert_is(l, 'y', "temporary", "user_scratch");
    free(l);
}

static void copies_of_all_parameters_are_weights(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "V+e40 V+f10 U+n10 " STEP "O+u1 O-u Z-g Z-d", NULL, NULL);
    assert_is(l, 'e', "weight", "copies_of_parameters");
    assert_is(l, 'n', "input", "made_before_forward"); /* one size alone may be chance */
    free(l);
}

static void one_block_for_all_parameters_is_a_weight(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "I+f100 I+n77 " STEP, NULL, NULL); /* twice as wide as w and v */
    assert_is(l, 'f', "weight", "flat_parameters");
    assert_string_equal(loop_category(l, 'n'), "input");
    free(l);
}

static void a_deep_copy_of_a_model_is_a_weight(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "Y+e40 Y+f10 " STEP, NULL, NULL);
    assert_is(l, 'e', "weight", "copies_of_parameters");
    free(l);
}

static void a_tensor_with_a_gradient_is_a_weight(void **state)
{
    /* No module made it: only the gradients of its size tell. */
    struct loop *l = loop_classified(*state, "V+w40 U+x3 F+h5 A+s1 B+g40 B-h A-s O+u1 O-u Z-g U+y3 F+h5 A+s1 B+g40 B-h A-s O+u1 O-u Z-g", NULL, NULL);
    assert_is(l, 'w', "weight", "has_a_gradient");
    free(l);
}

static void ddp_makes_buckets(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "C+b50 " STEP, NULL, NULL);
    assert_is(l, 'b', "communication", "buckets");
    free(l);
}

static void buckets_hold_the_gradients_where_nothing_else_does(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "C+b50 U+x3 F+h5 A+s1 B+a6 B-h B-a A-s", NULL, NULL);
    assert_is(l, 'b', "gradient", "bucket_view");
    free(l);
}

static void shards_by_when_they_are_made(void **state)
{
    struct loop *l = loop_classified(*state, "S+w40 U+x3 F+h5 S+p80 F+k5 S-p A+s1 B+a6 T+q80 T-q T+g40 B-h B-k B-a A-s Z-g", NULL, NULL);
    assert_is(l, 'w', "weight", "sharded_parameters");
    assert_is(l, 'q', "communication", "gathered_shards");
    assert_is(l, 'g', "gradient", "reduced_shard");
    free(l);
}

static void cublas_keeps_a_workspace(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "U+x3 F+h5 F+c16640 A+s1 B+d10 B+k16640 B+g40 B-h A-s", NULL, NULL);
    assert_is(l, 'c', "workspace", "matmul_scratch");
    assert_is(l, 'k', "workspace", "matmul_scratch");
    free(l);
}

static void what_is_given_back_at_once_is_a_workspace(void **state)
{
    /* p: of no tensor's size; q: added in place to what has its size (h); r: something is made meanwhile; t: small. */
    struct loop *l = loop_classified(*state, "W+w40 U+x3 F+h5000 F+f7000 F-f A+s1 B+p9000 B-p B+q5000 B-q B+r8000 B+z1 B-r B-z B+t70 B-t B+g40 B-h A-s Z-g", NULL, NULL);
    assert_is(l, 'f', "workspace", "given_back_at_once");
    assert_is(l, 'p', "workspace", "given_back_at_once");
    assert_is(l, 'q', "temporary", "backward_scratch");
    assert_is(l, 'r', "temporary", "backward_scratch");
    assert_is(l, 't', "temporary", "backward_scratch");
    free(l);
}

static void a_cache_that_user_code_makes_for_inference(void **state)
{
    static const char call[] = "U+x3 F+h4 F-h ";
    char words[2000] = "W+w40 V+a90 V+b90 V+c90 V+d90 ";
    for (int i = 0; i < 10; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", call, "L+l1 U-x ");
    struct loop *l = loop_classified(*state, words, NULL, NULL);
    assert_is(l, 'a', "activation", "held_over_calls");
    assert_is(l, 'x', "input", "made_before_forward");
    free(l);
    /* Batches made ahead: nothing is made for each call. */
    l = loop_classified(*state, "W+w40 V+a90 V+b90 V+c90 V+d90 F+h4 F-h U+l1 U-l F+h4 F-h U+l1 U-l F+h4 F-h U+l1 U-l F+h4 F-h U+l1 U-l F+h4 F-h", NULL, NULL);
    assert_is(l, 'a', "input", "made_before_forward");
    free(l);
}

static void tuning_is_temporary_however_long(void **state)
{
    struct loop *l = loop_classified(*state, SET_UP "U+x3 F+h5 M+m500 F+k5 M-m A+s1 B+g40 B-h B-k A-s", NULL, NULL);
    assert_is(l, 'm', "temporary", "compile_scratch");
    free(l);
}

static void without_stacks_annotations_and_lives_tell(void **state)
{
    /* weights w v; input x; activation h; gradient of the loss s; gradients g d; state m n. */
    static const struct loop_note notes[] = {{"Optimizer.step#Adam.step", 11, 14}, {"Optimizer.zero_grad#Adam.zero_grad", 15, 16},
        {"Optimizer.step#Adam.step", 27, 28}, {"Optimizer.zero_grad#Adam.zero_grad", 29, 30}, {NULL, 0, 0}};
    struct loop *l = loop_classified(*state,
        "N+w4000 N+v1000 N+x300 N+h500 N+t70 N-t N+s0 N+g4000 N+d1000 N-h N-s "
        "N+m4000 N+n1000 N+u50 N-u N-g N-d "
        "N+y300 N-x N+h500 N+t70 N-t N+s0 N+d1000 N+g4000 N-h N-s N+u50 N-u N-g N-d", notes, NULL);
    assert_true(l->steps.annotated_only);
    assert_is(l, 'w', "weight", "there_before_the_steps");
    assert_is(l, 'x', "input", "made_before_forward");
    assert_is(l, 'h', "activation", "held_for_backward");
    assert_is(l, 't', "temporary", "forward_scratch");
    assert_string_equal(loop_category(l, 'g'), "gradient");
    assert_is(l, 'm', "optimizer_state", "optimizer_keeps");
    assert_is(l, 'u', "temporary", "optimizer_scratch");
    free(l);
}

static void a_forward_pass_cut_by_an_oom_leaves_no_gradients(void **state)
{
    /* As above, but the second step fails in its forward pass, and an activation c has the size of a gradient. */
    static const struct loop_note notes[] = {{"Optimizer.step#Adam.step", 11, 14}, {"Optimizer.zero_grad#Adam.zero_grad", 15, 16}, {NULL, 0, 0}};
    struct loop *l = loop_classified(*state,
        "N+w4000 N+v1000 N+x300 N+h500 N+t70 N-t N+s0 N+g4000 N+d1000 N-h N-s "
        "N+m4000 N+n1000 N+u50 N-u N-g N-d "
        "N+y300 N-x N+j0 N+c4000 N+e500 N+f900 N!o9000 N-e N-f", notes, NULL);
    assert_string_equal(loop_category(l, 'c'), "activation");
    assert_string_equal(loop_category(l, 'g'), "gradient");
    free(l);
}

static void two_passes_between_two_steps_without_stacks(void **state)
{
    /* Two micro-batches; gradients are made by the first. */
    static const struct loop_note notes[] = {{"Optimizer.step#Adam.step", 19, 20}, {"Optimizer.zero_grad#Adam.zero_grad", 21, 21},
        {"Optimizer.step#Adam.step", 28, 29}, {NULL, 0, 0}};
    struct loop *l = loop_classified(*state,
        "N+w400 N+x30 N+h900 N+i900 N+s0 N+g400 N-h N-i N-s N+j900 N+k900 N+s0 N+q400 N-q N-j N-k N-s N+z1 N-z N+m400 N-x N-g "
        "N+h900 N+i900 N+s0 N+g400 N-h N-i N+u5 N-u", notes, NULL);
    assert_is(l, 'j', "activation", "held_for_backward");
    assert_is(l, 'q', "temporary", "backward_scratch");
    assert_is(l, 'm', "optimizer_state", "optimizer_keeps");
    free(l);
}

static void nothing_known_is_unknown(void **state)
{
    struct loop *l = loop_classified(*state, "N+w4000 N+x300", NULL, NULL);
    assert_is(l, 'w', "unknown", "no_evidence");
    free(l);
}

static bool is_line_12(void *ctx, const char *frame, size_t n)
{
    (void)ctx;
    return n == strlen("/home/ada/train.py:12:main") && memcmp(frame, "/home/ada/train.py:12:main", n) == 0;
}

static void the_users_rules_come_first(void **state)
{
    static const struct msnap_user_rule rule[] = {{"the loss", "loss", NULL, is_line_12}};
    const struct msnap_user_rules user = {1, rule};
    struct loop *l = loop_classified(*state, SET_UP STEP, NULL, &user);
    assert_is(l, 'l', "loss", "the loss");
    assert_is(l, 'w', "weight", "module_parameters");
    assert_int_equal(l->classes.n_categories, MSNAP_N_CATEGORIES + 1);
    free(l);
}

static void too_many_rules_are_refused(void **state)
{
    struct fixture *f = *state;
    static struct msnap_user_rule rules[MSNAP_MAX_USER_RULES + 1];
    const struct msnap_user_rules user = {MSNAP_MAX_USER_RULES + 1, rules};
    struct loop *l = loop_history(SET_UP, NULL);
    assert_int_equal(msnap_steps_build(&l->h, f->arena, &l->steps, &f->err), MSNAP_OK);
    assert_int_equal(msnap_classify(&l->h, &l->steps, &user, f->arena, &l->classes, &f->err), MSNAP_EUSAGE);
    free(l);
}

static void categories_add_up_to_the_moment(void **state)
{
    uint64_t bytes[MSNAP_N_CATEGORIES], sum = 0;
    struct loop *l = loop_classified(*state, SET_UP STEP "O+m40", NULL, NULL);
    msnap_classes_sum(&l->h, &l->classes, l->h.peak.event, bytes);
    for (size_t i = 0; i < MSNAP_N_CATEGORIES; i++)
        sum += bytes[i];
    assert_int_equal(sum, l->h.peak.totals.allocated);
    assert_int_equal(bytes[MSNAP_WEIGHT], 50 * 512);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_step), TEST(what_a_backward_pass_leaves_is_a_gradient), TEST(a_size_that_no_parameter_has_is_no_gradient),
        TEST(what_a_later_backward_frees_is_of_second_order), TEST(zero_grad_within_a_backward_pass_drops_gradients),
        TEST(what_autograd_grad_returns_is_no_gradient), TEST(an_optimizer_may_step_within_a_backward_pass), TEST(what_only_autograd_holds_is_no_input),
        TEST(user_code_alone_can_be_the_forward_pass), TEST(two_passes_between_two_steps_without_stacks),
        TEST(checkpointing_makes_activations_again), TEST(a_forward_pass_alone_keeps_nothing_but_what_outlives_it),
        TEST(a_cache_of_keys_is_kept), TEST(a_loader_moves_input), TEST(copies_of_all_parameters_are_weights),
        TEST(a_deep_copy_of_a_model_is_a_weight), TEST(one_block_for_all_parameters_is_a_weight), TEST(a_tensor_with_a_gradient_is_a_weight), TEST(ddp_makes_buckets),
        TEST(buckets_hold_the_gradients_where_nothing_else_does), TEST(shards_by_when_they_are_made), TEST(cublas_keeps_a_workspace),
        TEST(what_is_given_back_at_once_is_a_workspace), TEST(a_cache_that_user_code_makes_for_inference),
        TEST(tuning_is_temporary_however_long), TEST(without_stacks_annotations_and_lives_tell), TEST(a_forward_pass_cut_by_an_oom_leaves_no_gradients), TEST(nothing_known_is_unknown),
        TEST(the_users_rules_come_first), TEST(too_many_rules_are_refused), TEST(categories_add_up_to_the_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
