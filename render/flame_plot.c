/* flame_plot.c -- to come. */
#include "plot.h"
enum msnap_status msnap_draw_flame(struct msnap_canvas *c, struct msnap_error *err) { (void)c; return msnap_render_fail(err, MSNAP_EUSAGE, "to come"); }
