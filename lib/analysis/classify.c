/* classify.c -- every allocation gets a rule, and with it a category. */
#include "analysis/classify_rows.h"

#include "base/arena.h"
#include "base/status.h"

#include <string.h>

static const char *const category_names[MSNAP_N_CATEGORIES] = {
    [MSNAP_WEIGHT] = "weight",
    [MSNAP_GRADIENT] = "gradient",
    [MSNAP_OPTIMIZER_STATE] = "optimizer_state",
    [MSNAP_ACTIVATION] = "activation",
    [MSNAP_INPUT] = "input",
    [MSNAP_WORKSPACE] = "workspace",
    [MSNAP_COMMUNICATION] = "communication",
    [MSNAP_TEMPORARY] = "temporary",
    [MSNAP_UNKNOWN] = "unknown"};

static const uint8_t category_of_rule[MSNAP_N_RULES] = {
#define RULE(name, category, meaning) MSNAP_##category,
#include "analysis/rules.def"
#undef RULE
};

static const struct msnap_rule our_rules[MSNAP_N_RULES] = {
#define RULE(name, category, meaning) {#name, meaning},
#include "analysis/rules.def"
#undef RULE
};

static enum msnap_status no_memory(struct msnap_error *err) { return msnap_fail(err, MSNAP_ENOMEM, "no memory for the categories"); }

const char *msnap_category_name(unsigned category)
{
    return category < MSNAP_N_CATEGORIES ? category_names[category] : NULL;
}

/* ---- the user's rules ---- */

struct users {
    uint8_t *rule_of_stack; /* the user rule that decides a stack, + 1; NULL: there are none */
    uint8_t category[MSNAP_MAX_USER_RULES];
};

static size_t category_number(const char **names, size_t *n, const char *name)
{
    size_t i = 0;
    while (i < *n && strcmp(names[i], name) != 0)
        i++;
    if (i == *n)
        names[(*n)++] = name;
    return i;
}

/* Which rule holds for a frame: the first. */
static bool match_frames(const struct msnap_snapshot *s, const struct msnap_user_rules *user, struct msnap_arena *arena, uint8_t *rule)
{
    size_t room = 0;
    for (size_t i = 1; i < s->frames.n; i++) {
        const size_t need = (size_t)s->strings.len[s->frames.filename[i]] + s->strings.len[s->frames.name[i]] + 24;
        room = need > room ? need : room;
    }
    char *text = MSNAP_NEW_RAW(arena, char, room + 1);
    if (!text)
        return false;
    for (size_t i = 1; i < s->frames.n; i++) {
        const uint32_t file = s->frames.filename[i], name = s->frames.name[i];
        char digits[24], *p = text;
        size_t n = 0;
        memcpy(p, s->strings.bytes[file], s->strings.len[file]);
        p += s->strings.len[file];
        *p++ = ':';
        int64_t line = s->frames.line[i] > 0 && s->frames.line[i] != MSNAP_LINE_U64_MAX ? s->frames.line[i] : 0;
        do
            digits[n++] = (char)('0' + line % 10);
        while ((line /= 10) > 0);
        while (n)
            *p++ = digits[--n];
        *p++ = ':';
        memcpy(p, s->strings.bytes[name], s->strings.len[name]);
        p += s->strings.len[name];
        *p = 0;
        for (size_t k = 0; k < user->n && !rule[i]; k++)
            if (user->rules[k].matches(user->rules[k].ctx, text, (size_t)(p - text)))
                rule[i] = (uint8_t)(k + 1);
    }
    return true;
}

/* The first rule that holds for any frame of a stack decides it. */
static enum msnap_status find_users(const struct msnap_snapshot *s, const struct msnap_user_rules *user, struct msnap_arena *arena,
                                    struct users *out, struct msnap_error *err)
{
    out->rule_of_stack = NULL;
    if (!user || !user->n)
        return MSNAP_OK;
    uint8_t *of_frame = MSNAP_NEW(arena, uint8_t, s->frames.n + 1), *of_stack = MSNAP_NEW(arena, uint8_t, s->stacks.n + 2);
    if (!of_frame || !of_stack || !match_frames(s, user, arena, of_frame))
        return no_memory(err);
    for (size_t i = 2; i < s->stacks.n; i++) {
        const uint8_t own = of_frame[s->stacks.frame[i]], callers = of_stack[s->stacks.parent[i]];
        of_stack[i] = !own ? callers : !callers ? own : own < callers ? own : callers;
    }
    out->rule_of_stack = of_stack;
    return MSNAP_OK;
}

static enum msnap_status name_all(const struct msnap_user_rules *user, struct msnap_arena *arena, struct users *users,
                                  struct msnap_classes *c, struct msnap_error *err)
{
    const size_t n_user = user ? user->n : 0;
    if (n_user > MSNAP_MAX_USER_RULES)
        return msnap_fail(err, MSNAP_EUSAGE, "%zu rules are too many: at most %d", n_user, MSNAP_MAX_USER_RULES);
    const char **names = MSNAP_NEW(arena, const char *, MSNAP_N_CATEGORIES + n_user + 1);
    struct msnap_rule *rules = MSNAP_NEW(arena, struct msnap_rule, MSNAP_N_RULES + n_user);
    size_t n = MSNAP_N_CATEGORIES;
    if (!names || !rules)
        return no_memory(err);
    memcpy(names, category_names, sizeof category_names);
    memcpy(rules, our_rules, sizeof our_rules);
    for (size_t i = 0; i < n_user; i++) {
        users->category[i] = (uint8_t)category_number(names, &n, user->rules[i].category);
        rules[MSNAP_N_RULES + i] = (struct msnap_rule){user->rules[i].name, "a rule of your own"};
    }
    if (n > MSNAP_MAX_CATEGORIES)
        return msnap_fail(err, MSNAP_EUSAGE, "%zu categories are too many: at most %d", n, MSNAP_MAX_CATEGORIES);
    c->n_categories = n;
    c->names = names;
    c->n_rules = MSNAP_N_RULES + n_user;
    c->rules = rules;
    return MSNAP_OK;
}

/* Where gradients are views of DDP's buckets, no other block holds them. */
static void buckets_that_are_gradients(const struct evidence *e, uint8_t *category, uint8_t *rule)
{
    const struct msnap_allocs *a = &e->h->allocs;
    uint64_t gradients = 0, buckets = 0;
    const uint32_t backward = e->steps->n_phases ? e->next[0].first[MSNAP_PHASE_BACKWARD] : MSNAP_NO_EVENT;
    if (backward == MSNAP_NO_EVENT || !e->parameter_bytes)
        return;
    for (size_t r = a->n_initial; r < a->n; r++) {
        if (category[r] == MSNAP_GRADIENT)
            gradients += a->block_size[r];
        else if (rule[r] == MSNAP_RULE_buckets && (a->request_event[r] == MSNAP_NO_EVENT || a->request_event[r] > backward))
            buckets += a->block_size[r];
    }
    if (gradients > e->parameter_bytes / 4 || buckets < e->parameter_bytes / 4)
        return;
    for (size_t r = a->n_initial; r < a->n; r++)
        if (rule[r] == MSNAP_RULE_buckets && (a->request_event[r] == MSNAP_NO_EVENT || a->request_event[r] > backward)) {
            rule[r] = MSNAP_RULE_bucket_view;
            category[r] = MSNAP_GRADIENT;
        }
}

enum msnap_status msnap_classify(const struct msnap_history *h, const struct msnap_steps *steps, const struct msnap_user_rules *user,
                                 struct msnap_arena *arena, struct msnap_classes *out, struct msnap_error *err)
{
    const struct msnap_allocs *a = &h->allocs;
    struct msnap_classes c = {.n = a->n};
    struct users users;
    struct evidence e;
    uint8_t *category = MSNAP_NEW_RAW(arena, uint8_t, a->n), *rule = MSNAP_NEW_RAW(arena, uint8_t, a->n);
    if (!category || !rule)
        return no_memory(err);
    enum msnap_status st = name_all(user, arena, &users, &c, err);
    if (st == MSNAP_OK)
        st = find_users(h->snapshot, user, arena, &users, err);
    if (st != MSNAP_OK)
        return st;
    if (!msnap_evidence_gather(&e, h, steps, arena))
        return no_memory(err);
    struct row r = {0};
    for (size_t i = 0; i < a->n; i++) {
        if (i < a->n_initial) {
            rule[i] = (uint8_t)msnap_rule_of_initial(&e, i);
        } else {
            msnap_row_at(&e, i, &r);
            rule[i] = (uint8_t)(steps->n_phases ? msnap_rule_of(&e, &r) : MSNAP_RULE_no_evidence);
        }
        category[i] = category_of_rule[rule[i]];
    }
    buckets_that_are_gradients(&e, category, rule);
    for (size_t i = 0; i < a->n && users.rule_of_stack; i++) {
        const uint8_t k = users.rule_of_stack[msnap_alloc_stack(h, i)];
        if (k) {
            rule[i] = (uint8_t)(MSNAP_N_RULES + k - 1);
            category[i] = users.category[k - 1];
        }
    }
    c.category = category;
    c.rule = rule;
    *out = c;
    return MSNAP_OK;
}

void msnap_classes_sum(const struct msnap_history *h, const struct msnap_classes *c, uint32_t event, uint64_t *bytes)
{
    memset(bytes, 0, c->n_categories * sizeof *bytes);
    for (size_t r = 0; r < c->n; r++)
        if (msnap_alloc_is_allocated(h, r, event))
            bytes[c->category[r]] += h->allocs.block_size[r];
}
