/* acp_json.h: values of one JSON message, addressed in place. Private to acp/.
 *
 * acp_json_parse checks the whole text once. After that a value is a pointer and a size into the message, so that the
 * id of a request can be sent back exactly as it was written, and a large message is not copied into a tree. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define ACP_JSON_DEPTH 64

/* `at` is NULL for a value that is missing. */
struct acp_json {
    const char *at;
    size_t size;
};

/* False: the text is not one valid JSON value, or nested deeper than ACP_JSON_DEPTH. */
bool acp_json_parse(const char *text, size_t size, struct acp_json *ret);

/* The last member of this name, as most parsers choose it; missing if `object` is not an object. */
struct acp_json acp_json_member(struct acp_json object, const char *name);
/* The items of a list. `item->at` is NULL before the first call. False: no more, or `list` is not a list. */
bool acp_json_next(struct acp_json list, struct acp_json *item);

bool acp_json_is_object(struct acp_json value);
bool acp_json_is_true(struct acp_json value);
bool acp_json_is(struct acp_json value, const char *text); /* exactly this string */
bool acp_json_is_missing(struct acp_json value);           /* or null */
/* False: not an integer that fits. */
bool acp_json_integer(struct acp_json value, int64_t *ret);
/* Appends the text of a string, without escapes, valid UTF-8, at most `max` bytes; NUL as U+FFFD. False: not a
 * string. */
bool acp_json_text(struct acp_json value, size_t max, struct strbuf *out);
