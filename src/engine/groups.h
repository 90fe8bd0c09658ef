/* groups.h: a group that was opened for tasks which then did not come. Part of engine.h, for ops/.
 *
 * Life: engine_find_group says nothing → engine_open_group → engine_add_tasks is refused →
 *       engine_take_back_group, in the same request */
#pragma once

#include "engine/engine.h"

/* It goes as if it had never been opened, unless a task is in it. 0: of none. */
void engine_take_back_group(struct engine *engine, uint32_t id);
