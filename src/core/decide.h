/* decide.h: what starts now. Private to core/. */
#pragma once

#include "core/state.h"

void decide_timers(struct core *c); /* those that are due */
void decide_starts(struct core *c);

/* --- the claim ---------------------------------------------------------------------------------
 *
 * One overdue task at a time may reserve slots. Without that, a task that needs two full keys would
 * lose for ever to tasks that need one of them. docs/rules.md §3 and docs/decisions say why it is
 * one task, and why the order chooses it. */

void claim_drop(struct core *c);
struct claim_spec claim_spec(const struct core *c);
void claim_loaded(struct core *c); /* when all tasks are loaded */
