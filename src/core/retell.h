/* retell.h: the state of a core as facts that restore it in a new one. Part of the interface of core.h.
 *
 * The facts belong between FACT_LOADING and FACT_LOADED, which are not included; their order is that of
 * core.h, "Restart". Not included, because no decision depends on it: who paused the queue and when,
 * the group of a task, and a requested tick that has not begun. */
#pragma once

#include "core/core.h"

/* Pointers in a fact are valid until `each` returns. `each` returns 0, or <0 to stop, which is then
 * returned. Costs a walk over all tasks, and 8 bytes for each. */
typedef int (*core_fact_visitor)(void *ctx, const struct fact *fact);
int core_export(const struct core *core, core_fact_visitor each, void *ctx);
