/* step_marks.c -- steps and phases in pictures over time: thin lines, numbers, and a band under the plot. */
#include "plot.h"

#include <inttypes.h>

#include "text_width.h"

#define BAND_TOP 4.0f /* below the plot */
#define BAND_HEIGHT 6.0f
#define NUMBER_ROW 14.0f
#define BARE_ROW 19.0f     /* without a band above it: clear of the axis' zero */
#define NUMBER_GAP 12.0f  /* between numbers */
#define LEAST_HEIGHT 130.0f /* a plot lower than this has no room for marks */
#define SWATCH 9.0f

/* From so few columns a phase on, the band would be noise. */
enum { LEAST_COLUMNS = 3 };

static const unsigned look_of_phase[MSNAP_N_PHASES] = {
    [MSNAP_PHASE_FORWARD] = MSNAP_LOOK_FORWARD, [MSNAP_PHASE_BACKWARD] = MSNAP_LOOK_BACKWARD, [MSNAP_PHASE_OPTIMIZER] = MSNAP_LOOK_OPTIMIZER};

static float x_of(const struct msnap_canvas *c, uint32_t event)
{
    return c->box.left + (float)msnap_areas_position(c->h, &c->areas, event) * (c->box.right - c->box.left);
}

/* The phases and steps that lie in the window at least in part. */
static void find_phases(const struct msnap_steps *s, struct msnap_window w, size_t *first, size_t *end)
{
    *first = 0;
    *end = s->n_phases;
    while (*first < *end && s->phases[*first].last < w.first_event)
        ++*first;
    while (*end > *first && s->phases[*end - 1].first > w.last_event)
        --*end;
}

static void find_steps(const struct msnap_steps *s, struct msnap_window w, size_t *first, size_t *end)
{
    *first = 0;
    *end = s->n;
    while (*first < *end && s->steps[*first].last < w.first_event)
        ++*first;
    while (*end > *first && s->steps[*end - 1].first > w.last_event)
        --*end;
}

void msnap_marks_layout(struct msnap_canvas *c)
{
    const struct msnap_steps *s = c->plot->steps;
    const struct msnap_window w = c->plot->window;
    const float height = c->box.bottom - c->box.top;
    size_t first, end;
    if (!s || w.first_event == MSNAP_NO_EVENT || (c->plot->kind != MSNAP_PLOT_TIMELINE && c->plot->kind != MSNAP_PLOT_RESERVED))
        return;
    find_phases(s, w, &first, &end);
    for (size_t i = first; i < end; i++)
        c->phases |= 1u << s->phases[i].kind;
    if ((c->phases & ~(1u << MSNAP_PHASE_OTHER)) && (float)((end - first) * LEAST_COLUMNS) < c->box.right - c->box.left)
        c->band = BAND_TOP + BAND_HEIGHT;
    find_steps(s, w, &first, &end);
    c->drop = c->band + (first == end ? 0 : c->band > 0 ? NUMBER_ROW : BARE_ROW) + (c->band > 0 && first == end ? 3 : 0);
    if (height - c->drop < LEAST_HEIGHT)
        c->band = c->drop = 0;
    c->box.bottom -= c->drop;
}

/* ---- steps ---- */

static size_t next_stride(size_t stride) /* 1, 2, 5, 10, ... */
{
    size_t power = 1;
    while (power * 10 <= stride)
        power *= 10;
    return stride == power ? 2 * power : stride == 2 * power ? 5 * power : 10 * power;
}

/* The marks are those whose numbers the stride divides; no two closer than their numbers need. */
static bool is_marked(const struct msnap_steps *s, size_t i, size_t stride)
{
    return stride == 1 || s->steps[i].number % stride == 0;
}

static bool fits(const struct msnap_canvas *c, size_t first, size_t end, size_t stride)
{
    const struct msnap_steps *s = c->plot->steps;
    const float font = msnap_look(MSNAP_LOOK_NOTE)->font_size;
    float used = -1e9f;
    char text[32];
    for (size_t i = first; i < end; i++) {
        if (!is_marked(s, i, stride))
            continue;
        msnap_format_count(text, s->steps[i].number);
        const float x = x_of(c, s->steps[i].first), half = msnap_text_width(text, font, false) / 2;
        if (x - half < used)
            return false;
        used = x + half + NUMBER_GAP;
    }
    return true;
}

void msnap_canvas_steps_marks(struct msnap_canvas *c)
{
    const struct msnap_steps *s = c->plot->steps;
    struct msnap_scene *scene = c->scene;
    const struct msnap_box b = c->box;
    size_t first, end, stride = 1;
    char text[32];
    if (c->drop <= c->band || !s)
        return;
    find_steps(s, c->areas.window, &first, &end);
    while (stride < SIZE_MAX / 100 && !fits(c, first, end, stride))
        stride = next_stride(stride);
    bool any = false;
    for (size_t i = first; i < end; i++) {
        if (!is_marked(s, i, stride) || s->steps[i].first < c->areas.window.first_event)
            continue;
        const float x = (float)(int)x_of(c, s->steps[i].first) + 0.5f;
        msnap_format_count(text, s->steps[i].number);
        if (x > b.left + 1)
            msnap_scene_segment(scene, MSNAP_LOOK_STEP_LINE, x, b.top, x, b.bottom, msnap_scene_format(scene, "step %s begins", text));
        if (x + msnap_text_width(text, msnap_look(MSNAP_LOOK_NOTE)->font_size, false) / 2 < b.right + 20)
            msnap_scene_text(scene, MSNAP_LOOK_NOTE, MSNAP_ANCHOR_MIDDLE, x, b.bottom + c->drop - 2, text, NULL);
        any = true;
    }
    if (any)
        msnap_scene_text(scene, MSNAP_LOOK_NOTE, MSNAP_ANCHOR_END, b.left - 12, b.bottom + c->drop - 2, "step", NULL);
}

/* ---- phases ---- */

static const char *word(uint8_t kind) { return msnap_phase_name((enum msnap_phase_kind)kind); }

/* What is between the passes is left white. */
void msnap_canvas_band(struct msnap_canvas *c)
{
    const struct msnap_steps *s = c->plot->steps;
    const struct msnap_box b = c->box;
    size_t first, end;
    if (c->band <= 0 || !s)
        return;
    find_phases(s, c->areas.window, &first, &end);
    for (size_t i = first; i < end; i++) {
        const uint8_t kind = s->phases[i].kind;
        if (kind == MSNAP_PHASE_OTHER)
            continue;
        const float left = x_of(c, s->phases[i].first);
        const float right = i + 1 < end ? x_of(c, s->phases[i + 1].first) : x_of(c, s->phases[i].last);
        if (right - left >= 0.1f)
            msnap_scene_rect(c->scene, look_of_phase[kind], left, b.bottom + BAND_TOP, right - left, BAND_HEIGHT, word(kind));
    }
}

static bool has(const struct msnap_canvas *c, uint8_t kind) { return (c->phases >> kind & 1) != 0; }

static float legend_width(const struct msnap_canvas *c)
{
    const float font = msnap_look(MSNAP_LOOK_NOTE)->font_size;
    float width = 0;
    for (uint8_t k = MSNAP_PHASE_FORWARD; k < MSNAP_N_PHASES; k++)
        width += !has(c, k) ? 0 : SWATCH + 5 + msnap_text_width(word(k), font, false) + 14;
    return width;
}

bool msnap_canvas_band_legend(struct msnap_canvas *c, float y, float caption_width)
{
    const float font = msnap_look(MSNAP_LOOK_NOTE)->font_size;
    float x = c->box.left;
    if (c->band <= 0 || legend_width(c) + caption_width > c->box.right - c->box.left)
        return false;
    for (uint8_t k = MSNAP_PHASE_FORWARD; k < MSNAP_N_PHASES; k++) {
        if (!has(c, k))
            continue;
        msnap_scene_rect(c->scene, look_of_phase[k], x, y - SWATCH + 1, SWATCH, SWATCH, NULL);
        msnap_scene_text(c->scene, MSNAP_LOOK_NOTE, MSNAP_ANCHOR_START, x + SWATCH + 5, y, word(k), NULL);
        x += SWATCH + 5 + msnap_text_width(word(k), font, false) + 14;
    }
    return true;
}

/* ---- the title ---- */

const char *msnap_peak_share(struct msnap_canvas *c)
{
    static const char *const words[MSNAP_N_CATEGORIES] = {
        [MSNAP_WEIGHT] = "weights", [MSNAP_GRADIENT] = "gradients", [MSNAP_OPTIMIZER_STATE] = "optimizer state",
        [MSNAP_ACTIVATION] = "activations", [MSNAP_INPUT] = "inputs", [MSNAP_WORKSPACE] = "workspace",
        [MSNAP_COMMUNICATION] = "communication", [MSNAP_TEMPORARY] = "temporary"};
    const uint64_t whole = c->areas.peak.totals.allocated;
    uint64_t bytes[MSNAP_MAX_CATEGORIES];
    size_t best = 0;
    if (!c->h->classes || !whole)
        return "";
    msnap_classes_sum(c->h, c->h->classes, c->areas.peak.event, bytes);
    for (size_t i = 1; i < c->h->classes->n_categories; i++)
        if (bytes[i] > bytes[best])
            best = i;
    if (best == MSNAP_UNKNOWN || bytes[best] * 5 < whole)
        return "";
    return msnap_scene_format(c->scene, ", %s %s", msnap_share_text(c->scene, bytes[best], whole),
                              best < MSNAP_N_CATEGORIES ? words[best] : c->h->classes->names[best]);
}

const char *msnap_peak_step(struct msnap_canvas *c)
{
    const struct msnap_steps *s = c->plot->steps;
    const uint32_t event = c->areas.peak.event;
    if (!s || event == MSNAP_NO_EVENT)
        return "";
    for (size_t i = 0; i < s->n; i++)
        if (s->steps[i].first <= event && event <= s->steps[i].last)
            return msnap_scene_format(c->scene, ", step %" PRIu64, s->steps[i].number);
    return "";
}
