/* pyvalue.c -- numbers out of value cells, whatever form a writer gave them. */
#include "format/pyvalue.h"

static bool integral(double d, double low, double high) { return d >= low && d < high && d == (double)(int64_t)d; }

bool msnap_value_bits64(const struct msnap_pickle *pk, msnap_cell c, uint64_t *out)
{
    int64_t i;
    if (msnap_cell_kind(c) == MSNAP_KIND_BIG) {
        *out = MSNAP_VEC_AT(&pk->bigs, struct msnap_big, msnap_cell_index(c)).bits;
        return true;
    }
    if (!msnap_value_i64(pk, c, &i))
        return false;
    *out = (uint64_t)i;
    return true;
}

bool msnap_value_u64(const struct msnap_pickle *pk, msnap_cell c, uint64_t *out)
{
    int64_t i;
    if (msnap_cell_kind(c) == MSNAP_KIND_BIG) {
        const struct msnap_big *b = &MSNAP_VEC_AT(&pk->bigs, struct msnap_big, msnap_cell_index(c));
        *out = b->bits;
        return !b->negative;
    }
    if (!msnap_value_i64(pk, c, &i) || i < 0)
        return false;
    *out = (uint64_t)i;
    return true;
}

bool msnap_value_i64(const struct msnap_pickle *pk, msnap_cell c, int64_t *out)
{
    switch (msnap_cell_kind(c)) {
    case MSNAP_KIND_INT:
        *out = msnap_cell_int(c);
        return true;
    case MSNAP_KIND_BOOL:
        *out = (int64_t)msnap_cell_index(c);
        return true;
    case MSNAP_KIND_BIG: {
        const struct msnap_big *b = &MSNAP_VEC_AT(&pk->bigs, struct msnap_big, msnap_cell_index(c));
        *out = (int64_t)b->bits;
        return b->negative || b->bits <= INT64_MAX;
    }
    case MSNAP_KIND_FLOAT: {
        double d = MSNAP_VEC_AT(&pk->floats, double, msnap_cell_index(c));
        if (!(d > -9.2e18 && d < 9.2e18) || !integral(d, -9.2e18, 9.2e18))
            return false;
        *out = (int64_t)d;
        return true;
    }
    case MSNAP_KIND_UNSET:
    case MSNAP_KIND_STR:
    case MSNAP_KIND_LIST:
    case MSNAP_KIND_DICT:
    case MSNAP_KIND_TUPLE:
    case MSNAP_KIND_RECORD:
    case MSNAP_KIND_NONE:
    case MSNAP_KIND_EMPTY_LIST: break;
    }
    return false;
}

bool msnap_value_double(const struct msnap_pickle *pk, msnap_cell c, double *out)
{
    int64_t i;
    if (msnap_cell_kind(c) == MSNAP_KIND_FLOAT) {
        *out = MSNAP_VEC_AT(&pk->floats, double, msnap_cell_index(c));
        return true;
    }
    if (!msnap_value_i64(pk, c, &i))
        return false;
    *out = (double)i;
    return true;
}

const char *msnap_value_kind_name(msnap_cell c)
{
    switch (msnap_cell_kind(c)) {
    case MSNAP_KIND_UNSET: return "nothing";
    case MSNAP_KIND_STR: return "a string";
    case MSNAP_KIND_LIST:
    case MSNAP_KIND_EMPTY_LIST: return "a list";
    case MSNAP_KIND_DICT: return "a dict";
    case MSNAP_KIND_TUPLE: return "a tuple";
    case MSNAP_KIND_RECORD: return "a trace entry";
    case MSNAP_KIND_INT:
    case MSNAP_KIND_BIG: return "an integer";
    case MSNAP_KIND_FLOAT: return "a float";
    case MSNAP_KIND_BOOL: return "a bool";
    case MSNAP_KIND_NONE: return "None";
    }
    return "nothing";
}
