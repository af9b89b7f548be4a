/* tune.c -- a list of sensible settings, each simulated, some of them under many limits. */
#include <memsnap/tune.h>

#include "analysis/requests.h"
#include "base/arena.h"
#include "base/status.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Single options and the combinations that make sense together. %s is filled with nothing. */
static const char *const settings[] = {
    "",
    "expandable_segments:True",
    "max_split_size_mb:32", "max_split_size_mb:64", "max_split_size_mb:128", "max_split_size_mb:256", "max_split_size_mb:512", "max_split_size_mb:1024",
    "roundup_power2_divisions:1", "roundup_power2_divisions:2", "roundup_power2_divisions:4", "roundup_power2_divisions:8", "roundup_power2_divisions:16",
    "roundup_power2_divisions:32",
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "roundup_power2_divisions:[64:16,>:8]", "roundup_power2_divisions:[16:8,64:4,>:0]",
    "large_segment_size_mb:32", "large_segment_size_mb:64", "large_segment_size_mb:128", "large_segment_size_mb:256",
    "expandable_segments:True,roundup_power2_divisions:2", "expandable_segments:True,roundup_power2_divisions:4",
    "expandable_segments:True,roundup_power2_divisions:8", "expandable_segments:True,roundup_power2_divisions:16",
    "expandable_segments:True,large_segment_size_mb:32", "expandable_segments:True,large_segment_size_mb:64", "expandable_segments:True,large_segment_size_mb:128",
    "max_split_size_mb:32,roundup_power2_divisions:4", "max_split_size_mb:32,roundup_power2_divisions:8", "max_split_size_mb:32,roundup_power2_divisions:16",
    "max_split_size_mb:64,roundup_power2_divisions:4", "max_split_size_mb:64,roundup_power2_divisions:8", "max_split_size_mb:64,roundup_power2_divisions:16",
    "max_split_size_mb:128,roundup_power2_divisions:4", "max_split_size_mb:128,roundup_power2_divisions:8", "max_split_size_mb:128,roundup_power2_divisions:16",
    "max_split_size_mb:256,roundup_power2_divisions:4", "max_split_size_mb:256,roundup_power2_divisions:8", "max_split_size_mb:256,roundup_power2_divisions:16",
    "max_split_size_mb:512,roundup_power2_divisions:8", "max_split_size_mb:512,roundup_power2_divisions:16",
    "max_split_size_mb:32,max_non_split_rounding_mb:64", "max_split_size_mb:64,max_non_split_rounding_mb:64", "max_split_size_mb:128,max_non_split_rounding_mb:128",
    "max_split_size_mb:256,max_non_split_rounding_mb:256",
    "large_segment_size_mb:64,roundup_power2_divisions:4", "large_segment_size_mb:64,roundup_power2_divisions:8",
    "large_segment_size_mb:64,max_split_size_mb:64", "large_segment_size_mb:64,max_split_size_mb:128", "large_segment_size_mb:128,max_split_size_mb:256",
    "garbage_collection_threshold:0.6", "garbage_collection_threshold:0.8", "garbage_collection_threshold:0.9",
    "garbage_collection_threshold:0.6,max_split_size_mb:64", "garbage_collection_threshold:0.6,max_split_size_mb:128", "garbage_collection_threshold:0.6,max_split_size_mb:256",
    "garbage_collection_threshold:0.8,max_split_size_mb:64", "garbage_collection_threshold:0.8,max_split_size_mb:128", "garbage_collection_threshold:0.8,max_split_size_mb:256",
    "garbage_collection_threshold:0.8,roundup_power2_divisions:8", "garbage_collection_threshold:0.8,expandable_segments:True",
    "garbage_collection_threshold:0.6,max_split_size_mb:128,roundup_power2_divisions:8", "garbage_collection_threshold:0.8,max_split_size_mb:256,roundup_power2_divisions:8",
};
enum { N_SETTINGS = sizeof settings / sizeof *settings, SEARCHED_IN_LARGE = 6 };
#define STEP (UINT64_C(2) << 20)
/* Up to this many requests in all a limit is searched for every setting. */
#define CHEAP ((uint64_t)30000000)

struct job {
    const struct msnap_requests *r;
    const struct msnap_tune_options *o;
    struct msnap_tune_row *rows;
    struct msnap_sim_config *configs;
    const size_t *order; /* rows to work on */
    size_t n, next;
    uint64_t floor;      /* no limit below this can hold */
    bool search;         /* for the smallest limit; else one run under the given one */
    pthread_mutex_t lock;
    enum msnap_status status;
    struct msnap_error err;
};

static enum msnap_status one_run(const struct job *j, const struct msnap_sim_config *c, uint64_t limit, struct msnap_sim_result *out, struct msnap_error *err)
{
    struct msnap_sim_config config = *c;
    config.limit = limit;
    config.capacity = j->o->capacity;
    return msnap_simulate(j->r, &config, NULL, out, err);
}

/* Bisection: a larger limit is taken to be no worse, which garbage collection may break by a little. */
static enum msnap_status search_limit(const struct job *j, size_t row, struct msnap_error *err)
{
    struct msnap_tune_row *t = &j->rows[row];
    struct msnap_sim_result res;
    enum msnap_status s = one_run(j, &j->configs[row], MSNAP_NO_LIMIT, &res, err);
    if (s != MSNAP_OK)
        return s;
    uint64_t high = res.stats.family[MSNAP_BYTES_RESERVED][0].peak, low = j->floor;
    if (res.oom)
        return MSNAP_OK; /* not even the capacity is enough */
    /* The last segment is checked at its whole size, so held plus segment may exceed the peak. */
    high += UINT64_C(32) << 20;
    if (t->fits && j->o->limit < high)
        high = j->o->limit; /* that it fits there is known */
    while (high - low > STEP) {
        uint64_t mid = low + (high - low) / 2;
        if ((s = one_run(j, &j->configs[row], mid, &res, err)) != MSNAP_OK)
            return s;
        if (res.oom)
            low = mid;
        else
            high = mid;
    }
    t->smallest_limit = high;
    t->limit_known = true;
    return MSNAP_OK;
}

static enum msnap_status run_setting(const struct job *j, size_t row, struct msnap_error *err)
{
    struct msnap_tune_row *t = &j->rows[row];
    struct msnap_sim_result res;
    if (j->search)
        return search_limit(j, row, err);
    enum msnap_status s = one_run(j, &j->configs[row], j->o->limit, &res, err);
    if (s != MSNAP_OK)
        return s;
    t->fits = !res.oom;
    t->peak_reserved = res.stats.family[MSNAP_BYTES_RESERVED][0].peak;
    t->cuda_mallocs = res.stats.num_device_alloc;
    t->retries = res.stats.num_alloc_retries;
    return MSNAP_OK;
}

static void *work(void *arg)
{
    struct job *j = arg;
    for (;;) {
        pthread_mutex_lock(&j->lock);
        size_t i = j->status == MSNAP_OK ? j->next++ : j->n;
        pthread_mutex_unlock(&j->lock);
        if (i >= j->n)
            return NULL;
        struct msnap_error err = {0};
        enum msnap_status s = run_setting(j, j->order[i], &err);
        if (s != MSNAP_OK) {
            pthread_mutex_lock(&j->lock);
            j->status = s;
            j->err = err;
            pthread_mutex_unlock(&j->lock);
        }
    }
}

static enum msnap_status run_all(struct job *j, unsigned threads, struct msnap_error *err)
{
    pthread_t thread[64];
    unsigned started = 0;
    j->next = 0;
    j->status = MSNAP_OK;
    if (threads > 64)
        threads = 64;
    for (unsigned k = 1; k < threads && k < j->n; k++)
        if (pthread_create(&thread[started], NULL, work, j) == 0)
            started++;
    work(j);
    for (unsigned k = 0; k < started; k++)
        pthread_join(thread[k], NULL);
    if (j->status != MSNAP_OK && err)
        *err = j->err;
    return j->status;
}

static bool better(const struct msnap_tune_row *a, const struct msnap_tune_row *b, enum msnap_tune_by by)
{
    if (a->fits != b->fits)
        return a->fits;
    if (by == MSNAP_TUNE_BY_LIMIT && a->limit_known != b->limit_known)
        return a->limit_known;
    if (by == MSNAP_TUNE_BY_LIMIT && a->limit_known && a->smallest_limit != b->smallest_limit)
        return a->smallest_limit < b->smallest_limit;
    if (a->peak_reserved != b->peak_reserved)
        return a->fits ? a->peak_reserved < b->peak_reserved : a->peak_reserved > b->peak_reserved;
    uint64_t cost_a = a->cuda_mallocs + 10 * a->retries, cost_b = b->cuda_mallocs + 10 * b->retries;
    if (cost_a != cost_b)
        return cost_a < cost_b;
    size_t la = strlen(a->conf), lb = strlen(b->conf);
    return la != lb ? la < lb : strcmp(a->conf, b->conf) < 0;
}

static void sort_order(size_t *order, size_t n, const struct msnap_tune_row *rows, enum msnap_tune_by by)
{
    for (size_t i = 1; i < n; i++) { /* a hundred rows at most */
        size_t v = order[i], k = i;
        for (; k && better(&rows[v], &rows[order[k - 1]], by); k--)
            order[k] = order[k - 1];
        order[k] = v;
    }
}

enum msnap_status msnap_tune_run(const struct msnap_history *h, const struct msnap_requests *r, const struct msnap_tune_options *o,
                                 struct msnap_arena *arena, struct msnap_tune *out, struct msnap_error *err)
{
    struct msnap_sim_config recorded;
    size_t n = 0, order[N_SETTINGS + 1];
    enum msnap_status s = msnap_sim_config_recorded(h, arena, &recorded, err);
    if (s != MSNAP_OK)
        return s;
    struct msnap_tune_row *rows = MSNAP_NEW(arena, struct msnap_tune_row, N_SETTINGS + 1), *sorted = MSNAP_NEW(arena, struct msnap_tune_row, N_SETTINGS + 1);
    struct msnap_sim_config *configs = MSNAP_NEW(arena, struct msnap_sim_config, N_SETTINGS + 1);
    if (!rows || !sorted || !configs)
        return msnap_fail(err, MSNAP_ENOMEM, "no memory for the settings");
    bool have_recorded = false;
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if ((s = msnap_sim_config_parse(settings[i], strlen(settings[i]), &configs[n], err)) != MSNAP_OK)
            return s;
        if (configs[n].gc_threshold > 0 && o->limit == MSNAP_NO_LIMIT)
            continue; /* it only works where a limit is set */
        snprintf(rows[n].conf, sizeof rows[n].conf, "%s", settings[i]);
        rows[n].recorded = msnap_sim_config_equal(&configs[n], &recorded);
        have_recorded = have_recorded || rows[n].recorded;
        n++;
    }
    if (!have_recorded) {
        const struct msnap_snapshot *snap = h->snapshot;
        configs[n] = recorded;
        snprintf(rows[n].conf, sizeof rows[n].conf, "%s", snap->strings.bytes[snap->settings.conf]);
        rows[n++].recorded = true;
    }
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    struct job j = {.r = r, .o = o, .rows = rows, .configs = configs, .order = order, .n = n, .floor = h->peak_requested};
    pthread_mutex_init(&j.lock, NULL);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = o->threads ? o->threads : cpus > 0 ? (unsigned)cpus : 1;
    s = run_all(&j, threads, err);
    if (s == MSNAP_OK && o->by == MSNAP_TUNE_BY_LIMIT) {
        sort_order(order, n, rows, MSNAP_TUNE_BY_PEAK);
        j.search = true;
        if ((uint64_t)r->n_ops * n * 12 > CHEAP)
            j.n = n < SEARCHED_IN_LARGE ? n : SEARCHED_IN_LARGE;
        s = run_all(&j, threads, err);
    }
    pthread_mutex_destroy(&j.lock);
    struct msnap_tune t = {.n = n, .rows = sorted, .live_peak = h->peak.totals.allocated, .requested_peak = h->peak_requested, .limit = o->limit, .capacity = o->capacity};
    if (s == MSNAP_OK)
        s = msnap_pack_offline(h, arena, &t.packed, err);
    if (s != MSNAP_OK)
        return s;
    sort_order(order, n, rows, o->by);
    for (size_t i = 0; i < n; i++)
        sorted[i] = rows[order[i]];
    *out = t;
    return MSNAP_OK;
}
