/* json_span.h: the JSON reader of this project, besides jansson (trees), yajl (snapshots) and the
 * scanner of agents' output (agent/json_scan.h).
 *
 * Why it exists: sluice-acp is linked statically without libraries (acp/); a submitter's text is
 * stored verbatim, which a tree loses; files with comments are changed in place (cli/jsonc.c); and
 * request bodies are read 1.4 times as fast as by jansson: 65 against 46 MB/s for a request with
 * 1,000 tasks, or 1.3 us less for each of them (build/bench/bench json, GCC 12, -O2, on two busy
 * cores).
 *
 * json_span_parse checks a text once; all other functions need a text that was checked, by it or by
 * another parser. A value is a pointer and a size into the text: nothing is copied, and an id can
 * be sent back exactly as it was written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define JSON_SPAN_DEPTH 64

/* `from` is NULL for a missing value. */
struct json_span {
    const char *from;
    size_t size;
};

/* False: the text is not one valid JSON value, or nested deeper than JSON_SPAN_DEPTH. */
bool json_span_parse(const char *text, size_t size, struct json_span *ret);

/* The last member with this name, as in most parsers; missing if `object` is not an object. */
struct json_span json_span_get(struct json_span object, const char *name);
/* The items of an array. `item->from` is NULL before the first call. False: no more, or not an
 * array. */
bool json_span_item(struct json_span list, struct json_span *item);

bool json_span_is_object(struct json_span value);
bool json_span_is_true(struct json_span value);
bool json_span_is(struct json_span value, const char *text); /* exactly this string */
bool json_span_is_missing(struct json_span value);           /* or null */
/* False: not an integer that fits. */
bool json_span_integer(struct json_span value, int64_t *ret);
/* Appends the text of a string, without escapes, valid UTF-8, at most `max` bytes; NUL as U+FFFD.
 * False: not a string. */
bool json_span_text(struct json_span value, size_t max, struct strbuf *out);

/* --- large texts, in one pass ----------------------------------------------------------------- */

/* The value of the first member with this name in the outermost object; NULL: missing, or its name
 * has escapes. */
const char *json_span_member(const char *text, const char *name);
/* Iterates over the array at `list`: *at is NULL before the first call. False: no more. */
bool json_span_next(const char *list, const char **at, struct json_span *ret);
/* Copies without blanks between tokens; at most `max` bytes. Returns the full size, even if that
 * exceeds `max`. */
size_t json_span_copy(const struct json_span *span, char *out, size_t max);

/* --- the tokenizer ---------------------------------------------------------------------------- */

/* For readers that do not use spans: a tree (ops/json_read.c), positions (cli/jsonc.c). */
struct json_cursor {
    const char *at, *end;
    bool is_jsonc; /* allows comments and a trailing comma */
    bool has_escapes, has_unicode,
        has_bytes;       /* the last string: a backslash, \\u, bytes beyond ASCII */
    const char *problem; /* the problem at `at`, after a failure */
};

char json_peek(struct json_cursor *c);            /* skips blanks and comments; 0: at the end */
bool json_take(struct json_cursor *c, char byte); /* if it is the next one */
bool json_take_word(struct json_cursor *c, const char *word); /* no blanks before it */
/* A string with its quotes. Its escapes are checked, its bytes need not be UTF-8. */
bool json_skip_string(struct json_cursor *c);
bool json_skip_name(struct json_cursor *c); /* of a member, with its colon */
/* After a member or an item: 1 another may follow, 0 `last` is next, -1 error. */
int json_skip_comma(struct json_cursor *c, char last);
/* A value with at most `depth` levels of nesting. */
bool json_skip_value(struct json_cursor *c, unsigned depth);
