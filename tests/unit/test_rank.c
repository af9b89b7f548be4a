/* test_rank.c -- groups add up to the moment, largest first, ties by key. */
#include "support/check.h"
#include "support/script.h"

#include <memsnap/rank.h>

/* Lowercase frames are a library's, uppercase ones the user's. */
static const char *const EVENTS = "seg 0 2M, alloc 0 1000 @aA, alloc 1024 512 @aB, alloc 1536 512 @bA, alloc 2048 512 @aA #5, free 1024 512";
static const char *const SEGMENTS = "0: 1024a1000@aA 512i 512a512@bA 512a512@aA 2094592i";

struct books {
    struct msnap_snapshot *s;
    struct msnap_history h;
};

static struct books build(struct fixture *f, const char *events, const char *segments)
{
    struct books b = {.s = script_snapshot(counting_mem(&f->mem), events, segments)};
    assert_int_equal(msnap_history_build(b.s, &b.s->devices[0], 0, f->arena, &b.h, &f->err), MSNAP_OK);
    return b;
}

static struct msnap_rank rank(struct fixture *f, const struct books *b, uint32_t event, enum msnap_group_by by)
{
    struct msnap_rank r;
    assert_int_equal(msnap_rank_build(&b->h, event, by, f->arena, &r, &f->err), MSNAP_OK);
    uint64_t sum = 0;
    for (size_t i = 0; i < r.n; i++) {
        sum += r.rows[i].bytes;
        if (i)
            assert_true(r.rows[i - 1].bytes > r.rows[i].bytes || (r.rows[i - 1].bytes == r.rows[i].bytes && r.rows[i - 1].key < r.rows[i].key));
    }
    assert_int_equal(sum, r.total_bytes);
    return r;
}

static void by_stack(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, EVENTS, SEGMENTS);
    struct msnap_rank r = rank(f, &b, 4, MSNAP_BY_STACK);
    assert_int_equal(r.n, 3);
    assert_int_equal(r.total_bytes, 2560);
    assert_int_equal(r.rows[0].bytes, 1536);
    assert_int_equal(r.rows[0].count, 2);
    assert_int_equal(r.rows[0].key, b.s->events.stack[1]);
    assert_int_equal(r.rows[0].stack, b.s->events.stack[1]);
    assert_int_equal(rank(f, &b, 6, MSNAP_BY_STACK).total_bytes, 2048);
    msnap_snapshot_free(b.s);
}

static void by_the_users_line(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, EVENTS, SEGMENTS);
    struct msnap_rank r = rank(f, &b, 4, MSNAP_BY_LINE);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.rows[0].bytes, 2048);
    assert_int_equal(b.s->frames.line[r.rows[0].key], 'A');
    assert_int_equal(b.s->frames.line[r.rows[1].key], 'B');
    msnap_snapshot_free(b.s);
}

static void by_stream_and_pool(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, EVENTS, SEGMENTS);
    struct msnap_rank r = rank(f, &b, 4, MSNAP_BY_STREAM);
    assert_int_equal(r.n, 2);
    assert_int_equal(b.s->streams.raw[r.rows[1].key], 5);
    assert_int_equal(r.rows[1].bytes, 512);
    assert_int_equal(rank(f, &b, 4, MSNAP_BY_POOL).total_bytes, 2560);
    msnap_snapshot_free(b.s);
}

static void what_was_there_before_counts_too(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, "free 1024 512", SEGMENTS);
    struct msnap_rank before = rank(f, &b, MSNAP_NO_EVENT, MSNAP_BY_STACK);
    assert_int_equal(before.total_bytes, b.h.start.allocated);
    assert_int_equal(before.total_bytes, 2560);
    assert_int_equal(rank(f, &b, 1, MSNAP_BY_STACK).total_bytes, 2048);
    msnap_snapshot_free(b.s);
}

static void nothing_allocated_is_no_rows(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, EVENTS, SEGMENTS);
    struct msnap_rank r = rank(f, &b, 0, MSNAP_BY_STACK);
    assert_int_equal(r.n, 0);
    assert_int_equal(r.total_bytes, 0);
    msnap_snapshot_free(b.s);
}

static void the_rest_shares_the_last_group(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, EVENTS, SEGMENTS);
    struct msnap_grouping g;
    assert_int_equal(msnap_grouping_build(&b.h, 4, MSNAP_BY_STACK, 2, f->arena, &g, &f->err), MSNAP_OK);
    assert_int_equal(g.n_groups, 2);
    assert_true(g.has_rest);
    assert_int_equal(g.group_of[0], 0);
    assert_int_equal(g.group_of[3], 0);
    assert_int_equal(g.group_of[1], 1);
    assert_int_equal(g.group_of[2], 1);
    assert_int_equal(g.rows[0].bytes, 1536);
    assert_int_equal(g.rows[1].bytes, 1024);
    assert_int_equal(msnap_grouping_build(&b.h, 4, MSNAP_BY_STACK, 10, f->arena, &g, &f->err), MSNAP_OK);
    assert_int_equal(g.n_groups, 3);
    assert_false(g.has_rest);
    msnap_snapshot_free(b.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(by_stack), TEST(by_the_users_line), TEST(by_stream_and_pool), TEST(what_was_there_before_counts_too),
        TEST(nothing_allocated_is_no_rows), TEST(the_rest_shares_the_last_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
