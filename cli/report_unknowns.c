/* report_unknowns.c -- what memsnap does not know, and where the file contradicts itself. */
#include "report_parts.h"

#include "figures.h"
#include "term.h"

#include <string.h>

static void begin_line(struct output *out, const struct device_facts *f)
{
    msnap_puts(&out->sink, "  - ");
    if (f) {
        put_device(&out->sink, f->device);
        msnap_puts(&out->sink, ": ");
    }
}

/* Bytes at the peak that stand under this stack. */
static uint64_t without_stack(const struct device_facts *f, uint32_t stack)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < f->stacks.n; i++)
        if (f->stacks.rows[i].key == stack)
            bytes += f->stacks.rows[i].bytes;
    return bytes;
}

/* The books must end where the segments say they do. */
static void put_end_mismatch(struct output *out, const struct device_facts *f)
{
    const struct msnap_segments *sg = &f->snapshot->segments;
    struct msnap_sink *t = &out->sink;
    uint64_t allocated = 0, reserved = 0;

    for (size_t i = 0; i < f->device->n_segments; i++) {
        allocated += sg->allocated_size[f->device->first_segment + i];
        reserved += sg->total_size[f->device->first_segment + i];
    }
    if (allocated != f->history.end.allocated) {
        begin_line(out, f);
        msnap_puts(t, "the segments say ");
        put_count(t, allocated);
        msnap_puts(t, " bytes are allocated at the dump, the events end at ");
        put_count(t, f->history.end.allocated);
        msnap_puts(t, ".\n");
    }
    if (reserved != f->history.end.reserved) {
        begin_line(out, f);
        msnap_puts(t, "the segments say ");
        put_count(t, reserved);
        msnap_puts(t, " bytes are reserved at the dump, the events end at ");
        put_count(t, f->history.end.reserved);
        msnap_puts(t, ".\n");
    }
}

static void put_device_unknowns(struct output *out, const struct device_facts *f)
{
    struct msnap_sink *t = &out->sink;
    const uint64_t nameless = without_stack(f, MSNAP_STACK_NONE), empty = without_stack(f, MSNAP_STACK_EMPTY);

    if (nameless) {
        begin_line(out, f);
        put_bytes(t, nameless);
        msnap_puts(t, " of the peak have no call stack in the file.\n");
    }
    if (empty) {
        begin_line(out, f);
        put_bytes(t, empty);
        msnap_puts(t, " of the peak have a stack without frames: C++ made them, as in backward.\n"
                      "    _record_memory_history(stacks=\"all\") records C++ frames too.\n");
    }
    if (f->history.n_faults) {
        begin_line(out, f);
        put_things(t, f->history.n_faults, "event");
        msnap_puts(t, f->history.n_faults == 1 ? " contradicts" : " contradict");
        msnap_puts(t, " the rest of the file; the totals live with that.\n");
    }
    put_end_mismatch(out, f);
}

static void put_oddity(struct output *out, const struct msnap_snapshot *s, const struct msnap_oddity *o)
{
    struct msnap_sink *t = &out->sink;

    begin_line(out, NULL);
    msnap_putf(t, "in the file: %s (", o->meaning);
    put_count(t, o->count);
    if (o->example) {
        msnap_puts(t, ", e.g. \"");
        put_string(t, s, o->example);
        msnap_puts(t, "\"");
    }
    msnap_puts(t, ").\n");
}

void report_unknowns(struct output *out, const struct msnap_snapshot *s, const struct device_facts *facts,
                     size_t n)
{
    struct msnap_sink *t = &out->sink;

    msnap_puts(t, "\n");
    term_put(t, out->color, STYLE_HEAD, "What memsnap does not know");
    msnap_puts(t, "\n");
    begin_line(out, NULL);
    msnap_puts(t,
               "Memory outside PyTorch's allocator (the CUDA context, NCCL, other libraries and processes)\n"
               "    is not in a snapshot; nvidia-smi shows more than \"reserved\".\n");
    if (!s->settings.known) {
        begin_line(out, NULL);
        msnap_puts(t, "The allocator's settings are not in the file; PyTorch's defaults are assumed.\n");
    }
    for (size_t i = 0; i < n; i++)
        put_device_unknowns(out, &facts[i]);
    for (size_t i = 0; i < s->n_oddities; i++)
        put_oddity(out, s, &s->oddities[i]);
    if (s->trailing_bytes) {
        begin_line(out, NULL);
        put_things(t, s->trailing_bytes, "byte");
        msnap_puts(t, " after the end of the pickle were not read.\n");
    }
}
