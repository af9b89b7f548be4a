/* cmd_oom.c -- `memsnap oom`: each OOM judged at its event. */
#include "commands.h"
#include "each_gpu.h"
#include "oom_words.h"

#include "figures.h"
#include "term.h"

#include <string.h>

static const struct opt options[] = {OOM_OPTIONS, {0}};

static int print_device(struct cli *cli, const char *path, const struct msnap_snapshot *s, const struct msnap_device *device,
                        struct json *j, cJSON *devices, struct output *out)
{
    struct msnap_history h;
    const struct msnap_oom *ooms;
    const struct msnap_oom_options known = oom_options(cli);
    struct msnap_error err = {0};
    size_t n = 0;
    int code = EXIT_FINE;
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    if (!arena)
        return cli_error(EXIT_MACHINE, path, "no memory");
    if (msnap_history_build(s, device, 0, arena, &h, &err) != MSNAP_OK || msnap_oom_find(&h, &known, arena, &ooms, &n, &err) != MSNAP_OK) {
        code = cli_fail(cli, path, &err);
    } else if (devices) {
        cJSON *d = json_object(j, devices, NULL);
        json_i64(j, d, "device", device->device);
        cJSON *list = json_array(j, d, "oom");
        for (size_t i = 0; i < n; i++)
            add_oom_json(j, list, &h, &ooms[i]);
    } else {
        put_device(&out->sink, device);
        msnap_puts(&out->sink, "\n");
        if (!n)
            msnap_puts(&out->sink, h.coverage == MSNAP_HISTORY_COMPLETE ? "  No out-of-memory error: every request was served.\n"
                                                                        : "  No out-of-memory error in the part of the run that was recorded.\n");
        for (size_t i = 0; i < n; i++)
            put_oom(out, &h, &ooms[i]);
    }
    msnap_arena_free(arena);
    return code;
}

static int print(struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s)
{
    return each_gpu(cli, out, path, s, "memsnap.oom/1", print_device);
}

static int run(struct cli *cli) { return cli_on_snapshot(cli, print); }

const struct command command_oom = {
    .name = "oom",
    .summary = "Why memory ran out, judged at each OOM event",
    .operands = "FILE",
    .about = "For each \"oom\" event the state at that moment (at the dump it has often been unwound), the sum\n"
             "that shows what was missing, whether the device or a limit on the process said no, and a\n"
             "verdict. The first that fits:\n"
             "  pending_frees  freed memory that waited for another stream would have been enough\n"
             "  outside        memory outside this process's allocator took the room\n"
             "  fragmented     enough is unused in sum, but not in one piece\n"
             "  exhausted      not even the sum is enough\n",
    .examples = "  memsnap oom run.pickle\n"
                "  memsnap oom --capacity 80GiB --json run.pickle\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT | TAKES_COLOR,
    .opts = options,
    .run = run};
