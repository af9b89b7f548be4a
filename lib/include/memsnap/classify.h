/* classify.h -- what each allocation was for, and the rule that says so.
 *
 * The evidence: frames of PyTorch and of libraries built on it, the phase in which a block is
 * made and the one in which it is freed, how long it lives, and sizes that match those of
 * parameters. `memsnap report --explain` lists
 * the rules at work; no rule knows a model or a program.
 */
#ifndef MEMSNAP_CLASSIFY_H
#define MEMSNAP_CLASSIFY_H

#include <memsnap/history.h>
#include <memsnap/steps.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order is that of tables and pictures: what stays longest first. */
enum msnap_category {
    MSNAP_WEIGHT, MSNAP_GRADIENT, MSNAP_OPTIMIZER_STATE, MSNAP_ACTIVATION, MSNAP_INPUT, MSNAP_WORKSPACE,
    MSNAP_COMMUNICATION, MSNAP_TEMPORARY, MSNAP_UNKNOWN,
    MSNAP_N_CATEGORIES /* user categories are numbered from here on */
};
#define MSNAP_MAX_CATEGORIES 64
#define MSNAP_MAX_USER_RULES 128

/* A user's rule: tried on "file:line:function" of each frame of an allocation's stack. */
struct msnap_user_rule {
    const char *name;     /* stands in category_rule */
    const char *category; /* one of ours or a name of the user's own */
    void *ctx;
    /* Whether the rule holds for a frame; called once for each frame of the file. */
    bool (*matches)(void *ctx, const char *frame, size_t n);
};
struct msnap_user_rules {
    size_t n;
    const struct msnap_user_rule *rules; /* the first that matches wins, before all of ours */
};

struct msnap_rule {
    const char *name;    /* "optimizer_keeps" */
    const char *meaning; /* one line */
};

struct msnap_classes {
    size_t n;                /* as many as rows in msnap_history.allocs */
    const uint8_t *category; /* enum msnap_category, or above: the user's */
    const uint8_t *rule;     /* index into rules */
    size_t n_categories;
    const char *const *names; /* "weight", ... and the user's */
    size_t n_rules;
    const struct msnap_rule *rules;
};

/* Classifies every allocation. `user` may be NULL; the names in it must outlive the result, which
 * lives in `arena`. O(allocations + frames), 2 bytes an allocation. MSNAP_EUSAGE for more user
 * rules or categories than the limits above. */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_classify(const struct msnap_history *h, const struct msnap_steps *steps, const struct msnap_user_rules *user,
               struct msnap_arena *arena, struct msnap_classes *out, struct msnap_error *err);

/* "weight"; NULL for a number that is not one of ours. */
MSNAP_API const char *msnap_category_name(unsigned category);

/* Allocated bytes (whole blocks) by category after `event` (MSNAP_NO_EVENT: before the first);
 * `bytes` has room for n_categories. The sum is the moment's allocated bytes. */
MSNAP_API void msnap_classes_sum(const struct msnap_history *h, const struct msnap_classes *c, uint32_t event, uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
