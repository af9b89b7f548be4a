/* classify_rows.h -- what the rules see of one allocation. */
#ifndef MSNAP_ANALYSIS_CLASSIFY_ROWS_H
#define MSNAP_ANALYSIS_CLASSIFY_ROWS_H

#include "analysis/phases.h"
#include "analysis/sizes.h"

#include <memsnap/classify.h>

enum msnap_rule_id {
#define RULE(name, category, meaning) MSNAP_RULE_##name,
#include "analysis/rules.def"
#undef RULE
    MSNAP_N_RULES
};

/* When the next phase of each kind begins after a phase; MSNAP_NO_EVENT: never. */
struct next_phases {
    uint32_t first[MSNAP_N_PHASES];
};

/* What one stack's kept blocks have in common. */
struct stack_tally {
    uint32_t n, n_like_parameters, n_doubled, n_halved;
    uint32_t n_for_backward; /* in a forward pass of user code: those that the engine frees */
    uint64_t first_size;
    bool sizes_differ;
};

/* The first block of a workspace's size that a forward pass on a stream made and nothing freed. */
enum { MAX_SCRATCHES = 64 };
struct scratch {
    uint64_t size;
    uint32_t stream;
    size_t row;
};

struct evidence {
    struct scratch scratches[MAX_SCRATCHES];
    size_t n_scratches;
    const struct msnap_history *h;
    const struct msnap_steps *steps;
    const struct msnap_stack_facts *facts; /* by stack */
    const struct next_phases *next;        /* by phase */
    const uint32_t *dump_stack;            /* by row: the stack of its block at the dump; NULL where events have stacks */
    uint32_t first_pass;                   /* the first event of the first forward or backward phase; MSNAP_NO_EVENT: none */
    uint32_t second_backward;              /* the first event of the second backward phase */
    bool has_backward;                     /* at all */
    uint32_t second_optimizer;             /* the first event of the second optimizer phase that follows a backward one */
    struct msnap_sizes parameters;         /* sizes of what frames call parameters */
    struct msnap_sizes gradients;          /* sizes of what outlives a backward pass, by its first occurrence in each */
    struct msnap_sizes dropped;            /* sizes of what zero_grad frees */
    struct msnap_sizes lasting;            /* large sizes of what is not given back at once */
    struct msnap_sizes states;             /* without stacks: sizes of what outlives an optimizer's step */
    struct stack_tally *tally;             /* by stack: blocks that user code or a copier made and kept */
    uint64_t parameter_bytes;              /* kept */
    uint64_t made_parameter_bytes;         /* those included that did not last: flattened into others, or moved on */
    uint32_t forward_stream;               /* of the first block that a module made; 0: none */
    bool explained;                        /* what outlives backward passes is of the known parameters' sizes, nearly all of it */
    bool frees_have_stacks;                /* frees carry the stack that freed, not a copy of the one that made */
    uint32_t last_work;                    /* the last event of the last backward phase, of the last forward one where there is none */
    size_t n_user_kept_in_loop;            /* blocks that user code made between the passes and kept */
    struct phase_spans optimizer_steps;    /* annotations of Optimizer.step */
};

/* One allocation of the recording. */
struct row {
    size_t row, phase;
    uint32_t born, freed; /* events; MSNAP_NO_EVENT: never freed */
    uint32_t stack;
    uint64_t size;
    struct msnap_stack_facts facts;
};

/* Whether the row is still held when `event` happens. */
static inline bool row_outlives(const struct row *r, uint32_t event) { return r->freed == MSNAP_NO_EVENT || r->freed > event; }
static inline bool row_is_kept(const struct evidence *e, const struct row *r)
{
    return row_outlives(r, e->steps->phases[r->phase].last);
}

/* Gathers sizes and tallies; false: no memory. */
bool msnap_evidence_gather(struct evidence *e, const struct msnap_history *h, const struct msnap_steps *steps, struct msnap_arena *arena);
/* Fills in everything but `phase`, which is moved on from where it is. Rows come in order. */
void msnap_row_at(const struct evidence *e, size_t row, struct row *out);
/* The rule for a row of the recording, and for one from before it. */
enum msnap_rule_id msnap_rule_of(const struct evidence *e, const struct row *r);
enum msnap_rule_id msnap_rule_of_initial(const struct evidence *e, size_t row);
/* The facts of the stack that freed a row; nothing where that is not known. */
struct msnap_stack_facts msnap_freed_by(const struct evidence *e, const struct row *r);
/* Whether a row is a workspace that cuBLAS keeps. */
bool msnap_is_matmul_scratch(const struct evidence *e, const struct row *r);
/* Whether a row was asked for and given back with nothing in between, and has the size of no tensor that lasts. */
bool msnap_is_given_back_at_once(const struct evidence *e, const struct row *r);
/* Whether a size is that of a parameter, as far as parameters are known. */
bool msnap_is_parameter_size(const struct evidence *e, uint64_t size);

#endif
