/* guard.h: helper processes that may execute what a run wrote. Private to engine/.
 *
 * They have a shim above them and a cgroup of their own (src/executor/aside.h), so they count as a run. */
#pragma once

#include "engine/engine_internal.h"
#include "executor/aside.h"

struct guard_call {
    struct aside_spec command;
    const struct run_spec *run; /* whose limits it gets; NULL: it belongs to no run */
    bool in_sandbox;            /* and its sandbox, if that has one */
    const char *name;           /* what `ps` shows of it then */
    aside_ended ended;
    void *ctx;
};
/* As aside_start. */
int guard_start(struct engine *e, const struct guard_call *call, struct aside **ret_aside,
                struct error *err);
