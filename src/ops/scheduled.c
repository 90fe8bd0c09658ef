/* scheduled.c: adds the tasks of a schedule (engine/schedules.h), as a request would.
 *
 * The schedule has one task as a JSON object, or a task file or a formula, which are read at each
 * firing. The queue limit and a full disk refuse a firing as they refuse a request. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/schedules.h"
#include "formula/formula.h"
#include "ops/op_internal.h"
#include "ops/task_batch.h"
#include "os/files.h"
#include "taskfile/taskfile.h"

#define FILE_MAX (1024u * 1024u)

struct firing {
    struct engine *engine;
    const struct engine_firing *order;
    struct arena arena;
    struct taskfile *file;
    struct formula *formula;
    json_t *body;
    struct batch batch;
};

static void firing_finish(struct firing *f) {
    batch_finish(&f->batch);
    taskfile_free(f->file);
    formula_free(f->formula);
    json_decref(f->body);
    arena_finish(&f->arena);
}

/* The folder of an absolute path. */
static const char *folder_of(struct firing *f, const char *path) {
    const char *slash = strrchr(path, '/');
    return arena_strndup(&f->arena, path, slash == path ? 1 : (size_t)(slash - path));
}

static int read_formula(struct firing *f, const char *path, struct error *err) {
    const char *const *vars = NULL;
    size_t count = config_words(f->order->config, "schedules.S.vars", f->order->schedule, &vars);
    struct formula_value *values = arena_alloc(&f->arena, (count + 1) * sizeof(*values));
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(vars[i], '=');
        values[i] = (struct formula_value){
            .name = arena_strndup(&f->arena, vars[i], (size_t)(equals - vars[i])),
            .value = equals + 1,
        };
    }
    int r = formula_read(path, folder_of(f, path), &f->formula, err);
    return r < 0 ? r : formula_expand(f->formula, values, count, &f->body, err);
}

static int read_file(struct firing *f, const char *path, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *folder = folder_of(f, path);
    int r = file_read(path, FILE_MAX, &text, err);
    if (r == 0)
        r = taskfile_read_text(path, folder, strbuf_text(&text), text.length, &f->file, err);
    if (r == 0)
        f->body = taskfile_body(f->file);
    return r;
}

static int read_task(struct firing *f, const char *text, struct error *err) {
    json_error_t why;
    json_t *task = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(task)) {
        json_decref(task);
        return error_set(err, -EINVAL, "'task' is not a JSON object");
    }
    f->body = json_pack("{s:[o]}", "tasks", task);
    return 0;
}

/* The first task has the id of the firing; the others add their position. */
static int set_external_ids(struct firing *f, json_t *tasks, struct error *err) {
    size_t index;
    json_t *task;
    json_array_foreach(tasks, index, task) {
        if (json_object_get(task, "external_id"))
            return error_set(err, -EINVAL,
                             "'external_id' cannot be set: the schedule sets it for each due time");
        const char *id = index == 0
                             ? f->order->external_id
                             : arena_printf(&f->arena, "%s#%zu", f->order->external_id, index + 1);
        json_object_set_new(task, "external_id", json_string(id));
    }
    return 0;
}

static int check_room(const struct firing *f, struct error *err) {
    amount depth = core_queue_depth(engine_core(f->engine), 0);
    amount hard = config_policy(engine_config(f->engine))->queue.hard;
    if (f->batch.added > 0 && engine_is_full(f->engine))
        return error_set(err, -ENOSPC, "the disk is nearly full: no new tasks until there is room");
    if (f->batch.queued > 0 && depth + (amount)f->batch.queued > hard)
        return error_set(err, -EAGAIN,
                         "%" PRId64 " tasks wait already, and the queue takes %" PRId64
                         " (queue.hard)",
                         depth, hard);
    return 0;
}

static int check(struct firing *f, struct error *err) {
    json_t *tasks = json_object_get(f->body, "tasks");
    f->batch = (struct batch){ .engine = f->engine,
                               .arena = &f->arena,
                               .draft = json_is_true(json_object_get(f->body, "draft")) };
    int r = set_external_ids(f, tasks, err);
    if (r == 0)
        r = batch_read(&f->batch, tasks, NULL, err);
    if (r == 0)
        r = batch_check(&f->batch, err);
    if (r < 0 && f->file)
        return taskfile_locate(f->file, f->batch.index, err);
    return r < 0 && f->formula ? formula_locate(f->formula, f->batch.index, err) : r;
}

static int sample(struct firing *f, struct error *err) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < f->batch.count; i++) {
        struct submission *s = &f->batch.entries[i];
        sym resources[RESOURCES_MAX];
        if (!submission_is_new(s))
            continue;
        r = engine_complete_spec(f->engine, s, resources, err);
        if (r == 0)
            f->order->sample(f->order->sample_ctx, &s->spec);
        s->spec.resources = NULL;
        s->spec.resource_count = 0;
    }
    return r;
}

int fire_tasks(void *ctx, struct engine *engine, const struct engine_firing *order,
               struct error *err) {
    _cleanup_(firing_finish) struct firing f = { .engine = engine, .order = order };
    (void)ctx;
    const char *file = config_text(order->config, "schedules.S.file", order->schedule);
    const char *formula = config_text(order->config, "schedules.S.formula", order->schedule);
    const char *task = config_text(order->config, "schedules.S.task", order->schedule);
    int r = *file      ? read_file(&f, file, err)
            : *formula ? read_formula(&f, formula, err)
                       : read_task(&f, task, err);
    if (r == 0)
        r = check(&f, err);
    if (r == 0 && order->sample)
        r = sample(&f, err);
    if (r < 0 || order->check_only)
        return r;
    r = check_room(&f, err);
    if (r == 0)
        r = batch_add(&f.batch, json_string_value(json_object_get(f.body, "group")), err);
    if (r < 0)
        return r;
    *order->ret_first = f.batch.entries[0].spec.id;
    *order->ret_count = f.batch.added == f.batch.count ? f.batch.count : 1;
    return 0;
}
