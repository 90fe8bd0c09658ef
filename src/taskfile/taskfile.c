/* taskfile.c: a file of tasks, from bytes to the body of one request.
 *
 * The tree of the file is kept beside the body, so that a refusal that comes back from the daemon by
 * the task's number can still be told by its line. */
#include "taskfile/taskfile.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "os/clock.h"
#include "os/files.h"
#include "taskfile/taskfile_internal.h"

#define STDIN_NAME "stdin"

static const struct yaml_limits limits = {
    .bytes = TASKFILE_BYTES_MAX,
    .levels = 32,
    .nodes = 1000000,
};

int taskfile_fail(const struct taskfile *file, const struct yaml_node *where, struct error *err,
                  const char *format, ...) {
    char text[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (char *c = text; *c; c++) /* it may quote the file */
        if (iscntrl((unsigned char)*c))
            *c = '?';
    return error_set(err, -EINVAL, "%.160s:%u:%u: %s", file->name, where->line, where->column,
                     text);
}

/* --- one task -------------------------------------------------------------------------------- */

static bool says(const json_t *task, const char *member) {
    const json_t *value = json_object_get(task, member);
    return value && !json_is_null(value);
}

/* What the task does not say it takes from the defaults. A command of its own is instead of theirs,
 * whatever form it has. */
static void add_defaults(json_t *task, json_t *defaults) {
    bool has_command = says(task, "argv") || says(task, "prompt");
    const char *member;
    json_t *value;
    json_object_foreach(defaults, member, value) {
        bool is_command = strcmp(member, "argv") == 0 || strcmp(member, "prompt") == 0;
        json_t *own = json_object_get(task, member);
        if (!own && !(is_command && has_command))
            json_object_set(task, member, value);
        else if (json_is_object(own) && strcmp(member, "meta") != 0)
            (void)json_object_update_missing(own, value); /* null: nothing is missing */
    }
}

/* What was written with nothing behind it has kept the default away; that was its use. */
static void drop_nothing(json_t *task) {
    const char *member;
    json_t *value;
    void *next;
    json_object_foreach_safe(task, next, member, value) {
        if (json_is_null(value))
            json_object_del(task, member);
    }
}

static int read_task(struct taskfile *file, const struct yaml_node *node, json_t *defaults,
                     struct error *err) {
    json_t *task = NULL;
    if (node->kind != YAML_MAPPING)
        return taskfile_fail(file, node, err,
                             "expected a task with its members, got %s; a command alone is '- run: "
                             "COMMAND'",
                             yaml_noun(node).text);
    int r = taskfile_members(file, node, MEMBER_OF_TASK, &task, err);
    if (r < 0)
        return r;
    add_defaults(task, defaults);
    if (!json_object_get(task, "cwd") && !says(task, "workspace"))
        json_object_set(task, "cwd", file->here);
    drop_nothing(task);
    file->tasks[json_array_size(file->list)] = node;
    json_array_append_new(file->list, task);
    return 0;
}

static int read_tasks(struct taskfile *file, const struct yaml_node *list, json_t *defaults,
                      struct error *err) {
    if (list->kind != YAML_LIST)
        return taskfile_fail(file, list, err, "expected a list of tasks, got %s",
                             yaml_noun(list).text);
    if (list->count == 0)
        return taskfile_fail(file, list, err, "there are no tasks in it");
    if (list->count > TASKFILE_TASKS_MAX)
        return taskfile_fail(file, list, err,
                             "%zu tasks are too many for one file; the most are %u", list->count,
                             TASKFILE_TASKS_MAX);
    file->tasks = xcalloc(list->count, sizeof(*file->tasks));
    int r = 0;
    for (const struct yaml_node *node = list->first; r >= 0 && node; node = node->next)
        r = read_task(file, node, defaults, err);
    return r < 0 ? r : taskfile_check_links(file, err);
}

/* --- the file -------------------------------------------------------------------------------- */

struct head {
    const struct yaml_node *project, *group, *draft, *defaults, *tasks;
};

static int take_head_key(const struct taskfile *file, const struct yaml_node *key,
                         struct head *head, struct error *err) {
    const struct {
        const char *name;
        const struct yaml_node **place;
    } known[] = { { "project", &head->project },
                  { "group", &head->group },
                  { "draft", &head->draft },
                  { "defaults", &head->defaults },
                  { "tasks", &head->tasks } };
    struct nearest nearest = nearest_to(key->text);
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        nearest_offer(&nearest, known[i].name);
        if (strcmp(known[i].name, key->text) != 0)
            continue;
        if (*known[i].place)
            return taskfile_fail(file, key, err, "'%s' is said twice, first in line %u", key->text,
                                 (*known[i].place)->line);
        *known[i].place = key;
        return 0;
    }
    if (nearest.best)
        return taskfile_fail(file, key, err, "a file of tasks has no %s; did you mean '%s'?",
                             yaml_noun(key).text, nearest.best);
    return taskfile_fail(file, key, err,
                         "a file of tasks has no %s; it has project, group, draft, defaults and "
                         "tasks%s",
                         yaml_noun(key).text,
                         task_member_find(key->text) ? ", and that is a member of a task" : "");
}

/* The value of a key, if it is there and says anything; or NULL. */
static const struct yaml_node *value_of(const struct yaml_node *key) {
    bool nothing = !key || (key->value->kind == YAML_SCALAR && yaml_type(key->value) == YAML_NULL);
    return nothing ? NULL : key->value;
}

static int read_defaults(const struct taskfile *file, const struct yaml_node *value,
                         json_t **ret_object, struct error *err) {
    if (value && value->kind != YAML_MAPPING)
        return taskfile_fail(file, value, err, "'defaults': expected members of a task, got %s",
                             yaml_noun(value).text);
    if (value)
        return taskfile_members(file, value, MEMBER_OF_DEFAULTS, ret_object, err);
    *ret_object = json_object();
    return 0;
}

/* The project of the file is the default of its tasks. */
static int add_project(const struct taskfile *file, const struct head *head, json_t *defaults,
                       struct error *err) {
    json_t *project = NULL;
    if (!value_of(head->project))
        return 0;
    if (json_object_get(defaults, "project"))
        return taskfile_fail(file, head->project, err,
                             "'project' is said here and in 'defaults'; leave one out");
    int r = taskfile_value(file, task_member_find("project"), head->project, &project, err);
    if (r >= 0)
        json_object_set_new(defaults, "project", project);
    return r;
}

static int read_head(struct taskfile *file, const struct head *head, struct error *err) {
    json_t *group = NULL, *draft = NULL;
    const struct task_member *name = task_member_find("project"); /* a group has such a name, too */
    int r = value_of(head->group) ? taskfile_value(file, name, head->group, &group, err) : 0;
    if (group)
        json_object_set_new(file->body, "group", group);
    if (r >= 0 && value_of(head->draft))
        r = taskfile_value(file, task_member_find("draft"), head->draft, &draft, err);
    if (draft)
        json_object_set_new(file->body, "draft", draft);
    return r;
}

static int read_mapping(struct taskfile *file, const struct yaml_node *root, struct error *err) {
    struct head head = { NULL };
    for (const struct yaml_node *key = root->first; key; key = key->next) {
        int r = take_head_key(file, key, &head, err);
        if (r < 0)
            return r;
    }
    const struct yaml_node *tasks = value_of(head.tasks);
    if (!tasks)
        return taskfile_fail(file, root, err, "there are no tasks in it");
    json_t *defaults = NULL;
    int r = read_head(file, &head, err);
    if (r >= 0)
        r = read_defaults(file, value_of(head.defaults), &defaults, err);
    if (r >= 0)
        r = add_project(file, &head, defaults, err);
    if (r >= 0)
        r = read_tasks(file, tasks, defaults, err);
    json_decref(defaults);
    return r;
}

static int read_root(struct taskfile *file, struct error *err) {
    const struct yaml_node *root = file->yaml.root;
    if (!root)
        return error_set(err, -EINVAL, "%.160s: there are no tasks in it", file->name);
    if (root->kind == YAML_MAPPING)
        return read_mapping(file, root, err);
    if (root->kind == YAML_SCALAR)
        return taskfile_fail(file, root, err, "expected a list of tasks, got %s",
                             yaml_noun(root).text);
    json_t *none = json_object();
    int r = read_tasks(file, root, none, err);
    json_decref(none);
    return r;
}

static int taskfile_new(const char *name, const char *folder, struct taskfile **ret_file,
                        struct error *err) {
    struct taskfile *file = xcalloc(1, sizeof(*file));
    file->name = xstrdup(name);
    file->source = (struct task_source){ .folder = xstrdup(folder), .now = clock_read() };
    file->list = json_array();
    file->body = json_object();
    json_object_set_new(file->body, "tasks", file->list);
    file->here = json_string(folder);
    *ret_file = file;
    return file->here ? 0
                      : error_set(err, -EINVAL,
                                  "the folder '%s' has a name that is not UTF-8, which tasks "
                                  "must be",
                                  folder);
}

int taskfile_read_text(const char *name, const char *folder, const char *text, size_t size,
                       struct taskfile **ret_file, struct error *err) {
    _cleanup_(taskfile_freep) struct taskfile *file = NULL;
    struct error unread = { 0 };
    err = err ? err : &unread;
    int r = taskfile_new(name, folder, &file, err);
    if (r >= 0)
        r = yaml_parse(name, text, size, &limits, &file->yaml, err);
    if (r >= 0)
        r = read_root(file, err);
    if (r < 0)
        return r;
    *ret_file = TAKE_PTR(file);
    return 0;
}

int taskfile_read_list(const char *name, const char *folder, const struct yaml_node *list,
                       const struct yaml_node *defaults, struct taskfile **ret_file,
                       struct error *err) {
    _cleanup_(taskfile_freep) struct taskfile *file = NULL;
    json_t *members = NULL;
    int r = taskfile_new(name, folder, &file, err);
    if (r >= 0)
        r = read_defaults(file, defaults, &members, err);
    if (r >= 0)
        r = read_tasks(file, list, members, err);
    json_decref(members);
    if (r < 0)
        return r;
    *ret_file = TAKE_PTR(file);
    return 0;
}

struct taskfile *taskfile_free(struct taskfile *file) {
    if (!file)
        return NULL;
    json_decref(file->body);
    json_decref(file->here);
    yaml_finish(&file->yaml);
    free(file->tasks);
    free(file->name);
    free((char *)file->source.folder);
    free(file);
    return NULL;
}

/* --- from disk ------------------------------------------------------------------------------- */

static int read_all(const char *path, const char *name, struct strbuf *out, struct error *err) {
    FILE *stream = NULL;
    int r = file_open(path, &stream, err);
    if (r < 0)
        return r;
    char chunk[65536];
    size_t got;
    while ((got = fread(chunk, 1, sizeof(chunk), stream)) > 0 && out->length <= TASKFILE_BYTES_MAX)
        strbuf_add(out, chunk, got);
    if (ferror(stream))
        r = error_set(err, -EIO, "cannot read '%s': %s", name, strerror(errno));
    file_close(stream);
    return r;
}

/* The folder of the file; of the standard input: this one. */
static int find_folder(const char *path, bool is_stdin, struct strbuf *out, struct error *err) {
    const char *slash = is_stdin ? NULL : strrchr(path, '/');
    _cleanup_(freep) char *folder = slash ? xstrndup(path, (size_t)(slash - path) + 1) : NULL;
    _cleanup_(freep) char *real = realpath(folder ? folder : ".", NULL);
    if (!real)
        return error_set_errno(err, "find the folder of", path);
    strbuf_puts(out, real);
    return 0;
}

int taskfile_read(const char *path, struct taskfile **ret_file, struct error *err) {
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? STDIN_NAME : path;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, folder = STRBUF_INIT;
    int r = read_all(path, name, &text, err);
    if (r >= 0)
        r = find_folder(path, is_stdin, &folder, err);
    if (r < 0)
        return r;
    return taskfile_read_text(name, strbuf_text(&folder), strbuf_text(&text), text.length, ret_file,
                              err);
}

/* --- what is in it --------------------------------------------------------------------------- */

json_t *taskfile_body(const struct taskfile *file) {
    return json_incref(file->body);
}

size_t taskfile_count(const struct taskfile *file) {
    return json_array_size(file->list);
}

unsigned taskfile_line(const struct taskfile *file, size_t index) {
    return index < taskfile_count(file) ? file->tasks[index]->line : 0;
}

unsigned taskfile_member_line(const struct taskfile *file, size_t index, const char *member) {
    const struct yaml_node *key =
        index < taskfile_count(file) ? taskfile_key_of(file->tasks[index], member) : NULL;
    return key ? key->line : 0;
}

int taskfile_locate(const struct taskfile *file, size_t index, struct error *err) {
    unsigned line = taskfile_line(file, index);
    const char *open = strchr(err->text, '\''), *close = open ? strchr(open + 1, '\'') : NULL;
    if (close) {
        _cleanup_(freep) char *member = xstrndup(open + 1, (size_t)(close - open) - 1);
        unsigned own = taskfile_member_line(file, index, member);
        line = own ? own : line;
    }
    return line ? error_prefix(err, "%.160s:%u", file->name, line) : err->code;
}
