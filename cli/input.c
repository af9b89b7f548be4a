/* input.c -- snapshots opened under the limits that the options set, and the device that is meant. */
#include "cli.h"
#include "term.h"

#include <string.h>
#include <unistd.h>

/* 0 (no limit) where the machine does not say how much it has. */
static uint64_t half_of_machine(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : 0;
}

static int open_snapshot(const struct cli *cli, const char *path, bool counts_only, struct msnap_snapshot **out)
{
    struct progress progress;
    struct msnap_error err;
    struct msnap_open_options options = {0};

    options.max_memory = cli_size(cli, "max-memory", half_of_machine());
    options.counts_only = counts_only;
    options.progress = progress_step;
    options.progress_ctx = &progress;
    progress_start(&progress, cli, "reading");
    const enum msnap_status status = msnap_snapshot_open(path, &options, out, &err);
    progress_end(&progress);
    return status == MSNAP_OK ? EXIT_FINE : cli_fail_input(cli, path, &err);
}

int cli_open(const struct cli *cli, const char *path, struct msnap_snapshot **out)
{
    return open_snapshot(cli, path, false, out);
}

int cli_open_counts(const struct cli *cli, const char *path, struct msnap_snapshot **out)
{
    return open_snapshot(cli, path, true, out);
}

bool cli_wants_device(const struct cli *cli, const struct msnap_device *device)
{
    return !cli_given(cli, "device") || cli_int(cli, "device", 0) == device->device;
}

int cli_device(const struct cli *cli, const char *path, const struct msnap_snapshot *s,
               const struct msnap_device **out)
{
    *out = NULL;
    if (!cli_given(cli, "device")) {
        *out = msnap_device_default(s);
        return EXIT_FINE;
    }
    *out = msnap_device_find(s, (int32_t)cli_int(cli, "device", 0));
    if (*out)
        return EXIT_FINE;

    struct msnap_sink list;
    cli_stderr(&list);
    msnap_puts(&list, "memsnap: ");
    msnap_put_terminal(&list, path, strlen(path));
    msnap_putf(&list, ": device %d has no events and no segments here; ", (int)cli_int(cli, "device", 0));
    if (!s->n_devices)
        msnap_puts(&list, "the file has none at all");
    for (size_t i = 0; i < s->n_devices; i++)
        msnap_putf(&list, "%s%d", i ? ", " : "the file has ", (int)s->devices[i].device);
    msnap_puts(&list, "\n");
    msnap_sink_flush(&list);
    return EXIT_USAGE;
}
