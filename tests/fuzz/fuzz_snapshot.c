/* fuzz_snapshot.c -- any bytes as a snapshot: refused, or read and judged without harm. */
#include <memsnap/check.h>
#include <memsnap/frag.h>
#include <memsnap/oom.h>
#include <memsnap/sim.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void must(bool what)
{
    if (!what)
        abort();
}

static void judge(const struct msnap_snapshot *s, const struct msnap_device *device, struct msnap_arena *arena)
{
    struct msnap_history h;
    struct msnap_frag f;
    struct msnap_stats stats;
    struct msnap_sim_config c;
    struct msnap_sim_result res;
    const struct msnap_requests *r;
    const struct msnap_oom *ooms;
    size_t n_ooms;
    if (msnap_history_build(s, device, MSNAP_WITH_SERIES, arena, &h, NULL) != MSNAP_OK)
        return;
    must(h.peak.totals.allocated >= h.start.allocated && h.allocs.n >= h.allocs.n_initial);
    must(msnap_oom_find(&h, NULL, arena, &ooms, &n_ooms, NULL) == MSNAP_OK);
    must(msnap_stats_build(&h, arena, &stats, NULL) == MSNAP_OK);
    if (msnap_frag_build(&h, msnap_last_event(&h), MSNAP_FRAG_OVER_TIME, arena, &f, NULL) == MSNAP_OK)
        must(f.releasable <= f.inactive && f.largest_free <= f.inactive);
    if (device->n_events && msnap_sim_config_recorded(&h, arena, &c, NULL) == MSNAP_OK && !c.async_backend &&
        msnap_requests_build(&h, arena, &r, NULL) == MSNAP_OK)
        must(msnap_simulate(r, &c, NULL, &res, NULL) == MSNAP_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct msnap_snapshot *s;
    const struct msnap_fault *faults;
    size_t n_faults;
    struct msnap_error err = {0};
    if (msnap_snapshot_read(bytes, n, NULL, &s, &err) != MSNAP_OK) {
        must(err.status != MSNAP_OK && err.text[0]);
        return 0;
    }
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    must(arena && msnap_check(s, NULL, arena, &faults, &n_faults, NULL) == MSNAP_OK);
    for (size_t i = 0; i < s->n_devices; i++)
        if (s->devices[i].device != MSNAP_HOST)
            judge(s, &s->devices[i], arena);
    msnap_arena_free(arena);
    msnap_snapshot_free(s);
    return 0;
}
