/* inside.h: what holds for a task that a run in a sandbox has added. Private to ops/.
 *
 * Such a task must not get further than the run that wrote it: it has a sandbox, too, whatever its agent or project says,
 * and works in the same folder or that of its project. Both are in its member `inside`, which Sluice sets. */
#pragma once

#include <jansson.h>

#include "engine/engine.h"

/* {"sandbox", "root"}; NULL: the run of this task is in no sandbox. */
json_t *inside_of_run(struct engine *engine, task_id task);
/* Of a submission: is it such an object? */
int inside_check(const char *name, const json_t *value, struct error *err);
