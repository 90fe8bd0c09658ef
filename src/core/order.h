/* order.h: the outputs of the core.
 *
 * The caller carries out START and STOP. CHANGE reports a task's new state; the daemon stores it in
 * the same transaction as the fact that caused it. The same facts give the same list, byte for
 * byte. */
#pragma once

#include "core/model.h"

enum order_kind {
    ORDER_START,    /* task is `starting`, its leases are acquired, its attempt is counted */
    ORDER_STOP,     /* stop the live run; its task changes with FACT_RUN_ENDED */
    ORDER_CHANGE,   /* task went from one state to another */
    ORDER_ESCALATE, /* after verified failures, task continues with another agent or model */
    ORDER_GROUP,    /* a group closed (to = DONE) or reopened (to = WAITING) */
    ORDER_KIND_MAX,
};

struct order {
    enum order_kind kind;
    task_id task;
    uint32_t attempt;   /* number of the attempt, from 1 */
    uint32_t iteration; /* after the change */
    enum task_state from, to;
    enum hold hold; /* with to = HELD */
    enum reason reason;
    time_ms until; /* with to = HELD: when it ends; 0 = not automatically */
    sym project, agent, limiter, workspace; /* START */
    sym instead_of;        /* START: the task's own agent, which is closed; 0: runs with its own */
    time_ms instead_until; /* with instead_of: when it opens; TIME_NEVER: unknown */
    int32_t score;         /* START */
    task_id lender;        /* START: the task whose slots it uses; or 0 */
    uint32_t group;        /* GROUP */
    /* ESCALATE: from 1; `agent` is the new one, `instead_of` the last one, `reason` that of the last
     * failure. */
    uint32_t step;
    uint32_t failures; /* ESCALATE: since the step before */
};
