/* axis.h -- round ticks for bytes, time and event numbers, and labels that do not collide. */
#ifndef MSNAP_RENDER_AXIS_H
#define MSNAP_RENDER_AXIS_H

#include <memsnap/base.h>

#define MSNAP_MAX_TICKS 64

struct msnap_tick {
    double value; /* bytes, microseconds or event number */
    char label[32];
};
struct msnap_ticks {
    size_t n;
    struct msnap_tick tick[MSNAP_MAX_TICKS];
};

/* From 0 up to `max` bytes in steps of a power of two, at most `n_wanted` steps, one unit for all:
 * "0", "256 MiB", "512 MiB", ... */
void msnap_ticks_bytes(double max, size_t n_wanted, struct msnap_ticks *out);
/* Microseconds from `first` to `last`, in steps of 1, 2 or 5 times a power of ten (minutes and hours:
 * as clocks have them), labelled in one unit: "0", "0.5 s", ... */
void msnap_ticks_time(double first, double last, size_t n_wanted, struct msnap_ticks *out);
/* Event numbers from `first` to `last`: "0", "2,000", "4,000", ... */
void msnap_ticks_count(double first, double last, size_t n_wanted, struct msnap_ticks *out);

/* "1,234,567" */
const char *msnap_format_count(char out[32], uint64_t n);

/* Labels in rows of a strip, each near its own x, none over another. They are placed in the order
 * given, so the important come first. */
struct msnap_strip_label {
    float x;      /* where it points to */
    float width;  /* of its text */
    float left;   /* result */
    int row;      /* result: 0 is the lowest row; -1: there was no room */
};
void msnap_strip_place(struct msnap_strip_label *labels, size_t n, int n_rows, float left, float right, float gap);

#endif
