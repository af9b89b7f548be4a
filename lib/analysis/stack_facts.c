/* stack_facts.c -- frames to roles, roles to facts about stacks. */
#include "analysis/stack_facts.h"

#include "base/arena.h"

#include <string.h>

struct role_line {
    const char *file, *names;
    uint8_t role;
};

static const struct role_line lines[] = {
#define ROLE(file, names, role) {file, names, ROLE_##role},
#include "analysis/frame_roles.def"
#undef ROLE
};
enum { N_LINES = sizeof lines / sizeof *lines };

/* C++ functions, by parts of their names. Scratch memory is asked for outside of any tensor. */
static const struct role_line cpp_roles[] = {
    {"Workspace", "", ROLE_WORKSPACE},
    {"run_conv_plan", "", ROLE_WORKSPACE},
    {"gemm_and_bias", "", ROLE_WORKSPACE},
    {"scaled_gemm", "", ROLE_WORKSPACE},
    {"c10d::Reducer", "", ROLE_COMM},
    {"ProcessGroupNCCL", "", ROLE_COMM},
    {"autograd::Engine::evaluate_function", "", ROLE_BACKWARD},
    {"autograd::Engine::thread_main", "", ROLE_BACKWARD},
};

static bool contains(const char *text, size_t n, const char *part)
{
    const size_t len = strlen(part);
    const char *end = text + n;
    while ((size_t)(end - text) >= len) {
        const char *at = memchr(text, part[0], (size_t)(end - text) - len + 1);
        if (!at)
            return false;
        if (memcmp(at, part, len) == 0)
            return true;
        text = at + 1;
    }
    return false;
}

static bool is_one_of(const char *name, size_t n, const char *list)
{
    if (!*list)
        return true;
    for (;;) {
        const char *end = strchr(list, '|');
        const size_t len = end ? (size_t)(end - list) : strlen(list);
        if (len == n && memcmp(list, name, n) == 0)
            return true;
        if (!end)
            return false;
        list = end + 1;
    }
}

/* A bit for each line whose file part fits. */
struct file_lines {
    uint64_t bits[(N_LINES + 63) / 64];
};

static struct file_lines lines_of_file(const char *file, size_t n)
{
    struct file_lines f = {{0}};
    for (size_t i = 0; i < N_LINES; i++)
        if (contains(file, n, lines[i].file))
            f.bits[i / 64] |= UINT64_C(1) << i % 64;
    return f;
}

static enum frame_role role_by_lines(const struct file_lines *f, const char *name, size_t n)
{
    for (size_t i = 0; i < N_LINES; i++)
        if ((f->bits[i / 64] >> i % 64 & 1) && is_one_of(name, n, lines[i].names))
            return (enum frame_role)lines[i].role;
    return ROLE_NONE;
}

enum frame_role msnap_frame_role(const char *file, size_t file_n, const char *name, size_t name_n)
{
    struct file_lines f = lines_of_file(file, file_n);
    return role_by_lines(&f, name, name_n);
}

static enum frame_role cpp_role(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof cpp_roles / sizeof *cpp_roles; i++)
        if (contains(name, n, cpp_roles[i].file))
            return (enum frame_role)cpp_roles[i].role;
    return ROLE_NONE;
}

struct frame_facts {
    uint8_t role, bits;
};
enum {
    FRAME_PYTHON = 1,
    FRAME_SETS_UP = 2,   /* __init__ and the like */
    FRAME_MAIN = 4,      /* where a thread of the program's own begins */
    FRAME_ACCUMULATE = 8,
    FRAME_APPLY = 16,    /* autograd/function.py:apply, which begins custom functions both ways */
    FRAME_HELPER = 32,   /* a library's or Python's own function that says nothing about who asks */
    FRAME_LIBRARY_STEP = 64
};

static bool is_python(const char *file, size_t n)
{
    return (n > 3 && memcmp(file + n - 3, ".py", 3) == 0) || (n && file[0] == '<') || contains(file, n, "ipykernel");
}

static struct frame_facts facts_of_frame(const struct msnap_snapshot *s, uint32_t frame, const struct file_lines *by_file)
{
    const struct msnap_strings *t = &s->strings;
    const uint32_t file = s->frames.filename[frame], name = s->frames.name[frame];
    const char *f = t->bytes[file], *p = t->bytes[name];
    const size_t fn = t->len[file], pn = t->len[name];
    struct frame_facts out = {ROLE_NONE, 0};

    if (!is_python(f, fn)) {
        out.role = (uint8_t)cpp_role(p, pn);
        if (contains(p, pn, "AccumulateGrad"))
            out.bits |= FRAME_ACCUMULATE;
        return out;
    }
    out.bits |= FRAME_PYTHON;
    out.role = (uint8_t)role_by_lines(by_file, p, pn);
    if (is_one_of(p, pn, "__init__|post_init|build|reset_parameters|init_weights|_init_weights|setup|configure_model"))
        out.bits |= FRAME_SETS_UP;
    if (is_one_of(p, pn, "<module>|_bootstrap|_bootstrap_inner|_run_code|_run_module_as_main"))
        out.bits |= FRAME_MAIN;
    if (is_one_of(p, pn, "apply") && contains(f, fn, "torch/autograd/function.py"))
        out.bits |= FRAME_APPLY;
    if (out.role == ROLE_OPTIMIZER && contains(f, fn, "torch/optim/") && !contains(f, fn, "/optimizer.py"))
        out.bits |= FRAME_LIBRARY_STEP;
    const bool is_user = msnap_frame_is_user(s, frame);
    if (!is_user)
        out.bits |= FRAME_HELPER;
    if (out.role == ROLE_NONE && is_user && is_one_of(p, pn, "closure"))
        out.role = ROLE_BARRIER;
    if (out.role == ROLE_NONE && (contains(p, pn, "kv_cache") || contains(p, pn, "KVCache") || contains(p, pn, "kvcache")))
        out.role = ROLE_CACHE;
    return out;
}

/* A frame's facts put before those of its callers. */
static struct msnap_stack_facts put_before(struct frame_facts f, struct msnap_stack_facts callers, bool outermost, bool has_main)
{
    struct msnap_stack_facts out = callers;
    out.flags |= FACT_STACK;
    if (f.bits & FRAME_PYTHON) {
        const bool first_python = !(callers.flags & FACT_PYTHON);
        out.flags |= FACT_PYTHON;
        /* The engine's thread has no frame of the program's own below its hooks. */
        if (first_python && has_main && !(f.bits & FRAME_MAIN))
            out.flags |= FACT_IN_BACKWARD;
        if (first_python && outermost && (f.bits & FRAME_APPLY))
            out.flags |= FACT_IN_BACKWARD;
    }
    if (f.bits & FRAME_ACCUMULATE)
        out.flags |= FACT_ACCUMULATE;
    if (f.bits & FRAME_SETS_UP)
        out.flags |= FACT_MAKES;
    else if (!(f.bits & FRAME_HELPER) && (f.bits & FRAME_PYTHON))
        out.flags &= (uint8_t)~FACT_MAKES;
    if ((callers.flags & FACT_LIBRARY_STEP) && (f.bits & FRAME_PYTHON) && !(f.bits & FRAME_HELPER) && f.role == ROLE_NONE)
        f.role = ROLE_BARRIER;
    if (f.bits & FRAME_LIBRARY_STEP)
        out.flags |= FACT_LIBRARY_STEP;
    switch ((enum frame_role)f.role) {
    case ROLE_NONE: return out;
    case ROLE_SOFT:
        if (out.role == ROLE_NONE || out.role == ROLE_BARRIER)
            out.role = ROLE_FORWARD;
        return out;
    case ROLE_BARRIER:
        out.role = ROLE_BARRIER;
        out.flags &= (uint8_t)~(FACT_OPTIMIZER | FACT_IN_FORWARD | FACT_LIBRARY_STEP);
        return out;
    case ROLE_GRAD_CALL:
    case ROLE_BACKWARD: out.flags |= FACT_IN_BACKWARD; break;
    case ROLE_FORWARD: out.flags |= FACT_IN_FORWARD; break;
    case ROLE_OPTIMIZER: out.flags |= FACT_OPTIMIZER; break;
    case ROLE_ZERO_GRAD:
    case ROLE_GRADS:
    case ROLE_WEIGHT:
    case ROLE_COPY:
    case ROLE_SHARD:
    case ROLE_COMM:
    case ROLE_DATA:
    case ROLE_CACHE:
    case ROLE_WORKSPACE:
    case ROLE_COMPILE:
    case N_ROLES: break;
    }
    out.role = f.role;
    return out;
}

static struct frame_facts *all_frames(const struct msnap_snapshot *s, struct msnap_arena *arena)
{
    const size_t n = s->frames.n;
    struct frame_facts *facts = MSNAP_NEW(arena, struct frame_facts, n + 1);
    /* Files repeat over frames: each is looked at once. */
    uint32_t *file_row = MSNAP_NEW(arena, uint32_t, s->strings.n + 1);
    size_t n_files = 0;
    if (!facts || !file_row)
        return NULL;
    for (size_t i = 1; i < n; i++)
        if (!file_row[s->frames.filename[i]])
            file_row[s->frames.filename[i]] = (uint32_t)++n_files;
    struct file_lines *by_file = MSNAP_NEW_RAW(arena, struct file_lines, n_files + 1);
    uint8_t *known = MSNAP_NEW(arena, uint8_t, n_files + 1);
    if (!by_file || !known)
        return NULL;
    for (size_t i = 1; i < n; i++) {
        const uint32_t file = s->frames.filename[i], row = file_row[file];
        if (!known[row]) {
            by_file[row] = lines_of_file(s->strings.bytes[file], s->strings.len[file]);
            known[row] = 1;
        }
        facts[i] = facts_of_frame(s, (uint32_t)i, &by_file[row]);
    }
    return facts;
}

struct msnap_stack_facts *msnap_stack_facts_build(const struct msnap_snapshot *s, struct msnap_arena *arena)
{
    const size_t n = s->stacks.n;
    struct msnap_stack_facts *out = MSNAP_NEW(arena, struct msnap_stack_facts, n + 2);
    const struct frame_facts *frames = all_frames(s, arena);
    bool has_main = false;
    if (!out || !frames)
        return NULL;
    for (size_t i = 2; i < n && !has_main; i++)
        has_main = (frames[s->stacks.frame[i]].bits & FRAME_MAIN) && s->stacks.parent[i] == MSNAP_STACK_EMPTY;
    out[MSNAP_STACK_EMPTY] = (struct msnap_stack_facts){ROLE_NONE, FACT_STACK};
    for (size_t i = 2; i < n; i++) { /* callers have lower ids */
        const uint32_t parent = s->stacks.parent[i];
        out[i] = put_before(frames[s->stacks.frame[i]], parent < i ? out[parent] : out[MSNAP_STACK_EMPTY],
                            parent == MSNAP_STACK_EMPTY, has_main);
    }
    /* Without a Python frame it is the engine's thread, as far as the program has Python frames at all. */
    if (has_main)
        for (size_t i = MSNAP_STACK_EMPTY; i < n; i++)
            if (!(out[i].flags & FACT_PYTHON))
                out[i].flags |= FACT_IN_BACKWARD;
    out[MSNAP_STACK_EMPTY].flags |= FACT_IN_BACKWARD;
    return out;
}
