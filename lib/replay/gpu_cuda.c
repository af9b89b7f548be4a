/* gpu_cuda.c -- the CUDA driver, opened at run time, behind the table of functions.
 *
 * The declarations are ours, from the driver API's documentation (CUDA 12 and 13): no header of the
 * toolkit is needed. Names with a _v2 are those that the headers map the plain ones to.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "replay_parts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct location {
    int type, id;
};
struct alloc_prop {
    int type, handle_types;
    struct location location;
    void *win32;
    struct {
        unsigned char compression, rdma;
        unsigned short usage;
        unsigned char reserved[4];
    } flags;
};
struct access {
    struct location location;
    int flags;
};

#define CUDA_FUNCTIONS(X)                                                                                    \
    X(cuInit, int, (unsigned))                                                                               \
    X(cuDriverGetVersion, int, (int *))                                                                      \
    X(cuDeviceGetCount, int, (int *))                                                                        \
    X(cuDeviceGet, int, (int *, int))                                                                        \
    X(cuDeviceGetName, int, (char *, int, int))                                                              \
    X(cuDeviceTotalMem_v2, int, (size_t *, int))                                                             \
    X(cuDevicePrimaryCtxRetain, int, (void **, int))                                                         \
    X(cuDevicePrimaryCtxRelease_v2, int, (int))                                                              \
    X(cuCtxSetCurrent, int, (void *))                                                                        \
    X(cuMemGetInfo_v2, int, (size_t *, size_t *))                                                            \
    X(cuMemAlloc_v2, int, (unsigned long long *, size_t))                                                    \
    X(cuMemFree_v2, int, (unsigned long long))                                                               \
    X(cuMemAddressReserve, int, (unsigned long long *, size_t, size_t, unsigned long long, unsigned long long)) \
    X(cuMemAddressFree, int, (unsigned long long, size_t))                                                   \
    X(cuMemCreate, int, (unsigned long long *, size_t, const struct alloc_prop *, unsigned long long))       \
    X(cuMemRelease, int, (unsigned long long))                                                               \
    X(cuMemMap, int, (unsigned long long, size_t, size_t, unsigned long long, unsigned long long))           \
    X(cuMemUnmap, int, (unsigned long long, size_t))                                                         \
    X(cuMemSetAccess, int, (unsigned long long, size_t, const struct access *, size_t))                      \
    X(cuStreamCreate, int, (void **, unsigned))                                                              \
    X(cuStreamDestroy_v2, int, (void *))                                                                     \
    X(cuStreamSynchronize, int, (void *))                                                                    \
    X(cuMemAllocAsync, int, (unsigned long long *, size_t, void *))                                          \
    X(cuMemFreeAsync, int, (unsigned long long, void *))                                                     \
    X(cuDeviceGetDefaultMemPool, int, (void **, int))                                                        \
    X(cuMemPoolGetAttribute, int, (void *, int, void *))                                                     \
    X(cuMemPoolSetAttribute, int, (void *, int, void *))                                                     \
    X(cuMemPoolTrimTo, int, (void *, size_t))                                                                \
    X(cuMemsetD32Async, int, (unsigned long long, unsigned, size_t, void *))                                 \
    X(cuMemcpyDtoHAsync_v2, int, (void *, unsigned long long, size_t, void *))                               \
    X(cuGetErrorName, int, (int, const char **))

struct cuda {
    void *library;
    int device;
    bool retained;
    void *pool;
#define X(name, type, args) type(*name) args;
    CUDA_FUNCTIONS(X)
#undef X
};

enum { POOL_RELEASE_THRESHOLD = 4, POOL_RESERVED_CURRENT = 5, POOL_USED_CURRENT = 7 };

static void *stream_of(uint64_t stream) { return (void *)(uintptr_t)stream; }

static int mem_info(void *ctx, uint64_t *free_bytes, uint64_t *total)
{
    size_t f = 0, t = 0;
    int r = ((struct cuda *)ctx)->cuMemGetInfo_v2(&f, &t);
    *free_bytes = f;
    *total = t;
    return r;
}
static int gpu_alloc(void *ctx, uint64_t size, uint64_t *addr)
{
    unsigned long long p = 0;
    int r = ((struct cuda *)ctx)->cuMemAlloc_v2(&p, (size_t)size);
    *addr = p;
    return r;
}
static int gpu_release(void *ctx, uint64_t addr) { return ((struct cuda *)ctx)->cuMemFree_v2(addr); }
static int gpu_reserve(void *ctx, uint64_t size, uint64_t *addr)
{
    unsigned long long p = 0;
    int r = ((struct cuda *)ctx)->cuMemAddressReserve(&p, (size_t)size, 0, 0, 0);
    *addr = p;
    return r;
}
static int gpu_unreserve(void *ctx, uint64_t addr, uint64_t size) { return ((struct cuda *)ctx)->cuMemAddressFree(addr, (size_t)size); }
static int gpu_create(void *ctx, uint64_t size, uint64_t *handle)
{
    struct cuda *c = ctx;
    const struct alloc_prop prop = {.type = 1, .location = {1, c->device}}; /* pinned device memory */
    unsigned long long h = 0;
    int r = c->cuMemCreate(&h, (size_t)size, &prop, 0);
    *handle = h;
    return r;
}
static int gpu_destroy(void *ctx, uint64_t handle) { return ((struct cuda *)ctx)->cuMemRelease(handle); }
static int gpu_map(void *ctx, uint64_t addr, uint64_t size, uint64_t handle) { return ((struct cuda *)ctx)->cuMemMap(addr, (size_t)size, 0, handle, 0); }
static int gpu_unmap(void *ctx, uint64_t addr, uint64_t size) { return ((struct cuda *)ctx)->cuMemUnmap(addr, (size_t)size); }
static int gpu_allow(void *ctx, uint64_t addr, uint64_t size)
{
    struct cuda *c = ctx;
    const struct access a = {{1, c->device}, 3};
    return c->cuMemSetAccess(addr, (size_t)size, &a, 1);
}
static int stream_new(void *ctx, uint64_t *stream)
{
    void *s = NULL;
    int r = ((struct cuda *)ctx)->cuStreamCreate(&s, 1);
    *stream = (uint64_t)(uintptr_t)s;
    return r;
}
static int stream_free(void *ctx, uint64_t stream) { return ((struct cuda *)ctx)->cuStreamDestroy_v2(stream_of(stream)); }
static int stream_wait(void *ctx, uint64_t stream) { return ((struct cuda *)ctx)->cuStreamSynchronize(stream_of(stream)); }
static int alloc_async(void *ctx, uint64_t size, uint64_t stream, uint64_t *addr)
{
    struct cuda *c = ctx;
    unsigned long long p = 0;
    if (!c->pool) { /* as PyTorch does: the pool keeps everything */
        unsigned long long never = UINT64_MAX;
        int r = c->cuDeviceGetDefaultMemPool(&c->pool, c->device);
        if (r == 0)
            r = c->cuMemPoolSetAttribute(c->pool, POOL_RELEASE_THRESHOLD, &never);
        if (r)
            return r;
    }
    int r = c->cuMemAllocAsync(&p, (size_t)size, stream_of(stream));
    *addr = p;
    return r;
}
static int release_async(void *ctx, uint64_t addr, uint64_t stream) { return ((struct cuda *)ctx)->cuMemFreeAsync(addr, stream_of(stream)); }
static int pool_used(void *ctx, uint64_t *used, uint64_t *reserved)
{
    struct cuda *c = ctx;
    unsigned long long u = 0, v = 0;
    int r = c->pool ? c->cuMemPoolGetAttribute(c->pool, POOL_USED_CURRENT, &u) : 0;
    if (r == 0 && c->pool)
        r = c->cuMemPoolGetAttribute(c->pool, POOL_RESERVED_CURRENT, &v);
    *used = u;
    *reserved = v;
    return r;
}
static int gpu_fill(void *ctx, uint64_t addr, uint64_t size, uint32_t pattern, uint64_t stream)
{
    return ((struct cuda *)ctx)->cuMemsetD32Async(addr, pattern, (size_t)size / 4, stream_of(stream));
}
static int gpu_read(void *ctx, uint64_t addr, void *to, uint64_t size, uint64_t stream)
{
    struct cuda *c = ctx;
    int r = c->cuMemcpyDtoHAsync_v2(to, addr, (size_t)size, stream_of(stream));
    return r ? r : c->cuStreamSynchronize(stream_of(stream));
}
static const char *error_name(void *ctx, int code)
{
    const char *name = NULL;
    if (((struct cuda *)ctx)->cuGetErrorName(code, &name) != 0 || !name)
        name = "an unknown CUDA error";
    return name;
}
static void gpu_close(void *ctx)
{
    struct cuda *c = ctx;
    if (c->pool)
        c->cuMemPoolTrimTo(c->pool, 0);
    if (c->retained)
        c->cuDevicePrimaryCtxRelease_v2(c->device);
    if (c->library)
        dlclose(c->library);
    free(c);
}

static const char *load(struct cuda *c)
{
#define X(name, type, args)                                                                                  \
    {                                                                                                        \
        void *p = dlsym(c->library, #name);                                                                  \
        if (!p)                                                                                              \
            return #name;                                                                                    \
        memcpy(&c->name, &p, sizeof p);                                                                      \
    }
    CUDA_FUNCTIONS(X)
#undef X
    return NULL;
}

static enum msnap_status start(struct cuda *c, int number, struct msnap_gpu *g, struct msnap_error *err)
{
    int count = 0;
    size_t total = 0;
    void *context = NULL;
    int r = c->cuInit(0);
    if (r)
        return msnap_replay_fail(err, "the CUDA driver does not start (cuInit: %s); does nvidia-smi work here?", error_name(c, r));
    if (c->cuDeviceGetCount(&count) || count == 0)
        return msnap_replay_fail(err, "the CUDA driver sees no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES, or use --dry-run");
    if (number < 0 || number >= count)
        return msnap_replay_fail(err, "there is no GPU %d; this machine has %d, numbered from 0", number, count);
    if ((r = c->cuDeviceGet(&c->device, number)) || (r = c->cuDeviceGetName(g->name, sizeof g->name, c->device)) ||
        (r = c->cuDeviceTotalMem_v2(&total, c->device)) || (r = c->cuDriverGetVersion(&g->driver_version)))
        return msnap_replay_fail(err, "GPU %d does not answer (%s)", number, error_name(c, r));
    if ((r = c->cuDevicePrimaryCtxRetain(&context, c->device)))
        return msnap_replay_fail(err, "no context on GPU %d (cuDevicePrimaryCtxRetain: %s); is its memory full?", number, error_name(c, r));
    c->retained = true;
    if ((r = c->cuCtxSetCurrent(context)))
        return msnap_replay_fail(err, "no context on GPU %d (cuCtxSetCurrent: %s)", number, error_name(c, r));
    g->total_bytes = total;
    return MSNAP_OK;
}

enum msnap_status msnap_gpu_open(int number, struct msnap_gpu *out, struct msnap_error *err)
{
    struct cuda *c = calloc(1, sizeof *c);
    if (!c)
        return MSNAP_ENOMEM;
    struct msnap_gpu g = {c, mem_info, gpu_alloc, gpu_release, gpu_reserve, gpu_unreserve, gpu_create, gpu_destroy, gpu_map, gpu_unmap,
                          gpu_allow, stream_new, stream_free, stream_wait, alloc_async, release_async, pool_used, gpu_fill, gpu_read,
                          error_name, gpu_close, "", 0, 0};
    enum msnap_status st = MSNAP_OK;
    const char *missing;
    c->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!c->library)
        st = msnap_replay_fail(err, "there is no CUDA driver here (libcuda.so.1 does not open); use --dry-run for a modelled device");
    else if ((missing = load(c)))
        st = msnap_replay_fail(err, "the CUDA driver is too old: it has no %s (11.2 or later is needed)", missing);
    else
        st = start(c, number, &g, err);
    if (st != MSNAP_OK) {
        gpu_close(c);
        return st;
    }
    *out = g;
    return MSNAP_OK;
}
