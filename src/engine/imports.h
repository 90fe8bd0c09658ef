/* imports.h: tasks whose runs may import. Call inside a turn.
 *
 * The member `imports` of a task lists the projects into which its runs may import: add tasks with
 * external ids, and change those that have not started (ops/rights.h). Only the owner sets it. The
 * right must not depend on anything that a run can write, so it is a note of the task, in the
 * commit that adds it. */
#pragma once

#include <jansson.h>

#include "engine/engine.h"

/* May the runs of this task import into the project? */
bool engine_may_import(const struct engine *engine, task_id task, const char *project);
/* The projects, a list of names; NULL: its runs may not import. */
const json_t *engine_import_projects(const struct engine *engine, task_id task);

/* --- for the engine itself -------------------------------------------------------------------- */

void imports_add(struct engine *engine, task_id task, const json_t *projects);
