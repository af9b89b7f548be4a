/* categories.c -- the sums behind the report's categories, and their JSON. */
#include "categories.h"

#include "device_facts.h"

#include <string.h>

static enum msnap_status no_memory(struct msnap_error *err)
{
    *err = (struct msnap_error){.status = MSNAP_ENOMEM, .text = "no memory for the categories"};
    return MSNAP_ENOMEM;
}

enum msnap_status categories_build(struct msnap_history *h, const struct msnap_user_rules *rules,
                                   struct msnap_arena *arena, struct category_facts *out, struct msnap_error *err)
{
    enum msnap_status status = msnap_steps_build(h, arena, &out->steps, err);
    if (status == MSNAP_OK)
        status = msnap_classify(h, &out->steps, rules, arena, &out->classes, err);
    if (status == MSNAP_OK)
        status = msnap_life_cycle_build(h, &out->steps, &out->classes, arena, &out->life, err);
    if (status != MSNAP_OK)
        return status;
    const struct msnap_classes *c = &out->classes;
    uint64_t *rule_bytes = msnap_arena_alloc(arena, c->n_rules, sizeof *rule_bytes);
    uint64_t *rule_counts = msnap_arena_alloc(arena, c->n_rules, sizeof *rule_counts);
    if (!rule_bytes || !rule_counts)
        return no_memory(err);
    for (size_t r = 0; r < c->n; r++) {
        if (!msnap_alloc_is_allocated(h, r, h->peak.event))
            continue;
        rule_bytes[c->rule[r]] += h->allocs.block_size[r];
        rule_counts[c->rule[r]]++;
    }
    out->rule_bytes = rule_bytes;
    out->rule_counts = rule_counts;
    h->classes = &out->classes;
    return MSNAP_OK;
}

enum msnap_status categories_of_stacks(const struct msnap_history *h, const struct msnap_rank *stacks,
                                       struct msnap_arena *arena, struct category_facts *out,
                                       struct msnap_error *err)
{
    const struct msnap_classes *c = &out->classes;
    const size_t n = c->n_categories;
    uint32_t *row_of = msnap_arena_alloc(arena, h->snapshot->stacks.n + 1, sizeof *row_of);
    uint64_t *sums = msnap_arena_alloc(arena, (stacks->n + 1) * n, sizeof *sums);
    uint8_t *of_stack = msnap_arena_alloc(arena, stacks->n + 1, sizeof *of_stack);
    if (!row_of || !sums || !of_stack)
        return no_memory(err);
    for (size_t i = 0; i < stacks->n; i++)
        row_of[stacks->rows[i].key] = (uint32_t)i;
    for (size_t r = 0; r < c->n; r++)
        if (msnap_alloc_is_allocated(h, r, h->peak.event))
            sums[row_of[msnap_alloc_stack(h, r)] * n + c->category[r]] += h->allocs.block_size[r];
    for (size_t i = 0; i < stacks->n; i++)
        for (size_t k = 0; k < n; k++)
            if (sums[i * n + k] > sums[i * n + of_stack[i]])
                of_stack[i] = (uint8_t)k;
    out->of_stack = of_stack;
    return MSNAP_OK;
}

void categories_json(struct json *j, cJSON *peak, const struct device_facts *f)
{
    const struct msnap_classes *c = &f->categories.classes;
    cJSON *item = json_object(j, peak, "categories");

    for (size_t i = 0; i < c->n_categories; i++)
        if (f->categories.life.lives[i].peak_bytes || i < MSNAP_N_CATEGORIES)
            json_u64(j, item, c->names[i], f->categories.life.lives[i].peak_bytes);
    life_json(j, json_array(j, peak, "life_cycle"), f);
}

void steps_json(struct json *j, cJSON *device, const struct device_facts *f)
{
    const struct msnap_steps *s = &f->categories.steps;
    cJSON *list = json_array(j, device, "steps");

    for (size_t i = 0; i < s->n; i++) {
        cJSON *item = json_object(j, list, NULL);
        json_u64(j, item, "step", s->steps[i].number);
        json_u64(j, item, "first_event", s->steps[i].first);
        json_u64(j, item, "last_event", s->steps[i].last);
        json_u64(j, item, "peak_bytes", s->steps[i].peak_bytes);
        json_u64(j, item, "end_bytes", s->steps[i].end_bytes);
        json_i64(j, item, "growth_bytes", s->steps[i].growth_bytes);
    }
}
