/* write_svg.c -- a scene as SVG: real text, hover titles, short paths. */
#include <string.h>

#include "scene.h"

/* Coordinates have one decimal; "12.0" is written "12". */
static void put_coordinate(struct msnap_sink *sink, float value)
{
    long tenths = (long)((double)value * 10.0 + (value < 0 ? -0.5 : 0.5));
    if (tenths < 0) {
        msnap_put(sink, "-", 1);
        tenths = -tenths;
    }
    msnap_put_u64(sink, (uint64_t)(tenths / 10));
    if (tenths % 10) {
        const char digit[2] = {'.', (char)('0' + tenths % 10)};
        msnap_put(sink, digit, 2);
    }
}

static void put_attribute(struct msnap_sink *sink, const char *name, float value)
{
    msnap_putf(sink, " %s=\"", name);
    put_coordinate(sink, value);
    msnap_put(sink, "\"", 1);
}

static long tenths_of(float v) { return (long)((double)v * 10.0 + 0.5); }

/* Most edges here run along an axis: H and V take half the space of L. */
static void put_path(struct msnap_sink *sink, const struct msnap_item *item)
{
    msnap_puts(sink, "<path d=\"");
    for (size_t i = 0; i < item->n_points; i++) {
        const struct msnap_point p = item->points[i];
        const bool same_x = i && tenths_of(p.x) == tenths_of(item->points[i - 1].x);
        const bool same_y = i && tenths_of(p.y) == tenths_of(item->points[i - 1].y);
        if (same_x && same_y)
            continue;
        msnap_put(sink, i == 0 ? "M" : same_y ? "H" : same_x ? "V" : "L", 1);
        if (!same_x || i == 0)
            put_coordinate(sink, p.x);
        if (i == 0 || (!same_x && !same_y))
            msnap_put(sink, " ", 1);
        if (!same_y || i == 0)
            put_coordinate(sink, p.y);
    }
    msnap_puts(sink, item->shape == MSNAP_SHAPE_POLYGON ? "Z\"" : "\"");
}

static void put_colour(struct msnap_sink *sink, const char *name, uint32_t colour)
{
    if (colour == MSNAP_NO_COLOUR)
        msnap_putf(sink, " %s=\"none\"", name);
    else
        msnap_putf(sink, " %s=\"#%06x\"", name, (unsigned)colour);
}

static void open_group(struct msnap_sink *sink, const struct msnap_look *look)
{
    msnap_putf(sink, "<g class=\"%s\"", look->name);
    put_colour(sink, "fill", look->fill);
    if (look->stroke != MSNAP_NO_COLOUR) {
        put_colour(sink, "stroke", look->stroke);
        put_attribute(sink, "stroke-width", look->stroke_width);
        if (look->dash > 0)
            msnap_putf(sink, " stroke-dasharray=\"%g\"", (double)look->dash);
    }
    if (look->font_size > 0) {
        put_attribute(sink, "font-size", look->font_size);
        if (look->bold)
            msnap_puts(sink, " font-weight=\"bold\"");
    }
    msnap_puts(sink, ">\n");
}

static void put_title(struct msnap_sink *sink, const char *title)
{
    msnap_puts(sink, "<title>");
    for (;;) { /* escaping knows no line breaks; here they are wanted */
        const size_t n = strcspn(title, "\n");
        msnap_put_xml(sink, title, n);
        if (!title[n])
            break;
        msnap_put(sink, "\n", 1);
        title += n + 1;
    }
    msnap_puts(sink, "</title>");
}

static void put_item(struct msnap_sink *sink, const struct msnap_item *item)
{
    const char *element = "path";
    switch ((enum msnap_shape)item->shape) {
    case MSNAP_SHAPE_RECT:
        element = "rect";
        msnap_puts(sink, "<rect");
        put_attribute(sink, "x", item->x);
        put_attribute(sink, "y", item->y);
        put_attribute(sink, "width", item->w);
        put_attribute(sink, "height", item->h);
        break;
    case MSNAP_SHAPE_CIRCLE:
        element = "circle";
        msnap_puts(sink, "<circle");
        put_attribute(sink, "cx", item->x);
        put_attribute(sink, "cy", item->y);
        put_attribute(sink, "r", item->w);
        break;
    case MSNAP_SHAPE_TEXT:
        msnap_puts(sink, "<text");
        put_attribute(sink, "x", item->x);
        put_attribute(sink, "y", item->y);
        if (item->anchor != MSNAP_ANCHOR_START)
            msnap_puts(sink, item->anchor == MSNAP_ANCHOR_END ? " text-anchor=\"end\"" : " text-anchor=\"middle\"");
        msnap_puts(sink, ">");
        if (item->title)
            put_title(sink, item->title);
        msnap_put_xml(sink, item->text, strlen(item->text));
        msnap_puts(sink, "</text>\n");
        return;
    case MSNAP_SHAPE_LINE:
    case MSNAP_SHAPE_POLYGON:
        put_path(sink, item);
        break;
    }
    if (item->title) {
        msnap_puts(sink, ">");
        put_title(sink, item->title);
        msnap_putf(sink, "</%s>\n", element);
    } else {
        msnap_puts(sink, "/>\n");
    }
}

void msnap_scene_write_svg(const struct msnap_scene *scene, struct msnap_sink *sink)
{
    msnap_puts(sink, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    put_attribute(sink, "width", scene->width);
    put_attribute(sink, "height", scene->height);
    msnap_puts(sink, " viewBox=\"0 0 ");
    put_coordinate(sink, scene->width);
    msnap_put(sink, " ", 1);
    put_coordinate(sink, scene->height);
    msnap_puts(sink, "\" font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" role=\"img\">\n");
    if (scene->title) {
        put_title(sink, scene->title);
        msnap_put(sink, "\n", 1);
    }
    /* Neighbours of one class share a group, and the group holds their look. */
    for (size_t i = 0; i < scene->n; i++) {
        const struct msnap_item *item = &scene->items[i];
        if (i == 0 || scene->items[i - 1].look != item->look)
            open_group(sink, msnap_look(item->look));
        put_item(sink, item);
        if (i + 1 == scene->n || scene->items[i + 1].look != item->look)
            msnap_puts(sink, "</g>\n");
    }
    msnap_puts(sink, "</svg>\n");
}
