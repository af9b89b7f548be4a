/* arena.c -- chunks that are filled from the front; large pieces get a chunk of their own. */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#define CHUNK ((size_t)64 << 10)
#define LARGE ((size_t)16 << 10) /* from here on a piece of its own */
#define ALIGN alignof(max_align_t)

struct chunk {
    struct chunk *next;
    size_t size; /* this header included */
};

struct msnap_arena {
    struct msnap_mem mem;
    struct chunk *chunks;
    char *at, *end; /* the rest of the chunk in use */
};

struct msnap_arena *msnap_arena_new(struct msnap_mem mem)
{
    if (!mem.resize)
        mem = msnap_mem_default();
    struct msnap_arena *a = mem.resize(mem.ctx, NULL, 0, sizeof *a);
    if (a)
        *a = (struct msnap_arena){mem, NULL, NULL, NULL};
    return a;
}

void msnap_arena_free(struct msnap_arena *a)
{
    if (!a)
        return;
    struct msnap_mem mem = a->mem;
    for (struct chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        msnap_mem_release(mem, c, c->size);
    }
    msnap_mem_release(mem, a, sizeof *a);
}

static size_t header_size(void) { return (sizeof(struct chunk) + ALIGN - 1) / ALIGN * ALIGN; }

void *msnap_arena_raw(struct msnap_arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (msnap_mul_overflows(n, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
    if (bytes <= (size_t)(a->end - a->at)) {
        void *p = a->at;
        a->at += bytes;
        return p;
    }
    bool own = bytes >= LARGE;
    size_t total = header_size() + (own ? bytes : CHUNK - header_size());
    struct chunk *c = a->mem.resize(a->mem.ctx, NULL, 0, total);
    if (!c)
        return NULL;
    *c = (struct chunk){a->chunks, total};
    a->chunks = c;
    char *p = (char *)c + header_size();
    if (!own) {
        a->at = p + bytes;
        a->end = (char *)c + total;
    }
    return p;
}

void *msnap_arena_alloc(struct msnap_arena *a, size_t n, size_t size)
{
    void *p = msnap_arena_raw(a, n, size);
    if (p)
        memset(p, 0, n * size);
    return p;
}

struct msnap_mem msnap_arena_mem(const struct msnap_arena *a) { return a->mem; }
