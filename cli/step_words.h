/* step_words.h -- "step:3" on the command line: which step of a device's history is meant. */
#ifndef MEMSNAP_CLI_STEP_WORDS_H
#define MEMSNAP_CLI_STEP_WORDS_H

#include "cli.h"

#include <memsnap/steps.h>

/* Whether a word has the form step:N, and its N. */
bool is_step_word(const char *word, uint64_t *number);
/* The step of that number, and the event of its peak (NULL: not asked for). EXIT_FINE, or prints and returns. */
int step_of_word(const struct cli *cli, const char *path, const struct msnap_history *h, const char *word,
                 struct msnap_step *step, uint32_t *peak_event);

#endif
