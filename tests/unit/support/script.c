/* script.c -- snapshots from lines that can be read aloud. */
#include "support/script.h"

#include "support/check.h"

#include <memsnap/sim.h>

#include <ctype.h>

static void put(struct script *s, const void *bytes, size_t n)
{
    if (s->n + n > s->cap) {
        s->cap = 2 * s->cap + n + 1000;
        s->bytes = realloc(s->bytes, s->cap);
        assert_non_null(s->bytes);
    }
    memcpy(s->bytes + s->n, bytes, n);
    s->n += n;
}

static void op(struct script *s, const char *ops) { put(s, ops, strlen(ops)); }

static void little(struct script *s, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char b = (unsigned char)(v >> (8 * i));
        put(s, &b, 1);
    }
}

static void text(struct script *s, const char *t)
{
    op(s, "X");
    little(s, strlen(t), 4);
    put(s, t, strlen(t));
}

static void number(struct script *s, uint64_t v)
{
    put(s, "\x8a\x09", 2);
    little(s, v, 8);
    little(s, 0, 1);
}

static void pair(struct script *s, const char *key, uint64_t v)
{
    text(s, key);
    number(s, v);
}

static void real(struct script *s, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    op(s, "G");
    for (int k = 7; k >= 0; k--)
        little(s, bits >> (8 * k), 1);
}

static const char *blanks(const char *p)
{
    while (*p == ' ' || *p == '\n')
        p++;
    return p;
}

static uint64_t digits(const char **p)
{
    char *end;
    *p = blanks(*p);
    if (!isdigit((unsigned char)**p))
        fail_msg("a number is missing at \"%s\"", *p);
    uint64_t v = strtoull(*p, &end, 10);
    if (*end == 'K' || *end == 'M')
        v <<= *end++ == 'K' ? 10 : 20;
    *p = end;
    return v;
}

/* "{OPTIONS} events": the settings as PyTorch writes them. Returns where the events begin. */
static const char *settings(struct script *s, const char *p)
{
    struct msnap_sim_config c;
    struct msnap_error err = {0};
    char conf[200], key[16];
    const char *end = strchr(p, '}');
    assert_non_null(end);
    snprintf(conf, sizeof conf, "%.*s", (int)(end - p - 1), p + 1);
    if (msnap_sim_config_parse(conf, strlen(conf), &c, &err) != MSNAP_OK)
        fail_msg("%s", err.text);
    text(s, "allocator_settings");
    op(s, "}(");
    text(s, "PYTORCH_CUDA_ALLOC_CONF");
    text(s, conf);
    text(s, "max_split_size");
    if (c.max_split_size == MSNAP_NO_LIMIT)
        op(s, "J\xff\xff\xff\xff");
    else
        number(s, c.max_split_size);
    text(s, "garbage_collection_threshold");
    real(s, c.gc_threshold);
    text(s, "expandable_segments");
    op(s, c.expandable_segments ? "\x88" : "\x89");
    text(s, "roundup_power2_divisions");
    op(s, "}(");
    for (unsigned k = 0; k < 16; k++) {
        snprintf(key, sizeof key, "%u", 1u << k);
        pair(s, key, c.divisions[k]);
    }
    op(s, "uu");
    return end + 1;
}

static void stack(struct script *s, const char **p)
{
    text(s, "frames");
    op(s, "](");
    for (; isalnum((unsigned char)**p); (*p)++) {
        const char name[2] = {**p, 0};
        op(s, "}(");
        text(s, "name");
        text(s, name);
        text(s, "filename");
        text(s, islower((unsigned char)**p) ? "/usr/lib/python3/dist-packages/torch/x.py" : "/home/ada/train.py");
        pair(s, "line", (uint64_t)(unsigned char)**p);
        op(s, "u");
    }
    op(s, "e");
}

static void event(struct script *s, const char *action, uint64_t addr, uint64_t size, const char *rest, size_t i)
{
    op(s, "}(");
    text(s, "action");
    text(s, action);
    pair(s, strcmp(action, "oom") ? "addr" : "device_free", addr);
    pair(s, "size", size);
    pair(s, "time_us", 1000 + 10 * i);
    uint64_t stream = 0;
    const char *p = blanks(rest);
    if (*p == '@') {
        p++;
        stack(s, &p);
        p = blanks(p);
    }
    if (*p == '#') {
        p++;
        stream = digits(&p);
    }
    pair(s, "stream", stream);
    op(s, "u");
}

static const char *skip_tail(const char *p)
{
    while (*p && *p != ',' && *p != '|')
        p++;
    return p;
}

static void traces(struct script *s, const char *p)
{
    static const char *const words[][2] = {{"seg", "segment_alloc"}, {"unseg", "segment_free"}, {"map", "segment_map"},
        {"unmap", "segment_unmap"}, {"alloc", "alloc"}, {"req", "free_requested"}, {"done", "free_completed"}, {"oom", "oom"}};
    size_t i = 0;

    op(s, "](](");
    for (p = blanks(p); *p; p = blanks(p)) {
        if (*p == '|') {
            op(s, "e](");
            i = 0;
            p++;
            continue;
        }
        if (*p == ',') {
            p++;
            continue;
        }
        char word[20] = "";
        for (size_t k = 0; k < 19 && islower((unsigned char)*p); k++)
            word[k] = *p++;
        if (!strcmp(word, "snap")) {
            event(s, "snapshot", 0, 0, "", i++);
            continue;
        }
        uint64_t addr = digits(&p), size = digits(&p);
        if (!strcmp(word, "oom")) {
            const uint64_t request = addr;
            addr = size;
            size = request;
        } else {
            addr += SCRIPT_BASE;
        }
        if (!strcmp(word, "free")) {
            event(s, "free_requested", addr, size, p, i++);
            event(s, "free_completed", addr, size, p, i++);
        } else {
            const char *action = NULL;
            for (size_t k = 0; k < sizeof words / sizeof *words; k++)
                if (!strcmp(word, words[k][0]))
                    action = words[k][1];
            if (!action)
                fail_msg("no such action: %s", word);
            event(s, action, addr, size, p, i++);
        }
        p = skip_tail(p);
    }
    op(s, "ee");
}

struct sums {
    uint64_t total, allocated, active, requested;
};

static void segments(struct script *s, const char *p)
{
    uint64_t device = 0;

    op(s, "](");
    for (p = blanks(p); *p; p = blanks(p)) {
        if (*p == '|' || *p == ';') {
            device += *p == '|';
            p++;
            continue;
        }
        const bool expandable = *p == 'x';
        p += expandable;
        uint64_t at = SCRIPT_BASE + digits(&p), stream = 0, pool = 0;
        struct sums sum = {0, 0, 0, 0};
        assert_int_equal(*p, ':');
        op(s, "}(");
        pair(s, "device", device);
        pair(s, "address", at);
        text(s, "blocks");
        op(s, "](");
        for (p = blanks(p + 1); isdigit((unsigned char)*p); p = blanks(p)) {
            const uint64_t size = digits(&p);
            const char state = *p++;
            const uint64_t requested = isdigit((unsigned char)*p) ? digits(&p) : state == 'i' ? 0 : size;
            op(s, "}(");
            pair(s, "address", at);
            pair(s, "size", size);
            pair(s, "requested_size", requested);
            text(s, "state");
            text(s, state == 'a' ? "active_allocated" : state == 'p' ? "active_pending_free" : "inactive");
            if (*p == '@') {
                p++;
                stack(s, &p);
            }
            op(s, "u");
            at += size;
            sum.total += size;
            sum.allocated += state == 'a' ? size : 0;
            sum.active += state == 'i' ? 0 : size;
            sum.requested += state == 'i' ? 0 : requested;
        }
        op(s, "e");
        if (*p == '#') {
            p++;
            stream = digits(&p);
            p = blanks(p);
        }
        if (*p == '%') {
            p++;
            pool = digits(&p);
        }
        pair(s, "total_size", sum.total);
        pair(s, "allocated_size", sum.allocated);
        pair(s, "active_size", sum.active);
        pair(s, "requested_size", sum.requested);
        pair(s, "stream", stream);
        text(s, "segment_type");
        text(s, sum.total == 2 << 20 ? "small" : "large");
        text(s, "segment_pool_id");
        op(s, "K");
        little(s, 0, 1);
        op(s, "K");
        little(s, pool, 1);
        op(s, "\x86");
        text(s, "is_expandable");
        op(s, expandable ? "\x88" : "\x89");
        op(s, "u");
    }
    op(s, "e");
}

struct script script_pickle(const char *events, const char *segs)
{
    struct script s = {NULL, 0, 0};
    op(&s, "\x80\x02}(");
    events = blanks(events);
    if (*events == '{')
        events = settings(&s, events);
    text(&s, "segments");
    segments(&s, segs);
    text(&s, "device_traces");
    traces(&s, events);
    op(&s, "u.");
    return s;
}

void script_free(struct script *s)
{
    free(s->bytes);
    s->bytes = NULL;
}

struct msnap_snapshot *script_snapshot(struct msnap_mem mem, const char *events, const char *segs)
{
    struct script s = script_pickle(events, segs);
    struct msnap_open_options o = {.mem = mem};
    struct msnap_snapshot *out = NULL;
    struct msnap_error err = {0};
    const enum msnap_status status = msnap_snapshot_read(s.bytes, s.n, &o, &out, &err);
    script_free(&s);
    if (status != MSNAP_OK)
        fail_msg("script not read: %s", err.text);
    return out;
}
