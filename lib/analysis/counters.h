/* counters.h -- torch.cuda.memory_stats()' counters going up and down. */
#ifndef MSNAP_ANALYSIS_COUNTERS_H
#define MSNAP_ANALYSIS_COUNTERS_H

#include <memsnap/stats.h>

struct msnap_counters {
    struct msnap_counter family[MSNAP_N_FAMILIES][3]; /* all, large pool, small pool */
    struct msnap_counter oversize_allocations, oversize_segments;
    uint64_t device_allocs, device_frees, retries, ooms, syncs;
};

static inline void msnap_count_up(struct msnap_counter *c, uint64_t v)
{
    c->current += v;
    c->allocated += v;
    if (c->current > c->peak)
        c->peak = c->current;
}
static inline void msnap_count_down(struct msnap_counter *c, uint64_t v)
{
    c->current -= v;
    c->freed += v;
}
/* NULL counters are not kept. */
static inline void msnap_family_up(struct msnap_counters *n, enum msnap_family f, bool small, uint64_t v)
{
    if (n && v) {
        msnap_count_up(&n->family[f][0], v);
        msnap_count_up(&n->family[f][1 + small], v);
    }
}
static inline void msnap_family_down(struct msnap_counters *n, enum msnap_family f, bool small, uint64_t v)
{
    if (n && v) {
        msnap_count_down(&n->family[f][0], v);
        msnap_count_down(&n->family[f][1 + small], v);
    }
}
static inline void msnap_family_by(struct msnap_counters *n, enum msnap_family f, bool small, int64_t v)
{
    if (v > 0)
        msnap_family_up(n, f, small, (uint64_t)v);
    else if (v < 0)
        msnap_family_down(n, f, small, (uint64_t)-v);
}

#endif
