/* op_names.c: finds tasks, projects and other names that a request mentions; the message for an
 * unknown name suggests a similar one. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/id_map.h"
#include "base/nearest.h"
#include "base/number.h"
#include "engine/external_ids.h"
#include "ops/op_internal.h"
#include "ops/rights.h"

#define EXTERNAL_SEEN_MAX 64 /* projects that have the same one, within a run's subtree */

/* The task with this external id that the run sees; 0: none. */
static task_id seen_external(const struct op_call *run, const char *word) {
    task_id tasks[EXTERNAL_SEEN_MAX];
    size_t count = engine_external_tasks(run->engine, word, tasks, EXTERNAL_SEEN_MAX);
    for (size_t i = 0; i < count && i < EXTERNAL_SEEN_MAX; i++)
        if (capability_finds(run, tasks[i]))
            return tasks[i];
    return 0;
}

task_id op_find_task(const struct op_call *run, const struct engine *engine, const char *word,
                     struct error *err) {
    if (!run || !run->run.token[0])
        return engine_find_task(engine, word, err);
    task_id task = engine_task_of_id(engine, word, err);
    if (!task || !capability_finds(run, task)) {
        task_id external = seen_external(run, word);
        task = external ? external : task;
    }
    return task;
}

task_id op_named_task(struct op_call *call, const char *word) {
    return op_find_task(call, call->engine, word, &call->err);
}

task_id op_task(struct op_call *call) {
    return op_named_task(call, op_text(call, "id"));
}

/* The handle of a task is its position + 1. */
static bool same_number(const void *ctx, uint32_t handle, const void *key) {
    const task_id *tasks = ctx;
    return tasks[handle - 1] == *(const task_id *)key;
}

int op_tasks(struct op_call *call, const char *param, task_id **ret_tasks, size_t *ret_count) {
    const json_t *list = op_json(call, param);
    size_t given = json_array_size(list), count = 0;
    task_id *tasks = arena_alloc(op_arena(call), (given + 1) * sizeof(*tasks));
    _cleanup_(id_map_finish) struct id_map seen = { 0 };
    id_map_init(&seen, same_number, tasks);
    for (size_t i = 0; i < given; i++) {
        const char *id = json_string_value(json_array_get(list, i));
        task_id task = op_named_task(call, id);
        if (task == 0) {
            call->index = (int64_t)i;
            return call->err.code;
        }
        if (id_map_find(&seen, hash_u64(task), &task))
            continue;
        tasks[count++] = task;
        id_map_add(&seen, hash_u64(task), (uint32_t)count);
    }
    *ret_tasks = tasks;
    *ret_count = count;
    return 0;
}

task_id *op_depends(struct op_call *call, task_id task, size_t more, size_t *ret_count) {
    const struct core *core = engine_core(call->engine);
    size_t count = *ret_count = core_task_depends(core, task, NULL, 0);
    task_id *on = arena_alloc(op_arena(call), (count + more + 1) * sizeof(*on));
    (void)core_task_depends(core, task, on, count);
    return on;
}

int op_set_depends(struct op_call *call, task_id task, const task_id *on, size_t count) {
    struct fact fact = { .kind = FACT_DEPENDENCIES, .task = task };
    fact.dependencies.items = on;
    fact.dependencies.count = count;
    return engine_apply(call->engine, &fact, &call->err);
}

const char *op_id(struct op_call *call, task_id task) {
    char id[ENGINE_ID_MAX];
    return arena_strdup(op_arena(call), engine_task_id(call->engine, task, id));
}

const char *const *op_ids(struct op_call *call, const task_id *tasks, size_t count) {
    const char **ids = arena_alloc(op_arena(call), (count + 1) * sizeof(*ids));
    for (size_t i = 0; i < count; i++)
        ids[i] = op_id(call, tasks[i]);
    return ids;
}

const char *op_project_at(const struct engine *engine, size_t index) {
    if (index >= engine_project_count(engine))
        return NULL;
    const struct engine_project *p = engine_project_at(engine, index);
    return p->standing == PROJECT_DELETED ? "" : p->name;
}

#define CONFIGURED_AT(kind)                                                                        \
    const char *op_##kind##_at(const struct engine *engine, size_t index) {                        \
        const struct config *config = engine_config(engine);                                       \
        return index < config_##kind##_count(config) ? config_##kind##_name(config, index) : NULL; \
    }
CONFIGURED_AT(kind)
CONFIGURED_AT(agent)
CONFIGURED_AT(limiter)
CONFIGURED_AT(resource)

const char *op_group_at(const struct engine *engine, size_t index) {
    return index < engine_group_count(engine) ? engine_group_at(engine, index)->name : NULL;
}

bool op_knows(const struct engine *engine, op_name_at at, const char *name) {
    const char *known;
    for (size_t i = 0; (known = at(engine, i)); i++)
        if (strcmp(known, name) == 0)
            return true;
    return false;
}

#define NAMES_OFFERED 1000 /* limit of the typo search */

int op_unknown(const struct engine *engine, const char *what, const char *name, op_name_at at,
               struct error *err) {
    struct nearest nearest = nearest_to(name);
    const char *known = NULL;
    for (size_t i = 0; i < NAMES_OFFERED && (known = at(engine, i)); i++)
        if (*known) /* a deleted group has left its slot empty */
            nearest_offer(&nearest, known);
    if (nearest.best)
        return error_set(err, -ENOENT, "there is no %s '%s'; did you mean '%s'?", what,
                         utf8_quote(name).text, nearest.best);
    return error_set(err, -ENOENT, "there is no %s '%s'", what, utf8_quote(name).text);
}

const struct engine_project *op_project(struct op_call *call, const char *name) {
    const struct engine_project *project = engine_find_project(call->engine, name);
    if (!project)
        (void)op_unknown(call->engine, "project", name, op_project_at, &call->err);
    return project;
}

const struct engine_group *op_group(struct op_call *call, const char *name) {
    const struct engine_group *group = engine_find_group(call->engine, name);
    if (!group)
        (void)op_unknown(call->engine, "group", name, op_group_at, &call->err);
    return group;
}

const struct symbol_table *op_symbols(const struct engine *engine) {
    /* Read-only here; the core returns its table as writable. */
    return core_symbols((struct core *)(uintptr_t)engine_core(engine));
}

sym op_symbol(const struct engine *engine, const char *name) {
    return symbol_find(op_symbols(engine), name, strlen(name));
}

const char *op_name_of(const struct engine *engine, sym symbol) {
    return symbol ? symbol_name(op_symbols(engine), symbol) : NULL;
}

const char *op_group_name(const struct engine *engine, uint32_t group) {
    return group > 0 && group <= engine_group_count(engine)
               ? engine_group_at(engine, group - 1)->name
               : NULL;
}

size_t op_limit(const struct op_call *call) {
    return (size_t)op_number(call, "limit", OP_LIMIT_DEFAULT);
}

int op_cursor(struct op_call *call, char kind, uint64_t *ret_number, bool *ret_given) {
    const char *text = op_text(call, "cursor");
    int64_t number = 0;
    *ret_given = text != NULL;
    if (!text)
        return 0;
    if (text[0] != kind || text[1] < '0' || text[1] > '9'
        || number_parse_int(text + 1, &number, NULL) < 0)
        return op_fail(call, -EINVAL,
                       "'%s' is not a cursor of this list: take `next` of its answer",
                       utf8_quote(text).text);
    *ret_number = (uint64_t)number;
    return 0;
}

void op_print_next(struct json_writer *w, char kind, uint64_t number) {
    char text[32];
    (void)snprintf(text, sizeof(text), "%c%" PRIu64, kind, number);
    json_write_key(w, "next");
    json_write_string(w, number ? text : NULL);
}
