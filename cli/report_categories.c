/* report_categories.c -- the report's tables of rules and steps. */
#include "categories.h"
#include "device_facts.h"
#include "figures.h"
#include "term.h"

#include <inttypes.h>
#include <string.h>

static void put_title(struct output *out, const char *title)
{
    msnap_puts(&out->sink, "\n  ");
    term_put(&out->sink, out->color, STYLE_HEAD, title);
    msnap_puts(&out->sink, "\n");
}

static void put_figures(struct msnap_sink *t, uint64_t bytes, uint64_t whole, uint64_t count)
{
    char exact[32], human[24], share[16], n[32];

    msnap_putf(t, "  %18s %10s %5s %9s  ", format_count(exact, bytes),
               bytes < 1024 ? "" : msnap_format_bytes(human, bytes), format_share(share, bytes, whole),
               format_count(n, count));
}

void categories_explain(struct output *out, const struct device_facts *f)
{
    const struct category_facts *k = &f->categories;
    const struct msnap_classes *c = &k->classes;
    const uint64_t whole = f->history.peak.totals.allocated;
    struct msnap_sink *t = &out->sink;

    put_title(out, "Rules that decided, by bytes at the peak");
    msnap_putf(t, "  %18s %10s %5s %9s  %s\n", "bytes", "", "share", "count", "rule: what it rests on");
    for (uint64_t above = UINT64_MAX;;) { /* largest first; those of equal bytes together */
        uint64_t next = 0;
        for (size_t i = 0; i < c->n_rules; i++)
            if (k->rule_bytes[i] < above && k->rule_bytes[i] > next)
                next = k->rule_bytes[i];
        if (!next)
            break;
        for (size_t i = 0; i < c->n_rules; i++)
            if (k->rule_bytes[i] == next) {
                put_figures(t, next, whole, k->rule_counts[i]);
                msnap_put_terminal(t, c->rules[i].name, strlen(c->rules[i].name));
                msnap_putf(t, ": %s\n", c->rules[i].meaning);
            }
        above = next;
    }
}

/* ---- steps ---- */

enum { STEP_ROWS = 12, FIRST_ROWS = 5, LAST_ROWS = 4 };

static void put_change(struct msnap_sink *t, int64_t bytes)
{
    char text[24], signed_text[32];
    const uint64_t size = bytes < 0 ? (uint64_t)0 - (uint64_t)bytes : (uint64_t)bytes;

    msnap_format_bytes(text, size);
    signed_text[0] = bytes < 0 ? '-' : bytes > 0 ? '+' : ' ';
    memcpy(signed_text + 1, text, strlen(text) + 1);
    msnap_putf(t, " %13s", signed_text);
}

static void put_step(struct msnap_sink *t, const struct msnap_step *s, const char *remark)
{
    char a[24], b[24], first[32], last[32];

    msnap_putf(t, "  %6" PRIu64 " %12s %12s", s->number, msnap_format_bytes(a, s->peak_bytes),
               msnap_format_bytes(b, s->end_bytes));
    put_change(t, s->growth_bytes);
    msnap_putf(t, "  %s to %s%s%s\n", format_count(first, s->first), format_count(last, s->last), *remark ? "  " : "", remark);
}

void steps_put(struct output *out, const struct device_facts *f)
{
    const struct msnap_steps *s = &f->categories.steps;
    struct msnap_sink *t = &out->sink;
    size_t highest = 0, grows = SIZE_MAX;

    put_title(out, "Steps");
    if (!s->n) {
        msnap_puts(t, "  No steps found: nothing in the recording repeats that could be an iteration.\n");
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->steps[i].peak_bytes > s->steps[highest].peak_bytes)
            highest = i;
        if (i && (grows == SIZE_MAX || s->steps[i].growth_bytes > s->steps[grows].growth_bytes))
            grows = i;
    }
    msnap_puts(t, "  ");
    put_things(t, s->n, "step");
    msnap_putf(t, ", told by %s.\n", msnap_steps_by_text(s->by));
    msnap_putf(t, "  %6s %12s %12s %13s  %s\n", "step", "peak", "at its end", "growth", "events");
    bool skipped = false;
    for (size_t i = 0; i < s->n; i++) {
        const bool all = s->n <= STEP_ROWS;
        if (!all && i >= FIRST_ROWS && i + LAST_ROWS < s->n && i != highest && i != grows) {
            if (!skipped)
                msnap_puts(t, "     ...\n");
            skipped = true;
            continue;
        }
        skipped = false;
        put_step(t, &s->steps[i], i == highest ? "highest" : i == grows && !all && s->steps[i].growth_bytes > 0 ? "grows most after the first" : "");
    }
}
