/* frag_json.c -- fragmentation as JSON, for `frag` and `report`. */
#include "frag_words.h"

#include "place.h"
#include "text_buffer.h"

static void add_place(struct json *j, cJSON *parent, const struct msnap_snapshot *s, uint32_t stack)
{
    struct text_buffer text;
    text_buffer_init(&text);
    place_put_json(&text.sink, s, msnap_stack_user_frame(s, stack));
    json_raw(j, parent, "top_frame", text_buffer_finish(&text));
    text_buffer_free(&text);
}

void add_frag_json(struct json *j, cJSON *to, const struct msnap_history *h, const struct msnap_frag *f, size_t rows)
{
    const struct msnap_snapshot *s = h->snapshot;
    if (f->map.event == MSNAP_NO_EVENT)
        json_null(j, to, "event");
    else
        json_u64(j, to, "event", f->map.event);
    json_u64(j, to, "reserved_bytes", f->map.totals.reserved);
    json_u64(j, to, "allocated_bytes", f->map.totals.allocated);
    json_u64(j, to, "active_bytes", f->map.totals.active);
    json_u64(j, to, "requested_bytes", f->map.totals.requested);
    json_u64(j, to, "inactive_bytes", f->inactive);
    json_u64(j, to, "releasable_bytes", f->releasable);
    json_u64(j, to, "pinned_bytes", f->pinned);
    json_u64(j, to, "largest_free_block_bytes", f->largest_free);
    json_double(j, to, "external_fragmentation", f->external);
    json_double(j, to, "internal_fragmentation", f->internal);
    cJSON *pools = json_array(j, to, "pools");
    for (size_t i = 0; i < f->n_pools; i++) {
        const struct msnap_frag_pool *p = &f->pools[i];
        cJSON *item = json_object(j, pools, NULL);
        cJSON *id = json_array(j, item, "pool");
        json_i64(j, id, NULL, s->pools.first[p->pool]);
        json_i64(j, id, NULL, s->pools.second[p->pool]);
        json_i64(j, item, "stream", s->streams.raw[p->stream]);
        json_text(j, item, "class", p->small ? "small" : "large", 5);
        json_u64(j, item, "segments", p->segments);
        json_u64(j, item, "reserved_bytes", p->reserved);
        json_u64(j, item, "allocated_bytes", p->allocated);
        json_u64(j, item, "pending_bytes", p->pending);
        json_u64(j, item, "inactive_bytes", p->inactive);
        json_u64(j, item, "releasable_bytes", p->releasable);
        json_u64(j, item, "largest_free_block_bytes", p->largest_free);
    }
    cJSON *segments = json_array(j, to, "segments");
    for (size_t i = 0; i < f->n_segments && i < rows; i++) {
        const struct msnap_frag_segment *g = &f->segments[i];
        const struct msnap_map_segment *m = &f->map.segments[g->segment];
        cJSON *item = json_object(j, segments, NULL);
        json_u64(j, item, "addr", m->addr);
        json_u64(j, item, "size", m->size);
        json_bool(j, item, "expandable", m->expandable);
        json_u64(j, item, "allocated_bytes", g->allocated);
        json_u64(j, item, "pending_bytes", g->pending);
        json_u64(j, item, "inactive_bytes", g->inactive);
        json_u64(j, item, "releasable_bytes", g->releasable);
        json_u64(j, item, "largest_free_block_bytes", g->largest_free);
        json_u64(j, item, "live_blocks", g->live_blocks);
    }
    cJSON *classes = json_array(j, to, "free_blocks");
    for (size_t i = 0; i < f->n_classes; i++) {
        cJSON *item = json_object(j, classes, NULL);
        json_u64(j, item, "from_bytes", f->classes[i].from);
        json_u64(j, item, "count", f->classes[i].blocks);
        json_u64(j, item, "bytes", f->classes[i].bytes);
    }
    cJSON *pins = json_array(j, to, "pins");
    for (size_t i = 0; i < f->n_pins && i < rows; i++) {
        const struct msnap_frag_pin *p = &f->pins[i];
        cJSON *item = json_object(j, pins, NULL);
        json_u64(j, item, "blocks", p->blocks);
        json_u64(j, item, "bytes", p->bytes);
        json_u64(j, item, "segments", p->segments);
        json_u64(j, item, "held_back_bytes", p->held_back);
        json_u64(j, item, "released_without_bytes", p->released);
        add_place(j, item, s, p->stack);
        json_u64(j, item, "stack", p->stack);
    }
    cJSON *points = json_array(j, to, "over_time");
    for (size_t i = 0; i < f->n_points; i++) {
        const struct msnap_frag_point *p = &f->points[i];
        cJSON *item = json_object(j, points, NULL);
        json_u64(j, item, "event", p->event);
        json_u64(j, item, "reserved_bytes", p->totals.reserved);
        json_u64(j, item, "allocated_bytes", p->totals.allocated);
        json_u64(j, item, "inactive_bytes", p->totals.reserved - p->totals.active);
        json_u64(j, item, "largest_free_block_bytes", p->largest_free);
    }
}
