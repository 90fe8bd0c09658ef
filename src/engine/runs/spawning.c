/* spawning.c: adds the tasks that a successful run has written to its spawn file.
 *
 * They become children of its task in the turn that applies its end, so one commit holds both:
 * after a crash there are all of them or none, and none twice. Work in a worktree is merged in
 * between: the file is checked before, so nothing bad is merged, and read once more when its
 * children are added. The submitted task names the file. Its launch knew it; a later daemon asks
 * the store, and the end waits for the answer before anything is done with its work. */
#include "engine/runs/runs_internal.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

void spawning_launched(struct live_run *run, const char *spec, size_t size, bool spawns) {
    free(run->spawner);
    run->spawner = spawns ? xstrndup(spec, size) : NULL;
    run->spawner_known = true;
}

/* --- query ----------------------------------------------------------------------------------- */

struct spawner_query {
    struct engine *e;
    struct run_key run;
};

static void spawner_answered(void *ctx, const struct store_answer *answer,
                             const struct error *err) {
    struct spawner_query *q = ctx;
    struct live_run *run = run_find_attempt(q->e, q->run);
    if (err)
        turn_break(q->e, err);
    else if (run)
        spawning_launched(run, answer->count > 0 ? answer->specs[0].json : "",
                          answer->count > 0 ? answer->specs[0].json_size : 0, true);
    run_end_continue(q->e, q->run, END_CHILDREN, NULL);
    free(q);
}

bool spawning_must_query(struct engine *e, struct live_run *run) {
    if (run->spawner_known || !e->spawn)
        return false;
    struct spawner_query *q = xcalloc(1, sizeof(*q));
    *q = (struct spawner_query){ .e = e, .run = run_key_of(run) };
    struct store_query query = { .kind = QUERY_SPECS, .tasks = &run->task, .task_count = 1 };
    store_query(e->store, &query, spawner_answered, q);
    return !run->spawner_known; /* the store may have answered at once */
}

/* --- spawning -------------------------------------------------------------------------------- */

static int spawn(struct engine *e, const struct live_run *run, const char *shown, bool check_only,
                 struct error *err) {
    char id[ENGINE_ID_MAX];
    engine_task_id(e, run->task, id);
    _cleanup_(freep) char *path = iteration_spawn_path(e, id, run->iteration, shown);
    _cleanup_(freep) char *folder = iteration_path(e, id, run->iteration, ITERATION_ARTIFACTS);
    struct engine_spawn order = { .task = run->task,
                                  .spec = run->spawner,
                                  .path = path,
                                  .shown = shown,
                                  .folder = folder,
                                  .check_only = check_only };
    int r = e->spawn(e->spawn_ctx, e, &order, err);
    if (r < 0 || check_only)
        return r < 0 ? r : 0;
    char data[64];
    snprintf(data, sizeof(data), "{\"children\":%d,\"iteration\":%" PRIu32 "}", r, run->iteration);
    engine_event(e, "task.spawned", run->task, run->view.attempt, data);
    return 0;
}

int spawning_add_children(struct engine *e, const struct live_run *run, bool check_only,
                          struct error *err) {
    struct task_spec spec = { 0 };
    if (!run->spawner || !e->spawn)
        return 0;
    (void)core_task_spec(e->core, run->task, &spec);
    if (spec.stop == STOP_INVALIDATE || spec.stop == STOP_ORPHAN)
        return 0; /* it has no use for children */
    json_t *json = json_loads(run->spawner, 0, NULL);
    const char *shown = json_string_value(json_object_get(json, "spawn"));
    int r = shown ? spawn(e, run, shown, check_only, err) : 0;
    json_decref(json);
    return r;
}
