/* replay_books.h -- apply a device's recorded events to the books, one after the other. */
#ifndef MSNAP_ANALYSIS_REPLAY_BOOKS_H
#define MSNAP_ANALYSIS_REPLAY_BOOKS_H

#include "analysis/start.h"

/* Where a run of the books stands. */
struct msnap_books_feed {
    const uint8_t *action;
    const uint64_t *addr, *size;
    size_t n;
    const struct msnap_start *start;
    size_t kind;  /* next of start->kinds */
    uint32_t row; /* of the next allocation */
    bool requested_completes; /* the trace has no free_completed: the request is the end */
};

/* What an event did to allocations; rows, BOOKS_NO_ROW where nothing. */
struct msnap_books_effect {
    uint32_t block;     /* of an alloc: its block id, 0 if there is none */
    uint32_t displaced; /* an allocation whose end was not recorded and that must be over */
    uint32_t requested, completed;
};

/* Books in the state before the first event; false when there is no memory (release them anyway). */
bool msnap_books_begin(struct msnap_books *b, struct msnap_books_feed *f, const struct msnap_history *h, struct msnap_mem mem,
                 const struct msnap_alloc_config *config, struct msnap_fault_log *faults);

MSNAP_INLINE struct msnap_books_effect msnap_books_apply(struct msnap_books *b, struct msnap_books_feed *f, size_t i)
{
    struct msnap_books_effect e = {0, BOOKS_NO_ROW, BOOKS_NO_ROW, BOOKS_NO_ROW};
    bool was_requested;
    uint32_t id;
    b->event = (uint32_t)i;
    switch (f->action[i]) {
    case MSNAP_ALLOC: e.block = msnap_books_alloc(b, f->addr[i], f->size[i], f->row++, &e.displaced); break;
    case MSNAP_FREE_REQUESTED:
        id = msnap_books_free_requested(b, f->addr[i], f->size[i]);
        if (id) {
            e.requested = msnap_books_block_at(b, id)->row;
            if (f->requested_completes)
                e.completed = msnap_books_free_completed(b, f->addr[i], f->size[i], &was_requested);
        }
        break;
    case MSNAP_FREE_COMPLETED: e.completed = msnap_books_free_completed(b, f->addr[i], f->size[i], &was_requested); break;
    case MSNAP_SEGMENT_ALLOC:
    case MSNAP_SEGMENT_MAP:
        if (f->size[i] && f->addr[i] <= UINT64_MAX - f->size[i]) {
            struct msnap_books_kind kind = f->start->kinds[f->kind].kind;
            if (f->action[i] == MSNAP_SEGMENT_ALLOC)
                msnap_books_add_segment(b, f->addr[i], f->size[i], kind);
            else
                msnap_books_map(b, f->addr[i], f->size[i], kind);
        }
        f->kind++;
        break;
    case MSNAP_SEGMENT_FREE: msnap_books_drop_segment(b, f->addr[i], f->size[i]); break;
    case MSNAP_SEGMENT_UNMAP: msnap_books_unmap(b, f->addr[i], f->size[i]); break;
    default: break; /* oom, snapshot, annotate and unknown ones change nothing */
    }
    return e;
}

#endif
