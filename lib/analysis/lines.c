/* lines.c -- the loop's function, its lines in order, and the memory after each. */
#include <memsnap/lines.h>

#include "analysis/columns.h"
#include "base/arena.h"
#include "base/status.h"

#include <string.h>

enum { MAX_DEPTH = 64 };

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the lines"); }

/* The user frames of a stack, outermost first; at most MAX_DEPTH, the outermost ones. */
static size_t user_frames(const struct msnap_snapshot *s, uint32_t stack, uint32_t out[MAX_DEPTH])
{
    uint32_t found[4 * MAX_DEPTH];
    size_t n = 0, k = 0;
    for (; stack > MSNAP_STACK_EMPTY; stack = s->stacks.parent[stack])
        if (msnap_frame_is_user(s, s->stacks.frame[stack])) {
            if (n == 4 * MAX_DEPTH) { /* keep the outer ones */
                memmove(found, found + 1, (n - 1) * sizeof *found);
                n--;
            }
            found[n++] = s->stacks.frame[stack];
        }
    while (n && k < MAX_DEPTH)
        out[k++] = found[--n];
    return k;
}

static bool same_function(const struct msnap_snapshot *s, uint32_t a, uint32_t b)
{
    return s->frames.name[a] == s->frames.name[b] && s->frames.filename[a] == s->frames.filename[b];
}

/* Where the loop is: `depth` functions from the outside are common to the events, and the line in the
 * last of them differs between events. Weighted by events; a few strays (other threads) do not count. */
struct common {
    uint32_t frames[MAX_DEPTH]; /* one of each level's frames */
    uint64_t events[MAX_DEPTH]; /* that pass through the level's function, given the levels before */
    bool moves[MAX_DEPTH];      /* more than one line seen */
    size_t depth;
    uint64_t all;
};

static void meet(const struct msnap_snapshot *s, struct common *c, const uint32_t *frames, size_t n, uint64_t weight)
{
    c->all += weight;
    if (c->depth == 0 && n) { /* the first stack proposes its functions */
        memcpy(c->frames, frames, n * sizeof *frames);
        c->depth = n;
    }
    for (size_t k = 0; k < n && k < c->depth && same_function(s, frames[k], c->frames[k]); k++) {
        c->events[k] += weight;
        c->moves[k] = c->moves[k] || s->frames.line[frames[k]] != s->frames.line[c->frames[k]];
    }
}

/* Where in the loop a stack is. */
struct place {
    uint32_t line; /* frame at the loop's level; 0: the stack does not pass through it */
    uint32_t call;
    bool waits;    /* the call is one that waits for the autograd engine's thread */
};

static bool name_is(const struct msnap_snapshot *s, uint32_t frame, const char *name)
{
    uint32_t id = s->frames.name[frame];
    return s->strings.len[id] == strlen(name) && memcmp(s->strings.bytes[id], name, s->strings.len[id]) == 0;
}

/* Frames of PyTorch that only pass a call on. */
static bool is_wrapper(const struct msnap_snapshot *s, uint32_t frame)
{
    static const char *const names[] = {"_call_impl", "_wrapped_call_impl", "wrapper", "decorate_context", "decorate_autocast", "_use_grad", "inner", "_fn"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name_is(s, frame, names[i]))
            return true;
    return false;
}

static struct place place_of(const struct msnap_snapshot *s, uint32_t stack, size_t level, uint32_t function)
{
    uint32_t frames[MAX_DEPTH];
    struct place p = {0, 0, false};
    if (user_frames(s, stack, frames) <= level || !same_function(s, frames[level], function))
        return p;
    p.line = frames[level];
    /* From the innermost frame outwards to the loop's, keeping the outermost of each kind. */
    uint32_t user = 0, library = 0;
    size_t outer = 0; /* user frames from the loop's on outwards; a recursion has the frame twice */
    for (uint32_t k = stack; k > MSNAP_STACK_EMPTY; k = s->stacks.parent[k])
        outer += msnap_frame_is_user(s, s->stacks.frame[k]);
    for (uint32_t k = stack; k > MSNAP_STACK_EMPTY; k = s->stacks.parent[k]) {
        uint32_t f = s->stacks.frame[k];
        if (msnap_frame_is_user(s, f)) {
            if (outer == level + 1)
                break;
            outer--;
            user = f;
        } else if (!is_wrapper(s, f)) {
            library = f;
            p.waits = p.waits || name_is(s, f, "backward");
        }
    }
    p.call = user ? user : library;
    return p;
}

/* The one pause in a run that is ten times longer than all others and at least 10 ms, and after which
 * the run begins again with its first stack: two calls of one line. Returns the event after it; 0: none. */
static uint32_t long_pause(const struct msnap_history *h, uint32_t first, uint32_t last)
{
    const struct msnap_events *e = &h->snapshot->events;
    size_t base = h->device->first_event;
    int64_t longest = 0, second = 0;
    uint32_t at = 0, previous = UINT32_MAX, beginning = 0;
    for (uint32_t i = first; i <= last; i++) {
        if (e->action[base + i] != MSNAP_ALLOC || !(e->has[base + i] & MSNAP_HAS_TIME))
            continue;
        if (previous != UINT32_MAX) {
            int64_t gap = e->time_us[base + i] - e->time_us[base + previous];
            if (gap > longest) {
                second = longest;
                longest = gap;
                at = e->stack[base + i] == beginning ? previous + 1 : 0;
            } else if (gap > second) {
                second = gap;
            }
        }
        if (previous == UINT32_MAX)
            beginning = e->stack[base + i];
        previous = i;
    }
    return longest >= 10000 && longest >= 10 * second && at > first ? at : 0;
}

enum { MAX_CALLS = 12 };

static void add_run(struct msnap_line_run *runs, size_t *n, struct msnap_line_run r)
{
    if (runs)
        runs[*n] = r;
    ++*n;
}

/* Runs of events of one line and call. Called twice, first to count (runs is NULL). */
static size_t split_runs(const struct msnap_history *h, uint32_t first, uint32_t last, const struct place *place, struct msnap_line_run *runs)
{
    const uint32_t *stack = EVENT_COLUMN(h, stack);
    struct place current = {0, 0, false};
    bool other = false;
    size_t n = 0;
    uint32_t begun = first;
    for (uint32_t i = first; i <= last; i++) {
        struct place p = place[stack[i]];
        bool elsewhere = !p.line; /* another thread, or no stack */
        bool moved = elsewhere ? current.line && !current.waits && !other : p.line != current.line || p.call != current.call || (other && !current.waits);
        if (i > first && moved) {
            add_run(runs, &n, (struct msnap_line_run){.frame = current.line, .call = current.call, .other_thread = other && !current.waits, .first = begun, .last = i - 1});
            begun = i;
        }
        if (!elsewhere) {
            current = p;
            other = false;
        } else {
            other = true;
            if (moved)
                current.call = 0;
        }
    }
    add_run(runs, &n, (struct msnap_line_run){.frame = current.line, .call = current.call, .other_thread = other && !current.waits, .first = begun, .last = last});
    return n;
}

static struct msnap_line_run *find_runs(const struct msnap_history *h, uint32_t first, uint32_t last, const struct place *place,
                                        struct msnap_arena *arena, size_t *n_out)
{
    size_t n = split_runs(h, first, last, place, NULL), kept = 0;
    struct msnap_line_run *all = MSNAP_NEW(arena, struct msnap_line_run, n), *runs = MSNAP_NEW(arena, struct msnap_line_run, 2 * n);
    if (!all || !runs)
        return NULL;
    split_runs(h, first, last, place, all);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && all[j].frame == all[i].frame; j++)
            ;
        if (j - i > MAX_CALLS) { /* a line of many calls is one run */
            runs[kept] = all[i];
            runs[kept].call = 0;
            runs[kept].other_thread = false;
            runs[kept++].last = all[j - 1].last;
            continue;
        }
        for (size_t k = i; k < j; k++) {
            uint32_t again = long_pause(h, all[k].first, all[k].last);
            runs[kept++] = all[k];
            if (again) {
                runs[kept - 1].last = again - 1;
                runs[kept] = all[k];
                runs[kept++].first = again;
            }
        }
    }
    *n_out = kept;
    return runs;
}

enum msnap_status msnap_lines_build(const struct msnap_history *h, uint32_t first, uint32_t last, struct msnap_arena *arena,
                                    struct msnap_lines *out, struct msnap_error *err)
{
    const struct msnap_snapshot *s = h->snapshot;
    const struct msnap_device *d = h->device;
    if (d->n_events == 0 || first > last || last >= d->n_events)
        return msnap_fail(err, MSNAP_EUSAGE, "there are no events %u to %u; the trace has %zu", first, last, d->n_events);
    uint64_t *weight = MSNAP_NEW(arena, uint64_t, s->stacks.n);
    uint32_t frames[MAX_DEPTH];
    struct common best = {.depth = 0};
    if (!weight)
        return no_memory(err);
    for (uint32_t i = first; i <= last; i++)
        weight[s->events.stack[d->first_event + i]]++;
    /* The first stack may be a stray; the one whose functions most events share decides. */
    uint32_t proposals = 0;
    for (size_t p = 0; p < s->stacks.n && proposals < 16; p++) {
        if (!weight[p] || user_frames(s, (uint32_t)p, frames) == 0)
            continue;
        struct common c;
        memset(&c, 0, sizeof c);
        meet(s, &c, frames, user_frames(s, (uint32_t)p, frames), weight[p]);
        for (size_t q = 0; q < s->stacks.n; q++)
            if (weight[q] && q != p) {
                size_t n = user_frames(s, (uint32_t)q, frames);
                if (n)
                    meet(s, &c, frames, n, weight[q]);
            }
        if (proposals++ == 0 || c.events[0] > best.events[0])
            best = c;
        if (best.events[0] * 10 >= best.all * 9)
            break;
    }
    /* The innermost level that nearly all events share and that moves on; where none does (one line
     * did it all), the innermost that they share. */
    size_t level = 0, shared = 0;
    bool moves = false;
    for (size_t k = 0; k < best.depth && best.events[k] * 10 >= best.all * 9; k++) {
        shared = k;
        if (best.moves[k]) {
            level = k;
            moves = true;
        }
    }
    if (!moves)
        level = shared;
    struct msnap_lines r = {.before_bytes = h->start.allocated};
    if (best.depth) {
        r.function = s->frames.name[best.frames[level]];
        r.filename = s->frames.filename[best.frames[level]];
    }
    struct place *place = MSNAP_NEW(arena, struct place, s->stacks.n);
    if (!place)
        return no_memory(err);
    for (size_t q = 0; q < s->stacks.n && best.depth; q++)
        if (weight[q])
            place[q] = place_of(s, (uint32_t)q, level, best.frames[level]);
    size_t n = 0;
    struct msnap_line_run *runs = find_runs(h, first, last, place, arena, &n);
    if (!runs)
        return no_memory(err);
    const struct msnap_allocs *a = &h->allocs;
    /* Which allocation a free_requested ends: filled in for the events of the window. */
    uint64_t *freed = MSNAP_NEW(arena, uint64_t, (size_t)last + 1);
    if (!freed)
        return no_memory(err);
    for (size_t row = 0; row < a->n; row++)
        if (a->request_event[row] != MSNAP_NO_EVENT && a->request_event[row] <= last)
            freed[a->request_event[row]] += a->block_size[row];
    uint64_t level_bytes = h->start.allocated;
    size_t row = a->n_initial, k = 0;
    for (uint32_t i = 0; i <= last; i++) {
        if (i == first)
            r.before_bytes = level_bytes;
        while (i >= first && k < n && runs[k].last < i)
            k++;
        struct msnap_line_run *u = i >= first && k < n ? &runs[k] : NULL;
        if (u && u->first == i) {
            u->change_bytes = -(int64_t)level_bytes;
            u->highest_bytes = 0;
        }
        if (row < a->n && a->alloc_event[row] == i) {
            level_bytes += a->block_size[row];
            if (u) {
                u->allocs++;
                u->allocated_bytes += a->block_size[row];
            }
            row++;
        }
        level_bytes -= freed[i];
        if (!u)
            continue;
        u->frees += freed[i] != 0;
        u->highest_bytes = level_bytes > u->highest_bytes ? level_bytes : u->highest_bytes;
        if (u->last == i) {
            u->after_bytes = level_bytes;
            u->change_bytes += (int64_t)level_bytes;
        }
    }
    r.n = n;
    r.runs = runs;
    *out = r;
    return MSNAP_OK;
}
