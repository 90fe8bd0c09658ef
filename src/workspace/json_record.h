/* json_record.h: small files with facts about a task, one JSON object each. Private to workspace/.
 *
 * A record is a struct with a table of its members, in the order in which they are written. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

enum json_record_type {
    JSON_RECORD_TEXT,   /* char *, owned by the record; missing: "" */
    JSON_RECORD_FLAG,   /* bool */
    JSON_RECORD_NUMBER, /* int64_t; missing or negative: 0 */
    JSON_RECORD_HASH,   /* char[GIT_HASH_MAX]; "" if not a hash, which could be an option of git */
};

struct json_record_member {
    const char *name;
    enum json_record_type type;
    size_t offset;
};

/* One row of a table, which ends with a zeroed row. */
#define JSON_RECORD(type_, record_, member_)                                                       \
    { #member_, JSON_RECORD_##type_, offsetof(struct record_, member_) }

/* Frees the strings. */
void json_record_finish(const struct json_record_member *members, void *record);
/* Fills the members from `json`, which may be NULL. Does not free previous strings. */
void json_record_take(const struct json_record_member *members, const json_t *json, void *record);
/* NULL: a string is not UTF-8. */
json_t *json_record_make(const struct json_record_member *members, const void *record);

/* -EUCLEAN: not an object. */
int json_record_read(const char *path, json_t **ret, struct error *err);
/* Frees `json`. -EILSEQ without a message: `json` is NULL. */
int json_record_write(const char *path, json_t *json, struct error *err);
