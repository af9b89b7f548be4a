/* blockmap_of.h -- the block map of books in any state. */
#ifndef MSNAP_ANALYSIS_BLOCKMAP_OF_H
#define MSNAP_ANALYSIS_BLOCKMAP_OF_H

#include <memsnap/blockmap.h>

#include "analysis/replay_books.h"

enum msnap_status msnap_blockmap_of(const struct msnap_books *b, uint32_t event, struct msnap_arena *arena, struct msnap_blockmap *out,
                                    struct msnap_error *err);

#endif
