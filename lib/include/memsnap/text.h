/* text.h -- output: a buffered sink, escaping, and sizes as people read them. */
#ifndef MEMSNAP_TEXT_H
#define MEMSNAP_TEXT_H

#include <memsnap/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Buffered output. `write` gets each full buffer and returns 0, or nonzero to stop: the sink
 * then drops everything that follows and `failed` stays set. Bytes need not be text. */
struct msnap_sink {
    int (*write)(void *ctx, const char *bytes, size_t n);
    void *ctx;
    size_t used;
    bool failed;
    char buffer[16384];
};
MSNAP_API void msnap_sink_init(struct msnap_sink *s, int (*write)(void *, const char *, size_t), void *ctx);
MSNAP_API bool msnap_sink_flush(struct msnap_sink *s); /* false if any write failed */
MSNAP_API void msnap_put(struct msnap_sink *s, const char *bytes, size_t n);
MSNAP_API void msnap_puts(struct msnap_sink *s, const char *text);
MSNAP_API void msnap_putf(struct msnap_sink *s, const char *format, ...) MSNAP_PRINTF(2, 3);
MSNAP_API void msnap_put_u64(struct msnap_sink *s, uint64_t value);
MSNAP_API void msnap_put_i64(struct msnap_sink *s, int64_t value);

/* Escapes bytes that came from a file for where they go. Invalid UTF-8 becomes U+FFFD.
 * json: with the quotes. csv: quoted where needed, and a leading =, +, -, @ is defused with
 * an apostrophe. terminal: control characters as \xNN, so that no file drives a terminal. */
MSNAP_API void msnap_put_json(struct msnap_sink *s, const char *bytes, size_t n);
MSNAP_API void msnap_put_xml(struct msnap_sink *s, const char *bytes, size_t n);
MSNAP_API void msnap_put_csv(struct msnap_sink *s, const char *bytes, size_t n);
MSNAP_API void msnap_put_terminal(struct msnap_sink *s, const char *bytes, size_t n);

/* "0 B", "512 B", "1.5 KiB", "22.96 GiB": 1024-based, four digits at most. */
MSNAP_API const char *msnap_format_bytes(char out[24], uint64_t bytes);
/* "850 us", "12.3 ms", "4.56 s", "12 min 3 s". */
MSNAP_API const char *msnap_format_duration(char out[32], uint64_t us);
/* "12", "1.5KiB", "80 GiB", "3m" (B, KiB, MiB, GiB, TiB; K, M, G, T and KB, MB, GB mean the
 * same, 1024-based, in any case). False if `text` is not a size or exceeds 64 bits. */
MSNAP_API bool msnap_parse_size(const char *text, uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
