/* story.h -- a script read and its first device's books run: what the analyses start from. */
#ifndef MEMSNAP_TESTS_STORY_H
#define MEMSNAP_TESTS_STORY_H

#include <memsnap/history.h>

#include "support/check.h"
#include "support/script.h"

#define M (UINT64_C(1) << 20)
#define G (UINT64_C(1) << 30)

struct story {
    struct msnap_snapshot *s;
    struct msnap_history h;
};

/* The caller ends it with story_over. */
static inline struct story story(struct fixture *f, const char *events, const char *segments)
{
    struct story b = {.s = script_snapshot(counting_mem(&f->mem), events, segments)};
    assert_true(b.s->n_devices > 0);
    if (msnap_history_build(b.s, &b.s->devices[0], 0, f->arena, &b.h, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return b;
}

static inline void story_over(struct story *b)
{
    msnap_snapshot_free(b->s);
    b->s = NULL;
}

/* A script that a genuine run could have written. */
static inline struct story true_story(struct fixture *f, const char *events, const char *segments)
{
    struct story b = story(f, events, segments);
    if (b.h.n_faults)
        fail_msg("the script contradicts itself: %s / %s", events, segments);
    return b;
}

#endif
