/* place.c -- frames and stacks as people read them: short paths, whole lines, nothing unescaped. */
#include "place.h"

#include "text_buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool place_has_line(const struct msnap_snapshot *s, uint32_t frame)
{
    return s->frames.line[frame] > 0 && s->frames.line[frame] != MSNAP_LINE_U64_MAX;
}

/* The bytes of "file:line", of the whole path, for the escaping that the format needs. */
static void put_whole(struct text_buffer *t, const struct msnap_snapshot *s, uint32_t frame)
{
    const uint32_t file = s->frames.filename[frame];

    msnap_put(&t->sink, s->strings.bytes[file], s->strings.len[file]);
    if (place_has_line(s, frame))
        msnap_putf(&t->sink, ":%" PRId64, s->frames.line[frame]);
}

void place_put_json(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t frame)
{
    struct text_buffer t;

    if (!frame) {
        msnap_puts(out, "null");
        return;
    }
    text_buffer_init(&t);
    put_whole(&t, s, frame);
    if (text_buffer_finish(&t))
        msnap_put_json(out, t.bytes, t.n);
    else
        msnap_puts(out, "null");
    text_buffer_free(&t);
}

void place_put_csv(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t frame)
{
    struct text_buffer t;

    if (!frame)
        return;
    text_buffer_init(&t);
    put_whole(&t, s, frame);
    if (text_buffer_finish(&t))
        msnap_put_csv(out, t.bytes, t.n);
    text_buffer_free(&t);
}

/* The last two parts of a path: enough to know the file, short enough for a table. */
static const char *short_path(const char *path, size_t n, size_t *kept)
{
    size_t slashes = 0;

    for (size_t i = n; i-- > 0;)
        if ((path[i] == '/' || path[i] == '\\') && ++slashes == 2) {
            *kept = n - i - 1;
            return path + i + 1;
        }
    *kept = n;
    return path;
}

/* Columns are counted as UTF-8 characters. Returns where the first `columns` of them end. */
static size_t cut_at(const char *text, size_t n, size_t columns)
{
    size_t i = 0;

    while (i < n) {
        if (((unsigned char)text[i] & 0xC0) != 0x80 && columns-- == 0)
            break;
        i++;
    }
    return i;
}

static void put_cut(struct msnap_sink *out, struct text_buffer *t, size_t width)
{
    if (!text_buffer_finish(t)) {
        msnap_puts(out, "?");
        return;
    }
    const size_t end = cut_at(t->bytes, t->n, width);
    if (end == t->n) {
        msnap_put(out, t->bytes, t->n);
    } else {
        msnap_put(out, t->bytes, cut_at(t->bytes, t->n, width > 3 ? width - 3 : 0));
        msnap_puts(out, "...");
    }
}

static void put_short(struct text_buffer *t, const struct msnap_snapshot *s, uint32_t frame)
{
    const uint32_t file = s->frames.filename[frame], name = s->frames.name[frame];
    size_t n;
    const char *path = short_path(s->strings.bytes[file], s->strings.len[file], &n);
    const bool has_file = n && !(n == 2 && !memcmp(path, "??", 2)); /* ??: C++ without debug information */

    if (has_file) {
        msnap_put_terminal(&t->sink, path, n);
        if (place_has_line(s, frame))
            msnap_putf(&t->sink, ":%" PRId64, s->frames.line[frame]);
        msnap_puts(&t->sink, " ");
    }
    msnap_put_terminal(&t->sink, s->strings.bytes[name], s->strings.len[name]);
}

void place_put_frame(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t frame, size_t width)
{
    struct text_buffer t;

    text_buffer_init(&t);
    if (frame)
        put_short(&t, s, frame);
    else
        msnap_puts(&t.sink, "(no line of the user's own code)");
    put_cut(out, &t, width);
    text_buffer_free(&t);
}

static bool is_python(const struct msnap_snapshot *s, uint32_t frame)
{
    const uint32_t file = s->frames.filename[frame];
    const size_t n = s->strings.len[file];

    return n > 3 && !memcmp(s->strings.bytes[file] + n - 3, ".py", 3);
}

/* The innermost Python frame: below it there is only C++, which says "allocator" in many words. */
static uint32_t innermost_python(const struct msnap_snapshot *s, uint32_t stack)
{
    for (; stack > MSNAP_STACK_EMPTY; stack = s->stacks.parent[stack])
        if (is_python(s, s->stacks.frame[stack]))
            return s->stacks.frame[stack];
    return 0;
}

/* C++ alone: the operator that ran, "at::_ops::nll_loss_backward::redispatch", says more than the
 * allocator's own frames inside it. 0 if there is none. */
static uint32_t innermost_operator(const struct msnap_snapshot *s, uint32_t stack)
{
    static const char prefix[] = "at::_ops::";

    for (; stack > MSNAP_STACK_EMPTY; stack = s->stacks.parent[stack]) {
        const uint32_t name = s->frames.name[s->stacks.frame[stack]];
        if (s->strings.len[name] >= sizeof prefix &&
            !memcmp(s->strings.bytes[name], prefix, sizeof prefix - 1))
            return s->stacks.frame[stack];
    }
    return 0;
}

/* Without the parameter list. */
static void put_operator(struct text_buffer *t, const struct msnap_snapshot *s, uint32_t frame)
{
    const uint32_t name = s->frames.name[frame];
    const char *bytes = s->strings.bytes[name], *end = memchr(bytes, '(', s->strings.len[name]);

    msnap_put_terminal(&t->sink, bytes, end ? (size_t)(end - bytes) : s->strings.len[name]);
}

void place_put_stack(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t stack, size_t width)
{
    struct text_buffer t;

    text_buffer_init(&t);
    if (stack == MSNAP_STACK_NONE) {
        msnap_puts(&t.sink, "(no stack was recorded)");
    } else if (stack == MSNAP_STACK_EMPTY) {
        msnap_puts(&t.sink, "(no frames: not called from Python, as in backward)");
    } else {
        const uint32_t user = msnap_stack_user_frame(s, stack), inner = innermost_python(s, stack);
        const uint32_t operator= user || inner ? 0 : innermost_operator(s, stack);
        if (!user)
            msnap_puts(&t.sink, "(no user code) ");
        if (operator)
            put_operator(&t, s, operator);
        else
            put_short(&t, s, user ? user : inner ? inner : s->stacks.frame[stack]);
        if (user && inner && inner != user) { /* what the line called: tells stacks of one line apart */
            const uint32_t name = s->frames.name[inner];
            msnap_puts(&t.sink, " > ");
            msnap_put_terminal(&t.sink, s->strings.bytes[name], s->strings.len[name]);
        }
    }
    put_cut(out, &t, width);
    text_buffer_free(&t);
}
