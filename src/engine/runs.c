/* runs.c: the runs that have not ended. There are few of them; each is found by its task. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/engine_internal.h"

struct runs {
    struct slab slab; /* struct live_run */
    struct id_map of_task;
    LIST(uint32_t) live; /* handles */
};

static struct runs *runs_of(const struct engine *e) {
    return e->part[PART_runs];
}

static struct live_run *run_at(const struct engine *e, uint32_t handle) {
    return slab_at(&runs_of(e)->slab, handle);
}

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    const struct engine *e = ctx;
    return run_at(e, handle)->task == *(const task_id *)key;
}

static void runs_init(struct engine *e) {
    slab_init(&runs_of(e)->slab, sizeof(struct live_run));
    id_map_init(&runs_of(e)->of_task, same_task, e);
}

struct live_run *run_find(const struct engine *e, task_id task) {
    uint32_t handle = id_map_find(&runs_of(e)->of_task, hash_u64(task), &task);
    return handle ? run_at(e, handle) : NULL;
}

struct live_run *run_add(struct engine *e, task_id task, uint32_t attempt) {
    struct live_run *run = run_find(e, task);
    if (run)
        run_remove(e, task);
    uint32_t handle = slab_alloc(&runs_of(e)->slab);
    run = run_at(e, handle);
    *run = (struct live_run){ .task = task, .cost_micro_usd = -1, .tokens_cached = -1 };
    run->view.attempt = attempt;
    run->view.tokens_in = run->view.tokens_out = -1;
    run->launch_deadline = TIME_NEVER;
    run->position = runs_of(e)->live.count;
    *LIST_ADD(&runs_of(e)->live) = handle;
    id_map_add(&runs_of(e)->of_task, hash_u64(task), handle);
    return run;
}

static void run_free_texts(struct live_run *run) {
    free((char *)run->view.folder);
    free(run->agent);
    free(run->boot_id);
    free(run->cwd);
    run_proof_finish(&run->proof);
    free(run->host);
    free(run->spawner);
    free(run->session);
    free(run->model);
    free(run->sandbox);
    free(run->sandbox_root);
}

void run_remove(struct engine *e, task_id task) {
    uint32_t handle = id_map_find(&runs_of(e)->of_task, hash_u64(task), &task);
    if (!handle)
        return;
    struct live_run *run = run_at(e, handle);
    stopping_heard(e, run);
    uint32_t last = runs_of(e)->live.items[--runs_of(e)->live.count];
    runs_of(e)->live.items[run->position] = last;
    run_at(e, last)->position = run->position;
    id_map_remove(&runs_of(e)->of_task, hash_u64(task), &task);
    run_free_texts(run);
    slab_free(&runs_of(e)->slab, handle);
}

static void runs_free(struct engine *e) {
    struct runs *r = runs_of(e);
    for (size_t i = 0; i < r->live.count; i++) {
        stopping_heard(e, run_live_at(e, i));
        run_free_texts(run_live_at(e, i));
    }
    free(r->live.items);
    slab_finish(&r->slab);
    id_map_finish(&r->of_task);
    *r = (struct runs){ 0 };
}

static void runs_unload(struct engine *e) {
    runs_free(e);
    runs_init(e);
}

size_t run_count(const struct engine *e) {
    return runs_of(e)->live.count;
}

struct live_run *run_live_at(const struct engine *e, size_t index) {
    return run_at(e, runs_of(e)->live.items[index]);
}

static int by_number(const void *a, const void *b) {
    task_id x = *(const task_id *)a, y = *(const task_id *)b;
    return (x > y) - (x < y);
}

size_t engine_live_tasks(const struct engine *e, task_id *ret_tasks, size_t max) {
    if (max == 0 || runs_of(e)->live.count == 0)
        return runs_of(e)->live.count;
    task_id *tasks = xcalloc(runs_of(e)->live.count, sizeof(*tasks));
    for (size_t i = 0; i < runs_of(e)->live.count; i++)
        tasks[i] = run_live_at(e, i)->task;
    qsort(tasks, runs_of(e)->live.count, sizeof(*tasks), by_number);
    memcpy(ret_tasks, tasks,
           (max < runs_of(e)->live.count ? max : runs_of(e)->live.count) * sizeof(*tasks));
    free(tasks);
    return runs_of(e)->live.count;
}

bool engine_live_run(const struct engine *e, task_id task, struct engine_run *ret) {
    const struct live_run *run = run_find(e, task);
    if (!run)
        return false;
    *ret = run->view;
    return true;
}

void engine_run_folder(const struct engine *e, task_id task, uint32_t attempt, struct strbuf *out) {
    char id[ENGINE_ID_MAX];
    strbuf_printf(out, "%s/", e->runs_folder);
    rundir_name(out, engine_task_id(e, task, id), attempt);
}

int run_read_spec(const struct engine *e, const struct live_run *run, struct run_spec_read **ret,
                  struct error *err) {
    return rundir_read_spec(e->runs_folder, run->view.folder, run_proof_key(&run->proof), ret, err);
}

const struct engine_part runs_part = {
    .name = "runs",
    .state_size = sizeof(struct runs),
    .at = { [STEP_INIT] = runs_init,
            [STEP_UNLOAD] = runs_unload,
            [STEP_FACTS] = finish_tell_happened,
            [STEP_FREE] = runs_free },
};
