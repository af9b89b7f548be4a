/* cmd_tune.c -- `memsnap tune`: many settings simulated and ranked. */
#include "commands.h"
#include "figures.h"
#include "json.h"
#include "simulate_words.h"
#include "term.h"

#include <memsnap/tune.h>

#include <inttypes.h>
#include <string.h>

static const char *const by_words[] = {"peak", "limit", NULL};
static const struct opt options[] = {
    {.name = "by", .kind = OPT_CHOICE, .choices = by_words, .help = "rank by peak reserved bytes, or by the smallest limit at which the run still fits\n(default: limit where there is one or an OOM, else peak)"},
    {.name = "limit", .kind = OPT_SIZE, .arg = "SIZE", .help = "the process's limit that the run must fit under"},
    {.name = "capacity", .kind = OPT_SIZE, .arg = "SIZE", .help = "what the device can give this process"},
    {.name = "top", .letter = 'n', .kind = OPT_INT, .arg = "N", .help = "rows in the table (default: 12)", .min = 1, .max = 1000},
    {.name = "threads", .kind = OPT_INT, .arg = "N", .help = "simulations at once (default: one for each processor)", .min = 1, .max = 64},
    {0}};

static void add_row(struct json *j, cJSON *list, const struct msnap_tune_row *r)
{
    cJSON *item = json_object(j, list, NULL);
    json_text(j, item, "conf", r->conf, strlen(r->conf));
    json_bool(j, item, "recorded", r->recorded);
    json_bool(j, item, "fits", r->fits);
    json_u64(j, item, "peak_reserved_bytes", r->peak_reserved);
    json_u64(j, item, "cuda_mallocs", r->cuda_mallocs);
    json_u64(j, item, "retries", r->retries);
    if (r->limit_known)
        json_u64(j, item, "smallest_limit_bytes", r->smallest_limit);
    else
        json_null(j, item, "smallest_limit_bytes");
}

static int put_json(struct msnap_sink *out, const char *path, const struct msnap_history *h, const struct msnap_tune *t, size_t rows)
{
    struct json j;
    json_start(&j, "memsnap.tune/1");
    json_text(&j, j.root, "file", path, strlen(path));
    json_i64(&j, j.root, "device", h->device->device);
    if (t->limit != MSNAP_NO_LIMIT)
        json_u64(&j, j.root, "limit_bytes", t->limit);
    else
        json_null(&j, j.root, "limit_bytes");
    json_u64(&j, j.root, "live_peak_bytes", t->live_peak);
    json_u64(&j, j.root, "requested_peak_bytes", t->requested_peak);
    json_u64(&j, j.root, "packed_bytes", t->packed);
    cJSON *list = json_array(&j, j.root, "settings");
    for (size_t i = 0; i < t->n && i < rows; i++)
        add_row(&j, list, &t->rows[i]);
    return json_finish(&j, out);
}

static void put_row(struct output *out, const struct msnap_tune_row *r, bool limits)
{
    struct msnap_sink *t = &out->sink;
    char a[24], b[24] = "-";
    if (r->limit_known)
        msnap_format_bytes(b, r->smallest_limit);
    msnap_putf(t, "  %12s ", msnap_format_bytes(a, r->peak_reserved));
    if (limits)
        msnap_putf(t, "%14s ", b);
    msnap_putf(t, "%12" PRIu64 " %8" PRIu64 "   ", r->cuda_mallocs, r->retries);
    if (!r->fits)
        term_put(t, out->color, STYLE_BAD, "out of memory: ");
    if (*r->conf)
        msnap_put_terminal(t, r->conf, strlen(r->conf));
    else
        msnap_puts(t, "PyTorch's defaults");
    msnap_puts(t, r->recorded ? "  (as recorded)\n" : "\n");
}

static void put_text(struct output *out, const struct msnap_history *h, const struct msnap_tune *r, size_t rows, bool limits)
{
    struct msnap_sink *t = &out->sink;
    char size[24];
    put_device(t, h->device);
    msnap_putf(t, ", %zu settings simulated", r->n);
    if (r->limit != MSNAP_NO_LIMIT)
        msnap_putf(t, " under a limit of %s", msnap_format_bytes(size, r->limit));
    if (r->capacity != MSNAP_NO_LIMIT)
        msnap_putf(t, " on %s", msnap_format_bytes(size, r->capacity));
    msnap_puts(t, "\n\n");
    msnap_putf(t, "  %12s ", "peak");
    if (limits)
        msnap_putf(t, "%14s ", "smallest limit");
    msnap_putf(t, "%12s %8s   setting\n", "cudaMallocs", "retries");
    bool shown_recorded = false;
    for (size_t i = 0; i < r->n && i < rows; i++) {
        put_row(out, &r->rows[i], limits);
        shown_recorded = shown_recorded || r->rows[i].recorded;
    }
    for (size_t i = rows; i < r->n && !shown_recorded; i++)
        if (r->rows[i].recorded) {
            msnap_puts(t, "           ...\n");
            put_row(out, &r->rows[i], limits);
            shown_recorded = true;
        }
    msnap_puts(t, "\n  What is left to gain, whatever the allocator:\n");
    msnap_putf(t, "  %12s   requested and live at once; no allocator can hold less\n", msnap_format_bytes(size, r->requested_peak));
    msnap_putf(t, "  %12s   a packing that knows the future and moves nothing\n", msnap_format_bytes(size, r->packed));
    if (r->n && r->rows[0].fits && !r->rows[0].recorded)
        msnap_putf(t, "\n  Try:  export PYTORCH_CUDA_ALLOC_CONF=%s\n", *r->rows[0].conf ? r->rows[0].conf : "\"\"");
    else if (r->n && r->rows[0].fits)
        msnap_puts(t, "\n  The recorded settings are the best of these.\n");
    else
        msnap_puts(t, "\n  No setting makes it fit: the run needs more memory, or less to hold.\n");
}

static int tune(struct cli *cli, struct output *out, const char *path, const struct msnap_history *h, struct msnap_arena *arena)
{
    const struct msnap_requests *r;
    struct msnap_sim_config recorded;
    struct msnap_tune t;
    struct msnap_error err = {0};
    if (msnap_sim_config_recorded(h, arena, &recorded, &err) != MSNAP_OK || msnap_requests_build(h, arena, &r, &err) != MSNAP_OK)
        return cli_fail(cli, path, &err);
    bool given = cli_given(cli, "limit") || cli_given(cli, "capacity");
    struct msnap_tune_options o = {.limit = cli_size(cli, "limit", given ? MSNAP_NO_LIMIT : recorded.limit),
                                   .capacity = cli_size(cli, "capacity", given ? MSNAP_NO_LIMIT : recorded.capacity),
                                   .threads = (unsigned)cli_int(cli, "threads", 0)};
    bool bounded = o.limit != MSNAP_NO_LIMIT || o.capacity != MSNAP_NO_LIMIT;
    o.by = cli_choice(cli, "by", bounded ? 1 : 0) ? MSNAP_TUNE_BY_LIMIT : MSNAP_TUNE_BY_PEAK;
    if (msnap_tune_run(h, r, &o, arena, &t, &err) != MSNAP_OK)
        return cli_fail(cli, path, &err);
    if (cli_given(cli, "json"))
        return put_json(&out->sink, path, h, &t, (size_t)cli_int(cli, "top", 1000));
    put_text(out, h, &t, (size_t)cli_int(cli, "top", 12), o.by == MSNAP_TUNE_BY_LIMIT);
    return EXIT_FINE;
}

static int run(struct cli *cli) { return cli_on_requests(cli, tune); }

const struct command command_tune = {
    .name = "tune",
    .summary = "Many allocator settings simulated and ranked, with the line to export",
    .operands = "FILE",
    .about = "Simulates some sixty settings of PYTORCH_CUDA_ALLOC_CONF and their combinations on the recorded\n"
             "requests and ranks them: what fits before what does not, then by the smallest limit at which the\n"
             "run still fits (found by bisection), or by peak reserved bytes; the number of cudaMalloc calls\n"
             "and retries is the price. Beside it: what no setting can beat.\n",
    .examples = "  memsnap tune run.pickle\n"
                "  memsnap tune --limit 40GiB --json run.pickle\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT | TAKES_COLOR,
    .opts = options,
    .run = run};
