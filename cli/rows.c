/* rows.c -- tables as rows, NDJSON or CSV, written as they come. */
#include "rows.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void rows_start(struct rows *r, struct msnap_sink *out, enum row_format format, const char *const *columns)
{
    *r = (struct rows){.out = out, .format = format};
    for (; columns[r->n_columns]; r->n_columns++) {
        const size_t i = r->n_columns;
        assert(i < ROWS_MAX_COLUMNS);
        if (format == ROWS_CSV)
            snprintf(r->lead[i], sizeof r->lead[i], "%s", i ? "," : "");
        else
            snprintf(r->lead[i], sizeof r->lead[i], "%c\"%s\":", i ? ',' : '{', columns[i]);
        r->lead_len[i] = strlen(r->lead[i]);
    }
    if (format == ROWS_CSV) {
        for (size_t i = 0; i < r->n_columns; i++) {
            msnap_put(out, ",", i != 0);
            msnap_puts(out, columns[i]);
        }
        msnap_put(out, "\n", 1);
    }
}

void rows_end(struct rows *r)
{
    assert(r->at == r->n_columns);
    if (r->format == ROWS_NDJSON)
        msnap_put(r->out, "}\n", 2);
    else
        msnap_put(r->out, "\n", 1);
    r->at = 0;
}

static void lead(struct rows *r)
{
    assert(r->at < r->n_columns);
    msnap_put(r->out, r->lead[r->at], r->lead_len[r->at]);
    r->at++;
}

void cell_u64(struct rows *r, uint64_t value)
{
    lead(r);
    msnap_put_u64(r->out, value);
}

void cell_i64(struct rows *r, int64_t value)
{
    lead(r);
    msnap_put_i64(r->out, value);
}

void cell_null(struct rows *r)
{
    lead(r);
    if (r->format == ROWS_NDJSON)
        msnap_put(r->out, "null", 4);
}

void cell_u64_if(struct rows *r, bool known, uint64_t value)
{
    if (known)
        cell_u64(r, value);
    else
        cell_null(r);
}

void cell_i64_if(struct rows *r, bool known, int64_t value)
{
    if (known)
        cell_i64(r, value);
    else
        cell_null(r);
}

void cell_text(struct rows *r, const char *bytes, size_t n)
{
    lead(r);
    if (r->format == ROWS_NDJSON)
        msnap_put_json(r->out, bytes, n);
    else
        msnap_put_csv(r->out, bytes, n);
}

void cell_word(struct rows *r, const char *word)
{
    lead(r);
    msnap_put(r->out, "\"", r->format == ROWS_NDJSON);
    msnap_puts(r->out, word);
    msnap_put(r->out, "\"", r->format == ROWS_NDJSON);
}

struct msnap_sink *cell_open(struct rows *r)
{
    lead(r);
    return r->out;
}

void cell_pool(struct rows *r, const struct msnap_snapshot *s, uint32_t pool)
{
    if (!pool) {
        cell_null(r);
        return;
    }
    const bool json = r->format == ROWS_NDJSON;
    struct msnap_sink *out = cell_open(r);
    msnap_put(out, "[", json);
    msnap_put_i64(out, s->pools.first[pool]);
    msnap_put(out, json ? "," : "/", 1);
    msnap_put_i64(out, s->pools.second[pool]);
    msnap_put(out, "]", json);
}
