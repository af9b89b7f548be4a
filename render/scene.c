/* scene.c -- a list of plain shapes: building it, measuring it, dumping it as text. */
#include "scene.h"

#include <stdio.h>
#include <string.h>

#include "text_width.h"

struct msnap_scene msnap_scene_make(float width, float height, struct msnap_arena *arena)
{
    return (struct msnap_scene){.width = width, .height = height, .arena = arena};
}

static struct msnap_item *add(struct msnap_scene *s, enum msnap_shape shape, unsigned look)
{
    if (s->n == s->capacity && !s->failed) {
        /* The old list stays in the arena: all of them together are smaller than the last. */
        const size_t capacity = s->capacity ? 2 * s->capacity : 256;
        struct msnap_item *items = msnap_arena_alloc(s->arena, capacity, sizeof *items);
        if (items) {
            if (s->n)
                memcpy(items, s->items, s->n * sizeof *items);
            s->items = items;
            s->capacity = capacity;
        } else {
            s->failed = true;
        }
    }
    if (s->failed)
        return NULL;
    struct msnap_item *item = &s->items[s->n++];
    *item = (struct msnap_item){.shape = (uint8_t)shape, .look = (uint8_t)look};
    return item;
}

void msnap_scene_rect(struct msnap_scene *s, unsigned look, float x, float y, float w, float h,
                      const char *title)
{
    struct msnap_item *item = add(s, MSNAP_SHAPE_RECT, look);
    if (!item)
        return;
    item->x = x;
    item->y = y;
    item->w = w;
    item->h = h;
    item->title = title;
}

void msnap_scene_segment(struct msnap_scene *s, unsigned look, float x1, float y1, float x2, float y2,
                         const char *title)
{
    struct msnap_point *points = msnap_arena_alloc(s->arena, 2, sizeof *points);
    if (!points) {
        s->failed = true;
        return;
    }
    points[0] = (struct msnap_point){x1, y1};
    points[1] = (struct msnap_point){x2, y2};
    msnap_scene_line(s, look, points, 2, title);
}

void msnap_scene_circle(struct msnap_scene *s, unsigned look, float x, float y, float radius)
{
    struct msnap_item *item = add(s, MSNAP_SHAPE_CIRCLE, look);
    if (!item)
        return;
    item->x = x;
    item->y = y;
    item->w = radius;
}

static void add_points(struct msnap_scene *s, enum msnap_shape shape, unsigned look,
                       const struct msnap_point *points, size_t n, const char *title)
{
    struct msnap_item *item = add(s, shape, look);
    if (!item)
        return;
    item->points = points;
    item->n_points = n;
    item->title = title;
}

void msnap_scene_line(struct msnap_scene *s, unsigned look, const struct msnap_point *points, size_t n,
                      const char *title)
{
    add_points(s, MSNAP_SHAPE_LINE, look, points, n, title);
}

void msnap_scene_polygon(struct msnap_scene *s, unsigned look, const struct msnap_point *points, size_t n,
                         const char *title)
{
    add_points(s, MSNAP_SHAPE_POLYGON, look, points, n, title);
}

/* How many bytes the UTF-8 character at `p` has; 0 where it is none. Ends at the NUL by itself: a
 * NUL continues no character. */
static size_t utf8_bytes(const unsigned char *p)
{
    const size_t n = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
        (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return n;
}

/* Names come from files and may be any bytes: what is no UTF-8 becomes U+FFFD, control characters
 * become spaces. `out` has room for three bytes for each of `text`. */
static void copy_clean(const char *text, char *out)
{
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        const size_t n = utf8_bytes(p);
        if (n == 0) {
            memcpy(out, "\xEF\xBF\xBD", 3);
            out += 3;
            p++;
        } else if (n == 1 && (*p < 0x20 || *p == 0x7F)) {
            *out++ = ' ';
            p++;
        } else {
            memcpy(out, p, n);
            out += n;
            p += n;
        }
    }
    *out = '\0';
}

void msnap_scene_text(struct msnap_scene *s, unsigned look, enum msnap_anchor anchor, float x, float y,
                      const char *text, const char *title)
{
    char *copy = msnap_arena_alloc(s->arena, strlen(text) + 1, 3);
    struct msnap_item *item = copy ? add(s, MSNAP_SHAPE_TEXT, look) : NULL;
    if (!item) {
        s->failed = true;
        return;
    }
    copy_clean(text, copy);
    const struct msnap_look *l = msnap_look(look);
    item->anchor = (uint8_t)anchor;
    item->x = x;
    item->y = y;
    item->w = msnap_text_width(copy, l->font_size, l->bold);
    item->text = copy;
    item->title = title;
}

const char *msnap_scene_format(struct msnap_scene *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : msnap_arena_alloc(s->arena, (size_t)n + 1, 1);
    if (!text) {
        s->failed = true;
        return "";
    }
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

struct msnap_box msnap_item_box(const struct msnap_item *item)
{
    switch ((enum msnap_shape)item->shape) {
    case MSNAP_SHAPE_RECT:
        return (struct msnap_box){item->x, item->y, item->x + item->w, item->y + item->h};
    case MSNAP_SHAPE_CIRCLE:
        return (struct msnap_box){item->x - item->w, item->y - item->w, item->x + item->w, item->y + item->w};
    case MSNAP_SHAPE_TEXT: {
        /* Ascenders reach some 0.76 of the font size above the baseline, descenders 0.22 below. */
        const float size = msnap_look(item->look)->font_size;
        const float left = item->anchor == MSNAP_ANCHOR_START    ? item->x
                           : item->anchor == MSNAP_ANCHOR_MIDDLE ? item->x - item->w / 2
                                                                 : item->x - item->w;
        return (struct msnap_box){left, item->y - 0.76f * size, left + item->w, item->y + 0.22f * size};
    }
    case MSNAP_SHAPE_LINE:
    case MSNAP_SHAPE_POLYGON:
        break;
    }
    if (item->n_points == 0)
        return (struct msnap_box){0, 0, 0, 0};
    struct msnap_box box = {item->points[0].x, item->points[0].y, item->points[0].x, item->points[0].y};
    for (size_t i = 1; i < item->n_points; i++) {
        const struct msnap_point p = item->points[i];
        box.left = p.x < box.left ? p.x : box.left;
        box.right = p.x > box.right ? p.x : box.right;
        box.top = p.y < box.top ? p.y : box.top;
        box.bottom = p.y > box.bottom ? p.y : box.bottom;
    }
    return box;
}

void msnap_scene_dump(const struct msnap_scene *s, struct msnap_sink *sink)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    msnap_putf(sink, "scene %.0f x %.0f\n", (double)s->width, (double)s->height);
    for (size_t i = 0; i < s->n; i++) {
        const struct msnap_item *item = &s->items[i];
        const char *look = msnap_look(item->look)->name;
        switch ((enum msnap_shape)item->shape) {
        case MSNAP_SHAPE_RECT:
            msnap_putf(sink, "rect %s %.1f %.1f %.1f %.1f", look, (double)item->x, (double)item->y,
                       (double)item->w, (double)item->h);
            break;
        case MSNAP_SHAPE_CIRCLE:
            msnap_putf(sink, "circle %s %.1f %.1f %.1f", look, (double)item->x, (double)item->y,
                       (double)item->w);
            break;
        case MSNAP_SHAPE_TEXT:
            msnap_putf(sink, "text %s %s %.1f %.1f ", look, anchors[item->anchor], (double)item->x,
                       (double)item->y);
            msnap_put_json(sink, item->text, strlen(item->text));
            break;
        case MSNAP_SHAPE_LINE:
        case MSNAP_SHAPE_POLYGON:
            msnap_putf(sink, "%s %s", item->shape == MSNAP_SHAPE_LINE ? "line" : "polygon", look);
            for (size_t p = 0; p < item->n_points; p++)
                msnap_putf(sink, " %.1f,%.1f", (double)item->points[p].x, (double)item->points[p].y);
            break;
        }
        if (item->title) {
            msnap_puts(sink, " title ");
            msnap_put_json(sink, item->title, strlen(item->title));
        }
        msnap_puts(sink, "\n");
    }
}

enum msnap_status msnap_render_fail(struct msnap_error *err, enum msnap_status status, const char *format, ...)
{
    if (err) {
        va_list args;
        *err = (struct msnap_error){.status = status};
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}
