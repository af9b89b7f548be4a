/* sim_config.c -- option strings to settings, with PyTorch's grammar and limits (2.11). */
#include <memsnap/sim.h>

#include "analysis/alloc_config.h"
#include "analysis/bursts.h"
#include "analysis/replay_books.h"
#include "base/arena.h"
#include "base/status.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)

static const struct msnap_sim_config defaults = {
    .max_split_size = MSNAP_NO_LIMIT, .max_non_split_rounding = 20 * MIB, .large_segment_size = 20 * MIB,
    .limit = MSNAP_NO_LIMIT, .capacity = MSNAP_NO_LIMIT, .fraction = 1};

/* ---- tokens: , : [ ] are tokens by themselves, white space is dropped ---- */

struct token {
    const char *text;
    size_t n;
};
enum { MAX_TOKENS = 256 };

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_mark(char c) { return c == ',' || c == ':' || c == '[' || c == ']'; }

/* Token count; MAX_TOKENS + 1 if there are too many. `space` holds the text without white space. */
static size_t split(const char *conf, size_t n, char *space, struct token *tokens)
{
    size_t used = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_space(conf[i]))
            space[used++] = conf[i];
    for (size_t i = 0; i < used;) {
        size_t start = i;
        if (is_mark(space[i]))
            i++;
        else
            while (i < used && !is_mark(space[i]))
                i++;
        if (count == MAX_TOKENS)
            return MAX_TOKENS + 1;
        tokens[count++] = (struct token){space + start, i - start};
    }
    return count;
}

struct parser {
    const struct token *t;
    size_t n, i;
    struct msnap_sim_config *c;
    bool non_split_given;
    struct msnap_error *err;
};

static bool is(const struct parser *p, size_t i, const char *text)
{
    return i < p->n && p->t[i].n == strlen(text) && memcmp(p->t[i].text, text, p->t[i].n) == 0;
}

static enum msnap_status bad(struct parser *p, const char *what)
{
    const struct token *t = p->i < p->n ? &p->t[p->i] : NULL;
    char text[40] = "";
    for (size_t k = 0; t && k < t->n && k + 1 < sizeof text; k++)
        text[k] = t->text[k] >= ' ' && t->text[k] < 0x7F ? t->text[k] : '?';
    return msnap_fail(p->err, MSNAP_EUSAGE, "the allocator settings are not ones PyTorch takes: %s%s%s%s", what, t ? " (at \"" : "", text, t ? "\")" : "");
}

/* Digits; what follows them is ignored, as std::stoull does. */
static bool number(const struct token *t, uint64_t *out)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < t->n && t->text[i] >= '0' && t->text[i] <= '9'; i++) {
        if (v > (UINT64_MAX >> 20) / 10)
            return false;
        v = v * 10 + (uint64_t)(t->text[i] - '0');
    }
    *out = v;
    return i > 0 && v <= UINT64_MAX >> 21;
}

static bool decimal(const struct token *t, double *out)
{
    double v = 0, scale = 1;
    size_t i = 0, digits = 0;
    for (; i < t->n && t->text[i] >= '0' && t->text[i] <= '9'; i++, digits++)
        v = v * 10 + (t->text[i] - '0');
    if (i < t->n && t->text[i] == '.')
        for (i++; i < t->n && t->text[i] >= '0' && t->text[i] <= '9'; i++, digits++) {
            v = v * 10 + (t->text[i] - '0');
            scale *= 10;
        }
    *out = v / scale;
    return digits > 0;
}

static bool power_of_two(uint64_t v) { return v && !(v & (v - 1)); }
static unsigned class_of_mib(uint64_t mib)
{
    unsigned c = 0;
    while (c < 15 && mib >> (c + 1))
        c++;
    return c;
}

/* [256:1,512:2,>:8] or one number. p->i is at the value. */
static enum msnap_status parse_divisions(struct parser *p)
{
    uint64_t v, *d = p->c->divisions;
    if (!is(p, p->i, "[")) {
        if (p->i >= p->n || !number(&p->t[p->i], &v) || !power_of_two(v))
            return bad(p, "roundup_power2_divisions must be a power of two");
        for (int k = 0; k < 16; k++)
            d[k] = v;
        p->i++;
        return MSNAP_OK;
    }
    bool first = true;
    unsigned last = 0;
    memset(d, 0, 16 * sizeof *d);
    for (p->i++; !is(p, p->i, "]");) {
        bool rest = is(p, p->i, ">");
        uint64_t key = 0;
        if (p->i + 2 >= p->n || !is(p, p->i + 1, ":"))
            return bad(p, "roundup_power2_divisions wants pairs SIZE_MB:DIVISIONS in brackets");
        if (!rest && (!number(&p->t[p->i], &key) || !power_of_two(key)))
            return bad(p, "sizes in roundup_power2_divisions must be powers of two");
        p->i += 2;
        if (!number(&p->t[p->i], &v) || (v && !power_of_two(v)))
            return bad(p, "divisions must be 0 or powers of two");
        if (rest) { /* from the class after the last key on (2.10 and later) */
            for (unsigned k = first ? 0 : last + 1; k < 16; k++)
                d[k] = v;
        } else {
            last = class_of_mib(key);
            for (unsigned k = first ? 0 : last; k <= last; k++)
                d[k] = v; /* the first pair also fills all classes below it */
        }
        first = false;
        p->i++;
        if (is(p, p->i, ","))
            p->i++;
        else if (!is(p, p->i, "]"))
            return bad(p, "a ] is missing");
    }
    p->i++;
    return MSNAP_OK;
}

static enum msnap_status parse_bool(struct parser *p, bool *out)
{
    if (!is(p, p->i, "True") && !is(p, p->i, "False"))
        return bad(p, "the value must be True or False, in this spelling");
    *out = is(p, p->i++, "True");
    return MSNAP_OK;
}

static enum msnap_status parse_mib(struct parser *p, uint64_t *out, const char *what)
{
    uint64_t v;
    if (p->i >= p->n || !number(&p->t[p->i], &v))
        return bad(p, what);
    *out = v * MIB;
    p->i++;
    return MSNAP_OK;
}

static enum msnap_status parse_option(struct parser *p)
{
    struct msnap_sim_config *c = p->c;
    size_t name = p->i;
    bool ignored;
    if (!is(p, name + 1, ":")) {
        p->i = name;
        return bad(p, "an option is NAME:VALUE");
    }
    p->i += 2;
    if (is(p, name, "max_split_size_mb")) {
        enum msnap_status s = parse_mib(p, &c->max_split_size, "max_split_size_mb wants a number of MiB");
        if (s == MSNAP_OK && c->max_split_size < c->large_segment_size) {
            p->i--;
            return bad(p, "max_split_size_mb must not be below large_segment_size_mb (20 unless set)");
        }
        return s;
    }
    if (is(p, name, "max_non_split_rounding_mb")) {
        enum msnap_status s = parse_mib(p, &c->max_non_split_rounding, "max_non_split_rounding_mb wants a number of MiB");
        p->non_split_given = true;
        if (s == MSNAP_OK && c->max_non_split_rounding < c->large_segment_size) {
            p->i--;
            return bad(p, "max_non_split_rounding_mb must not be below large_segment_size_mb (20 unless set)");
        }
        return s;
    }
    if (is(p, name, "large_segment_size_mb")) {
        if (p->i >= p->n)
            return bad(p, "large_segment_size_mb must be above 10");
        p->i++; /* read in a first pass */
        return MSNAP_OK;
    }
    if (is(p, name, "garbage_collection_threshold")) {
        if (p->i >= p->n || !decimal(&p->t[p->i], &c->gc_threshold) || !(c->gc_threshold > 0 && c->gc_threshold < 1))
            return bad(p, "garbage_collection_threshold must lie between 0 and 1, both excluded");
        p->i++;
        return MSNAP_OK;
    }
    if (is(p, name, "per_process_memory_fraction")) {
        if (p->i >= p->n || !decimal(&p->t[p->i], &c->fraction) || !(c->fraction >= 0 && c->fraction <= 1))
            return bad(p, "per_process_memory_fraction must lie between 0 and 1");
        p->i++;
        return MSNAP_OK;
    }
    if (is(p, name, "expandable_segments"))
        return parse_bool(p, &c->expandable_segments);
    if (is(p, name, "roundup_power2_divisions"))
        return parse_divisions(p);
    if (is(p, name, "backend")) {
        if (!is(p, p->i, "native") && !is(p, p->i, "cudaMallocAsync") && !is(p, p->i, "hipMallocAsync"))
            return bad(p, "backend must be native or cudaMallocAsync");
        c->async_backend = !is(p, p->i, "native");
        p->i++;
        return MSNAP_OK;
    }
    static const char *const flags[] = {"release_lock_on_cudamalloc", "release_lock_on_hipmalloc", "pinned_use_cuda_host_register",
                                        "pinned_use_hip_host_register", "pinned_use_background_threads", "graph_capture_record_stream_reuse",
                                        "pinned_free_catch_all", "throw_on_cudamalloc_oom"};
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (is(p, name, flags[k]))
            return parse_bool(p, &ignored);
    uint64_t v;
    if (is(p, name, "pinned_num_register_threads")) {
        if (p->i >= p->n || !number(&p->t[p->i], &v) || !power_of_two(v) || v > 128)
            return bad(p, "pinned_num_register_threads must be a power of two up to 128");
        p->i++;
        return MSNAP_OK;
    }
    if (is(p, name, "pinned_reserve_segment_size_mb")) {
        if (p->i >= p->n || !number(&p->t[p->i], &v) || !v)
            return bad(p, "pinned_reserve_segment_size_mb must be above 0");
        p->i++;
        return MSNAP_OK;
    }
    p->i = name;
    return bad(p, "no such option");
}

enum msnap_status msnap_sim_config_parse(const char *conf, size_t n, struct msnap_sim_config *out, struct msnap_error *err)
{
    char space[4096];
    struct token tokens[MAX_TOKENS];
    struct msnap_sim_config c = defaults;
    if (n > sizeof space)
        return msnap_fail(err, MSNAP_EUSAGE, "the allocator settings are longer than 4096 characters");
    struct parser p = {.t = tokens, .n = split(conf, n, space, tokens), .c = &c, .err = err};
    if (p.n > MAX_TOKENS)
        return msnap_fail(err, MSNAP_EUSAGE, "the allocator settings have too many parts");
    /* large_segment_size_mb is read first, wherever it stands, since others are held against it. */
    for (size_t i = 0; i + 2 < p.n; i++)
        if (is(&p, i, "large_segment_size_mb") && is(&p, i + 1, ":")) {
            uint64_t v;
            p.i = i + 2;
            if (!number(&tokens[i + 2], &v) || v <= 10)
                return bad(&p, "large_segment_size_mb must be above 10");
            c.large_segment_size = v * MIB;
            c.max_non_split_rounding = c.large_segment_size;
        }
    p.i = 0;
    while (p.i < p.n) {
        enum msnap_status s = parse_option(&p);
        if (s != MSNAP_OK)
            return s;
        if (p.i < p.n && !is(&p, p.i, ","))
            return bad(&p, "a comma is missing between options");
        p.i++;
    }
    *out = c;
    return MSNAP_OK;
}

bool msnap_sim_config_equal(const struct msnap_sim_config *a, const struct msnap_sim_config *b)
{
    for (int k = 0; k < 16; k++)
        if ((a->divisions[k] > 1 ? a->divisions[k] : 0) != (b->divisions[k] > 1 ? b->divisions[k] : 0))
            return false;
    return a->max_split_size == b->max_split_size && a->max_non_split_rounding == b->max_non_split_rounding &&
           a->large_segment_size == b->large_segment_size && a->expandable_segments == b->expandable_segments &&
           a->gc_threshold == b->gc_threshold && a->async_backend == b->async_backend;
}

/* What the recording tells of a limit: OOM events and retries bound it from above, what was held from below. */
static enum msnap_status find_limits(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_sim_config *c, struct msnap_error *err)
{
    struct msnap_alloc_config config;
    struct msnap_books b;
    struct msnap_books_feed f;
    struct burst_counts bursts;
    enum msnap_status st = msnap_bursts_count(h, arena, &bursts, err);
    if (st != MSNAP_OK || bursts.retries == 0)
        return st;
    msnap_alloc_config_of(h->snapshot, &config);
    bool ok = msnap_books_begin(&b, &f, h, msnap_arena_mem(arena), &config, NULL);
    bool by_device = false;
    uint64_t usable = 0;
    for (size_t i = 0; ok && i < f.n; i++) {
        size_t row = h->device->first_event + i;
        if (f.action[i] == MSNAP_OOM && (h->snapshot->events.has[row] & MSNAP_HAS_DEVICE_FREE) &&
            h->snapshot->events.addr[row] < msnap_segment_size(&config, f.size[i])) {
            by_device = true;
            usable = b.totals.reserved + h->snapshot->events.addr[row];
        }
        msnap_books_apply(&b, &f, i);
        ok = !b.out_of_memory;
    }
    msnap_books_release(&b);
    if (!ok)
        return msnap_fail(err, MSNAP_ENOMEM, "no memory for the simulation");
    if (by_device)
        c->capacity = usable > h->peak_reserved ? usable : h->peak_reserved;
    else
        c->limit = h->peak_reserved;
    return MSNAP_OK;
}

enum msnap_status msnap_sim_config_recorded(const struct msnap_history *h, struct msnap_arena *arena, struct msnap_sim_config *out,
                                            struct msnap_error *err)
{
    const struct msnap_snapshot *s = h->snapshot;
    const struct msnap_settings *set = &s->settings;
    struct msnap_sim_config c = defaults;
    struct msnap_error ignored;
    /* The string first: some settings stand only there. The numbers then have the last word. */
    if (!set->known || msnap_sim_config_parse(s->strings.bytes[set->conf], s->strings.len[set->conf], &c, &ignored) != MSNAP_OK)
        c = defaults;
    if (set->known) {
        memcpy(c.divisions, set->divisions, sizeof c.divisions);
        c.max_split_size = set->max_split_size > 0 ? (uint64_t)set->max_split_size : MSNAP_NO_LIMIT;
        c.gc_threshold = set->gc_threshold;
        c.expandable_segments = set->expandable_segments;
    }
    enum msnap_status st = find_limits(h, arena, &c, err);
    if (st == MSNAP_OK)
        *out = c;
    return st;
}
