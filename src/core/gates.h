/* gates.h: what closes, apart from leases. Private to core/.
 *
 * Decisions and explanations ask the same functions, so that the reason shown is the reason. */
#pragma once

#include "core/state.h"

bool gate_host_open(const struct core *c);
/* One floor of it: what there is, and what there must be. */
bool gate_floor_open(const struct core *c, enum host_floor floor, amount *ret_is,
                     amount *ret_wanted);
/* Tokens and money; 0: the global one. */
bool gate_budget_open(const struct core *c, uint32_t project);
bool gate_tokens_open(const struct core *c, uint32_t project); /* the first of the two */
bool gate_agent_open(const struct core *c, uint32_t agent);
static inline bool gate_project_open(const struct project *p) {
    return p->spec.active && !p->spec.paused;
}
/* Everything before the leases that does not depend on one task. */
bool gates_before_leases(const struct core *c, uint32_t project, uint32_t limiter);

/* Pace: in force only while `runs` is finite. */
bool pace_open(const struct core *c);
bool pace_in_force(const struct core *c); /* else what is counted decides nothing */
time_ms pace_opens_at(const struct core *c);
void pace_begin_decision(struct core *c);
/* A tick that was asked for and has started nothing has not been: else it would start something later. */
void pace_end_decision(struct core *c);
void pace_count_start(struct core *c);
