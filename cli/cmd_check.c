/* cmd_check.c -- `memsnap check`: the file held against itself. */
#include "commands.h"

#include "figures.h"
#include "json.h"
#include "term.h"

#include <memsnap/check.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct opt options[] = {
    {.name = "capacity", .kind = OPT_SIZE, .arg = "SIZE", .help = "what each GPU holds in all; totals above it are a fault"}, {0}};

static void add_json(struct json *j, cJSON *list, const struct msnap_fault *f)
{
    char addr[32];
    cJSON *item = json_object(j, list, NULL);
    json_text(j, item, "id", f->id, strlen(f->id));
    json_text(j, item, "rule", f->rule, strlen(f->rule));
    json_i64(j, item, "device", f->device);
    json_u64(j, item, "count", f->count);
    if (f->event == MSNAP_NO_EVENT)
        json_null(j, item, "event");
    else
        json_u64(j, item, "event", f->event);
    snprintf(addr, sizeof addr, "%" PRIu64, f->addr);
    json_raw(j, item, "addr", f->addr ? addr : "null");
}

static void put_text(struct output *out, const struct msnap_fault *f)
{
    struct msnap_sink *t = &out->sink;
    char count[32];
    msnap_putf(t, "device %d: ", (int)f->device);
    term_put(t, out->color, STYLE_BAD, f->id);
    msnap_putf(t, ", %s %s", format_count(count, f->count), f->count == 1 ? "time" : "times");
    msnap_puts(t, f->count == 1 ? ": " : ", first: ");
    if (f->event != MSNAP_NO_EVENT)
        msnap_putf(t, "event %" PRIu32 "%s", f->event, f->addr ? ", " : "");
    if (f->addr)
        msnap_putf(t, "address 0x%" PRIx64, f->addr);
    if (f->event == MSNAP_NO_EVENT && !f->addr)
        msnap_puts(t, "the whole");
    msnap_putf(t, "\n    broken: %s\n", f->rule);
}

static int print(struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s)
{
    const struct msnap_check_options known = {cli_size(cli, "capacity", 0)};
    const struct msnap_fault *faults;
    struct msnap_error err = {0};
    size_t n = 0, shown = 0;
    int code = EXIT_FINE;
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    if (!arena)
        return cli_error(EXIT_MACHINE, path, "no memory");
    if (msnap_check(s, &known, arena, &faults, &n, &err) != MSNAP_OK) {
        msnap_arena_free(arena);
        return cli_fail(cli, path, &err);
    }
    const bool json = cli_given(cli, "json");
    struct json j;
    cJSON *list = NULL;
    if (json) {
        json_start(&j, "memsnap.check/1");
        json_text(&j, j.root, "file", path, strlen(path));
        list = json_array(&j, j.root, "faults");
    }
    for (size_t i = 0; i < n; i++) {
        if (cli_given(cli, "device") && cli_int(cli, "device", 0) != faults[i].device)
            continue;
        shown++;
        if (json)
            add_json(&j, list, &faults[i]);
        else
            put_text(out, &faults[i]);
    }
    if (json)
        code = json_finish(&j, &out->sink);
    else if (!shown)
        msnap_puts(&out->sink, "No fault: the segments, the events and the settings agree with each other.\n");
    msnap_arena_free(arena);
    return code == EXIT_FINE && shown ? EXIT_IS_SO : code;
}

static int run(struct cli *cli) { return cli_on_snapshot(cli, print); }

const struct command command_check = {
    .name = "check",
    .summary = "The file held against itself: each fault with its place and count",
    .operands = "FILE",
    .about = "Blocks tile their segments, events end in the segments at the dump, every free has its alloc,\n"
             "clocks do not run backwards, settings explain the block sizes, and so on: what holds in every\n"
             "genuine snapshot. Exit status 1 if anything does not.\n",
    .examples = "  memsnap check run.pickle\n"
                "  memsnap check --capacity 80GiB run.pickle\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT | TAKES_COLOR,
    .opts = options,
    .run = run};
