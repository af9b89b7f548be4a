/* window.h -- --from and --to: a part of a device's events. */
#ifndef MEMSNAP_CLI_WINDOW_H
#define MEMSNAP_CLI_WINDOW_H

#include "cli.h"

#include <memsnap/history.h>

/* Checks what --from and --to say. EXIT_FINE, or prints and returns EXIT_USAGE. */
int window_check(const struct cli *cli);
/* Events [*first, *last], both included, of the device's trace; *last < *first where none is left.
 * Only after window_check. A time is counted from the device's first event that has one; a step is
 * all of its events. EXIT_FINE, or prints and returns: there is no such step. */
int window_of(const struct cli *cli, const char *path, const struct msnap_history *h, int64_t *first, int64_t *last);

#define WINDOW_OPTIONS(from_help)                                                                            \
    {"from", 0, OPT_STRING, "WHEN", NULL,                                                                    \
     from_help " from WHEN on: an event number, seconds since the\ndevice's first event as in 12.5s, or a step as in step:3", 0, 0}, \
    {"to", 0, OPT_STRING, "WHEN", NULL, from_help " up to WHEN, that one included", 0, 0}

#endif
