/* load_counts.c -- entries as counts, for who only asks what is in a file. */
#include "base/status.h"
#include "model/load.h"

#define SLOT(key) (MSNAP_KEY_##key - MSNAP_KEY_ACTION)

static struct count_group *group_for(struct msnap_loader *ld)
{
    struct msnap_counting *c = ld->counting;
    if (c->list != ld->pk->record_list || c->groups.n == 0) {
        struct count_group g = {.first_row = c->n_rows};
        if (!MSNAP_VEC_PUSH(&c->groups, ld->st->mem, struct count_group, g))
            return NULL;
        c->list = ld->pk->record_list;
    }
    return &MSNAP_VEC_AT(&c->groups, struct count_group, c->groups.n - 1);
}

static void count_time(struct msnap_device_counts *c, int64_t time_us)
{
    if (!c->has_time)
        c->first_time_us = time_us;
    c->has_time = true;
    c->last_time_us = time_us;
}

enum msnap_status msnap_count_entry(void *ctx, struct msnap_pickle *pk, uint32_t *row, const msnap_cell *pairs,
                                    size_t n, struct msnap_error *err)
{
    struct msnap_loader *ld = ctx;
    struct msnap_counting *c = ld->counting;
    size_t kept = c->rows.n;
    if (*row == MSNAP_NEW_ROW) {
        if (!group_for(ld) || !MSNAP_VEC_PUSH(&c->rows, ld->st->mem, uint32_t, c->n_rows))
            return msnap_load_no_memory(ld, err);
        uint32_t index = MSNAP_NEW_ROW;
        enum msnap_status s = msnap_load_entry(ctx, pk, &index, pairs, n, err);
        *row = c->n_rows++;
        return s;
    }
    while (kept && MSNAP_VEC_AT(&c->rows, uint32_t, kept - 1) > *row)
        kept--;
    if (!kept || MSNAP_VEC_AT(&c->rows, uint32_t, kept - 1) != *row)
        return msnap_fail(err, MSNAP_ECANCELLED, "an entry that was counted is changed later");
    uint32_t index = (uint32_t)kept - 1;
    return msnap_load_entry(ctx, pk, &index, pairs, n, err);
}

enum msnap_status msnap_count_slots(void *ctx, struct msnap_pickle *pk, uint32_t *row, const msnap_cell s[],
                                    uint32_t mask, struct msnap_error *err)
{
    const uint32_t need = 1u << SLOT(ACTION) | 1u << SLOT(ADDR) | 1u << SLOT(SIZE);
    const uint32_t plain = need | 1u << SLOT(STREAM) | 1u << SLOT(TIME_US) | 1u << SLOT(FRAMES) | 1u << SLOT(COMPILE_CONTEXT) |
                           1u << SLOT(USER_METADATA) | 1u << SLOT(POOL_ID);
    struct msnap_loader *ld = ctx;
    msnap_cell action = s[SLOT(ACTION)], frames = mask >> SLOT(FRAMES) & 1 ? s[SLOT(FRAMES)] : 0;
    bool known = action >= MSNAP_CELL(MSNAP_KIND_STR, MSNAP_KEY_A_ALLOC) && action <= MSNAP_CELL(MSNAP_KIND_STR, MSNAP_KEY_A_FREE_COMPLETED);
    bool stack_seen = !frames || (msnap_cell_kind(frames) == MSNAP_KIND_LIST && msnap_pickle_obj(pk, frames)->aux) ||
                      (msnap_cell_kind(frames) == MSNAP_KIND_EMPTY_LIST && MSNAP_VEC_AT(&ld->st->stacks.used, uint8_t, MSNAP_STACK_EMPTY));
    bool numbers = msnap_cell_kind(s[SLOT(ADDR)]) == MSNAP_KIND_INT && msnap_cell_kind(s[SLOT(SIZE)]) == MSNAP_KIND_INT &&
                   msnap_cell_int(s[SLOT(SIZE)]) >= 0 && msnap_cell_int(s[SLOT(SIZE)]) < INT64_C(1) << 50 &&
                   (!(mask >> SLOT(TIME_US) & 1) || msnap_cell_kind(s[SLOT(TIME_US)]) == MSNAP_KIND_INT) &&
                   (!(mask >> SLOT(STREAM) & 1) || (ld->last_stream && s[SLOT(STREAM)] == ld->last_stream_cell));
    struct count_group *g;
    if ((mask & need) == need && !(mask & ~plain) && known && stack_seen && numbers && (g = group_for(ld))) {
        g->counts.by_action[msnap_cell_index(action) - MSNAP_KEY_A_ALLOC + MSNAP_ALLOC]++;
        *row = ld->counting->n_rows++;
        if (mask >> SLOT(TIME_US) & 1) {
            if (!g->counts.has_time)
                g->first_time_row = *row;
            count_time(&g->counts, msnap_cell_int(s[SLOT(TIME_US)]));
            g->last_time_row = *row;
        }
        return MSNAP_OK;
    }
    msnap_cell pairs[2 * MSNAP_N_SLOTS];
    size_t n = 0;
    for (uint32_t k = 0; k < MSNAP_N_SLOTS; k++)
        if (mask >> k & 1) {
            pairs[n++] = MSNAP_CELL(MSNAP_KIND_STR, MSNAP_KEY_ACTION + k);
            pairs[n++] = s[k];
        }
    return msnap_count_entry(ctx, pk, row, pairs, n, err);
}

void msnap_count_rows(struct msnap_loader *ld, size_t first, size_t n, struct msnap_device *device, struct msnap_device_counts *out)
{
    struct msnap_counting *c = ld->counting;
    const struct msnap_event_columns *e = &ld->st->events;
    const uint32_t *rows = c->rows.data;
    uint32_t first_time_row = UINT32_MAX, last_time_row = 0;
    *out = (struct msnap_device_counts){{0}, false, 0, 0};
    for (size_t i = 0; i < c->groups.n; i++) {
        const struct count_group *g = &MSNAP_VEC_AT(&c->groups, struct count_group, i);
        if (g->first_row < first || g->first_row >= first + n)
            continue;
        for (int a = 0; a < 256; a++)
            out->by_action[a] += g->counts.by_action[a];
        if (g->counts.has_time) { /* groups come in the order of their rows */
            if (!out->has_time) {
                first_time_row = g->first_time_row;
                out->first_time_us = g->counts.first_time_us;
            }
            out->last_time_us = g->counts.last_time_us;
            out->has_time = true;
            last_time_row = g->last_time_row;
        }
    }
    size_t low = 0;
    while (low < c->rows.n && rows[low] < first)
        low++;
    device->first_kept = low;
    size_t high = low;
    for (; high < c->rows.n && rows[high] < first + n; high++) {
        out->by_action[e->action[high]]++;
        if (!(e->has[high] & MSNAP_HAS_TIME))
            continue;
        if (!out->has_time || rows[high] < first_time_row) {
            out->first_time_us = e->time_us[high];
            first_time_row = rows[high];
        }
        if (!out->has_time || rows[high] >= last_time_row) {
            out->last_time_us = e->time_us[high];
            last_time_row = rows[high];
        }
        out->has_time = true;
    }
    device->n_kept = high - low;
}
