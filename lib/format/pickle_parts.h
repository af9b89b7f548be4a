/* pickle_parts.h -- what the unpickler's files share: opcodes, memo, strings, objects. */
#ifndef MSNAP_FORMAT_PICKLE_PARTS_H
#define MSNAP_FORMAT_PICKLE_PARTS_H

#include "base/status.h"
#include "format/pickle.h"

#include <string.h>

enum msnap_opcode {
#define OP(name, byte, fixed, verdict) OP_##name = (byte),
#include "format/pickle_ops.def"
#undef OP
};

/* A memo entry is a kind in the upper 3 bits (those up to MSNAP_KIND_RECORD, and these two) and an
 * index below; 0 is unset. */
enum { MSNAP_MEMO_BOX = 6, MSNAP_MEMO_EMPTY_LIST = 7 };

#define MSNAP_MAX_INDEX ((uint32_t)1 << 29)

static inline uint16_t read_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t read_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t read_u64(const uint8_t *p) { return read_u32(p) | (uint64_t)read_u32(p + 4) << 32; }

/* The cell behind a memo entry (0 gives MSNAP_KIND_UNSET). */
static inline msnap_cell memo_cell(const struct msnap_pickle *pk, uint32_t entry)
{
    uint32_t kind = entry >> 29, index = entry & (MSNAP_MAX_INDEX - 1);
    if (kind < MSNAP_MEMO_BOX)
        return MSNAP_CELL(kind, index);
    return kind == MSNAP_MEMO_BOX ? MSNAP_VEC_AT(&pk->boxes, msnap_cell, index)
                                  : MSNAP_CELL(MSNAP_KIND_EMPTY_LIST, 0);
}
static inline msnap_cell memo_get_dense(const struct msnap_pickle *pk, size_t id)
{
    return id < pk->memo.n ? memo_cell(pk, MSNAP_VEC_AT(&pk->memo, uint32_t, id)) : 0;
}
static inline bool memoize_index(struct msnap_pickle *pk, msnap_cell c)
{
    /* The common case of MEMOIZE: the next id is the next slot, and the value has an index. */
    uint32_t entry = (uint32_t)(c >> 60) << 29 | msnap_cell_index(c);
    if (pk->memo.n == pk->memo_count && (c >> 60) <= MSNAP_KIND_RECORD) {
        if (!MSNAP_VEC_PUSH(&pk->memo, pk->mem, uint32_t, entry))
            return false;
        pk->memo_count++;
        return true;
    }
    return false;
}

/* An integer cell for any 64-bit value; UNSET when there is no memory. */
msnap_cell msnap_pickle_int(struct msnap_pickle *pk, int64_t v);
msnap_cell msnap_pickle_big(struct msnap_pickle *pk, uint64_t bits, bool negative);
msnap_cell msnap_pickle_float(struct msnap_pickle *pk, double v);
/* A new object of a kind; UNSET when there is no memory. */
msnap_cell msnap_pickle_new(struct msnap_pickle *pk, enum msnap_kind kind, const msnap_cell *items, size_t n);
/* The string's id; 0 when there is no memory. */
static inline uint32_t pickle_string(struct msnap_pickle *pk, const uint8_t *p, size_t n)
{
    if (n > 8)
        return msnap_intern_add(pk->strings, (const char *)p, n);
    uint64_t text = 0;
    memcpy(&text, p, n);
    size_t slot = (size_t)((text ^ n) * UINT64_C(0x9E3779B97F4A7C15) >> 56);
    if (pk->short_strings[slot].text == text && pk->short_strings[slot].len == n && pk->short_strings[slot].id)
        return pk->short_strings[slot].id;
    uint32_t id = msnap_intern_add(pk->strings, (const char *)p, n);
    pk->short_strings[slot].text = text;
    pk->short_strings[slot].len = (uint32_t)n;
    pk->short_strings[slot].id = id;
    return id;
}

enum msnap_status msnap_pickle_memo_put(struct msnap_pickle *pk, size_t id, msnap_cell c, struct msnap_error *err);
msnap_cell msnap_pickle_memo_get(const struct msnap_pickle *pk, size_t id);
enum msnap_status msnap_pickle_no_memory(struct msnap_pickle *pk, struct msnap_error *err);

/* pickle_records.c: reads records in the writers' usual form, one after the other, from the byte
 * after the first one's EMPTY_DICT. Moves *at behind the last one that it took whole and pushes
 * them; takes none (and changes nothing) where the form is another: the machine then does it. */
enum msnap_status msnap_pickle_records(struct msnap_pickle *pk, const uint8_t **at, const uint8_t *end,
                                       size_t *taken, struct msnap_error *err);

/* pickle_text.c: the text opcodes of protocol 0. `line` is the argument without its newline. */
enum msnap_status msnap_pickle_text(struct msnap_pickle *pk, enum msnap_opcode op, const uint8_t *line, size_t n,
                                    uint64_t at, msnap_cell *out, struct msnap_error *err);
/* A decimal number as GET and PUT have it. */
bool msnap_pickle_decimal(const uint8_t *p, size_t n, uint64_t *out);

#endif
