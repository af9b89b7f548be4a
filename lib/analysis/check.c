/* check.c -- the file against itself: the state at the dump, the entries, and both together. */
#include <memsnap/check.h>

#include "analysis/books.h"
#include "base/arena.h"
#include "base/status.h"

#include <string.h>

static const struct {
    const char *id, *rule;
} rules[] = {
#define FAULT(id, rule) {#id, rule},
#include "analysis/faults.def"
#undef FAULT
};

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the check"); }

/* ---- the state at the dump ---- */

static void note(struct msnap_fault_log *log, enum msnap_fault_id id, uint64_t addr) { msnap_fault_note(log, id, MSNAP_NO_EVENT, addr); }

/* Whether a block's size follows from its request: rounded, and a remainder that was not split off. */
static bool size_follows(const struct msnap_alloc_config *c, bool small, bool expandable, uint64_t size, uint64_t requested)
{
    uint64_t rounded = msnap_round_size(c, requested);
    if (size < rounded)
        return false;
    if (small || (c->known ? c->expandable : expandable))
        return size - rounded < MSNAP_MIN_BLOCK;
    return size - rounded <= MSNAP_SMALL_SIZE || rounded >= c->max_split;
}

static void check_segment(const struct msnap_snapshot *s, const struct msnap_alloc_config *c, size_t g, struct msnap_fault_log *log)
{
    const struct msnap_segments *seg = &s->segments;
    const struct msnap_blocks *blk = &s->blocks;
    uint64_t address = seg->address[g], total = seg->total_size[g], next = address, allocated = 0, active = 0, requested = 0;
    bool small = seg->type[g] == MSNAP_SEGMENT_SMALL, was_inactive = false, tiles = true;
    for (size_t k = 0; k < seg->n_blocks[g]; k++) {
        size_t i = seg->first_block[g] + k;
        uint64_t size = blk->size[i];
        bool live = blk->state[i] == MSNAP_BLOCK_ALLOCATED || blk->state[i] == MSNAP_BLOCK_PENDING;
        tiles = tiles && blk->address[i] == next;
        next = blk->address[i] + size;
        allocated += blk->state[i] == MSNAP_BLOCK_ALLOCATED ? size : 0;
        active += live ? size : 0;
        requested += live ? blk->requested_size[i] : 0;
        if (was_inactive && !live)
            note(log, MSNAP_FAULT_free_neighbours, blk->address[i]);
        was_inactive = !live;
        if (size % MSNAP_MIN_BLOCK || (live && (blk->requested_size[i] == 0 || blk->requested_size[i] > size)))
            note(log, MSNAP_FAULT_block_size, blk->address[i]);
        else if (live && seg->type[g] != MSNAP_SEGMENT_UNKNOWN && !size_follows(c, small, seg->is_expandable[g], size, blk->requested_size[i]))
            note(log, MSNAP_FAULT_settings_contradict, blk->address[i]);
        if (!live && blk->stack[i] > MSNAP_STACK_EMPTY)
            note(log, MSNAP_FAULT_inactive_stack, blk->address[i]);
    }
    if (!tiles || next != address + total)
        note(log, MSNAP_FAULT_blocks_do_not_tile, address);
    if (allocated != seg->allocated_size[g] || active != seg->active_size[g] || requested != seg->requested_size[g])
        note(log, MSNAP_FAULT_segment_sums, address);
    if (!seg->is_expandable[g] && seg->type[g] != MSNAP_SEGMENT_UNKNOWN && small != (total == MSNAP_SMALL_BUFFER))
        note(log, MSNAP_FAULT_segment_size, address);
    if (seg->is_expandable[g] && c->known && !c->expandable)
        note(log, MSNAP_FAULT_settings_contradict, address);
}

static void check_segments(const struct msnap_snapshot *s, const struct msnap_device *d, const struct msnap_alloc_config *c, struct msnap_fault_log *log)
{
    uint64_t end = 0;
    for (size_t g = d->first_segment; g < d->first_segment + d->n_segments; g++) {
        uint64_t address = s->segments.address[g];
        check_segment(s, c, g, log);
        if (g > d->first_segment && address < s->segments.address[g - 1])
            note(log, MSNAP_FAULT_segments_unsorted, address);
        else if (g > d->first_segment && address < end)
            note(log, MSNAP_FAULT_segments_overlap, address);
        if (address + s->segments.total_size[g] > end)
            end = address + s->segments.total_size[g];
    }
}

/* ---- the entries ---- */

static bool has_its_keys(uint8_t action, uint8_t has)
{
    switch (action) {
    case MSNAP_ALLOC:
    case MSNAP_FREE_REQUESTED:
    case MSNAP_FREE_COMPLETED:
    case MSNAP_SEGMENT_ALLOC:
    case MSNAP_SEGMENT_FREE:
    case MSNAP_SEGMENT_MAP:
    case MSNAP_SEGMENT_UNMAP: return (has & MSNAP_HAS_ADDR) && (has & MSNAP_HAS_SIZE) && !(has & MSNAP_HAS_DEVICE_FREE);
    case MSNAP_OOM: return (has & MSNAP_HAS_DEVICE_FREE) && (has & MSNAP_HAS_SIZE);
    case MSNAP_OTHER_ACTION: return false;
    default: return !(has & MSNAP_HAS_DEVICE_FREE);
    }
}

static void check_entries(const struct msnap_snapshot *s, const struct msnap_device *d, struct msnap_fault_log *log)
{
    const struct msnap_events *e = &s->events;
    int64_t last = 0;
    bool timed = false, allocs = false;
    for (size_t i = 0; i < d->n_events && !allocs; i++)
        allocs = e->action[d->first_event + i] == MSNAP_ALLOC;
    for (size_t i = 0; i < d->n_events; i++) {
        size_t row = d->first_event + i;
        uint8_t a = e->action[row];
        if (!has_its_keys(a, e->has[row]))
            msnap_fault_note(log, MSNAP_FAULT_entry_keys, (uint32_t)i, e->addr[row]);
        if (e->has[row] & MSNAP_HAS_TIME) {
            if (timed && e->time_us[row] < last)
                msnap_fault_note(log, MSNAP_FAULT_clock_backwards, (uint32_t)i, 0);
            last = e->time_us[row];
            timed = true;
        }
        /* Left-out actions (skip_actions) are no fault, nor is a dump between the two entries. */
        if (!allocs || i + 1 == d->n_events)
            continue;
        uint8_t next = e->action[row + 1];
        if (a == MSNAP_SEGMENT_ALLOC && (next != MSNAP_ALLOC || e->addr[row + 1] != e->addr[row]))
            msnap_fault_note(log, MSNAP_FAULT_segment_alloc_unused, (uint32_t)i, e->addr[row]);
        if (a == MSNAP_SEGMENT_MAP && next != MSNAP_ALLOC && next != MSNAP_SEGMENT_MAP && next != MSNAP_OOM &&
            next != MSNAP_SEGMENT_FREE && next != MSNAP_SEGMENT_UNMAP && next != MSNAP_FREE_COMPLETED) /* a first try that failed */
            msnap_fault_note(log, MSNAP_FAULT_segment_alloc_unused, (uint32_t)i, e->addr[row]);
    }
}

static bool check_annotations(const struct msnap_snapshot *s, struct msnap_arena *arena, bool complete, struct msnap_fault_log *log)
{
    const struct msnap_annotations *a = &s->annotations;
    uint32_t *open = MSNAP_NEW(arena, uint32_t, s->strings.n);
    if (!open)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (i && a->time_us[i] < a->time_us[i - 1])
            note(log, MSNAP_FAULT_annotation_pairs, 0);
        if (s->n_traces && (a->device[i] < 0 || (size_t)a->device[i] >= s->n_traces))
            note(log, MSNAP_FAULT_annotation_pairs, 0);
        if (!a->is_end[i])
            open[a->name[i]]++;
        else if (open[a->name[i]])
            open[a->name[i]]--;
        else if (complete) /* a ring buffer may have dropped the START */
            note(log, MSNAP_FAULT_annotation_pairs, 0);
    }
    return true;
}

/* ---- all ---- */

enum msnap_status msnap_check(const struct msnap_snapshot *s, const struct msnap_check_options *options, struct msnap_arena *arena,
                              const struct msnap_fault **out, size_t *n_out, struct msnap_error *err)
{
    struct msnap_fault *faults = MSNAP_NEW(arena, struct msnap_fault, s->n_devices * MSNAP_N_FAULTS);
    struct msnap_alloc_config c;
    size_t n = 0;
    if (!faults)
        return no_memory(err);
    msnap_alloc_config_of(s, &c);
    for (size_t k = 0; k < s->n_devices; k++) {
        const struct msnap_device *d = &s->devices[k];
        struct msnap_fault_log log = {{0}, {0}, {0}};
        if (d->device == MSNAP_HOST) /* another allocator: its rules are not these */
            continue;
        struct msnap_arena *scratch = msnap_arena_new(msnap_arena_mem(arena));
        struct msnap_history h;
        if (!scratch)
            return no_memory(err);
        enum msnap_status st = msnap_history_build(s, d, 0, scratch, &h, err);
        if (st == MSNAP_OK) {
            log = *h.faults;
            check_segments(s, d, &c, &log);
            check_entries(s, d, &log);
            if (k == 0 && !check_annotations(s, scratch, h.coverage == MSNAP_HISTORY_COMPLETE, &log))
                st = no_memory(err);
            if (options && options->capacity_bytes && h.peak_reserved > options->capacity_bytes)
                note(&log, MSNAP_FAULT_above_capacity, 0);
        }
        msnap_arena_free(scratch);
        if (st != MSNAP_OK)
            return st;
        for (int f = 0; f < MSNAP_N_FAULTS; f++)
            if (log.count[f])
                faults[n++] = (struct msnap_fault){rules[f].id, rules[f].rule, d->device, log.count[f], log.event[f], log.addr[f]};
    }
    *out = faults;
    *n_out = n;
    return MSNAP_OK;
}
