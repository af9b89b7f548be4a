/* test_lines.c -- the lines of the loop in the order they ran, with the memory after each. */
#include "support/loop.h"

#include <memsnap/lines.h>

static struct loop *lines_of(struct fixture *f, const char *words, uint32_t first, uint32_t last, struct msnap_lines *out)
{
    struct loop *l = loop_history(words, NULL);
    if (last == MSNAP_NO_EVENT)
        last = (uint32_t)l->device.n_events - 1;
    if (msnap_lines_build(&l->h, first, last, f->arena, out, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return l;
}

static int64_t line_of(const struct loop *l, const struct msnap_line_run *r) { return r->frame ? l->line[r->frame] : 0; }

static void each_line_in_the_order_it_ran(void **state)
{
    struct msnap_lines k;
    struct loop *l = lines_of(*state, "U+x3 V+k7 L+l1 V-k", 0, MSNAP_NO_EVENT, &k);
    static const int64_t lines[] = {10, 11, 12, 11}, changes[] = {3, 7, 1, -7};
    static const uint64_t after[] = {3, 10, 11, 4};
    assert_int_equal(k.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(line_of(l, &k.runs[i]), lines[i]);
        assert_int_equal(k.runs[i].change_bytes, changes[i] * 512);
        assert_int_equal(k.runs[i].after_bytes, after[i] * 512);
        assert_int_equal(k.runs[i].first, i);
    }
    assert_string_equal(l->strings[k.function], "main");
    assert_int_equal(k.before_bytes, 0);
    free(l);
}

static void the_highest_within_a_line(void **state)
{
    struct msnap_lines k;
    struct loop *l = lines_of(*state, "U+x3 V+k7 V+t20 V-t V+m2 L+l1", 0, MSNAP_NO_EVENT, &k);
    assert_int_equal(k.n, 3);
    assert_int_equal(k.runs[1].highest_bytes, (3 + 7 + 20) * 512);
    assert_int_equal(k.runs[1].after_bytes, (3 + 7 + 2) * 512);
    assert_int_equal(k.runs[1].allocs, 3);
    assert_int_equal(k.runs[1].frees, 1);
    assert_int_equal(k.runs[1].allocated_bytes, (7 + 20 + 2) * 512);
    free(l);
}

static void other_threads_belong_to_the_line_that_waits(void **state)
{
    struct msnap_lines k;
    struct loop *l = lines_of(*state, "U+x3 V+k7 L+l1 A+s1 B+g40 B-k L-l", 0, MSNAP_NO_EVENT, &k);
    bool waited = false;
    for (size_t i = 0; i < k.n; i++) {
        assert_int_not_equal(line_of(l, &k.runs[i]), 0);
        if (k.runs[i].first <= 4 && 5 <= k.runs[i].last) {
            assert_int_equal(line_of(l, &k.runs[i]), 10); /* that called backward */
            waited = true;
        }
    }
    assert_true(waited);
    free(l);
}

static void a_window_begins_with_what_was_there(void **state)
{
    struct msnap_lines k;
    struct loop *l = lines_of(*state, "W+w40 U+x3 V+k7 L+l1 U-x U+x3 V-k V+k7 L-l", 4, MSNAP_NO_EVENT, &k);
    assert_int_equal(k.before_bytes, (40 + 3 + 7 + 1) * 512);
    assert_int_equal(line_of(l, &k.runs[0]), 10);
    assert_int_equal(k.runs[0].after_bytes, (40 + 3 + 7 + 1) * 512);
    assert_int_equal(k.runs[0].change_bytes, 0);
    assert_int_equal(k.runs[0].highest_bytes, (40 + 3 + 7 + 1) * 512);
    assert_int_equal(k.runs[k.n - 1].last, 8);
    free(l);
}

static void a_run_for_each_call_of_a_line(void **state)
{
    struct msnap_lines k;
    struct loop *l = lines_of(*state, "U+x3 F+h5 O+m9 V+k1", 0, MSNAP_NO_EVENT, &k);
    assert_int_equal(k.n, 4); /* line 10 three times: itself, the module's call, the optimizer's step */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(line_of(l, &k.runs[i]), 10);
    assert_int_not_equal(k.runs[1].call, k.runs[2].call);
    free(l);
}

static void runs_add_up(void **state)
{
    struct msnap_lines k;
    struct loop *l = lines_of(*state, "W+w40 U+x3 F+h5 L+l1 A+s1 B+g40 B-h A-s O+m9 Z-g U-x V+k3 L-l", 0, MSNAP_NO_EVENT, &k);
    int64_t level = (int64_t)k.before_bytes;
    uint32_t next = 0;
    for (size_t i = 0; i < k.n; i++) {
        level += k.runs[i].change_bytes;
        assert_int_equal(level, k.runs[i].after_bytes);
        assert_int_equal(k.runs[i].first, next);
        assert_true(k.runs[i].highest_bytes >= k.runs[i].after_bytes);
        next = k.runs[i].last + 1;
    }
    assert_int_equal(next, l->device.n_events);
    free(l);
}

static void without_stacks_no_line_is_known(void **state)
{
    struct msnap_lines k;
    struct loop *l = lines_of(*state, "N+x3 N+k7 N-x", 0, MSNAP_NO_EVENT, &k);
    assert_int_equal(k.function, 0);
    for (size_t i = 0; i < k.n; i++)
        assert_int_equal(k.runs[i].frame, 0);
    free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_line_in_the_order_it_ran), TEST(the_highest_within_a_line), TEST(other_threads_belong_to_the_line_that_waits),
        TEST(a_window_begins_with_what_was_there), TEST(a_run_for_each_call_of_a_line), TEST(runs_add_up), TEST(without_stacks_no_line_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
