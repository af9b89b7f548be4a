/* snapshot.c -- open a snapshot: say what the bytes are, unpickle, load, freeze. */
#include <memsnap/snapshot.h>
#include <memsnap/text.h>

#include "base/status.h"
#include "model/load.h"

#include <inttypes.h>
#include <string.h>

/* 64 MiB plus 8 times the input may be taken in all; the program itself takes a part of the 64. */
#define BUDGET_BASE ((uint64_t)44 << 20)

/* What people give by mistake, by its first bytes; NULL if it may be a pickle. */
static const char *mistaken_for(const uint8_t *p, size_t n, bool in_gzip)
{
    static const char lfs[] = "version https://git-lfs";
    static const uint8_t old_save[] = {0x8A, 0x0A, 0x6C, 0xFC, 0x9C, 0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19}; /* torch.save before 1.6 */
    if (n == 0)
        return "the file is empty; the process that wrote it may have died during the dump. Dump again";
    if (n >= sizeof lfs - 1 && memcmp(p, lfs, sizeof lfs - 1) == 0)
        return "this is a Git LFS pointer, not the snapshot itself; fetch it with: git lfs pull";
    if (n >= 4 && memcmp(p, "PK\x03\x04", 4) == 0)
        return "this is a zip archive, such as torch.save() writes (a model or tensors), not a memory snapshot. "
               "Give the file that torch.cuda.memory._dump_snapshot() wrote";
    if (n >= 2 + sizeof old_save && p[0] == 0x80 && memcmp(p + 2, old_save, sizeof old_save) == 0)
        return "this is a file of torch.save() from before PyTorch 1.6 (a model or tensors), not a memory snapshot. "
               "Give the file that torch.cuda.memory._dump_snapshot() wrote";
    if (in_gzip && n >= 2 && p[0] == 0x1F && p[1] == 0x8B)
        return "this is gzip within gzip; unpack the outer one first: gunzip -k FILE";
    size_t i = 0;
    if (n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        i = 3;
    while (i < n && (p[i] == ' ' || p[i] == '\n' || p[i] == '\r' || p[i] == '\t'))
        i++;
    if (i < n && p[i] == '<')
        return "this is an HTML or XML page, not a snapshot; give the .pickle file that the page was made from";
    if (i < n && (p[i] == '{' || p[i] == '['))
        return "this looks like JSON, which this version does not read; give the .pickle file";
    if (n >= 6 && memcmp(p, "\xFD" "7zXZ\0", 6) == 0)
        return "this is compressed with xz, which memsnap does not read; unpack it first: xz -dk FILE";
    if (n >= 4 && memcmp(p, "\x28\xB5\x2F\xFD", 4) == 0)
        return "this is compressed with zstd, which memsnap does not read; unpack it first: zstd -d FILE";
    if (n >= 3 && memcmp(p, "BZh", 3) == 0)
        return "this is compressed with bzip2, which memsnap does not read; unpack it first: bzip2 -dk FILE";
    return NULL;
}

/* Text for people, by its first bytes: what fails to be a pickle and looks like this never was one. */
static bool looks_like_text(const uint8_t *p, size_t n)
{
    bool letters = false, words = false;
    for (size_t i = 0; i < n; i++) {
        if ((p[i] < ' ' && p[i] != '\n' && p[i] != '\r' && p[i] != '\t') || p[i] == 0x7F)
            return false;
        bool letter = (p[i] | 32) >= 'a' && (p[i] | 32) <= 'z';
        words = words || (letters && letter && p[i - 1] == ' ');
        letters = letters || (letter && i && ((p[i - 1] | 32) >= 'a' && (p[i - 1] | 32) <= 'z'));
    }
    return words;
}

static enum msnap_status drain(struct msnap_source *src, uint64_t *trailing, struct msnap_error *err)
{
    /* What follows the pickle is counted; gzip's checksum stands at its very end. An endless pipe
     * must not hold us, so a plain one is followed for a little only. */
    if (src->map && !src->is_gzip) {
        *trailing = src->map_size - (uint64_t)(src->p - src->map);
        return MSNAP_OK;
    }
    for (;;) {
        *trailing += (uint64_t)(src->end - src->p);
        src->p = src->end;
        if (src->at_end || (!src->is_gzip && *trailing > 1u << 20))
            return MSNAP_OK;
        enum msnap_status s = msnap_source_more(src, 1, err);
        if (s != MSNAP_OK)
            return s;
    }
}

static enum msnap_status read_pickle(struct msnap_store *st, struct msnap_source *src, bool count, struct msnap_error *err)
{
    struct msnap_counting counting = {.n_rows = 0};
    enum msnap_status s = msnap_source_more(src, 64, err);
    if (s != MSNAP_OK)
        return s;
    uint8_t head[64];
    size_t n_head = (size_t)(src->end - src->p) < sizeof head ? (size_t)(src->end - src->p) : sizeof head;
    const char *mistake = mistaken_for(src->p, (size_t)(src->end - src->p), src->is_gzip);
    if (n_head)
        memcpy(head, src->p, n_head);
    if (mistake)
        return msnap_fail(err, MSNAP_EFORMAT, "%s", mistake);
    struct msnap_arena *scratch = msnap_arena_new(st->mem);
    struct msnap_pickle *pk = st->mem.resize(st->mem.ctx, NULL, 0, sizeof *pk);
    if (!scratch || !pk) {
        msnap_arena_free(scratch);
        msnap_mem_release(st->mem, pk, sizeof *pk);
        return msnap_fail(err, MSNAP_ENOMEM, "no memory to begin reading");
    }
    struct msnap_loader ld = {.st = st, .pk = pk, .counting = count ? &counting : NULL};
    struct msnap_pickle_hooks hooks = {&ld, {MSNAP_KEY_DEVICE_TRACES, MSNAP_KEY_HOST_TRACES},
                                       count ? msnap_count_entry : msnap_load_entry, MSNAP_KEY_ACTION,
                                       count ? msnap_count_slots : msnap_load_slots};
    msnap_pickle_init(pk, src, &st->strings, scratch, st->mem, &hooks);
    s = msnap_pickle_run(pk, err);
    st->pub.inflated_bytes = msnap_source_offset(src);
    if (s == MSNAP_EFORMAT && looks_like_text(head, n_head))
        s = msnap_fail(err, MSNAP_EFORMAT, "this is text, not a snapshot; give the .pickle file that torch.cuda.memory._dump_snapshot() wrote");
    if (s == MSNAP_OK)
        s = drain(src, &st->pub.trailing_bytes, err);
    if (s == MSNAP_OK) {
        uint64_t read = st->pub.inflated_bytes;
        ld.work_limit = (UINT64_C(1) << 20) + (read > UINT64_MAX / 16 ? UINT64_MAX / 2 : 8 * read);
        /* Loading needs no more input; what it builds counts against the same budget. */
        msnap_vec_release(&pk->stack, pk->mem, sizeof(msnap_cell));
        msnap_vec_release(&pk->memo, pk->mem, sizeof(uint32_t));
        if (src->more_after_gzip)
            msnap_store_odd(st, MSNAP_ODD_after_gzip, 0);
        s = msnap_load_torch(&ld, err);
    }
    st->n_counted = counting.n_rows;
    msnap_vec_release(&counting.groups, st->mem, sizeof(struct count_group));
    msnap_vec_release(&counting.rows, st->mem, sizeof(uint32_t));
    st->pub.pickle_protocol = pk->protocol;
    msnap_pickle_release(pk);
    msnap_mem_release(st->mem, pk, sizeof *pk);
    return s;
}

/* No memory because of a limit is another thing to tell than no memory. */
static enum msnap_status explain(const struct msnap_store *st, uint64_t cap, enum msnap_status s, struct msnap_error *err)
{
    if (s != MSNAP_ENOMEM || !st->budget.refused)
        return s;
    char size[24];
    enum msnap_unit unit = err ? err->unit : MSNAP_NOWHERE;
    uint64_t at = err ? err->at : 0;
    if (cap && st->budget.limit >= cap)
        return msnap_fail_at(err, MSNAP_ELIMIT, unit, at,
                             "the snapshot needs more than the %s that it may take; allow more with --max-memory",
                             msnap_format_bytes(size, cap));
    return msnap_fail_at(err, MSNAP_ELIMIT, unit, at,
                         "the file asks for more memory than 64 MiB and 8 times its size, which no snapshot needs; it "
                         "is damaged or made to exhaust the machine");
}

struct input {
    const char *path; /* NULL: bytes */
    const void *bytes;
    size_t n;
};

static enum msnap_status open_once(const struct input *in, const struct msnap_open_options *o, bool count, struct msnap_snapshot **out,
                                   bool *counted, struct msnap_error *err)
{
    struct msnap_mem mem = o->mem.resize ? o->mem : msnap_mem_default();
    struct msnap_store *st = msnap_store_new(mem);
    if (!st)
        return msnap_fail(err, MSNAP_ENOMEM, "no memory to begin reading");
    st->budget.limit = BUDGET_BASE;
    struct msnap_source src = {.budget = &st->budget, .budget_base = BUDGET_BASE, .budget_cap = o->max_memory,
                               .progress = o->progress, .progress_ctx = o->progress_ctx};
    enum msnap_status s = in->path ? msnap_source_open(&src, in->path, st->mem, err)
                                   : msnap_source_memory(&src, in->bytes, in->n, st->mem, err);
    *counted = count && src.map && !src.is_gzip; /* what cannot be counted is read again */
    if (s == MSNAP_OK)
        s = read_pickle(st, &src, *counted, err);
    st->pub.was_gzip = src.is_gzip;
    st->pub.size_bytes = src.size_bytes;
    msnap_source_close(&src);
    if (s == MSNAP_OK && !msnap_store_freeze(st))
        s = msnap_fail(err, MSNAP_ENOMEM, "no memory for the snapshot");
    s = explain(st, o->max_memory, s, err);
    if (s != MSNAP_OK) {
        msnap_store_free(st);
        return s;
    }
    *out = &st->pub;
    return MSNAP_OK;
}

static enum msnap_status open_source(const struct input *in, const struct msnap_open_options *o, struct msnap_snapshot **out,
                                     struct msnap_error *err)
{
    static const struct msnap_open_options defaults;
    struct msnap_error first = {0};
    bool counted = false;
    if (!o)
        o = &defaults;
    enum msnap_status s = open_once(in, o, o->counts_only, out, &counted, &first);
    if (s == MSNAP_ECANCELLED && counted) /* cannot be counted; a progress callback that said no says it again */
        return open_once(in, o, false, out, &counted, err);
    if (s != MSNAP_OK && err)
        *err = first;
    return s;
}

enum msnap_status msnap_snapshot_open(const char *path, const struct msnap_open_options *options,
                                      struct msnap_snapshot **out, struct msnap_error *err)
{
    return open_source(&(struct input){path, NULL, 0}, options, out, err);
}

enum msnap_status msnap_snapshot_read(const void *bytes, size_t n, const struct msnap_open_options *options,
                                      struct msnap_snapshot **out, struct msnap_error *err)
{
    return open_source(&(struct input){NULL, bytes, n}, options, out, err);
}

void msnap_snapshot_free(struct msnap_snapshot *snapshot)
{
    if (snapshot)
        msnap_store_free(snapshot->own);
}

const struct msnap_device *msnap_device_find(const struct msnap_snapshot *s, int32_t device)
{
    for (size_t i = 0; i < s->n_devices; i++)
        if (s->devices[i].device == device)
            return &s->devices[i];
    return NULL;
}

const struct msnap_device *msnap_device_default(const struct msnap_snapshot *s)
{
    const struct msnap_device *best = NULL;
    uint64_t best_reserved = 0;
    for (size_t i = 0; i < s->n_devices; i++) {
        const struct msnap_device *d = &s->devices[i];
        uint64_t reserved = 0;
        if (d->device == MSNAP_HOST)
            continue;
        for (size_t k = 0; k < d->n_segments; k++)
            reserved += s->segments.total_size[d->first_segment + k];
        if (!best || reserved > best_reserved || (reserved == best_reserved && d->n_events > best->n_events)) {
            best = d;
            best_reserved = reserved;
        }
    }
    return best;
}

const char *msnap_action_name(const struct msnap_snapshot *s, uint8_t action)
{
    return action < s->n_action_names ? s->action_names[action] : "(none)";
}
