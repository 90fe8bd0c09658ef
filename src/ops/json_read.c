/* json_read.c: a fast parser for plain JSON.
 *
 * Uses the tokenizer of base/json_span.h, which also has the benchmark. Everything else (fractions,
 * \u, errors) is left to jansson, whose result is authoritative: this parser returns exactly what
 * jansson returns with JSON_REJECT_DUPLICATES. */
#include <stdbool.h>
#include <string.h>

#include "base/json_span.h"
#include "base/utf8.h"
#include "ops/op_internal.h"

#define DIGITS_MAX 18u /* always fit into 64 bits */

struct reader {
    struct json_cursor c;
    unsigned left;       /* remaining nesting levels */
    struct strbuf plain; /* a string with its escapes decoded */
};

/* Without quotes and escapes; valid until the next call. */
static bool take_text(struct reader *r, struct json_span *ret) {
    struct json_cursor *c = &r->c;
    if (json_peek(c) != '"')
        return false;
    struct json_span quoted = { .from = c->at };
    if (!json_skip_string(c) || c->has_unicode)
        return false;
    quoted.size = (size_t)(c->at - quoted.from);
    *ret = (struct json_span){ quoted.from + 1, quoted.size - 2 };
    if (c->has_bytes && !utf8_is_clean(ret->from, ret->size))
        return false;
    if (c->has_escapes) {
        strbuf_clear(&r->plain);
        (void)json_span_text(quoted, quoted.size + 4, &r->plain);
        *ret = (struct json_span){ strbuf_text(&r->plain), r->plain.length };
    }
    return true;
}

static bool is_digit(const struct json_cursor *c) {
    return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

static json_t *read_integer(struct json_cursor *c) {
    bool negative = json_take(c, '-');
    const char *from = c->at;
    json_int_t value = 0;
    for (unsigned digits = 0; digits < DIGITS_MAX && is_digit(c); digits++)
        value = value * 10 + (*c->at++ - '0');
    bool longer = is_digit(c) || (c->at < c->end && strchr(".eE", *c->at));
    if (c->at == from || (*from == '0' && c->at > from + 1) || longer)
        return NULL;
    return json_integer(negative ? -value : value);
}

static json_t *read_value(struct reader *r);

static bool fill_array(struct reader *r, json_t *array) {
    if (json_take(&r->c, ']'))
        return true;
    do {
        json_t *value = read_value(r);
        if (!value || json_array_append_new(array, value) < 0)
            return false;
    } while (json_take(&r->c, ','));
    return json_take(&r->c, ']');
}

/* The key must be copied before the value is read, which may have escapes. jansson copies it
 * again. */
static bool fill_member(struct reader *r, json_t *object) {
    struct json_span name;
    char kept[64];
    size_t before = json_object_size(object);
    if (!take_text(r, &name) || name.size > sizeof(kept))
        return false;
    memcpy(kept, name.from, name.size);
    json_t *value = json_take(&r->c, ':') ? read_value(r) : NULL;
    return value && json_object_setn_new_nocheck(object, kept, name.size, value) == 0
           && json_object_size(object) > before; /* else it is a duplicate */
}

static bool fill_object(struct reader *r, json_t *object) {
    if (json_take(&r->c, '}'))
        return true;
    do {
        if (!fill_member(r, object))
            return false;
    } while (json_take(&r->c, ','));
    return json_take(&r->c, '}');
}

static json_t *read_nested(struct reader *r, json_t *value,
                           bool (*fill)(struct reader *r, json_t *value)) {
    r->c.at++;
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
    struct json_span text;
    switch (json_peek(&r->c)) {
    case '"':
        return take_text(r, &text) ? json_stringn_nocheck(text.from, text.size) : NULL;
    case '{':
        return read_nested(r, json_object(), fill_object);
    case '[':
        return read_nested(r, json_array(), fill_array);
    case 't':
        return json_take_word(&r->c, "true") ? json_true() : NULL;
    case 'f':
        return json_take_word(&r->c, "false") ? json_false() : NULL;
    case 'n':
        return json_take_word(&r->c, "null") ? json_null() : NULL;
    default:
        return read_integer(&r->c);
    }
}

json_t *json_read(const char *text, size_t size, unsigned depth) {
    struct reader r = { .c = { .at = text, .end = text + size },
                        .left = depth,
                        .plain = STRBUF_INIT };
    char first = json_peek(&r.c);
    json_t *value = first == '{' || first == '[' ? read_value(&r) : NULL;
    (void)json_peek(&r.c);
    if (value && r.c.at < r.c.end) {
        json_decref(value);
        value = NULL;
    }
    strbuf_finish(&r.plain);
    return value;
}
