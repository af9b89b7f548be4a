/* figures.c -- numbers as people read them, put straight into a sink. */
#include "figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *format_count(char out[32], uint64_t n)
{
    char digits[24];
    const int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t at = 0;

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
    return out;
}

const char *format_share(char out[16], uint64_t part, uint64_t whole)
{
    const double share = whole ? 100.0 * (double)part / (double)whole : 0;

    if (share > 0 && share < 1)
        snprintf(out, 16, "<1%%");
    else
        snprintf(out, 16, "%.0f%%", share > 100000 ? 100000 : share);
    return out;
}

void put_bytes(struct msnap_sink *out, uint64_t bytes)
{
    char text[24];

    msnap_puts(out, msnap_format_bytes(text, bytes));
}

void put_count(struct msnap_sink *out, uint64_t n)
{
    char text[32];

    msnap_puts(out, format_count(text, n));
}

void put_things(struct msnap_sink *out, uint64_t n, const char *thing)
{
    put_count(out, n);
    msnap_putf(out, " %s%s", thing, n == 1 ? "" : "s");
}

void put_date(struct msnap_sink *out, int64_t time_us)
{
    const time_t seconds = (time_t)(time_us / 1000000);
    struct tm parts;
    char text[64];

    if (gmtime_r(&seconds, &parts) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts))
        msnap_puts(out, text);
    else
        msnap_putf(out, "%" PRId64 " us", time_us);
}

bool time_span(const struct msnap_snapshot *s, const struct msnap_device *device, int64_t *first_us,
               int64_t *last_us)
{
    const struct msnap_events *ev = &s->events;
    size_t first = device->first_event, last = device->first_event + device->n_events;

    if (!ev->has || !ev->time_us)
        return false;
    while (first < last && !(ev->has[first] & MSNAP_HAS_TIME))
        first++;
    while (last > first && !(ev->has[last - 1] & MSNAP_HAS_TIME))
        last--;
    if (first == last)
        return false;
    *first_us = ev->time_us[first];
    *last_us = ev->time_us[last - 1];
    return true;
}

void put_device(struct msnap_sink *out, const struct msnap_device *device)
{
    if (device->device == MSNAP_HOST)
        msnap_puts(out, "Pinned host memory");
    else
        msnap_putf(out, "Device %d", (int)device->device);
}

void put_string(struct msnap_sink *out, const struct msnap_snapshot *s, uint32_t string)
{
    msnap_put_terminal(out, s->strings.bytes[string], s->strings.len[string]);
}
