/* steps.c -- iterations from marks that repeat, and what each held. */
#include "analysis/columns.h"
#include "analysis/phases.h"

#include "base/arena.h"
#include "base/status.h"

#include <string.h>

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the steps"); }

/* The end of something that happens once or more in each iteration. */
struct mark {
    uint32_t first, last; /* events; last may be first - 1 */
    uint32_t key;         /* what it is: a line that calls, or a name */
};
struct marks {
    struct mark *v;
    size_t n;
};

/* The user's line that called the optimizer or the model, not one within them. */
static uint32_t site_of(const struct msnap_history *h, const struct msnap_steps *s, uint32_t stack, unsigned within)
{
    const struct msnap_stacks *t = &h->snapshot->stacks;
    while (stack > MSNAP_STACK_EMPTY && (s->facts[stack].flags & within))
        stack = t->parent[stack];
    return msnap_stack_user_frame(h->snapshot, stack);
}

static uint32_t site_in(const struct msnap_history *h, const struct msnap_steps *s, uint32_t first, uint32_t last, unsigned flag)
{
    const uint32_t *stack = EVENT_COLUMN(h, stack);
    for (uint32_t i = first; i <= last && i < h->device->n_events; i++)
        if (s->facts[stack[i]].flags & flag) {
            const uint32_t site = site_of(h, s, stack[i], flag & (FACT_OPTIMIZER | FACT_IN_FORWARD));
            if (site)
                return site;
        }
    return 0;
}

static bool marks_of_spans(const struct msnap_history *h, const struct msnap_steps *s, const char *prefix, bool whole_name,
                           struct msnap_arena *arena, struct marks *out)
{
    struct phase_spans spans;
    if (!msnap_phase_spans(h, prefix, arena, &spans))
        return false;
    out->v = MSNAP_NEW_RAW(arena, struct mark, spans.n);
    if (!out->v)
        return false;
    out->n = 0;
    for (size_t i = 0; i < spans.n; i++) {
        const struct phase_span *p = &spans.spans[i];
        uint32_t site = p->last + 1 > p->first ? site_in(h, s, p->first, p->last, FACT_OPTIMIZER) : 0;
        if (site && out->n == 1 && out->v[0].key == p->name)
            out->v[0].key = site; /* the first made nothing, so that its line is not known: most often the same */
        out->v[out->n++] = (struct mark){p->first, p->last, whole_name || !site ? p->name : site};
    }
    /* Half named by lines, half by names: names alone then. */
    for (size_t i = 0; i < out->n && !whole_name; i++)
        if (out->v[i].key == spans.spans[i].name)
            for (size_t k = 0; k < out->n; k++)
                out->v[k].key = spans.spans[k].name;
    return true;
}

static bool marks_of_phases(const struct msnap_history *h, const struct msnap_steps *s, enum msnap_phase_kind kind, unsigned flag,
                            struct msnap_arena *arena, struct marks *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_phases; i++)
        n += s->phases[i].kind == kind;
    out->v = MSNAP_NEW_RAW(arena, struct mark, n);
    if (!out->v)
        return false;
    out->n = 0;
    for (size_t i = 0; i < s->n_phases; i++) {
        const struct msnap_phase *p = &s->phases[i];
        const uint32_t site = p->kind == kind ? site_in(h, s, p->first, p->last, flag) : 0;
        if (p->kind == kind && (site || kind == MSNAP_PHASE_BACKWARD))
            out->v[out->n++] = (struct mark){p->first, p->last, site};
    }
    return true;
}

static size_t count_key(const struct marks *m, uint32_t key)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->v[i].key == key;
    return n;
}

/* Where several things repeat, an iteration ends with the one that comes least often, and of those
 * that come as often with the last of a round. Only the first keys met are tried. */
static bool keep_ends(struct marks *m)
{
    enum { TRIED = 16 };
    uint32_t tried[TRIED], best = 0;
    size_t n_tried = 0, best_count = 0;
    for (size_t i = 0; i < m->n && n_tried < TRIED; i++) {
        bool known = false;
        for (size_t k = 0; k < n_tried; k++)
            known = known || tried[k] == m->v[i].key;
        if (known)
            continue;
        tried[n_tried++] = m->v[i].key;
        const size_t count = count_key(m, m->v[i].key);
        if (count >= 2 && (!best_count || count <= best_count)) {
            best = m->v[i].key;
            best_count = count;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].key == best)
            m->v[n++] = m->v[i];
    m->n = n;
    return best_count >= 2;
}

/* Setting up is no part of the first step: it begins after the last thing that is made for good. */
static uint32_t first_event_of_work(const struct msnap_history *h, const struct msnap_steps *s, uint32_t end)
{
    const struct msnap_allocs *a = &h->allocs;
    const uint32_t *stack = EVENT_COLUMN(h, stack);
    uint32_t forward = end, start = 0;
    for (size_t i = 0; i < s->n_phases; i++)
        if (s->phases[i].kind == MSNAP_PHASE_FORWARD) {
            forward = s->phases[i].first;
            break;
        }
    for (size_t r = a->n_initial; r < a->n && a->alloc_event[r] < forward; r++) {
        const struct msnap_stack_facts f = s->facts[stack[a->alloc_event[r]]];
        const bool sets_up = f.role == ROLE_WEIGHT || f.role == ROLE_SHARD || f.role == ROLE_COMM || f.role == ROLE_COPY ||
                             f.role == ROLE_OPTIMIZER || (f.flags & FACT_MAKES);
        if (sets_up)
            start = a->alloc_event[r] + 1;
    }
    return start;
}

/* What each event changes, in units of 512 bytes: blocks are whole multiples. */
static bool changes_of(const struct msnap_history *h, struct msnap_arena *arena, uint32_t **out)
{
    const struct msnap_allocs *a = &h->allocs;
    const size_t n = h->device->n_events;
    uint32_t *delta = MSNAP_NEW(arena, uint32_t, n + 1); /* wraps in a hostile file, and does no harm there */
    if (!delta)
        return false;
    for (size_t r = 0; r < a->n; r++) {
        const uint32_t units = (uint32_t)(a->block_size[r] / 512);
        if (r < a->n_initial && r >= a->n_initial - a->n_initial_pending)
            continue;
        if (r >= a->n_initial)
            delta[a->alloc_event[r]] += units;
        if (a->request_event[r] != MSNAP_NO_EVENT)
            delta[a->request_event[r]] -= units;
    }
    *out = delta;
    return true;
}

static enum msnap_status fill(const struct msnap_history *h, struct msnap_step *steps, size_t n, struct msnap_arena *arena, struct msnap_error *err)
{
    uint32_t *delta = NULL;
    int64_t level = (int64_t)h->start.allocated;
    size_t k = 0;
    if (!h->allocated && !changes_of(h, arena, &delta))
        return no_memory(err);
    for (size_t i = 0; i < h->device->n_events && k < n; i++) {
        const int64_t before = level;
        level = delta ? level + (int64_t)(int32_t)delta[i] * 512 : (int64_t)h->allocated[i];
        if (i == steps[k].first)
            steps[k].growth_bytes = -before;
        if (i >= steps[k].first && (uint64_t)level > steps[k].peak_bytes)
            steps[k].peak_bytes = (uint64_t)level;
        if (i == steps[k].last) {
            steps[k].end_bytes = (uint64_t)level;
            steps[k].growth_bytes += level;
            k++;
        }
    }
    return MSNAP_OK;
}

static uint64_t number_in(const struct msnap_snapshot *s, uint32_t name, uint64_t otherwise)
{
    const char *p = s->strings.bytes[name], *hash = memchr(p, '#', s->strings.len[name]);
    uint64_t v = 0;
    if (!hash)
        return otherwise;
    for (p = hash + 1; *p >= '0' && *p <= '9' && v < UINT64_MAX / 16; p++)
        v = v * 10 + (uint64_t)(*p - '0');
    return v;
}

/* Steps from marks: each lasts from the end of the one before. */
static enum msnap_status steps_of(const struct msnap_history *h, const struct marks *m, struct msnap_arena *arena, struct msnap_steps *out,
                                  struct msnap_error *err)
{
    const bool spans = out->by == MSNAP_STEPS_BY_PROFILER || out->by == MSNAP_STEPS_BY_ANNOTATION;
    const uint32_t n_events = (uint32_t)h->device->n_events;
    struct msnap_step *steps = MSNAP_NEW(arena, struct msnap_step, m->n + 1);
    size_t n = 0;
    if (!steps)
        return no_memory(err);
    uint32_t next = spans ? 0 : first_event_of_work(h, out, m->v[0].last);
    for (size_t i = 0; i < m->n; i++) {
        uint32_t last = m->v[i].last;
        if (spans)
            next = m->v[i].first > next ? m->v[i].first : next;
        else if (out->by != MSNAP_STEPS_BY_FORWARD && last + 1 < n_events && out->n_phases) {
            /* Gradients that are dropped right after belong to it. */
            const struct msnap_phase *p = &out->phases[msnap_phase_at(out, last + 1)];
            if (p->kind == MSNAP_PHASE_OPTIMIZER && p->first <= last + 1)
                last = p->last;
        }
        if (last < next || last >= n_events)
            continue;
        steps[n] = (struct msnap_step){.number = out->by == MSNAP_STEPS_BY_PROFILER ? number_in(h->snapshot, m->v[i].key, i) : n + 1,
                                       .first = next, .last = last};
        n++;
        next = last + 1;
    }
    /* A step that never ended: out of memory, or the dump came first. */
    bool has_backward = false, has_oom = false;
    for (size_t i = 0; i < out->n_phases && !spans; i++)
        has_backward = has_backward || (out->phases[i].kind == MSNAP_PHASE_BACKWARD && out->phases[i].first >= next);
    for (uint32_t i = next; i < n_events && !spans; i++)
        has_oom = has_oom || h->snapshot->events.action[h->device->first_event + i] == MSNAP_OOM;
    if ((has_backward || has_oom) && n && next < n_events) {
        steps[n] = (struct msnap_step){.number = n + 1, .first = next, .last = n_events - 1};
        n++;
    }
    if (n < 2) {
        out->by = MSNAP_STEPS_NONE;
        return MSNAP_OK;
    }
    out->n = n;
    out->steps = steps;
    return fill(h, steps, n, arena, err);
}

static bool try_marks(enum msnap_steps_by by, const struct msnap_history *h, struct msnap_arena *arena, struct msnap_steps *s,
                      struct marks *m, bool *failed)
{
    bool ok = true;
    *m = (struct marks){NULL, 0};
    switch (by) {
    case MSNAP_STEPS_BY_PROFILER: ok = marks_of_spans(h, s, "ProfilerStep#", true, arena, m); break;
    case MSNAP_STEPS_BY_OPTIMIZER:
        ok = marks_of_spans(h, s, "Optimizer.step#", false, arena, m);
        if (ok && m->n < 2)
            ok = marks_of_phases(h, s, MSNAP_PHASE_OPTIMIZER, FACT_OPTIMIZER, arena, m);
        break;
    case MSNAP_STEPS_BY_ANNOTATION: ok = marks_of_spans(h, s, "", true, arena, m); break;
    case MSNAP_STEPS_BY_BACKWARD: ok = marks_of_phases(h, s, MSNAP_PHASE_BACKWARD, FACT_PYTHON, arena, m); break;
    case MSNAP_STEPS_BY_FORWARD: ok = marks_of_phases(h, s, MSNAP_PHASE_FORWARD, FACT_IN_FORWARD, arena, m); break;
    case MSNAP_STEPS_NONE: break;
    }
    *failed = !ok;
    if (!ok)
        return false;
    return by == MSNAP_STEPS_BY_PROFILER ? m->n >= 2 : keep_ends(m);
}

enum msnap_status msnap_steps_build(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_steps *out, struct msnap_error *err)
{
    static const enum msnap_steps_by order[] = {MSNAP_STEPS_BY_PROFILER, MSNAP_STEPS_BY_OPTIMIZER, MSNAP_STEPS_BY_ANNOTATION,
                                                MSNAP_STEPS_BY_BACKWARD, MSNAP_STEPS_BY_FORWARD};
    struct msnap_steps s = {.facts = msnap_stack_facts_build(h->snapshot, arena)};
    if (!s.facts || !msnap_phases_find(h, arena, &s))
        return no_memory(err);
    for (size_t i = 0; i < sizeof order / sizeof *order && h->device->n_events && !s.n; i++) {
        struct marks m;
        bool failed;
        if (try_marks(order[i], h, arena, &s, &m, &failed)) {
            s.by = order[i];
            const enum msnap_status st = steps_of(h, &m, arena, &s, err);
            if (st != MSNAP_OK)
                return st;
        }
        if (failed)
            return no_memory(err);
    }
    *out = s;
    return MSNAP_OK;
}

const char *msnap_phase_name(enum msnap_phase_kind kind)
{
    static const char *const names[] = {"other", "forward", "backward", "optimizer"};
    return kind < MSNAP_N_PHASES ? names[kind] : "other";
}

const char *msnap_steps_by_text(enum msnap_steps_by by)
{
    static const char *const texts[] = {
        [MSNAP_STEPS_NONE] = "nothing that repeats",
        [MSNAP_STEPS_BY_PROFILER] = "the annotation ProfilerStep#N",
        [MSNAP_STEPS_BY_OPTIMIZER] = "calls of the optimizer",
        [MSNAP_STEPS_BY_ANNOTATION] = "an annotation that repeats",
        [MSNAP_STEPS_BY_BACKWARD] = "calls of backward",
        [MSNAP_STEPS_BY_FORWARD] = "calls of a module from the same line"};
    return texts[by];
}
