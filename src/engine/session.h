/* session.h: what is remembered of a task's agent from one attempt to the next. Private to engine/.
 *
 * The session that can be gone on with, what it had used so far, the last text of a failure, what was not permitted
 * to it, and how many runs in a row have ended quickly. One note in
 * the store for each task that has any, written in the commit that holds the end of the run: neither of them
 * without the other. It goes when the task is final. */
#pragma once

#include "agent/agent.h"
#include "engine/engine_internal.h"

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
/* One more run has ended quickly (runaway.h). How many in a row that were, this one included. */
uint32_t session_quick(struct engine *e, task_id task);
void session_not_quick(struct engine *e, task_id task); /* it has not */
void session_drop(struct engine *e, task_id task);      /* the task is final, or is no more */
