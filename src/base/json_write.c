/* json_write.c: JSON output.
 *
 * Lists of a million tasks are printed with this, so strings are copied in runs of plain characters
 * and integers do not pass through printf. The order of keys and values is asserted: a malformed
 * document is a bug in this program, never in its input. */
#include "base/json_write.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/json_escape.h"
#include "base/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

void json_write_init(struct json_writer *w, struct strbuf *out, bool pretty) {
    *w = (struct json_writer){ .out = out, .pretty = pretty };
}

static void write_line_break(struct json_writer *w) {
    if (!w->pretty)
        return;
    strbuf_putc(w->out, '\n');
    strbuf_repeat(w->out, "  ", w->depth);
}

/* Separator before the next item. */
static void write_separator(struct json_writer *w) {
    if (w->need_comma[w->depth])
        strbuf_putc(w->out, ',');
    w->need_comma[w->depth] = w->depth > 0; /* top-level values are separate documents */
    if (w->depth > 0)
        write_line_break(w);
}

static void write_before_value(struct json_writer *w) {
    assert(w->after_key == w->in_object[w->depth]);
    if (w->after_key)
        w->after_key = false;
    else
        write_separator(w);
}

static void write_begin(struct json_writer *w, char bracket, bool object) {
    write_before_value(w);
    strbuf_putc(w->out, bracket);
    w->depth++;
    assert(w->depth < JSON_WRITE_DEPTH);
    w->need_comma[w->depth] = false;
    w->in_object[w->depth] = object;
}

static void write_end(struct json_writer *w, char bracket, bool object) {
    assert(w->depth > 0 && w->in_object[w->depth] == object && !w->after_key);
    (void)object;
    bool empty = !w->need_comma[w->depth];
    w->depth--;
    if (!empty)
        write_line_break(w);
    strbuf_putc(w->out, bracket);
}

void json_write_object_begin(struct json_writer *w) {
    write_begin(w, '{', true);
}

void json_write_object_end(struct json_writer *w) {
    write_end(w, '}', true);
}

void json_write_array_begin(struct json_writer *w) {
    write_begin(w, '[', false);
}

void json_write_array_end(struct json_writer *w) {
    write_end(w, ']', false);
}

static bool is_continuation(unsigned char byte) {
    return (byte & 0xC0) == 0x80;
}

/* Bytes of the UTF-8 sequence at `at`, which starts above ASCII; 0 if invalid. The final NUL is not
 * a continuation byte, so this never reads past it. */
static size_t utf8_size(const unsigned char *at) {
    if (at[0] < 0xC2 || at[0] > 0xF4 || !is_continuation(at[1]))
        return 0;
    if (at[0] < 0xE0)
        return 2;
    if (!is_continuation(at[2]))
        return 0;
    if (at[0] < 0xF0) {
        bool overlong = at[0] == 0xE0 && at[1] < 0xA0;
        bool surrogate = at[0] == 0xED && at[1] >= 0xA0;
        return overlong || surrogate ? 0 : 3;
    }
    bool overlong = at[0] == 0xF0 && at[1] < 0x90;
    bool beyond_unicode = at[0] == 0xF4 && at[1] >= 0x90;
    return overlong || beyond_unicode || !is_continuation(at[3]) ? 0 : 4;
}

static bool is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* U+0080 … U+FFFF, of two or three bytes. */
static void write_wide_escape(struct strbuf *out, const unsigned char *at, size_t size) {
    unsigned c = size == 2 ? (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu)
                           : (at[0] & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    strbuf_printf(out, "\\u%04x", c);
}

void json_escape_controls(const char *json, size_t size, struct strbuf *out) {
    for (size_t i = 0; i < size;) {
        size_t begin = i;
        while (i < size && (unsigned char)json[i] < 0x7f)
            i++;
        strbuf_add(out, json + begin, i - begin);
        if (i == size)
            return;
        size_t length = utf8_length(json + i, size - i);
        length = length ? length : 1;
        if (length == 1 && json[i] == 0x7f)
            strbuf_puts(out, "\\u007f");
        else if (length > 1 && utf8_is_control(json + i, length))
            write_wide_escape(out, (const unsigned char *)json + i, length);
        else
            strbuf_add(out, json + i, length);
        i += length;
    }
}

static void write_text(struct strbuf *out, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    strbuf_putc(out, '"');
    while (*at) {
        const unsigned char *start = at;
        size_t size;
        while (is_plain(*at))
            at++;
        strbuf_add(out, (const char *)start, (size_t)(at - start));
        if (*at == '\0')
            break;
        if (*at < 0x80) {
            char escape[JSON_ESCAPE_MAX];
            strbuf_add(out, escape, json_escape(*at++, escape));
        } else if ((size = utf8_size(at)) > 0) {
            if (utf8_is_control((const char *)at, size))
                write_wide_escape(out, at, size);
            else
                strbuf_add(out, (const char *)at, size);
            at += size;
        } else {
            strbuf_puts(out, REPLACEMENT);
            at++;
        }
    }
    strbuf_putc(out, '"');
}

void json_write_key(struct json_writer *w, const char *key) {
    assert(w->in_object[w->depth] && !w->after_key);
    write_separator(w);
    write_text(w->out, key);
    strbuf_puts(w->out, w->pretty ? ": " : ":");
    w->after_key = true;
}

void json_write_string(struct json_writer *w, const char *text) {
    if (!text) {
        json_write_null(w);
        return;
    }
    write_before_value(w);
    write_text(w->out, text);
}

void json_write_int(struct json_writer *w, int64_t value) {
    char digits[20]; /* INT64_MIN: 19 digits and the sign */
    char *at = digits + sizeof(digits);
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        *--at = '-';
    write_before_value(w);
    strbuf_add(w->out, at, (size_t)(digits + sizeof(digits) - at));
}

/* JSON has no infinity or NaN: printed as null. */
void json_write_double(struct json_writer *w, double value, int decimals) {
    if (!isfinite(value)) {
        json_write_null(w);
        return;
    }
    write_before_value(w);
    strbuf_printf(w->out, "%.*f", decimals, value);
}

void json_write_bool(struct json_writer *w, bool value) {
    write_before_value(w);
    strbuf_puts(w->out, value ? "true" : "false");
}

void json_write_null(struct json_writer *w) {
    write_before_value(w);
    strbuf_puts(w->out, "null");
}

void json_put_string(struct json_writer *w, const char *key, const char *text) {
    json_write_key(w, key);
    json_write_string(w, text);
}

void json_put_int(struct json_writer *w, const char *key, int64_t value) {
    json_write_key(w, key);
    json_write_int(w, value);
}

void json_put_double(struct json_writer *w, const char *key, double value, int decimals) {
    json_write_key(w, key);
    json_write_double(w, value, decimals);
}

void json_put_bool(struct json_writer *w, const char *key, bool value) {
    json_write_key(w, key);
    json_write_bool(w, value);
}

void json_put_null(struct json_writer *w, const char *key) {
    json_write_key(w, key);
    json_write_null(w);
}

void json_put_object(struct json_writer *w, const char *key) {
    json_write_key(w, key);
    json_write_object_begin(w);
}

void json_put_array(struct json_writer *w, const char *key) {
    json_write_key(w, key);
    json_write_array_begin(w);
}
