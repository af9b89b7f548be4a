/* sim.h -- the recorded requests through PyTorch's caching allocator under other settings.
 *
 * The model is that of PyTorch 2.11 (docs/allocator.md). Requests, frees, explicit empty_cache() calls
 * and the moments at which pending frees completed come from the recording; everything else is decided
 * anew. With the recorded settings every allocation lands at its recorded address.
 */
#ifndef MEMSNAP_SIM_H
#define MEMSNAP_SIM_H

#include <memsnap/history.h>
#include <memsnap/stats.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MSNAP_NO_LIMIT UINT64_MAX

struct msnap_sim_config {
    uint64_t divisions[16];      /* roundup_power2_divisions by class, see msnap_settings */
    uint64_t max_split_size;     /* bytes; MSNAP_NO_LIMIT: unlimited */
    uint64_t max_non_split_rounding; /* bytes; follows large_segment_size unless set */
    uint64_t large_segment_size; /* bytes */
    double gc_threshold;         /* 0: off */
    bool expandable_segments;
    bool async_backend;          /* backend:cudaMallocAsync: another allocator, only estimated */
    bool no_caching;             /* PYTORCH_NO_CUDA_MEMORY_CACHING=1: a cudaMalloc for each request, only estimated */
    uint64_t limit;              /* set_per_process_memory_fraction times the device; MSNAP_NO_LIMIT: none */
    uint64_t capacity;           /* what the driver can give this process; MSNAP_NO_LIMIT: no end */
    double fraction;             /* per_process_memory_fraction; 1: none. Needs the device's total to become a limit */
};

/* Parses a PYTORCH_CUDA_ALLOC_CONF string with PyTorch's grammar and limits (2.11). "" gives the
 * defaults, without limit and capacity. MSNAP_EUSAGE with PyTorch's reason for a bad option. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_sim_config_parse(const char *conf, size_t n, struct msnap_sim_config *out, struct msnap_error *err);
/* The settings that the recording ran under; limit and capacity where its OOM events tell them. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_sim_config_recorded(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_sim_config *out,
                          struct msnap_error *err);
/* Whether two settings make the same allocator, limits apart. */
MSNAP_API bool msnap_sim_config_equal(const struct msnap_sim_config *a, const struct msnap_sim_config *b);

struct msnap_sim_result {
    struct msnap_stats stats;    /* of the simulated run, up to its end or its OOM */
    bool oom;
    uint32_t oom_event;          /* the recorded event of that request */
    uint64_t oom_ordinal;        /* of the request that failed; the one after the last for a recorded oom event */
    uint64_t oom_requested, oom_held, oom_segment;
    bool estimated;              /* another allocator than PyTorch's own: `stats` holds totals of bytes only */
    bool placed;                 /* the settings are the recorded ones: addresses were compared */
    uint64_t compared, different;
    bool end_compared;           /* and so was the final block map */
    uint64_t end_different;
    uint64_t peak_allocated_event, requests;
};

/* The driver's side, where it is not the modelled one. Returning 0 (or false) means "out of memory". */
struct msnap_sim_driver {
    void *ctx;
    uint64_t (*segment)(void *ctx, uint64_t size);
    uint64_t (*reservation)(void *ctx, uint64_t size, uint32_t pool, uint32_t stream, bool small);
    bool (*map)(void *ctx, uint64_t addr, uint64_t size, uint64_t granule);
    void (*unmap)(void *ctx, uint64_t addr, uint64_t size);
    void (*segment_gone)(void *ctx, uint64_t addr, uint64_t size, bool reservation);
};

struct msnap_sim_options {
    bool follow_recorded_addresses; /* the recorded settings: segments get the recorded addresses, in order */
    const uint32_t *empty_cache_at; /* event numbers, ascending: an empty_cache() is added after each */
    size_t n_empty_cache;
    uint64_t *reserved_series;      /* n_events entries to fill in: reserved bytes after each event; after an OOM
                                       they stay what they were. NULL: not wanted */
    const struct msnap_sim_driver *driver; /* memory from elsewhere; NULL: modelled addresses */
    /* Told of every allocation, free and change of memory as it happens; false ends the run. */
    bool (*on_event)(void *ctx, enum msnap_action action, uint64_t addr, uint64_t size, uint32_t row, uint32_t event);
    void *on_event_ctx;
};

/* What a recording asks of an allocator; made once, run under many settings. */
struct msnap_requests;
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_requests_build(const struct msnap_history *h, struct msnap_arena *arena, const struct msnap_requests **out,
                     struct msnap_error *err);
/* One run. `options` may be NULL. Takes memory from the C library's allocator, gives all back. Two
 * threads may run the same requests at once. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_simulate(const struct msnap_requests *r, const struct msnap_sim_config *config, const struct msnap_sim_options *options,
               struct msnap_sim_result *out, struct msnap_error *err);

#ifdef __cplusplus
}
#endif
#endif
