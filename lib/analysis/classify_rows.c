/* classify_rows.c -- the rules, in the order in which they are tried. */
#include "analysis/classify_rows.h"

#define RULE(name) MSNAP_RULE_##name

static uint8_t phase_kind_at(const struct evidence *e, uint32_t event)
{
    return e->steps->phases[msnap_phase_at(e->steps, event)].kind;
}

/* The end of the Optimizer.step that an event lies in, as annotated; the event itself where none is. */
static uint32_t end_of_step(const struct evidence *e, uint32_t event)
{
    const struct phase_span *v = e->optimizer_steps.spans;
    size_t lo = 0, hi = e->optimizer_steps.n;
    while (lo < hi) { /* the first span that ends at the event or after */
        const size_t mid = lo + (hi - lo) / 2;
        if (v[mid].last < event)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < e->optimizer_steps.n && v[lo].first <= event ? v[lo].last : event;
}

static enum msnap_rule_id rule_of_optimizer(const struct evidence *e, const struct row *r)
{
    const struct next_phases *next = &e->next[r->phase];
    /* Kept for the next step: at least until another pass begins. */
    uint32_t pass = next->first[MSNAP_PHASE_FORWARD] < next->first[MSNAP_PHASE_BACKWARD] ? next->first[MSNAP_PHASE_FORWARD]
                                                                                         : next->first[MSNAP_PHASE_BACKWARD];
    /* A closure's passes come within the step. */
    if (!row_is_kept(e, r) || (pass != MSNAP_NO_EVENT && !row_outlives(r, pass)) || !row_outlives(r, end_of_step(e, r->born)))
        return RULE(optimizer_scratch);
    return e->steps->phases[r->phase].kind == MSNAP_PHASE_OTHER ? RULE(optimizer_init) : RULE(optimizer_keeps);
}

static enum msnap_rule_id rule_of_shard(const struct evidence *e, const struct row *r)
{
    const uint8_t kind = e->steps->phases[r->phase].kind;
    if (!row_is_kept(e, r))
        return RULE(gathered_shards);
    switch ((enum msnap_phase_kind)kind) {
    case MSNAP_PHASE_BACKWARD: return RULE(reduced_shard);
    case MSNAP_PHASE_OPTIMIZER: return RULE(optimizer_keeps);
    case MSNAP_PHASE_OTHER: return RULE(sharded_parameters);
    case MSNAP_PHASE_FORWARD:
    case MSNAP_N_PHASES: break;
    }
    return RULE(gathered_shards);
}

static enum msnap_rule_id rule_in_backward(const struct evidence *e, const struct row *r)
{
    if (r->facts.flags & FACT_IN_FORWARD) {
        const struct msnap_stack_facts f = msnap_freed_by(e, r);
        return r->freed == MSNAP_NO_EVENT || !(f.flags & FACT_IN_FORWARD) ? RULE(recomputed) : msnap_is_given_back_at_once(e, r) ? RULE(given_back_at_once) : RULE(forward_scratch);
    }
    if (msnap_freed_by(e, r).role == ROLE_ZERO_GRAD)
        return RULE(dropped_by_zero_grad); /* even within the pass: hooks may step and drop */
    if (!row_is_kept(e, r))
        return msnap_is_given_back_at_once(e, r) ? RULE(given_back_at_once) : RULE(backward_scratch);
    if (msnap_is_matmul_scratch(e, r))
        return RULE(matmul_scratch);
    if (r->freed != MSNAP_NO_EVENT) {
        const uint8_t kind = phase_kind_at(e, r->freed);
        /* Gradients are added to in place: the engine frees none of them later. */
        if (kind == MSNAP_PHASE_BACKWARD || (kind == MSNAP_PHASE_FORWARD && e->explained && !msnap_is_parameter_size(e, r->size)))
            return RULE(second_order);
    }
    if (e->steps->phases[r->phase].returns_gradients)
        return RULE(returned_by_grad);
    if (e->explained && !msnap_is_parameter_size(e, r->size) && !(r->facts.flags & FACT_ACCUMULATE))
        return RULE(gradient_of_activation);
    return r->facts.flags & FACT_ACCUMULATE ? RULE(accumulates) : RULE(outlives_backward);
}

/* Whether what this line keeps is all of the sizes of parameters. */
static bool copies_parameters(const struct evidence *e, const struct row *r)
{
    const struct stack_tally *t = &e->tally[r->stack];
    if (!t->sizes_differ)
        return false;
    if (t->n_like_parameters * 10 >= t->n * 9)
        return true;
    return t->n >= 3 && (t->n_doubled == t->n || t->n_halved == t->n);
}

/* One block for all parameters, padded at most a little; as they are, twice or half as wide. */
static bool holds_all_parameters(const struct evidence *e, uint64_t size)
{
    const uint64_t totals[] = {e->parameter_bytes, e->made_parameter_bytes};
    for (size_t i = 0; i < 2; i++)
        for (unsigned shift = 0; shift < 3; shift++) {
            const uint64_t whole = totals[i] << shift >> 1;
            if (whole && size >= whole && size - whole <= whole / 64)
                return true;
        }
    return false;
}

/* A key-value cache that user code made: inputs are made anew for each call. */
static bool is_held_over_calls(const struct evidence *e, const struct row *r)
{
    enum { LEAST_BLOCKS = 4, LEAST_CALLS = 3 };
    const struct stack_tally *t = &e->tally[r->stack];
    uint32_t call = e->next[r->phase].first[MSNAP_PHASE_FORWARD];
    if (e->has_backward || t->n < LEAST_BLOCKS || t->sizes_differ || e->n_user_kept_in_loop < t->n + LEAST_CALLS)
        return false;
    for (int i = 1; i < LEAST_CALLS && call != MSNAP_NO_EVENT; i++)
        call = e->next[msnap_phase_at(e->steps, call)].first[MSNAP_PHASE_FORWARD];
    return call != MSNAP_NO_EVENT && row_outlives(r, call);
}

static enum msnap_rule_id rule_of_user(const struct evidence *e, const struct row *r)
{
    const struct next_phases *next = &e->next[r->phase];
    const bool is_setting_up = r->born < e->first_pass;
    if (!row_is_kept(e, r))
        return RULE(user_scratch);
    if (msnap_freed_by(e, r).role == ROLE_ZERO_GRAD)
        return RULE(dropped_by_zero_grad);
    if (r->facts.flags & FACT_STACK) {
        const bool after_backward = r->phase && e->steps->phases[r->phase - 1].kind == MSNAP_PHASE_BACKWARD;
        if (copies_parameters(e, r)) {
            const uint32_t pass = next->first[MSNAP_PHASE_FORWARD], step = next->first[MSNAP_PHASE_OPTIMIZER];
            if (after_backward && !is_setting_up && pass != MSNAP_NO_EVENT && !row_outlives(r, pass))
                return RULE(copies_of_gradients);
            if (is_setting_up || (step == MSNAP_NO_EVENT && !after_backward) || (!after_backward && row_outlives(r, step) && (pass == MSNAP_NO_EVENT || row_outlives(r, pass))))
                return RULE(copies_of_parameters);
        }
        if (is_setting_up && e->second_optimizer != MSNAP_NO_EVENT && row_outlives(r, e->second_optimizer) &&
            msnap_sizes_count(&e->gradients, r->size) > 0 && !msnap_is_parameter_size(e, r->size))
            return r->facts.flags & FACT_MAKES ? RULE(built_by_init) : RULE(has_a_gradient);
        if (is_setting_up && holds_all_parameters(e, r->size))
            return RULE(flat_parameters);
        if (is_setting_up && (r->facts.flags & FACT_MAKES) && msnap_is_parameter_size(e, r->size))
            return RULE(built_by_init);
    }
    if (r->facts.role == ROLE_COPY && is_setting_up && !e->parameters.n)
        return RULE(copies_of_parameters);
    if (next->first[MSNAP_PHASE_FORWARD] != MSNAP_NO_EVENT && row_outlives(r, next->first[MSNAP_PHASE_FORWARD])) {
        if (r->phase && e->steps->phases[r->phase - 1].returns_gradients)
            return RULE(held_for_backward); /* computed from what torch.autograd.grad returned */
        if (is_held_over_calls(e, r))
            return RULE(held_over_calls);
        /* What only autograd holds is no batch of the user's. */
        return msnap_freed_by(e, r).flags & FACT_IN_BACKWARD ? RULE(only_autograd_holds) : RULE(made_before_forward);
    }
    return next->first[MSNAP_PHASE_FORWARD] == MSNAP_NO_EVENT && r->freed == MSNAP_NO_EVENT ? RULE(kept_by_user) : RULE(user_scratch);
}

/* A forward pass without modules: parameters, batches and activations all come from user code. */
static enum msnap_rule_id rule_without_modules(const struct evidence *e, const struct row *r)
{
    /* A variable may hold what the same line makes for the backward pass. */
    if ((msnap_freed_by(e, r).flags & FACT_IN_BACKWARD) || e->tally[r->stack].n_for_backward > 0)
        return RULE(held_for_backward);
    if (r->phase == 0 && e->second_backward != MSNAP_NO_EVENT && row_outlives(r, e->second_backward) &&
        msnap_sizes_count(&e->gradients, r->size) > 0)
        return RULE(has_a_gradient);
    const uint32_t backward = e->next[r->phase].first[MSNAP_PHASE_BACKWARD];
    if (backward == MSNAP_NO_EVENT || !row_outlives(r, e->steps->phases[msnap_phase_at(e->steps, backward)].last))
        return RULE(held_for_backward);
    return RULE(made_before_forward);
}

static enum msnap_rule_id rule_in_forward(const struct evidence *e, const struct row *r)
{
    if (!row_is_kept(e, r))
        return msnap_is_given_back_at_once(e, r) ? RULE(given_back_at_once) : RULE(forward_scratch);
    if (msnap_is_matmul_scratch(e, r))
        return RULE(matmul_scratch);
    if (e->steps->phases[r->phase].is_user_code)
        return rule_without_modules(e, r);
    if (r->facts.role == ROLE_NONE && e->forward_stream && msnap_alloc_stream(e->h, r->row) != e->forward_stream &&
        e->next[r->phase].first[MSNAP_PHASE_FORWARD] != MSNAP_NO_EVENT && row_outlives(r, e->next[r->phase].first[MSNAP_PHASE_FORWARD]))
        return RULE(fetched_ahead);
    return !e->has_backward ? RULE(kept_between_calls) : RULE(held_for_backward);
}

/* Without stacks only sizes, order and lives are left. */
static enum msnap_rule_id rule_without_stack(const struct evidence *e, const struct row *r)
{
    const uint8_t kind = e->steps->phases[r->phase].kind;
    const struct next_phases *next = &e->next[r->phase];
    const bool has_optimizer = e->second_optimizer != MSNAP_NO_EVENT;
    switch ((enum msnap_phase_kind)kind) {
    case MSNAP_PHASE_FORWARD:
        if (msnap_is_matmul_scratch(e, r))
            return RULE(matmul_scratch);
        if (has_optimizer && row_outlives(r, e->second_optimizer) && r->born < next->first[MSNAP_PHASE_OPTIMIZER] &&
            next->first[MSNAP_PHASE_OPTIMIZER] < e->second_optimizer &&
            (msnap_sizes_count(&e->gradients, r->size) || msnap_sizes_count(&e->states, r->size)))
            return RULE(there_before_the_steps);
        if (next->first[MSNAP_PHASE_OPTIMIZER] != MSNAP_NO_EVENT && row_outlives(r, next->first[MSNAP_PHASE_OPTIMIZER]) && r->freed != MSNAP_NO_EVENT &&
            phase_kind_at(e, r->freed) != MSNAP_PHASE_BACKWARD)
            return RULE(made_before_forward);
        return rule_in_forward(e, r);
    case MSNAP_PHASE_BACKWARD: return rule_in_backward(e, r);
    case MSNAP_PHASE_OPTIMIZER: return rule_of_optimizer(e, r);
    case MSNAP_PHASE_OTHER:
    case MSNAP_N_PHASES: break;
    }
    if (r->freed != MSNAP_NO_EVENT)
        return row_is_kept(e, r) ? RULE(no_evidence) : RULE(user_scratch);
    if (!e->dump_stack)
        return RULE(no_evidence);
    /* The dump has stacks for what is still there. */
    const struct msnap_stack_facts at_dump = e->facts[e->dump_stack[r->row]];
    if ((at_dump.flags & FACT_STACK) && msnap_is_matmul_scratch(e, r))
        return RULE(matmul_scratch);
    return at_dump.flags & FACT_IN_FORWARD ? RULE(kept_between_calls) : at_dump.flags & FACT_STACK ? RULE(kept_by_user) : RULE(no_evidence);
}

enum msnap_rule_id msnap_rule_of(const struct evidence *e, const struct row *r)
{
    const uint8_t kind = e->steps->phases[r->phase].kind;
    const bool in_backward = (r->facts.flags & FACT_IN_BACKWARD) != 0;

    if (!(r->facts.flags & FACT_STACK))
        return rule_without_stack(e, r);
    switch ((enum frame_role)r->facts.role) {
    case ROLE_WORKSPACE: return RULE(library_scratch);
    case ROLE_COMPILE: return RULE(compile_scratch);
    case ROLE_COMM: return RULE(buckets);
    case ROLE_SHARD: return rule_of_shard(e, r);
    case ROLE_DATA: return row_is_kept(e, r) || kind != MSNAP_PHASE_OTHER ? RULE(batch_loader) : RULE(user_scratch);
    case ROLE_WEIGHT: return row_is_kept(e, r) || r->freed == MSNAP_NO_EVENT ? RULE(module_parameters) : RULE(set_up_scratch);
    case ROLE_CACHE: return row_is_kept(e, r) ? RULE(key_value_cache) : rule_in_forward(e, r);
    case ROLE_OPTIMIZER: /* hooks may step within the backward pass */
        return !in_backward ? rule_of_optimizer(e, r) : row_is_kept(e, r) ? RULE(optimizer_keeps) : RULE(optimizer_scratch);
    case ROLE_ZERO_GRAD:
    case ROLE_GRADS: return row_is_kept(e, r) && msnap_freed_by(e, r).role == ROLE_ZERO_GRAD ? RULE(dropped_by_zero_grad) : RULE(gradient_scratch);
    case ROLE_NONE:
    case ROLE_FORWARD:
    case ROLE_SOFT:
    case ROLE_BACKWARD:
    case ROLE_GRAD_CALL:
    case ROLE_COPY:
    case ROLE_BARRIER:
    case N_ROLES: break;
    }
    if (in_backward)
        return rule_in_backward(e, r);
    if (r->facts.role == ROLE_COPY)
        return rule_of_user(e, r);
    return kind == MSNAP_PHASE_FORWARD ? rule_in_forward(e, r) : rule_of_user(e, r);
}

enum msnap_rule_id msnap_rule_of_initial(const struct evidence *e, size_t row)
{
    const struct msnap_history *h = e->h;
    const struct msnap_stack_facts f = e->facts[h->allocs.initial_stack[row]];
    const struct row r = {.row = row, .freed = h->allocs.request_event[row], .size = h->allocs.initial_size[row]};
    switch ((enum frame_role)f.role) {
    case ROLE_WEIGHT: return RULE(module_parameters);
    case ROLE_OPTIMIZER: return RULE(optimizer_keeps);
    case ROLE_COMM: return RULE(buckets);
    case ROLE_SHARD: return f.flags & FACT_IN_BACKWARD ? RULE(reduced_shard) : RULE(sharded_parameters);
    case ROLE_DATA: return RULE(batch_loader);
    case ROLE_CACHE: return RULE(key_value_cache);
    case ROLE_WORKSPACE: return RULE(library_scratch);
    case ROLE_NONE:
    case ROLE_FORWARD:
    case ROLE_SOFT:
    case ROLE_BACKWARD:
    case ROLE_GRAD_CALL:
    case ROLE_ZERO_GRAD:
    case ROLE_GRADS:
    case ROLE_COPY:
    case ROLE_COMPILE:
    case ROLE_BARRIER:
    case N_ROLES: break;
    }
    const struct msnap_stack_facts by = msnap_freed_by(e, &r);
    if (by.role == ROLE_ZERO_GRAD)
        return RULE(was_there_freed_by_zero_grad);
    if (msnap_is_matmul_scratch(e, &r) && (f.flags & FACT_STACK))
        return RULE(matmul_scratch);
    if (r.freed != MSNAP_NO_EVENT && (by.flags & FACT_IN_BACKWARD))
        return RULE(was_there_freed_in_backward);
    if ((f.flags & FACT_STACK) && (f.flags & FACT_IN_BACKWARD))
        return RULE(outlives_backward);
    return f.flags & FACT_IN_FORWARD ? RULE(held_for_backward) : RULE(no_evidence);
}
