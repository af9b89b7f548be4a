/* text_width.c -- advance widths of a sans font, and shortening in the middle. */
#include "text_width.h"

#include <string.h>

/* Thousandths of the font size, for the characters from space to tilde (Helvetica). */
static const uint16_t advance[95] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584};

#define ELLIPSIS "\xE2\x80\xA6"
enum { ELLIPSIS_WIDTH = 1000, OTHER_WIDTH = 1000, MIDDLE_DOT_WIDTH = 278 };

static bool continues(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* The width of the character at `text`; steps over all its bytes. */
static unsigned take(const char **text)
{
    const unsigned char c = (unsigned char)**text;
    const unsigned char next = c ? (unsigned char)(*text)[1] : 0;
    (*text)++;
    if (c >= 0x20 && c < 0x7F)
        return advance[c - 0x20];
    while (continues(**text))
        (*text)++;
    if (c == 0xC2 && next == 0xB7)
        return MIDDLE_DOT_WIDTH;
    if (c == 0xE2 || c < 0x20)
        return c < 0x20 ? 0 : 556; /* dashes, narrow spaces */
    return c < 0xE0 ? 600 : OTHER_WIDTH; /* Latin, Greek and Cyrillic; above them the wide scripts */
}

static float scaled(uint64_t thousandths, float font_size, bool bold)
{
    /* Bold letters are 5 to 8 percent wider. */
    return (float)thousandths * 0.001f * font_size * (bold ? 1.07f : 1.0f);
}

float msnap_text_width(const char *text, float font_size, bool bold)
{
    uint64_t sum = 0;
    while (*text) {
        if (strncmp(text, ELLIPSIS, 3) == 0) {
            sum += ELLIPSIS_WIDTH;
            text += 3;
        } else {
            sum += take(&text);
        }
    }
    return scaled(sum, font_size, bold);
}

static void copy_whole(const char *text, char *out, size_t size)
{
    size_t n = strlen(text);
    if (n >= size) {
        n = size - 1;
        while (n > 0 && continues(text[n]))
            n--;
    }
    memcpy(out, text, n);
    out[n] = '\0';
}

void msnap_text_shorten(const char *text, float font_size, bool bold, float max_width, char *out, size_t size)
{
    if (size == 0)
        return;
    const float whole = msnap_text_width(text, font_size, bold);
    if (whole <= max_width) {
        copy_whole(text, out, size);
        return;
    }
    const float room = max_width - scaled(ELLIPSIS_WIDTH, font_size, bold);
    size_t head = 0, tail = strlen(text);
    /* 40 percent of the room for the beginning, the rest for the end. */
    for (float used = 0; text[head];) {
        const char *p = text + head;
        used += scaled(take(&p), font_size, bold);
        if (used > 0.4f * room)
            break;
        head = (size_t)(p - text);
    }
    float left = room;
    for (const char *p = text; p < text + head;)
        left -= scaled(take(&p), font_size, bold);
    while (tail > head) {
        size_t before = tail - 1;
        while (before > head && continues(text[before]))
            before--;
        const char *p = text + before;
        left -= scaled(take(&p), font_size, bold);
        if (left < 0)
            break;
        tail = before;
    }
    size_t n_tail = strlen(text + tail);
    if (head + 3 + n_tail >= size) { /* too small a buffer for what the width allows */
        copy_whole(text, out, size);
        return;
    }
    memcpy(out, text, head);
    memcpy(out + head, ELLIPSIS, 3);
    memcpy(out + head + 3, text + tail, n_tail + 1);
}
