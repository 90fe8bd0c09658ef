/* json_span.h: the values of a JSON text in place, as they were written.
 *
 * json_span_parse checks a text once; all other functions need one that was checked, by it or by another parser. A value is a
 * pointer and a size into the text: nothing is copied, an id can be sent back exactly as it was written, and what a
 * submitter wrote is kept word for word. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define JSON_SPAN_DEPTH 64

/* `from` is NULL for a value that is missing. */
struct json_span {
    const char *from;
    size_t size;
};

/* False: the text is not one valid JSON value, or nested deeper than JSON_SPAN_DEPTH. */
bool json_span_parse(const char *text, size_t size, struct json_span *ret);

/* The last member of this name, as most parsers choose it; missing if `object` is not an object. */
struct json_span json_span_get(struct json_span object, const char *name);
/* The items of a list. `item->from` is NULL before the first call. False: no more, or `list` is not a list. */
bool json_span_item(struct json_span list, struct json_span *item);

bool json_span_is_object(struct json_span value);
bool json_span_is_true(struct json_span value);
bool json_span_is(struct json_span value, const char *text); /* exactly this string */
bool json_span_is_missing(struct json_span value);           /* or null */
/* False: not an integer that fits. */
bool json_span_integer(struct json_span value, int64_t *ret);
/* Appends the text of a string, without escapes, valid UTF-8, at most `max` bytes; NUL as U+FFFD. False: not a
 * string. */
bool json_span_text(struct json_span value, size_t max, struct strbuf *out);

/* --- large texts, in one pass ------------------------------------------------------------------ */

/* Where the value of the first member of this name of the outermost object begins; NULL: it is not there, or its name has
 * escapes. */
const char *json_span_member(const char *text, const char *name);
/* The entries of the list that begins at `list`, one after the other: *at is NULL before the first. False:
 * no more. */
bool json_span_next(const char *list, const char **at, struct json_span *ret);
/* Copies without the blanks between tokens; at most `max` bytes. Returns the size it has, also when that
 * is more than `max`. */
size_t json_span_copy(const struct json_span *span, char *out, size_t max);
