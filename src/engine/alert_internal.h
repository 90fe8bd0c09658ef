/* alert_internal.h: what people are told once. Private to engine/.
 *
 * An alert has a key that names its cause ("chain:web-3", "account:anthropic"). While the cause is there
 * the alert is open: it is raised once, whatever happens meanwhile and however often the daemon
 * starts, and cleared once. Raised and cleared in the commit of what caused it. */
#pragma once

#include "base/macros.h"
#include "engine/alert.h"
#include "engine/engine_internal.h"

#define ALERTS_MAX 1000u /* open at once; then one more says that there are too many */

struct alert {
    struct engine_alert view; /* its texts are owned */
    uint32_t attempt;         /* of view.task; 0: none */
};

/* Waits at a gate, since when the store says. */
struct waiter {
    task_id task;
    time_ms since;
};

/* Memory or load: it comes and goes, so what is over must have been so for a while. */
struct floor_watch {
    bool low;
    time_ms since; /* it is so; 0: nobody has looked */
};

struct alerts {
    LIST(struct alert) open;
    LIST(task_id) touched; /* changed in this turn, and may be a cause */
    LIST(task_id) heads;   /* by whom it is seen who waits where; while that is looked at */
    size_t asked;          /* of how many of them the store was asked */
    LIST(struct waiter) waiters;
    time_ms look_at;   /* nothing can be stuck before */
    time_ms looked_at; /* the last look for what is stuck */
    bool changed;      /* something has, since the last look */
    bool overdue;      /* the last look found somebody who waits for long */
    bool asking, answered;
    struct floor_watch memory, load;
    time_ms stuck_after; /* alerts.stuck_s: every turn asks; 0: off */
};

static inline struct alerts *alerts_of(const struct engine *e) {
    return e->part[PART_alerts];
}

/* False: it is open already. */
bool alert_raise(struct engine *e, const char *key, task_id task, uint32_t attempt,
                 const char *format, ...) _printf_(5, 6);
void alert_clear(struct engine *e, const char *key);
bool alert_is_open(const struct engine *e, const char *key);

/* --- alert_cause.c --------------------------------------------------------------------------- */

/* What is another since this turn. */
void alerts_see_task(struct engine *e, const struct task_spec *told);
void alerts_see_limiter(struct engine *e, const struct limiter_row *row);
void alerts_see_agent(struct engine *e, const struct agent_row *row);
/* At the end of a turn, before its commit. */
void alerts_turn(struct engine *e);
time_ms alerts_next(const struct engine *e);

/* --- alert_budget.c -------------------------------------------------------------------------- */

/* --- alert_stuck.c --------------------------------------------------------------------------- */
