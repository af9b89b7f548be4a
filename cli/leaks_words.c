/* leaks_words.c -- leaks as text and JSON. */
#include "leaks_words.h"

#include "figures.h"
#include "place.h"
#include "term.h"
#include "text_buffer.h"

#include <inttypes.h>
#include <string.h>

static const char *category_of(const struct msnap_classes *c, uint32_t row) { return c ? c->names[c->category[row]] : NULL; }

void add_leaks_json(struct json *j, cJSON *list, const struct msnap_history *h, const struct msnap_classes *classes,
                    const struct msnap_leaks *l, size_t rows)
{
    for (size_t i = 0; i < l->n && i < rows; i++) {
        const struct msnap_leak *k = &l->leaks[i];
        struct text_buffer text;
        cJSON *item = json_object(j, list, NULL);
        json_u64(j, item, "bytes_per_step", k->bytes_per_step);
        json_u64(j, item, "total_bytes", k->total_bytes);
        json_u64(j, item, "count", k->count);
        json_u64(j, item, "every_steps", k->every);
        json_u64(j, item, "first_step", k->first_step);
        const char *category = category_of(classes, k->row);
        if (category)
            json_text(j, item, "category", category, strlen(category));
        else
            json_null(j, item, "category");
        text_buffer_init(&text);
        place_put_json(&text.sink, h->snapshot, k->user_frame);
        json_raw(j, item, "top_frame", text_buffer_finish(&text));
        text_buffer_free(&text);
        json_u64(j, item, "stack", k->stack);
    }
}

void put_leaks(struct output *out, const struct msnap_history *h, const struct msnap_classes *classes, const struct msnap_leaks *l,
               size_t rows, uint64_t room)
{
    struct msnap_sink *t = &out->sink;
    char a[24], b[24], n[32];
    if (!l->n) {
        msnap_puts(t, l->judged ? "  No leak: no line leaves bytes behind step after step.\n"
                                : "  Not judged: fewer than 4 steps were found in the recording.\n");
        return;
    }
    msnap_putf(t, "  %12s %12s %8s %6s %6s   %s\n", "bytes a step", "in all", "blocks", "from", "every", "line of your code > innermost function");
    for (size_t i = 0; i < l->n && i < rows; i++) {
        const struct msnap_leak *k = &l->leaks[i];
        msnap_putf(t, "  %12s %12s %8" PRIu64 " %6" PRIu64 " %6" PRIu64 "   ", msnap_format_bytes(a, k->bytes_per_step), msnap_format_bytes(b, k->total_bytes),
                   k->count, k->first_step, k->every);
        place_put_stack(t, h->snapshot, k->stack, 60);
        const char *category = category_of(classes, k->row);
        if (category)
            msnap_putf(t, " (%s)", category);
        msnap_puts(t, "\n");
    }
    if (l->n > rows)
        msnap_putf(t, "  and %zu other lines\n", l->n - rows);
    msnap_putf(t, "  Together %s a step", msnap_format_bytes(a, l->bytes_per_step));
    if (room && l->bytes_per_step)
        msnap_putf(t, ": the %s that are left last for %s more steps", msnap_format_bytes(b, room), format_count(n, room / l->bytes_per_step));
    msnap_puts(t, ".\n");
}
