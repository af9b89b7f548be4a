/* device_facts.h -- what `memsnap report` tells of one device, as facts; printers come after. */
#ifndef MEMSNAP_DEVICE_FACTS_H
#define MEMSNAP_DEVICE_FACTS_H

#include <memsnap/history.h>
#include <memsnap/rank.h>

/* One `oom` event, with the totals at it. */
struct oom_facts {
    uint32_t event;
    bool survived; /* allocations follow it on the device */
    bool has_size, has_free;
    uint64_t requested_bytes, device_free_bytes;
    struct msnap_totals totals;
};

struct device_facts {
    const struct msnap_snapshot *snapshot;
    const struct msnap_device *device;
    struct msnap_arena *arena; /* owns all of this */
    struct msnap_history history;
    struct msnap_rank stacks, lines; /* what is allocated at the peak */
    size_t n_ooms;
    struct oom_facts *ooms;
};

/* Frees nothing on failure that facts_free would not free: always call it. */
MSNAP_CHECKED enum msnap_status facts_build(const struct msnap_snapshot *s, const struct msnap_device *device,
                                            struct device_facts *out, struct msnap_error *err);
void facts_free(struct device_facts *facts);

/* Reserved and not allocated to anyone: what the allocator keeps, pending frees included. */
uint64_t facts_cache_bytes(const struct msnap_totals *t);

#endif
