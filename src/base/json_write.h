/* json_write.h: prints JSON into a strbuf with correct commas and escapes.
 *
 * Compact, or indented by two spaces with `pretty`. Text must be UTF-8; invalid bytes are printed
 * as U+FFFD so that the output is always valid JSON. Controls (utf8_is_control) are escaped, so
 * that JSON is safe on a terminal. Nesting errors are asserted. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

#define JSON_WRITE_DEPTH 32

struct json_writer {
    struct strbuf *out;
    bool pretty;
    unsigned depth;
    bool need_comma[JSON_WRITE_DEPTH];
    bool in_object[JSON_WRITE_DEPTH];
    bool after_key;
};

void json_write_init(struct json_writer *w, struct strbuf *out, bool pretty);
void json_write_object_begin(struct json_writer *w);
void json_write_object_end(struct json_writer *w);
void json_write_array_begin(struct json_writer *w);
void json_write_array_end(struct json_writer *w);
void json_write_key(struct json_writer *w, const char *key);
void json_write_string(struct json_writer *w, const char *text); /* NULL prints null */
void json_write_int(struct json_writer *w, int64_t value);
void json_write_double(struct json_writer *w, double value, int decimals);
void json_write_bool(struct json_writer *w, bool value);
void json_write_null(struct json_writer *w);

/* A member: its key and its value, or the start of its value. */
void json_put_string(struct json_writer *w, const char *key, const char *text);
void json_put_int(struct json_writer *w, const char *key, int64_t value);
void json_put_double(struct json_writer *w, const char *key, double value, int decimals);
void json_put_bool(struct json_writer *w, const char *key, bool value);
void json_put_null(struct json_writer *w, const char *key);
void json_put_object(struct json_writer *w, const char *key);
void json_put_array(struct json_writer *w, const char *key);

/* Several at once, with the letters of jansson's json_pack: { } [ ] open and close, s is a key or a
 * string (NULL: null), i an int, I an int64_t, b a bool. Blanks, colons and commas are for the
 * reader. What one call opens, another may close: "{s:[". */
void json_write_pack(struct json_writer *w, const char *format, ...);
void json_write_vpack(struct json_writer *w, const char *format, va_list args);

/* --- escapes ---------------------------------------------------------------------------------- */

#define JSON_ESCAPE_MAX 6u /* bytes of the longest escape: \u001f */
/* Writes the escape of one byte of a string, and returns its size. 0: no escape needed. Without
 * heap: the shim uses it, too. */
size_t json_escape(unsigned char c, char out[JSON_ESCAPE_MAX]);
/* JSON printed by another program, with its controls escaped. */
void json_escape_controls(const char *json, size_t size, struct strbuf *out);
