/* descendants.h: children that may start beside their parent. A child with the gate `none`
 * was added by or for a run of its parent. It is part of its parent's work, so canceling the parent
 * cancels it. */
#pragma once

#include <stdbool.h>

#include "core/core.h"

struct engine;

/* Whether its parent handed it down. */
bool is_handed_down(const struct core *core, task_id task, task_id *ret_parent);
/* Whether a run added it, with its token. If so, it has the children key of run_token.h. */
bool is_added_by_run(struct core *core, task_id task);
/* Calls `each` for all descendants of `top` until it returns false. */
void descendants_walk(const struct core *core, task_id top, bool (*each)(void *ctx, task_id task),
                      void *ctx);

/* Inside a turn: cancels all descendants. `now`: kills their runs at once. */
void engine_cancel_descendants(struct engine *engine, task_id task, bool now);
