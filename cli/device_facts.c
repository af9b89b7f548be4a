/* device_facts.c -- what `memsnap report` tells of one device, as facts. */
#include "device_facts.h"

#include "oom_words.h"

static enum msnap_status no_memory(struct msnap_error *err)
{
    *err = (struct msnap_error){.status = MSNAP_ENOMEM, .text = "no memory for the device's history"};
    return MSNAP_ENOMEM;
}

enum msnap_status facts_build(const struct msnap_snapshot *s, const struct msnap_device *device,
                              const struct msnap_oom_options *known, const struct msnap_user_rules *rules,
                              struct device_facts *out, struct msnap_error *err)
{
    *out = (struct device_facts){.snapshot = s, .device = device};
    out->arena = msnap_arena_new(msnap_mem_default());
    if (!out->arena)
        return no_memory(err);

    enum msnap_status status = msnap_history_build(s, device, 0, out->arena, &out->history, err);
    if (status == MSNAP_OK)
        status = msnap_oom_find(&out->history, known, out->arena, &out->ooms, &out->n_ooms, err);
    if (status != MSNAP_OK)
        return status;
    const struct msnap_oom *oom = the_oom(out->ooms, out->n_ooms);
    status = msnap_frag_build(&out->history, oom ? oom->event : out->history.peak.event, 0, out->arena, &out->frag, err);
    if (status != MSNAP_OK)
        return status;
    const uint32_t peak = out->history.peak.event;
    status = msnap_rank_build(&out->history, peak, MSNAP_BY_STACK, out->arena, &out->stacks, err);
    if (status == MSNAP_OK)
        status = msnap_rank_build(&out->history, peak, MSNAP_BY_LINE, out->arena, &out->lines, err);
    if (status == MSNAP_OK)
        status = categories_build(&out->history, rules, out->arena, &out->categories, err);
    if (status == MSNAP_OK)
        status = categories_of_stacks(&out->history, &out->stacks, out->arena, &out->categories, err);
    if (status == MSNAP_OK)
        status = msnap_leaks_find(&out->history, &out->categories.steps, out->arena, &out->leaks, err);
    const struct msnap_facts facts = {&out->history, &out->categories.steps, &out->categories.classes, &out->leaks, out->ooms,
                                      out->n_ooms, &out->frag, known ? known->capacity_bytes : 0};
    if (status == MSNAP_OK)
        status = msnap_findings_build(&facts, out->arena, &out->findings, &out->n_findings, err);
    return status;
}

void facts_free(struct device_facts *facts)
{
    msnap_arena_free(facts->arena);
    *facts = (struct device_facts){0};
}

uint64_t facts_cache_bytes(const struct msnap_totals *t)
{
    return t->reserved > t->allocated ? t->reserved - t->allocated : 0;
}
