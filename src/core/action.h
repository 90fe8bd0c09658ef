/* action.h: the requests that are possible in each state of a task. Operations check them before
 * they apply a fact, and responses list them, so no front end needs its own table. */
#pragma once

#include "core/fact.h"

/* Bit sets of situations: a task state and, for held tasks, the kind of hold. */
#define IN_STATE(state_) (1u << TASK_##state_)
#define IN_HOLD(hold_)   (1u << (16 + HOLD_##hold_))

struct task_action {
    const char *name; /* of the operation `task.NAME`; NULL ends the table */
    enum fact_kind fact;
    uint32_t from;         /* situations in which it is possible */
    uint32_t offered;      /* situations in which it is useful */
    uint32_t already;      /* situations in which it has no effect left */
    const char *otherwise; /* advice for all other situations */
};

extern const struct task_action task_actions[]; /* sorted by name */

uint32_t task_situation(enum task_state state, enum hold hold);
