/* runs.h: what is known of runs, and corrections of what they reported. */
#pragma once

#include "engine/engine.h"

/* --- live runs -------------------------------------------------------------------------------- */

/* Details of a live run beyond engine_run. */

struct engine_live_details {
    const char *agent; /* NULL: none */
    uint32_t iteration;
    int64_t tokens_cached, cost_micro_usd; /* -1: not reported */
};
/* False: the task has no live run. */
bool engine_live_details(const struct engine *engine, task_id task,
                         struct engine_live_details *ret);

/* The last line that its run printed; false: none yet. Of an agent whose events are read anyway
 * (agents/listen.c) that of its transcript, otherwise from the last few kilobytes of the file. */
bool engine_last_line(const struct engine *engine, task_id task, struct strbuf *out);

/* The last line of a run that has ended: of its errors, else of its output. False: none. */
bool engine_ended_line(const struct engine *engine, task_id task, uint32_t attempt,
                       struct strbuf *out);

/* The adapter (agent/agent.h) of the run's command: it determines how standard output is shown.
 * NULL: a plain command, or no longer known. */
const char *engine_run_adapter(const struct engine *engine, task_id task, uint32_t attempt);

/* The path of the file with the order of its output and errors (rundir/rundir.h). */
void engine_run_order(const struct engine *engine, task_id task, uint32_t attempt,
                      struct strbuf *out);

/* --- agents in one folder --------------------------------------------------------------------- */

/* Detects agents that work in the same folder at the same time. */

/* The folder that a task of an agent may share with others; NULL: it has its own (a worktree, a
 * pool), or no agent. `cwd`: of the task, or NULL. Borrowed. */
const char *engine_task_folder(const struct engine *e, const char *project, const char *agent,
                               const char *cwd);
/* A task whose agent works in this folder now; 0: none. */
task_id engine_agent_in_folder(const struct engine *e, const char *folder);

#define SHARED_FOLDER_FIX                                                                          \
    "use worktrees (projects.P.workspace_mode=worktree), or let them take turns "                  \
    "(tasks.share_folder=false)"
/* Names agents that share a folder: that of `task` and another, or with 0 any two. False: none. */
bool engine_shared_folder(const struct engine *e, task_id task, struct strbuf *out);

/* --- corrections ------------------------------------------------------------------------------ */

/* The owner corrects the usage of a run.
 *
 * Reports of agents and runs may be wrong. A correction replaces what an ended run has booked, in
 * one commit: in its row, its task's usage, the windows of its project and the global ones, and the
 * sums by day and agent. The counters of /metrics only rise, so they stay. */

struct run_row;

struct engine_correction {
    int64_t tokens_in, tokens_out; /* both -1: unchanged */
    int64_t cost_micro_usd;        /* -1: unchanged */
    const char *by;                /* who corrects it */
};

/* Inside a turn, before its decision. `row`: an ended run, as stored. -EBUSY: it has not ended;
 * -ENOENT: its task is unknown. */
int engine_correct_run(struct engine *engine, const struct run_row *row,
                       const struct engine_correction *correction, struct error *err);
