/* phases_bare.c -- phases where events carry no stacks.
 *
 * PyTorch annotates Optimizer.step and Optimizer.zero_grad by itself. What zero_grad frees are
 * gradients, so the first of them that was made after a span tells where its backward pass runs.
 * That pass begins a little earlier, with the gradient of the loss: a block of a few bytes.
 */
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
    const uint64_t *size = b->h->snapshot->events.size + b->h->device->first_event;
    size_t k = 0;
    for (size_t r = a->n_initial; r < a->n; r++) {
        const uint32_t born = a->alloc_event[r], freed = a->request_event[r];
        while (k < b->n && b->stretches[k].end <= born)
            k++;
        if (k == b->n)
            break;
        struct stretch *s = &b->stretches[k];
        if (born < s->first || (s->first_gradient != MSNAP_NO_EVENT && !sure))
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

/* The gradient of the loss: the last block of up to 8 bytes before the first gradient. */
static uint32_t backward_begins(const struct bare *b, const struct stretch *s)
{
    enum { LOOK_BACK = 200 };
    const uint8_t *action = b->h->snapshot->events.action + b->h->device->first_event;
    const uint64_t *size = b->h->snapshot->events.size + b->h->device->first_event;
    uint32_t n = 0;
    for (uint32_t i = s->first_gradient; i-- > s->first && n++ < LOOK_BACK;)
        if (action[i] == MSNAP_ALLOC && size[i] <= 8)
            return i;
    return s->first_gradient;
}

/* Where no gradient is known: the moment at which most of what the stretch made is held. */
static uint32_t fullest(const struct bare *b, const struct stretch *s)
{
    const uint8_t *action = b->h->snapshot->events.action + b->h->device->first_event;
    const uint64_t *size = b->h->snapshot->events.size + b->h->device->first_event;
    int64_t held = 0, most = 0;
    uint32_t turn = s->first;
    for (uint32_t i = s->first; i < s->end; i++) {
        if (action[i] == MSNAP_ALLOC)
            held += (int64_t)(size[i] & INT64_MAX);
        else if (action[i] == MSNAP_FREE_REQUESTED)
            held -= (int64_t)(size[i] & INT64_MAX);
        if (held >= most && action[i] == MSNAP_ALLOC) {
            most = held;
            turn = i + 1;
        }
    }
    return turn;
}

bool msnap_phases_by_annotations(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_steps *out)
{
    struct bare b = {.h = h, .gradients = {.arena = arena}};
    if (!msnap_phase_spans(h, "Optimizer.", arena, &b.all) || !msnap_phase_spans(h, "Optimizer.zero_grad#", arena, &b.zeros) ||
        !cut(&b, arena) || !find_gradients(&b, true))
        return false;
    const bool has_gradients = b.gradients.n > 0;
    if (has_gradients && !find_gradients(&b, false))
        return false;
    struct msnap_phase *v = MSNAP_NEW_RAW(arena, struct msnap_phase, 3 * b.n);
    size_t n = 0;
    if (!v)
        return false;
    for (size_t k = 0; k < b.n; k++) {
        const struct stretch *s = &b.stretches[k];
        const uint32_t after = k + 1 < b.n ? b.stretches[k + 1].first : s->end;
        const bool is_last = k + 1 == b.n;
        if (s->end > s->first) {
            const bool turns = s->first_gradient != MSNAP_NO_EVENT || (!has_gradients && !is_last);
            const uint32_t turn = !turns ? s->end : s->first_gradient != MSNAP_NO_EVENT ? backward_begins(&b, s) : fullest(&b, s);
            if (turn > s->first)
                v[n++] = (struct msnap_phase){s->first, turn - 1, is_last && !turns ? MSNAP_PHASE_OTHER : MSNAP_PHASE_FORWARD};
            if (turn < s->end)
                v[n++] = (struct msnap_phase){turn, s->end - 1, MSNAP_PHASE_BACKWARD};
        }
        if (after > s->end)
            v[n++] = (struct msnap_phase){s->end, after - 1, MSNAP_PHASE_OPTIMIZER};
    }
    out->phases = v;
    out->n_phases = n;
    return true;
}
