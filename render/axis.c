/* axis.c -- round ticks, and labels that do not collide. */
#include "axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* At most six digits, no trailing zeros: 0.25, 1.5, 1024. */
static void put_number(char *out, size_t size, double value, const char *unit)
{
    if (value == 0)
        snprintf(out, size, "0");
    else
        snprintf(out, size, "%.6g %s", value, unit);
}

void msnap_ticks_bytes(double max, size_t n_wanted, struct msnap_ticks *out)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    out->n = 0;
    if (!(max >= 1))
        max = 1;
    if (n_wanted < 1)
        n_wanted = 1;
    if (n_wanted > MSNAP_MAX_TICKS - 1)
        n_wanted = MSNAP_MAX_TICKS - 1;
    double step = 1;
    while (max / step > (double)n_wanted)
        step *= 2;
    size_t unit = 0;
    double unit_bytes = 1;
    while (unit + 1 < sizeof units / sizeof units[0] && max >= 1024 * unit_bytes) {
        unit_bytes *= 1024;
        unit++;
    }
    for (size_t i = 0; (double)i * step <= max && out->n < MSNAP_MAX_TICKS; i++) {
        struct msnap_tick *t = &out->tick[out->n++];
        t->value = (double)i * step;
        put_number(t->label, sizeof t->label, t->value / unit_bytes, units[unit]);
    }
}

static double decimal_step(double span, size_t n_wanted)
{
    const double rough = span / (double)(n_wanted ? n_wanted : 1);
    const double power = pow(10, floor(log10(rough)));
    const double part = rough / power;
    return power * (part <= 1.0000001 ? 1 : part <= 2.0000001 ? 2 : part <= 5.0000001 ? 5 : 10);
}

void msnap_ticks_time(double first, double last, size_t n_wanted, struct msnap_ticks *out)
{
    static const double clock_steps[] = {60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    out->n = 0;
    const double span = last - first;
    if (!(span > 0))
        return;
    double step = decimal_step(span, n_wanted), unit_us = 1;
    const char *unit = "us";
    if (step >= 50e6) { /* more than some minutes: as a clock divides them */
        size_t i = 0;
        while (i + 1 < sizeof clock_steps / sizeof clock_steps[0] &&
               span / (clock_steps[i] * 1e6) > (double)n_wanted)
            i++;
        if (span / (clock_steps[i] * 1e6) <= (double)n_wanted)
            step = clock_steps[i] * 1e6;
        else
            step = ceil(span / 86400e6 / (double)n_wanted) * 86400e6;
        unit_us = step >= 3600e6 ? 3600e6 : 60e6;
        unit = step >= 3600e6 ? "h" : "min";
    } else if (last >= 1e6) {
        unit_us = 1e6;
        unit = "s";
    } else if (last >= 1e3) {
        unit_us = 1e3;
        unit = "ms";
    }
    for (double i = ceil(first / step - 1e-9); i * step <= last * (1 + 1e-12) && out->n < MSNAP_MAX_TICKS; i++) {
        struct msnap_tick *t = &out->tick[out->n++];
        t->value = i * step;
        put_number(t->label, sizeof t->label, t->value / unit_us, unit);
    }
}

void msnap_ticks_count(double first, double last, size_t n_wanted, struct msnap_ticks *out)
{
    out->n = 0;
    if (!(last >= first))
        return;
    double step = last > first ? decimal_step(last - first, n_wanted) : 1;
    if (step < 1)
        step = 1;
    for (double i = ceil(first / step - 1e-9); i * step <= last && out->n < MSNAP_MAX_TICKS; i++) {
        struct msnap_tick *t = &out->tick[out->n++];
        t->value = i * step;
        msnap_format_count(t->label, (uint64_t)(t->value + 0.5));
    }
}

const char *msnap_format_count(char out[32], uint64_t n)
{
    char digits[24];
    const int n_digits = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    size_t at = 0;
    for (int i = 0; i < n_digits; i++) {
        if (i > 0 && (n_digits - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

/* Whether a label may stand in `row` from `left` to `right`, with its line going down from there at
 * `x`: no text over another, and no line through a text. */
static bool is_free(const struct msnap_strip_label *labels, size_t n, int row, float x, float left, float right,
                    float gap)
{
    for (size_t i = 0; i < n; i++) {
        const struct msnap_strip_label *other = &labels[i];
        const float other_right = other->left + other->width;
        if (other->row < 0)
            continue;
        if (other->row == row && left < other_right + gap && right + gap > other->left)
            return false;
        if (other->row > row && other->x > left - 3 && other->x < right + 3)
            return false;
        if (other->row < row && x > other->left - 3 && x < other_right + 3)
            return false;
    }
    return true;
}

void msnap_strip_place(struct msnap_strip_label *labels, size_t n, int n_rows, float left, float right, float gap)
{
    for (size_t i = 0; i < n; i++) {
        struct msnap_strip_label *l = &labels[i];
        l->row = -1;
        if (l->width > right - left)
            continue;
        /* Beside the line it belongs to: to its right, to its left, over it. */
        const float tries[3] = {l->x + 4, l->x - l->width - 4, l->x - l->width / 2};
        for (int row = 0; row < n_rows && l->row < 0; row++) {
            for (int t = 0; t < 3 && l->row < 0; t++) {
                const float x = tries[t];
                if (x < left || x + l->width > right || !is_free(labels, i, row, l->x, x, x + l->width, gap))
                    continue;
                l->left = x;
                l->row = row;
            }
        }
    }
}
