/* moment.h -- --at EVENT|peak|oom|end|step:N: which moment of a device's history is meant. */
#ifndef MEMSNAP_CLI_MOMENT_H
#define MEMSNAP_CLI_MOMENT_H

#include "cli.h"

#include <memsnap/history.h>

#define MOMENT_OPTION                                                                                        \
    {.name = "at", .kind = OPT_STRING, .arg = "MOMENT",                                                      \
     .help = "peak (highest allocated bytes), oom (the last that was not survived, else the\n"              \
             "last), end, start (before the first event), step:N (that step's peak), or an\nevent number"}

/* The event that --at names (`otherwise` where it is not given). EXIT_FINE, or prints and returns. */
int moment_of(const struct cli *cli, const char *path, const struct msnap_history *h, const char *otherwise, uint32_t *event);
enum { MAX_MOMENTS = 8 };
struct moment {
    uint32_t event;
    char word[24]; /* as given */
};
/* Several, separated by commas: at most `max` (up to MAX_MOMENTS). */
int moments_of(const struct cli *cli, const char *path, const struct msnap_history *h, const char *otherwise, size_t max,
               struct moment moments[MAX_MOMENTS], size_t *n);
/* "the peak (event 1,234)" */
void put_moment(struct msnap_sink *out, const struct msnap_history *h, const char *word, uint32_t event);

#endif
