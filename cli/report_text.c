/* report_text.c -- `memsnap report` for a person at two in the morning. */
#include "report.h"

#include "figures.h"
#include "findings_words.h"
#include "leaks_words.h"
#include "oom_words.h"
#include "place.h"
#include "report_parts.h"
#include "term.h"

#include <inttypes.h>
#include <string.h>

static void put_title(struct output *out, const char *title)
{
    msnap_puts(&out->sink, "\n  ");
    term_put(&out->sink, out->color, STYLE_HEAD, title);
    msnap_puts(&out->sink, "\n");
}

/* ---- the file ---- */

static void put_file(struct output *out, const char *path, const struct msnap_snapshot *s)
{
    struct msnap_sink *t = &out->sink;

    msnap_put_terminal(t, path, strlen(path));
    msnap_putf(t, ": PyTorch %s, ", s->format);
    put_bytes(t, s->inflated_bytes);
    msnap_puts(t, s->was_gzip ? " unpacked, " : ", ");
    put_things(t, s->events.n, "event");
    msnap_puts(t, "\n");
    if (!s->settings.known)
        return;
    msnap_puts(t, "Allocator settings: ");
    if (s->settings.conf && s->strings.len[s->settings.conf])
        put_string(t, s, s->settings.conf);
    else
        msnap_puts(t, "PyTorch's defaults");
    msnap_puts(t, "\n");
}

/* ---- one device ---- */

static void put_span(struct msnap_sink *t, const struct device_facts *f)
{
    int64_t first, last;
    char duration[32];

    put_things(t, f->device->n_events, "event");
    if (time_span(f->snapshot, f->device, &first, &last) && last >= first)
        msnap_putf(t, " over %s", msnap_format_duration(duration, (uint64_t)last - (uint64_t)first));
}

static void put_coverage(struct output *out, const struct device_facts *f)
{
    const struct msnap_history *h = &f->history;
    struct msnap_sink *t = &out->sink;

    msnap_puts(t, "  ");
    switch (h->coverage) {
    case MSNAP_HISTORY_NONE:
        term_put(t, out->color, STYLE_WARN, "History: none.");
        msnap_puts(t, " Nothing was recorded; only the state at the dump is known.\n");
        return;
    case MSNAP_HISTORY_COMPLETE:
        term_put(t, out->color, STYLE_GOOD, "History: complete.");
        msnap_puts(t, " The recording covers everything from the first byte: ");
        put_span(t, f);
        msnap_puts(t, ".\n");
        return;
    case MSNAP_HISTORY_CUT:
        term_put(t, out->color, STYLE_WARN, "History: cut.");
        msnap_puts(t, " Only the last part of the run is here: ");
        put_span(t, f);
        msnap_puts(t, ".\n  ");
        put_bytes(t, h->start.allocated);
        msnap_puts(t, " were allocated already (");
        put_bytes(t, h->start.reserved);
        msnap_puts(t, " reserved) when it begins; an earlier peak would not show.\n");
        if (f->snapshot->settings.ring_overflowed > 0)
            msnap_puts(
                t,
                "  The ring buffer overflowed: raise max_entries of _record_memory_history to keep more.\n");
        return;
    }
}

static void put_when(struct msnap_sink *t, const struct device_facts *f, uint32_t event)
{
    const struct msnap_events *ev = &f->snapshot->events;
    int64_t first, last;
    char text[32];

    if (event == MSNAP_NO_EVENT) {
        msnap_puts(t, f->device->n_events ? "before the first event" : "at the dump");
        return;
    }
    msnap_putf(t, "after event %s", format_count(text, event));
    const size_t row = f->device->first_event + event;
    if ((ev->has[row] & MSNAP_HAS_TIME) && time_span(f->snapshot, f->device, &first, &last) &&
        ev->time_us[row] >= first)
        msnap_putf(t, ", %s after the first",
                   msnap_format_duration(text, (uint64_t)ev->time_us[row] - (uint64_t)first));
}

static void put_peak(struct output *out, const struct device_facts *f)
{
    struct msnap_sink *t = &out->sink;
    const struct msnap_moment *m = &f->history.peak;
    char text[24], count[32];

    msnap_puts(t, "  ");
    term_put(t, out->color, STYLE_HEAD, f->device->n_events ? "Peak: " : "In use: ");
    term_put(t, out->color, STYLE_HEAD, msnap_format_bytes(text, m->totals.allocated));
    msnap_putf(t, " allocated (%s bytes), ", format_count(count, m->totals.allocated));
    put_when(t, f, m->event);
    msnap_puts(t, ".\n");
}

/* ---- the tables of what filled the peak ---- */

static void put_row(struct msnap_sink *t, uint64_t bytes, uint64_t whole, uint64_t count)
{
    char exact[32], human[24], share[16], n[32];

    msnap_putf(t, "  %18s %10s %5s %9s  ", format_count(exact, bytes),
               bytes < 1024 ? "" : msnap_format_bytes(human, bytes), format_share(share, bytes, whole),
               format_count(n, count));
}

enum { ROW_HEAD_COLUMNS = 2 + 18 + 1 + 10 + 1 + 5 + 1 + 9 + 2 };

static void put_place(struct output *out, const struct device_facts *f, enum msnap_group_by by, uint32_t key)
{
    const size_t width = out->width > ROW_HEAD_COLUMNS + 32 ? out->width - ROW_HEAD_COLUMNS : 64;

    if (by == MSNAP_BY_LINE)
        place_put_frame(&out->sink, f->snapshot, key, width);
    else
        place_put_stack(&out->sink, f->snapshot, key, width);
}

static void put_table(struct output *out, const struct device_facts *f, const struct msnap_rank *rank,
                      enum msnap_group_by by, size_t n_rows)
{
    struct msnap_sink *t = &out->sink;
    const uint64_t whole = f->history.peak.totals.allocated;
    const char *thing = by == MSNAP_BY_LINE ? "line" : "stack";
    /* "1 other stack" would take the row that the stack itself can have. */
    const size_t shown = rank->n <= n_rows + 1 ? rank->n : n_rows;
    uint64_t sum = 0, rest_bytes = 0, rest_count = 0, count = 0;
    char exact[32];

    msnap_putf(t, "  %18s %10s %5s %9s  %s\n", "bytes", "", "share", "count",
               by == MSNAP_BY_LINE ? "line of your code" : "line of your code > innermost function");
    for (size_t i = 0; i < rank->n; i++) {
        const struct msnap_rank_row *row = &rank->rows[i];
        sum += row->bytes;
        count += row->count;
        if (i < shown) {
            put_row(t, row->bytes, whole, row->count);
            put_place(out, f, by, row->key);
            msnap_puts(t, "\n");
        } else {
            rest_bytes += row->bytes;
            rest_count += row->count;
        }
    }
    if (shown < rank->n) {
        put_row(t, rest_bytes, whole, rest_count);
        put_count(t, rank->n - shown);
        msnap_putf(t, " other %ss\n", thing);
    }
    put_row(t, sum, whole, count);
    term_put(t, out->color, STYLE_DIM, "sum");
    msnap_puts(t, "\n");
    if (sum != whole) {
        msnap_puts(t, "  ");
        term_put(t, out->color, STYLE_BAD, "These rows do not add up to the peak:");
        msnap_putf(t, " they are %s bytes too %s.\n",
                   format_count(exact, sum > whole ? sum - whole : whole - sum),
                   sum > whole ? "many" : "few");
    }
}

/* ---- reserved against allocated ---- */

static void put_pair(struct msnap_sink *t, const char *label, uint64_t peak, uint64_t end, const char *remark)
{
    char a[24], b[24];

    msnap_putf(t, "  %-16s %12s %12s   %s\n", label, msnap_format_bytes(a, peak), msnap_format_bytes(b, end),
               remark);
}

static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static void put_reserved(struct output *out, const struct device_facts *f)
{
    const struct msnap_history *h = &f->history;
    const struct msnap_totals *p = &h->peak.totals, *e = &h->end;
    struct msnap_sink *t = &out->sink;

    put_title(out, "Reserved and used");
    msnap_putf(t, "  %-16s %12s %12s\n", "", "at the peak", "at the end");
    put_pair(t, "allocated", p->allocated, e->allocated, "live tensors, in whole blocks");
    put_pair(t, "pending frees", less(p->active, p->allocated), less(e->active, e->allocated),
             "freed, still waiting for another stream");
    put_pair(t, "unused", less(p->reserved, p->active), less(e->reserved, e->active),
             "kept by the allocator for later");
    put_pair(t, "reserved", p->reserved, e->reserved, "the sum: taken from the device");
    put_pair(t, "lost in rounding", less(p->active, p->requested), less(e->active, e->requested),
             "blocks larger than what was asked for");
    if (h->peak_reserved != p->reserved) {
        msnap_puts(t, "  Reserved was highest at another moment: ");
        put_bytes(t, h->peak_reserved);
        msnap_puts(t, ".\n");
    }
}

/* ---- out of memory ---- */

static void put_ooms(struct output *out, const struct device_facts *f)
{
    enum { SHOWN = 3 };
    struct msnap_sink *t = &out->sink;
    const size_t skip = f->n_ooms > SHOWN ? f->n_ooms - SHOWN : 0;

    if (!f->n_ooms)
        return;
    put_title(out, "Out of memory");
    if (skip) {
        msnap_puts(t, "  ");
        put_things(t, skip, "earlier one");
        msnap_puts(t, " not shown (see --json), then:\n");
    }
    for (size_t i = skip; i < f->n_ooms; i++)
        put_oom(out, &f->history, &f->ooms[i]);
}

enum { STACK_ROWS = 8, LINE_ROWS = 6 }; /* unless --top says */

static void put_device_report(struct output *out, const struct device_facts *f, size_t n_rows, bool explain)
{
    struct msnap_sink *t = &out->sink;

    msnap_puts(t, "\n");
    if (out->color)
        msnap_puts(t, "\033[1m");
    put_device(t, f->device);
    if (out->color)
        msnap_puts(t, "\033[0m");
    msnap_puts(t, "\n");
    put_coverage(out, f);
    put_peak(out, f);
    if (f->n_findings) {
        put_title(out, "Findings");
        put_findings(out, f->findings, f->n_findings);
    }
    put_ooms(out, f);
    if (f->leaks.n) {
        put_title(out, "Leaks: what each step leaves behind");
        put_leaks(out, &f->history, &f->categories.classes, &f->leaks, 6, 0);
    }
    if (f->stacks.n) {
        life_put(out, f);
        if (explain)
            categories_explain(out, f);
        put_title(out, f->device->n_events ? "What was allocated at the peak, by call stack"
                                           : "What is allocated, by call stack");
        put_table(out, f, &f->stacks, MSNAP_BY_STACK, n_rows ? n_rows : STACK_ROWS);
        put_title(out, "The same by source line");
        put_table(out, f, &f->lines, MSNAP_BY_LINE, n_rows ? n_rows : LINE_ROWS);
    }
    if (f->device->n_events)
        steps_put(out, f);
    put_reserved(out, f);
}

void report_text(struct output *out, const char *path, const struct msnap_snapshot *s,
                 const struct device_facts *facts, size_t n, size_t n_rows, bool explain)
{
    put_file(out, path, s);
    for (size_t i = 0; i < n; i++)
        put_device_report(out, &facts[i], n_rows, explain);
    if (!n)
        msnap_puts(&out->sink,
                   "\nNo device has events or segments: nothing was recorded, and nothing was in use.\n"
                   "Was torch.cuda.memory._record_memory_history() called before the dump?\n");
    report_unknowns(out, s, facts, n);
}
