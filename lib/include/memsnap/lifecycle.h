/* lifecycle.h -- each category's life: when its blocks appear, when they go, what they hold at the peak. */
#ifndef MEMSNAP_LIFECYCLE_H
#define MEMSNAP_LIFECYCLE_H

#include <memsnap/classify.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When blocks are given back, by the phase and the step that they were made in. */
enum msnap_goes {
    MSNAP_GOES_UNKNOWN,      /* there are no blocks, or no events to tell by */
    MSNAP_GOES_AT_ONCE,      /* within the phase that made it */
    MSNAP_GOES_BACKWARD,     /* in the backward pass that follows */
    MSNAP_GOES_SAME_STEP,    /* later in the step that made it */
    MSNAP_GOES_NEXT_STEP,    /* in the step after, or between the two */
    MSNAP_GOES_LATER,        /* later than that */
    MSNAP_GOES_END,          /* held to the end of the recording, or up to what follows the last step */
    MSNAP_N_GOES
};

struct msnap_life {
    uint64_t n;               /* blocks over the whole recording, those from before it included */
    uint64_t peak_bytes, peak_count;
    uint32_t first_event;     /* the first block's alloc event; MSNAP_NO_EVENT: it is from before the recording */
    bool in_step;             /* that block was made in a step */
    uint64_t step;            /* the step's number */
    uint8_t phase;            /* enum msnap_phase_kind: the one that makes most of the bytes */
    uint8_t goes;             /* enum msnap_goes: how most of the bytes go */
};

struct msnap_life_cycle {
    size_t n;                       /* as many as categories */
    const struct msnap_life *lives; /* by category */
};

/* The result lives in `arena`. O(allocations). Blocks that are still there at the end only because
 * the recording ends within their step count for nothing unless there are no others. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_life_cycle_build(const struct msnap_history *h, const struct msnap_steps *steps, const struct msnap_classes *classes,
                       struct msnap_arena *arena, struct msnap_life_cycle *out, struct msnap_error *err);

/* "at once", "with its backward", "the next step", "stays to the end". */
MSNAP_API const char *msnap_goes_text(enum msnap_goes goes);

#ifdef __cplusplus
}
#endif
#endif
