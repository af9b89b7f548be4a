/* draw_none.c -- stands in for draw_cairo.c in a build without cairo: SVG alone is drawn. */
#include "scene.h"

static enum msnap_status cannot(struct msnap_error *err)
{
    return msnap_render_fail(err, MSNAP_EDEVICE,
                             "this memsnap was built without cairo: it draws SVG; name the picture .svg, or build with "
                             "cairo (libcairo2-dev) for PNG and PDF");
}

bool msnap_render_has_cairo(void) { return false; }

enum msnap_status msnap_scene_write_png(const struct msnap_scene *scene, double scale, struct msnap_sink *sink,
                                        struct msnap_error *err)
{
    (void)scene, (void)scale, (void)sink;
    return cannot(err);
}

enum msnap_status msnap_scene_write_pdf(const struct msnap_scene *scene, struct msnap_sink *sink,
                                        struct msnap_error *err)
{
    (void)scene, (void)sink;
    return cannot(err);
}
