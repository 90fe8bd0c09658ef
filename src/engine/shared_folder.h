/* shared_folder.h: do agents work in the same folder at the same time? */
#pragma once

#include "engine/engine.h"

/* The folder that a task of an agent may share with others; NULL: it has one of its own (a worktree, a pool), or no agent.
 * `cwd`: what the task says, or NULL. Borrowed. */
const char *engine_task_folder(const struct engine *e, const char *project, const char *agent,
                               const char *cwd);
/* A task whose agent is at work in this folder now; 0: none. */
task_id engine_agent_in_folder(const struct engine *e, const char *folder);

/* What keeps them apart. */
#define SHARED_FOLDER_FIX                                                                          \
    "use worktrees (projects.P.workspace_mode=worktree), or let them take turns "                  \
    "(tasks.share_folder=false)"
/* Says which agents are at work in one folder: that of `task` and another, or with 0 any two. false: none. */
bool engine_shared_folder(const struct engine *e, task_id task, struct strbuf *out);
