/* load_torch.c -- the unpickler's result to a snapshot: kinds of file, traces, settings, annotations. */
#include "base/status.h"
#include "model/load.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { SHOWN = 96 };

/* "a negative integer (-3)", "a string (\"abc\")": enough to find it in the file. */
static void describe(const struct msnap_loader *ld, msnap_cell c, char out[SHOWN])
{
    const char *kind = msnap_value_kind_name(c);
    double d;
    int64_t i;
    size_t n;
    switch (msnap_cell_kind(c)) {
    case MSNAP_KIND_INT:
    case MSNAP_KIND_BIG:
        if (msnap_value_i64(ld->pk, c, &i))
            snprintf(out, SHOWN, "%s (%" PRId64 ")", i < 0 ? "a negative integer" : kind, i);
        else
            snprintf(out, SHOWN, "an integer above 2^63");
        return;
    case MSNAP_KIND_FLOAT:
        if (msnap_value_double(ld->pk, c, &d))
            snprintf(out, SHOWN, "%s (%g)", kind, d);
        return;
    case MSNAP_KIND_STR: {
        const uint32_t id = msnap_cell_index(c), len = MSNAP_VEC_AT(&ld->st->strings.len, uint32_t, id);
        const char *text = MSNAP_VEC_AT(&ld->st->strings.bytes, const char *, id);
        char shown[25];
        for (n = 0; n < len && n + 1 < sizeof shown; n++)
            shown[n] = text[n] >= ' ' && text[n] < 0x7F && text[n] != '"' ? text[n] : '?';
        shown[n] = '\0';
        snprintf(out, SHOWN, "%s (\"%s%s\")", kind, shown, n < len ? "..." : "");
        return;
    }
    case MSNAP_KIND_TUPLE:
    case MSNAP_KIND_LIST:
        if (msnap_value_is_sequence(c) && msnap_cell_kind(c) == MSNAP_KIND_TUPLE) {
            snprintf(out, SHOWN, "%s of %zu", kind, msnap_value_length(ld->pk, c));
            return;
        }
        break;
    case MSNAP_KIND_UNSET:
    case MSNAP_KIND_DICT:
    case MSNAP_KIND_RECORD:
    case MSNAP_KIND_BOOL:
    case MSNAP_KIND_NONE:
    case MSNAP_KIND_EMPTY_LIST: break;
    }
    snprintf(out, SHOWN, "%s", kind);
}

enum msnap_status msnap_load_damaged(struct msnap_loader *ld, struct msnap_error *err, const char *format, ...)
{
    char text[240], place[80] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!ld->part)
        return msnap_fail_at(err, MSNAP_EDATA, MSNAP_BYTE, msnap_source_offset(ld->pk->src), "%s", text);
    if (ld->item)
        snprintf(place, sizeof place, "%s %zu, %s %zu", ld->part, ld->part_index, ld->item, ld->item_index);
    else
        snprintf(place, sizeof place, "%s %zu", ld->part, ld->part_index);
    return msnap_fail(err, MSNAP_EDATA, "%s: %s", place, text);
}

enum msnap_status msnap_load_wrong(struct msnap_loader *ld, const char *what, const char *key, msnap_cell got,
                                   const char *expected, struct msnap_error *err)
{
    char shown[SHOWN];
    describe(ld, got, shown);
    return msnap_load_damaged(ld, err, "the %s%s%s is %s instead of %s, so this is no memory snapshot, or a damaged one", what, key ? "'s " : "",
                              key ? key : "", shown, expected);
}

enum msnap_status msnap_load_no_memory(struct msnap_loader *ld, struct msnap_error *err)
{
    return msnap_fail_at(err, MSNAP_ENOMEM, MSNAP_BYTE, msnap_source_offset(ld->pk->src), "no memory for the snapshot");
}

enum msnap_status msnap_load_work(struct msnap_loader *ld, size_t n, struct msnap_error *err)
{
    ld->work += n + 1;
    if (ld->work <= ld->work_limit)
        return MSNAP_OK;
    return msnap_fail_at(err, MSNAP_ELIMIT, MSNAP_BYTE, msnap_source_offset(ld->pk->src),
                         "the file refers to the same objects so often that it describes far more than it holds; "
                         "no snapshot does");
}

static uint32_t key_of(msnap_cell c) { return msnap_cell_kind(c) == MSNAP_KIND_STR ? msnap_cell_index(c) : 0; }

/* ---- traces ---- */

/* One device's entries as a run of rows. A list that is no single run (an entry twice, an empty
 * dict as an object of its own) is copied into one. */
static enum msnap_status load_trace(struct msnap_loader *ld, msnap_cell trace, size_t *first, size_t *n, struct msnap_error *err)
{
    *first = *n = 0;
    if (!msnap_value_is_sequence(trace))
        return msnap_load_wrong(ld, "trace", NULL, trace, "a list of dicts", err);
    size_t length = msnap_value_length(ld->pk, trace);
    if (length == 0)
        return MSNAP_OK;
    const struct msnap_obj *o = msnap_pickle_obj(ld->pk, trace);
    if (o->role == MSNAP_ROLE_TRACE) {
        *first = o->aux;
        *n = o->n;
        return MSNAP_OK;
    }
    if (ld->counting)
        return msnap_fail(err, MSNAP_ECANCELLED, "a trace that is no single run cannot be counted");
    *first = ld->st->events.n;
    ld->item = "entry";
    for (size_t i = 0; i < length; i++) {
        msnap_cell c = o->items[i];
        ld->item_index = i;
        uint32_t row = MSNAP_NEW_ROW;
        enum msnap_status s = MSNAP_OK;
        if (msnap_cell_kind(c) == MSNAP_KIND_RECORD) {
            row = msnap_store_copy_event(ld->st, msnap_cell_index(c));
        } else if (msnap_cell_kind(c) == MSNAP_KIND_DICT) {
            const struct msnap_obj *d = msnap_pickle_obj(ld->pk, c);
            if ((s = msnap_load_work(ld, d->n, err)) == MSNAP_OK)
                s = msnap_load_entry(ld, ld->pk, &row, d->items, d->n, err);
        } else {
            return msnap_load_wrong(ld, "entry", NULL, c, "a dict", err);
        }
        if (s != MSNAP_OK)
            return s;
        if (row == UINT32_MAX)
            return msnap_load_no_memory(ld, err);
    }
    ld->item = NULL;
    *n = length;
    return MSNAP_OK;
}

struct trace_rows {
    size_t first, n;
};

static enum msnap_status add_device(struct msnap_loader *ld, int32_t device, struct trace_rows rows, struct msnap_error *err)
{
    struct msnap_device d = {device, rows.first, rows.n, 0, 0, 0, 0};
    if (ld->counting) {
        if (!msnap_vec_reserve(&ld->st->counts, ld->st->mem, sizeof(struct msnap_device_counts), ld->st->counts.n + 1))
            return msnap_load_no_memory(ld, err);
        msnap_count_rows(ld, rows.first, rows.n, &d, &MSNAP_VEC_AT(&ld->st->counts, struct msnap_device_counts, ld->st->counts.n++));
    }
    return MSNAP_VEC_PUSH(&ld->st->devices, ld->st->mem, struct msnap_device, d) ? MSNAP_OK : msnap_load_no_memory(ld, err);
}

/* Devices with entries or segments, ascending; segments must be sorted by device already. */
static enum msnap_status make_devices(struct msnap_loader *ld, msnap_cell traces, msnap_cell host, struct msnap_error *err)
{
    struct msnap_store *st = ld->st;
    size_t n_traces = traces ? msnap_value_length(ld->pk, traces) : 0, seg = 0, n_segments = st->segments.device.n;
    const msnap_cell *items = traces ? msnap_value_items(ld->pk, traces) : NULL;
    const int32_t *device = st->segments.device.data;
    enum msnap_status s = MSNAP_OK;
    if (n_traces > 65536)
        return msnap_fail_at(err, MSNAP_EDATA, MSNAP_BYTE, msnap_source_offset(ld->pk->src),
                             "%zu device traces; no machine has that many devices, the file is damaged", n_traces);
    st->pub.n_traces = n_traces;
    for (int32_t d = 0; d < 65536 && s == MSNAP_OK; d++) {
        struct trace_rows rows = {0, 0};
        if ((size_t)d >= n_traces && (seg == n_segments || device[seg] < 0))
            break;
        ld->part = "device trace";
        ld->part_index = (size_t)d;
        if ((size_t)d < n_traces)
            s = load_trace(ld, items[d], &rows.first, &rows.n, err);
        size_t first_seg = seg;
        while (seg < n_segments && device[seg] == d)
            seg++;
        if (s == MSNAP_OK && (rows.n || seg > first_seg)) {
            s = add_device(ld, d, rows, err);
            if (s == MSNAP_OK) {
                struct msnap_device *v = &MSNAP_VEC_AT(&st->devices, struct msnap_device, st->devices.n - 1);
                v->first_segment = first_seg;
                v->n_segments = seg - first_seg;
            }
        }
    }
    if (s != MSNAP_OK)
        return s;
    ld->part = "host trace";
    ld->part_index = 0;
    /* Pinned host memory: one list of entries, or one for each of something. The first that has any. */
    struct trace_rows rows = {0, 0};
    size_t n = host && msnap_value_is_sequence(host) ? msnap_value_length(ld->pk, host) : 0;
    if (n) {
        const msnap_cell *h = msnap_value_items(ld->pk, host);
        if (h && msnap_value_is_sequence(h[0])) {
            for (size_t i = 0; i < n && rows.n == 0 && s == MSNAP_OK; i++)
                s = load_trace(ld, h[i], &rows.first, &rows.n, err);
        } else {
            s = load_trace(ld, host, &rows.first, &rows.n, err);
        }
    }
    if (s == MSNAP_OK && (rows.n || seg < n_segments)) {
        s = add_device(ld, MSNAP_HOST, rows, err);
        if (s == MSNAP_OK) {
            struct msnap_device *v = &MSNAP_VEC_AT(&st->devices, struct msnap_device, st->devices.n - 1);
            v->first_segment = seg;
            v->n_segments = n_segments - seg;
        }
    }
    return s;
}

/* ---- settings and annotations ---- */

static void load_ring_key(struct msnap_loader *ld, uint32_t key, msnap_cell v)
{
    /* A bool or integer, or a list of them by device: any overflow counts, the smallest ring holds. */
    struct msnap_settings *set = &ld->st->pub.settings;
    bool is_list = msnap_value_is_list(v);
    size_t n = is_list ? msnap_value_length(ld->pk, v) : 1;
    const msnap_cell *items = is_list ? msnap_value_items(ld->pk, v) : &v;
    for (size_t i = 0; i < n && items; i++) {
        int64_t x;
        if (!msnap_value_i64(ld->pk, items[i], &x)) {
            msnap_store_odd(ld->st, MSNAP_ODD_ignored_value, key);
            continue;
        }
        if (key == MSNAP_KEY_RING_OVERFLOWED)
            set->ring_overflowed = (set->ring_overflowed == 1 || x) ? 1 : 0;
        else if (set->ring_max_entries < 0 || x < set->ring_max_entries)
            set->ring_max_entries = x;
    }
}

static void load_divisions(struct msnap_loader *ld, msnap_cell v)
{
    struct msnap_settings *set = &ld->st->pub.settings;
    if (msnap_cell_kind(v) != MSNAP_KIND_DICT) {
        msnap_store_odd(ld->st, MSNAP_ODD_ignored_value, MSNAP_KEY_DIVISIONS);
        return;
    }
    const struct msnap_obj *o = msnap_pickle_obj(ld->pk, v);
    for (uint32_t i = 0; i + 1 < o->n; i += 2) {
        uint32_t k = key_of(o->items[i]);
        uint64_t mib = 0, divisions;
        for (const char *p = k ? MSNAP_VEC_AT(&ld->st->strings.bytes, const char *, k) : ""; *p >= '0' && *p <= '9' && mib < 65536; p++)
            mib = mib * 10 + (uint64_t)(*p - '0');
        unsigned c = 0;
        while (c < 15 && (UINT64_C(1) << c) < mib)
            c++;
        if (mib == 0 || (UINT64_C(1) << c) != mib || !msnap_value_u64(ld->pk, o->items[i + 1], &divisions) || divisions > 1u << 20)
            msnap_store_odd(ld->st, MSNAP_ODD_ignored_value, MSNAP_KEY_DIVISIONS);
        else
            set->divisions[c] = divisions;
    }
}

static enum msnap_status load_settings(struct msnap_loader *ld, msnap_cell v, struct msnap_error *err)
{
    struct msnap_settings *set = &ld->st->pub.settings;
    if (msnap_cell_kind(v) == MSNAP_KIND_NONE)
        return MSNAP_OK;
    if (msnap_cell_kind(v) != MSNAP_KIND_DICT)
        return msnap_load_wrong(ld, "snapshot", "allocator_settings", v, "a dict", err);
    const struct msnap_obj *o = msnap_pickle_obj(ld->pk, v);
    set->known = true;
    for (uint32_t i = 0; i + 1 < o->n; i += 2) {
        msnap_cell value = o->items[i + 1];
        uint32_t key = key_of(o->items[i]);
        int64_t x;
        bool ok = true;
        switch (key) {
        case MSNAP_KEY_CUDA_ALLOC_CONF:
        case MSNAP_KEY_ALLOC_CONF:
            ok = msnap_cell_kind(value) == MSNAP_KIND_STR;
            set->conf = ok ? msnap_cell_index(value) : 0;
            break;
        case MSNAP_KEY_MAX_SPLIT_SIZE:
            if ((ok = msnap_value_i64(ld->pk, value, &x)))
                set->max_split_size = x < 0 ? -1 : x;
            break;
        case MSNAP_KEY_GC_THRESHOLD: ok = msnap_value_double(ld->pk, value, &set->gc_threshold); break;
        case MSNAP_KEY_EXPANDABLE_SEGMENTS:
            if ((ok = msnap_value_i64(ld->pk, value, &x)))
                set->expandable_segments = x != 0;
            break;
        case MSNAP_KEY_DIVISIONS: load_divisions(ld, value); break;
        case MSNAP_KEY_RING_OVERFLOWED:
        case MSNAP_KEY_RING_MAX_ENTRIES: load_ring_key(ld, key, value); break;
        case MSNAP_KEY_PINNED_THREADS:
        case MSNAP_KEY_RELEASE_LOCK:
        case MSNAP_KEY_PINNED_CUDA:
        case MSNAP_KEY_PINNED_HIP:
        case MSNAP_KEY_GRAPH_REUSE:
        case MSNAP_KEY_PINNED_MAX: break; /* they change nothing that is computed here */
        default: msnap_store_odd(ld->st, MSNAP_ODD_unknown_key, key);
        }
        if (!ok)
            msnap_store_odd(ld->st, MSNAP_ODD_ignored_value, key);
    }
    return MSNAP_OK;
}

static enum msnap_status load_annotations(struct msnap_loader *ld, msnap_cell list, struct msnap_error *err)
{
    struct msnap_store *st = ld->st;
    if (msnap_cell_kind(list) == MSNAP_KIND_NONE)
        return MSNAP_OK;
    if (!msnap_value_is_list(list))
        return msnap_load_wrong(ld, "snapshot", "external_annotations", list, "a list", err);
    size_t n = msnap_value_length(ld->pk, list);
    const msnap_cell *items = msnap_value_items(ld->pk, list);
    for (size_t i = 0; i < n && items; i++) {
        if (msnap_cell_kind(items[i]) != MSNAP_KIND_DICT)
            return msnap_load_wrong(ld, "annotation", NULL, items[i], "a dict", err);
        const struct msnap_obj *o = msnap_pickle_obj(ld->pk, items[i]);
        enum msnap_status s = msnap_load_work(ld, o->n, err);
        if (s != MSNAP_OK)
            return s;
        uint32_t name = 0, stage = 0;
        int64_t device = 0, time_us = 0;
        for (uint32_t k = 0; k + 1 < o->n; k += 2) {
            msnap_cell v = o->items[k + 1];
            bool ok = true;
            switch (key_of(o->items[k])) {
            case MSNAP_KEY_NAME: name = key_of(v); break;
            case MSNAP_KEY_STAGE: stage = key_of(v); break;
            case MSNAP_KEY_DEVICE: ok = msnap_value_i64(ld->pk, v, &device); break;
            case MSNAP_KEY_TIME_US: ok = msnap_value_i64(ld->pk, v, &time_us); break;
            default: msnap_store_odd(st, MSNAP_ODD_unknown_key, key_of(o->items[k]));
            }
            if (!ok)
                msnap_store_odd(st, MSNAP_ODD_ignored_value, key_of(o->items[k]));
        }
        if (stage != MSNAP_KEY_START && stage != MSNAP_KEY_END) {
            msnap_store_odd(st, MSNAP_ODD_annotation_stage, stage);
            continue;
        }
        if (!MSNAP_VEC_PUSH(&st->annotations.name, st->mem, uint32_t, name) ||
            !MSNAP_VEC_PUSH(&st->annotations.is_end, st->mem, uint8_t, stage == MSNAP_KEY_END) ||
            !MSNAP_VEC_PUSH(&st->annotations.device, st->mem, int32_t, (int32_t)device) ||
            !MSNAP_VEC_PUSH(&st->annotations.time_us, st->mem, int64_t, time_us))
            return msnap_load_no_memory(ld, err);
    }
    return MSNAP_OK;
}

/* ---- the whole ---- */

/* "a pickled dict with the keys a, b, c": what somebody gave us instead. */
static enum msnap_status not_a_snapshot(struct msnap_loader *ld, msnap_cell c, struct msnap_error *err)
{
    char keys[96] = "";
    size_t used = 0;
    if (msnap_cell_kind(c) == MSNAP_KIND_DICT) {
        const struct msnap_obj *o = msnap_pickle_obj(ld->pk, c);
        for (uint32_t i = 0; i < o->n && i < 8; i += 2) {
            uint32_t id = key_of(o->items[i]), len = id ? MSNAP_VEC_AT(&ld->st->strings.len, uint32_t, id) : 0;
            if (id && used + len + 4 < sizeof keys) {
                const char *text = MSNAP_VEC_AT(&ld->st->strings.bytes, const char *, id);
                if (used)
                    keys[used++] = ',';
                keys[used++] = ' ';
                for (uint32_t k = 0; k < len; k++)
                    keys[used++] = text[k] >= ' ' && text[k] < 0x7F ? text[k] : '?';
            }
        }
        keys[used] = '\0';
    }
    return msnap_fail_at(err, MSNAP_EDATA, MSNAP_BYTE, 0,
                         "this pickle holds %s%s%s%s, not a memory snapshot (a dict with 'segments' and "
                         "'device_traces'). Give the file that torch.cuda.memory._dump_snapshot() wrote",
                         msnap_value_kind_name(c), used ? " (keys:" : "", keys, used ? ", ...)" : "");
}

static bool looks_like_segments(const struct msnap_loader *ld, msnap_cell list)
{
    if (!msnap_value_is_list(list))
        return false;
    size_t n = msnap_value_length(ld->pk, list);
    const msnap_cell *items = msnap_value_items(ld->pk, list);
    if (n == 0 || !items)
        return n == 0;
    if (msnap_cell_kind(items[0]) != MSNAP_KIND_DICT)
        return false;
    const struct msnap_obj *o = msnap_pickle_obj(ld->pk, items[0]);
    for (uint32_t i = 0; i < o->n; i += 2)
        if (key_of(o->items[i]) == MSNAP_KEY_BLOCKS)
            return true;
    return false;
}

static bool blocks_have_addresses(const struct msnap_loader *ld, msnap_cell segments)
{
    size_t n = msnap_value_is_list(segments) ? msnap_value_length(ld->pk, segments) : 0;
    const msnap_cell *items = n ? msnap_value_items(ld->pk, segments) : NULL;
    for (size_t s = 0; s < n && items; s++) {
        const struct msnap_obj *seg = msnap_cell_kind(items[s]) == MSNAP_KIND_DICT ? msnap_pickle_obj(ld->pk, items[s]) : NULL;
        for (uint32_t i = 0; seg && i + 1 < seg->n; i += 2) {
            if (key_of(seg->items[i]) != MSNAP_KEY_BLOCKS || msnap_cell_kind(seg->items[i + 1]) != MSNAP_KIND_LIST)
                continue;
            const struct msnap_obj *blocks = msnap_pickle_obj(ld->pk, seg->items[i + 1]);
            if (blocks->n == 0 || !blocks->items || msnap_cell_kind(blocks->items[0]) != MSNAP_KIND_DICT)
                continue;
            const struct msnap_obj *b = msnap_pickle_obj(ld->pk, blocks->items[0]);
            for (uint32_t k = 0; k < b->n; k += 2)
                if (key_of(b->items[k]) == MSNAP_KEY_ADDRESS)
                    return true;
            return false;
        }
    }
    return true; /* nothing to tell by */
}

enum msnap_status msnap_load_torch(struct msnap_loader *ld, struct msnap_error *err)
{
    struct msnap_store *st = ld->st;
    msnap_cell top = ld->pk->result, segments = 0, traces = 0, settings = 0, annotations = 0, host_segments = 0, host_traces = 0;
    bool is_list = msnap_value_is_list(top);
    st->pub.settings.max_split_size = -1;
    st->pub.settings.ring_overflowed = st->pub.settings.ring_max_entries = -1;
    if (is_list) {
        if (!looks_like_segments(ld, top))
            return not_a_snapshot(ld, top, err);
        segments = top;
    } else if (msnap_cell_kind(top) == MSNAP_KIND_DICT) {
        const struct msnap_obj *o = msnap_pickle_obj(ld->pk, top);
        for (uint32_t i = 0; i + 1 < o->n; i += 2) {
            msnap_cell v = o->items[i + 1];
            switch (key_of(o->items[i])) {
            case MSNAP_KEY_SEGMENTS: segments = v; break;
            case MSNAP_KEY_DEVICE_TRACES: traces = v; break;
            case MSNAP_KEY_ALLOCATOR_SETTINGS: settings = v; break;
            case MSNAP_KEY_EXTERNAL_ANNOTATIONS: annotations = v; break;
            case MSNAP_KEY_HOST_SEGMENTS: host_segments = v; break;
            case MSNAP_KEY_HOST_TRACES: host_traces = v; break;
            case MSNAP_KEY_RING_OVERFLOWED:
            case MSNAP_KEY_RING_MAX_ENTRIES: load_ring_key(ld, key_of(o->items[i]), v); break;
            default: msnap_store_odd(st, MSNAP_ODD_unknown_key, key_of(o->items[i]));
            }
        }
    }
    if (!segments && !traces)
        return not_a_snapshot(ld, top, err);
    if (traces && !msnap_value_is_list(traces))
        return msnap_load_wrong(ld, "snapshot", "device_traces", traces, "a list of lists of dicts", err);
    if (host_traces && msnap_cell_kind(host_traces) == MSNAP_KIND_NONE)
        host_traces = 0;
    if (host_segments && msnap_cell_kind(host_segments) == MSNAP_KIND_NONE)
        host_segments = 0;
    enum msnap_status s = MSNAP_OK;
    if (segments)
        s = msnap_load_segments(ld, segments, false, err);
    if (s == MSNAP_OK && host_segments)
        s = msnap_load_segments(ld, host_segments, true, err);
    if (s == MSNAP_OK && settings)
        s = load_settings(ld, settings, err);
    if (s == MSNAP_OK && annotations)
        s = load_annotations(ld, annotations, err);
    if (s == MSNAP_OK && !msnap_store_sort_segments(st))
        return msnap_load_no_memory(ld, err);
    if (s == MSNAP_OK)
        s = make_devices(ld, traces, host_traces, err);
    bool modern = blocks_have_addresses(ld, segments ? segments : MSNAP_CELL(MSNAP_KIND_EMPTY_LIST, 0));
    st->pub.format = is_list ? (modern ? "segment list (2.1 or later)" : "segment list (1.13)")
                             : (modern ? "snapshot (2.1 or later)" : "snapshot (2.0)");
    return s;
}
