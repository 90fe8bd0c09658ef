/* order.h: the outputs of the core.
 *
 * START and STOP are to be carried out. CHANGE says that a task's state changed: the daemon stores
 * it in the same transaction as the fact that caused it. The same facts give the same list, byte
 * for byte. */
#pragma once

#include "base/strbuf.h"
#include "core/model.h"

enum order_kind {
    ORDER_START,  /* task is `starting`, its leases are taken, its attempt is counted */
    ORDER_STOP,   /* stop the live run; its task changes with FACT_RUN_ENDED */
    ORDER_CHANGE, /* task went from one state to another */
    ORDER_GROUP,  /* a group closed (to = DONE) or was opened again (to = WAITING) */
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
    time_ms until;                          /* with to = HELD: leaves then; 0 = not by itself */
    sym project, agent, limiter, workspace; /* START */
    sym instead_of; /* START: the closed agent of the task (failover.h); 0: it runs with its own */
    time_ms instead_until; /* with instead_of: when it opens; TIME_NEVER: unknown */
    int32_t score;         /* START */
    task_id lender;        /* START: the task whose slots it uses; or 0 */
    uint32_t group;        /* GROUP */
};

/* One line of text, for logs and for comparing two lists. Tasks are shown by number. */
void order_print(const struct order *order, const struct symbol_table *symbols, struct strbuf *out);
