/* place.h -- frames and stacks as people read them. */
#ifndef MEMSNAP_PLACE_H
#define MEMSNAP_PLACE_H

#include <memsnap/snapshot.h>
#include <memsnap/text.h>

/* Whether the file knows the frame's line. */
bool place_has_line(const struct msnap_snapshot *s, uint32_t frame);
/* "file:line" in full, as JSON with its quotes; null for frame 0. */
void place_put_json(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t frame);
/* The same for CSV; nothing for frame 0. */
void place_put_csv(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t frame);
/* "models/gpt.py:88 forward": the path's last parts, safe for a terminal, at most `width` columns. */
void place_put_frame(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t frame, size_t width);
/* The stack's user frame in that form and the innermost Python function that it led to, as in
 * "models/gpt.py:88 forward > linear"; where it has none, its innermost frame and why. */
void place_put_stack(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t stack, size_t width);

#endif
