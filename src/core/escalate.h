/* escalate.h: stronger agents for tasks whose results were not accepted. Private to core/.
 *
 * docs/internals/rules.md §5. Few tasks fail a check, so lists and steps are in a side table. A
 * step changes the agent of the task itself: gates, leases and failover need not know about it. */
#pragma once

#include "core/state.h"

static inline bool escalation_is_set(const struct escalation_spec *spec) {
    return spec->count | spec->after | spec->step | spec->failed;
}

/* A new task, whose agent and limiter are set, with a list or failures of its own. */
void escalate_add(struct core *c, uint32_t task, const struct escalation_spec *spec);
/* Its result was not accepted. Takes the next step if this was the last failure before it. The task
 * is neither queued nor live. */
void escalate_count_failure(struct core *c, uint32_t task, enum reason reason);
/* Back to its own agent, with no failures. The task is neither queued nor live. */
void escalate_reset(struct core *c, uint32_t task);
void escalate_drop(struct core *c, task_id task);
void escalate_spec(const struct core *c, task_id task, struct escalation_spec *ret);

bool escalation_same(const void *ctx, uint32_t handle, const void *id); /* for the map */
