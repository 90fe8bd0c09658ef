/* yaml.c: parses YAML into a tree with source positions.
 *
 * Built from the parser's events, not from its documents: aliases cannot multiply anything, and
 * depth and size are bounded before anything grows. libfyaml silently drops bytes that are not
 * UTF-8, so they are refused before it sees them.
 *
 * Its marks count bytes, but exclude the quotes of quoted scalars and the header of block scalars,
 * and a block collection ends only where the next token begins: all of that is corrected here, so
 * that an editor can rely on start and end. */
#include "yaml/yaml.h"

#include <ctype.h>
#include <errno.h>
#include <libfyaml.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

#define OPEN_MAX 1000 /* the parser looks ahead over open brackets, 350 bytes each */

struct reader {
    const char *name, *text;
    size_t size;
    const struct yaml_limits *limits;
    struct error *err;
    struct fy_diag *diag;
    struct fy_parser *parser;
    struct arena *arena;
    unsigned line, column; /* of the last token seen */
    size_t seen;           /* where it ends */
    unsigned levels;
    size_t nodes;
};

int yaml_fail(struct yaml_position at, struct error *err, const char *format, ...) {
    char text[ERROR_TEXT_MAX], column[16] = "";
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    if (at.column)
        (void)snprintf(column, sizeof(column), ":%u", at.column);
    return error_set(err, -EINVAL, "%.160s:%u%s: %s", at.name, at.line, column, text);
}

#define fail(r, ...)                                                                               \
    yaml_fail((struct yaml_position){ (r)->name, (r)->line, 0 }, (r)->err, __VA_ARGS__)

static int fail_syntax(struct reader *r) {
    void *iterator = NULL;
    const struct fy_diag_error *e = fy_diag_errors_iterate(r->diag, &iterator);
    if (e && e->line > 0)
        r->line = (unsigned)e->line;
    return fail(r, "not valid YAML: %.99s", e && e->msg ? e->msg : "unknown error");
}

/* --- positions -------------------------------------------------------------------------------- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The | or > of a block scalar: between the previous token and its first line. A comment with any
 * content may be in between. */
static size_t block_header(const struct reader *r, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        if (r->text[i] == '#' && i > 0 && is_blank(r->text[i - 1]))
            while (i + 1 < to && r->text[i + 1] != '\n')
                i++;
        else if (r->text[i] == '|' || r->text[i] == '>')
            return i;
    }
    return to;
}

/* The value is not written: no token, or since libfyaml 0.8 one without width. */
static bool is_unwritten(const struct yaml_node *node, const struct fy_mark *start,
                         const struct fy_mark *end) {
    return node->kind == YAML_SCALAR && node->style == YAML_PLAIN
           && start->input_pos == end->input_pos;
}

static void set_position(struct reader *r, struct fy_event *event, struct yaml_node *node) {
    struct fy_token *token = fy_event_get_token(event);
    struct fy_token *anchor = fy_event_get_anchor_token(event);
    const struct fy_mark *start = token ? fy_token_start_mark(token) : NULL;
    const struct fy_mark *end = token ? fy_token_end_mark(token) : NULL;
    size_t before = r->seen;
    node->anchored = anchor != NULL;
    if (anchor && fy_token_end_mark(anchor))
        before = r->seen = fy_token_end_mark(anchor)->input_pos;
    if (start && end && end->input_pos <= r->size && start->input_pos <= end->input_pos
        && !is_unwritten(node, start, end)) {
        r->line = (unsigned)start->line + 1;
        r->column = (unsigned)start->column + 1;
        node->start = start->input_pos;
        node->end = r->seen = end->input_pos;
    } else {
        node->start = node->end = before;
    }
    node->line = r->line;
    node->column = r->column;
    if (node->style == YAML_QUOTED && node->start > 0 && node->end < r->size) {
        node->start--;
        node->column -= node->column > 1;
        r->seen = ++node->end;
    } else if (node->style == YAML_BLOCK && node->kind == YAML_SCALAR) {
        node->start = block_header(r, before, node->start);
        while (node->end > node->start && is_blank(r->text[node->end - 1]))
            node->end--; /* trailing empty lines */
    }
}

/* --- events ----------------------------------------------------------------------------------- */

/* libfyaml 0.7.12 leaks memory on two consecutive escaped quotes inside single quotes. */
static bool is_leaky(const struct reader *r, struct fy_token *token) {
    const struct fy_mark *start = fy_token_start_mark(token), *end = fy_token_end_mark(token);
    if (fy_token_scalar_style(token) != FYSS_SINGLE_QUOTED || !start || !end
        || end->input_pos > r->size)
        return false;
    return memmem(r->text + start->input_pos, end->input_pos - start->input_pos, "''''", 4);
}

static enum yaml_style style_of(struct fy_event *event) {
    if (event->type == FYET_MAPPING_START || event->type == FYET_SEQUENCE_START) {
        const struct fy_mark *start = fy_token_start_mark(fy_event_get_token(event));
        const struct fy_mark *end = fy_token_end_mark(fy_event_get_token(event));
        return start && end && end->input_pos > start->input_pos ? YAML_FLOW : YAML_BLOCK;
    }
    enum fy_scalar_style style = fy_token_scalar_style(event->scalar.value);
    if (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED)
        return YAML_QUOTED;
    return style == FYSS_LITERAL || style == FYSS_FOLDED ? YAML_BLOCK : YAML_PLAIN;
}

static int take_text(struct reader *r, struct fy_event *event, struct yaml_node *node) {
    size_t size = 0;
    if (is_leaky(r, event->scalar.value))
        return fail(r, "two quotes in a row inside single quotes; use double quotes around them");
    const char *text = fy_token_get_text(event->scalar.value, &size);
    if (text && memchr(text, '\0', size))
        return fail(r, "a text contains a NUL character");
    node->length = text ? size : 0;
    node->text = arena_strndup(r->arena, text ? text : "", node->length);
    return 0;
}

/* The node that an event begins. */
static int take_node(struct reader *r, struct fy_event *event, struct yaml_node **ret_node) {
    struct yaml_node *node = arena_alloc(r->arena, sizeof(*node));
    node->kind = event->type == FYET_MAPPING_START    ? YAML_MAPPING
                 : event->type == FYET_SEQUENCE_START ? YAML_LIST
                                                      : YAML_SCALAR;
    node->text = "";
    if (event->type != FYET_ALIAS)
        node->style = style_of(event);
    set_position(r, event, node);
    if (event->type == FYET_ALIAS)
        return fail(r, "aliases (*name) are not supported; write the value out");
    if (fy_event_get_tag_token(event))
        return fail(r, "tags (!name) are not supported");
    if (++r->nodes > r->limits->nodes)
        return fail(r, "more than %zu values", r->limits->nodes);
    *ret_node = node;
    return node->kind == YAML_SCALAR ? take_text(r, event, node) : 0;
}

static bool begins_node(enum fy_event_type type) {
    return type == FYET_SCALAR || type == FYET_ALIAS || type == FYET_MAPPING_START
           || type == FYET_SEQUENCE_START;
}

/* The end of a collection or the document. That of a block collection has no width, and its mark is
 * where the next token begins, which is not read yet. */
static void take_end(struct reader *r, struct fy_event *event, size_t *ret_end) {
    struct fy_token *token = fy_event_get_token(event);
    const struct fy_mark *start = token ? fy_token_start_mark(token) : NULL;
    const struct fy_mark *end = token ? fy_token_end_mark(token) : NULL;
    if (!start || !end || end->input_pos > r->size || end->input_pos <= start->input_pos)
        return;
    r->line = (unsigned)start->line + 1;
    *ret_end = r->seen = end->input_pos;
}

/* The next node, or NULL and *ret_type. `ret_end`: position of a closing bracket. */
static int next_event(struct reader *r, struct yaml_node **ret_node, enum fy_event_type *ret_type,
                      size_t *ret_end) {
    struct fy_event *event = fy_parser_parse(r->parser);
    if (!event)
        return fail_syntax(r);
    int result = 0;
    *ret_type = event->type;
    *ret_node = NULL;
    if (begins_node(event->type))
        result = take_node(r, event, ret_node);
    else
        take_end(r, event, ret_end);
    fy_parser_event_free(r->parser, event);
    return result;
}

/* --- the tree --------------------------------------------------------------------------------- */

static int read_children(struct reader *r, struct yaml_node *parent);

/* The next node with its descendants. NULL: the parent ends here, at *ret_end. */
static int read_node(struct reader *r, struct yaml_node **ret_node, size_t *ret_end) {
    enum fy_event_type type = FYET_NONE;
    int result = next_event(r, ret_node, &type, ret_end);
    if (result < 0 || !*ret_node || (*ret_node)->kind == YAML_SCALAR)
        return result;
    if (r->levels == r->limits->levels)
        return fail(r, "more than %u levels", r->limits->levels);
    r->levels++;
    result = read_children(r, *ret_node);
    r->levels--;
    return result;
}

static int check_key(struct reader *r, const struct yaml_node *key) {
    r->line = key->line;
    if (key->kind != YAML_SCALAR)
        return fail(r, "expected a key, got a list or a mapping");
    return key->length == 0 ? fail(r, "expected a key, got nothing") : 0;
}

static int read_children(struct reader *r, struct yaml_node *parent) {
    struct yaml_node **link = &parent->first;
    size_t last = parent->end;
    for (;;) {
        struct yaml_node *child = NULL, *value = NULL;
        size_t end = 0;
        int result = read_node(r, &child, &end);
        if (result < 0)
            return result;
        if (!child) {
            parent->end = parent->style == YAML_FLOW ? end : last;
            return 0;
        }
        if (parent->kind == YAML_MAPPING) {
            result = check_key(r, child);
            if (result >= 0)
                result = read_node(r, &value, &end);
            if (result < 0)
                return result;
            child->value = value;
        }
        last = child->value ? child->value->end : child->end;
        *link = child;
        link = &child->next;
        parent->count++;
    }
}

static int read_stream(struct reader *r, struct yaml_node **ret_root) {
    struct yaml_node *node = NULL;
    enum fy_event_type type = FYET_NONE;
    size_t end = 0;
    int result = next_event(r, &node, &type, &end); /* the start of the stream */
    if (result >= 0)
        result = next_event(r, &node, &type, &end);
    if (result < 0 || type == FYET_STREAM_END)
        return result;
    result = read_node(r, ret_root, &end);
    if (result >= 0)
        result = next_event(r, &node, &type, &end); /* the end of the document */
    size_t seen = r->seen;
    if (result >= 0)
        result = next_event(r, &node, &type, &end);
    if (result < 0 || type == FYET_STREAM_END)
        return result;
    if (r->seen == seen) /* no mark: the line is that of its first node */
        (void)next_event(r, &node, &type, &end);
    return fail(r, "expected one document, got a second one");
}

/* --- the text --------------------------------------------------------------------------------- */

/* Not UTF-8, or a control character that YAML does not allow. */
static bool is_bad(const char *text, size_t length) {
    unsigned char c = (unsigned char)*text;
    return length == 0 || c == 0x7f || (c < ' ' && c != '\n' && c != '\t' && c != '\r');
}

static int check_text(struct reader *r) {
    if (r->size > r->limits->bytes)
        return error_set(r->err, -EINVAL, "%.160s: larger than %zu bytes", r->name,
                         r->limits->bytes);
    int open = 0;
    for (size_t i = 0, length; i < r->size; i += length) {
        length = utf8_length(r->text + i, r->size - i);
        if (is_bad(r->text + i, length))
            return fail(r, "not UTF-8 text (byte 0x%02x)", (unsigned char)r->text[i]);
        open += r->text[i] == '[' || r->text[i] == '{';
        open -= r->text[i] == ']' || r->text[i] == '}';
        if (open > OPEN_MAX)
            return fail(r, "more than %d open brackets", OPEN_MAX);
        r->line += r->text[i] == '\n';
    }
    r->line = 1;
    return 0;
}

static int parse(struct reader *r, struct yaml_node **ret_root) {
    struct fy_diag_cfg diag_config;
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = NULL;
    r->diag = fy_diag_create(&diag_config);
    if (!r->diag)
        return fail(r, "the YAML parser could not be made");
    fy_diag_set_collect_errors(r->diag, true);
    struct fy_parse_cfg config = {
        .flags = FYPCF_QUIET | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE,
        .diag = r->diag,
    };
    r->parser = fy_parser_create(&config);
    if (!r->parser || fy_parser_set_string(r->parser, r->text, r->size) < 0)
        return fail(r, "the YAML parser could not be made");
    return read_stream(r, ret_root);
}

int yaml_parse(const char *name, const char *text, size_t size, const struct yaml_limits *limits,
               struct yaml *ret_yaml, struct error *err) {
    struct yaml yaml = { .root = NULL };
    struct reader r = { .name = name,
                        .text = text,
                        .size = size,
                        .limits = limits,
                        .err = err,
                        .arena = &yaml.arena,
                        .line = 1,
                        .column = 1 };
    int result = check_text(&r);
    if (result >= 0)
        result = parse(&r, &yaml.root);
    if (r.parser)
        fy_parser_destroy(r.parser);
    if (r.diag)
        fy_diag_destroy(r.diag);
    if (result < 0) {
        yaml_finish(&yaml);
        return result;
    }
    if (yaml.root && yaml_type(yaml.root) == YAML_NULL)
        yaml.root = NULL;
    *ret_yaml = yaml;
    return 0;
}

void yaml_finish(struct yaml *yaml) {
    arena_finish(&yaml->arena);
    *yaml = (struct yaml){ .root = NULL };
}

/* --- types of plain scalars ------------------------------------------------------------------- */

/* The core schema of YAML 1.2, slightly stricter: numbers in other bases and infinities are strings
 * here, because no caller needs them. */

static bool is_one_of(const char *text, const char *lower, const char *title, const char *upper) {
    return strcmp(text, lower) == 0 || strcmp(text, title) == 0 || strcmp(text, upper) == 0;
}

/* [-+] digits [. digits] [e [-+] digits], with a point or an exponent. */
static bool looks_real(const char *text) {
    text += *text == '-' || *text == '+';
    size_t before = strspn(text, "0123456789"), after = 0;
    text += before;
    bool point = *text == '.';
    if (point)
        after = strspn(++text, "0123456789");
    text += after;
    if (before + after == 0)
        return false;
    if (*text != 'e' && *text != 'E')
        return point && *text == '\0';
    text++;
    text += *text == '-' || *text == '+';
    return *text && strspn(text, "0123456789") == strlen(text);
}

enum yaml_type yaml_type(const struct yaml_node *scalar) {
    const char *text = scalar->text;
    int64_t whole;
    if (scalar->kind != YAML_SCALAR || scalar->style != YAML_PLAIN)
        return YAML_TEXT;
    if (*text == '\0' || strcmp(text, "~") == 0 || is_one_of(text, "null", "Null", "NULL"))
        return YAML_NULL;
    if (is_one_of(text, "true", "True", "TRUE"))
        return YAML_TRUE;
    if (is_one_of(text, "false", "False", "FALSE"))
        return YAML_FALSE;
    if (number_parse_int(text, &whole, NULL) == 0)
        return YAML_INTEGER;
    return looks_real(text) && isfinite(strtod(text, NULL)) ? YAML_REAL : YAML_TEXT;
}

int64_t yaml_integer(const struct yaml_node *scalar) {
    int64_t value = 0;
    (void)number_parse_int(scalar->text, &value, NULL);
    return value;
}

double yaml_real(const struct yaml_node *scalar) {
    return strtod(scalar->text, NULL);
}

static json_t *scalar_json(const struct yaml_node *node, bool typed) {
    enum yaml_type type = node ? yaml_type(node) : YAML_NULL;
    if (type == YAML_NULL)
        return json_null();
    if (typed && (type == YAML_TRUE || type == YAML_FALSE))
        return json_boolean(type == YAML_TRUE);
    if (typed && type == YAML_INTEGER)
        return json_integer(yaml_integer(node));
    return typed && type == YAML_REAL ? json_real(yaml_real(node))
                                      : json_stringn(node->text, node->length);
}

int yaml_json(const char *name, const struct yaml_node *node, bool typed, json_t **ret_value,
              struct error *err) {
    if (!node || node->kind == YAML_SCALAR) {
        *ret_value = scalar_json(node, typed);
        return 0;
    }
    bool is_list = node->kind == YAML_LIST;
    json_auto_t *all = is_list ? json_array() : json_object();
    for (const struct yaml_node *at = node->first; at; at = at->next) {
        json_t *one = NULL;
        int r = 0;
        if (name && !is_list && json_object_get(all, at->text))
            r = yaml_fail((struct yaml_position){ name, at->line, at->column }, err,
                          "'%.60s' is given twice", at->text);
        else
            r = yaml_json(name, is_list ? at : at->value, typed, &one, err);
        if (r < 0)
            return r;
        if (is_list)
            json_array_append_new(all, one);
        else
            json_object_set_new(all, at->text, one);
    }
    *ret_value = json_incref(all);
    return 0;
}

struct yaml_noun yaml_noun(const struct yaml_node *node) {
    struct yaml_noun ret = { "" };
    if (node->kind == YAML_SCALAR && yaml_type(node) != YAML_NULL)
        (void)snprintf(ret.text, sizeof(ret.text), "'%s'", utf8_quote(node->text).text);
    else
        (void)snprintf(ret.text, sizeof(ret.text), "%s",
                       node->kind == YAML_LIST      ? "a list"
                       : node->kind == YAML_MAPPING ? "a mapping"
                                                    : "nothing");
    return ret;
}
