/* rules_file.h -- a user's own categories: the JSON file of --rules. */
#ifndef MEMSNAP_RULES_FILE_H
#define MEMSNAP_RULES_FILE_H

#include "cli.h"

#include <memsnap/classify.h>

#include <regex.h>

struct rule_pattern {
    const char *substring; /* NULL: the regular expression */
    regex_t regex;
};

struct rules_file {
    void *json; /* owns the texts */
    size_t n;
    struct msnap_user_rule *list;
    struct rule_pattern *patterns;
    struct msnap_user_rules rules; /* hand this to msnap_classify */
};

/* The option's row in a command's table. */
#define OPT_RULES                                                                                            \
    {"rules", 0, OPT_STRING, "FILE", NULL,                                                                   \
     "your own categories: a JSON list of {\"name\", \"match\" or\n\"regex\", \"category\"}, tried on \"file:line:function\" of\neach frame; "    \
     "the first that fits wins, before memsnap's own", 0, 0}

/* Reads the file of --rules; without the option the list is empty. EXIT_FINE, or prints and returns
 * the code. Always call rules_close. */
int rules_open(const struct cli *cli, struct rules_file *out);
void rules_close(struct rules_file *rules);

#endif
