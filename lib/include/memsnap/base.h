/* base.h -- status codes, errors, memory and arenas.
 *
 * Everything in the library that can fail returns a status and, where the caller
 * gave one, fills in an error. Nothing prints, exits or reads the environment.
 */
#ifndef MEMSNAP_BASE_H
#define MEMSNAP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MSNAP_API __attribute__((visibility("default")))
#define MSNAP_CHECKED __attribute__((warn_unused_result))
#define MSNAP_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define MSNAP_API
#define MSNAP_CHECKED
#define MSNAP_PRINTF(f, a)
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum msnap_status {
    MSNAP_OK,
    MSNAP_ENOMEM,     /* the allocator said no */
    MSNAP_EIO,        /* the file cannot be opened, read or written */
    MSNAP_EFORMAT,    /* the bytes are not what they should be: cut, damaged, another kind of file */
    MSNAP_EREFUSED,   /* the bytes are well formed and ask for something that is never done */
    MSNAP_EDATA,      /* well formed, but the facts contradict each other beyond repair */
    MSNAP_ELIMIT,     /* more memory, depth or rows than the limit that holds for this input */
    MSNAP_EDEVICE,    /* no driver, no device, or the device said no */
    MSNAP_ECANCELLED, /* a progress callback asked to stop */
    MSNAP_EUSAGE      /* an argument outside its documented range */
};

/* What `at` counts in an error. */
enum msnap_unit { MSNAP_NOWHERE, MSNAP_BYTE, MSNAP_EVENT };

/* `text` is one sentence without file name and place, and ends with the next step where
 * one is known. Filled in only when a function fails. */
struct msnap_error {
    enum msnap_status status;
    enum msnap_unit unit;
    uint64_t at;
    char text[320];
};

/* An allocator. `resize` works like realloc, with the old size given (0 and NULL for a new
 * piece); a new size of 0 frees and returns NULL. It returns NULL where it cannot serve. */
struct msnap_mem {
    void *(*resize)(void *ctx, void *p, size_t old_size, size_t new_size);
    void *ctx;
};

/* The C library's allocator; large pieces are mapped on their own, so that growing them
 * copies nothing. */
MSNAP_API struct msnap_mem msnap_mem_default(void);

/* An arena: many pieces, freed together. All results of an analysis live in the arena that
 * its caller passed. Not for use by two threads at once. */
struct msnap_arena;
MSNAP_API MSNAP_CHECKED struct msnap_arena *msnap_arena_new(struct msnap_mem mem);
MSNAP_API void msnap_arena_free(struct msnap_arena *arena); /* NULL is fine */
/* Zeroed memory, aligned for any type; NULL when there is none. */
MSNAP_API MSNAP_CHECKED void *msnap_arena_alloc(struct msnap_arena *arena, size_t n, size_t size);

MSNAP_API const char *msnap_version(void);

#ifdef __cplusplus
}
#endif
#endif
