/* taskfile_value.c: values with a form of their own: spans, commands, lists of names, variables.
 *
 * People write 90s, "a, b" and shell lines; the daemon takes numbers, lists and words. What a value
 * may be at most, the daemon says: here is only its form. */
#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "taskfile/taskfile_internal.h"

/* Far above what the daemon takes. Files of agents are read inside the daemon, and each name is compared
 * with all others. */
#define NAMES_MAX 1000u

static bool is_nothing(const struct yaml_node *node) {
    return node->kind == YAML_SCALAR && yaml_type(node) == YAML_NULL;
}

static json_t *text_of(const struct yaml_node *scalar) {
    return json_stringn(scalar->text, scalar->length);
}

/* --- spans ----------------------------------------------------------------------------------- */

static json_t *seconds_of(int64_t milli) {
    return milli % 1000 == 0 ? json_integer(milli / 1000) : json_real((double)milli / 1000);
}

int taskfile_span(const struct taskfile *file, const struct yaml_node *key, json_t **ret_seconds,
                  struct error *err) {
    int64_t milli;
    if (key->value->kind != YAML_SCALAR || number_parse_span(key->value->text, &milli, NULL) < 0)
        return taskfile_fail(file, key->value, err,
                             "'%s': expected a span like 90s, 30m, 2h or 1d, got %s", key->text,
                             yaml_noun(key->value).text);
    *ret_seconds = seconds_of(milli);
    return 0;
}

int taskfile_seconds(const struct taskfile *file, const struct yaml_node *key, json_t **ret_seconds,
                     struct error *err) {
    enum yaml_type type = yaml_type(key->value);
    int64_t milli;
    bool number = key->value->kind == YAML_SCALAR && (type == YAML_INTEGER || type == YAML_REAL);
    if (!number || number_parse_milli(key->value->text, &milli, NULL) < 0)
        return taskfile_fail(file, key->value, err,
                             "'%s': expected a number of seconds, got %s; '%.*s' takes spans like "
                             "90s",
                             key->text, yaml_noun(key->value).text, (int)key->length - 2,
                             key->text);
    *ret_seconds = seconds_of(milli);
    return 0;
}

/* --- commands -------------------------------------------------------------------------------- */

json_t *taskfile_shell(const struct yaml_node *text) {
    return json_pack("[s, s, o]", "sh", "-c", text_of(text));
}

int taskfile_words(const struct taskfile *file, const struct yaml_node *list, json_t **ret_words,
                   struct error *err) {
    if (list->kind != YAML_LIST)
        return taskfile_fail(file, list, err,
                             "expected a list of words, the program first, got %s; 'run' takes a "
                             "line for the shell",
                             yaml_noun(list).text);
    json_t *words = json_array();
    for (const struct yaml_node *word = list->first; word; word = word->next) {
        if (word->kind != YAML_SCALAR || is_nothing(word)) {
            json_decref(words);
            return taskfile_fail(file, word, err, "expected a word, got %s; an empty one is \"\"",
                                 yaml_noun(word).text);
        }
        json_array_append_new(words, text_of(word));
    }
    *ret_words = words;
    return 0;
}

static int check_member(const struct taskfile *file, const struct yaml_node *key, json_t *check,
                        struct error *err) {
    const char *member = taskfile_member(key->text);
    bool is_argv = member && strcmp(member, "argv") == 0;
    json_t *value = NULL;
    int r = 0;
    if (!is_argv && (!member || strcmp(member, "timeout_s") != 0))
        return taskfile_fail(file, key, err,
                             "a check has no '%.60s'; it has run or argv, and "
                             "timeout",
                             key->text);
    if (json_object_get(check, member))
        return taskfile_fail(file, key, err, "'%s' is said twice", key->text);
    if (!is_argv)
        r = strcmp(key->text, "timeout") == 0 ? taskfile_span(file, key, &value, err)
                                              : taskfile_seconds(file, key, &value, err);
    else if (strcmp(key->text, "argv") == 0)
        r = taskfile_words(file, key->value, &value, err);
    else if (key->value->kind == YAML_SCALAR && !is_nothing(key->value))
        value = taskfile_shell(key->value);
    else
        r = taskfile_fail(file, key->value, err, "'run': expected a line for the shell, got %s",
                          yaml_noun(key->value).text);
    if (r >= 0)
        json_object_set_new(check, member, value);
    return r;
}

/* A list of words, a line for the shell, or an object with a time-out. */
static int read_check(const struct taskfile *file, const struct yaml_node *node, json_t **ret_check,
                      struct error *err) {
    if (node->kind == YAML_LIST)
        return taskfile_words(file, node, ret_check, err);
    if (is_nothing(node))
        return taskfile_fail(file, node, err, "expected a command, got nothing");
    if (node->kind == YAML_SCALAR) {
        *ret_check = taskfile_shell(node);
        return 0;
    }
    json_t *check = json_object();
    int r = 0;
    for (const struct yaml_node *key = node->first; r >= 0 && key; key = key->next)
        r = check_member(file, key, check, err);
    if (r >= 0 && !json_object_get(check, "argv"))
        r = taskfile_fail(file, node, err, "a check needs a command: run or argv");
    if (r < 0)
        json_decref(check);
    else
        *ret_check = check;
    return r;
}

int taskfile_checks(const struct taskfile *file, const struct yaml_node *key, json_t **ret_checks,
                    struct error *err) {
    const struct yaml_node *value = key->value;
    if (value->kind == YAML_MAPPING)
        return taskfile_fail(file, value, err, "'checks': expected a list of commands, got %s",
                             yaml_noun(value).text);
    const struct yaml_node *node = value->kind == YAML_LIST ? value->first : value;
    json_t *checks = json_array();
    int r = 0;
    for (; r >= 0 && node; node = value->kind == YAML_LIST ? node->next : NULL) {
        json_t *check = NULL;
        r = read_check(file, node, &check, err);
        if (r >= 0)
            json_array_append_new(checks, check);
    }
    if (r < 0)
        json_decref(checks);
    else
        *ret_checks = checks;
    return r;
}

/* --- names ----------------------------------------------------------------------------------- */

static bool has_name(const json_t *names, const char *name, size_t size) {
    for (size_t i = 0; i < json_array_size(names); i++) {
        const json_t *known = json_array_get(names, i);
        if (json_string_length(known) == size && memcmp(json_string_value(known), name, size) == 0)
            return true;
    }
    return false;
}

/* Split at commas, without blanks around them, each once. */
static int add_names(const struct taskfile *file, const struct yaml_node *node, json_t *names,
                     struct error *err) {
    if (node->kind != YAML_SCALAR || is_nothing(node))
        return taskfile_fail(file, node, err, "expected a name, got %s", yaml_noun(node).text);
    for (const char *at = node->text; *at; at += *at == ',') {
        at += strspn(at, " \t");
        size_t whole = strcspn(at, ","), size = whole;
        while (size > 0 && (at[size - 1] == ' ' || at[size - 1] == '\t'))
            size--;
        if (size > 0 && !has_name(names, at, size))
            json_array_append_new(names, json_stringn(at, size));
        if (json_array_size(names) > NAMES_MAX)
            return taskfile_fail(file, node, err, "more than %u names are too many", NAMES_MAX);
        at += whole;
    }
    return 0;
}

int taskfile_names(const struct taskfile *file, const struct yaml_node *key, json_t **ret_names,
                   struct error *err) {
    const struct yaml_node *value = key->value;
    if (value->kind == YAML_MAPPING)
        return taskfile_fail(file, value, err,
                             "'%s': expected a list of names, or one text with commas, got %s",
                             key->text, yaml_noun(value).text);
    json_t *names = json_array();
    int r = value->kind == YAML_LIST ? 0 : add_names(file, value, names, err);
    if (value->kind == YAML_LIST)
        for (const struct yaml_node *node = value->first; r >= 0 && node; node = node->next)
            r = add_names(file, node, names, err);
    if (r < 0)
        json_decref(names);
    else
        *ret_names = names;
    return r;
}

/* --- mappings -------------------------------------------------------------------------------- */

static int check_new(const struct taskfile *file, const struct yaml_node *key, const json_t *object,
                     struct error *err) {
    if (!json_object_get(object, key->text))
        return 0;
    return taskfile_fail(file, key, err, "'%.60s' is said twice", key->text);
}

int taskfile_env(const struct taskfile *file, const struct yaml_node *key, json_t **ret_env,
                 struct error *err) {
    if (key->value->kind != YAML_MAPPING)
        return taskfile_fail(file, key->value, err, "'%s': expected names and values, got %s",
                             key->text, yaml_noun(key->value).text);
    json_t *env = json_object();
    int r = 0;
    for (const struct yaml_node *name = key->value->first; r >= 0 && name; name = name->next) {
        r = check_new(file, name, env, err);
        if (r >= 0 && (name->value->kind != YAML_SCALAR || is_nothing(name->value)))
            r = taskfile_fail(file, name->value, err,
                              "'%.60s': expected a text, got %s; an empty one is \"\"", name->text,
                              yaml_noun(name->value).text);
        if (r >= 0)
            json_object_set_new(env, name->text, text_of(name->value));
    }
    if (r < 0)
        json_decref(env);
    else
        *ret_env = env;
    return r;
}

static int any_value(const struct taskfile *file, const struct yaml_node *node, json_t **ret_value,
                     struct error *err);

static int any_scalar(const struct yaml_node *node, json_t **ret_value) {
    switch (yaml_type(node)) {
    case YAML_NULL:
        *ret_value = json_null();
        break;
    case YAML_TRUE:
    case YAML_FALSE:
        *ret_value = json_boolean(yaml_type(node) == YAML_TRUE);
        break;
    case YAML_INTEGER:
        *ret_value = json_integer(yaml_integer(node));
        break;
    case YAML_REAL:
        *ret_value = json_real(yaml_real(node));
        break;
    case YAML_TEXT:
    case YAML_TYPE_MAX:
        *ret_value = text_of(node);
    }
    return 0;
}

static int any_list(const struct taskfile *file, const struct yaml_node *list, json_t **ret_value,
                    struct error *err) {
    json_t *items = json_array();
    for (const struct yaml_node *node = list->first; node; node = node->next) {
        json_t *item = NULL;
        int r = any_value(file, node, &item, err);
        if (r < 0) {
            json_decref(items);
            return r;
        }
        json_array_append_new(items, item);
    }
    *ret_value = items;
    return 0;
}

static int any_mapping(const struct taskfile *file, const struct yaml_node *mapping,
                       json_t **ret_value, struct error *err) {
    json_t *object = json_object();
    for (const struct yaml_node *key = mapping->first; key; key = key->next) {
        json_t *value = NULL;
        int r = check_new(file, key, object, err);
        if (r >= 0)
            r = any_value(file, key->value, &value, err);
        if (r < 0) {
            json_decref(object);
            return r;
        }
        json_object_set_new(object, key->text, value);
    }
    *ret_value = object;
    return 0;
}

/* The depth is bounded by the reader of the YAML. */
static int any_value(const struct taskfile *file, const struct yaml_node *node, json_t **ret_value,
                     struct error *err) {
    if (node->kind == YAML_LIST)
        return any_list(file, node, ret_value, err);
    if (node->kind == YAML_MAPPING)
        return any_mapping(file, node, ret_value, err);
    return any_scalar(node, ret_value);
}

int taskfile_meta(const struct taskfile *file, const struct yaml_node *key, json_t **ret_meta,
                  struct error *err) {
    if (key->value->kind != YAML_MAPPING)
        return taskfile_fail(file, key->value, err, "'meta': expected keys and values, got %s",
                             yaml_noun(key->value).text);
    return any_mapping(file, key->value, ret_meta, err);
}
