/* decide.h: what starts now. Private to core/. */
#pragma once

#include "core/state.h"

void decide_timers(struct core *c); /* fires due timers */
void decide_starts(struct core *c);

/* --- the claim ---------------------------------------------------------------------------------
 *
 * One overdue task at a time may reserve slots. Otherwise a task that needs two full keys would
 * always lose to tasks that need one of them. docs/internals/rules.md §3 and
 * docs/internals/decisions explain why it is one task, and why the order chooses it. */

void claim_drop(struct core *c);
struct claim_spec claim_spec(const struct core *c);
void claim_loaded(struct core *c); /* after all tasks are loaded */
