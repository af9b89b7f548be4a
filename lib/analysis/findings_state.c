/* findings_state.c -- findings about moments: OOM, fragmentation, proportions, cache, the recording. */
#include <memsnap/sim.h>
#include <memsnap/text.h>

#include "analysis/bursts.h"
#include "analysis/finding_list.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
/* Settings are tried in a report only where that takes a moment. */
#define FEW_EVENTS 300000

static const struct msnap_oom *judged_oom(const struct msnap_facts *f)
{
    for (size_t i = f->n_ooms; i-- > 0;)
        if (!f->ooms[i].survived)
            return &f->ooms[i];
    return f->n_ooms ? &f->ooms[f->n_ooms - 1] : NULL;
}

/* The largest category at the peak. */
static const char *largest_category(const struct finding_list *l, uint64_t *bytes)
{
    size_t best = 0;
    for (size_t c = 1; c < l->facts->classes->n_categories; c++)
        if (l->peak_bytes[c] > l->peak_bytes[best])
            best = c;
    *bytes = l->peak_bytes[best];
    return l->facts->classes->names[best];
}

/* What the simulator says of the usual remedies under the recording's own bound; "" where nothing helps or it would take too long. */
static void remedy(const struct finding_list *l, char *out, size_t size)
{
    static const char *const tries[] = {"expandable_segments:True", "max_split_size_mb:128", "roundup_power2_divisions:8", "garbage_collection_threshold:0.8"};
    const struct msnap_history *h = l->facts->history;
    const struct msnap_requests *r;
    struct msnap_sim_config recorded, c;
    struct msnap_sim_result base, res;
    const char *best = NULL;
    uint64_t best_peak = 0;
    bool best_fits = false;
    out[0] = '\0';
    if (h->device->n_events > FEW_EVENTS || msnap_sim_config_recorded(h, l->arena, &recorded, NULL) != MSNAP_OK || recorded.async_backend ||
        msnap_requests_build(h, l->arena, &r, NULL) != MSNAP_OK || msnap_simulate(r, &recorded, NULL, &base, NULL) != MSNAP_OK)
        return;
    uint64_t base_peak = base.stats.family[MSNAP_BYTES_RESERVED][0].peak;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        if (msnap_sim_config_parse(tries[i], strlen(tries[i]), &c, NULL) != MSNAP_OK)
            continue;
        c.limit = recorded.limit;
        c.capacity = recorded.capacity;
        if ((c.gc_threshold > 0 && c.limit == MSNAP_NO_LIMIT) || msnap_sim_config_equal(&c, &recorded) || msnap_simulate(r, &c, NULL, &res, NULL) != MSNAP_OK)
            continue;
        uint64_t peak = res.stats.family[MSNAP_BYTES_RESERVED][0].peak;
        bool helps = base.oom ? !res.oom : !res.oom && (peak + base_peak / 50 < base_peak || res.stats.num_alloc_retries < base.stats.num_alloc_retries);
        if (helps && (!best || (!res.oom && !best_fits) || peak < best_peak)) {
            best = tries[i];
            best_peak = peak;
            best_fits = !res.oom;
        }
    }
    char a[24], b[24];
    if (best)
        msnap_finding_text(out, size, "Simulated: PYTORCH_CUDA_ALLOC_CONF=%s %s (peak reserved %s instead of %s).", best,
                           base.oom ? "makes it fit" : "needs less", msnap_format_bytes(a, best_peak), msnap_format_bytes(b, base_peak));
    else if (base.oom)
        msnap_finding_text(out, size, "Simulated: none of the usual settings makes it fit.");
}

void msnap_find_oom(struct finding_list *l)
{
    const struct msnap_oom *o = judged_oom(l->facts);
    char asked[24], unused[24], room[24], name[24];
    uint64_t bytes;
    if (!o)
        return;
    enum msnap_severity severity = o->survived ? MSNAP_WARNING : MSNAP_PROBLEM;
    const char *category = largest_category(l, &bytes);
    struct msnap_finding *f = msnap_finding_add(l, o->verdict == MSNAP_FRAGMENTED ? "fragmented" : msnap_verdict_name(o->verdict), severity, o->requested_bytes);
    msnap_format_bytes(asked, o->requested_bytes);
    msnap_format_bytes(unused, o->inactive_bytes);
    msnap_format_bytes(room, o->available_bytes);
    FINDING_EVIDENCE(f, "Event %u asked for %s; %s were reserved and unused, %s %s; the largest usable free block had %s.%s", o->event, asked, unused, room,
                     o->limited ? "were left under the process's limit" : "were free on the device", msnap_format_bytes(name, o->largest_free_block_bytes),
                     o->survived ? " The program went on after it." : "");
    switch (o->verdict) {
    case MSNAP_EXHAUSTED:
        FINDING_TITLE(f, "Out of memory: everything was in use");
        FINDING_ADVICE(f, "%s Hold less: the largest part of the peak is %s (%s). Smaller batch or sequence, activation checkpointing, bf16, "
                          "sharding.", o->certain ? "No allocator setting helps."
                                                  : "Most likely no allocator setting helps; the limit is only known as a range, and near its upper end one might (memsnap tune).", category, msnap_format_bytes(name, bytes));
        break;
    case MSNAP_FRAGMENTED:
        FINDING_TITLE(f, "Out of memory: enough was free, but not in one piece");
        remedy(l, f->advice, sizeof f->advice);
        if (!f->advice[0])
            FINDING_ADVICE(f, "%s `memsnap tune` ranks the settings; `memsnap frag --at oom` names the blocks in the way.",
                           l->facts->history->snapshot->settings.expandable_segments ? "expandable_segments is on already." : "Try expandable_segments:True.");
        break;
    case MSNAP_PENDING_FREES:
        FINDING_TITLE(f, "Out of memory: freed blocks still waited for another stream");
        FINDING_ADVICE(f, "Use fewer tensors across streams (record_stream), or synchronise before large allocations; the same call may succeed a moment later.");
        break;
    case MSNAP_OUTSIDE:
        FINDING_TITLE(f, "Out of memory: memory outside PyTorch took the room");
        FINDING_ADVICE(f, "Other processes, NCCL, or several contexts hold it: nvidia-smi lists processes.");
        break;
    }
}

void msnap_find_fragmentation(struct finding_list *l)
{
    const struct msnap_history *h = l->facts->history;
    const struct msnap_oom *o = judged_oom(l->facts);
    struct burst_counts bursts;
    if (o && o->verdict == MSNAP_FRAGMENTED)
        return; /* said already */
    if (msnap_bursts_count(h, l->arena, &bursts, NULL) != MSNAP_OK) {
        l->out_of_memory = true;
        return;
    }
    uint64_t gap = h->peak_reserved > h->peak_active ? h->peak_reserved - h->peak_active : 0, retries = bursts.retries - bursts.ooms;
    bool wide = gap >= 128 * MIB && gap * 4 >= h->peak_reserved;
    if (h->coverage != MSNAP_HISTORY_COMPLETE || (!wide && !(retries && gap * 20 >= h->peak_reserved)))
        return; /* a cut history does not know its highest use */
    char a[24], b[24], c[24];
    struct msnap_finding *f = msnap_finding_add(l, "fragmented", retries ? MSNAP_WARNING : MSNAP_INFO, gap);
    FINDING_TITLE(f, retries ? "Memory ran short while blocks lay unused" : "A large part of the reserved memory was never used at once");
    if (retries)
        FINDING_EVIDENCE(f, "%llu time%s cudaMalloc failed and everything cached was released before it went on, which takes time. Reserved reached %s, in use at most "
                            "%s.", (unsigned long long)retries, retries == 1 ? "" : "s", msnap_format_bytes(a, h->peak_reserved), msnap_format_bytes(b, h->peak_active));
    else
        FINDING_EVIDENCE(f, "Reserved reached %s, but never more than %s were in use: %s lay in free blocks that no request fitted.", msnap_format_bytes(a, h->peak_reserved),
                         msnap_format_bytes(b, h->peak_active), msnap_format_bytes(c, gap));
    remedy(l, f->advice, sizeof f->advice);
    if (!f->advice[0])
        FINDING_ADVICE(f, "`memsnap tune` ranks allocator settings for this run; `memsnap frag` names the blocks that pin the free memory.");
}

void msnap_find_proportions(struct finding_list *l)
{
    const struct msnap_history *h = l->facts->history;
    uint64_t peak = h->peak.totals.allocated, weight = l->peak_bytes[MSNAP_WEIGHT], state = l->peak_bytes[MSNAP_OPTIMIZER_STATE],
             activation = l->peak_bytes[MSNAP_ACTIVATION], communication = l->peak_bytes[MSNAP_COMMUNICATION], gradient = l->peak_bytes[MSNAP_GRADIENT];
    const struct msnap_oom *o = judged_oom(l->facts);
    bool tight = (o && !o->survived) || (l->facts->capacity_bytes && h->peak_reserved >= l->facts->capacity_bytes / 10 * 7);
    char a[24], b[24], c[24];
    if (state >= 64 * MIB && state >= weight / 10 * 19 && state * 4 >= peak) {
        struct msnap_finding *f = msnap_finding_add(l, "optimizer_state_large", MSNAP_INFO, state);
        FINDING_TITLE(f, "Optimizer state is %.1f times the weights", weight ? (double)state / (double)weight : 0);
        FINDING_EVIDENCE(f, "%s of optimizer state beside %s of weights, %.0f %% of the peak of %s.", msnap_format_bytes(a, state), msnap_format_bytes(b, weight),
                         100 * (double)state / (double)peak, msnap_format_bytes(c, peak));
        FINDING_ADVICE(f, "An 8-bit or factored optimizer holds a quarter of it; sharding (ZeRO, FSDP) divides it by the number of GPUs.");
    }
    if (tight && activation * 10 >= peak * 6) {
        struct msnap_finding *f = msnap_finding_add(l, "activation_bound", MSNAP_INFO, activation);
        FINDING_TITLE(f, "Activations are %.0f %% of the peak", 100 * (double)activation / (double)peak);
        FINDING_EVIDENCE(f, "%s of activations in a peak of %s.", msnap_format_bytes(a, activation), msnap_format_bytes(b, peak));
        FINDING_ADVICE(f, "Activation checkpointing, a smaller micro-batch with accumulation, or bf16 autocast cut them; the weights stay as they are.");
    }
    if (communication >= 16 * MIB && gradient + communication && communication * 2 >= gradient && communication * 2 >= weight) {
        struct msnap_finding *f = msnap_finding_add(l, "ddp_buckets", MSNAP_INFO, communication);
        FINDING_TITLE(f, "Communication buffers hold as much as the gradients");
        FINDING_EVIDENCE(f, "%s of communication buffers beside %s of gradients at the peak.", msnap_format_bytes(a, communication), msnap_format_bytes(b, gradient));
        FINDING_ADVICE(f, "DistributedDataParallel(..., gradient_as_bucket_view=True) makes the gradients views of the buckets and saves one copy.");
    }
}

void msnap_find_cache(struct finding_list *l)
{
    const struct msnap_history *h = l->facts->history;
    const struct msnap_steps *s = l->facts->steps;
    if (s->n < 4 || h->coverage == MSNAP_HISTORY_NONE)
        return;
    uint64_t later = 0;
    for (size_t i = s->n / 2; i < s->n; i++)
        later = s->steps[i].peak_bytes > later ? s->steps[i].peak_bytes : later;
    uint64_t kept = h->end.reserved > later ? h->end.reserved - later : 0;
    if (kept < 512 * MIB || kept * 2 < h->end.reserved || h->peak.totals.allocated < 2 * later)
        return;
    char a[24], b[24], c[24];
    struct msnap_finding *f = msnap_finding_add(l, "cache_after_peak", MSNAP_WARNING, kept);
    FINDING_TITLE(f, "A one-time peak left %s reserved for nothing", msnap_format_bytes(a, kept));
    FINDING_EVIDENCE(f, "The peak of %s was early; the later half of the steps needs at most %s, but %s stay reserved.", msnap_format_bytes(a, h->peak.totals.allocated),
                     msnap_format_bytes(b, later), msnap_format_bytes(c, h->end.reserved));
    FINDING_ADVICE(f, "Call torch.cuda.empty_cache() once after the warm-up where other processes need the memory.");
}

void msnap_find_outside(struct finding_list *l)
{
    const struct msnap_oom *o = judged_oom(l->facts);
    char a[24], b[24];
    if (!o || !o->capacity_known || o->verdict == MSNAP_OUTSIDE || o->outside_bytes <= MSNAP_ORDINARY_CONTEXT)
        return;
    struct msnap_finding *f = msnap_finding_add(l, "context_large", MSNAP_WARNING, o->outside_bytes);
    FINDING_TITLE(f, "%s of the device are held outside PyTorch's allocator", msnap_format_bytes(a, o->outside_bytes));
    FINDING_EVIDENCE(f, "At event %u capacity less reserved less free is %s; a CUDA context takes up to %s.", o->event, msnap_format_bytes(a, o->outside_bytes),
                     msnap_format_bytes(b, MSNAP_ORDINARY_CONTEXT));
    FINDING_ADVICE(f, "Other processes, NCCL, or several contexts: nvidia-smi lists processes.");
}

void msnap_find_recording(struct finding_list *l)
{
    const struct msnap_history *h = l->facts->history;
    const struct msnap_snapshot *s = h->snapshot;
    char a[24];
    if (h->coverage == MSNAP_HISTORY_NONE && h->device->n_segments) {
        struct msnap_finding *f = msnap_finding_add(l, "no_history", MSNAP_WARNING, 0);
        FINDING_TITLE(f, "Nothing was recorded: only the state at the dump is known");
        FINDING_EVIDENCE(f, "The file has segments and no events for this device.");
        FINDING_ADVICE(f, "Call torch.cuda.memory._record_memory_history() before the part that matters, and _dump_snapshot() before it is switched off.");
    } else if (h->coverage == MSNAP_HISTORY_CUT) {
        struct msnap_finding *f = msnap_finding_add(l, "history_cut", MSNAP_INFO, 0);
        FINDING_TITLE(f, "The beginning of the run is not in the file");
        FINDING_EVIDENCE(f, "%s were allocated before the first event; an earlier peak would not show.", msnap_format_bytes(a, h->start.allocated));
        FINDING_ADVICE(f, "%s", s->settings.ring_overflowed > 0 ? "The ring buffer overflowed: raise max_entries of _record_memory_history."
                                                                : "Start recording before the model is made, with a larger max_entries if the ring was full.");
    }
    if (h->device->n_events) {
        size_t without = 0, allocs = 0;
        for (size_t i = 0; i < h->device->n_events; i++) {
            size_t row = h->device->first_event + i;
            if (s->events.action[row] != MSNAP_ALLOC)
                continue;
            allocs++;
            without += s->events.stack[row] == MSNAP_STACK_NONE;
        }
        if (allocs >= 8 && without * 2 > allocs) {
            struct msnap_finding *f = msnap_finding_add(l, "no_frames", MSNAP_INFO, 0);
            FINDING_TITLE(f, "No call stacks were recorded");
            FINDING_EVIDENCE(f, "%zu of %zu allocations have none, so lines cannot be named.", without, allocs);
            FINDING_ADVICE(f, "Record with _record_memory_history(context=\"all\"), and stacks=\"all\" to see into the backward pass.");
        }
    }
}
