/* allowance.h: what a task may use, what it has used, and how much of it it has handed to its children.
 *
 * In tokens and in millionths of a dollar; ALLOWANCE_NONE is "nothing was said", UNLIMITED "as much as it
 * likes". What a task does not say its project says (projects.P.task_tokens and its neighbours).
 *
 * Children:  what a child gets is taken from its parent in the same commit, so that no tree has more than its
 *            top was given. When the child is final, what is left of it goes back; if it is taken up again, it
 *            takes it again, as far as it is still there.
 * A task that a person has added, without a budget, has what `capability.tokens` and `.usd` lend it: to hand
 * out, not for its own runs.
 * What follows when a budget is used up: budget.h.
 *
 * Kept as notes of the store, one for each task that has any, written in the same commit as what changes them;
 * inside a turn. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/model.h"

struct engine;
struct note_row;
struct strbuf;

#define ALLOWANCE_NONE INT64_C(-1)

struct engine_amounts {
    int64_t tokens, usd; /* millionths of a dollar */
};

enum engine_on_budget { ON_BUDGET_AS_CONFIGURED = -1, ON_BUDGET_HOLD, ON_BUDGET_STOP };

/* What somebody says of a task. ALLOWANCE_NONE: nothing, it stays as it was. */
struct engine_limits {
    struct engine_amounts task, run;
    enum engine_on_budget on_budget;
};
#define ENGINE_LIMITS_NONE                                                                         \
    ((struct engine_limits){ .task = { ALLOWANCE_NONE, ALLOWANCE_NONE },                           \
                             .run = { ALLOWANCE_NONE, ALLOWANCE_NONE },                            \
                             .on_budget = ON_BUDGET_AS_CONFIGURED })

/* Before the turn's decision: a task that may go on now is released, one that may not is held. */
void engine_set_limits(struct engine *engine, task_id task, const struct engine_limits *limits);

struct engine_budget {
    struct engine_amounts limit, run_limit; /* UNLIMITED: none */
    struct engine_amounts used;             /* by its ended runs */
    struct engine_amounts live;   /* by its live run so far; ALLOWANCE_NONE: nothing told */
    struct engine_amounts last;   /* by its last ended run; ALLOWANCE_NONE: not told */
    struct engine_amounts handed; /* to its children */
    uint32_t unknown;             /* ended runs whose cost nobody knows */
    bool stops;                   /* a run that passes is stopped */
    bool is_over;                 /* its last run has passed what one run may use */
};
void engine_budget(const struct engine *engine, task_id task, struct engine_budget *ret);

/* Of a task that is held for its own budget: which, and what lets it go on. False: it is not. */
bool engine_budget_why(const struct engine *engine, task_id task, struct strbuf *out);

/* --- children -------------------------------------------------------------------------------- */

/* What it may still hand out; ALLOWANCE_NONE: as much as it likes. */
struct engine_amounts engine_left(const struct engine *engine, task_id task);
/* Of a task that a person has added, on the first time. ALLOWANCE_NONE: nothing of that kind. */
void engine_lend(struct engine *engine, task_id task, struct engine_amounts amounts);
/* From the parent to the child that was just added, where the parent's are counted. */
void engine_hand(struct engine *engine, task_id parent, task_id child,
                 struct engine_amounts amounts);

/* --- inside the engine ----------------------------------------------------------------------- */

/* One for each task that has a budget of its own, has used something, or has handed something on. */
struct allowance {
    task_id task;
    struct engine_amounts limit, run_limit; /* ALLOWANCE_NONE: as configured */
    struct engine_amounts used, last, handed;
    struct engine_amounts granted; /* by its parent; ALLOWANCE_NONE: it was not */
    struct engine_amounts back;    /* of that, what has gone back */
    struct engine_amounts lent;    /* ALLOWANCE_NONE: nothing */
    uint32_t unknown;
    int32_t on_budget;
    bool is_over;
    bool by_agent;     /* with is_over: the agent has said so itself */
    uint32_t stopping; /* the attempt that was told to stop for a budget; 0: none */
    bool by_window;    /* with stopping: for that of a window */
};

struct allowance *allowance_find(const struct engine *e, task_id task); /* or NULL */
struct allowance *allowance_get(struct engine *e, task_id task);        /* made if needed */
void allowance_write(struct engine *e, const struct allowance *a);
/* Its own, or as its project says. UNLIMITED: none. */
struct engine_amounts allowance_limit(const struct engine *e, task_id task);
struct engine_amounts allowance_run_limit(const struct engine *e, task_id task);

void allowance_forget(struct engine *e, task_id task);
/* It has become final, or has been taken up again: its rest goes to its parent, or comes back. */
void allowance_see_state(struct engine *e, task_id task, enum task_state state);
