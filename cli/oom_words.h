/* oom_words.h -- an OOM as people and scripts read it: the sum, the verdict, the advice. */
#ifndef MEMSNAP_OOM_WORDS_H
#define MEMSNAP_OOM_WORDS_H

#include "cli.h"
#include "json.h"

#include <memsnap/history.h>
#include <memsnap/oom.h>

/* --capacity and --limit, as report and oom take them. */
#define OOM_OPTIONS                                                                                          \
    {.name = "capacity", .kind = OPT_SIZE, .arg = "SIZE",                                                    \
     .help = "what the GPU holds in all; no file says it, and only with it is memory\n"                      \
             "outside PyTorch's allocator known (as torch.cuda.mem_get_info()[1] prints it)"},               \
    {.name = "limit", .kind = OPT_SIZE, .arg = "SIZE",                                                       \
     .help = "the process's limit (set_per_process_memory_fraction), where one was set"}
struct msnap_oom_options oom_options(const struct cli *cli);

/* "exhausted: 2.50 GiB asked, ..." in one sentence or two, without a newline. */
void put_oom_explanation(struct msnap_sink *out, const struct msnap_oom *o);
/* What to do about it, lines indented by four; reads the file's settings. */
void put_oom_advice(struct msnap_sink *out, const struct msnap_snapshot *s, const struct msnap_oom *o);
/* The whole of one event as text. */
void put_oom(struct output *out, const struct msnap_history *h, const struct msnap_oom *o);
/* One entry of "oom" in JSON. */
void add_oom_json(struct json *j, cJSON *list, const struct msnap_history *h, const struct msnap_oom *o);
/* The one that the user asks about: the last that was not survived, else the last; NULL: none. */
const struct msnap_oom *the_oom(const struct msnap_oom *ooms, size_t n);

#endif
