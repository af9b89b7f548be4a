/* json.h -- JSON documents: cJSON trees with exact 64-bit integers and a file's strings made safe.
 *
 * `parent` is an object, or an array where `key` is NULL. A failed allocation is remembered and
 * reported once, by json_finish.
 */
#ifndef MEMSNAP_JSON_H
#define MEMSNAP_JSON_H

#include "cli.h"

#include <cJSON.h>

struct json {
    cJSON *root;
    bool failed;
};

/* A document that begins with "schema": "memsnap.NAME/1". */
void json_start(struct json *j, const char *schema);
cJSON *json_object(struct json *j, cJSON *parent, const char *key);
cJSON *json_array(struct json *j, cJSON *parent, const char *key);
void json_u64(struct json *j, cJSON *parent, const char *key, uint64_t value);
void json_i64(struct json *j, cJSON *parent, const char *key, int64_t value);
void json_double(struct json *j, cJSON *parent, const char *key, double value);
void json_bool(struct json *j, cJSON *parent, const char *key, bool value);
void json_null(struct json *j, cJSON *parent, const char *key);
/* Bytes from anywhere; invalid UTF-8 is replaced. */
void json_text(struct json *j, cJSON *parent, const char *key, const char *bytes, size_t n);
/* Text that is JSON already; NULL counts as a failed allocation. */
void json_raw(struct json *j, cJSON *parent, const char *key, const char *text);
/* A string of the snapshot by id; null for id 0. */
void json_string(struct json *j, cJSON *parent, const char *key, const struct msnap_snapshot *s,
                 uint32_t string);
/* Prints the document as one line and frees it. EXIT_FINE, or prints and returns EXIT_MACHINE. */
int json_finish(struct json *j, struct msnap_sink *out);

#endif
