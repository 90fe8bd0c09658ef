/* worktrees.h: can a project have worktrees as its settings say? Part of engine.h, which see. */
#pragma once

#include "engine/engine.h"

/* -EINVAL: it has settings of worktrees (`prepare`, `copy`) and makes none, so they would have no effect. */
int engine_check_worktrees(const struct engine *engine, const char *project, struct error *err);
