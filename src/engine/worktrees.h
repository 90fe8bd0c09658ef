/* worktrees.h: can a project have worktrees as its settings say? Part of engine.h, which see. */
#pragma once

#include "engine/engine.h"

/* What is done with good work in that project when its task says nothing else: `projects.P.merge`; with worktrees and
 * without that setting "local", so that nothing is left uncommitted, and "none" without worktrees. */
const char *engine_project_merge(const struct config *config, const char *project);
/* Worktrees of finished tasks that are kept, because their work is in no other place or for retention.…_days. */
size_t engine_kept_worktrees(const struct engine *engine);
/* -EINVAL: it has settings of worktrees (`prepare`, `copy`) and makes none, so they would have no effect. */
int engine_check_worktrees(const struct engine *engine, const char *project, struct error *err);
