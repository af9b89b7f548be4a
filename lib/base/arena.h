/* arena.h -- many pieces, freed together. */
#ifndef MSNAP_BASE_ARENA_H
#define MSNAP_BASE_ARENA_H

#include "base/mem.h"

/* The same as msnap_arena_alloc, not zeroed: for arrays that are written in full. */
void *msnap_arena_raw(struct msnap_arena *arena, size_t n, size_t size);
struct msnap_mem msnap_arena_mem(const struct msnap_arena *arena);

#define MSNAP_NEW(arena, type, n) ((type *)msnap_arena_alloc((arena), (n), sizeof(type)))
#define MSNAP_NEW_RAW(arena, type, n) ((type *)msnap_arena_raw((arena), (n), sizeof(type)))

#endif
