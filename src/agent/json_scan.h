/* json_scan.h: extracts a few values from a stream of JSON objects and text lines, in pieces of any
 * size. Private to agent/.
 *
 * Life:    json_scan_new → json_scan_feed … → json_scan_end → json_scan_free
 * Calls:   `event` for each complete object, in stream order, with the value of every wanted path;
 *          `text` for each line that is not JSON. Key order does not matter.
 * Lines:   one object per line; an object may span lines that are indented or close it. A line that
 *          begins with '{' in its first column always starts over, so a truncated object costs only
 *          itself. Broken input is skipped silently to the end of its line. NUL bytes (a hole)
 *          break their line. If nothing is wanted, every line is text.
 * Memory:  fixed at creation. Values that are not wanted are skipped; a wanted text longer than its
 *          buffer is cut at a character boundary.
 *
 * Paths are keys joined by '/': "message/usage/input_tokens". The key '*' is any key or list index;
 * it cannot have named siblings. A path may be a prefix of another path. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_SCAN_WANTS 64   /* maximum number of paths per scanner */
#define JSON_SCAN_DEPTH 8    /* maximum number of keys per path */
#define JSON_SCAN_LINE  1024 /* bytes; longer text lines are cut */

struct json_want {
    const char *path;
    uint16_t size; /* for the text and its NUL: at least 2; numbers need 32 */
};

/* For tables of wants: #define WANTS(WANT) WANT(TYPE, "type", 32) ...; JSON_WANT_NAME makes the
 * enum, JSON_WANTS(WANTS) the members `wants` and `want_count` of an initializer. */
#define JSON_WANT_NAME(name, path, size) name,
#define JSON_WANT_ROW(name, path, size)  { path, size },
#define JSON_WANTS(LIST)                                                                           \
    .wants = (const struct json_want[]){ LIST(JSON_WANT_ROW) },                                    \
    .want_count = sizeof((struct json_want[]){ LIST(JSON_WANT_ROW) }) / sizeof(struct json_want)

enum json_kind {
    SCAN_NONE, /* missing from the object */
    SCAN_NULL,
    SCAN_FALSE,
    SCAN_TRUE,
    SCAN_NUMBER,
    SCAN_STRING,
    SCAN_LIST,
    SCAN_OBJECT,
};

struct json_value {
    enum json_kind kind; /* of the last match: '*' may match often */
    bool is_cut;         /* `text` is truncated */
    uint32_t count;      /* matches of the path; for a list or object: its members */
    /* Number in millionths, exact or saturated; summed over all matches. */
    int64_t micro;
    /* The same over numbers that are not negative, including numeric strings ("12"). */
    int64_t sum_micro;
    uint32_t sum_count; /* numbers in the sum */
    /* String without escapes, number as written, first key of an object, or "". NUL-terminated,
     * without inner NULs; may be invalid UTF-8. */
    const char *text;
    size_t length;
};

struct json_scan;

/* `text` and `match` may be NULL. */
struct json_scan_calls {
    void (*event)(void *ctx, const struct json_value *values); /* values[i] belongs to wants[i] */
    void (*text)(void *ctx, const char *line); /* without its newline; cut as above; never empty */
    void *ctx;
    /* Called for each wanted value once it is complete: a string or number after its last byte, a
     * list or object after its closing bracket. `key`: its key; "" in a list, and for lists and
     * objects. So matches of '*' can be processed one by one, before the line has ended. */
    void (*match)(void *ctx, const struct json_value *values, size_t want, const char *key);
};

/* Borrows `wants`, which must outlive the scanner. */
struct json_scan *json_scan_new(const struct json_want *wants, size_t count,
                                const struct json_scan_calls *calls);
struct json_scan *json_scan_free(struct json_scan *scan); /* accepts NULL */
void json_scan_feed(struct json_scan *scan, const char *bytes, size_t size);
/* End of stream: a complete last line without its newline counts. */
void json_scan_end(struct json_scan *scan);
/* Between objects and text lines: the next byte starts something new. */
bool json_scan_is_idle(const struct json_scan *scan);

/* A JSON number in millionths: "1.424e-3" is 1424; rounded, saturated. False: not a number. */
bool json_number_micro(const char *text, int64_t *ret_micro);

/* --- value accessors -------------------------------------------------------------------------- */

bool json_value_is(const struct json_value *value, const char *text); /* equals this string */
bool json_value_is_true(const struct json_value *value);
bool json_value_has_text(const struct json_value *value); /* a string that is not empty */
/* Without its fraction, summed over all matches; -1: not a number, or negative. */
int64_t json_value_count(const struct json_value *value);
/* sum_micro without its fraction, or in millionths; -1: none. */
int64_t json_value_sum(const struct json_value *value);
int64_t json_value_sum_micro(const struct json_value *value);
