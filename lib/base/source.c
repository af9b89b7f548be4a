/* source.c -- windows over a mapped file, memory, a pipe, and gzip of any of them. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "base/source.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define WINDOW ((size_t)4 << 20)  /* of a mapped file: pages behind it are given back */
#define BUFFER ((size_t)256 << 10) /* fits the second-level cache */
#define RAW ((size_t)64 << 10)
#define PROGRESS_STEP ((uint64_t)8 << 20)

static voidpf z_alloc(voidpf ctx, uInt n, uInt size)
{
    /* zlib frees without a size, so the size stands before the piece. */
    struct msnap_mem *mem = ctx;
    size_t bytes;
    if (msnap_mul_overflows(n, size, &bytes))
        return NULL;
    size_t *p = mem->resize(mem->ctx, NULL, 0, bytes + 16);
    if (!p)
        return NULL;
    *p = bytes + 16;
    return (char *)p + 16;
}

static void z_free(voidpf ctx, voidpf p)
{
    struct msnap_mem *mem = ctx;
    if (p) {
        size_t *head = (size_t *)(void *)((char *)p - 16);
        msnap_mem_release(*mem, head, *head);
    }
}

static enum msnap_status start_inflater(struct msnap_source *s, struct msnap_error *err)
{
    z_stream *z = s->mem.resize(s->mem.ctx, NULL, 0, sizeof *z);
    if (!z)
        return msnap_fail(err, MSNAP_ENOMEM, "no memory to inflate gzip");
    *z = (z_stream){.zalloc = z_alloc, .zfree = z_free, .opaque = &s->mem};
    if (inflateInit2(z, 15 + 16) != Z_OK) {
        msnap_mem_release(s->mem, z, sizeof *z);
        return msnap_fail(err, MSNAP_ENOMEM, "no memory to inflate gzip");
    }
    s->inflater = z;
    s->is_gzip = true;
    return MSNAP_OK;
}

static enum msnap_status need_buffer(struct msnap_source *s, size_t size, struct msnap_error *err)
{
    if (size <= s->buffer_size)
        return MSNAP_OK;
    uint8_t *p = s->mem.resize(s->mem.ctx, s->buffer, s->buffer_size, size);
    if (!p)
        return msnap_fail_at(err, MSNAP_ENOMEM, MSNAP_BYTE, msnap_source_offset(s),
                             "no memory for a piece of %zu bytes", size);
    s->p = p + (s->p - s->start);
    s->end = p + (s->end - s->start);
    s->start = s->buffer = p;
    s->buffer_size = size;
    return MSNAP_OK;
}

static enum msnap_status read_fd(struct msnap_source *s, uint8_t *to, size_t n, size_t *got, struct msnap_error *err)
{
    for (;;) {
        ssize_t r = read(s->fd, to, n);
        if (r >= 0) {
            *got = (size_t)r;
            if (!s->map)
                s->size_bytes += (uint64_t)r;
            return MSNAP_OK;
        }
        if (errno != EINTR)
            return msnap_fail_at(err, MSNAP_EIO, MSNAP_BYTE, s->base + (uint64_t)(s->end - s->start),
                                 "cannot read: %s", strerror(errno));
    }
}

/* The next compressed bytes; *n is 0 at the end of the file. */
static enum msnap_status raw_bytes(struct msnap_source *s, const uint8_t **p, size_t *n, struct msnap_error *err)
{
    if (s->map) {
        *p = s->map + s->map_at;
        *n = s->map_size - s->map_at;
        return MSNAP_OK;
    }
    if (s->raw_at == s->raw_n) {
        s->raw_at = 0;
        enum msnap_status st = read_fd(s, s->raw, RAW, &s->raw_n, err);
        if (st != MSNAP_OK)
            return st;
    }
    *p = s->raw + s->raw_at;
    *n = s->raw_n - s->raw_at;
    return MSNAP_OK;
}

static enum msnap_status inflate_some(struct msnap_source *s, uint8_t *to, size_t room, size_t *got,
                                      struct msnap_error *err)
{
    z_stream *z = s->inflater;
    uint64_t at = s->base + (uint64_t)(s->end - s->start);
    *got = 0;
    while (*got == 0) {
        const uint8_t *in;
        size_t n;
        enum msnap_status st = raw_bytes(s, &in, &n, err);
        if (st != MSNAP_OK)
            return st;
        if (s->member_ended) {
            /* Another member may follow; zero padding may, too. */
            size_t zeros = 0;
            while (zeros < n && in[zeros] == 0)
                zeros++;
            if (zeros == n || in[zeros] != 0x1F) {
                if (n == 0 || zeros < n) { /* the end, or something that is not gzip: ignored */
                    s->more_after_gzip = n > 0;
                    return MSNAP_OK;
                }
                if (s->map)
                    s->map_at += n;
                else
                    s->raw_at += n;
                continue;
            }
            if (s->map)
                s->map_at += zeros;
            else
                s->raw_at += zeros;
            in += zeros;
            n -= zeros;
            inflateReset(z);
            s->member_ended = false;
        }
        if (n == 0)
            return msnap_fail_at(err, MSNAP_EFORMAT, MSNAP_BYTE, at,
                                 "the gzip data are cut short; the file ends after %llu compressed bytes. Was the "
                                 "copy or dump interrupted?",
                                 (unsigned long long)s->size_bytes);
        z->next_in = (Bytef *)(uintptr_t)in;
        z->avail_in = n > 1u << 30 ? 1u << 30 : (uInt)n;
        uInt before = z->avail_in;
        z->next_out = to;
        z->avail_out = room > 1u << 30 ? 1u << 30 : (uInt)room;
        uInt room_before = z->avail_out;
        int r = inflate(z, Z_NO_FLUSH);
        if (s->map)
            s->map_at += before - z->avail_in;
        else
            s->raw_at += before - z->avail_in;
        *got = room_before - z->avail_out;
        if (r == Z_STREAM_END)
            s->member_ended = true;
        else if (r == Z_MEM_ERROR)
            return msnap_fail_at(err, MSNAP_ENOMEM, MSNAP_BYTE, at, "no memory to inflate gzip");
        else if (r != Z_OK && !(r == Z_BUF_ERROR && *got))
            return msnap_fail_at(err, MSNAP_EFORMAT, MSNAP_BYTE, at + *got,
                                 "the gzip data are damaged (%s); check the file with gzip -t or copy it again",
                                 z->msg ? z->msg : "no progress");
    }
    return MSNAP_OK;
}

static enum msnap_status tell_progress(struct msnap_source *s, struct msnap_error *err)
{
    uint64_t done = msnap_source_offset(s);
    if (!s->progress || done < s->next_progress)
        return MSNAP_OK;
    s->next_progress = done + PROGRESS_STEP;
    uint64_t total = s->is_gzip ? 0 : s->map_size;
    if (s->is_gzip && s->map_size) { /* compressed bytes are what is known */
        done = s->map_at;
        total = s->map_size;
    }
    if (s->progress(s->progress_ctx, done, total) != 0)
        return msnap_fail(err, MSNAP_ECANCELLED, "stopped while reading");
    return MSNAP_OK;
}

static void raise_budget(struct msnap_source *s)
{
    if (!s->budget)
        return;
    uint64_t read = s->base + (uint64_t)(s->end - s->start);
    if (s->map && !s->is_gzip)
        read = s->map_size; /* the whole input is known from the start */
    uint64_t limit = read > (UINT64_MAX >> 4) ? UINT64_MAX : s->budget_base + 8 * read;
    s->budget->limit = s->budget_cap && limit > s->budget_cap ? s->budget_cap : limit;
}

static enum msnap_status more_of_map(struct msnap_source *s, size_t need, struct msnap_error *err)
{
    size_t at = (size_t)(s->p - s->map);
    if (s->map_is_ours && at - s->map_given_back >= WINDOW) {
        size_t upto = at / WINDOW * WINDOW;
        (void)madvise((void *)(uintptr_t)(s->map + s->map_given_back), upto - s->map_given_back, MADV_DONTNEED);
        s->map_given_back = upto;
    }
    size_t left = s->map_size - at, window = need > WINDOW ? need : WINDOW;
    s->base = at;
    s->start = s->p;
    s->end = s->p + (left < window ? left : window);
    s->at_end = left <= window;
    return tell_progress(s, err);
}

enum msnap_status msnap_source_more(struct msnap_source *s, size_t need, struct msnap_error *err)
{
    if ((size_t)(s->end - s->p) >= need || s->at_end)
        return MSNAP_OK;
    if (s->map && !s->is_gzip)
        return more_of_map(s, need, err);
    size_t kept = (size_t)(s->end - s->p);
    if (s->p != s->start && s->buffer) {
        s->base += (uint64_t)(s->p - s->start);
        memmove(s->buffer, s->p, kept);
        s->start = s->p = s->buffer;
        s->end = s->p + kept;
    }
    enum msnap_status st = need_buffer(s, BUFFER, err);
    while (st == MSNAP_OK && !s->at_end && (size_t)(s->end - s->p) < need) {
        size_t have = (size_t)(s->end - s->start);
        if (have == s->buffer_size) {
            size_t bigger = s->buffer_size * 2;
            if ((st = need_buffer(s, bigger, err)) != MSNAP_OK)
                break;
        }
        size_t got = 0, room = s->buffer_size - have;
        st = s->is_gzip ? inflate_some(s, s->buffer + have, room, &got, err)
                        : read_fd(s, s->buffer + have, room, &got, err);
        if (st != MSNAP_OK)
            break;
        if (got == 0)
            s->at_end = true;
        s->end += got;
        raise_budget(s);
    }
    return st == MSNAP_OK ? tell_progress(s, err) : st;
}

static enum msnap_status detect_gzip(struct msnap_source *s, struct msnap_error *err)
{
    if (s->map) {
        if (s->map_size >= 2 && s->map[0] == 0x1F && s->map[1] == 0x8B)
            return start_inflater(s, err);
        s->start = s->p = s->end = s->map;
        raise_budget(s);
        return MSNAP_OK;
    }
    enum msnap_status st = msnap_source_more(s, 2, err);
    if (st != MSNAP_OK || s->end - s->p < 2 || s->p[0] != 0x1F || s->p[1] != 0x8B)
        return st;
    /* What has been read is compressed: it becomes the raw side of the inflater. */
    size_t n = (size_t)(s->end - s->p);
    s->raw = s->buffer;
    s->raw_n = n;
    s->buffer = NULL;
    s->buffer_size = 0;
    s->start = s->p = s->end = NULL;
    s->at_end = false;
    return start_inflater(s, err);
}

static void set_up(struct msnap_source *s, struct msnap_mem mem)
{
    struct msnap_source keep = *s;
    *s = (struct msnap_source){.mem = mem, .fd = -1, .budget = keep.budget, .budget_base = keep.budget_base,
                               .budget_cap = keep.budget_cap, .progress = keep.progress,
                               .progress_ctx = keep.progress_ctx};
}

enum msnap_status msnap_source_memory(struct msnap_source *s, const void *bytes, size_t n, struct msnap_mem mem,
                                      struct msnap_error *err)
{
    set_up(s, mem);
    s->map = n ? bytes : (const uint8_t *)"";
    s->map_size = n;
    s->size_bytes = n;
    return detect_gzip(s, err);
}

enum msnap_status msnap_source_open(struct msnap_source *s, const char *path, struct msnap_mem mem,
                                    struct msnap_error *err)
{
    set_up(s, mem);
    if (strcmp(path, "-") == 0) {
        s->fd = 0;
    } else {
        s->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (s->fd < 0)
            return msnap_fail(err, MSNAP_EIO, "cannot open: %s", strerror(errno));
        s->own_fd = true;
    }
    struct stat st;
    if (fstat(s->fd, &st) != 0)
        return msnap_fail(err, MSNAP_EIO, "cannot read: %s", strerror(errno));
    if (S_ISDIR(st.st_mode))
        return msnap_fail(err, MSNAP_EIO, "is a directory; name a snapshot file in it");
    if (S_ISREG(st.st_mode) && st.st_size > 0 && (uint64_t)st.st_size < SIZE_MAX / 2 &&
        lseek(s->fd, 0, SEEK_CUR) == 0) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, s->fd, 0);
        if (p != MAP_FAILED) {
            (void)madvise(p, (size_t)st.st_size, MADV_SEQUENTIAL);
            s->map = p;
            s->map_size = (size_t)st.st_size;
            s->map_is_ours = true;
            s->size_bytes = (uint64_t)st.st_size;
        }
    }
    return detect_gzip(s, err);
}

void msnap_source_close(struct msnap_source *s)
{
    if (s->inflater) {
        inflateEnd(s->inflater);
        msnap_mem_release(s->mem, s->inflater, sizeof(z_stream));
    }
    if (s->map_is_ours)
        munmap((void *)(uintptr_t)s->map, s->map_size);
    msnap_mem_release(s->mem, s->buffer, s->buffer_size);
    msnap_mem_release(s->mem, s->raw, BUFFER);
    if (s->own_fd)
        close(s->fd);
    s->inflater = NULL;
    s->buffer = s->raw = NULL;
    s->map = NULL;
    s->map_is_ours = s->own_fd = false;
}
