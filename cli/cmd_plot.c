/* cmd_plot.c -- `memsnap plot`: memory over time or at a moment as a picture. */
#include "commands.h"
#include "moment.h"
#include "rules_file.h"
#include "simulate_words.h"
#include "window.h"

#include <memsnap/classify.h>
#include <memsnap/render.h>

#include <string.h>

static const char *const kind_words[] = {"timeline", "reserved", "segments", "flame", NULL}; /* in the order of enum msnap_plot_kind */
static const char *const by_words[] = {"stack", "line", "stream", "pool", "category", NULL}; /* of enum msnap_group_by */
static const char *const x_words[] = {"auto", "events", "time", NULL};           /* of enum msnap_plot_x */

static const struct opt options[] = {
    {"kind", 'k', OPT_CHOICE, NULL, kind_words, "what to draw (default: timeline)", 0, 0},
    {"by", 'b', OPT_CHOICE, NULL, by_words,
     "what a colour stands for (default: category where memsnap\ncan tell them, else line or stack; segments: the state)", 0, 0},
    {"at", 0, OPT_STRING, "MOMENT", NULL,
     "segments and flame: peak (the default), oom, end, start, step:N\n(a step's peak) or an event number; segments: up to four side\nby side, as in peak,end", 0, 0},
    {"top", 'n', OPT_INT, "N", NULL, "groups with a colour of their own (default: 10)", 1, MSNAP_PLOT_MAX_TOP},
    {"x", 'x', OPT_CHOICE, NULL, x_words,
     "the horizontal axis (default: auto, which is time unless\nmost of it passes without events)", 0, 0},
    WINDOW_OPTIONS("draw"),
    {"width", 'W', OPT_INT, "PIXELS", NULL, "default: 1280", MSNAP_PLOT_MIN_WIDTH, MSNAP_PLOT_MAX_WIDTH},
    {"height", 'H', OPT_INT, "PIXELS", NULL, "default: 720", MSNAP_PLOT_MIN_HEIGHT, MSNAP_PLOT_MAX_HEIGHT},
    {"scale", 0, OPT_INT, "N", NULL, "PNG only: N image pixels for each, for sharp print (default: 1)", 1, 8},
    {"title", 0, OPT_STRING, "TEXT", NULL, "instead of the finding", 0, 0},
    OPT_RULES,
    SIMULATE_OPTIONS,
    {0}};

enum format { SVG, PNG, PDF, UNKNOWN };

static enum format format_of(const char *path)
{
    static const char *const endings[] = {".svg", ".png", ".pdf"};
    const size_t n = strlen(path);
    if (strcmp(path, "-") == 0)
        return SVG;
    for (size_t i = 0; i < 3; i++)
        if (n > 4 && strcmp(path + n - 4, endings[i]) == 0)
            return (enum format)i;
    return UNKNOWN;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(path, "-") == 0 ? "standard input" : slash ? slash + 1 : path;
}

static enum msnap_status write_scene(const struct msnap_scene *scene, enum format format, double scale,
                                     struct msnap_sink *sink, struct msnap_error *err)
{
    switch (format) {
    case PNG:
        return msnap_scene_write_png(scene, scale, sink, err);
    case PDF:
        return msnap_scene_write_pdf(scene, sink, err);
    case SVG:
    case UNKNOWN:
        msnap_scene_write_svg(scene, sink);
        break;
    }
    return MSNAP_OK;
}

/* Whether most of what is allocated at the peak has a category. */
static bool is_told_apart(const struct msnap_history *h)
{
    uint64_t bytes[MSNAP_MAX_CATEGORIES];
    msnap_classes_sum(h, h->classes, h->peak.event, bytes);
    return bytes[MSNAP_UNKNOWN] < h->peak.totals.allocated / 2;
}

static bool is_of_a_moment(enum msnap_plot_kind kind) { return kind == MSNAP_PLOT_SEGMENTS || kind == MSNAP_PLOT_FLAME; }

/* Options that the kind has no use for are mistakes, not to be passed over. */
static int check_kind(const struct cli *cli)
{
    static const char *const over_time[] = {"x", "from", "to"};
    static const char *const simulated[] = {"conf", "limit", "capacity", "no-caching", "no-limit"};
    const enum msnap_plot_kind kind = (enum msnap_plot_kind)cli_choice(cli, "kind", MSNAP_PLOT_TIMELINE);
    const char *word = kind_words[kind];
    for (size_t i = 0; i < 3; i++)
        if (is_of_a_moment(kind) && cli_given(cli, over_time[i]))
            return cli_usage(cli->command, "--%s is for pictures over time; --kind %s shows a moment: --at", over_time[i], word);
    if (!is_of_a_moment(kind) && cli_given(cli, "at"))
        return cli_usage(cli->command, "--at is for --kind segments and flame; --kind %s shows all of the time", word);
    for (size_t i = 0; i < sizeof simulated / sizeof *simulated; i++)
        if (kind != MSNAP_PLOT_RESERVED && cli_given(cli, simulated[i]))
            return cli_usage(cli->command, "--%s is for --kind reserved, which shows the simulated run beside the recorded one", simulated[i]);
    if (kind == MSNAP_PLOT_FLAME && (cli_given(cli, "by") || cli_given(cli, "top")))
        return cli_usage(cli->command, "--kind flame shows every call stack; --by and --top are for the other kinds");
    return EXIT_FINE;
}

/* The reserved bytes of a run under other settings, where one is asked for. */
static int simulate(const struct cli *cli, const char *path, const struct msnap_history *h, struct msnap_arena *arena,
                    struct msnap_plot *plot)
{
    const struct msnap_requests *r;
    struct msnap_sim_config config;
    struct msnap_sim_result result;
    struct msnap_error err = {0};
    struct msnap_sim_options o = {0};
    if (!cli_given(cli, "conf") && !cli_given(cli, "limit") && !cli_given(cli, "capacity") && !cli_given(cli, "no-caching") &&
        !cli_given(cli, "no-limit"))
        return EXIT_FINE;
    if (!h->device->n_events)
        return cli_error(EXIT_INPUT, path, "there are no events to simulate: record with torch.cuda.memory._record_memory_history() before the run");
    const int code = simulate_config(cli, path, h, arena, &config, &o.follow_recorded_addresses);
    if (code != EXIT_FINE)
        return code;
    o.reserved_series = msnap_arena_alloc(arena, h->device->n_events, sizeof *o.reserved_series);
    if (!o.reserved_series)
        return cli_error(EXIT_MACHINE, path, "no memory");
    if (msnap_requests_build(h, arena, &r, &err) != MSNAP_OK || msnap_simulate(r, &config, &o, &result, &err) != MSNAP_OK)
        return err.status == MSNAP_EUSAGE ? cli_usage(cli->command, "%s", err.text) : cli_fail(cli, path, &err);
    if (result.estimated)
        cli_note(cli, "this is another allocator than PyTorch's own: the simulated line is an estimate");
    plot->simulated = o.reserved_series;
    plot->simulated_oom = result.oom ? result.oom_event : MSNAP_NO_EVENT;
    plot->simulated_label = cli_given(cli, "no-caching")                       ? "PYTORCH_NO_CUDA_MEMORY_CACHING=1 (an estimate)"
                            : !cli_given(cli, "conf")                          ? "the recorded settings"
                            : cli_text(cli, "conf")[0] == '\0'                ? "the default settings"
                                                                               : cli_text(cli, "conf");
    return EXIT_FINE;
}

/* Draws one device into `out`; the exit code. */
static int draw(const struct cli *cli, const struct msnap_snapshot *s, const struct msnap_device *device,
                const struct msnap_user_rules *rules, struct msnap_arena *arena, struct output *out)
{
    const char *path = cli->operands[0];
    const enum msnap_plot_kind kind = (enum msnap_plot_kind)cli_choice(cli, "kind", MSNAP_PLOT_TIMELINE);
    struct msnap_error err = {0};
    struct msnap_history h;
    struct msnap_steps steps;
    struct msnap_classes classes;
    struct msnap_scene scene;
    struct moment moments[MAX_MOMENTS];
    int64_t first, last;

    if (msnap_history_build(s, device, 0, arena, &h, &err) != MSNAP_OK)
        return cli_fail(cli, path, &err);
    struct msnap_plot plot = msnap_plot_default(&h, kind);
    plot.by = cli_given(cli, "by") ? (int)cli_choice(cli, "by", 0) : MSNAP_PLOT_BY_AUTO;
    if (plot.by == MSNAP_BY_CATEGORY || !is_of_a_moment(kind)) {
        if (msnap_steps_build(&h, arena, &steps, &err))
            return cli_fail(cli, path, &err);
        plot.steps = &steps;
    }
    if (plot.by == MSNAP_BY_CATEGORY || (kind == MSNAP_PLOT_TIMELINE && plot.by == MSNAP_PLOT_BY_AUTO)) {
        if (msnap_classify(&h, &steps, rules, arena, &classes, &err))
            return cli_fail(cli, path, &err);
        h.classes = &classes;
        if (plot.by == MSNAP_PLOT_BY_AUTO && is_told_apart(&h))
            plot.by = MSNAP_BY_CATEGORY;
    }
    plot.x = (enum msnap_plot_x)cli_choice(cli, "x", MSNAP_PLOT_X_AUTO);
    plot.top = (size_t)cli_int(cli, "top", (int64_t)plot.top);
    plot.width = (float)cli_int(cli, "width", (int64_t)plot.width);
    plot.height = (float)cli_int(cli, "height", (int64_t)plot.height);
    plot.fit = !cli_given(cli, "height");
    plot.title = cli_text(cli, "title");
    plot.source = base_name(path);
    const int simulated = simulate(cli, path, &h, arena, &plot);
    if (simulated != EXIT_FINE)
        return simulated;
    if (is_of_a_moment(kind)) {
        const int code = moments_of(cli, path, &h, "peak", kind == MSNAP_PLOT_SEGMENTS ? MSNAP_PLOT_MAX_MOMENTS : 1, moments, &plot.n_moments);
        if (code != EXIT_FINE)
            return code;
        for (size_t i = 0; i < plot.n_moments; i++)
            plot.moments[i] = (struct msnap_plot_moment){moments[i].event, moments[i].word};
    }
    if (cli_given(cli, "from") || cli_given(cli, "to")) {
        const int code = window_of(cli, path, &h, &first, &last);
        if (code != EXIT_FINE)
            return code;
        if (last < first)
            return cli_error(EXIT_USAGE, path, "no events lie between --from and --to");
        plot.window = (struct msnap_window){(uint32_t)first, (uint32_t)last};
    }
    if (msnap_plot_draw(&h, &plot, arena, &scene, &err) != MSNAP_OK)
        return err.status == MSNAP_EUSAGE ? cli_error(EXIT_USAGE, path, "%s", err.text) : cli_fail(cli, path, &err);
    if (write_scene(&scene, format_of(cli_text(cli, "output")), (double)cli_int(cli, "scale", 1), &out->sink, &err))
        return err.status == MSNAP_EIO && out->error ? EXIT_FINE /* output_close says why */ : cli_fail(cli, path, &err);
    return EXIT_FINE;
}

static int run(struct cli *cli)
{
    const char *path = cli->operands[0], *picture = cli_text(cli, "output");
    static const struct msnap_device empty = {0}; /* a file of nothing gives a picture of nothing */
    const struct msnap_device *device = NULL;
    struct msnap_snapshot *s;
    struct rules_file rules;
    struct output out;

    int code = window_check(cli);
    if (code == EXIT_FINE)
        code = check_kind(cli);
    if (code != EXIT_FINE)
        return code;
    if (!picture)
        return cli_usage(cli->command, "name the picture with -o: peak.svg, peak.png or peak.pdf");
    const enum format format = format_of(picture);
    if (format == UNKNOWN)
        return cli_usage(cli->command, "%s: pictures end in .svg, .png or .pdf", picture);
    if (cli_given(cli, "scale") && format != PNG)
        return cli_usage(cli->command, "--scale is for PNG; SVG and PDF are sharp at any size");
    if (format != SVG && !msnap_render_has_cairo())
        return cli_error(EXIT_MACHINE, picture,
                         "this memsnap was built without cairo: it draws SVG; name the picture .svg, or build it with cairo");
    code = output_open(cli, &out);
    if (code != EXIT_FINE)
        return code;
    code = rules_open(cli, &rules);
    if (code == EXIT_FINE)
        code = cli_open(cli, path, &s);
    if (code != EXIT_FINE) {
        rules_close(&rules);
        return output_close(cli, &out, code);
    }
    code = cli_device(cli, path, s, &device);
    if (code == EXIT_FINE && !device) {
        cli_note(cli, "%s has neither events nor segments: the picture is empty", path);
        device = &empty;
    }
    if (code == EXIT_FINE) {
        struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
        code = arena ? draw(cli, s, device, &rules.rules, arena, &out) : cli_error(EXIT_MACHINE, path, "no memory");
        msnap_arena_free(arena);
    }
    msnap_snapshot_free(s);
    rules_close(&rules);
    return output_close(cli, &out, code);
}

const struct command command_plot = {
    .name = "plot",
    .summary = "Memory over time or at a moment as a picture: SVG, PNG or PDF",
    .operands = "FILE -o PICTURE",
    .about =
        "Kinds: timeline (allocated bytes, stacked by who holds them at the peak, under the line of\n"
        "what is reserved), reserved (reserved, active, allocated and requested bytes), segments (the\n"
        "segments at a moment or at several, and the blocks in them by state or --by group), flame\n"
        "(the bytes allocated at a moment by call stack). With --conf, --limit or --capacity the reserved\n"
        "kind also shows what a run under those settings would reserve, as `memsnap simulate` finds it.\n\n"
        "Over time, each column of pixels shows its highest moment: no peak is lost, however short.\n"
        "Memory from before the recording is the grey base. The ending of PICTURE chooses the format;\n"
        "resting the pointer on a shape of an SVG says what it is. Segments and flame are as high as\n"
        "what they show unless --height is given. docs/pictures.md tells how to read them.\n",
    .examples = "  memsnap plot run.pickle -o peak.svg\n"
                "  memsnap plot run.pickle --by stack --from 12.5s --to 14s -o step.png --scale 2\n"
                "  memsnap plot run.pickle --kind reserved --conf expandable_segments:True -o whatif.svg\n"
                "  memsnap plot run.pickle --kind segments --at peak,end -o segments.svg\n"
                "  memsnap plot run.pickle --kind flame --at oom -o flame.svg\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_OUTPUT | TAKES_SNAPSHOT,
    .opts = options,
    .run = run};
