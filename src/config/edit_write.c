/* edit_write.c: the new text of a file, one change at a time.
 *
 * Everything is cut and joined by bytes: what is not part of the change is copied, never printed
 * again. What is written follows its neighbours: brackets in brackets, quotes in JSON, the same
 * indentation and line ends. */
#include <string.h>

#include "base/arena.h"
#include "base/json_write.h"
#include "base/macros.h"
#include "config/config_edit_internal.h"
#include "config/words.h"

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* --- scalars --------------------------------------------------------------------------------- */

/* Nothing but itself, in brackets and outside. */
static bool is_plain(const char *text) {
    static const char *const words[] = { "null", "Null", "NULL" };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(text, words[i]) == 0)
            return false;
    size_t sign = strspn(text, "-");
    return sign <= 2 && text[sign] && strchr(ALNUM "/_", text[sign])
           && strspn(text, ALNUM "_./+-@=%") == strlen(text);
}

/* JSON has no other plain words. */
static bool is_json(const char *text) {
    size_t digits = strspn(text, "0123456789");
    bool number = digits > 0 && text[digits] == '\0' && (*text != '0' || digits == 1);
    return number || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

static void print_scalar(const char *text, bool json, struct strbuf *out) {
    if (json ? is_json(text) : is_plain(text)) {
        strbuf_puts(out, text);
        return;
    }
    struct json_writer w; /* what JSON escapes, YAML reads */
    json_write_init(&w, out, false);
    json_write_string(&w, text);
}

static void print_words(const char *text, bool json, struct strbuf *out) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    struct words words = { 0 };
    (void)words_split(text, &arena, &words); /* was checked */
    strbuf_putc(out, '[');
    for (size_t i = 0; i < words.count; i++) {
        strbuf_puts(out, i ? ", " : "");
        if (json || !is_plain(words.items[i])) {
            struct json_writer w;
            json_write_init(&w, out, false);
            json_write_string(&w, words.items[i]);
        } else {
            strbuf_puts(out, words.items[i]);
        }
    }
    strbuf_putc(out, ']');
}

static void print_value(const struct edit_target *target, const char *value, bool json,
                        struct strbuf *out) {
    bool is_list = target->match.setting->type == SETTING_WORDS
                   || (target->match.setting->type == SETTING_ORDER && *value == '[');
    if (is_list)
        print_words(value, json, out);
    else
        print_scalar(value, json, out);
}

/* --- places in the text ---------------------------------------------------------------------- */

static const char *bytes(const struct edit_file *file) {
    return strbuf_text(file->text);
}

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

static size_t skip_spaces(const struct edit_file *file, size_t at) {
    while (is_space(bytes(file)[at]))
        at++;
    return at;
}

/* Where the line begins; a byte order mark is no part of the first. */
static size_t line_start(const struct edit_file *file, size_t at) {
    while (at > 0 && bytes(file)[at - 1] != '\n')
        at--;
    return at == 0 && strncmp(bytes(file), "\xef\xbb\xbf", 3) == 0 ? 3 : at;
}

/* Behind the newline, or the end of the text. */
static size_t line_end(const struct edit_file *file, size_t at) {
    const char *newline = memchr(bytes(file) + at, '\n', file->text->length - at);
    return newline ? (size_t)(newline - bytes(file)) + 1 : file->text->length;
}

static const char *newline_of(const struct edit_file *file) {
    const char *newline = memchr(bytes(file), '\n', file->text->length);
    return newline && newline > bytes(file) && newline[-1] == '\r' ? "\r\n" : "\n";
}

/* Is the node the first thing of its line? */
static bool begins_line(const struct edit_file *file, size_t at) {
    size_t start = line_start(file, at);
    return skip_spaces(file, start) >= at;
}

static bool is_written(const struct yaml_node *value) {
    return value->end > value->start;
}

/* Behind the colon of a key; 0: there is none, as in {a, b} or behind a question mark. */
static size_t colon_end(const struct edit_file *file, const struct yaml_node *key) {
    size_t at = skip_spaces(file, key->end);
    return bytes(file)[at] == ':' ? at + 1 : 0;
}

/* Where a key with its value ends. */
static size_t pair_end(const struct edit_file *file, const struct yaml_node *key) {
    size_t colon = colon_end(file, key);
    if (is_written(key->value) || key->value->anchored)
        return key->value->end;
    return colon ? colon : key->end;
}

/* The brackets are JSON if its keys are in quotes. */
static bool holds_json(const struct yaml_node *mapping) {
    return mapping->style == YAML_FLOW && mapping->first && mapping->first->style == YAML_QUOTED;
}

/* --- cutting and joining --------------------------------------------------------------------- */

/* Copies up to `at`, from where the last one ended. */
struct copy {
    const struct edit_file *file;
    size_t done;
};

static void copy_to(struct copy *copy, size_t at) {
    strbuf_add(copy->file->out, bytes(copy->file) + copy->done, at - copy->done);
    copy->done = at;
}

static void copy_rest(struct copy *copy) {
    copy_to(copy, copy->file->text->length);
}

/* `text` in the place of [from, to). */
static bool splice(const struct edit_file *file, size_t from, size_t to, const char *text) {
    struct copy copy = { .file = file };
    copy_to(&copy, from);
    strbuf_puts(file->out, text);
    copy.done = to;
    copy_rest(&copy);
    return true;
}

/* --- replacing ------------------------------------------------------------------------------- */

/* Behind the colon of a key that has no value yet, or has only an anchor. */
static bool put_behind_key(const struct edit_file *file, const struct yaml_node *mapping,
                           const struct yaml_node *key, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf with = STRBUF_INIT;
    size_t colon = colon_end(file, key);
    if (!colon && mapping->style != YAML_FLOW)
        return false;
    strbuf_printf(&with, "%s %s", colon ? "" : ":", text);
    size_t at = pair_end(file, key);
    char next = bytes(file)[at];
    if (next == '#' || (next && !is_space(next) && !strchr(",}\r\n", next)))
        strbuf_putc(&with, ' ');
    return splice(file, at, at, strbuf_text(&with));
}

/* A list by indentation stands in the lines below its key: these go, and the value is put behind
 * the key, before its comment. */
static bool replace_block_list(const struct edit_file *file, const struct yaml_node *key,
                               const char *text) {
    size_t colon = colon_end(file, key), start = line_start(file, key->value->start);
    if (!colon || start < colon || !begins_line(file, key->value->start))
        return false;
    struct copy copy = { .file = file };
    copy_to(&copy, colon);
    strbuf_printf(file->out, " %s", text);
    copy_to(&copy, start);
    copy.done = line_end(file, key->value->end);
    copy_rest(&copy);
    return true;
}

bool edit_replace(const struct edit_file *file, const struct edit_target *target,
                  const struct edit_place *place, const char *value) {
    const struct yaml_node *old = place->key->value;
    bool json = holds_json(place->mapping);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    print_value(target, value, json, &text);
    if (old->kind == YAML_MAPPING)
        return false;
    if (!is_written(old))
        return put_behind_key(file, place->mapping, place->key, strbuf_text(&text));
    if (old->kind == YAML_LIST && old->style == YAML_BLOCK)
        return replace_block_list(file, place->key, strbuf_text(&text));
    return splice(file, old->start, old->end, strbuf_text(&text));
}

/* --- removing -------------------------------------------------------------------------------- */

static bool remove_lines(const struct edit_file *file, const struct yaml_node *key) {
    size_t start = line_start(file, key->start);
    if (!begins_line(file, key->start) || !colon_end(file, key))
        return false; /* an anchor or a question mark before it */
    return splice(file, start, line_end(file, pair_end(file, key)), "");
}

/* The next comma behind `at`, not one in a comment; 0: a bracket comes first. */
static size_t comma_behind(const struct edit_file *file, size_t at) {
    const char *text = bytes(file);
    for (; text[at] && text[at] != '}'; at++) {
        if (text[at] == ',')
            return at;
        if (text[at] == '#')
            at = line_end(file, at) - 1;
    }
    return 0;
}

static bool remove_in_brackets(const struct edit_file *file, const struct yaml_node *mapping,
                               const struct yaml_node *key) {
    const struct yaml_node *before = NULL;
    for (const struct yaml_node *k = mapping->first; k != key; k = k->next)
        before = k;
    size_t end = pair_end(file, key), comma = comma_behind(file, end);
    struct copy copy = { .file = file };
    if (key->next || !before) { /* with the comma behind it */
        copy_to(&copy, key->start);
        if (comma) {
            size_t next = skip_spaces(file, comma + 1);
            end = strchr("#\r\n", bytes(file)[next]) ? comma + 1 : next;
        }
    } else { /* the last one: with the comma before it */
        size_t last = pair_end(file, before), gone = comma_behind(file, last);
        if (!gone)
            return false;
        copy_to(&copy, gone);
        bool same_line = skip_spaces(file, gone + 1) == key->start;
        copy.done = same_line ? key->start : gone + 1;
        copy_to(&copy, key->start);
    }
    copy.done = end;
    copy_rest(&copy);
    return true;
}

bool edit_remove(const struct edit_file *file, const struct edit_place *place) {
    if (place->gone_mapping->style == YAML_FLOW)
        return remove_in_brackets(file, place->gone_mapping, place->gone_key);
    return remove_lines(file, place->gone_key);
}

/* --- adding ---------------------------------------------------------------------------------- */

/* How far the person who wrote this indents: as in the first level below the top. */
static size_t indentation(const struct yaml_node *root) {
    for (const struct yaml_node *key = root ? root->first : NULL; key; key = key->next)
        if (key->value->kind == YAML_MAPPING && key->value->style == YAML_BLOCK
            && key->value->column > root->column)
            return key->value->column - root->column;
    return 2;
}

/* The levels of the key from `depth` on, in brackets: "limits: {runs: 4}". */
static void print_in_brackets(const struct edit_target *target, size_t depth, const char *value,
                              bool json, struct strbuf *out) {
    size_t closing = 0;
    for (size_t i = 0; i <= target->levels.count; i++) {
        size_t end = i < target->levels.count ? target->levels.at[i] : strlen(target->key);
        if (end < depth)
            continue;
        _cleanup_(strbuf_finish) struct strbuf level = STRBUF_INIT;
        strbuf_add(&level, target->key + depth, end - depth);
        print_scalar(strbuf_text(&level), json, out);
        bool is_last = target->key[end] == '\0';
        strbuf_puts(out, is_last ? ": " : ": {");
        closing += !is_last;
        depth = end + 1;
    }
    print_value(target, value, json, out);
    strbuf_repeat(out, "}", closing);
}

/* The same as lines, the first indented by `column` spaces; without the last line end. */
static void print_lines(const struct edit_file *file, const struct edit_target *target,
                        size_t depth, size_t column, struct strbuf *out) {
    size_t step = indentation(file->root);
    for (size_t i = 0; i <= target->levels.count; i++) {
        size_t end = i < target->levels.count ? target->levels.at[i] : strlen(target->key);
        if (end < depth)
            continue;
        _cleanup_(strbuf_finish) struct strbuf level = STRBUF_INIT;
        strbuf_add(&level, target->key + depth, end - depth);
        strbuf_repeat(out, " ", column);
        print_scalar(strbuf_text(&level), false, out);
        strbuf_puts(out, target->key[end] ? ":" : ": ");
        if (target->key[end])
            strbuf_puts(out, newline_of(file));
        depth = end + 1;
        column += step;
    }
}

/* Lines behind the line of `at`. A text without a last line end stays without one. */
static bool add_lines(const struct edit_file *file, size_t at, const char *lines) {
    size_t end = line_end(file, at);
    bool open = end > 0 && bytes(file)[end - 1] != '\n';
    struct copy copy = { .file = file };
    copy_to(&copy, end);
    if (open)
        strbuf_puts(file->out, newline_of(file));
    strbuf_puts(file->out, lines);
    if (!open)
        strbuf_puts(file->out, newline_of(file));
    copy_rest(&copy);
    return true;
}

static bool add_in_brackets(const struct edit_file *file, const struct yaml_node *mapping,
                            const char *pair) {
    const struct yaml_node *last = mapping->first;
    while (last && last->next)
        last = last->next;
    if (!last)
        return splice(file, mapping->start + 1, mapping->start + 1, pair);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_putc(&text, ',');
    if (begins_line(file, last->start)) {
        size_t start = line_start(file, last->start);
        strbuf_puts(&text, newline_of(file));
        strbuf_add(&text, bytes(file) + start, last->start - start);
    } else {
        strbuf_putc(&text, ' ');
    }
    strbuf_puts(&text, pair);
    size_t at = pair_end(file, last);
    return splice(file, at, at, strbuf_text(&text));
}

/* Below a key that has nothing below it yet. */
static bool add_below_key(const struct edit_file *file, const struct edit_target *target,
                          const struct edit_place *place, const char *value) {
    const struct yaml_node *key = place->holder_key;
    bool in_brackets = place->holder->style == YAML_FLOW, json = holds_json(place->holder);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (in_brackets || is_written(key->value)) {
        strbuf_putc(&text, '{');
        print_in_brackets(target, place->depth, value, json, &text);
        strbuf_putc(&text, '}');
        if (is_written(key->value))
            return splice(file, key->value->start, key->value->end, strbuf_text(&text));
        return put_behind_key(file, place->holder, key, strbuf_text(&text));
    }
    size_t column = place->holder->column - 1 + indentation(file->root);
    print_lines(file, target, place->depth, column, &text);
    print_value(target, value, false, &text);
    return add_lines(file, pair_end(file, key), strbuf_text(&text));
}

bool edit_add(const struct edit_file *file, const struct edit_target *target,
              const struct edit_place *place, const char *value) {
    if (place->holder_key)
        return add_below_key(file, target, place, value);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const struct yaml_node *holder = place->holder;
    if (holder && holder->style == YAML_FLOW) {
        print_in_brackets(target, place->depth, value, holds_json(holder), &text);
        return add_in_brackets(file, holder, strbuf_text(&text));
    }
    print_lines(file, target, place->depth, holder ? holder->column - 1 : 0, &text);
    print_value(target, value, false, &text);
    return add_lines(file, holder ? holder->end : file->text->length, strbuf_text(&text));
}
