/* each_gpu.c -- the loop over a file's GPUs. */
#include "each_gpu.h"

#include <string.h>

int each_gpu(struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s, const char *schema,
             each_gpu_fn *print_device)
{
    struct json j;
    cJSON *devices = NULL;
    int code = EXIT_FINE;
    if (cli_given(cli, "json")) {
        json_start(&j, schema);
        json_text(&j, j.root, "file", path, strlen(path));
        devices = json_array(&j, j.root, "devices");
    }
    for (size_t i = 0; i < s->n_devices && code == EXIT_FINE; i++)
        if (s->devices[i].device != MSNAP_HOST && cli_wants_device(cli, &s->devices[i]))
            code = print_device(cli, path, s, &s->devices[i], &j, devices, out);
    if (!devices && code == EXIT_FINE && !s->n_devices)
        msnap_puts(&out->sink, "Neither events nor segments: the file cannot tell.\n");
    if (!devices)
        return code;
    const int finished = json_finish(&j, &out->sink);
    return code != EXIT_FINE ? code : finished;
}
