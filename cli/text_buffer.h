/* text_buffer.h -- a sink that collects its text in memory. */
#ifndef MEMSNAP_TEXT_BUFFER_H
#define MEMSNAP_TEXT_BUFFER_H

#include <memsnap/text.h>

struct text_buffer {
    struct msnap_sink sink;
    char *bytes;
    size_t n, room;
};
void text_buffer_init(struct text_buffer *t);
/* The text so far, NUL-terminated; NULL where memory ran out. Valid until more is written. */
const char *text_buffer_finish(struct text_buffer *t);
/* Forgets the text and keeps the memory. */
void text_buffer_clear(struct text_buffer *t);
void text_buffer_free(struct text_buffer *t);

#endif
