/* rows.h -- tables as rows, NDJSON or CSV, written as they come.
 *
 * A table is a list of column names; cells are put in that order. Made for millions of rows: each
 * cell is a few copies into the sink's buffer.
 */
#ifndef MEMSNAP_ROWS_H
#define MEMSNAP_ROWS_H

#include <memsnap/snapshot.h>
#include <memsnap/text.h>

enum row_format { ROWS_NDJSON, ROWS_CSV };
enum { ROWS_MAX_COLUMNS = 24 };

struct rows {
    struct msnap_sink *out;
    enum row_format format;
    size_t n_columns, at;
    /* What stands before each cell: '{"device":', ',"event":'; in CSV a comma. */
    char lead[ROWS_MAX_COLUMNS][32];
    size_t lead_len[ROWS_MAX_COLUMNS];
};

/* `columns` is NULL-terminated. CSV begins with its header line. */
void rows_start(struct rows *r, struct msnap_sink *out, enum row_format format, const char *const *columns);
void rows_end(struct rows *r); /* ends a row: all cells must have been put */

void cell_u64(struct rows *r, uint64_t value);
void cell_i64(struct rows *r, int64_t value);
void cell_null(struct rows *r);
void cell_u64_if(struct rows *r, bool known, uint64_t value);
void cell_i64_if(struct rows *r, bool known, int64_t value);
void cell_text(struct rows *r, const char *bytes, size_t n); /* bytes from anywhere */
/* A pool by id: a pair of numbers; null for id 0. In CSV "0/0", which needs no quotes. */
void cell_pool(struct rows *r, const struct msnap_snapshot *s, uint32_t pool);
/* One of our own words, which need no escaping. */
void cell_word(struct rows *r, const char *word);
/* For a cell that is put together by hand: the lead is written, the rest is the caller's. */
struct msnap_sink *cell_open(struct rows *r);

#endif
