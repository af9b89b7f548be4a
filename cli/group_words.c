/* group_words.c -- groups of allocations in words: their stack, line, stream, pool, category or step. */
#include "group_words.h"

#include "place.h"
#include "text_buffer.h"

#include <memsnap/classify.h>

#include <inttypes.h>
#include <string.h>

const char *const group_words[MSNAP_N_GROUP_BY + 1] = {
    [MSNAP_BY_STACK] = "stack", [MSNAP_BY_LINE] = "line", [MSNAP_BY_STREAM] = "stream", [MSNAP_BY_POOL] = "pool",
    [MSNAP_BY_CATEGORY] = "category", [MSNAP_BY_STEP] = "step"};

static void put_pool(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t pool)
{
    if (!pool)
        msnap_puts(out, "(the file names no pool)");
    else if (!s->pools.first[pool] && !s->pools.second[pool])
        msnap_puts(out, "default pool");
    else
        msnap_putf(out, "private pool (%" PRId64 ", %" PRId64 ")", s->pools.first[pool], s->pools.second[pool]);
}

static void put_step(struct msnap_sink *out, const struct msnap_steps *s, uint32_t key)
{
    if (key == MSNAP_STEP_BEFORE_RECORDING)
        msnap_puts(out, "before the recording");
    else if (key == MSNAP_STEP_BEFORE)
        msnap_puts(out, "before the first step");
    else if (key == MSNAP_STEP_OUTSIDE)
        msnap_puts(out, s->n ? "between the steps or after them" : "in the recording (no steps were found)");
    else
        msnap_putf(out, "step %" PRIu64, s->steps[key - MSNAP_STEP_KEY].number);
}

void group_put(struct msnap_sink *out, const struct msnap_history *h, enum msnap_group_by by,
               const struct msnap_rank_row *row, size_t width)
{
    const struct msnap_snapshot *s = h->snapshot;
    if (by == MSNAP_BY_CATEGORY)
        msnap_put_terminal(out, h->classes->names[row->key], strlen(h->classes->names[row->key]));
    else if (by == MSNAP_BY_LINE)
        place_put_frame(out, s, row->key, width);
    else if (by == MSNAP_BY_STACK)
        place_put_stack(out, s, row->key, width);
    else if (by == MSNAP_BY_POOL)
        put_pool(out, s, row->key);
    else if (by == MSNAP_BY_STEP)
        put_step(out, h->steps, row->key);
    else if (by == MSNAP_BY_STREAM && row->key)
        msnap_putf(out, "stream %" PRId64 "%s", s->streams.raw[row->key], s->streams.raw[row->key] ? "" : " (the default one)");
    else if (by == MSNAP_BY_STREAM)
        msnap_puts(out, "(the file names no stream)");
    else
        msnap_putf(out, "group %" PRIu32, row->key);
}

static void add_frame(struct json *j, cJSON *to, const struct msnap_snapshot *s, uint32_t frame)
{
    struct text_buffer text;
    text_buffer_init(&text);
    place_put_json(&text.sink, s, frame);
    json_raw(j, to, "top_frame", text_buffer_finish(&text));
    text_buffer_free(&text);
}

void group_add_json(struct json *j, cJSON *to, const struct msnap_history *h, enum msnap_group_by by,
                    const struct msnap_rank_row *row)
{
    const struct msnap_snapshot *s = h->snapshot;
    if (by == MSNAP_BY_CATEGORY)
        json_text(j, to, "category", h->classes->names[row->key], strlen(h->classes->names[row->key]));
    else if (by == MSNAP_BY_STEP) {
        static const char *const outside[MSNAP_STEP_KEY] = {"before_recording", "before_steps", "outside_steps"};
        if (row->key >= MSNAP_STEP_KEY)
            json_u64(j, to, "step", h->steps->steps[row->key - MSNAP_STEP_KEY].number);
        else
            json_null(j, to, "step");
        if (row->key < MSNAP_STEP_KEY)
            json_text(j, to, "when", outside[row->key], strlen(outside[row->key]));
    } else if (by == MSNAP_BY_STACK || by == MSNAP_BY_LINE) {
        add_frame(j, to, s, by == MSNAP_BY_LINE ? row->key : msnap_stack_user_frame(s, row->key));
        json_u64(j, to, "stack", row->stack);
    } else if (by == MSNAP_BY_STREAM) {
        if (row->key)
            json_i64(j, to, "stream", s->streams.raw[row->key]);
        else
            json_null(j, to, "stream");
    } else if (by == MSNAP_BY_POOL && !row->key) {
        json_null(j, to, "pool");
    } else if (by == MSNAP_BY_POOL) {
        cJSON *pool = json_array(j, to, "pool");
        json_i64(j, pool, NULL, s->pools.first[row->key]);
        json_i64(j, pool, NULL, s->pools.second[row->key]);
    } else {
        json_u64(j, to, group_words[by], row->key);
    }
}
