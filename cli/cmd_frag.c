/* cmd_frag.c -- `memsnap frag`: memory that is reserved and not used, and what holds it there. */
#include "commands.h"
#include "frag_words.h"
#include "moment.h"

#include "figures.h"
#include "place.h"
#include "term.h"

#include <inttypes.h>
#include <string.h>

enum { USUAL_ROWS = 8 };

static const struct opt options[] = {MOMENT_OPTION,
                                     {.name = "top", .letter = 'n', .kind = OPT_INT, .arg = "N", .help = "rows in each table (default: 8)", .min = 1, .max = 100000},
                                     {0}};

static void put_title(struct output *out, const char *title)
{
    msnap_puts(&out->sink, "\n  ");
    term_put(&out->sink, out->color, STYLE_HEAD, title);
    msnap_puts(&out->sink, "\n");
}

static void put_sum(struct msnap_sink *t, const char *label, uint64_t bytes, const char *meaning)
{
    char size[24];
    msnap_putf(t, "  %-26s %11s   %s\n", label, msnap_format_bytes(size, bytes), meaning);
}

static void put_totals(struct output *out, const struct msnap_frag *f)
{
    struct msnap_sink *t = &out->sink;
    const struct msnap_totals *m = &f->map.totals;
    put_sum(t, "reserved", m->reserved, "taken from the device, of these:");
    put_sum(t, "  allocated", m->allocated, "live tensors, in whole blocks");
    put_sum(t, "  pending frees", f->pending, "freed, waiting for another stream");
    put_sum(t, "  unused", f->inactive, "in free blocks, of these:");
    put_sum(t, "    releasable", f->releasable, "whole free segments and pages: empty_cache() gives them back");
    put_sum(t, "    pinned", f->pinned, "held by live blocks in the same segments");
    put_sum(t, "largest free block", f->largest_free, "the largest request that could be served without cudaMalloc");
    put_sum(t, "lost in rounding", m->active - m->requested, "blocks larger than what was asked for");
    msnap_putf(t, "  %-26s %10.1f%%   of the unused memory is not in its largest block\n", "external fragmentation", 100 * f->external);
    msnap_putf(t, "  %-26s %10.1f%%   of the used memory was not asked for\n", "internal fragmentation", 100 * f->internal);
}

static void put_pools(struct output *out, const struct msnap_snapshot *s, const struct msnap_frag *f)
{
    struct msnap_sink *t = &out->sink;
    char a[24], b[24], c[24], d[24];
    put_title(out, "By pool and stream");
    msnap_putf(t, "  %8s %11s %11s %11s %11s   %s\n", "segments", "reserved", "allocated", "unused", "largest", "pool, stream, class");
    for (size_t i = 0; i < f->n_pools; i++) {
        const struct msnap_frag_pool *p = &f->pools[i];
        bool private_pool = s->pools.first[p->pool] || s->pools.second[p->pool];
        msnap_putf(t, "  %8" PRIu64 " %11s %11s %11s %11s   ", p->segments, msnap_format_bytes(a, p->reserved), msnap_format_bytes(b, p->allocated),
                   msnap_format_bytes(c, p->inactive), msnap_format_bytes(d, p->largest_free));
        if (private_pool)
            msnap_putf(t, "private pool (%" PRId64 ", %" PRId64 "), ", s->pools.first[p->pool], s->pools.second[p->pool]);
        else
            msnap_puts(t, "default pool, ");
        msnap_putf(t, "stream %" PRId64 ", %s requests\n", s->streams.raw[p->stream], p->small ? "small" : "large");
    }
}

static void put_segments(struct output *out, const struct msnap_frag *f, size_t rows)
{
    struct msnap_sink *t = &out->sink;
    char a[24], b[24], c[24];
    if (!f->n_segments)
        return;
    put_title(out, "Segments with unused memory, most pinned bytes first");
    msnap_putf(t, "  %-18s %11s %11s %11s %8s\n", "address", "size", "unused", "largest", "live");
    for (size_t i = 0; i < f->n_segments && i < rows; i++) {
        const struct msnap_frag_segment *g = &f->segments[i];
        const struct msnap_map_segment *m = &f->map.segments[g->segment];
        msnap_putf(t, "  0x%-16" PRIx64 " %11s %11s %11s %8" PRIu64 "%s\n", m->addr, msnap_format_bytes(a, m->size), msnap_format_bytes(b, g->inactive),
                   msnap_format_bytes(c, g->largest_free), g->live_blocks, m->expandable ? "  expandable" : "");
    }
    if (f->n_segments > rows)
        msnap_putf(t, "  and %zu others\n", f->n_segments - rows);
}

static void put_classes(struct output *out, const struct msnap_frag *f)
{
    struct msnap_sink *t = &out->sink;
    char a[24], b[24];
    if (!f->n_classes)
        return;
    put_title(out, "Free blocks by size");
    for (size_t i = f->n_classes; i-- > 0;)
        msnap_putf(t, "  from %-11s %8" PRIu64 " %s %11s\n", msnap_format_bytes(a, f->classes[i].from), f->classes[i].blocks,
                   f->classes[i].blocks == 1 ? "block " : "blocks",
                   msnap_format_bytes(b, f->classes[i].bytes));
}

static void put_pins(struct output *out, const struct msnap_snapshot *s, const struct msnap_frag *f, size_t rows)
{
    struct msnap_sink *t = &out->sink;
    char a[24], b[24], c[24];
    if (!f->n_pins)
        return;
    put_title(out, "What pins them: live blocks in large segments with unused memory");
    msnap_putf(t, "  %8s %11s %9s %11s %13s   %s\n", "blocks", "bytes", "segments", "hold back", "freed without", "line of your code > innermost function");
    for (size_t i = 0; i < f->n_pins && i < rows; i++) {
        const struct msnap_frag_pin *p = &f->pins[i];
        msnap_putf(t, "  %8" PRIu64 " %11s %9" PRIu64 " %11s %13s   ", p->blocks, msnap_format_bytes(a, p->bytes), p->segments,
                   msnap_format_bytes(b, p->held_back), msnap_format_bytes(c, p->released));
        place_put_stack(t, s, p->stack, 70);
        msnap_puts(t, "\n");
    }
    if (f->n_pins > rows)
        msnap_putf(t, "  and %zu others\n", f->n_pins - rows);
    msnap_puts(t, "  \"Hold back\" counts a segment for each stack in it; \"freed without\" is what could be given back\n"
                  "  if that stack's blocks alone were gone.\n");
}

static void put_points(struct output *out, const struct msnap_frag *f)
{
    struct msnap_sink *t = &out->sink;
    char n[32], a[24], b[24], c[24], d[24];
    if (!f->n_points)
        return;
    put_title(out, "Over time");
    msnap_putf(t, "  %12s %11s %11s %11s %13s\n", "event", "reserved", "allocated", "unused", "largest free");
    for (size_t i = 0; i < f->n_points; i++) {
        const struct msnap_frag_point *p = &f->points[i];
        msnap_putf(t, "  %12s %11s %11s %11s %13s\n", format_count(n, p->event), msnap_format_bytes(a, p->totals.reserved),
                   msnap_format_bytes(b, p->totals.allocated), msnap_format_bytes(c, p->totals.reserved - p->totals.active),
                   msnap_format_bytes(d, p->largest_free));
    }
}

static int print_device(struct cli *cli, const char *path, const struct msnap_snapshot *s, const struct msnap_device *device,
                        struct json *j, cJSON *devices, struct output *out)
{
    struct msnap_history h;
    struct msnap_frag f;
    struct msnap_error err = {0};
    uint32_t event;
    size_t rows = (size_t)cli_int(cli, "top", devices ? 100 : USUAL_ROWS);
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    if (!arena)
        return cli_error(EXIT_MACHINE, path, "no memory");
    int code = EXIT_FINE;
    if (msnap_history_build(s, device, 0, arena, &h, &err) != MSNAP_OK)
        code = cli_fail(cli, path, &err);
    if (code == EXIT_FINE)
        code = moment_of(cli, path, &h, "peak", &event);
    if (code == EXIT_FINE && msnap_frag_build(&h, event, MSNAP_FRAG_OVER_TIME, arena, &f, &err) != MSNAP_OK)
        code = cli_fail(cli, path, &err);
    if (code == EXIT_FINE && devices) {
        cJSON *d = json_object(j, devices, NULL);
        json_i64(j, d, "device", device->device);
        add_frag_json(j, d, &h, &f, rows);
    } else if (code == EXIT_FINE) {
        put_device(&out->sink, device);
        msnap_puts(&out->sink, ", ");
        put_moment(&out->sink, &h, cli_given(cli, "at") ? cli_text(cli, "at") : "peak", event);
        msnap_puts(&out->sink, "\n");
        put_totals(out, &f);
        put_pools(out, s, &f);
        put_segments(out, &f, rows);
        put_classes(out, &f);
        put_pins(out, s, &f, rows);
        put_points(out, &f);
    }
    msnap_arena_free(arena);
    return code;
}

static int print(struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s)
{
    struct json j;
    cJSON *devices = NULL;
    int code = EXIT_FINE;
    if (cli_given(cli, "json")) {
        json_start(&j, "memsnap.frag/1");
        json_text(&j, j.root, "file", path, strlen(path));
        devices = json_array(&j, j.root, "devices");
    }
    bool first = true;
    for (size_t i = 0; i < s->n_devices && code == EXIT_FINE; i++) {
        if (!cli_wants_device(cli, &s->devices[i]))
            continue;
        if (!devices && !first)
            msnap_puts(&out->sink, "\n");
        first = false;
        code = print_device(cli, path, s, &s->devices[i], &j, devices, out);
    }
    if (!devices && code == EXIT_FINE && !s->n_devices)
        msnap_puts(&out->sink, "Neither events nor segments: the file cannot tell.\n");
    if (!devices)
        return code;
    const int finished = json_finish(&j, &out->sink);
    return code != EXIT_FINE ? code : finished;
}

static int run(struct cli *cli) { return cli_on_snapshot(cli, print); }

const struct command command_frag = {
    .name = "frag",
    .summary = "Memory that is reserved and not used, and the blocks that pin it",
    .operands = "FILE",
    .about = "At a moment (--at; the peak if not given): unused bytes by pool and stream, by segment and by\n"
             "size, the largest free block, external and internal fragmentation, and the live blocks that\n"
             "keep large segments from being given back or joined, by the stack that made them.\n"
             "Private pools (CUDA graphs, MemPool) and pinned host memory have lines of their own.\n",
    .examples = "  memsnap frag --at oom run.pickle\n"
                "  memsnap frag --at end --json run.pickle\n",
    .min_operands = 1,
    .max_operands = 1,
    .takes = TAKES_DEVICE | TAKES_JSON | TAKES_OUTPUT | TAKES_SNAPSHOT | TAKES_COLOR,
    .opts = options,
    .run = run};
