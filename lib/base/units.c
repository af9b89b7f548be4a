/* units.c -- sizes and durations as people read them; the one place that rounds. */
#include <memsnap/text.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *msnap_format_bytes(char out[24], uint64_t bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t u = 0;
    double v = (double)bytes;
    while (v >= 1023.95 && u < 6) { /* 1023.95 would print as 1024.0 */
        v /= 1024;
        u++;
    }
    if (u == 0)
        snprintf(out, 24, "%" PRIu64 " B", bytes);
    else
        snprintf(out, 24, v < 99.995 && u >= 3 ? "%.2f %s" : "%.1f %s", v, unit[u]);
    return out;
}

const char *msnap_format_duration(char out[32], uint64_t us)
{
    if (us < 1000)
        snprintf(out, 32, "%" PRIu64 " us", us);
    else if (us < 999950)
        snprintf(out, 32, "%.1f ms", (double)us / 1e3);
    else if (us < 59995000)
        snprintf(out, 32, "%.2f s", (double)us / 1e6);
    else {
        uint64_t s = (us + 500000) / 1000000;
        if (s < 3600)
            snprintf(out, 32, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
        else
            snprintf(out, 32, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s % 3600 / 60);
    }
    return out;
}

/* The unit's shift for "", "B", "K", "KB", "KiB", "M" ... in any case; -1 if it is none. */
static int unit_shift(const char *text)
{
    static const char letters[] = "bkmgtpe";
    char c = text[0];
    if (!c)
        return 0;
    c = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    const char *at = strchr(letters, c);
    if (!at)
        return -1;
    const char *rest = text + 1;
    if (at != letters) {
        if ((rest[0] == 'i' || rest[0] == 'I') && (rest[1] == 'b' || rest[1] == 'B'))
            rest += 2;
        else if (rest[0] == 'b' || rest[0] == 'B')
            rest += 1;
    }
    return *rest ? -1 : (int)(at - letters) * 10;
}

bool msnap_parse_size(const char *text, uint64_t *bytes)
{
    const char *p = text;
    uint64_t whole = 0, fraction = 0, scale = 1;
    size_t digits = 0;
    for (; *p >= '0' && *p <= '9'; p++, digits++) {
        if (whole > (UINT64_MAX - (uint64_t)(*p - '0')) / 10)
            return false;
        whole = whole * 10 + (uint64_t)(*p - '0');
    }
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++, digits++)
            if (scale < 1000000000) {
                fraction = fraction * 10 + (uint64_t)(*p - '0');
                scale *= 10;
            }
    if (digits == 0)
        return false;
    while (*p == ' ')
        p++;
    int shift = unit_shift(p);
    if (shift < 0 || (shift && whole > UINT64_MAX >> shift))
        return false;
    uint64_t part = (uint64_t)((double)fraction / (double)scale * (double)(UINT64_C(1) << shift));
    if (UINT64_MAX - (whole << shift) < part)
        return false;
    *bytes = (whole << shift) + part;
    return true;
}
