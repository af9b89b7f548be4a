/* pyvalue.h -- look at value cells: kind, number, text, list, dict by key. */
#ifndef MSNAP_FORMAT_PYVALUE_H
#define MSNAP_FORMAT_PYVALUE_H

#include "format/pickle.h"

static inline bool msnap_value_is_list(msnap_cell c)
{
    return msnap_cell_kind(c) == MSNAP_KIND_LIST || msnap_cell_kind(c) == MSNAP_KIND_EMPTY_LIST;
}
static inline bool msnap_value_is_sequence(msnap_cell c)
{
    return msnap_value_is_list(c) || msnap_cell_kind(c) == MSNAP_KIND_TUPLE;
}
/* Length of a list or tuple; cells of it (NULL where there are none, or rows of a trace). */
static inline size_t msnap_value_length(const struct msnap_pickle *pk, msnap_cell c)
{
    return msnap_cell_kind(c) == MSNAP_KIND_EMPTY_LIST ? 0 : msnap_pickle_obj(pk, c)->n;
}
static inline const msnap_cell *msnap_value_items(const struct msnap_pickle *pk, msnap_cell c)
{
    return msnap_cell_kind(c) == MSNAP_KIND_EMPTY_LIST ? NULL : msnap_pickle_obj(pk, c)->items;
}
/* Numbers. An integer of up to 64 bits keeps its bits; a float with an integral value counts as
 * an integer, since other tools convert so. False if the cell is no such number or out of range. */
bool msnap_value_u64(const struct msnap_pickle *pk, msnap_cell c, uint64_t *out); /* not negative */
bool msnap_value_i64(const struct msnap_pickle *pk, msnap_cell c, int64_t *out);
bool msnap_value_bits64(const struct msnap_pickle *pk, msnap_cell c, uint64_t *out); /* either sign */
bool msnap_value_double(const struct msnap_pickle *pk, msnap_cell c, double *out);
/* "a list", "an integer": for messages. */
const char *msnap_value_kind_name(msnap_cell c);

#endif
