/* store.c -- the columns: growing them, ids by value, and the frozen view. */
#include "model/store.h"

#include <string.h>

static const char *const key_text[] = {
    NULL,
#define KEY(name, text) text,
#include "model/keys.def"
#undef KEY
};

static const struct {
    const char *id, *meaning;
} oddities[] = {
#define ODDITY(id, meaning) {#id, meaning},
#include "model/findings.def"
#undef ODDITY
};

static bool new_table(struct msnap_mem mem, uint32_t **slots, size_t n)
{
    *slots = mem.resize(mem.ctx, NULL, 0, n * sizeof **slots);
    if (*slots)
        memset(*slots, 0, n * sizeof **slots);
    return *slots != NULL;
}

static bool set_up(struct msnap_store *st)
{
    if (!(st->arena = msnap_arena_new(st->mem)) || !msnap_intern_init(&st->strings, st->mem, st->arena))
        return false;
    for (size_t i = 1; i < sizeof key_text / sizeof *key_text; i++)
        if (msnap_intern_add(&st->strings, key_text[i], strlen(key_text[i])) != i)
            return false;
    st->frames.n_slots = st->stacks.n_slots = 256;
    bool ok = new_table(st->mem, &st->frames.slots, st->frames.n_slots) &&
              new_table(st->mem, &st->stacks.slots, st->stacks.n_slots) &&
              MSNAP_VEC_PUSH(&st->frames.name, st->mem, uint32_t, 0) &&
              MSNAP_VEC_PUSH(&st->frames.filename, st->mem, uint32_t, 0) &&
              MSNAP_VEC_PUSH(&st->frames.line, st->mem, int64_t, 0) &&
              MSNAP_VEC_PUSH(&st->streams, st->mem, int64_t, 0) &&
              MSNAP_VEC_PUSH(&st->pool_first, st->mem, int64_t, 0) &&
              MSNAP_VEC_PUSH(&st->pool_second, st->mem, int64_t, 0) &&
              MSNAP_VEC_PUSH(&st->pool_first, st->mem, int64_t, 0) &&
              MSNAP_VEC_PUSH(&st->pool_second, st->mem, int64_t, 0);
    for (int i = 0; ok && i < 2; i++) /* ids 0 and 1: none, and the empty one */
        ok = MSNAP_VEC_PUSH(&st->stacks.parent, st->mem, uint32_t, 0) &&
             MSNAP_VEC_PUSH(&st->stacks.frame, st->mem, uint32_t, 0) &&
             MSNAP_VEC_PUSH(&st->stacks.used, st->mem, uint8_t, 0);
    for (int a = 0; ok && a < MSNAP_N_ACTIONS; a++)
        ok = MSNAP_VEC_PUSH(&st->action_names, st->mem, const char *,
                            a ? key_text[MSNAP_KEY_A_ALLOC + a - MSNAP_ALLOC] : "(none)");
    return ok;
}

struct msnap_store *msnap_store_new(struct msnap_mem mem)
{
    struct msnap_store *st = mem.resize(mem.ctx, NULL, 0, sizeof *st);
    if (!st)
        return NULL;
    memset(st, 0, sizeof *st);
    st->outer = mem;
    msnap_budget_init(&st->budget, mem, UINT64_MAX);
    st->mem = st->budget.mem;
    st->pub.own = st;
    if (!set_up(st)) {
        msnap_store_free(st);
        return NULL;
    }
    return st;
}

/* ---- events ---- */

#define EVENT_COLUMNS(X)                                                                                     \
    X(action) X(has) X(addr) X(size) X(time_us) X(stream) X(stack)
#define EVENT_OPTIONAL(X) X(compile_context) X(user_metadata) X(forward_frames) X(pool)

/* Pointers of several types in one table are read and written through memcpy, which any type allows. */
static void *get_pointer(const void *slot)
{
    void *p;
    memcpy(&p, slot, sizeof p);
    return p;
}
static void set_pointer(void *slot, void *p) { memcpy(slot, &p, sizeof p); }

/* All columns to one capacity; on failure all have the old one. */
static bool resize_events(struct msnap_store *st, size_t cap)
{
    struct msnap_event_columns *e = &st->events;
    void *const slots[] = {
#define X(name) &e->name,
        EVENT_COLUMNS(X) EVENT_OPTIONAL(X)
#undef X
    };
    static const size_t elem[] = {
#define X(name) sizeof *((struct msnap_event_columns *)0)->name,
        EVENT_COLUMNS(X) EVENT_OPTIONAL(X)
#undef X
    };
    enum { required = 7 };
    for (size_t i = 0; i < sizeof elem / sizeof *elem; i++) {
        void *old = get_pointer(slots[i]);
        if (!old && (i >= required || cap == 0))
            continue;
        void *p = st->mem.resize(st->mem.ctx, old, e->cap * elem[i], cap * elem[i]);
        if (p || cap == 0) {
            set_pointer(slots[i], p);
            continue;
        }
        for (size_t k = 0; k < i; k++) /* giving back what was gained cannot fail */
            if ((old = get_pointer(slots[k])))
                set_pointer(slots[k], st->mem.resize(st->mem.ctx, old, cap * elem[k], e->cap * elem[k]));
        return false;
    }
    e->cap = cap;
    return true;
}

uint32_t msnap_store_add_event(struct msnap_store *st)
{
    struct msnap_event_columns *e = &st->events;
    if (e->n == e->cap) {
        size_t cap = e->cap < 1024 ? 1024 : e->cap + e->cap / 2;
        if (e->n >= UINT32_MAX / 8 || !resize_events(st, cap))
            return UINT32_MAX;
    }
    size_t row = e->n++;
    e->action[row] = 0;
    e->has[row] = 0;
    e->addr[row] = 0;
    e->size[row] = 0;
    e->time_us[row] = 0;
    e->stream[row] = 0;
    e->stack[row] = 0;
    if (e->compile_context)
        e->compile_context[row] = 0;
    if (e->user_metadata)
        e->user_metadata[row] = 0;
    if (e->forward_frames)
        e->forward_frames[row] = 0;
    if (e->pool)
        e->pool[row] = 0;
    return (uint32_t)row;
}

uint32_t msnap_store_copy_event(struct msnap_store *st, uint32_t from)
{
    uint32_t row = msnap_store_add_event(st);
    struct msnap_event_columns *e = &st->events;
    if (row == UINT32_MAX || e->size[from] >= (UINT64_C(1) << 63) - e->sum)
        return UINT32_MAX;
    e->sum += e->size[from];
#define X(name)                                                                                              \
    if (e->name)                                                                                             \
        e->name[row] = e->name[from];
    EVENT_COLUMNS(X) EVENT_OPTIONAL(X)
#undef X
    return row;
}

bool msnap_store_set_sparse(struct msnap_store *st, uint32_t row, uint32_t **column, uint32_t value)
{
    if (!*column) {
        if (value == 0)
            return true;
        uint32_t *p = st->mem.resize(st->mem.ctx, NULL, 0, st->events.cap * sizeof *p);
        if (!p)
            return false;
        memset(p, 0, st->events.cap * sizeof *p);
        *column = p;
    }
    (*column)[row] = value;
    return true;
}

bool msnap_store_set_context(struct msnap_store *st, uint32_t row, uint32_t **column, uint32_t *all, uint32_t value)
{
    if (!*column) {
        if (row == 0)
            *all = value;
        if (value == *all)
            return true;
        uint32_t *p = st->mem.resize(st->mem.ctx, NULL, 0, st->events.cap * sizeof *p);
        if (!p)
            return false;
        for (uint32_t i = 0; i < row; i++)
            p[i] = *all;
        *column = p;
    }
    (*column)[row] = value;
    return true;
}

/* ---- ids by value ---- */

static bool frame_equals(const struct msnap_store *st, uint32_t id, uint32_t name, uint32_t filename, int64_t line,
                         const uint32_t fx[4])
{
    if (MSNAP_VEC_AT(&st->frames.name, uint32_t, id) != name ||
        MSNAP_VEC_AT(&st->frames.filename, uint32_t, id) != filename ||
        MSNAP_VEC_AT(&st->frames.line, int64_t, id) != line)
        return false;
    for (int k = 0; k < 4; k++) {
        uint32_t have = id < st->frames.fx[k].n ? MSNAP_VEC_AT(&st->frames.fx[k], uint32_t, id) : 0;
        if (have != (fx ? fx[k] : 0))
            return false;
    }
    return true;
}

static uint64_t frame_hash(const struct msnap_store *st, uint32_t name, uint32_t filename, int64_t line)
{
    return msnap_hash_u64(msnap_hash_u64(st->strings.seed, (uint64_t)name << 32 | filename), (uint64_t)line);
}

static bool rehash_frames(struct msnap_store *st)
{
    uint32_t *slots;
    size_t n = st->frames.n_slots * 2;
    if (!new_table(st->mem, &slots, n))
        return false;
    for (uint32_t id = 1; id < st->frames.name.n; id++) {
        size_t i = frame_hash(st, MSNAP_VEC_AT(&st->frames.name, uint32_t, id),
                              MSNAP_VEC_AT(&st->frames.filename, uint32_t, id),
                              MSNAP_VEC_AT(&st->frames.line, int64_t, id)) & (n - 1);
        while (slots[i])
            i = (i + 1) & (n - 1);
        slots[i] = id;
    }
    msnap_mem_release(st->mem, st->frames.slots, st->frames.n_slots * sizeof *slots);
    st->frames.slots = slots;
    st->frames.n_slots = n;
    return true;
}

uint32_t msnap_store_frame(struct msnap_store *st, uint32_t name, uint32_t filename, int64_t line, const uint32_t fx[4])
{
    if ((st->frames.name.n + 1) * 2 > st->frames.n_slots && !rehash_frames(st))
        return 0;
    size_t mask = st->frames.n_slots - 1, i = frame_hash(st, name, filename, line) & mask;
    for (; st->frames.slots[i]; i = (i + 1) & mask)
        if (frame_equals(st, st->frames.slots[i], name, filename, line, fx))
            return st->frames.slots[i];
    uint32_t id = (uint32_t)st->frames.name.n;
    bool ok = msnap_vec_reserve(&st->frames.filename, st->mem, sizeof(uint32_t), id + 1) &&
              msnap_vec_reserve(&st->frames.line, st->mem, sizeof(int64_t), id + 1) &&
              msnap_vec_reserve(&st->frames.name, st->mem, sizeof(uint32_t), id + 1);
    for (int k = 0; k < 4 && ok && fx && (fx[0] | fx[1] | fx[2] | fx[3]); k++) {
        struct msnap_vec *v = &st->frames.fx[k];
        ok = msnap_vec_reserve(v, st->mem, sizeof(uint32_t), id + 1);
        while (ok && v->n < id)
            MSNAP_VEC_AT(v, uint32_t, v->n++) = 0;
        if (ok)
            MSNAP_VEC_AT(v, uint32_t, v->n++) = fx[k];
        st->frames.has_fx = true;
    }
    if (!ok)
        return 0;
    MSNAP_VEC_AT(&st->frames.name, uint32_t, st->frames.name.n++) = name;
    MSNAP_VEC_AT(&st->frames.filename, uint32_t, st->frames.filename.n++) = filename;
    MSNAP_VEC_AT(&st->frames.line, int64_t, st->frames.line.n++) = line;
    st->frames.slots[i] = id;
    return id;
}

static uint64_t stack_hash(const struct msnap_store *st, uint32_t parent, uint32_t frame)
{
    return msnap_hash_u64(st->strings.seed, (uint64_t)parent << 32 | frame);
}

static bool rehash_stacks(struct msnap_store *st)
{
    uint32_t *slots;
    size_t n = st->stacks.n_slots * 2;
    if (!new_table(st->mem, &slots, n))
        return false;
    for (uint32_t id = 2; id < st->stacks.parent.n; id++) {
        size_t i = stack_hash(st, MSNAP_VEC_AT(&st->stacks.parent, uint32_t, id),
                              MSNAP_VEC_AT(&st->stacks.frame, uint32_t, id)) & (n - 1);
        while (slots[i])
            i = (i + 1) & (n - 1);
        slots[i] = id;
    }
    msnap_mem_release(st->mem, st->stacks.slots, st->stacks.n_slots * sizeof *slots);
    st->stacks.slots = slots;
    st->stacks.n_slots = n;
    return true;
}

uint32_t msnap_store_stack(struct msnap_store *st, uint32_t parent, uint32_t frame)
{
    if ((st->stacks.parent.n + 1) * 2 > st->stacks.n_slots && !rehash_stacks(st))
        return 0;
    size_t mask = st->stacks.n_slots - 1, i = stack_hash(st, parent, frame) & mask;
    const uint32_t *parents = st->stacks.parent.data, *frames = st->stacks.frame.data;
    for (; st->stacks.slots[i]; i = (i + 1) & mask) {
        uint32_t id = st->stacks.slots[i];
        if (parents[id] == parent && frames[id] == frame)
            return id;
    }
    uint32_t id = (uint32_t)st->stacks.parent.n;
    if (id >= UINT32_MAX / 2 || !msnap_vec_reserve(&st->stacks.frame, st->mem, sizeof(uint32_t), id + 1) ||
        !msnap_vec_reserve(&st->stacks.used, st->mem, 1, id + 1) ||
        !MSNAP_VEC_PUSH(&st->stacks.parent, st->mem, uint32_t, parent))
        return 0;
    MSNAP_VEC_AT(&st->stacks.frame, uint32_t, st->stacks.frame.n++) = frame;
    MSNAP_VEC_AT(&st->stacks.used, uint8_t, st->stacks.used.n++) = 0;
    st->stacks.slots[i] = id;
    return id;
}

void msnap_store_stack_used(struct msnap_store *st, uint32_t stack)
{
    uint8_t *used = &MSNAP_VEC_AT(&st->stacks.used, uint8_t, stack);
    st->stacks.n_used += !*used;
    *used = 1;
}

uint32_t msnap_store_stream(struct msnap_store *st, int64_t raw)
{
    /* A handful of streams in any real file; a hostile one pays at most 64 Ki comparisons an entry. */
    for (size_t i = st->streams.n; i-- > 1;)
        if (MSNAP_VEC_AT(&st->streams, int64_t, i) == raw)
            return (uint32_t)i;
    if (st->streams.n >= 4096 || !MSNAP_VEC_PUSH(&st->streams, st->mem, int64_t, raw))
        return UINT32_MAX;
    return (uint32_t)(st->streams.n - 1);
}

uint32_t msnap_store_pool(struct msnap_store *st, int64_t first, int64_t second)
{
    for (size_t i = 1; i < st->pool_first.n; i++)
        if (MSNAP_VEC_AT(&st->pool_first, int64_t, i) == first && MSNAP_VEC_AT(&st->pool_second, int64_t, i) == second)
            return (uint32_t)i;
    if (st->pool_first.n >= 65536 || !msnap_vec_reserve(&st->pool_second, st->mem, sizeof(int64_t), st->pool_first.n + 1) ||
        !MSNAP_VEC_PUSH(&st->pool_first, st->mem, int64_t, first))
        return UINT32_MAX;
    MSNAP_VEC_AT(&st->pool_second, int64_t, st->pool_second.n++) = second;
    return (uint32_t)(st->pool_first.n - 1);
}

uint8_t msnap_store_action(struct msnap_store *st, uint32_t string)
{
    if (string >= MSNAP_KEY_A_ALLOC && string < MSNAP_KEY_A_ALLOC + MSNAP_N_ACTIONS - MSNAP_ALLOC)
        return (uint8_t)(string - MSNAP_KEY_A_ALLOC + MSNAP_ALLOC);
    for (size_t a = MSNAP_N_ACTIONS; a < st->action_names.n; a++)
        if (st->unknown_actions[a] == string)
            return (uint8_t)a;
    if (st->action_names.n >= 255 ||
        !MSNAP_VEC_PUSH(&st->action_names, st->mem, const char *,
                        MSNAP_VEC_AT(&st->strings.bytes, const char *, string)))
        return 0;
    st->unknown_actions[st->action_names.n - 1] = string;
    return (uint8_t)(st->action_names.n - 1);
}

/* ---- freezing ---- */

static bool permute(struct msnap_store *st, struct msnap_vec *v, size_t elem, const uint32_t *order, size_t n)
{
    char *p = st->mem.resize(st->mem.ctx, NULL, 0, n * elem);
    if (!p)
        return false;
    for (size_t i = 0; i < n; i++)
        memcpy(p + i * elem, (const char *)v->data + order[i] * elem, elem);
    msnap_mem_release(st->mem, v->data, v->cap * elem);
    v->data = p;
    v->cap = n;
    return true;
}

#define SEGMENT_COLUMNS(X)                                                                                   \
    X(device, int32_t) X(address, uint64_t) X(total_size, uint64_t) X(allocated_size, uint64_t)              \
    X(active_size, uint64_t) X(requested_size, uint64_t) X(stream, uint32_t) X(pool, uint32_t)               \
    X(stack, uint32_t) X(type, uint8_t) X(is_expandable, uint8_t) X(first_block, uint32_t) X(n_blocks, uint32_t)
#define BLOCK_COLUMNS(X)                                                                                     \
    X(address, uint64_t) X(size, uint64_t) X(requested_size, uint64_t) X(state, uint8_t) X(stack, uint32_t) X(segment, uint32_t)
#define ANNOTATION_COLUMNS(X) X(name, uint32_t) X(is_end, uint8_t) X(device, int32_t) X(time_us, int64_t)

/* Segments by device, in file order within a device; host memory (-1) last. A merge sort of row
 * numbers, since a file may be in any order. */
bool msnap_store_sort_segments(struct msnap_store *st)
{
    size_t n = st->segments.device.n;
    const int32_t *device = st->segments.device.data;
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++)
        sorted = (uint32_t)device[i - 1] <= (uint32_t)device[i];
    if (sorted)
        return true;
    size_t bytes = 2 * n * sizeof(uint32_t);
    uint32_t *order = st->mem.resize(st->mem.ctx, NULL, 0, bytes), *from = order;
    if (!order)
        return false;
    uint32_t *to = order + n;
    for (size_t i = 0; i < n; i++)
        from[i] = (uint32_t)i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t mid = low + width < n ? low + width : n, high = mid + width < n ? mid + width : n;
            for (size_t a = low, b = mid, o = low; o < high; o++) {
                bool left = a < mid && (b == high || (uint32_t)device[from[a]] <= (uint32_t)device[from[b]]);
                to[o] = left ? from[a++] : from[b++];
            }
        }
        uint32_t *t = from;
        from = to;
        to = t;
    }
    bool ok = true;
#define X(name, type) ok = ok && permute(st, &st->segments.name, sizeof(type), from, n);
    SEGMENT_COLUMNS(X)
#undef X
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t first = MSNAP_VEC_AT(&st->segments.first_block, uint32_t, i);
        for (uint32_t b = 0; b < MSNAP_VEC_AT(&st->segments.n_blocks, uint32_t, i); b++)
            MSNAP_VEC_AT(&st->blocks.segment, uint32_t, first + b) = (uint32_t)i;
    }
    msnap_mem_release(st->mem, order, bytes);
    return ok;
}

bool msnap_store_freeze(struct msnap_store *st)
{
    struct msnap_snapshot *s = &st->pub;
    msnap_mem_release(st->mem, st->frames.slots, st->frames.n_slots * sizeof(uint32_t));
    msnap_mem_release(st->mem, st->stacks.slots, st->stacks.n_slots * sizeof(uint32_t));
    st->frames.slots = st->stacks.slots = NULL;
    for (int k = 0; k < 4 && st->frames.has_fx; k++) {
        struct msnap_vec *v = &st->frames.fx[k];
        if (!msnap_vec_reserve(v, st->mem, sizeof(uint32_t), st->frames.name.n))
            return false;
        while (v->n < st->frames.name.n)
            MSNAP_VEC_AT(v, uint32_t, v->n++) = 0;
    }
    if (st->events.n && !resize_events(st, st->events.n))
        return false;
    s->strings = (struct msnap_strings){st->strings.bytes.n, st->strings.bytes.data, st->strings.len.data};
    s->frames = (struct msnap_frames){st->frames.name.n, st->frames.name.data, st->frames.filename.data,
                                      st->frames.line.data, NULL, NULL, NULL, NULL};
    if (st->frames.has_fx) {
        s->frames.fx_node_op = st->frames.fx[0].data;
        s->frames.fx_node_name = st->frames.fx[1].data;
        s->frames.fx_node_target = st->frames.fx[2].data;
        s->frames.fx_original_trace = st->frames.fx[3].data;
    }
    s->stacks = (struct msnap_stacks){st->stacks.parent.n, st->stacks.n_used, st->stacks.parent.data, st->stacks.frame.data};
    s->streams = (struct msnap_streams){st->streams.n, st->streams.data};
    s->pools = (struct msnap_pools){st->pool_first.n, st->pool_first.data, st->pool_second.data};
    const struct msnap_event_columns *e = &st->events;
    s->events = (struct msnap_events){
        .n = e->n, .action = e->action, .has = e->has, .addr = e->addr, .size = e->size, .time_us = e->time_us,
        .stream = e->stream, .stack = e->stack, .compile_context = e->compile_context,
        .user_metadata = e->user_metadata, .forward_frames = e->forward_frames, .pool = e->pool,
        .all_compile_context = e->all_compile_context, .all_user_metadata = e->all_user_metadata};
    if (st->counts.data) {
        s->kept = s->events;
        s->events = (struct msnap_events){.n = st->n_counted};
        s->counts = st->counts.data;
    }
    s->segments.n = st->segments.device.n;
#define X(name, type) s->segments.name = st->segments.name.data;
    SEGMENT_COLUMNS(X)
#undef X
    s->blocks.n = st->blocks.address.n;
#define X(name, type) s->blocks.name = st->blocks.name.data;
    BLOCK_COLUMNS(X)
#undef X
    s->annotations.n = st->annotations.name.n;
#define X(name, type) s->annotations.name = st->annotations.name.data;
    ANNOTATION_COLUMNS(X)
#undef X
    s->n_devices = st->devices.n;
    s->devices = st->devices.data;
    s->n_action_names = st->action_names.n;
    s->action_names = (const char *const *)st->action_names.data;
    struct msnap_oddity *odd = MSNAP_NEW(st->arena, struct msnap_oddity, MSNAP_N_ODDITIES);
    if (!odd)
        return false;
    for (int i = 0; i < MSNAP_N_ODDITIES; i++)
        if (st->odd_count[i])
            odd[s->n_oddities++] = (struct msnap_oddity){oddities[i].id, oddities[i].meaning, st->odd_count[i], st->odd_example[i]};
    s->oddities = odd;
    return true;
}

void msnap_store_free(struct msnap_store *st)
{
    if (!st)
        return;
    (void)resize_events(st, 0);
#define X(name, type) msnap_vec_release(&st->segments.name, st->mem, sizeof(type));
    SEGMENT_COLUMNS(X)
#undef X
#define X(name, type) msnap_vec_release(&st->blocks.name, st->mem, sizeof(type));
    BLOCK_COLUMNS(X)
#undef X
#define X(name, type) msnap_vec_release(&st->annotations.name, st->mem, sizeof(type));
    ANNOTATION_COLUMNS(X)
#undef X
    msnap_vec_release(&st->frames.name, st->mem, sizeof(uint32_t));
    msnap_vec_release(&st->frames.filename, st->mem, sizeof(uint32_t));
    msnap_vec_release(&st->frames.line, st->mem, sizeof(int64_t));
    for (int k = 0; k < 4; k++)
        msnap_vec_release(&st->frames.fx[k], st->mem, sizeof(uint32_t));
    msnap_mem_release(st->mem, st->frames.slots, st->frames.n_slots * sizeof(uint32_t));
    msnap_mem_release(st->mem, st->stacks.slots, st->stacks.n_slots * sizeof(uint32_t));
    msnap_vec_release(&st->stacks.parent, st->mem, sizeof(uint32_t));
    msnap_vec_release(&st->stacks.frame, st->mem, sizeof(uint32_t));
    msnap_vec_release(&st->stacks.used, st->mem, 1);
    msnap_vec_release(&st->streams, st->mem, sizeof(int64_t));
    msnap_vec_release(&st->pool_first, st->mem, sizeof(int64_t));
    msnap_vec_release(&st->pool_second, st->mem, sizeof(int64_t));
    msnap_vec_release(&st->devices, st->mem, sizeof(struct msnap_device));
    msnap_vec_release(&st->counts, st->mem, sizeof(struct msnap_device_counts));
    msnap_vec_release(&st->action_names, st->mem, sizeof(const char *));
    msnap_intern_release(&st->strings);
    msnap_arena_free(st->arena);
    struct msnap_mem outer = st->outer;
    msnap_mem_release(outer, st, sizeof *st);
}
