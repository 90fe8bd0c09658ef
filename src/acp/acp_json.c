/* acp_json.c: a JSON parser that keeps nothing. See acp_json.h. */
#include "acp/acp_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* --- checking --------------------------------------------------------------------------------- */

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *c) {
    while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at)
        c->at++;
}

static bool take(struct cursor *c, char byte) {
    if (c->at >= c->end || *c->at != byte)
        return false;
    c->at++;
    return true;
}

static int hex_digit(char byte) {
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

static bool check_escape(struct cursor *c) {
    if (c->at >= c->end)
        return false;
    char kind = *c->at++;
    if (kind != 'u')
        return kind && strchr("\"\\/bfnrt", kind);
    for (int i = 0; i < 4; i++, c->at++)
        if (c->at >= c->end || hex_digit(*c->at) < 0)
            return false;
    return true;
}

static bool check_string(struct cursor *c) {
    if (!take(c, '"'))
        return false;
    while (c->at < c->end) {
        unsigned char byte = (unsigned char)*c->at++;
        if (byte == '"')
            return true;
        if (byte < 0x20 || (byte == '\\' && !check_escape(c)))
            return false;
    }
    return false;
}

static bool check_digits(struct cursor *c) {
    const char *from = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
        c->at++;
    return c->at > from;
}

static bool check_number(struct cursor *c) {
    (void)take(c, '-');
    if (!check_digits(c))
        return false;
    if (take(c, '.') && !check_digits(c))
        return false;
    if (!take(c, 'e') && !take(c, 'E'))
        return true;
    if (!take(c, '+'))
        (void)take(c, '-');
    return check_digits(c);
}

static bool check_word(struct cursor *c, const char *word) {
    size_t size = strlen(word);
    if ((size_t)(c->end - c->at) < size || memcmp(c->at, word, size) != 0)
        return false;
    c->at += size;
    return true;
}

static bool check_value(struct cursor *c, unsigned depth);

/* Members of an object, or items of a list. */
static bool check_members(struct cursor *c, char last, unsigned depth) {
    c->at++;
    skip_blanks(c);
    if (take(c, last))
        return true;
    do {
        skip_blanks(c);
        if (last == '}') {
            if (!check_string(c))
                return false;
            skip_blanks(c);
            if (!take(c, ':'))
                return false;
        }
        if (!check_value(c, depth))
            return false;
        skip_blanks(c);
    } while (take(c, ','));
    return take(c, last);
}

static bool check_value(struct cursor *c, unsigned depth) {
    skip_blanks(c);
    if (c->at >= c->end)
        return false;
    switch (*c->at) {
    case '{':
    case '[':
        return depth < ACP_JSON_DEPTH && check_members(c, *c->at == '{' ? '}' : ']', depth + 1);
    case '"':
        return check_string(c);
    case 't':
        return check_word(c, "true");
    case 'f':
        return check_word(c, "false");
    case 'n':
        return check_word(c, "null");
    default:
        return check_number(c);
    }
}

bool acp_json_parse(const char *text, size_t size, struct acp_json *ret) {
    struct cursor c = { text, text + size };
    skip_blanks(&c);
    const char *from = c.at;
    if (!check_value(&c, 0))
        return false;
    *ret = (struct acp_json){ from, (size_t)(c.at - from) };
    skip_blanks(&c);
    return c.at == c.end;
}

/* --- looking ---------------------------------------------------------------------------------- */

/* The value at the cursor; the text is known to be valid. */
static struct acp_json take_value(struct cursor *c) {
    skip_blanks(c);
    const char *from = c->at;
    (void)check_value(c, 0);
    return (struct acp_json){ from, (size_t)(c->at - from) };
}

struct acp_json acp_json_member(struct acp_json object, const char *name) {
    struct acp_json found = { NULL, 0 };
    size_t size = strlen(name);
    if (!acp_json_is_object(object))
        return found;
    struct cursor c = { object.at + 1, object.at + object.size };
    for (skip_blanks(&c); c.at < c.end && *c.at == '"'; skip_blanks(&c)) {
        struct acp_json key = take_value(&c);
        skip_blanks(&c);
        (void)take(&c, ':');
        struct acp_json value = take_value(&c);
        if (key.size == size + 2 && memcmp(key.at + 1, name, size) == 0)
            found = value;
        skip_blanks(&c);
        (void)take(&c, ',');
    }
    return found;
}

bool acp_json_next(struct acp_json list, struct acp_json *item) {
    if (!list.at || *list.at != '[')
        return false;
    struct cursor c = { item->at ? item->at + item->size : list.at + 1, list.at + list.size };
    skip_blanks(&c);
    (void)take(&c, ',');
    skip_blanks(&c);
    if (c.at >= c.end || *c.at == ']')
        return false;
    *item = take_value(&c);
    return true;
}

bool acp_json_is_object(struct acp_json value) {
    return value.at && *value.at == '{';
}

bool acp_json_is_true(struct acp_json value) {
    return value.at && *value.at == 't';
}

bool acp_json_is_missing(struct acp_json value) {
    return !value.at || *value.at == 'n';
}

bool acp_json_is(struct acp_json value, const char *text) {
    size_t size = strlen(text);
    return value.at && *value.at == '"' && value.size == size + 2
           && memcmp(value.at + 1, text, size) == 0;
}

bool acp_json_integer(struct acp_json value, int64_t *ret) {
    char digits[24];
    if (!value.at || value.size >= sizeof(digits) || (*value.at != '-' && hex_digit(*value.at) < 0))
        return false;
    memcpy(digits, value.at, value.size);
    digits[value.size] = '\0';
    char *end;
    long long number = strtoll(digits, &end, 10);
    *ret = number;
    return *end == '\0' && value.size < 20;
}

/* --- texts ------------------------------------------------------------------------------------ */

static unsigned hex_unit(const char *at) {
    unsigned unit = 0;
    for (int i = 0; i < 4; i++)
        unit = unit << 4 | (unsigned)hex_digit(at[i]);
    return unit;
}

/* Appends a character, U+FFFD for what is none. */
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

/* Behind "\u"; a pair of surrogates is one character. */
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

bool acp_json_text(struct acp_json value, size_t max, struct strbuf *out) {
    if (!value.at || *value.at != '"')
        return false;
    const char *at = value.at + 1, *end = value.at + value.size - 1;
    size_t most = out->length + max;
    while (at < end) {
        if (out->length + 4 > most)
            break;
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
