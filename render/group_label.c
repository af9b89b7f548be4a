/* group_label.c -- a short name, and a long one, for a group of allocations. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <memsnap/classify.h>
#include <memsnap/steps.h>

#include "plot.h"

enum { TITLE_FRAMES = 14 };

static const char *string_of(const struct msnap_snapshot *s, uint32_t id)
{
    return id < s->strings.n && s->strings.bytes[id] ? s->strings.bytes[id] : "";
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *backslash = strrchr(path, '\\');
    const char *last = !slash || (backslash && backslash > slash) ? backslash : slash;
    return last && last[1] ? last + 1 : path;
}

static bool line_is_known(int64_t line) { return line > 0 && line != MSNAP_LINE_U64_MAX; }

bool msnap_frame_is_python(const struct msnap_snapshot *s, uint32_t frame)
{
    const char *file = string_of(s, s->frames.filename[frame]);
    const size_t n = strlen(file);
    return n > 3 && strcmp(file + n - 3, ".py") == 0;
}

/* Without "(anonymous namespace)::" and the list of parameters: "at::native::conv2d". */
static const char *short_name(struct msnap_scene *scene, const char *name)
{
    static const char nameless[] = "(anonymous namespace)::";
    const size_t n_nameless = sizeof nameless - 1;
    char *out = msnap_arena_alloc(scene->arena, strlen(name) + 1, 1);
    if (!out) {
        scene->failed = true;
        return "";
    }
    size_t n = 0;
    for (const char *p = name; *p;) {
        if (strncmp(p, nameless, n_nameless) == 0)
            p += n_nameless;
        else if (*p == '(' && n)
            break;
        else
            out[n++] = *p++;
    }
    return n ? out : name;
}

/* "model.py:42 forward"; C++ frames have no file: "at::native::conv2d". */
const char *msnap_frame_label(struct msnap_scene *scene, const struct msnap_snapshot *s, uint32_t frame, bool in_full)
{
    const char *name = string_of(s, s->frames.name[frame]);
    const char *file = string_of(s, s->frames.filename[frame]);
    const int64_t line = s->frames.line[frame];
    if (!in_full) {
        file = base_name(file);
        name = short_name(scene, name);
    }
    if (file[0] == '\0' || strcmp(file, "??") == 0 || (!in_full && !line_is_known(line) && !msnap_frame_is_python(s, frame)))
        return msnap_scene_format(scene, "%s", name);
    if (!line_is_known(line))
        return msnap_scene_format(scene, "%s %s", file, name);
    return msnap_scene_format(scene, "%s:%" PRId64 " %s", file, line, name);
}

/* The frame that says most about a stack without user code: the innermost Python frame; in pure C++
 * the autograd node, else the innermost that is not about getting memory. */
static uint32_t telling_frame(const struct msnap_snapshot *s, uint32_t stack)
{
    static const char *const plumbing[] = {"lloc", "empty", "CUDACaching", "gather_traceback", "StorageImpl"};
    uint32_t fallback = 0;
    for (uint32_t at = stack; at > MSNAP_STACK_EMPTY; at = s->stacks.parent[at])
        if (msnap_frame_is_python(s, s->stacks.frame[at]))
            return s->stacks.frame[at];
    for (uint32_t at = stack; at > MSNAP_STACK_EMPTY; at = s->stacks.parent[at]) {
        const uint32_t frame = s->stacks.frame[at];
        const char *name = string_of(s, s->frames.name[frame]);
        if (strstr(name, "Backward") || strstr(name, "AccumulateGrad"))
            return frame;
        bool is_plumbing = name[0] == '\0' || name[0] == '?';
        for (size_t i = 0; i < sizeof plumbing / sizeof plumbing[0]; i++)
            is_plumbing = is_plumbing || strstr(name, plumbing[i]);
        if (!fallback && !is_plumbing)
            fallback = frame;
    }
    return fallback ? fallback : s->stacks.frame[stack];
}

static const char *stack_label(struct msnap_scene *scene, const struct msnap_snapshot *s, uint32_t stack)
{
    if (stack == MSNAP_STACK_NONE)
        return "no stack recorded";
    if (stack == MSNAP_STACK_EMPTY)
        return "empty stack";
    const uint32_t user = msnap_stack_user_frame(s, stack);
    return msnap_scene_format(scene, "%s #%" PRIu32,
                              msnap_frame_label(scene, s, user ? user : telling_frame(s, stack), false), stack);
}

const char *msnap_group_label(struct msnap_scene *scene, const struct msnap_history *h, enum msnap_group_by by,
                              const struct msnap_rank_row *row)
{
    const struct msnap_snapshot *s = h->snapshot;
    switch (by) {
    case MSNAP_BY_STACK:
        return stack_label(scene, s, row->key);
    case MSNAP_BY_LINE:
        return row->key ? msnap_frame_label(scene, s, row->key, false) : "no user code in the stack";
    case MSNAP_BY_STREAM:
        if (row->key == 0)
            return "stream not recorded";
        if (s->streams.raw[row->key] == 0)
            return "default stream";
        return msnap_scene_format(scene, "stream 0x%" PRIx64, (uint64_t)s->streams.raw[row->key]);
    case MSNAP_BY_POOL:
        if (row->key == 0)
            return "pool not recorded";
        if (row->key == 1)
            return "default pool";
        return msnap_scene_format(scene, "private pool (%" PRId64 ", %" PRId64 ")", s->pools.first[row->key],
                                  s->pools.second[row->key]);
    case MSNAP_BY_CATEGORY:
        return msnap_scene_format(scene, "%s", h->classes->names[row->key]);
    case MSNAP_BY_STEP:
        return row->key >= MSNAP_STEP_KEY           ? msnap_scene_format(scene, "step %" PRIu64, h->steps->steps[row->key - MSNAP_STEP_KEY].number)
               : row->key == MSNAP_STEP_OUTSIDE ? "outside the steps"
                                                : "before the steps";
    case MSNAP_N_GROUP_BY:
        break;
    }
    return "";
}

const char *msnap_group_title(struct msnap_scene *scene, const struct msnap_history *h, enum msnap_group_by by,
                              const struct msnap_rank_row *row, uint64_t bytes)
{
    const struct msnap_snapshot *s = h->snapshot;
    char size[24];
    const char *text = by == MSNAP_BY_LINE && row->key ? msnap_frame_label(scene, s, row->key, true)
                                                       : msnap_group_label(scene, h, by, row);
    if (bytes == 0)
        text = msnap_scene_format(scene, "%s\nnothing at the peak", text);
    else if (bytes != UINT64_MAX)
        text = msnap_scene_format(scene, "%s\n%s at the peak, %" PRIu64 " allocation%s", text,
                                  msnap_format_bytes(size, bytes), row->count, row->count == 1 ? "" : "s");
    if (row->stack <= MSNAP_STACK_EMPTY || by == MSNAP_BY_STREAM || by == MSNAP_BY_POOL || by == MSNAP_BY_CATEGORY || by == MSNAP_BY_STEP)
        return text;
    text = msnap_scene_format(scene, "%s\n%s", text, by == MSNAP_BY_STACK ? "stack:" : "stack of the largest:");
    size_t n = 0;
    for (uint32_t at = row->stack; at > MSNAP_STACK_EMPTY; at = s->stacks.parent[at]) {
        if (n++ == TITLE_FRAMES)
            return msnap_scene_format(scene, "%s\n\xE2\x80\xA6", text);
        text = msnap_scene_format(scene, "%s\n%s", text, msnap_frame_label(scene, s, s->stacks.frame[at], false));
    }
    return text;
}
