/* test_sim_property.c -- what holds for every stream of requests under every setting.
 *
 * No two live blocks overlap; blocks tile their segments; the counters are the sums; nothing exceeds a limit by a
 * granule; freed and emptied, nothing is held; and the books, fed with the entries that a recording of this
 * run would have, come to the same state. A failure names its seed: ./test_sim_property SEED runs that one alone.
 */
#include "support/check.h"

#include "analysis/books.h"
#include "analysis/sim_core.h"
#include "analysis/sim_driver.h"

#include <inttypes.h>

#define M (UINT64_C(1) << 20)
enum { TRIALS = 1500, STEPS = 400, ROWS = STEPS + 1 };

static uint32_t first_seed = 1, last_seed = TRIALS;

struct world {
    uint32_t seed, state;
    struct sim sim;
    struct sim_chunks chunks;
    struct msnap_books books;
    struct msnap_fault_log faults;
    struct msnap_counters counters;
    struct msnap_books_kind kind; /* of the request at hand */
    uint32_t block[ROWS];         /* 0: not live */
    bool pending[ROWS], ready[ROWS];
    uint32_t n_rows;
};

static uint64_t any(struct world *w, uint64_t below)
{
    w->state = w->state * 1664525u + 1013904223u;
    return (w->state >> 8) % below;
}

#define CHECK(w, what)                                                                      \
    do {                                                                                    \
        if (!(what))                                                                        \
            fail_msg("seed %u, line %d, row %u: %s", (w)->seed, __LINE__, (w)->n_rows, #what); \
    } while (0)

/* ---- settings ---- */

static struct msnap_sim_config settings(struct world *w)
{
    static const char *const confs[] = {
        "", "expandable_segments:True", "max_split_size_mb:32", "max_split_size_mb:64,max_non_split_rounding_mb:40", "roundup_power2_divisions:4",
        "roundup_power2_divisions:[4:1,16:2,>:8]", "large_segment_size_mb:64", "expandable_segments:True,large_segment_size_mb:32",
        "garbage_collection_threshold:0.6", "garbage_collection_threshold:0.5,max_split_size_mb:64", "expandable_segments:True,roundup_power2_divisions:8",
        "expandable_segments:True,garbage_collection_threshold:0.7", "expandable_segments:True,max_split_size_mb:64",
        "large_segment_size_mb:12,max_split_size_mb:12"};
    struct msnap_sim_config c;
    const char *conf = confs[any(w, sizeof confs / sizeof *confs)];
    struct msnap_error err = {0};
    if (msnap_sim_config_parse(conf, strlen(conf), &c, &err) != MSNAP_OK)
        fail_msg("%s", err.text);
    if (any(w, 3))
        c.limit = (100 + any(w, 900)) * M;
    if (!any(w, 3))
        c.capacity = (100 + any(w, 900)) * M;
    return c;
}

static uint64_t request(struct world *w)
{
    static const uint64_t edges[] = {1, 511, 512, 513, 1 * M, 1 * M + 1, 2 * M, 10 * M - 1, 10 * M, 10 * M + 1, 19 * M, 20 * M, 64 * M, 91 * M};
    switch (any(w, 8)) {
    case 0: return edges[any(w, sizeof edges / sizeof *edges)];
    case 1:
    case 2:
    case 3: return 1 + any(w, 1 * M);
    case 4:
    case 5: return 1 + any(w, 12 * M);
    default: return 1 + any(w, 120 * M);
    }
}

/* ---- the entries that a recording would get ---- */

static void heard(void *ctx, enum msnap_action action, uint64_t addr, uint64_t size, uint32_t row)
{
    struct world *w = ctx;
    uint32_t displaced;
    bool was_requested;
    w->books.event++;
    switch ((int)action) {
    case MSNAP_ALLOC:
        CHECK(w, msnap_books_alloc(&w->books, addr, size, row, &displaced) != 0);
        CHECK(w, displaced == BOOKS_NO_ROW);
        break;
    case MSNAP_FREE_REQUESTED: CHECK(w, msnap_books_free_requested(&w->books, addr, size) != 0); break;
    case MSNAP_FREE_COMPLETED: CHECK(w, msnap_books_free_completed(&w->books, addr, size, &was_requested) == row && was_requested); break;
    case MSNAP_SEGMENT_ALLOC: msnap_books_add_segment(&w->books, addr, size, w->kind); break;
    case MSNAP_SEGMENT_FREE: msnap_books_drop_segment(&w->books, addr, size); break;
    case MSNAP_SEGMENT_MAP: msnap_books_map(&w->books, addr, size, w->kind); break;
    case MSNAP_SEGMENT_UNMAP: msnap_books_unmap(&w->books, addr, size); break;
    default: break;
    }
}

/* ---- what must hold after each step ---- */

struct sums {
    uint64_t v[MSNAP_N_FAMILIES][3];
};

static void add(struct sums *s, enum msnap_family f, bool small, uint64_t v)
{
    s->v[f][0] += v;
    s->v[f][1 + small] += v;
}

static void check_segment(struct world *w, const struct sim_segment *g, struct sums *sums, size_t *n_free)
{
    const struct sim *s = &w->sim;
    uint64_t next = g->addr;
    uint32_t before = 0;
    for (uint32_t id = g->first; id; before = id, id = sim_block_at(s, id)->next) {
        const struct sim_block *b = sim_block_at(s, id);
        const bool small = sim_lane_at(s, b->lane)->small;
        CHECK(w, b->addr == next && b->size > 0 && b->size % 512 == 0 && b->prev == before);
        next += b->size;
        if (before && (b->state == SIM_FREE || b->state == SIM_UNMAPPED))
            CHECK(w, sim_block_at(s, before)->state != b->state); /* neighbours of a kind are merged */
        if (b->state == SIM_UNMAPPED) {
            CHECK(w, g->expandable);
            continue;
        }
        add(sums, MSNAP_BYTES_RESERVED, small, b->size);
        if (b->state == SIM_FREE) {
            (*n_free)++;
            const struct sim_place p = msnap_sim_set_from(&sim_lane_at(s, b->lane)->free, b->size, b->addr);
            CHECK(w, !sim_place_ends(&sim_lane_at(s, b->lane)->free, p) && sim_set_at(&sim_lane_at(s, b->lane)->free, p)->block == id);
            if (!g->expandable && (b->prev || b->next)) {
                add(sums, MSNAP_COUNT_INACTIVE_SPLIT, small, 1);
                add(sums, MSNAP_BYTES_INACTIVE_SPLIT, small, b->size);
            }
            continue;
        }
        CHECK(w, b->requested > 0 && b->requested <= b->size);
        add(sums, MSNAP_COUNT_ACTIVE, small, 1);
        add(sums, MSNAP_BYTES_ACTIVE, small, b->size);
        add(sums, MSNAP_BYTES_REQUESTED, small, b->requested);
        if (b->state == SIM_ALLOCATED) {
            add(sums, MSNAP_COUNT_ALLOCATION, small, 1);
            add(sums, MSNAP_BYTES_ALLOCATED, small, b->size);
        }
    }
    CHECK(w, next == g->addr + g->size);
    if (!g->expandable)
        add(sums, MSNAP_COUNT_SEGMENT, sim_lane_at(s, sim_block_at(s, g->first)->lane)->small, 1);
}

static void check_state(struct world *w)
{
    const struct sim *s = &w->sim;
    struct sums sums = {{{0}}};
    size_t n_free = 0, n_keys = 0;
    CHECK(w, !s->out_of_memory);
    for (size_t i = 1; i < s->segments.n; i++)
        if (!sim_segment_at(s, (uint32_t)i)->gone)
            check_segment(w, sim_segment_at(s, (uint32_t)i), &sums, &n_free);
    for (uint32_t l = 0; l < s->lanes.n; l++)
        for (size_t c = 0; c < sim_lane_at(s, l)->free.chunks.n; c++)
            n_keys += sim_set_chunk(&sim_lane_at(s, l)->free, c)->n;
    CHECK(w, n_keys == n_free);
    CHECK(w, s->held == sums.v[MSNAP_BYTES_RESERVED][0]);
    for (int f = 0; f < MSNAP_N_FAMILIES; f++)
        for (int p = 0; p < 3; p++) {
            const struct msnap_counter *c = &s->counters.family[f][p];
            CHECK(w, c->current == sums.v[f][p] && c->peak >= c->current && c->allocated - c->freed == c->current);
        }
    if (s->config.limit != MSNAP_NO_LIMIT)
        CHECK(w, s->held < s->config.limit + (s->config.expandable_segments ? s->config.large_segment_size : 1));
    if (s->config.capacity != MSNAP_NO_LIMIT)
        CHECK(w, s->held <= s->config.capacity);
}

static void check_place(struct world *w, uint32_t id)
{
    const struct sim_block *b = sim_block_at(&w->sim, id);
    for (uint32_t r = 0; r < w->n_rows; r++) {
        if (!w->block[r])
            continue;
        const struct sim_block *o = sim_block_at(&w->sim, w->block[r]);
        CHECK(w, b->addr + b->size <= o->addr || o->addr + o->size <= b->addr);
    }
}

/* Memory of one segment never lies in another's. */
static void check_segments(struct world *w)
{
    const struct sim *s = &w->sim;
    for (uint32_t i = 1; i < s->segments.n; i++)
        for (uint32_t k = i + 1; k < s->segments.n; k++) {
            const struct sim_segment *a = sim_segment_at(s, i), *b = sim_segment_at(s, k);
            if (!a->gone && !b->gone)
                CHECK(w, a->addr + a->size <= b->addr || b->addr + b->size <= a->addr);
        }
}

static void check_books(struct world *w)
{
    const struct sim *s = &w->sim;
    size_t n = 0, in_books = 0;
    for (int i = 0; i < MSNAP_N_FAULTS; i++)
        if (w->faults.count[i])
            fail_msg("seed %u: the books met fault %d at entry %u", w->seed, i, w->faults.event[i]);
    CHECK(w, memcmp(w->counters.family, s->counters.family, sizeof w->counters.family) == 0);
    CHECK(w, w->counters.device_allocs == s->counters.device_allocs && w->counters.device_frees == s->counters.device_frees);
    CHECK(w, w->counters.oversize_allocations.current == s->counters.oversize_allocations.current);
    CHECK(w, w->counters.oversize_segments.peak == s->counters.oversize_segments.peak);
    CHECK(w, w->books.totals.reserved == s->held);
    for (size_t i = 1; i < s->segments.n; i++) {
        const struct sim_segment *g = sim_segment_at(s, (uint32_t)i);
        for (uint32_t id = g->gone ? 0 : g->first; id; id = sim_block_at(s, id)->next) {
            static const uint8_t state_of[] = {[SIM_FREE] = BOOKS_FREE, [SIM_ALLOCATED] = BOOKS_ALLOCATED, [SIM_PENDING] = BOOKS_PENDING};
            const struct sim_block *b = sim_block_at(s, id);
            if (b->state == SIM_UNMAPPED)
                continue;
            n++;
            const uint32_t found = msnap_books_find(&w->books, b->addr);
            CHECK(w, found != 0);
            CHECK(w, msnap_books_block_at(&w->books, found)->size == b->size && msnap_books_block_at(&w->books, found)->state == state_of[b->state]);
        }
    }
    for (size_t i = 1; i < w->books.blocks.n; i++)
        in_books += !msnap_books_block_at(&w->books, (uint32_t)i)->is_free_slot;
    CHECK(w, in_books == n);
}

/* ---- the run ---- */

static void forget_completed(struct world *w)
{
    for (uint32_t r = 0; r < w->n_rows; r++)
        if (w->block[r] && (sim_block_at(&w->sim, w->block[r])->row != r || sim_block_at(&w->sim, w->block[r])->state == SIM_FREE))
            w->block[r] = 0;
}

static void one_request(struct world *w)
{
    static const uint64_t raw[] = {0, 7, UINT64_MAX - 5};
    const uint64_t n = request(w);
    const uint32_t stream = any(w, 4) ? 0 : (uint32_t)any(w, 3), pool = any(w, 8) ? 1 : 2 + (uint32_t)any(w, 2), row = w->n_rows;
    w->kind = (struct msnap_books_kind){.stream = stream, .pool = pool, .small = msnap_round_size(&w->books.config, n) <= MSNAP_SMALL_SIZE,
                                        .expandable = w->sim.config.expandable_segments};
    const uint32_t id = msnap_sim_malloc(&w->sim, n, pool, stream, raw[stream], pool > 1, row);
    forget_completed(w);
    if (id)
        check_place(w, id);
    w->block[row] = id;
    w->n_rows++;
}

static void one_step(struct world *w)
{
    const uint64_t dice = any(w, 100);
    uint32_t row = (uint32_t)any(w, w->n_rows + 1);
    if (dice < 50 || row == w->n_rows) {
        one_request(w);
    } else if (dice < 99) {
        while (row < w->n_rows && !w->block[row])
            row++;
        if (row == w->n_rows)
            return;
        if (w->pending[row]) {
            msnap_sim_ready(&w->sim, w->block[row]);
        } else {
            w->pending[row] = any(w, 6) == 0;
            msnap_sim_free(&w->sim, w->block[row], w->pending[row]);
            if (!w->pending[row])
                w->block[row] = 0;
        }
    } else {
        msnap_sim_empty_cache(&w->sim, any(w, 2) ? UINT32_MAX : 2);
        forget_completed(w);
    }
}

static void free_everything(struct world *w)
{
    for (uint32_t r = 0; r < w->n_rows; r++)
        if (w->block[r] && !w->pending[r])
            msnap_sim_free(&w->sim, w->block[r], any(w, 2));
    check_state(w);
    msnap_sim_empty_cache(&w->sim, 2);
    msnap_sim_empty_cache(&w->sim, 3);
    msnap_sim_empty_cache(&w->sim, UINT32_MAX);
    check_state(w);
    CHECK(w, w->sim.held == 0);
    for (int f = 0; f < MSNAP_N_FAMILIES; f++)
        CHECK(w, w->sim.counters.family[f][0].current == 0);
}

static void run(struct fixture *f, uint32_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->seed = seed;
    w->state = seed * 2654435761u;
    const struct msnap_sim_config c = settings(w);
    struct msnap_alloc_config books = {.max_split = c.max_split_size, .large_segment = c.large_segment_size, .expandable = c.expandable_segments, .known = true};
    memcpy(books.divisions, c.divisions, sizeof books.divisions);
    msnap_sim_chunks_init(&w->chunks, counting_mem(&f->mem), UINT64_C(0x7f0000000000));
    const struct msnap_sim_driver driver = msnap_sim_chunks_driver(&w->chunks);
    assert_true(msnap_sim_init(&w->sim, counting_mem(&f->mem), &c, &driver));
    assert_true(msnap_books_init(&w->books, counting_mem(&f->mem), &books, &w->faults));
    w->books.counters = &w->counters;
    w->books.event = 0;
    w->sim.on_event = heard;
    w->sim.on_event_ctx = w;
    for (size_t i = 0; i < STEPS; i++) {
        one_step(w);
        check_state(w);
        if (i % 32 == 0) {
            check_segments(w);
            check_books(w);
        }
    }
    check_books(w);
    free_everything(w);
    check_books(w);
    msnap_books_release(&w->books);
    msnap_sim_release(&w->sim);
    msnap_sim_chunks_release(&w->chunks);
    free(w);
}

static void every_stream_of_requests(void **state)
{
    printf("seeds %u to %u\n", first_seed, last_seed);
    for (uint32_t seed = first_seed; seed <= last_seed; seed++)
        run(*state, seed);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {TEST(every_stream_of_requests)};
    if (argc > 1)
        first_seed = last_seed = (uint32_t)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
