/* term.h -- what the terminal can do: colour, width, progress. */
#ifndef MEMSNAP_TERM_H
#define MEMSNAP_TERM_H

#include "cli.h"

enum style { STYLE_PLAIN, STYLE_HEAD, STYLE_DIM, STYLE_GOOD, STYLE_WARN, STYLE_BAD };

/* By --color, NO_COLOR, TERM and whether `fd` is a terminal. */
bool term_color(const struct cli *cli, int fd);
unsigned term_width(int fd);
/* Text in a style; plain where `color` is off. `text` must be ours, not a file's. */
void term_put(struct msnap_sink *out, bool color, enum style style, const char *text);

/* Progress on standard error: only on a terminal, after one second, at most six times a second. */
struct progress {
    const char *what; /* shown before the figures */
    int64_t start_ms, last_ms;
    bool on, shown;
};
void progress_start(struct progress *p, const struct cli *cli, const char *what);
int progress_step(void *progress, uint64_t done_bytes, uint64_t total_bytes); /* always 0 */
void progress_end(struct progress *p);

#endif
