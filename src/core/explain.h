/* explain.h: the first closed gate of a task, or of one like it. Private to core/. */
#pragma once

#include "core/state.h"

/* `task` 0: as it stands for any task like `t`, which need not be one of the core's. False: no gate is
 * closed. */
bool explain_first(const struct core *c, uint32_t task, const struct task *t, struct verdict *ret);
