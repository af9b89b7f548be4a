/* rank.c -- what is allocated at a moment, by stack, line, stream, pool, category or step. */
#include <memsnap/classify.h>
#include <memsnap/rank.h>
#include <memsnap/steps.h>

#include "base/arena.h"
#include "base/status.h"

#include <string.h>

struct keys {
    const struct msnap_history *h;
    enum msnap_group_by by;
    size_t n;        /* keys are below this */
    size_t step;     /* by step: the first that ends at the last row's birth or after; rows come in order */
    uint32_t *frame; /* by stack: its user frame + 1, 0 while not looked up; only for lines */
};

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the table"); }

static bool keys_init(struct keys *k, const struct msnap_history *h, enum msnap_group_by by, struct msnap_arena *arena)
{
    const struct msnap_snapshot *s = h->snapshot;
    *k = (struct keys){.h = h, .by = by};
    switch (by) {
    case MSNAP_BY_STACK: k->n = s->stacks.n; break;
    case MSNAP_BY_LINE:
        k->n = s->frames.n;
        k->frame = MSNAP_NEW(arena, uint32_t, s->stacks.n);
        return k->frame != NULL;
    case MSNAP_BY_STREAM: k->n = s->streams.n; break;
    case MSNAP_BY_POOL: k->n = s->pools.n; break;
    case MSNAP_BY_CATEGORY: k->n = h->classes->n_categories; break;
    case MSNAP_BY_STEP: k->n = h->steps->n + MSNAP_STEP_KEY; break;
    case MSNAP_N_GROUP_BY: return false;
    }
    return true;
}

static uint32_t step_of(struct keys *k, size_t row)
{
    const struct msnap_steps *s = k->h->steps;
    if (row < k->h->allocs.n_initial)
        return MSNAP_STEP_BEFORE_RECORDING;
    const uint32_t born = k->h->allocs.alloc_event[row];
    while (k->step < s->n && s->steps[k->step].last < born)
        k->step++;
    if (k->step < s->n && s->steps[k->step].first <= born)
        return (uint32_t)k->step + MSNAP_STEP_KEY;
    return k->step == 0 && s->n ? MSNAP_STEP_BEFORE : MSNAP_STEP_OUTSIDE;
}

static uint32_t key_of(struct keys *k, size_t row)
{
    switch (k->by) {
    case MSNAP_BY_STACK: return msnap_alloc_stack(k->h, row);
    case MSNAP_BY_LINE: {
        uint32_t stack = msnap_alloc_stack(k->h, row);
        if (!k->frame[stack])
            k->frame[stack] = msnap_stack_user_frame(k->h->snapshot, stack) + 1;
        return k->frame[stack] - 1;
    }
    case MSNAP_BY_STREAM: return msnap_alloc_stream(k->h, row);
    case MSNAP_BY_POOL: return msnap_alloc_pool(k->h, row);
    case MSNAP_BY_CATEGORY: return k->h->classes->category[row];
    case MSNAP_BY_STEP: return step_of(k, row);
    case MSNAP_N_GROUP_BY: break;
    }
    return 0;
}

static bool before(const struct msnap_rank_row *a, const struct msnap_rank_row *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->key < b->key;
}

static void sort_rows(struct msnap_rank_row *v, size_t n)
{
    for (size_t end = n, start = n / 2; end > 1;) { /* heap sort */
        if (start)
            start--;
        else {
            end--;
            struct msnap_rank_row t = v[0];
            v[0] = v[end];
            v[end] = t;
        }
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && before(&v[child], &v[child + 1]))
                child++;
            if (!before(&v[root], &v[child]))
                break;
            struct msnap_rank_row t = v[root];
            v[root] = v[child];
            v[child] = t;
        }
    }
}

enum msnap_status msnap_rank_build(const struct msnap_history *h, uint32_t event, enum msnap_group_by by, struct msnap_arena *arena,
                                   struct msnap_rank *out, struct msnap_error *err)
{
    struct keys k;
    if (by == MSNAP_BY_CATEGORY && !h->classes)
        return msnap_fail(err, MSNAP_EUSAGE, "grouping by category needs the categories");
    if (by == MSNAP_BY_STEP && !h->steps)
        return msnap_fail(err, MSNAP_EUSAGE, "grouping by step needs the steps");
    if (!keys_init(&k, h, by, arena))
        return by == MSNAP_N_GROUP_BY ? msnap_fail(err, MSNAP_EUSAGE, "no such grouping") : no_memory(err);
    uint32_t *index = MSNAP_NEW(arena, uint32_t, k.n); /* row + 1 */
    size_t n = 0, cap = 64;
    struct msnap_rank_row *rows = MSNAP_NEW_RAW(arena, struct msnap_rank_row, cap);
    uint64_t *largest = MSNAP_NEW_RAW(arena, uint64_t, k.n); /* of each row */
    if (!index || !rows || !largest)
        return no_memory(err);
    uint64_t total = 0;
    for (size_t r = 0; r < h->allocs.n; r++) {
        if (!msnap_alloc_is_allocated(h, r, event))
            continue;
        uint32_t key = key_of(&k, r);
        uint64_t bytes = h->allocs.block_size[r];
        if (!index[key]) {
            if (n == cap) {
                struct msnap_rank_row *more = MSNAP_NEW_RAW(arena, struct msnap_rank_row, cap * 2);
                if (!more)
                    return no_memory(err);
                memcpy(more, rows, n * sizeof *rows);
                rows = more;
                cap *= 2;
            }
            rows[n] = (struct msnap_rank_row){.key = key};
            largest[n] = 0;
            index[key] = (uint32_t)++n;
        }
        struct msnap_rank_row *row = &rows[index[key] - 1];
        row->bytes += bytes;
        row->count++;
        if (bytes > largest[index[key] - 1] || row->count == 1) {
            largest[index[key] - 1] = bytes;
            row->stack = msnap_alloc_stack(h, r);
        }
        total += bytes;
    }
    sort_rows(rows, n);
    *out = (struct msnap_rank){n, rows, total};
    return MSNAP_OK;
}

/* Every category has its number, whatever it holds. */
static enum msnap_status categories_in_order(const struct msnap_history *h, uint32_t event, struct msnap_arena *arena,
                                             struct msnap_grouping *out, struct msnap_error *err)
{
    struct msnap_rank rank;
    const size_t n = h->classes->n_categories;
    struct msnap_rank_row *rows = MSNAP_NEW(arena, struct msnap_rank_row, n);
    if (!rows)
        return no_memory(err);
    enum msnap_status st = msnap_rank_build(h, event, MSNAP_BY_CATEGORY, arena, &rank, err);
    if (st != MSNAP_OK)
        return st;
    for (size_t i = 0; i < n; i++)
        rows[i].key = (uint32_t)i;
    for (size_t i = 0; i < rank.n; i++)
        rows[rank.rows[i].key] = rank.rows[i];
    *out = (struct msnap_grouping){n, h->classes->category, rows, false};
    return MSNAP_OK;
}

enum msnap_status msnap_grouping_build(const struct msnap_history *h, uint32_t event, enum msnap_group_by by, size_t max_groups,
                                       struct msnap_arena *arena, struct msnap_grouping *out, struct msnap_error *err)
{
    struct msnap_rank rank;
    struct keys k;
    if (by == MSNAP_BY_CATEGORY && h->classes && h->classes->n_categories <= max_groups)
        return categories_in_order(h, event, arena, out, err);
    if (max_groups < 1 || max_groups > 255)
        return msnap_fail(err, MSNAP_EUSAGE, "a picture has 1 to 255 groups, not %zu", max_groups);
    enum msnap_status st = msnap_rank_build(h, event, by, arena, &rank, err);
    if (st != MSNAP_OK)
        return st;
    if (!keys_init(&k, h, by, arena))
        return no_memory(err);
    /* Groups that hold nothing at the moment (all freed before, or made later) go to the rest. */
    size_t named = rank.n < max_groups ? rank.n : max_groups - 1;
    uint8_t *number = MSNAP_NEW(arena, uint8_t, k.n), *group = MSNAP_NEW_RAW(arena, uint8_t, h->allocs.n);
    struct msnap_rank_row *rows = MSNAP_NEW(arena, struct msnap_rank_row, named + 1);
    if (!number || !group || !rows)
        return no_memory(err);
    memset(number, (int)named, k.n);
    for (size_t i = 0; i < named; i++) {
        number[rank.rows[i].key] = (uint8_t)i;
        rows[i] = rank.rows[i];
    }
    bool rest = rank.n > named;
    for (size_t i = named; i < rank.n; i++) {
        rows[named].bytes += rank.rows[i].bytes;
        rows[named].count += rank.rows[i].count;
    }
    for (size_t r = 0; r < h->allocs.n; r++) {
        group[r] = number[key_of(&k, r)];
        rest = rest || group[r] == named;
    }
    *out = (struct msnap_grouping){named + rest, group, rows, rest};
    return MSNAP_OK;
}
