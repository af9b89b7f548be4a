/* phases.h -- what each event of a trace belongs to. */
#ifndef MSNAP_ANALYSIS_PHASES_H
#define MSNAP_ANALYSIS_PHASES_H

#include "analysis/stack_facts.h"

#include <memsnap/steps.h>

/* Time spans of Optimizer.step (and what else PyTorch annotates), as events. */
struct phase_span {
    uint32_t first, last; /* events; last is first - 1 where nothing happened within */
    uint32_t name;        /* string id */
};
struct phase_spans {
    size_t n;
    const struct phase_span *spans; /* by their end */
};

/* The spans of annotations whose name begins with `prefix` ("": all). */
bool msnap_phase_spans(const struct msnap_history *h, const char *prefix, struct msnap_arena *arena, struct phase_spans *out);

/* Fills in phases, n_phases, annotated_only of `out`, whose facts are there already. */
bool msnap_phases_find(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_steps *out);

/* The same where events carry no stacks: from annotations, sizes and lives. */
bool msnap_phases_by_annotations(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_steps *out);

/* Whether frees carry the stack that freed: where only allocations are recorded with their context,
 * a free repeats the stack of its allocation, or has none. */
bool msnap_frees_have_stacks(const struct msnap_history *h);

/* The phase an event belongs to; O(log phases). */
size_t msnap_phase_at(const struct msnap_steps *s, uint32_t event);

#endif
