/* gpu_model.c -- a device that exists nowhere: it counts bytes, hands out addresses and keeps patterns.
 *
 * Stricter than the real one: what is given back must have been taken, pages lie in reservations, and
 * patterns go into memory that is held. Every call counts, and one of them can be told to fail.
 */
#include "replay_parts.h"

#include <stdlib.h>
#include <string.h>

#define PAGE (UINT64_C(2) << 20)
#define INVALID_VALUE 1 /* CUDA_ERROR_INVALID_VALUE */

enum thing_kind { THING_MEMORY, THING_HANDLE, THING_RESERVATION, THING_STREAM, THING_MAPPING, N_KINDS };
struct thing {
    uint64_t id, size;
};
struct things {
    struct thing *v;
    size_t n, cap;
};
/* What was written where; later ones lie above earlier ones. */
struct paint {
    uint64_t addr, size;
    uint32_t pattern;
};

struct model {
    struct msnap_mem mem;
    uint64_t total, context, used, next_addr, next_id;
    uint64_t calls, fail_at;
    struct things things[N_KINDS];
    struct paint *paints;
    size_t n_paints, cap_paints;
};

static bool fails(struct model *m) { return ++m->calls == m->fail_at; }

/* ---- tables ---- */

static bool grow(struct model *m, void *v, size_t *cap, size_t width)
{
    void *old, *more;
    const size_t want = *cap ? *cap * 2 : 64;
    memcpy(&old, v, sizeof old);
    if (!(more = m->mem.resize(m->mem.ctx, old, *cap * width, want * width)))
        return false;
    memcpy(v, &more, sizeof more);
    *cap = want;
    return true;
}

/* Room for one more; asked for before anything is counted. */
static bool have_room(struct model *m, enum thing_kind kind)
{
    struct things *t = &m->things[kind];
    return t->n < t->cap || grow(m, &t->v, &t->cap, sizeof *t->v);
}

static int add(struct model *m, enum thing_kind kind, uint64_t id, uint64_t size)
{
    struct things *t = &m->things[kind];
    t->v[t->n++] = (struct thing){id, size};
    return 0;
}

static struct thing *find(struct model *m, enum thing_kind kind, uint64_t id)
{
    struct things *t = &m->things[kind];
    for (size_t i = t->n; i-- > 0;)
        if (t->v[i].id == id)
            return &t->v[i];
    return NULL;
}

static bool lies_in(const struct things *t, uint64_t addr, uint64_t size)
{
    for (size_t i = t->n; i-- > 0;)
        if (addr >= t->v[i].id && addr - t->v[i].id < t->v[i].size)
            return size <= t->v[i].size - (addr - t->v[i].id);
    return false;
}

/* Fails for what was given back twice or never taken. */
static int drop(struct model *m, enum thing_kind kind, uint64_t id, uint64_t *size)
{
    struct thing *t = fails(m) ? NULL : find(m, kind, id);
    if (!t)
        return INVALID_VALUE;
    if (size)
        *size = t->size;
    *t = m->things[kind].v[--m->things[kind].n];
    return 0;
}

static uint64_t pages(uint64_t size) { return size > UINT64_MAX - PAGE ? UINT64_MAX : (size + PAGE - 1) / PAGE * PAGE; }

static uint64_t next_addr(struct model *m, uint64_t size)
{
    const uint64_t addr = m->next_addr;
    m->next_addr += pages(size) + PAGE; /* a gap, so that nothing is contiguous by chance */
    return addr;
}

/* ---- memory ---- */

static int mem_info(void *ctx, uint64_t *free_bytes, uint64_t *total)
{
    struct model *m = ctx;
    *total = m->total;
    *free_bytes = m->total - m->context - m->used;
    return fails(m) ? INVALID_VALUE : 0;
}
static int take(struct model *m, enum thing_kind kind, uint64_t size)
{
    if (fails(m) || !have_room(m, kind) || size > m->total - m->context - m->used)
        return MSNAP_GPU_OUT_OF_MEMORY;
    m->used += size;
    return 0;
}
static int model_alloc(void *ctx, uint64_t size, uint64_t *addr)
{
    struct model *m = ctx;
    if (size == 0)
        return INVALID_VALUE;
    const int r = take(m, THING_MEMORY, pages(size));
    if (r)
        return r;
    *addr = next_addr(m, size);
    return add(m, THING_MEMORY, *addr, pages(size));
}
static int model_release(void *ctx, uint64_t addr)
{
    struct model *m = ctx;
    uint64_t size = 0;
    const int r = drop(m, THING_MEMORY, addr, &size);
    m->used -= size;
    return r;
}
static int alloc_async(void *ctx, uint64_t size, uint64_t stream, uint64_t *addr)
{
    return stream && !find(ctx, THING_STREAM, stream) ? INVALID_VALUE : model_alloc(ctx, size, addr);
}
static int release_async(void *ctx, uint64_t addr, uint64_t stream)
{
    return stream && !find(ctx, THING_STREAM, stream) ? INVALID_VALUE : model_release(ctx, addr);
}
static int pool_used(void *ctx, uint64_t *used, uint64_t *reserved)
{
    struct model *m = ctx;
    *used = *reserved = m->used;
    return fails(m) ? INVALID_VALUE : 0;
}

/* ---- pages ---- */

static int model_reserve(void *ctx, uint64_t size, uint64_t *addr)
{
    struct model *m = ctx;
    if (fails(m) || !have_room(m, THING_RESERVATION))
        return MSNAP_GPU_OUT_OF_MEMORY;
    *addr = next_addr(m, size);
    return add(m, THING_RESERVATION, *addr, size);
}
static int model_unreserve(void *ctx, uint64_t addr, uint64_t size)
{
    struct model *m = ctx;
    const struct thing *t = find(m, THING_RESERVATION, addr);
    if (!t || t->size != size)
        return INVALID_VALUE;
    for (size_t i = 0; i < m->things[THING_MAPPING].n; i++)
        if (m->things[THING_MAPPING].v[i].id - addr < size)
            return INVALID_VALUE; /* pages are still mapped */
    return drop(m, THING_RESERVATION, addr, NULL);
}
static int model_create(void *ctx, uint64_t size, uint64_t *handle)
{
    struct model *m = ctx;
    if (size == 0 || size % PAGE)
        return INVALID_VALUE;
    const int r = take(m, THING_HANDLE, size);
    if (r)
        return r;
    *handle = ++m->next_id;
    return add(m, THING_HANDLE, *handle, size);
}
static int model_destroy(void *ctx, uint64_t handle)
{
    struct model *m = ctx;
    uint64_t size = 0;
    const int r = drop(m, THING_HANDLE, handle, &size);
    m->used -= size;
    return r;
}
static int model_map(void *ctx, uint64_t addr, uint64_t size, uint64_t handle)
{
    struct model *m = ctx;
    const struct thing *t = find(m, THING_HANDLE, handle);
    if (fails(m) || !t || t->size != size || !have_room(m, THING_MAPPING) || !lies_in(&m->things[THING_RESERVATION], addr, size))
        return INVALID_VALUE;
    return add(m, THING_MAPPING, addr, size);
}
static int model_unmap(void *ctx, uint64_t addr, uint64_t size)
{
    const struct thing *t = find(ctx, THING_MAPPING, addr);
    return t && t->size == size ? drop(ctx, THING_MAPPING, addr, NULL) : INVALID_VALUE;
}
static bool is_memory(const struct model *m, uint64_t addr) { return lies_in(&m->things[THING_MEMORY], addr, 4) || lies_in(&m->things[THING_MAPPING], addr, 4); }
static int model_allow(void *ctx, uint64_t addr, uint64_t size)
{
    struct model *m = ctx;
    return fails(m) || !is_memory(m, addr) || !is_memory(m, addr + size - 4) ? INVALID_VALUE : 0;
}

/* ---- streams ---- */

static int stream_new(void *ctx, uint64_t *stream)
{
    struct model *m = ctx;
    if (fails(m) || !have_room(m, THING_STREAM))
        return MSNAP_GPU_OUT_OF_MEMORY;
    *stream = ++m->next_id;
    return add(m, THING_STREAM, *stream, 0);
}
static int stream_free(void *ctx, uint64_t stream) { return drop(ctx, THING_STREAM, stream, NULL); }
static int stream_wait(void *ctx, uint64_t stream)
{
    return fails(ctx) || (stream && !find(ctx, THING_STREAM, stream)) ? INVALID_VALUE : 0;
}

/* ---- patterns ---- */

static int model_fill(void *ctx, uint64_t addr, uint64_t size, uint32_t pattern, uint64_t stream)
{
    struct model *m = ctx;
    size_t kept = 0;
    if (fails(m) || !is_memory(m, addr) || !is_memory(m, addr + size - 4) || (stream && !find(m, THING_STREAM, stream)))
        return INVALID_VALUE;
    for (size_t i = 0; i < m->n_paints; i++) /* what it covers is gone; the rest keeps its order */
        if (m->paints[i].addr < addr || m->paints[i].addr + m->paints[i].size > addr + size)
            m->paints[kept++] = m->paints[i];
    m->n_paints = kept;
    if (m->n_paints == m->cap_paints && !grow(m, &m->paints, &m->cap_paints, sizeof *m->paints))
        return MSNAP_GPU_OUT_OF_MEMORY;
    m->paints[m->n_paints++] = (struct paint){addr, size, pattern};
    return 0;
}
static int model_read(void *ctx, uint64_t addr, void *to, uint64_t size, uint64_t stream)
{
    struct model *m = ctx;
    if (fails(m) || !is_memory(m, addr) || !is_memory(m, addr + size - 4) || (stream && !find(m, THING_STREAM, stream)))
        return INVALID_VALUE;
    memset(to, 0, (size_t)size);
    for (size_t i = 0; i < m->n_paints; i++) {
        const struct paint *p = &m->paints[i];
        const uint64_t from = p->addr > addr ? p->addr : addr, until = p->addr + p->size < addr + size ? p->addr + p->size : addr + size;
        for (uint64_t a = from; a + 4 <= until; a += 4)
            memcpy((char *)to + (a - addr), &p->pattern, 4);
    }
    return 0;
}

static const char *error_name(void *ctx, int code)
{
    (void)ctx;
    return code == MSNAP_GPU_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_INVALID_VALUE";
}
static void model_close(void *ctx)
{
    struct model *m = ctx;
    const struct msnap_mem mem = m->mem;
    for (int k = 0; k < N_KINDS; k++)
        mem.resize(mem.ctx, m->things[k].v, m->things[k].cap * sizeof *m->things[k].v, 0);
    mem.resize(mem.ctx, m->paints, m->cap_paints * sizeof *m->paints, 0);
    mem.resize(mem.ctx, m, sizeof *m, 0);
}

enum msnap_status msnap_gpu_model(uint64_t total_bytes, uint64_t context_bytes, uint64_t fail_at, struct msnap_mem mem, struct msnap_gpu *out,
                                  struct msnap_error *err)
{
    if (context_bytes > total_bytes)
        return msnap_replay_fail(err, "a modelled device needs more memory than the %u MiB of its context", (unsigned)(context_bytes >> 20));
    if (!mem.resize)
        mem = msnap_mem_default();
    struct model *m = mem.resize(mem.ctx, NULL, 0, sizeof *m);
    if (!m) {
        msnap_replay_fail(err, "no memory for a modelled device");
        return MSNAP_ENOMEM;
    }
    *m = (struct model){.mem = mem, .total = total_bytes, .context = context_bytes, .fail_at = fail_at, .next_addr = UINT64_C(1) << 40};
    *out = (struct msnap_gpu){m, mem_info, model_alloc, model_release, model_reserve, model_unreserve, model_create, model_destroy, model_map,
                              model_unmap, model_allow, stream_new, stream_free, stream_wait, alloc_async, release_async, pool_used,
                              model_fill, model_read, error_name, model_close, "a modelled device", total_bytes, 0};
    return MSNAP_OK;
}

uint64_t msnap_gpu_model_held(const struct msnap_gpu *gpu)
{
    const struct model *m = gpu->ctx;
    uint64_t held = m->used;
    for (int k = 0; k < N_KINDS; k++)
        held += m->things[k].n;
    return held;
}
