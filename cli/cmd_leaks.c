/* cmd_leaks.c -- `memsnap leaks`: what each step leaves behind. */
#include "commands.h"
#include "each_gpu.h"
#include "leaks_words.h"
#include "oom_words.h"

#include "figures.h"
#include "term.h"

#include <string.h>

enum { USUAL_ROWS = 12 };

static const struct opt options[] = {OOM_OPTIONS,
                                     {.name = "top", .letter = 'n', .kind = OPT_INT, .arg = "N", .help = "rows in the table (default: 12)", .min = 1, .max = 100000},
                                     {0}};

static void put_text(struct cli *cli, struct output *out, const struct msnap_history *h, const struct msnap_steps *steps,
                     const struct msnap_classes *classes, const struct msnap_leaks *l)
{
    struct msnap_sink *t = &out->sink;
    uint64_t bound = cli_size(cli, "limit", cli_size(cli, "capacity", 0)), held = h->end.reserved;
    put_device(t, h->device);
    if (steps->n) {
        msnap_puts(t, ", ");
        put_things(t, steps->n, "step");
        msnap_putf(t, ", found by %s\n", msnap_steps_by_text(steps->by));
    } else {
        msnap_puts(t, ", no steps were found\n");
    }
    put_leaks(out, h, classes, l, (size_t)cli_int(cli, "top", USUAL_ROWS), bound > held ? bound - held : 0);
    if (l->before_bytes) {
        msnap_puts(t, "  Not judged: ");
        put_bytes(t, l->before_bytes);
        msnap_puts(t, " were live before the recording began and still are at its end.\n");
    }
    if (l->outside_bytes) {
        msnap_puts(t, "  Made outside the steps (set-up, or after the loop) and live after the last: ");
        put_bytes(t, l->outside_bytes);
        msnap_puts(t, ".\n");
    }
}

static int print_device(struct cli *cli, const char *path, const struct msnap_snapshot *s, const struct msnap_device *device,
                        struct json *j, cJSON *devices, struct output *out)
{
    struct msnap_history h;
    struct msnap_steps steps;
    struct msnap_classes classes;
    struct msnap_leaks leaks;
    struct msnap_error err = {0};
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    if (!arena)
        return cli_error(EXIT_MACHINE, path, "no memory");
    int code = EXIT_FINE;
    bool ok = msnap_history_build(s, device, 0, arena, &h, &err) == MSNAP_OK && msnap_steps_build(&h, arena, &steps, &err) == MSNAP_OK &&
              msnap_classify(&h, &steps, NULL, arena, &classes, &err) == MSNAP_OK;
    if (ok) {
        h.classes = &classes;
        ok = msnap_leaks_find(&h, &steps, arena, &leaks, &err) == MSNAP_OK;
    }
    if (!ok) {
        code = cli_fail(cli, path, &err);
    } else if (devices) {
        cJSON *d = json_object(j, devices, NULL);
        json_i64(j, d, "device", device->device);
        json_u64(j, d, "steps", steps.n);
        json_bool(j, d, "judged", leaks.judged);
        json_u64(j, d, "bytes_per_step", leaks.bytes_per_step);
        json_u64(j, d, "live_before_bytes", leaks.before_bytes);
        json_u64(j, d, "live_outside_steps_bytes", leaks.outside_bytes);
        add_leaks_json(j, json_array(j, d, "leaks"), &h, &classes, &leaks, (size_t)cli_int(cli, "top", 100000));
    } else {
        put_text(cli, out, &h, &steps, &classes, &leaks);
    }
    msnap_arena_free(arena);
    return code;
}

static int print(struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s)
{
    return each_gpu(cli, out, path, s, "memsnap.leaks/1", print_device);
}

static int run(struct cli *cli) { return cli_on_snapshot(cli, print); }

const struct command command_leaks = {
    .name = "leaks",
    .summary = "Lines that leave bytes behind step after step",
    .operands = "FILE",
    .about = "A leak is a line whose blocks, made in every step (or every N steps) from some step on, are still\n"
             "allocated after the last one. Weights, optimizer state, a warm-up, a cache that stops growing and\n"
             "a queue that gives its older blocks back are none. With --capacity or --limit also: how many\n"
             "steps are left until memory runs out.\n",
    .examples = "  memsnap leaks run.pickle\n"
                "  memsnap leaks --capacity 80GiB --json run.pickle\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT | TAKES_COLOR,
    .opts = options,
    .run = run};
