/* pickle.h -- a pickle of plain data as value cells; calls nothing, imports nothing.
 *
 * A cell is 8 bytes: the kind in the upper 4 bits, an index or a small integer below. Lists,
 * dicts and tuples are objects with an index of their own, so what is shared in the file stays
 * shared. Strings are interned.
 *
 * Records: the dicts of one list of lists (below a given key of the outermost dict) are handed
 * to a hook key by key as they are built, and stand in the lists as a row number. So millions of
 * them never exist as objects.
 */
#ifndef MSNAP_FORMAT_PICKLE_H
#define MSNAP_FORMAT_PICKLE_H

#include "base/intern.h"
#include "base/source.h"

typedef uint64_t msnap_cell;

enum msnap_kind {
    MSNAP_KIND_UNSET, /* never on the stack */
    MSNAP_KIND_STR,   /* string id */
    MSNAP_KIND_LIST,  /* object index */
    MSNAP_KIND_DICT,
    MSNAP_KIND_TUPLE,
    MSNAP_KIND_RECORD, /* row */
    MSNAP_KIND_INT,    /* 60 bits, signed */
    MSNAP_KIND_BIG,    /* index into `bigs`: an integer of up to 64 bits, signed or not */
    MSNAP_KIND_FLOAT,  /* index into `floats` */
    MSNAP_KIND_BOOL,
    MSNAP_KIND_NONE,
    MSNAP_KIND_EMPTY_LIST /* an empty list that was used as a value and stays empty */
};

#define MSNAP_CELL(kind, value) ((msnap_cell)(kind) << 60 | ((uint64_t)(value) & (UINT64_MAX >> 4)))
static inline enum msnap_kind msnap_cell_kind(msnap_cell c) { return (enum msnap_kind)(c >> 60); }
static inline uint32_t msnap_cell_index(msnap_cell c) { return (uint32_t)c; }
static inline int64_t msnap_cell_int(msnap_cell c) { return (int64_t)(c << 4) >> 4; }

enum msnap_list_role {
    MSNAP_ROLE_NONE,
    MSNAP_ROLE_TRACES, /* the list below a record key */
    MSNAP_ROLE_TRACE,  /* a list in it: rows [aux, aux + n), `items` is not used */
    MSNAP_ROLE_SHARED  /* equal lists of the file that became one object; no more may be appended */
};

struct msnap_obj {
    msnap_cell *items; /* for a dict: key, value, key, value ... the later of equal keys holds */
    uint32_t n, cap;   /* cells */
    uint32_t aux;      /* the walker's, 0 at first; the first row of a trace */
    uint8_t role;      /* enum msnap_list_role */
    uint8_t which;     /* which record key, for TRACES and TRACE */
};

struct msnap_big {
    uint64_t bits;
    bool negative; /* then bits is the two's complement of a negative 64-bit number */
};

#define MSNAP_NEW_ROW UINT32_MAX
#define MSNAP_N_RECORD_KEYS 2

struct msnap_pickle;
struct msnap_pickle_hooks {
    void *ctx;
    /* Keys of the outermost dict whose lists of lists hold records. For the second, a flat list
     * of records will do as well. */
    uint32_t record_keys[MSNAP_N_RECORD_KEYS];
    /* Sets n keys (pairs[0], pairs[2], ...) of a row; *row is MSNAP_NEW_ROW for a new one. */
    enum msnap_status (*record)(void *ctx, struct msnap_pickle *pk, uint32_t *row, const msnap_cell *pairs,
                                size_t n, struct msnap_error *err);
    /* A short cut for new rows whose keys are all among the known ones: those with string ids from
     * first_slot_key on have slots 0 to MSNAP_N_SLOTS - 1. Only slots with a bit in `mask` hold. */
    uint32_t first_slot_key;
    enum msnap_status (*record_slots)(void *ctx, struct msnap_pickle *pk, uint32_t *row,
                                      const msnap_cell slots[], uint32_t mask, struct msnap_error *err);
};
#define MSNAP_N_SLOTS 16

/* The keys of the record read last, as the bytes that refer to them. Nearly all records of a file
 * have one of two shapes, so keys are compared and not looked up. */
#define MSNAP_SHAPE_KEYS 16
struct msnap_shape {
    size_t n;
    uint32_t mask;
    struct {
        uint64_t bytes, mask;
        uint8_t length, slot;
    } key[MSNAP_SHAPE_KEYS];
};

struct msnap_pickle {
    struct msnap_mem mem;
    struct msnap_source *src;
    struct msnap_intern *strings;
    struct msnap_arena *arena; /* items of objects; dropped with the pickle */
    struct msnap_pickle_hooks hooks;
    struct msnap_vec stack;  /* msnap_cell */
    struct msnap_vec marks;  /* size_t: stack heights */
    struct msnap_vec objs;   /* struct msnap_obj */
    struct msnap_vec bigs;   /* struct msnap_big */
    struct msnap_vec floats; /* double */
    struct msnap_vec memo;   /* uint32_t: kind << 29 | index, 0: unset */
    struct msnap_vec boxes;  /* msnap_cell: memoised values that have no index */
    size_t memo_count;       /* ids set: MEMOIZE's next one */
    uint64_t *sparse;        /* ids far beyond the count: id << 32 | entry, open addressing */
    size_t n_sparse, sparse_cap;
    msnap_cell result;
    int protocol;
    uint32_t last_pair[2];   /* the last tuple of two small integers, so that equal ones are one object */
    uint32_t last_pair_obj;
    struct msnap_shape shapes[2];
    uint32_t record_list; /* object index + 1 of the list that the record at hand goes into */
    unsigned shape; /* the one that fitted last */
    uint32_t lists[4096];    /* object index + 1 of recent lists of references, by their hash */
    struct { uint64_t text; uint32_t id; uint32_t len; } short_strings[256]; /* up to 8 bytes, direct mapped */
};

/* `arena` must be for this pickle alone: it is freed by msnap_pickle_release. */
void msnap_pickle_init(struct msnap_pickle *pk, struct msnap_source *src, struct msnap_intern *strings,
                       struct msnap_arena *arena, struct msnap_mem mem, const struct msnap_pickle_hooks *hooks);
void msnap_pickle_release(struct msnap_pickle *pk);
/* Runs to STOP. The result is pk->result. */
MSNAP_CHECKED enum msnap_status msnap_pickle_run(struct msnap_pickle *pk, struct msnap_error *err);

static inline struct msnap_obj *msnap_pickle_obj(const struct msnap_pickle *pk, msnap_cell c)
{
    return &MSNAP_VEC_AT(&pk->objs, struct msnap_obj, msnap_cell_index(c));
}

#endif
