/* json_span.c: see json_span.h. */
#include "base/json_span.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static const char *skip_blanks(const char *at) {
    while (is_blank(*at))
        at++;
    return at;
}

/* --- the tokenizer ---------------------------------------------------------------------------- */

static bool fail(struct json_cursor *c, const char *problem) {
    c->problem = problem;
    return false;
}

static bool begins(const struct json_cursor *c, const char *word) {
    size_t size = strlen(word);
    return (size_t)(c->end - c->at) >= size && memcmp(c->at, word, size) == 0;
}

/* False: no comment, or unterminated. */
static bool skip_comment(struct json_cursor *c) {
    const char *end = NULL;
    if (begins(c, "//")) {
        end = memchr(c->at, '\n', (size_t)(c->end - c->at));
        c->at = end ? end : c->end;
        return true;
    }
    if (begins(c, "/*"))
        end = memmem(c->at + 2, (size_t)(c->end - c->at) - 2, "*/", 2);
    if (!end)
        return false;
    c->at = end + 2;
    return true;
}

char json_peek(struct json_cursor *c) {
    for (;;) {
        while (c->at < c->end && is_blank(*c->at))
            c->at++;
        if (c->at >= c->end)
            return '\0';
        if (*c->at != '/' || !c->is_jsonc || !skip_comment(c))
            return *c->at;
    }
}

bool json_take(struct json_cursor *c, char byte) {
    if (json_peek(c) != byte || c->at >= c->end)
        return false;
    c->at++;
    return true;
}

bool json_take_word(struct json_cursor *c, const char *word) {
    if (!begins(c, word))
        return fail(c, "expected a value");
    c->at += strlen(word);
    return true;
}

static bool skip_escape(struct json_cursor *c) {
    if (++c->at >= c->end)
        return fail(c, "a text has no end");
    char kind = *c->at++;
    if (kind != 'u')
        return (kind && strchr("\"\\/bfnrt", kind)) || fail(c, "a text has an unknown escape");
    c->has_unicode = true;
    for (int i = 0; i < 4; i++, c->at++)
        if (c->at >= c->end || number_hex_digit(*c->at) < 0)
            return fail(c, "a text has an unknown escape");
    return true;
}

/* A byte of a string without special meaning. */
static bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

bool json_skip_string(struct json_cursor *c) {
    if (json_peek(c) != '"')
        return fail(c, "expected a name in quotes");
    c->has_escapes = c->has_unicode = c->has_bytes = false;
    const char *at = c->at + 1;
    for (;; at++) {
        while (at < c->end && is_plain((unsigned char)*at))
            at++;
        c->at = at;
        if (at >= c->end || (unsigned char)*at < 0x20 || *at == '"')
            break;
        if (*at != '\\') {
            c->has_bytes = true;
            continue;
        }
        c->has_escapes = true;
        if (!skip_escape(c))
            return false;
        at = c->at - 1;
    }
    if (at >= c->end || *at != '"')
        return fail(c, "a text has no end");
    c->at++;
    return true;
}

bool json_skip_name(struct json_cursor *c) {
    return json_skip_string(c) && (json_take(c, ':') || fail(c, "expected a colon behind a name"));
}

int json_skip_comma(struct json_cursor *c, char last) {
    if (json_take(c, ','))
        return c->is_jsonc || json_peek(c) != last || fail(c, "expected a value") ? 1 : -1;
    if (json_peek(c) == last)
        return 0;
    (void)fail(c, "expected a comma or the end of what was begun");
    return -1;
}

static bool skip_digits(struct json_cursor *c) {
    const char *from = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
        c->at++;
    return c->at > from;
}

static bool skip_byte(struct json_cursor *c, char byte) {
    bool found = c->at < c->end && *c->at == byte;
    c->at += found;
    return found;
}

static bool skip_number(struct json_cursor *c) {
    (void)skip_byte(c, '-');
    bool good = skip_digits(c) && (!skip_byte(c, '.') || skip_digits(c));
    if (good && (skip_byte(c, 'e') || skip_byte(c, 'E'))) {
        if (!skip_byte(c, '+'))
            (void)skip_byte(c, '-');
        good = skip_digits(c);
    }
    return good || fail(c, "expected a value");
}

static bool skip_members(struct json_cursor *c, char last, unsigned depth) {
    int more = 1;
    for (c->at++; more > 0 && json_peek(c) != last;) {
        if ((last == '}' && !json_skip_name(c)) || !json_skip_value(c, depth))
            return false;
        more = json_skip_comma(c, last);
    }
    c->at += more >= 0;
    return more >= 0;
}

bool json_skip_value(struct json_cursor *c, unsigned depth) {
    char first = json_peek(c);
    switch (first) {
    case '{':
    case '[':
        if (depth == 0)
            return fail(c, "too many brackets inside of each other");
        return skip_members(c, first == '{' ? '}' : ']', depth - 1);
    case '"':
        return json_skip_string(c);
    case 't':
        return json_take_word(c, "true");
    case 'f':
        return json_take_word(c, "false");
    case 'n':
        return json_take_word(c, "null");
    default:
        return skip_number(c);
    }
}

bool json_span_parse(const char *text, size_t size, struct json_span *ret) {
    struct json_cursor c = { .at = text, .end = text + size };
    (void)json_peek(&c);
    const char *from = c.at;
    if (!json_skip_value(&c, JSON_SPAN_DEPTH))
        return false;
    *ret = (struct json_span){ from, (size_t)(c.at - from) };
    (void)json_peek(&c);
    return c.at == c.end;
}

/* --- values in place: the text was checked, so no bounds are needed --------------------------- */

/* `at` is the opening quote; returns the byte after the closing one. */
static const char *skip_text(const char *at) {
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

static const char *skip_value(const char *at) {
    size_t depth = 0;
    do {
        switch (*at) {
        case '"':
            at = skip_text(at);
            break;
        case '{':
        case '[':
            depth++;
            at++;
            break;
        case '}':
        case ']':
            depth--;
            at++;
            break;
        default: /* numbers and words end at the same characters as other values */
            at += depth > 0 ? strcspn(at, "\"{}[]") : strcspn(at, ",]} \t\r\n");
            break;
        }
    } while (depth > 0);
    return at;
}

/* The value of the next member with this name; NULL: none. *at is before a member, and on success
 * at its value. */
static const char *next_member(const char **at, const char *name) {
    size_t size = strlen(name);
    for (const char *here = *at;;) {
        here = skip_blanks(here);
        if (*here != '"')
            return NULL;
        const char *key = here + 1;
        here = skip_text(here);
        bool found = (size_t)(here - 1 - key) == size && memcmp(key, name, size) == 0;
        here = skip_blanks(skip_blanks(here) + 1); /* the colon */
        if (found)
            return *at = here;
        here = skip_blanks(skip_value(here));
        here += *here == ',';
    }
}

const char *json_span_member(const char *text, const char *name) {
    const char *at = skip_blanks(text) + 1;
    return next_member(&at, name);
}

struct json_span json_span_get(struct json_span object, const char *name) {
    struct json_span found = { NULL, 0 };
    if (!json_span_is_object(object))
        return found;
    const char *at = object.from + 1;
    for (const char *value; (value = next_member(&at, name));) {
        at = skip_value(value);
        found = (struct json_span){ value, (size_t)(at - value) };
        at = skip_blanks(at);
        at += *at == ',';
    }
    return found;
}

bool json_span_next(const char *list, const char **at, struct json_span *ret) {
    const char *from = skip_blanks(*at ? *at : list);
    if (*from == ']')
        return false;
    from = skip_blanks(from + 1); /* the bracket, or the comma */
    if (*from == ']')
        return false;
    *at = skip_value(from);
    *ret = (struct json_span){ .from = from, .size = (size_t)(*at - from) };
    return true;
}

bool json_span_item(struct json_span list, struct json_span *item) {
    const char *at = item->from ? item->from + item->size : NULL;
    return list.from && *list.from == '[' && json_span_next(list.from, &at, item);
}

size_t json_span_copy(const struct json_span *span, char *out, size_t max) {
    const char *at = span->from, *end = at + span->size;
    size_t length = 0;
    while (at < end) {
        const char *from = at;
        while (at < end && !is_blank(*at))
            at = *at == '"' ? skip_text(at) : at + 1;
        size_t size = (size_t)(at - from);
        if (length + size <= max)
            memcpy(out + length, from, size);
        length += size;
        while (at < end && is_blank(*at))
            at++;
    }
    return length;
}

bool json_span_is_object(struct json_span value) {
    return value.from && *value.from == '{';
}

bool json_span_is_true(struct json_span value) {
    return value.from && *value.from == 't';
}

bool json_span_is_missing(struct json_span value) {
    return !value.from || *value.from == 'n';
}

bool json_span_is(struct json_span value, const char *text) {
    size_t size = strlen(text);
    return value.from && *value.from == '"' && value.size == size + 2
           && memcmp(value.from + 1, text, size) == 0;
}

bool json_span_integer(struct json_span value, int64_t *ret) {
    char digits[24], *end;
    if (!value.from || value.size >= 20 || !strchr("-0123456789", *value.from))
        return false;
    memcpy(digits, value.from, value.size);
    digits[value.size] = '\0';
    *ret = strtoll(digits, &end, 10);
    return *end == '\0';
}

/* --- texts ------------------------------------------------------------------------------------ */

static unsigned hex_unit(const char *at) {
    unsigned unit = 0;
    for (int i = 0; i < 4; i++)
        unit = unit << 4 | (unsigned)number_hex_digit(at[i]);
    return unit;
}

/* Appends a character, or U+FFFD for an invalid code. */
static void put_character(struct strbuf *out, unsigned code) {
    if (code == 0 || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff)
        code = 0xfffd;
    if (code < 0x80) {
        strbuf_putc(out, (char)code);
        return;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };
    strbuf_putc(out, (char)(first[more] | code >> (6 * more)));
    while (more-- > 0)
        strbuf_putc(out, (char)(0x80 | (code >> (6 * more) & 0x3f)));
}

/* After "\u"; a surrogate pair is one character. */
static const char *put_unicode(struct strbuf *out, const char *at, const char *end) {
    unsigned code = hex_unit(at);
    at += 4;
    if (code >= 0xd800 && code <= 0xdbff && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
        unsigned low = hex_unit(at + 2);
        if (low >= 0xdc00 && low <= 0xdfff) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
        }
    }
    put_character(out, code);
    return at;
}

static const char *put_escape(struct strbuf *out, const char *at, const char *end) {
    static const char named[] = "bfnrt", bytes[] = "\b\f\n\r\t";
    const char *name = strchr(named, *at);
    if (*at == 'u')
        return put_unicode(out, at + 1, end);
    strbuf_putc(out, name ? bytes[name - named] : *at);
    return at + 1;
}

bool json_span_text(struct json_span value, size_t max, struct strbuf *out) {
    if (!value.from || *value.from != '"')
        return false;
    const char *at = value.from + 1, *end = value.from + value.size - 1;
    size_t most = out->length + max;
    while (at < end && out->length + 4 <= most) {
        size_t run = 0, room = most - out->length - 3;
        while (run < room && at + run < end && at[run] != '\\' && (unsigned char)at[run] < 0x80)
            run++;
        if (run > 0) {
            strbuf_add(out, at, run);
            at += run;
            continue;
        }
        if (*at == '\\') {
            at = put_escape(out, at + 1, end);
            continue;
        }
        size_t bytes = utf8_length(at, (size_t)(end - at));
        if (bytes == 0)
            put_character(out, 0);
        else
            strbuf_add(out, at, bytes);
        at += bytes ? bytes : 1;
    }
    return true;
}
