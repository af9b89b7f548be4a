/* each_gpu.h -- one answer for each GPU of a file, as text or as one JSON document. */
#ifndef MEMSNAP_EACH_GPU_H
#define MEMSNAP_EACH_GPU_H

#include "cli.h"
#include "json.h"

/* Writes one device: an object into `devices`, or text into `out` where that is NULL. The exit code. */
typedef int each_gpu_fn(struct cli *cli, const char *path, const struct msnap_snapshot *s, const struct msnap_device *device,
                        struct json *j, cJSON *devices, struct output *out);
/* Those that --device wants, pinned host memory left out. The exit code. */
int each_gpu(struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s, const char *schema,
             each_gpu_fn *print_device);

#endif
