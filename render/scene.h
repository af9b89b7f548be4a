/* scene.h -- building scenes. Nothing here fails one by one: a scene that found no memory says so
 * in `failed`, once, at the end. */
#ifndef MSNAP_RENDER_SCENE_H
#define MSNAP_RENDER_SCENE_H

#include <memsnap/render.h>

#include <stdarg.h>

#include "palette.h"

struct msnap_scene msnap_scene_make(float width, float height, struct msnap_arena *arena);

void msnap_scene_rect(struct msnap_scene *s, unsigned look, float x, float y, float w, float h,
                      const char *title);
void msnap_scene_segment(struct msnap_scene *s, unsigned look, float x1, float y1, float x2, float y2,
                         const char *title);
void msnap_scene_circle(struct msnap_scene *s, unsigned look, float x, float y, float radius);
/* `points` must live as long as the scene. */
void msnap_scene_line(struct msnap_scene *s, unsigned look, const struct msnap_point *points, size_t n,
                      const char *title);
void msnap_scene_polygon(struct msnap_scene *s, unsigned look, const struct msnap_point *points, size_t n,
                         const char *title);
/* Copies `text`. */
void msnap_scene_text(struct msnap_scene *s, unsigned look, enum msnap_anchor anchor, float x, float y,
                      const char *text, const char *title);

/* Text made in the scene's arena; "" where there is no memory, and the scene has failed. */
const char *msnap_scene_format(struct msnap_scene *s, const char *format, ...) MSNAP_PRINTF(2, 3);

/* The box that an item covers: left, top, right, bottom. */
struct msnap_box {
    float left, top, right, bottom;
};
struct msnap_box msnap_item_box(const struct msnap_item *item);

/* Fills `err` and returns `status`, as every failing function of the library does. */
enum msnap_status msnap_render_fail(struct msnap_error *err, enum msnap_status status, const char *format, ...)
    MSNAP_PRINTF(3, 4);

#endif
