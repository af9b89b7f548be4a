/* pickle_records.c -- trace entries in the form that the writers give them, without the stack.
 *
 * A dict of a few keys from the memo with short values. Nine tenths of a large snapshot are such
 * dicts, so this loop decides how long reading takes. Whatever looks different is left to the
 * machine in pickle.c, which knows every form.
 */
#include "format/pickle_parts.h"

#define MAX_PAIRS 24
#define MAX_DEPTH 2048 /* cells of a list of memo references inside a record */
#define ROOM 700       /* bytes that a record may take in this form, checked again for lists */

/* The value of LONG1 with up to 8 bytes; reads 8 bytes from p. */
static inline int64_t read_long(const uint8_t *p, unsigned n)
{
    uint64_t v = read_u64(p);
    unsigned shift = 64 - 8 * n;
    return n ? (int64_t)(v << shift) >> shift : 0;
}

/* A list whose items all come from the memo: a stack of known frames. UNSET where it is another. */
static msnap_cell list_of_gets(struct msnap_pickle *pk, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *p = *at;
    msnap_cell items[MAX_DEPTH];
    size_t n = 0;
    for (;;) {
        if (end - p < 8 || n == MAX_DEPTH)
            return 0;
        msnap_cell c;
        if (*p == OP_BINGET) {
            c = memo_get_dense(pk, p[1]);
            p += 2;
        } else if (*p == OP_LONG_BINGET) {
            c = memo_get_dense(pk, read_u32(p + 1));
            p += 5;
        } else if (*p == OP_APPENDS) {
            p++;
            break;
        } else {
            return 0;
        }
        if (!c)
            return 0;
        items[n++] = c;
    }
    *at = p;
    return msnap_pickle_new(pk, MSNAP_KIND_LIST, items, n);
}

/* One value; UNSET where its form is another. Memoises what the writer memoises. */
static inline msnap_cell value(struct msnap_pickle *pk, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *p = *at;
    msnap_cell c;
    switch (*p) {
    case OP_BINGET:
        *at = p + 2;
        return memo_get_dense(pk, p[1]);
    case OP_LONG_BINGET:
        *at = p + 5;
        return memo_get_dense(pk, read_u32(p + 1));
    case OP_BININT1:
        if (p[2] == OP_BININT1 && p[4] == OP_TUPLE2 && p[5] == OP_MEMOIZE && pk->last_pair_obj &&
            pk->last_pair[0] == p[1] && pk->last_pair[1] == p[3]) { /* pool_id: (0, 0) in every entry */
            c = MSNAP_CELL(MSNAP_KIND_TUPLE, pk->last_pair_obj - 1);
            *at = p + 6;
            return memoize_index(pk, c) ? c : 0;
        }
        *at = p + 2;
        return MSNAP_CELL(MSNAP_KIND_INT, p[1]);
    case OP_BININT2:
        *at = p + 3;
        return MSNAP_CELL(MSNAP_KIND_INT, read_u16(p + 1));
    case OP_BININT:
        *at = p + 5;
        return MSNAP_CELL(MSNAP_KIND_INT, (int64_t)(int32_t)read_u32(p + 1));
    case OP_LONG1: {
        unsigned n = p[1];
        if (n > 8)
            return 0;
        *at = p + 2 + n;
        return msnap_pickle_int(pk, read_long(p + 2, n));
    }
    case OP_SHORT_BINUNICODE: {
        unsigned n = p[1];
        uint32_t id = pickle_string(pk, p + 2, n);
        if (!id || p[2 + n] != OP_MEMOIZE)
            return 0;
        c = MSNAP_CELL(MSNAP_KIND_STR, id);
        *at = p + 3 + n;
        return memoize_index(pk, c) ? c : 0;
    }
    case OP_EMPTY_LIST:
        if (p[1] != OP_MEMOIZE)
            return 0;
        if (p[2] == OP_MARK) {
            /* The list's memo id comes before its items', but they are all references. */
            size_t id = pk->memo.n;
            if (!memoize_index(pk, MSNAP_CELL(MSNAP_KIND_LIST, 0)))
                return 0;
            *at = p + 3;
            c = list_of_gets(pk, at, end);
            if (c)
                MSNAP_VEC_AT(&pk->memo, uint32_t, id) = (uint32_t)MSNAP_KIND_LIST << 29 | msnap_cell_index(c);
            return c;
        }
        if (p[2] != OP_BINGET && p[2] != OP_LONG_BINGET && p[2] != OP_SETITEMS)
            return 0; /* something is appended to it */
        *at = p + 2;
        c = MSNAP_CELL(MSNAP_KIND_EMPTY_LIST, 0);
        if (pk->memo.n != pk->memo_count ||
            !MSNAP_VEC_PUSH(&pk->memo, pk->mem, uint32_t, (uint32_t)MSNAP_MEMO_EMPTY_LIST << 29))
            return 0;
        pk->memo_count++;
        return c;
    case OP_NONE:
        *at = p + 1;
        return MSNAP_CELL(MSNAP_KIND_NONE, 0);
    default: return 0;
    }
}

enum msnap_status msnap_pickle_records(struct msnap_pickle *pk, const uint8_t **at, const uint8_t *end,
                                       size_t *taken, struct msnap_error *err)
{
    msnap_cell pairs[2 * MAX_PAIRS];
    *taken = 0;
    for (const uint8_t *p = *at;;) {
        size_t memo_before = pk->memo.n, count_before = pk->memo_count, n = 0;
        bool memoized = false, whole = false;
        if (end - p < ROOM)
            return MSNAP_OK;
        if (*p == OP_MEMOIZE) {
            if (!memoize_index(pk, MSNAP_CELL(MSNAP_KIND_RECORD, 0)))
                return MSNAP_OK;
            memoized = true;
            p++;
        }
        if (*p++ == OP_MARK) {
            while (n < 2 * MAX_PAIRS && end - p >= 300) {
                msnap_cell key;
                if (*p == OP_BINGET) {
                    key = memo_get_dense(pk, p[1]);
                    p += 2;
                } else if (*p == OP_LONG_BINGET) {
                    key = memo_get_dense(pk, read_u32(p + 1));
                    p += 5;
                } else {
                    whole = *p == OP_SETITEMS;
                    p++;
                    break;
                }
                msnap_cell v = value(pk, &p, end);
                if (!v || msnap_cell_kind(key) != MSNAP_KIND_STR)
                    break;
                pairs[n++] = key;
                pairs[n++] = v;
            }
        }
        if (!whole) {
            /* Undo; objects and strings made on the way are not referred to and stay behind. */
            pk->memo.n = memo_before;
            pk->memo_count = count_before;
            return MSNAP_OK;
        }
        uint32_t row = MSNAP_NEW_ROW;
        enum msnap_status st = pk->hooks.record(pk->hooks.ctx, pk, &row, pairs, n, err);
        if (st != MSNAP_OK)
            return st;
        if (memoized)
            MSNAP_VEC_AT(&pk->memo, uint32_t, memo_before) = (uint32_t)MSNAP_KIND_RECORD << 29 | row;
        if (!MSNAP_VEC_PUSH(&pk->stack, pk->mem, msnap_cell, MSNAP_CELL(MSNAP_KIND_RECORD, row)))
            return msnap_pickle_no_memory(pk, err);
        ++*taken;
        *at = p;
        if (*p != OP_EMPTY_DICT)
            return MSNAP_OK;
        p++;
    }
}
