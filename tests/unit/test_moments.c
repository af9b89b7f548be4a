/* test_moments.c -- pictures of a moment: segments have the area of their bytes, flames add up, no text over another. */
#include "support/check.h"
#include "support/script.h"
#include "support/world.h"

#include <memsnap/rank.h>

#include <math.h>

#include "plot.h"

/* fontconfig keeps its tables until the process ends; the leak checker asks here. */
MSNAP_API const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libfontconfig\n"; }

static const float sizes[][2] = {{1280, 720}, {320, 240}, {500, 700}, {640, 300}, {641, 240}, {3840, 2160}, {1600, 900}};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

struct books {
    struct msnap_snapshot *s;
    struct msnap_history h;
};

static struct books build(struct fixture *f, const char *events, const char *segments)
{
    struct books b = {.s = script_snapshot(counting_mem(&f->mem), events, segments)};
    assert_int_equal(msnap_history_build(b.s, &b.s->devices[0], 0, f->arena, &b.h, &f->err), MSNAP_OK);
    return b;
}

static struct msnap_scene draw(struct fixture *f, const struct msnap_history *h, const struct msnap_plot *plot)
{
    struct msnap_scene scene;
    if (msnap_plot_draw(h, plot, f->arena, &scene, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return scene;
}

static bool overlap(struct msnap_box a, struct msnap_box b)
{
    return a.left + 0.5f < b.right && b.left + 0.5f < a.right && a.top + 0.5f < b.bottom && b.top + 0.5f < a.bottom;
}

/* Nothing leaves the picture, no text lies over another; `on_paper`: nor over a shape. */
static void check_layout(const struct msnap_scene *s, bool on_paper)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct msnap_item *item = &s->items[i];
        const struct msnap_box b = msnap_item_box(item);
        if (b.left < -0.5f || b.top < -0.5f || b.right > s->width + 0.5f || b.bottom > s->height + 0.5f)
            fail_msg("%s \"%s\" leaves the picture: %g %g %g %g of %g x %g", msnap_look(item->look)->name, item->text ? item->text : "",
                     (double)b.left, (double)b.top, (double)b.right, (double)b.bottom, (double)s->width, (double)s->height);
        if (item->shape != MSNAP_SHAPE_TEXT)
            continue;
        for (size_t k = 1; k < s->n; k++) {
            const struct msnap_item *other = &s->items[k];
            if (k == i || !overlap(b, msnap_item_box(other)))
                continue;
            if (other->shape == MSNAP_SHAPE_TEXT)
                fail_msg("\"%s\" lies over \"%s\" in %g x %g", item->text, other->text, (double)s->width, (double)s->height);
            if (on_paper && other->shape == MSNAP_SHAPE_RECT)
                fail_msg("\"%s\" lies over a %s in %g x %g", item->text, msnap_look(other->look)->name, (double)s->width, (double)s->height);
            /* In a flame, a text lies in its frame and in no other. */
            const struct msnap_box frame = msnap_item_box(other);
            if (!on_paper && other->shape == MSNAP_SHAPE_RECT && (b.left < frame.left - 0.5f || b.right > frame.right + 0.5f))
                fail_msg("\"%s\" leaves its frame", item->text);
        }
    }
}

static bool begins(const char *text, const char *with) { return text && strncmp(text, with, strlen(with)) == 0; }

/* The area of segments, of blocks that are allocated in them, and of waiting ones. */
static void check_areas(const struct msnap_scene *s, const struct msnap_totals *totals)
{
    double all = 0, allocated = 0, pending = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct msnap_item *item = &s->items[i];
        const double area = (double)item->w * (double)item->h;
        if (item->shape != MSNAP_SHAPE_RECT || !item->title)
            continue;
        all += begins(item->title, "segment of") ? area : 0;
        allocated += item->y > 100 && (item->look == MSNAP_LOOK_ALLOCATED_AREA || item->look == MSNAP_LOOK_SEGMENT_WASTE) ? area : 0;
        pending += item->y > 100 && item->look == MSNAP_LOOK_ACTIVE_AREA && !begins(item->title, "freed, waiting for another stream\n") ? area : 0;
    }
    assert_true(all > 0);
    assert_true(fabs(allocated / all - (double)totals->allocated / (double)totals->reserved) < 0.01);
    assert_true(fabs(pending / all - (double)(totals->active - totals->allocated) / (double)totals->reserved) < 0.01);
}

static const char EVENTS[] = "seg 0 20M, alloc 0 5M @aA, alloc 5M 9M @bB, seg 32M 2M, alloc 32M 1000 @aA, alloc 33M 700000 @, "
                             "req 0 5M, seg 64M 20M #7, alloc 64M 3000000 @cC #7, oom 64M 3M";
static const char SEGMENTS[] = "0: 5Mp5M 9Ma9M 6Mi; 32M: 1024a1000 1047552i 700416a700000 348160i; 64M: 3000320a3000000 17971200i#7";

static void segments_have_the_area_of_their_bytes(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, EVENTS, SEGMENTS);
    struct msnap_plot plot = msnap_plot_default(&b.h, MSNAP_PLOT_SEGMENTS);
    plot.moments[0] = (struct msnap_plot_moment){msnap_last_event(&b.h), "end"};
    const struct msnap_scene s = draw(f, &b.h, &plot);
    check_areas(&s, &b.h.end);
    check_layout(&s, true);
    assert_non_null(strstr(s.title, "unused at the end"));
    msnap_snapshot_free(b.s);
}

static void the_title_says_what_an_oom_had_and_asked(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, "seg 0 20M, alloc 0 5M @aA, alloc 5M 9M @bB, oom 64M 3M", "0: 5Ma5M 9Ma9M 6Mi");
    struct msnap_plot plot = msnap_plot_default(&b.h, MSNAP_PLOT_SEGMENTS);
    plot.moments[0] = (struct msnap_plot_moment){3, "oom"};
    const struct msnap_scene s = draw(f, &b.h, &plot);
    assert_string_equal(s.title, "6.0 MiB of 20.0 MiB reserved unused at the OOM; largest free block 6.0 MiB, 64.0 MiB asked");
    msnap_snapshot_free(b.s);
}

static void moments_side_by_side_share_a_scale(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, EVENTS, SEGMENTS);
    for (size_t i = 0; i < N_SIZES; i++) {
        struct msnap_plot plot = msnap_plot_default(&b.h, MSNAP_PLOT_SEGMENTS);
        plot.n_moments = 1 + i % MSNAP_PLOT_MAX_MOMENTS;
        plot.by = i % 2 ? MSNAP_BY_LINE : MSNAP_PLOT_BY_AUTO;
        plot.moments[1] = (struct msnap_plot_moment){msnap_last_event(&b.h), "end"};
        plot.moments[2] = (struct msnap_plot_moment){4, NULL};
        plot.moments[3] = (struct msnap_plot_moment){MSNAP_NO_EVENT, NULL};
        plot.width = sizes[i][0] * 2;
        plot.height = sizes[i][1];
        plot.source = "a_file_whose_name_is_longer_than_anyone_would_like_it_to_be_but_some_are.pickle.gz";
        const struct msnap_scene s = draw(f, &b.h, &plot);
        check_layout(&s, true);
    }
    msnap_snapshot_free(b.s);
}

static void two_thousand_segments_fit(void **state)
{
    struct fixture *f = *state;
    enum { N = 2000, ROOM = 120 };
    char *events = malloc((size_t)N * ROOM), *segments = malloc((size_t)N * ROOM);
    assert_non_null(events);
    assert_non_null(segments);
    size_t at = 0, to = 0;
    for (int i = 0; i < N; i++) {
        const int half = i % 3 ? 700 : 1024; /* KiB */
        at += (size_t)snprintf(events + at, ROOM, "%sseg %dM 2M, alloc %dM %dK @a%c", i ? ", " : "", 2 * i, 2 * i, half, 'A' + i % 26);
        to += (size_t)snprintf(segments + to, ROOM, "%s%dM: %dKa%dK %dKi", i ? "; " : "", 2 * i, half, half, 2048 - half);
    }
    struct books b = build(f, events, segments);
    free(events);
    free(segments);
    struct msnap_plot plot = msnap_plot_default(&b.h, MSNAP_PLOT_SEGMENTS);
    const struct msnap_scene s = draw(f, &b.h, &plot);
    assert_true(s.height <= 720);
    check_layout(&s, true);
    check_areas(&s, &b.h.peak.totals);
    msnap_snapshot_free(b.s);
}

/* ---- flames ---- */

/* "1,234,567 bytes" in a title. */
static uint64_t bytes_in(const char *title)
{
    const char *end = title ? strstr(title, " bytes (") : NULL;
    uint64_t bytes = 0;
    if (!end)
        return 0;
    const char *p = end;
    while (p > title && ((p[-1] >= '0' && p[-1] <= '9') || p[-1] == ','))
        p--;
    for (; p < end; p++)
        bytes = *p == ',' ? bytes : 10 * bytes + (uint64_t)(*p - '0');
    return bytes;
}

static void check_sums(const struct msnap_scene *s, uint64_t allocated)
{
    float row = 0, top = 0;
    uint64_t first_level = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].look == MSNAP_LOOK_FLAME_ROOT && s->items[i].title) {
            assert_int_equal(bytes_in(s->items[i].title), allocated);
            top = s->items[i].y;
            row = s->items[i].h;
        }
    for (size_t i = 0; i < s->n; i++) {
        const struct msnap_item *a = &s->items[i];
        if (a->shape != MSNAP_SHAPE_RECT || !a->title || a->y < top)
            continue;
        first_level += fabsf(a->y - top - row) < 0.01f ? bytes_in(a->title) : 0;
        uint64_t below = 0;
        for (size_t k = 0; k < s->n; k++) {
            const struct msnap_item *b = &s->items[k];
            if (b->shape == MSNAP_SHAPE_RECT && b->title && fabsf(b->y - a->y - row) < 0.01f && b->x >= a->x - 0.01f && b->x + b->w <= a->x + a->w + 0.01f)
                below += bytes_in(b->title);
        }
        assert_true(below <= bytes_in(a->title));
    }
    assert_int_equal(first_level, allocated);
}

static void flames_add_up_to_what_is_allocated(void **state)
{
    struct fixture *f = *state;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        struct world *w = world_make(seed, seed % 7 == 0 ? 0 : seed * 113 % 3000, seed % 2 ? seed : 0, 100);
        struct msnap_plot plot = msnap_plot_default(&w->h, MSNAP_PLOT_FLAME);
        struct msnap_rank rank;
        if (seed % 3 == 0 && w->device.n_events)
            plot.moments[0] = (struct msnap_plot_moment){seed % (uint32_t)w->device.n_events, NULL};
        plot.width = sizes[seed % N_SIZES][0];
        plot.height = sizes[seed % N_SIZES][1];
        plot.fit = seed % 2;
        assert_int_equal(msnap_rank_build(&w->h, plot.moments[0].event, MSNAP_BY_STACK, f->arena, &rank, &f->err), MSNAP_OK);
        const struct msnap_scene s = draw(f, &w->h, &plot);
        check_layout(&s, false);
        if (rank.total_bytes)
            check_sums(&s, rank.total_bytes);
        world_free(w);
    }
}

static void memory_from_before_is_a_tower_of_its_own(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, "free 1024 512, alloc 1024 512 @aB", "0: 1024a1000@aA 512a512@aB 2095616i");
    struct msnap_plot plot = msnap_plot_default(&b.h, MSNAP_PLOT_FLAME);
    plot.moments[0] = (struct msnap_plot_moment){msnap_last_event(&b.h), "end"};
    const struct msnap_scene s = draw(f, &b.h, &plot);
    uint64_t before = 0;
    for (size_t i = 0; i < s.n; i++)
        before += begins(s.items[i].title, "from before the recording") ? bytes_in(s.items[i].title) : 0;
    assert_int_equal(before, 1024);
    check_sums(&s, 1536);
    msnap_snapshot_free(b.s);
}

static void stacks_may_be_deeper_than_any_picture(void **state)
{
    struct fixture *f = *state;
    enum { DEEP = 30000 };
    char *events = malloc(DEEP + 200);
    assert_non_null(events);
    size_t n = (size_t)sprintf(events, "seg 0 2M, alloc 0 512 @");
    for (size_t i = 0; i < DEEP; i++)
        events[n++] = "aAbB"[i % 4];
    strcpy(events + n, ", alloc 512 512 @");
    struct books b = build(f, events, "0: 512a512 512a512 2096128i");
    free(events);
    struct msnap_plot plot = msnap_plot_default(&b.h, MSNAP_PLOT_FLAME);
    const struct msnap_scene s = draw(f, &b.h, &plot);
    assert_true(s.height <= 2 * plot.height);
    check_layout(&s, false);
    check_sums(&s, 1024);
    msnap_snapshot_free(b.s);
}

/* ---- both ---- */

static void limits_are_usage_errors(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, EVENTS, SEGMENTS);
    struct msnap_plot plot = msnap_plot_default(&b.h, MSNAP_PLOT_SEGMENTS);
    struct msnap_scene s;
    plot.n_moments = 0;
    assert_int_equal(msnap_plot_draw(&b.h, &plot, f->arena, &s, &f->err), MSNAP_EUSAGE);
    plot.n_moments = MSNAP_PLOT_MAX_MOMENTS + 1;
    assert_int_equal(msnap_plot_draw(&b.h, &plot, f->arena, &s, &f->err), MSNAP_EUSAGE);
    plot = msnap_plot_default(&b.h, MSNAP_PLOT_FLAME);
    plot.n_moments = 2;
    assert_int_equal(msnap_plot_draw(&b.h, &plot, f->arena, &s, &f->err), MSNAP_EUSAGE);
    plot.n_moments = 1;
    plot.moments[0].event = (uint32_t)b.h.device->n_events;
    assert_int_equal(msnap_plot_draw(&b.h, &plot, f->arena, &s, &f->err), MSNAP_EUSAGE);
    assert_non_null(strstr(f->err.text, "there is no event"));
    msnap_snapshot_free(b.s);
}

static void every_failing_allocation_is_reported(void **state)
{
    struct fixture *f = *state;
    struct books b = build(f, EVENTS, SEGMENTS);
    for (int kind = MSNAP_PLOT_SEGMENTS; kind <= MSNAP_PLOT_FLAME; kind++) {
        struct msnap_plot plot = msnap_plot_default(&b.h, (enum msnap_plot_kind)kind);
        enum msnap_status status = MSNAP_ENOMEM;
        plot.by = kind == MSNAP_PLOT_SEGMENTS ? MSNAP_BY_STACK : MSNAP_PLOT_BY_AUTO;
        for (size_t grants = 0; status == MSNAP_ENOMEM; grants++) {
            struct msnap_scene s;
            f->mem.left = SIZE_MAX;
            struct msnap_arena *arena = msnap_arena_new(counting_mem(&f->mem));
            f->mem.left = grants;
            status = msnap_plot_draw(&b.h, &plot, arena, &s, &f->err);
            msnap_arena_free(arena);
        }
        f->mem.left = SIZE_MAX;
        assert_int_equal(status, MSNAP_OK);
    }
    msnap_snapshot_free(b.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(segments_have_the_area_of_their_bytes),
                                       TEST(the_title_says_what_an_oom_had_and_asked),
                                       TEST(moments_side_by_side_share_a_scale),
                                       TEST(two_thousand_segments_fit),
                                       TEST(flames_add_up_to_what_is_allocated),
                                       TEST(memory_from_before_is_a_tower_of_its_own),
                                       TEST(stacks_may_be_deeper_than_any_picture),
                                       TEST(limits_are_usage_errors),
                                       TEST(every_failing_allocation_is_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
