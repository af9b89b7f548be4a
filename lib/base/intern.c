/* intern.c -- an open-addressing table of strings. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* getrandom */
#endif
#include "base/intern.h"

#include <string.h>
#include <time.h>
#if defined(__linux__)
#include <sys/random.h>
#endif

#define MAX_STRINGS ((size_t)1 << 29)

uint64_t msnap_hash_seed(void)
{
    uint64_t seed = 0;
#if defined(__linux__)
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed)
        return seed;
#endif
    return (uint64_t)time(NULL) * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(uintptr_t)&seed;
}

uint64_t msnap_hash_bytes(uint64_t seed, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = msnap_hash_u64(seed, n);
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t v;
        memcpy(&v, p, 8);
        h = msnap_hash_u64(h, v);
    }
    if (n) {
        uint64_t v = 0;
        memcpy(&v, p, n);
        h = msnap_hash_u64(h, v);
    }
    return h;
}

bool msnap_intern_init(struct msnap_intern *t, struct msnap_mem mem, struct msnap_arena *arena)
{
    *t = (struct msnap_intern){.mem = mem, .arena = arena, .n_slots = 1024, .seed = msnap_hash_seed()};
    t->slots = mem.resize(mem.ctx, NULL, 0, t->n_slots * sizeof *t->slots);
    if (!t->slots)
        return false;
    memset(t->slots, 0, t->n_slots * sizeof *t->slots);
    return MSNAP_VEC_PUSH(&t->bytes, mem, const char *, "") && MSNAP_VEC_PUSH(&t->len, mem, uint32_t, 0);
}

void msnap_intern_release(struct msnap_intern *t)
{
    msnap_mem_release(t->mem, t->slots, t->n_slots * sizeof *t->slots);
    t->slots = NULL;
    msnap_vec_release(&t->bytes, t->mem, sizeof(const char *));
    msnap_vec_release(&t->len, t->mem, sizeof(uint32_t));
}

static bool grow(struct msnap_intern *t)
{
    size_t n = t->n_slots * 2;
    uint32_t *slots = t->mem.resize(t->mem.ctx, NULL, 0, n * sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0, n * sizeof *slots);
    for (uint32_t id = 1; id < t->bytes.n; id++) {
        uint64_t h = msnap_hash_bytes(t->seed, MSNAP_VEC_AT(&t->bytes, const char *, id),
                                      MSNAP_VEC_AT(&t->len, uint32_t, id));
        size_t i = h & (n - 1);
        while (slots[i])
            i = (i + 1) & (n - 1);
        slots[i] = id;
    }
    msnap_mem_release(t->mem, t->slots, t->n_slots * sizeof *t->slots);
    t->slots = slots;
    t->n_slots = n;
    return true;
}

uint32_t msnap_intern_add(struct msnap_intern *t, const char *bytes, size_t n)
{
    if (n > UINT32_MAX - 1 || t->bytes.n >= MAX_STRINGS)
        return 0;
    size_t i = msnap_hash_bytes(t->seed, bytes, n) & (t->n_slots - 1);
    for (; t->slots[i]; i = (i + 1) & (t->n_slots - 1)) {
        uint32_t id = t->slots[i];
        if (MSNAP_VEC_AT(&t->len, uint32_t, id) == n &&
            memcmp(MSNAP_VEC_AT(&t->bytes, const char *, id), bytes, n) == 0)
            return id;
    }
    char *copy = msnap_arena_raw(t->arena, n + 1, 1);
    if (!copy || !msnap_vec_reserve(&t->len, t->mem, sizeof(uint32_t), t->len.n + 1) ||
        !MSNAP_VEC_PUSH(&t->bytes, t->mem, const char *, copy))
        return 0;
    memcpy(copy, bytes, n);
    copy[n] = '\0';
    uint32_t id = (uint32_t)t->len.n;
    MSNAP_VEC_AT(&t->len, uint32_t, t->len.n++) = (uint32_t)n;
    t->slots[i] = id;
    if (t->bytes.n * 2 > t->n_slots && !grow(t) && t->bytes.n * 8 > t->n_slots * 7)
        return 0; /* too full to probe */
    return id;
}
