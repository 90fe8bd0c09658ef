/* config_edit.c: changes single keys of a file, atomically.
 *
 * What makes editing bytes safe: each change starts from a fresh parse tree of the text. At the end
 * the new text is read as a configuration, and everything besides the changed keys must equal the
 * old one, in the same order: an edit in the wrong place of an unusual file is detected before it
 * is written. */
#include "config/config_edit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/json_write.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "config/config_internal.h"
#include "os/files.h"
#include "os/private_file.h"

/* The key to change, split. */
struct edit_target {
    const char *key;
    struct setting_key match;
    struct setting_joints levels; /* dots between levels, not those in the name */
};

/* Where it is in the file, or belongs. */
struct edit_place {
    /* If found: its key and its mapping; the first one, if there are several. */
    const struct yaml_node *mapping, *key;
    /* What to remove with it: the same, or the parent key that may not be left empty. */
    const struct yaml_node *removed_mapping, *removed_key;
    /* If not found: the nearest enclosing mapping, or the key of one that is not written yet. Both
     * NULL: the file is empty. */
    const struct yaml_node *holder, *holder_key;
    size_t depth; /* bytes of the target's key that the holder covers, with the dot */
};

/* The text to change, and how it is written. */
struct edit_file {
    const struct strbuf *text;
    const struct yaml_node *root;
    struct strbuf *out; /* receives the new text; initially empty */
};

/* --- finding the key -------------------------------------------------------------------------- */

/* Finds a key in a file, or where it belongs. The same key can be written in many ways (limits:
 * {runs: 4}, limits.runs: 4), and a name may contain dots: settings_match interprets a path, as for
 * the reader. */

struct walk {
    const struct edit_target *target;
    struct edit_place *place;
    struct strbuf path;
    struct setting_joints joints;
    /* The pair whose value is being visited, if it must not be left empty; or NULL. */
    const struct yaml_node *outer_mapping, *outer_key;
};

static bool same_key(const struct setting_key *a, const struct setting_key *b) {
    return a->match == b->match && a->setting == b->setting && a->section == b->section
           && a->name_length == b->name_length
           && (a->name_length == 0 || memcmp(a->name, b->name, a->name_length) == 0);
}

static bool means_target(const struct walk *w, const char *path,
                         const struct setting_joints *joints) {
    struct setting_key found = settings_match(path, joints);
    return same_key(&found, &w->target->match);
}

/* Would the rest of the key, one level per part, be the target below this path? */
static bool could_hold(const struct walk *w) {
    const char *key = w->target->key;
    size_t length = w->path.length;
    if (strncmp(key, strbuf_text(&w->path), length) != 0 || key[length] != '.')
        return false;
    struct setting_joints joints = w->joints;
    bool is_level = false;
    for (size_t i = 0; i < w->target->levels.count; i++) {
        size_t at = w->target->levels.at[i];
        is_level = is_level || at == length;
        if (at >= length && joints.count < sizeof(joints.at) / sizeof(joints.at[0]))
            joints.at[joints.count++] = at;
    }
    return is_level && means_target(w, key, &joints);
}

static void compare_key(struct walk *w, const struct yaml_node *mapping,
                        const struct yaml_node *key) {
    bool nothing = key->value->kind == YAML_SCALAR && yaml_type(key->value) == YAML_NULL;
    if (means_target(w, strbuf_text(&w->path), &w->joints)) {
        bool with_outer = w->outer_key && mapping->count == 1;
        if (!w->place->key)
            *w->place = (struct edit_place){
                .mapping = mapping,
                .key = key,
                .removed_mapping = with_outer ? w->outer_mapping : mapping,
                .removed_key = with_outer ? w->outer_key : key,
            };
    } else if ((nothing || key->value->kind == YAML_MAPPING) && w->path.length >= w->place->depth
               && could_hold(w)) {
        w->place->holder = nothing ? mapping : key->value;
        w->place->holder_key = nothing ? key : NULL;
        w->place->depth = w->path.length + 1;
    }
}

/* May the file have this key without a value? "projects.web:" could be a misspelt
 * "projects.web.weight:", so it may not. */
static bool may_be_empty(const struct walk *w) {
    enum setting_match match = settings_match(strbuf_text(&w->path), &w->joints).match;
    return match == MATCH_ABOVE || match == MATCH_NAME;
}

static void walk_mapping(struct walk *w, const struct yaml_node *mapping) {
    const struct walk before = *w;
    size_t length = w->path.length;
    for (const struct yaml_node *key = mapping->first; key; key = key->next) {
        if (length > 0) {
            w->joints.at[w->joints.count++] = length;
            strbuf_putc(&w->path, '.');
        }
        strbuf_puts(&w->path, key->text);
        compare_key(w, mapping, key);
        if (key->value->kind == YAML_MAPPING) {
            bool empty = may_be_empty(w);
            w->outer_mapping = empty ? NULL : mapping;
            w->outer_key = empty ? NULL : key;
            walk_mapping(w, key->value);
        }
        w->joints = before.joints;
        w->outer_mapping = before.outer_mapping;
        w->outer_key = before.outer_key;
        strbuf_cut(&w->path, length);
    }
}

static void edit_find(const struct edit_target *target, const struct yaml_node *root,
                      struct edit_place *ret_place) {
    struct walk w = { .target = target, .place = ret_place };
    *ret_place = (struct edit_place){ .key = NULL };
    if (!root || root->kind != YAML_MAPPING)
        return;
    ret_place->holder = root;
    walk_mapping(&w, root);
    strbuf_finish(&w.path);
}

/* --- the new text ----------------------------------------------------------------------------- */

/* Edited by bytes: unchanged parts are copied, never printed again. New text follows its neighbors:
 * brackets in brackets, quotes in JSON, the same indentation and line endings. */

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* --- scalars ---------------------------------------------------------------------------------- */

/* Plain in YAML, inside and outside brackets. */
static bool is_plain(const char *text) {
    static const char *const words[] = { "null", "Null", "NULL" };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(text, words[i]) == 0)
            return false;
    size_t sign = strspn(text, "-");
    return sign <= 2 && text[sign] && strchr(ALNUM "/_", text[sign])
           && strspn(text, ALNUM "_./+-@=%") == strlen(text);
}

/* Is it a plain value in JSON? */
static bool is_json(const char *text) {
    size_t digits = strspn(text, "0123456789");
    bool number = digits > 0 && text[digits] == '\0' && (*text != '0' || digits == 1);
    return number || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

static void print_text(const char *text, bool bare, struct strbuf *out) {
    if (bare) {
        strbuf_puts(out, text);
        return;
    }
    struct json_writer w; /* YAML accepts JSON escapes */
    json_write_init(&w, out, false);
    json_write_string(&w, text);
}

static void print_scalar(const char *text, bool json, struct strbuf *out) {
    print_text(text, json ? is_json(text) : is_plain(text), out);
}

static void print_words(const char *text, bool json, struct strbuf *out) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    struct words words = { 0 };
    (void)words_split(text, &arena, &words); /* already checked */
    strbuf_putc(out, '[');
    for (size_t i = 0; i < words.count; i++) {
        strbuf_puts(out, i ? ", " : "");
        print_text(words.items[i], !json && is_plain(words.items[i]), out);
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

/* --- positions in the text -------------------------------------------------------------------- */

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

/* Start of the line; excludes a byte order mark. */
static size_t line_start(const struct edit_file *file, size_t at) {
    while (at > 0 && bytes(file)[at - 1] != '\n')
        at--;
    return at == 0 && strncmp(bytes(file), "\xef\xbb\xbf", 3) == 0 ? 3 : at;
}

/* After the newline, or the end of the text. */
static size_t line_end(const struct edit_file *file, size_t at) {
    const char *newline = memchr(bytes(file) + at, '\n', file->text->length - at);
    return newline ? (size_t)(newline - bytes(file)) + 1 : file->text->length;
}

static const char *newline_of(const struct edit_file *file) {
    const char *newline = memchr(bytes(file), '\n', file->text->length);
    return newline && newline > bytes(file) && newline[-1] == '\r' ? "\r\n" : "\n";
}

/* Is the node the first one on its line? */
static bool begins_line(const struct edit_file *file, size_t at) {
    size_t start = line_start(file, at);
    return skip_spaces(file, start) >= at;
}

static bool is_written(const struct yaml_node *value) {
    return value->end > value->start;
}

/* After the colon of a key; 0: none, as in {a, b} or after a question mark. */
static size_t colon_end(const struct edit_file *file, const struct yaml_node *key) {
    size_t at = skip_spaces(file, key->end);
    return bytes(file)[at] == ':' ? at + 1 : 0;
}

/* End of a key with its value. */
static size_t pair_end(const struct edit_file *file, const struct yaml_node *key) {
    size_t colon = colon_end(file, key);
    if (is_written(key->value) || key->value->anchored)
        return key->value->end;
    return colon ? colon : key->end;
}

/* Brackets are JSON if their keys are quoted. */
static bool holds_json(const struct yaml_node *mapping) {
    return mapping->style == YAML_FLOW && mapping->first && mapping->first->style == YAML_QUOTED;
}

/* Replaces [from, to) by `text`. */
static bool splice(const struct edit_file *file, size_t from, size_t to, const char *text) {
    strbuf_add(file->out, bytes(file), from);
    strbuf_puts(file->out, text);
    strbuf_add(file->out, bytes(file) + to, file->text->length - to);
    return true;
}

/* --- replacing -------------------------------------------------------------------------------- */

/* After the colon of a key that has no value yet, or only an anchor. */
static bool put_after_key(const struct edit_file *file, const struct yaml_node *mapping,
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

/* A block list is on the lines after its key: these are removed, and the value is put after the
 * key, before its comment. */
static bool replace_block_list(const struct edit_file *file, const struct yaml_node *key,
                               const char *text) {
    size_t colon = colon_end(file, key), start = line_start(file, key->value->start);
    if (!colon || start < colon || !begins_line(file, key->value->start))
        return false;
    _cleanup_(strbuf_finish) struct strbuf with = STRBUF_INIT;
    strbuf_printf(&with, " %s", text);
    strbuf_add(&with, bytes(file) + colon, start - colon);
    return splice(file, colon, line_end(file, key->value->end), strbuf_text(&with));
}

/* False: its notation cannot be edited here. */
static bool edit_replace(const struct edit_file *file, const struct edit_target *target,
                         const struct edit_place *place, const char *value) {
    const struct yaml_node *old = place->key->value;
    bool json = holds_json(place->mapping);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    print_value(target, value, json, &text);
    if (old->kind == YAML_MAPPING)
        return false;
    if (!is_written(old))
        return put_after_key(file, place->mapping, place->key, strbuf_text(&text));
    if (old->kind == YAML_LIST && old->style == YAML_BLOCK)
        return replace_block_list(file, place->key, strbuf_text(&text));
    return splice(file, old->start, old->end, strbuf_text(&text));
}

/* --- removing --------------------------------------------------------------------------------- */

/* The next comma after `at`, outside comments; 0: a bracket comes first. */
static size_t comma_after(const struct edit_file *file, size_t at) {
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
    size_t end = pair_end(file, key), comma = comma_after(file, end);
    if (key->next || !before) { /* with the comma after it */
        size_t next = comma ? skip_spaces(file, comma + 1) : end;
        if (comma && strchr("#\r\n", bytes(file)[next]))
            next = comma + 1;
        return splice(file, key->start, next, "");
    }
    /* the last one: with the comma before it */
    size_t removed = comma_after(file, pair_end(file, before));
    if (!removed)
        return false;
    _cleanup_(strbuf_finish) struct strbuf between = STRBUF_INIT;
    if (skip_spaces(file, removed + 1) != key->start)
        strbuf_add(&between, bytes(file) + removed + 1, key->start - removed - 1);
    return splice(file, removed, end, strbuf_text(&between));
}

static bool edit_remove(const struct edit_file *file, const struct edit_place *place) {
    const struct yaml_node *key = place->removed_key;
    if (place->removed_mapping->style == YAML_FLOW)
        return remove_in_brackets(file, place->removed_mapping, key);
    if (!begins_line(file, key->start) || !colon_end(file, key))
        return false; /* an anchor or a question mark before it */
    return splice(file, line_start(file, key->start), line_end(file, pair_end(file, key)), "");
}

/* --- adding ----------------------------------------------------------------------------------- */

/* The indentation of the file: that of its first nested level. */
static size_t indentation(const struct yaml_node *root) {
    for (const struct yaml_node *key = root ? root->first : NULL; key; key = key->next)
        if (key->value->kind == YAML_MAPPING && key->value->style == YAML_BLOCK
            && key->value->column > root->column)
            return key->value->column - root->column;
    return 2;
}

/* The level of the target's key that begins at `depth`, and where it ends. */
static size_t print_level(const struct edit_target *target, size_t depth, bool json,
                          struct strbuf *out) {
    size_t end = strlen(target->key);
    for (size_t i = target->levels.count; i-- > 0;)
        if (target->levels.at[i] >= depth)
            end = target->levels.at[i];
    _cleanup_(freep) char *level = xstrndup(target->key + depth, end - depth);
    print_scalar(level, json, out);
    return end;
}

/* The levels of the key from `depth` on, in brackets: "limits: {runs: 4}". */
static void print_in_brackets(const struct edit_target *target, size_t depth, const char *value,
                              bool json, struct strbuf *out) {
    size_t closing = 0, end;
    for (; target->key[end = print_level(target, depth, json, out)]; depth = end + 1, closing++)
        strbuf_puts(out, ": {");
    strbuf_puts(out, ": ");
    print_value(target, value, json, out);
    strbuf_repeat(out, "}", closing);
}

/* Same as lines, the first one indented by `column` spaces; without the final newline. */
static void print_lines(const struct edit_file *file, const struct edit_target *target,
                        size_t depth, size_t column, const char *value, struct strbuf *out) {
    for (;;) {
        strbuf_repeat(out, " ", column);
        size_t end = print_level(target, depth, false, out);
        if (!target->key[end])
            break;
        strbuf_printf(out, ":%s", newline_of(file));
        depth = end + 1;
        column += indentation(file->root);
    }
    strbuf_puts(out, ": ");
    print_value(target, value, false, out);
}

/* Inserts lines after the line of `at`. A text without a final newline stays without one. */
static bool add_lines(const struct edit_file *file, size_t at, const char *lines) {
    size_t end = line_end(file, at);
    bool open = end > 0 && bytes(file)[end - 1] != '\n';
    const char *newline = newline_of(file);
    _cleanup_(freep) char *text =
        xasprintf("%s%s%s", open ? newline : "", lines, open ? "" : newline);
    return splice(file, end, end, text);
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

/* Below a key that has no value yet. */
static bool add_under_key(const struct edit_file *file, const struct edit_target *target,
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
        return put_after_key(file, place->holder, key, strbuf_text(&text));
    }
    size_t column = place->holder->column - 1 + indentation(file->root);
    print_lines(file, target, place->depth, column, value, &text);
    return add_lines(file, pair_end(file, key), strbuf_text(&text));
}

static bool edit_add(const struct edit_file *file, const struct edit_target *target,
                     const struct edit_place *place, const char *value) {
    if (place->holder_key)
        return add_under_key(file, target, place, value);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const struct yaml_node *holder = place->holder;
    if (holder && holder->style == YAML_FLOW) {
        print_in_brackets(target, place->depth, value, holds_json(holder), &text);
        return add_in_brackets(file, holder, strbuf_text(&text));
    }
    print_lines(file, target, place->depth, holder ? holder->column - 1 : 0, value, &text);
    return add_lines(file, holder ? holder->end : file->text->length, strbuf_text(&text));
}

/* --- the file's mode -------------------------------------------------------------------------- */

/* "postgresql://user:password@host/…" */
static bool has_password(const char *url) {
    const char *user = strstr(url, "://");
    const char *at = user ? strchr(user, '@') : NULL;
    const char *colon = at ? memchr(user + 3, ':', (size_t)(at - user - 3)) : NULL;
    return colon != NULL || strstr(url, "password=");
}

bool config_has_secret(const struct config *config, char ret_key[CONFIG_SECRET_KEY_MAX]) {
    for (size_t i = 0; i < config_agent_count(config); i++) {
        const char *const *words = NULL;
        const char *name = config_agent_name(config, i);
        if (config_words(config, "agents.A.env", name, &words) == 0)
            continue;
        (void)snprintf(ret_key, CONFIG_SECRET_KEY_MAX, "agents.%s.env", name);
        return true;
    }
    const char *key = *config_text(config, "notify.webhook", NULL)           ? "notify.webhook"
                      : has_password(config_text(config, "store.url", NULL)) ? "store.url"
                                                                             : NULL;
    if (key)
        (void)snprintf(ret_key, CONFIG_SECRET_KEY_MAX, "%s", key);
    return key;
}

int config_write_file(const char *path, const struct strbuf *text, const struct config *config,
                      struct error *err) {
    char key[CONFIG_SECRET_KEY_MAX];
    bool is_new = access(path, F_OK) < 0 && errno == ENOENT;
    int r = is_new || config_has_secret(config, key) ? private_file_prepare(path, err) : 0;
    if (r < 0)
        return r;
    r = file_write(path, strbuf_text(text), text->length, err);
    if (r < 0 && is_new)
        (void)unlink(path); /* leave no empty file */
    return r;
}

DEFINE_FREEP(struct config, config_free);

/* --- the changes ------------------------------------------------------------------------------ */

/* The dots between levels, not those inside the name. */
static void find_levels(struct edit_target *target) {
    const struct setting_key *match = &target->match;
    for (const char *dot = strchr(target->key, '.'); dot; dot = strchr(dot + 1, '.'))
        if (match->name_length == 0 || dot < match->name || dot >= match->name + match->name_length)
            target->levels.at[target->levels.count++] = (size_t)(dot - target->key);
}

/* A section is its own level: the first dot joins it to its parent. */
static struct setting_key match_of(const struct config_change *change) {
    const char *dot = strchr(change->key, '.');
    struct setting_joints joints = { .count = 0 };
    if (!change->is_section || !dot)
        return settings_match(change->key, NULL);
    joints.at[joints.count++] = (size_t)(dot - change->key);
    return settings_match(change->key, &joints);
}

/* The change for this key, or NULL. */
static const struct config_change *change_of(const struct setting_key *key,
                                             const struct config_change *changes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct setting_key other = match_of(&changes[i]);
        if (same_key(&other, key))
            return &changes[i];
    }
    return NULL;
}

/* Checks one change: does the key exist, and is the value valid? `scratch` has the right preset. */
static int check_change(struct config *scratch, const struct config_change *change,
                        struct error *err) {
    const char *value = change->value ? change->value : "";
    if (!words_is_text(change->key, strlen(change->key), false)
        || !words_is_text(value, strlen(value), true))
        return error_set(err, -EINVAL, "key '%s': the key or its value is not UTF-8 text",
                         utf8_quote(change->key).text);
    struct setting_key match = match_of(change);
    if (change->is_section && match.match == MATCH_NAME)
        return 0;
    bool is_key = match.match == MATCH_SETTING
                  && (match.section == SECTION_ROOT || utf8_is_name(match.name, match.name_length));
    if (!is_key || change->value)
        return config_set(scratch, change->key, value, "set", err);
    return 0;
}

static int check_changes(struct config_file *old, const char *name,
                         const struct config_change *changes, size_t count, struct error *err) {
    _cleanup_(config_freep) struct config *scratch = config_new();
    (void)config_file_apply(old, name, scratch, NULL); /* an error there may be in what changes */
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            bool is_preset = strcmp(changes[i].key, "preset") == 0;
            int r = is_preset == (pass == 0) ? check_change(scratch, &changes[i], err) : 0;
            if (r < 0)
                return r;
            struct setting_key key = match_of(&changes[i]);
            if (change_of(&key, changes, count) != &changes[i])
                return error_set(err, -EINVAL, "key '%s' is changed twice",
                                 utf8_quote(changes[i].key).text);
        }
    return 0;
}

/* --- one change ------------------------------------------------------------------------------- */

/* 1: `out` has the new text; 0: nothing to do. */
static int change_once(const char *name, const struct strbuf *text,
                       const struct config_change *change, struct strbuf *out, struct error *err) {
    _cleanup_(yaml_finish) struct yaml yaml = { .root = NULL };
    int r = yaml_parse(name, strbuf_text(text), text->length, &config_limits, &yaml, err);
    if (r < 0)
        return r;
    struct edit_target target = { .key = change->key, .match = match_of(change) };
    struct edit_place place;
    find_levels(&target);
    edit_find(&target, yaml.root, &place);
    if (!place.key && !change->value)
        return 0;
    struct edit_file file = { .text = text, .root = yaml.root, .out = out };
    bool done;
    if (!place.key)
        done = edit_add(&file, &target, &place, change->value);
    else if (change->value)
        done = edit_replace(&file, &target, &place, change->value);
    else
        done = edit_remove(&file, &place);
    const struct yaml_node *where = place.key ? place.key : place.holder;
    return done ? 1
                : error_set(err, -EINVAL,
                            "%.160s:%u: '%s' is written in a way that cannot be changed here; edit "
                            "the file manually",
                            name, where ? where->line : 1, utf8_quote(target.key).text);
}

/* A duplicate key is removed twice; setting it leaves an error for the reader. */
static int change_text(const char *name, struct strbuf *text, const struct config_change *change,
                       struct error *err) {
    int r;
    do {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        r = change_once(name, text, change, &out, err);
        if (r > 0) {
            struct strbuf old = *text;
            *text = out;
            out = old;
        }
    } while (r > 0 && !change->value);
    return r < 0 ? r : 0;
}

/* --- verification ----------------------------------------------------------------------------- */

/* The next assignment of a file to a key that must not change, or NULL. */
static const struct assignment *next_kept(const struct config_file *file, size_t *at,
                                          const struct config_change *changes, size_t count) {
    while (*at < file->count) {
        const struct assignment *a = &file->items[(*at)++];
        struct setting_key key = settings_match(a->key, a->joints);
        bool says_nothing = !a->value && key.match != MATCH_SETTING;
        if (!says_nothing && (key.match != MATCH_SETTING || !change_of(&key, changes, count)))
            return a;
    }
    return NULL;
}

static bool kept_everything(const struct config_file *old, const struct config_file *new,
                            const struct config_change *changes, size_t count) {
    size_t old_at = 0, new_at = 0;
    for (;;) {
        const struct assignment *a = next_kept(old, &old_at, changes, count);
        const struct assignment *b = next_kept(new, &new_at, changes, count);
        if (!a || !b)
            return a == b;
        bool same = a->value && b->value ? strcmp(a->value, b->value) == 0 : a->value == b->value;
        if (strcmp(a->key, b->key) != 0 || !same)
            return false;
    }
}

/* Does each changed key have the requested value? */
static bool made_changes(const struct config_file *new, const struct config *config,
                         const struct config_change *changes, size_t count) {
    _cleanup_(config_freep) struct config *asked = config_new();
    (void)config_set(asked, "preset", config_preset(config), "set", NULL);
    size_t found = 0, wanted = 0;
    for (size_t i = 0; i < new->count; i++) {
        struct setting_key key = settings_match(new->items[i].key, new->items[i].joints);
        found += key.match == MATCH_SETTING && change_of(&key, changes, count);
    }
    for (size_t i = 0; i < count; i++) {
        struct setting_key key = match_of(&changes[i]);
        if (!changes[i].value)
            continue;
        wanted++;
        _cleanup_(strbuf_finish) struct strbuf is = STRBUF_INIT, should = STRBUF_INIT;
        _cleanup_(freep) char *name = xstrndup(key.name ? key.name : "", key.name_length);
        if (config_set(asked, changes[i].key, changes[i].value, "set", NULL) < 0)
            return false;
        config_print(config, key.setting, config_effective(config, key.setting, name, NULL), &is);
        config_print(asked, key.setting, config_effective(asked, key.setting, name, NULL), &should);
        if (strcmp(strbuf_text(&is), strbuf_text(&should)) != 0)
            return false;
    }
    return found == wanted;
}

static int check_result(const char *name, const struct config_file *old, const struct strbuf *text,
                        const struct config_change *changes, size_t count, struct error *err) {
    _cleanup_(config_freep) struct config *config = config_new();
    _cleanup_(config_file_finish) struct config_file new = { .count = 0 };
    int r = config_file_parse(&new, name, text, err);
    if (r >= 0)
        r = config_file_apply(&new, name, config, err);
    if (r < 0)
        return r;
    if (kept_everything(old, &new, changes, count) && made_changes(&new, config, changes, count))
        return 0;
    return error_set(
        err, -EINVAL,
        "%.160s: '%s' cannot be changed without touching something else; edit the file manually",
        name, utf8_quote(changes[0].key).text);
}

/* --- entry points ----------------------------------------------------------------------------- */

int config_edit_text(const char *name, const struct strbuf *text,
                     const struct config_change *changes, size_t count, struct strbuf *out,
                     struct error *err) {
    _cleanup_(config_file_finish) struct config_file old = { .count = 0 };
    _cleanup_(strbuf_finish) struct strbuf new = STRBUF_INIT;
    int r = config_file_parse(&old, name, text, err);
    if (r >= 0)
        r = check_changes(&old, name, changes, count, err);
    strbuf_add(&new, strbuf_text(text), text->length);
    for (size_t i = 0; r >= 0 && i < count; i++)
        r = change_text(name, &new, &changes[i], err);
    if (r >= 0)
        r = check_result(name, &old, &new, changes, count, err);
    if (r < 0)
        return r;
    strbuf_add(out, strbuf_text(&new), new.length);
    return 0;
}

int config_edit(const char *path, const struct config_change *changes, size_t count,
                struct error *err) {
    struct error local = { 0 };
    _cleanup_(strbuf_finish) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT;
    int r = file_read(path, CONFIG_FILE_MAX, &old, &local);
    bool is_new = r == -ENOENT;
    if (r < 0 && !is_new)
        return error_set(err, r, "%s", local.text);
    r = config_edit_text(path, &old, changes, count, &new, err);
    bool is_same =
        r >= 0
        && old.length == new.length &&memcmp(strbuf_text(&old), strbuf_text(&new), new.length) == 0;
    if (r < 0 || is_same)
        return r;
    _cleanup_(config_freep) struct config *config = config_new();
    r = config_read_text(config, path, strbuf_text(&new), new.length, err);
    return r < 0 ? r : config_write_file(path, &new, config, err);
}
