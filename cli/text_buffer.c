/* text_buffer.c -- a sink that collects its text in memory. */
#include "text_buffer.h"

#include <stdlib.h>
#include <string.h>

static int append(void *ctx, const char *bytes, size_t n)
{
    struct text_buffer *t = ctx;

    if (n >= t->room - t->n) { /* one byte stays for the NUL */
        const size_t room = 2 * t->room + n + 1;
        char *grown = room > n ? realloc(t->bytes, room) : NULL;
        if (!grown)
            return 1;
        t->bytes = grown;
        t->room = room;
    }
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    return 0;
}

void text_buffer_init(struct text_buffer *t)
{
    t->bytes = NULL;
    t->n = t->room = 0;
    msnap_sink_init(&t->sink, append, t);
}

const char *text_buffer_finish(struct text_buffer *t)
{
    if (!msnap_sink_flush(&t->sink) || (!t->bytes && append(t, "", 0)))
        return NULL;
    t->bytes[t->n] = 0;
    return t->bytes;
}

void text_buffer_clear(struct text_buffer *t)
{
    t->n = 0;
    t->sink.used = 0;
}

void text_buffer_free(struct text_buffer *t)
{
    free(t->bytes);
    t->bytes = NULL;
}
