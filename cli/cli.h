/* cli.h -- what the commands share: the command table, options, input, output, errors.
 *
 * A command is one `struct command` in cmd_NAME.c, named in the table of main.c. Parsing, help
 * and error texts all come from its option table.
 */
#ifndef MEMSNAP_CLI_H
#define MEMSNAP_CLI_H

#include <memsnap/snapshot.h>
#include <memsnap/text.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- exit codes ---- */
enum {
    EXIT_FINE = 0,
    EXIT_IS_SO = 1,  /* a thing that was asked about is so */
    EXIT_USAGE = 2,  /* wrong usage */
    EXIT_INPUT = 3,  /* bad input */
    EXIT_MACHINE = 4 /* no memory, no device, cannot write */
};

/* ---- options ---- */
enum opt_kind { OPT_FLAG, OPT_STRING, OPT_SIZE, OPT_INT, OPT_CHOICE };

struct opt {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* one-letter form, 0: none */
    enum opt_kind kind;
    const char *arg;            /* what stands for the argument in help: "SIZE"; NULL for flags and choices */
    const char *const *choices; /* OPT_CHOICE: the allowed words, NULL-terminated */
    const char *help;           /* one or two lines of plain text; a newline starts the next line */
    int64_t min, max;           /* OPT_INT: the allowed range, both included; both 0: anything */
};

/* Common options that a command takes. */
enum {
    TAKES_DEVICE = 1,
    TAKES_JSON = 2,
    TAKES_OUTPUT = 4,   /* -o and --force */
    TAKES_SNAPSHOT = 8, /* reads snapshots: --max-memory, -q */
    TAKES_COLOR = 16
};

struct cli;

struct command {
    const char *name;
    const char *summary;  /* one line for `memsnap help` */
    const char *operands; /* "FILE", "FILE..." */
    const char *about;    /* paragraphs for `memsnap help NAME`; a newline at the end */
    const char *examples; /* lines "memsnap ...", NULL: none */
    size_t min_operands, max_operands;
    unsigned takes;         /* TAKES_* */
    const struct opt *opts; /* the command's own options; NULL: none */
    int (*run)(struct cli *cli);
};

struct msnap_history;

/* A parsed option. */
struct opt_value {
    const struct opt *opt;
    bool given;
    const char *text; /* as given */
    uint64_t size;    /* OPT_SIZE */
    int64_t number;   /* OPT_INT; OPT_CHOICE: the index of the word */
};

/* Values by name. Asking for a name that is not in the command's tables is our own bug. */
bool cli_given(const struct cli *cli, const char *name);
const char *cli_text(const struct cli *cli, const char *name); /* NULL: not given */
uint64_t cli_size(const struct cli *cli, const char *name, uint64_t otherwise);
int64_t cli_int(const struct cli *cli, const char *name, int64_t otherwise);
size_t cli_choice(const struct cli *cli, const char *name, size_t otherwise);

/* ---- one run of a command ---- */
enum { CLI_MAX_OPTS = 40 };

struct cli {
    const struct command *command;
    struct opt_value values[CLI_MAX_OPTS];
    size_t n_values;
    const char *const *operands;
    size_t n_operands;
    bool quiet;
    bool color_err; /* whether standard error takes colour */
};

/* Fills in `cli` from the arguments after the command's name; reorders `args` so that the operands
 * come first. Prints and returns EXIT_USAGE on wrong usage, -1 when --help was asked for and
 * printed, else EXIT_FINE. */
int opt_parse(struct cli *cli, const struct command *command, int n_args, char **args);
void opt_print_help(struct msnap_sink *out, const struct command *command);
/* Which of the names is meant by a mistyped word; NULL where none is near. */
const char *nearest_word(const char *word, const char *const *names, size_t n);

/* ---- errors: all on standard error, one line each; each returns the exit code ---- */
/* "memsnap: FILE: byte 8211: TEXT" for a failed library call; `file` may be NULL. */
int cli_fail(const struct cli *cli, const char *file, const struct msnap_error *err);
/* The same for input files: an input that cannot be read is bad input, not a broken machine. */
int cli_fail_input(const struct cli *cli, const char *file, const struct msnap_error *err);
/* "memsnap: TEXT", the usage line and where to read on. Returns EXIT_USAGE. */
int cli_usage(const struct command *command, const char *format, ...) MSNAP_PRINTF(2, 3);
/* "memsnap: [FILE: ]TEXT"; returns `code`. */
int cli_error(int code, const char *file, const char *format, ...) MSNAP_PRINTF(3, 4);
/* A sink on standard error, for texts that are put together from parts. */
void cli_stderr(struct msnap_sink *sink);
/* A remark that is no error; silent with -q. */
void cli_note(const struct cli *cli, const char *format, ...) MSNAP_PRINTF(2, 3);

/* ---- input ---- */
/* Opens a snapshot with the limits and the progress display that the options ask for. EXIT_FINE, or
 * prints and returns the code. */
int cli_open(const struct cli *cli, const char *path, struct msnap_snapshot **out);
/* The same for who only counts events: see msnap_open_options.counts_only. */
int cli_open_counts(const struct cli *cli, const char *path, struct msnap_snapshot **out);
/* The device that --device names, else the default one. NULL in `*out` where the file has none.
 * A device that is asked for and is not there is EXIT_USAGE. */
int cli_device(const struct cli *cli, const char *path, const struct msnap_snapshot *s,
               const struct msnap_device **out);
/* Whether a device is asked for: true for all where --device is not given. */
bool cli_wants_device(const struct cli *cli, const struct msnap_device *device);

/* ---- output ---- */
struct output {
    struct msnap_sink sink; /* write here */
    int fd;
    int error;        /* errno of the write that failed */
    const char *path; /* NULL: standard output */
    char *temporary;  /* written here, then renamed; NULL: written in place */
    bool force;
    bool color;
    unsigned width; /* columns of the terminal, 80 elsewhere */
};
/* Standard output, or the file of -o: written beside it and renamed by output_close. Refuses an
 * existing file without --force, and a file that is also an input even with it. EXIT_FINE, or
 * prints and returns the code. */
int output_open(const struct cli *cli, struct output *out);
/* Finishes: `code` is the run's code so far; a file is only put in place where it is EXIT_FINE or
 * EXIT_IS_SO. Returns `code`, or EXIT_MACHINE where writing failed. */
int output_close(const struct cli *cli, struct output *out, int code);

/* For commands whose file is written by a library (cmd_plot): whether `path` may be written, by the
 * same rules. EXIT_FINE, or prints and returns the code. */
int output_check(const struct cli *cli, const char *path);

/* ---- the frame that commands on one snapshot share (frame.c) ---- */
typedef int cli_snapshot_fn(struct cli *cli, struct output *out, const char *path, const struct msnap_snapshot *s);
typedef int cli_history_fn(struct cli *cli, struct output *out, const char *path, const struct msnap_history *h, struct msnap_arena *arena);
/* Opens the output and the first operand, checks --device, calls `print` and closes all. The exit code. */
int cli_on_snapshot(struct cli *cli, cli_snapshot_fn *print);
/* The same with the history of one device, for commands that simulate: a file without events is refused. */
int cli_on_requests(struct cli *cli, cli_history_fn *run_on);

#endif
