/* check.h -- what unit tests share: a fixture whose allocator counts and can be told to fail. */
#ifndef MEMSNAP_TESTS_CHECK_H
#define MEMSNAP_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <memsnap/base.h>

/* Grants `left` allocations and refuses from then on; shrinking and freeing always work. */
struct counting {
    size_t held;    /* bytes */
    size_t left;
    size_t refused;
};

static inline void *counting_resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    struct counting *c = ctx;

    assert_true(p ? c->held >= old_size : old_size == 0);
    if (new_size == 0) {
        c->held -= old_size;
        free(p);
        return NULL;
    }
    if (new_size > old_size) {
        if (c->left == 0) {
            c->refused++;
            return NULL;
        }
        c->left--;
    }
    /* Always to a new place, so that a pointer kept across a resize is found by the sanitizer. */
    void *q = malloc(new_size);
    assert_non_null(q);
    memset(q, 0xA5, new_size); /* nobody may count on fresh memory being zero */
    if (p)
        memcpy(q, p, old_size < new_size ? old_size : new_size);
    free(p);
    c->held += new_size - old_size;
    return q;
}

struct fixture {
    struct counting mem;
    struct msnap_arena *arena;
    struct msnap_error err;
};

static inline struct msnap_mem counting_mem(struct counting *c)
{
    return (struct msnap_mem){counting_resize, c};
}

static inline int up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->mem.left = SIZE_MAX;
    f->arena = msnap_arena_new(counting_mem(&f->mem));
    assert_non_null(f->arena);
    *state = f;
    return 0;
}

static inline int down(void **state)
{
    struct fixture *f = *state;
    msnap_arena_free(f->arena);
    const size_t held = f->mem.held;
    free(f);
    if (held) {
        fprintf(stderr, "%zu bytes are still held\n", held);
        return -1;
    }
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)

/* A whole file; the caller frees it. */
static inline unsigned char *file_bytes(const char *name, size_t *n)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", TESTDATA, name);
    FILE *in = fopen(path, "rb");
    if (!in)
        fail_msg("cannot open %s", path);
    assert_int_equal(fseek(in, 0, SEEK_END), 0);
    const long size = ftell(in);
    assert_true(size >= 0);
    rewind(in);
    unsigned char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, in), (size_t)size);
    fclose(in);
    *n = (size_t)size;
    return bytes;
}

#endif
