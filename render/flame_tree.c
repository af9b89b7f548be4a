/* flame_tree.c -- stacks with their bytes as a tree, plumbing left out, chains of library frames folded. */
#include <stdlib.h>
#include <string.h>

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

/* The nodes by their caller's node and their frame: stacks that differ in plumbing alone are joined. */
struct index {
    size_t mask;
    uint32_t *node; /* 0: free (the root is nobody's callee) */
    uint64_t *key;
};

static bool index_make(struct index *x, size_t n, struct msnap_arena *arena)
{
    size_t size = 16;
    while (size < 2 * n)
        size *= 2;
    x->mask = size - 1;
    x->node = msnap_arena_alloc(arena, size, sizeof *x->node);
    x->key = msnap_arena_alloc(arena, size, sizeof *x->key);
    return x->node && x->key;
}

/* The building of a tree. */
struct maker {
    const struct msnap_snapshot *s;
    struct msnap_flame_tree t;
    struct index index;
    uint32_t *node_of;         /* by stack */
    const uint8_t *is_plumbing; /* by frame */
};

static struct msnap_flame_node *find(struct maker *m, uint32_t above, uint32_t stack)
{
    const uint32_t frame = m->s->stacks.frame[stack];
    const uint64_t key = (uint64_t)above << 32 | (stack > MSNAP_STACK_EMPTY ? frame : UINT32_MAX - stack);
    size_t at = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & m->index.mask;
    for (; m->index.node[at]; at = (at + 1) & m->index.mask)
        if (m->index.key[at] == key)
            return &m->t.nodes[m->index.node[at]];
    const uint32_t n = (uint32_t)m->t.n++;
    m->index.node[at] = n;
    m->index.key[at] = key;
    struct msnap_flame_node *node = &m->t.nodes[n];
    *node = (struct msnap_flame_node){
        .stack = stack, .n_frames = stack > MSNAP_STACK_EMPTY, .next = m->t.nodes[above].first_child,
        .kind = stack == MSNAP_STACK_NONE    ? (uint8_t)MSNAP_FLAME_NO_STACK
                : stack == MSNAP_STACK_EMPTY ? (uint8_t)MSNAP_FLAME_EMPTY_STACK
                                             : kind_of(m->s, stack)};
    m->t.nodes[above].first_child = n;
    return node;
}

/* One tower: nodes for every stack with bytes, below `root`. `own` is what `sums` was before add_up. */
static void add_tower(struct maker *m, const struct sums *own, const struct sums *sums, uint32_t root)
{
    for (size_t id = 0; id < m->s->stacks.n; id++) {
        if (!sums->bytes[id])
            continue;
        const uint32_t parent = m->s->stacks.parent[id];
        const uint32_t above = id > MSNAP_STACK_EMPTY && parent > MSNAP_STACK_EMPTY ? m->node_of[parent] : root;
        const bool left_out = id > MSNAP_STACK_EMPTY && m->is_plumbing[m->s->stacks.frame[id]];
        m->node_of[id] = above;
        if (left_out && (above != root || !own->bytes[id]))
            continue;
        /* A stack of nothing but plumbing keeps its last frame. */
        const struct sums *add = left_out ? own : sums;
        struct msnap_flame_node *node = find(m, above, (uint32_t)id);
        node->bytes += add->bytes[id];
        node->count += add->count[id];
        if (!left_out)
            m->node_of[id] = (uint32_t)(node - m->t.nodes);
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
    struct maker m = {.s = s, .node_of = msnap_arena_alloc(arena, n_stacks, sizeof *m.node_of)};
    uint8_t *is_plumbing = msnap_arena_alloc(arena, s->frames.n + 1, 1);
    struct sums own[2], all[2]; /* of the recording, of what was before */
    bool ok = m.node_of && is_plumbing;
    for (size_t i = 0; i < 2; i++)
        ok = ok && sums_make(&own[i], n_stacks, arena) && sums_make(&all[i], n_stacks, arena);
    if (!ok)
        return msnap_render_fail(err, MSNAP_ENOMEM, "no memory for %zu stacks", n_stacks);
    struct msnap_flame_node root = {0}, old = {.kind = MSNAP_FLAME_BEFORE};
    for (size_t r = 0; r < h->allocs.n; r++) {
        if (!msnap_alloc_is_allocated(h, r, event))
            continue;
        /* Without events nothing is from before the recording: there was none. */
        const bool is_old = msnap_alloc_is_initial(h, r) && h->device->n_events > 0;
        const uint32_t stack = msnap_alloc_stack(h, r);
        const uint64_t bytes = h->allocs.block_size[r];
        own[is_old].bytes[stack] += bytes;
        own[is_old].count[stack]++;
        root.bytes += bytes;
        root.count++;
        old.bytes += is_old ? bytes : 0;
        old.count += is_old ? 1 : 0;
    }
    size_t n = 2;
    for (size_t i = 0; i < 2; i++) {
        memcpy(all[i].bytes, own[i].bytes, n_stacks * sizeof *own[i].bytes);
        memcpy(all[i].count, own[i].count, n_stacks * sizeof *own[i].count);
        add_up(s, &all[i]);
        for (size_t id = 0; id < s->stacks.n; id++)
            n += all[i].bytes[id] ? 1 : 0;
    }
    for (size_t i = 1; i < s->frames.n; i++)
        is_plumbing[i] = msnap_flame_is_plumbing(s, (uint32_t)i);
    m.is_plumbing = is_plumbing;
    m.t.nodes = msnap_arena_alloc(arena, n, sizeof *m.t.nodes);
    struct msnap_flame_node **scratch = msnap_arena_alloc(arena, n, sizeof(struct msnap_flame_node *));
    if (!m.t.nodes || !scratch || !index_make(&m.index, n, arena))
        return msnap_render_fail(err, MSNAP_ENOMEM, "no memory for %zu frames", n);
    m.t.nodes[m.t.n++] = root;
    add_tower(&m, &own[0], &all[0], 0);
    if (old.bytes) {
        const uint32_t tower = (uint32_t)m.t.n++;
        old.next = m.t.nodes[0].first_child;
        m.t.nodes[tower] = old;
        m.t.nodes[0].first_child = tower;
        add_tower(&m, &own[1], &all[1], tower);
    }
    sort_children(&m.t, scratch);
    fold_chains(&m.t);
    place_nodes(&m.t);
    *out = m.t;
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
