/* agents_internal.h: agents, as other parts know them: sessions, what they print, how they end. Private to engine/. */
#pragma once

#include "agent/agent.h"
#include "engine/engine_internal.h"
#include "engine/live_run.h"

/* --- session -------------------------------------------------------------------------------------- */

/* What is remembered of a task's agent from one attempt to the next.
 *
 * The session that can be gone on with, what it had used so far, the last text of a failure, what was not permitted
 * to it, and how many runs in a row have ended quickly. One note in
 * the store for each task that has any, written in the commit that holds the end of the run: neither of them
 * without the other. It goes when the task is final. */

/* Before the launch: which session the run goes on with (if it can), or the id of its new one (if it takes one from
 * us); into run->session and run->resumes. */
void session_prepare(struct engine *e, struct live_run *run, bool can_resume, bool takes_id);

/* What the sessions of this run had used before it: for who reads what it prints. */
void session_hand_over(const struct engine *e, const struct live_run *run,
                       struct agent_reader *reader);

/* What its last run was not permitted to do, and its agent; NULL: nothing was refused. */
const struct agent_denial *session_denial(const struct engine *e, task_id task,
                                          const char **ret_agent);

/* The agent that had the last run of its task, if that was another one; or NULL. */
const char *session_predecessor(const struct engine *e, const struct live_run *run);

/* --- inside a turn --------------------------------------------------------------------------- */

/* The run has ended. */
struct session_end {
    /* Its work goes on, and when another agent does it for a while, this one goes on later with what it had; else all that was
     * said is over. */
    bool interrupted;
    bool resumable; /* with this very session */
};
/* `booked`: what was booked for it, if its agent has not reported everything. */
void session_ended(struct engine *e, const struct live_run *run, const struct agent_outcome *said,
                   const struct agent_usage *booked, const struct session_end *end);
/* How often in a row this has been the text of a failure, this time included. */
uint32_t session_same_text(struct engine *e, task_id task, const char *text);
/* How many iterations in a row have left the work tree as it was before them. */
uint32_t session_same_tree(struct engine *e, task_id task, const char *tree);
/* One more run has ended quickly (agents/runaway.c). How many in a row that were, this one included. */
uint32_t session_quick(struct engine *e, task_id task);
void session_not_quick(struct engine *e, task_id task); /* it has not */
void session_drop(struct engine *e, task_id task);      /* the task is final, or is no more */

/* --- session file --------------------------------------------------------------------------------- */

/* Reads the files in which agents keep their sessions, for what the output of a run leaves out.
 *
 * They are the agent's own, below the home directory that the run was launched with, and written by it: only numbers are taken from
 * them, of the end of a regular file, and no link is followed below the home directory. A file that is not there, because the run was
 * on another machine or the sandbox had no such folder, changes nothing. */

/* Feeds what the reader wants. */
void session_files_read(struct engine *e, const struct live_run *run,
                        const struct agent_adapter *adapter, struct agent_reader *reader);

/* --- agent end ------------------------------------------------------------------------------------ */

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

/* --- listen --------------------------------------------------------------------------------------- */

/* Hears what the agents of live runs print.
 *
 * Life of one:  listen_begin (launched, or found alive) → listen_some in each round → listen_end
 *               → listen_said, until its end is committed
 * The logs are read while they grow, never faster than a few times in a second, and never more than a slice
 * in one round of the loop. Nothing is piped through the daemon: after a restart they are read again from
 * their beginning.
 * Who:          runs that were launched by an agent's own command, and whose agent has an adapter that understands
 *               it. What a task brings as its own argv is nobody's output. */

/* NULL: nobody reads what this agent prints (plain). */
const struct agent_adapter *listen_adapter(const struct engine *e, const char *agent);
void listen_begin(struct engine *e, const struct live_run *run,
                  const struct agent_adapter *adapter);

/* The last line that its agent has said, for people; NULL: nobody listens to it, or it has said nothing. */
const char *listen_last_line(const struct engine *e, struct run_key key);

/* True: there is more to read; finish_take_end follows. */
bool listen_end(struct engine *e, struct run_key key, const struct run_end *end);
/* Its last word; NULL: nobody has listened, or it has not ended. Valid until its end is committed. */
const struct agent_outcome *listen_said(const struct engine *e, struct run_key key);

/* --- plausible ------------------------------------------------------------------------------------ */

/* How much one run may book.
 *
 * What a run has used is told by a program that may be wrong, or lie: it prints it, writes it to a file, sends it as telemetry,
 * or calls `sluice report`. It is booked into windows that others share. So a run books at most `report.run_tokens` and
 * `report.run_usd`, and at most what a run can use in the time that it has lived (`report.tokens_per_min` and
 * `report.usd_per_min`, with ten minutes ahead).
 *
 * A claim above that is not booked: what is known of the run stays as it was. Where the run or its task has a budget of its
 * own, as much is booked as uses that up, so that no claim keeps a run within its budget. An alert (`usage:ID`) and an
 * event (`run.usage_refused`) say what was claimed; the owner books the truth (correct.h). */

struct alert;

/* Puts what is booked in the place of what is claimed; -1: nothing. `until`: when it was claimed, or the run has ended. True:
 * something was refused, and `err` says it. Inside a turn. */
bool plausible_bound(struct engine *e, const struct live_run *run, time_ms until,
                     struct agent_usage *claim, struct error *err);

bool plausible_alert_is_over(const struct engine *e, const struct alert *alert);
/* The owner has corrected what this task has booked. */
void plausible_corrected(struct engine *e, task_id task);

/* --- runaway -------------------------------------------------------------------------------------- */

/* Tasks whose runs end quickly, again and again.
 *
 * A command that fails at once, under a policy that starts it again at once, starts hundreds of times in a second. So a run
 * that ends in less than `runaway.quick_s` and is followed by another attempt is counted. The pause before that attempt is
 * at least `runaway.pause_s`, doubled with each quick end in a row up to `runaway.pause_max_s`; after
 * `runaway.alert_after` of them there is an alert (`runaway:ID`). One run that lasts, or succeeds, sets the count to 0.
 *
 * A delay that the owner has set (`retry.*.delay_s`) is kept as it is: then there is only the alert. Launch failures have
 * a guard of their own, the breaker, as long as `breaker.max` is finite. */

struct alert;

/* Counts the end of a run, and tells the core with it how long the next attempt must wait at least. Inside a turn. */
void runaway_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                   struct fact *ended);

bool runaway_alert_is_over(const struct engine *e, const struct alert *alert);

/* --- telemetry ------------------------------------------------------------------------------------ */

/* The variables of a run; `name`: "web-17.2", `adapter`: whose command it is, or NULL. */
void telemetry_variables(const struct engine *e, const struct live_run *run, const char *name,
                         const char *adapter, struct strbuf *out);
/* Its agent has told its own numbers: what was heard under the same names counts no more. */
void telemetry_yield(struct live_run *run, const struct agent_usage *own);
