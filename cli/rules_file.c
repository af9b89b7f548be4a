/* rules_file.c -- reads the JSON file of --rules. */
#include "rules_file.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_FILE = 1 << 20 };

static bool contains_text(const char *text, size_t n, const char *part)
{
    const size_t len = strlen(part);
    for (size_t i = 0; i + len <= n; i++)
        if (memcmp(text + i, part, len) == 0)
            return true;
    return false;
}

static bool matches(void *ctx, const char *frame, size_t n)
{
    const struct rule_pattern *p = ctx;
    return p->substring ? contains_text(frame, n, p->substring) : regexec(&p->regex, frame, 0, NULL, 0) == 0;
}

static int read_all(const char *path, char **text)
{
    FILE *in = fopen(path, "rb");
    size_t n = 0;
    if (!in)
        return cli_error(EXIT_INPUT, path, "cannot open the rules: %s", strerror(errno));
    *text = malloc(LARGEST_FILE + 1);
    if (*text)
        n = fread(*text, 1, LARGEST_FILE + 1, in);
    const bool failed = ferror(in) != 0;
    fclose(in);
    if (!*text)
        return cli_error(EXIT_MACHINE, path, "no memory for the rules");
    if (failed)
        return cli_error(EXIT_INPUT, path, "cannot read the rules");
    if (n > LARGEST_FILE)
        return cli_error(EXIT_INPUT, path, "larger than 1 MiB: is this a file of rules?");
    (*text)[n] = 0;
    return EXIT_FINE;
}

static const char *text_of(const cJSON *item, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(item, key);
    return cJSON_IsString(v) && v->valuestring[0] ? v->valuestring : NULL;
}

static bool is_a_word(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < 0x20 || *name == '"' || *name == '\\' || *name == 0x7f)
            return false;
    return true;
}

static int add_rule(struct rules_file *out, const char *path, const cJSON *item, size_t number)
{
    const char *category = text_of(item, "category"), *name = text_of(item, "name");
    const char *substring = text_of(item, "match"), *regex = text_of(item, "regex");
    struct rule_pattern *p = &out->patterns[out->n];

    if (!cJSON_IsObject(item) || !category || !substring == !regex)
        return cli_error(EXIT_INPUT, path,
                         "rule %zu: needs \"category\" and either \"match\" or \"regex\", as texts", number);
    if (!is_a_word(category) || (name && !is_a_word(name)) || strcmp(category, "cache") == 0 || strcmp(category, "context") == 0)
        return cli_error(EXIT_INPUT, path, "rule %zu: \"%s\" cannot be used as a name", number, category);
    p->substring = substring;
    if (regex) {
        const int bad = regcomp(&p->regex, regex, REG_EXTENDED | REG_NOSUB);
        if (bad) {
            char why[128];
            regerror(bad, &p->regex, why, sizeof why);
            return cli_error(EXIT_INPUT, path, "rule %zu: the regular expression \"%s\": %s", number, regex, why);
        }
    }
    out->list[out->n++] = (struct msnap_user_rule){name ? name : category, category, p, matches};
    return EXIT_FINE;
}

int rules_open(const struct cli *cli, struct rules_file *out)
{
    const char *path = cli_text(cli, "rules"), *end = NULL;
    char *text = NULL;

    *out = (struct rules_file){0};
    if (!path)
        return EXIT_FINE;
    int code = read_all(path, &text);
    if (code == EXIT_FINE) {
        out->json = cJSON_ParseWithOpts(text, &end, 1);
        if (!out->json)
            code = cli_error(EXIT_INPUT, path, "byte %zu: this is not JSON", end ? (size_t)(end - text) : (size_t)0);
    }
    free(text);
    if (code != EXIT_FINE)
        return code;
    const cJSON *list = cJSON_IsObject((cJSON *)out->json) ? cJSON_GetObjectItemCaseSensitive(out->json, "rules") : out->json;
    const int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (!n)
        return cli_error(EXIT_INPUT, path, "no rules: a list of {\"name\", \"match\" or \"regex\", \"category\"} is expected");
    if (n > MSNAP_MAX_USER_RULES)
        return cli_error(EXIT_INPUT, path, "%d rules are too many: at most %d", n, MSNAP_MAX_USER_RULES);
    out->list = calloc((size_t)n, sizeof *out->list);
    out->patterns = calloc((size_t)n, sizeof *out->patterns);
    if (!out->list || !out->patterns)
        return cli_error(EXIT_MACHINE, path, "no memory for the rules");
    const cJSON *item;
    size_t number = 0;
    cJSON_ArrayForEach(item, list)
    {
        code = add_rule(out, path, item, ++number);
        if (code != EXIT_FINE)
            return code;
    }
    out->rules = (struct msnap_user_rules){out->n, out->list};
    return EXIT_FINE;
}

void rules_close(struct rules_file *rules)
{
    for (size_t i = 0; i < rules->n; i++)
        if (!rules->patterns[i].substring)
            regfree(&rules->patterns[i].regex);
    free(rules->list);
    free(rules->patterns);
    cJSON_Delete(rules->json);
    *rules = (struct rules_file){0};
}
