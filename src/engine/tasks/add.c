/* add.c: adds new tasks, all of a batch or none. The caller has checked what a user can get wrong
 * (names, cycles, limits). If the core refuses a task after that, the tasks of the batch that it
 * already has are deleted again. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/agents.h"
#include "engine/escalation.h"
#include "engine/external_ids.h"
#include "engine/imports.h"
#include "engine/note.h"
#include "engine/probes/probes_internal.h"
#include "engine/submission.h"
#include "engine/tasks/tasks_internal.h"

/* This many events are worth a statement of their own, which the store can start early. */
#define AHEAD 256u

int engine_complete_spec(struct engine *e, struct submission *s, sym resources[RESOURCES_MAX],
                         struct error *err) {
    struct task_spec *spec = &s->spec;
    if (s->resource_names.count > RESOURCES_MAX)
        return error_set(err, -E2BIG, "more than %d resources", RESOURCES_MAX);
    for (size_t i = 0; i < s->resource_names.count; i++)
        resources[i] = symbol_of(e, s->resource_names.items[i]);
    spec->project = symbol_of(e, s->project);
    spec->kind = symbol_of(e, s->kind);
    spec->agent = symbol_of(e, s->agent);
    spec->limiter = symbol_of(e, s->limiter);
    spec->workspace = symbol_of(e, s->workspace);
    spec->serial = symbol_of(e, s->serial);
    spec->resources = resources;
    spec->resource_count = s->resource_names.count;
    spec->artifact_missing = s->artifact && !artifact_is_there(e, s->artifact, spec->parent);
    spec->probe_closed = s->gate != NULL;
    return escalation_complete(e, s, err);
}

static int add_one(struct engine *e, struct submission *s, task_id id, struct error *err) {
    sym resources[RESOURCES_MAX];
    struct task_spec *spec = &s->spec;
    int r = s->agent ? engine_know_agent(e, s->agent, err) : 0;
    if (r == 0)
        r = engine_complete_spec(e, s, resources, err);
    if (r < 0)
        return r;
    assert(spec->id == 0 || spec->id == id);
    spec->id = id;
    struct fact fact = { .kind = FACT_TASK_ADDED, .spec = spec };
    r = core_apply(e->core, &fact, err);
    spec->resources = NULL;
    spec->resource_count = 0;
    return r;
}

/* Its texts, which the core does not have, and its event. The row of the task is written with all
 * changes of the core (rows.c). */
static void write_added(struct engine *e, const struct submission *s) {
    store_add_spec(e->turn.batch, &(struct spec_row){
                                      .id = s->spec.id,
                                      .title = s->title,
                                      .json = s->stored,
                                      .json_size = strlen(s->stored),
                                      .external_id = s->external_id,
                                  });
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "project", s->project);
    put_text(w, "external_id", s->external_id);
    event_end(e, &data, "task.added", s->spec.id, 0);
}

/* For the parts: the task is in the core and in the batch. */
static void register_added(struct engine *e, const struct submission *s) {
    escalation_added(e, s);
    if (s->external_id)
        external_ids_add(e, s->spec.id, s->external_id);
    if (s->imports)
        imports_add(e, s->spec.id, s->imports);
    if (s->spec.artifact_missing)
        artifact_want(e, s->spec.id, s->artifact, s->spec.parent);
    if (s->spec.probe_closed)
        probe_want(e, s->spec.id);
    if (s->spec.depends_on_count > 0)
        blocked_added(e, s->spec.id);
    if (s->spec.until == UNTIL_DONE)
        marker_hold(e, s->spec.id);
}

int engine_add_tasks(struct engine *e, struct submission *tasks, size_t count, struct error *err) {
    task_id first = e->last_task + 1;
    size_t added = 0, written = 0;
    for (size_t i = 0; i < count; i++) {
        if (!submission_is_new(&tasks[i]))
            continue;
        int r = add_one(e, &tasks[i], first + added, err);
        if (r < 0) { /* newest first, so that no remaining task refers to a deleted one */
            while (added-- > 0)
                (void)core_apply(e->core, &(struct fact){ FACT_DELETE, .task = first + added },
                                 NULL);
            return r;
        }
        added++;
    }
    e->last_task = first + added - 1;
    for (size_t i = 0; i < count; i++) {
        const struct submission *s = &tasks[i];
        if (!submission_is_new(s))
            continue;
        if (written > 0 && written % AHEAD == 0)
            store_send_ahead(e->store, e->turn.batch);
        written++;
        write_added(e, s);
        register_added(e, s);
    }
    return 0;
}
