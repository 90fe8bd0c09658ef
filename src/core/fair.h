/* fair.h: usage, shares and budgets over a rolling window. Private to core/.
 *
 * Tokens and money of ended runs are kept per project in the buckets of the window; a live run is
 * charged its estimate, or what it reported if that is more. Shares count tokens only. Charges in
 * money are added up when a budget of money is checked: most projects have none, and it costs them
 * nothing. */
#pragma once

#include "core/state.h"

#define WINDOW_BUCKETS 288

/* Adds to the bucket of that time; project 0 counts in no share. */
void fair_record(struct core *c, uint32_t project, time_ms at, const struct bucket *what);
/* Would the bucket of that time stay non-negative if `less` (with negative amounts) were added? */
bool fair_has(const struct core *c, uint32_t project, time_ms at, const struct usage_spec *less);
time_ms fair_bucket_begin(const struct core *c, int64_t number);
void fair_expire(struct core *c); /* drops buckets that are too old; when the clock advances */
/* The window's length changed. */
void fair_rewindow(struct core *c, time_ms old_window);

int64_t fair_charge(const struct core *c, const struct run *r);
void fair_reserve(struct core *c, uint32_t run); /* the run begins */
void fair_release(struct core *c, uint32_t run); /* the run is over */
void fair_report(struct core *c, uint32_t run, int64_t tokens, int64_t money);
void fair_set_external(struct core *c, uint32_t project, uint32_t running);
void fair_recharge(struct core *c); /* the mode changed */

/* Updates W and T after the project's tokens, weight, activity or ready tasks changed. */
void fair_count_project(struct core *c, uint32_t project);
void fair_begin_decision(struct core *c); /* the document mode fixes W and T here */
bool fair_project_before(const struct core *c, uint32_t a, uint32_t b, bool *ret_equal);
void fair_set_deficit(struct core *c, struct project *p);

/* What counts against a budget: tokens, and millionths of a dollar. project 0: of all. */
int64_t fair_budget_used(const struct core *c, uint32_t project);
int64_t fair_money_used(const struct core *c, uint32_t project);
/* Charged to live and external runs, in millionths of a dollar. project 0: to all. */
int64_t fair_money_reserved(const struct core *c, uint32_t project);
/* When enough has left the window that used < budget in both, if nothing else happens. */
time_ms fair_budget_opens(const struct core *c, uint32_t project);
/* When the next bucket leaves: estimates, and so the reserved amounts, may change then. */
time_ms fair_next_leaving(const struct core *c);
