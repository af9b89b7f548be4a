/* mem.c -- the default allocator, the budget and growable arrays. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* mremap */
#endif
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#include <sys/mman.h>
#define MAP_LARGE 1
#else
#define MAP_LARGE 0
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#undef MAP_LARGE
#define MAP_LARGE 0
#endif
#endif

#if MAP_LARGE
/* Pieces from this size on are mapped: they grow without a copy. */
#define LARGE ((size_t)2 << 20)

#define HUGE_PAGE ((size_t)2 << 20)

/* Mapped pieces are whole huge pages, so that the kernel fills them with few faults instead of one
 * each 4 KiB; what is not touched costs nothing. */
static size_t whole(size_t size) { return (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE; }

/* Address space of whole(size) bytes that starts at a huge page. */
static char *reserve(size_t size, int protection)
{
    size_t room = whole(size) + HUGE_PAGE;
    char *p = mmap(NULL, room, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    if (before)
        munmap(p, before);
    if (before < HUGE_PAGE)
        munmap(p + before + whole(size), HUGE_PAGE - before);
    return p + before;
}

static void *map_piece(size_t size)
{
    void *p = reserve(size, PROT_READ | PROT_WRITE);
    if (p)
        (void)madvise(p, whole(size), MADV_HUGEPAGE);
    return p;
}

/* Moves the pages, not the bytes, and keeps the alignment. */
static void *remap_piece(void *p, size_t old_size, size_t new_size)
{
    if (whole(new_size) == whole(old_size))
        return p;
    if (new_size < old_size)
        return mremap(p, whole(old_size), whole(new_size), 0) == MAP_FAILED ? NULL : p;
    char *to = reserve(new_size, PROT_NONE);
    if (!to)
        return NULL;
    void *q = mremap(p, whole(old_size), whole(new_size), MREMAP_MAYMOVE | MREMAP_FIXED, to);
    if (q == MAP_FAILED) {
        munmap(to, whole(new_size));
        return NULL;
    }
    (void)madvise(q, whole(new_size), MADV_HUGEPAGE);
    return q;
}

static void *default_resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    (void)ctx;
    bool was_large = p && old_size >= LARGE, is_large = new_size >= LARGE;
    if (new_size > SIZE_MAX - 2 * HUGE_PAGE)
        return NULL;
    if (!was_large && !is_large) {
        if (new_size == 0) {
            free(p);
            return NULL;
        }
        return realloc(p, new_size);
    }
    if (new_size == 0) {
        munmap(p, whole(old_size));
        return NULL;
    }
    if (was_large && is_large)
        return remap_piece(p, old_size, new_size);
    void *q = is_large ? map_piece(new_size) : malloc(new_size);
    if (!q)
        return NULL;
    if (p) {
        memcpy(q, p, old_size < new_size ? old_size : new_size);
        if (was_large)
            munmap(p, whole(old_size));
        else
            free(p);
    }
    return q;
}
#else
static void *default_resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    (void)ctx;
    (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, new_size);
}
#endif

struct msnap_mem msnap_mem_default(void) { return (struct msnap_mem){default_resize, NULL}; }

static void *budget_resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    struct msnap_budget *b = ctx;
    if (!p)
        old_size = 0;
    if (new_size > old_size && new_size - old_size > (b->limit > b->used ? b->limit - b->used : 0)) {
        b->refused = true;
        return NULL;
    }
    void *q = b->inner.resize(b->inner.ctx, p, old_size, new_size);
    if (q || new_size == 0)
        b->used = b->used - old_size + new_size;
    return q;
}

void msnap_budget_init(struct msnap_budget *b, struct msnap_mem inner, uint64_t limit)
{
    *b = (struct msnap_budget){{budget_resize, b}, inner, 0, limit, false};
}

bool msnap_vec_reserve(struct msnap_vec *v, struct msnap_mem mem, size_t elem, size_t want)
{
    if (want <= v->cap)
        return true;
    size_t cap = v->cap + v->cap / 2;
    if (cap < want)
        cap = want;
    if (cap < 16)
        cap = 16;
    size_t size;
    if (msnap_mul_overflows(cap, elem, &size))
        return false;
    void *p = mem.resize(mem.ctx, v->data, v->cap * elem, size);
    /* Near a limit a smaller step may do; one that is too small would make growing quadratic. */
    for (size_t step = v->cap / 4; !p && (step >= v->cap / 16 || v->cap < 4096); step /= 2) {
        cap = v->cap + step > want ? v->cap + step : want;
        size = cap * elem;
        p = mem.resize(mem.ctx, v->data, v->cap * elem, size);
        if (step == 0)
            break;
    }
    if (!p)
        return false;
    v->data = p;
    v->cap = cap;
    return true;
}

void msnap_vec_trim(struct msnap_vec *v, struct msnap_mem mem, size_t elem)
{
    if (v->cap == v->n)
        return;
    if (v->n == 0) {
        msnap_vec_release(v, mem, elem);
        return;
    }
    void *p = mem.resize(mem.ctx, v->data, v->cap * elem, v->n * elem);
    if (p) {
        v->data = p;
        v->cap = v->n;
    }
}

void msnap_vec_release(struct msnap_vec *v, struct msnap_mem mem, size_t elem)
{
    msnap_mem_release(mem, v->data, v->cap * elem);
    *v = (struct msnap_vec){0};
}
