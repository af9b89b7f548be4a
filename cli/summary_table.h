/* summary_table.h -- the layout of torch.cuda.memory_summary(), character for character. */
#ifndef MEMSNAP_SUMMARY_TABLE_H
#define MEMSNAP_SUMMARY_TABLE_H

#include <memsnap/stats.h>
#include <memsnap/text.h>

/* Cells that a cut history cannot know are "-". */
void put_summary_table(struct msnap_sink *out, int device, const struct msnap_stats *stats, bool abbreviated);

#endif
