/* cmd_info.c -- `memsnap info`: what is in the file, nothing interpreted. */
#include "commands.h"
#include "figures.h"
#include "json.h"
#include "term.h"
#include "text_buffer.h"

#include <memsnap/history.h>

#include <stdlib.h>
#include <string.h>

/* What is counted of one device. */
struct summary {
    const struct msnap_device *device;
    uint64_t by_action[256];
    uint64_t blocks, reserved_bytes, active_bytes, allocated_bytes;
    bool has_times;
    int64_t first_time_us, last_time_us;
    enum msnap_coverage coverage;
};

static enum msnap_status summarise(const struct msnap_snapshot *s, const struct msnap_device *device,
                                   struct summary *sum, struct msnap_error *err)
{
    *sum = (struct summary){.device = device};
    if (s->counts) {
        const struct msnap_device_counts *c = &s->counts[device - s->devices];
        memcpy(sum->by_action, c->by_action, sizeof sum->by_action);
        sum->has_times = c->has_time;
        sum->first_time_us = c->first_time_us;
        sum->last_time_us = c->last_time_us;
    } else {
        for (size_t i = 0; i < device->n_events; i++)
            sum->by_action[s->events.action[device->first_event + i]]++;
        sum->has_times = time_span(s, device, &sum->first_time_us, &sum->last_time_us);
    }
    for (size_t i = 0; i < device->n_segments; i++) {
        const size_t row = device->first_segment + i;
        sum->blocks += s->segments.n_blocks[row];
        sum->reserved_bytes += s->segments.total_size[row];
        sum->active_bytes += s->segments.active_size[row];
        sum->allocated_bytes += s->segments.allocated_size[row];
    }

    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    if (!arena) {
        *err = (struct msnap_error){.status = MSNAP_ENOMEM, .text = "no memory for the device's history"};
        return MSNAP_ENOMEM;
    }
    const enum msnap_status status = msnap_history_coverage(s, device, arena, &sum->coverage, err);
    msnap_arena_free(arena);
    return status;
}

static const char *const coverage_words[] = {
    [MSNAP_HISTORY_NONE] = "none", [MSNAP_HISTORY_CUT] = "cut", [MSNAP_HISTORY_COMPLETE] = "complete"};

static const char *action_word(const struct msnap_snapshot *s, size_t action)
{
    const char *name = action == MSNAP_OTHER_ACTION ? NULL : msnap_action_name(s, (uint8_t)action);

    return name ? name : "(no readable action)";
}

/* ---- JSON ---- */

static void add_torch(struct json *j, const struct msnap_snapshot *s)
{
    const struct msnap_settings *set = &s->settings;
    cJSON *torch = json_object(j, j->root, "torch");

    json_string(j, torch, "conf", s, set->conf);
    if (!set->known)
        return;
    if (set->max_split_size < 0)
        json_null(j, torch, "max_split_size_bytes");
    else
        json_i64(j, torch, "max_split_size_bytes", set->max_split_size);
    json_double(j, torch, "garbage_collection_threshold", set->gc_threshold);
    json_bool(j, torch, "expandable_segments", set->expandable_segments);
    cJSON *divisions = json_array(j, torch, "roundup_power2_divisions");
    for (size_t i = 0; i < sizeof set->divisions / sizeof set->divisions[0]; i++)
        json_u64(j, divisions, NULL, set->divisions[i]);
    if (set->ring_overflowed >= 0)
        json_bool(j, torch, "ring_overflowed", set->ring_overflowed != 0);
    if (set->ring_max_entries >= 0)
        json_i64(j, torch, "ring_max_entries", set->ring_max_entries);
}

/* Built as text: an unknown action's name is a key that the file chose. */
static void add_actions(struct json *j, cJSON *device, const struct msnap_snapshot *s,
                        const struct summary *sum)
{
    struct text_buffer text;
    bool first = true;

    text_buffer_init(&text);
    msnap_puts(&text.sink, "{");
    for (size_t a = 0; a < 256; a++) {
        if (!sum->by_action[a])
            continue;
        const char *word = action_word(s, a);
        msnap_puts(&text.sink, first ? "" : ",");
        msnap_put_json(&text.sink, word, strlen(word));
        msnap_puts(&text.sink, ":");
        msnap_put_u64(&text.sink, sum->by_action[a]);
        first = false;
    }
    msnap_puts(&text.sink, "}");
    json_raw(j, device, "by_action", text_buffer_finish(&text));
    text_buffer_free(&text);
}

static void add_device(struct json *j, cJSON *devices, const struct msnap_snapshot *s,
                       const struct summary *sum)
{
    cJSON *d = json_object(j, devices, NULL);

    json_i64(j, d, "device", sum->device->device);
    json_u64(j, d, "events", sum->device->n_events);
    add_actions(j, d, s, sum);
    json_u64(j, d, "segments", sum->device->n_segments);
    json_u64(j, d, "blocks", sum->blocks);
    json_u64(j, d, "reserved_bytes", sum->reserved_bytes);
    json_u64(j, d, "active_bytes", sum->active_bytes);
    json_u64(j, d, "allocated_bytes", sum->allocated_bytes);
    if (sum->has_times) {
        json_i64(j, d, "first_time_us", sum->first_time_us);
        json_i64(j, d, "last_time_us", sum->last_time_us);
    } else {
        json_null(j, d, "first_time_us");
        json_null(j, d, "last_time_us");
    }
    const char *word = coverage_words[sum->coverage];
    json_text(j, d, "history", word, strlen(word));
}

static void add_oddities(struct json *j, const struct msnap_snapshot *s)
{
    cJSON *list = json_array(j, j->root, "oddities");

    for (size_t i = 0; i < s->n_oddities; i++) {
        const struct msnap_oddity *o = &s->oddities[i];
        cJSON *item = json_object(j, list, NULL);
        json_text(j, item, "id", o->id, strlen(o->id));
        json_text(j, item, "meaning", o->meaning, strlen(o->meaning));
        json_u64(j, item, "count", o->count);
        json_string(j, item, "example", s, o->example);
    }
}

static int print_json(struct output *out, const char *path, const struct msnap_snapshot *s,
                      const struct summary *sums, size_t n)
{
    struct json j;

    json_start(&j, "memsnap.info/1");
    json_text(&j, j.root, "file", path, strlen(path));
    json_text(&j, j.root, "format", s->format, strlen(s->format));
    if (s->pickle_protocol >= 0)
        json_i64(&j, j.root, "pickle_protocol", s->pickle_protocol);
    else
        json_null(&j, j.root, "pickle_protocol");
    json_bool(&j, j.root, "gzip", s->was_gzip);
    json_u64(&j, j.root, "size_bytes", s->size_bytes);
    json_u64(&j, j.root, "inflated_bytes", s->inflated_bytes);
    json_u64(&j, j.root, "trailing_bytes", s->trailing_bytes);
    add_torch(&j, s);
    cJSON *devices = json_array(&j, j.root, "devices");
    for (size_t i = 0; i < n; i++)
        add_device(&j, devices, s, &sums[i]);
    json_u64(&j, j.root, "stacks", s->stacks.n_used);
    json_u64(&j, j.root, "frames", s->frames.n ? s->frames.n - 1 : 0);
    json_u64(&j, j.root, "annotations", s->annotations.n);
    add_oddities(&j, s);
    return json_finish(&j, &out->sink);
}

/* ---- text ---- */

static void put_label(struct output *out, const char *label)
{
    msnap_puts(&out->sink, "  ");
    term_put(&out->sink, out->color, STYLE_DIM, label);
    msnap_putf(&out->sink, "%*s", (int)(strlen(label) < 14 ? 14 - strlen(label) : 1), "");
}

static void put_settings(struct output *out, const struct msnap_snapshot *s)
{
    struct msnap_sink *t = &out->sink;
    const struct msnap_settings *set = &s->settings;

    put_label(out, "settings");
    if (!set->known) {
        msnap_puts(t, "not in the file (PyTorch before 2.3)\n");
        return;
    }
    if (set->conf && s->strings.len[set->conf])
        put_string(t, s, set->conf);
    else
        msnap_puts(t, "PyTorch's defaults");
    msnap_putf(t, "\n");
    if (set->ring_overflowed > 0) {
        put_label(out, "recording");
        msnap_puts(t, "its ring buffer overflowed: the oldest events are gone");
        if (set->ring_max_entries > 0) {
            msnap_puts(t, " (room for ");
            put_things(t, (uint64_t)set->ring_max_entries, "event");
            msnap_puts(t, ")");
        }
        msnap_puts(t, "\n");
    }
}

static void put_file(struct output *out, const char *path, const struct msnap_snapshot *s)
{
    struct msnap_sink *t = &out->sink;

    msnap_put_terminal(t, path, strlen(path));
    msnap_puts(t, "\n");
    put_label(out, "format");
    msnap_putf(t, "PyTorch %s", s->format);
    if (s->pickle_protocol >= 0)
        msnap_putf(t, ", pickle protocol %d", s->pickle_protocol);
    msnap_puts(t, "\n");
    put_label(out, "size");
    put_bytes(t, s->size_bytes);
    if (s->was_gzip) {
        msnap_puts(t, " (gzip; ");
        put_bytes(t, s->inflated_bytes);
        msnap_puts(t, " unpacked)");
    }
    msnap_puts(t, "\n");
    put_settings(out, s);
    put_label(out, "contents");
    put_things(t, s->stacks.n_used, "stack");
    msnap_puts(t, ", ");
    put_things(t, s->frames.n ? s->frames.n - 1 : 0, "frame");
    msnap_puts(t, ", ");
    put_things(t, s->annotations.n, "annotation");
    msnap_puts(t, "\n");
}

static void put_summary(struct output *out, const struct msnap_snapshot *s, const struct summary *sum)
{
    static const char *const history[] = {
        [MSNAP_HISTORY_NONE] = "none: the file has no events, only the state at the dump",
        [MSNAP_HISTORY_CUT] = "cut: memory was in use before the first event",
        [MSNAP_HISTORY_COMPLETE] = "complete: the events explain every segment"};
    struct msnap_sink *t = &out->sink;
    char duration[32];

    msnap_puts(t, "\n");
    put_device(t, sum->device);
    msnap_puts(t, "\n");
    put_label(out, "history");
    msnap_putf(t, "%s\n", history[sum->coverage]);
    put_label(out, "events");
    put_count(t, sum->device->n_events);
    if (sum->has_times) {
        msnap_puts(t, " from ");
        put_date(t, sum->first_time_us);
        if (sum->last_time_us >= sum->first_time_us)
            msnap_putf(
                t, ", over %s",
                msnap_format_duration(duration, (uint64_t)sum->last_time_us - (uint64_t)sum->first_time_us));
    }
    msnap_puts(t, "\n");
    for (size_t a = 0; a < 256; a++) {
        char count[32];
        if (!sum->by_action[a])
            continue;
        msnap_putf(t, "  %14s%12s  ", "", format_count(count, sum->by_action[a]));
        msnap_put_terminal(t, action_word(s, a), strlen(action_word(s, a)));
        msnap_puts(t, "\n");
    }
    put_label(out, "at the dump");
    put_bytes(t, sum->reserved_bytes);
    msnap_puts(t, " reserved in ");
    put_things(t, sum->device->n_segments, "segment");
    msnap_puts(t, ", ");
    put_bytes(t, sum->active_bytes);
    msnap_puts(t, " active, ");
    put_bytes(t, sum->allocated_bytes);
    msnap_puts(t, " allocated, ");
    put_things(t, sum->blocks, "block");
    msnap_puts(t, "\n");
}

static void put_oddities(struct output *out, const struct msnap_snapshot *s)
{
    struct msnap_sink *t = &out->sink;

    if (!s->n_oddities && !s->trailing_bytes)
        return;
    msnap_puts(t, "\nOddities\n");
    for (size_t i = 0; i < s->n_oddities; i++) {
        const struct msnap_oddity *o = &s->oddities[i];
        char count[32];
        msnap_putf(t, "  %12s  %s", format_count(count, o->count), o->meaning);
        if (o->example) {
            msnap_puts(t, ", e.g. \"");
            put_string(t, s, o->example);
            msnap_puts(t, "\"");
        }
        msnap_puts(t, "\n");
    }
    if (s->trailing_bytes) {
        char count[32];
        msnap_putf(t, "  %12s  bytes after the end of the pickle, which were not read\n",
                   format_count(count, s->trailing_bytes));
    }
}

static int print(const struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s)
{
    struct summary *sums = calloc(s->n_devices + 1, sizeof *sums);
    struct msnap_error err = {0};
    size_t n = 0;
    int code = EXIT_FINE;

    if (!sums)
        return cli_error(EXIT_MACHINE, path, "no memory");
    for (size_t i = 0; i < s->n_devices && code == EXIT_FINE; i++)
        if (cli_wants_device(cli, &s->devices[i]) &&
            summarise(s, &s->devices[i], &sums[n++], &err) != MSNAP_OK)
            code = cli_fail(cli, path, &err);
    if (code != EXIT_FINE) {
        ; /* said already */
    } else if (cli_given(cli, "json")) {
        code = print_json(out, path, s, sums, n);
    } else {
        put_file(out, path, s);
        for (size_t i = 0; i < n; i++)
            put_summary(out, s, &sums[i]);
        if (!n)
            msnap_puts(&out->sink,
                       "\nNo device has events or segments: nothing was recorded, and nothing was in use.\n");
        put_oddities(out, s);
    }
    free(sums);
    return code;
}

static int run(struct cli *cli)
{
    const char *path = cli->operands[0];
    const struct msnap_device *device;
    struct msnap_snapshot *s;
    struct output out;

    int code = output_open(cli, &out);
    if (code != EXIT_FINE)
        return code;
    code = cli_open_counts(cli, path, &s);
    if (code != EXIT_FINE)
        return output_close(cli, &out, code);
    code = cli_given(cli, "device") ? cli_device(cli, path, s, &device) : EXIT_FINE;
    if (code == EXIT_FINE)
        code = print(cli, &out, path, s);
    msnap_snapshot_free(s);
    return output_close(cli, &out, code);
}

const struct command command_info = {
    .name = "info",
    .summary = "What is in the file, nothing interpreted",
    .operands = "FILE",
    .about = "Format, size, PyTorch's allocator settings, and for each device its events by action,\n"
             "its segments and blocks at the dump, and the span of time. Devices that have neither\n"
             "events nor segments are not listed.\n\n"
             "The history is \"complete\" where undoing all events leaves no segment, \"cut\" where the\n"
             "recording began late or its ring buffer dropped the beginning, and \"none\" without events.\n",
    .examples = "  memsnap info run.pickle\n"
                "  memsnap info --json run.pickle.gz\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT | TAKES_COLOR,
    .run = run};
