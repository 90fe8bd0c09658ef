/* workspace.h: where a run works, and what becomes of its work. Private to engine/.
 *
 * Three ways, as the project's configuration says:
 *   pool       a list of paths; a run has one of them to itself until its end
 *   worktree   a git worktree for each task, HOME/worktrees/ID on the branch sluice/ID; it stays with the task
 *   none       the folder of the task or of its project
 *
 *   workspace.c       who is where; the hooks of launch and finish
 *   workspace_pool.c  which path of a pool
 *   workspace_claim.c other homes
 *   workspace_look.c  what people are told of it
 *   job.c             a row of asides: what they have in common; job_git.c how they run git
 *   worktree_make.c   a worktree before its run
 *   worktree_end.c    after the run: work is saved, committed, handed over
 *   merge.c           merge: direct
 *   worktree_clean.c  worktrees that nobody needs any more
 *
 * What was decided is on disk before it is begun (worktree.h), and every job looks at what is there
 * before it does anything: after a crash the end of the run, or its loss, is told again, and the same job
 * begins again. */
#pragma once

#include <jansson.h>

#include "engine/engine_internal.h"

/* --- before the launch ------------------------------------------------------------------------ */

/* 0: it may be launched. 1: later, the launch is ordered again. <0: it cannot. `title`: for commits. */
int workspace_prepare(struct engine *e, struct live_run *run, const json_t *spec, const char *title,
                      struct error *err);
/* The folder of the run; `cwd`: what its task says, or NULL. False: not in a workspace. */
bool workspace_folder(const struct engine *e, const struct live_run *run, const char *cwd,
                      struct strbuf *out);
/* Its path for SLUICE_WORKSPACE, or NULL; and of a worktree its branches for SLUICE_BRANCH and
 * SLUICE_BASE. */
const char *workspace_path(const struct engine *e, task_id task, const char **ret_branch,
                           const char **ret_base);

/* --- after the end ---------------------------------------------------------------------------- */

/* True: the end is withheld; finish_note_outcome follows. */
bool workspace_finish(struct engine *e, struct run_key run, const struct run_end *end);
/* The path of a pool that the run has worked in, and that its task shall wish for; 0: in none, or it does. */
sym pool_left_in(const struct engine *e, const struct live_run *run);
/* Its end was told: the path is free. */
void workspace_release(struct engine *e, task_id task);
/* It shall stop: what is done with its work is given up, if it can be. */
void workspace_stop(struct engine *e, task_id task);

/* --- after a commit --------------------------------------------------------------------------- */

/* The disk is short: of finished tasks, what can go without a loss goes. Not at every call. */
void workspaces_make_room(struct engine *e);
/* Of finished tasks, what goes after retention.merged_days and retention.worktree_days. Not at every call. */
void workspaces_expire(struct engine *e);
void workspace_task_final(struct engine *e, task_id task);
void workspace_forget(struct engine *e, const char *id); /* the task is no more */
