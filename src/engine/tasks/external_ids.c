/* external_ids.c: see external_ids.h. Tasks with the same text form a chain, found by its head. */
#include "engine/external_ids.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/slab.h"
#include "engine/engine_internal.h"

struct external_id {
    task_id task;
    char *text;
    uint32_t next; /* with the same text; 0: none */
};

struct external_ids {
    struct slab entries;
    struct id_map by_text; /* the first of each chain */
    struct id_map by_task;
};

PART_STATE(external_ids, struct external_ids, external_ids_of)

static struct external_id *entry_at(const struct external_ids *ids, uint32_t handle) {
    return slab_at(&ids->entries, handle);
}

static bool same_text(const void *ctx, uint32_t handle, const void *key) {
    return strcmp(entry_at(ctx, handle)->text, key) == 0;
}

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    return entry_at(ctx, handle)->task == *(const task_id *)key;
}

static uint64_t hash_text(const char *text) {
    return hash_bytes(text, strlen(text));
}

static void external_ids_free(struct engine *e) {
    struct external_ids *ids = external_ids_of(e);
    for (uint32_t handle = 1; handle < ids->entries.next; handle++)
        free(entry_at(ids, handle)->text); /* NULL in a freed record */
    slab_finish(&ids->entries);
    id_map_finish(&ids->by_text);
    id_map_finish(&ids->by_task);
}

static void external_ids_reset(struct engine *e) {
    struct external_ids *ids = external_ids_of(e);
    external_ids_free(e);
    slab_init(&ids->entries, sizeof(struct external_id));
    id_map_init(&ids->by_text, same_text, ids);
    id_map_init(&ids->by_task, same_task, ids);
}

void external_ids_add(struct engine *e, task_id task, const char *text) {
    struct external_ids *ids = external_ids_of(e);
    uint32_t handle = slab_alloc(&ids->entries);
    uint32_t first = id_map_find(&ids->by_text, hash_text(text), text);
    *entry_at(ids, handle) = (struct external_id){ .task = task, .text = xstrdup(text) };
    if (first) {
        entry_at(ids, handle)->next = entry_at(ids, first)->next;
        entry_at(ids, first)->next = handle;
    } else {
        id_map_add(&ids->by_text, hash_text(text), handle);
    }
    id_map_add(&ids->by_task, hash_sequence(task), handle);
}

static void unchain(struct external_ids *ids, uint32_t handle) {
    const struct external_id *entry = entry_at(ids, handle);
    uint64_t hash = hash_text(entry->text);
    uint32_t first = id_map_find(&ids->by_text, hash, entry->text);
    if (first == handle) {
        id_map_remove(&ids->by_text, hash, entry->text);
        if (entry->next)
            id_map_add(&ids->by_text, hash, entry->next);
        return;
    }
    while (entry_at(ids, first)->next != handle)
        first = entry_at(ids, first)->next;
    entry_at(ids, first)->next = entry->next;
}

static void external_ids_load(struct engine *e, const struct external_row *row) {
    external_ids_add(e, row->task, row->external_id);
}

static void external_ids_task_changed(struct engine *e, task_id task,
                                      const struct task_spec *spec) {
    struct external_ids *ids = external_ids_of(e);
    uint32_t handle = spec ? 0 : id_map_find(&ids->by_task, hash_sequence(task), &task);
    if (!handle)
        return;
    unchain(ids, handle);
    id_map_remove(&ids->by_task, hash_sequence(task), &task);
    free(entry_at(ids, handle)->text);
    entry_at(ids, handle)->text = NULL;
    slab_free(&ids->entries, handle);
}

/* --- reading ---------------------------------------------------------------------------------- */

const char *engine_external_id(const struct engine *e, task_id task) {
    const struct external_ids *ids = external_ids_of(e);
    uint32_t handle = id_map_find(&ids->by_task, hash_sequence(task), &task);
    return handle ? entry_at(ids, handle)->text : NULL;
}

/* The first of the chain; 0: none. */
static uint32_t first_of(const struct external_ids *ids, const char *text) {
    return id_map_find(&ids->by_text, hash_text(text), text);
}

task_id engine_find_external(const struct engine *e, const char *project, const char *text) {
    const struct external_ids *ids = external_ids_of(e);
    for (uint32_t at = first_of(ids, text); at; at = entry_at(ids, at)->next) {
        task_id task = entry_at(ids, at)->task;
        const struct engine_project *its = project_of_task(e, task);
        if (its && strcmp(its->name, project) == 0)
            return task;
    }
    return 0;
}

size_t engine_external_tasks(const struct engine *e, const char *text, task_id *ret_tasks,
                             size_t max) {
    const struct external_ids *ids = external_ids_of(e);
    size_t count = 0;
    for (uint32_t at = first_of(ids, text); at; at = entry_at(ids, at)->next) {
        task_id task = entry_at(ids, at)->task;
        if (!core_task(e->core, task, &(struct task_view){ 0 }))
            continue; /* deleted in this turn */
        if (count < max)
            ret_tasks[count] = task;
        count++;
    }
    return count;
}

/* --- user input ------------------------------------------------------------------------------- */

static task_id refuse_ambiguous(const struct engine *e, const char *word, task_id own,
                                const task_id *tasks, struct error *err) {
    char one[ENGINE_ID_MAX], other[ENGINE_ID_MAX];
    if (own)
        (void)error_set(err, -ENOTUNIQ,
                        "'%.80s' is the id of task #%" PRIu64
                        " and the external id of task '%s': use '#%" PRIu64 "' or '%s'",
                        word, own, engine_task_id(e, tasks[0], one), own, one);
    else
        (void)error_set(err, -ENOTUNIQ,
                        "'%.80s' is the external id of task '%s' and of task '%s': use one of "
                        "these ids",
                        word, engine_task_id(e, tasks[0], one), engine_task_id(e, tasks[1], other));
    return 0;
}

task_id engine_find_task(const struct engine *e, const char *word, struct error *err) {
    struct error why = { 0 };
    task_id tasks[2], own = engine_task_of_id(e, word, &why);
    size_t count = *word == '#' ? 0 : engine_external_tasks(e, word, tasks, 2);
    if (count == 0 || (count == 1 && tasks[0] == own)) {
        if (!own && err)
            *err = why;
        return own;
    }
    if (count == 1 && !own)
        return tasks[0];
    if (own && tasks[0] == own) /* the message names the task that is not `own` */
        tasks[0] = tasks[1];
    return refuse_ambiguous(e, word, own, tasks, err);
}

const struct engine_part external_ids_part = {
    .state_size = sizeof(struct external_ids),
    .at = { [STEP_INIT] = external_ids_reset,
            [STEP_UNLOAD] = external_ids_reset,
            [STEP_FREE] = external_ids_free },
    .load_external = external_ids_load,
    .task_changed = external_ids_task_changed,
};
