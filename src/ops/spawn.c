/* spawn.c: the tasks that a run has written down become its children.
 *
 * The file was written by an agent: it may be missing, endless, no file at all, or name things that
 * do not exist. Whatever is wrong is one sentence with the line, because the next iteration reads
 * it. */
#include "ops/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "engine/groups.h"
#include "engine/redaction.h"
#include "ops/batch.h"
#include "ops/child.h"
#include "ops/op_internal.h"
#include "os/files.h"
#include "os/outside.h"
#include "taskfile/taskfile.h"

#define FILE_MAX (1024 * 1024)

/* One file while it is read and checked. */
struct spawning {
    struct engine *engine;
    const struct engine_spawn *order;
    struct arena arena;
    struct taskfile *file;
    json_t *spec; /* of the task that wrote it */
    json_t *body;
    json_t *inside; /* the sandbox that they stay in; NULL: none */
    struct batch batch;
    char parent[ENGINE_ID_MAX];
    unsigned source;
};

static void spawning_finish(struct spawning *s) {
    batch_finish(&s->batch);
    taskfile_free(s->file);
    json_decref(s->spec);
    json_decref(s->inside);
    json_decref(s->body);
    arena_finish(&s->arena);
}

/* --- the file -------------------------------------------------------------------------------- */

static int refuse_file(const struct engine_spawn *order, const char *what, struct error *err) {
    return error_set(err, -EINVAL, "the spawn file '%s' %s", op_quote(order->shown).text, what);
}

/* A relative one cannot lead out of the artifacts, where the run can make any link. */
static int read_text(const struct engine_spawn *order, struct strbuf *out, struct error *err) {
    bool is_below = *order->shown != '/';
    _cleanup_(fd_closep) int dir =
        is_below ? outside_open(AT_FDCWD, order->folder, O_RDONLY | O_DIRECTORY, NULL, err) : -1;
    if (is_below && dir < 0)
        return error_prefix(err, "the folder of the spawn file");
    int r = is_below
                ? outside_read(dir, order->shown, 0, FILE_MAX, out, err)
                : outside_read(AT_FDCWD, order->path, OUTSIDE_PARENT_LINKS, FILE_MAX, out, err);
    if (r == -ENOENT)
        return refuse_file(order, "was not written: put the list of tasks there, [] for none", err);
    if (r == -EFBIG)
        return refuse_file(order, "is larger than 1 MB", err);
    return r < 0 ? error_prefix(err, "the spawn file") : 0;
}

static bool is_empty_list(const char *text) {
    text += strspn(text, " \t\r\n");
    return text[0] == '[' && text[1 + strspn(text + 1, " \t\r\n")] == ']';
}

/* Before anything else: what follows costs the square of it. */
static int check_count(const struct spawning *s, struct error *err) {
    int64_t most = config_number(engine_config(s->engine), "spawn.tasks", NULL);
    size_t count = taskfile_count(s->file);
    return (int64_t)count <= most
               ? 0
               : error_set(err, -E2BIG,
                           "%s: %zu tasks are too many; the most are %" PRId64 " (spawn.tasks)",
                           s->order->shown, count, most);
}

/* --- what its tasks do not say --------------------------------------------------------------- */

/* A refusal of one task, with its line. */
static int refuse(struct spawning *s, size_t index, struct error *err, const char *sentence) {
    (void)error_set(err, -EINVAL, "%s", sentence);
    return taskfile_locate(s->file, index, err);
}

static bool is_name_of_file(const struct spawning *s, const char *name) {
    size_t index;
    json_t *task;
    json_array_foreach(json_object_get(s->body, "tasks"), index, task) {
        const char *own = json_string_value(json_object_get(task, "name"));
        if (own && strcmp(own, name) == 0)
            return true;
    }
    return false;
}

static void inherit(json_t *task, const char *member, const json_t *from) {
    json_t *value = json_object_get(from, member);
    if (!json_object_get(task, member) && json_is_string(value))
        (void)json_object_set(task, member, value);
}

/* What was sent to Slurm goes on there, unless the file says otherwise. */
static void inherit_place(json_t *task, const json_t *from) {
    const char *executor = json_string_value(json_object_get(from, "executor"));
    json_t *place = json_object_get(from, "slurm");
    if (!executor || json_object_get(task, "executor"))
        return;
    inherit(task, "executor", from);
    if (strcmp(executor, "slurm") == 0 && place && !json_object_get(task, "slurm"))
        (void)json_object_set(task, "slurm", place);
}

/* --- what an agent may not choose ------------------------------------------------------------ */

static const char *text_of(const json_t *object, const char *member) {
    return json_string_value(json_object_get(object, member));
}

/* An absolute path leads into the folder that the task works in, or to its artifacts. */
static int check_path(const struct spawning *s, const json_t *task, const char *member,
                      struct error *err) {
    const char *path = text_of(task, member), *own = text_of(s->spec, "cwd");
    const char *name = text_of(s->spec, "project");
    const struct engine_project *project =
        engine_find_project(s->engine, name ? name : DEFAULT_PROJECT);
    if (!own && project)
        own = project->path;
    if (!path || *path != '/' || (own && child_path_is_inside(own, path))
        || child_path_is_inside(s->order->folder, path))
        return 0;
    return error_set(err, -EACCES, "'%s': '%s' is not in a folder of '%s'", member,
                     op_quote(path).text, s->parent);
}

/* That it stays in its project is a rule for every child (submission_link). */
static int check_child(const struct spawning *s, const json_t *task, struct error *err) {
    static const char *const paths[] = { "cwd", "artifact", "spawn" };
    int r = child_check_members(s->engine, s->source, task, err);
    if (r < 0 || s->source != CHILD_AGENT)
        return r;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(paths); i++)
        r = check_path(s, task, paths[i], err);
    return r < 0 ? r : child_check_agent(s->engine, text_of(s->spec, "agent"), task, err);
}

static int check_group(const struct spawning *s, struct error *err) {
    const char *name = text_of(s->body, "group");
    struct task_spec told = { 0 };
    (void)core_task_spec(engine_core(s->engine), s->order->task, &told);
    const char *own = op_group_name(s->engine, told.group);
    if (s->source != CHILD_AGENT || !name || (own && strcmp(own, name) == 0))
        return 0;
    return error_set(err, -EACCES, "%s: 'group': children of a run are in its own group",
                     s->order->shown);
}

/* --- each task ------------------------------------------------------------------------------- */

static int complete(struct spawning *s, json_t *task, size_t index, struct error *err) {
    const char *parent = text_of(task, "parent"), *cwd = text_of(task, "cwd");
    if (json_object_get(task, "external_id"))
        return refuse(s, index, err,
                      "'external_id' is for submissions: leave it out of a spawn file");
    if (check_child(s, task, err) < 0)
        return taskfile_locate(s->file, index, err);
    if (parent && !is_name_of_file(s, parent))
        return refuse(s, index, err, "'parent' must be a task of this file, or be left out");
    if (!parent)
        json_object_set_new(task, "parent", json_string(s->parent));
    if (!json_object_get(task, "parent_gate"))
        json_object_set_new(task, "parent_gate", json_string("done"));
    /* The reader of task files puts a task into the folder of its file. */
    if (cwd && strcmp(cwd, s->order->folder) == 0
        && taskfile_member_line(s->file, index, "cwd") == 0)
        json_object_del(task, "cwd");
    inherit(task, "cwd", s->spec);
    inherit(task, "project", s->spec);
    inherit_place(task, s->spec);
    if (json_object_get(task, "prompt"))
        inherit(task, "agent", s->spec);
    if (s->inside)
        (void)json_object_set(task, "inside", s->inside);
    int r = child_spans_bound(s->engine, &(struct child_spans){ 0 }, task, err);
    return r < 0 ? taskfile_locate(s->file, index, err) : 0;
}

static int complete_all(struct spawning *s, struct error *err) {
    size_t index;
    json_t *task;
    int r = check_group(s, err);
    if (r < 0)
        return r;
    json_array_foreach(json_object_get(s->body, "tasks"), index, task) {
        r = complete(s, task, index, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- checks ---------------------------------------------------------------------------------- */

/* Not queue.hard: who submits can be told to come again later, a run that has ended cannot, and its
 * work would have been in vain. */
static int check_limits(const struct spawning *s, struct error *err) {
    const struct config *config = engine_config(s->engine);
    const struct core *core = engine_core(s->engine);
    int64_t depth = config_number(config, "spawn.depth", NULL);
    struct task_view view;
    if (core_task(core, s->order->task, &view) && view.depth >= depth)
        return error_set(err, -E2BIG,
                         "%s: '%s' is %u levels deep; the most are %" PRId64 " (spawn.depth)",
                         s->order->shown, s->parent, view.depth, depth);
    if (engine_is_full(s->engine))
        return error_set(err, -ENOSPC, "the disk is nearly full: no new tasks until there is room");
    return 0;
}

static int check(struct spawning *s, struct error *err) {
    s->batch.engine = s->engine;
    s->batch.arena = &s->arena;
    s->batch.draft = json_is_true(json_object_get(s->body, "draft"));
    int r = batch_read(&s->batch, json_object_get(s->body, "tasks"), NULL, err);
    if (r == 0)
        r = batch_check(&s->batch, err);
    return r < 0 ? taskfile_locate(s->file, s->batch.index, err) : check_limits(s, err);
}

/* --- adding ---------------------------------------------------------------------------------- */

/* *ret_made: it is a new one, which nobody else knows yet. */
static int choose_group(const struct spawning *s, uint32_t *ret_group, bool *ret_made,
                        struct error *err) {
    const char *name = json_string_value(json_object_get(s->body, "group"));
    struct task_spec told = { 0 };
    (void)core_task_spec(engine_core(s->engine), s->order->task, &told);
    *ret_group = told.group;
    *ret_made = name && !engine_find_group(s->engine, name);
    return name ? engine_open_group(s->engine, name, false, ret_group, err) : 0;
}

static int add(struct spawning *s, struct error *err) {
    uint32_t group = 0;
    bool made = false;
    task_id first;
    int r = choose_group(s, &group, &made, err);
    if (r >= 0 && s->batch.makes_default)
        r = engine_add_project(s->engine, DEFAULT_PROJECT, NULL, err);
    for (size_t i = 0; i < s->batch.added; i++)
        s->batch.drafts[i].told.group = group;
    if (r >= 0)
        r = engine_add_tasks(s->engine, s->batch.drafts, s->batch.added, &first, err);
    if (r >= 0)
        batch_give_budgets(&s->batch);
    else if (made)
        engine_take_back_group(s->engine, group);
    return r < 0 ? r : (int)s->batch.added;
}

int spawn_tasks(void *ctx, struct engine *engine, const struct engine_spawn *order,
                struct error *err) {
    (void)ctx;
    _cleanup_(spawning_finish) struct spawning s = { .engine = engine, .order = order };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    engine_task_id(engine, order->task, s.parent);
    int r = read_text(order, &text, err);
    if (r < 0 || is_empty_list(strbuf_text(&text)))
        return r;
    _cleanup_(strbuf_finish) struct strbuf shown = STRBUF_INIT;
    if (engine_redact(engine, text.text, text.length, &shown)) {
        struct strbuf raw = text;
        text = shown;
        shown = raw;
    }
    r = taskfile_read_text(order->shown, order->folder, strbuf_text(&text), text.length, &s.file,
                           err);
    if (r < 0)
        return r;
    s.body = taskfile_body(s.file);
    s.spec = json_loads(order->spec, 0, NULL);
    s.inside = child_inside_of(engine, order->task);
    s.source = child_source_of(engine, s.spec, s.inside != NULL);
    r = check_count(&s, err);
    if (r == 0)
        r = complete_all(&s, err);
    if (r == 0)
        r = check(&s, err);
    return r < 0 || order->check_only ? r : add(&s, err);
}
