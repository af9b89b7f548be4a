/* replay_times.c -- how long each call to the driver took. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#endif
#include "replay_parts.h"

#include <stdlib.h>
#include <time.h>

double msnap_replay_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void keep(struct call_log *l, double us)
{
    if (l->n == l->cap) {
        const size_t cap = l->cap ? l->cap * 2 : 1024;
        float *v = realloc(l->us, cap * sizeof *v);
        if (!v)
            return; /* a time that is not kept does not stop a replay */
        l->us = v;
        l->cap = cap;
    }
    l->us[l->n++] = (float)us;
    l->sum += us;
}

void msnap_replay_before(struct replay *r) { r->log[0].begun = msnap_replay_now(); }

int msnap_replay_after(struct replay *r, enum msnap_call kind, int result)
{
    keep(&r->log[kind], (msnap_replay_now() - r->log[0].begun) * 1e6);
    return result;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

void msnap_replay_fill_times(struct replay *r)
{
    for (int k = 0; k < MSNAP_N_CALLS; k++) {
        struct call_log *l = &r->log[k];
        if (!l->n)
            continue;
        qsort(l->us, l->n, sizeof *l->us, by_value);
        r->out->calls[k] = (struct msnap_call_times){l->n, (double)l->us[l->n / 2], (double)l->us[(l->n - 1) * 99 / 100], (double)l->us[l->n - 1], l->sum};
    }
}

const char *msnap_call_name(enum msnap_call c)
{
    static const char *const names[] = {"alloc", "free", "reserve", "map", "unmap"};
    return c < MSNAP_N_CALLS ? names[c] : "";
}
