/* leaks_words.h -- leaks as people and scripts read them. */
#ifndef MEMSNAP_LEAKS_WORDS_H
#define MEMSNAP_LEAKS_WORDS_H

#include "json.h"

#include <memsnap/classify.h>
#include <memsnap/leaks.h>

/* Entries of "leaks", at most `rows`; `classes` may be NULL. */
void add_leaks_json(struct json *j, cJSON *list, const struct msnap_history *h, const struct msnap_classes *classes,
                    const struct msnap_leaks *l, size_t rows);
/* The table, and how long it takes to fill `room` bytes (0: not known). */
void put_leaks(struct output *out, const struct msnap_history *h, const struct msnap_classes *classes, const struct msnap_leaks *l,
               size_t rows, uint64_t room);

#endif
