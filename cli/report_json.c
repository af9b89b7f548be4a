/* report_json.c -- `memsnap report --json`. What is not worked out yet is null or []. */
#include "report.h"

#include "findings_words.h"
#include "frag_words.h"
#include "json.h"
#include "leaks_words.h"
#include "oom_words.h"
#include "place.h"
#include "text_buffer.h"

#include <string.h>

/* Whether `event` has a time, and which. */
static void add_time(struct json *j, cJSON *parent, const struct device_facts *f, uint32_t event)
{
    const struct msnap_events *ev = &f->snapshot->events;

    if (event != MSNAP_NO_EVENT && (ev->has[f->device->first_event + event] & MSNAP_HAS_TIME))
        json_i64(j, parent, "time_us", ev->time_us[f->device->first_event + event]);
    else
        json_null(j, parent, "time_us");
}

static void add_event(struct json *j, cJSON *parent, uint32_t event)
{
    if (event == MSNAP_NO_EVENT)
        json_null(j, parent, "event");
    else
        json_u64(j, parent, "event", event);
}

static void add_place(struct json *j, cJSON *parent, const struct msnap_snapshot *s, uint32_t frame)
{
    struct text_buffer text;

    text_buffer_init(&text);
    place_put_json(&text.sink, s, frame);
    json_raw(j, parent, "top_frame", text_buffer_finish(&text));
    text_buffer_free(&text);
}

static void add_stacks(struct json *j, cJSON *peak, const struct device_facts *f)
{
    cJSON *list = json_array(j, peak, "stacks");

    for (size_t i = 0; i < f->stacks.n; i++) {
        const struct msnap_rank_row *row = &f->stacks.rows[i];
        cJSON *item = json_object(j, list, NULL);
        json_u64(j, item, "bytes", row->bytes);
        json_u64(j, item, "count", row->count);
        const char *category = f->categories.classes.names[f->categories.of_stack[i]];
        json_text(j, item, "category", category, strlen(category));
        add_place(j, item, f->snapshot, msnap_stack_user_frame(f->snapshot, row->key));
        json_u64(j, item, "stack", row->key);
    }
}

static void add_peak(struct json *j, cJSON *device, const struct device_facts *f)
{
    const struct msnap_moment *m = &f->history.peak;
    cJSON *peak = json_object(j, device, "peak");

    add_event(j, peak, m->event);
    add_time(j, peak, f, m->event);
    json_u64(j, peak, "allocated_bytes", m->totals.allocated);
    json_u64(j, peak, "active_bytes", m->totals.active);
    json_u64(j, peak, "reserved_bytes", m->totals.reserved);
    json_u64(j, peak, "requested_bytes", m->totals.requested);
    json_u64(j, peak, "cache_bytes", facts_cache_bytes(&m->totals));
    /* Outside memory is known at OOM events only, and with the device's capacity. */
    const struct msnap_oom *oom = the_oom(f->ooms, f->n_ooms);
    if (oom && oom->capacity_known)
        json_u64(j, peak, "context_bytes", oom->outside_bytes);
    else
        json_null(j, peak, "context_bytes");
    categories_json(j, peak, f);
    add_stacks(j, peak, f);
}

static void add_ooms(struct json *j, cJSON *device, const struct device_facts *f)
{
    cJSON *list = json_array(j, device, "oom");

    for (size_t i = 0; i < f->n_ooms; i++)
        add_oom_json(j, list, &f->history, &f->ooms[i]);
}

static void add_totals(struct json *j, cJSON *device, const char *key, const struct msnap_totals *t)
{
    cJSON *item = json_object(j, device, key);

    json_u64(j, item, "allocated_bytes", t->allocated);
    json_u64(j, item, "active_bytes", t->active);
    json_u64(j, item, "reserved_bytes", t->reserved);
    json_u64(j, item, "requested_bytes", t->requested);
}

static void add_device(struct json *j, cJSON *devices, const struct device_facts *f)
{
    static const char *const coverage[] = {
        [MSNAP_HISTORY_NONE] = "none", [MSNAP_HISTORY_CUT] = "cut", [MSNAP_HISTORY_COMPLETE] = "complete"};
    const char *word = coverage[f->history.coverage];
    cJSON *d = json_object(j, devices, NULL);

    json_i64(j, d, "device", f->device->device);
    json_u64(j, d, "events", f->device->n_events);
    json_text(j, d, "history", word, strlen(word));
    add_peak(j, d, f);
    json_u64(j, d, "peak_reserved_bytes", f->history.peak_reserved);
    add_totals(j, d, "start", &f->history.start);
    add_totals(j, d, "end", &f->history.end);
    steps_json(j, d, f);
    add_ooms(j, d, f);
    add_frag_json(j, json_object(j, d, "fragmentation"), &f->history, &f->frag, 10);
    add_leaks_json(j, json_array(j, d, "leaks"), &f->history, &f->categories.classes, &f->leaks, 12);
    add_findings_json(j, json_array(j, d, "findings"), f->findings, f->n_findings);
    json_u64(j, d, "faults", f->history.n_faults);
}

int report_json(struct output *out, const char *path, const struct device_facts *facts, size_t n)
{
    struct json j;

    json_start(&j, "memsnap.report/1");
    json_text(&j, j.root, "file", path, strlen(path));
    cJSON *devices = json_array(&j, j.root, "devices");
    for (size_t i = 0; i < n; i++)
        add_device(&j, devices, &facts[i]);
    return json_finish(&j, &out->sink);
}
