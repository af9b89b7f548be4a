/* source.h -- an input as a window of bytes that moves forward: a mapped file, memory, a pipe, gzip. */
#ifndef MSNAP_BASE_SOURCE_H
#define MSNAP_BASE_SOURCE_H

#include "base/mem.h"

struct msnap_source {
    const uint8_t *p;     /* the next byte to read; the reader moves it */
    const uint8_t *end;   /* of the window */
    const uint8_t *start; /* of the window */
    uint64_t base;        /* offset of `start` in the (inflated) input */
    bool at_end;          /* the window's end is the input's end */
    bool is_gzip;
    bool more_after_gzip; /* bytes follow the last member that are no gzip */
    uint64_t size_bytes;  /* of the file as given; grows while a pipe is read */

    struct msnap_budget *budget; /* its limit grows with what was read; NULL: none */
    uint64_t budget_base, budget_cap;
    int (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    /* private */
    struct msnap_mem mem;
    int fd;
    bool own_fd, map_is_ours;
    const uint8_t *map;   /* whole raw input, where it is in memory */
    size_t map_size, map_at, map_given_back;
    uint8_t *buffer;      /* the window, where bytes are copied or inflated */
    size_t buffer_size;
    uint8_t *raw;         /* compressed bytes read from a pipe */
    size_t raw_at, raw_n;
    void *inflater;
    bool member_ended;
    uint64_t next_progress;
};

/* "-" is standard input. Nothing is read but the first bytes. */
MSNAP_CHECKED enum msnap_status msnap_source_open(struct msnap_source *s, const char *path, struct msnap_mem mem,
                                                  struct msnap_error *err);
MSNAP_CHECKED enum msnap_status msnap_source_memory(struct msnap_source *s, const void *bytes, size_t n,
                                                    struct msnap_mem mem, struct msnap_error *err);
void msnap_source_close(struct msnap_source *s);

/* Moves the window so that at least `need` bytes can be read from p on, or all that is left where
 * the input is shorter (then at_end is set). Pointers into the old window are dead. A claim of a
 * huge `need` takes memory only as bytes really arrive. */
MSNAP_CHECKED enum msnap_status msnap_source_more(struct msnap_source *s, size_t need, struct msnap_error *err);

static inline uint64_t msnap_source_offset(const struct msnap_source *s) { return s->base + (uint64_t)(s->p - s->start); }

#endif
