/* report.h -- the two printers of `memsnap report`. */
#ifndef MEMSNAP_REPORT_H
#define MEMSNAP_REPORT_H

#include "cli.h"
#include "device_facts.h"

/* EXIT_FINE, or prints and returns the code. */
int report_json(struct output *out, const char *path, const struct device_facts *facts, size_t n);
void report_text(struct output *out, const char *path, const struct msnap_snapshot *s,
                 const struct device_facts *facts, size_t n, size_t n_rows, bool explain);

#endif
