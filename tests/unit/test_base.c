/* test_base.c -- arenas zero and align what they give, free it together, and know their limits. */
#include "support/check.h"

#include "base/arena.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/status.h"

static void pieces_are_zeroed_and_aligned(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 1; i < 400; i++) {
        unsigned char *p = MSNAP_NEW(f->arena, unsigned char, i * 37);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < i * 37; k++)
            assert_int_equal(p[k], 0);
        memset(p, 0xEE, i * 37); /* and the next piece must not see it */
    }
}

static void a_piece_larger_than_any_chunk_is_served(void **state)
{
    struct fixture *f = *state;
    uint64_t *p = MSNAP_NEW(f->arena, uint64_t, 5 << 20);
    assert_non_null(p);
    p[(5 << 20) - 1] = 1;
}

static void nothing_is_a_piece_too(void **state)
{
    struct fixture *f = *state;
    assert_non_null(msnap_arena_alloc(f->arena, 0, 8));
    assert_non_null(msnap_arena_alloc(f->arena, 8, 0));
}

static void a_size_that_overflows_is_refused(void **state)
{
    struct fixture *f = *state;
    assert_null(msnap_arena_alloc(f->arena, SIZE_MAX / 2, 3));
    assert_null(msnap_arena_alloc(f->arena, SIZE_MAX, 1));
    assert_null(msnap_arena_alloc(f->arena, SIZE_MAX - 8, 1));
    assert_non_null(msnap_arena_alloc(f->arena, 1, 1)); /* and the arena is still good */
}

static void a_failing_allocator_gives_null_and_leaves_the_arena_good(void **state)
{
    struct fixture *f = *state;
    f->mem.left = 0;
    assert_null(msnap_arena_alloc(f->arena, 10, 1 << 20));
    f->mem.left = SIZE_MAX;
    assert_non_null(msnap_arena_alloc(f->arena, 10, 1 << 20));
}

static void no_memory_for_the_arena_itself(void **state)
{
    (void)state;
    struct counting none = {0, 0, 0};
    assert_null(msnap_arena_new(counting_mem(&none)));
    assert_int_equal(none.held, 0);
    msnap_arena_free(NULL);
}

static void a_budget_refuses_what_is_beyond_it(void **state)
{
    struct fixture *f = *state;
    struct msnap_budget b;
    msnap_budget_init(&b, counting_mem(&f->mem), 1000);
    void *p = b.mem.resize(b.mem.ctx, NULL, 0, 600);
    assert_non_null(p);
    assert_null(b.mem.resize(b.mem.ctx, NULL, 0, 401));
    assert_true(b.refused);
    p = b.mem.resize(b.mem.ctx, p, 600, 1000);
    assert_non_null(p);
    assert_null(b.mem.resize(b.mem.ctx, p, 1000, 0));
    assert_int_equal(b.used, 0);
    /* A refusal below the budget is the inner allocator's, not the budget's. */
    msnap_budget_init(&b, counting_mem(&f->mem), 1000);
    f->mem.left = 0;
    assert_null(b.mem.resize(b.mem.ctx, NULL, 0, 10));
    assert_false(b.refused);
    assert_int_equal(b.used, 0);
}

static void a_vector_keeps_its_elements_as_it_grows(void **state)
{
    struct fixture *f = *state;
    const struct msnap_mem mem = counting_mem(&f->mem);
    struct msnap_vec v = {0};
    for (uint32_t i = 0; i < 10000; i++)
        assert_true(MSNAP_VEC_PUSH(&v, mem, uint32_t, i));
    msnap_vec_trim(&v, mem, sizeof(uint32_t));
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(MSNAP_VEC_AT(&v, uint32_t, i), i);
    f->mem.left = 0;
    while (v.n < v.cap)
        assert_true(MSNAP_VEC_PUSH(&v, mem, uint32_t, 1));
    const size_t n = v.n;
    const bool pushed = MSNAP_VEC_PUSH(&v, mem, uint32_t, 0);
    assert_false(pushed);
    assert_int_equal(v.n, n);
    assert_false(msnap_vec_reserve(&v, mem, sizeof(uint32_t), SIZE_MAX / 2));
    msnap_vec_release(&v, mem, sizeof(uint32_t));
}

static void equal_bytes_have_equal_ids(void **state)
{
    struct fixture *f = *state;
    struct msnap_intern t;
    char name[20];
    assert_true(msnap_intern_init(&t, counting_mem(&f->mem), f->arena));
    uint32_t first = 0;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5000; i++) {
            const int n = snprintf(name, sizeof name, "name %d", i);
            const uint32_t id = msnap_intern_add(&t, name, (size_t)n);
            assert_int_not_equal(id, 0);
            if (i == 0 && round == 0)
                first = id;
            if (i == 0)
                assert_int_equal(id, first);
        }
    /* NUL is a byte as any other. */
    const uint32_t with = msnap_intern_add(&t, "a\0b", 3), without = msnap_intern_add(&t, "a", 1);
    assert_int_not_equal(with, without);
    assert_int_equal(MSNAP_VEC_AT(&t.len, uint32_t, with), 3);
    msnap_intern_release(&t);
}

static void an_error_text_is_cut_and_never_overflows(void **state)
{
    (void)state;
    struct msnap_error err;
    char big[2000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    assert_int_equal(msnap_fail(&err, MSNAP_EIO, "%s", big), MSNAP_EIO);
    assert_int_equal(err.status, MSNAP_EIO);
    assert_int_equal(err.unit, MSNAP_NOWHERE);
    assert_true(strlen(err.text) < sizeof err.text);
    assert_int_equal(msnap_fail_at(&err, MSNAP_EFORMAT, MSNAP_BYTE, 42, "no %d", 7), MSNAP_EFORMAT);
    assert_int_equal(err.at, 42);
    assert_string_equal(err.text, "no 7");
    assert_int_equal(msnap_fail(NULL, MSNAP_EDATA, "nobody listens"), MSNAP_EDATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pieces_are_zeroed_and_aligned),
        TEST(a_piece_larger_than_any_chunk_is_served),
        TEST(nothing_is_a_piece_too),
        TEST(a_size_that_overflows_is_refused),
        TEST(a_failing_allocator_gives_null_and_leaves_the_arena_good),
        TEST(no_memory_for_the_arena_itself),
        TEST(a_budget_refuses_what_is_beyond_it),
        TEST(a_vector_keeps_its_elements_as_it_grows),
        TEST(equal_bytes_have_equal_ids),
        TEST(an_error_text_is_cut_and_never_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
