/* loop.h -- training loops as words: each is a letter for the stack, + or - for made or freed, the
 * block's letter, and at birth its size; ! is an OOM of any letter and a size: "W+w1000 U+x300 F+h500 B+g1000 B-h O+m1000 Z-g".
 *
 * Stacks: W a module's weights move, F a module's forward, U the user's loop, V another line of it,
 * L the loss in the loop, B the engine's thread (no frames), A who waits for it, H the same
 * for autograd.grad, O the optimizer,
 * o the optimizer of another line, P the optimizer in a hook of the engine, Z zero_grad, D a data
 * loader, R checkpointing in the engine's thread, C DDP, S FSDP on the main thread, T FSDP in the
 * engine's thread, K a key-value cache, Y a deep copy, I a builder's __init__, M torch.compile's
 * tuning, N nothing recorded. Event i happens at 10 i microseconds; sizes are units of 512 bytes.
 */
#ifndef MEMSNAP_TESTS_LOOP_H
#define MEMSNAP_TESTS_LOOP_H

#include <memsnap/classify.h>

#include "support/check.h"

#include <ctype.h>

enum { LOOP_MAX = 400, LOOP_FRAMES = 40, LOOP_STACKS = 40, LOOP_STRINGS = 100, LOOP_NOTES = 40 };

struct loop_note { /* an annotation over events [first, last] */
    const char *name;
    uint32_t first, last;
};

struct loop {
    struct msnap_snapshot s;
    struct msnap_device device;
    struct msnap_history h;
    struct msnap_steps steps;
    struct msnap_classes classes;
    const char *strings[LOOP_STRINGS];
    uint32_t lengths[LOOP_STRINGS];
    uint32_t name[LOOP_FRAMES], file[LOOP_FRAMES], parent[LOOP_STACKS], frame[LOOP_STACKS];
    int64_t line[LOOP_FRAMES];
    size_t n_strings, n_frames, n_stacks;
    uint32_t stack_of[128];
    uint8_t action[LOOP_MAX], has[LOOP_MAX], is_end[2 * LOOP_NOTES];
    uint64_t addr[LOOP_MAX], size[LOOP_MAX], block_size[LOOP_MAX];
    int64_t time_us[LOOP_MAX], note_time[2 * LOOP_NOTES];
    uint32_t stream[LOOP_MAX], stack[LOOP_MAX], born[LOOP_MAX], freed[LOOP_MAX], row_of[128], note_name[2 * LOOP_NOTES];
    int32_t note_device[2 * LOOP_NOTES];
};

static inline uint32_t loop_string(struct loop *l, const char *text)
{
    for (size_t i = 0; i < l->n_strings; i++)
        if (strcmp(l->strings[i], text) == 0)
            return (uint32_t)i;
    assert_true(l->n_strings < LOOP_STRINGS);
    l->strings[l->n_strings] = text;
    l->lengths[l->n_strings] = (uint32_t)strlen(text);
    return (uint32_t)l->n_strings++;
}

static inline uint32_t loop_call(struct loop *l, uint32_t callers, const char *file, int64_t line, const char *name)
{
    const size_t f = l->n_frames++, k = l->n_stacks++;
    assert_true(f < LOOP_FRAMES && k < LOOP_STACKS);
    l->name[f] = loop_string(l, name);
    l->file[f] = loop_string(l, file);
    l->line[f] = line;
    l->parent[k] = callers;
    l->frame[k] = (uint32_t)f;
    return (uint32_t)k;
}

#define SITE "/usr/lib/python3/site-packages/"

static inline void loop_stacks(struct loop *l)
{
    static const char user[] = "/home/ada/train.py";
    l->n_strings = l->n_frames = 1;
    l->strings[0] = "";
    l->n_stacks = 2;
    const uint32_t top = loop_call(l, MSNAP_STACK_EMPTY, user, 99, "<module>");
    const uint32_t other = loop_call(l, top, user, 11, "main"), line = loop_call(l, top, user, 10, "main");
    const uint32_t module = loop_call(l, line, SITE "torch/nn/modules/module.py", 1, "_call_impl");
    l->stack_of['U'] = line;
    l->stack_of['V'] = other;
    l->stack_of['L'] = loop_call(l, top, user, 12, "main");
    l->stack_of['F'] = loop_call(l, module, SITE "torch/nn/modules/linear.py", 1, "forward");
    l->stack_of['K'] = loop_call(l, module, SITE "transformers/cache_utils.py", 1, "update");
    l->stack_of['W'] = loop_call(l, line, SITE "torch/nn/modules/module.py", 2, "convert");
    l->stack_of['A'] = loop_call(l, loop_call(l, line, SITE "torch/autograd/__init__.py", 3, "backward"), SITE "torch/autograd/__init__.py", 1, "_make_grads");
    l->stack_of['H'] = loop_call(l, loop_call(l, line, SITE "torch/autograd/__init__.py", 2, "grad"), SITE "torch/autograd/__init__.py", 1, "_make_grads");
    l->stack_of['B'] = MSNAP_STACK_EMPTY;
    l->stack_of['O'] = loop_call(l, loop_call(l, line, SITE "torch/optim/optimizer.py", 1, "wrapper"), SITE "torch/optim/adam.py", 1, "step");
    l->stack_of['o'] = loop_call(l, loop_call(l, other, SITE "torch/optim/optimizer.py", 1, "wrapper"), SITE "torch/optim/adam.py", 1, "step");
    l->stack_of['Z'] = loop_call(l, line, SITE "torch/optim/optimizer.py", 2, "zero_grad");
    l->stack_of['D'] = loop_call(l, line, SITE "accelerate/utils/operations.py", 1, "send_to_device");
    const uint32_t hook = loop_call(l, MSNAP_STACK_EMPTY, SITE "torch/utils/checkpoint.py", 1, "unpack_hook");
    l->stack_of['R'] = loop_call(l, hook, SITE "torch/nn/modules/module.py", 1, "_call_impl");
    l->stack_of['C'] = loop_call(l, line, SITE "torch/nn/parallel/distributed.py", 1, "_ddp_init_helper");
    l->stack_of['S'] = loop_call(l, line, SITE "torch/distributed/fsdp/_flat_param.py", 1, "shard");
    l->stack_of['T'] = loop_call(l, MSNAP_STACK_EMPTY, SITE "torch/distributed/fsdp/_runtime_utils.py", 1, "_post_backward_hook");
    const uint32_t of_gradient = loop_call(l, MSNAP_STACK_EMPTY, "/home/ada/train.py", 20, "hook");
    l->stack_of['P'] = loop_call(l, loop_call(l, of_gradient, SITE "torch/optim/optimizer.py", 1, "wrapper"), SITE "torch/optim/adam.py", 1, "step");
    l->stack_of['Y'] = loop_call(l, line, "/usr/lib/python3.12/copy.py", 1, "deepcopy");
    l->stack_of['I'] = loop_call(l, line, "/home/ada/model.py", 1, "__init__");
    l->stack_of['M'] = loop_call(l, line, SITE "torch/_inductor/runtime/benchmarking.py", 1, "benchmark_gpu");
    l->stack_of['N'] = MSNAP_STACK_NONE;
}

static inline void loop_note(struct loop *l, struct loop_note n)
{
    const size_t k = l->s.annotations.n;
    assert_true(k + 2 <= 2 * LOOP_NOTES);
    for (size_t i = k; i < k + 2; i++) {
        l->note_name[i] = loop_string(l, n.name);
        l->is_end[i] = i > k;
        l->note_time[i] = i > k ? 10 * (int64_t)n.last + 1 : 10 * (int64_t)n.first - 1;
    }
    l->s.annotations.n += 2;
}

static inline uint64_t loop_number(const char **p)
{
    uint64_t v = 0;
    for (; isdigit((unsigned char)**p); (*p)++)
        v = v * 10 + (uint64_t)(**p - '0');
    return v;
}

/* The history of a loop; `notes` end at a NULL name. Sizes are in units of 512 bytes. */
static inline struct loop *loop_history(const char *words, const struct loop_note *notes)
{
    struct loop *l = calloc(1, sizeof *l);
    size_t n = 0, rows = 0;
    uint64_t held = 0;
    assert_non_null(l);
    loop_stacks(l);
    for (const char *p = words; *p;) {
        if (*p == ' ') {
            p++;
            continue;
        }
        const char stack = p[0], what = p[1], block = p[2];
        assert_true(n < LOOP_MAX && (what == '+' || what == '-' || what == '!') && isalpha((unsigned char)block));
        p += 3;
        l->stack[n] = l->stack_of[(unsigned char)stack];
        l->time_us[n] = 10 * (int64_t)n;
        l->has[n] = MSNAP_HAS_ADDR | MSNAP_HAS_SIZE | MSNAP_HAS_TIME;
        if (what == '+') {
            l->action[n] = MSNAP_ALLOC;
            l->size[n] = l->block_size[rows] = 512 * loop_number(&p);
            l->row_of[(unsigned char)block] = (uint32_t)rows;
            l->born[rows] = (uint32_t)n;
            l->freed[rows++] = MSNAP_NO_EVENT;
            held += l->size[n];
            if (held > l->h.peak.totals.allocated)
                l->h.peak = (struct msnap_moment){(uint32_t)n, {held, held, held, held}};
        } else if (what == '!') {
            l->action[n] = MSNAP_OOM;
            l->size[n] = 512 * loop_number(&p);
        } else {
            const uint32_t row = l->row_of[(unsigned char)block];
            l->action[n] = MSNAP_FREE_REQUESTED;
            l->size[n] = l->block_size[row];
            l->freed[row] = (uint32_t)n;
            held -= l->size[n];
        }
        n++;
    }
    for (; notes && notes->name; notes++)
        loop_note(l, *notes);
    l->s.strings = (struct msnap_strings){l->n_strings, l->strings, l->lengths};
    l->s.frames = (struct msnap_frames){.n = l->n_frames, .name = l->name, .filename = l->file, .line = l->line};
    l->s.stacks = (struct msnap_stacks){l->n_stacks, l->n_stacks, l->parent, l->frame};
    l->s.events = (struct msnap_events){.n = n, .action = l->action, .has = l->has, .addr = l->addr, .size = l->size, .time_us = l->time_us, .stream = l->stream, .stack = l->stack};
    l->s.annotations = (struct msnap_annotations){l->s.annotations.n, l->note_name, l->is_end, l->note_device, l->note_time};
    l->device = (struct msnap_device){.n_events = n};
    l->h.snapshot = &l->s;
    l->h.device = &l->device;
    l->h.allocs = (struct msnap_allocs){.n = rows, .alloc_event = l->born, .request_event = l->freed, .free_event = l->freed, .block_size = l->block_size};
    return l;
}

static inline struct loop *loop_classified(struct fixture *f, const char *words, const struct loop_note *notes, const struct msnap_user_rules *user)
{
    struct loop *l = loop_history(words, notes);
    if (msnap_steps_build(&l->h, f->arena, &l->steps, &f->err) != MSNAP_OK || msnap_classify(&l->h, &l->steps, user, f->arena, &l->classes, &f->err) != MSNAP_OK)
        fail_msg("%s", f->err.text);
    return l;
}

/* The last block of that letter. */
static inline const char *loop_category(const struct loop *l, char block)
{
    return l->classes.names[l->classes.category[l->row_of[(unsigned char)block]]];
}
static inline const char *loop_rule(const struct loop *l, char block)
{
    return l->classes.rules[l->classes.rule[l->row_of[(unsigned char)block]]].name;
}

#endif
