/* findings.h -- what is worth knowing about a run, with evidence and advice; quiet where nothing is wrong.
 *
 * Each finding is a row of docs/findings.md: how it is seen, and what helps. Texts are ours but for
 * names of files and functions, which come from the snapshot: escape them where they go.
 */
#ifndef MEMSNAP_FINDINGS_H
#define MEMSNAP_FINDINGS_H

#include <memsnap/classify.h>
#include <memsnap/frag.h>
#include <memsnap/leaks.h>
#include <memsnap/oom.h>

#ifdef __cplusplus
extern "C" {
#endif

enum msnap_severity { MSNAP_INFO, MSNAP_WARNING, MSNAP_PROBLEM };

struct msnap_finding {
    const char *id;             /* "cudnn_autotune_spike" */
    enum msnap_severity severity;
    uint64_t bytes;             /* at stake; 0 where it is about the recording itself */
    char title[120];
    char evidence[360];
    char advice[360];
};

/* What the rules look at; all of one device. */
struct msnap_facts {
    const struct msnap_history *history;
    const struct msnap_steps *steps;
    const struct msnap_classes *classes;
    const struct msnap_leaks *leaks;
    const struct msnap_oom *ooms;
    size_t n_ooms;
    const struct msnap_frag *frag;
    uint64_t capacity_bytes;    /* 0: not known */
};

/* Most severe first, then by bytes. Results live in `arena`. O(events + allocations). */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_findings_build(const struct msnap_facts *facts, struct msnap_arena *arena, const struct msnap_finding **out, size_t *n,
                     struct msnap_error *err);

/* "info", "warning", "problem". */
MSNAP_API const char *msnap_severity_name(enum msnap_severity s);

#ifdef __cplusplus
}
#endif
#endif
