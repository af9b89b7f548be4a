/* cmd_lines.c -- `memsnap lines`: the loop's lines in the order they ran, with the memory after each. */
#include "commands.h"
#include "figures.h"
#include "json.h"
#include "place.h"
#include "term.h"
#include "text_buffer.h"

#include <memsnap/lines.h>
#include <memsnap/steps.h>

#include <inttypes.h>
#include <string.h>

static const struct opt options[] = {
    {.name = "step", .kind = OPT_INT, .arg = "N", .help = "the step (default: 1); 0: the set-up before the first step", .min = 0, .max = INT32_MAX},
    {.name = "all", .kind = OPT_FLAG, .help = "also lines that allocate nothing and change less than 1 MiB"},
    {0}};

/* The events of the step; EXIT_FINE, or prints and returns. */
static int window(struct cli *cli, const char *path, const struct msnap_history *h, const struct msnap_steps *steps, uint32_t *first, uint32_t *last)
{
    int64_t want = cli_int(cli, "step", 1);
    *first = 0;
    *last = msnap_last_event(h);
    if (!steps->n) {
        if (want == 0 || !cli_given(cli, "step"))
            return EXIT_FINE; /* no loop: the whole recording is one run of lines */
        return cli_error(EXIT_USAGE, path, "--step %d: no steps were found in this recording; leave --step out for all of it", (int)want);
    }
    if (want == 0) {
        if (steps->steps[0].first == 0)
            return cli_error(EXIT_USAGE, path, "--step 0: nothing was recorded before the first step");
        *last = steps->steps[0].first - 1;
        return EXIT_FINE;
    }
    for (size_t i = 0; i < steps->n; i++)
        if (steps->steps[i].number == (uint64_t)want) {
            *first = steps->steps[i].first;
            *last = steps->steps[i].last;
            return EXIT_FINE;
        }
    return cli_error(EXIT_USAGE, path, "--step %d: the recording has steps %" PRIu64 " to %" PRIu64, (int)want, steps->steps[0].number, steps->steps[steps->n - 1].number);
}

static bool shown(const struct cli *cli, const struct msnap_line_run *u)
{
    const int64_t small = 1 << 20;
    return cli_given(cli, "all") || u->allocs || u->change_bytes >= small || u->change_bytes <= -small;
}

static void put_text(struct cli *cli, struct output *out, const struct msnap_history *h, const struct msnap_lines *l, bool steps)
{
    struct msnap_sink *t = &out->sink;
    char a[24], b[24], c[24];
    put_device(t, h->device);
    if (steps)
        msnap_putf(t, ", step %d", (int)cli_int(cli, "step", 1));
    if (!l->function) {
        msnap_puts(t, ": no line of user code was recorded (record with context=\"all\")\n");
        return;
    }
    msnap_puts(t, ", lines of ");
    put_string(t, h->snapshot, l->function);
    msnap_putf(t, "; %s allocated before\n", msnap_format_bytes(a, l->before_bytes));
    msnap_putf(t, "  %12s %13s %12s %8s   %s\n", "after", "change", "highest", "allocs", "line");
    for (size_t i = 0; i < l->n; i++) {
        const struct msnap_line_run *u = &l->runs[i];
        if (!shown(cli, u))
            continue;
        uint64_t size = u->change_bytes < 0 ? (uint64_t)-u->change_bytes : (uint64_t)u->change_bytes;
        msnap_putf(t, "  %12s %c%12s %12s %8" PRIu64 "   ", msnap_format_bytes(a, u->after_bytes), u->change_bytes < 0 ? '-' : u->change_bytes ? '+' : ' ',
                   msnap_format_bytes(b, size), msnap_format_bytes(c, u->highest_bytes), u->allocs);
        if (u->frame)
            place_put_frame(t, h->snapshot, u->frame, 50);
        else
            msnap_puts(t, "(before the first line that is known)");
        if (u->other_thread) {
            msnap_puts(t, " > (work without Python frames that it waited for)");
        } else if (u->call) {
            msnap_puts(t, " > ");
            if (msnap_frame_is_user(h->snapshot, u->call))
                place_put_frame(t, h->snapshot, u->call, 50);
            else
                put_string(t, h->snapshot, h->snapshot->frames.name[u->call]);
        }
        msnap_puts(t, "\n");
    }
}

static int put_json(struct cli *cli, struct msnap_sink *out, const char *path, const struct msnap_history *h, const struct msnap_lines *l)
{
    struct json j;
    json_start(&j, "memsnap.lines/1");
    json_text(&j, j.root, "file", path, strlen(path));
    json_i64(&j, j.root, "device", h->device->device);
    json_i64(&j, j.root, "step", cli_int(cli, "step", 1));
    json_string(&j, j.root, "function", h->snapshot, l->function);
    json_u64(&j, j.root, "allocated_before_bytes", l->before_bytes);
    cJSON *list = json_array(&j, j.root, "lines");
    for (size_t i = 0; i < l->n; i++) {
        const struct msnap_line_run *u = &l->runs[i];
        struct text_buffer text;
        if (!shown(cli, u))
            continue;
        cJSON *item = json_object(&j, list, NULL);
        text_buffer_init(&text);
        place_put_json(&text.sink, h->snapshot, u->frame);
        json_raw(&j, item, "line", text_buffer_finish(&text));
        text_buffer_free(&text);
        if (u->call)
            json_string(&j, item, "call", h->snapshot, h->snapshot->frames.name[u->call]);
        else
            json_null(&j, item, "call");
        json_bool(&j, item, "other_thread", u->other_thread);
        json_u64(&j, item, "first_event", u->first);
        json_u64(&j, item, "last_event", u->last);
        json_u64(&j, item, "allocated_after_bytes", u->after_bytes);
        json_i64(&j, item, "change_bytes", u->change_bytes);
        json_u64(&j, item, "highest_bytes", u->highest_bytes);
        json_u64(&j, item, "allocs", u->allocs);
        json_u64(&j, item, "allocated_bytes", u->allocated_bytes);
    }
    return json_finish(&j, out);
}

static int run_on(struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s, const struct msnap_device *device)
{
    struct msnap_history h;
    struct msnap_steps steps;
    struct msnap_lines lines;
    struct msnap_error err = {0};
    uint32_t first, last;
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    if (!arena)
        return cli_error(EXIT_MACHINE, path, "no memory");
    int code = EXIT_FINE;
    if (msnap_history_build(s, device, 0, arena, &h, &err) != MSNAP_OK || msnap_steps_build(&h, arena, &steps, &err) != MSNAP_OK)
        code = cli_fail(cli, path, &err);
    if (code == EXIT_FINE)
        code = window(cli, path, &h, &steps, &first, &last);
    if (code == EXIT_FINE && msnap_lines_build(&h, first, last, arena, &lines, &err) != MSNAP_OK)
        code = cli_fail(cli, path, &err);
    if (code == EXIT_FINE && cli_given(cli, "json"))
        code = put_json(cli, &out->sink, path, &h, &lines);
    else if (code == EXIT_FINE)
        put_text(cli, out, &h, &lines, steps.n != 0);
    msnap_arena_free(arena);
    return code;
}

static int run(struct cli *cli)
{
    const char *path = cli->operands[0];
    const struct msnap_device *device = NULL;
    struct msnap_snapshot *s;
    struct output out;
    int code = output_open(cli, &out);
    if (code != EXIT_FINE)
        return code;
    code = cli_open(cli, path, &s);
    if (code != EXIT_FINE)
        return output_close(cli, &out, code);
    code = cli_device(cli, path, s, &device);
    if (code == EXIT_FINE && (!device || !device->n_events))
        code = cli_error(EXIT_INPUT, path, "there are no events, so no lines ran: record with torch.cuda.memory._record_memory_history() before the run");
    if (code == EXIT_FINE)
        code = run_on(cli, &out, path, s, device);
    msnap_snapshot_free(s);
    return output_close(cli, &out, code);
}

const struct command command_lines = {
    .name = "lines",
    .summary = "The lines of the training loop in the order they ran, with the memory after each",
    .operands = "FILE",
    .about = "What a line profiler would print, from a snapshot: for one step the lines of the function that\n"
             "contains the loop, what was allocated after each, the change and the highest within. Work of\n"
             "other threads (the backward pass) belongs to the line that waits for it. --step 0 is the set-up.\n",
    .examples = "  memsnap lines --step 1 run.pickle\n"
                "  memsnap lines --step 0 --json run.pickle\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT | TAKES_COLOR,
    .opts = options,
    .run = run};
