/* simulate_words.h -- settings for a simulation, and its result as people and scripts read it. */
#ifndef MEMSNAP_SIMULATE_WORDS_H
#define MEMSNAP_SIMULATE_WORDS_H

#include "cli.h"
#include "json.h"

#include <memsnap/sim.h>

#define SIMULATE_OPTIONS                                                                                     \
    {.name = "conf", .kind = OPT_STRING, .arg = "STRING",                                                    \
     .help = "allocator settings as in PYTORCH_CUDA_ALLOC_CONF; \"\" means PyTorch's\n"                      \
             "defaults (default: the recorded settings)"},                                                   \
    {.name = "limit", .kind = OPT_SIZE, .arg = "SIZE", .help = "the process's limit, as set_per_process_memory_fraction sets it"}, \
    {.name = "capacity", .kind = OPT_SIZE, .arg = "SIZE", .help = "what the device can give this process"},  \
    {.name = "no-caching", .kind = OPT_FLAG, .help = "an estimate of PYTORCH_NO_CUDA_MEMORY_CACHING=1: each request its own cudaMalloc"}, \
    {.name = "no-limit", .kind = OPT_FLAG, .help = "neither limit nor capacity, whatever the recording shows"}

/* Fills in the settings that the options ask for, and whether they are the recorded ones. */
int simulate_config(const struct cli *cli, const char *path, const struct msnap_history *h, struct msnap_arena *arena,
                    struct msnap_sim_config *out, bool *recorded);
int simulate_json(struct msnap_sink *out, const char *path, const char *conf, const struct msnap_history *h,
                  const struct msnap_sim_config *config, const struct msnap_sim_result *r);
void simulate_text(struct output *out, const struct msnap_history *h, const char *conf, const struct msnap_sim_config *config,
                   const struct msnap_sim_result *r);

#endif
