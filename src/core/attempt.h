/* attempt.h: one attempt, from its order to its end. Private to core/. */
#pragma once

#include "core/state.h"

/* Begins an attempt: increments it, acquires leases, charges the run. `lender`: a run that lends it
 * slots, or 0. */
void run_start(struct core *c, uint32_t task, uint32_t agent, uint32_t lender);
/* Adds the run of a live task; it holds the slots of its phase. */
void run_adopt(struct core *c, uint32_t task, const struct task_spec *spec);
/* Reverts run_start completely. */
void run_undo(struct core *c, uint32_t task);

/* Orders a live run to stop, once. A later request replaces a weaker one (orphan over invalidate
 * over cancel). False: the task was draining and its run is dropped; the caller sets the state. */
bool run_order_stop(struct core *c, uint32_t task, enum stop_request stop, enum reason reason);

void run_set_phase(struct core *c, uint32_t run, enum run_phase phase);

/* `fact` is a FACT_RUN_ENDED of this attempt. */
void run_end(struct core *c, uint32_t task, const struct fact *fact);
/* Drops the run and sets the state. */
void run_end_drain(struct core *c, uint32_t task, enum task_state to, enum reason reason);
/* The agent works, or a user declared so: closes its breaker and resets its counters. */
void agent_open(struct core *c, uint32_t agent);
