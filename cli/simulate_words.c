/* simulate_words.c -- a simulation's settings and result. */
#include "simulate_words.h"

#include "figures.h"
#include "term.h"
#include "text_buffer.h"

#include <inttypes.h>
#include <string.h>

int simulate_config(const struct cli *cli, const char *path, const struct msnap_history *h, struct msnap_arena *arena,
                    struct msnap_sim_config *out, bool *recorded)
{
    struct msnap_sim_config own;
    struct msnap_error err = {0};
    if (msnap_sim_config_recorded(h, arena, &own, &err) != MSNAP_OK)
        return cli_fail(cli, path, &err);
    *out = own;
    if (cli_given(cli, "conf")) {
        const char *conf = cli_text(cli, "conf");
        if (msnap_sim_config_parse(conf, strlen(conf), out, &err) != MSNAP_OK)
            return cli_usage(cli->command, "--conf: %s", err.text);
        out->limit = own.limit;
        out->capacity = own.capacity;
    }
    if (cli_given(cli, "no-limit") && (cli_given(cli, "limit") || cli_given(cli, "capacity")))
        return cli_usage(cli->command, "--no-limit takes away what --%s gives: use one of them", cli_given(cli, "limit") ? "limit" : "capacity");
    out->no_caching = cli_given(cli, "no-caching");
    if (cli_given(cli, "no-limit") || cli_given(cli, "limit") || cli_given(cli, "capacity"))
        out->limit = out->capacity = MSNAP_NO_LIMIT;
    if (!cli_given(cli, "no-limit")) {
        out->limit = cli_size(cli, "limit", out->limit);
        out->capacity = cli_size(cli, "capacity", out->capacity);
    }
    *recorded = msnap_sim_config_equal(out, &own) && !out->no_caching;
    return EXIT_FINE;
}

static void put_explanation(struct msnap_sink *t, const struct msnap_sim_config *c, const struct msnap_sim_result *r)
{
    put_bytes(t, r->oom_requested);
    msnap_puts(t, " needed a segment of ");
    put_bytes(t, r->oom_segment);
    msnap_puts(t, " while ");
    put_bytes(t, r->oom_held);
    msnap_puts(t, " were held: together more than ");
    if (c->limit != MSNAP_NO_LIMIT) {
        msnap_puts(t, "the limit of ");
        put_bytes(t, c->limit);
    } else {
        msnap_puts(t, "the capacity of ");
        put_bytes(t, c->capacity);
    }
    msnap_puts(t, " even after everything that was unused had been released");
}

int simulate_json(struct msnap_sink *out, const char *path, const char *conf, const struct msnap_history *h,
                  const struct msnap_sim_config *c, const struct msnap_sim_result *r)
{
    struct json j;
    struct msnap_stat list[MSNAP_N_STATS];
    json_start(&j, "memsnap.simulate/1");
    json_text(&j, j.root, "file", path, strlen(path));
    json_i64(&j, j.root, "device", h->device->device);
    if (conf)
        json_text(&j, j.root, "conf", conf, strlen(conf));
    else
        json_string(&j, j.root, "conf", h->snapshot, h->snapshot->settings.conf);
    if (c->limit != MSNAP_NO_LIMIT)
        json_u64(&j, j.root, "limit_bytes", c->limit);
    else
        json_null(&j, j.root, "limit_bytes");
    if (c->capacity != MSNAP_NO_LIMIT)
        json_u64(&j, j.root, "capacity_bytes", c->capacity);
    else
        json_null(&j, j.root, "capacity_bytes");
    json_bool(&j, j.root, "estimate", r->estimated);
    cJSON *stats = json_object(&j, j.root, "stats");
    msnap_stats_list(&r->stats, list);
    for (size_t i = 0; i < MSNAP_N_STATS; i++) { /* a simulated run knows its own totals */
        if (!r->estimated || strstr(list[i].key, "_bytes.all.current") || strstr(list[i].key, "_bytes.all.peak"))
            json_i64(&j, stats, list[i].key, list[i].value);
        else
            json_null(&j, stats, list[i].key);
    }
    if (r->oom) {
        struct text_buffer text;
        cJSON *oom = json_object(&j, j.root, "oom");
        json_u64(&j, oom, "ordinal", r->oom_ordinal);
        json_u64(&j, oom, "requested_bytes", r->oom_requested);
        json_u64(&j, oom, "reserved_bytes", r->oom_held);
        text_buffer_init(&text);
        msnap_puts(&text.sink, "\"");
        put_explanation(&text.sink, c, r);
        msnap_puts(&text.sink, "\"");
        json_raw(&j, oom, "explanation", text_buffer_finish(&text));
        text_buffer_free(&text);
    } else {
        json_null(&j, j.root, "oom");
    }
    if (r->placed) {
        cJSON *p = json_object(&j, j.root, "placement");
        json_u64(&j, p, "compared", r->compared);
        json_u64(&j, p, "different", r->different);
        if (r->end_compared)
            json_u64(&j, p, "end_blocks_different", r->end_different);
    } else {
        json_null(&j, j.root, "placement");
    }
    return json_finish(&j, out);
}

static void put_pair(struct msnap_sink *t, const char *label, uint64_t simulated, uint64_t recorded)
{
    char a[24], b[24];
    msnap_putf(t, "  %-24s %12s %12s\n", label, msnap_format_bytes(a, simulated), msnap_format_bytes(b, recorded));
}

void simulate_text(struct output *out, const struct msnap_history *h, const char *conf, const struct msnap_sim_config *c,
                   const struct msnap_sim_result *r)
{
    struct msnap_sink *t = &out->sink;
    char size[24], n[32];
    const struct msnap_counter *reserved = &r->stats.family[MSNAP_BYTES_RESERVED][0], *allocated = &r->stats.family[MSNAP_BYTES_ALLOCATED][0];
    put_device(t, h->device);
    msnap_puts(t, ", settings: ");
    if (conf && *conf)
        msnap_put_terminal(t, conf, strlen(conf));
    else
        msnap_puts(t, conf ? "PyTorch's defaults" : "as recorded");
    if (c->limit != MSNAP_NO_LIMIT)
        msnap_putf(t, ", limit %s", msnap_format_bytes(size, c->limit));
    if (c->capacity != MSNAP_NO_LIMIT)
        msnap_putf(t, ", capacity %s", msnap_format_bytes(size, c->capacity));
    msnap_puts(t, "\n");
    if (h->coverage == MSNAP_HISTORY_CUT)
        msnap_puts(t, "The recording begins late: simulated from its rebuilt first state, which the recorded settings made.\n");
    msnap_puts(t, "  ");
    if (r->oom) {
        term_put(t, out->color, STYLE_BAD, "Runs out of memory");
        msnap_putf(t, " at request %s: ", format_count(n, r->oom_ordinal));
        put_explanation(t, c, r);
        msnap_puts(t, ".\n");
    } else {
        term_put(t, out->color, STYLE_GOOD, "Fits:");
        msnap_putf(t, " all %s requests are served.\n", format_count(n, r->requests));
    }
    if (r->estimated)
        msnap_puts(t, "  An estimate: this is another allocator, whose inside is not documented.\n");
    msnap_putf(t, "  %-24s %12s %12s\n", "", r->estimated ? "estimated" : "simulated", "recorded");
    put_pair(t, "peak reserved", reserved->peak, h->peak_reserved);
    put_pair(t, "peak allocated", allocated->peak, h->peak.totals.allocated);
    put_pair(t, "reserved at the end", reserved->current, h->end.reserved);
    msnap_putf(t, "  %-24s %12" PRIu64 "\n", "cudaMalloc calls", r->stats.num_device_alloc);
    if (!r->estimated)
        msnap_putf(t, "  %-24s %12" PRIu64 "\n", "retries after a refusal", r->stats.num_alloc_retries);
    if (r->placed)
        msnap_putf(t, "  These are the recorded settings: %" PRIu64 " of %" PRIu64 " allocations land at their recorded address.\n",
                   r->compared - r->different, r->compared);
}
