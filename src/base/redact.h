/* redact.h: finds secret values and replaces them. Pure, and without heap: the shim uses it, too.
 *
 * A value is a byte string with a name. A text is searched for all values at once: each position
 * costs one multiplication and one filter lookup, and almost nothing without values. Every byte of
 * any occurrence is replaced, including overlaps.
 *
 * Two ways to replace:
 *   redact_text      `[redacted NAME]`: for messages and answers
 *   redact_in_place  padded with '*' to the same size: for logs, whose offsets must stay valid */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define REDACT_LEAST 8u /* shorter values would match ordinary words; they are ignored */

struct redact_value {
    const char *name; /* letters, digits, blanks and '_': needs no escapes in JSON */
    size_t name_size;
    const char *bytes;
    size_t size;
    uint64_t head; /* set by redact_index_init */
};

/* Any match of a pattern: a prefix, followed by bytes of an alphabet. */
struct redact_shape {
    const char *name, *prefix, *alphabet;
    size_t size; /* with the prefix */
};

/* Borrows the values and the shape. */
struct redact_index {
    const struct redact_value *values;
    size_t count;
    const struct redact_shape *shape; /* or NULL */
    size_t longest;                   /* bytes of the longest occurrence; 0: nothing to find */
    uint64_t filter[1024]; /* one bit for each hash of the first eight bytes of a value */
};

void redact_index_init(struct redact_index *index, struct redact_value *values, size_t count,
                       const struct redact_shape *shape);

/* Overlapping occurrences are merged. */
struct redact_hit {
    size_t begin, end;
    const char *name; /* of the first of them */
    size_t name_size;
};
/* The first one at or after `from`. */
bool redact_find(const struct redact_index *index, const char *text, size_t size, size_t from,
                 struct redact_hit *ret);

/* Offset of a trailing part of the text that may begin an occurrence; `size` if none. For texts
 * that grow. */
size_t redact_open(const struct redact_index *index, const char *text, size_t size);

/* The replacement of a hit in exactly its size: `size` bytes of it from `at` on. */
void redact_fill(const struct redact_hit *hit, size_t at, char *out, size_t size);
/* Replaces every occurrence in place. True: there was one. */
bool redact_in_place(const struct redact_index *index, char *text, size_t size);

/* Appends the text with `[redacted NAME]` for each hit. True: there was one. */
bool redact_text(const struct redact_index *index, const char *text, size_t size,
                 struct strbuf *out);

/* A value as escaped in a JSON string. Returns its size; 0: same as the value, or does not fit. */
size_t redact_json_form(const char *bytes, size_t size, char *out, size_t room);
