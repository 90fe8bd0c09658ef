/* budget_internal.h: what happens when a budget is used up. Private to engine/.
 *
 * A run that exceeds its limit or its task's continues to its end, or is stopped (on_budget). Then
 * its task, unless done, is held without a time until the budget is raised. With
 * `budget_stops_runs`, window budgets stop live runs too; their tasks wait at the gate, and no
 * attempt is counted. The stop is stored in the same commit, so after a crash it is sent again and
 * the end is classified correctly.
 *
 * Call inside a turn, except for the queries. */
#pragma once

#include "agent/agent.h"
#include "engine/allowance.h"
#include "engine/engine_internal.h"

/* An amount that was not reported (-1) as 0. */
static inline int64_t known_amount(int64_t reported) {
    return reported > 0 ? reported : 0;
}
/* Tokens reported by the run; -1: none. */
int64_t run_tokens(const struct live_run *run);
/* Maximum of tokens or millionths of a dollar that one run may report. It keeps sums within what a
 * store can hold: an overflow would block the ends of all runs. */
#define USAGE_MOST INT64_C(1000000000000000)
/* Reports are cumulative: a smaller number is an old message. */
int64_t usage_larger(int64_t before, int64_t reported);

/* A live run has reported usage. */
void budget_reported(struct engine *e, struct live_run *run);
/* The attempt was asked to stop and has not ended since. */
bool budget_is_stopping(const struct engine *e, const struct live_run *run);
/* Which budget it was; "": unknown. */
void budget_explain_stop(const struct engine *e, const struct live_run *run, struct strbuf *out);
/* After the end was applied. `result`: NULL without an agent. */
void budget_ended(struct engine *e, const struct live_run *run, enum outcome outcome,
                  const struct agent_outcome *result);

/* What runs of a project with this agent and model cost, learned since the daemon began. A live run
 * of an expensive model reserves more of the budgets than the mean of its project. `model`: that
 * the run was given; "": the usual one of its agent. */
struct run_cost {
    const char *project, *agent, *model;
    struct agent_usage used; /* cost -1: unknown */
};
void costs_learn(struct engine *e, const struct run_cost *run);
/* In millionths of a dollar; 0: unknown. */
int64_t costs_expected(const struct engine *e, const struct run_cost *run);

/* The limits or the usage changed: hold or release the task. */
void budget_check(struct engine *e, task_id task);

struct budget_view;
/* By reported usage; an estimate stops no run. */
bool budget_is_reached(const struct budget_view *v);

/* The smaller of the limit per run and the rest of its task, in millionths; or ALLOWANCE_NONE. */
int64_t budget_for_run(const struct engine *e, task_id task);

/* --- allowances ------------------------------------------------------------------------------- */

/* One per task that has a budget of its own, has used something, or has granted something. */
struct allowance {
    task_id task;                           /* first: task_id_compare */
    struct engine_amounts limit, run_limit; /* ALLOWANCE_NONE: as configured */
    struct engine_amounts used, last, handed;
    struct engine_amounts granted; /* by its parent; ALLOWANCE_NONE: no grant */
    struct engine_amounts back;    /* how much of the grant was returned */
    struct engine_amounts lent;    /* ALLOWANCE_NONE: nothing */
    uint32_t unknown;
    int32_t on_budget;
    bool is_over;
    bool by_agent;     /* with is_over: reported by the agent itself */
    uint32_t stopping; /* the attempt that was asked to stop for a budget; 0: none */
    bool by_window;    /* with stopping: for the budget of a window */
};

struct allowance *allowance_find(const struct engine *e, task_id task); /* or NULL */
struct allowance *allowance_get(struct engine *e, task_id task);        /* created if needed */
void allowance_write(struct engine *e, const struct allowance *a);
/* Its own limit, or that of its project. UNLIMITED: no limit. */
struct engine_amounts allowance_limit(const struct engine *e, task_id task);
struct engine_amounts allowance_run_limit(const struct engine *e, task_id task);

/* The task became final or was reopened: the rest of its grant goes to its parent, or back. */
void allowance_state_changed(struct engine *e, task_id task, enum task_state state);
