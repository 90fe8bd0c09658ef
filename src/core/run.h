/* run.h: one attempt, from its order to what comes after its end. Private to core/. */
#pragma once

#include "core/state.h"

/* Begins an attempt: attempt + 1, leases, charge. `lender`: a run that lends it what it can, or 0. */
void run_start(struct core *c, uint32_t task, uint32_t agent, uint32_t lender);
/* A live task that was added: it holds what its phase holds. */
void run_adopt(struct core *c, uint32_t task, const struct task_spec *spec);
/* As if it had never been ordered. */
void run_undo(struct core *c, uint32_t task);

/* Orders a live run to stop; once, and a later wish replaces the earlier one unless that was
 * stronger (orphan over invalidate over cancel). False: nothing runs, it was draining, and the draining is over: the
 * caller sets the state. */
bool run_order_stop(struct core *c, uint32_t task, enum stop_wish wish, enum reason reason);

void run_set_phase(struct core *c, uint32_t run, enum run_phase phase);

/* The run is over: `fact` is a FACT_RUN_ENDED that fits. */
void run_end(struct core *c, uint32_t task, const struct fact *fact);
/* The agent works, or a person says so: its breaker is closed and counts from 0. */
void agent_open(struct core *c, uint32_t agent);
void run_end_drain(struct core *c, uint32_t task, enum task_state to, enum reason reason);
