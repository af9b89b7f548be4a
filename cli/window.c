/* window.c -- --from and --to: an event number, seconds since the device's first event, or a step. */
#include "window.h"

#include "step_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "1200" -> event 1200; "12.5s" -> microseconds. */
static bool parse(const char *text, bool *is_time, int64_t *value)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    *is_time = false;
    if (!errno && !*end)
        return true;
    const double seconds = strtod(text, &end);
    *is_time = true;
    if (strcmp(end, "s") || !(seconds < 9e12))
        return false;
    *value = (int64_t)(seconds * 1e6 + 0.5);
    return true;
}

int window_check(const struct cli *cli)
{
    static const char *const names[] = {"from", "to"};
    bool is_time;
    int64_t value;
    uint64_t step;

    for (size_t i = 0; i < 2; i++)
        if (cli_given(cli, names[i]) && !is_step_word(cli_text(cli, names[i]), &step) &&
            !parse(cli_text(cli, names[i]), &is_time, &value))
            return cli_usage(cli->command, "--%s takes an event number, a time such as 12.5s or a step such as step:3, not \"%s\"",
                             names[i], cli_text(cli, names[i]));
    return EXIT_FINE;
}

/* Whether the event has a time, not before (`side` 1) or not after (-1) `value` past the first time. */
static bool is_at(const struct msnap_events *ev, size_t begin, size_t timed, int64_t event, int64_t value,
                  int side)
{
    const size_t row = begin + (size_t)event;

    if (!(ev->has[row] & MSNAP_HAS_TIME))
        return false;
    const int64_t since = ev->time_us[row] - ev->time_us[begin + timed];
    return side > 0 ? since >= value : since <= value;
}

int window_of(const struct cli *cli, const char *path, const struct msnap_history *h, int64_t *first, int64_t *last)
{
    const struct msnap_events *ev = &h->snapshot->events;
    const size_t begin = h->device->first_event, n = h->device->n_events;
    struct msnap_step step;
    uint64_t number;
    bool is_time;
    int64_t value;
    size_t timed = 0;

    *first = 0;
    *last = (int64_t)n - 1;
    while (timed < n && !(ev->has[begin + timed] & MSNAP_HAS_TIME))
        timed++;
    if (cli_given(cli, "from") && is_step_word(cli_text(cli, "from"), &number)) {
        const int code = step_of_word(cli, path, h, cli_text(cli, "from"), &step, NULL);
        if (code != EXIT_FINE)
            return code;
        *first = step.first;
    } else if (cli_given(cli, "from") && parse(cli_text(cli, "from"), &is_time, &value)) {
        *first = is_time ? 0 : value;
        while (is_time && *first <= *last && !is_at(ev, begin, timed, *first, value, 1))
            ++*first;
    }
    if (cli_given(cli, "to") && is_step_word(cli_text(cli, "to"), &number)) {
        const int code = step_of_word(cli, path, h, cli_text(cli, "to"), &step, NULL);
        if (code != EXIT_FINE)
            return code;
        *last = step.last;
    } else if (cli_given(cli, "to") && parse(cli_text(cli, "to"), &is_time, &value)) {
        if (!is_time && value < *last)
            *last = value;
        while (is_time && *last >= 0 && !is_at(ev, begin, timed, *last, value, -1))
            --*last;
    }
    return EXIT_FINE;
}
