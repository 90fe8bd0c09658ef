/* jsonc.c: where does a member of an object stand in the text, and how does a new value look there?
 *
 * What is written is read again before it is given away: a change that does not say what it should is none.
 * Values are skipped, not read: what is inside of them is nobody's business here. Only the shape is checked, and
 * the strings that are names. */
#include "cli/jsonc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 200

/* An object, and one member of it that was looked for. */
struct jsonc_object {
    struct jsonc_span all;   /* with its braces */
    struct jsonc_span value; /* of that member; empty: it is not there */
    size_t key;              /* where its name begins, or that of the last one there is; */
    bool has_members;
    size_t last_end; /* behind the value of the last one, */
    bool has_comma;  /* and behind that there is a comma */
};

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

/* Newlines too. */
static bool is_white(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Blanks and comments; one that does not end stays. */
static void skip_blanks(struct reader *r) {
    static const char mark[] = "\xEF\xBB\xBF";
    if (r->at == 0 && begins(r, mark))
        r->at = strlen(mark);
    for (;;) {
        while (r->at < r->size && is_white(r->text[r->at]))
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

/* Nothing but blanks and comments: where they end. */
static size_t jsonc_skip(const struct strbuf *text, size_t from) {
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

/* The object that begins at `from`, behind blanks and comments. */
static int jsonc_look(const struct strbuf *text, size_t from, const char *name,
                      struct jsonc_object *ret, struct error *err) {
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

/* --- the new value: like its neighbours, on lines of its own where they are, indented like them ---------- */

#define USUAL_INDENT "  "

struct style {
    const char *newline;
    struct strbuf unit; /* one level of indentation */
};

/* What is to be put where; several in the order of their places. */
struct piece {
    size_t at, skip; /* how much of the old text goes */
    const char *text;
};

/* --- how it looks ------------------------------------------------------------------------------ */

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* The blanks before the first thing of the line that `at` is in. */
static void line_indent(const struct strbuf *text, size_t at, struct strbuf *out) {
    size_t from = at, to;
    while (from > 0 && text->text[from - 1] != '\n')
        from--;
    for (to = from; to < text->length && is_blank(text->text[to]); to++)
        continue;
    strbuf_clear(out);
    strbuf_add(out, text->text + from, to - from);
}

static bool is_first_of_line(const struct strbuf *text, size_t at) {
    while (at > 0 && is_blank(text->text[at - 1]))
        at--;
    return at > 0 && text->text[at - 1] == '\n';
}

static bool has_newline(const struct strbuf *text, struct jsonc_span span) {
    return memchr(text->text + span.from, '\n', span.to - span.from) != NULL;
}

static void find_style(const struct strbuf *text, const struct jsonc_object *root,
                       struct style *ret) {
    const char *newline = text->length > 0 ? memchr(text->text, '\n', text->length) : NULL;
    ret->newline = newline && newline > text->text && newline[-1] == '\r' ? "\r\n" : "\n";
    if (root && root->has_members && is_first_of_line(text, root->key))
        line_indent(text, root->key, &ret->unit);
    if (ret->unit.length == 0)
        strbuf_puts(&ret->unit, USUAL_INDENT);
}

/* On lines of its own behind `indent`; or, without, on one line. */
static void print_value(const json_t *value, const struct style *style, const struct strbuf *indent,
                        struct strbuf *out) {
    char *text = json_dumps(value, (indent ? JSON_INDENT(1) : 0) | JSON_ENCODE_ANY
                                       | JSON_REAL_PRECISION(15));
    for (const char *at = text ? text : ""; *at;) {
        size_t size = strcspn(at, "\n");
        strbuf_add(out, at, size);
        at += size;
        if (!*at)
            break;
        strbuf_puts(out, style->newline);
        if (indent)
            strbuf_add(out, strbuf_text(indent), indent->length);
        for (at++; *at == ' '; at++)
            strbuf_add(out, style->unit.text, style->unit.length);
    }
    free(text);
}

static void print_member(const char *name, const json_t *value, const struct style *style,
                         const struct strbuf *indent, struct strbuf *out) {
    json_t *key = json_string(name);
    print_value(key, style, NULL, out);
    json_decref(key);
    strbuf_puts(out, ": ");
    print_value(value, style, indent, out);
}

/* --- the change -------------------------------------------------------------------------------- */

static void put_together(const struct strbuf *text, const struct piece *pieces, size_t count,
                         struct strbuf *out) {
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        strbuf_add(out, strbuf_text(text) + at, pieces[i].at - at);
        strbuf_puts(out, pieces[i].text);
        at = pieces[i].at + pieces[i].skip;
    }
    strbuf_add(out, strbuf_text(text) + at, text->length - at);
}

static void replace(const struct strbuf *text, const struct jsonc_object *in, const json_t *value,
                    const struct style *style, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf indent = STRBUF_INIT, now = STRBUF_INIT;
    bool lines = is_first_of_line(text, in->key) || has_newline(text, in->value);
    line_indent(text, in->key, &indent);
    print_value(value, style, lines ? &indent : NULL, &now);
    const struct piece piece = { in->value.from, in->value.to - in->value.from, strbuf_text(&now) };
    put_together(text, &piece, 1, out);
}

/* Behind the last thing in the object, be it a comment: a comment belongs to what stands before it. */
static void insert(const struct strbuf *text, const struct jsonc_object *in, const char *name,
                   const json_t *value, const struct style *style, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf indent = STRBUF_INIT, own = STRBUF_INIT,
                                           member = STRBUF_INIT;
    bool lines = !in->has_members || has_newline(text, in->all);
    size_t end = in->all.to - 1;
    while (end > in->all.from + 1 && is_white(text->text[end - 1]))
        end--;
    line_indent(text, in->all.from, &own);
    if (in->has_members && is_first_of_line(text, in->key)) {
        line_indent(text, in->key, &indent);
    } else {
        strbuf_add(&indent, strbuf_text(&own), own.length);
        strbuf_add(&indent, style->unit.text, style->unit.length);
    }
    if (lines) {
        strbuf_puts(&member, style->newline);
        strbuf_add(&member, strbuf_text(&indent), indent.length);
    } else {
        strbuf_putc(&member, ' ');
    }
    print_member(name, value, style, lines ? &indent : NULL, &member);
    if (lines && !has_newline(text, (struct jsonc_span){ end, in->all.to })) {
        strbuf_puts(&member, style->newline);
        strbuf_add(&member, strbuf_text(&own), own.length);
    }
    bool needs_comma = in->has_members && !in->has_comma;
    const struct piece pieces[] = { { needs_comma ? in->last_end : end, 0, needs_comma ? "," : "" },
                                    { end, 0, strbuf_text(&member) } };
    put_together(text, pieces, 2, out);
}

static int change(const struct strbuf *text, const char *outer, const char *inner,
                  const json_t *value, struct strbuf *out, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf empty = STRBUF_INIT;
    struct jsonc_object root = { 0 }, part = { 0 };
    struct jsonc_span span;
    struct style style = { .unit = STRBUF_INIT };
    int r = jsonc_find(text, outer, inner, &span, err);
    bool nothing = r == 0 && jsonc_skip(text, 0) == text->length;
    if (nothing) { /* what stands there, comments perhaps, stays before it */
        strbuf_add(&empty, strbuf_text(text), text->length);
        strbuf_puts(&empty,
                    text->length > 0 && empty.text[empty.length - 1] != '\n' ? "\n{}\n" : "{}\n");
        text = &empty;
    }
    if (r >= 0)
        r = jsonc_look(text, 0, outer, &root, err);
    if (r == 0 && root.value.to > 0)
        r = jsonc_look(text, root.value.from, inner, &part, err);
    if (r < 0)
        return r;
    find_style(text, &root, &style);
    json_t *whole = json_pack("{s:O}", inner, value);
    if (root.value.to == 0)
        insert(text, &root, outer, whole, &style, out);
    else if (part.value.to == 0)
        insert(text, &part, inner, value, &style, out);
    else
        replace(text, &part, value, &style, out);
    json_decref(whole);
    strbuf_finish(&style.unit);
    return 0;
}

int jsonc_set(const struct strbuf *text, const char *outer, const char *inner, const json_t *value,
              struct strbuf *ret_text, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct jsonc_span span = { 0 };
    int r = change(text, outer, inner, value, &out, err);
    if (r == 0)
        r = jsonc_find(&out, outer, inner, &span, err);
    if (r < 0)
        return r;
    json_t *written =
        json_loadb(strbuf_text(&out) + span.from, span.to - span.from, JSON_DECODE_ANY, NULL);
    bool same = r == 1 && written && json_equal(written, value);
    json_decref(written);
    if (!same)
        return error_set(err, -EINVAL, "it cannot be changed here");
    strbuf_add(ret_text, strbuf_text(&out), out.length);
    return 0;
}
