/* window.h -- --from and --to: a part of a device's events. */
#ifndef MEMSNAP_CLI_WINDOW_H
#define MEMSNAP_CLI_WINDOW_H

#include "cli.h"

/* Checks what --from and --to say. EXIT_FINE, or prints and returns EXIT_USAGE. */
int window_check(const struct cli *cli);
/* Events [*first, *last], both included, of the device's trace; *last < *first where none is left.
 * Only after window_check. A time is counted from the device's first event that has one. */
void window_of(const struct cli *cli, const struct msnap_snapshot *s, const struct msnap_device *device,
               int64_t *first, int64_t *last);

#endif
