/* output.c -- standard output, or a file that appears whole or not at all. */
#include "cli.h"
#include "term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_fd(void *ctx, const char *bytes, size_t n)
{
    struct output *out = ctx;

    while (n) {
        const ssize_t done = write(out->fd, bytes, n);
        if (done < 0) {
            if (errno == EINTR)
                continue;
            out->error = errno;
            return 1;
        }
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

static bool is_same_file(const struct stat *a, const char *path)
{
    struct stat b;

    return strcmp(path, "-") && !stat(path, &b) && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

int output_check(const struct cli *cli, const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return EXIT_FINE; /* not there, or unreachable: then opening says why */
    for (size_t i = 0; i < cli->n_operands; i++)
        if (is_same_file(&st, cli->operands[i]))
            return cli_error(EXIT_USAGE, path, "is the input; name another file with -o");
    if (S_ISDIR(st.st_mode))
        return cli_error(EXIT_USAGE, path, "is a directory; name a file with -o");
    if (S_ISREG(st.st_mode) && !cli_given(cli, "force"))
        return cli_error(EXIT_USAGE, path, "exists; --force overwrites it");
    return EXIT_FINE;
}

/* A new file beside `path`, so that renaming it stays within one file system. */
static int open_beside(struct output *out)
{
    const char *const suffix = ".XXXXXX";
    const size_t n = strlen(out->path) + strlen(suffix) + 1;

    out->temporary = malloc(n);
    if (!out->temporary)
        return cli_error(EXIT_MACHINE, out->path, "no memory");
    snprintf(out->temporary, n, "%s%s", out->path, suffix);
    out->fd = mkstemp(out->temporary);
    if (out->fd < 0) {
        const int why = errno;
        free(out->temporary);
        out->temporary = NULL;
        return cli_error(EXIT_MACHINE, out->path, "cannot write: %s", strerror(why));
    }
    /* mkstemp makes it private; an ordinary file follows the umask. */
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(out->fd, 0666 & ~mask);
    return EXIT_FINE;
}

int output_open(const struct cli *cli, struct output *out)
{
    struct stat st;

    *out = (struct output){.fd = STDOUT_FILENO, .force = cli_given(cli, "force")};
    msnap_sink_init(&out->sink, write_fd, out);
    out->path = cli_text(cli, "output");
    if (out->path && !strcmp(out->path, "-"))
        out->path = NULL;
    if (!out->path) {
        out->color = term_color(cli, out->fd);
        out->width = term_width(out->fd);
        return EXIT_FINE;
    }
    const int code = output_check(cli, out->path);
    if (code != EXIT_FINE)
        return code;
    out->width = 80;
    if (!stat(out->path, &st) && !S_ISREG(st.st_mode)) { /* a device or a named pipe: written as it is */
        out->fd = open(out->path, O_WRONLY);
        if (out->fd < 0)
            return cli_error(EXIT_MACHINE, out->path, "cannot write: %s", strerror(errno));
        return EXIT_FINE;
    }
    return open_beside(out);
}

/* Without --force the name must still be free: a link fails where renaming would overwrite. */
static int put_in_place(const struct output *out)
{
    if (out->force || link(out->temporary, out->path)) {
        if (!out->force && errno == EEXIST)
            return -1;
        return rename(out->temporary, out->path);
    }
    return unlink(out->temporary);
}

int output_close(const struct cli *cli, struct output *out, int code)
{
    const bool wanted = code == EXIT_FINE || code == EXIT_IS_SO;

    msnap_sink_flush(&out->sink);
    if (out->path && close(out->fd) && !out->error)
        out->error = errno;
    if (out->temporary && wanted && !out->error && put_in_place(out))
        out->error = errno;
    if (out->temporary && (!wanted || out->error))
        unlink(out->temporary);
    free(out->temporary);
    out->temporary = NULL;
    if (out->error == EPIPE && !out->path)
        return code; /* the reader has seen enough */
    if (out->error)
        return cli_error(EXIT_MACHINE, out->path ? out->path : "standard output", "cannot write: %s",
                         strerror(out->error));
    if (out->path && wanted) {
        struct stat st;
        char size[24];
        if (!stat(out->path, &st))
            cli_note(cli, "wrote %s (%s)", out->path, msnap_format_bytes(size, (uint64_t)st.st_size));
    }
    return code;
}
