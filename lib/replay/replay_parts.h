/* replay_parts.h -- what the files of the replay share. */
#ifndef MSNAP_REPLAY_PARTS_H
#define MSNAP_REPLAY_PARTS_H

#include <memsnap/replay.h>

/* MSNAP_EDEVICE with that text. */
enum msnap_status msnap_replay_fail(struct msnap_error *err, const char *format, ...) MSNAP_PRINTF(2, 3);

/* Memory on the device that stands for a recorded (or simulated) range. */
struct held_range {
    uint64_t recorded, size; /* address in the recording; for the allocator mode the device's own */
    uint64_t addr;           /* on the device */
    uint64_t handle;         /* of a granule; 0: cuMemAlloc */
};
struct held_ranges { /* by recorded address */
    struct held_range *v;
    size_t n, cap;
};

struct reservation {
    uint64_t recorded, size, addr, granule;
    bool made;
};

struct replay {
    const struct msnap_history *h;
    struct msnap_gpu *gpu;
    const struct msnap_replay_options *o;
    struct msnap_replay_result *out;
    struct msnap_error *err;
    enum msnap_status status; /* MSNAP_OK while all is well */
    struct msnap_arena *arena;
    struct held_ranges held;
    struct reservation *reservations;
    size_t n_reservations;
    struct held_range *ballast;
    size_t n_ballast;
    uint64_t held_bytes;
    uint64_t limit;           /* MSNAP_NO_LIMIT: none */
    const struct msnap_oom *ooms; /* the recorded ones */
    size_t n_ooms;
    uint64_t *stream;         /* by stream id; 0: the default stream */
    struct call_log *log;     /* MSNAP_N_CALLS */
    uint32_t *pattern_of;     /* --touch: by row; 0: not filled */
    unsigned char *buffer;    /* --touch: what is read back */
    uint32_t *freed;          /* by event: row + 1 of the allocation whose free is requested */
    double begun;             /* seconds */
    int64_t first_time_us;
    uint64_t next_progress;
};

double msnap_replay_now(void); /* seconds, monotonic */
/* Times a call: CALL(r, MSNAP_CALL_ALLOC, r->gpu->alloc(...)) is its CUresult. */
void msnap_replay_log(struct replay *r, enum msnap_call kind, double seconds);
#define CALL(r, kind, call)                                                                                  \
    (msnap_replay_before(r), msnap_replay_after((r), (kind), (call)))
void msnap_replay_before(struct replay *r);
int msnap_replay_after(struct replay *r, enum msnap_call kind, int result);
/* Remembers the first failure of a call by name. Returns false. */
bool msnap_replay_call_failed(struct replay *r, const char *call, int code);

bool msnap_held_add(struct replay *r, struct held_range range);
/* The index of the range that contains a recorded address; held.n if there is none. */
size_t msnap_held_find(const struct replay *r, uint64_t recorded);
void msnap_held_remove(struct replay *r, size_t i);

/* Before each event: pace, progress, cancelling. False: stop. */
bool msnap_replay_tick(struct replay *r, uint32_t event);
/* An allocation that cannot be served at an event. */
void msnap_replay_oom(struct replay *r, uint32_t event, uint64_t requested, bool limited);
const struct msnap_oom *msnap_replay_recorded_oom(const struct replay *r, uint32_t event);

/* --touch */
bool msnap_touch_fill(struct replay *r, size_t row, uint64_t addr, uint64_t size);
bool msnap_touch_verify(struct replay *r, size_t row, uint64_t addr, uint64_t size, uint32_t event);

/* The modes; each runs to its end or its OOM. What they took is in `held` and given back by the caller. */
bool msnap_replay_segments(struct replay *r);
bool msnap_replay_allocator(struct replay *r);
bool msnap_replay_blocks(struct replay *r); /* async and direct */

#endif
