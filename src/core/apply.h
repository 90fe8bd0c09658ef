/* apply.h: one function per fact, by the room it belongs to. Private to core/.
 *
 * Each returns as core_apply does. The caller has checked nothing but the kind; after it the caller
 * settles what is to be looked at again. */
#pragma once

#include "core/state.h"

typedef int apply_function(struct core *c, const struct fact *fact, struct error *err);

/* apply_world.c */
apply_function apply_clock, apply_policy, apply_project, apply_kind, apply_agent, apply_limiter,
    apply_resource, apply_workspace, apply_host, apply_budget, apply_usage, apply_external,
    apply_pause, apply_resume, apply_tick, apply_limiter_clear, apply_agent_clear;
/* load.c */
apply_function apply_loading, apply_loaded, apply_wait, apply_pace, apply_claim;
bool apply_allowed_while_loading(enum fact_kind kind);
/* apply_added.c */
apply_function apply_task_added, apply_dependencies;
/* apply_task.c */
apply_function apply_sling, apply_hold, apply_release, apply_spent, apply_clear, apply_cancel,
    apply_retry, apply_again, apply_approve, apply_reject, apply_delete, apply_forget,
    apply_priority, apply_artifact, apply_marked;
/* apply_run.c */
apply_function apply_order_refused, apply_run_started, apply_run_phase, apply_run_tokens,
    apply_run_limited, apply_run_ended;
