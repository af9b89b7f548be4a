/* cmd_simulate.c -- `memsnap simulate`: the same allocations under other settings. */
#include "commands.h"
#include "simulate_words.h"

#include "figures.h"
#include "term.h"

#include <stdlib.h>
#include <string.h>

static const struct opt options[] = {SIMULATE_OPTIONS,
                                     {.name = "empty-cache-at", .kind = OPT_STRING, .arg = "EVENTS", .help = "comma-separated event numbers: an empty_cache() is added after each"},
                                     {0}};

/* "120,4500" to ascending numbers; -1 and a message where it is something else. */
static int read_events(const struct cli *cli, uint32_t **out, size_t *n)
{
    const char *p = cli_text(cli, "empty-cache-at");
    size_t cap = strlen(p) / 2 + 2;
    *n = 0;
    *out = calloc(cap, sizeof **out);
    if (!*out)
        return cli_error(EXIT_MACHINE, NULL, "no memory");
    while (*p) {
        char *end;
        const unsigned long v = strtoul(p, &end, 10);
        if (end == p || v >= UINT32_MAX || (*n && v < (*out)[*n - 1]) || (*end && *end != ','))
            return cli_usage(cli->command, "--empty-cache-at takes ascending event numbers with commas, not \"%s\"", cli_text(cli, "empty-cache-at"));
        (*out)[(*n)++] = (uint32_t)v;
        p = *end ? end + 1 : end;
    }
    return EXIT_FINE;
}

static int run_on(struct cli *cli, struct output *out, const char *path, const struct msnap_history *h, struct msnap_arena *arena)
{
    const struct msnap_requests *r;
    struct msnap_sim_config config;
    struct msnap_sim_options o = {0};
    struct msnap_sim_result result;
    struct msnap_error err = {0};
    uint32_t *events = NULL;
    int code = simulate_config(cli, path, h, arena, &config, &o.follow_recorded_addresses);
    if (code == EXIT_FINE && cli_given(cli, "empty-cache-at")) {
        code = read_events(cli, &events, &o.n_empty_cache);
        o.empty_cache_at = events;
        o.follow_recorded_addresses = false;
    }
    if (code == EXIT_FINE && (msnap_requests_build(h, arena, &r, &err) != MSNAP_OK || msnap_simulate(r, &config, &o, &result, &err) != MSNAP_OK))
        code = err.status == MSNAP_EUSAGE ? cli_usage(cli->command, "%s", err.text) : cli_fail(cli, path, &err);
    free(events);
    if (code != EXIT_FINE)
        return code;
    if (cli_given(cli, "json"))
        code = simulate_json(&out->sink, path, cli_given(cli, "conf") ? cli_text(cli, "conf") : NULL, h, &config, &result);
    else
        simulate_text(out, h, cli_given(cli, "conf") ? cli_text(cli, "conf") : NULL, &config, &result);
    return code == EXIT_FINE && result.oom ? EXIT_IS_SO : code;
}

static int run(struct cli *cli) { return cli_on_requests(cli, run_on); }

const struct command command_simulate = {
    .name = "simulate",
    .summary = "The same allocations through the caching allocator under other settings",
    .operands = "FILE",
    .about = "Runs the recorded requests of one device through a faithful model of PyTorch's allocator (2.11)\n"
             "under the settings of --conf, a PYTORCH_CUDA_ALLOC_CONF string; without it under the recorded\n"
             "ones, where every allocation must land at its recorded address. A request that fails here and\n"
             "was served in the recording ends the simulation: exit status 1.\n\n"
             "Without --limit and --capacity the limit that the recording's own OOM events show holds, if any;\n"
             "--no-limit takes it away. A recording that begins late is simulated from its rebuilt first state.\n",
    .examples = "  memsnap simulate --conf expandable_segments:True run.pickle\n"
                "  memsnap simulate --conf \"\" --limit 40GiB --json run.pickle\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT | TAKES_COLOR,
    .opts = options,
    .run = run};
