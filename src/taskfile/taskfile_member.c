/* taskfile_member.c: which members a task has, and how each is written.
 *
 * One row per name. A name that is not known is refused, because a misspelt `needs` that is quietly
 * left out starts a task too early. */
#include <errno.h>
#include <string.h>

#include "base/money.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "taskfile/taskfile_internal.h"

enum member_type {
    MEMBER_TEXT,
    MEMBER_PATH,
    MEMBER_ARTIFACT,
    MEMBER_WHOLE,
    MEMBER_SWITCH,
    MEMBER_SECONDS,
    MEMBER_DOLLARS,
    MEMBER_SPAN,
    MEMBER_WORDS,
    MEMBER_SHELL,
    MEMBER_NAMES,
    MEMBER_ENV, /* names and texts */
    MEMBER_CHECKS,
    MEMBER_META,
    MEMBER_TYPE_MAX,
};

struct member {
    const char *name;   /* in the file */
    const char *target; /* in the submission object */
    enum member_type type;
    bool own; /* of one task only: no default */
};

/* clang-format off */
static const struct member members[] = {
    { "agent",          "agent",          MEMBER_TEXT,    false },
    { "argv",           "argv",           MEMBER_WORDS,   false },
    { "artifact",       "artifact",       MEMBER_ARTIFACT, false },
    { "base_branch",    "base_branch",    MEMBER_TEXT,    false },
    { "checks",         "checks",         MEMBER_CHECKS,  false },
    { "cwd",            "cwd",            MEMBER_PATH,    false },
    { "depends_on",     "depends_on",     MEMBER_NAMES,   true },
    { "draft",          "draft",          MEMBER_SWITCH,  false },
    { "env",            "env",            MEMBER_ENV,     false },
    { "executor",       "executor",       MEMBER_TEXT,    false },
    { "external_id",    "external_id",    MEMBER_TEXT,    true },
    { "failover",       "failover",       MEMBER_TEXT,    false },
    { "grace",          "grace_s",        MEMBER_SPAN,    false },
    { "grace_s",        "grace_s",        MEMBER_SECONDS, false },
    { "hold",           "hold",           MEMBER_SWITCH,  false },
    { "id",             "name",           MEMBER_TEXT,    true },
    { "idle_timeout",   "idle_timeout_s", MEMBER_SPAN,    false },
    { "idle_timeout_s", "idle_timeout_s", MEMBER_SECONDS, false },
    { "iteration",      "iteration",      MEMBER_WHOLE,   false },
    { "kind",           "kind",           MEMBER_TEXT,    false },
    { "limiter",        "limiter",        MEMBER_TEXT,    false },
    { "memory_mb",      "memory_mb",      MEMBER_WHOLE,   false },
    { "merge",          "merge",          MEMBER_TEXT,    false },
    { "meta",           "meta",           MEMBER_META,    false },
    { "name",           "name",           MEMBER_TEXT,    true },
    { "needs",          "depends_on",     MEMBER_NAMES,   true },
    { "nice",           "nice",           MEMBER_WHOLE,   false },
    { "not_before",     "not_before",     MEMBER_WHOLE,   false },
    { "on_budget",      "on_budget",      MEMBER_TEXT,    false },
    { "parallelizable", "parallelizable", MEMBER_SWITCH,  false },
    { "parent",         "parent",         MEMBER_TEXT,    false },
    { "parent_gate",    "parent_gate",    MEMBER_TEXT,    false },
    { "priority",       "priority",       MEMBER_WHOLE,   false },
    { "processes",      "processes",      MEMBER_WHOLE,   false },
    { "project",        "project",        MEMBER_TEXT,    false },
    { "prompt",         "prompt",         MEMBER_TEXT,    false },
    { "resources",      "resources",      MEMBER_NAMES,   false },
    { "resume",         "resume",         MEMBER_TEXT,    false },
    { "retries",        "retries",        MEMBER_WHOLE,   false },
    { "review",         "review",         MEMBER_SWITCH,  false },
    { "run",            "argv",           MEMBER_SHELL,   false },
    { "run_tokens",     "run_tokens",     MEMBER_WHOLE,   false },
    { "run_usd",        "run_usd",        MEMBER_DOLLARS, false },
    { "sandbox",        "sandbox",        MEMBER_TEXT,    false },
    { "serial",         "serial",         MEMBER_TEXT,    false },
    { "slurm",          "slurm",          MEMBER_ENV,     false },
    { "spawn",          "spawn",          MEMBER_TEXT,    false },
    { "stdin",          "stdin",          MEMBER_PATH,    false },
    { "stop_signal",    "stop_signal",    MEMBER_TEXT,    false },
    { "timeout",        "timeout_s",      MEMBER_SPAN,    false },
    { "timeout_s",      "timeout_s",      MEMBER_SECONDS, false },
    { "title",          "title",          MEMBER_TEXT,    false },
    { "tokens",         "tokens",         MEMBER_WHOLE,   false },
    { "until",          "until",          MEMBER_TEXT,    false },
    { "usd",            "usd",            MEMBER_DOLLARS, false },
    { "workspace",      "workspace",      MEMBER_TEXT,    false },
    { "wrap",           "wrap",           MEMBER_WORDS,   false },
};
/* clang-format on */

static const struct member *member_find(const char *name) {
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (strcmp(members[i].name, name) == 0)
            return &members[i];
    return NULL;
}

const char *taskfile_member(const char *name) {
    const struct member *m = member_find(name);
    return m ? m->target : NULL;
}

const struct yaml_node *taskfile_key_of(const struct yaml_node *mapping, const char *member) {
    for (const struct yaml_node *key = mapping->first; key; key = key->next) {
        const char *target = taskfile_member(key->text);
        if (target && strcmp(target, member) == 0)
            return key;
    }
    return NULL;
}

/* --- plain values ---------------------------------------------------------------------------- */

static int refuse(const struct taskfile *file, const struct yaml_node *key, const char *expected,
                  struct error *err) {
    return taskfile_fail(file, key->value, err, "'%s': expected %s, got %s", key->text, expected,
                         yaml_noun(key->value).text);
}

int taskfile_text(const struct taskfile *file, const struct yaml_node *key, json_t **ret_text,
                  struct error *err) {
    if (key->value->kind != YAML_SCALAR)
        return refuse(file, key, "a text", err);
    *ret_text = json_stringn(key->value->text, key->value->length);
    return 0;
}

static int read_dollars(const struct taskfile *file, const struct yaml_node *key,
                        json_t **ret_dollars, struct error *err) {
    int64_t micro;
    if (key->value->kind != YAML_SCALAR || money_parse(key->value->text, &micro, NULL) < 0)
        return refuse(file, key, "dollars with up to six places, like 2.50", err);
    *ret_dollars = json_real((double)micro / (double)MONEY_DOLLAR);
    return 0;
}

int taskfile_switch(const struct taskfile *file, const struct yaml_node *key, json_t **ret_switch,
                    struct error *err) {
    enum yaml_type type = yaml_type(key->value);
    if (type != YAML_TRUE && type != YAML_FALSE)
        return refuse(file, key, "true or false", err);
    *ret_switch = json_boolean(type == YAML_TRUE);
    return 0;
}

static int read_whole(const struct taskfile *file, const struct yaml_node *key, json_t **ret_whole,
                      struct error *err) {
    if (yaml_type(key->value) != YAML_INTEGER)
        return refuse(file, key, "a whole number", err);
    *ret_whole = json_integer(yaml_integer(key->value));
    return 0;
}

static int read_shell(const struct taskfile *file, const struct yaml_node *key, json_t **ret_argv,
                      struct error *err) {
    if (key->value->kind != YAML_SCALAR)
        return refuse(file, key, "a line for the shell ('argv' takes a list)", err);
    *ret_argv = taskfile_shell(key->value);
    return 0;
}

static int read_path(const struct taskfile *file, const struct yaml_node *key, json_t **ret_path,
                     struct error *err) {
    if (key->value->kind != YAML_SCALAR || key->value->length == 0)
        return refuse(file, key, "a path", err);
    const char *path = key->value->text;
    if (*path == '~')
        return taskfile_fail(file, key->value, err,
                             "'%s': ~ is not expanded here; write the path "
                             "out",
                             key->text);
    while (strncmp(path, "./", 2) == 0)
        path += 2 + strspn(path + 2, "/");
    bool is_here = *path == '\0' || strcmp(path, ".") == 0;
    bool is_root = strcmp(file->folder, "/") == 0;
    struct strbuf whole = STRBUF_INIT;
    if (*path == '/')
        strbuf_puts(&whole, path);
    else if (is_here)
        strbuf_puts(&whole, file->folder);
    else
        strbuf_printf(&whole, "%s/%s", is_root ? "" : file->folder, path);
    *ret_path = json_stringn(strbuf_text(&whole), whole.length);
    strbuf_finish(&whole);
    return 0;
}

/* One of its parent's iterations, or a path like the others. */
static int read_artifact(const struct taskfile *file, const struct yaml_node *key,
                         json_t **ret_path, struct error *err) {
    bool is_parents = key->value->kind == YAML_SCALAR
                      && strncmp(key->value->text, "iterations/", strlen("iterations/")) == 0;
    return is_parents ? taskfile_text(file, key, ret_path, err)
                      : read_path(file, key, ret_path, err);
}

/* --- all of a task --------------------------------------------------------------------------- */

static int read_value(const struct taskfile *file, const struct member *m,
                      const struct yaml_node *key, json_t **ret_value, struct error *err) {
    if (key->value->kind == YAML_SCALAR && yaml_type(key->value) == YAML_NULL) {
        *ret_value = json_null();
        return 0;
    }
    switch (m->type) {
    case MEMBER_TEXT:
        return taskfile_text(file, key, ret_value, err);
    case MEMBER_PATH:
        return read_path(file, key, ret_value, err);
    case MEMBER_ARTIFACT:
        return read_artifact(file, key, ret_value, err);
    case MEMBER_WHOLE:
        return read_whole(file, key, ret_value, err);
    case MEMBER_SWITCH:
        return taskfile_switch(file, key, ret_value, err);
    case MEMBER_SECONDS:
        return taskfile_seconds(file, key, ret_value, err);
    case MEMBER_DOLLARS:
        return read_dollars(file, key, ret_value, err);
    case MEMBER_SPAN:
        return taskfile_span(file, key, ret_value, err);
    case MEMBER_WORDS:
        return taskfile_words(file, key->value, ret_value, err);
    case MEMBER_SHELL:
        return read_shell(file, key, ret_value, err);
    case MEMBER_NAMES:
        return taskfile_names(file, key, ret_value, err);
    case MEMBER_ENV:
        return taskfile_env(file, key, ret_value, err);
    case MEMBER_CHECKS:
        return taskfile_checks(file, key, ret_value, err);
    case MEMBER_META:
        return taskfile_meta(file, key, ret_value, err);
    case MEMBER_TYPE_MAX:
        break;
    }
    return refuse(file, key, "nothing", err);
}

static int refuse_unknown(const struct taskfile *file, const struct yaml_node *key,
                          struct error *err) {
    struct nearest nearest = nearest_to(key->text);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        nearest_offer(&nearest, members[i].name);
    if (nearest.best)
        return taskfile_fail(file, key, err, "a task has no %s; did you mean '%s'?",
                             yaml_noun(key).text, nearest.best);
    return taskfile_fail(file, key, err,
                         "a task has no %s; what is yours alone belongs under "
                         "'meta'",
                         yaml_noun(key).text);
}

/* The same member under two names, or a prompt besides a command. */
static int check_twice(const struct taskfile *file, const struct yaml_node *mapping,
                       const struct yaml_node *key, struct error *err) {
    const char *target = taskfile_member(key->text);
    bool is_command = strcmp(target, "argv") == 0 || strcmp(target, "prompt") == 0;
    for (const struct yaml_node *other = mapping->first; other != key; other = other->next) {
        const char *said = taskfile_member(other->text);
        if (strcmp(other->text, key->text) == 0)
            return taskfile_fail(file, key, err, "'%s' is said twice, first in line %u", key->text,
                                 other->line);
        if (strcmp(said, target) == 0)
            return taskfile_fail(file, key, err,
                                 "'%s' and '%s' (line %u) say the same; leave one "
                                 "out",
                                 key->text, other->text, other->line);
        if (is_command && (strcmp(said, "argv") == 0 || strcmp(said, "prompt") == 0))
            return taskfile_fail(file, key, err, "a task has '%s' (line %u) or '%s', not both",
                                 other->text, other->line, key->text);
    }
    return 0;
}

static int read_member(const struct taskfile *file, const struct yaml_node *mapping,
                       const struct yaml_node *key, enum member_place place, json_t *object,
                       struct error *err) {
    const struct member *m = member_find(key->text);
    json_t *value = NULL;
    if (!m)
        return refuse_unknown(file, key, err);
    if (m->own && place == MEMBER_OF_DEFAULTS)
        return taskfile_fail(file, key, err, "'%s' is of one task alone: it has no default",
                             key->text);
    int r = check_twice(file, mapping, key, err);
    if (r >= 0)
        r = read_value(file, m, key, &value, err);
    if (r >= 0)
        json_object_set_new(object, m->target, value);
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
