/* taskfile_member.c: the members of one task, from YAML to the JSON of the submission object.
 *
 * The table of members (task_member.h) says what a value may be; here is what YAML adds: the place of each value,
 * and scalars that are taken as they are written. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "taskfile/task_member.h"
#include "taskfile/taskfile_internal.h"

const struct yaml_node *taskfile_key_of(const struct yaml_node *mapping, const char *member) {
    for (const struct yaml_node *key = mapping->first; key; key = key->next) {
        const struct task_member *m = task_member_find(key->text);
        if (m && strcmp(m->name, member) == 0)
            return key;
    }
    return NULL;
}

/* --- any value ------------------------------------------------------------------------------- */

static bool is_nothing(const struct yaml_node *node) {
    return node->kind == YAML_SCALAR && yaml_type(node) == YAML_NULL;
}

/* A scalar is a text as it is written, or with `typed` what YAML says it is. */
static json_t *scalar_json(const struct yaml_node *node, bool typed) {
    enum yaml_type type = yaml_type(node);
    if (type == YAML_NULL)
        return json_null();
    if (typed && (type == YAML_TRUE || type == YAML_FALSE))
        return json_boolean(type == YAML_TRUE);
    if (typed && type == YAML_INTEGER)
        return json_integer(yaml_integer(node));
    return typed && type == YAML_REAL ? json_real(yaml_real(node))
                                      : json_stringn(node->text, node->length);
}

/* The depth is bounded by the reader of the YAML. */
static int any_json(const struct taskfile *file, const struct yaml_node *node, bool typed,
                    json_t **ret_value, struct error *err) {
    if (node->kind == YAML_SCALAR) {
        *ret_value = scalar_json(node, typed);
        return 0;
    }
    bool is_list = node->kind == YAML_LIST;
    json_t *all = is_list ? json_array() : json_object(), *one = NULL;
    int r = 0;
    for (const struct yaml_node *at = node->first; r >= 0 && at; at = at->next) {
        if (!is_list && json_object_get(all, at->text))
            r = taskfile_fail(file, at, err, "'%.60s' is said twice", at->text);
        else
            r = any_json(file, is_list ? at : at->value, typed, &one, err);
        if (r >= 0 && is_list)
            json_array_append_new(all, one);
        else if (r >= 0)
            json_object_set_new(all, at->text, one);
    }
    if (r < 0)
        json_decref(all);
    else
        *ret_value = all;
    return r;
}

/* --- one member ------------------------------------------------------------------------------ */

int taskfile_value(const struct taskfile *file, const struct task_member *m,
                   const struct yaml_node *key, json_t **ret_value, struct error *err) {
    const struct yaml_node *node = key->value;
    struct error wrong = { 0 };
    json_t *value = NULL, *other = NULL;
    int r = any_json(file, node, m->kind == MEMBER_OBJECT, &value, err);
    if (r < 0)
        return r;
    if (!is_nothing(node))
        r = task_member_check(m, key->text, value, &file->source, &other, &wrong);
    if (r < 0)
        r = taskfile_fail(file, node, err, "'%s': %s", key->text, wrong.text);
    else
        *ret_value = json_incref(other ? other : value);
    json_decref(value);
    json_decref(other);
    return r;
}

static bool is_command(const struct task_member *m) {
    return strcmp(m->name, "argv") == 0 || strcmp(m->name, "prompt") == 0;
}

/* The same member under two names, or a prompt besides a command. */
static int check_twice(const struct taskfile *file, const struct yaml_node *mapping,
                       const struct yaml_node *key, const struct task_member *m,
                       struct error *err) {
    for (const struct yaml_node *other = mapping->first; other != key; other = other->next) {
        const struct task_member *said = task_member_find(other->text);
        if (strcmp(other->text, key->text) == 0)
            return taskfile_fail(file, key, err, "'%s' is said twice, first in line %u", key->text,
                                 other->line);
        if (said == m)
            return taskfile_fail(file, key, err,
                                 "'%s' and '%s' (line %u) say the same; leave one out", key->text,
                                 other->text, other->line);
        if (is_command(m) && is_command(said))
            return taskfile_fail(file, key, err, "a task has '%s' (line %u) or '%s', not both",
                                 other->text, other->line, key->text);
    }
    return 0;
}

static int read_member(const struct taskfile *file, const struct yaml_node *mapping,
                       const struct yaml_node *key, enum member_place place, json_t *object,
                       struct error *err) {
    const struct task_member *m = task_member_find(key->text);
    struct error unknown = { 0 };
    json_t *value = NULL;
    if (!m || m->flags & MEMBER_INTERNAL) {
        (void)task_member_unknown(key->text, &unknown);
        return taskfile_fail(file, key, err, "%s", unknown.text);
    }
    if (m->flags & MEMBER_OWN && place == MEMBER_OF_DEFAULTS)
        return taskfile_fail(file, key, err, "'%s' is of one task alone: it has no default",
                             key->text);
    int r = check_twice(file, mapping, key, m, err);
    if (r >= 0)
        r = taskfile_value(file, m, key, &value, err);
    if (r >= 0)
        json_object_set_new(object, m->name, value);
    return r;
}

int taskfile_members(const struct taskfile *file, const struct yaml_node *mapping,
                     enum member_place place, json_t **ret_object, struct error *err) {
    json_t *object = json_object();
    int r = 0;
    for (const struct yaml_node *key = mapping->first; r >= 0 && key; key = key->next)
        r = read_member(file, mapping, key, place, object, err);
    if (r < 0)
        json_decref(object);
    else
        *ret_object = object;
    return r;
}
