/* fake_executor.c: see fake_executor.h. */
#include "fake_executor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "executor/slurm.h"

struct executor {
    bool is_slurm;
    char host[64];
    struct executor_events events;
    struct fake_run *runs;
    size_t count, capacity;
};

static struct executor *last, *slurm;

int executor_local_new(struct loop *loop, const struct executor_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err) {
    (void)loop, (void)err;
    struct executor *ex = xcalloc(1, sizeof(*ex));
    (void)snprintf(ex->host, sizeof(ex->host), "%s", options->host ? options->host : "box");
    ex->events = *events;
    *ret = last = ex;
    return 0;
}

struct executor *executor_free(struct executor *ex) {
    if (!ex)
        return NULL;
    if (last == ex)
        last = NULL;
    if (slurm == ex)
        slurm = NULL;
    free(ex->runs);
    free(ex);
    return NULL;
}

int executor_start(struct executor *ex, struct run_key run, const char *folder,
                   const struct run_spec *spec, struct error *err) {
    (void)err;
    ex->runs = xgrow(ex->runs, &ex->capacity, ex->count + 1, sizeof(*ex->runs));
    struct fake_run *r = &ex->runs[ex->count++];
    *r = (struct fake_run){ .key = run, .live = true };
    (void)snprintf(r->folder, sizeof(r->folder), "%s", folder);
    for (const char *const *env = spec->env; env && *env; env++)
        if (strncmp(*env, "SLUICE_TOKEN=", strlen("SLUICE_TOKEN=")) == 0)
            (void)snprintf(r->token, sizeof(r->token), "%s", *env + strlen("SLUICE_TOKEN="));
    return 0;
}

static struct fake_run *find(struct executor *ex, task_id task) {
    for (size_t i = ex ? ex->count : 0; i-- > 0;)
        if (ex->runs[i].key.task == task)
            return &ex->runs[i];
    return NULL;
}

bool executor_is_busy(const struct executor *ex) {
    (void)ex;
    return false;
}

int executor_stop(struct executor *ex, struct run_key run, enum stop_how how) {
    struct fake_run *r = find(ex, run.task);
    if (!r || !r->live)
        return -ENOENT;
    r->stopped = true;
    r->killed = how == STOP_IMMEDIATELY;
    return 0;
}

int executor_slurm_new(struct loop *loop, const struct executor_slurm_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err) {
    struct executor *local = last;
    int r = executor_local_new(loop, &options->base, events, ret, err);
    (*ret)->is_slurm = true;
    slurm = *ret;
    last = local;
    return r;
}

size_t executor_slurm_probe(const struct executor_slurm_options *options,
                            const struct executor_feature **ret) {
    static const struct executor_feature features[] = { { "sbatch", true, NULL, NULL } };
    (void)options;
    *ret = features;
    return ARRAY_SIZE(features);
}

bool executor_describe_run(const struct executor *ex, struct run_key run, struct strbuf *out) {
    (void)run;
    if (ex->is_slurm)
        strbuf_puts(out, "pending in Slurm: Resources");
    return ex->is_slurm;
}

struct executor_shim executor_shim(struct executor *ex, struct run_key run) {
    (void)ex;
    (void)run;
    return (struct executor_shim){ 0 };
}

enum adopted executor_adopt(struct executor *ex, struct run_key run, const char *folder,
                            const struct executor_known *known) {
    (void)known;
    struct run_spec spec = { 0 };
    (void)executor_start(ex, run, folder, &spec, NULL);
    return ADOPTED_ALIVE;
}

int executor_sweep(struct executor *ex, struct executor_sweep *sweep, struct error *err) {
    (void)ex, (void)sweep, (void)err;
    return 0;
}

void executor_forget(struct executor *ex, const char *task) {
    (void)ex, (void)task;
}

void executor_forget_folder(struct executor *ex, const char *folder) {
    (void)ex, (void)folder;
}

void executor_end_is_stored(struct executor *ex, struct run_key run) {
    (void)ex, (void)run;
}

uint32_t executor_live(const struct executor *ex) {
    uint32_t live = 0;
    for (size_t i = 0; i < ex->count; i++)
        live += ex->runs[i].live;
    return live;
}

const char *executor_boot_id(const struct executor *ex) {
    (void)ex;
    return "00000000-0000-0000-0000-000000000000";
}

const char *executor_host(const struct executor *ex) {
    return ex->host;
}

size_t executor_features(const struct executor *ex, const struct executor_feature **ret) {
    (void)ex;
    static const struct executor_feature features[] = {
        { "pidfd", true, NULL, NULL },
        { "cgroup.kill", false, "processes are looked for one by one", "mount cgroup v2" },
    };
    *ret = features;
    return ARRAY_SIZE(features);
}

static size_t left_removed, left_kept;

void fake_cgroups_left(size_t removed, size_t kept) {
    left_removed = removed;
    left_kept = kept;
}

struct cgroup_slot *executor_slot_take(struct executor *ex, bool limited,
                                       struct executor_slot *ret_slot) {
    (void)ex;
    (void)limited;
    (void)ret_slot;
    return NULL;
}

void executor_slot_give_back(struct executor *ex, struct cgroup_slot *slot, pid_t guard,
                             enum guard_over how) {
    (void)ex;
    (void)slot;
    (void)guard;
    (void)how;
}

size_t executor_clean(struct executor *ex, size_t *ret_kept) {
    (void)ex;
    *ret_kept = left_kept;
    return left_removed;
}

size_t executor_probe(const char *folder, const struct executor_feature **ret) {
    (void)folder;
    return executor_features(NULL, ret);
}

/* --- control by the test --------------------------------------------------------------------- */

/* The executor that has a run of this task. */
static struct executor *with(task_id task) {
    return find(slurm, task) ? slurm : last;
}

const struct fake_run *fake_run_find(task_id task) {
    return find(with(task), task);
}

bool fake_run_is_in_slurm(task_id task) {
    return find(slurm, task) != NULL;
}

size_t fake_runs_started(void) {
    return last ? last->count : 0;
}

void fake_run_starts(task_id task) {
    struct executor *ex = with(task);
    struct fake_run *r = find(ex, task);
    ex->events.started(ex->events.ctx, r->key, 1);
}

void fake_run_ends(task_id task, int exit_code) {
    struct executor *ex = with(task);
    struct fake_run *r = find(ex, task);
    struct run_end end = { .kind = RUN_END_EXIT, .code = exit_code, .durable = true };
    if (r->stopped)
        end.kind = RUN_END_STOPPED;
    r->live = false;
    ex->events.ended(ex->events.ctx, r->key, &end);
}
