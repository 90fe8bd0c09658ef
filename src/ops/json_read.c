/* json_read.c: plain JSON, parsed fast.
 *
 * Parsing a thousand tasks with jansson took longer than everything else that is done before they
 * are stored. Plain JSON is parsed here; everything else (fractions, \u, errors) is left to
 * jansson, whose result is authoritative: what is parsed here equals what jansson returns for
 * JSON_REJECT_DUPLICATES. */
#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "ops/op_internal.h"

#define DIGITS_MAX 18u /* always fit into 64 bits */

struct reader {
    const char *at, *end;
    unsigned left;       /* levels that it may go down */
    struct strbuf plain; /* a text without its escapes */
};

static void skip_blanks(struct reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* The next byte that is no blank; 0: none is left. */
static char peek_char(struct reader *r) {
    skip_blanks(r);
    return r->at < r->end ? *r->at : '\0';
}

static bool take_char(struct reader *r, char c) {
    if (peek_char(r) != c)
        return false;
    r->at++;
    return true;
}

/* --- texts ----------------------------------------------------------------------------------- */

struct slice {
    const char *text;
    size_t size;
};

/* Up to the quote, the backslash or the end; false: something in it is no text. */
static bool skip_letters(struct reader *r) {
    while (r->at < r->end && *r->at != '"' && *r->at != '\\') {
        unsigned char c = (unsigned char)*r->at;
        size_t length = c < 0x80 ? c >= 0x20 : utf8_length(r->at, (size_t)(r->end - r->at));
        if (length == 0)
            return false;
        r->at += length;
    }
    return r->at < r->end;
}

static bool take_escape(struct reader *r) {
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    const char *found = ++r->at < r->end && *r->at ? strchr(names, *r->at) : NULL;
    if (!found)
        return false;
    strbuf_putc(&r->plain, bytes[found - names]);
    r->at++;
    return true;
}

/* It lives until the next one is taken. */
static bool take_text(struct reader *r, struct slice *ret) {
    if (!take_char(r, '"'))
        return false;
    const char *from = r->at;
    if (!skip_letters(r))
        return false;
    if (*r->at == '"') {
        *ret = (struct slice){ from, (size_t)(r->at++ - from) };
        return true;
    }
    strbuf_clear(&r->plain);
    for (;;) {
        strbuf_add(&r->plain, from, (size_t)(r->at - from));
        if (*r->at == '"')
            break;
        if (!take_escape(r))
            return false;
        from = r->at;
        if (!skip_letters(r))
            return false;
    }
    r->at++;
    *ret = (struct slice){ strbuf_text(&r->plain), r->plain.length };
    return true;
}

static json_t *read_text(struct reader *r) {
    struct slice text;
    return take_text(r, &text) ? json_stringn_nocheck(text.text, text.size) : NULL;
}

/* --- the rest -------------------------------------------------------------------------------- */

static bool is_digit(const struct reader *r) {
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static json_t *read_integer(struct reader *r) {
    bool negative = take_char(r, '-');
    const char *from = r->at;
    json_int_t value = 0;
    for (unsigned digits = 0; digits < DIGITS_MAX && is_digit(r); digits++)
        value = value * 10 + (*r->at++ - '0');
    bool longer = is_digit(r) || (r->at < r->end && strchr(".eE", *r->at));
    if (r->at == from || (*from == '0' && r->at > from + 1) || longer)
        return NULL;
    return json_integer(negative ? -value : value);
}

static json_t *read_word(struct reader *r, const char *word, json_t *value) {
    size_t size = strlen(word);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0)
        return NULL;
    r->at += size;
    return value;
}

static json_t *read_value(struct reader *r);

static bool fill_array(struct reader *r, json_t *array) {
    if (take_char(r, ']'))
        return true;
    do {
        json_t *value = read_value(r);
        if (!value || json_array_append_new(array, value) < 0)
            return false;
    } while (take_char(r, ','));
    return take_char(r, ']');
}

/* Its text must be copied before the value is read: that may have escapes. jansson copies it
 * again. */
static bool fill_member(struct reader *r, json_t *object) {
    struct slice name;
    char kept[64];
    size_t before = json_object_size(object);
    if (!take_text(r, &name) || name.size > sizeof(kept))
        return false;
    memcpy(kept, name.text, name.size);
    json_t *value = take_char(r, ':') ? read_value(r) : NULL;
    return value && json_object_setn_new_nocheck(object, kept, name.size, value) == 0
           && json_object_size(object) > before; /* else it is there twice */
}

static bool fill_object(struct reader *r, json_t *object) {
    if (take_char(r, '}'))
        return true;
    do {
        if (!fill_member(r, object))
            return false;
    } while (take_char(r, ','));
    return take_char(r, '}');
}

static json_t *read_nested(struct reader *r, json_t *value,
                           bool (*fill)(struct reader *r, json_t *value)) {
    r->at++;
    if (r->left > 0 && value) {
        r->left--;
        bool filled = fill(r, value);
        r->left++;
        if (filled)
            return value;
    }
    json_decref(value);
    return NULL;
}

static json_t *read_value(struct reader *r) {
    switch (peek_char(r)) {
    case '"':
        return read_text(r);
    case '{':
        return read_nested(r, json_object(), fill_object);
    case '[':
        return read_nested(r, json_array(), fill_array);
    case 't':
        return read_word(r, "true", json_true());
    case 'f':
        return read_word(r, "false", json_false());
    case 'n':
        return read_word(r, "null", json_null());
    default:
        return read_integer(r);
    }
}

json_t *json_read(const char *text, size_t size, unsigned depth) {
    struct reader r = { .at = text, .end = text + size, .left = depth, .plain = STRBUF_INIT };
    char first = peek_char(&r);
    json_t *value = first == '{' || first == '[' ? read_value(&r) : NULL;
    skip_blanks(&r);
    if (value && r.at < r.end) {
        json_decref(value);
        value = NULL;
    }
    strbuf_finish(&r.plain);
    return value;
}
