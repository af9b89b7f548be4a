/* estimate.h -- the recorded requests through allocators that are not PyTorch's own. */
#ifndef MSNAP_ANALYSIS_ESTIMATE_H
#define MSNAP_ANALYSIS_ESTIMATE_H

#include "analysis/requests.h"

/* cudaMallocAsync (config->async_backend) or one cudaMalloc for each request (config->no_caching). */
void msnap_estimate(const struct msnap_requests *r, const struct msnap_sim_config *config, const struct msnap_sim_options *options,
                    struct msnap_sim_result *out);

#endif
