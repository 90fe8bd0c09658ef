/* taskfile.c: parses a file of tasks into a request body.
 *
 * The parsed tree is kept, so that an error that the daemon reports by task index can be shown with
 * its line. */
#include "taskfile/taskfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/foreign_names.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "base/symbol_table.h"
#include "core/task_graph.h"
#include "os/clock.h"
#include "os/files.h"
#include "taskfile/task_member.h"
#include "yaml/yaml.h"

#define STDIN_NAME  "stdin"
#define CYCLE_SHOWN 8 /* tasks of a longer cycle that are printed */

static const struct yaml_limits limits = {
    .bytes = TASKFILE_BYTES_MAX,
    .levels = 32,
    .nodes = 1000000,
};

struct taskfile {
    char *name;                /* for messages */
    struct task_source source; /* its folder, and when it is read */
    json_t *here;              /* the folder, as JSON */
    struct yaml yaml;
    const struct yaml_node **tasks; /* borrowed from the tree; one per task in the body */
    json_t *body, *list;            /* list: borrowed from body */
};

#define fail_at(file, node, ...)                                                                   \
    yaml_fail((struct yaml_position){ (file)->name, (node)->line, (node)->column }, __VA_ARGS__)

/* --- members --------------------------------------------------------------------------------- */

static const struct yaml_node *key_of(const struct yaml_node *mapping, const char *member) {
    for (const struct yaml_node *key = mapping->first; key; key = key->next) {
        const struct task_member *m = task_member_find(key->text);
        if (m && strcmp(m->name, member) == 0)
            return key;
    }
    return NULL;
}

/* The value of a key, parsed as member `m`. */
static int read_value(const struct taskfile *file, const struct task_member *m,
                      const struct yaml_node *key, json_t **ret_value, struct error *err) {
    const struct yaml_node *node = key->value;
    struct error wrong = { 0 };
    json_t *value = NULL, *other = NULL;
    int r = yaml_json(file->name, node, m->kind == MEMBER_OBJECT, &value, err);
    if (r < 0)
        return r;
    if (yaml_type(node) != YAML_NULL)
        r = task_member_check(m, key->text, value, &file->source, &other, &wrong);
    if (r < 0)
        r = fail_at(file, node, err, "'%s': %s", key->text, wrong.text);
    else
        *ret_value = json_incref(other ? other : value);
    json_decref(value);
    json_decref(other);
    return r;
}

static bool is_command(const struct task_member *m) {
    return strcmp(m->name, "argv") == 0 || strcmp(m->name, "prompt") == 0;
}

/* Refuses the same member under two names, and a prompt together with a command. */
static int check_twice(const struct taskfile *file, const struct yaml_node *mapping,
                       const struct yaml_node *key, const struct task_member *m,
                       struct error *err) {
    for (const struct yaml_node *other = mapping->first; other != key; other = other->next) {
        const struct task_member *previous = task_member_find(other->text);
        if (strcmp(other->text, key->text) == 0)
            return fail_at(file, key, err, "'%s' is given twice, first in line %u", key->text,
                           other->line);
        if (previous == m)
            return fail_at(file, key, err, "'%s' and '%s' (line %u) are the same; remove one",
                           key->text, other->text, other->line);
        if (is_command(m) && is_command(previous))
            return fail_at(file, key, err, "a task has '%s' (line %u) or '%s', not both",
                           other->text, other->line, key->text);
    }
    return 0;
}

static int read_member(const struct taskfile *file, const struct yaml_node *mapping,
                       const struct yaml_node *key, bool is_default, json_t *object,
                       struct error *err) {
    const struct task_member *m = task_member_find(key->text);
    struct error unknown = { 0 };
    json_t *value = NULL;
    if (!m || m->flags & MEMBER_INTERNAL) {
        (void)task_member_unknown(key->text, &unknown);
        return fail_at(file, key, err, "%s", unknown.text);
    }
    if (m->flags & MEMBER_NO_DEFAULT && is_default)
        return fail_at(file, key, err, "'%s' belongs to a single task and cannot be a default",
                       key->text);
    int r = check_twice(file, mapping, key, m, err);
    if (r >= 0)
        r = read_value(file, m, key, &value, err);
    if (r >= 0)
        json_object_set_new(object, m->name, value);
    return r;
}

/* Reads the members of a task, or of `defaults`, into a new object. Empty keys are null. */
static int read_members(const struct taskfile *file, const struct yaml_node *mapping,
                        bool is_default, json_t **ret_object, struct error *err) {
    json_t *object = json_object();
    int r = 0;
    for (const struct yaml_node *key = mapping->first; r >= 0 && key; key = key->next)
        r = read_member(file, mapping, key, is_default, object, err);
    if (r < 0)
        json_decref(object);
    else
        *ret_object = object;
    return r;
}

/* --- names and dependencies ------------------------------------------------------------------ */

/* Only names in the file count: others may be ids of existing tasks. */
struct links {
    const struct taskfile *file;
    struct symbol_table names;
    uint32_t *owners; /* owners[n]: the task with name n */
    uint32_t *starts, *targets;
    size_t edges;
};

static const json_t *task_at(const struct links *l, size_t index) {
    return json_array_get(l->file->list, index);
}

static const char *name_of(const struct links *l, size_t index) {
    const char *name = json_string_value(json_object_get(task_at(l, index), "name"));
    return name ? name : "";
}

/* The node to report errors at: the member, or the task if the value is a default. */
static const struct yaml_node *node_of(const struct links *l, size_t index, const char *member) {
    const struct yaml_node *task = l->file->tasks[index];
    const struct yaml_node *key = key_of(task, member);
    return key ? key->value : task;
}

static int take_name(struct links *l, size_t index, struct error *err) {
    const char *name = name_of(l, index);
    const struct yaml_node *node = node_of(l, index, "name");
    if (!json_object_get(task_at(l, index), "name"))
        return 0;
    if (*name == '\0' || strchr(name, ','))
        return fail_at(l->file, node, err, "expected a name without commas, got '%.60s'", name);
    size_t known = l->names.count;
    sym symbol = symbol_intern(&l->names, name, strlen(name));
    if (symbol <= known)
        return fail_at(l->file, node, err, "task %s already exists in line %u",
                       yaml_noun(node).text, l->file->tasks[l->owners[symbol]]->line);
    l->owners[symbol] = (uint32_t)index;
    return 0;
}

static int add_edge(struct links *l, size_t index, const char *name, const char *member,
                    struct error *err) {
    sym symbol = symbol_find(&l->names, name, strlen(name));
    if (symbol && l->owners[symbol] == index)
        return fail_at(l->file, node_of(l, index, member), err, "task '%.60s' %s itself", name,
                       strcmp(member, "parent") == 0 ? "is the parent of" : "needs");
    if (symbol)
        l->targets[l->edges++] = l->owners[symbol];
    return 0;
}

/* Adds the edges of one member: depends_on or parent. */
static int add_edges(struct links *l, const char *member, struct error *err) {
    l->edges = 0;
    for (size_t i = 0; i < json_array_size(l->file->list); i++) {
        const json_t *value = json_object_get(task_at(l, i), member);
        l->starts[i] = (uint32_t)l->edges;
        int r = 0;
        if (json_is_string(value))
            r = add_edge(l, i, json_string_value(value), member, err);
        for (size_t k = 0; r >= 0 && k < json_array_size(value); k++)
            r = add_edge(l, i, json_string_value(json_array_get(value, k)), member, err);
        if (r < 0)
            return r;
    }
    l->starts[json_array_size(l->file->list)] = (uint32_t)l->edges;
    return 0;
}

static int refuse_cycle(const struct links *l, const uint32_t *path, size_t length,
                        const char *what, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf cycle = STRBUF_INIT, lines = STRBUF_INIT;
    for (size_t i = 0; i < length && i < CYCLE_SHOWN; i++) {
        strbuf_printf(&cycle, "%.60s -> ", name_of(l, path[i]));
        strbuf_printf(&lines, "%s%u", i ? ", " : "", l->file->tasks[path[i]]->line);
    }
    if (length > CYCLE_SHOWN) {
        strbuf_printf(&cycle, "... (%zu tasks) -> ", length);
        strbuf_puts(&lines, ", ...");
    }
    strbuf_printf(&cycle, "%.60s", name_of(l, path[0]));
    return fail_at(l->file, l->file->tasks[path[0]], err, "%s detected: %.300s (lines %s)", what,
                   strbuf_text(&cycle), strbuf_text(&lines));
}

static int check_member(struct links *l, const char *member, const char *what, struct error *err) {
    _cleanup_(freep) uint32_t *path = NULL;
    size_t length = 0, count = json_array_size(l->file->list);
    int r = add_edges(l, member, err);
    if (r < 0 || !cycle_find(l->starts, l->targets, (uint32_t)count, &path, &length))
        return r;
    return refuse_cycle(l, path, length, what, err);
}

/* Checks for duplicate names, self-dependencies and cycles. */
static int check_links(const struct taskfile *file, struct error *err) {
    size_t count = json_array_size(file->list), edges = count; /* a parent each */
    for (size_t i = 0; i < count; i++)
        edges += json_array_size(json_object_get(json_array_get(file->list, i), "depends_on"));
    struct links l = { .file = file,
                       .owners = xcalloc(count + 1, sizeof(*l.owners)),
                       .starts = xcalloc(count + 1, sizeof(*l.starts)),
                       .targets = xcalloc(edges + 1, sizeof(*l.targets)) };
    symbol_table_init(&l.names);
    int r = 0;
    for (size_t i = 0; r >= 0 && i < count; i++)
        r = take_name(&l, i, err);
    if (r >= 0)
        r = check_member(&l, "depends_on", "dependency cycle", err);
    if (r >= 0)
        r = check_member(&l, "parent", "cycle of parents", err);
    symbol_table_finish(&l.names);
    free(l.owners);
    free(l.starts);
    free(l.targets);
    return r;
}

/* --- one task -------------------------------------------------------------------------------- */

static bool is_given(const json_t *task, const char *member) {
    const json_t *value = json_object_get(task, member);
    return value && !json_is_null(value);
}

/* Adds missing members from the defaults. A task's command, in any form, overrides theirs. */
static void add_defaults(json_t *task, json_t *defaults) {
    bool has_command = is_given(task, "argv") || is_given(task, "prompt");
    const char *member;
    json_t *value;
    json_object_foreach(defaults, member, value) {
        bool is_command = strcmp(member, "argv") == 0 || strcmp(member, "prompt") == 0;
        json_t *own = json_object_get(task, member);
        if (!own && !(is_command && has_command))
            json_object_set(task, member, value);
        else if (json_is_object(own) && strcmp(member, "meta") != 0)
            (void)json_object_update_missing(own, value); /* null: nothing to merge */
    }
}

/* Removes null members: they were only there to suppress the default. */
static void drop_nulls(json_t *task) {
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
        return fail_at(file, node, err,
                       "expected a task with its members, got %s; a command alone is '- run: "
                       "COMMAND'",
                       yaml_noun(node).text);
    int r = read_members(file, node, false, &task, err);
    if (r < 0)
        return r;
    add_defaults(task, defaults);
    if (!json_object_get(task, "cwd") && !is_given(task, "workspace"))
        json_object_set(task, "cwd", file->here);
    drop_nulls(task);
    file->tasks[json_array_size(file->list)] = node;
    json_array_append_new(file->list, task);
    return 0;
}

static int read_tasks(struct taskfile *file, const struct yaml_node *list, json_t *defaults,
                      struct error *err) {
    if (list->kind != YAML_LIST)
        return fail_at(file, list, err, "expected a list of tasks, got %s", yaml_noun(list).text);
    if (list->count == 0)
        return fail_at(file, list, err, "it contains no tasks");
    if (list->count > TASKFILE_TASKS_MAX)
        return fail_at(file, list, err, "%zu tasks are too many for one file; maximum is %u",
                       list->count, TASKFILE_TASKS_MAX);
    file->tasks = xcalloc(list->count, sizeof(*file->tasks));
    int r = 0;
    for (const struct yaml_node *node = list->first; r >= 0 && node; node = node->next)
        r = read_task(file, node, defaults, err);
    return r < 0 ? r : check_links(file, err);
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
            return fail_at(file, key, err, "'%s' is given twice, first in line %u", key->text,
                           (*known[i].place)->line);
        *known[i].place = key;
        return 0;
    }
    if (nearest.best)
        return fail_at(file, key, err, "a file of tasks has no %s; did you mean '%s'?",
                       yaml_noun(key).text, nearest.best);
    bool is_member = task_member_find(key->text);
    const char *foreign = is_member ? NULL : foreign_name(FOREIGN_MEMBER, key->text);
    return fail_at(file, key, err,
                   "a file of tasks has no %s; it has project, group, draft, defaults and "
                   "tasks%s%s%s",
                   yaml_noun(key).text,
                   is_member ? ", and that is a member of a task"
                   : foreign ? ", and a task has '"
                             : "",
                   foreign ? foreign : "", foreign ? "'" : "");
}

/* The value of a key; NULL if missing or null. */
static const struct yaml_node *value_of(const struct yaml_node *key) {
    return key && yaml_type(key->value) != YAML_NULL ? key->value : NULL;
}

static int read_defaults(const struct taskfile *file, const struct yaml_node *value,
                         json_t **ret_object, struct error *err) {
    if (value && value->kind != YAML_MAPPING)
        return fail_at(file, value, err, "'defaults': expected members of a task, got %s",
                       yaml_noun(value).text);
    if (value)
        return read_members(file, value, true, ret_object, err);
    *ret_object = json_object();
    return 0;
}

/* The file's project is the default of its tasks. */
static int add_project(const struct taskfile *file, const struct head *head, json_t *defaults,
                       struct error *err) {
    json_t *project = NULL;
    if (!value_of(head->project))
        return 0;
    if (json_object_get(defaults, "project"))
        return fail_at(file, head->project, err,
                       "'project' is given here and in 'defaults'; remove one");
    int r = read_value(file, task_member_find("project"), head->project, &project, err);
    if (r >= 0)
        json_object_set_new(defaults, "project", project);
    return r;
}

static int read_head(struct taskfile *file, const struct head *head, struct error *err) {
    const struct yaml_node *const keys[] = { head->group, head->draft };
    int r = 0;
    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(keys); i++) {
        json_t *value = NULL;
        /* a group is named like a project */
        if (value_of(keys[i]))
            r = read_value(file, task_member_find(i == 0 ? "project" : "draft"), keys[i], &value,
                           err);
        if (value)
            json_object_set_new(file->body, keys[i]->text, value);
    }
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
        return fail_at(file, root, err, "it contains no tasks");
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
        return error_set(err, -EINVAL, "%.160s: it contains no tasks", file->name);
    if (root->kind == YAML_MAPPING)
        return read_mapping(file, root, err);
    if (root->kind == YAML_SCALAR)
        return fail_at(file, root, err, "expected a list of tasks, got %s", yaml_noun(root).text);
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

/* One byte more than TASKFILE_BYTES_MAX is enough for the YAML reader to refuse it. */
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

/* The folder of the file; for standard input, the current directory. */
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

/* --- accessors ------------------------------------------------------------------------------- */

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
        index < taskfile_count(file) ? key_of(file->tasks[index], member) : NULL;
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
