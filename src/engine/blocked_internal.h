/* blocked_internal.h: `task.blocked`, when what a task waits for has changed. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* A task came, or was scheduled: tells what it waits for, if anything. */
void blocked_added(struct engine *e, task_id task);
/* What it waits for, as a number; then its dependencies were changed. */
uint64_t blocked_digest(struct engine *e, task_id task);
void blocked_rewired(struct engine *e, task_id task, uint64_t before);
/* An order that the core gave, with those behind it. The first that finishes a task (or makes it unfinished)
 * tells all tasks that are concerned by any of them, before their own orders. True: it was that one.
 * `told`: there was one before, in this turn. */
bool blocked_on_order(struct engine *e, const struct order *orders, size_t count, bool told);
