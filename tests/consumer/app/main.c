/* main.c -- the smallest user of the library: prints the peak of every device. */
#include <memsnap/history.h>
#include <memsnap/text.h>

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct msnap_error err;
    struct msnap_snapshot *s;
    if (argc != 2) {
        fprintf(stderr, "usage: peak FILE\n");
        return 2;
    }
    if (msnap_snapshot_open(argv[1], NULL, &s, &err) != MSNAP_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], err.text);
        return 3;
    }
    struct msnap_arena *arena = msnap_arena_new(msnap_mem_default());
    int status = arena ? 0 : 4;
    for (size_t i = 0; status == 0 && i < s->n_devices; i++) {
        struct msnap_history h;
        char size[24];
        if (msnap_history_build(s, &s->devices[i], 0, arena, &h, &err) == MSNAP_OK)
            printf("device %" PRId32 ": peak %s\n", s->devices[i].device, msnap_format_bytes(size, h.peak.totals.allocated));
        else
            status = 4;
    }
    msnap_arena_free(arena);
    msnap_snapshot_free(s);
    return status;
}
