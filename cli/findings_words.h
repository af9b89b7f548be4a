/* findings_words.h -- findings as people and scripts read them. */
#ifndef MEMSNAP_FINDINGS_WORDS_H
#define MEMSNAP_FINDINGS_WORDS_H

#include "json.h"

#include <memsnap/findings.h>

void add_findings_json(struct json *j, cJSON *list, const struct msnap_finding *findings, size_t n);
void put_findings(struct output *out, const struct msnap_finding *findings, size_t n);

#endif
