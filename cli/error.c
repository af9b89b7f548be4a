/* error.c -- what goes wrong, in one line on standard error, and the exit code for it. */
#include "cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int write_stderr(void *ctx, const char *bytes, size_t n)
{
    (void)ctx;
    while (n) {
        const ssize_t done = write(STDERR_FILENO, bytes, n);
        if (done <= 0)
            return 1;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

void cli_stderr(struct msnap_sink *sink) { msnap_sink_init(sink, write_stderr, NULL); }

/* File names and texts may hold anything that a file or a shell put there. */
static void put_safe(struct msnap_sink *sink, const char *text)
{
    msnap_put_terminal(sink, text, strlen(text));
}

static void put_formatted(struct msnap_sink *sink, const char *format, va_list args)
{
    char text[2048];

    vsnprintf(text, sizeof text, format, args);
    put_safe(sink, text);
}

static void put_head(struct msnap_sink *sink, const char *file)
{
    cli_stderr(sink);
    msnap_puts(sink, "memsnap: ");
    if (file) {
        put_safe(sink, strcmp(file, "-") ? file : "standard input");
        msnap_puts(sink, ": ");
    }
}

static int exit_code(enum msnap_status status)
{
    switch (status) {
    case MSNAP_OK:
        return EXIT_FINE;
    case MSNAP_EFORMAT:
    case MSNAP_EREFUSED:
    case MSNAP_EDATA:
    case MSNAP_ELIMIT:
        return EXIT_INPUT;
    case MSNAP_EUSAGE:
        return EXIT_USAGE;
    case MSNAP_ENOMEM:
    case MSNAP_EIO:
    case MSNAP_EDEVICE:
    case MSNAP_ECANCELLED:
        return EXIT_MACHINE;
    }
    return EXIT_MACHINE;
}

int cli_fail(const struct cli *cli, const char *file, const struct msnap_error *err)
{
    struct msnap_sink sink;

    (void)cli;
    put_head(&sink, file);
    switch (err->unit) {
    case MSNAP_NOWHERE:
        break;
    case MSNAP_BYTE:
        msnap_putf(&sink, "byte %" PRIu64 ": ", err->at);
        break;
    case MSNAP_EVENT:
        msnap_putf(&sink, "event %" PRIu64 ": ", err->at);
        break;
    }
    put_safe(&sink, err->text);
    msnap_puts(&sink, "\n");
    msnap_sink_flush(&sink);
    return exit_code(err->status);
}

int cli_fail_input(const struct cli *cli, const char *file, const struct msnap_error *err)
{
    const int code = cli_fail(cli, file, err);

    return err->status == MSNAP_EIO ? EXIT_INPUT : code;
}

int cli_usage(const struct command *command, const char *format, ...)
{
    struct msnap_sink sink;
    va_list args;

    put_head(&sink, NULL);
    va_start(args, format);
    put_formatted(&sink, format, args);
    va_end(args);
    if (command)
        msnap_putf(&sink, "\nUsage: memsnap %s [OPTIONS] %s\n\"memsnap help %s\" lists the options.\n",
                   command->name, command->operands, command->name);
    else
        msnap_puts(&sink, "\nUsage: memsnap COMMAND [OPTIONS] FILE\n\"memsnap help\" lists the commands.\n");
    msnap_sink_flush(&sink);
    return EXIT_USAGE;
}

int cli_error(int code, const char *file, const char *format, ...)
{
    struct msnap_sink sink;
    va_list args;

    put_head(&sink, file);
    va_start(args, format);
    put_formatted(&sink, format, args);
    va_end(args);
    msnap_puts(&sink, "\n");
    msnap_sink_flush(&sink);
    return code;
}

void cli_note(const struct cli *cli, const char *format, ...)
{
    struct msnap_sink sink;
    va_list args;

    if (cli->quiet)
        return;
    put_head(&sink, NULL);
    va_start(args, format);
    put_formatted(&sink, format, args);
    va_end(args);
    msnap_puts(&sink, "\n");
    msnap_sink_flush(&sink);
}
