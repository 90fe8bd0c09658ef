/* external_ids.h: which tasks have a name elsewhere, in memory.
 *
 * An external id is unique in its project, so several tasks may have the same one. The index follows the core: it is
 * filled when rows are loaded and tasks are added, and loses a task when the core does. So it also knows tasks that are
 * not committed yet, and two submissions that bring the same external id in one turn meet here.
 *
 * People's words become tasks in engine_find_task (engine.h), which looks here, too. */
#pragma once

#include "engine/engine.h"

/* The external id of a task; NULL: it has none. */
const char *engine_external_id(const struct engine *engine, task_id task);
/* The task of this project that has it; 0: none. */
task_id engine_find_external(const struct engine *engine, const char *project, const char *text);
/* All tasks that have it, in no order that means anything: at most `max` of them; returns how many there are. */
size_t engine_external_tasks(const struct engine *engine, const char *text, task_id *ret_tasks,
                             size_t max);

/* --- for the engine itself --------------------------------------------------------------------- */

void external_ids_add(struct engine *engine, task_id task, const char *text);
void external_ids_remove(struct engine *engine, task_id task); /* one that has none, too */
