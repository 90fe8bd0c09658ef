/* shared_folder.h: detects agents that work in the same folder at the same time. */
#pragma once

#include "engine/engine.h"

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
