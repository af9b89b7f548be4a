/* opt.c -- option tables: parsing, values by name, help. */
#include "cli.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const color_words[] = {"auto", "always", "never", NULL};

static const struct opt device_opt = {
    "device", 0, OPT_INT, "N", NULL, "only device N of the file (-1: pinned host memory)", -1, 65535};
static const struct opt json_opt = {"json", 0, OPT_FLAG, NULL, NULL, "JSON on standard output", 0, 0};
static const struct opt output_opt = {
    "output", 'o', OPT_STRING, "FILE", NULL, "write to FILE; never overwrites without --force", 0, 0};
static const struct opt force_opt = {"force", 0, OPT_FLAG, NULL, NULL, "overwrite the file of -o", 0, 0};
static const struct opt memory_opt = {
    "max-memory",
    0,
    OPT_SIZE,
    "SIZE",
    NULL,
    "give up where a snapshot needs more memory than this\n(default: half of the machine's)",
    0,
    0};
static const struct opt quiet_opt = {"quiet", 'q', OPT_FLAG, NULL, NULL, "no progress, no remarks", 0, 0};
static const struct opt color_opt = {
    "color", 0, OPT_CHOICE, NULL, color_words, "colour (default: auto; NO_COLOR is honoured)", 0, 0};
static const struct opt help_opt = {"help", 'h', OPT_FLAG, NULL, NULL, "this text", 0, 0};

static void add(struct cli *cli, const struct opt *opt)
{
    assert(cli->n_values < CLI_MAX_OPTS);
    cli->values[cli->n_values++] = (struct opt_value){.opt = opt};
}

/* The command's own options first, the common ones after them: also the order in help. */
static void add_all(struct cli *cli, const struct command *command)
{
    for (const struct opt *o = command->opts; o && o->name; o++)
        add(cli, o);
    if (command->takes & TAKES_DEVICE)
        add(cli, &device_opt);
    if (command->takes & TAKES_JSON)
        add(cli, &json_opt);
    if (command->takes & TAKES_OUTPUT) {
        add(cli, &output_opt);
        add(cli, &force_opt);
    }
    if (command->takes & TAKES_SNAPSHOT) {
        add(cli, &memory_opt);
        add(cli, &quiet_opt);
    }
    if (command->takes & TAKES_COLOR)
        add(cli, &color_opt);
    add(cli, &help_opt);
}

/* ---- values by name ---- */

static const struct opt_value *value_of(const struct cli *cli, const char *name)
{
    for (size_t i = 0; i < cli->n_values; i++)
        if (!strcmp(cli->values[i].opt->name, name))
            return &cli->values[i];
    return NULL;
}

bool cli_given(const struct cli *cli, const char *name)
{
    const struct opt_value *v = value_of(cli, name);
    return v && v->given;
}

const char *cli_text(const struct cli *cli, const char *name)
{
    const struct opt_value *v = value_of(cli, name);
    return v && v->given ? v->text : NULL;
}

uint64_t cli_size(const struct cli *cli, const char *name, uint64_t otherwise)
{
    const struct opt_value *v = value_of(cli, name);
    return v && v->given ? v->size : otherwise;
}

int64_t cli_int(const struct cli *cli, const char *name, int64_t otherwise)
{
    const struct opt_value *v = value_of(cli, name);
    return v && v->given ? v->number : otherwise;
}

size_t cli_choice(const struct cli *cli, const char *name, size_t otherwise)
{
    const struct opt_value *v = value_of(cli, name);
    return v && v->given ? (size_t)v->number : otherwise;
}

/* ---- near misses ---- */

/* Levenshtein's distance for short words; longer ones are nobody's near miss. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 31 };
    const size_t na = strlen(a), nb = strlen(b);
    size_t row[LONGEST + 1];

    if (na > LONGEST || nb > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

const char *nearest_word(const char *word, const char *const *names, size_t n)
{
    const size_t len = strlen(word);
    const char *found = NULL;
    size_t best = len <= 3 ? 2 : 3; /* must be beaten */

    if (len < 2)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        const size_t d = distance(word, names[i]);
        if (d < best) {
            best = d;
            found = names[i];
        }
    }
    for (size_t i = 0; i < n && !found; i++)
        if (!strncmp(word, names[i], len)) /* cut short: "rep" */
            found = names[i];
    return found;
}

/* ---- parsing ---- */

static int unknown_option(const struct cli *cli, const char *name)
{
    const char *names[CLI_MAX_OPTS];

    for (size_t i = 0; i < cli->n_values; i++)
        names[i] = cli->values[i].opt->name;
    const char *near = nearest_word(name, names, cli->n_values);
    if (near)
        return cli_usage(cli->command, "there is no option --%s; did you mean --%s?", name, near);
    return cli_usage(cli->command, "there is no option --%s", name);
}

static int parse_choice(struct cli *cli, struct opt_value *v, const char *text)
{
    char words[256] = "";

    for (size_t i = 0; v->opt->choices[i]; i++) {
        if (!strcmp(v->opt->choices[i], text)) {
            v->number = (int64_t)i;
            return EXIT_FINE;
        }
        if (i)
            strncat(words, v->opt->choices[i + 1] ? ", " : " or ", sizeof words - strlen(words) - 1);
        strncat(words, v->opt->choices[i], sizeof words - strlen(words) - 1);
    }
    return cli_usage(cli->command, "--%s takes %s, not \"%s\"", v->opt->name, words, text);
}

static int parse_int(struct cli *cli, struct opt_value *v, const char *text)
{
    const struct opt *o = v->opt;
    char *end;

    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return cli_usage(cli->command, "--%s takes a whole number, not \"%s\"", o->name, text);
    if ((o->min || o->max) && (number < o->min || number > o->max))
        return cli_usage(cli->command, "--%s must be from %lld to %lld, not %lld", o->name, (long long)o->min,
                         (long long)o->max, number);
    v->number = number;
    return EXIT_FINE;
}

static int parse_value(struct cli *cli, struct opt_value *v, const char *text)
{
    v->given = true;
    v->text = text;
    switch (v->opt->kind) {
    case OPT_FLAG:
        return EXIT_FINE;
    case OPT_STRING:
        if (!*text && !strcmp(v->opt->name, "output"))
            return cli_usage(cli->command, "-o takes a file name; it was empty");
        return EXIT_FINE;
    case OPT_SIZE:
        if (!msnap_parse_size(text, &v->size))
            return cli_usage(cli->command, "--%s takes a size such as 512MiB or 80GiB, not \"%s\"",
                             v->opt->name, text);
        return EXIT_FINE;
    case OPT_INT:
        return parse_int(cli, v, text);
    case OPT_CHOICE:
        return parse_choice(cli, v, text);
    }
    return EXIT_FINE;
}

/* "--name", "--name=value" (then `value` points behind the sign). */
static struct opt_value *find_long(struct cli *cli, const char *word, const char **value)
{
    const char *sign = strchr(word, '=');
    const size_t len = sign ? (size_t)(sign - word) : strlen(word);

    *value = sign ? sign + 1 : NULL;
    for (size_t i = 0; i < cli->n_values; i++) {
        const char *name = cli->values[i].opt->name;
        if (strlen(name) == len && !strncmp(name, word, len))
            return &cli->values[i];
    }
    return NULL;
}

static struct opt_value *find_letter(struct cli *cli, char letter)
{
    for (size_t i = 0; i < cli->n_values; i++)
        if (cli->values[i].opt->letter == letter)
            return &cli->values[i];
    return NULL;
}

/* One argument that begins with a dash; `*i` moves on where its value is the next argument. */
static int parse_option(struct cli *cli, int n_args, char **args, int *i)
{
    const char *word = args[*i], *value = NULL;
    struct opt_value *v;

    if (word[1] == '-') {
        v = find_long(cli, word + 2, &value);
        if (!v) {
            char name[64];
            const size_t len = strcspn(word + 2, "=");
            if (len >= sizeof name)
                return cli_usage(cli->command, "there is no option %s", word);
            memcpy(name, word + 2, len);
            name[len] = 0;
            return unknown_option(cli, name);
        }
    } else {
        v = find_letter(cli, word[1]);
        if (!v)
            return cli_usage(cli->command, "there is no option %s", word);
        value = word[2] ? word + 2 : NULL;
    }
    if (v->opt->kind == OPT_FLAG) {
        if (value)
            return cli_usage(cli->command, "--%s takes no value", v->opt->name);
    } else if (!value) {
        if (*i + 1 >= n_args)
            return cli_usage(cli->command, "--%s needs a value", v->opt->name);
        value = args[++*i];
    }
    return parse_value(cli, v, value);
}

int opt_parse(struct cli *cli, const struct command *command, int n_args, char **args)
{
    int n_operands = 0;
    bool options_end = false;

    *cli = (struct cli){.command = command};
    add_all(cli, command);
    for (int i = 0; i < n_args; i++) {
        char *arg = args[i];
        if (!options_end && !strcmp(arg, "--")) {
            options_end = true;
        } else if (!options_end && arg[0] == '-' && arg[1]) {
            const int code = parse_option(cli, n_args, args, &i);
            if (code != EXIT_FINE)
                return code;
        } else {
            args[n_operands++] = arg; /* never beyond i: the operands move to the front */
        }
    }
    if (cli_given(cli, "help"))
        return -1;
    if ((size_t)n_operands < command->min_operands)
        return cli_usage(command, "%s is missing: name a snapshot, or - for standard input",
                         command->operands);
    if ((size_t)n_operands > command->max_operands)
        return cli_usage(command, "one file at a time: \"%s\" is too many", args[command->max_operands]);
    cli->operands = (const char *const *)args;
    cli->n_operands = (size_t)n_operands;
    cli->quiet = cli_given(cli, "quiet");
    return EXIT_FINE;
}

/* ---- help ---- */

static size_t put_left_column(struct msnap_sink *out, const struct opt *o)
{
    size_t n = 2;

    msnap_puts(out, "  ");
    if (o->letter) {
        msnap_putf(out, "-%c, ", o->letter);
        n += 4;
    }
    msnap_putf(out, "--%s", o->name);
    n += 2 + strlen(o->name);
    if (o->choices) {
        for (size_t i = 0; o->choices[i]; i++) {
            msnap_putf(out, "%c%s", i ? '|' : '=', o->choices[i]);
            n += 1 + strlen(o->choices[i]);
        }
    } else if (o->arg) {
        msnap_putf(out, " %s", o->arg);
        n += 1 + strlen(o->arg);
    }
    return n;
}

static void put_option(struct msnap_sink *out, const struct opt *o)
{
    enum { COLUMN = 24 };
    size_t at = put_left_column(out, o);
    const char *line = o->help;

    if (at + 2 > COLUMN) {
        msnap_puts(out, "\n");
        at = 0;
    }
    while (*line) {
        const size_t len = strcspn(line, "\n");
        msnap_putf(out, "%*s%.*s\n", (int)(COLUMN - at), "", (int)len, line);
        line += len + (line[len] == '\n');
        at = 0;
    }
}

void opt_print_help(struct msnap_sink *out, const struct command *command)
{
    struct cli all = {.command = command};

    msnap_putf(out, "Usage: memsnap %s [OPTIONS] %s\n\n%s.\n\n", command->name, command->operands, command->summary);
    msnap_puts(out, command->about);
    msnap_puts(out, "\nOptions:\n");
    add_all(&all, command);
    for (size_t i = 0; i < all.n_values; i++)
        put_option(out, all.values[i].opt);
    if (command->examples) {
        msnap_puts(out, "\nExamples:\n");
        msnap_puts(out, command->examples);
    }
}
