/* plausible.h: how much one run may book. Private to engine/.
 *
 * What a run has used is told by a program that may be wrong, or lie: it prints it, writes it to a file, sends it as telemetry,
 * or calls `sluice report`. It is booked into windows that others share. So a run books at most `report.run_tokens` and
 * `report.run_usd`, and at most what a run can use in the time that it has lived (`report.tokens_per_min` and
 * `report.usd_per_min`, with ten minutes ahead).
 *
 * A claim above that is not booked: what is known of the run stays as it was. Where the run or its task has a budget of its
 * own, as much is booked as uses that up, so that no claim keeps a run within its budget. An alert (`usage:ID`) and an
 * event (`run.usage_refused`) say what was claimed; the owner books the truth (correct.h). */
#pragma once

#include "agent/agent.h"
#include "engine/live_run.h"

struct alert;

/* Puts what is booked in the place of what is claimed; -1: nothing. `until`: when it was claimed, or the run has ended. True:
 * something was refused, and `err` says it. Inside a turn. */
bool plausible_bound(struct engine *e, const struct live_run *run, time_ms until,
                     struct agent_usage *claim, struct error *err);

bool plausible_alert_is_over(const struct engine *e, const struct alert *alert);
/* The owner has corrected what this task has booked. */
void plausible_corrected(struct engine *e, task_id task);
