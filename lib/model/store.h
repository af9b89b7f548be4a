/* store.h -- the snapshot's columns while they grow, and their owner afterwards. */
#ifndef MSNAP_MODEL_STORE_H
#define MSNAP_MODEL_STORE_H

#include <memsnap/snapshot.h>

#include "base/intern.h"

enum msnap_key {
    MSNAP_KEY_NONE,
#define KEY(name, text) MSNAP_KEY_##name,
#include "model/keys.def"
#undef KEY
    MSNAP_N_KEYS
};

enum msnap_oddity_id {
#define ODDITY(id, meaning) MSNAP_ODD_##id,
#include "model/findings.def"
#undef ODDITY
    MSNAP_N_ODDITIES
};

struct msnap_event_columns { /* one capacity for all */
    size_t n, cap;
    uint8_t *action, *has;
    uint64_t *addr, *size;
    int64_t *time_us;
    uint32_t *stream, *stack;
    uint32_t *compile_context, *user_metadata, *forward_frames, *pool; /* NULL until one differs */
    uint32_t all_compile_context, all_user_metadata;
    uint64_t sum; /* of all sizes: below 2^63, so no partial sum can overflow */
};

struct msnap_store {
    struct msnap_snapshot pub;
    struct msnap_budget budget;
    struct msnap_mem mem; /* through the budget */
    struct msnap_mem outer; /* the caller's: the store itself came from it */
    struct msnap_arena *arena;
    struct msnap_intern strings;
    struct msnap_event_columns events;
    struct {
        struct msnap_vec name, filename, line, fx[4];
        uint32_t *slots;
        size_t n_slots;
        bool has_fx;
    } frames;
    struct {
        struct msnap_vec parent, frame, used; /* used: uint8_t, the stack stands in the file */
        uint32_t *slots;
        size_t n_slots, n_used;
    } stacks;
    struct msnap_vec streams;           /* int64_t */
    struct msnap_vec pool_first, pool_second; /* int64_t */
    struct {
        struct msnap_vec device, address, total_size, allocated_size, active_size, requested_size, stream, pool,
            stack, type, is_expandable, first_block, n_blocks;
    } segments;
    struct {
        struct msnap_vec address, size, requested_size, state, stack, segment;
    } blocks;
    struct {
        struct msnap_vec name, is_end, device, time_us;
    } annotations;
    struct msnap_vec counts;       /* struct msnap_device_counts, one for each device, when only counting */
    size_t n_counted;              /* entries of the file then; `events` holds the kept ones */
    struct msnap_vec devices;      /* struct msnap_device */
    struct msnap_vec action_names; /* const char *, from MSNAP_N_ACTIONS on the unknown ones */
    uint32_t unknown_actions[256]; /* string ids, by action number */
    uint64_t odd_count[MSNAP_N_ODDITIES];
    uint32_t odd_example[MSNAP_N_ODDITIES];
};

/* All keys are interned. NULL when there is no memory. */
struct msnap_store *msnap_store_new(struct msnap_mem mem);
void msnap_store_free(struct msnap_store *st);

static inline void msnap_store_odd(struct msnap_store *st, enum msnap_oddity_id id, uint32_t example)
{
    if (st->odd_count[id]++ == 0)
        st->odd_example[id] = example;
}

/* A new event with all columns 0; its row, or UINT32_MAX when there is no memory. */
uint32_t msnap_store_add_event(struct msnap_store *st);
/* The same values as row `from`; UINT32_MAX when there is no memory. */
uint32_t msnap_store_copy_event(struct msnap_store *st, uint32_t from);
/* Sets a value in a column that exists only where events differ. */
bool msnap_store_set_context(struct msnap_store *st, uint32_t row, uint32_t **column, uint32_t *all, uint32_t value);
bool msnap_store_set_sparse(struct msnap_store *st, uint32_t row, uint32_t **column, uint32_t value);

/* Ids by value; 0 when there is no memory (streams and pools: UINT32_MAX). */
uint32_t msnap_store_frame(struct msnap_store *st, uint32_t name, uint32_t filename, int64_t line, const uint32_t fx[4]);
uint32_t msnap_store_stack(struct msnap_store *st, uint32_t parent, uint32_t frame);
void msnap_store_stack_used(struct msnap_store *st, uint32_t stack);
uint32_t msnap_store_stream(struct msnap_store *st, int64_t raw);
uint32_t msnap_store_pool(struct msnap_store *st, int64_t first, int64_t second);
/* The action's number; 0 when there are too many unknown ones. */
uint8_t msnap_store_action(struct msnap_store *st, uint32_t string);

/* Groups segments by device (ascending, host memory last), in file order within one. */
bool msnap_store_sort_segments(struct msnap_store *st);
/* Drops what only growing needed, and points st->pub at the columns. */
bool msnap_store_freeze(struct msnap_store *st);

#endif
