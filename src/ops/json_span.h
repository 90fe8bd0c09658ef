/* json_span.h: parts of a JSON text as they were written. Private to ops/.
 *
 * The text must have been parsed before: nothing is checked here. What a submitter wrote is kept word for
 * word, and copying it costs less than printing it from the parsed tree. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_span {
    const char *from;
    size_t size;
};

/* Where the value of a member of the outermost object begins; NULL: it is not there, or its name has
 * escapes. */
const char *json_span_member(const char *text, const char *name);

/* The entries of the list that begins at `list`, one after the other: *at is NULL before the first. False:
 * no more. */
bool json_span_next(const char *list, const char **at, struct json_span *ret);

/* Copies without the blanks between tokens; at most `max` bytes. Returns the size it has, also when that
 * is more than `max`. */
size_t json_span_copy(const struct json_span *span, char *out, size_t max);
