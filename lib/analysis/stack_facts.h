/* stack_facts.h -- what a stack says about the work it was recorded in; found once for each stack. */
#ifndef MSNAP_ANALYSIS_STACK_FACTS_H
#define MSNAP_ANALYSIS_STACK_FACTS_H

#include <memsnap/snapshot.h>

/* The innermost frame that decides. Order matters nowhere. */
enum frame_role {
    ROLE_NONE,      /* decides nothing; its callers do */
    ROLE_FORWARD,   /* within a module's call */
    ROLE_SOFT,      /* torch.nn.functional, code that torch.compile made: forward unless callers say otherwise */
    ROLE_BACKWARD,  /* the autograd engine, and who waits for it */
    ROLE_GRAD_CALL, /* torch.autograd.grad: a backward pass that returns gradients and sets none */
    ROLE_OPTIMIZER, /* Optimizer.step and what it calls */
    ROLE_ZERO_GRAD, /* dropping gradients */
    ROLE_GRADS,     /* works on gradients after backward: clipping, unscaling */
    ROLE_WEIGHT,    /* makes, moves, copies or loads parameters and buffers */
    ROLE_COPY,      /* copies or loads objects that may or may not be a model */
    ROLE_SHARD,     /* sharded parameters: FSDP, ZeRO */
    ROLE_COMM,      /* DDP buckets and collectives */
    ROLE_DATA,      /* moves batches to the device */
    ROLE_CACHE,     /* a key-value cache */
    ROLE_WORKSPACE, /* C++ frames that ask for a library's scratch memory */
    ROLE_COMPILE,   /* compiling and tuning */
    ROLE_BARRIER,   /* user code that a library calls back: its callers decide nothing */
    N_ROLES
};

enum {
    FACT_IN_BACKWARD = 1,  /* the stack belongs to the backward pass */
    FACT_IN_FORWARD = 2,   /* a module call is somewhere in it */
    FACT_MAKES = 4,        /* the innermost user or library function is one that sets up: __init__ and the like */
    FACT_PYTHON = 8,       /* has Python frames */
    FACT_ACCUMULATE = 16,  /* C++: AccumulateGrad, which makes gradients and nothing else */
    FACT_OPTIMIZER = 32,   /* Optimizer.step is somewhere in it */
    FACT_STACK = 64,       /* a stack was recorded, even if it is empty */
    FACT_LIBRARY_STEP = 128 /* the optimizer is PyTorch's own, so that user code within it is a closure */
};

struct msnap_stack_facts {
    uint8_t role, flags;
};

/* Facts for stack ids [0, stacks.n), in `arena`; NULL when there is no memory. O(frames + stacks). */
struct msnap_stack_facts *msnap_stack_facts_build(const struct msnap_snapshot *s, struct msnap_arena *arena);

/* What a frame says on its own. Exposed for tests. */
enum frame_role msnap_frame_role(const char *file, size_t file_n, const char *name, size_t name_n);

#endif
