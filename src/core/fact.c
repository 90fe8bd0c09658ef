/* fact.c: the names of the facts, for logs and failing tests. */
#include "core/fact.h"

#include "base/macros.h"

static const char *const fact_kinds[] = {
    [FACT_CLOCK] = "clock",
    [FACT_POLICY] = "policy",
    [FACT_PROJECT] = "project",
    [FACT_KIND] = "kind",
    [FACT_AGENT] = "agent",
    [FACT_LIMITER] = "limiter",
    [FACT_RESOURCE] = "resource",
    [FACT_WORKSPACE] = "workspace",
    [FACT_HOST] = "host",
    [FACT_BUDGET] = "budget",
    [FACT_USAGE] = "usage",
    [FACT_WAIT] = "wait",
    [FACT_PACE] = "pace",
    [FACT_CLAIM] = "claim",
    [FACT_EXTERNAL] = "external",
    [FACT_PAUSE] = "pause",
    [FACT_RESUME] = "resume",
    [FACT_AGENT_CLEAR] = "agent-clear",
    [FACT_TICK] = "tick",
    [FACT_LOADING] = "loading",
    [FACT_LOADED] = "loaded",
    [FACT_TASK_ADDED] = "task-added",
    [FACT_SLING] = "sling",
    [FACT_HOLD] = "hold",
    [FACT_RELEASE] = "release",
    [FACT_SPENT] = "spent",
    [FACT_CLEAR] = "clear",
    [FACT_CANCEL] = "cancel",
    [FACT_RETRY] = "retry",
    [FACT_AGAIN] = "again",
    [FACT_APPROVE] = "approve",
    [FACT_REJECT] = "reject",
    [FACT_DELETE] = "delete",
    [FACT_FORGET] = "forget",
    [FACT_PRIORITY] = "priority",
    [FACT_DEPENDENCIES] = "dependencies",
    [FACT_LIMITER_CLEAR] = "limiter-clear",
    [FACT_ARTIFACT] = "artifact",
    [FACT_MARKED] = "marked",
    [FACT_ORDER_REFUSED] = "order-refused",
    [FACT_RUN_STARTED] = "run-started",
    [FACT_RUN_PHASE] = "run-phase",
    [FACT_RUN_TOKENS] = "run-tokens",
    [FACT_RUN_LIMITED] = "run-limited",
    [FACT_RUN_ENDED] = "run-ended",
};
_Static_assert(ARRAY_SIZE(fact_kinds) == FACT_KIND_MAX, "a fact has no name");

const char *fact_kind_name(enum fact_kind kind) {
    return fact_kinds[kind];
}
