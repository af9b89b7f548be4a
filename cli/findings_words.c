/* findings_words.c -- findings as text, wrapped, and as JSON. */
#include "findings_words.h"

#include "term.h"

#include <string.h>

enum { WIDTH = 96 };

static void add_text(struct json *j, cJSON *item, const char *key, const char *text) { json_text(j, item, key, text, strlen(text)); }

void add_findings_json(struct json *j, cJSON *list, const struct msnap_finding *findings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct msnap_finding *f = &findings[i];
        cJSON *item = json_object(j, list, NULL);
        add_text(j, item, "id", f->id);
        add_text(j, item, "severity", msnap_severity_name(f->severity));
        add_text(j, item, "title", f->title);
        add_text(j, item, "evidence", f->evidence);
        add_text(j, item, "advice", f->advice);
        json_u64(j, item, "bytes", f->bytes);
    }
}

/* Words to lines; the text may hold names from the file, so it is escaped. */
static void put_wrapped(struct msnap_sink *t, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column == 0 || column + 1 + n > WIDTH) {
            msnap_puts(t, column ? "\n      " : "      ");
            column = 6;
        } else {
            msnap_puts(t, " ");
            column++;
        }
        msnap_put_terminal(t, text, n);
        column += n;
        text += n;
        while (*text == ' ')
            text++;
    }
    msnap_puts(t, "\n");
}

void put_findings(struct output *out, const struct msnap_finding *findings, size_t n)
{
    static const enum style style[] = {[MSNAP_INFO] = STYLE_HEAD, [MSNAP_WARNING] = STYLE_WARN, [MSNAP_PROBLEM] = STYLE_BAD};
    struct msnap_sink *t = &out->sink;
    for (size_t i = 0; i < n; i++) {
        const struct msnap_finding *f = &findings[i];
        msnap_puts(t, f->severity == MSNAP_PROBLEM ? "  ! " : f->severity == MSNAP_WARNING ? "  * " : "  - ");
        term_put(t, out->color, style[f->severity], f->title);
        msnap_putf(t, "  [%s]\n", f->id);
        put_wrapped(t, f->evidence);
        put_wrapped(t, f->advice);
    }
}
