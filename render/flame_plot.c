/* flame_plot.c -- allocated bytes at a moment by call stack: callers above, what they called below. */
#include <inttypes.h>
#include <string.h>

#include "flame.h"
#include "text_width.h"

#define MARGIN 24.0f
#define TOP 96.0f
#define BOTTOM 44.0f
#define ROW 19.0f
#define LOWEST_ROW 14.0f
#define NARROWEST 1.0 /* pixels; what is narrower is drawn together with its neighbours */
#define LOWEST 240.0f

enum { MAX_FUNCTIONS = 512, TITLE_FRAMES = 14 };

struct flame {
    struct msnap_canvas *c;
    const struct msnap_snapshot *s;
    struct msnap_flame_tree tree;
    uint64_t total;
    float left, width, row;
    size_t n_rows;
    bool is_cut; /* there are frames below the last row */
    /* User functions met so far: the n-th has the n-th colour. */
    uint32_t names[MAX_FUNCTIONS], files[MAX_FUNCTIONS];
    size_t n_functions;
    bool has[MSNAP_FLAME_BEFORE + 1], has_small, has_folded;
    size_t deepest; /* row drawn */
};

static float x_of(const struct flame *f, uint64_t bytes)
{
    return f->left + (float)((double)bytes / (double)f->total * (double)f->width);
}

static unsigned user_look(struct flame *f, uint32_t frame)
{
    const uint32_t name = f->s->frames.name[frame], file = f->s->frames.filename[frame];
    size_t i = 0;
    while (i < f->n_functions && (f->names[i] != name || f->files[i] != file))
        i++;
    if (i == f->n_functions && i < MAX_FUNCTIONS) {
        f->names[i] = name;
        f->files[i] = file;
        f->n_functions++;
    }
    return msnap_look_of_group(i);
}

static unsigned look_of(struct flame *f, const struct msnap_flame_node *node)
{
    switch ((enum msnap_flame_kind)node->kind) {
    case MSNAP_FLAME_USER:
        return user_look(f, f->s->stacks.frame[node->stack]);
    case MSNAP_FLAME_LIBRARY:
        return MSNAP_LOOK_FLAME_LIBRARY;
    case MSNAP_FLAME_NATIVE:
        return MSNAP_LOOK_FLAME_NATIVE;
    case MSNAP_FLAME_NO_STACK:
    case MSNAP_FLAME_EMPTY_STACK:
        return MSNAP_LOOK_FLAME_NONE;
    case MSNAP_FLAME_BEFORE:
        break;
    }
    return MSNAP_LOOK_FLAME_BEFORE;
}

static bool is_dark(unsigned look)
{
    const uint32_t fill = msnap_look(look)->fill;
    return 299 * (fill >> 16 & 0xFF) + 587 * (fill >> 8 & 0xFF) + 114 * (fill & 0xFF) < 1000 * 128;
}

/* What is told of a node: longer and shorter. */
static const char *name_of(struct flame *f, const struct msnap_flame_node *node, bool is_short)
{
    struct msnap_scene *scene = f->c->scene;
    switch ((enum msnap_flame_kind)node->kind) {
    case MSNAP_FLAME_NO_STACK:
        return is_short ? "(no stack)" : "(no stack recorded)";
    case MSNAP_FLAME_EMPTY_STACK:
        return is_short ? "(no frames)" : "(a stack without frames: often the backward thread)";
    case MSNAP_FLAME_BEFORE:
        return is_short ? "before" : "from before the recording";
    case MSNAP_FLAME_USER:
    case MSNAP_FLAME_LIBRARY:
    case MSNAP_FLAME_NATIVE:
        break;
    }
    const uint32_t frame = f->s->stacks.frame[node->stack], name = f->s->frames.name[frame];
    const char *bytes = name < f->s->strings.n && f->s->strings.bytes[name] ? f->s->strings.bytes[name] : "";
    if (is_short && msnap_frame_is_python(f->s, frame))
        return bytes;
    const char *label = msnap_frame_label(scene, f->s, frame, false);
    return node->n_frames > 1 && !is_short ? msnap_scene_format(scene, "%s (+%" PRIu32 ")", label, node->n_frames - 1) : label;
}

static const char *amount(struct flame *f, uint64_t bytes, uint64_t count)
{
    char size[24], exact[32], n[32];
    return msnap_scene_format(f->c->scene, "%s bytes (%s), %s of what is allocated, %s allocation%s", msnap_format_count(exact, bytes),
                              msnap_format_bytes(size, bytes), msnap_share_text(f->c->scene, bytes, f->total),
                              msnap_format_count(n, count), count == 1 ? "" : "s");
}

static const char *title_of(struct flame *f, const struct msnap_flame_node *node)
{
    struct msnap_scene *scene = f->c->scene;
    const char *numbers = amount(f, node->bytes, node->count);
    if (node->stack <= MSNAP_STACK_EMPTY)
        return msnap_scene_format(scene, "%s\n%s", name_of(f, node, false), numbers);
    const char *text = msnap_frame_label(scene, f->s, f->s->stacks.frame[node->stack], true);
    text = msnap_scene_format(scene, "%s\n%s", text, numbers);
    uint32_t at = f->s->stacks.parent[node->stack];
    for (uint32_t i = 1; i < node->n_frames && at > MSNAP_STACK_EMPTY; at = f->s->stacks.parent[at]) {
        if (msnap_flame_is_plumbing(f->s, f->s->stacks.frame[at]))
            continue;
        if (i > TITLE_FRAMES)
            return msnap_scene_format(scene, "%s\n\xE2\x80\xA6", text);
        text = msnap_scene_format(scene, "%s\n%s%s", text, i == 1 ? "called by " : "", msnap_frame_label(scene, f->s, f->s->stacks.frame[at], false));
        i++;
    }
    return text;
}

static void draw_text(struct flame *f, unsigned box_look, const char *full, const char *brief, float x, float y, float w)
{
    const unsigned look = is_dark(box_look) ? MSNAP_LOOK_FRAME_TEXT_LIGHT : MSNAP_LOOK_FRAME_TEXT;
    const float room = w - 8, font = msnap_look(look)->font_size;
    if (room < 24)
        return;
    const char *text = msnap_text_width(full, font, false) <= room ? full : brief;
    if (room < 48 && msnap_text_width(text, font, false) > room)
        return; /* an ellipsis and two letters say nothing */
    msnap_canvas_text(f->c, look, x + 4, y + f->row / 2 + 4, text, room, NULL);
}

static void draw_box(struct flame *f, unsigned look, uint64_t start, uint64_t bytes, size_t depth, const char *title)
{
    f->deepest = depth > f->deepest ? depth : f->deepest;
    const float x = x_of(f, start), w = x_of(f, start + bytes) - x, y = TOP + (float)depth * f->row;
    msnap_scene_rect(f->c->scene, look, x, y, w, f->row, title);
    if (w >= 3) /* a hairline on the left and on top */
        msnap_scene_segment(f->c->scene, MSNAP_LOOK_FLAME_EDGE, x, y, x, y + f->row, NULL);
    msnap_scene_segment(f->c->scene, MSNAP_LOOK_FLAME_EDGE, x, y, x + w, y, NULL);
}

/* The children of a drawn node; those below a pixel, which are the last, together. */
static void draw_children(struct flame *f, const struct msnap_flame_node *node, uint8_t *is_drawn)
{
    const struct msnap_flame_node *nodes = f->tree.nodes;
    const uint64_t least = (uint64_t)(NARROWEST * (double)f->total / (double)f->width);
    const size_t depth = node->depth + 1;
    if (depth >= f->n_rows) {
        f->is_cut = f->is_cut || node->first_child;
        return;
    }
    uint32_t child = node->first_child;
    for (; child && nodes[child].bytes > least; child = nodes[child].next) {
        const unsigned look = look_of(f, &nodes[child]);
        const float x = x_of(f, nodes[child].start), w = x_of(f, nodes[child].start + nodes[child].bytes) - x;
        is_drawn[child] = 1;
        f->has[nodes[child].kind] = true;
        f->has_folded = f->has_folded || nodes[child].n_frames > 1;
        draw_box(f, look, nodes[child].start, nodes[child].bytes, depth, title_of(f, &nodes[child]));
        draw_text(f, look, name_of(f, &nodes[child], false), name_of(f, &nodes[child], true), x, TOP + (float)depth * f->row, w);
    }
    uint64_t bytes = 0, count = 0, n = 0, start = child ? nodes[child].start : 0;
    for (; child; child = nodes[child].next, n++) {
        bytes += nodes[child].bytes;
        count += nodes[child].count;
    }
    if (!n)
        return;
    f->has_small = true;
    draw_box(f, MSNAP_LOOK_FLAME_SMALL, start, bytes, depth,
             msnap_scene_format(f->c->scene, "%" PRIu64 " frame%s too narrow to be drawn\n%s", n, n == 1 ? "" : "s", amount(f, bytes, count)));
}

static void draw_axis(struct flame *f, float y)
{
    struct msnap_scene *s = f->c->scene;
    struct msnap_ticks ticks;
    const float base = (float)(int)y + 0.5f, font = msnap_look(MSNAP_LOOK_TICK)->font_size, end = f->left + f->width;
    msnap_ticks_bytes((double)f->total, (size_t)(f->width / 110) + 1, &ticks);
    msnap_scene_segment(s, MSNAP_LOOK_AXIS, f->left, base, end, base, NULL);
    float used = 0;
    for (size_t i = 0; i < ticks.n; i++) {
        const float x = x_of(f, (uint64_t)ticks.tick[i].value), w = msnap_text_width(ticks.tick[i].label, font, false);
        const float left = i == 0 ? x : x + w / 2 > end ? end - w : x - w / 2;
        msnap_scene_segment(s, MSNAP_LOOK_AXIS, x, base, x, base + 4, NULL);
        if (left < used)
            continue;
        used = left + w + 8;
        msnap_scene_text(s, MSNAP_LOOK_TICK, MSNAP_ANCHOR_START, left, base + 17, ticks.tick[i].label, NULL);
    }
    msnap_canvas_text(f->c, MSNAP_LOOK_NOTE, f->left, base + 33,
                      f->is_cut ? "allocated bytes; frames below the last row are not drawn: a higher picture shows them (--height)"
                : f->has_folded ? "allocated bytes; (+2): with two more frames of libraries that branch nowhere"
                                : "allocated bytes",
                      f->width, NULL);
}

/* One line above the flames: what the colours mean. */
static void draw_key(struct flame *f)
{
    const struct {
        bool shown;
        unsigned look;
        const char *text;
    } keys[] = {{f->has[MSNAP_FLAME_USER], MSNAP_LOOK_GROUP, "your code, a colour for each function"},
                {f->has[MSNAP_FLAME_LIBRARY], MSNAP_LOOK_FLAME_LIBRARY, "Python libraries"},
                {f->has[MSNAP_FLAME_NATIVE], MSNAP_LOOK_FLAME_NATIVE, "C++"},
                {f->has[MSNAP_FLAME_NO_STACK] || f->has[MSNAP_FLAME_EMPTY_STACK], MSNAP_LOOK_FLAME_NONE, "no frames"},
                {f->has[MSNAP_FLAME_BEFORE], MSNAP_LOOK_FLAME_BEFORE, "before the recording"},
                {f->has_small, MSNAP_LOOK_FLAME_SMALL, "too narrow, together"}};
    float x = f->left;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const float w = msnap_text_width(keys[i].text, msnap_look(MSNAP_LOOK_NOTE)->font_size, false);
        const size_t n = keys[i].look == MSNAP_LOOK_GROUP ? (f->n_functions < 3 ? f->n_functions : 3) : 1;
        if (!keys[i].shown || x + 12 * (float)n + 6 + w > f->left + f->width)
            continue;
        for (size_t k = 0; k < n; k++, x += 12)
            msnap_scene_rect(f->c->scene, keys[i].look + (unsigned)k, x, 72, 11, 11, NULL);
        msnap_scene_text(f->c->scene, MSNAP_LOOK_NOTE, MSNAP_ANCHOR_START, x + 4, 82, keys[i].text, NULL);
        x += w + 20;
    }
}

static enum msnap_status finding(struct flame *f, const struct msnap_plot_moment *m, const char **out, struct msnap_error *err)
{
    struct msnap_scene *s = f->c->scene;
    struct msnap_rank lines;
    char size[24];
    const char *when = msnap_moment_text(s, f->c->h, m, false);
    const enum msnap_status status = msnap_rank_build(f->c->h, m->event, MSNAP_BY_LINE, s->arena, &lines, err);
    if (status != MSNAP_OK)
        return status;
    *out = msnap_scene_format(s, f->total ? "%s allocated %s" : "Nothing is allocated %s%s",
                              f->total ? msnap_format_bytes(size, f->total) : when, f->total ? when : "");
    for (size_t i = 0; i < lines.n && i < 2; i++) /* the largest line of the user's, unless others are far larger */
        if (lines.rows[i].key) {
            *out = msnap_scene_format(s, "%s; %s of it by %s", *out, msnap_share_text(s, lines.rows[i].bytes, f->total),
                                      msnap_group_label(s, f->c->h, MSNAP_BY_LINE, &lines.rows[i]));
            break;
        }
    return MSNAP_OK;
}

/* As many rows as there are visible levels, where they fit; lower rows before cutting any off. */
static void choose_rows(struct flame *f)
{
    const float most = f->c->plot->fit ? 2 * f->c->plot->height : f->c->plot->height;
    const float room = most - TOP - BOTTOM;
    const size_t levels = 1 + (f->total ? msnap_flame_depth(&f->tree, (uint64_t)(NARROWEST * (double)f->total / (double)f->width) + 1) : 0);
    f->row = room / (float)levels;
    f->row = f->row > ROW ? ROW : f->row < LOWEST_ROW ? LOWEST_ROW : f->row;
    f->n_rows = (size_t)(room / f->row + 0.01f);
    if (f->n_rows > levels)
        f->n_rows = levels + 1; /* one more for what is too narrow */
}

enum msnap_status msnap_draw_flame(struct msnap_canvas *c, struct msnap_error *err)
{
    const struct msnap_plot_moment *m = &c->plot->moments[0];
    struct flame *f = msnap_arena_alloc(c->scene->arena, 1, sizeof *f);
    const char *title, *head;
    if (!f)
        return msnap_render_fail(err, MSNAP_ENOMEM, "no memory for the picture");
    f->c = c;
    f->s = c->h->snapshot;
    f->left = MARGIN;
    f->width = c->plot->width - 2 * MARGIN;
    enum msnap_status status = msnap_flame_build(c->h, m->event, c->scene->arena, &f->tree, err);
    if (status != MSNAP_OK)
        return status;
    f->total = f->tree.nodes[0].bytes;
    status = finding(f, m, &title, err);
    uint8_t *is_drawn = msnap_arena_alloc(c->scene->arena, f->tree.n, 1);
    if (status != MSNAP_OK || !is_drawn)
        return status != MSNAP_OK ? status : msnap_render_fail(err, MSNAP_ENOMEM, "no memory for the picture");
    choose_rows(f);
    msnap_canvas_whole_window(c);
    msnap_scene_rect(c->scene, MSNAP_LOOK_PAPER, 0, 0, c->scene->width, c->scene->height, NULL);
    msnap_canvas_titles(c, title);
    if (!f->total && c->plot->fit)
        msnap_canvas_set_height(c, LOWEST);
    if (!f->total)
        return MSNAP_OK;
    head = msnap_scene_format(c->scene, "all that is allocated %s", msnap_moment_text(c->scene, c->h, m, true));
    draw_box(f, MSNAP_LOOK_FLAME_ROOT, 0, f->total, 0, amount(f, f->total, f->tree.nodes[0].count));
    draw_text(f, MSNAP_LOOK_FLAME_ROOT, head, "all", f->left, TOP, f->width);
    is_drawn[0] = 1;
    for (size_t i = 0; i < f->tree.n; i++)
        if (is_drawn[i])
            draw_children(f, &f->tree.nodes[i], is_drawn);
    draw_key(f);
    const float bottom = TOP + (float)(f->deepest + 1) * f->row + 3;
    draw_axis(f, bottom);
    if (c->plot->fit)
        msnap_canvas_set_height(c, bottom + BOTTOM > LOWEST ? bottom + BOTTOM : LOWEST);
    return MSNAP_OK;
}
