/* capability.h: may a run do that? One place decides. Private to ops/.
 *
 * A call that came through the door of the runs has a token (op_call.run). Its first step finds the
 * run that the token belongs to, in the turn that carries the call out: a run that has ended has no
 * rights any more. What an operation's `reach` does not give is refused with one sentence and
 * -EACCES (403), before anything else is looked at; so a run cannot ask around what is there.
 *
 * Children:  capability_complete turns what the run wrote into what it may add: its own project,
 *            itself as parent, beside itself (gate `none`), not before itself. capability_admit
 *            counts, in the step that adds them: depth, number, tokens, and that nobody above was
 *            canceled.
 * Cancel:    takes along what runs have added below a task, in the same turn (engine/below.h). So
 *            one that was added just before is canceled, and one that comes just after is
 *            refused. */
#pragma once

#include "ops/batch.h"
#include "ops/op_internal.h"

/* The first step of a call with a token. */
int capability_begin(struct op_call *call);

/* May it see this task? Always true for a call without a token. */
bool capability_sees(const struct op_call *call, task_id task);

/* Before the tasks are read. */
int capability_complete(struct op_call *call);
/* After everything else was checked, just before they are added. */
int capability_admit(struct op_call *call, struct batch *batch);
/* They are there now: what they take is no more their parent's. */
void capability_added(struct op_call *call, const struct batch *batch);
