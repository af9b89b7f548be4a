/* test_scene.c -- plots as geometry: nothing overlaps, nothing leaves the picture, the peak is where it is. */
#include "support/check.h"
#include "support/world.h"

#include "plot.h"

#include <math.h>

/* fontconfig keeps its tables until the process ends; the leak checker asks here. */
MSNAP_API const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libfontconfig\n"; }

static struct msnap_scene draw(struct fixture *f, const struct world *w, const struct msnap_plot *plot)
{
    struct msnap_scene scene;
    assert_int_equal(msnap_plot_draw(&w->h, plot, f->arena, &scene, &f->err), MSNAP_OK);
    assert_false(scene.failed);
    return scene;
}

static bool overlap(struct msnap_box a, struct msnap_box b)
{
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

static struct msnap_box grown(struct msnap_box b, float by)
{
    return (struct msnap_box){b.left - by, b.top - by, b.right + by, b.bottom + by};
}

static void check_layout(const struct msnap_scene *s)
{
    struct msnap_box plot = {1e9f, 1e9f, 0, 0};
    for (size_t i = 0; i < s->n; i++) {
        const struct msnap_box b = msnap_item_box(&s->items[i]);
        if (b.left < -0.5f || b.top < -0.5f || b.right > s->width + 0.5f || b.bottom > s->height + 0.5f)
            fail_msg("%s \"%s\" leaves the picture: %g %g %g %g of %g x %g", msnap_look(s->items[i].look)->name,
                     s->items[i].text ? s->items[i].text : "", (double)b.left, (double)b.top, (double)b.right,
                     (double)b.bottom, (double)s->width, (double)s->height);
        if (s->items[i].shape == MSNAP_SHAPE_POLYGON) {
            plot.left = b.left < plot.left ? b.left : plot.left;
            plot.top = b.top < plot.top ? b.top : plot.top;
            plot.right = b.right > plot.right ? b.right : plot.right;
            plot.bottom = b.bottom > plot.bottom ? b.bottom : plot.bottom;
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->items[i].shape != MSNAP_SHAPE_TEXT)
            continue;
        const struct msnap_box b = msnap_item_box(&s->items[i]);
        if (overlap(b, plot))
            fail_msg("\"%s\" lies over the data", s->items[i].text);
        for (size_t k = 0; k < i; k++)
            if (s->items[k].shape == MSNAP_SHAPE_TEXT && overlap(b, grown(msnap_item_box(&s->items[k]), -0.5f)))
                fail_msg("\"%s\" lies over \"%s\"", s->items[i].text, s->items[k].text);
    }
}

static void no_text_lies_over_another_or_over_data(void **state)
{
    struct fixture *f = *state;
    static const float sizes[][2] = {{1280, 720}, {320, 240}, {500, 700}, {640, 300}, {641, 240}, {3840, 2160}, {1600, 900}};
    for (uint32_t seed = 1; seed <= 30; seed++) {
        struct world *w = world_make(seed, seed % 7 == 0 ? 0 : seed * 113 % 3000, seed % 2 ? seed : 0, seed % 3 ? 100 : 0);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct msnap_plot plot = msnap_plot_default(&w->h, seed % 5 ? MSNAP_PLOT_TIMELINE : MSNAP_PLOT_RESERVED);
            plot.width = sizes[i][0];
            plot.height = sizes[i][1];
            plot.by = (int)(seed % 5) - 1;
            plot.top = 1 + seed % MSNAP_PLOT_MAX_TOP;
            plot.source = "a_file_whose_name_is_longer_than_anyone_would_like_it_to_be_but_some_are.pickle.gz";
            const struct msnap_scene s = draw(f, w, &plot);
            check_layout(&s);
        }
        world_free(w);
    }
}

static void the_dot_is_where_the_areas_are_highest(void **state)
{
    struct fixture *f = *state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct world *w = world_make(seed, 1500, 5, 100);
        const struct msnap_plot plot = msnap_plot_default(&w->h, MSNAP_PLOT_TIMELINE);
        const struct msnap_scene s = draw(f, w, &plot);
        float dot_x = -1, dot_y = -1, top = 1e9f, at_dot = 1e9f;
        for (size_t i = 0; i < s.n; i++) {
            if (s.items[i].shape == MSNAP_SHAPE_CIRCLE) {
                dot_x = s.items[i].x;
                dot_y = s.items[i].y;
            }
        }
        for (size_t i = 0; i < s.n; i++) {
            const struct msnap_item *item = &s.items[i];
            for (size_t p = 0; item->shape == MSNAP_SHAPE_POLYGON && p + 1 < item->n_points; p++) {
                const struct msnap_point a = item->points[p], b = item->points[p + 1];
                top = a.y < top ? a.y : top;
                if (a.y == b.y && a.x <= dot_x && dot_x <= b.x)
                    at_dot = a.y < at_dot ? a.y : at_dot;
            }
        }
        assert_true(dot_y == top);
        assert_true(at_dot == top);
        world_free(w);
    }
}

static const char *find_text(const struct msnap_scene *s, const char *part)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].shape == MSNAP_SHAPE_TEXT && strstr(s->items[i].text, part))
            return s->items[i].text;
    return NULL;
}

static void the_title_says_the_finding(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(6, 1500, 9, 100);
    struct msnap_plot plot = msnap_plot_default(&w->h, MSNAP_PLOT_TIMELINE);
    char peak[24], number[32], wanted[100];
    for (size_t e = 0; e < 1500; e++)
        if (w->action[e] == MSNAP_OOM)
            w->action[e] = MSNAP_SNAPSHOT_TAKEN;
    struct msnap_scene s = draw(f, w, &plot);
    snprintf(wanted, sizeof wanted, "Peak %s allocated at event %s;", msnap_format_bytes(peak, w->h.peak.totals.allocated),
             msnap_format_count(number, w->h.peak.event));
    assert_non_null(find_text(&s, wanted));
    assert_non_null(find_text(&s, "beginning cut off"));
    assert_non_null(find_text(&s, "from before the recording"));
    w->action[1499] = MSNAP_OOM;
    w->size[1499] = 3 << 20;
    s = draw(f, w, &plot);
    assert_non_null(find_text(&s, "Out of memory asking for 3"));
    assert_non_null(find_text(&s, "out of memory: 3"));
    plot.title = "My own title";
    s = draw(f, w, &plot);
    assert_non_null(find_text(&s, "My own title"));
    assert_string_equal(s.title, "My own title");
    world_free(w);

    w = world_make(6, 0, 9, 0);
    plot = msnap_plot_default(&w->h, MSNAP_PLOT_TIMELINE);
    s = draw(f, w, &plot);
    assert_non_null(find_text(&s, "no events recorded"));
    assert_null(find_text(&s, "peak"));
    world_free(w);
}

/* ---- steps and phases ---- */

enum { MAX_STEPS = 400 };

/* `n` steps over a world's events, each of a forward, a backward and an optimizer's phase. */
struct marks {
    struct msnap_step step[MAX_STEPS];
    struct msnap_phase phase[3 * MAX_STEPS];
    struct msnap_steps steps;
};

static void make_marks(struct marks *m, size_t n, size_t n_events)
{
    static const uint8_t kinds[] = {MSNAP_PHASE_FORWARD, MSNAP_PHASE_BACKWARD, MSNAP_PHASE_OPTIMIZER};
    for (size_t i = 0; i < n; i++) {
        const uint32_t first = (uint32_t)(i * n_events / n), last = (uint32_t)((i + 1) * n_events / n) - 1;
        m->step[i] = (struct msnap_step){.number = i + 1, .first = first, .last = last};
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t part = (last - first + 1) / 3;
            m->phase[3 * i + k] = (struct msnap_phase){.first = first + k * part, .last = k == 2 ? last : first + (k + 1) * part - 1, .kind = kinds[k]};
        }
    }
    m->steps = (struct msnap_steps){.n_phases = 3 * n, .phases = m->phase, .n = n, .steps = m->step};
}

static size_t count_look(const struct msnap_scene *s, unsigned look)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->items[i].look == look;
    return n;
}

static void marks_lie_over_nothing(void **state)
{
    struct fixture *f = *state;
    static const float sizes[][2] = {{1280, 720}, {320, 240}, {500, 700}, {640, 300}, {641, 240}, {3840, 2160}};
    struct marks *m = calloc(1, sizeof *m);
    assert_non_null(m);
    for (uint32_t seed = 1; seed <= 24; seed++) {
        struct world *w = world_make(seed, 1200 + 60 * seed, seed % 2 ? seed : 0, seed % 3 ? 100 : 0);
        make_marks(m, 1 + seed * seed * 7 % 390, w->device.n_events);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct msnap_plot plot = msnap_plot_default(&w->h, seed % 2 ? MSNAP_PLOT_TIMELINE : MSNAP_PLOT_RESERVED);
            plot.width = sizes[i][0];
            plot.height = sizes[i][1];
            plot.steps = &m->steps;
            if (seed % 5 == 0)
                plot.window = (struct msnap_window){100, 900};
            const struct msnap_scene s = draw(f, w, &plot);
            check_layout(&s);
        }
        world_free(w);
    }
    free(m);
}

static void a_line_and_a_number_for_each_step(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(3, 1500, 0, 100);
    struct marks *m = calloc(1, sizeof *m);
    struct msnap_plot plot = msnap_plot_default(&w->h, MSNAP_PLOT_TIMELINE);
    assert_non_null(m);
    make_marks(m, 4, 1500);
    plot.x = MSNAP_PLOT_X_EVENTS;
    struct msnap_scene s = draw(f, w, &plot);
    assert_int_equal(count_look(&s, MSNAP_LOOK_STEP_LINE), 0); /* none are given */
    plot.steps = &m->steps;
    s = draw(f, w, &plot);
    assert_int_equal(count_look(&s, MSNAP_LOOK_STEP_LINE), 3); /* the first begins with the axis */
    assert_int_equal(count_look(&s, MSNAP_LOOK_BACKWARD), 4 + 1); /* and the legend's */
    assert_non_null(find_text(&s, "optimizer"));
    assert_non_null(find_text(&s, "step"));
    /* Many steps: fewer lines, round numbers, and no band. */
    make_marks(m, 390, 1500);
    s = draw(f, w, &plot);
    assert_true(count_look(&s, MSNAP_LOOK_STEP_LINE) >= 5 && count_look(&s, MSNAP_LOOK_STEP_LINE) <= 40);
    assert_int_equal(count_look(&s, MSNAP_LOOK_BACKWARD), 0);
    for (size_t i = 0; i < s.n; i++)
        if (s.items[i].look == MSNAP_LOOK_STEP_LINE)
            assert_non_null(strstr(s.items[i].title, "0 begins"));
    free(m);
    world_free(w);
}

static void the_title_names_the_step_and_the_category(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(6, 1500, 0, 100);
    struct marks *m = calloc(1, sizeof *m);
    uint8_t *category = calloc(w->h.allocs.n, 1);
    static const char *const names[] = {"weight", "gradient", "optimizer_state", "activation", "input", "workspace", "communication", "temporary", "unknown"};
    struct msnap_plot plot = msnap_plot_default(&w->h, MSNAP_PLOT_TIMELINE);
    char wanted[100];
    assert_true(m && category);
    memset(category, MSNAP_ACTIVATION, w->h.allocs.n);
    const struct msnap_classes classes = {.n = w->h.allocs.n, .category = category, .rule = category, .n_categories = MSNAP_N_CATEGORIES, .names = names};
    for (size_t e = 0; e < 1500; e++)
        if (w->action[e] == MSNAP_OOM)
            w->action[e] = MSNAP_SNAPSHOT_TAKEN;
    make_marks(m, 5, 1500);
    plot.steps = &m->steps;
    plot.by = MSNAP_BY_CATEGORY;
    w->h.classes = &classes;
    const struct msnap_scene s = draw(f, w, &plot);
    snprintf(wanted, sizeof wanted, ", 100 %% activations, step %u;", (unsigned)(w->h.peak.event / 300 + 1));
    assert_non_null(find_text(&s, wanted));
    free(category);
    free(m);
    world_free(w);
}

struct text {
    char *bytes;
    size_t n;
};

static int keep(void *ctx, const char *bytes, size_t n)
{
    struct text *t = ctx;
    t->bytes = realloc(t->bytes, t->n + n + 1);
    assert_non_null(t->bytes);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    t->bytes[t->n] = '\0';
    return 0;
}

static struct text written(const struct msnap_scene *s, bool svg)
{
    struct text t = {0};
    struct msnap_sink sink;
    msnap_sink_init(&sink, keep, &t);
    if (svg)
        msnap_scene_write_svg(s, &sink);
    else
        msnap_scene_dump(s, &sink);
    assert_true(msnap_sink_flush(&sink));
    return t;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)) != NULL; p++)
        n++;
    return n;
}

static void svg_has_real_text_and_hover_titles(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(11, 2000, 5, 100);
    struct msnap_plot plot = msnap_plot_default(&w->h, MSNAP_PLOT_TIMELINE);
    plot.by = MSNAP_BY_STACK;
    plot.source = "<run> & \"co\".pickle";
    const struct msnap_scene s = draw(f, w, &plot);
    struct text svg = written(&s, true);
    assert_int_equal(strncmp(svg.bytes, "<svg xmlns=", 11), 0);
    assert_string_equal(svg.bytes + svg.n - 7, "</svg>\n");
    assert_int_equal(count(svg.bytes, "<g "), count(svg.bytes, "</g>"));
    assert_int_equal(count(svg.bytes, "<text "), count(svg.bytes, "</text>"));
    assert_int_equal(count(svg.bytes, "<title>"), count(svg.bytes, "</title>"));
    assert_true(count(svg.bytes, "<title>") > 4);
    assert_non_null(strstr(svg.bytes, "&lt;run&gt; &amp;"));
    assert_null(strstr(svg.bytes, "<b>")); /* a frame of the file tries to be markup */
    assert_null(strstr(svg.bytes, "nan"));
    assert_true(svg.n < 250000);
    free(svg.bytes);
    world_free(w);
}

static void drawing_twice_gives_the_same(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(12, 2000, 5, 100);
    const struct msnap_plot plot = msnap_plot_default(&w->h, MSNAP_PLOT_TIMELINE);
    const struct msnap_scene a = draw(f, w, &plot), b = draw(f, w, &plot);
    struct text first = written(&a, false), second = written(&b, false);
    assert_string_equal(first.bytes, second.bytes);
    assert_int_equal(strncmp(first.bytes, "scene 1280 x 720\nrect paper 0.0 0.0 1280.0 720.0\n", 48), 0);
    free(first.bytes);
    free(second.bytes);
    world_free(w);
}

static void png_and_pdf_are_what_they_say(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(13, 500, 5, 100);
    const struct msnap_plot plot = msnap_plot_default(&w->h, MSNAP_PLOT_TIMELINE);
    const struct msnap_scene s = draw(f, w, &plot);
    struct text t = {0};
    struct msnap_sink sink;
    msnap_sink_init(&sink, keep, &t);
    if (!msnap_render_has_cairo()) {
        assert_int_equal(msnap_scene_write_png(&s, 2, &sink, &f->err), MSNAP_EDEVICE);
        assert_int_equal(msnap_scene_write_pdf(&s, &sink, &f->err), MSNAP_EDEVICE);
        assert_non_null(strstr(f->err.text, "built without cairo"));
        world_free(w);
        return;
    }
    assert_int_equal(msnap_scene_write_png(&s, 2, &sink, &f->err), MSNAP_OK);
    assert_true(msnap_sink_flush(&sink));
    assert_memory_equal(t.bytes, "\x89PNG\r\n\x1a\n", 8);
    assert_memory_equal(t.bytes + 16, "\0\0\x0a\0\0\0\x05\xa0", 8); /* 2560 x 1440 */
    assert_true(t.n > 5000);
    t.n = 0;
    msnap_sink_init(&sink, keep, &t);
    assert_int_equal(msnap_scene_write_pdf(&s, &sink, &f->err), MSNAP_OK);
    assert_true(msnap_sink_flush(&sink));
    assert_memory_equal(t.bytes, "%PDF", 4);
    free(t.bytes);
    world_free(w);
}

static void limits_are_usage_errors(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(13, 50, 5, 100);
    struct msnap_plot plot = msnap_plot_default(&w->h, MSNAP_PLOT_TIMELINE);
    struct msnap_scene s;
    plot.width = 100;
    assert_int_equal(msnap_plot_draw(&w->h, &plot, f->arena, &s, &f->err), MSNAP_EUSAGE);
    plot = msnap_plot_default(&w->h, MSNAP_PLOT_TIMELINE);
    plot.top = 0;
    assert_int_equal(msnap_plot_draw(&w->h, &plot, f->arena, &s, &f->err), MSNAP_EUSAGE);
    world_free(w);
}

static void every_failing_allocation_is_reported(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_make(14, 20000, 5, 100);
    struct msnap_plot plot = msnap_plot_default(&w->h, MSNAP_PLOT_TIMELINE);
    enum msnap_status status = MSNAP_ENOMEM;
    size_t failures = 0;
    plot.width = 4000;
    for (size_t grants = 0; status == MSNAP_ENOMEM; grants++) {
        struct msnap_scene s;
        f->mem.left = SIZE_MAX;
        struct msnap_arena *arena = msnap_arena_new(counting_mem(&f->mem));
        f->mem.left = grants;
        status = msnap_plot_draw(&w->h, &plot, arena, &s, &f->err);
        failures += status == MSNAP_ENOMEM;
        msnap_arena_free(arena);
    }
    f->mem.left = SIZE_MAX;
    assert_int_equal(status, MSNAP_OK);
    assert_true(failures > 1);
    world_free(w);
}

static double linear(uint32_t byte)
{
    const double v = byte / 255.0;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double lab_curve(double t) { return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116; }

/* CIE L*a*b* of a colour seen through one of Machado's matrices (2009), full severity. */
static void seen(uint32_t colour, const double m[9], double lab[3])
{
    const double rgb[3] = {linear(colour >> 16 & 255), linear(colour >> 8 & 255), linear(colour & 255)};
    double v[3];
    for (size_t i = 0; i < 3; i++) {
        v[i] = m[3 * i] * rgb[0] + m[3 * i + 1] * rgb[1] + m[3 * i + 2] * rgb[2];
        v[i] = v[i] < 0 ? 0 : v[i] > 1 ? 1 : v[i];
    }
    const double x = lab_curve((0.4124 * v[0] + 0.3576 * v[1] + 0.1805 * v[2]) / 0.9505);
    const double y = lab_curve(0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]);
    const double z = lab_curve((0.0193 * v[0] + 0.1192 * v[1] + 0.9505 * v[2]) / 1.089);
    lab[0] = 116 * y - 16;
    lab[1] = 500 * (x - y);
    lab[2] = 200 * (y - z);
}

static void neighbours_differ_for_every_kind_of_colour_vision(void **state)
{
    static const double eyes[4][9] = {
        {1, 0, 0, 0, 1, 0, 0, 0, 1},
        {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998}, /* protanopia */
        {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},  /* deuteranopia */
        {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900}}; /* tritanopia */
    (void)state;
    for (size_t e = 0; e < 4; e++) {
        for (size_t i = 0; i < MSNAP_N_GROUP_COLOURS; i++) {
            double a[3], b[3];
            seen(msnap_look(msnap_look_of_group(i))->fill, eyes[e], a);
            seen(msnap_look(msnap_look_of_group(i + 1))->fill, eyes[e], b);
            const double distance = sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
            if (distance < 25) /* about ten times what can just be told apart */
                fail_msg("colours %zu and %zu differ by %.0f only (eyes %zu)", i, i + 1, distance, e);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(neighbours_differ_for_every_kind_of_colour_vision),
                                       TEST(no_text_lies_over_another_or_over_data),
                                       TEST(the_dot_is_where_the_areas_are_highest),
                                       TEST(the_title_says_the_finding), TEST(marks_lie_over_nothing), TEST(a_line_and_a_number_for_each_step),
        TEST(the_title_names_the_step_and_the_category),
                                       TEST(svg_has_real_text_and_hover_titles),
                                       TEST(drawing_twice_gives_the_same),
                                       TEST(png_and_pdf_are_what_they_say),
                                       TEST(limits_are_usage_errors),
                                       TEST(every_failing_allocation_is_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
