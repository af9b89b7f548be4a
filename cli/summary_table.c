/* summary_table.c -- torch.cuda.memory_summary() (torch/cuda/memory.py, the same from 2.4 to 2.14). */
#include "summary_table.h"

#include <inttypes.h>
#include <stdio.h>

enum { WIDTH = 75 };

static void put_rule(struct msnap_sink *out, char c)
{
    msnap_puts(out, "|");
    for (int i = 0; i < WIDTH; i++)
        msnap_put(out, &c, 1);
    msnap_puts(out, "|\n");
}

/* The unit follows the "all" row's value of the column: one step up from 768 units on. */
static void put_cell(struct msnap_sink *out, bool known, bool bytes, uint64_t value, uint64_t reference)
{
    static const char *const size_units[] = {"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"};
    static const char *const count_units[] = {" ", "K", "M"};
    double ref = (double)reference, step = bytes ? 1024 : 1000, from = bytes ? 768 * 1024.0 : 750 * 1000.0;
    size_t u = 0, last = bytes ? 5 : 2;
    if (!known) {
        msnap_putf(out, bytes ? "%6s    " : "%7s   ", "-");
        return;
    }
    while (u < last && ref >= from) {
        u++;
        value /= (uint64_t)step;
        ref /= step;
    }
    if (bytes)
        msnap_putf(out, "%6" PRIu64 " %s", value, size_units[u]);
    else
        msnap_putf(out, "%7" PRIu64 " %s ", value, count_units[u]);
}

static void put_row(struct msnap_sink *out, const char *name, bool bytes, bool totals, const struct msnap_counter *c, const struct msnap_counter *all)
{
    const struct {
        bool known;
        uint64_t value, reference;
    } cells[] = {{true, c->current, all->current}, {totals, c->peak, all->peak}, {totals, c->allocated, all->allocated}, {totals, c->freed, all->freed}};
    msnap_putf(out, "| %-21s", name);
    for (int i = 0; i < 4; i++) {
        msnap_puts(out, " | ");
        put_cell(out, cells[i].known, bytes, cells[i].value, cells[i].reference);
    }
    msnap_puts(out, " |\n");
}

void put_summary_table(struct msnap_sink *out, int device, const struct msnap_stats *s, bool abbreviated)
{
    static const struct {
        const char *name;
        enum msnap_family family;
        bool bytes;
    } metrics[] = {{"Allocated memory", MSNAP_BYTES_ALLOCATED, true},    {"Active memory", MSNAP_BYTES_ACTIVE, true},
                   {"Requested memory", MSNAP_BYTES_REQUESTED, true},    {"GPU reserved memory", MSNAP_BYTES_RESERVED, true},
                   {"Non-releasable memory", MSNAP_BYTES_INACTIVE_SPLIT, true}, {"Allocations", MSNAP_COUNT_ALLOCATION, false},
                   {"Active allocs", MSNAP_COUNT_ACTIVE, false},         {"GPU reserved segments", MSNAP_COUNT_SEGMENT, false},
                   {"Non-releasable allocs", MSNAP_COUNT_INACTIVE_SPLIT, false}};
    char ooms[24] = "-", retries[24] = "-";
    if (s->totals_known) {
        snprintf(ooms, sizeof ooms, "%" PRIu64, s->num_ooms);
        snprintf(retries, sizeof retries, "%" PRIu64, s->num_alloc_retries);
    }
    put_rule(out, '=');
    msnap_putf(out, "| %16s PyTorch CUDA memory summary, device ID %-17d |\n", "", device);
    put_rule(out, '-');
    msnap_putf(out, "|  %9s CUDA OOMs: %-12s | %6s cudaMalloc retries: %-8s  |\n", "", ooms, "", retries);
    put_rule(out, '=');
    msnap_puts(out, "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n");
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        const struct msnap_counter *c = s->family[metrics[i].family];
        put_rule(out, '-');
        put_row(out, metrics[i].name, metrics[i].bytes, s->totals_known, &c[MSNAP_POOL_ALL], &c[MSNAP_POOL_ALL]);
        if (abbreviated)
            continue;
        put_row(out, "      from large pool", metrics[i].bytes, s->totals_known, &c[MSNAP_POOL_LARGE], &c[MSNAP_POOL_ALL]);
        put_row(out, "      from small pool", metrics[i].bytes, s->totals_known, &c[MSNAP_POOL_SMALL], &c[MSNAP_POOL_ALL]);
    }
    put_rule(out, '-');
    put_row(out, "Oversize allocations", false, s->totals_known, &s->oversize_allocations, &s->oversize_allocations);
    put_rule(out, '-');
    put_row(out, "Oversize GPU segments", false, s->totals_known, &s->oversize_segments, &s->oversize_segments);
    put_rule(out, '=');
}
