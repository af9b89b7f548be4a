/* oom_words.c -- an OOM as people and scripts read it. */
#include "oom_words.h"

#include "figures.h"
#include "place.h"
#include "term.h"
#include "text_buffer.h"

#include <string.h>

struct msnap_oom_options oom_options(const struct cli *cli)
{
    return (struct msnap_oom_options){cli_size(cli, "capacity", 0), cli_size(cli, "limit", 0)};
}

static void put_sum(struct msnap_sink *t, const struct msnap_oom *o)
{
    put_bytes(t, o->inactive_bytes);
    msnap_puts(t, " reserved and unused plus ");
    put_bytes(t, o->available_bytes);
    msnap_puts(t, o->limited ? " left under the process's limit" : " free on the device");
    msnap_puts(t, " are ");
    put_bytes(t, o->inactive_bytes + o->available_bytes);
}

void put_oom_explanation(struct msnap_sink *t, const struct msnap_oom *o)
{
    switch (o->verdict) {
    case MSNAP_EXHAUSTED:
        put_bytes(t, o->requested_bytes);
        msnap_puts(t, " were asked for; ");
        put_sum(t, o);
        msnap_puts(t, ", which is less: everything else was in use");
        break;
    case MSNAP_FRAGMENTED:
        put_bytes(t, o->requested_bytes);
        msnap_puts(t, " were needed in one piece; ");
        put_sum(t, o);
        msnap_puts(t, ", which is enough in sum, but the largest free block that could serve it has ");
        put_bytes(t, o->largest_free_block_bytes);
        break;
    case MSNAP_PENDING_FREES:
        msnap_puts(t, "memory that was freed, but had to wait for another stream, would have served the ");
        put_bytes(t, o->requested_bytes);
        msnap_puts(t, ": ");
        put_bytes(t, o->pending_bytes);
        msnap_puts(t, " were still pending, ");
        put_bytes(t, o->completed_in_call_bytes);
        msnap_puts(t, " became free only while the call was failing; the same call may succeed a moment later");
        break;
    case MSNAP_OUTSIDE:
        put_bytes(t, o->requested_bytes);
        msnap_puts(t, " would have fitted, but memory outside this process's allocator took the room: ");
        if (o->capacity_known) {
            put_bytes(t, o->outside_bytes);
            msnap_puts(t, " of the device, where a CUDA context takes up to 2 GiB");
        } else {
            msnap_puts(t, "reserved and free make only ");
            put_bytes(t, o->totals.reserved + o->device_free_bytes);
            msnap_puts(t, " of the device");
        }
        break;
    }
    if (!o->certain)
        msnap_puts(t, o->device_free_known ? "; not certain: the limit itself is only known as a range"
                                           : "; not certain: the file does not say what the device had free");
}

static void put_line(struct msnap_sink *t, const char *text)
{
    msnap_puts(t, "    ");
    msnap_puts(t, text);
    msnap_puts(t, "\n");
}

void put_oom_advice(struct msnap_sink *t, const struct msnap_snapshot *s, const struct msnap_oom *o)
{
    const bool expandable = s->settings.known && s->settings.expandable_segments;
    switch (o->verdict) {
    case MSNAP_EXHAUSTED:
        if (!o->certain)
            put_line(t, "Not certain: near the upper end of what is not known a setting might help; `memsnap tune` tries them.");
        put_line(t, o->certain ? "No allocator setting helps: use less. Smaller batch or sequence, activation checkpointing,"
                               : "Else use less: smaller batch or sequence, activation checkpointing,");
        put_line(t, "bf16, sharding; `memsnap peak --at oom` names what holds the memory.");
        break;
    case MSNAP_FRAGMENTED:
        if (!expandable)
            put_line(t, "Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; free memory then joins up.");
        else
            put_line(t, "expandable_segments is on already. Free memory of another pool, stream or size class cannot join.");
        put_line(t, "`memsnap frag --at oom` names the blocks that pin the free segments.");
        break;
    case MSNAP_PENDING_FREES:
        put_line(t, "Tensors used on several streams (record_stream) are held until those streams are done. Use fewer");
        put_line(t, "of them, or synchronise before large allocations; catching the error and trying again works, too.");
        break;
    case MSNAP_OUTSIDE:
        put_line(t, "Look for other processes with nvidia-smi; NCCL, other libraries and several contexts count here, too.");
        break;
    }
    if (o->limited)
        put_line(t, "The limit comes from set_per_process_memory_fraction or per_process_memory_fraction; raise it if you can.");
}

static uint64_t event_row(const struct msnap_history *h, const struct msnap_oom *o) { return h->device->first_event + o->event; }

static void put_pair(struct msnap_sink *t, const char *label, uint64_t bytes, const char *meaning)
{
    char size[24];
    msnap_putf(t, "    %-22s %11s   %s\n", label, msnap_format_bytes(size, bytes), meaning);
}

void put_oom(struct output *out, const struct msnap_history *h, const struct msnap_oom *o)
{
    struct msnap_sink *t = &out->sink;
    const struct msnap_snapshot *s = h->snapshot;
    char text[32];
    const uint32_t stack = s->events.stack[event_row(h, o)];
    msnap_putf(t, "  Event %s: ", format_count(text, o->event));
    term_put(t, out->color, o->survived ? STYLE_WARN : STYLE_BAD, msnap_verdict_name(o->verdict));
    msnap_puts(t, o->survived ? ", survived (allocations follow it on this device)\n" : ", not survived\n");
    if (stack > MSNAP_STACK_EMPTY) {
        msnap_puts(t, "    at ");
        place_put_stack(t, s, stack, 90);
        msnap_puts(t, "\n");
    }
    put_pair(t, "requested", o->requested_bytes, "in one piece");
    if (o->device_free_known)
        put_pair(t, "free on the device", o->device_free_bytes, o->limited ? "so not the device but a limit on this process said no" : "the driver's word");
    put_pair(t, "reserved", o->totals.reserved, "taken from the device by this allocator, of these:");
    put_pair(t, "  allocated", o->totals.allocated, "live tensors");
    put_pair(t, "  pending frees", o->pending_bytes, "freed, waiting for another stream");
    put_pair(t, "  unused", o->inactive_bytes, "in free blocks");
    put_pair(t, "largest free block", o->largest_free_block_bytes, "in the request's pool and stream");
    if (o->releasable_bytes)
        put_pair(t, "releasable", o->releasable_bytes, "whole free segments that were not given back");
    if (o->capacity_known)
        put_pair(t, "outside the allocator", o->outside_bytes, "CUDA context, other libraries, other processes");
    if (o->limited) {
        char low[24], high[24];
        msnap_putf(t, "    %-22s at least %s and below %s: it held that much, and that with the segment asked for was too much\n",
                   "limit", msnap_format_bytes(low, o->limit_at_least), msnap_format_bytes(high, o->limit_below));
    }
    msnap_puts(t, "    ");
    put_oom_explanation(t, o);
    msnap_puts(t, ".\n");
    put_oom_advice(t, s, o);
}

void add_oom_json(struct json *j, cJSON *list, const struct msnap_history *h, const struct msnap_oom *o)
{
    const struct msnap_events *ev = &h->snapshot->events;
    const uint64_t row = event_row(h, o);
    cJSON *item = json_object(j, list, NULL);
    struct text_buffer text;
    json_u64(j, item, "event", o->event);
    if (ev->has[row] & MSNAP_HAS_TIME)
        json_i64(j, item, "time_us", ev->time_us[row]);
    else
        json_null(j, item, "time_us");
    json_bool(j, item, "survived", o->survived);
    json_bool(j, item, "certain", o->certain);
    json_u64(j, item, "requested_bytes", o->requested_bytes);
    json_u64(j, item, "segment_bytes", o->segment_bytes);
    if (o->device_free_known)
        json_u64(j, item, "device_free_bytes", o->device_free_bytes);
    else
        json_null(j, item, "device_free_bytes");
    json_u64(j, item, "reserved_bytes", o->totals.reserved);
    json_u64(j, item, "allocated_bytes", o->totals.allocated);
    json_u64(j, item, "inactive_bytes", o->inactive_bytes);
    json_u64(j, item, "pending_bytes", o->pending_bytes);
    json_u64(j, item, "releasable_bytes", o->releasable_bytes);
    json_u64(j, item, "largest_free_block_bytes", o->largest_free_block_bytes);
    if (o->capacity_known)
        json_u64(j, item, "outside_bytes", o->outside_bytes);
    else
        json_null(j, item, "outside_bytes");
    if (o->limited) {
        cJSON *limit = json_object(j, item, "limit");
        json_u64(j, limit, "at_least_bytes", o->limit_at_least);
        json_u64(j, limit, "below_bytes", o->limit_below);
    } else {
        json_null(j, item, "limit");
    }
    const char *verdict = msnap_verdict_name(o->verdict);
    json_text(j, item, "verdict", verdict, strlen(verdict));
    text_buffer_init(&text);
    msnap_puts(&text.sink, "\"");
    put_oom_explanation(&text.sink, o); /* our own words: nothing to escape */
    msnap_puts(&text.sink, "\"");
    json_raw(j, item, "explanation", text_buffer_finish(&text));
    text_buffer_free(&text);
}

const struct msnap_oom *the_oom(const struct msnap_oom *ooms, size_t n)
{
    for (size_t i = n; i-- > 0;)
        if (!ooms[i].survived)
            return &ooms[i];
    return n ? &ooms[n - 1] : NULL;
}
