/* config_read.c: from a YAML file to assignments.
 *
 * The parser's events are read, never a tree: nothing can be multiplied by aliases, a duplicate key
 * is found by the entry it set, and depth is bounded before anything recurses. The whole file is
 * read before the first value is set, so that `preset` comes first and a syntax error changes
 * nothing. libfyaml drops bytes that are not UTF-8 without a word: they are refused before it sees
 * them. */
#include <errno.h>
#include <libfyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "config/config_internal.h"
#include "os/files.h"

#define FILE_MAX  (1u << 20)
#define DEPTH_MAX ARRAY_SIZE(((struct setting_joints *)NULL)->at)
#define KEY_MAX   512  /* of all levels together */
#define OPEN_MAX  1000 /* the parser looks ahead over open brackets, 350 bytes each */

/* What of an event is used; the text lives in the reader's arena. */
struct event {
    enum fy_event_type type;
    unsigned line; /* 0: the token is not in the file */
    const char *text;
    bool is_null; /* a scalar that says nothing: empty, ~ or null */
};

struct reader {
    struct config *config;
    const char *name, *text;
    size_t size;
    struct error *err;
    struct fy_diag *diag;
    struct fy_parser *parser;
    struct arena arena;
    struct assignment *items;
    size_t count, capacity;
    struct strbuf path; /* the keys down to here, joined by dots */
    struct setting_joints joints;
    unsigned line; /* of the last token seen */
};

static int fail(struct reader *r, const char *format, ...) _printf_(2, 3);

static int fail(struct reader *r, const char *format, ...) {
    char text[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return error_set(r->err, -EINVAL, "%.160s:%u: %s", r->name, r->line, text);
}

static int fail_syntax(struct reader *r) {
    void *iterator = NULL;
    const struct fy_diag_error *e = fy_diag_errors_iterate(r->diag, &iterator);
    if (e && e->line > 0)
        r->line = (unsigned)e->line;
    return fail(r, "not valid YAML: %s", e && e->msg ? config_quote(e->msg).text : "unknown error");
}

/* --- events ---------------------------------------------------------------------------------- */

static bool says_nothing(enum fy_scalar_style style, const char *text) {
    return style == FYSS_PLAIN
           && (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

/* libfyaml 0.7.12 loses memory on two escaped quotes in a row inside single quotes. */
static bool is_leaky(const struct reader *r, struct fy_token *token) {
    const struct fy_mark *start = fy_token_start_mark(token), *end = fy_token_end_mark(token);
    if (fy_token_scalar_style(token) != FYSS_SINGLE_QUOTED || !start || !end
        || end->input_pos > r->size)
        return false;
    return memmem(r->text + start->input_pos, end->input_pos - start->input_pos, "''''", 4);
}

static int take_scalar(struct reader *r, struct fy_event *from, struct event *ret) {
    size_t size = 0;
    if (is_leaky(r, from->scalar.value))
        return fail(r, "two quotes in a row inside single quotes; use double quotes around them");
    const char *text = fy_token_get_text(from->scalar.value, &size);
    if (text && memchr(text, '\0', size))
        return fail(r, "a text contains a NUL character");
    ret->text = arena_strndup(&r->arena, text ? text : "", text ? size : 0);
    ret->is_null = says_nothing(fy_token_scalar_style(from->scalar.value), ret->text);
    return 0;
}

static int take_event(struct reader *r, struct fy_event *from, struct event *ret) {
    struct fy_token *token = fy_event_get_token(from);
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    *ret = (struct event){ .type = from->type, .text = "" };
    if (mark)
        r->line = (unsigned)mark->line + 1;
    ret->line = r->line;
    if (from->type == FYET_ALIAS)
        return fail(r, "aliases (*name) are not supported; write the value out");
    if (fy_event_get_tag_token(from))
        return fail(r, "tags (!name) are not supported");
    return from->type == FYET_SCALAR ? take_scalar(r, from, ret) : 0;
}

static int next_event(struct reader *r, struct event *ret) {
    struct fy_event *event = fy_parser_parse(r->parser);
    if (!event)
        return fail_syntax(r);
    int result = take_event(r, event, ret);
    fy_parser_event_free(r->parser, event);
    return result;
}

/* --- values ---------------------------------------------------------------------------------- */

static void add_assignment(struct reader *r, const char *value, unsigned line) {
    struct setting_joints *joints = arena_alloc(&r->arena, sizeof(*joints));
    *joints = r->joints;
    r->items = xgrow(r->items, &r->capacity, r->count + 1, sizeof(*r->items));
    r->items[r->count++] = (struct assignment){
        .key = arena_strndup(&r->arena, r->path.text, r->path.length),
        .joints = joints,
        .value = value,
        .line = line,
    };
}

static int refuse_shape(struct reader *r, const char *got) {
    struct setting_key key = settings_match(strbuf_text(&r->path), &r->joints);
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    if (key.match == MATCH_SETTING)
        setting_expected(key.setting, &expected);
    else
        strbuf_puts(&expected, "keys below it");
    return fail(r, "key '%s': expected %s, got %s", config_quote(strbuf_text(&r->path)).text,
                strbuf_text(&expected), got);
}

/* A list is an order; its items become one text. */
static int read_list(struct reader *r, unsigned line) {
    struct setting_key key = settings_match(strbuf_text(&r->path), &r->joints);
    _cleanup_(strbuf_finish) struct strbuf items = STRBUF_INIT;
    struct event event = { 0 };
    if (key.match == MATCH_NOTHING) { /* the key is the mistake, not the list */
        add_assignment(r, NULL, line);
        (void)config_assign(r->config, &r->items[r->count - 1], r->err);
        return error_prefix(r->err, "%.160s:%u", r->name, line);
    }
    if (key.match != MATCH_SETTING || key.setting->type != SETTING_ORDER)
        return refuse_shape(r, "a list");
    for (;;) {
        int result = next_event(r, &event);
        if (result < 0)
            return result;
        if (event.type == FYET_SEQUENCE_END)
            break;
        if (event.type != FYET_SCALAR)
            return refuse_shape(r, "a list in a list");
        strbuf_printf(&items, "%s%s", items.length ? ", " : "", event.text);
    }
    add_assignment(r, arena_strndup(&r->arena, strbuf_text(&items), items.length), line);
    return 0;
}

static int read_mapping(struct reader *r);

static int read_value(struct reader *r, unsigned key_line) {
    struct event event = { 0 };
    int result = next_event(r, &event);
    if (result < 0)
        return result;
    if (event.type == FYET_SCALAR) {
        add_assignment(r, event.is_null ? NULL : event.text, key_line);
        return 0;
    }
    if (event.type == FYET_SEQUENCE_START)
        return read_list(r, key_line);
    struct setting_key key = settings_match(strbuf_text(&r->path), &r->joints);
    r->line = key_line;
    if (key.match == MATCH_SETTING)
        return refuse_shape(r, "a mapping");
    size_t before = r->count;
    result = read_mapping(r);
    if (result >= 0 && r->count == before) /* {}: only names something */
        add_assignment(r, NULL, key_line);
    return result;
}

static int push_key(struct reader *r, const struct event *key) {
    if (key->type != FYET_SCALAR)
        return fail(r, "expected a key, got a list or a mapping");
    if (!key->text || *key->text == '\0')
        return fail(r, "expected a key, got nothing");
    if (r->path.length + strlen(key->text) + 1 > KEY_MAX)
        return fail(r, "a key is longer than %d bytes", KEY_MAX);
    if (r->path.length > 0) {
        if (r->joints.count == DEPTH_MAX)
            return fail(r, "more than %zu levels", DEPTH_MAX);
        r->joints.at[r->joints.count++] = r->path.length;
        strbuf_putc(&r->path, '.');
    }
    strbuf_puts(&r->path, key->text);
    return 0;
}

/* From behind its start to its end. */
static int read_mapping(struct reader *r) {
    struct setting_joints joints = r->joints;
    size_t length = r->path.length;
    for (;;) {
        struct event key = { 0 };
        int result = next_event(r, &key);
        if (result < 0 || key.type == FYET_MAPPING_END)
            return result;
        result = push_key(r, &key);
        if (result >= 0)
            result = read_value(r, key.line);
        if (result < 0)
            return result;
        r->joints = joints;
        r->path.length = length;
        if (r->path.text)
            r->path.text[length] = '\0';
    }
}

/* --- the file -------------------------------------------------------------------------------- */

static int read_root(struct reader *r) {
    struct event event = { 0 };
    int result = next_event(r, &event);
    if (result < 0)
        return result;
    if (event.type == FYET_MAPPING_START)
        return read_mapping(r);
    if (event.type != FYET_SCALAR)
        return fail(r, "expected keys and values, got a list");
    if (event.is_null)
        return 0;
    return fail(r, "expected keys and values, got '%s'", config_quote(event.text).text);
}

static int read_stream(struct reader *r) {
    struct event event = { 0 };
    int result = next_event(r, &event); /* the start of the stream */
    if (result >= 0)
        result = next_event(r, &event);
    if (result < 0 || event.type == FYET_STREAM_END)
        return result;
    result = read_root(r);
    if (result >= 0)
        result = next_event(r, &event); /* the end of the document */
    if (result >= 0)
        result = next_event(r, &event);
    if (result >= 0 && event.type != FYET_STREAM_END)
        return fail(r, "expected one document, got a second one");
    return result;
}

static int apply(struct reader *r, struct assignment *a) {
    char origin[128];
    const char *slash = strrchr(r->name, '/');
    (void)snprintf(origin, sizeof(origin), "%.100s:%u", slash ? slash + 1 : r->name, a->line);
    a->origin = origin;
    if (config_assign(r->config, a, r->err) < 0)
        return error_prefix(r->err, "%.160s:%u", r->name, a->line);
    return 0;
}

/* The preset wipes what was there, so it goes first wherever it stands. */
static int apply_all(struct reader *r) {
    r->config->reading++;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < r->count; i++) {
            bool is_preset = strcmp(r->items[i].key, "preset") == 0;
            int result = is_preset == (pass == 0) ? apply(r, &r->items[i]) : 0;
            if (result < 0)
                return result;
        }
    return 0;
}

static int parse(struct reader *r) {
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
    return read_stream(r);
}

/* Length of the character at text, or 0: not UTF-8, or a control character YAML does not allow. */
static size_t character_length(const unsigned char *text, size_t left) {
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char c = text[0];
    if (c < 0x80)
        return c >= ' ' && c != 0x7f ? 1 : c == '\n' || c == '\t' || c == '\r';
    size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc0 || c >= 0xf8 || length > left)
        return 0;
    uint32_t value = c & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (text[i] & 0x3fu);
    }
    bool surrogate = value >= 0xd800 && value < 0xe000;
    return value < smallest[length] || value > 0x10ffff || surrogate ? 0 : length;
}

static int check_text(struct reader *r) {
    if (r->size > FILE_MAX)
        return error_set(r->err, -EINVAL, "%.160s: larger than %u bytes", r->name, FILE_MAX);
    int open = 0;
    for (size_t i = 0; i < r->size;) {
        size_t length = character_length((const unsigned char *)r->text + i, r->size - i);
        if (length == 0)
            return fail(r, "not UTF-8 text (byte 0x%02x)", (unsigned char)r->text[i]);
        open += r->text[i] == '[' || r->text[i] == '{';
        open -= r->text[i] == ']' || r->text[i] == '}';
        if (open > OPEN_MAX)
            return fail(r, "more than %d open brackets", OPEN_MAX);
        r->line += r->text[i] == '\n';
        i += length;
    }
    r->line = 1;
    return 0;
}

int config_read_text(struct config *config, const char *name, const char *text, size_t size,
                     struct error *err) {
    struct error unread = { 0 };
    struct reader r = { .config = config,
                        .name = name,
                        .text = text,
                        .size = size,
                        .err = err ? err : &unread,
                        .line = 1 };
    int result = check_text(&r);
    if (result >= 0)
        result = parse(&r);
    if (result >= 0)
        result = apply_all(&r);
    if (r.parser)
        fy_parser_destroy(r.parser);
    if (r.diag)
        fy_diag_destroy(r.diag);
    strbuf_finish(&r.path);
    free(r.items);
    arena_finish(&r.arena);
    return result < 0 ? result : 0;
}

int config_read_file(struct config *config, const char *path, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int result = file_read(path, FILE_MAX, &text, err);
    if (result == -EFBIG && err)
        result = err->code = -EINVAL; /* as for a text: the input is wrong */
    return result < 0 ? result
                      : config_read_text(config, path, strbuf_text(&text), text.length, err);
}
