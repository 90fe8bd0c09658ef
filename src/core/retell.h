/* retell.h: everything a core knows, as the facts that make a new core the same. Part of what core.h shows.
 *
 * The facts belong between FACT_LOADING and FACT_LOADED, which are not among them; their order is that of core.h,
 * "Restart". Three things are left out because no decision depends on them: who paused the queue and when, the group
 * of a task, and a tick that was asked for and has not begun. */
#pragma once

#include "core/core.h"

/* What a fact points at lives until `each` returns. `each` returns 0, or <0 to end it; that is then returned.
 * Costs a walk over all tasks, and 8 bytes for each. */
typedef int (*core_fact_each)(void *ctx, const struct fact *fact);
int core_retell(const struct core *core, core_fact_each each, void *ctx);
