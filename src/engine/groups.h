/* groups.h: undoes the opening of a group. Part of engine.h, for ops/.
 *
 * Life: engine_find_group finds none → engine_open_group → engine_add_tasks is refused →
 *       engine_take_back_group, in the same request */
#pragma once

#include "engine/engine.h"

/* Removes the group as if it had never been opened, unless it has a task. 0: no-op. */
void engine_take_back_group(struct engine *engine, uint32_t id);
