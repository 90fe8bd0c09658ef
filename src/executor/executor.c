/* executor.c: argument checks and dispatch to the backend; the only caller of its functions. */
#include "executor/executor.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "executor/executor_internal.h"

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

enum adopted executor_adopt(struct executor *ex, struct run_key run, const char *folder,
                            const struct executor_known *known) {
    assert(ex && folder && known);
    return ex->backend->adopt(ex, run, folder, known);
}

struct executor_shim executor_shim(struct executor *ex, struct run_key run) {
    assert(ex);
    return ex->backend->shim ? ex->backend->shim(ex, run) : (struct executor_shim){ 0 };
}

int executor_sweep(struct executor *ex, struct executor_sweep *sweep, struct error *err) {
    assert(ex && sweep && sweep->known);
    return ex->backend->sweep(ex, sweep, err);
}

void executor_forget(struct executor *ex, const char *task) {
    assert(ex && task);
    ex->backend->forget(ex, task);
}

void executor_forget_folder(struct executor *ex, const char *folder) {
    assert(ex && folder);
    if (ex->backend->forget_folder)
        ex->backend->forget_folder(ex, folder);
}

bool executor_describe_run(const struct executor *ex, struct run_key run, struct strbuf *out) {
    assert(ex && out);
    return ex->backend->doing && ex->backend->doing(ex, run, out);
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

void executor_set_host(struct executor *ex, const char *host) {
    if (host)
        (void)snprintf(ex->host, sizeof(ex->host), "%s", host);
    else if (gethostname(ex->host, sizeof(ex->host) - 1) < 0)
        (void)snprintf(ex->host, sizeof(ex->host), "localhost");
}

size_t executor_features(const struct executor *ex, const struct executor_feature **ret) {
    *ret = ex->features;
    return ex->feature_count;
}
