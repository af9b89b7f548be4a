/* group_words.h -- --by: the groupings of rank.h as words, and what names a group in text and JSON. */
#ifndef MEMSNAP_GROUP_WORDS_H
#define MEMSNAP_GROUP_WORDS_H

#include "json.h"

#include <memsnap/rank.h>

/* In the order of enum msnap_group_by, NULL-terminated. */
extern const char *const group_words[MSNAP_N_GROUP_BY + 1];
/* "models/gpt.py:88 forward > linear", "stream 7", "private pool (0, 1)": at most `width` columns. */
void group_put(struct msnap_sink *out, const struct msnap_history *h, enum msnap_group_by by,
               const struct msnap_rank_row *row, size_t width);
/* The fields that say which group a row is: "stack" and "top_frame", "stream", "pool", "category".
 * For categories the history must have its `classes`. */
void group_add_json(struct json *j, cJSON *to, const struct msnap_history *h, enum msnap_group_by by,
                    const struct msnap_rank_row *row);

#endif
