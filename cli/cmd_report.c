/* cmd_report.c -- `memsnap report`: the whole story of each file. */
#include "commands.h"
#include "oom_words.h"
#include "report.h"
#include "rules_file.h"

#include <stdlib.h>

static const struct opt options[] = {
    {"top", 'n', OPT_INT, "N", NULL, "rows in each table (default: 8 stacks, 6 lines)", 1, 100000},
    {"explain", 0, OPT_FLAG, NULL, NULL, "list the rules that decided the categories, with their bytes", 0, 0},
    OPT_RULES,
    OOM_OPTIONS,
    {0}};

static int report(const struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s,
                  const struct msnap_user_rules *rules)
{
    struct device_facts *facts = calloc(s->n_devices + 1, sizeof *facts);
    const struct msnap_oom_options known = oom_options(cli);
    struct msnap_error err = {0};
    size_t n = 0;
    int code = EXIT_FINE;

    if (!facts)
        return cli_error(EXIT_MACHINE, path, "no memory");
    for (size_t i = 0; i < s->n_devices && code == EXIT_FINE; i++)
        if (cli_wants_device(cli, &s->devices[i]) &&
            facts_build(s, &s->devices[i], &known, rules, &facts[n++], &err) != MSNAP_OK)
            code = cli_fail(cli, path, &err);
    if (code == EXIT_FINE && cli_given(cli, "json"))
        code = report_json(out, path, facts, n);
    else if (code == EXIT_FINE)
        report_text(out, path, s, facts, n, (size_t)cli_int(cli, "top", 0),
                    cli_given(cli, "explain"));
    for (size_t i = 0; i < n; i++)
        facts_free(&facts[i]);
    free(facts);
    return code;
}

static int run(struct cli *cli)
{
    const struct msnap_device *device;
    struct rules_file rules;
    struct output out;
    int worst = EXIT_FINE;

    int code = output_open(cli, &out);
    if (code != EXIT_FINE)
        return code;
    code = rules_open(cli, &rules);
    if (code != EXIT_FINE) {
        rules_close(&rules);
        return output_close(cli, &out, code);
    }
    for (size_t i = 0; i < cli->n_operands && !out.sink.failed; i++) {
        const char *path = cli->operands[i];
        struct msnap_snapshot *s;
        code = cli_open(cli, path, &s);
        if (code == EXIT_FINE) {
            code = cli_given(cli, "device") ? cli_device(cli, path, s, &device) : EXIT_FINE;
            if (i && code == EXIT_FINE && !cli_given(cli, "json"))
                msnap_puts(&out.sink, "\n");
            if (code == EXIT_FINE)
                code = report(cli, &out, path, s, &rules.rules);
            msnap_snapshot_free(s);
        }
        /* One bad file must not hide the others. */
        if (code > worst)
            worst = code;
    }
    rules_close(&rules);
    return output_close(cli, &out, worst);
}

const struct command command_report = {
    .name = "report",
    .summary = "The whole story on a screen or two",
    .operands = "FILE...",
    .about = "For each device of each file: how much of the run the recording covers, the peak and what\n"
             "filled it, by call stack and by source line, memory reserved and not used, running out of\n"
             "memory, and what memsnap does not know. The tables' rows add up to the peak, byte for byte.\n\n"
             "Words are PyTorch's: \"allocated\" is what live tensors hold, rounded up to whole blocks;\n"
             "\"active\" also counts blocks that were freed and wait for other streams; \"reserved\" is\n"
             "what the allocator took from the device; \"requested\" is what the program asked for.\n\n"
             "With several files and --json: one document a line, in the order of the files.\n",
    .examples = "  memsnap report run.pickle\n"
                "  memsnap report --json rank*.pickle.gz\n",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .takes = TAKES_DEVICE | TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT | TAKES_COLOR,
    .opts = options,
    .run = run};
