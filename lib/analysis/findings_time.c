/* findings_time.c -- findings about how memory moves over the steps. */
#include <memsnap/text.h>

#include "analysis/finding_list.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)

/* ---- cuDNN's autotuning ---- */

static bool name_has(const struct msnap_snapshot *s, uint32_t frame, const char *part)
{
    const char *name = s->strings.bytes[s->frames.name[frame]];
    return strstr(name, part) != NULL;
}

/* Whether a convolution is near the inner end of a stack; the engine's own stacks have no frames. */
static bool is_convolution(const struct msnap_snapshot *s, uint32_t stack)
{
    if (stack == MSNAP_STACK_EMPTY)
        return true; /* the backward pass: only the pattern tells */
    for (int depth = 0; stack > MSNAP_STACK_EMPTY && depth < 40; depth++, stack = s->stacks.parent[stack]) {
        uint32_t f = s->stacks.frame[stack];
        if (name_has(s, f, "conv") || name_has(s, f, "Conv") || name_has(s, f, "cudnn"))
            return true;
        if (msnap_frame_is_user(s, f))
            return false;
    }
    return false;
}

/* Trial workspaces: large, freed before anything else is allocated, of different sizes one after the
 * other; much smaller ones, or none, in later calls. */
void msnap_find_autotune(struct finding_list *l)
{
    const struct msnap_history *h = l->facts->history;
    const struct msnap_allocs *a = &h->allocs;
    const struct msnap_snapshot *s = h->snapshot;
    uint64_t largest = 0, steady = 0, previous_size = 0;
    uint32_t first_event = 0, last_trial = 0, convolutions = 0, line = 0, previous_stack = UINT32_MAX, previous_end = 0;
    size_t trials = 0, run = 0;
    for (size_t row = a->n_initial; row < a->n; row++) {
        uint64_t size = a->block_size[row];
        uint32_t end = a->request_event[row];
        bool at_once = end != MSNAP_NO_EVENT && end - a->alloc_event[row] <= 2;
        if (!at_once || size < 8 * MIB)
            continue;
        uint32_t stack = msnap_alloc_stack(h, row);
        if (!is_convolution(s, stack))
            continue;
        /* The next trial of the same call follows the last one's free, but for segments given back. */
        bool follows = stack == previous_stack && size != previous_size && a->alloc_event[row] - previous_end < 200;
        run = follows ? run + 1 : 1;
        previous_stack = stack;
        previous_size = size;
        previous_end = end;
        if (run == 2)
            convolutions++;
        if (run >= 2) {
            trials++;
            if (size > largest) {
                largest = size;
                first_event = a->alloc_event[row];
                line = msnap_stack_user_frame(s, stack);
            }
            last_trial = a->alloc_event[row];
        }
    }
    /* What such calls still take afterwards. */
    for (size_t row = a->n_initial; row < a->n; row++)
        if (trials && a->alloc_event[row] > last_trial && a->request_event[row] != MSNAP_NO_EVENT && a->request_event[row] - a->alloc_event[row] <= 2 &&
            a->block_size[row] > steady && is_convolution(s, msnap_alloc_stack(h, row)))
            steady = a->block_size[row];
    if (trials < 3 || largest < 64 * MIB || largest < 3 * steady || largest * 10 < h->peak.totals.allocated)
        return;
    char b[24], c[24], place[96];
    struct msnap_finding *f = msnap_finding_add(l, "cudnn_autotune_spike", largest * 2 >= h->peak.totals.allocated ? MSNAP_WARNING : MSNAP_INFO, largest);
    FINDING_TITLE(f, "cuDNN's autotuning took up to %s at once", msnap_format_bytes(b, largest));
    FINDING_EVIDENCE(f, "%u convolutions tried workspaces of different sizes that were gone at once; the largest, %s at event %u%s%s; later calls take at most %s.",
                     convolutions, msnap_format_bytes(b, largest), first_event, line ? " from " : "", msnap_finding_place(s, line, place), msnap_format_bytes(c, steady));
    FINDING_ADVICE(f, "torch.backends.cudnn.benchmark = False where memory is tight, or cap it with CUDNN_CONV_WSCAP_DBG (MiB); keep shapes fixed, since each new one is tuned again.");
}

/* ---- steps ---- */

void msnap_find_second_step(struct finding_list *l)
{
    const struct msnap_steps *s = l->facts->steps;
    const struct msnap_history *h = l->facts->history;
    if (s->n < 2 || s->steps[1].peak_bytes <= s->steps[0].peak_bytes)
        return;
    uint64_t *bytes = MSNAP_NEW(l->arena, uint64_t, MSNAP_MAX_CATEGORIES);
    if (!bytes) {
        l->out_of_memory = true;
        return;
    }
    msnap_classes_sum(h, l->facts->classes, s->steps[0].last, bytes);
    uint64_t state = bytes[MSNAP_OPTIMIZER_STATE], rise = s->steps[1].peak_bytes - s->steps[0].peak_bytes;
    if (state < 8 * MIB || rise * 2 < state || rise > state + state / 2 || rise * 50 < s->steps[0].peak_bytes)
        return;
    char a[24], b[24], c[24];
    struct msnap_finding *f = msnap_finding_add(l, "second_iteration_peak", MSNAP_INFO, rise);
    FINDING_TITLE(f, "The second step peaks higher than the first, as it must");
    FINDING_EVIDENCE(f, "Step %llu peaks at %s, step %llu at %s; the optimizer's state (%s) is made at the end of the first.", (unsigned long long)s->steps[0].number,
                     msnap_format_bytes(a, s->steps[0].peak_bytes), (unsigned long long)s->steps[1].number, msnap_format_bytes(b, s->steps[1].peak_bytes),
                     msnap_format_bytes(c, state));
    FINDING_ADVICE(f, "Expected, no leak. Judge the batch size by the second step.");
}

/* Activations that no backward has begun to give back when most of it is over: the graph is kept for
 * another one (retain_graph), or by outputs that something holds. */
void msnap_find_retained_graph(struct finding_list *l)
{
    const struct msnap_history *h = l->facts->history;
    const struct msnap_steps *s = l->facts->steps;
    const struct msnap_allocs *a = &h->allocs;
    size_t kept_passes = 0, passes = 0, row = a->n_initial;
    uint64_t kept_bytes = 0;
    uint32_t previous_end = 0;
    for (size_t p = 0; p < s->n_phases; p++) {
        const struct msnap_phase *ph = &s->phases[p];
        if (ph->kind != MSNAP_PHASE_BACKWARD || ph->last - ph->first < 16)
            continue;
        /* Activations made since the last backward, and the first of them to be freed. */
        uint64_t bytes = 0;
        uint32_t first_free = MSNAP_NO_EVENT;
        for (; row < a->n && a->alloc_event[row] < ph->first; row++) {
            if (a->alloc_event[row] < previous_end || l->facts->classes->category[row] != MSNAP_ACTIVATION)
                continue;
            if (a->request_event[row] < ph->first)
                continue;
            bytes += a->block_size[row];
            if (a->request_event[row] < first_free)
                first_free = a->request_event[row];
        }
        previous_end = ph->last;
        if (bytes < MIB || bytes * 20 < h->peak.totals.allocated)
            continue;
        passes++;
        uint32_t third = ph->first + (ph->last - ph->first) / 3;
        if (first_free > third) {
            kept_passes++;
            kept_bytes = bytes > kept_bytes ? bytes : kept_bytes;
        }
    }
    if (!kept_passes || kept_passes * 2 < passes)
        return;
    char b[24];
    struct msnap_finding *f = msnap_finding_add(l, "retained_graph", MSNAP_WARNING, kept_bytes);
    FINDING_TITLE(f, "Backward passes keep their graph: %s of activations stay", msnap_format_bytes(b, kept_bytes));
    FINDING_EVIDENCE(f, "In %zu of %zu backward passes none of the forward's activations was freed while the pass ran, or only by a second pass over the same graph.",
                     kept_passes, passes);
    FINDING_ADVICE(f, "Pass retain_graph=True only where another backward follows, never to the last one; better sum the losses and call backward once.");
}

void msnap_find_kept_gradients(struct finding_list *l)
{
    const struct msnap_history *h = l->facts->history;
    const struct msnap_steps *s = l->facts->steps;
    const struct msnap_allocs *a = &h->allocs;
    if (s->n < 3)
        return;
    /* Gradients of the first step that are still there when the third begins, against all of it. */
    uint64_t made = 0, kept = 0;
    uint32_t end = s->steps[0].last, third = s->steps[2].first;
    for (size_t row = a->n_initial; row < a->n && a->alloc_event[row] <= end; row++) {
        if (a->alloc_event[row] < s->steps[0].first || l->facts->classes->category[row] != MSNAP_GRADIENT)
            continue;
        made += a->block_size[row];
        if (a->request_event[row] == MSNAP_NO_EVENT || a->request_event[row] > third)
            kept += a->block_size[row];
    }
    if (kept < MIB / 2 || kept * 2 < made)
        return;
    char b[24];
    struct msnap_finding *f = msnap_finding_add(l, "gradients_kept", MSNAP_INFO, kept);
    FINDING_TITLE(f, "Gradients stay allocated between steps: %s", msnap_format_bytes(b, kept));
    FINDING_EVIDENCE(f, "%s of gradients made in the first step are still there in the third, so zero_grad only zeroes them.", msnap_format_bytes(b, kept));
    FINDING_ADVICE(f, "zero_grad(set_to_none=True), the default since PyTorch 2.0, frees them before the forward pass, where activations need the room.");
}

void msnap_find_growth(struct finding_list *l)
{
    const struct msnap_leaks *k = l->facts->leaks;
    const struct msnap_history *h = l->facts->history;
    if (!k->n)
        return;
    uint64_t activations = 0;
    for (size_t i = 0; i < k->n; i++)
        if (l->facts->classes->category[k->leaks[i].row] == MSNAP_ACTIVATION)
            activations += k->leaks[i].bytes_per_step;
    bool graph = activations * 2 > k->bytes_per_step;
    char b[24], c[24], place[96], more[96] = "";
    uint64_t bound = l->facts->capacity_bytes;
    for (size_t i = 0; !bound && i < l->facts->n_ooms; i++)
        bound = l->facts->ooms[i].totals.reserved + (l->facts->ooms[i].limited ? 0 : l->facts->ooms[i].device_free_bytes);
    if (bound > h->end.reserved && k->bytes_per_step)
        msnap_finding_text(more, sizeof more, " At this rate memory runs out after %llu more steps.", (unsigned long long)((bound - h->end.reserved) / k->bytes_per_step));
    struct msnap_finding *f = msnap_finding_add(l, graph ? "accumulated_outputs" : "growing_allocations", MSNAP_PROBLEM, k->bytes_per_step);
    FINDING_TITLE(f, "Memory grows by %s every step", msnap_format_bytes(b, k->bytes_per_step));
    FINDING_EVIDENCE(f, "%zu line%s leave%s blocks behind from step %llu on, most of them %s (%s a step).%s", k->n, k->n == 1 ? "" : "s", k->n == 1 ? "s" : "",
                     (unsigned long long)k->leaks[0].first_step,
                     k->leaks[0].user_frame ? msnap_finding_place(h->snapshot, k->leaks[0].user_frame, place) : "without a line of yours",
                     msnap_format_bytes(c, k->leaks[0].bytes_per_step), more);
    if (graph)
        FINDING_ADVICE(f, "Something holds on to outputs with their graph: keep loss.item() or .detach() instead of the tensor, and call backward for each micro-batch.");
    else
        FINDING_ADVICE(f, "Something keeps these tensors: a list, a cache, a closure. `memsnap leaks` names the lines.");
}
