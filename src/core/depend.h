/* depend.h: who waits for whom. Private to core/. */
#pragma once

#include "core/state.h"

/* Replaces what the task depends on. Tasks that are not there are named as absent. */
void depend_set(struct core *c, uint32_t task, const task_id *on, size_t count);
/* Drops the dependencies that do not exist. True: there were some. */
bool depend_drop_absent(struct core *c, uint32_t task);
/* The task goes away. What was met by it stays met; what was not goes on waiting for its number. */
void depend_forget(struct core *c, uint32_t task);
/* One task changed its state: counts for those that depend on it. */
void depend_changed(struct core *c, uint32_t task, enum task_state from, enum task_state to);

/* Would this task then wait for itself, through dependencies and through parents that must be done? */
bool depend_would_cycle(struct core *c, uint32_t task, const task_id *on, size_t count,
                        task_id parent);
/* Has one of its dependencies ended otherwise than done? */
bool depend_has_failed(const struct core *c, uint32_t task);
/* The first dependency, as it was given, that is not done; 0 when all are. */
uint32_t depend_first_unmet(const struct core *c, uint32_t task);
bool depend_needed_by_unfinished(const struct core *c, uint32_t task);
