/* apply.c: every fact comes in here. */
#include "core/apply.h"

#include <errno.h>

#include "base/macros.h"
#include "core/task.h"

static apply_function *const functions[] = {
    [FACT_CLOCK] = apply_clock,
    [FACT_POLICY] = apply_policy,
    [FACT_PROJECT] = apply_project,
    [FACT_KIND] = apply_kind,
    [FACT_AGENT] = apply_agent,
    [FACT_LIMITER] = apply_limiter,
    [FACT_RESOURCE] = apply_resource,
    [FACT_WORKSPACE] = apply_workspace,
    [FACT_HOST] = apply_host,
    [FACT_BUDGET] = apply_budget,
    [FACT_USAGE] = apply_usage,
    [FACT_WAIT] = apply_wait,
    [FACT_PACE] = apply_pace,
    [FACT_CLAIM] = apply_claim,
    [FACT_EXTERNAL] = apply_external,
    [FACT_PAUSE] = apply_pause,
    [FACT_RESUME] = apply_resume,
    [FACT_AGENT_CLEAR] = apply_agent_clear,
    [FACT_TICK] = apply_tick,
    [FACT_LOADING] = apply_loading,
    [FACT_LOADED] = apply_loaded,
    [FACT_TASK_ADDED] = apply_task_added,
    [FACT_SLING] = apply_sling,
    [FACT_HOLD] = apply_hold,
    [FACT_RELEASE] = apply_release,
    [FACT_SPENT] = apply_spent,
    [FACT_CLEAR] = apply_clear,
    [FACT_CANCEL] = apply_cancel,
    [FACT_RETRY] = apply_retry,
    [FACT_AGAIN] = apply_again,
    [FACT_APPROVE] = apply_approve,
    [FACT_REJECT] = apply_reject,
    [FACT_DELETE] = apply_delete,
    [FACT_FORGET] = apply_forget,
    [FACT_PRIORITY] = apply_priority,
    [FACT_DEPENDENCIES] = apply_dependencies,
    [FACT_LIMITER_CLEAR] = apply_limiter_clear,
    [FACT_ARTIFACT] = apply_artifact,
    [FACT_MARKED] = apply_marked,
    [FACT_ORDER_REFUSED] = apply_order_refused,
    [FACT_RUN_STARTED] = apply_run_started,
    [FACT_RUN_PHASE] = apply_run_phase,
    [FACT_RUN_TOKENS] = apply_run_tokens,
    [FACT_RUN_LIMITED] = apply_run_limited,
    [FACT_RUN_ENDED] = apply_run_ended,
};
_Static_assert(ARRAY_SIZE(functions) == FACT_KIND_MAX, "a fact has no function");

int core_apply(struct core *c, const struct fact *fact, struct error *err) {
    if ((unsigned)fact->kind >= FACT_KIND_MAX)
        return error_set(err, -EINVAL, "fact %u is not known", (unsigned)fact->kind);
    if (c->loading && !apply_allowed_while_loading(fact->kind))
        return error_set(err, -EBUSY, "%s must wait: rows are still being told",
                         fact_kind_name(fact->kind));
    int r = functions[fact->kind](c, fact, err);
    task_settle(c);
    return r;
}
