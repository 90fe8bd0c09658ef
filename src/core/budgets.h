/* budgets.h: usage of the budgets of the window. Part of the interface of core.h. */
#pragma once

#include "core/core.h"

/* What counts against a budget, in the window: tokens and millionths of a dollar. */
struct budget_view {
    int64_t used;     /* by ended runs that reported */
    int64_t live;     /* reported by live runs so far */
    int64_t reserved; /* charged to live and external runs, including their reports */
    amount budget;    /* UNLIMITED: none */
};
struct budgets_view {
    struct budget_view tokens, money;
    uint32_t priced, unpriced; /* ended runs that reported their cost, and that did not */
    bool counts_reserved;      /* the gate looks at used + reserved, else at used */
    bool open;
    time_ms span;     /* of the window */
    time_ms opens_at; /* when closed; TIME_NEVER: unknown */
};
/* project 0: of all. False: no such project. */
bool core_budgets(const struct core *core, sym project, struct budgets_view *ret);
/* Have reports of ended and live runs reached a budget, without estimates? Costs nothing without a
 * budget. project 0: of all. */
bool core_budget_is_reached(const struct core *core, sym project);
