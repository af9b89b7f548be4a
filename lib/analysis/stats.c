/* stats.c -- torch.cuda.memory_stats() from the books. */
#include <memsnap/stats.h>

#include "analysis/bursts.h"
#include "analysis/replay_books.h"
#include "base/arena.h"
#include "base/status.h"

#include <string.h>

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the statistics"); }

enum msnap_status msnap_stats_build(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_stats *out,
                                    struct msnap_error *err)
{
    struct msnap_alloc_config config;
    struct msnap_books b;
    struct msnap_books_feed f;
    struct msnap_counters counters;
    struct burst_counts bursts;
    enum msnap_status st = MSNAP_OK;
    msnap_alloc_config_of(h->snapshot, &config);
    if (!msnap_books_begin(&b, &f, h, msnap_arena_mem(arena), &config, NULL)) {
        msnap_books_release(&b);
        return no_memory(err);
    }
    b.counters = &counters;
    msnap_books_count_state(&b);
    for (size_t i = 0; i < f.n && !b.out_of_memory; i++)
        msnap_books_apply(&b, &f, i);
    if (b.out_of_memory)
        st = no_memory(err);
    msnap_books_release(&b);
    if (st == MSNAP_OK)
        st = msnap_bursts_count(h, arena, &bursts, err);
    if (st != MSNAP_OK)
        return st;
    struct msnap_stats s = {.oversize_allocations = counters.oversize_allocations, .oversize_segments = counters.oversize_segments,
                            .num_device_alloc = counters.device_allocs, .num_device_free = counters.device_frees,
                            .num_ooms = bursts.ooms, .num_alloc_retries = bursts.retries,
                            .num_sync_all_streams = bursts.retries + bursts.explicit_releases,
                            .max_split_size = h->snapshot->settings.max_split_size,
                            .totals_known = h->coverage == MSNAP_HISTORY_COMPLETE,
                            .settings_known = h->snapshot->settings.known};
    memcpy(s.family, counters.family, sizeof s.family);
    *out = s;
    return MSNAP_OK;
}

/* ---- the flat keys ---- */

static const struct {
    enum msnap_family family;
    const char *key[3][4]; /* all, large, small by allocated, current, freed, peak */
} keys[] = {
#define POOL(name, pool) {name "." pool ".allocated", name "." pool ".current", name "." pool ".freed", name "." pool ".peak"}
#define FAMILY(id, name) {id, {POOL(name, "all"), POOL(name, "large_pool"), POOL(name, "small_pool")}}
    FAMILY(MSNAP_COUNT_ACTIVE, "active"),
    FAMILY(MSNAP_BYTES_ACTIVE, "active_bytes"),
    FAMILY(MSNAP_BYTES_ALLOCATED, "allocated_bytes"),
    FAMILY(MSNAP_COUNT_ALLOCATION, "allocation"),
    FAMILY(MSNAP_COUNT_INACTIVE_SPLIT, "inactive_split"),
    FAMILY(MSNAP_BYTES_INACTIVE_SPLIT, "inactive_split_bytes"),
    FAMILY(MSNAP_BYTES_REQUESTED, "requested_bytes"),
    FAMILY(MSNAP_BYTES_RESERVED, "reserved_bytes"),
    FAMILY(MSNAP_COUNT_SEGMENT, "segment"),
#undef FAMILY
#undef POOL
};

static size_t put_counter(struct msnap_stat *out, const char *const key[4], const struct msnap_counter *c, bool totals)
{
    out[0] = (struct msnap_stat){key[0], totals, (int64_t)c->allocated};
    out[1] = (struct msnap_stat){key[1], true, (int64_t)c->current};
    out[2] = (struct msnap_stat){key[2], totals, (int64_t)c->freed};
    out[3] = (struct msnap_stat){key[3], totals, (int64_t)c->peak};
    return 4;
}

void msnap_stats_list(const struct msnap_stats *s, struct msnap_stat out[MSNAP_N_STATS])
{
    static const char *const allocations[] = {"oversize_allocations.allocated", "oversize_allocations.current",
                                              "oversize_allocations.freed", "oversize_allocations.peak"};
    static const char *const segments[] = {"oversize_segments.allocated", "oversize_segments.current", "oversize_segments.freed",
                                           "oversize_segments.peak"};
    size_t n = 0;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        if (keys[k].family == MSNAP_BYTES_REQUESTED) { /* these stand before "requested_bytes" in the alphabet */
            out[n++] = (struct msnap_stat){"max_split_size", true, s->max_split_size};
            out[n++] = (struct msnap_stat){"num_alloc_retries", s->totals_known, (int64_t)s->num_alloc_retries};
            out[n++] = (struct msnap_stat){"num_device_alloc", s->totals_known, (int64_t)s->num_device_alloc};
            out[n++] = (struct msnap_stat){"num_device_free", s->totals_known, (int64_t)s->num_device_free};
            out[n++] = (struct msnap_stat){"num_ooms", s->totals_known, (int64_t)s->num_ooms};
            out[n++] = (struct msnap_stat){"num_sync_all_streams", s->totals_known, (int64_t)s->num_sync_all_streams};
            n += put_counter(out + n, allocations, &s->oversize_allocations, s->totals_known);
            n += put_counter(out + n, segments, &s->oversize_segments, s->totals_known);
        }
        for (int p = 0; p < 3; p++)
            n += put_counter(out + n, keys[k].key[p], &s->family[keys[k].family][p], s->totals_known);
    }
}
