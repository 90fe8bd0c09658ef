/* children.h: tasks added by a run. Private to ops/.
 *
 * A run adds tasks with its token, or by a spawn file (spawn_tasks). The column `child` of the
 * member table decides for both which members it may set. Nothing is allowed by default, so a new
 * member does not become a right by accident. Tasks that a run adds never name a command that
 * Sluice executes, unless the owner allows it (`capability.commands`).
 *
 * A spawn file written by a command that the owner named may set more than one written by an agent:
 * the command could do all of it itself, while an agent has read untrusted text. A run in a
 * sandbox, agent or command, could use these members to escape it.
 *
 * Canceling a task cancels the descendants that runs have added, in the same turn (engine/descendants.h):
 * a child added just before is canceled, one added just after is refused. */
#pragma once

#include "ops/task_batch.h"

/* Completes what the run wrote: its own project, itself as parent, gate `none`, not ahead of itself
 * in the queue. Call before the tasks are read. */
int children_complete(struct op_call *call);
/* Checks depth, number, tokens, and that no ancestor was canceled. Call after all other checks,
 * just before adding. */
int children_admit(struct op_call *call, struct batch *batch);
/* Instead, for a run that imports: one of the tasks has an external id, and the run may import
 * (engine/imports.h). What it imports are not its children: they have no budget, group or folder of
 * its own task, and stay when that is canceled. They are in a project that it may import into. */
bool import_is(const struct op_call *call);
int import_complete(struct op_call *call);
int import_admit(struct op_call *call, struct batch *batch);

/* batch_add calls it for a run: takes the children's budgets from their parent. */
void children_added(const struct batch *batch);

/* Validates the member `inside` of a submission: {"sandbox", "root"}. A task added by a sandboxed
 * run is also sandboxed, and works in the same folder or that of its project, regardless of its
 * agent or project. */
int child_check_inside(const json_t *value, struct error *err);
