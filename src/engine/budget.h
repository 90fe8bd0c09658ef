/* budget.h: what happens when a budget is used up. Private to engine/.
 *
 * A run that passes what it or its task may use goes on to its end, or is stopped (on_budget); then its task is
 * held without a time, unless it is done, until somebody raises the budget. With `budget_stops_runs` the
 * budgets of the window stop live runs, too; their tasks wait at the gate, and nothing is counted.
 * Who was told to stop is written in the same commit: after a crash it is told again, and its end is known
 * for what it is.
 *
 * Inside a turn, apart from the questions. */
#pragma once

#include "agent/agent.h"
#include "engine/allowance.h"
#include "engine/live_run.h"

/* Tokens that the run has reported; -1: none. */
int64_t run_tokens(const struct live_run *run);
/* Tokens, or millionths of a dollar, of one run: who says more is mistaken. Sums of them stay in what a store can
 * keep: one that does not fit would hold up the ends of all runs. */
#define USAGE_MOST INT64_C(1000000000000000)
/* Reports are of all so far: a smaller number is an old message. */
int64_t usage_larger(int64_t before, int64_t told);
bool budget_stops(const struct engine *e, task_id task);

/* A live run has reported. */
void budget_reported(struct engine *e, struct live_run *run);
/* Its limits are others: a live run may have passed them now, or no longer. */
void budget_changed(struct engine *e, task_id task);
/* The attempt was told to stop, and has not ended since. */
bool budget_is_stopping(const struct engine *e, const struct live_run *run);
/* What its end is, if it was; `outcome` is what it would be without. */
enum outcome budget_outcome(const struct engine *e, const struct live_run *run,
                            enum outcome outcome);
/* Its end, before it is told: when its task may go on, and why it has ended. */
void budget_ends(struct engine *e, const struct live_run *run, struct fact *ended,
                 struct run_end *end);
/* Its end was told. `said`: NULL without an agent. */
void budget_ended(struct engine *e, const struct live_run *run, enum outcome outcome,
                  const struct agent_outcome *said);

/* Its limits or what it has used are others: hold it, or let it go on. */
void budget_look(struct engine *e, task_id task);
/* It is final: nobody need hold it. Or it is taken up again: then perhaps somebody must. */
void budget_see_state(struct engine *e, task_id task, bool is_final);
/* The same in the next turn: after a decision the core is told nothing more. */
void budget_look_later(struct engine *e, task_id task);

struct budget_view;
/* By what was reported, not by what is expected: an estimate stops nobody. */
bool budget_is_reached(const struct budget_view *v);

/* The smaller of what one run may cost and of what its task has left, in millionths; ALLOWANCE_NONE: as it likes. */
int64_t budget_for_run(const struct engine *e, task_id task);
