/* test_sim_set.c -- the ordered set of free blocks, against a plain sorted array. */
#include "support/check.h"

#include "analysis/sim_set.h"

enum { MOST = 600 };

struct model {
    struct sim_key key[MOST];
    size_t n;
};

static uint32_t random_next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static size_t model_from(const struct model *m, uint64_t size, uint64_t addr)
{
    size_t i = 0;
    while (i < m->n && sim_key_compare(size, addr, &m->key[i]) > 0)
        i++;
    return i;
}

static void model_add(struct model *m, struct sim_key k)
{
    const size_t i = model_from(m, k.size, k.addr);
    assert_true(m->n < MOST);
    memmove(m->key + i + 1, m->key + i, (m->n - i) * sizeof *m->key);
    m->key[i] = k;
    m->n++;
}

static void model_remove(struct model *m, size_t i)
{
    m->n--;
    memmove(m->key + i, m->key + i + 1, (m->n - i) * sizeof *m->key);
}

static void check_same(const struct sim_set *s, const struct model *m)
{
    size_t i = 0;
    for (struct sim_place p = {0, 0}; !sim_place_ends(s, p); p = sim_set_next(s, p), i++) {
        assert_true(i < m->n);
        assert_int_equal(sim_set_at(s, p)->size, m->key[i].size);
        assert_int_equal(sim_set_at(s, p)->addr, m->key[i].addr);
        assert_int_equal(sim_set_at(s, p)->block, m->key[i].block);
    }
    assert_int_equal(i, m->n);
    for (size_t c = 0; c < s->chunks.n; c++)
        assert_in_range(sim_set_chunk(s, c)->n, 1, SIM_CHUNK);
}

static void check_from(const struct sim_set *s, const struct model *m, uint64_t size, uint64_t addr)
{
    const size_t i = model_from(m, size, addr);
    const struct sim_place p = msnap_sim_set_from(s, size, addr);
    assert_int_equal(sim_place_ends(s, p), i == m->n);
    if (i < m->n)
        assert_int_equal(sim_set_at(s, p)->block, m->key[i].block);
}

static void an_empty_set_ends_at_once(void **state)
{
    (void)state;
    struct sim_set s = {0};
    assert_true(sim_place_ends(&s, msnap_sim_set_from(&s, 0, 0)));
    assert_true(sim_place_ends(&s, (struct sim_place){0, 0}));
    msnap_sim_set_remove(&s, msnap_mem_default(), 512, 0); /* no such key: nothing happens */
}

static void sizes_come_first_and_addresses_decide_ties(void **state)
{
    struct fixture *f = *state;
    struct sim_set s = {0};
    const struct msnap_mem mem = counting_mem(&f->mem);
    assert_true(msnap_sim_set_add(&s, mem, (struct sim_key){1024, 0, 1}));
    assert_true(msnap_sim_set_add(&s, mem, (struct sim_key){512, 4096, 2}));
    assert_true(msnap_sim_set_add(&s, mem, (struct sim_key){512, 2048, 3}));
    assert_int_equal(sim_set_at(&s, msnap_sim_set_from(&s, 1, 0))->block, 3);
    assert_int_equal(sim_set_at(&s, msnap_sim_set_from(&s, 512, 2049))->block, 2);
    assert_int_equal(sim_set_at(&s, msnap_sim_set_from(&s, 513, 0))->block, 1);
    assert_true(sim_place_ends(&s, msnap_sim_set_from(&s, 1025, 0)));
    msnap_sim_set_release(&s, mem);
}

static void run_against_the_model(struct fixture *f, uint32_t seed, uint32_t sizes)
{
    struct sim_set s = {0};
    struct model *m = calloc(1, sizeof *m);
    const struct msnap_mem mem = counting_mem(&f->mem);
    assert_non_null(m);
    uint32_t id = 1;
    for (size_t step = 0; step < 6000; step++) {
        const bool growing = step / 1000 % 2 == 0; /* fills up and empties, three times */
        if (m->n < MOST - 1 && (m->n == 0 || random_next(&seed) % 10 < (growing ? 8u : 2u))) {
            const struct sim_key k = {512 * (uint64_t)(1 + random_next(&seed) % sizes), 512 * (uint64_t)id, id};
            id++;
            assert_true(msnap_sim_set_add(&s, mem, k));
            model_add(m, k);
        } else {
            const size_t i = random_next(&seed) % m->n;
            const struct sim_key k = m->key[i];
            msnap_sim_set_remove(&s, mem, k.size, k.addr);
            model_remove(m, i);
        }
        check_from(&s, m, 512 * (uint64_t)(random_next(&seed) % (sizes + 2)), random_next(&seed) % 2 ? 0 : 512 * (uint64_t)(random_next(&seed) % id));
        if (step % 50 == 0)
            check_same(&s, m);
    }
    check_same(&s, m);
    while (m->n) {
        msnap_sim_set_remove(&s, mem, m->key[0].size, m->key[0].addr);
        model_remove(m, 0);
    }
    assert_int_equal(s.chunks.n, 0);
    msnap_sim_set_release(&s, mem);
    free(m);
}

static void many_sizes(void **state) { run_against_the_model(*state, 1, 10000); }
static void few_sizes(void **state) { run_against_the_model(*state, 2, 3); }
static void one_size(void **state) { run_against_the_model(*state, 3, 1); }

static void a_key_that_is_not_there_is_not_removed(void **state)
{
    struct fixture *f = *state;
    struct sim_set s = {0};
    const struct msnap_mem mem = counting_mem(&f->mem);
    assert_true(msnap_sim_set_add(&s, mem, (struct sim_key){512, 1024, 1}));
    msnap_sim_set_remove(&s, mem, 512, 512);
    msnap_sim_set_remove(&s, mem, 1024, 1024);
    assert_false(sim_place_ends(&s, msnap_sim_set_from(&s, 512, 1024)));
    msnap_sim_set_release(&s, mem);
}

static void without_memory_a_set_stays_as_it_was(void **state)
{
    struct fixture *f = *state;
    struct sim_set s = {0};
    const struct msnap_mem mem = counting_mem(&f->mem);
    for (uint32_t i = 0; i < SIM_CHUNK; i++)
        assert_true(msnap_sim_set_add(&s, mem, (struct sim_key){512, i, i}));
    f->mem.left = 0;
    assert_false(msnap_sim_set_add(&s, mem, (struct sim_key){512, 1000, 1000}));
    f->mem.left = SIZE_MAX;
    size_t n = 0;
    for (struct sim_place p = {0, 0}; !sim_place_ends(&s, p); p = sim_set_next(&s, p))
        assert_int_equal(sim_set_at(&s, p)->addr, n++);
    assert_int_equal(n, SIM_CHUNK);
    msnap_sim_set_release(&s, mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_set_ends_at_once), TEST(sizes_come_first_and_addresses_decide_ties), TEST(many_sizes), TEST(few_sizes), TEST(one_size),
        TEST(a_key_that_is_not_there_is_not_removed), TEST(without_memory_a_set_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
