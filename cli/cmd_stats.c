/* cmd_stats.c -- `memsnap stats`: torch.cuda.memory_stats() and memory_summary() from a snapshot. */
#include "commands.h"
#include "figures.h"
#include "json.h"
#include "summary_table.h"

#include <memsnap/stats.h>

#include <string.h>

static const struct opt options[] = {
    {.name = "summary", .kind = OPT_FLAG, .help = "Print it in the layout of torch.cuda.memory_summary()"},
    {.name = "abbreviated", .kind = OPT_FLAG, .help = "With --summary: leave out the rows of the small and the large pool"},
    {0}};

static void add_json(struct json *j, cJSON *devices, const struct msnap_device *device, const struct msnap_stat *list)
{
    cJSON *d = json_object(j, devices, NULL);
    json_i64(j, d, "device", device->device);
    cJSON *stats = json_object(j, d, "stats");
    for (size_t i = 0; i < MSNAP_N_STATS; i++) {
        if (list[i].known)
            json_i64(j, stats, list[i].key, list[i].value);
        else
            json_null(j, stats, list[i].key);
    }
}

static void put_text(struct msnap_sink *t, const struct msnap_device *device, const struct msnap_stats *stats, const struct msnap_stat *list)
{
    put_device(t, device);
    msnap_puts(t, "\n");
    if (!stats->totals_known)
        msnap_puts(t, "  The history is cut or absent, so peaks and totals since the start are not known (-).\n");
    for (size_t i = 0; i < MSNAP_N_STATS; i++) {
        msnap_putf(t, "  %-40s ", list[i].key);
        if (!list[i].known) {
            msnap_putf(t, "%20s\n", "-");
            continue;
        }
        msnap_putf(t, "%20lld", (long long)list[i].value);
        if (strstr(list[i].key, "bytes") && list[i].value >= 1024) {
            char size[24];
            msnap_putf(t, "   %s", msnap_format_bytes(size, (uint64_t)list[i].value));
        }
        msnap_puts(t, "\n");
    }
}

static int print_device(struct cli *cli, const char *path, const struct msnap_snapshot *s, const struct msnap_device *device,
                        struct json *j, cJSON *devices, struct msnap_sink *out)
{
    struct msnap_history h;
    struct msnap_stats stats;
    struct msnap_stat list[MSNAP_N_STATS];
    struct msnap_error err = {0};
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    if (!arena)
        return cli_error(EXIT_MACHINE, path, "no memory");
    int code = EXIT_FINE;
    if (msnap_history_build(s, device, 0, arena, &h, &err) != MSNAP_OK || msnap_stats_build(&h, arena, &stats, &err) != MSNAP_OK) {
        code = cli_fail(cli, path, &err);
    } else {
        msnap_stats_list(&stats, list);
        if (devices)
            add_json(j, devices, device, list);
        else if (cli_given(cli, "summary"))
            put_summary_table(out, device->device, &stats, cli_given(cli, "abbreviated"));
        else
            put_text(out, device, &stats, list);
    }
    msnap_arena_free(arena);
    return code;
}

static int print(struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s)
{
    struct json j;
    cJSON *devices = NULL;
    int code = EXIT_FINE;
    bool json = cli_given(cli, "json");
    if (json) {
        json_start(&j, "memsnap.stats/1");
        json_text(&j, j.root, "file", path, strlen(path));
        devices = json_array(&j, j.root, "devices");
    }
    bool first = true;
    for (size_t i = 0; i < s->n_devices && code == EXIT_FINE; i++) {
        if (s->devices[i].device == MSNAP_HOST || !cli_wants_device(cli, &s->devices[i]))
            continue;
        if (!json && !first)
            msnap_puts(&out->sink, "\n");
        first = false;
        code = print_device(cli, path, s, &s->devices[i], &j, devices, &out->sink);
    }
    if (json) {
        int finished = json_finish(&j, &out->sink);
        return code != EXIT_FINE ? code : finished;
    }
    if (first && code == EXIT_FINE)
        msnap_puts(&out->sink, "No device has events or segments: there is nothing to count.\n");
    return code;
}

static int run(struct cli *cli) { return cli_on_snapshot(cli, print); }

const struct command command_stats = {
    .name = "stats",
    .summary = "torch.cuda.memory_stats() and memory_summary(), rebuilt from the snapshot",
    .operands = "FILE",
    .about = "All 122 keys of PyTorch 2.11, each with the value that the run itself would have printed at\n"
             "the dump. Where the history is cut or absent, peaks and totals since the start cannot be\n"
             "known: they are null in JSON and - here. Resets (reset_peak_memory_stats) leave no trace.\n"
             "num_alloc_retries and num_sync_all_streams are not recorded; they are told from the segments\n"
             "that were given back, and an empty_cache() that freed nothing is not seen.\n",
    .examples = "  memsnap stats --summary run.pickle\n"
                "  memsnap stats --json run.pickle\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT,
    .opts = options,
    .run = run};
