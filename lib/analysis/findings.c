/* findings.c -- the list: rules in turn, then by severity and bytes. */
#include "analysis/finding_list.h"

#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct msnap_finding *msnap_finding_add(struct finding_list *l, const char *id, enum msnap_severity severity, uint64_t bytes)
{
    struct msnap_finding *f = &l->v[l->n < MAX_FINDINGS ? l->n++ : MAX_FINDINGS - 1];
    *f = (struct msnap_finding){.id = id, .severity = severity, .bytes = bytes};
    return f;
}

void msnap_finding_text(char *to, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(to, size, format, args);
    va_end(args);
}

const char *msnap_finding_place(const struct msnap_snapshot *s, uint32_t frame, char out[96])
{
    out[0] = '\0';
    if (!frame)
        return out;
    const char *path = s->strings.bytes[s->frames.filename[frame]], *base = path;
    for (const char *p = path; *p; p++)
        if (*p == '/' || *p == '\\')
            base = p + 1;
    snprintf(out, 96, "%.60s:%lld", base, (long long)s->frames.line[frame]);
    return out;
}

static bool before(const struct msnap_finding *a, const struct msnap_finding *b)
{
    if (a->severity != b->severity)
        return a->severity > b->severity;
    return a->bytes > b->bytes;
}

enum msnap_status msnap_findings_build(const struct msnap_facts *facts, struct msnap_arena *arena, const struct msnap_finding **out,
                                       size_t *n, struct msnap_error *err)
{
    struct finding_list l = {.facts = facts, .arena = arena, .v = MSNAP_NEW(arena, struct msnap_finding, MAX_FINDINGS)};
    if (!l.v)
        return msnap_fail(err, MSNAP_ENOMEM, "no memory for the findings");
    msnap_classes_sum(facts->history, facts->classes, facts->history->peak.event, l.peak_bytes);
    msnap_find_oom(&l);
    msnap_find_growth(&l);
    msnap_find_autotune(&l);
    msnap_find_retained_graph(&l);
    msnap_find_kept_gradients(&l);
    msnap_find_second_step(&l);
    msnap_find_fragmentation(&l);
    msnap_find_proportions(&l);
    msnap_find_cache(&l);
    msnap_find_outside(&l);
    msnap_find_recording(&l);
    if (l.out_of_memory)
        return msnap_fail(err, MSNAP_ENOMEM, "no memory for the findings");
    for (size_t i = 1; i < l.n; i++) { /* a stable order of a few */
        struct msnap_finding f = l.v[i];
        size_t k = i;
        for (; k && before(&f, &l.v[k - 1]); k--)
            l.v[k] = l.v[k - 1];
        l.v[k] = f;
    }
    *out = l.v;
    *n = l.n;
    return MSNAP_OK;
}

const char *msnap_severity_name(enum msnap_severity s)
{
    switch (s) {
    case MSNAP_INFO: return "info";
    case MSNAP_WARNING: return "warning";
    case MSNAP_PROBLEM: return "problem";
    }
    return "info";
}
