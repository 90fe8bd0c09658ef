/* below.h: the tasks that runs have handed down: children that may start beside their parent.
 *
 * A child with the gate `none` was added by a run of its parent, or for it. It belongs to what its parent is
 * doing: who cancels the parent cancels it. */
#pragma once

#include <stdbool.h>

#include "core/core.h"

struct engine;

/* Was it handed down by its parent? */
bool below_is_handed(const struct core *core, task_id task, task_id *ret_parent);
/* Was it added by a run, with a token? Such a task has the key of its parent's children (run_token.h). */
bool below_is_of_run(struct core *core, task_id task);
/* Calls `each` for all that were handed down from `top`, and on from those, until it says no. */
void below_walk(const struct core *core, task_id top, bool (*each)(void *ctx, task_id task),
                void *ctx);

/* Inside a turn: cancels all of them. `now`: their runs are killed at once. */
void engine_cancel_below(struct engine *engine, task_id task, bool now);
