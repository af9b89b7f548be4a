/* gpu_model.c -- a device that exists nowhere: it counts bytes, hands out addresses and keeps patterns. */
#include "replay_parts.h"

#include <stdlib.h>
#include <string.h>

#define PAGE (UINT64_C(2) << 20)

enum thing_kind { THING_MEMORY, THING_HANDLE, THING_RESERVATION, THING_STREAM, THING_MAPPING };
struct thing {
    uint64_t id, size;
    enum thing_kind kind;
};
/* What was written where; later ones lie above earlier ones. */
struct paint {
    uint64_t addr, size;
    uint32_t pattern;
};

struct model {
    uint64_t total, context, used, next_addr, next_id, pool_used;
    uint64_t calls, fail_at;
    struct thing *things;
    size_t n, cap;
    struct paint *paints;
    size_t n_paints, cap_paints;
};

static bool fails(struct model *m) { return ++m->calls == m->fail_at; }

static int add_thing(struct model *m, struct thing t)
{
    if (m->n == m->cap) {
        size_t cap = m->cap ? m->cap * 2 : 64;
        struct thing *v = realloc(m->things, cap * sizeof *v);
        if (!v)
            return MSNAP_GPU_OUT_OF_MEMORY;
        m->things = v;
        m->cap = cap;
    }
    m->things[m->n++] = t;
    return 0;
}

static int drop_thing(struct model *m, uint64_t id, enum thing_kind kind, uint64_t *size)
{
    for (size_t i = m->n; i-- > 0;)
        if (m->things[i].id == id && m->things[i].kind == kind) {
            if (size)
                *size = m->things[i].size;
            m->things[i] = m->things[--m->n];
            return 0;
        }
    return 1; /* CUDA_ERROR_INVALID_VALUE: given back twice, or never taken */
}

static uint64_t pages(uint64_t size) { return (size + PAGE - 1) / PAGE * PAGE; }

static int mem_info(void *ctx, uint64_t *free_bytes, uint64_t *total)
{
    struct model *m = ctx;
    *total = m->total;
    *free_bytes = m->total - m->context - m->used;
    return 0;
}
static int take(struct model *m, uint64_t size)
{
    if (fails(m) || size > m->total || m->used + m->context > m->total - size)
        return MSNAP_GPU_OUT_OF_MEMORY;
    m->used += size;
    return 0;
}
static int model_alloc(void *ctx, uint64_t size, uint64_t *addr)
{
    struct model *m = ctx;
    int r = take(m, pages(size));
    if (r)
        return r;
    *addr = m->next_addr;
    m->next_addr += pages(size);
    return add_thing(m, (struct thing){*addr, pages(size), THING_MEMORY});
}
static int model_release(void *ctx, uint64_t addr)
{
    struct model *m = ctx;
    uint64_t size = 0;
    int r = drop_thing(m, addr, THING_MEMORY, &size);
    m->used -= size;
    return r;
}
static int model_reserve(void *ctx, uint64_t size, uint64_t *addr)
{
    struct model *m = ctx;
    if (fails(m))
        return MSNAP_GPU_OUT_OF_MEMORY;
    *addr = m->next_addr;
    m->next_addr += pages(size);
    return add_thing(m, (struct thing){*addr, size, THING_RESERVATION});
}
static int model_unreserve(void *ctx, uint64_t addr, uint64_t size)
{
    (void)size;
    return drop_thing(ctx, addr, THING_RESERVATION, NULL);
}
static int model_create(void *ctx, uint64_t size, uint64_t *handle)
{
    struct model *m = ctx;
    int r = take(m, size);
    if (r)
        return r;
    *handle = ++m->next_id;
    return add_thing(m, (struct thing){*handle, size, THING_HANDLE});
}
static int model_destroy(void *ctx, uint64_t handle)
{
    struct model *m = ctx;
    uint64_t size = 0;
    int r = drop_thing(m, handle, THING_HANDLE, &size);
    m->used -= size;
    return r;
}
static int model_map(void *ctx, uint64_t addr, uint64_t size, uint64_t handle)
{
    struct model *m = ctx;
    (void)handle;
    return fails(m) ? 1 : add_thing(m, (struct thing){addr, size, THING_MAPPING});
}
static int model_unmap(void *ctx, uint64_t addr, uint64_t size)
{
    (void)size;
    return drop_thing(ctx, addr, THING_MAPPING, NULL);
}
static int model_allow(void *ctx, uint64_t addr, uint64_t size)
{
    (void)addr;
    (void)size;
    return fails(ctx) ? 1 : 0;
}
static int stream_new(void *ctx, uint64_t *stream)
{
    struct model *m = ctx;
    if (fails(m))
        return MSNAP_GPU_OUT_OF_MEMORY;
    *stream = ++m->next_id;
    return add_thing(m, (struct thing){*stream, 0, THING_STREAM});
}
static int stream_free(void *ctx, uint64_t stream) { return drop_thing(ctx, stream, THING_STREAM, NULL); }
static int stream_wait(void *ctx, uint64_t stream)
{
    (void)ctx;
    (void)stream;
    return 0;
}
static int alloc_async(void *ctx, uint64_t size, uint64_t stream, uint64_t *addr)
{
    (void)stream;
    int r = model_alloc(ctx, size, addr);
    if (r == 0)
        ((struct model *)ctx)->pool_used += size;
    return r;
}
static int release_async(void *ctx, uint64_t addr, uint64_t stream)
{
    (void)stream;
    return model_release(ctx, addr);
}
static int pool_used(void *ctx, uint64_t *used, uint64_t *reserved)
{
    *used = *reserved = ((struct model *)ctx)->used;
    return 0;
}
static int model_fill(void *ctx, uint64_t addr, uint64_t size, uint32_t pattern, uint64_t stream)
{
    struct model *m = ctx;
    (void)stream;
    if (fails(m))
        return 1;
    for (size_t i = 0; i < m->n_paints; i++) /* what it covers is gone */
        if (m->paints[i].addr >= addr && m->paints[i].addr + m->paints[i].size <= addr + size)
            m->paints[i--] = m->paints[--m->n_paints];
    if (m->n_paints == m->cap_paints) {
        size_t cap = m->cap_paints ? m->cap_paints * 2 : 64;
        struct paint *v = realloc(m->paints, cap * sizeof *v);
        if (!v)
            return MSNAP_GPU_OUT_OF_MEMORY;
        m->paints = v;
        m->cap_paints = cap;
    }
    m->paints[m->n_paints++] = (struct paint){addr, size, pattern};
    return 0;
}
static int model_read(void *ctx, uint64_t addr, void *to, uint64_t size, uint64_t stream)
{
    struct model *m = ctx;
    (void)stream;
    memset(to, 0, (size_t)size);
    for (size_t i = 0; i < m->n_paints; i++) {
        const struct paint *p = &m->paints[i];
        uint64_t from = p->addr > addr ? p->addr : addr, until = p->addr + p->size < addr + size ? p->addr + p->size : addr + size;
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
    free(m->things);
    free(m->paints);
    free(m);
}

enum msnap_status msnap_gpu_model(uint64_t total_bytes, uint64_t context_bytes, uint64_t fail_at, struct msnap_mem mem, struct msnap_gpu *out,
                                  struct msnap_error *err)
{
    (void)mem;
    struct model *m = calloc(1, sizeof *m);
    if (!m || context_bytes > total_bytes) {
        free(m);
        return msnap_replay_fail(err, "no such device can be modelled");
    }
    *m = (struct model){.total = total_bytes, .context = context_bytes, .fail_at = fail_at, .next_addr = UINT64_C(1) << 40};
    *out = (struct msnap_gpu){m, mem_info, model_alloc, model_release, model_reserve, model_unreserve, model_create, model_destroy, model_map,
                              model_unmap, model_allow, stream_new, stream_free, stream_wait, alloc_async, release_async, pool_used,
                              model_fill, model_read, error_name, model_close, "a modelled device", total_bytes, 0};
    return MSNAP_OK;
}

uint64_t msnap_gpu_model_held(const struct msnap_gpu *gpu)
{
    const struct model *m = gpu->ctx;
    return m->used + m->n;
}
