/* rights.h: authorization of calls. Private to ops/.
 *
 * Over TCP:  the front end has found the token (op_call.access); its scope is compared with the
 *            right that the operation needs. Scopes and runs claimed by the request are ignored.
 * Runs:      a call over the runs' socket has a run's token (op_call.run). The run is resolved in
 *            the turn that executes the call: an ended run has no rights. What the operation's
 *            `reach` does not include is refused with -EACCES (403) before anything is looked up.
 * Both are the first step of the call. */
#pragma once

#include "config/config_edit.h"
#include "ops/op_internal.h"

int access_begin(struct op_call *call);     /* came over TCP */
int capability_begin(struct op_call *call); /* has the token of a run */

/* Is the value of this setting hidden from the caller? Strings may hold secrets: an address, a
 * variable. */
bool access_hides(const struct op_call *call, const char *key);
/* Over TCP only numbers, times, switches and choices can be changed. A string may be a command, a
 * path or an address, and would let the client choose what program runs or who is notified. */
int access_check_changes(struct op_call *call, const struct config_change *items, size_t count);
int access_check_listen(struct op_call *call, const struct config *config);

/* Always true for a call without the token of a run. */
bool capability_sees(const struct op_call *call, task_id task);
/* May this run import, and is the task one that it may import? Those are the tasks with an external
 * id in a project of its member `imports`, except tasks of schedules and tasks that import
 * themselves. An operation with `imports` is allowed on them: a read always, a write while the task
 * has not started. */
bool capability_imports(const struct op_call *call, task_id task);
/* Does the operation find this task? What the run sees, and what it may import. */
bool capability_finds(const struct op_call *call, task_id task);
