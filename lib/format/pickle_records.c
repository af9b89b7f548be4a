/* pickle_records.c -- trace entries in the form that the writers give them, without the stack.
 *
 * A dict of a few keys from the memo with short values. Nine tenths of a large snapshot are such
 * dicts, so this loop decides how long reading takes. Whatever looks different is left to the
 * machine in pickle.c, which knows every form.
 */
#include "format/pickle_parts.h"

#define MAX_PAIRS 24
#define MAX_DEPTH 1024 /* cells of a list of memo references inside a record */
#define ROOM 700       /* bytes that a record may take in this form, checked again for lists */

/* The memo while records are read: room for those of one record is made before it. */
struct cursor {
    const uint8_t *p, *end;
    uint32_t *memo;
    size_t n; /* ids set, all without holes */
};

static inline int64_t read_long(const uint8_t *p, unsigned n)
{
    uint64_t v;
    memcpy(&v, p, 8); /* ROOM bytes are readable; byte order is put right by read_u64 where needed */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = read_u64(p);
#endif
    unsigned shift = 64 - 8 * n;
    return n ? (int64_t)(v << shift) >> shift : 0;
}

static inline msnap_cell get(const struct msnap_pickle *pk, const struct cursor *c, size_t id)
{
    return id < c->n ? memo_cell(pk, c->memo[id]) : 0;
}

/* A list whose items all come from the memo: a stack of known frames. Stacks repeat, and each
 * event has a list of its own: equal ones become one object. UNSET where the list is another. */
static msnap_cell list_of_gets(struct msnap_pickle *pk, struct cursor *c)
{
    const uint8_t *p = c->p;
    msnap_cell items[MAX_DEPTH];
    uint64_t hash = pk->strings->seed;
    size_t n = 0;
    for (;;) {
        size_t id;
        if (c->end - p < 8 || n == MAX_DEPTH)
            return 0;
        if (*p == OP_BINGET) {
            id = p[1];
            p += 2;
        } else if (*p == OP_LONG_BINGET) {
            id = read_u32(p + 1);
            p += 5;
        } else if (*p == OP_APPENDS) {
            p++;
            break;
        } else {
            return 0;
        }
        if (!(items[n] = get(pk, c, id)))
            return 0;
        hash = (hash ^ items[n]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
        n++;
    }
    c->p = p;
    uint32_t *slot = &pk->lists[hash & (sizeof pk->lists / sizeof *pk->lists - 1)];
    if (*slot) {
        const struct msnap_obj *o = &MSNAP_VEC_AT(&pk->objs, struct msnap_obj, *slot - 1);
        if (o->n == n && (n == 0 || memcmp(o->items, items, n * sizeof *items) == 0))
            return MSNAP_CELL(MSNAP_KIND_LIST, *slot - 1);
    }
    msnap_cell list = msnap_pickle_new(pk, MSNAP_KIND_LIST, items, n);
    if (list) {
        msnap_pickle_obj(pk, list)->role = MSNAP_ROLE_SHARED;
        *slot = msnap_cell_index(list) + 1;
    }
    return list;
}

/* One value; UNSET where its form is another. Memoises what the writer memoises. */
MSNAP_INLINE msnap_cell value(struct msnap_pickle *pk, struct cursor *c)
{
    const uint8_t *p = c->p;
    switch (*p) {
    case OP_BINGET:
        c->p = p + 2;
        return get(pk, c, p[1]);
    case OP_LONG_BINGET:
        c->p = p + 5;
        return get(pk, c, read_u32(p + 1));
    case OP_BININT1:
        if (p[2] == OP_BININT1 && p[4] == OP_TUPLE2 && p[5] == OP_MEMOIZE && pk->last_pair_obj &&
            pk->last_pair[0] == p[1] && pk->last_pair[1] == p[3]) { /* pool_id: (0, 0) in every entry */
            c->memo[c->n++] = (uint32_t)MSNAP_KIND_TUPLE << 29 | (pk->last_pair_obj - 1);
            c->p = p + 6;
            return MSNAP_CELL(MSNAP_KIND_TUPLE, pk->last_pair_obj - 1);
        }
        c->p = p + 2;
        return MSNAP_CELL(MSNAP_KIND_INT, p[1]);
    case OP_BININT2:
        c->p = p + 3;
        return MSNAP_CELL(MSNAP_KIND_INT, read_u16(p + 1));
    case OP_BININT:
        c->p = p + 5;
        return MSNAP_CELL(MSNAP_KIND_INT, (int64_t)(int32_t)read_u32(p + 1));
    case OP_LONG1: {
        unsigned n = p[1];
        if (n > 8)
            return 0;
        c->p = p + 2 + n;
        return n < 8 ? MSNAP_CELL(MSNAP_KIND_INT, read_long(p + 2, n)) : msnap_pickle_int(pk, read_long(p + 2, n));
    }
    case OP_SHORT_BINUNICODE: {
        unsigned n = p[1];
        uint32_t id = pickle_string(pk, p + 2, n);
        if (!id || p[2 + n] != OP_MEMOIZE)
            return 0;
        c->memo[c->n++] = (uint32_t)MSNAP_KIND_STR << 29 | id;
        c->p = p + 3 + n;
        return MSNAP_CELL(MSNAP_KIND_STR, id);
    }
    case OP_EMPTY_LIST:
        if (p[1] != OP_MEMOIZE)
            return 0;
        if (p[2] == OP_MARK) {
            /* The list's memo id comes before its items', but they are all references. */
            size_t id = c->n++;
            c->memo[id] = 0;
            c->p = p + 3;
            msnap_cell list = list_of_gets(pk, c);
            c->memo[id] = (uint32_t)MSNAP_KIND_LIST << 29 | msnap_cell_index(list);
            return list;
        }
        if (p[2] != OP_BINGET && p[2] != OP_LONG_BINGET && p[2] != OP_SETITEMS)
            return 0; /* something is appended to it */
        c->p = p + 2;
        c->memo[c->n++] = (uint32_t)MSNAP_MEMO_EMPTY_LIST << 29;
        return MSNAP_CELL(MSNAP_KIND_EMPTY_LIST, 0);
    case OP_NONE:
        c->p = p + 1;
        return MSNAP_CELL(MSNAP_KIND_NONE, 0);
    default: return 0;
    }
}

static inline uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

/* Values of a record that has the shape's keys in the shape's order; false where it has others. */
MSNAP_INLINE bool read_shaped(struct msnap_pickle *pk, struct cursor *c, const struct msnap_shape *shape, msnap_cell slots[])
{
    if (shape->n == 0)
        return false;
    for (size_t k = 0; k < shape->n; k++) {
        if (c->end - c->p < 300 || (load64(c->p) & shape->key[k].mask) != shape->key[k].bytes)
            return false;
        c->p += shape->key[k].length;
        if (!(slots[shape->key[k].slot] = value(pk, c)))
            return false;
    }
    return *c->p++ == OP_SETITEMS;
}

/* Key and value cells up to SETITEMS, and the keys' shape; 0 where the form is another. */
static size_t read_pairs(struct msnap_pickle *pk, struct cursor *c, msnap_cell pairs[2 * MAX_PAIRS], struct msnap_shape *shape)
{
    size_t n = 0;
    bool fits = pk->hooks.record_slots != NULL;
    *shape = (struct msnap_shape){0};
    while (n < 2 * MAX_PAIRS && c->end - c->p >= 300) {
        msnap_cell key;
        const uint8_t *p = c->p;
        if (*p == OP_BINGET) {
            key = get(pk, c, p[1]);
            c->p += 2;
        } else if (*p == OP_LONG_BINGET) {
            key = get(pk, c, read_u32(p + 1));
            c->p += 5;
        } else {
            if (!fits)
                shape->n = 0;
            return *c->p++ == OP_SETITEMS ? n : 0;
        }
        if (msnap_cell_kind(key) != MSNAP_KIND_STR)
            return 0;
        uint32_t slot = msnap_cell_index(key) - pk->hooks.first_slot_key;
        fits = fits && slot < MSNAP_N_SLOTS && shape->n < MSNAP_SHAPE_KEYS && !(shape->mask >> slot & 1);
        if (fits) {
            uint8_t masked[8] = {0}, length = (uint8_t)(c->p - p);
            memset(masked, 0xFF, length);
            shape->key[shape->n].mask = load64(masked);
            shape->key[shape->n].bytes = load64(p) & load64(masked);
            shape->key[shape->n].length = length;
            shape->key[shape->n++].slot = (uint8_t)slot;
            shape->mask |= 1u << slot;
        }
        msnap_cell v = value(pk, c);
        if (!v)
            return 0;
        pairs[n++] = key;
        pairs[n++] = v;
    }
    return 0;
}

enum msnap_status msnap_pickle_records(struct msnap_pickle *pk, const uint8_t **at, const uint8_t *end,
                                       size_t *taken, struct msnap_error *err)
{
    msnap_cell pairs[2 * MAX_PAIRS], slots[MSNAP_N_SLOTS];
    *taken = 0;
    for (const uint8_t *p = *at; end - p >= ROOM;) {
        if (pk->memo.n != pk->memo_count)
            return MSNAP_OK; /* ids with holes: MEMOIZE's next one is not the next slot */
        if (!msnap_vec_reserve(&pk->memo, pk->mem, sizeof(uint32_t), pk->memo.n + MAX_PAIRS + 1))
            return msnap_pickle_no_memory(pk, err);
        struct cursor start = {p, end, pk->memo.data, pk->memo.n}, c;
        size_t self = start.n;
        bool memoized = *start.p == OP_MEMOIZE;
        if (memoized) {
            start.memo[start.n++] = 0;
            start.p++;
        }
        if (*start.p++ != OP_MARK)
            return MSNAP_OK; /* what was memoised lies beyond memo.n and is as if it had not been */
        uint32_t row = MSNAP_NEW_ROW;
        enum msnap_status st;
        c = start;
        bool shaped = read_shaped(pk, &c, &pk->shapes[pk->shape], slots);
        if (!shaped && pk->shapes[!pk->shape].n) {
            c = start;
            shaped = read_shaped(pk, &c, &pk->shapes[!pk->shape], slots);
            pk->shape = shaped ? !pk->shape : pk->shape;
        }
        if (shaped) {
            st = pk->hooks.record_slots(pk->hooks.ctx, pk, &row, slots, pk->shapes[pk->shape].mask, err);
        } else {
            struct msnap_shape shape;
            c = start;
            size_t n = read_pairs(pk, &c, pairs, &shape);
            if (n == 0)
                return MSNAP_OK;
            if (shape.n) {
                pk->shape = !pk->shape;
                pk->shapes[pk->shape] = shape;
            }
            st = pk->hooks.record(pk->hooks.ctx, pk, &row, pairs, n, err);
        }
        if (st != MSNAP_OK)
            return st;
        if (memoized)
            c.memo[self] = (uint32_t)MSNAP_KIND_RECORD << 29 | row;
        pk->memo.n = pk->memo_count = c.n;
        if (!MSNAP_VEC_PUSH(&pk->stack, pk->mem, msnap_cell, MSNAP_CELL(MSNAP_KIND_RECORD, row)))
            return msnap_pickle_no_memory(pk, err);
        ++*taken;
        *at = c.p;
        if (*c.p != OP_EMPTY_DICT)
            return MSNAP_OK;
        p = c.p + 1;
    }
    return MSNAP_OK;
}
