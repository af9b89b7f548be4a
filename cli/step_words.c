/* step_words.c -- "step:3": the step of that number. */
#include "step_words.h"

#include <inttypes.h>
#include <string.h>

bool is_step_word(const char *word, uint64_t *number)
{
    const char *p = word + 5;
    *number = 0;
    if (strncmp(word, "step:", 5) != 0 || !*p)
        return false;
    for (; *p >= '0' && *p <= '9' && *number < UINT64_MAX / 20; p++)
        *number = *number * 10 + (uint64_t)(*p - '0');
    return !*p;
}

/* The earliest event of the step after which most is allocated. */
static uint32_t peak_of(const struct msnap_history *h, const struct msnap_step *step, struct msnap_arena *arena)
{
    const struct msnap_allocs *a = &h->allocs;
    const size_t n = (size_t)(step->last - step->first) + 1;
    int64_t *change = msnap_arena_alloc(arena, n, sizeof *change); /* by each event of the step */
    int64_t level = 0, highest = INT64_MIN;
    uint32_t best = step->first;
    if (!change)
        return MSNAP_NO_EVENT;
    for (size_t r = 0; r < a->n; r++) {
        const int64_t bytes = (int64_t)a->block_size[r];
        if (r >= a->n_initial && a->alloc_event[r] >= step->first && a->alloc_event[r] <= step->last)
            change[a->alloc_event[r] - step->first] += bytes;
        if (a->request_event[r] >= step->first && a->request_event[r] <= step->last)
            change[a->request_event[r] - step->first] -= bytes;
    }
    for (size_t i = 0; i < n; i++) {
        level += change[i];
        if (level > highest) {
            highest = level;
            best = step->first + (uint32_t)i;
        }
    }
    return best;
}

int step_of_word(const struct cli *cli, const char *path, const struct msnap_history *h, const char *word,
                 struct msnap_step *step, uint32_t *peak_event)
{
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    struct msnap_error err = {0};
    struct msnap_steps steps;
    uint64_t number;
    int code = EXIT_FINE;
    size_t i = 0;

    if (!arena)
        return cli_error(EXIT_MACHINE, path, "no memory");
    if (!is_step_word(word, &number) || msnap_steps_build(h, arena, &steps, &err) != MSNAP_OK) {
        code = cli_fail(cli, path, &err);
    } else {
        while (i < steps.n && steps.steps[i].number != number)
            i++;
        if (!steps.n)
            code = cli_error(EXIT_USAGE, path, "%s: no steps were found in device %d's events", word, (int)h->device->device);
        else if (i == steps.n)
            code = cli_error(EXIT_USAGE, path, "%s: device %d has steps %" PRIu64 " to %" PRIu64, word, (int)h->device->device,
                             steps.steps[0].number, steps.steps[steps.n - 1].number);
        else
            *step = steps.steps[i];
    }
    if (code == EXIT_FINE && peak_event) {
        *peak_event = peak_of(h, step, arena);
        if (*peak_event == MSNAP_NO_EVENT)
            code = cli_error(EXIT_MACHINE, path, "no memory");
    }
    msnap_arena_free(arena);
    return code;
}
