/* sink.c -- buffered output and every escaping rule. */
#include <memsnap/text.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void msnap_sink_init(struct msnap_sink *s, int (*write)(void *, const char *, size_t), void *ctx)
{
    s->write = write;
    s->ctx = ctx;
    s->used = 0;
    s->failed = false;
}

bool msnap_sink_flush(struct msnap_sink *s)
{
    if (!s->failed && s->used && s->write(s->ctx, s->buffer, s->used) != 0)
        s->failed = true;
    s->used = 0;
    return !s->failed;
}

void msnap_put(struct msnap_sink *s, const char *bytes, size_t n)
{
    if (n > sizeof s->buffer - s->used) {
        msnap_sink_flush(s);
        if (n > sizeof s->buffer) {
            if (!s->failed && s->write(s->ctx, bytes, n) != 0)
                s->failed = true;
            return;
        }
    }
    memcpy(s->buffer + s->used, bytes, n);
    s->used += n;
}

void msnap_puts(struct msnap_sink *s, const char *text) { msnap_put(s, text, strlen(text)); }

void msnap_putf(struct msnap_sink *s, const char *format, ...)
{
    /* Into the buffer itself; what does not fit the rest of it gets a buffer of its own. */
    size_t room = sizeof s->buffer - s->used;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(s->buffer + s->used, room, format, args);
    va_end(args);
    if (n < 0)
        return;
    if ((size_t)n < room) {
        s->used += (size_t)n;
        return;
    }
    struct msnap_mem mem = msnap_mem_default();
    char *text = mem.resize(mem.ctx, NULL, 0, (size_t)n + 1);
    if (!text) {
        s->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    msnap_put(s, text, (size_t)n);
    (void)mem.resize(mem.ctx, text, (size_t)n + 1, 0);
}

void msnap_put_u64(struct msnap_sink *s, uint64_t value)
{
    char digits[20];
    size_t i = sizeof digits;
    do
        digits[--i] = (char)('0' + value % 10);
    while (value /= 10);
    msnap_put(s, digits + i, sizeof digits - i);
}

void msnap_put_i64(struct msnap_sink *s, int64_t value)
{
    if (value < 0) {
        msnap_put(s, "-", 1);
        msnap_put_u64(s, UINT64_C(0) - (uint64_t)value);
    } else {
        msnap_put_u64(s, (uint64_t)value);
    }
}

/* Length of the well-formed UTF-8 sequence at p, 0 if there is none. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    size_t len = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || n < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
        (p[0] == 0xF4 && p[1] > 0x8F))
        return 0; /* overlong, surrogate, beyond U+10FFFF */
    return len;
}

#define REPLACEMENT "\xEF\xBF\xBD"

/* Copies runs of harmless characters; `replace` gives another text for one character, or NULL. */
static void put_escaped(struct msnap_sink *s, const char *bytes, size_t n,
                        const char *(*replace)(unsigned c, char space[16]))
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t start = 0, i = 0;
    char space[16];
    while (i < n) {
        size_t len = utf8_length(p + i, n - i);
        const char *other = NULL;
        if (len == 0)
            other = REPLACEMENT;
        else if (len == 1)
            other = replace(p[i], space);
        else if (len == 2 && p[i] == 0xC2 && p[i + 1] < 0xA0) /* C1 controls drive terminals too */
            other = REPLACEMENT;
        else if (len == 3 && p[i] == 0xE2 && ((p[i + 1] == 0x80 && p[i + 2] >= 0xAA && p[i + 2] <= 0xAE) ||
                                              (p[i + 1] == 0x81 && p[i + 2] >= 0xA6 && p[i + 2] <= 0xA9)))
            other = REPLACEMENT; /* U+202A to U+202E, U+2066 to U+2069: they turn text around */
        if (other) {
            msnap_put(s, bytes + start, i - start);
            msnap_puts(s, other);
            i += len ? len : 1;
            start = i;
        } else {
            i += len;
        }
    }
    msnap_put(s, bytes + start, n - start);
}

static const char *json_replace(unsigned c, char space[16])
{
    switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    }
    if (c >= 0x20 && c != 0x7F)
        return NULL;
    snprintf(space, 16, "\\u%04x", c);
    return space;
}

static const char *xml_replace(unsigned c, char space[16])
{
    (void)space;
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\n':
    case '\t': return " ";
    }
    return c < 0x20 || c == 0x7F ? REPLACEMENT : NULL;
}

static const char *terminal_replace(unsigned c, char space[16])
{
    if (c >= 0x20 && c != 0x7F)
        return NULL;
    snprintf(space, 16, "\\x%02x", c);
    return space;
}

static const char *csv_replace(unsigned c, char space[16])
{
    (void)space;
    if (c == '"')
        return "\"\"";
    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F ? REPLACEMENT : NULL;
}

void msnap_put_json(struct msnap_sink *s, const char *bytes, size_t n)
{
    msnap_put(s, "\"", 1);
    put_escaped(s, bytes, n, json_replace);
    msnap_put(s, "\"", 1);
}

void msnap_put_xml(struct msnap_sink *s, const char *bytes, size_t n) { put_escaped(s, bytes, n, xml_replace); }

void msnap_put_terminal(struct msnap_sink *s, const char *bytes, size_t n)
{
    put_escaped(s, bytes, n, terminal_replace);
}

void msnap_put_csv(struct msnap_sink *s, const char *bytes, size_t n)
{
    bool quote = false, formula = n > 0 && strchr("=+-@\t\r", bytes[0]) && bytes[0];
    for (size_t i = 0; i < n && !quote; i++)
        quote = strchr(",\"\n\r\t", bytes[i]) != NULL || (unsigned char)bytes[i] < 0x20;
    if (quote || formula)
        msnap_put(s, "\"", 1);
    if (formula)
        msnap_put(s, "'", 1);
    put_escaped(s, bytes, n, csv_replace);
    if (quote || formula)
        msnap_put(s, "\"", 1);
}
