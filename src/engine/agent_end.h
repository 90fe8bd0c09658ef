/* agent_end.h: what the last word of an agent means for its task and its account. Private to engine/. */
#pragma once

#include "agent/agent.h"
#include "engine/engine_internal.h"

/* How the run has ended, when its agent has said this. `plain`: what it would be without. */
enum outcome agent_end_outcome(const struct engine *e, const struct live_run *run,
                               const struct run_end *end, const struct agent_outcome *said,
                               enum outcome plain);
/* Its message, where nothing else has set one; what was not permitted, where that is the outcome. */
void agent_end_explain(const struct agent_outcome *said, enum outcome outcome, struct run_end *end);

/* By the prices of its model, in millionths of a dollar; -1: nobody knows. */
int64_t agent_end_guess(const struct engine *e, const struct live_run *run,
                        const struct agent_usage *used);

/* --- inside a turn --------------------------------------------------------------------------- */

/* Tokens and money of the run, and what its task remembers of it. Before its end is told. */
void agent_end_book(struct engine *e, struct live_run *run, const struct run_end *end,
                    const struct agent_outcome *said);
/* What the account is told of it. May close it: then the outcome is another, and `end` says why. */
void agent_end_limit(struct engine *e, const struct live_run *run, const struct agent_outcome *said,
                     struct fact *ended, struct run_end *end);
/* The same failure too often in a row: OUTCOME_STUCK, and `end` says so. */
enum outcome agent_end_repeated(struct engine *e, const struct live_run *run, struct run_end *end,
                                enum outcome outcome);

/* Was it closed because it was limited for longer than limiter.max_wait_s? Known until it is open again, or the
 * daemon ends: by then people were told. */
bool limits_waited_out(const struct engine *e, const char *limiter);
void limits_opened(struct engine *e, const char *limiter);
