/* leaks.c -- what each step leaves behind, by stack, and whether that goes on. */
#include <memsnap/classify.h>
#include <memsnap/leaks.h>

#include "base/arena.h"
#include "base/status.h"

#include <string.h>

enum { LEAST_STEPS = 4, LEAST_TIMES = 3 };

/* A block made in a step and alive after the last one. */
struct left {
    uint32_t row, step, next; /* next: index + 1 of the same stack's next one */
};

struct by_stack {
    uint32_t first, last; /* indices + 1 into `left` */
    uint32_t given_back;  /* blocks that lived through a whole step or more and were freed before the end */
    uint32_t lefts;
};

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the leaks"); }

/* The step that contains an event, searching on from *cursor; n if there is none. */
static size_t step_of(const struct msnap_steps *s, uint32_t event, size_t *cursor)
{
    while (*cursor < s->n && s->steps[*cursor].last < event)
        ++*cursor;
    return *cursor < s->n && s->steps[*cursor].first <= event ? *cursor : s->n;
}

static size_t step_by_search(const struct msnap_steps *s, uint32_t event)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->steps[mid].last < event)
            low = mid + 1;
        else
            high = mid;
    }
    return low; /* the first step that ends at or after it */
}

/* The last run of steps at one distance in which the stack leaves something, the first step (where
 * state is made once) and the last (whose blocks are not old enough) left out. */
static bool goes_on(const struct left *left, const struct by_stack *b, size_t n_steps, uint32_t *first, uint32_t *every)
{
    uint32_t previous = 0, distance = 0, length = 0;
    bool in_first_step = false;
    *first = 0;
    for (uint32_t i = b->first; i; i = left[i - 1].next) {
        uint32_t step = left[i - 1].step;
        in_first_step = in_first_step || step == 0;
        if (step == 0 || step + 1 >= n_steps || (length && step == previous))
            continue;
        if (length == 0) {
            *first = step;
            length = 1;
        } else if (length == 1 || step - previous == distance) {
            distance = step - previous;
            length++;
        } else { /* another distance: count anew from the step before */
            *first = previous;
            distance = step - previous;
            length = 2;
        }
        previous = step;
    }
    *every = distance;
    if (in_first_step && *first == distance)
        *first = 0; /* it began at once */
    return length >= LEAST_TIMES && previous + distance + 1 >= n_steps; /* else it stopped: a cache that is full */
}

static void sort_leaks(struct msnap_leak *v, size_t n)
{
    for (size_t end = n, start = n / 2; end > 1;) { /* heap sort; equals by stack */
        struct msnap_leak t;
        if (start) {
            start--;
        } else {
            end--;
            t = v[0];
            v[0] = v[end];
            v[end] = t;
        }
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
#define BEFORE(a, b) ((a).bytes_per_step != (b).bytes_per_step ? (a).bytes_per_step > (b).bytes_per_step : (a).stack < (b).stack)
            if (child + 1 < end && BEFORE(v[child], v[child + 1]))
                child++;
            if (!BEFORE(v[root], v[child]))
                break;
#undef BEFORE
            t = v[root];
            v[root] = v[child];
            v[child] = t;
        }
    }
}

static void add_stack(const struct msnap_history *h, const struct msnap_steps *steps, const struct left *left, const struct by_stack *b,
                      uint32_t stack, uint32_t first, uint32_t every, struct msnap_leaks *out, struct msnap_leak *leaks)
{
    uint32_t frame = msnap_stack_user_frame(h->snapshot, stack);
    size_t k = 0;
    while (k < out->n && (frame ? leaks[k].user_frame != frame : leaks[k].stack != stack))
        k++;
    if (k == out->n) {
        leaks[out->n++] = (struct msnap_leak){.every = every, .first_step = steps->steps[first].number, .stack = stack, .user_frame = frame, .row = left[b->first - 1].row};
    }
    struct msnap_leak *l = &leaks[k];
    uint64_t bytes = 0, largest = h->allocs.block_size[l->row];
    uint32_t times = 0, last_step = UINT32_MAX;
    for (uint32_t i = b->first; i; i = left[i - 1].next) {
        if (left[i - 1].step < first || left[i - 1].step + 1 >= steps->n)
            continue;
        uint64_t size = h->allocs.block_size[left[i - 1].row];
        times += left[i - 1].step != last_step;
        last_step = left[i - 1].step;
        bytes += size;
        l->count++;
        if (size > largest) {
            largest = size;
            l->row = left[i - 1].row;
            l->stack = stack;
        }
    }
    l->total_bytes += bytes;
    l->bytes_per_step += times ? bytes / times / every : 0;
    if (steps->steps[first].number < l->first_step)
        l->first_step = steps->steps[first].number;
    if (every < l->every)
        l->every = every;
}

enum msnap_status msnap_leaks_find(const struct msnap_history *h, const struct msnap_steps *steps, struct msnap_arena *arena,
                                   struct msnap_leaks *out, struct msnap_error *err)
{
    const struct msnap_allocs *a = &h->allocs;
    struct msnap_leaks r = {0};
    uint32_t end = steps->n ? steps->steps[steps->n - 1].last : msnap_last_event(h);
    size_t n_left = 0, cursor = 0, n_stacks = h->snapshot->stacks.n;
    for (size_t row = 0; row < a->n; row++)
        n_left += msnap_alloc_is_allocated(h, row, end);
    struct left *left = MSNAP_NEW_RAW(arena, struct left, n_left);
    struct by_stack *stacks = MSNAP_NEW(arena, struct by_stack, n_stacks);
    if (!left || !stacks)
        return no_memory(err);
    size_t n = 0;
    for (size_t row = 0; row < a->n; row++) {
        if (!msnap_alloc_is_allocated(h, row, end))
            continue;
        size_t step = row < a->n_initial ? steps->n : step_of(steps, a->alloc_event[row], &cursor);
        if (row < a->n_initial)
            r.before_bytes += a->block_size[row];
        else if (step == steps->n)
            r.outside_bytes += a->block_size[row];
        /* A library's workspace is made once and used again, on whatever line first needs it. */
        if (step == steps->n || (h->classes && h->classes->category[row] == MSNAP_WORKSPACE))
            continue;
        struct by_stack *b = &stacks[msnap_alloc_stack(h, row)];
        left[n] = (struct left){(uint32_t)row, (uint32_t)step, 0};
        if (b->last)
            left[b->last - 1].next = (uint32_t)n + 1;
        else
            b->first = (uint32_t)n + 1;
        b->last = (uint32_t)n + 1;
        b->lefts++;
        n++;
    }
    r.judged = steps->n >= LEAST_STEPS;
    if (r.judged && n) {
        cursor = 0;
        for (size_t row = a->n_initial; row < a->n; row++) {
            if (a->request_event[row] == MSNAP_NO_EVENT || a->request_event[row] > end)
                continue;
            struct by_stack *b = &stacks[msnap_alloc_stack(h, row)];
            if (!b->first)
                continue;
            size_t made = step_of(steps, a->alloc_event[row], &cursor);
            if (made < steps->n && made && step_by_search(steps, a->request_event[row]) >= made + 2)
                b->given_back++;
        }
        size_t candidates = 0;
        for (size_t s = 0; s < n_stacks; s++)
            candidates += stacks[s].lefts >= LEAST_TIMES;
        struct msnap_leak *leaks = MSNAP_NEW(arena, struct msnap_leak, candidates);
        if (!leaks)
            return no_memory(err);
        for (size_t s = 0; s < n_stacks; s++) {
            const struct by_stack *b = &stacks[s];
            uint32_t first, every;
            if (b->lefts < LEAST_TIMES || (b->given_back >= 2 && b->given_back * 4 >= b->lefts) || !goes_on(left, b, steps->n, &first, &every))
                continue;
            add_stack(h, steps, left, b, (uint32_t)s, first, every, &r, leaks);
        }
        sort_leaks(leaks, r.n);
        for (size_t i = 0; i < r.n; i++)
            r.bytes_per_step += leaks[i].bytes_per_step;
        r.leaks = leaks;
    }
    *out = r;
    return MSNAP_OK;
}
