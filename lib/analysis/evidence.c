/* evidence.c -- what the rules need to know of the whole run: sizes of parameters, and which
 * stacks made blocks of such sizes. */
#include "analysis/classify_rows.h"

#include "base/addrmap.h"
#include "base/arena.h"

#include <string.h>

/* Roles that need no phase and no life to decide. */
static bool decides_alone(uint8_t role)
{
    return role == ROLE_WEIGHT || role == ROLE_OPTIMIZER || role == ROLE_SHARD || role == ROLE_COMM || role == ROLE_DATA ||
           role == ROLE_CACHE || role == ROLE_WORKSPACE;
}

void msnap_row_at(const struct evidence *e, size_t row, struct row *out)
{
    const struct msnap_history *h = e->h;
    const struct msnap_allocs *a = &h->allocs;
    const size_t event = h->device->first_event + a->alloc_event[row];
    out->row = row;
    out->born = a->alloc_event[row];
    out->freed = a->request_event[row];
    out->stack = h->snapshot->events.stack[event];
    out->size = h->snapshot->events.size[event];
    out->facts = e->facts[out->stack];
    if (e->dump_stack && decides_alone(e->facts[e->dump_stack[row]].role))
        out->facts = e->facts[e->dump_stack[row]];
    while (out->phase + 1 < e->steps->n_phases && e->steps->phases[out->phase + 1].first <= out->born)
        out->phase++;
}

struct msnap_stack_facts msnap_freed_by(const struct evidence *e, const struct row *r)
{
    const struct msnap_history *h = e->h;
    if (r->freed == MSNAP_NO_EVENT || !e->frees_have_stacks)
        return (struct msnap_stack_facts){0, 0};
    return e->facts[h->snapshot->events.stack[h->device->first_event + r->freed]];
}

bool msnap_is_parameter_size(const struct evidence *e, uint64_t size)
{
    return msnap_sizes_count(&e->parameters, size) > 0;
}

static bool is_scratch_size(uint64_t size)
{
    const uint64_t kib = size / 1024;
    return size % 1024 == 0 && (kib == 32768 || kib == 8320 || kib == 4224 || kib == 1024);
}

/* The same stream makes it once; its number in the list, or the list's length. */
static size_t find_scratch(const struct evidence *e, const struct row *r)
{
    const uint32_t stream = msnap_alloc_stream(e->h, r->row);
    size_t i = 0;
    while (i < e->n_scratches && (e->scratches[i].size != r->size || e->scratches[i].stream != stream))
        i++;
    return i;
}

/* cuBLAS keeps one workspace for each thread and stream from its first matrix product on; the
 * sizes are PyTorch's defaults (Hopper and later, others; cublasLt). Some programs drop them at
 * their very end. */
bool msnap_is_matmul_scratch(const struct evidence *e, const struct row *r)
{
    if (!is_scratch_size(r->size))
        return false;
    if (r->freed != MSNAP_NO_EVENT && (e->last_work == MSNAP_NO_EVENT || r->freed <= e->last_work))
        return false;
    /* Gradients of that size are dropped; what stays beside them is no gradient. */
    const bool in_backward = e->steps->phases[r->phase].kind == MSNAP_PHASE_BACKWARD;
    if (in_backward && msnap_sizes_count(&e->dropped, r->size) > 0)
        return e->second_optimizer != MSNAP_NO_EVENT && r->born < e->second_optimizer && row_outlives(r, e->second_optimizer);
    if (!in_backward) {
        const size_t i = find_scratch(e, r);
        if (i < e->n_scratches && e->scratches[i].row != r->row)
            return false;
    }
    return !msnap_is_parameter_size(e, r->size) && (e->parameters.n || msnap_sizes_count(&e->gradients, r->size) < 2);
}

/* Smaller ones are too many, and nobody asks. */
#define LARGE_SIZE ((uint64_t)1 << 20)

/* No operator can have an output of its own in between: the block was nobody's input or result, or was
 * added to something of its size in place. */
static bool is_given_back_at_once(const struct row *r) { return r->freed == r->born + 1; }

/* Results of a forward pass that the caller drops at once are freed elsewhere than they were made. */
static bool is_freed_where_made(const struct evidence *e, const struct row *r)
{
    if (e->steps->phases[r->phase].kind == MSNAP_PHASE_BACKWARD)
        return true;
    if (r->stack <= MSNAP_STACK_EMPTY)
        return false;
    return e->frees_have_stacks && e->h->snapshot->events.stack[e->h->device->first_event + r->freed] == r->stack;
}

bool msnap_is_given_back_at_once(const struct evidence *e, const struct row *r)
{
    return is_given_back_at_once(r) && r->size >= LARGE_SIZE && is_freed_where_made(e, r) && !msnap_is_parameter_size(e, r->size) && !msnap_sizes_count(&e->lasting, r->size);
}

static bool find_next(struct evidence *e, struct msnap_arena *arena)
{
    const struct msnap_steps *s = e->steps;
    struct next_phases *next = MSNAP_NEW_RAW(arena, struct next_phases, s->n_phases);
    struct next_phases now;
    if (!next)
        return false;
    for (int k = 0; k < MSNAP_N_PHASES; k++)
        now.first[k] = MSNAP_NO_EVENT;
    for (size_t i = s->n_phases; i-- > 0;) {
        next[i] = now;
        now.first[s->phases[i].kind] = s->phases[i].first;
    }
    const uint32_t f = now.first[MSNAP_PHASE_FORWARD], b = now.first[MSNAP_PHASE_BACKWARD];
    e->first_pass = f < b ? f : b; /* never is the largest number */
    e->next = next;
    e->has_backward = b != MSNAP_NO_EVENT;
    e->last_work = MSNAP_NO_EVENT;
    const uint8_t work = b == MSNAP_NO_EVENT ? MSNAP_PHASE_FORWARD : MSNAP_PHASE_BACKWARD;
    for (size_t i = s->n_phases; i-- > 0 && e->last_work == MSNAP_NO_EVENT;)
        if (s->phases[i].kind == work)
            e->last_work = s->phases[i].last;
    bool after_backward = false;
    size_t n = 0, n_backward = 0;
    e->second_optimizer = e->second_backward = MSNAP_NO_EVENT;
    for (size_t i = 0; i < s->n_phases && (n < 2 || n_backward < 2); i++) {
        if (s->phases[i].kind == MSNAP_PHASE_BACKWARD) {
            after_backward = true;
            if (++n_backward == 2)
                e->second_backward = s->phases[i].first;
        }
        if (s->phases[i].kind == MSNAP_PHASE_OPTIMIZER && after_backward) {
            after_backward = false;
            if (++n == 2)
                e->second_optimizer = s->phases[i].first;
        }
    }
    return true;
}

struct row_list {
    uint32_t *v;
    size_t n, cap;
    struct msnap_arena *arena;
};

static bool push_row(struct row_list *l, size_t row)
{
    if (l->n == l->cap) {
        const size_t cap = l->cap ? l->cap * 2 : 256;
        uint32_t *more = MSNAP_NEW_RAW(l->arena, uint32_t, cap);
        if (!more)
            return false;
        if (l->n)
            memcpy(more, l->v, l->n * sizeof *more);
        l->v = more;
        l->cap = cap;
    }
    l->v[l->n++] = (uint32_t)row;
    return true;
}

/* Blocks that user code or a copier made outside of the passes and kept: row numbers, at most a few
 * next to the rows of the passes. */
static bool is_kept_by_user(const struct evidence *e, const struct row *r)
{
    const uint8_t role = r->facts.role;
    return (role == ROLE_NONE || role == ROLE_COPY || role == ROLE_BARRIER) && (r->facts.flags & FACT_STACK) &&
           e->steps->phases[r->phase].kind == MSNAP_PHASE_OTHER && row_is_kept(e, r);
}

/* Sizes of parameters, as frames tell, and of what backward passes leave behind. */
static bool gather_sizes(struct evidence *e, struct row_list *users)
{
    struct row r = {0};
    for (size_t i = e->h->allocs.n_initial; i < e->h->allocs.n; i++) {
        msnap_row_at(e, i, &r);
        const uint8_t kind = e->steps->phases[r.phase].kind;
        bool ok = true;
        if (r.facts.role == ROLE_WEIGHT || (r.facts.role == ROLE_SHARD && kind == MSNAP_PHASE_OTHER)) {
            e->made_parameter_bytes += r.size;
            if (row_is_kept(e, &r)) {
                ok = msnap_sizes_add(&e->parameters, r.size);
                e->parameter_bytes += r.size;
            }
        } else if (kind == MSNAP_PHASE_BACKWARD && !(r.facts.flags & FACT_IN_FORWARD)) {
            const bool is_dropped = msnap_freed_by(e, &r).role == ROLE_ZERO_GRAD;
            if (is_dropped)
                ok = msnap_sizes_add(&e->dropped, r.size);
            if (ok && (is_dropped || (row_is_kept(e, &r) && !msnap_is_matmul_scratch(e, &r))))
                ok = msnap_sizes_add(&e->gradients, r.size);
        } else if (kind == MSNAP_PHASE_OPTIMIZER && e->steps->annotated_only) {
            if (row_is_kept(e, &r))
                ok = msnap_sizes_add(&e->states, r.size);
        }
        if (ok && r.size >= LARGE_SIZE && !is_given_back_at_once(&r))
            ok = msnap_sizes_add(&e->lasting, r.size);
        if (!e->forward_stream && r.facts.role == ROLE_FORWARD && kind == MSNAP_PHASE_FORWARD)
            e->forward_stream = msnap_alloc_stream(e->h, i);
        if (is_scratch_size(r.size) && kind == MSNAP_PHASE_FORWARD && msnap_is_matmul_scratch(e, &r)) {
            const size_t k = find_scratch(e, &r);
            if (k == e->n_scratches && k < MAX_SCRATCHES)
                e->scratches[e->n_scratches++] = (struct scratch){r.size, msnap_alloc_stream(e->h, r.row), i};
        }
        if (e->steps->phases[r.phase].is_user_code && (msnap_freed_by(e, &r).flags & FACT_IN_BACKWARD))
            e->tally[r.stack].n_for_backward++;
        if (ok && is_kept_by_user(e, &r)) {
            ok = push_row(users, i);
            e->n_user_kept_in_loop += r.born > e->first_pass;
        }
        if (!ok)
            return false;
    }
    return true;
}

/* Whether the known parameters explain what backward passes leave behind. */
static bool are_explained(const struct evidence *e)
{
    const struct msnap_sizes *left = e->dropped.n ? &e->dropped : &e->gradients;
    uint64_t all = 0, known = 0;
    for (size_t i = 0; i < left->n_slots; i++) {
        const uint64_t bytes = left->size[i] * left->count[i];
        all += bytes;
        if (msnap_is_parameter_size(e, left->size[i]))
            known += bytes;
    }
    return all && known >= all - all / 4;
}

static bool like_parameter(const struct evidence *e, uint64_t size)
{
    return msnap_is_parameter_size(e, size) || (!e->explained && msnap_sizes_count(&e->gradients, size) > 0);
}

static void tally(struct evidence *e, size_t row)
{
    struct row r = {0};
    msnap_row_at(e, row, &r);
    struct stack_tally *t = &e->tally[r.stack];
    if (!t->n++)
        t->first_size = r.size;
    t->sizes_differ = t->sizes_differ || r.size != t->first_size;
    t->n_like_parameters += like_parameter(e, r.size);
    t->n_doubled += r.size % 2 == 0 && like_parameter(e, r.size / 2);
    t->n_halved += like_parameter(e, r.size * 2);
}

/* Where only the state at the dump has stacks, those of blocks that are still there tell much. */
static bool find_dump_stacks(struct evidence *e, struct msnap_arena *arena)
{
    const struct msnap_history *h = e->h;
    const struct msnap_snapshot *s = h->snapshot;
    const struct msnap_allocs *a = &h->allocs;
    const struct msnap_mem mem = msnap_arena_mem(arena);
    uint32_t *stacks = MSNAP_NEW(arena, uint32_t, a->n);
    struct msnap_addrmap map;
    if (!stacks || !msnap_addrmap_init(&map, mem))
        return false;
    bool ok = true;
    for (size_t r = a->n_initial; r < a->n && ok; r++)
        if (a->request_event[r] == MSNAP_NO_EVENT)
            ok = msnap_addrmap_insert(&map, mem, msnap_alloc_addr(h, r), (uint32_t)r + 1);
    for (size_t g = h->device->first_segment; ok && g < h->device->first_segment + h->device->n_segments; g++)
        for (size_t k = 0; k < s->segments.n_blocks[g]; k++) {
            const size_t i = s->segments.first_block[g] + k;
            const uint32_t row = s->blocks.state[i] == MSNAP_BLOCK_ALLOCATED ? msnap_addrmap_find(&map, s->blocks.address[i]) : 0;
            if (row)
                stacks[row - 1] = s->blocks.stack[i];
        }
    msnap_addrmap_release(&map, mem);
    e->dump_stack = stacks;
    return ok;
}

bool msnap_evidence_gather(struct evidence *e, const struct msnap_history *h, const struct msnap_steps *steps, struct msnap_arena *arena)
{
    *e = (struct evidence){.h = h, .steps = steps, .facts = steps->facts, .parameters = {.arena = arena}, .gradients = {.arena = arena},
                           .dropped = {.arena = arena}, .states = {.arena = arena}, .lasting = {.arena = arena}, .first_pass = MSNAP_NO_EVENT};
    e->tally = MSNAP_NEW(arena, struct stack_tally, h->snapshot->stacks.n + 2);
    if (!e->tally || !find_next(e, arena) || !msnap_phase_spans(h, "Optimizer.step#", arena, &e->optimizer_steps))
        return false;
    e->frees_have_stacks = msnap_frees_have_stacks(h);
    if (!steps->n_phases)
        return true;
    if (steps->annotated_only && !find_dump_stacks(e, arena))
        return false;
    struct row_list users = {.arena = arena};
    if (!gather_sizes(e, &users))
        return false;
    e->explained = are_explained(e);
    for (size_t i = 0; i < users.n; i++)
        tally(e, users.v[i]);
    return true;
}
