/* runs.c: the runs that have not ended. There are few of them; each is found by its task. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/engine_internal.h"

static struct live_run *run_at(const struct engine *e, uint32_t handle) {
    return slab_at(&e->runs, handle);
}

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    const struct engine *e = ctx;
    return run_at(e, handle)->task == *(const task_id *)key;
}

void runs_init(struct engine *e) {
    slab_init(&e->runs, sizeof(struct live_run));
    id_map_init(&e->run_of, same_task, e);
}

struct live_run *run_find(const struct engine *e, task_id task) {
    uint32_t handle = id_map_find(&e->run_of, hash_u64(task), &task);
    return handle ? run_at(e, handle) : NULL;
}

struct live_run *run_add(struct engine *e, task_id task, uint32_t attempt) {
    struct live_run *run = run_find(e, task);
    if (run)
        run_remove(e, task);
    uint32_t handle = slab_alloc(&e->runs);
    run = run_at(e, handle);
    *run = (struct live_run){ .task = task, .cost_micro_usd = -1, .tokens_cached = -1 };
    run->view.attempt = attempt;
    run->view.tokens_in = run->view.tokens_out = -1;
    run->launch_deadline = TIME_NEVER;
    run->position = e->live.count;
    *LIST_ADD(&e->live) = handle;
    id_map_add(&e->run_of, hash_u64(task), handle);
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
    uint32_t handle = id_map_find(&e->run_of, hash_u64(task), &task);
    if (!handle)
        return;
    struct live_run *run = run_at(e, handle);
    stopping_heard(e, run);
    uint32_t last = e->live.items[--e->live.count];
    e->live.items[run->position] = last;
    run_at(e, last)->position = run->position;
    id_map_remove(&e->run_of, hash_u64(task), &task);
    run_free_texts(run);
    slab_free(&e->runs, handle);
}

void runs_free(struct engine *e) {
    for (size_t i = 0; i < e->live.count; i++) {
        stopping_heard(e, run_at(e, e->live.items[i]));
        run_free_texts(run_at(e, e->live.items[i]));
    }
    free(e->live.items);
    memset(&e->live, 0, sizeof(e->live));
    slab_finish(&e->runs);
    id_map_finish(&e->run_of);
}

struct live_run *run_live_at(const struct engine *e, size_t index) {
    return run_at(e, e->live.items[index]);
}

static int by_number(const void *a, const void *b) {
    task_id x = *(const task_id *)a, y = *(const task_id *)b;
    return (x > y) - (x < y);
}

size_t engine_live_tasks(const struct engine *e, task_id *ret_tasks, size_t max) {
    if (max == 0 || e->live.count == 0)
        return e->live.count;
    task_id *tasks = xcalloc(e->live.count, sizeof(*tasks));
    for (size_t i = 0; i < e->live.count; i++)
        tasks[i] = run_live_at(e, i)->task;
    qsort(tasks, e->live.count, sizeof(*tasks), by_number);
    memcpy(ret_tasks, tasks, (max < e->live.count ? max : e->live.count) * sizeof(*tasks));
    free(tasks);
    return e->live.count;
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
