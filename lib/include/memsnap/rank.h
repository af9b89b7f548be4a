/* rank.h -- what is allocated at a moment, grouped and sorted by bytes. */
#ifndef MEMSNAP_RANK_H
#define MEMSNAP_RANK_H

#include <memsnap/history.h>

#ifdef __cplusplus
extern "C" {
#endif

/* By category, by step: the history's `classes`, `steps` must be set. */
enum msnap_group_by { MSNAP_BY_STACK, MSNAP_BY_LINE, MSNAP_BY_STREAM, MSNAP_BY_POOL, MSNAP_BY_CATEGORY, MSNAP_BY_STEP, MSNAP_N_GROUP_BY };

/* Keys by step: the step's index and MSNAP_STEP_KEY, or one of these. */
enum { MSNAP_STEP_BEFORE_RECORDING, MSNAP_STEP_BEFORE, MSNAP_STEP_OUTSIDE, MSNAP_STEP_KEY };

struct msnap_rank_row {
    uint64_t bytes;  /* whole blocks */
    uint64_t count;  /* allocations */
    uint32_t key;    /* stack id, user frame id (0: no user frame), stream id, pool id, category or step */
    uint32_t stack;  /* the stack of the group's largest allocation */
};

struct msnap_rank {
    size_t n;
    const struct msnap_rank_row *rows; /* largest first; equal bytes: lower key first */
    uint64_t total_bytes;              /* sum over all rows: equals the moment's allocated bytes */
};

/* Groups the allocations that are allocated after `event` (MSNAP_NO_EVENT: before the first).
 * O(allocations + groups log groups). The result lives in `arena`. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_rank_build(const struct msnap_history *h, uint32_t event, enum msnap_group_by by,
                 struct msnap_arena *arena, struct msnap_rank *out, struct msnap_error *err);

/* One group key for each allocation row (the same keys as above, dense group numbers), so that
 * a picture can colour every allocation: groups are numbered by bytes at `event`, largest first
 * (categories in their own order, those included that hold nothing at `event`);
 * those beyond `max_groups - 1` share the last number. `group_of` has allocs.n entries. */
struct msnap_grouping {
    size_t n_groups;
    const uint8_t *group_of;
    const struct msnap_rank_row *rows; /* n_groups rows; the last stands for the rest if has_rest */
    bool has_rest;
};
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_grouping_build(const struct msnap_history *h, uint32_t event, enum msnap_group_by by, size_t max_groups,
                     struct msnap_arena *arena, struct msnap_grouping *out, struct msnap_error *err);

#ifdef __cplusplus
}
#endif
#endif
