/* main.c -- the command table, help, and unknown commands. */
#include "cli.h"
#include "commands.h"
#include "term.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In the order of `memsnap help`. Only what works is listed. */
static const struct command *const commands[] = {
    &command_report,
    &command_info,
    &command_peak,
    &command_oom,
    &command_frag,
    &command_leaks,
    &command_lines,
    &command_simulate,
    &command_tune,
    &command_replay,
    &command_stats,
    &command_check,
    &command_plot,
    &command_export,
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

static int unknown(const char *name)
{
    const char *names[N_COMMANDS];

    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i]->name;
    const char *near = nearest_word(name, names, N_COMMANDS);
    if (near)
        return cli_usage(NULL, "there is no command \"%s\"; did you mean \"%s\"?", name, near);
    if (!access(name, R_OK)) /* "memsnap run.pickle" */
        return cli_usage(NULL, "\"%s\" is a file, not a command; did you mean \"memsnap report %s\"?", name,
                         name);
    return cli_usage(NULL, "there is no command \"%s\"", name);
}

static void put_overview(struct msnap_sink *out)
{
    msnap_puts(out, "Usage: memsnap COMMAND [OPTIONS] FILE\n\n"
                    "Reads PyTorch CUDA memory snapshots (torch.cuda.memory._dump_snapshot) and tells the\n"
                    "truth about them. Nothing in a file is ever executed.\n\nCommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        msnap_putf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    msnap_puts(out, "\nFILE is a snapshot, gzip or not; - is standard input.\n"
                    "Sizes are 1024-based everywhere: 1 GiB is 1,073,741,824 bytes.\n\n"
                    "Exit status: 0 fine, 1 a thing that was asked about is so, 2 wrong usage, 3 bad input,\n"
                    "4 the machine (no memory, no device, cannot write).\n\n"
                    "\"memsnap help COMMAND\" says more; \"memsnap --version\" names the version.\n"
                    "Begin with: memsnap report FILE\n");
}

/* Help that was asked for goes to standard output. */
static int print(const struct command *command, bool version)
{
    struct cli cli = {.quiet = true};
    struct output out;
    const int code = output_open(&cli, &out);

    if (code != EXIT_FINE)
        return code;
    if (version)
        msnap_putf(&out.sink, "memsnap %s\n", msnap_version());
    else if (command)
        opt_print_help(&out.sink, command);
    else
        put_overview(&out.sink);
    return output_close(&cli, &out, EXIT_FINE);
}

static int help(int argc, char **argv)
{
    if (argc < 3)
        return print(NULL, false);
    const struct command *command = find(argv[2]);
    return command ? print(command, false) : unknown(argv[2]);
}

int main(int argc, char **argv)
{
    struct cli cli;

    if (argc < 2)
        return cli_usage(NULL, "a command is missing");
    const char *word = argv[1];
    if (!strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h"))
        return help(argc, argv);
    if (!strcmp(word, "--version") || !strcmp(word, "-V") || !strcmp(word, "version"))
        return print(NULL, true);

    const struct command *command = find(word);
    if (!command)
        return word[0] == '-' ? cli_usage(NULL, "the command comes first, then options such as %s", word)
                              : unknown(word);
    const int code = opt_parse(&cli, command, argc - 2, argv + 2);
    if (code < 0)
        return print(command, false);
    if (code != EXIT_FINE)
        return code;
    cli.color_err = term_color(&cli, STDERR_FILENO);
    return command->run(&cli);
}
