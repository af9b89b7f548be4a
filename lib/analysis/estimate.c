/* estimate.c -- what cudaMallocAsync, or no caching at all, would hold.
 *
 * Seen on an H200 with CUDA 13.0: the stream-ordered pool's "used" is the exact sum of the requests and
 * its "reserved" a multiple of 32 MiB; PyTorch holds the sum of requests against the limit. How the
 * pool places blocks is not documented, so its fragmentation is left out: a lower bound, rounded up.
 * cudaMalloc gives whole pages of 2 MiB from 1 MiB on; smaller requests share pages.
 */
#include "analysis/estimate.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)

static uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

struct sums {
    uint64_t requested, small, large; /* small: below 1 MiB, in units of 512; large: in pages */
};

static void add(struct sums *s, uint64_t n, bool up)
{
    uint64_t small = n < MIB ? round_up(n, 512) : 0, large = n < MIB ? 0 : round_up(n, 2 * MIB);
    s->requested = up ? s->requested + n : s->requested - n;
    s->small = up ? s->small + small : s->small - small;
    s->large = up ? s->large + large : s->large - large;
}

static uint64_t held(const struct msnap_sim_config *c, const struct sums *s)
{
    return c->async_backend ? round_up(s->requested, 32 * MIB) : s->large + round_up(s->small, 2 * MIB);
}

static void note(struct msnap_counter *c, uint64_t value)
{
    c->current = value;
    c->peak = value > c->peak ? value : c->peak;
}

void msnap_estimate(const struct msnap_requests *r, const struct msnap_sim_config *c, const struct msnap_sim_options *o, struct msnap_sim_result *out)
{
    const struct msnap_history *h = r->h;
    struct sums s = {0, 0, 0};
    size_t filled = 0;
    memset(out, 0, sizeof *out);
    out->estimated = true;
    struct msnap_counter *reserved = &out->stats.family[MSNAP_BYTES_RESERVED][0], *allocated = &out->stats.family[MSNAP_BYTES_ALLOCATED][0];
    for (size_t row = 0; row < h->allocs.n_initial; row++)
        add(&s, msnap_alloc_size(h, row), true);
    uint64_t pool = held(c, &s);
    for (size_t i = 0; i < r->n_ops && !out->oom; i++) {
        uint32_t index = r->ops[i] >> 3;
        enum request_kind kind = (enum request_kind)(r->ops[i] & 7);
        if (o && o->reserved_series)
            for (; filled < r->event[i]; filled++)
                o->reserved_series[filled] = pool;
        if (kind == REQUEST_ALLOC || kind == REQUEST_OOM) {
            uint64_t n = kind == REQUEST_ALLOC ? msnap_alloc_size(h, index) : r->ooms[index].size;
            struct sums more = s;
            add(&more, n, true);
            uint64_t use = c->async_backend ? more.requested : held(c, &more);
            bool refused = (c->limit != MSNAP_NO_LIMIT && use > c->limit) || (c->capacity != MSNAP_NO_LIMIT && held(c, &more) > c->capacity);
            if (refused && (kind == REQUEST_ALLOC || !r->ooms[index].survived)) {
                out->oom = true;
                out->oom_event = r->event[i];
                out->oom_ordinal = kind == REQUEST_ALLOC ? index - r->first_ordinal_row + 1 : h->allocs.n - r->first_ordinal_row + 1;
                out->oom_requested = out->oom_segment = n;
                out->oom_held = pool;
            } else if (kind == REQUEST_ALLOC) {
                s = more;
                out->requests++;
                out->stats.num_device_alloc += c->no_caching;
            }
        } else if (kind == REQUEST_FREE || kind == REQUEST_READY) {
            add(&s, msnap_alloc_size(h, index), false);
            out->stats.num_device_free += c->no_caching;
        } else if (kind == REQUEST_EMPTY && c->async_backend) {
            pool = held(c, &s); /* trimmed */
        }
        uint64_t now = held(c, &s);
        pool = c->async_backend && now < pool ? pool : now; /* the pool keeps what it has */
        note(reserved, pool);
        note(allocated, s.requested);
    }
    if (o && o->reserved_series)
        for (; filled < h->device->n_events; filled++)
            o->reserved_series[filled] = pool;
    out->stats.max_split_size = -1;
}
