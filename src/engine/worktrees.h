/* worktrees.h: settings and counts of worktrees. Part of engine.h. */
#pragma once

#include "engine/engine.h"

/* What happens to successful results in that project unless the task sets it: `projects.P.merge`;
 * by default "local" with worktrees, so that nothing is left uncommitted, and "none" without. */
const char *engine_project_merge(const struct config *config, const char *project);
/* Worktrees of finished tasks, kept because their work is nowhere else, or for retention.…_days. */
size_t engine_kept_worktrees(const struct engine *engine);
/* -EINVAL: it has worktree settings (`prepare`, `copy`) without effect, because it makes none. */
int engine_check_worktrees(const struct engine *engine, const char *project, struct error *err);
