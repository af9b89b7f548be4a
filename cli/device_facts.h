/* device_facts.h -- what `memsnap report` tells of one device, as facts; printers come after. */
#ifndef MEMSNAP_DEVICE_FACTS_H
#define MEMSNAP_DEVICE_FACTS_H

#include "categories.h"

#include <memsnap/findings.h>
#include <memsnap/frag.h>
#include <memsnap/history.h>
#include <memsnap/leaks.h>
#include <memsnap/oom.h>
#include <memsnap/rank.h>

struct device_facts {
    const struct msnap_snapshot *snapshot;
    const struct msnap_device *device;
    struct msnap_arena *arena; /* owns all of this */
    struct msnap_history history;
    struct msnap_rank stacks, lines; /* what is allocated at the peak */
    struct category_facts categories;
    size_t n_ooms;
    const struct msnap_oom *ooms;
    struct msnap_leaks leaks;
    size_t n_findings;
    const struct msnap_finding *findings;
    struct msnap_frag frag; /* at the OOM that the user asks about, else at the peak */
};

/* Frees nothing on failure that facts_free would not free: always call it. */
MSNAP_CHECKED enum msnap_status facts_build(const struct msnap_snapshot *s, const struct msnap_device *device,
                                            const struct msnap_oom_options *known, const struct msnap_user_rules *rules,
                                            struct device_facts *out, struct msnap_error *err);
void facts_free(struct device_facts *facts);

/* Reserved and not allocated to anyone: what the allocator keeps, pending frees included. */
uint64_t facts_cache_bytes(const struct msnap_totals *t);

#endif
