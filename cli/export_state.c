/* export_state.c -- the tables segments, blocks and stacks. */
#include "export_tables.h"
#include "place.h"
#include "text_buffer.h"

#include <stdlib.h>

const char *const export_segment_columns[] = {
    "device", "segment", "addr", "total_size",    "allocated_size", "active_size", "requested_size",
    "stream", "pool",    "type", "is_expandable", "blocks",         "stack",       NULL};

const char *const export_block_columns[] = {"device",         "segment", "block", "addr", "size",
                                            "requested_size", "state",   "stack", NULL};

const char *const export_stack_columns[] = {"stack", "depth", "frames", NULL};

void export_segments(struct rows *r, const struct msnap_snapshot *s, const struct msnap_device *device)
{
    static const char *const types[] = {
        [MSNAP_SEGMENT_UNKNOWN] = NULL, [MSNAP_SEGMENT_SMALL] = "small", [MSNAP_SEGMENT_LARGE] = "large"};
    const struct msnap_segments *sg = &s->segments;

    for (size_t k = 0; k < device->n_segments && !r->out->failed; k++) {
        const size_t i = device->first_segment + k;
        cell_i64(r, device->device);
        cell_u64(r, k);
        cell_u64(r, sg->address[i]);
        cell_u64(r, sg->total_size[i]);
        cell_u64(r, sg->allocated_size[i]);
        cell_u64(r, sg->active_size[i]);
        cell_u64(r, sg->requested_size[i]);
        cell_i64_if(r, sg->stream[i] != 0, s->streams.raw[sg->stream[i]]);
        cell_pool(r, s, sg->pool[i]);
        if (types[sg->type[i]])
            cell_word(r, types[sg->type[i]]);
        else
            cell_null(r);
        msnap_puts(cell_open(r), sg->is_expandable[i] ? "true" : "false");
        cell_u64(r, sg->n_blocks[i]);
        cell_u64(r, sg->stack[i]);
        rows_end(r);
    }
}

void export_blocks(struct rows *r, const struct msnap_snapshot *s, const struct msnap_device *device)
{
    /* PyTorch's own words. */
    static const char *const states[] = {[MSNAP_BLOCK_UNKNOWN] = NULL,
                                         [MSNAP_BLOCK_ALLOCATED] = "active_allocated",
                                         [MSNAP_BLOCK_PENDING] = "active_pending_free",
                                         [MSNAP_BLOCK_INACTIVE] = "inactive"};
    const struct msnap_segments *sg = &s->segments;
    const struct msnap_blocks *b = &s->blocks;

    for (size_t k = 0; k < device->n_segments && !r->out->failed; k++) {
        const size_t i = device->first_segment + k;
        for (size_t m = 0; m < sg->n_blocks[i]; m++) {
            const size_t row = sg->first_block[i] + m;
            cell_i64(r, device->device);
            cell_u64(r, k);
            cell_u64(r, m);
            cell_u64(r, b->address[row]);
            cell_u64(r, b->size[row]);
            cell_u64(r, b->requested_size[row]);
            if (states[b->state[row]])
                cell_word(r, states[b->state[row]]);
            else
                cell_null(r);
            cell_u64(r, b->stack[row]);
            rows_end(r);
        }
    }
}

/* ---- stacks ---- */

/* Nodes that only lead to others are no stacks of the file: those are left out. */
static void mark_used(uint8_t *used, const struct msnap_snapshot *s)
{
    for (size_t i = 0; i < s->events.n; i++)
        used[s->events.stack[i]] = 1;
    for (size_t i = 0; i < s->segments.n; i++)
        used[s->segments.stack[i]] = 1;
    for (size_t i = 0; i < s->blocks.n; i++)
        used[s->blocks.stack[i]] = 1;
}

static void put_frames(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t stack)
{
    const struct msnap_strings *t = &s->strings;

    msnap_put(out, "[", 1);
    for (uint32_t node = stack; node > MSNAP_STACK_EMPTY; node = s->stacks.parent[node]) {
        const uint32_t frame = s->stacks.frame[node];
        const uint32_t name = s->frames.name[frame], file = s->frames.filename[frame];
        msnap_puts(out, node == stack ? "{\"name\":" : ",{\"name\":");
        msnap_put_json(out, t->bytes[name], t->len[name]);
        msnap_puts(out, ",\"filename\":");
        msnap_put_json(out, t->bytes[file], t->len[file]);
        msnap_puts(out, ",\"line\":");
        if (s->frames.line[frame] == MSNAP_LINE_U64_MAX)
            msnap_puts(out, "null");
        else
            msnap_put_i64(out, s->frames.line[frame]);
        msnap_put(out, "}", 1);
    }
    msnap_put(out, "]", 1);
}

/* In CSV: one cell, "name (file:line)" by frame, with " <- " between. */
static void put_frames_csv(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t stack)
{
    const struct msnap_strings *t = &s->strings;
    struct text_buffer text;

    text_buffer_init(&text);
    for (uint32_t node = stack; node > MSNAP_STACK_EMPTY; node = s->stacks.parent[node]) {
        const uint32_t frame = s->stacks.frame[node];
        const uint32_t name = s->frames.name[frame], file = s->frames.filename[frame];
        if (node != stack)
            msnap_puts(&text.sink, " <- ");
        msnap_put(&text.sink, t->bytes[name], t->len[name]);
        msnap_puts(&text.sink, " (");
        msnap_put(&text.sink, t->bytes[file], t->len[file]);
        if (place_has_line(s, frame)) {
            msnap_put(&text.sink, ":", 1);
            msnap_put_i64(&text.sink, s->frames.line[frame]);
        }
        msnap_put(&text.sink, ")", 1);
    }
    if (text_buffer_finish(&text))
        msnap_put_csv(out, text.bytes, text.n);
    text_buffer_free(&text);
}

enum msnap_status export_stacks(struct rows *r, const struct msnap_snapshot *s, struct msnap_error *err)
{
    uint8_t *used = calloc(s->stacks.n + 1, 1);

    if (!used) {
        *err = (struct msnap_error){.status = MSNAP_ENOMEM, .text = "no memory for a list of the stacks"};
        return MSNAP_ENOMEM;
    }
    mark_used(used, s);
    for (uint32_t stack = MSNAP_STACK_EMPTY; stack < s->stacks.n && !r->out->failed; stack++) {
        uint64_t depth = 0;
        if (!used[stack])
            continue;
        for (uint32_t node = stack; node > MSNAP_STACK_EMPTY; node = s->stacks.parent[node])
            depth++;
        cell_u64(r, stack);
        cell_u64(r, depth);
        if (r->format == ROWS_NDJSON)
            put_frames(cell_open(r), s, stack);
        else
            put_frames_csv(cell_open(r), s, stack);
        rows_end(r);
    }
    free(used);
    return MSNAP_OK;
}
