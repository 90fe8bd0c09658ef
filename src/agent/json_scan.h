/* json_scan.h: picks few values out of a stream of JSON objects and text lines, at any speed of arrival.
 * Private to agent/.
 *
 * Life:    json_scan_new → json_scan_feed with whatever came → json_scan_end → json_scan_free
 * Calls:   one of `event` for each complete object, in the order of the stream, with the value of every
 *          wanted path; one call of `text` for each line that is no JSON. Key order does not matter.
 * Lines:   one object per line; an object may also be printed over several lines, as long as these are
 *          indented or close it: a line that begins with '{' in its first column always starts over, so that
 *          a cut object costs itself alone. What is broken is skipped to the end of its line, without a word.
 *          NUL bytes are a hole: the line that they stand in is broken. Where nothing is wanted, every line
 *          is a text.
 * Memory:  fixed when it is made. What is not wanted is passed over without being kept; a wanted text that
 *          is longer than its buffer is cut in front of a character, not in one.
 *
 * Paths are keys, joined by '/': "message/usage/input_tokens". The key '*' is any key, or any place of a list;
 * it has no named neighbour below the same key. A path may lead to an object or a list, and another one
 * further into it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_SCAN_WANTS 64   /* paths of one scanner, at most */
#define JSON_SCAN_DEPTH 8    /* keys of one path, at most */
#define JSON_SCAN_LINE  1024 /* what a text line is cut to */

struct json_want {
    const char *path;
    uint16_t size; /* room for the text and its NUL: at least 2; numbers want 32 */
};

/* A table of wants: #define WANTS(WANT) WANT(TYPE, "type", 32) ...; an enum with the names comes from JSON_WANT_NAME, the
 * array from JSON_WANT_ROW. */
#define JSON_WANT_NAME(name, path, size) name,
#define JSON_WANT_ROW(name, path, size)  { path, size },

enum json_kind {
    SCAN_NONE, /* the object does not have it */
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
    bool is_cut;         /* `text` is not all of it */
    uint32_t count;      /* how often the path matched; of a list or object: its members */
    /* Numbers, in millionths, exact or at the end of the range; summed over all matches. */
    int64_t micro;
    /* The same of those that count something: not negative, and also as a string ("12"). */
    int64_t sum_micro;
    uint32_t sum_count; /* how many; 0: none */
    /* String, without escapes; number, as written; object, its first key; else "". Ends with NUL and has no
     * other; it may not be UTF-8. */
    const char *text;
    size_t length;
};

struct json_scan;

struct json_scan_calls {
    void (*event)(void *ctx, const struct json_value *values); /* values[i] is of wants[i] */
    void (*text)(void *ctx, const char *line); /* without its end; cut as above; never empty */
    void *ctx;
};

/* Called for each wanted value as soon as it is complete: a string or number behind its last byte, a list or object
 * behind its closing bracket. `key`: what it was found under; "" in a list, and of lists and objects. With this, what
 * '*' matches often can be taken one by one, and before the line has ended (which may be broken yet). */
typedef void json_scan_match(void *ctx, const struct json_value *values, size_t want,
                             const char *key);

/* `wants` stays the caller's and must stay. */
struct json_scan *json_scan_new(const struct json_want *wants, size_t count,
                                const struct json_scan_calls *calls);
struct json_scan *json_scan_free(struct json_scan *scan); /* accepts NULL */
void json_scan_on_match(struct json_scan *scan, json_scan_match *match);
void json_scan_feed(struct json_scan *scan, const char *bytes, size_t size);
/* The stream has ended: a last line without its end counts, if it is complete. */
void json_scan_end(struct json_scan *scan);
/* Between two objects or text lines: nothing has begun that the next bytes would continue. */
bool json_scan_is_idle(const struct json_scan *scan);

/* A number as it is written in JSON, in millionths: "1.424e-3" is 1424; rounded to the nearest; out of
 * range: the nearest end. false: it is no number. */
bool json_number_micro(const char *text, int64_t *ret_micro);

/* --- what adapters ask of a value ---------------------------------------------------------------- */

bool json_value_is(const struct json_value *value, const char *text); /* exactly this string */
bool json_value_is_true(const struct json_value *value);
bool json_value_has_text(const struct json_value *value); /* a string that is not empty */
/* The number without its fraction; -1: it is none, or negative. Summed over all matches. */
int64_t json_value_count(const struct json_value *value);
/* sum_micro without its fraction, or as it is; -1: there is none. */
int64_t json_value_sum(const struct json_value *value);
int64_t json_value_sum_micro(const struct json_value *value);
