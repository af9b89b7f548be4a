/* replay.h -- the recorded sequence of driver calls, issued again on a real GPU or a modelled one.
 *
 * The driver is opened at run time (libcuda.so.1), so one binary runs anywhere; tests and --dry-run
 * put a modelled device behind the same table of functions.
 */
#ifndef MEMSNAP_REPLAY_H
#define MEMSNAP_REPLAY_H

#include <memsnap/history.h>
#include <memsnap/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a device, real or modelled: a table of functions; each returns a CUresult, 0 is success ---- */
#define MSNAP_GPU_OUT_OF_MEMORY 2 /* CUDA_ERROR_OUT_OF_MEMORY */

struct msnap_gpu {
    void *ctx;
    int (*mem_info)(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes);
    int (*alloc)(void *ctx, uint64_t size, uint64_t *addr);              /* cuMemAlloc */
    int (*release)(void *ctx, uint64_t addr);                            /* cuMemFree */
    int (*reserve)(void *ctx, uint64_t size, uint64_t *addr);            /* cuMemAddressReserve */
    int (*unreserve)(void *ctx, uint64_t addr, uint64_t size);           /* cuMemAddressFree */
    int (*create)(void *ctx, uint64_t size, uint64_t *handle);           /* cuMemCreate */
    int (*destroy)(void *ctx, uint64_t handle);                          /* cuMemRelease */
    int (*map)(void *ctx, uint64_t addr, uint64_t size, uint64_t handle); /* cuMemMap */
    int (*unmap)(void *ctx, uint64_t addr, uint64_t size);               /* cuMemUnmap */
    int (*allow)(void *ctx, uint64_t addr, uint64_t size);               /* cuMemSetAccess, reading and writing */
    int (*stream_new)(void *ctx, uint64_t *stream);
    int (*stream_free)(void *ctx, uint64_t stream);
    int (*stream_wait)(void *ctx, uint64_t stream);                      /* cuStreamSynchronize */
    int (*alloc_async)(void *ctx, uint64_t size, uint64_t stream, uint64_t *addr);
    int (*release_async)(void *ctx, uint64_t addr, uint64_t stream);
    int (*pool_used)(void *ctx, uint64_t *used_bytes, uint64_t *reserved_bytes); /* of the stream-ordered pool */
    int (*fill)(void *ctx, uint64_t addr, uint64_t size, uint32_t pattern, uint64_t stream); /* whole words */
    int (*read)(void *ctx, uint64_t addr, void *to, uint64_t size, uint64_t stream);         /* and waits */
    const char *(*error_name)(void *ctx, int code);
    void (*close)(void *ctx); /* gives everything back */
    char name[128];
    uint64_t total_bytes;
    int driver_version;       /* 13000 for 13.0; 0: modelled */
};

/* The GPU with that number. MSNAP_EDEVICE with what is missing: no driver, no device, a wrong number. */
MSNAP_API MSNAP_CHECKED enum msnap_status msnap_gpu_open(int number, struct msnap_gpu *out, struct msnap_error *err);
/* A device of that size that exists nowhere. `fail_at` counts all calls, from 1: that one fails, a call
 * that takes something as if there were no memory (0: none). `mem`: all zero for the default. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_gpu_model(uint64_t total_bytes, uint64_t context_bytes, uint64_t fail_at, struct msnap_mem mem, struct msnap_gpu *out,
                struct msnap_error *err);
/* What a modelled device still holds: bytes, reservations, streams; all 0 once everything was given back. */
MSNAP_API uint64_t msnap_gpu_model_held(const struct msnap_gpu *gpu);

/* ---- a replay ---- */

enum msnap_replay_mode {
    MSNAP_REPLAY_SEGMENTS,  /* what the recording asked of the driver: segments and granules */
    MSNAP_REPLAY_ALLOCATOR, /* the simulated allocator under `config`, its memory taken from the device */
    MSNAP_REPLAY_ASYNC,     /* each allocation through the stream-ordered allocator */
    MSNAP_REPLAY_DIRECT     /* each allocation a driver call */
};
enum msnap_call { MSNAP_CALL_ALLOC, MSNAP_CALL_FREE, MSNAP_CALL_RESERVE, MSNAP_CALL_MAP, MSNAP_CALL_UNMAP, MSNAP_N_CALLS };

struct msnap_replay_options {
    enum msnap_replay_mode mode;
    const struct msnap_sim_config *config; /* MSNAP_REPLAY_ALLOCATOR; NULL: the recorded settings */
    uint64_t capacity_bytes;  /* pretend that the card has this much; 0: as the recording shows at its OOM */
    uint64_t limit_bytes;     /* of the process; 0: the lower end of the range that the recording shows */
    bool no_ballast;          /* the bare card */
    bool touch;               /* fill every block when allocated, verify it when freed */
    bool recorded_pace;       /* wait as long between calls as the recording did */
    /* Called now and then; nonzero stops, and everything is given back. */
    int (*progress)(void *ctx, uint64_t event, uint64_t n_events, uint64_t held_bytes);
    void *progress_ctx;
};

struct msnap_call_times { /* microseconds */
    uint64_t count;
    double median, p99, max, sum;
};

struct msnap_replay_result {
    uint64_t free_at_start_bytes; /* before the ballast */
    uint64_t ballast_bytes, context_bytes; /* total less free at start: the context and other processes */
    uint64_t events_issued;       /* of the device's trace */
    bool oom, recorded_oom;
    uint32_t oom_event, recorded_oom_event;
    uint64_t oom_requested, recorded_oom_requested;
    bool limited;                 /* the limit said no, not the device */
    int reproduced;               /* 1 yes, 0 no, -1: the recording has no OOM that ended it, and nothing failed here */
    uint64_t peak_held_bytes;     /* ballast not counted */
    uint64_t overlaps;            /* --touch: blocks whose pattern was gone when they were freed */
    uint32_t first_overlap;       /* event of the first */
    double seconds;
    struct msnap_call_times calls[MSNAP_N_CALLS];
};

/* Issues the sequence. An allocation that the device refuses is a result, not an error; any other
 * failure is MSNAP_EDEVICE and names its call. Whatever happens, everything taken is given back. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_replay_run(const struct msnap_history *h, struct msnap_gpu *gpu, const struct msnap_replay_options *options,
                 struct msnap_replay_result *out, struct msnap_error *err);

MSNAP_API const char *msnap_call_name(enum msnap_call c);

#ifdef __cplusplus
}
#endif
#endif
