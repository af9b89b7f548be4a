/* categories.h -- what filled the peak by category, and the steps, as the report tells them. */
#ifndef MEMSNAP_CATEGORIES_H
#define MEMSNAP_CATEGORIES_H

#include "json.h"

#include <memsnap/lifecycle.h>
#include <memsnap/rank.h>

struct device_facts;

struct category_facts {
    struct msnap_steps steps;
    struct msnap_classes classes;
    struct msnap_life_cycle life;
    const uint64_t *rule_bytes, *rule_counts; /* allocated at the peak, by rule */
    const uint8_t *of_stack;                  /* by row of the stacks' table: the category of most of its bytes */
};

/* Classifies; the history's `classes` points to the result then. `stacks` is the peak's table. */
MSNAP_CHECKED enum msnap_status categories_build(struct msnap_history *h, const struct msnap_user_rules *rules,
                                                 struct msnap_arena *arena, struct category_facts *out,
                                                 struct msnap_error *err);
MSNAP_CHECKED enum msnap_status categories_of_stacks(const struct msnap_history *h, const struct msnap_rank *stacks,
                                                     struct msnap_arena *arena, struct category_facts *out,
                                                     struct msnap_error *err);

/* The text report's parts. */
void life_put(struct output *out, const struct device_facts *f); /* report_life.c */
void categories_explain(struct output *out, const struct device_facts *f);
void steps_put(struct output *out, const struct device_facts *f);
/* "categories" and "life_cycle" of the peak, "steps" of the device. */
void categories_json(struct json *j, cJSON *peak, const struct device_facts *f);
void life_json(struct json *j, cJSON *list, const struct device_facts *f);
void steps_json(struct json *j, cJSON *device, const struct device_facts *f);

#endif
