/* replay_parts.h -- what the files of the replay share. */
#ifndef MSNAP_REPLAY_PARTS_H
#define MSNAP_REPLAY_PARTS_H

#include <memsnap/oom.h>
#include <memsnap/replay.h>

/* MSNAP_EDEVICE with that text. */
enum msnap_status msnap_replay_fail(struct msnap_error *err, const char *format, ...) MSNAP_PRINTF(2, 3);

/* Memory on the device that stands for a recorded (or simulated) range. */
struct held_range {
    uint64_t recorded, size; /* address in the recording; for the allocator mode the device's own */
    uint64_t addr;           /* on the device */
    uint64_t handle;         /* of a granule; 0: cuMemAlloc */
    bool mapped;             /* a granule that has its address */
};
struct held_ranges { /* by recorded address */
    struct held_range *v;
    size_t n, cap;
};

struct reservation {
    uint64_t recorded, size, addr, granule;
    bool made;
};

struct held_block { /* async and direct */
    uint64_t addr, size, stream; /* addr 0: not on the device */
};

/* Handles that are created only to see whether the device would give them. */
struct probe {
    uint64_t *handle;
    size_t n;
};

struct call_log {
    float *us;
    size_t n, cap;
    double sum, begun;
};

/* All that was taken from the device stands in here until it was given back, so that
 * msnap_replay_give_all_back() needs to know nothing of how a replay ended. */
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
    uint64_t *ballast;
    size_t n_ballast;
    struct probe probe;
    struct held_block *block; /* async and direct: by row; the one after the last is for asking only */
    uint64_t *stream;         /* by stream id; 0: the default stream */
    uint64_t held_bytes;
    uint64_t limit;           /* MSNAP_NO_LIMIT: none */
    bool device_refused;      /* allocator mode: the device said no during this event */
    const struct msnap_oom *ooms; /* the recorded ones */
    size_t n_ooms;
    struct call_log log[MSNAP_N_CALLS];
    uint32_t *pattern_of;     /* --touch: by row; 0: not filled */
    unsigned char *buffer;    /* --touch: what is read back */
    uint32_t *freed;          /* by event: row + 1 of the allocation whose free is requested */
    double begun;             /* seconds */
    int64_t first_time_us;
    uint64_t next_progress;
};

/* ---- how a replay ends; all return false, for `return msnap_replay_stop(...)`; the first one counts ---- */
bool msnap_replay_stop(struct replay *r, enum msnap_status status, const char *format, ...) MSNAP_PRINTF(3, 4);
bool msnap_replay_no_memory(struct replay *r);
bool msnap_replay_call_failed(struct replay *r, const char *call, int code);
/* An allocation that cannot be served at an event. */
bool msnap_replay_oom(struct replay *r, uint32_t event, uint64_t requested, bool limited);

/* ---- times: CALL(r, MSNAP_CALL_ALLOC, r->gpu->alloc(...)) is the call's CUresult ---- */
double msnap_replay_now(void); /* seconds, monotonic */
#define CALL(r, kind, call) (msnap_replay_before(r), msnap_replay_after((r), (kind), (call)))
void msnap_replay_before(struct replay *r);
int msnap_replay_after(struct replay *r, enum msnap_call kind, int result);
void msnap_replay_fill_times(struct replay *r);

/* ---- what is held ---- */
enum taken { TAKEN, REFUSED /* out of memory */, FAILED /* said in err */ };

enum taken msnap_take_segment(struct replay *r, uint64_t recorded, uint64_t size, uint64_t *addr);
/* Backs a range granule by granule; on a refusal those of this call go back. */
enum taken msnap_take_pages(struct replay *r, uint64_t recorded, uint64_t size);
bool msnap_give_pages(struct replay *r, uint64_t recorded, uint64_t size);
enum taken msnap_take_block(struct replay *r, size_t row, uint64_t size, uint64_t stream);
bool msnap_give_block(struct replay *r, size_t row);
/* The index of the range that contains a recorded address; held.n if there is none. */
size_t msnap_held_find(const struct replay *r, uint64_t recorded);
/* Gives a segment or a granule back. What the device does not take back stays in the table. */
bool msnap_held_give(struct replay *r, size_t i);
struct reservation *msnap_reservation_of(struct replay *r, uint64_t recorded);
bool msnap_replay_over_limit(const struct replay *r, uint64_t size); /* the check that PyTorch makes before it asks */
/* Would the device say no? Nothing is kept, and nothing counts as held. */
bool msnap_probe_segment(struct replay *r, uint64_t size, bool *refused);
bool msnap_probe_granules(struct replay *r, uint64_t size, size_t n, bool *refused);
bool msnap_probe_block(struct replay *r, uint64_t size, uint64_t stream, bool *refused);
void msnap_replay_give_all_back(struct replay *r);

/* ---- before each event: pace, progress, cancelling. False: stop. ---- */
bool msnap_replay_tick(struct replay *r, uint32_t event);
const struct msnap_oom *msnap_replay_recorded_oom(const struct replay *r, uint32_t event);

/* ---- --touch ---- */
bool msnap_touch_fill(struct replay *r, size_t row, uint64_t addr, uint64_t size);
bool msnap_touch_verify(struct replay *r, size_t row, uint64_t addr, uint64_t size, uint32_t event);

/* ---- the modes; each runs to its end or its OOM ---- */
bool msnap_replay_prepare_segments(struct replay *r);
bool msnap_replay_segments(struct replay *r);
bool msnap_replay_allocator(struct replay *r);
bool msnap_replay_blocks(struct replay *r); /* async and direct */

#endif
