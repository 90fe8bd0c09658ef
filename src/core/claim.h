/* claim.h: one overdue task at a time may reserve places. Private to core/.
 *
 * Without it a task that needs two full keys loses for ever to tasks that need one of them. See
 * docs/rules.md §3 and docs/decisions for why it is one task, and why the order chooses it. */
#pragma once

#include "core/state.h"

/* Looks at the claim again. True: something that was reserved is free for others now. */
bool claim_update(struct core *c);
void claim_drop(struct core *c);
/* While loading, and when all tasks are there. */
struct claim_spec claim_spec(const struct core *c);
void claim_loaded(struct core *c);
/* The task of the claim, if nothing stops it now; else 0. Sets the deficit of its project. */
uint32_t claim_startable(struct core *c);
