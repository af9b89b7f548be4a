/* replay_books.h -- apply a device's recorded events to the books, one after the other. */
#ifndef MSNAP_ANALYSIS_REPLAY_BOOKS_H
#define MSNAP_ANALYSIS_REPLAY_BOOKS_H

#include "analysis/start.h"

/* Where a run of the books stands. */
struct books_feed {
    const uint8_t *action;
    const uint64_t *addr, *size;
    size_t n;
    const struct msnap_start *start;
    size_t kind;  /* next of start->kinds */
    uint32_t row; /* of the next allocation */
    bool requested_completes; /* the trace has no free_completed: the request is the end */
};

/* What an event did to allocations; rows, BOOKS_NO_ROW where nothing. */
struct books_effect {
    uint32_t block;     /* of an alloc: its block id, 0 if there is none */
    uint32_t displaced; /* an allocation whose end was not recorded and that must be over */
    uint32_t requested, completed;
};

/* Books in the state before the first event; false when there is no memory (release them anyway). */
bool books_begin(struct books *b, struct books_feed *f, const struct msnap_history *h, struct msnap_mem mem,
                 const struct msnap_alloc_config *config, struct msnap_fault_log *faults);

MSNAP_INLINE struct books_effect books_apply(struct books *b, struct books_feed *f, size_t i)
{
    struct books_effect e = {0, BOOKS_NO_ROW, BOOKS_NO_ROW, BOOKS_NO_ROW};
    bool was_requested;
    uint32_t id;
    b->event = (uint32_t)i;
    switch (f->action[i]) {
    case MSNAP_ALLOC: e.block = books_alloc(b, f->addr[i], f->size[i], f->row++, &e.displaced); break;
    case MSNAP_FREE_REQUESTED:
        id = books_free_requested(b, f->addr[i], f->size[i]);
        if (id) {
            e.requested = books_block_at(b, id)->row;
            if (f->requested_completes)
                e.completed = books_free_completed(b, f->addr[i], f->size[i], &was_requested);
        }
        break;
    case MSNAP_FREE_COMPLETED: e.completed = books_free_completed(b, f->addr[i], f->size[i], &was_requested); break;
    case MSNAP_SEGMENT_ALLOC:
    case MSNAP_SEGMENT_MAP:
        if (f->size[i] && f->addr[i] <= UINT64_MAX - f->size[i]) {
            struct books_kind kind = f->start->kinds[f->kind].kind;
            if (f->action[i] == MSNAP_SEGMENT_ALLOC)
                books_add_segment(b, f->addr[i], f->size[i], kind);
            else
                books_map(b, f->addr[i], f->size[i], kind);
        }
        f->kind++;
        break;
    case MSNAP_SEGMENT_FREE: books_drop_segment(b, f->addr[i], f->size[i]); break;
    case MSNAP_SEGMENT_UNMAP: books_unmap(b, f->addr[i], f->size[i]); break;
    default: break; /* oom, snapshot, annotate and unknown ones change nothing */
    }
    return e;
}

#endif
