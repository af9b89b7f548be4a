/* moment.c -- --at: a word or a number to an event. */
#include "moment.h"

#include "figures.h"
#include "step_words.h"

#include <string.h>

/* The last `oom` that nothing was allocated after, else the last; MSNAP_NO_EVENT if there is none. */
static uint32_t last_oom(const struct msnap_history *h)
{
    uint32_t last = MSNAP_NO_EVENT;
    for (size_t i = h->device->n_events; i-- > 0;) {
        const uint8_t a = h->snapshot->events.action[h->device->first_event + i];
        if (a == MSNAP_OOM && last == MSNAP_NO_EVENT)
            last = (uint32_t)i;
        if (a == MSNAP_ALLOC || last != MSNAP_NO_EVENT)
            break;
    }
    for (size_t i = h->device->n_events; i-- > 0 && last == MSNAP_NO_EVENT;)
        if (h->snapshot->events.action[h->device->first_event + i] == MSNAP_OOM)
            last = (uint32_t)i;
    return last;
}

static int event_of(const struct cli *cli, const char *path, const struct msnap_history *h, const char *word, uint32_t *event)
{
    *event = MSNAP_NO_EVENT;
    if (!strcmp(word, "start"))
        return EXIT_FINE;
    if (!strcmp(word, "peak")) {
        *event = h->peak.event;
        return EXIT_FINE;
    }
    if (!strcmp(word, "end")) {
        *event = msnap_last_event(h);
        return EXIT_FINE;
    }
    if (!strcmp(word, "oom")) {
        *event = last_oom(h);
        return *event != MSNAP_NO_EVENT ? EXIT_FINE
                                        : cli_error(EXIT_USAGE, path, "--at oom: device %d has no out-of-memory event; use --at peak", (int)h->device->device);
    }
    uint64_t n = 0;
    if (is_step_word(word, &n)) {
        struct msnap_step step;
        return step_of_word(cli, path, h, word, &step, event);
    }
    n = 0;
    const char *p = word;
    for (; *p >= '0' && *p <= '9' && n < UINT32_MAX; p++)
        n = n * 10 + (uint64_t)(*p - '0');
    if (p == word || *p)
        return cli_usage(cli->command, "--at takes an event number, peak, oom, end, start or step:N, not \"%s\"", word);
    if (n >= h->device->n_events)
        return cli_error(EXIT_USAGE, path, "--at %s: device %d has %zu events, numbered from 0", word, (int)h->device->device, h->device->n_events);
    *event = (uint32_t)n;
    return EXIT_FINE;
}

int moment_of(const struct cli *cli, const char *path, const struct msnap_history *h, const char *otherwise, uint32_t *event)
{
    return event_of(cli, path, h, cli_given(cli, "at") ? cli_text(cli, "at") : otherwise, event);
}

int moments_of(const struct cli *cli, const char *path, const struct msnap_history *h, const char *otherwise, size_t max,
               struct moment moments[MAX_MOMENTS], size_t *n)
{
    const char *p = cli_given(cli, "at") ? cli_text(cli, "at") : otherwise;
    *n = 0;
    for (;; p++) {
        const size_t length = strcspn(p, ",");
        if (*n == max)
            return cli_usage(cli->command, max == 1 ? "--at takes one moment here" : "--at takes at most %zu moments here", max);
        struct moment *m = &moments[*n];
        const size_t kept = length < sizeof m->word - 1 ? length : sizeof m->word - 1;
        memcpy(m->word, p, kept);
        m->word[kept] = '\0';
        const int code = event_of(cli, path, h, m->word, &m->event);
        if (code != EXIT_FINE)
            return code;
        (*n)++;
        p += length;
        if (!*p)
            return EXIT_FINE;
    }
}

void put_moment(struct msnap_sink *out, const struct msnap_history *h, const char *word, uint32_t event)
{
    char count[32];
    if (event == MSNAP_NO_EVENT) {
        msnap_puts(out, h->device->n_events ? "before the first event" : "at the dump");
        return;
    }
    uint64_t step;
    if (is_step_word(word, &step)) {
        msnap_putf(out, "at the peak of step %s", format_count(count, step));
        msnap_putf(out, " (event %s)", format_count(count, event));
    } else if (!strcmp(word, "peak") || !strcmp(word, "oom") || !strcmp(word, "end"))
        msnap_putf(out, "at the %s (event %s)", strcmp(word, "oom") ? word : "OOM", format_count(count, event));
    else
        msnap_putf(out, "after event %s", format_count(count, event));
}
