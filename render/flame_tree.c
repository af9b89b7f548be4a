/* flame_tree.c -- stacks with their bytes as a tree; chains of library frames can be folded. */
#include <stdlib.h>

#include "flame.h"

/* Sums by stack: of the recording's own allocations, and of those from before it. */
struct sums {
    uint64_t *bytes, *count; /* n_stacks entries each */
};

static bool sums_make(struct sums *s, size_t n, struct msnap_arena *arena)
{
    s->bytes = msnap_arena_alloc(arena, n, sizeof *s->bytes);
    s->count = msnap_arena_alloc(arena, n, sizeof *s->count);
    return s->bytes && s->count;
}

static uint8_t kind_of(const struct msnap_snapshot *s, uint32_t stack)
{
    const uint32_t frame = s->stacks.frame[stack];
    if (msnap_frame_is_user(s, frame))
        return MSNAP_FLAME_USER;
    return msnap_frame_is_python(s, frame) ? MSNAP_FLAME_LIBRARY : MSNAP_FLAME_NATIVE;
}

/* A stack's callers were in the table before it, so one run from the back adds up whole subtrees.
 * Ids 0 and 1 keep what has no frames. */
static void add_up(const struct msnap_snapshot *s, struct sums *sums)
{
    for (size_t id = s->stacks.n; id-- > 2;) {
        const uint32_t parent = s->stacks.parent[id];
        if (parent > MSNAP_STACK_EMPTY) {
            sums->bytes[parent] += sums->bytes[id];
            sums->count[parent] += sums->count[id];
        }
    }
}

/* One tower: nodes for every stack with bytes, below `root`. `node_of` is scratch. */
static void add_tower(const struct msnap_snapshot *s, const struct sums *sums, uint32_t root, uint32_t *node_of,
                      struct msnap_flame_tree *t)
{
    for (size_t id = 0; id < s->stacks.n; id++) {
        if (!sums->bytes[id])
            continue;
        const uint32_t parent = s->stacks.parent[id], n = (uint32_t)t->n++;
        struct msnap_flame_node *above = &t->nodes[id > 1 && parent > MSNAP_STACK_EMPTY ? node_of[parent] : root];
        t->nodes[n] = (struct msnap_flame_node){
            .bytes = sums->bytes[id], .count = sums->count[id], .stack = (uint32_t)id, .n_frames = id > 1,
            .kind = id == MSNAP_STACK_NONE ? (uint8_t)MSNAP_FLAME_NO_STACK : id == MSNAP_STACK_EMPTY ? (uint8_t)MSNAP_FLAME_EMPTY_STACK : kind_of(s, (uint32_t)id),
            .next = above->first_child};
        above->first_child = n;
        node_of[id] = n;
    }
}

static int most_first(const void *a, const void *b)
{
    const struct msnap_flame_node *const *x = a, *const *y = b;
    if ((*x)->bytes != (*y)->bytes)
        return (*x)->bytes > (*y)->bytes ? -1 : 1;
    return (*x)->stack < (*y)->stack ? -1 : (*x)->stack > (*y)->stack;
}

/* Puts the children of every node in order; `scratch` has room for all nodes. */
static void sort_children(struct msnap_flame_tree *t, struct msnap_flame_node **scratch)
{
    for (size_t i = 0; i < t->n; i++) {
        size_t n = 0;
        for (uint32_t child = t->nodes[i].first_child; child; child = t->nodes[child].next)
            scratch[n++] = &t->nodes[child];
        if (n < 2)
            continue;
        qsort(scratch, n, sizeof *scratch, most_first);
        for (size_t k = 0; k < n; k++)
            scratch[k]->next = k + 1 < n ? (uint32_t)(scratch[k + 1] - t->nodes) : 0;
        t->nodes[i].first_child = (uint32_t)(scratch[0] - t->nodes);
    }
}

/* A library frame with one child that is a library frame too and holds all of its bytes: the two are
 * one. Callees have higher numbers than their callers, so from the back each chain folds at once. */
static void fold_chains(struct msnap_flame_tree *t)
{
    for (size_t i = t->n; i-- > 1;) {
        struct msnap_flame_node *node = &t->nodes[i], *child = &t->nodes[node->first_child];
        if (!node->first_child || child->next || child->bytes != node->bytes || child->kind != node->kind ||
            (node->kind != MSNAP_FLAME_LIBRARY && node->kind != MSNAP_FLAME_NATIVE))
            continue;
        node->n_frames += child->n_frames;
        node->stack = child->stack;
        node->first_child = child->first_child;
        child->folded = true;
    }
}

static void place_nodes(struct msnap_flame_tree *t)
{
    for (size_t i = 0; i < t->n; i++) {
        uint64_t start = t->nodes[i].start;
        for (uint32_t child = t->nodes[i].folded ? 0 : t->nodes[i].first_child; child; child = t->nodes[child].next) {
            t->nodes[child].depth = t->nodes[i].depth + 1;
            t->nodes[child].start = start;
            start += t->nodes[child].bytes;
        }
    }
}

enum msnap_status msnap_flame_build(const struct msnap_history *h, uint32_t event, struct msnap_arena *arena,
                                    struct msnap_flame_tree *out, struct msnap_error *err)
{
    const struct msnap_snapshot *s = h->snapshot;
    const size_t n_stacks = s->stacks.n > 2 ? s->stacks.n : 2;
    struct sums now, before;
    uint32_t *node_of = msnap_arena_alloc(arena, n_stacks, sizeof *node_of);
    if (!node_of || !sums_make(&now, n_stacks, arena) || !sums_make(&before, n_stacks, arena))
        return msnap_render_fail(err, MSNAP_ENOMEM, "no memory for %zu stacks", n_stacks);
    struct msnap_flame_node root = {0}, old = {.kind = MSNAP_FLAME_BEFORE};
    for (size_t r = 0; r < h->allocs.n; r++) {
        if (!msnap_alloc_is_allocated(h, r, event))
            continue;
        /* Without events nothing is from before the recording: there was none. */
        const bool is_old = msnap_alloc_is_initial(h, r) && h->device->n_events > 0;
        const uint32_t stack = msnap_alloc_stack(h, r);
        struct sums *to = is_old ? &before : &now;
        to->bytes[stack] += h->allocs.block_size[r];
        to->count[stack]++;
        root.bytes += h->allocs.block_size[r];
        root.count++;
        old.bytes += is_old ? h->allocs.block_size[r] : 0;
        old.count += is_old ? 1 : 0;
    }
    add_up(s, &now);
    add_up(s, &before);
    size_t n = 2;
    for (size_t id = 0; id < s->stacks.n; id++)
        n += (size_t)(now.bytes[id] > 0) + (size_t)(before.bytes[id] > 0);
    struct msnap_flame_tree t = {0, msnap_arena_alloc(arena, n, sizeof *t.nodes)};
    struct msnap_flame_node **scratch = msnap_arena_alloc(arena, n, sizeof(struct msnap_flame_node *));
    if (!t.nodes || !scratch)
        return msnap_render_fail(err, MSNAP_ENOMEM, "no memory for %zu frames", n);
    t.nodes[t.n++] = root;
    add_tower(s, &now, 0, node_of, &t);
    if (old.bytes) {
        const uint32_t tower = (uint32_t)t.n++;
        old.next = t.nodes[0].first_child;
        t.nodes[tower] = old;
        t.nodes[0].first_child = tower;
        add_tower(s, &before, tower, node_of, &t);
    }
    sort_children(&t, scratch);
    fold_chains(&t);
    place_nodes(&t);
    *out = t;
    return MSNAP_OK;
}

size_t msnap_flame_depth(const struct msnap_flame_tree *t, uint64_t least)
{
    size_t deepest = 0;
    for (size_t i = 0; i < t->n; i++)
        if (!t->nodes[i].folded && t->nodes[i].bytes >= least && t->nodes[i].depth > deepest)
            deepest = t->nodes[i].depth;
    return deepest;
}
