/* load.h -- a snapshot's value cells to columns. */
#ifndef MSNAP_MODEL_LOAD_H
#define MSNAP_MODEL_LOAD_H

#include "format/pyvalue.h"
#include "model/store.h"

struct msnap_loader {
    struct msnap_store *st;
    struct msnap_pickle *pk;
    msnap_cell last_stream_cell; /* entries repeat streams and pools: the last one's id */
    uint32_t last_stream, last_pool;
    msnap_cell last_pool_cell;
    struct msnap_counting *counting; /* load_counts.c; NULL: all columns are filled */
    /* What is being loaded after the reader came to the file's end, for errors: "segment", NULL: nothing. */
    const char *part, *item;     /* item: "block" of a segment, "entry" of a trace, NULL: the whole */
    size_t part_index, item_index;
    uint64_t work, work_limit; /* pairs looked at: sharing must not make reading quadratic */
};

/* Fails at the reader's place, or at the part that is being loaded. Key NULL: `what` itself is wrong. */
enum msnap_status msnap_load_wrong(struct msnap_loader *ld, const char *what, const char *key, msnap_cell got,
                                   const char *expected, struct msnap_error *err);
/* The same for any other sentence that ends in "; the file is damaged". */
enum msnap_status msnap_load_damaged(struct msnap_loader *ld, struct msnap_error *err, const char *format, ...) MSNAP_PRINTF(3, 4);
enum msnap_status msnap_load_no_memory(struct msnap_loader *ld, struct msnap_error *err);
/* Counts n pairs of work; fails once a file refers to the same objects too often. */
enum msnap_status msnap_load_work(struct msnap_loader *ld, size_t n, struct msnap_error *err);

/* load_frames.c: the stack id of a `frames` value (NULL err text names `what`). */
enum msnap_status msnap_load_stack(struct msnap_loader *ld, msnap_cell frames, const char *what, uint32_t *out,
                                   struct msnap_error *err);
/* load_entry.c: the pickle's record hook; ctx is the loader. */
enum msnap_status msnap_load_entry(void *ctx, struct msnap_pickle *pk, uint32_t *row, const msnap_cell *pairs,
                                   size_t n, struct msnap_error *err);
/* The same for a new entry whose keys are among the usual ones (slot: key - MSNAP_KEY_ACTION). */
enum msnap_status msnap_load_slots(void *ctx, struct msnap_pickle *pk, uint32_t *row, const msnap_cell slots[],
                                   uint32_t mask, struct msnap_error *err);
enum msnap_status msnap_load_stream(struct msnap_loader *ld, msnap_cell c, const char *what, uint32_t *out,
                                    struct msnap_error *err);
enum msnap_status msnap_load_pool(struct msnap_loader *ld, msnap_cell c, const char *what, uint32_t *out,
                                  struct msnap_error *err);
/* load_counts.c: entries are counted by trace; kept are those that the coverage needs, and those of
 * an unusual form. Row numbers go on as if all were kept. */
struct count_group { /* one trace's entries that were counted and not kept */
    uint32_t first_row;
    struct msnap_device_counts counts;
    uint32_t first_time_row, last_time_row;
};
struct msnap_counting {
    struct msnap_vec groups; /* struct count_group */
    struct msnap_vec rows;   /* uint32_t: the row numbers of what is kept, ascending */
    uint32_t n_rows;
    uint32_t list;           /* object index + 1 of the trace that rows go to now */
};
enum msnap_status msnap_count_entry(void *ctx, struct msnap_pickle *pk, uint32_t *row, const msnap_cell *pairs,
                                    size_t n, struct msnap_error *err);
enum msnap_status msnap_count_slots(void *ctx, struct msnap_pickle *pk, uint32_t *row, const msnap_cell slots[],
                                    uint32_t mask, struct msnap_error *err);
/* The counts of the rows [first, first + n), and which of the kept ones are among them. */
void msnap_count_rows(struct msnap_loader *ld, size_t first, size_t n, struct msnap_device *device,
                      struct msnap_device_counts *out);
/* load_state.c: segments with their blocks. `host`: pinned memory, whose segments have no blocks. */
enum msnap_status msnap_load_segments(struct msnap_loader *ld, msnap_cell list, bool host, struct msnap_error *err);
/* load_torch.c: the whole result of the unpickler. */
enum msnap_status msnap_load_torch(struct msnap_loader *ld, struct msnap_error *err);

#endif
