/* draw_cairo.c -- a scene as PNG or PDF; the only file that includes cairo. */
#include <cairo-pdf.h>
#include <cairo.h>

#include <math.h>

#include "scene.h"

static void set_colour(cairo_t *cr, uint32_t colour)
{
    cairo_set_source_rgb(cr, (colour >> 16 & 0xFF) / 255.0, (colour >> 8 & 0xFF) / 255.0, (colour & 0xFF) / 255.0);
}

/* A family whose widths come near the table's. fontconfig maps Arial to a font of the same widths
 * where there is one; where it falls back to a wide font, a condensed face is better than squeezing. */
static const char *choose_family(cairo_t *cr)
{
    static const char *const families[] = {"Arial", "DejaVu Sans Condensed"};
    const double wanted = 6.728 * 100; /* the text below, 100 pixels high, by the table */
    const char *best = families[0];
    double least = 1e9;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        cairo_text_extents_t extents;
        cairo_select_font_face(cr, families[i], CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
        cairo_set_font_size(cr, 100);
        cairo_text_extents(cr, "allocated 0.25", &extents);
        const double off = fabs(extents.x_advance - wanted);
        if (off < least - 1) {
            least = off;
            best = families[i];
        }
    }
    return best;
}

static void draw_text(cairo_t *cr, const struct msnap_item *item, const struct msnap_look *look, const char *family)
{
    cairo_text_extents_t extents;
    cairo_select_font_face(cr, family, CAIRO_FONT_SLANT_NORMAL,
                           look->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, (double)look->font_size);
    cairo_text_extents(cr, item->text, &extents);
    /* The layout counts on the measured width; a wider font is condensed to it. */
    const double width = (double)item->w;
    const double squeeze = extents.x_advance > width && width > 0 ? width / extents.x_advance : 1.0;
    const double drawn = extents.x_advance * squeeze;
    const double left = (double)item->x - (item->anchor == MSNAP_ANCHOR_START    ? 0
                                           : item->anchor == MSNAP_ANCHOR_MIDDLE ? drawn / 2
                                                                                 : drawn);
    cairo_save(cr);
    cairo_translate(cr, left, (double)item->y);
    cairo_scale(cr, squeeze, 1.0);
    cairo_move_to(cr, 0, 0);
    set_colour(cr, look->fill);
    cairo_show_text(cr, item->text);
    cairo_restore(cr);
}

static void draw_item(cairo_t *cr, const struct msnap_item *item, const char *family)
{
    const struct msnap_look *look = msnap_look(item->look);
    cairo_new_path(cr);
    switch ((enum msnap_shape)item->shape) {
    case MSNAP_SHAPE_TEXT:
        draw_text(cr, item, look, family);
        return;
    case MSNAP_SHAPE_RECT:
        cairo_rectangle(cr, (double)item->x, (double)item->y, (double)item->w, (double)item->h);
        break;
    case MSNAP_SHAPE_CIRCLE:
        cairo_arc(cr, (double)item->x, (double)item->y, (double)item->w, 0, 6.283185307179586);
        break;
    case MSNAP_SHAPE_LINE:
    case MSNAP_SHAPE_POLYGON:
        for (size_t i = 0; i < item->n_points; i++)
            cairo_line_to(cr, (double)item->points[i].x, (double)item->points[i].y);
        if (item->shape == MSNAP_SHAPE_POLYGON)
            cairo_close_path(cr);
        break;
    }
    if (look->fill != MSNAP_NO_COLOUR && item->shape != MSNAP_SHAPE_LINE) {
        set_colour(cr, look->fill);
        cairo_fill_preserve(cr);
    }
    if (look->stroke != MSNAP_NO_COLOUR) {
        const double dash = (double)look->dash;
        set_colour(cr, look->stroke);
        cairo_set_line_width(cr, (double)look->stroke_width);
        cairo_set_dash(cr, &dash, dash > 0 ? 1 : 0, 0);
        cairo_stroke_preserve(cr);
    }
}

static void draw(cairo_t *cr, const struct msnap_scene *scene)
{
    /* Advance widths as the font has them, not rounded to pixels. */
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(cr, options);
    cairo_font_options_destroy(options);
    const char *family = choose_family(cr);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    for (size_t i = 0; i < scene->n; i++)
        draw_item(cr, &scene->items[i], family);
}

static cairo_status_t write_bytes(void *closure, const unsigned char *bytes, unsigned n)
{
    struct msnap_sink *sink = closure;
    msnap_put(sink, (const char *)bytes, n);
    return sink->failed ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

static enum msnap_status verdict(cairo_status_t status, struct msnap_error *err)
{
    switch (status) {
    case CAIRO_STATUS_SUCCESS:
        return MSNAP_OK;
    case CAIRO_STATUS_NO_MEMORY:
    case CAIRO_STATUS_INVALID_SIZE:
        return msnap_render_fail(err, MSNAP_ENOMEM, "no memory for a picture of this size");
    default:
        return msnap_render_fail(err, MSNAP_EIO, "cannot write the picture: %s", cairo_status_to_string(status));
    }
}

bool msnap_render_has_cairo(void) { return true; }

enum msnap_status msnap_scene_write_png(const struct msnap_scene *scene, double scale, struct msnap_sink *sink,
                                        struct msnap_error *err)
{
    const int width = (int)ceil((double)scene->width * scale), height = (int)ceil((double)scene->height * scale);
    /* No alpha: the paper is opaque, and three bytes a pixel compress faster than four. */
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    cairo_t *cr = cairo_create(surface);
    cairo_scale(cr, scale, scale);
    draw(cr, scene);
    cairo_status_t status = cairo_status(cr);
    cairo_destroy(cr);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_write_to_png_stream(surface, write_bytes, sink);
    cairo_surface_destroy(surface);
    return verdict(status, err);
}

enum msnap_status msnap_scene_write_pdf(const struct msnap_scene *scene, struct msnap_sink *sink,
                                        struct msnap_error *err)
{
    const double points = 0.75; /* 72 points and 96 pixels to the inch */
    cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(
        write_bytes, sink, (double)scene->width * points, (double)scene->height * points);
    if (scene->title)
        cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, scene->title);
    cairo_t *cr = cairo_create(surface);
    cairo_scale(cr, points, points);
    draw(cr, scene);
    cairo_status_t status = cairo_status(cr);
    cairo_destroy(cr);
    cairo_surface_finish(surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    return verdict(status, err);
}
