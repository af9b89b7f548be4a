/* frames.c -- whose code a frame is. */
#include <memsnap/snapshot.h>

#include <string.h>

static bool contains(const char *text, size_t n, const char *part)
{
    size_t len = strlen(part);
    for (size_t i = 0; i + len <= n; i++)
        if (text[i] == part[0] && memcmp(text + i, part, len) == 0)
            return true;
    return false;
}

static bool ends_with(const char *text, size_t n, const char *end)
{
    size_t len = strlen(end);
    return n >= len && memcmp(text + n - len, end, len) == 0;
}

/* The standard library is installed as .../lib/python3.X/ (Windows: ...\Python3X\Lib\). */
static bool in_standard_library(const char *p, size_t n)
{
    static const char unix_dir[] = "/lib/python";
    for (size_t i = 0; i + sizeof unix_dir + 1 < n; i++)
        if (p[i] == '/' && memcmp(p + i, unix_dir, sizeof unix_dir - 1) == 0 && p[i + sizeof unix_dir - 1] >= '0' &&
            p[i + sizeof unix_dir - 1] <= '9')
            return true;
    return contains(p, n, "\\Lib\\") && contains(p, n, "\\Python");
}

bool msnap_frame_is_user(const struct msnap_snapshot *s, uint32_t frame)
{
    if (frame == 0 || frame >= s->frames.n)
        return false;
    uint32_t id = s->frames.filename[frame];
    const char *p = s->strings.bytes[id];
    size_t n = s->strings.len[id];
    if (n == 0 || p[0] == '<' || s->frames.line[frame] == 0) /* <string>, <frozen ...>; C++ frames have line 0 */
        return false;
    if (!(ends_with(p, n, ".py") || ends_with(p, n, ".ipy") || contains(p, n, "ipykernel_") || ends_with(p, n, ".pyx")))
        return memchr(p, '.', n) == NULL && p[0] != '?'; /* a script without ending */
    if (contains(p, n, "site-packages") || contains(p, n, "dist-packages") || contains(p, n, "torchinductor_") ||
        contains(p, n, "fx_generated_") || contains(p, n, "/torch/_") )
        return false;
    return !in_standard_library(p, n);
}

uint32_t msnap_stack_user_frame(const struct msnap_snapshot *s, uint32_t stack)
{
    while (stack > MSNAP_STACK_EMPTY && stack < s->stacks.n) {
        if (msnap_frame_is_user(s, s->stacks.frame[stack]))
            return s->stacks.frame[stack];
        stack = s->stacks.parent[stack];
    }
    return 0;
}
