/* lines.c -- the loop's function, its lines in order, and the memory after each. */
#include <memsnap/lines.h>

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

enum msnap_status msnap_lines_build(const struct msnap_history *h, uint32_t first, uint32_t last, struct msnap_arena *arena,
                                    struct msnap_lines *out, struct msnap_error *err)
{
    const struct msnap_snapshot *s = h->snapshot;
    const struct msnap_device *d = h->device;
    if (d->n_events == 0 || first > last || last >= d->n_events)
        return msnap_fail(err, MSNAP_EUSAGE, "there are no events %u to %u; the trace has %zu", first, last, d->n_events);
    uint64_t *weight = MSNAP_NEW(arena, uint64_t, s->stacks.n);
    uint32_t *line_of = MSNAP_NEW(arena, uint32_t, s->stacks.n); /* frame at the loop's level; 0: none */
    struct msnap_line_run *runs = NULL;
    uint32_t frames[MAX_DEPTH];
    struct common best = {.depth = 0};
    if (!weight || !line_of)
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
    /* The innermost level that nearly all events share and that moves on; else the outermost. */
    size_t level = 0;
    for (size_t k = 0; k < best.depth && best.events[k] * 10 >= best.all * 9; k++)
        if (best.moves[k])
            level = k;
    struct msnap_lines r = {.before_bytes = h->start.allocated};
    if (best.depth) {
        r.function = s->frames.name[best.frames[level]];
        r.filename = s->frames.filename[best.frames[level]];
    }
    for (size_t q = 0; q < s->stacks.n && best.depth; q++)
        if (weight[q] && user_frames(s, (uint32_t)q, frames) > level && same_function(s, frames[level], best.frames[level]))
            line_of[q] = frames[level];

    /* Runs, then the totals along them. */
    size_t n = 0;
    uint32_t current = 0;
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (uint32_t i = first; i <= last; i++) {
            uint32_t line = line_of[s->events.stack[d->first_event + i]];
            bool moved = line && (n == 0 || line != current);
            if (n == 0 || moved) {
                if (runs)
                    runs[n] = (struct msnap_line_run){.frame = line, .first = i, .last = i};
                n++;
                current = line;
            } else if (runs) {
                runs[n - 1].last = i;
            }
            if (n == 1 && !current && line)
                current = line;
        }
        if (!runs && !(runs = MSNAP_NEW(arena, struct msnap_line_run, n)))
            return no_memory(err);
        current = 0;
    }
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
