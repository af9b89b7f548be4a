/* export_books.c -- the tables events and allocations. */
#include "export_tables.h"
#include "place.h"

#include <stdio.h>
#include <string.h>

const char *const export_event_columns[] = {
    "device", "event",   "action",          "addr",         "size",           "block_size",      "stream",
    "pool",   "time_us", "allocated_bytes", "active_bytes", "reserved_bytes", "requested_bytes", "stack",
    NULL};

const char *const export_allocation_columns[] = {
    "device",      "ordinal",    "addr",          "size",         "block_size", "stream",        "pool",
    "alloc_event", "free_event", "alloc_time_us", "free_time_us", "category",   "category_rule", "stack",
    "top_frame",   NULL};

static enum msnap_status no_memory(struct msnap_error *err, const char *what)
{
    *err = (struct msnap_error){.status = MSNAP_ENOMEM};
    snprintf(err->text, sizeof err->text, "no memory for %s", what);
    return MSNAP_ENOMEM;
}

static void cell_stream(struct rows *r, const struct msnap_snapshot *s, uint32_t stream)
{
    cell_i64_if(r, stream != 0, s->streams.raw[stream]);
}

static void cell_action(struct rows *r, const struct msnap_snapshot *s, uint8_t action)
{
    const char *name = msnap_action_name(s, action);

    if (action == MSNAP_OTHER_ACTION || !name)
        cell_null(r);
    else if (action < MSNAP_N_ACTIONS)
        cell_word(r, name);
    else
        cell_text(r, name, strlen(name)); /* the file's own word */
}

/* For each event the block size of the allocation that it begins or ends; 0: none is known. */
static uint64_t *block_sizes(const struct msnap_history *h, struct msnap_arena *arena)
{
    const struct msnap_allocs *a = &h->allocs;
    uint64_t *sizes = msnap_arena_alloc(arena, h->device->n_events + 1, sizeof *sizes);

    for (size_t row = 0; sizes && row < a->n; row++) {
        if (a->alloc_event[row] != MSNAP_NO_EVENT)
            sizes[a->alloc_event[row]] = a->block_size[row];
        if (a->request_event[row] != MSNAP_NO_EVENT)
            sizes[a->request_event[row]] = a->block_size[row];
        if (a->free_event[row] != MSNAP_NO_EVENT)
            sizes[a->free_event[row]] = a->block_size[row];
    }
    return sizes;
}

enum msnap_status export_events(struct rows *r, const struct msnap_history *h, int64_t first, int64_t last,
                                struct msnap_arena *arena, struct msnap_error *err)
{
    const struct msnap_snapshot *s = h->snapshot;
    const struct msnap_events *ev = &s->events;
    const uint64_t *sizes = block_sizes(h, arena);

    if (!sizes)
        return no_memory(err, "the events' block sizes");
    for (int64_t i = first; i <= last && !r->out->failed; i++) {
        const size_t event = (size_t)i, row = h->device->first_event + event;
        const uint8_t has = ev->has[row];

        cell_i64(r, h->device->device);
        cell_u64(r, event);
        cell_action(r, s, ev->action[row]);
        /* An oom entry has no address; its column holds what the device had free. */
        cell_u64_if(r, (has & MSNAP_HAS_ADDR) && ev->action[row] != MSNAP_OOM, ev->addr[row]);
        cell_u64_if(r, (has & MSNAP_HAS_SIZE) != 0, ev->size[row]);
        cell_u64_if(r, sizes[event] != 0, sizes[event]);
        cell_stream(r, s, ev->stream[row]);
        cell_pool(r, s, ev->pool ? ev->pool[row] : 0);
        cell_i64_if(r, (has & MSNAP_HAS_TIME) != 0, ev->time_us[row]);
        cell_u64(r, h->allocated[event]);
        cell_u64(r, h->active[event]);
        cell_u64(r, h->reserved[event]);
        cell_u64(r, h->requested[event]);
        cell_u64(r, ev->stack[row]);
        rows_end(r);
    }
    return MSNAP_OK;
}

static void cell_event(struct rows *r, uint32_t event) { cell_u64_if(r, event != MSNAP_NO_EVENT, event); }

static void cell_event_time(struct rows *r, const struct msnap_history *h, uint32_t event)
{
    const struct msnap_events *ev = &h->snapshot->events;
    const size_t row = h->device->first_event + event;
    const bool known = event != MSNAP_NO_EVENT && (ev->has[row] & MSNAP_HAS_TIME);

    cell_i64_if(r, known, known ? ev->time_us[row] : 0);
}

/* User frames of stacks, looked up once each. 0 in `seen` means not yet. */
struct user_frames {
    uint32_t *frame;
    uint8_t *seen;
};

static uint32_t user_frame(struct user_frames *u, const struct msnap_snapshot *s, uint32_t stack)
{
    if (!u->seen[stack]) {
        u->frame[stack] = msnap_stack_user_frame(s, stack);
        u->seen[stack] = 1;
    }
    return u->frame[stack];
}

static void put_allocation(struct rows *r, const struct msnap_history *h, const struct msnap_classes *classes,
                           size_t row, struct user_frames *frames)
{
    const struct msnap_snapshot *s = h->snapshot;
    const struct msnap_allocs *a = &h->allocs;
    const bool initial = msnap_alloc_is_initial(h, row);
    const uint32_t stack = msnap_alloc_stack(h, row);
    const uint32_t pool = !initial && s->events.pool ? s->events.pool[msnap_alloc_event_row(h, row)] : 0;

    cell_i64(r, h->device->device);
    cell_u64(r, initial ? 0 : row - a->n_initial + 1);
    cell_u64(r, msnap_alloc_addr(h, row));
    cell_u64(r, msnap_alloc_size(h, row));
    cell_u64(r, a->block_size[row]);
    cell_stream(r, s, msnap_alloc_stream(h, row));
    cell_pool(r, s, pool);
    cell_event(r, a->alloc_event[row]);
    cell_event(r, a->free_event[row]);
    cell_event_time(r, h, a->alloc_event[row]);
    cell_event_time(r, h, a->free_event[row]);
    cell_word(r, classes->names[classes->category[row]]);
    cell_word(r, classes->rules[classes->rule[row]].name);
    cell_u64(r, stack);
    const uint32_t frame = user_frame(frames, s, stack);
    if (!frame)
        cell_null(r);
    else if (r->format == ROWS_NDJSON)
        place_put_json(cell_open(r), s, frame);
    else
        place_put_csv(cell_open(r), s, frame);
    rows_end(r);
}

enum msnap_status export_allocations(struct rows *r, const struct msnap_history *h,
                                     const struct msnap_classes *classes, int64_t first, int64_t last,
                                     struct msnap_arena *arena, struct msnap_error *err)
{
    const struct msnap_allocs *a = &h->allocs;
    const size_t n_stacks = h->snapshot->stacks.n;
    struct user_frames frames = {msnap_arena_alloc(arena, n_stacks, sizeof *frames.frame),
                                 msnap_arena_alloc(arena, n_stacks, sizeof *frames.seen)};
    const bool all = first <= 0 && last >= (int64_t)h->device->n_events - 1;

    if (!frames.frame || !frames.seen)
        return no_memory(err, "the stacks' user frames");
    for (size_t row = 0; row < a->n && !r->out->failed; row++) {
        const int64_t born = msnap_alloc_is_initial(h, row) ? -1 : (int64_t)a->alloc_event[row];
        const int64_t died = a->free_event[row] == MSNAP_NO_EVENT ? INT64_MAX : (int64_t)a->free_event[row];
        if (all || (first <= last && born <= last && died >= first))
            put_allocation(r, h, classes, row, &frames);
    }
    return MSNAP_OK;
}
