/* external_ids.h: in-memory index of the names that tasks have in other systems.
 *
 * An external id is unique in its project, so several tasks may share one. The index follows the
 * core: filled when rows are loaded and tasks are added, and a task leaves it when it leaves the
 * core. It includes uncommitted tasks, so two submissions with the same external id in one turn
 * collide here.
 *
 * engine_find_task (engine.h) resolves user input and uses this index too. */
#pragma once

#include "engine/engine.h"

/* NULL: it has none. */
const char *engine_external_id(const struct engine *engine, task_id task);
/* 0: none. */
task_id engine_find_external(const struct engine *engine, const char *project, const char *text);
/* All tasks that have it, in no particular order: at most `max`; returns the total. */
size_t engine_external_tasks(const struct engine *engine, const char *text, task_id *ret_tasks,
                             size_t max);

/* --- for the engine itself -------------------------------------------------------------------- */

void external_ids_add(struct engine *engine, task_id task, const char *text);
