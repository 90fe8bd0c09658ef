/* json_record.h: small files with facts about a task, one JSON object each. Private to workspace/.
 *
 * A run can write these files: sizes are bounded, links are not followed, and every member may be
 * missing or of the wrong type. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "workspace/git.h"

/* -EUCLEAN: not an object. */
int json_record_read(const char *path, json_t **ret, struct error *err);
/* Frees `json`. -EILSEQ without a message: `json` is NULL, because a string is not UTF-8. */
int json_record_write(const char *path, json_t *json, struct error *err);

char *json_record_text(const json_t *json, const char *name); /* "" if missing; caller frees */
bool json_record_flag(const json_t *json, const char *name);
int64_t json_record_number(const json_t *json, const char *name); /* 0 if missing or negative */
/* "" if it is not a hash, which could be an option of git. */
void json_record_hash(const json_t *json, const char *name, char ret[GIT_HASH_MAX]);
