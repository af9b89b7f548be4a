/* finding_list.h -- what the rules for findings share. */
#ifndef MSNAP_ANALYSIS_FINDING_LIST_H
#define MSNAP_ANALYSIS_FINDING_LIST_H

#include <memsnap/findings.h>

#include "base/arena.h"

enum { MAX_FINDINGS = 32 };

struct finding_list {
    const struct msnap_facts *facts;
    struct msnap_arena *arena;
    struct msnap_finding *v;
    size_t n;
    bool out_of_memory;
    uint64_t peak_bytes[MSNAP_MAX_CATEGORIES]; /* by category, at the peak */
};

/* Opens a finding whose texts are then printed into it. */
struct msnap_finding *msnap_finding_add(struct finding_list *l, const char *id, enum msnap_severity severity, uint64_t bytes);
void msnap_finding_text(char *to, size_t size, const char *format, ...) MSNAP_PRINTF(3, 4);
#define FINDING_TITLE(f, ...) msnap_finding_text((f)->title, sizeof(f)->title, __VA_ARGS__)
#define FINDING_EVIDENCE(f, ...) msnap_finding_text((f)->evidence, sizeof(f)->evidence, __VA_ARGS__)
#define FINDING_ADVICE(f, ...) msnap_finding_text((f)->advice, sizeof(f)->advice, __VA_ARGS__)
/* "train.py:12", the file's last component; "" for frame 0. */
const char *msnap_finding_place(const struct msnap_snapshot *s, uint32_t frame, char out[96]);

/* findings_time.c: what happens over the steps. */
void msnap_find_autotune(struct finding_list *l);
void msnap_find_second_step(struct finding_list *l);
void msnap_find_retained_graph(struct finding_list *l);
void msnap_find_kept_gradients(struct finding_list *l);
void msnap_find_growth(struct finding_list *l);
/* findings_state.c: what filled it, why it failed, what the file lacks. */
void msnap_find_oom(struct finding_list *l);
void msnap_find_fragmentation(struct finding_list *l);
void msnap_find_proportions(struct finding_list *l);
void msnap_find_cache(struct finding_list *l);
void msnap_find_outside(struct finding_list *l);
void msnap_find_recording(struct finding_list *l);

#endif
