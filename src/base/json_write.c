/* json_write.c: JSON output.
 *
 * Lists of a million tasks are printed with this, so strings are copied in runs of plain characters
 * and integers do not pass through printf. The order of keys and values is asserted: a malformed
 * document is a bug in this program, never in its input. */
#include "base/json_write.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/number.h"
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

size_t json_escape(unsigned char c, char out[JSON_ESCAPE_MAX]) {
    static const char hex[] = "0123456789abcdef";
    static const char letters[] = {
        ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
        ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
    };
    if (c < sizeof(letters) && letters[c]) {
        memcpy(out, (const char[]){ '\\', letters[c] }, 2);
        return 2;
    }
    if (c >= 0x20 && c != 0x7f)
        return 0;
    memcpy(out, (const char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, JSON_ESCAPE_MAX);
    return JSON_ESCAPE_MAX;
}

static bool is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* True if all eight bytes are plain; may be false for some that are. */
static bool are_plain(const unsigned char *at) {
    static const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    uint64_t quote = word ^ (ones * '"'), backslash = word ^ (ones * '\\');
    return ((word | (word - ones * 0x20) | (word + ones) | (quote - ones) | (backslash - ones))
            & tops)
           == 0;
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
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    strbuf_putc(out, '"');
    while (*at) {
        const unsigned char *start = at;
        size_t size;
        while (end - at >= (ptrdiff_t)sizeof(uint64_t) && are_plain(at))
            at += sizeof(uint64_t);
        while (is_plain(*at))
            at++;
        strbuf_add(out, (const char *)start, (size_t)(at - start));
        if (*at == '\0')
            break;
        if (*at < 0x80) {
            char escape[JSON_ESCAPE_MAX];
            strbuf_add(out, escape, json_escape(*at++, escape));
        } else if ((size = utf8_length((const char *)at, (size_t)(end - at))) > 0) {
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
    char text[NUMBER_TEXT_MAX];
    write_before_value(w);
    strbuf_puts(w->out, number_text(value, text));
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

/* json_put_NAME: the key, and then the value, or the start of the value. */
#define DEFINE_PUT(name, type)                                                                     \
    void json_put_##name(struct json_writer *w, const char *key, type value) {                     \
        json_write_key(w, key);                                                                    \
        json_write_##name(w, value);                                                               \
    }                                                                                              \
    struct put_needs_a_semicolon_
DEFINE_PUT(string, const char *);
DEFINE_PUT(int, int64_t);
DEFINE_PUT(bool, bool);

#define DEFINE_PUT_BEGIN(name, write)                                                              \
    void json_put_##name(struct json_writer *w, const char *key) {                                 \
        json_write_key(w, key);                                                                    \
        write(w);                                                                                  \
    }                                                                                              \
    struct put_needs_a_semicolon_
DEFINE_PUT_BEGIN(null, json_write_null);
DEFINE_PUT_BEGIN(object, json_write_object_begin);
DEFINE_PUT_BEGIN(array, json_write_array_begin);

void json_put_double(struct json_writer *w, const char *key, double value, int decimals) {
    json_write_key(w, key);
    json_write_double(w, value, decimals);
}

void json_write_vpack(struct json_writer *w, const char *format, va_list args) {
    for (; *format; format++) {
        switch (*format) {
        case '{':
            json_write_object_begin(w);
            break;
        case '}':
            json_write_object_end(w);
            break;
        case '[':
            json_write_array_begin(w);
            break;
        case ']':
            json_write_array_end(w);
            break;
        case 's':
            if (w->in_object[w->depth] && !w->after_key)
                json_write_key(w, va_arg(args, const char *));
            else
                json_write_string(w, va_arg(args, const char *));
            break;
        case 'i':
            json_write_int(w, va_arg(args, int));
            break;
        case 'I':
            json_write_int(w, va_arg(args, int64_t));
            break;
        case 'b':
            json_write_bool(w, va_arg(args, int));
            break;
        default:
            assert(strchr(" :,", *format));
            break;
        }
    }
}

void json_write_pack(struct json_writer *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    json_write_vpack(w, format, args);
    va_end(args);
}
