/* action.h: the requests that are possible in each state of a task. Operations check them before they
 * apply a fact, and answers list them, so that no front end has a table of its own. */
#pragma once

#include "core/fact.h"

/* Sets of situations: a state, and of held tasks why they are. */
#define IN_STATE(state_) (1u << TASK_##state_)
#define IN_HOLD(hold_)   (1u << (16 + HOLD_##hold_))

struct task_action {
    const char *name; /* of the operation `task.NAME`; NULL ends the table */
    enum fact_kind fact;
    uint32_t from;         /* it is possible */
    uint32_t offered;      /* it is useful */
    uint32_t already;      /* there is nothing left to do */
    const char *otherwise; /* what to do in any other state */
};

extern const struct task_action task_actions[]; /* by name */

/* The set that has the situation of this task alone. */
uint32_t task_situation(enum task_state state, enum hold hold);
