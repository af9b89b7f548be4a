/* json.c -- JSON documents through cJSON, without its two weak spots. */
#include "json.h"

#include "text_buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct json *j, cJSON *parent, const char *key, cJSON *item)
{
    if (!item || !parent) {
        j->failed = true;
        cJSON_Delete(item);
        return;
    }
    /* The keys are literals, so cJSON need not copy them. */
    if (!(key ? cJSON_AddItemToObjectCS(parent, key, item) : cJSON_AddItemToArray(parent, item))) {
        j->failed = true;
        cJSON_Delete(item);
    }
}

void json_start(struct json *j, const char *schema)
{
    *j = (struct json){.root = cJSON_CreateObject()};
    add(j, j->root, "schema", cJSON_CreateString(schema));
}

static cJSON *add_parent(struct json *j, cJSON *parent, const char *key, cJSON *item)
{
    add(j, parent, key, item);
    return j->failed ? NULL : item;
}

cJSON *json_object(struct json *j, cJSON *parent, const char *key)
{
    return add_parent(j, parent, key, cJSON_CreateObject());
}

cJSON *json_array(struct json *j, cJSON *parent, const char *key)
{
    return add_parent(j, parent, key, cJSON_CreateArray());
}

/* cJSON's numbers are doubles; raw text keeps every bit. */
void json_u64(struct json *j, cJSON *parent, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    add(j, parent, key, cJSON_CreateRaw(text));
}

void json_i64(struct json *j, cJSON *parent, const char *key, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    add(j, parent, key, cJSON_CreateRaw(text));
}

void json_double(struct json *j, cJSON *parent, const char *key, double value)
{
    add(j, parent, key, cJSON_CreateNumber(value));
}

void json_bool(struct json *j, cJSON *parent, const char *key, bool value)
{
    add(j, parent, key, cJSON_CreateBool(value));
}

void json_null(struct json *j, cJSON *parent, const char *key) { add(j, parent, key, cJSON_CreateNull()); }

void json_raw(struct json *j, cJSON *parent, const char *key, const char *text)
{
    add(j, parent, key, text ? cJSON_CreateRaw(text) : NULL);
}

void json_text(struct json *j, cJSON *parent, const char *key, const char *bytes, size_t n)
{
    struct text_buffer text;

    text_buffer_init(&text);
    msnap_put_json(&text.sink, bytes, n);
    json_raw(j, parent, key, text_buffer_finish(&text));
    text_buffer_free(&text);
}

void json_string(struct json *j, cJSON *parent, const char *key, const struct msnap_snapshot *s,
                 uint32_t string)
{
    if (string)
        json_text(j, parent, key, s->strings.bytes[string], s->strings.len[string]);
    else
        json_null(j, parent, key);
}

int json_finish(struct json *j, struct msnap_sink *out)
{
    char *text = j->failed ? NULL : cJSON_PrintUnformatted(j->root);
    const bool ok = text != NULL;

    if (ok) {
        msnap_puts(out, text);
        msnap_puts(out, "\n");
    }
    cJSON_free(text);
    cJSON_Delete(j->root);
    *j = (struct json){0};
    return ok ? EXIT_FINE : cli_error(EXIT_MACHINE, NULL, "no memory for the JSON document");
}
