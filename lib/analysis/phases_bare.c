/* phases_bare.c -- phases where events carry no stacks.
 *
 * PyTorch annotates Optimizer.step and Optimizer.zero_grad by itself. What zero_grad frees are
 * gradients, so the first of them that was made after a span tells where its backward pass runs.
 * That pass begins a little earlier, with the gradient of the loss: a block of a few bytes.
 */
#include "analysis/columns.h"
#include "analysis/phases.h"
#include "analysis/sizes.h"

#include <string.h>

struct stretch { /* events between two spans */
    uint32_t first, end;
    uint32_t first_gradient; /* the event that makes it; MSNAP_NO_EVENT: none is known */
};

struct bare {
    const struct msnap_history *h;
    struct phase_spans all, zeros;
    struct stretch *stretches;
    size_t n;
    struct msnap_sizes gradients;
    bool ended_by_oom; /* the last stretch: its pass was cut, and what it leaves behind need not be gradients */
};

static bool lies_in(const struct phase_spans *s, uint32_t event)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (s->spans[mid].last < event)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < s->n && s->spans[lo].first <= event;
}

static bool cut(struct bare *b, struct msnap_arena *arena)
{
    uint32_t at = 0;
    b->stretches = MSNAP_NEW_RAW(arena, struct stretch, b->all.n + 1);
    if (!b->stretches)
        return false;
    for (size_t k = 0; k <= b->all.n; k++) {
        const uint32_t end = k < b->all.n ? b->all.spans[k].first : (uint32_t)b->h->device->n_events;
        if (end < at)
            continue; /* within another */
        b->stretches[b->n++] = (struct stretch){at, end, MSNAP_NO_EVENT};
        at = k < b->all.n && b->all.spans[k].last + 1 > end ? b->all.spans[k].last + 1 : end;
    }
    return true;
}

/* Finds each stretch's first gradient. First those that zero_grad frees, then blocks of such sizes
 * that outlive their stretch. */
static bool find_gradients(struct bare *b, bool sure)
{
    const struct msnap_allocs *a = &b->h->allocs;
    const uint64_t *size = EVENT_COLUMN(b->h, size);
    size_t k = 0;
    for (size_t r = a->n_initial; r < a->n; r++) {
        const uint32_t born = a->alloc_event[r], freed = a->request_event[r];
        while (k < b->n && b->stretches[k].end <= born)
            k++;
        if (k == b->n)
            break;
        struct stretch *s = &b->stretches[k];
        if (born < s->first || (s->first_gradient != MSNAP_NO_EVENT && !sure) || (!sure && b->ended_by_oom && k + 1 == b->n))
            continue;
        const bool is_one = sure ? freed != MSNAP_NO_EVENT && lies_in(&b->zeros, freed)
                                 : k > 0 && (freed == MSNAP_NO_EVENT || freed >= s->end) && size[born] > 64 &&
                                       msnap_sizes_count(&b->gradients, size[born]) > 0;
        if (!is_one)
            continue;
        if (sure && !msnap_sizes_add(&b->gradients, size[born]))
            return false;
        if (s->first_gradient == MSNAP_NO_EVENT)
            s->first_gradient = born;
    }
    return true;
}

/* The gradient of the loss: the last block of up to 8 bytes before an event of the backward pass. */
static uint32_t backward_begins(const struct bare *b, uint32_t first, uint32_t event)
{
    enum { LOOK_BACK = 200 };
    const uint8_t *action = EVENT_COLUMN(b->h, action);
    const uint64_t *size = EVENT_COLUMN(b->h, size);
    uint32_t n = 0;
    for (uint32_t i = event; i-- > first && n++ < LOOK_BACK;)
        if (action[i] == MSNAP_ALLOC && size[i] <= 8)
            return i;
    return event;
}

/* No block of a real device is larger; sums of a hostile file stay within 64 bits. */
#define MOST (UINT64_C(1) << 40)

static int64_t change_of(const struct bare *b, uint32_t event)
{
    const size_t row = b->h->device->first_event + event;
    const uint64_t whole = b->h->snapshot->events.size[row];
    const int64_t size = whole < MOST ? (int64_t)whole : (int64_t)MOST;
    switch (b->h->snapshot->events.action[row]) {
    case MSNAP_ALLOC: return size;
    case MSNAP_FREE_REQUESTED: return -size;
    default: return 0;
    }
}

struct phase_out {
    struct msnap_phase *v;
    size_t n, cap;
    struct msnap_arena *arena;
};

static bool put_phase(struct phase_out *o, uint32_t first, uint32_t end, uint8_t kind)
{
    if (first >= end)
        return true;
    if (o->n && o->v[o->n - 1].kind == kind) {
        o->v[o->n - 1].last = end - 1;
        return true;
    }
    if (o->n == o->cap) {
        const size_t cap = o->cap ? 2 * o->cap : 64;
        struct msnap_phase *more = MSNAP_NEW_RAW(o->arena, struct msnap_phase, cap);
        if (!more)
            return false;
        if (o->n)
            memcpy(more, o->v, o->n * sizeof *more);
        o->v = more;
        o->cap = cap;
    }
    o->v[o->n++] = (struct msnap_phase){.first = first, .last = end - 1, .kind = kind};
    return true;
}

/* The lowest point comes before the last gradients are made, which may be large. */
static uint32_t past_last_gradient(const struct bare *b, uint32_t first, uint32_t end, int64_t large)
{
    enum { LOOK_AHEAD = 16 };
    const uint8_t *action = EVENT_COLUMN(b->h, action);
    const uint64_t *size = EVENT_COLUMN(b->h, size);
    uint32_t at = first;
    for (uint32_t i = first; i < end && i - first < LOOK_AHEAD; i++)
        if (action[i] == MSNAP_ALLOC && (int64_t)(size[i] & INT64_MAX) > large && msnap_sizes_count(&b->gradients, size[i]))
            at = i + 1;
    return at;
}

/* Forward passes pile up, backward passes take down. A turn counts where a third of the stretch's
 * whole range lies on both sides of it; the first is known better where a gradient is. */
static bool split(const struct bare *b, const struct stretch *s, struct phase_out *out)
{
    int64_t level = 0, lowest = 0, highest = 0;
    for (uint32_t i = s->first; i < s->end; i++) {
        level += change_of(b, i);
        lowest = level < lowest ? level : lowest;
        highest = level > highest ? level : highest;
    }
    const int64_t far = (highest - lowest) / 3;
    uint32_t from = s->first, extreme_at = s->first;
    int64_t extreme = 0, top = 0;
    bool up = true;
    const uint32_t known = s->first_gradient == MSNAP_NO_EVENT ? MSNAP_NO_EVENT : backward_begins(b, s->first, s->first_gradient);
    level = 0;
    for (uint32_t i = s->first; i < s->end; i++) {
        if (i == known && up) {
            if (!put_phase(out, from, i, MSNAP_PHASE_FORWARD))
                return false;
            up = false;
            from = extreme_at = i;
            extreme = top = level;
        }
        level += change_of(b, i);
        if (up) {
            if (level > extreme) {
                extreme = level;
                extreme_at = i + 1;
            }
            if (far && extreme - level > far && (known == MSNAP_NO_EVENT || i > known)) {
                const uint32_t turn = backward_begins(b, from, extreme_at);
                if (!put_phase(out, from, turn, MSNAP_PHASE_FORWARD))
                    return false;
                up = false;
                from = turn;
                top = extreme;
                extreme = level;
                extreme_at = i + 1;
            }
            continue;
        }
        top = level > top ? level : top;
        if (level < extreme) {
            extreme = level;
            extreme_at = i + 1;
        }
        if (far && level - extreme > far && top - extreme > far && extreme_at > from) {
            extreme_at = past_last_gradient(b, extreme_at, i, far / 8);
            if (!put_phase(out, from, extreme_at, MSNAP_PHASE_BACKWARD))
                return false;
            up = true;
            from = extreme_at;
            extreme = level;
            extreme_at = i + 1;
        }
    }
    /* A stretch that had a backward pass ends in one: what rises then is its last gradients. */
    const bool had_one = out->n && out->v[out->n - 1].kind == MSNAP_PHASE_BACKWARD && out->v[out->n - 1].first >= s->first;
    return put_phase(out, from, s->end, up && !had_one ? MSNAP_PHASE_FORWARD : MSNAP_PHASE_BACKWARD);
}

/* Where zero_grad is not annotated: sizes of what the first steps keep are sizes of parameters. */
static bool sizes_of_states(struct bare *b, struct msnap_arena *arena)
{
    const struct msnap_allocs *a = &b->h->allocs;
    const uint64_t *size = EVENT_COLUMN(b->h, size);
    struct phase_spans steps;
    size_t k = 0;
    if (!msnap_phase_spans(b->h, "Optimizer.step#", arena, &steps))
        return false;
    for (size_t r = a->n_initial; r < a->n; r++) {
        const uint32_t born = a->alloc_event[r];
        while (k < steps.n && steps.spans[k].last < born)
            k++;
        if (k == steps.n)
            break;
        if (born >= steps.spans[k].first && (a->request_event[r] == MSNAP_NO_EVENT || a->request_event[r] > steps.spans[k].last) &&
            !msnap_sizes_add(&b->gradients, size[born]))
            return false;
    }
    return true;
}

static bool ends_by_oom(const struct msnap_history *h)
{
    const uint8_t *action = EVENT_COLUMN(h, action);
    for (size_t i = h->device->n_events; i-- > 0;)
        if (action[i] == MSNAP_OOM || action[i] == MSNAP_ALLOC)
            return action[i] == MSNAP_OOM;
    return false;
}

bool msnap_phases_by_annotations(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_steps *out)
{
    struct bare b = {.h = h, .gradients = {.arena = arena}};
    struct phase_out phases = {.arena = arena};
    if (!msnap_phase_spans(h, "Optimizer.", arena, &b.all) || !msnap_phase_spans(h, "Optimizer.zero_grad#", arena, &b.zeros) ||
        !cut(&b, arena) || !find_gradients(&b, true))
        return false;
    b.ended_by_oom = ends_by_oom(h);
    const bool has_gradients = b.gradients.n > 0;
    if (!has_gradients && !sizes_of_states(&b, arena))
        return false;
    if (b.gradients.n && !find_gradients(&b, false))
        return false;
    for (size_t k = 0; k < b.n; k++) {
        const struct stretch *s = &b.stretches[k];
        const uint32_t after = k + 1 < b.n ? b.stretches[k + 1].first : s->end;
        const bool is_known = s->first_gradient != MSNAP_NO_EVENT, is_last = k + 1 == b.n;
        const bool ok = is_known || (!has_gradients && !is_last) || (is_last && b.ended_by_oom) ? split(&b, s, &phases)
                                                                : put_phase(&phases, s->first, s->end, is_last ? MSNAP_PHASE_OTHER : MSNAP_PHASE_FORWARD);
        if (!ok || !put_phase(&phases, s->end, after, MSNAP_PHASE_OPTIMIZER))
            return false;
    }
    out->phases = phases.v;
    out->n_phases = phases.n;
    return true;
}
