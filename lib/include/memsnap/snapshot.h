/* snapshot.h -- open a PyTorch memory snapshot and look at its columns.
 *
 * A snapshot is a set of tables, each a structure of arrays whose row number is an id. Row 0
 * of strings, frames, stacks and streams stands for "none", so zeroed ids are valid. All
 * arrays belong to the snapshot, are read-only and live until msnap_snapshot_free.
 *
 * The kinds of file and their keys by PyTorch version are in docs/torch-snapshot.md.
 */
#ifndef MEMSNAP_SNAPSHOT_H
#define MEMSNAP_SNAPSHOT_H

#include <memsnap/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- strings: UTF-8 as the file has it (not checked), never NUL-dependent ---- */
struct msnap_strings {
    size_t n;
    const char *const *bytes; /* also NUL-terminated, for convenience */
    const uint32_t *len;
};

/* ---- frames and stacks ---- */
#define MSNAP_LINE_U64_MAX INT64_MAX /* the file says 2^64-1: "the interpreter knows no line" */

struct msnap_frames {
    size_t n;
    const uint32_t *name; /* string ids */
    const uint32_t *filename;
    const int64_t *line;          /* 0 or less, or MSNAP_LINE_U64_MAX: unknown */
    const uint32_t *fx_node_op;   /* NULL unless the file has fx_* keys; string ids, 0: key absent */
    const uint32_t *fx_node_name; /* NULL or not together with fx_node_op */
    const uint32_t *fx_node_target;
    const uint32_t *fx_original_trace;
};

/* A stack is a node of a tree: its innermost frame, and the stack of its callers. Equal stacks
 * have equal ids. Id 0: no stack was recorded. Id 1: a stack without frames was recorded. */
#define MSNAP_STACK_NONE 0u
#define MSNAP_STACK_EMPTY 1u
struct msnap_stacks {
    size_t n;               /* nodes, those that only lead to others included */
    size_t n_used;          /* distinct stacks that stand in the file, the empty one included */
    const uint32_t *parent; /* callers' stack; MSNAP_STACK_EMPTY at the outermost frame */
    const uint32_t *frame;  /* innermost frame; 0 for ids 0 and 1 */
};

/* ---- streams and pools, by id; the raw handle means nothing outside the process ---- */
struct msnap_streams {
    size_t n;            /* id 0: the file names no stream */
    const int64_t *raw;  /* bits as the file has them: XPU queues are unsigned and may be negative here */
};
struct msnap_pools {
    size_t n;            /* id 0: the file names no pool; id 1: (0, 0), the default pool */
    const int64_t *first, *second;
};

/* ---- events: the device traces, one device after the other ---- */
enum msnap_action {
    MSNAP_OTHER_ACTION, /* the entry has no readable action */
    MSNAP_ALLOC,
    MSNAP_FREE_REQUESTED,
    MSNAP_FREE_COMPLETED,
    MSNAP_SEGMENT_ALLOC,
    MSNAP_SEGMENT_FREE,
    MSNAP_SEGMENT_MAP,
    MSNAP_SEGMENT_UNMAP,
    MSNAP_OOM,
    MSNAP_SNAPSHOT_TAKEN,
    MSNAP_ANNOTATE,
    MSNAP_USER_DEFINED,
    MSNAP_N_ACTIONS /* from here on: actions this version does not know, named by the file */
};

/* Which keys an entry had. */
enum { MSNAP_HAS_ADDR = 1, MSNAP_HAS_SIZE = 2, MSNAP_HAS_STREAM = 4, MSNAP_HAS_TIME = 8, MSNAP_HAS_STACK = 16,
       MSNAP_HAS_DEVICE_FREE = 32 };

struct msnap_events {
    size_t n;
    const uint8_t *action;   /* enum msnap_action, or above: an index into action_names */
    const uint8_t *has;      /* MSNAP_HAS_* bits */
    const uint64_t *addr;    /* device address; device_free for MSNAP_OOM */
    const uint64_t *size;    /* requested bytes for alloc and free_*, segment bytes for segment_*, rounded request for oom */
    const int64_t *time_us;  /* microseconds since the Unix epoch */
    const uint32_t *stream;
    const uint32_t *stack;
    /* NULL where no event differs from the others; then the value below holds for all. String ids. */
    const uint32_t *compile_context, *user_metadata, *forward_frames;
    uint32_t all_compile_context, all_user_metadata;
    const uint32_t *pool;    /* NULL before PyTorch 2.12 */
};

/* ---- the state at the dump ---- */
enum msnap_segment_type { MSNAP_SEGMENT_UNKNOWN, MSNAP_SEGMENT_SMALL, MSNAP_SEGMENT_LARGE };
enum msnap_block_state { MSNAP_BLOCK_UNKNOWN, MSNAP_BLOCK_ALLOCATED, MSNAP_BLOCK_PENDING, MSNAP_BLOCK_INACTIVE };

struct msnap_segments { /* grouped by device, in file order within a device */
    size_t n;
    const int32_t *device;
    const uint64_t *address;
    const uint64_t *total_size, *allocated_size, *active_size, *requested_size;
    const uint32_t *stream;
    const uint32_t *pool;
    const uint32_t *stack;
    const uint8_t *type;          /* enum msnap_segment_type */
    const uint8_t *is_expandable; /* 0 or 1 */
    const uint32_t *first_block;  /* blocks of segment i: [first_block[i], first_block[i] + n_blocks[i]) */
    const uint32_t *n_blocks;
};
struct msnap_blocks {
    size_t n;
    const uint64_t *address;        /* computed from the segment where the file has none (before 2.1) */
    const uint64_t *size;
    const uint64_t *requested_size; /* stale for inactive blocks: the last tenant's */
    const uint8_t *state;           /* enum msnap_block_state */
    const uint32_t *stack;
    const uint32_t *segment;
};

/* ---- the rest ---- */
struct msnap_annotations {
    size_t n;
    const uint32_t *name; /* string id */
    const uint8_t *is_end; /* 0: START, 1: END */
    const int32_t *device;
    const int64_t *time_us;
};

struct msnap_settings {
    bool known;                 /* the file has allocator_settings (2.3 and later) */
    uint32_t conf;              /* the option string, string id; 0: absent */
    int64_t max_split_size;     /* bytes; -1: unlimited */
    double gc_threshold;        /* 0: off */
    bool expandable_segments;
    uint64_t divisions[16];     /* roundup_power2_divisions by class: below 2 MiB, [2, 4) MiB, ... 32 GiB and up */
    int64_t ring_overflowed;    /* trace_alloc_overflowed: -1 absent, else 0 or 1 (any device) */
    int64_t ring_max_entries;   /* trace_alloc_max_entries: -1 absent */
};

/* A device that has events or segments. Rows are [first, first + n). */
struct msnap_device {
    int32_t device; /* MSNAP_HOST for pinned host memory */
    size_t first_event, n_events;
    size_t first_segment, n_segments;
    size_t first_kept, n_kept; /* with counts_only: the device's rows of `kept` */
};
#define MSNAP_HOST (-1)

/* What counts_only gives of a device's events instead of the columns. */
struct msnap_device_counts {
    uint64_t by_action[256];
    bool has_time;
    int64_t first_time_us, last_time_us; /* of the first and the last entry that has a time */
};

/* Oddities in the data that were tolerated, by name and count; findings.def lists them. */
struct msnap_oddity {
    const char *id;      /* "unknown_key" */
    const char *meaning; /* "keys that this version of memsnap does not know" */
    uint64_t count;
    uint32_t example;    /* string id: the first name met, 0 if there is none */
};

struct msnap_snapshot {
    struct msnap_strings strings;
    struct msnap_frames frames;
    struct msnap_stacks stacks;
    struct msnap_streams streams;
    struct msnap_pools pools;
    struct msnap_events events;
    struct msnap_segments segments;
    struct msnap_blocks blocks;
    struct msnap_annotations annotations;
    struct msnap_settings settings;
    const struct msnap_device_counts *counts; /* one for each device; NULL unless only counted */
    struct msnap_events kept; /* with counts: the segment events (and entries of an unusual form) in order */
    size_t n_devices;
    const struct msnap_device *devices; /* ascending; pinned host memory, if any, last */
    size_t n_action_names;
    const char *const *action_names; /* by action number: "alloc", ... and the unknown ones after */
    size_t n_oddities;
    const struct msnap_oddity *oddities;
    const char *format;     /* "snapshot 2.1+", "snapshot 2.0", "segment list 2.1+", "segment list 1.13" */
    int pickle_protocol;    /* -1 if it is none */
    bool was_gzip;
    uint64_t size_bytes;    /* of the file as given */
    uint64_t inflated_bytes; /* of the pickle */
    uint64_t trailing_bytes; /* after the pickle's end */
    size_t n_traces;        /* device_traces lists in the file, empty ones included */
    struct msnap_store *own; /* private */
};

struct msnap_open_options {
    struct msnap_mem mem;      /* all zero: msnap_mem_default() */
    uint64_t max_memory;       /* bytes the snapshot may take; 0: no limit but that of the input's size */
    bool counts_only;          /* a wish for speed: `counts` and `kept` instead of event columns, which stay
                                * NULL. Ignored for pipes, gzip and traces of an unusual build. */
    /* Called now and then while reading; nonzero stops with MSNAP_ECANCELLED. `total` is 0 when unknown. */
    int (*progress)(void *ctx, uint64_t done_bytes, uint64_t total_bytes);
    void *progress_ctx;
};

/* Reads a snapshot. `options` may be NULL. "-" is standard input. gzip is recognised by content.
 * Nothing in the file is ever executed: an opcode that names, calls or builds an object is
 * refused (MSNAP_EREFUSED). Takes at most 64 MiB plus 8 times the inflated input, and at most
 * max_memory (MSNAP_ELIMIT). Errors carry the byte offset in the inflated input. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_snapshot_open(const char *path, const struct msnap_open_options *options,
                    struct msnap_snapshot **out, struct msnap_error *err);
/* The same from memory; `bytes` need to live only during the call. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_snapshot_read(const void *bytes, size_t n, const struct msnap_open_options *options,
                    struct msnap_snapshot **out, struct msnap_error *err);
MSNAP_API void msnap_snapshot_free(struct msnap_snapshot *snapshot); /* NULL is fine */

/* The device with that index, or NULL. */
MSNAP_API const struct msnap_device *msnap_device_find(const struct msnap_snapshot *s, int32_t device);
/* The device that a question without --device is about: most reserved bytes at the dump, then most
 * events; NULL if the file has none. */
MSNAP_API const struct msnap_device *msnap_device_default(const struct msnap_snapshot *s);

/* "alloc" for MSNAP_ALLOC. */
MSNAP_API const char *msnap_action_name(const struct msnap_snapshot *s, uint8_t action);

/* Whether a frame is the user's own code: a Python file that is not in site-packages or
 * dist-packages, not the standard library, not frozen and not generated. */
MSNAP_API bool msnap_frame_is_user(const struct msnap_snapshot *s, uint32_t frame);
/* The innermost user frame of a stack, 0 if there is none. O(depth). */
MSNAP_API uint32_t msnap_stack_user_frame(const struct msnap_snapshot *s, uint32_t stack);

#ifdef __cplusplus
}
#endif
#endif
