/* pack.c -- how little memory a clairvoyant allocator that moves nothing would need.
 *
 * Dynamic storage allocation is NP-hard; placing the largest first, each at the lowest free place, is
 * known to come within a few percent. Only the largest PACKED are placed so, which takes quadratic
 * time; the many small ones get slots by size, as many as are ever live at once.
 */
#include <memsnap/tune.h>

#include "base/arena.h"
#include "base/status.h"

#include <string.h>

#define PACKED 12000

struct life {
    uint64_t size, offset;
    uint32_t from, until; /* events: [from, until) */
};

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the packing"); }

static bool before(const struct life *a, const struct life *b)
{
    if (a->size != b->size)
        return a->size > b->size;
    return a->from != b->from ? a->from < b->from : a->until > b->until;
}

static void sort_lives(struct life *v, size_t n, bool (*less)(const struct life *, const struct life *))
{
    for (size_t end = n, start = n / 2; end > 1;) { /* heap sort */
        struct life t;
        if (start) {
            start--;
        } else {
            end--;
            t = v[0];
            v[0] = v[end];
            v[end] = t;
        }
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && less(&v[child], &v[child + 1]))
                child++;
            if (!less(&v[root], &v[child]))
                break;
            t = v[root];
            v[root] = v[child];
            v[child] = t;
        }
    }
}

/* The lowest offset at which `l` meets no placed life of its time. `placed` is sorted by offset. */
static uint64_t lowest_place(const struct life *placed, size_t n, const struct life *l)
{
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const struct life *p = &placed[i];
        if (p->from >= l->until || p->until <= l->from)
            continue;
        if (p->offset >= at + l->size)
            break;
        if (p->offset + p->size > at)
            at = p->offset + p->size;
    }
    return at;
}

static uint64_t pack_largest(struct life *v, size_t n, struct life *placed)
{
    uint64_t top = 0;
    for (size_t k = 0; k < n; k++) {
        v[k].offset = lowest_place(placed, k, &v[k]);
        size_t i = k;
        while (i && placed[i - 1].offset > v[k].offset)
            i--;
        memmove(placed + i + 1, placed + i, (k - i) * sizeof *placed);
        placed[i] = v[k];
        if (v[k].offset + v[k].size > top)
            top = v[k].offset + v[k].size;
    }
    return top;
}

/* Slots for the rest: for each size as many as are live at once. `v` is sorted by size. */
static uint64_t slots_of(const struct life *v, size_t n, uint64_t *points)
{
    uint64_t sum = 0;
    for (size_t i = 0, j; i < n; i = j) {
        size_t k = 0;
        int64_t live = 0, most = 0;
        for (j = i; j < n && v[j].size == v[i].size; j++) {
            points[k++] = (uint64_t)v[j].from << 1 | 1; /* ends sort before beginnings at the same event */
            points[k++] = (uint64_t)v[j].until << 1;
        }
        for (size_t end = k, start = k / 2; end > 1;) {
            uint64_t t;
            if (start) {
                start--;
            } else {
                end--;
                t = points[0];
                points[0] = points[end];
                points[end] = t;
            }
            for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
                if (child + 1 < end && points[child] < points[child + 1])
                    child++;
                if (points[root] >= points[child])
                    break;
                t = points[root];
                points[root] = points[child];
                points[child] = t;
            }
        }
        for (size_t q = 0; q < k; q++) {
            live += points[q] & 1 ? 1 : -1;
            most = live > most ? live : most;
        }
        sum += (uint64_t)most * v[i].size;
    }
    return sum;
}

enum msnap_status msnap_pack_offline(const struct msnap_history *h, struct msnap_arena *arena, uint64_t *out, struct msnap_error *err)
{
    const struct msnap_allocs *a = &h->allocs;
    uint32_t end = (uint32_t)h->device->n_events + 1;
    struct life *v = MSNAP_NEW_RAW(arena, struct life, a->n);
    size_t n = a->n, largest = n < PACKED ? n : PACKED;
    struct life *placed = MSNAP_NEW_RAW(arena, struct life, largest);
    uint64_t *points = n > largest ? MSNAP_NEW_RAW(arena, uint64_t, 2 * (n - largest)) : NULL;
    if (!v || !placed || (n > largest && !points))
        return no_memory(err);
    for (size_t row = 0; row < n; row++) {
        uint64_t size = (msnap_alloc_size(h, row) + 511) / 512 * 512;
        uint32_t from = a->alloc_event[row] == MSNAP_NO_EVENT ? 0 : a->alloc_event[row] + 1;
        uint32_t until = a->free_event[row] == MSNAP_NO_EVENT ? end : a->free_event[row] + 1;
        v[row] = (struct life){size ? size : 512, 0, from, until > from ? until : from + 1};
    }
    sort_lives(v, n, before);
    *out = pack_largest(v, largest, placed) + (n > largest ? slots_of(v + largest, n - largest, points) : 0);
    return MSNAP_OK;
}
