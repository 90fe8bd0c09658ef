/* waiting.h: a bounded part of the queue, and how many wait at each gate. */
#pragma once

#include <stddef.h>

#include "core/core.h"

/* Some of those that wait (waiting and ready): of each class the oldest, then the oldest of those that lack
 * a prerequisite, then the others. Fills at most `max`, all when there are no more; returns how many. */
size_t core_waiting(const struct core *core, task_id *ret, size_t max);

/* Ready ones, so many of each class that the `each` that come first in the queue are among them, whatever their
 * classes; one may be told twice. Fills at most `max`; where that is too few for all classes, some as core_waiting
 * tells them. Costs the classes and not the tasks. Returns how many. */
size_t core_waiting_first(const struct core *core, size_t each, task_id *ret, size_t max);

/* By these every gate is seen at which somebody waits: of each class, and of those that one rare key has refused,
 * the `each` oldest; and the `lacking` oldest of those that lack a prerequisite, but for those that need a task
 * which has ended badly (looks at no more than twenty times as many). Costs the classes, not the tasks. */
void core_each_head(const struct core *core, size_t each, size_t lacking,
                    void (*head)(void *ctx, task_id task), void *ctx);

/* `more` tasks wait (waiting and ready) at the gate whose verdict_code is that of `first`; the other figures
 * of it are those of some task. Negative: so many were told before and are elsewhere. */
typedef void (*core_waiting_each)(void *ctx, const struct verdict *first, int64_t more);

/* Tells it of all gates where somebody waits, in several parts for each; those that no gate stops are not
 * told. Costs what is different among the tasks (projects, classes, sets of rare keys that they name), not
 * the tasks, and looks at no more than `max` such differences. False: there are more, what was told is not
 * all, or rows are still being told. */
bool core_waiting_by_gate(const struct core *core, size_t max, core_waiting_each each, void *ctx);
