/* lifecycle.c -- when each category's blocks appear and go. */
#include <memsnap/lifecycle.h>

#include "analysis/phases.h"

#include "base/arena.h"
#include "base/status.h"

/* Sums of one category. */
struct sums {
    uint64_t made[MSNAP_N_PHASES];       /* bytes by the phase that made them */
    uint64_t gone[MSNAP_N_GOES];         /* bytes by how they went */
    uint64_t unfinished;                 /* of the last step and still there: the recording may have ended too early */
};

struct walk {
    const struct msnap_history *h;
    const struct msnap_steps *steps;
    size_t phase, step; /* of the row at hand: the phase of its birth, the first step that ends at its birth or after */
    uint32_t end;       /* what is freed after this event goes because the program ends: after the last step, or the last block made */
};

enum { NEAR = 6 }; /* most blocks go within so many phases or steps */

static size_t phase_near(const struct msnap_steps *s, size_t phase, uint32_t event)
{
    for (size_t i = phase; i < s->n_phases && i < phase + NEAR; i++)
        if (s->phases[i].last >= event)
            return i;
    return msnap_phase_at(s, event);
}

/* Steps before this index have ended when `event` happens; those before `from` have. */
static size_t step_near(const struct msnap_steps *s, size_t from, uint32_t event)
{
    size_t lo = from, hi = s->n;
    for (; lo < hi && lo < from + NEAR; lo++)
        if (s->steps[lo].last >= event)
            return lo;
    while (lo < hi) { /* the first step that ends at the event or after */
        const size_t mid = lo + (hi - lo) / 2;
        if (s->steps[mid].last < event)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static enum msnap_goes went(const struct walk *w, size_t row)
{
    const struct msnap_steps *s = w->steps;
    const uint32_t freed = w->h->allocs.request_event[row];
    if (freed == MSNAP_NO_EVENT)
        return MSNAP_GOES_END;
    if (!s->n_phases)
        return MSNAP_GOES_UNKNOWN;
    if (w->phase < s->n_phases && freed <= s->phases[w->phase].last)
        return MSNAP_GOES_AT_ONCE;
    const size_t phase = phase_near(s, w->phase, freed), step = step_near(s, w->step, freed);
    if (w->phase < s->n_phases && s->phases[w->phase].kind == MSNAP_PHASE_FORWARD && s->phases[phase].kind == MSNAP_PHASE_BACKWARD && step == w->step)
        return MSNAP_GOES_BACKWARD;
    if (freed > w->end && w->step + 1 < s->n)
        return MSNAP_GOES_END;
    if (!s->n)
        return MSNAP_GOES_LATER;
    return step == w->step ? MSNAP_GOES_SAME_STEP : step == w->step + 1 ? MSNAP_GOES_NEXT_STEP : MSNAP_GOES_LATER;
}

static uint8_t most(const uint64_t *bytes, uint8_t n)
{
    uint8_t best = 0;
    for (uint8_t i = 1; i < n; i++)
        if (bytes[i] > bytes[best])
            best = i;
    return best;
}

static void finish(struct msnap_life *life, struct sums *s)
{
    uint64_t told = 0;
    for (size_t i = 0; i < MSNAP_N_GOES; i++)
        told += s->gone[i];
    if (!told)
        s->gone[MSNAP_GOES_END] = s->unfinished;
    life->phase = most(s->made, MSNAP_N_PHASES);
    life->goes = most(s->gone, MSNAP_N_GOES);
}

enum msnap_status msnap_life_cycle_build(const struct msnap_history *h, const struct msnap_steps *steps, const struct msnap_classes *classes,
                                         struct msnap_arena *arena, struct msnap_life_cycle *out, struct msnap_error *err)
{
    const struct msnap_allocs *a = &h->allocs;
    struct msnap_life *lives = MSNAP_NEW(arena, struct msnap_life, classes->n_categories);
    struct sums *sums = MSNAP_NEW(arena, struct sums, classes->n_categories);
    struct walk w = {h, steps, 0, 0, MSNAP_NO_EVENT};
    if (!lives || !sums)
        return msnap_fail(err, MSNAP_ENOMEM, "no memory for the categories' lives");
    if (a->n > a->n_initial)
        w.end = a->alloc_event[a->n - 1];
    if (steps->n && steps->steps[steps->n - 1].last < w.end)
        w.end = steps->steps[steps->n - 1].last;
    for (size_t r = 0; r < a->n; r++) {
        struct msnap_life *life = &lives[classes->category[r]];
        struct sums *s = &sums[classes->category[r]];
        const bool initial = r < a->n_initial;
        const uint32_t born = initial ? 0 : a->alloc_event[r];
        const uint64_t bytes = a->block_size[r];
        while (w.phase + 1 < steps->n_phases && steps->phases[w.phase + 1].first <= born)
            w.phase++;
        while (w.step < steps->n && steps->steps[w.step].last < born)
            w.step++;
        const bool in_step = !initial && w.step < steps->n && steps->steps[w.step].first <= born;
        if (!life->n++) {
            life->first_event = initial ? MSNAP_NO_EVENT : born;
            life->in_step = in_step;
            life->step = in_step ? steps->steps[w.step].number : 0;
        }
        if (msnap_alloc_is_allocated(h, r, h->peak.event)) {
            life->peak_bytes += bytes;
            life->peak_count++;
        }
        if (!initial && steps->n_phases)
            s->made[steps->phases[w.phase].kind] += bytes;
        if (steps->n > 1 && !initial && w.step + 1 >= steps->n && a->request_event[r] == MSNAP_NO_EVENT)
            s->unfinished += bytes;
        else if (!initial || a->request_event[r] == MSNAP_NO_EVENT)
            s->gone[went(&w, r)] += bytes;
        else
            s->gone[MSNAP_GOES_LATER] += bytes;
    }
    for (size_t i = 0; i < classes->n_categories; i++)
        finish(&lives[i], &sums[i]);
    *out = (struct msnap_life_cycle){classes->n_categories, lives};
    return MSNAP_OK;
}

const char *msnap_goes_text(enum msnap_goes goes)
{
    switch (goes) {
    case MSNAP_GOES_UNKNOWN: return "";
    case MSNAP_GOES_AT_ONCE: return "at once";
    case MSNAP_GOES_BACKWARD: return "with its backward";
    case MSNAP_GOES_SAME_STEP: return "later in the step";
    case MSNAP_GOES_NEXT_STEP: return "in the next step";
    case MSNAP_GOES_LATER: return "later";
    case MSNAP_GOES_END: return "stays to the end";
    case MSNAP_N_GOES: break;
    }
    return "";
}
