/* waiting.h: a bounded part of the queue, for lists and counts. */
#pragma once

#include <stddef.h>

#include "core/core.h"

/* Some of those that wait (waiting and ready): of each class the oldest, then the oldest of those that lack
 * a prerequisite, then the others. Fills at most `max`, all when there are no more; returns how many. */
size_t core_waiting(const struct core *core, task_id *ret, size_t max);
