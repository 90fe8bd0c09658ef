/* spawn.h: the tasks of a spawn file, added as children of the task that wrote it.
 *
 * Given to the engine (engine_set_spawner) by whoever puts the daemon together. The file is a task
 * file (taskfile.h), and is checked like a submission, with these rules of its own:
 *   parent        a name of the same file; else the task that wrote it
 *   parent_gate   done, when nothing is said
 *   project, cwd  those of the task that wrote it, when nothing is said; so is the agent of a
 *                 prompt
 *   group         that of the file; else that of the task that wrote it
 *   external_id   refused: the children of the next iteration would meet those of the last one
 *   commands      what a run may not set is refused (child.h). Children of an agent also stay in
 *                 its group and its folders */
#pragma once

#include "engine/loops.h"

/* As engine_spawn_tasks; `ctx` is not used. */
int spawn_tasks(void *ctx, struct engine *engine, const struct engine_spawn *spawn,
                struct error *err);
