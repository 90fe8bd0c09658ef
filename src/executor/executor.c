/* executor.c: argument checks, dispatch to the backend, and what both backends share. */
#include "executor/executor.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/number.h"
#include "executor/executor_internal.h"
#include "os/outside.h"

/* --- calls of the engine ---------------------------------------------------------------------- */

struct executor *executor_free(struct executor *ex) {
    if (ex)
        ex->backend->free(ex);
    return NULL;
}

int executor_start(struct executor *ex, struct run_key run, const char *folder,
                   const struct run_spec *spec, struct error *err) {
    assert(ex && folder && spec && spec->run && spec->cwd && spec->command.argv);
    return ex->backend->start(ex, run, folder, spec, err);
}

bool executor_is_busy(const struct executor *ex) {
    return ex->backend->is_busy && ex->backend->is_busy(ex);
}

int executor_stop(struct executor *ex, struct run_key run, enum stop_how how) {
    assert(ex);
    return ex->backend->stop(ex, run, how);
}

void executor_end_is_stored(struct executor *ex, struct run_key run) {
    assert(ex);
    if (ex->backend->end_is_stored)
        ex->backend->end_is_stored(ex, run);
}

enum adopted executor_adopt(struct executor *ex, struct run_key run, const char *folder,
                            const struct executor_known *known) {
    assert(ex && folder && known);
    return ex->backend->adopt(ex, run, folder, known);
}

struct executor_shim executor_shim(struct executor *ex, struct run_key run) {
    assert(ex);
    return ex->backend->shim ? ex->backend->shim(ex, run) : (struct executor_shim){ 0 };
}

void executor_forget(struct executor *ex, const char *task) {
    assert(ex && task);
    if (!run_table_has_task(&ex->runs, task)) /* else the sweep of the next start deletes it */
        (void)trash_throw(ex->trash, task);
}

void executor_forget_folder(struct executor *ex, const char *folder) {
    assert(ex && folder);
    if (ex->backend->forgets_folders)
        (void)trash_throw(ex->trash, folder);
}

bool executor_describe_run(const struct executor *ex, struct run_key run, struct strbuf *out) {
    assert(ex && out);
    return ex->backend->describe_run && ex->backend->describe_run(ex, run, out);
}

size_t executor_clean(struct executor *ex, size_t *ret_kept) {
    assert(ex && ret_kept);
    *ret_kept = 0;
    return ex->backend->clean ? ex->backend->clean(ex, ret_kept) : 0;
}

struct cgroup_slot *executor_slot_take(struct executor *ex, bool limited,
                                       struct executor_slot *ret_slot) {
    assert(ex && ret_slot);
    return ex->backend->slot_take ? ex->backend->slot_take(ex, limited, ret_slot) : NULL;
}

void executor_slot_give_back(struct executor *ex, struct cgroup_slot *slot, pid_t guard,
                             enum guard_over how) {
    assert(ex);
    if (ex->backend->slot_give_back)
        ex->backend->slot_give_back(ex, slot, guard, how);
}

uint32_t executor_live(const struct executor *ex) {
    return ex->live;
}

const char *executor_boot_id(const struct executor *ex) {
    return ex->boot_id;
}

const char *executor_host(const struct executor *ex) {
    return ex->host;
}

size_t executor_features(const struct executor *ex, const struct executor_feature **ret) {
    *ret = ex->features;
    return ex->feature_count;
}

/* --- directories that the store does not know ------------------------------------------------- */

static bool parse_attempt(const char *name, uint32_t *ret_attempt) {
    int64_t number = 0;
    if (strspn(name, "0123456789") != strlen(name) || number_parse_int(name, &number, NULL) < 0
        || number > UINT32_MAX)
        return false;
    *ret_attempt = (uint32_t)number;
    return true;
}

static void sweep_task(struct executor *ex, const char *task, struct executor_sweep *sweep) {
    struct folder attempts;
    (void)outside_folder(&attempts, ex->root, task);
    bool removed = false;
    for (const char *name; (name = folder_next(&attempts));) {
        _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
        uint32_t attempt;
        if (!parse_attempt(name, &attempt) || sweep->known(sweep->ctx, task, attempt))
            continue;
        rundir_name(&folder, task, attempt);
        if (run_table_has_folder(&ex->runs, folder.text))
            continue;
        enum sweep_verdict verdict = ex->backend->sweep_folder(ex, folder.text, task, attempt);
        sweep->left += verdict == SWEEP_LEAVE;
        if (verdict == SWEEP_REMOVE && trash_throw(ex->trash, folder.text) == 0) {
            sweep->removed++;
            removed = true;
        }
    }
    folder_close(&attempts);
    if (removed)
        (void)unlinkat(ex->root, task, AT_REMOVEDIR); /* if it is empty now */
}

int executor_sweep(struct executor *ex, struct executor_sweep *sweep, struct error *err) {
    assert(ex && sweep && sweep->known);
    struct folder tasks;
    ex->sweep = *sweep;
    int r = outside_folder(&tasks, AT_FDCWD, ex->root_path);
    if (r < 0)
        return error_set(err, r, "cannot read folder '%s': %s", ex->root_path, strerror(-r));
    for (const char *name; (name = folder_next(&tasks));)
        if (name[0] != '.')
            sweep_task(ex, name, sweep);
    folder_close(&tasks);
    if (ex->backend->swept)
        ex->backend->swept(ex);
    return 0;
}

/* --- for the backends ------------------------------------------------------------------------- */

void executor_init(struct executor *ex, const struct executor_backend *backend, struct loop *loop,
                   const struct executor_options *options, const struct executor_events *events) {
    assert(loop && options->root && options->shim_path && events->started && events->validating
           && events->ended);
    ex->backend = backend;
    ex->events = *events;
    ex->loop = loop;
    ex->root = -1;
    ex->shim_path = xstrdup(options->shim_path);
    run_table_init(&ex->runs);
    if (options->host)
        (void)snprintf(ex->host, sizeof(ex->host), "%s", options->host);
    else if (gethostname(ex->host, sizeof(ex->host) - 1) < 0)
        (void)snprintf(ex->host, sizeof(ex->host), "localhost");
}

void executor_free_runs(struct executor *ex) {
    for (size_t i = 1; i < ex->runs.count; i++)
        if (run_table_at(&ex->runs, i))
            ex->backend->free_run(run_table_at(&ex->runs, i));
}

void executor_finish(struct executor *ex) {
    (void)trash_free(ex->trash);
    fd_closep(&ex->root);
    run_table_finish(&ex->runs);
    free(ex->root_path);
    free(ex->shim_path);
    free(ex);
}

void executor_run_init(struct executor_run *run, struct executor *ex, struct run_key key,
                       const char *folder) {
    run->executor = ex;
    run->key = key;
    run->folder = xstrdup(folder);
    run->index = run_table_add(&ex->runs, run, key, run->folder);
    ex->live++;
}

static void leave_table(struct executor_run *run) {
    if (run->index == 0)
        return;
    run->executor->live--;
    run_table_remove(&run->executor->runs, run->index);
    run->index = 0;
}

void executor_run_finish(struct executor_run *run) {
    leave_table(run);
    free(run->folder);
    free(run->external_task);
    free(run);
}

void executor_report_started(struct executor_run *run, time_ms at) {
    const struct executor_events *events = &run->executor->events;
    if (run->reported_started)
        return;
    run->reported_started = true;
    if (!run->external_task)
        events->started(events->ctx, run->key, at);
}

void executor_report_validating(struct executor_run *run) {
    const struct executor_events *events = &run->executor->events;
    if (run->reported_validating)
        return;
    run->reported_validating = true;
    if (!run->external_task)
        events->validating(events->ctx, run->key);
}

void executor_report_progress(struct executor_run *run, const struct run_started *who) {
    if (who->command > 0)
        executor_report_started(run, who->at);
    if (who->validating)
        executor_report_validating(run);
}

void executor_report_end(struct executor_run *run) {
    struct executor *ex = run->executor;
    struct run_end end = run->end;
    struct run_key key = run->key;
    bool is_external = run->external_task != NULL;
    if (is_external && ex->sweep.external_ended)
        ex->sweep.external_ended(ex->sweep.ctx, run->external_task, run->external_attempt);
    if (end.started_at > 0)
        executor_report_started(run, end.started_at);
    ex->backend->free_run(run);
    if (!is_external)
        ex->events.ended(ex->events.ctx, key, &end);
}

void executor_report_end_early(struct executor_run *run) {
    const struct executor_events *events = &run->executor->events;
    if (run->end.started_at > 0)
        executor_report_started(run, run->end.started_at);
    leave_table(run);
    events->ended(events->ctx, run->key, &run->end);
}

void executor_report_external(struct executor_run *run, const char *task, uint32_t attempt,
                              const struct run_started *who) {
    const struct executor_sweep *sweep = &run->executor->sweep;
    run->external_task = xstrdup(task);
    run->external_attempt = attempt;
    if (sweep->external)
        sweep->external(sweep->ctx, task, attempt, who);
}
