/* text_width.h -- how wide a text is, from a table: layout needs no font and is the same everywhere. */
#ifndef MSNAP_RENDER_TEXT_WIDTH_H
#define MSNAP_RENDER_TEXT_WIDTH_H

#include <memsnap/base.h>

/* Pixels at that font size. Widths are Helvetica's, which Arial, Liberation Sans and most sans
 * fonts share or nearly share; what draws a wider font condenses it to this width. */
float msnap_text_width(const char *text, float font_size, bool bold);

/* Writes `text` into `out` (at most `size` bytes with the NUL), its middle replaced by an ellipsis
 * if it is wider than `max_width`; the end, which tells files apart, keeps the larger part. */
void msnap_text_shorten(const char *text, float font_size, bool bold, float max_width, char *out, size_t size);

#endif
