/* pickle.c -- the stack machine: bytes to value cells; calls nothing, imports nothing. */
#include "format/pickle_parts.h"

#include <inttypes.h>

/* ---- opcode table ---- */

struct op_info {
    const char *name;
    const char *refusal; /* NULL: accepted */
    int8_t fixed;        /* length of the fixed part of the argument; -1: a text line */
};
#define ACCEPT NULL
#define REFUSE(why) why
static const struct op_info ops[256] = {
#define OP(name, byte, fixed, verdict) [byte] = {#name, verdict, fixed},
#include "format/pickle_ops.def"
#undef OP
};

/* ---- objects and numbers ---- */

enum msnap_status msnap_pickle_no_memory(struct msnap_pickle *pk, struct msnap_error *err)
{
    return msnap_fail_at(err, MSNAP_ENOMEM, MSNAP_BYTE, msnap_source_offset(pk->src),
                         "no memory for the snapshot's values");
}

msnap_cell msnap_pickle_big(struct msnap_pickle *pk, uint64_t bits, bool negative)
{
    if (pk->bigs.n >= MSNAP_MAX_INDEX ||
        !MSNAP_VEC_PUSH(&pk->bigs, pk->mem, struct msnap_big, ((struct msnap_big){bits, negative})))
        return 0;
    return MSNAP_CELL(MSNAP_KIND_BIG, pk->bigs.n - 1);
}

msnap_cell msnap_pickle_int(struct msnap_pickle *pk, int64_t v)
{
    if (v >= -(INT64_C(1) << 59) && v < INT64_C(1) << 59)
        return MSNAP_CELL(MSNAP_KIND_INT, v);
    return msnap_pickle_big(pk, (uint64_t)v, v < 0);
}

msnap_cell msnap_pickle_float(struct msnap_pickle *pk, double v)
{
    if (pk->floats.n >= MSNAP_MAX_INDEX || !MSNAP_VEC_PUSH(&pk->floats, pk->mem, double, v))
        return 0;
    return MSNAP_CELL(MSNAP_KIND_FLOAT, pk->floats.n - 1);
}

msnap_cell msnap_pickle_new(struct msnap_pickle *pk, enum msnap_kind kind, const msnap_cell *items, size_t n)
{
    struct msnap_obj o = {NULL, (uint32_t)n, (uint32_t)n, 0, MSNAP_ROLE_NONE, 0};
    if (pk->objs.n >= MSNAP_MAX_INDEX || n >= UINT32_MAX / 2)
        return 0;
    if (n) {
        o.items = msnap_arena_raw(pk->arena, n, sizeof *items);
        if (!o.items)
            return 0;
        memcpy(o.items, items, n * sizeof *items);
    }
    if (!MSNAP_VEC_PUSH(&pk->objs, pk->mem, struct msnap_obj, o))
        return 0;
    return MSNAP_CELL(kind, pk->objs.n - 1);
}

/* ---- memo ---- */

static size_t sparse_slot(const struct msnap_pickle *pk, size_t id)
{
    size_t i = (size_t)(msnap_hash_u64(pk->strings->seed, id) & (pk->sparse_cap - 1));
    while (pk->sparse[i] && pk->sparse[i] >> 32 != id)
        i = (i + 1) & (pk->sparse_cap - 1);
    return i;
}

static bool sparse_put(struct msnap_pickle *pk, size_t id, uint32_t entry)
{
    if (pk->n_sparse * 2 >= pk->sparse_cap) {
        size_t old_cap = pk->sparse_cap, cap = old_cap ? old_cap * 2 : 256;
        uint64_t *old = pk->sparse, *p = pk->mem.resize(pk->mem.ctx, NULL, 0, cap * sizeof *p);
        if (!p)
            return false;
        memset(p, 0, cap * sizeof *p);
        pk->sparse = p;
        pk->sparse_cap = cap;
        for (size_t i = 0; i < old_cap; i++)
            if (old[i])
                p[sparse_slot(pk, (size_t)(old[i] >> 32))] = old[i];
        msnap_mem_release(pk->mem, old, old_cap * sizeof *old);
    }
    size_t i = sparse_slot(pk, id);
    pk->n_sparse += !pk->sparse[i];
    pk->memo_count += !pk->sparse[i];
    pk->sparse[i] = (uint64_t)id << 32 | entry;
    return true;
}

enum msnap_status msnap_pickle_memo_put(struct msnap_pickle *pk, size_t id, msnap_cell c, struct msnap_error *err)
{
    uint32_t entry;
    if (msnap_cell_kind(c) <= MSNAP_KIND_RECORD) {
        entry = (uint32_t)msnap_cell_kind(c) << 29 | msnap_cell_index(c);
    } else if (msnap_cell_kind(c) == MSNAP_KIND_EMPTY_LIST) {
        entry = (uint32_t)MSNAP_MEMO_EMPTY_LIST << 29;
    } else {
        entry = (uint32_t)MSNAP_MEMO_BOX << 29 | (uint32_t)pk->boxes.n;
        if (pk->boxes.n >= MSNAP_MAX_INDEX || !MSNAP_VEC_PUSH(&pk->boxes, pk->mem, msnap_cell, c))
            return msnap_pickle_no_memory(pk, err);
    }
    /* Ids may have holes; one far beyond the others must not cost an array of that size. */
    bool dense = id < pk->memo.n || id <= 2 * pk->memo_count + 4096;
    if (!dense)
        return sparse_put(pk, id, entry) ? MSNAP_OK : msnap_pickle_no_memory(pk, err);
    if (id >= pk->memo.n) {
        if (!msnap_vec_reserve(&pk->memo, pk->mem, sizeof(uint32_t), id + 1))
            return msnap_pickle_no_memory(pk, err);
        memset((uint32_t *)pk->memo.data + pk->memo.n, 0, (id - pk->memo.n) * sizeof(uint32_t));
        pk->memo.n = id + 1;
        pk->memo_count++;
    } else {
        pk->memo_count += !MSNAP_VEC_AT(&pk->memo, uint32_t, id);
    }
    MSNAP_VEC_AT(&pk->memo, uint32_t, id) = entry;
    return MSNAP_OK;
}

msnap_cell msnap_pickle_memo_get(const struct msnap_pickle *pk, size_t id)
{
    msnap_cell c = memo_get_dense(pk, id);
    if (!c && pk->n_sparse)
        c = memo_cell(pk, (uint32_t)pk->sparse[sparse_slot(pk, id)]);
    return c;
}

/* ---- the machine ---- */

static enum msnap_status damaged(const struct msnap_pickle *pk, const uint8_t *op, const char *what,
                                 struct msnap_error *err)
{
    uint64_t at = pk->src->base + (uint64_t)(op - pk->src->start);
    return msnap_fail_at(err, MSNAP_EFORMAT, MSNAP_BYTE, at, "the pickle is damaged: %s %s",
                         ops[*op].name ? ops[*op].name : "a byte", what);
}

static enum msnap_status cut(const struct msnap_pickle *pk, struct msnap_error *err)
{
    uint64_t at = pk->src->base + (uint64_t)(pk->src->end - pk->src->start);
    return msnap_fail_at(err, MSNAP_EFORMAT, MSNAP_BYTE, at,
                         "the file is cut short here, in the middle of the pickle. Was the dump or the copy "
                         "interrupted? Dump or copy it again");
}

static enum msnap_status unknown(const struct msnap_pickle *pk, const uint8_t *op, struct msnap_error *err)
{
    uint64_t at = pk->src->base + (uint64_t)(op - pk->src->start);
    if (ops[*op].refusal)
        return msnap_fail_at(err, MSNAP_EREFUSED, MSNAP_BYTE, at,
                             "opcode %s %s; a memory snapshot never does, and memsnap runs nothing from a file. "
                             "Is this a model or tensor file instead of a snapshot?",
                             ops[*op].name ? ops[*op].name : "?", ops[*op].refusal);
    return msnap_fail_at(err, MSNAP_EFORMAT, MSNAP_BYTE, at,
                         "byte 0x%02x is no pickle opcode: the file is damaged or is no pickle", *op);
}

/* The list that a new value on top of the stack would go into, if it is one; NULL otherwise. It
 * stands below the innermost mark (APPENDS follows) or directly below (APPEND follows). */
static struct msnap_obj *container(const struct msnap_pickle *pk)
{
    const msnap_cell *stack = pk->stack.data;
    size_t sp = pk->stack.n, mark = pk->marks.n ? MSNAP_VEC_AT(&pk->marks, size_t, pk->marks.n - 1) : 0;
    if (sp > mark && msnap_cell_kind(stack[sp - 1]) == MSNAP_KIND_LIST) {
        struct msnap_obj *o = msnap_pickle_obj(pk, stack[sp - 1]);
        if (o->role != MSNAP_ROLE_NONE)
            return o;
    }
    if (mark && msnap_cell_kind(stack[mark - 1]) == MSNAP_KIND_LIST)
        return msnap_pickle_obj(pk, stack[mark - 1]);
    return NULL;
}

static msnap_cell new_list(struct msnap_pickle *pk)
{
    msnap_cell c = msnap_pickle_new(pk, MSNAP_KIND_LIST, NULL, 0);
    if (!c)
        return 0;
    const msnap_cell *stack = pk->stack.data;
    size_t sp = pk->stack.n;
    for (uint8_t k = 0; k < MSNAP_N_RECORD_KEYS; k++)
        if (sp && pk->hooks.record && stack[sp - 1] == MSNAP_CELL(MSNAP_KIND_STR, pk->hooks.record_keys[k])) {
            msnap_pickle_obj(pk, c)->role = MSNAP_ROLE_TRACES;
            msnap_pickle_obj(pk, c)->which = k;
            return c;
        }
    const struct msnap_obj *parent = container(pk);
    if (parent && parent->role == MSNAP_ROLE_TRACES) {
        uint8_t which = parent->which;
        msnap_pickle_obj(pk, c)->role = MSNAP_ROLE_TRACE;
        msnap_pickle_obj(pk, c)->which = which;
    }
    return c;
}

static bool makes_record(struct msnap_pickle *pk)
{
    const struct msnap_obj *o = container(pk);
    if (!o || !(o->role == MSNAP_ROLE_TRACE || (o->role == MSNAP_ROLE_TRACES && o->which == 1)))
        return false;
    pk->record_list = (uint32_t)(o - (const struct msnap_obj *)pk->objs.data) + 1;
    return true;
}

static bool push(struct msnap_pickle *pk, msnap_cell c)
{
    return c && MSNAP_VEC_PUSH(&pk->stack, pk->mem, msnap_cell, c);
}

static bool add_items(struct msnap_pickle *pk, struct msnap_obj *o, const msnap_cell *items, size_t n)
{
    if (n > UINT32_MAX / 2 - o->n)
        return false;
    if (o->n + n > o->cap) {
        size_t cap = o->n ? (size_t)o->cap * 2 : n;
        if (cap < o->n + n)
            cap = o->n + n;
        msnap_cell *p = msnap_arena_raw(pk->arena, cap, sizeof *p);
        if (!p)
            return false;
        if (o->n)
            memcpy(p, o->items, o->n * sizeof *p);
        o->items = p;
        o->cap = (uint32_t)cap;
    }
    if (n)
        memcpy(o->items + o->n, items, n * sizeof *items);
    o->n += (uint32_t)n;
    return true;
}

/* A trace whose rows are not one run (the same entry twice, say) becomes an ordinary list. */
static bool spell_out(struct msnap_pickle *pk, struct msnap_obj *o)
{
    uint32_t n = o->n, first = o->aux;
    o->role = MSNAP_ROLE_NONE;
    o->n = o->aux = 0;
    for (uint32_t i = 0; i < n; i++) {
        msnap_cell c = MSNAP_CELL(MSNAP_KIND_RECORD, first + i);
        if (!add_items(pk, o, &c, 1))
            return false;
    }
    return true;
}

static bool append(struct msnap_pickle *pk, struct msnap_obj *o, const msnap_cell *items, size_t n)
{
    if (o->role == MSNAP_ROLE_TRACE && n) {
        uint32_t first = o->n ? o->aux : msnap_cell_index(items[0]);
        size_t i = 0;
        while (i < n && items[i] == MSNAP_CELL(MSNAP_KIND_RECORD, (uint64_t)first + o->n + i))
            i++;
        if (i == n) {
            o->aux = first;
            o->n += (uint32_t)n;
            return true;
        }
        if (!spell_out(pk, o))
            return false;
    }
    return add_items(pk, o, items, n);
}

/* Everything above the innermost mark: [*from, stack.n). False if there is no mark. */
static bool pop_mark(struct msnap_pickle *pk, size_t *from)
{
    if (pk->marks.n == 0)
        return false;
    *from = MSNAP_VEC_AT(&pk->marks, size_t, --pk->marks.n);
    return true;
}

/* Stack height below which the innermost mark forbids taking. */
static size_t floor_of(const struct msnap_pickle *pk)
{
    return pk->marks.n ? MSNAP_VEC_AT(&pk->marks, size_t, pk->marks.n - 1) : 0;
}

static enum msnap_status set_items(struct msnap_pickle *pk, const uint8_t *op, msnap_cell *target,
                                   const msnap_cell *pairs, size_t n, struct msnap_error *err)
{
    if (n % 2)
        return damaged(pk, op, "finds a key without a value", err);
    switch (msnap_cell_kind(*target)) {
    case MSNAP_KIND_RECORD: {
        uint32_t row = msnap_cell_index(*target);
        return pk->hooks.record(pk->hooks.ctx, pk, &row, pairs, n, err);
    }
    case MSNAP_KIND_DICT:
        return add_items(pk, msnap_pickle_obj(pk, *target), pairs, n) ? MSNAP_OK : msnap_pickle_no_memory(pk, err);
    default: return damaged(pk, op, "sets a key of something that is no dict", err);
    }
}

static msnap_cell long_bytes(struct msnap_pickle *pk, const uint8_t *p, size_t n, bool *fits)
{
    bool negative = n && (p[n - 1] & 0x80);
    *fits = true;
    while (n > 8 && p[n - 1] == (negative ? 0xFF : 0))
        n--; /* the sign alone */
    if (n > 8 || (n == 8 && negative != !!(p[7] & 0x80) && negative)) {
        *fits = false;
        return 0;
    }
    uint64_t v = negative ? UINT64_MAX : 0;
    for (size_t i = n; i-- > 0;)
        v = v << 8 | p[i];
    if (!negative && v > INT64_MAX)
        return msnap_pickle_big(pk, v, false);
    return msnap_pickle_int(pk, (int64_t)v);
}

static double big_endian_double(const uint8_t *p)
{
    uint64_t v = 0;
    double d;
    for (int i = 0; i < 8; i++)
        v = v << 8 | p[i];
    memcpy(&d, &v, sizeof d);
    return d;
}

/* The line from p on, its newline excluded; moves the window as far as needed. */
static enum msnap_status text_line(struct msnap_pickle *pk, size_t *length, struct msnap_error *err)
{
    struct msnap_source *src = pk->src;
    size_t searched = 1; /* p is at the opcode */
    for (;;) {
        size_t have = (size_t)(src->end - src->p);
        const uint8_t *newline = have > searched ? memchr(src->p + searched, '\n', have - searched) : NULL;
        if (newline) {
            *length = (size_t)(newline - src->p) - 1;
            return MSNAP_OK;
        }
        if (src->at_end)
            return cut(pk, err);
        searched = have > 1 ? have : 1;
        enum msnap_status st = msnap_source_more(src, have * 2 + 64, err);
        if (st != MSNAP_OK)
            return st;
    }
}

/* Makes `n` bytes from src->p on readable, or says that the file is cut. */
static enum msnap_status need(struct msnap_pickle *pk, uint64_t n, struct msnap_error *err)
{
    struct msnap_source *src = pk->src;
    if ((uint64_t)(src->end - src->p) >= n)
        return MSNAP_OK;
    enum msnap_status st = msnap_source_more(src, n > SIZE_MAX ? SIZE_MAX : (size_t)n, err);
    if (st != MSNAP_OK)
        return st;
    return (uint64_t)(src->end - src->p) >= n ? MSNAP_OK : cut(pk, err);
}

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        enum msnap_status try_status = (call);                                                               \
        if (try_status != MSNAP_OK)                                                                          \
            return try_status;                                                                               \
    } while (0)
#define NO_MEMORY_UNLESS(ok)                                                                                 \
    do {                                                                                                     \
        if (!(ok))                                                                                           \
            return msnap_pickle_no_memory(pk, err);                                                          \
    } while (0)

/* One opcode at src->p, whose fixed part is readable. Moves src->p behind it. */
static enum msnap_status step(struct msnap_pickle *pk, bool *stop, struct msnap_error *err)
{
    struct msnap_source *src = pk->src;
    const uint8_t *p = src->p;
    msnap_cell *stack = pk->stack.data;
    size_t sp = pk->stack.n, from;
    uint64_t length;

    switch ((enum msnap_opcode)*p) {
    case OP_PROTO:
        if (p[1] > 5)
            return msnap_fail_at(err, MSNAP_EFORMAT, MSNAP_BYTE, msnap_source_offset(src),
                                 "pickle protocol %d is not known (0 to 5 are); is the file damaged, or newer than "
                                 "this memsnap?", p[1]);
        pk->protocol = p[1];
        src->p += 2;
        return MSNAP_OK;
    case OP_FRAME: src->p += 9; return MSNAP_OK;
    case OP_STOP:
        if (sp == 0)
            return damaged(pk, p, "ends it with nothing on the stack", err);
        pk->result = stack[sp - 1];
        src->p += 1;
        *stop = true;
        return MSNAP_OK;
    case OP_MARK:
        NO_MEMORY_UNLESS(MSNAP_VEC_PUSH(&pk->marks, pk->mem, size_t, sp));
        src->p += 1;
        return MSNAP_OK;
    case OP_POP: /* pops a mark where one is on top, as Python does */
        if (pk->marks.n && floor_of(pk) == sp)
            pk->marks.n--;
        else if (sp)
            pk->stack.n--;
        else
            return damaged(pk, p, "takes from an empty stack", err);
        src->p += 1;
        return MSNAP_OK;
    case OP_POP_MARK:
        if (!pop_mark(pk, &from))
            return damaged(pk, p, "finds no MARK", err);
        pk->stack.n = from;
        src->p += 1;
        return MSNAP_OK;
    case OP_DUP:
        if (sp == floor_of(pk))
            return damaged(pk, p, "takes from an empty stack", err);
        NO_MEMORY_UNLESS(push(pk, stack[sp - 1]));
        src->p += 1;
        return MSNAP_OK;
    case OP_NONE:
        NO_MEMORY_UNLESS(push(pk, MSNAP_CELL(MSNAP_KIND_NONE, 0)));
        src->p += 1;
        return MSNAP_OK;
    case OP_NEWTRUE:
    case OP_NEWFALSE:
        NO_MEMORY_UNLESS(push(pk, MSNAP_CELL(MSNAP_KIND_BOOL, *p == OP_NEWTRUE)));
        src->p += 1;
        return MSNAP_OK;
    case OP_BININT1:
        NO_MEMORY_UNLESS(push(pk, MSNAP_CELL(MSNAP_KIND_INT, p[1])));
        src->p += 2;
        return MSNAP_OK;
    case OP_BININT2:
        NO_MEMORY_UNLESS(push(pk, MSNAP_CELL(MSNAP_KIND_INT, read_u16(p + 1))));
        src->p += 3;
        return MSNAP_OK;
    case OP_BININT:
        NO_MEMORY_UNLESS(push(pk, MSNAP_CELL(MSNAP_KIND_INT, (int64_t)(int32_t)read_u32(p + 1))));
        src->p += 5;
        return MSNAP_OK;
    case OP_LONG1:
    case OP_LONG4: {
        size_t head = *p == OP_LONG1 ? 2 : 5;
        bool fits;
        length = *p == OP_LONG1 ? p[1] : read_u32(p + 1);
        if (length > INT32_MAX)
            return damaged(pk, p, "has a negative length", err);
        TRY(need(pk, head + length, err));
        msnap_cell c = long_bytes(pk, src->p + head, (size_t)length, &fits);
        if (!fits)
            return msnap_fail_at(err, MSNAP_EFORMAT, MSNAP_BYTE, msnap_source_offset(src),
                                 "an integer of %" PRIu64 " bytes; a snapshot's have at most 64 bits", length);
        NO_MEMORY_UNLESS(push(pk, c));
        src->p += head + length;
        return MSNAP_OK;
    }
    case OP_BINFLOAT:
        NO_MEMORY_UNLESS(push(pk, msnap_pickle_float(pk, big_endian_double(p + 1))));
        src->p += 9;
        return MSNAP_OK;
    case OP_SHORT_BINUNICODE:
    case OP_SHORT_BINSTRING:
    case OP_BINUNICODE:
    case OP_BINSTRING:
    case OP_BINUNICODE8: {
        size_t head = 1 + (size_t)ops[*p].fixed;
        length = head == 2 ? p[1] : head == 5 ? read_u32(p + 1) : read_u64(p + 1);
        if (length > UINT64_MAX - head)
            return cut(pk, err);
        TRY(need(pk, head + length, err));
        uint32_t id = pickle_string(pk, src->p + head, (size_t)length);
        NO_MEMORY_UNLESS(id && push(pk, MSNAP_CELL(MSNAP_KIND_STR, id)));
        src->p += head + length;
        return MSNAP_OK;
    }
    case OP_INT:
    case OP_LONG:
    case OP_FLOAT:
    case OP_STRING:
    case OP_UNICODE: {
        size_t n;
        msnap_cell c;
        enum msnap_opcode op = (enum msnap_opcode)*p;
        TRY(text_line(pk, &n, err));
        TRY(msnap_pickle_text(pk, op, src->p + 1, n, msnap_source_offset(src), &c, err));
        NO_MEMORY_UNLESS(push(pk, c));
        src->p += n + 2;
        return MSNAP_OK;
    }
    case OP_GET:
    case OP_PUT: {
        size_t n;
        uint64_t id;
        bool get = *p == OP_GET;
        TRY(text_line(pk, &n, err));
        p = src->p;
        size_t digits = n && p[n] == '\r' ? n - 1 : n;
        if (!msnap_pickle_decimal(p + 1, digits, &id) || id > UINT32_MAX)
            return damaged(pk, p, "has no readable memo id", err);
        if (get) {
            msnap_cell c = msnap_pickle_memo_get(pk, (size_t)id);
            if (!c)
                return damaged(pk, p, "refers to a value that was never stored", err);
            NO_MEMORY_UNLESS(push(pk, c));
        } else {
            if (sp == 0)
                return damaged(pk, p, "stores from an empty stack", err);
            TRY(msnap_pickle_memo_put(pk, (size_t)id, stack[sp - 1], err));
        }
        src->p += n + 2;
        return MSNAP_OK;
    }
    case OP_BINGET:
    case OP_LONG_BINGET: {
        msnap_cell c = msnap_pickle_memo_get(pk, *p == OP_BINGET ? p[1] : read_u32(p + 1));
        if (!c)
            return damaged(pk, p, "refers to a value that was never stored", err);
        NO_MEMORY_UNLESS(push(pk, c));
        src->p += *p == OP_BINGET ? 2 : 5;
        return MSNAP_OK;
    }
    case OP_BINPUT:
    case OP_LONG_BINPUT:
    case OP_MEMOIZE:
        if (sp == 0)
            return damaged(pk, p, "stores from an empty stack", err);
        if (*p == OP_MEMOIZE) {
            if (!memoize_index(pk, stack[sp - 1]))
                TRY(msnap_pickle_memo_put(pk, pk->memo_count, stack[sp - 1], err));
            src->p += 1;
        } else {
            TRY(msnap_pickle_memo_put(pk, *p == OP_BINPUT ? p[1] : read_u32(p + 1), stack[sp - 1], err));
            src->p += *p == OP_BINPUT ? 2 : 5;
        }
        return MSNAP_OK;
    case OP_EMPTY_LIST:
        NO_MEMORY_UNLESS(push(pk, new_list(pk)));
        src->p += 1;
        return MSNAP_OK;
    case OP_EMPTY_TUPLE:
        NO_MEMORY_UNLESS(push(pk, msnap_pickle_new(pk, MSNAP_KIND_TUPLE, NULL, 0)));
        src->p += 1;
        return MSNAP_OK;
    case OP_EMPTY_DICT:
        if (makes_record(pk)) {
            uint32_t row = MSNAP_NEW_ROW;
            TRY(pk->hooks.record(pk->hooks.ctx, pk, &row, NULL, 0, err));
            NO_MEMORY_UNLESS(push(pk, MSNAP_CELL(MSNAP_KIND_RECORD, row)));
        } else {
            NO_MEMORY_UNLESS(push(pk, msnap_pickle_new(pk, MSNAP_KIND_DICT, NULL, 0)));
        }
        src->p += 1;
        return MSNAP_OK;
    case OP_TUPLE1:
    case OP_TUPLE2:
    case OP_TUPLE3: {
        size_t n = (size_t)(*p - OP_TUPLE1) + 1;
        if (sp < n || sp - n < floor_of(pk))
            return damaged(pk, p, "takes from an empty stack", err);
        msnap_cell c = msnap_pickle_new(pk, MSNAP_KIND_TUPLE, stack + sp - n, n);
        NO_MEMORY_UNLESS(c);
        if (n == 2 && msnap_cell_kind(stack[sp - 2]) == MSNAP_KIND_INT && msnap_cell_kind(stack[sp - 1]) == MSNAP_KIND_INT &&
            stack[sp - 2] << 4 >> 4 < 256 && stack[sp - 1] << 4 >> 4 < 256) {
            pk->last_pair[0] = msnap_cell_index(stack[sp - 2]);
            pk->last_pair[1] = msnap_cell_index(stack[sp - 1]);
            pk->last_pair_obj = msnap_cell_index(c) + 1;
        }
        pk->stack.n -= n;
        NO_MEMORY_UNLESS(push(pk, c));
        src->p += 1;
        return MSNAP_OK;
    }
    case OP_TUPLE:
    case OP_LIST:
    case OP_DICT: {
        enum msnap_opcode op = (enum msnap_opcode)*p;
        if (!pop_mark(pk, &from))
            return damaged(pk, p, "finds no MARK", err);
        size_t n = sp - from;
        pk->stack.n = from;
        if (op == OP_DICT && n % 2)
            return damaged(pk, p, "finds a key without a value", err);
        msnap_cell c;
        if (op == OP_DICT && n == 0 && makes_record(pk)) {
            uint32_t row = MSNAP_NEW_ROW;
            TRY(pk->hooks.record(pk->hooks.ctx, pk, &row, NULL, 0, err));
            c = MSNAP_CELL(MSNAP_KIND_RECORD, row);
        } else if (op == OP_LIST && n == 0) {
            c = new_list(pk);
        } else {
            c = msnap_pickle_new(pk, op == OP_DICT ? MSNAP_KIND_DICT : op == OP_LIST ? MSNAP_KIND_LIST : MSNAP_KIND_TUPLE,
                                 stack + from, n);
        }
        NO_MEMORY_UNLESS(push(pk, c));
        src->p += 1;
        return MSNAP_OK;
    }
    case OP_APPEND:
    case OP_APPENDS:
        if (*p == OP_APPEND) {
            if (sp < floor_of(pk) + 2)
                return damaged(pk, p, "takes from an empty stack", err);
            from = sp - 1;
        } else if (!pop_mark(pk, &from) || from == 0) {
            return damaged(pk, p, "finds no MARK", err);
        }
        if (sp > from && (msnap_cell_kind(stack[from - 1]) == MSNAP_KIND_EMPTY_LIST ||
                          (msnap_cell_kind(stack[from - 1]) == MSNAP_KIND_LIST &&
                           msnap_pickle_obj(pk, stack[from - 1])->role == MSNAP_ROLE_SHARED)))
            return damaged(pk, p, "fills a list that was complete before", err);
        if (msnap_cell_kind(stack[from - 1]) == MSNAP_KIND_LIST) {
            NO_MEMORY_UNLESS(append(pk, msnap_pickle_obj(pk, stack[from - 1]), stack + from, sp - from));
        } else if (msnap_cell_kind(stack[from - 1]) != MSNAP_KIND_EMPTY_LIST) {
            return damaged(pk, p, "appends to something that is no list", err);
        }
        pk->stack.n = from;
        src->p += 1;
        return MSNAP_OK;
    case OP_SETITEM:
    case OP_SETITEMS:
        if (*p == OP_SETITEM) {
            if (sp < floor_of(pk) + 3)
                return damaged(pk, p, "takes from an empty stack", err);
            from = sp - 2;
        } else if (!pop_mark(pk, &from) || from == 0) {
            return damaged(pk, p, "finds no MARK", err);
        }
        TRY(set_items(pk, p, &stack[from - 1], stack + from, sp - from, err));
        pk->stack.n = from;
        src->p += 1;
        return MSNAP_OK;
    case OP_PERSID:
    case OP_BINPERSID:
    case OP_REDUCE:
    case OP_BUILD:
    case OP_GLOBAL:
    case OP_INST:
    case OP_OBJ:
    case OP_BINBYTES:
    case OP_SHORT_BINBYTES:
    case OP_NEWOBJ:
    case OP_EXT1:
    case OP_EXT2:
    case OP_EXT4:
    case OP_BINBYTES8:
    case OP_EMPTY_SET:
    case OP_ADDITEMS:
    case OP_FROZENSET:
    case OP_NEWOBJ_EX:
    case OP_STACK_GLOBAL:
    case OP_BYTEARRAY8:
    case OP_NEXT_BUFFER:
    case OP_READONLY_BUFFER: break;
    }
    return unknown(pk, p, err);
}

/* The machine works in a loop of its own for what large files consist of: references, short
 * strings, small containers; everything else goes through step(). */
enum msnap_status msnap_pickle_run(struct msnap_pickle *pk, struct msnap_error *err)
{
    struct msnap_source *src = pk->src;
    bool stop = false;
    NO_MEMORY_UNLESS(msnap_vec_reserve(&pk->stack, pk->mem, sizeof(msnap_cell), 4096) &&
                     msnap_vec_reserve(&pk->marks, pk->mem, sizeof(size_t), 64));
    while (!stop) {
        if (src->end - src->p < 1024 && !src->at_end)
            TRY(msnap_source_more(src, 4096, err));
        size_t left = (size_t)(src->end - src->p);
        if (left == 0)
            return cut(pk, err);
        int fixed = ops[*src->p].fixed;
        if (left < 1 + (size_t)(fixed > 0 ? fixed : 0))
            return ops[*src->p].name ? cut(pk, err) : unknown(pk, src->p, err);
        if (*src->p == OP_EMPTY_DICT && makes_record(pk)) {
            const uint8_t *p = src->p + 1;
            size_t taken;
            TRY(msnap_pickle_records(pk, &p, src->end, &taken, err));
            if (taken) {
                src->p = p;
                continue;
            }
        } else if (*src->p == OP_BINGET || *src->p == OP_LONG_BINGET) {
            /* Stacks of known frames: runs of references. */
            const uint8_t *p = src->p, *safe = src->end - 8;
            while (p < safe && pk->stack.n < pk->stack.cap) {
                msnap_cell c;
                if (*p == OP_BINGET) {
                    c = memo_get_dense(pk, p[1]);
                    if (!c)
                        break;
                    p += 2;
                } else if (*p == OP_LONG_BINGET) {
                    c = memo_get_dense(pk, read_u32(p + 1));
                    if (!c)
                        break;
                    p += 5;
                } else {
                    break;
                }
                ((msnap_cell *)pk->stack.data)[pk->stack.n++] = c;
            }
            if (p != src->p) {
                src->p = p;
                continue;
            }
        }
        TRY(step(pk, &stop, err));
    }
    return MSNAP_OK;
}

void msnap_pickle_init(struct msnap_pickle *pk, struct msnap_source *src, struct msnap_intern *strings,
                       struct msnap_arena *arena, struct msnap_mem mem, const struct msnap_pickle_hooks *hooks)
{
    memset(pk, 0, sizeof *pk);
    pk->mem = mem;
    pk->src = src;
    pk->strings = strings;
    pk->arena = arena;
    if (hooks)
        pk->hooks = *hooks;
    pk->protocol = 0;
}

void msnap_pickle_release(struct msnap_pickle *pk)
{
    msnap_vec_release(&pk->stack, pk->mem, sizeof(msnap_cell));
    msnap_vec_release(&pk->marks, pk->mem, sizeof(size_t));
    msnap_vec_release(&pk->objs, pk->mem, sizeof(struct msnap_obj));
    msnap_vec_release(&pk->bigs, pk->mem, sizeof(struct msnap_big));
    msnap_vec_release(&pk->floats, pk->mem, sizeof(double));
    msnap_vec_release(&pk->memo, pk->mem, sizeof(uint32_t));
    msnap_vec_release(&pk->boxes, pk->mem, sizeof(msnap_cell));
    msnap_mem_release(pk->mem, pk->sparse, pk->sparse_cap * sizeof *pk->sparse);
    pk->sparse = NULL;
    pk->sparse_cap = 0;
    msnap_arena_free(pk->arena);
    pk->arena = NULL;
}
