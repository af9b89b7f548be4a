/* lines.h -- what a line profiler would print, from a snapshot: the lines of the training loop in the
 * order they ran, with the memory after each.
 *
 * The lines are those of the function that contains the loop: the innermost function that is on the
 * stack of (nearly) all events of the step and runs through more than one of its lines. Events of
 * other threads (the backward pass) belong to the line that waits for them: the one seen last. A line
 * with several statements or calls has a run for each call; two equal calls are told apart only by a
 * pause ten times longer than any other in them.
 */
#ifndef MEMSNAP_LINES_H
#define MEMSNAP_LINES_H

#include <memsnap/history.h>

#ifdef __cplusplus
extern "C" {
#endif

struct msnap_line_run { /* consecutive events of one line, and of one call in it */
    uint32_t frame;           /* 0: before the first line that is known */
    uint32_t call;            /* what the line called: the first user frame within, else the first of a
                               * library that is no mere wrapper; 0: nothing, or many calls together */
    bool other_thread;        /* its events have no Python frames: the line waited for them */
    uint32_t first, last;     /* events */
    uint64_t after_bytes;     /* allocated after its last event */
    uint64_t highest_bytes;   /* highest allocated within */
    int64_t change_bytes;     /* after_bytes less what was allocated before its first event */
    uint64_t allocs, frees;
    uint64_t allocated_bytes; /* of the blocks that it made */
};

struct msnap_lines {
    size_t n;
    const struct msnap_line_run *runs;
    uint32_t function, filename; /* string ids of the loop's function; 0: no user frames were recorded */
    uint64_t before_bytes;       /* allocated before the first event */
};

/* Events [first, last] of the device's trace. Results live in `arena`. O(events up to last * depth of
 * the user's part of the stacks, looked up once for each stack). */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_lines_build(const struct msnap_history *h, uint32_t first, uint32_t last, struct msnap_arena *arena,
                  struct msnap_lines *out, struct msnap_error *err);

#ifdef __cplusplus
}
#endif
#endif
