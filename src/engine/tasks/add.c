/* add.c: adds new tasks, all of a batch or none. The caller has checked what a user can get wrong
 * (names, cycles, limits). If the core refuses a task after that, the tasks of the batch that it
 * already has are deleted again. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "engine/agents.h"
#include "engine/external_ids.h"
#include "engine/tasks/tasks_internal.h"

/* This many events are worth a statement of their own, which the store can start early. */
#define AHEAD 256u

static sym symbol_of(struct engine *e, const char *name) {
    return name && *name ? symbol_intern(core_symbols(e->core), name, strlen(name)) : 0;
}

static int add_one(struct engine *e, const struct engine_draft *draft, task_id id,
                   struct error *err) {
    sym resources[16];
    struct task_spec spec = draft->told;
    int r = draft->agent ? engine_know_agent(e, draft->agent, err) : 0;
    if (r < 0)
        return r;
    if (draft->resource_count > ARRAY_SIZE(resources))
        return error_set(err, -E2BIG, "more than %zu resources", ARRAY_SIZE(resources));
    for (size_t i = 0; i < draft->resource_count; i++)
        resources[i] = symbol_of(e, draft->resources[i]);
    spec.id = id;
    spec.project = symbol_of(e, draft->project);
    spec.kind = symbol_of(e, draft->kind);
    spec.agent = symbol_of(e, draft->agent);
    spec.limiter = symbol_of(e, draft->limiter);
    spec.workspace = symbol_of(e, draft->workspace);
    spec.serial = symbol_of(e, draft->serial);
    spec.resources = resources;
    spec.resource_count = draft->resource_count;
    spec.depends_on = draft->depends_on;
    spec.depends_on_count = draft->depends_on_count;
    spec.artifact_missing =
        draft->artifact && !artifact_is_there(e, draft->artifact, draft->told.parent);
    struct fact fact = { .kind = FACT_TASK_ADDED, .spec = &spec };
    return core_apply(e->core, &fact, err);
}

/* Newest first, so that no remaining task refers to a deleted one. */
static void take_back(struct engine *e, task_id first, size_t count) {
    while (count-- > 0) {
        struct fact fact = { .kind = FACT_DELETE, .task = first + count };
        (void)core_apply(e->core, &fact, NULL);
    }
}

static void write_added(struct engine *e, const struct engine_draft *draft, task_id id) {
    store_add_spec(e->turn.batch, &(struct spec_row){
                                      .id = id,
                                      .title = draft->title,
                                      .json = draft->json,
                                      .json_size = strlen(draft->json),
                                      .external_id = draft->external_id,
                                  });
    struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    json_put_string(&w, "project", draft->project);
    if (draft->external_id)
        json_put_string(&w, "external_id", draft->external_id);
    json_write_object_end(&w);
    engine_event(e, "task.added", id, 0, strbuf_text(&data));
    strbuf_finish(&data);
}

static void want_artifact(struct engine *e, const struct engine_draft *draft, task_id id) {
    struct task_spec told;
    if (core_task_spec(e->core, id, &told) && told.artifact_missing)
        artifact_want(e, id, draft->artifact, told.parent);
}

void engine_put_context(struct engine *e, task_id task, const char *context) {
    store_put_context(e->turn.batch, task, context);
    turn_wrote(e);
}

int engine_add_tasks(struct engine *e, const struct engine_draft *drafts, size_t count,
                     task_id *ret_first, struct error *err) {
    task_id first = e->last_task + 1;
    for (size_t i = 0; i < count; i++) {
        int r = add_one(e, &drafts[i], first + i, err);
        if (r < 0) {
            take_back(e, first, i);
            return r;
        }
    }
    e->last_task = first + count - 1;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && i % AHEAD == 0)
            store_send_ahead(e->store, e->turn.batch);
        write_added(e, &drafts[i], first + i);
        if (drafts[i].external_id)
            external_ids_add(e, first + i, drafts[i].external_id);
        if (drafts[i].artifact)
            want_artifact(e, &drafts[i], first + i);
        if (drafts[i].depends_on_count > 0)
            blocked_added(e, first + i);
        if (drafts[i].told.until == UNTIL_DONE)
            marker_hold(e, first + i);
    }
    *ret_first = first;
    return 0;
}
