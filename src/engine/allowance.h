/* allowance.h: what a task may use, what it has used, and what it has granted to its children.
 *
 * In tokens and in millionths of a dollar. ALLOWANCE_NONE means not set, UNLIMITED no limit. A task
 * without limits of its own has those of its project (projects.P.task_tokens etc.).
 *
 * A grant to a child is deducted from its parent in the same commit, so no tree exceeds what its
 * root was given. When the child is final, the rest goes back; if the child is reopened, it takes
 * the rest again as far as it is still there. A task without a budget that a person added is lent
 * `capability.tokens` and `.usd`, to grant to children and not for its own runs. For what happens
 * when a budget is used up, see budget/budget_internal.h.
 *
 * Stored as one note per task that has any, in the same commit as the change. Call inside a
 * turn. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/model.h"

struct engine;
struct strbuf;

#define ALLOWANCE_NONE INT64_C(-1)

struct engine_amounts {
    int64_t tokens, usd; /* millionths of a dollar */
};

enum engine_on_budget { ON_BUDGET_AS_CONFIGURED = -1, ON_BUDGET_HOLD, ON_BUDGET_STOP };

/* A change of a task's limits. ALLOWANCE_NONE: unchanged. */
struct engine_limits {
    struct engine_amounts task, run;
    enum engine_on_budget on_budget;
};
#define ENGINE_LIMITS_NONE                                                                         \
    ((struct engine_limits){ .task = { ALLOWANCE_NONE, ALLOWANCE_NONE },                           \
                             .run = { ALLOWANCE_NONE, ALLOWANCE_NONE },                            \
                             .on_budget = ON_BUDGET_AS_CONFIGURED })

/* Before the turn's decision: releases a task that may continue now, holds one that may not. */
void engine_set_limits(struct engine *engine, task_id task, const struct engine_limits *limits);

struct engine_budget {
    struct engine_amounts limit, run_limit; /* UNLIMITED: no limit */
    struct engine_amounts used;             /* by its ended runs */
    struct engine_amounts live;   /* by its live run so far; ALLOWANCE_NONE: not reported */
    struct engine_amounts last;   /* by its last ended run; ALLOWANCE_NONE: not reported */
    struct engine_amounts handed; /* granted to its children */
    uint32_t unknown;             /* ended runs of unknown cost */
    bool stops;                   /* a run that exceeds a limit is stopped */
    bool is_over;                 /* its last run exceeded the limit per run */
};
void engine_budget(const struct engine *engine, task_id task, struct engine_budget *ret);
/* In millionths of a dollar, by its runs, the live one included; ALLOWANCE_NONE: none has reported
 * any. Lists show it for every task, so it reads no limits. */
int64_t engine_spent_usd(const struct engine *engine, task_id task);

/* Which budget holds the task, and how to continue. False: not held for its own budget. */
bool engine_explain_budget_hold(const struct engine *engine, task_id task, struct strbuf *out);

/* --- children -------------------------------------------------------------------------------- */

/* What it may still grant; ALLOWANCE_NONE: unlimited. */
struct engine_amounts engine_budget_left(const struct engine *engine, task_id task);
/* For a task that a person added; only the first call counts. ALLOWANCE_NONE: nothing lent. */
void engine_lend_budget(struct engine *engine, task_id task, struct engine_amounts amounts);
/* From the parent to the child that was just added, where the parent's amount is limited. */
void engine_grant_budget(struct engine *engine, task_id parent, task_id child,
                         struct engine_amounts amounts);
