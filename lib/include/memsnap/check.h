/* check.h -- a snapshot held against itself: what no genuine one breaks. */
#ifndef MEMSNAP_CHECK_H
#define MEMSNAP_CHECK_H

#include <memsnap/history.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One broken rule on one device, with the first place. The rules are in lib/analysis/faults.def. */
struct msnap_fault {
    const char *id;     /* "alloc_live" */
    const char *rule;   /* "no alloc at an address that is live, or inside a live block [T2]" */
    int32_t device;
    uint64_t count;
    uint32_t event;     /* MSNAP_NO_EVENT: the place is in the segments or annotations */
    uint64_t addr;      /* address of the place; 0: none */
};

struct msnap_check_options {
    uint64_t capacity_bytes; /* of each device; 0: not known, so totals are not held against it */
};

/* Checks all devices. Faults are in order of device, then of rule. O(events + blocks). */
MSNAP_API MSNAP_CHECKED enum msnap_status
msnap_check(const struct msnap_snapshot *s, const struct msnap_check_options *options, struct msnap_arena *arena,
            const struct msnap_fault **out, size_t *n, struct msnap_error *err);

#ifdef __cplusplus
}
#endif
#endif
