/* waiting.h: a bounded part of the queue, and how many tasks wait at each gate. */
#pragma once

#include <stddef.h>

#include "core/core.h"

/* Waiting and ready tasks: of each class the oldest, then the oldest of those that lack a
 * prerequisite, then the others. Fills at most `max`; returns how many. */
size_t core_waiting(const struct core *core, task_id *ret, size_t max);

/* Ready tasks: so many of each class that the first `each` of the queue are included; a task may
 * appear twice. Fills at most `max`; where that is too few for all classes, as core_waiting. Costs
 * the classes, not the tasks. Returns how many. */
size_t core_waiting_first(const struct core *core, size_t each, task_id *ret, size_t max);

/* Visits tasks of every gate at which any task waits: of each class, and of the tasks that one rare
 * key refuses, the `each` oldest; and the `lacking` oldest that lack a prerequisite, except those
 * that need a failed task (considers at most twenty times as many). Costs the classes, not the
 * tasks. */
void core_each_queue_head(const struct core *core, size_t each, size_t lacking,
                          void (*head)(void *ctx, task_id task), void *ctx);

/* `more` tasks (waiting and ready) wait at the gate with the verdict_code of `first`; its other
 * members are those of one of them. Negative: a correction of an earlier call. */
typedef void (*core_waiting_visitor)(void *ctx, const struct verdict *first, int64_t more);

/* Counts the waiting tasks by gate, in several calls for each; tasks that no gate stops are left
 * out. Costs the projects, classes and sets of rare keys, not the tasks, and explains at most `max`
 * of them. False: there are more, so the counts are incomplete, or the core is loading. */
bool core_waiting_by_gate(const struct core *core, size_t max, core_waiting_visitor each,
                          void *ctx);
