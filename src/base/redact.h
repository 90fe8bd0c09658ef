/* redact.h: finds values that must not be shown, and replaces them. Pure, and without heap: the
 * shim uses it, too.
 *
 * A value is a run of bytes with a name. A text is searched for all values at once: each position
 * costs one multiplication and one look at a filter. Every byte that belongs to any occurrence is
 * replaced, also where occurrences overlap.
 *
 * Two ways to replace:
 *   redact_text   `[redacted NAME]`: for messages and answers
 *   redact_in_place  the same in exactly as many bytes, filled up with '*': for logs, whose offsets
 *   must stay true */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define REDACT_LEAST 8u /* shorter values would hit ordinary words; they are ignored */

struct redact_value {
    const char *name; /* letters, digits, blanks and '_': it stands in JSON texts as it is */
    size_t name_size;
    const char *bytes;
    size_t size;
    uint64_t head; /* set by redact_index_init */
};

/* Everything that looks like this, whatever it is: a prefix, followed by bytes of an alphabet. */
struct redact_shape {
    const char *name, *prefix, *alphabet;
    size_t size; /* with the prefix */
};

/* Borrows the values and the shape. */
struct redact_index {
    const struct redact_value *values;
    size_t count;
    const struct redact_shape *shape; /* or NULL */
    size_t longest;        /* bytes of the longest occurrence; 0: there is nothing to find */
    uint64_t filter[1024]; /* one bit for each hash of the first eight bytes of a value */
};

void redact_index_init(struct redact_index *index, struct redact_value *values, size_t count,
                       const struct redact_shape *shape);

/* Occurrences that overlap are one. */
struct redact_hit {
    size_t begin, end;
    const char *name; /* of the first of them */
    size_t name_size;
};
/* The first one that begins at `from` or behind it. */
bool redact_find(const struct redact_index *index, const char *text, size_t size, size_t from,
                 struct redact_hit *ret);

/* Where the last bytes of the text may be the beginning of an occurrence that is not complete yet;
 * `size` if they cannot. For texts that grow. */
size_t redact_open(const struct redact_index *index, const char *text, size_t size);

/* What stands for a hit in exactly as many bytes: those from `at` on, as many as `size` says. */
void redact_fill(const struct redact_hit *hit, size_t at, char *out, size_t size);
/* Replaces every occurrence in place. True: there was one. */
bool redact_in_place(const struct redact_index *index, char *text, size_t size);

/* Appends the text with `[redacted NAME]` for each hit. True: there was one. */
bool redact_text(const struct redact_index *index, const char *text, size_t size,
                 struct strbuf *out);

/* A value as it stands inside a JSON string. Returns its size; 0: it is the same as the value, or
 * does not fit. */
size_t redact_json_form(const char *bytes, size_t size, char *out, size_t room);
