/* children.h: tasks that a run adds. Private to ops/.
 *
 * A run adds tasks with its token, or by a spawn file (spawn_tasks). The column `child` of the
 * table of members decides for both which members it may set. Nothing is allowed by default, so a
 * member that is added later does not become a right by accident. No task that a run adds names a
 * command that Sluice executes, unless the owner allows it (`capability.commands`).
 *
 * A spawn file of a command that the owner named may set more than one that an agent has written:
 * that command can do all of it by itself, while an agent has read untrusted text. A run in a
 * sandbox, agent or command, could leave it by what it sets here.
 *
 * Canceling a task cancels what runs have added below it, in the same turn (engine/below.h): a
 * child that was added just before is canceled, one that comes just after is refused. */
#pragma once

#include "ops/submission.h"

/* Turns what the run wrote into what it may add: its own project, itself as parent, beside itself
 * (gate `none`), not before itself. Before the tasks are read. */
int children_complete(struct op_call *call);
/* Depth, number, tokens, and that no ancestor was canceled. After everything else was checked, just
 * before they are added. */
int children_admit(struct op_call *call, struct batch *batch);
/* After they were added: what they may use is taken from their parent. */
void children_added(struct op_call *call, const struct batch *batch);

/* Is the member `inside` of a submission {"sandbox", "root"}? A task that a run in a sandbox has
 * added has a sandbox, too, and works in the same folder or that of its project, whatever its agent
 * or project says. */
int child_check_inside(const json_t *value, struct error *err);
