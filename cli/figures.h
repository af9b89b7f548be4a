/* figures.h -- numbers as people read them, put straight into a sink. */
#ifndef MEMSNAP_FIGURES_H
#define MEMSNAP_FIGURES_H

#include <memsnap/history.h>
#include <memsnap/text.h>

/* "3,629,118". */
const char *format_count(char out[32], uint64_t n);
/* "41%", "<1%", "0%". */
const char *format_share(char out[16], uint64_t part, uint64_t whole);
void put_bytes(struct msnap_sink *out, uint64_t bytes);
void put_count(struct msnap_sink *out, uint64_t n);
/* "1 event", "3,629,118 events". */
void put_things(struct msnap_sink *out, uint64_t n, const char *thing);
/* "2026-08-07 10:22:33 UTC". */
void put_date(struct msnap_sink *out, int64_t time_us);

/* First and last time of a device's events; false where none has a time. */
bool time_span(const struct msnap_snapshot *s, const struct msnap_device *device, int64_t *first_us,
               int64_t *last_us);
/* "GPU 0", "pinned host memory". */
void put_device(struct msnap_sink *out, const struct msnap_device *device);
/* A string of the snapshot, safe for a terminal. */
void put_string(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t string);

#endif
