/* leaks.h -- stacks that leave bytes behind step after step.
 *
 * A leak is a stack whose blocks, made in every step (or every N steps) from some step on and up to the
 * end, are still allocated after the last step. What is made once (weights, optimizer state, a warm-up),
 * a cache that stops growing, and a queue whose older blocks were given back are none.
 */
#ifndef MEMSNAP_LEAKS_H
#define MEMSNAP_LEAKS_H

#include <memsnap/history.h>
#include <memsnap/steps.h>

#ifdef __cplusplus
extern "C" {
#endif

struct msnap_leak { /* by line of the user's code; by stack where there is none */
    uint64_t bytes_per_step; /* on average; a leak every N steps counts a N-th */
    uint64_t total_bytes, count;
    uint64_t every;          /* N */
    uint64_t first_step;     /* its number */
    uint32_t stack;          /* of its largest block */
    uint32_t user_frame;     /* 0: none */
    uint32_t row;            /* allocation row of its largest block */
};

struct msnap_leaks {
    size_t n;
    const struct msnap_leak *leaks; /* most bytes a step first */
    uint64_t bytes_per_step;        /* of all */
    bool judged;                    /* false: too few steps to tell (fewer than 4) */
    uint64_t before_bytes;          /* live since before the recording, and still at its end */
    uint64_t outside_bytes;         /* made outside the steps and still live at the end: set-up, or after the loop */
};

/* With h->classes, workspaces of libraries are left out: they are made once and used again. Results live in `arena`.
 * O(allocations). */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_leaks_find(const struct msnap_history *h, const struct msnap_steps *steps, struct msnap_arena *arena,
                 struct msnap_leaks *out, struct msnap_error *err);

#ifdef __cplusplus
}
#endif
#endif
