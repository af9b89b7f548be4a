/* frame.c -- the frame of the commands that read one snapshot: output, file, device, and all closed again. */
#include "cli.h"

#include <memsnap/history.h>

int cli_on_snapshot(struct cli *cli, cli_snapshot_fn *print)
{
    const char *path = cli->operands[0];
    const struct msnap_device *device;
    struct msnap_snapshot *s;
    struct output out;
    int code = output_open(cli, &out);
    if (code != EXIT_FINE)
        return code;
    code = cli_open(cli, path, &s);
    if (code != EXIT_FINE)
        return output_close(cli, &out, code);
    code = cli_given(cli, "device") ? cli_device(cli, path, s, &device) : EXIT_FINE;
    if (code == EXIT_FINE)
        code = print(cli, &out, path, s);
    msnap_snapshot_free(s);
    return output_close(cli, &out, code);
}

int cli_on_requests(struct cli *cli, cli_history_fn *run_on)
{
    const char *path = cli->operands[0];
    const struct msnap_device *device = NULL;
    struct msnap_snapshot *s;
    struct output out;
    struct msnap_history h;
    struct msnap_error err = {0};
    int code = output_open(cli, &out);
    if (code != EXIT_FINE)
        return code;
    code = cli_open(cli, path, &s);
    if (code != EXIT_FINE)
        return output_close(cli, &out, code);
    code = cli_device(cli, path, s, &device);
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    if (code == EXIT_FINE && !arena)
        code = cli_error(EXIT_MACHINE, path, "no memory");
    else if (code == EXIT_FINE && (!device || !device->n_events))
        code = cli_error(EXIT_INPUT, path, "there are no events to simulate: record with torch.cuda.memory._record_memory_history() before the run");
    if (code == EXIT_FINE && msnap_history_build(s, device, 0, arena, &h, &err) != MSNAP_OK)
        code = cli_fail(cli, path, &err);
    if (code == EXIT_FINE)
        code = run_on(cli, &out, path, &h, arena);
    msnap_arena_free(arena);
    msnap_snapshot_free(s);
    return output_close(cli, &out, code);
}
