/* mem.h -- checked sizes, growable arrays, and an allocator with a budget. */
#ifndef MSNAP_BASE_MEM_H
#define MSNAP_BASE_MEM_H

#include <memsnap/base.h>

/* For the few loops that decide how long a large file takes. */
#if defined(__GNUC__)
#define MSNAP_INLINE static inline __attribute__((always_inline))
#else
#define MSNAP_INLINE static inline
#endif

/* An allocator that refuses what would take its total beyond `limit`. Callers pass &b->mem. */
struct msnap_budget {
    struct msnap_mem mem;   /* serves through the budget */
    struct msnap_mem inner;
    uint64_t used, limit;
    bool refused;           /* at least once because of the limit */
};
void msnap_budget_init(struct msnap_budget *b, struct msnap_mem inner, uint64_t limit);

static inline bool msnap_mul_overflows(size_t a, size_t b, size_t *out)
{
    if (b && a > SIZE_MAX / b)
        return true;
    *out = a * b;
    return false;
}

static inline void msnap_mem_release(struct msnap_mem mem, void *p, size_t size)
{
    if (p)
        (void)mem.resize(mem.ctx, p, size, 0);
}

/* A growable array of elements of one size. All zero is an empty one. */
struct msnap_vec {
    void *data;
    size_t n, cap;
};
/* Makes room for `want` elements in all; false when there is no memory (the array is as it was). */
bool msnap_vec_reserve(struct msnap_vec *v, struct msnap_mem mem, size_t elem, size_t want);
/* Gives back what is not used. */
void msnap_vec_trim(struct msnap_vec *v, struct msnap_mem mem, size_t elem);
void msnap_vec_release(struct msnap_vec *v, struct msnap_mem mem, size_t elem);

/* Appends `value`; an expression that is false when there is no memory. */
#define MSNAP_VEC_PUSH(v, mem, type, value)                                                                  \
    (((v)->n < (v)->cap || msnap_vec_reserve((v), (mem), sizeof(type), (v)->n + 1))                          \
         ? (((type *)(v)->data)[(v)->n++] = (value), true)                                                   \
         : false)
#define MSNAP_VEC_AT(v, type, i) (((type *)(v)->data)[i])

#endif
