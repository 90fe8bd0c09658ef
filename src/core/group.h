/* group.h: who is followed together. Private to core/.
 *
 * A group tracks and never blocks: it closes (an order) when its last open member is final or gone, and
 * opens again when one comes or comes back. */
#pragma once

#include "core/state.h"

#define GROUP_MAX (1u << 24)

/* The task is in the group that its record names; none: nothing happens. */
void group_join(struct core *c, uint32_t task);
void group_leave(struct core *c, uint32_t task);
/* Its state was another one. */
void group_count(struct core *c, const struct task *t, enum task_state from);
