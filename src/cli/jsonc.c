/* jsonc.c: finds a member in JSON text, and formats a new value in place.
 *
 * The result is parsed again before it is returned: a change without the intended value is refused.
 * The tokenizer of base/json_span.h skips values without parsing them. */
#include "cli/jsonc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_span.h"

#define DEPTH_MAX 200

/* An object, and the member that was searched. */
struct jsonc_object {
    struct jsonc_span all;   /* including its braces */
    struct jsonc_span value; /* of the member; empty: not found */
    size_t key;              /* start of its name, or of the last member's */
    bool has_members;
    size_t last_end; /* end of the last member's value */
    bool has_comma;  /* a comma follows the last member */
};

static int fail(const struct strbuf *text, const struct json_cursor *c, const char *problem,
                struct error *err) {
    unsigned line = 1;
    for (const char *at = strbuf_text(text); at < c->at && at < c->end; at++)
        line += *at == '\n';
    return error_set(err, -EINVAL, "line %u: %s", line, problem);
}

static struct json_cursor cursor_at(const struct strbuf *text, size_t from) {
    const char *begin = strbuf_text(text), *end = begin + text->length;
    struct json_cursor c = { .at = begin + from, .end = end, .is_jsonc = true };
    if (from == 0 && text->length >= 3 && memcmp(begin, "\xEF\xBB\xBF", 3) == 0)
        c.at += 3;
    (void)json_peek(&c);
    return c;
}

/* Only blanks and comments. */
static bool is_empty(const struct strbuf *text) {
    struct json_cursor c = cursor_at(text, 0);
    return c.at == c.end;
}

/* 1: more members may follow; 0: the last one; -1: error in the cursor. */
static int read_member(struct json_cursor *c, const char *begin, const char *name,
                       struct jsonc_object *ret) {
    const char *key = c->at;
    if (!json_skip_string(c))
        return -1;
    /* The name may be written with escapes. */
    json_auto_t *text = json_loadb(key, (size_t)(c->at - key), JSON_DECODE_ANY, NULL);
    bool wanted = json_is_string(text) && strcmp(json_string_value(text), name) == 0;
    c->at = key;
    if (!json_skip_name(c))
        return -1;
    (void)json_peek(c);
    struct jsonc_span value = { .from = (size_t)(c->at - begin) };
    if (!json_skip_value(c, DEPTH_MAX))
        return -1;
    value.to = (size_t)(c->at - begin);
    if (wanted && ret->value.to > 0) {
        c->problem = "a name is there twice";
        return -1;
    }
    if (wanted)
        ret->value = value;
    if (wanted || ret->value.to == 0)
        ret->key = (size_t)(key - begin);
    ret->has_members = true;
    ret->last_end = value.to;
    int more = json_skip_comma(c, '}');
    ret->has_comma = more == 1;
    return more;
}

/* The object after blanks and comments at `from`. */
static int read_object(const struct strbuf *text, size_t from, const char *name,
                       struct jsonc_object *ret, struct error *err) {
    struct json_cursor c = cursor_at(text, from);
    const char *begin = strbuf_text(text);
    struct jsonc_object found = { .all.from = (size_t)(c.at - begin) };
    int more = 1;
    if (!json_take(&c, '{'))
        return fail(text, &c, "expected an object", err);
    while (more > 0 && json_peek(&c) != '}')
        more = read_member(&c, begin, name, &found);
    if (more < 0)
        return fail(text, &c, c.problem, err);
    found.all.to = (size_t)(c.at - begin) + 1;
    *ret = found;
    return 0;
}

int jsonc_find(const struct strbuf *text, const char *outer, const char *inner,
               struct jsonc_span *ret, struct error *err) {
    struct jsonc_object root = { 0 }, part = { 0 };
    if (is_empty(text))
        return 0;
    int code = read_object(text, 0, outer, &root, err);
    if (code < 0)
        return code;
    struct json_cursor behind = cursor_at(text, root.all.to);
    if (behind.at < behind.end)
        return fail(text, &behind, "something stands behind the end", err);
    if (root.value.to == 0)
        return 0;
    code = read_object(text, root.value.from, inner, &part, err);
    if (code < 0 || part.value.to == 0)
        return code;
    *ret = part.value;
    return 1;
}

/* --- the new value: formatted and indented like its neighbors --------------------------------- */

struct style {
    const char *newline;
    struct strbuf unit; /* one level of indentation */
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool is_space(char c) {
    return is_blank(c) || c == '\r' || c == '\n';
}

/* The indentation of the line that contains `at`. */
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
        strbuf_puts(&ret->unit, "  ");
}

/* On several lines, indented by `indent`; or on one line if it is NULL. */
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
        strbuf_printf(out, "%s%s", style->newline, indent ? strbuf_text(indent) : "");
        for (at++; *at == ' '; at++)
            strbuf_puts(out, strbuf_text(&style->unit));
    }
    free(text);
}

/* --- insertion -------------------------------------------------------------------------------- */

static void copy_span(const struct strbuf *text, size_t from, size_t to, struct strbuf *out) {
    strbuf_add(out, strbuf_text(text) + from, to - from);
}

static void replace(const struct strbuf *text, const struct jsonc_object *in, const json_t *value,
                    const struct style *style, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf indent = STRBUF_INIT;
    bool lines = is_first_of_line(text, in->key) || has_newline(text, in->value);
    line_indent(text, in->key, &indent);
    copy_span(text, 0, in->value.from, out);
    print_value(value, style, lines ? &indent : NULL, out);
    copy_span(text, in->value.to, text->length, out);
}

/* After everything in the object, including comments: a comment belongs to what precedes it. */
static void insert(const struct strbuf *text, const struct jsonc_object *in, const char *name,
                   const json_t *value, const struct style *style, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf indent = STRBUF_INIT, own = STRBUF_INIT;
    json_auto_t *key = json_string(name);
    bool lines = !in->has_members || has_newline(text, in->all);
    size_t end = in->all.to - 1;
    while (end > in->all.from + 1 && is_space(text->text[end - 1]))
        end--;
    line_indent(text, in->all.from, &own);
    if (in->has_members && is_first_of_line(text, in->key)) {
        line_indent(text, in->key, &indent);
    } else {
        strbuf_printf(&indent, "%s%s", strbuf_text(&own), strbuf_text(&style->unit));
    }
    size_t comma = in->has_members && !in->has_comma ? in->last_end : end;
    copy_span(text, 0, comma, out);
    strbuf_puts(out, in->has_members && !in->has_comma ? "," : "");
    copy_span(text, comma, end, out);
    strbuf_printf(out, "%s%s", lines ? style->newline : " ", lines ? strbuf_text(&indent) : "");
    print_value(key, style, NULL, out);
    strbuf_puts(out, ": ");
    print_value(value, style, lines ? &indent : NULL, out);
    if (lines && !has_newline(text, (struct jsonc_span){ end, in->all.to }))
        strbuf_printf(out, "%s%s", style->newline, strbuf_text(&own));
    copy_span(text, end, text->length, out);
}

static int change(const struct strbuf *text, const char *outer, const char *inner,
                  const json_t *value, struct strbuf *out, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf empty = STRBUF_INIT;
    struct jsonc_object root = { 0 }, part = { 0 };
    struct jsonc_span span;
    struct style style = { .unit = STRBUF_INIT };
    int r = jsonc_find(text, outer, inner, &span, err);
    if (r == 0 && is_empty(text)) { /* keep existing comments before it */
        strbuf_add(&empty, strbuf_text(text), text->length);
        strbuf_puts(&empty,
                    text->length > 0 && empty.text[empty.length - 1] != '\n' ? "\n{}\n" : "{}\n");
        text = &empty;
    }
    if (r >= 0)
        r = read_object(text, 0, outer, &root, err);
    if (r == 0 && root.value.to > 0)
        r = read_object(text, root.value.from, inner, &part, err);
    if (r < 0)
        return r;
    find_style(text, &root, &style);
    json_auto_t *object = json_pack("{s:O}", inner, value);
    if (root.value.to == 0)
        insert(text, &root, outer, object, &style, out);
    else if (part.value.to == 0)
        insert(text, &part, inner, value, &style, out);
    else
        replace(text, &part, value, &style, out);
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
