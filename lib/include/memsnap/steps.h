/* steps.h -- iterations of the training loop, and the phases within them.
 *
 * What an event belongs to is read from its stack: module calls are the forward pass, stacks
 * without Python frames and the autograd engine's own are the backward pass (it runs on a thread
 * of its own), torch/optim is the optimizer. Where nothing was recorded with the events, the
 * annotations of Optimizer.step and Optimizer.zero_grad, which PyTorch makes by itself, stand in.
 */
#ifndef MEMSNAP_STEPS_H
#define MEMSNAP_STEPS_H

#include <memsnap/history.h>

#ifdef __cplusplus
extern "C" {
#endif

enum msnap_phase_kind { MSNAP_PHASE_OTHER, MSNAP_PHASE_FORWARD, MSNAP_PHASE_BACKWARD, MSNAP_PHASE_OPTIMIZER, MSNAP_N_PHASES };

/* Events [first, last] of the device's trace; phases cover the trace without gaps. OTHER is all that
 * is between: setting up, loading a batch, user code. A loss that user code computes between
 * forward and backward belongs to the forward phase. */
struct msnap_phase {
    uint32_t first, last;
    uint8_t kind; /* enum msnap_phase_kind */
    bool is_user_code; /* a forward phase in which no module was called: it reaches back to the phase before */
    bool returns_gradients; /* a backward phase of torch.autograd.grad, which sets no .grad */
};

struct msnap_step {
    uint64_t number;       /* as the annotation ProfilerStep#N says, else counted from 1 */
    uint32_t first, last;  /* events */
    uint64_t peak_bytes;   /* highest allocated bytes after an event of the step */
    uint64_t end_bytes;    /* allocated after its last event */
    int64_t growth_bytes;  /* end_bytes less what was allocated before its first event */
};

enum msnap_steps_by { /* what the steps were found by */
    MSNAP_STEPS_NONE, MSNAP_STEPS_BY_PROFILER, MSNAP_STEPS_BY_OPTIMIZER, MSNAP_STEPS_BY_ANNOTATION,
    MSNAP_STEPS_BY_BACKWARD, MSNAP_STEPS_BY_FORWARD
};

struct msnap_steps {
    size_t n_phases;
    const struct msnap_phase *phases;
    size_t n;
    const struct msnap_step *steps; /* ascending; none overlap; events between two belong to none */
    enum msnap_steps_by by;
    bool annotated_only; /* events carry no stacks: phases come from annotations and sizes alone */
    const struct msnap_stack_facts *facts; /* private: one for each stack of the snapshot */
};

/* Finds phases and steps of a history. Fewer than two repetitions are no steps: `n` is 0 then.
 * Results live in `arena`; they take 4 bytes an event while it runs and afterwards. O(n). */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_steps_build(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_steps *out, struct msnap_error *err);

/* "forward", "backward", "optimizer", "other". */
MSNAP_API const char *msnap_phase_name(enum msnap_phase_kind kind);
/* One line: "the annotation ProfilerStep#N". */
MSNAP_API const char *msnap_steps_by_text(enum msnap_steps_by by);

#ifdef __cplusplus
}
#endif
#endif
