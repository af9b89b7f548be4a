/* frag_words.h -- fragmentation as JSON, for `frag` and `report`. */
#ifndef MEMSNAP_FRAG_WORDS_H
#define MEMSNAP_FRAG_WORDS_H

#include "json.h"

#include <memsnap/frag.h>

/* Adds the members to `to`, with at most `rows` segments and pins. */
void add_frag_json(struct json *j, cJSON *to, const struct msnap_history *h, const struct msnap_frag *f, size_t rows);

#endif
