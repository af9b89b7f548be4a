/* phases.c -- forward, backward, optimizer and the rest, from stacks or from annotations. */
#include "analysis/columns.h"
#include "analysis/phases.h"

#include "base/arena.h"

#include <string.h>

enum { KIND_KEEP = MSNAP_N_PHASES }; /* says nothing: the phase goes on */

static uint8_t kind_of(struct msnap_stack_facts f)
{
    if (!(f.flags & FACT_STACK))
        return KIND_KEEP;
    if (f.flags & FACT_IN_BACKWARD)
        return MSNAP_PHASE_BACKWARD;
    switch ((enum frame_role)f.role) {
    case ROLE_OPTIMIZER:
    case ROLE_ZERO_GRAD:
    case ROLE_GRADS: return MSNAP_PHASE_OPTIMIZER;
    case ROLE_FORWARD:
    case ROLE_CACHE: return MSNAP_PHASE_FORWARD;
    case ROLE_BARRIER: return MSNAP_PHASE_OTHER;
    case ROLE_WORKSPACE:
    case ROLE_COMPILE:
    case ROLE_COMM:
    case ROLE_SHARD:
    case ROLE_DATA:
    case ROLE_COPY:
    case ROLE_WEIGHT:
    case ROLE_NONE:
    case ROLE_SOFT:
    case ROLE_BACKWARD:
    case ROLE_GRAD_CALL:
    case N_ROLES: break;
    }
    return f.flags & FACT_IN_FORWARD ? MSNAP_PHASE_FORWARD : f.flags & FACT_OPTIMIZER ? MSNAP_PHASE_OPTIMIZER : MSNAP_PHASE_OTHER;
}

struct phase_list {
    struct msnap_phase *v;
    size_t n, cap;
    struct msnap_arena *arena;
};

static bool push(struct phase_list *l, uint32_t first, uint8_t kind)
{
    if (l->n && l->v[l->n - 1].kind == kind)
        return true;
    if (l->n == l->cap) {
        const size_t cap = l->cap ? l->cap * 2 : 256;
        struct msnap_phase *more = MSNAP_NEW_RAW(l->arena, struct msnap_phase, cap);
        if (!more)
            return false;
        if (l->n)
            memcpy(more, l->v, l->n * sizeof *more);
        l->v = more;
        l->cap = cap;
    }
    l->v[l->n++] = (struct msnap_phase){.first = first, .kind = kind};
    return true;
}

/* What user code computes between forward and backward is the loss. Dropping gradients may come
 * between, and is no end of the forward pass. */
static void join_losses(struct phase_list *l)
{
    uint8_t before = MSNAP_PHASE_OTHER;
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].kind == MSNAP_PHASE_OTHER && before == MSNAP_PHASE_FORWARD) {
            size_t k = i;
            while (k < l->n && (l->v[k].kind == MSNAP_PHASE_OTHER || l->v[k].kind == MSNAP_PHASE_OPTIMIZER))
                k++;
            const bool is_loss = k < l->n && l->v[k].kind == MSNAP_PHASE_BACKWARD;
            for (; i < k; i++)
                if (is_loss && l->v[i].kind == MSNAP_PHASE_OTHER)
                    l->v[i].kind = MSNAP_PHASE_FORWARD;
            i = k - 1;
        } else if (l->v[i].kind == MSNAP_PHASE_FORWARD || l->v[i].kind == MSNAP_PHASE_BACKWARD) {
            before = l->v[i].kind;
        }
    }
}

/* Where no module is ever called, user code is the forward pass of what goes backward. */
static void find_forward_in_user_code(struct phase_list *l)
{
    bool is_one = false;
    for (size_t i = l->n; i-- > 0;) {
        if (l->v[i].kind == MSNAP_PHASE_BACKWARD)
            is_one = true;
        else if (l->v[i].kind == MSNAP_PHASE_OPTIMIZER)
            continue; /* gradients may be dropped between the passes */
        else if (is_one) {
            l->v[i].kind = MSNAP_PHASE_FORWARD;
            l->v[i].is_user_code = true;
        }
    }
}

static void finish(struct phase_list *l, const struct msnap_history *h, struct msnap_steps *out)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) /* equal neighbours become one */
        if (!n || l->v[n - 1].kind != l->v[i].kind)
            l->v[n++] = l->v[i];
    for (size_t i = 0; i < n; i++)
        l->v[i].last = (i + 1 < n ? l->v[i + 1].first : (uint32_t)h->device->n_events) - 1;
    out->phases = l->v;
    out->n_phases = n;
}

bool msnap_frees_have_stacks(const struct msnap_history *h)
{
    const struct msnap_allocs *a = &h->allocs;
    const uint32_t *stack = EVENT_COLUMN(h, stack);
    size_t n = 0, n_same = 0;
    for (size_t r = a->n_initial; r < a->n && n < 1000; r++) {
        if (a->request_event[r] == MSNAP_NO_EVENT || stack[a->alloc_event[r]] <= MSNAP_STACK_EMPTY)
            continue;
        n++;
        n_same += stack[a->alloc_event[r]] == stack[a->request_event[r]];
    }
    return !n || n_same < n - n / 50;
}

static bool by_stacks(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_steps *out, size_t *n_known)
{
    const struct msnap_snapshot *s = h->snapshot;
    const size_t n = h->device->n_events, n_stacks = s->stacks.n;
    struct phase_list l = {.arena = arena};
    uint8_t *kinds = MSNAP_NEW(arena, uint8_t, n_stacks + 1), current = UINT8_MAX;
    if (!kinds)
        return false;
    for (size_t i = 0; i < n_stacks; i++)
        kinds[i] = kind_of(out->facts[i]);
    const uint8_t *action = EVENT_COLUMN(h, action);
    const uint32_t *stack = EVENT_COLUMN(h, stack);
    const bool use_frees = msnap_frees_have_stacks(h);
    bool has_modules = false;
    *n_known = 0;
    for (size_t i = 0; i < n; i++) {
        if (action[i] != MSNAP_ALLOC && (action[i] != MSNAP_FREE_REQUESTED || !use_frees))
            continue;
        const uint8_t kind = kinds[stack[i]];
        if (kind == KIND_KEEP)
            continue;
        ++*n_known;
        has_modules = has_modules || (kind == MSNAP_PHASE_FORWARD && (out->facts[stack[i]].flags & FACT_IN_FORWARD));
        if (kind != current && !push(&l, l.n ? (uint32_t)i : 0, kind))
            return false;
        current = kind;
        if (out->facts[stack[i]].role == ROLE_GRAD_CALL)
            l.v[l.n - 1].returns_gradients = true;
    }
    join_losses(&l);
    if (!has_modules)
        find_forward_in_user_code(&l);
    finish(&l, h, out);
    return true;
}

/* ---- annotations ---- */

/* The first event at or after a time. Times do not go back within a trace, but for a tick. */
static uint32_t event_at(const struct msnap_history *h, int64_t time_us)
{
    const int64_t *t = EVENT_COLUMN(h, time_us);
    size_t lo = 0, hi = h->device->n_events;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (t[mid] < time_us)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (uint32_t)lo;
}

bool msnap_phase_spans(const struct msnap_history *h, const char *prefix, struct msnap_arena *arena, struct phase_spans *out)
{
    const struct msnap_snapshot *s = h->snapshot;
    const struct msnap_annotations *a = &s->annotations;
    const size_t len = strlen(prefix);
    struct phase_span *spans = MSNAP_NEW_RAW(arena, struct phase_span, a->n);
    uint32_t *open = MSNAP_NEW_RAW(arena, uint32_t, a->n);
    size_t n = 0, depth = 0;
    if (!spans || !open)
        return false;
    for (size_t i = 0; i < a->n && h->device->n_events; i++) {
        const uint32_t name = a->name[i];
        if (a->device[i] != h->device->device || s->strings.len[name] < len || memcmp(s->strings.bytes[name], prefix, len) != 0)
            continue;
        if (!a->is_end[i]) {
            open[depth++] = (uint32_t)i;
            continue;
        }
        size_t k = depth;
        while (k && a->name[open[k - 1]] != name)
            k--;
        if (!k)
            continue;
        depth = k - 1;
        const uint32_t end = event_at(h, a->time_us[i] + 1);
        if (end) /* else it lies before the recording */
            spans[n++] = (struct phase_span){event_at(h, a->time_us[open[k - 1]]), end - 1, name};
    }
    *out = (struct phase_spans){n, spans};
    return true;
}

bool msnap_phases_find(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_steps *out)
{
    size_t n_known = 0;
    if (!h->device->n_events)
        return true;
    if (!by_stacks(h, arena, out, &n_known))
        return false;
    out->annotated_only = n_known * 10 < h->allocs.n - h->allocs.n_initial;
    return !out->annotated_only || msnap_phases_by_annotations(h, arena, out);
}

size_t msnap_phase_at(const struct msnap_steps *s, uint32_t event)
{
    size_t lo = 0, hi = s->n_phases;
    while (lo + 1 < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (s->phases[mid].first <= event)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}
