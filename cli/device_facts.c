/* device_facts.c -- what `memsnap report` tells of one device, as facts. */
#include "device_facts.h"

static enum msnap_status no_memory(struct msnap_error *err)
{
    *err = (struct msnap_error){.status = MSNAP_ENOMEM, .text = "no memory for the device's history"};
    return MSNAP_ENOMEM;
}

static size_t count_ooms(const struct msnap_snapshot *s, const struct msnap_device *device)
{
    size_t n = 0;

    for (size_t i = 0; i < device->n_events; i++)
        n += s->events.action[device->first_event + i] == MSNAP_OOM;
    return n;
}

/* Backwards, so that "an allocation follows" is known at each oom. */
static void find_ooms(struct device_facts *f)
{
    const struct msnap_events *ev = &f->snapshot->events;
    const struct msnap_history *h = &f->history;
    size_t k = f->n_ooms;
    bool alloc_follows = false;

    for (size_t i = f->device->n_events; i-- > 0;) {
        const size_t row = f->device->first_event + i;
        if (ev->action[row] == MSNAP_ALLOC)
            alloc_follows = true;
        if (ev->action[row] != MSNAP_OOM)
            continue;
        f->ooms[--k] =
            (struct oom_facts){.event = (uint32_t)i,
                               .survived = alloc_follows,
                               .has_size = (ev->has[row] & MSNAP_HAS_SIZE) != 0,
                               .has_free = (ev->has[row] & MSNAP_HAS_DEVICE_FREE) != 0,
                               .requested_bytes = ev->size[row],
                               .device_free_bytes = ev->addr[row],
                               .totals = {h->allocated[i], h->active[i], h->reserved[i], h->requested[i]}};
    }
}

enum msnap_status facts_build(const struct msnap_snapshot *s, const struct msnap_device *device,
                              struct device_facts *out, struct msnap_error *err)
{
    *out = (struct device_facts){.snapshot = s, .device = device, .n_ooms = count_ooms(s, device)};
    out->arena = msnap_arena_new(msnap_mem_default());
    if (!out->arena)
        return no_memory(err);

    /* The series costs 32 bytes an event; only an OOM's totals need it. */
    enum msnap_status status =
        msnap_history_build(s, device, out->n_ooms ? MSNAP_WITH_SERIES : 0, out->arena, &out->history, err);
    if (status != MSNAP_OK)
        return status;
    if (out->n_ooms) {
        out->ooms = msnap_arena_alloc(out->arena, out->n_ooms, sizeof *out->ooms);
        if (!out->ooms)
            return no_memory(err);
        find_ooms(out);
    }
    const uint32_t peak = out->history.peak.event;
    status = msnap_rank_build(&out->history, peak, MSNAP_BY_STACK, out->arena, &out->stacks, err);
    if (status == MSNAP_OK)
        status = msnap_rank_build(&out->history, peak, MSNAP_BY_LINE, out->arena, &out->lines, err);
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
