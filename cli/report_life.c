/* report_life.c -- what filled the peak: each category's bytes and life, and the sum. */
#include "categories.h"
#include "device_facts.h"
#include "figures.h"
#include "oom_words.h"
#include "term.h"
#include "text_buffer.h"

#include <inttypes.h>
#include <string.h>

static const char *const goes_words[MSNAP_N_GOES] = { /* in JSON */
    [MSNAP_GOES_UNKNOWN] = "unknown",     [MSNAP_GOES_AT_ONCE] = "at_once",     [MSNAP_GOES_BACKWARD] = "with_backward",
    [MSNAP_GOES_SAME_STEP] = "same_step", [MSNAP_GOES_NEXT_STEP] = "next_step", [MSNAP_GOES_LATER] = "later",
    [MSNAP_GOES_END] = "end"};

/* Categories that have blocks, most bytes at the peak first. */
static size_t in_order(const struct device_facts *f, uint8_t order[MSNAP_MAX_CATEGORIES])
{
    const struct msnap_life_cycle *l = &f->categories.life;
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        size_t at = n;
        if (!l->lives[i].n)
            continue;
        for (; at > 0 && l->lives[order[at - 1]].peak_bytes < l->lives[i].peak_bytes; at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t)i;
        n++;
    }
    return n;
}

/* ---- when ---- */

/* "step 1, backward"; "before step 1"; "before the recording". */
static void put_appears(struct msnap_sink *t, const struct device_facts *f, const struct msnap_life *life)
{
    const struct msnap_steps *s = &f->categories.steps;
    const char *phase = life->phase == MSNAP_PHASE_OTHER ? NULL : msnap_phase_name((enum msnap_phase_kind)life->phase);
    if (life->first_event == MSNAP_NO_EVENT) {
        msnap_puts(t, f->device->n_events ? "before the recording" : "");
    } else if (life->in_step) {
        msnap_putf(t, "step %" PRIu64 ", %s", life->step, phase ? phase : "between passes");
    } else if (s->n && life->first_event < s->steps[0].first) {
        msnap_putf(t, "before step %" PRIu64, s->steps[0].number);
    } else if (s->n) {
        msnap_puts(t, life->first_event > s->steps[s->n - 1].last ? "after the last step" : "between steps");
    } else if (phase) {
        msnap_puts(t, phase);
    } else {
        msnap_puts(t, s->n_phases > 1 ? "outside the passes" : "");
    }
}

/* ---- the sum ---- */

enum { WIDTH = 96 };

/* "optimizer_state" in a sentence: "optimizer state". */
static void put_name(struct msnap_sink *t, const char *name)
{
    if (!strcmp(name, "optimizer_state")) {
        msnap_puts(t, "optimizer state");
        return;
    }
    msnap_put_terminal(t, name, strlen(name));
    if (!strcmp(name, "weight") || !strcmp(name, "gradient") || !strcmp(name, "activation") || !strcmp(name, "input"))
        msnap_puts(t, "s");
}

/* One part after the other, broken into lines between parts. */
static void put_part(struct msnap_sink *t, size_t *column, const char *part)
{
    const size_t n = strlen(part);
    if (*column && *column + 1 + n > WIDTH) {
        msnap_puts(t, "\n  ");
        *column = 2;
    } else {
        msnap_puts(t, *column ? " " : "  ");
        *column += *column ? 1 : 2;
    }
    msnap_puts(t, part);
    *column += n;
}

/* "weights 107.2 MiB + gradients 0 B + ... = 1.52 GiB, nothing left over." */
static void put_equation(struct output *out, const struct device_facts *f)
{
    const struct msnap_classes *c = &f->categories.classes;
    const struct msnap_life *lives = f->categories.life.lives;
    const uint64_t whole = f->history.peak.totals.allocated, unknown = lives[MSNAP_UNKNOWN].peak_bytes;
    struct text_buffer part;
    size_t column = 0;
    bool first = true;

    if (unknown == whole) {
        if (whole)
            msnap_puts(&out->sink, "  Nothing in the recording tells what they are for.\n");
        return;
    }
    text_buffer_init(&part);
    for (size_t i = 0; i < c->n_categories; i++) {
        /* The four that every training has are always told. */
        if (i == MSNAP_UNKNOWN || (i > MSNAP_ACTIVATION && !lives[i].peak_bytes))
            continue;
        text_buffer_clear(&part);
        msnap_puts(&part.sink, first ? "" : "+ ");
        put_name(&part.sink, c->names[i]);
        msnap_puts(&part.sink, " ");
        put_bytes(&part.sink, lives[i].peak_bytes);
        const char *text = text_buffer_finish(&part);
        put_part(&out->sink, &column, text ? text : "");
        first = false;
    }
    text_buffer_clear(&part);
    msnap_puts(&part.sink, "= ");
    put_bytes(&part.sink, whole - unknown);
    if (!unknown) {
        msnap_puts(&part.sink, ", nothing left over.");
    } else {
        msnap_puts(&part.sink, "; ");
        put_bytes(&part.sink, unknown);
        msnap_puts(&part.sink, " of the peak are left over as unknown.");
    }
    const char *text = text_buffer_finish(&part);
    put_part(&out->sink, &column, text ? text : "");
    msnap_puts(&out->sink, "\n");
    text_buffer_free(&part);
}

/* What stands beside the allocated bytes on the device. */
static void put_beside(struct output *out, const struct device_facts *f)
{
    const struct msnap_oom *oom = the_oom(f->ooms, f->n_ooms);
    struct msnap_sink *t = &out->sink;

    if (f->device->device == MSNAP_HOST)
        return;
    msnap_puts(t, "  Beside it: cache ");
    put_bytes(t, facts_cache_bytes(&f->history.peak.totals));
    msnap_puts(t, " (reserved, not allocated) and the context");
    if (oom && oom->capacity_known) {
        msnap_puts(t, ", ");
        put_bytes(t, oom->outside_bytes);
        msnap_puts(t, " (outside the allocator).\n");
    } else {
        msnap_puts(t, oom ? ", which --capacity tells.\n" : " (outside the allocator).\n");
    }
}

/* ---- the table ---- */

static void put_figures(struct msnap_sink *t, uint64_t bytes, uint64_t whole, uint64_t count)
{
    char exact[32], human[24], share[16], n[32];

    msnap_putf(t, "  %18s %10s %5s %9s  ", format_count(exact, bytes),
               bytes < 1024 ? "" : msnap_format_bytes(human, bytes), format_share(share, bytes, whole),
               format_count(n, count));
}

static void put_padded(struct msnap_sink *t, struct text_buffer *text, size_t width)
{
    const char *bytes = text_buffer_finish(text);
    msnap_putf(t, "%-*s", (int)width, bytes ? bytes : "");
    text_buffer_clear(text);
}

void life_put(struct output *out, const struct device_facts *f)
{
    const struct category_facts *k = &f->categories;
    const uint64_t whole = f->history.peak.totals.allocated;
    const bool has_time = f->device->n_events > 0;
    struct msnap_sink *t = &out->sink;
    uint8_t order[MSNAP_MAX_CATEGORIES];
    const size_t n = in_order(f, order);
    uint64_t sum = 0, count = 0;
    struct text_buffer cell;

    text_buffer_init(&cell);
    msnap_puts(t, "\n  ");
    term_put(t, out->color, STYLE_HEAD, has_time ? "What filled the peak" : "What is allocated");
    msnap_putf(t, "\n  %18s %10s %5s %9s  %s\n", "bytes", "", "share", "count", has_time ? "category         appears                goes" : "category");
    for (size_t i = 0; i < n; i++) {
        const struct msnap_life *life = &k->life.lives[order[i]];
        const char *name = k->classes.names[order[i]];
        if (!has_time && !life->peak_count)
            continue;
        put_figures(t, life->peak_bytes, whole, life->peak_count);
        msnap_put_terminal(&cell.sink, name, strlen(name));
        if (has_time) {
            put_padded(t, &cell, 16);
            msnap_puts(t, " ");
            put_appears(&cell.sink, f, life);
            put_padded(t, &cell, 22);
            msnap_putf(t, " %s\n", msnap_goes_text((enum msnap_goes)life->goes));
        } else {
            put_padded(t, &cell, 0);
            msnap_puts(t, "\n");
        }
        sum += life->peak_bytes;
        count += life->peak_count;
    }
    put_figures(t, sum, whole, count);
    term_put(t, out->color, STYLE_DIM, "sum");
    msnap_puts(t, "\n");
    put_equation(out, f);
    put_beside(out, f);
    text_buffer_free(&cell);
}

void life_json(struct json *j, cJSON *list, const struct device_facts *f)
{
    const struct category_facts *k = &f->categories;
    const uint64_t whole = f->history.peak.totals.allocated;
    uint8_t order[MSNAP_MAX_CATEGORIES];
    const size_t n = in_order(f, order);

    for (size_t i = 0; i < n; i++) {
        const struct msnap_life *life = &k->life.lives[order[i]];
        const char *phase = msnap_phase_name((enum msnap_phase_kind)life->phase), *goes = goes_words[life->goes];
        cJSON *item = json_object(j, list, NULL);
        json_text(j, item, "category", k->classes.names[order[i]], strlen(k->classes.names[order[i]]));
        json_u64(j, item, "bytes", life->peak_bytes);
        json_u64(j, item, "count", life->peak_count);
        json_double(j, item, "share", whole ? (double)life->peak_bytes / (double)whole : 0);
        if (life->first_event == MSNAP_NO_EVENT)
            json_null(j, item, "appears_event");
        else
            json_u64(j, item, "appears_event", life->first_event);
        if (life->in_step)
            json_u64(j, item, "appears_step", life->step);
        else
            json_null(j, item, "appears_step");
        json_text(j, item, "appears_phase", phase, strlen(phase));
        json_text(j, item, "goes", goes, strlen(goes));
    }
}
