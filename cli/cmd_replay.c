/* cmd_replay.c -- `memsnap replay`: the recorded sequence on a real GPU, or a modelled one. */
#include "commands.h"
#include "figures.h"
#include "json.h"
#include "term.h"

#include <memsnap/replay.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const modes[] = {"segments", "allocator", "async", "direct", NULL};
static const char *const paces[] = {"fast", "recorded", NULL};
static const struct opt options[] = {
    {.name = "device", .kind = OPT_INT, .arg = "N", .help = "the GPU (default: 0)", .min = 0, .max = 1023},
    {.name = "source-device", .kind = OPT_INT, .arg = "N", .help = "the file's device (default: the one with most reserved bytes)", .min = 0, .max = 65535},
    {.name = "mode", .kind = OPT_CHOICE, .choices = modes, .help = "segments: what the recording asked of the driver (default); allocator: the simulated\nallocator under --conf; async: the stream-ordered allocator; direct: each\nallocation a driver call"},
    {.name = "conf", .kind = OPT_STRING, .arg = "STRING", .help = "allocator mode: settings as in PYTORCH_CUDA_ALLOC_CONF (default: the recorded ones)"},
    {.name = "capacity", .kind = OPT_SIZE, .arg = "SIZE", .help = "pretend that the card has this much (default: as full as at the recorded OOM)"},
    {.name = "limit", .kind = OPT_SIZE, .arg = "SIZE", .help = "the process's limit (default: the lower end of the range that the recording shows)"},
    {.name = "no-ballast", .kind = OPT_FLAG, .help = "the bare card"},
    {.name = "touch", .kind = OPT_FLAG, .help = "fill every block and verify it when it is freed: no two live blocks overlap"},
    {.name = "pace", .kind = OPT_CHOICE, .choices = paces, .help = "as fast as it goes (default), or in the recorded time"},
    {.name = "dry-run", .kind = OPT_FLAG, .help = "a modelled device of --capacity (default 80 GiB); needs no GPU"},
    {0}};

/* The one flag that a signal handler can set. */
static volatile sig_atomic_t interrupted;
static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

struct display {
    bool shown;
    double begun, last;
};

static int progress(void *ctx, uint64_t event, uint64_t n, uint64_t held)
{
    struct display *d = ctx;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double t = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    if (d->begun == 0)
        d->begun = t;
    if (isatty(2) && t - d->begun > 1 && t - d->last > 0.16) {
        char size[24], line[160];
        int k = snprintf(line, sizeof line, "\r\033[Kreplaying event %" PRIu64 " of %" PRIu64 ", %.0f events/s, %s held", event, n, (double)event / (t - d->begun),
                         msnap_format_bytes(size, held));
        if (k > 0 && write(2, line, (size_t)k) < 0)
            d->shown = false;
        d->last = t;
        d->shown = true;
    }
    return interrupted;
}

static void put_oom(struct msnap_sink *t, const char *label, bool any, uint32_t event, uint64_t requested, const char *none)
{
    char count[32], size[24];
    if (any)
        msnap_putf(t, "  %-12s out of memory at event %s, %s asked\n", label, format_count(count, event), msnap_format_bytes(size, requested));
    else
        msnap_putf(t, "  %-12s %s\n", label, none);
}

static void put_text(struct output *out, const struct msnap_gpu *g, const char *mode, const struct msnap_replay_result *r, bool touch)
{
    struct msnap_sink *t = &out->sink;
    char a[24], b[24], n[32];
    msnap_put_terminal(t, g->name, strlen(g->name));
    msnap_putf(t, ", %s in all, %s free at the start, mode %s\n", msnap_format_bytes(a, g->total_bytes), msnap_format_bytes(b, r->free_at_start_bytes), mode);
    if (r->context_bytes > UINT64_C(3) << 30)
        msnap_putf(t, "  Warning: %s were in use before: other processes share this card.\n", msnap_format_bytes(a, r->context_bytes));
    if (r->ballast_bytes)
        msnap_putf(t, "  %s of ballast make the card as full as it was.\n", msnap_format_bytes(a, r->ballast_bytes));
    put_oom(t, "recorded:", r->recorded_oom, r->recorded_oom_event, r->recorded_oom_requested, "no out of memory that ended it");
    put_oom(t, "here:", r->oom, r->oom_event, r->oom_requested, "everything was served");
    msnap_puts(t, "  ");
    if (r->reproduced == 1)
        term_put(t, out->color, STYLE_BAD, r->limited ? "Reproduced: it fails again at the same event, by the process's limit." : "Reproduced: it fails again at the same event, by the device's own refusal.");
    else if (r->reproduced < 0)
        term_put(t, out->color, STYLE_GOOD, "It fits, as recorded.");
    else if (!r->oom)
        term_put(t, out->color, STYLE_GOOD, "Not reproduced: what failed in the recording is served here.");
    else
        term_put(t, out->color, STYLE_WARN, "Not reproduced: it fails here, but not where the recording did.");
    msnap_puts(t, "\n");
    msnap_putf(t, "  peak held %s, context and others %s; %s events in %.3f s\n", msnap_format_bytes(a, r->peak_held_bytes), msnap_format_bytes(b, r->context_bytes),
               format_count(n, r->events_issued), r->seconds);
    if (touch)
        msnap_putf(t, "  blocks whose pattern was gone when they were freed: %" PRIu64 "%s\n", r->overlaps, r->overlaps ? "" : ", so no two live blocks overlap");
    msnap_putf(t, "  %-8s %9s %11s %11s %11s\n", "call", "count", "median us", "p99 us", "max us");
    for (int k = 0; k < MSNAP_N_CALLS; k++)
        if (r->calls[k].count)
            msnap_putf(t, "  %-8s %9" PRIu64 " %11.1f %11.1f %11.1f\n", msnap_call_name((enum msnap_call)k), r->calls[k].count, r->calls[k].median, r->calls[k].p99, r->calls[k].max);
}

static void add_oom(struct json *j, const char *key, bool any, uint32_t event, uint64_t requested)
{
    if (!any) {
        json_null(j, j->root, key);
        return;
    }
    cJSON *o = json_object(j, j->root, key);
    json_u64(j, o, "event", event);
    json_u64(j, o, "requested_bytes", requested);
}

static int put_json(struct msnap_sink *out, const char *path, const struct msnap_gpu *g, const char *mode, const struct msnap_replay_result *r)
{
    struct json j;
    char version[32];
    json_start(&j, "memsnap.replay/1");
    json_text(&j, j.root, "file", path, strlen(path));
    cJSON *d = json_object(&j, j.root, "device");
    json_text(&j, d, "name", g->name, strlen(g->name));
    json_u64(&j, d, "total_bytes", g->total_bytes);
    json_u64(&j, d, "free_at_start_bytes", r->free_at_start_bytes);
    if (g->driver_version) {
        snprintf(version, sizeof version, "%d.%d", g->driver_version / 1000, g->driver_version % 1000 / 10);
        json_text(&j, d, "driver", version, strlen(version));
    } else {
        json_null(&j, d, "driver");
    }
    json_text(&j, j.root, "mode", mode, strlen(mode));
    json_u64(&j, j.root, "events_issued", r->events_issued);
    add_oom(&j, "oom", r->oom, r->oom_event, r->oom_requested);
    add_oom(&j, "recorded_oom", r->recorded_oom, r->recorded_oom_event, r->recorded_oom_requested);
    if (r->reproduced < 0)
        json_null(&j, j.root, "reproduced");
    else
        json_bool(&j, j.root, "reproduced", r->reproduced == 1);
    json_bool(&j, j.root, "by_limit", r->oom && r->limited);
    json_u64(&j, j.root, "peak_reserved_bytes", r->peak_held_bytes);
    json_u64(&j, j.root, "context_bytes", r->context_bytes);
    json_u64(&j, j.root, "ballast_bytes", r->ballast_bytes);
    json_u64(&j, j.root, "overlaps", r->overlaps);
    json_double(&j, j.root, "seconds", r->seconds);
    cJSON *calls = json_object(&j, j.root, "call_us");
    for (int k = 0; k < MSNAP_N_CALLS; k++) {
        if (!r->calls[k].count)
            continue;
        cJSON *c = json_object(&j, calls, msnap_call_name((enum msnap_call)k));
        json_u64(&j, c, "count", r->calls[k].count);
        json_double(&j, c, "median", r->calls[k].median);
        json_double(&j, c, "p99", r->calls[k].p99);
        json_double(&j, c, "max", r->calls[k].max);
        json_double(&j, c, "sum", r->calls[k].sum);
    }
    return json_finish(&j, out);
}

static int replay(struct cli *cli, struct output *out, const char *path, const struct msnap_history *h, struct msnap_gpu *g)
{
    struct msnap_sim_config config;
    struct msnap_replay_result result;
    struct msnap_error err = {0};
    struct display display = {false, 0, 0};
    struct msnap_replay_options o = {.mode = (enum msnap_replay_mode)cli_choice(cli, "mode", 0), .capacity_bytes = cli_given(cli, "dry-run") ? 0 : cli_size(cli, "capacity", 0),
                                     .limit_bytes = cli_size(cli, "limit", 0), .no_ballast = cli_given(cli, "no-ballast"), .touch = cli_given(cli, "touch"),
                                     .recorded_pace = cli_choice(cli, "pace", 0) == 1, .progress = progress, .progress_ctx = &display};
    if (cli_given(cli, "conf")) {
        if (o.mode != MSNAP_REPLAY_ALLOCATOR)
            return cli_usage(cli->command, "--conf is for --mode allocator");
        if (msnap_sim_config_parse(cli_text(cli, "conf"), strlen(cli_text(cli, "conf")), &config, &err) != MSNAP_OK)
            return cli_usage(cli->command, "--conf: %s", err.text);
        o.config = &config;
    }
    struct sigaction act = {.sa_handler = on_signal}, old_int, old_term;
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, &old_int);
    sigaction(SIGTERM, &act, &old_term);
    const enum msnap_status st = msnap_replay_run(h, g, &o, &result, &err);
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    if (display.shown && write(2, "\r\033[K", 4) < 0)
        display.shown = false;
    if (st == MSNAP_ECANCELLED)
        return cli_error(EXIT_MACHINE, path, "stopped; everything that was taken has been given back");
    if (st == MSNAP_EUSAGE)
        return cli_usage(cli->command, "%s", err.text);
    if (st != MSNAP_OK)
        return cli_fail(cli, path, &err);
    int code = EXIT_FINE;
    if (cli_given(cli, "json"))
        code = put_json(&out->sink, path, g, modes[o.mode], &result);
    else
        put_text(out, g, modes[o.mode], &result, o.touch);
    return code == EXIT_FINE && result.reproduced == 1 ? EXIT_IS_SO : code;
}

static int run(struct cli *cli)
{
    const char *path = cli->operands[0];
    const struct msnap_device *device = NULL;
    struct msnap_snapshot *s;
    struct msnap_history h;
    struct msnap_gpu gpu;
    struct msnap_error err = {0};
    struct output out;
    int code = output_open(cli, &out);
    if (code != EXIT_FINE)
        return code;
    code = cli_open(cli, path, &s);
    if (code != EXIT_FINE)
        return output_close(cli, &out, code);
    device = cli_given(cli, "source-device") ? msnap_device_find(s, (int32_t)cli_int(cli, "source-device", 0)) : msnap_device_default(s);
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    if (!arena)
        code = cli_error(EXIT_MACHINE, path, "no memory");
    else if (!device && cli_given(cli, "source-device"))
        code = cli_error(EXIT_USAGE, path, "the file has no such device; `memsnap info` lists those it has");
    else if (!device || !device->n_events)
        code = cli_error(EXIT_INPUT, path, "there are no events to replay: record with torch.cuda.memory._record_memory_history() before the run");
    else if (msnap_history_build(s, device, 0, arena, &h, &err) != MSNAP_OK)
        code = cli_fail(cli, path, &err);
    if (code == EXIT_FINE) {
        const enum msnap_status st = cli_given(cli, "dry-run") ? msnap_gpu_model(cli_size(cli, "capacity", UINT64_C(80) << 30), UINT64_C(512) << 20, 0, msnap_mem_default(), &gpu, &err)
                                                               : msnap_gpu_open((int)cli_int(cli, "device", 0), &gpu, &err);
        if (st != MSNAP_OK) {
            code = cli_fail(cli, NULL, &err);
        } else {
            code = replay(cli, &out, path, &h, &gpu);
            gpu.close(gpu.ctx);
        }
    }
    msnap_arena_free(arena);
    msnap_snapshot_free(s);
    return output_close(cli, &out, code);
}

const struct command command_replay = {
    .name = "replay",
    .summary = "The recorded sequence on a real GPU: see it fail again",
    .operands = "FILE",
    .about = "Issues what the recording asked of the CUDA driver again, on a GPU of this machine, and tells\n"
             "whether it runs out of memory at the same event: exit status 1 if it does. A card that was full is\n"
             "emulated by holding ballast; a limit on the process by the check that PyTorch makes. With\n"
             "--mode allocator --conf STRING the simulated allocator takes its memory from the card: does\n"
             "another setting survive here? Everything is given back, also on Ctrl-C.\n",
    .examples = "  memsnap replay --device 0 run.pickle\n"
                "  memsnap replay --mode allocator --conf expandable_segments:True run.pickle\n"
                "  memsnap replay --dry-run --capacity 80GiB run.pickle\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT | TAKES_COLOR,
    .opts = options,
    .run = run};
