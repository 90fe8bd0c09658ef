/* agents_internal.h: sessions, output and ends of agents, for other parts. Private to engine/. */
#pragma once

#include "agent/agent.h"
#include "engine/engine_internal.h"
#include "engine/live_run.h"

/* --- session ---------------------------------------------------------------------------------- */

/* What is remembered of a task's agent between attempts. The session that can be resumed and its
 * usage so far, the last failure message, denied permissions, and how many runs in a row ended
 * quickly. One note per task that has any, written in the commit that holds the end of the run.
 * Deleted when the task is final, unless a retry continues it. */

/* Before the launch: sets run->session and run->resumes to the session to resume (if it can), or to
 * a new id (if the agent takes one from us). A session that was interrupted is resumed, and so is
 * one whose result was not accepted: run->gets_feedback. */
void session_prepare(struct engine *e, struct live_run *run, bool can_resume, bool takes_id);

/* Gives the reader the usage of this run's sessions before it. */
void session_hand_over(const struct engine *e, const struct live_run *run,
                       struct agent_reader *reader);

/* What its last run was denied, and its agent; NULL: nothing. */
const struct agent_denial *session_denial(const struct engine *e, task_id task,
                                          const char **ret_agent);

/* The agent of the task's last run, if that was another one; or NULL. */
const char *session_predecessor(const struct engine *e, const struct live_run *run);

/* --- inside a turn --------------------------------------------------------------------------- */

struct session_end {
    /* The work continues. If another agent takes over for a while, this one resumes its session
     * later; else the conversation is over. */
    bool interrupted;
    bool resumable; /* with this very session */
    bool complete;  /* the agent ended its turn: feedback on the result may continue the session */
};
/* The run of a person who has taken the task over has ended: the next attempt continues its session. */
void session_taken(struct engine *e, const struct live_run *run);
/* `booked`: what was booked for it, if its agent has not reported everything. */
void session_ended(struct engine *e, const struct live_run *run,
                   const struct agent_outcome *reported, const struct agent_usage *booked,
                   const struct session_end *end);
/* The last counted failure, and how many times in a row; NULL: none. */
const char *session_last_failure(const struct engine *e, task_id task, uint32_t *ret_count);
void session_count_failure(struct engine *e, task_id task, const char *text);
/* How many iterations in a row have left the work tree unchanged, if it is this one now. */
uint32_t session_same_trees(const struct engine *e, task_id task, const char *tree);
void session_count_tree(struct engine *e, task_id task, const char *tree);
/* Counts a quick end (agents/runaway.c). Returns how many in a row, including this one. */
uint32_t session_quick(struct engine *e, task_id task);
void session_not_quick(struct engine *e, task_id task); /* resets the count */
void session_drop(struct engine *e, task_id task);      /* the task is final or deleted */

/* --- session file ----------------------------------------------------------------------------- */

/* Reads the agents' own session files, for what the output of a run lacks. They are below the home
 * directory of the run and written by it: only numbers are read, from the end of a regular file,
 * and no link is followed below the home directory. A missing file, because the run was on another
 * machine or in a sandbox without that folder, is ignored. */

/* Feeds what the reader wants. */
void session_files_read(struct engine *e, const struct live_run *run,
                        const struct agent_adapter *adapter, struct agent_reader *reader);

/* --- usage ------------------------------------------------------------------------------------ */

/* How much one run may book. Usage is reported by a program that may be wrong, or lie: in its
 * output, a file, telemetry, or `sluice report`. It is booked into windows that others share. So a
 * run books at most `report.run_tokens` and `report.run_usd`, and at most what is possible in its
 * run time (`report.tokens_per_min` and `report.usd_per_min`, with ten minutes ahead).
 *
 * A larger claim is not booked: the known usage stays. If the run or its task has a budget, just
 * enough is booked to use that up, so that no claim keeps a run within its budget. An alert
 * (`usage:ID`) and an event (`run.usage_refused`) show the claim; engine_correct_run books the
 * truth. */

#define MODEL_WORD "{model}" /* in a configured command: the name of the model */

/* By the prices of its model, in millionths of a dollar; -1: unknown. */
int64_t usage_guess_cost(const struct engine *e, const struct live_run *run,
                         const struct agent_usage *used);
int64_t usage_price(const struct engine *e, const char *model, const struct agent_usage *used);
/* Inside a turn: the run has started. Its charge in budgets becomes what its model costs. */
void usage_expect(struct engine *e, const struct live_run *run);
/* Inside a turn: books usage of the run, and updates its session. Before its end is applied.
 * `has_asked`: its task waits for an answer, or the answer waits for the next attempt. */
void usage_book_end(struct engine *e, struct live_run *run, const struct run_end *end,
                    const struct agent_outcome *reported, bool has_asked);

struct alert;
bool plausible_alert_is_over(const struct engine *e, const struct alert *alert);

/* --- account limits --------------------------------------------------------------------------- */

/* The account of the run, if its limit lasts longer than limiter.max_wait_s in all; or NULL. */
const char *limits_exhausted_account(const struct engine *e, const struct live_run *run,
                                     const struct agent_outcome *reported);
/* Inside a turn: sets the account's part of the fact. `closes`: it is limited for too long. */
void limits_ended(struct engine *e, const struct live_run *run,
                  const struct agent_outcome *reported, bool closes, struct fact *ended);

/* Whether it was closed because it was limited for longer than limiter.max_wait_s. Known until it
 * reopens or the daemon ends, which is after the alert. */
bool limits_waited_out(const struct engine *e, const char *limiter);
void limits_opened(struct engine *e, const char *limiter);

/* --- quota ------------------------------------------------------------------------------------ */

/* Inside a turn: how much of its account's windows is used, as the agent of a live run reported. */
void quota_report(struct engine *e, const struct live_run *run,
                  const struct agent_quota reported[AGENT_WINDOW_MAX]);
/* Whole percents and ends of windows are equal. */
bool quota_is_same(const struct agent_quota a[AGENT_WINDOW_MAX],
                   const struct agent_quota b[AGENT_WINDOW_MAX]);

/* --- listen ----------------------------------------------------------------------------------- */

/* Reads the output of agents of live runs.
 *
 * Life:  listen_begin (launched, or found alive) → listen_some in each round → listen_end
 *        → listen_reported, which runs/run_end.c copies
 * Logs are read while they grow, a few times per second at most and one slice per round of the
 * loop. Nothing is piped through the daemon: after a restart they are read again from the start.
 * Only runs of an agent's own command that its adapter understands are read, not a task's argv. */

/* NULL: its output is not read (plain). */
const struct agent_adapter *listen_adapter(const struct engine *e, const char *agent);
void listen_begin(struct engine *e, const struct live_run *run,
                  const struct agent_adapter *adapter);

/* The last line of its agent for display; NULL: not read, or nothing printed. */
const char *listen_last_line(const struct engine *e, struct run_key key);

/* True: there is more to read; END_LOG of runs/run_end.c follows. */
bool listen_end(struct engine *e, struct live_run *run, const struct run_end *end);
/* Its final report; NULL: not read, or not completely. */
const struct agent_outcome *listen_reported(const struct engine *e, struct run_key key);

/* --- runaway ---------------------------------------------------------------------------------- */

/* Tasks whose runs repeatedly end quickly. A command that fails at once, under a policy that
 * restarts it at once, would start hundreds of times per second. So runs that end in less than
 * `runaway.quick_s` and are followed by another attempt are counted. The pause before that attempt
 * is at least `runaway.pause_s`, doubled with each quick end in a row up to `runaway.pause_max_s`;
 * after `runaway.alert_after` of them there is an alert (`runaway:ID`). A run that lasts or
 * succeeds resets the count.
 *
 * A delay set by the owner (`retry.*.delay_s`) is kept: then there is only the alert. Launch
 * failures are handled by the breaker, as long as `breaker.max` is finite. */

/* Counts the end of a run, and sets the minimum delay of the next attempt. Inside a turn. */
void runaway_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                   struct fact *ended);

bool runaway_alert_is_over(const struct engine *e, const struct alert *alert);

/* --- telemetry -------------------------------------------------------------------------------- */

/* The variables of a run; `name`: "web-17.2", `adapter`: of its command, or NULL. */
void telemetry_variables(const struct engine *e, const struct live_run *run, const char *name,
                         const char *adapter, struct strbuf *out);
/* Its agent has reported its own numbers, which replace those of telemetry. */
void telemetry_yield(struct live_run *run, const struct agent_usage *own);
