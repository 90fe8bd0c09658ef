/* spawning.c: adds the tasks that a successful run has written to its spawn file.
 *
 * They become children of its task in the turn that applies its end, so one commit holds both:
 * after a crash there are all of them or none, and none twice. Work in a worktree is merged in
 * between: the file is checked before, so nothing bad is merged, and read once more when its
 * children are added. The submitted task names the file. Its launch knew it; a later daemon asks
 * the store, and the end waits for the answer before anything is done with its work. */
#include "engine/runs/runs_internal.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"

void spawning_launched(struct live_run *run, const char *spec, size_t size, bool spawns) {
    free(run->spawner);
    run->spawner = spawns ? xstrndup(spec, size) : NULL;
    run->spawner_known = true;
}

/* --- asking ---------------------------------------------------------------------------------- */

struct spawner_question {
    struct engine *e;
    struct run_key run;
};

static bool same_run(struct run_key a, struct run_key b) {
    return a.task == b.task && a.attempt == b.attempt;
}

/* Continues the end that waited for the answer: examines its work, or applies it next turn. */
static void tell_late_end(struct engine *e, struct run_key run) {
    for (size_t i = 0; i < e->late_ends.count; i++) {
        if (!same_run(e->late_ends.items[i].run, run))
            continue;
        struct happening late = e->late_ends.items[i];
        e->late_ends.items[i] = e->late_ends.items[--e->late_ends.count];
        if (late.is_fresh)
            finish_take_end(e, late.run, &late.end);
        else
            *LIST_ADD(&e->happened) = late;
        turn_wake(e);
        return;
    }
}

static void spawner_answered(void *ctx, const struct store_answer *answer,
                             const struct error *err) {
    struct spawner_question *q = ctx;
    struct live_run *run = run_find(q->e, q->run.task);
    if (err)
        turn_break(q->e, err);
    else if (run && run->view.attempt == q->run.attempt)
        spawning_launched(run, answer->count > 0 ? answer->specs[0].json : "",
                          answer->count > 0 ? answer->specs[0].json_size : 0, true);
    tell_late_end(q->e, q->run);
    free(q);
}

bool spawning_must_wait(struct engine *e, struct live_run *run, const struct happening *end) {
    if (run->spawner_known || !e->spawn)
        return false;
    struct spawner_question *q = xcalloc(1, sizeof(*q));
    *q = (struct spawner_question){ .e = e, .run = end->run };
    struct store_question question = { .kind = ASK_SPECS, .tasks = &run->task, .task_count = 1 };
    store_ask(e->store, &question, spawner_answered, q);
    if (run->spawner_known)
        return false;
    *LIST_ADD(&e->late_ends) = *end;
    return true;
}

/* --- spawning -------------------------------------------------------------------------------- */

static void write_event(struct engine *e, const struct live_run *run, int count) {
    struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    json_put_int(&w, "children", count);
    json_put_int(&w, "iteration", run->iteration);
    json_write_object_end(&w);
    engine_event(e, "task.spawned", run->task, run->view.attempt, strbuf_text(&data));
    strbuf_finish(&data);
}

static int spawn(struct engine *e, const struct live_run *run, const char *shown, bool check_only,
                 struct error *err) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, folder = STRBUF_INIT;
    engine_task_id(e, run->task, id);
    iteration_spawn_path(e, id, run->iteration, shown, &path);
    iteration_path(e, id, run->iteration, ITERATION_ARTIFACTS, &folder);
    struct engine_spawn order = { .task = run->task,
                                  .spec = run->spawner,
                                  .path = strbuf_text(&path),
                                  .shown = shown,
                                  .folder = strbuf_text(&folder),
                                  .check_only = check_only };
    int r = e->spawn(e->spawn_ctx, e, &order, err);
    if (r >= 0 && !check_only)
        write_event(e, run, r);
    return r < 0 ? r : 0;
}

/* A task that will be invalidated or orphaned has no use for children. */
static bool is_unwanted(const struct engine *e, task_id task) {
    struct task_spec told;
    return core_task_spec(e->core, task, &told)
           && (told.stop == STOP_INVALIDATE || told.stop == STOP_ORPHAN);
}

static int spawn_if_asked(struct engine *e, const struct live_run *run, bool check_only,
                          struct error *err) {
    if (!run->spawner || !e->spawn || is_unwanted(e, run->task))
        return 0;
    json_t *json = json_loads(run->spawner, 0, NULL);
    const char *shown = json_string_value(json_object_get(json, "spawn"));
    int r = shown ? spawn(e, run, shown, check_only, err) : 0;
    json_decref(json);
    return r;
}

/* The outcome of a success with a bad file. */
static enum outcome outcome_of_bad(const struct engine *e, task_id task) {
    struct task_view view = { .until = UNTIL_EXIT };
    (void)core_task(e->core, task, &view);
    return view.until == UNTIL_VALIDATE ? OUTCOME_INVALID : OUTCOME_FAILED;
}

static enum outcome try_children(struct engine *e, const struct live_run *run, bool check_only,
                                 struct run_end *end) {
    struct error err = { 0 };
    if (spawn_if_asked(e, run, check_only, &err) == 0)
        return OUTCOME_OK;
    snprintf(end->message, sizeof(end->message), "%.250s", err.text);
    return outcome_of_bad(e, run->task);
}

enum outcome spawning_check(struct engine *e, const struct live_run *run, struct run_end *end) {
    return try_children(e, run, true, end);
}

enum outcome spawning_children(struct engine *e, const struct live_run *run, struct run_end *end) {
    return try_children(e, run, false, end);
}
