/* cmd_peak.c -- `memsnap peak`: what is allocated at the peak, or at another moment, in rows that add up. */
#include "commands.h"
#include "group_words.h"
#include "moment.h"
#include "rules_file.h"

#include "figures.h"
#include "term.h"

#include <string.h>

enum { USUAL_ROWS = 20 };

static const struct opt options[] = {
    MOMENT_OPTION,
    {.name = "by", .letter = 'b', .kind = OPT_CHOICE, .choices = group_words,
     .help = "what a row gathers (default: line where your code is in\nthe stacks, else stack)"},
    {.name = "top", .letter = 'n', .kind = OPT_INT, .arg = "N", .min = 1, .max = 1000000,
     .help = "rows shown one by one (default: 20; with --json all)"},
    OPT_RULES,
    {0}};

/* What is held at the moment, and how it is grouped. */
struct picture {
    struct msnap_history h;
    struct msnap_steps steps;
    struct msnap_classes classes;
    struct msnap_totals totals;
    uint32_t event;
    enum msnap_group_by by;
    struct msnap_rank rank;
    size_t shown;                  /* rows; the others are gathered in one */
    uint64_t others_bytes, others_count;
};

static struct msnap_totals totals_at(const struct msnap_history *h, uint32_t event)
{
    if (event == MSNAP_NO_EVENT)
        return h->start;
    return (struct msnap_totals){h->allocated[event], h->active[event], h->reserved[event], h->requested[event]};
}

/* Lines are the better answer wherever there is one. */
static bool has_user_code(const struct msnap_rank *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        if (lines->rows[i].key)
            return true;
    return false;
}

static int look(struct cli *cli, const char *path, const struct msnap_snapshot *s, const struct msnap_device *device,
                const struct msnap_user_rules *rules, struct msnap_arena *arena, size_t top, struct picture *p)
{
    struct msnap_error err = {0};
    if (msnap_history_build(s, device, MSNAP_WITH_SERIES, arena, &p->h, &err) != MSNAP_OK)
        return cli_fail(cli, path, &err);
    const int code = moment_of(cli, path, &p->h, "peak", &p->event);
    if (code != EXIT_FINE)
        return code;
    p->totals = totals_at(&p->h, p->event);
    p->by = (enum msnap_group_by)cli_choice(cli, "by", MSNAP_BY_LINE);
    if (p->by == MSNAP_BY_CATEGORY || p->by == MSNAP_BY_STEP) {
        if (msnap_steps_build(&p->h, arena, &p->steps, &err))
            return cli_fail(cli, path, &err);
        p->h.steps = &p->steps;
    }
    if (p->by == MSNAP_BY_CATEGORY) {
        if (msnap_classify(&p->h, &p->steps, rules, arena, &p->classes, &err))
            return cli_fail(cli, path, &err);
        p->h.classes = &p->classes;
    }
    if (msnap_rank_build(&p->h, p->event, p->by, arena, &p->rank, &err) != MSNAP_OK)
        return cli_fail(cli, path, &err);
    if (!cli_given(cli, "by") && p->rank.n && !has_user_code(&p->rank)) {
        p->by = MSNAP_BY_STACK;
        if (msnap_rank_build(&p->h, p->event, p->by, arena, &p->rank, &err) != MSNAP_OK)
            return cli_fail(cli, path, &err);
    }
    p->shown = p->rank.n < top ? p->rank.n : top;
    p->others_bytes = p->others_count = 0;
    for (size_t i = p->shown; i < p->rank.n; i++) {
        p->others_bytes += p->rank.rows[i].bytes;
        p->others_count += p->rank.rows[i].count;
    }
    return EXIT_FINE;
}

static void put_row(struct msnap_sink *t, uint64_t bytes, uint64_t whole, uint64_t count)
{
    char exact[32], size[24], share[16], n[32];
    msnap_putf(t, "  %18s %10s %5s %9s  ", format_count(exact, bytes), msnap_format_bytes(size, bytes),
               format_share(share, bytes, whole), format_count(n, count));
}

static void put_sum(struct msnap_sink *t, const char *label, uint64_t bytes, const char *meaning)
{
    char size[24];
    msnap_putf(t, "  %-16s %11s   %s\n", label, msnap_format_bytes(size, bytes), meaning);
}

static void put_text(struct cli *cli, struct output *out, const struct picture *p)
{
    struct msnap_sink *t = &out->sink;
    const struct msnap_totals *m = &p->totals;
    char number[32];
    put_device(t, p->h.device);
    msnap_puts(t, ", ");
    put_moment(t, &p->h, cli_given(cli, "at") ? cli_text(cli, "at") : "peak", p->event);
    msnap_puts(t, "\n");
    put_sum(t, "allocated", m->allocated, "live tensors, in whole blocks");
    put_sum(t, "pending frees", m->active - m->allocated, "freed, waiting for another stream");
    put_sum(t, "unused", m->reserved > m->active ? m->reserved - m->active : 0, "kept by the allocator for later");
    put_sum(t, "reserved", m->reserved, "the sum: taken from the device");
    if (!p->rank.n) {
        msnap_puts(t, "\n  Nothing is allocated at this moment.\n");
        return;
    }
    msnap_puts(t, "\n  ");
    term_put(t, out->color, STYLE_HEAD, "What is allocated, by ");
    term_put(t, out->color, STYLE_HEAD, p->by == MSNAP_BY_LINE ? "source line" : p->by == MSNAP_BY_STACK ? "call stack" : group_words[p->by]);
    msnap_putf(t, "\n  %29s %5s %9s  %s\n", "bytes", "share", "count",
               p->by == MSNAP_BY_LINE    ? "line of your code"
               : p->by == MSNAP_BY_STACK ? "line of your code > innermost function"
                                         : group_words[p->by]);
    const size_t width = out->width > 110 ? out->width - 52 : 58;
    uint64_t count = p->others_count;
    for (size_t i = 0; i < p->shown; i++) {
        const struct msnap_rank_row *row = &p->rank.rows[i];
        put_row(t, row->bytes, p->rank.total_bytes, row->count);
        group_put(t, &p->h, p->by, row, width);
        msnap_puts(t, "\n");
        count += row->count;
    }
    if (p->rank.n > p->shown) {
        put_row(t, p->others_bytes, p->rank.total_bytes, p->others_count);
        msnap_putf(t, "%s other%s\n", format_count(number, p->rank.n - p->shown), p->rank.n - p->shown == 1 ? "" : "s");
    }
    put_row(t, p->rank.total_bytes, p->rank.total_bytes, count);
    term_put(t, out->color, STYLE_DIM, "sum");
    msnap_puts(t, "\n");
}

static void add_json(struct json *j, cJSON *devices, const struct picture *p)
{
    const struct msnap_events *ev = &p->h.snapshot->events;
    cJSON *d = json_object(j, devices, NULL);
    json_i64(j, d, "device", p->h.device->device);
    const size_t at = p->h.device->first_event + p->event;
    if (p->event == MSNAP_NO_EVENT)
        json_null(j, d, "event");
    else
        json_u64(j, d, "event", p->event);
    if (p->event == MSNAP_NO_EVENT || !(ev->has[at] & MSNAP_HAS_TIME))
        json_null(j, d, "time_us");
    else
        json_i64(j, d, "time_us", ev->time_us[at]);
    json_u64(j, d, "allocated_bytes", p->totals.allocated);
    json_u64(j, d, "active_bytes", p->totals.active);
    json_u64(j, d, "reserved_bytes", p->totals.reserved);
    json_u64(j, d, "requested_bytes", p->totals.requested);
    json_text(j, d, "by", group_words[p->by], strlen(group_words[p->by]));
    cJSON *rows = json_array(j, d, "rows");
    for (size_t i = 0; i < p->shown; i++) {
        cJSON *row = json_object(j, rows, NULL);
        json_u64(j, row, "bytes", p->rank.rows[i].bytes);
        json_u64(j, row, "count", p->rank.rows[i].count);
        group_add_json(j, row, &p->h, p->by, &p->rank.rows[i]);
    }
    if (p->rank.n > p->shown) {
        cJSON *row = json_object(j, rows, NULL);
        json_u64(j, row, "bytes", p->others_bytes);
        json_u64(j, row, "count", p->others_count);
        json_u64(j, row, "others", p->rank.n - p->shown);
    }
}

static int print(struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s,
                 const struct msnap_user_rules *rules)
{
    const bool as_json = cli_given(cli, "json");
    const size_t top = (size_t)cli_int(cli, "top", as_json ? INT64_MAX : USUAL_ROWS);
    struct json j;
    cJSON *devices = NULL;
    int code = EXIT_FINE;
    if (as_json) {
        json_start(&j, "memsnap.peak/1");
        json_text(&j, j.root, "file", path, strlen(path));
        devices = json_array(&j, j.root, "devices");
    }
    bool first = true;
    for (size_t i = 0; i < s->n_devices && code == EXIT_FINE; i++) {
        struct picture p;
        if (!cli_wants_device(cli, &s->devices[i]))
            continue;
        struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
        code = arena ? look(cli, path, s, &s->devices[i], rules, arena, top, &p) : cli_error(EXIT_MACHINE, path, "no memory");
        if (code == EXIT_FINE && as_json) {
            add_json(&j, devices, &p);
        } else if (code == EXIT_FINE) {
            msnap_puts(&out->sink, first ? "" : "\n");
            put_text(cli, out, &p);
        }
        first = false;
        msnap_arena_free(arena);
    }
    if (!as_json && first && code == EXIT_FINE)
        msnap_puts(&out->sink, "Neither events nor segments.\n");
    if (!as_json)
        return code;
    const int finished = json_finish(&j, &out->sink);
    return code != EXIT_FINE ? code : finished;
}

static int run(struct cli *cli)
{
    const char *path = cli->operands[0];
    const struct msnap_device *device;
    struct msnap_snapshot *s;
    struct rules_file rules;
    struct output out;
    int code = output_open(cli, &out);
    if (code != EXIT_FINE)
        return code;
    code = rules_open(cli, &rules);
    if (code == EXIT_FINE)
        code = cli_open(cli, path, &s);
    if (code != EXIT_FINE) {
        rules_close(&rules);
        return output_close(cli, &out, code);
    }
    code = cli_given(cli, "device") ? cli_device(cli, path, s, &device) : EXIT_FINE;
    if (code == EXIT_FINE)
        code = print(cli, &out, path, s, &rules.rules);
    msnap_snapshot_free(s);
    rules_close(&rules);
    return output_close(cli, &out, code);
}

const struct command command_peak = {
    .name = "peak",
    .summary = "What is allocated at the peak or another moment, by line, stack, category, step, stream or pool",
    .operands = "FILE",
    .about = "The moment of the highest allocated bytes, or the one that --at names, and who holds them: one row\n"
             "for each line of your code, call stack, category, stream, memory pool, or step in which the block was\n"
             "made. Rows add up to the allocated bytes exactly; those beyond --top are one last row. The peak is\n"
             "the earliest of equals.\n",
    .examples = "  memsnap peak run.pickle\n"
                "  memsnap peak --at oom --by stack --top 40 run.pickle\n"
                "  memsnap peak --at step:3 --by step run.pickle\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT | TAKES_COLOR,
    .opts = options,
    .run = run};
