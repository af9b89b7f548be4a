/* alloc_config.c -- settings to numbers, requests to block sizes. */
#include "analysis/alloc_config.h"

#include <string.h>

/* The value of NAME:<digits> in an option string, 0 if it is not there. Settings that a snapshot
 * spells out as numbers are not read from the string. */
static uint64_t option_number(const char *conf, size_t n, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i + len < n; i++) {
        if ((i && conf[i - 1] != ',' && conf[i - 1] != ' ') || memcmp(conf + i, name, len) != 0)
            continue;
        size_t p = i + len;
        while (p < n && conf[p] == ' ')
            p++;
        if (p == n || conf[p] != ':')
            continue;
        for (p++; p < n && conf[p] == ' ';)
            p++;
        uint64_t v = 0;
        for (; p < n && conf[p] >= '0' && conf[p] <= '9' && v < (UINT64_C(1) << 40); p++)
            v = v * 10 + (uint64_t)(conf[p] - '0');
        return v;
    }
    return 0;
}

void msnap_alloc_config_of(const struct msnap_snapshot *s, struct msnap_alloc_config *out)
{
    const struct msnap_settings *set = &s->settings;
    *out = (struct msnap_alloc_config){.max_split = MSNAP_UNLIMITED, .large_segment = UINT64_C(20) << 20, .known = set->known};
    memcpy(out->divisions, set->divisions, sizeof out->divisions);
    if (set->known && set->max_split_size > 0)
        out->max_split = (uint64_t)set->max_split_size;
    out->expandable = set->expandable_segments;
    uint64_t mib = option_number(s->strings.bytes[set->conf], s->strings.len[set->conf], "large_segment_size_mb");
    if (mib > 10 && mib < (UINT64_C(1) << 30))
        out->large_segment = mib << 20;
}

uint64_t msnap_round_size(const struct msnap_alloc_config *c, uint64_t n)
{
    if (n < MSNAP_MIN_BLOCK)
        return MSNAP_MIN_BLOCK;
    unsigned class = 0;
    while (class < 15 && n >> (21 + class))
        class++;
    uint64_t d = c->divisions[class];
    if (d > 1 && n > MSNAP_MIN_BLOCK * d) {
        if ((n & (n - 1)) == 0)
            return n;
        uint64_t power = n;
        while (power & (power - 1))
            power &= power - 1;
        uint64_t step = power / d;
        return step ? (n + step - 1) / step * step : power * 2;
    }
    return (n + MSNAP_MIN_BLOCK - 1) / MSNAP_MIN_BLOCK * MSNAP_MIN_BLOCK;
}

uint64_t msnap_segment_size(const struct msnap_alloc_config *c, uint64_t rounded)
{
    if (rounded <= MSNAP_SMALL_SIZE)
        return MSNAP_SMALL_BUFFER;
    if (rounded < MSNAP_MIN_LARGE_ALLOC)
        return c->large_segment;
    return (rounded + MSNAP_ROUND_LARGE - 1) / MSNAP_ROUND_LARGE * MSNAP_ROUND_LARGE;
}
