/* guard.c: starts a guarded helper process in a cgroup of the executor. See launch_internal.h. */
#include "engine/launch/launch_internal.h"

#include <stdlib.h>

#include "os/files.h"

struct guard {
    struct executor *executor;
    struct cgroup_slot *slot;
};

static void guard_ended(void *ctx, pid_t pid, enum guard_over how) {
    struct guard *guard = ctx;
    executor_slot_give_back(guard->executor, guard->slot, pid, how);
    free(guard);
}

int guard_start(struct engine *e, const struct guard_call *call, struct helper_process **ret_helper,
                struct error *err) {
    struct run_spec spec = call->run ? *call->run : (struct run_spec){ .run = call->name };
    if (!call->in_sandbox) {
        spec.wrap = spec.wrap_env = NULL;
        spec.enter = NULL;
    }
    struct executor_slot slot = { .folder = -1, .daemon = -1 };
    struct guard *guard = xcalloc(1, sizeof(*guard));
    guard->executor = e->executor;
    guard->slot =
        executor_slot_take(e->executor, spec.memory_max > 0 || spec.processes_max > 0, &slot);
    spec.cgroup = slot.path; /* not that of the run, which has ended, or still runs in it */
    const struct helper_guard how = { .shim = e->shim_path,
                                      .spec = &spec,
                                      .cgroup = slot.folder,
                                      .daemon = slot.daemon,
                                      .over = guard_ended,
                                      .ctx = guard };
    struct helper_spec command = call->command;
    command.guard = &how;
    int r = helper_start(e->loop, &command, call->ended, call->ctx, ret_helper, err);
    fd_closep(&slot.folder);
    return r;
}
