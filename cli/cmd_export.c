/* cmd_export.c -- `memsnap export`: the file's tables as rows. */
#include "commands.h"
#include "export_tables.h"
#include "rules_file.h"
#include "window.h"

enum table { EVENTS, ALLOCATIONS, SEGMENTS, BLOCKS, STACKS };
static const char *const table_words[] = {"events", "allocations", "segments", "blocks", "stacks", NULL};
static const char *const format_words[] = {"ndjson", "csv", NULL}; /* in the order of enum row_format */

static const struct opt options[] = {
    {"table", 't', OPT_CHOICE, NULL, table_words, "which table (default: events)", 0, 0},
    {"format", 0, OPT_CHOICE, NULL, format_words,
     "one JSON object a line, or CSV with a header\n(default: ndjson)", 0, 0},
    WINDOW_OPTIONS("events"),
    OPT_RULES,
    {0}};

/* One device's rows of the tables that need its books. */
static int export_books(const struct cli *cli, const char *path, enum table table, struct rows *rows,
                        const struct msnap_snapshot *s, const struct msnap_device *device, const struct msnap_user_rules *rules)
{
    struct msnap_history h;
    struct msnap_steps steps;
    struct msnap_classes classes;
    struct msnap_error err = {0};
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    int64_t first, last;

    if (!arena)
        return cli_error(EXIT_MACHINE, path, "no memory for the device's history");
    enum msnap_status status = msnap_history_build(s, device, table == EVENTS ? MSNAP_WITH_SERIES : 0, arena, &h, &err);
    int code = status == MSNAP_OK ? window_of(cli, path, &h, &first, &last) : EXIT_FINE;
    if (status == MSNAP_OK && code == EXIT_FINE && last < first && device->n_events)
        cli_note(cli, "device %d: no events lie between --from and --to", (int)device->device);
    if (status == MSNAP_OK && code == EXIT_FINE && table == EVENTS) {
        status = export_events(rows, &h, first, last, arena, &err);
    } else if (status == MSNAP_OK && code == EXIT_FINE) {
        status = msnap_steps_build(&h, arena, &steps, &err);
        if (status == MSNAP_OK)
            status = msnap_classify(&h, &steps, rules, arena, &classes, &err);
        if (status == MSNAP_OK)
            status = export_allocations(rows, &h, &classes, first, last, arena, &err);
    }
    msnap_arena_free(arena);
    return status == MSNAP_OK ? code : cli_fail(cli, path, &err);
}

static int export_table(const struct cli *cli, const char *path, enum table table, struct rows *rows,
                        const struct msnap_snapshot *s, const struct msnap_user_rules *rules)
{
    struct msnap_error err = {0};

    if (table == STACKS)
        return export_stacks(rows, s, &err) == MSNAP_OK ? EXIT_FINE : cli_fail(cli, path, &err);
    for (size_t i = 0; i < s->n_devices; i++) {
        const struct msnap_device *device = &s->devices[i];
        if (!cli_wants_device(cli, device))
            continue;
        const int code = table == SEGMENTS || table == BLOCKS ? EXIT_FINE : export_books(cli, path, table, rows, s, device, rules);
        if (code != EXIT_FINE)
            return code;
        if (table == SEGMENTS)
            export_segments(rows, s, device);
        else if (table == BLOCKS)
            export_blocks(rows, s, device);
    }
    return EXIT_FINE;
}

static int run(struct cli *cli)
{
    static const char *const *const columns[] = {[EVENTS] = export_event_columns,
                                                 [ALLOCATIONS] = export_allocation_columns,
                                                 [SEGMENTS] = export_segment_columns,
                                                 [BLOCKS] = export_block_columns,
                                                 [STACKS] = export_stack_columns};
    const enum table table = (enum table)cli_choice(cli, "table", EVENTS);
    const char *path = cli->operands[0];
    const struct msnap_device *device;
    struct msnap_snapshot *s;
    struct rules_file rules;
    struct output out;
    struct rows rows;

    int code = window_check(cli);
    if (code != EXIT_FINE)
        return code;
    if (table != EVENTS && table != ALLOCATIONS && (cli_given(cli, "from") || cli_given(cli, "to")))
        return cli_usage(cli->command,
                         "--from and --to select events and allocations; the table %s has no time",
                         table_words[table]);
    if (table != ALLOCATIONS && cli_given(cli, "rules"))
        return cli_usage(cli->command, "--rules decides categories, which the table allocations has");
    code = output_open(cli, &out);
    if (code != EXIT_FINE)
        return code;
    code = rules_open(cli, &rules);
    if (code == EXIT_FINE)
        code = cli_open(cli, path, &s);
    if (code != EXIT_FINE) {
        rules_close(&rules);
        return output_close(cli, &out, code);
    }
    code = cli_given(cli, "device") ? cli_device(cli, path, s, &device) : EXIT_FINE;
    if (code == EXIT_FINE) {
        rows_start(&rows, &out.sink, (enum row_format)cli_choice(cli, "format", ROWS_NDJSON), columns[table]);
        code = export_table(cli, path, table, &rows, s, &rules.rules);
    }
    msnap_snapshot_free(s);
    rules_close(&rules);
    return output_close(cli, &out, code);
}

const struct command command_export = {
    .name = "export",
    .summary = "The file's tables as rows, NDJSON or CSV",
    .operands = "FILE",
    .about = "Tables: events (every entry of the traces, with the allocator's totals after it),\n"
             "allocations (every allocation's life), segments and blocks (the state at the dump),\n"
             "stacks (the call stacks that the other tables number; frames innermost first).\n\n"
             "Numbers are bytes and microseconds; missing values are null (nothing in CSV). Stack 0\n"
             "means that none was recorded. --from and --to count within each device; allocations\n"
             "are shown that live at some time between the two.\n",
    .examples = "  memsnap export --table allocations run.pickle | head\n"
                "  memsnap export --table events --format csv -o events.csv run.pickle\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_OUTPUT | TAKES_SNAPSHOT,
    .opts = options,
    .run = run};
