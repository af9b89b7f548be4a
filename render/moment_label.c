/* moment_label.c -- what the pictures of a moment share: its name, the subtitle's window, their height. */
#include <string.h>

#include "plot.h"

const char *msnap_moment_text(struct msnap_scene *s, const struct msnap_history *h, const struct msnap_plot_moment *m,
                              bool with_event)
{
    char number[32];
    const char *name = m->name ? m->name : "";
    if (m->event == MSNAP_NO_EVENT)
        return h->device->n_events ? "before the first event" : "at the dump";
    msnap_format_count(number, m->event);
    const char *words = !strcmp(name, "peak")  ? "at the peak"
                        : !strcmp(name, "end") ? "at the end"
                        : !strcmp(name, "oom") || msnap_moment_is_oom(h, m->event, NULL) ? "at the OOM"
                                                                                         : NULL;
    if (!words)
        return msnap_scene_format(s, "after event %s", number);
    return with_event ? msnap_scene_format(s, "%s, event %s", words, number) : words;
}

bool msnap_moment_is_oom(const struct msnap_history *h, uint32_t event, uint64_t *asked)
{
    if (event == MSNAP_NO_EVENT)
        return false;
    const size_t row = h->device->first_event + event;
    if (asked)
        *asked = h->snapshot->events.size[row];
    return h->snapshot->events.action[row] == MSNAP_OOM;
}

void msnap_canvas_whole_window(struct msnap_canvas *c)
{
    const struct msnap_events *ev = &c->h->snapshot->events;
    const size_t first = c->h->device->first_event, n = c->h->device->n_events;
    c->areas.window = msnap_window_all(c->h);
    if (n && ev->has[first] & ev->has[first + n - 1] & MSNAP_HAS_TIME) {
        c->areas.first_time_us = ev->time_us[first];
        c->areas.last_time_us = ev->time_us[first + n - 1];
    }
}

void msnap_canvas_set_height(struct msnap_canvas *c, float height)
{
    c->scene->height = (float)(int)(height + 0.5f);
    if (c->scene->n)
        c->scene->items[0].h = c->scene->height;
}
