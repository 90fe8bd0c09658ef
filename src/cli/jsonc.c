/* jsonc.c: where does a member of an object stand in the text?
 *
 * Values are skipped, not read: what is inside of them is nobody's business here. Only the shape is checked, and
 * the strings that are names. */
#include "cli/jsonc.h"

#include <errno.h>
#include <string.h>

#define DEPTH_MAX 200

struct reader {
    const char *text;
    size_t size, at;
    struct error *err;
};

static int fail(const struct reader *r, const char *what) {
    unsigned line = 1;
    for (size_t i = 0; i < r->at && i < r->size; i++)
        line += r->text[i] == '\n';
    return error_set(r->err, -EINVAL, "line %u: %s", line, what);
}

static char peek(const struct reader *r) {
    return r->at < r->size ? r->text[r->at] : '\0';
}

static bool begins(const struct reader *r, const char *word) {
    size_t length = strlen(word);
    return r->size - r->at >= length && memcmp(r->text + r->at, word, length) == 0;
}

bool jsonc_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Blanks and comments; one that does not end stays. */
static void skip_blanks(struct reader *r) {
    static const char mark[] = "\xEF\xBB\xBF";
    if (r->at == 0 && begins(r, mark))
        r->at = strlen(mark);
    for (;;) {
        while (r->at < r->size && jsonc_is_blank(r->text[r->at]))
            r->at++;
        if (begins(r, "//")) {
            const char *end = memchr(r->text + r->at, '\n', r->size - r->at);
            r->at = end ? (size_t)(end - r->text) : r->size;
        } else if (begins(r, "/*")) {
            const char *end = memmem(r->text + r->at + 2, r->size - r->at - 2, "*/", 2);
            if (!end)
                return;
            r->at = (size_t)(end - r->text) + 2;
        } else {
            return;
        }
    }
}

size_t jsonc_skip(const struct strbuf *text, size_t from) {
    struct reader r = { .text = strbuf_text(text), .size = text->length, .at = from };
    skip_blanks(&r);
    return r.at;
}

static int skip_string(struct reader *r) {
    if (peek(r) != '"')
        return fail(r, "expected a name in quotes");
    for (r->at++; r->at < r->size && r->text[r->at] != '"'; r->at++) {
        if ((unsigned char)r->text[r->at] < 0x20)
            break;
        r->at += r->text[r->at] == '\\';
    }
    if (peek(r) != '"')
        return fail(r, "a text has no end");
    r->at++;
    return 0;
}

static int skip_value(struct reader *r, unsigned depth);

/* Behind a member: 1 there may be another, 0 this was the last. */
static int skip_comma(struct reader *r, char end) {
    skip_blanks(r);
    if (peek(r) == ',') {
        r->at++;
        skip_blanks(r);
        return 1;
    }
    return peek(r) == end ? 0 : fail(r, "expected a comma or the end of what was begun");
}

static int skip_name(struct reader *r) {
    int code = skip_string(r);
    if (code < 0)
        return code;
    skip_blanks(r);
    if (peek(r) != ':')
        return fail(r, "expected a colon behind a name");
    r->at++;
    skip_blanks(r);
    return 0;
}

static int skip_many(struct reader *r, char end, unsigned depth) {
    r->at++;
    skip_blanks(r);
    while (peek(r) != end) {
        int code = end == '}' ? skip_name(r) : 0;
        if (code == 0)
            code = skip_value(r, depth + 1);
        if (code == 0)
            code = skip_comma(r, end);
        if (code < 0)
            return code;
    }
    r->at++;
    return 0;
}

static int skip_value(struct reader *r, unsigned depth) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    if (depth > DEPTH_MAX)
        return fail(r, "too many brackets inside of each other");
    switch (peek(r)) {
    case '{':
        return skip_many(r, '}', depth);
    case '[':
        return skip_many(r, ']', depth);
    case '"':
        return skip_string(r);
    default:
        break;
    }
    size_t from = r->at;
    while (r->at < r->size && r->text[r->at] && strchr(plain, r->text[r->at]))
        r->at++;
    return r->at > from ? 0 : fail(r, "expected a value");
}

/* A name may be written with escapes. */
static bool is_name(const struct reader *r, size_t from, size_t to, const char *name) {
    json_t *text = json_loadb(r->text + from, to - from, JSON_DECODE_ANY, NULL);
    bool same = json_is_string(text) && strcmp(json_string_value(text), name) == 0;
    json_decref(text);
    return same;
}

static int look_at_member(struct reader *r, const char *name, struct jsonc_object *ret) {
    size_t key = r->at, value;
    int code = skip_string(r);
    if (code < 0)
        return code;
    bool wanted = is_name(r, key, r->at, name);
    r->at = key;
    code = skip_name(r);
    value = r->at;
    if (code == 0)
        code = skip_value(r, 1);
    if (code < 0)
        return code;
    if (wanted && ret->value.to > 0)
        return fail(r, "a name is there twice");
    if (wanted)
        ret->value = (struct jsonc_span){ value, r->at };
    if (wanted || ret->value.to == 0)
        ret->key = key;
    ret->has_members = true;
    ret->last_end = r->at;
    code = skip_comma(r, '}');
    ret->has_comma = code == 1;
    return code;
}

int jsonc_look(const struct strbuf *text, size_t from, const char *name, struct jsonc_object *ret,
               struct error *err) {
    struct reader r = { .text = strbuf_text(text), .size = text->length, .at = from, .err = err };
    struct jsonc_object found = { 0 };
    int code = 1;
    skip_blanks(&r);
    if (peek(&r) != '{')
        return fail(&r, "expected an object");
    found.all.from = r.at++;
    skip_blanks(&r);
    while (code > 0 && peek(&r) != '}')
        code = look_at_member(&r, name, &found);
    if (code < 0)
        return code;
    found.all.to = r.at + 1;
    *ret = found;
    return 0;
}

int jsonc_find(const struct strbuf *text, const char *outer, const char *inner,
               struct jsonc_span *ret, struct error *err) {
    struct jsonc_object root = { 0 }, part = { 0 };
    if (jsonc_skip(text, 0) == text->length)
        return 0;
    int code = jsonc_look(text, 0, outer, &root, err);
    if (code < 0)
        return code;
    size_t end = jsonc_skip(text, root.all.to);
    if (end != text->length)
        return fail(&(struct reader){ strbuf_text(text), text->length, end, err },
                    "something stands behind the end");
    if (root.value.to == 0)
        return 0;
    code = jsonc_look(text, root.value.from, inner, &part, err);
    if (code < 0 || part.value.to == 0)
        return code;
    *ret = part.value;
    return 1;
}
