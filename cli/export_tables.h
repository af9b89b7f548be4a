/* export_tables.h -- the columns of each table of `memsnap export`, and their rows. */
#ifndef MEMSNAP_EXPORT_TABLES_H
#define MEMSNAP_EXPORT_TABLES_H

#include "rows.h"

#include <memsnap/classify.h>

extern const char *const export_event_columns[];
extern const char *const export_allocation_columns[];
extern const char *const export_segment_columns[];
extern const char *const export_block_columns[];
extern const char *const export_stack_columns[];

/* Events [first, last]; the history must have its series. Scratch memory is taken from `arena`. */
MSNAP_CHECKED enum msnap_status export_events(struct rows *r, const struct msnap_history *h, int64_t first,
                                              int64_t last, struct msnap_arena *arena,
                                              struct msnap_error *err);
/* The allocations that live at some time within [first, last]. */
MSNAP_CHECKED enum msnap_status export_allocations(struct rows *r, const struct msnap_history *h,
                                                   const struct msnap_classes *classes, int64_t first,
                                                   int64_t last, struct msnap_arena *arena,
                                                   struct msnap_error *err);
void export_segments(struct rows *r, const struct msnap_snapshot *s, const struct msnap_device *device);
void export_blocks(struct rows *r, const struct msnap_snapshot *s, const struct msnap_device *device);
/* Every stack that stands in the file, by number. */
MSNAP_CHECKED enum msnap_status export_stacks(struct rows *r, const struct msnap_snapshot *s,
                                              struct msnap_error *err);

#endif
