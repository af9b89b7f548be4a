/* report_parts.h -- the last part of the text report: what memsnap does not know. */
#ifndef MEMSNAP_REPORT_PARTS_H
#define MEMSNAP_REPORT_PARTS_H

#include "cli.h"
#include "device_facts.h"

void report_unknowns(struct output *out, const struct msnap_snapshot *s, const struct device_facts *facts,
                     size_t n);

#endif
