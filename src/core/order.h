/* order.h: the outputs of the core.
 *
 * The caller carries out START and STOP. CHANGE reports a task's new state; the daemon stores it in
 * the same transaction as the fact that caused it. The same facts give the same list, byte for
 * byte. */
#pragma once

#include "base/strbuf.h"
#include "core/model.h"

/* clang-format off */
#define ORDER_KINDS(X) \
    X(ORDER_START, "start") /* task is `starting`, its leases are acquired, its attempt is counted */ \
    X(ORDER_STOP, "stop") /* stop the live run; its task changes with FACT_RUN_ENDED */ \
    X(ORDER_CHANGE, "change") /* task went from one state to another */ \
    X(ORDER_GROUP, "group") /* a group closed (to = DONE) or reopened (to = WAITING) */
enum order_kind { ORDER_KINDS(ENUM_VALUE) ORDER_KIND_MAX };
/* clang-format on */

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
};

/* One line, for logs and for comparing lists. Tasks are shown by number. */
void order_print(const struct order *order, const struct symbol_table *symbols, struct strbuf *out);
