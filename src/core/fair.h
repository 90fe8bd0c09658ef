/* fair.h: usage, shares and budgets over a rolling window. Private to core/.
 *
 * Tokens and money of ended runs are kept per project in the window's buckets. A live run is
 * charged the larger of its estimate and its report. Shares count only tokens. Money charges are
 * summed only when a money budget is checked, so projects without one (most) pay nothing. */
#pragma once

#include "core/state.h"

#define WINDOW_BUCKETS 288

/* Adds to the bucket at `at`; project 0 counts in no share. */
void fair_record(struct core *c, uint32_t project, time_ms at, const struct usage_spec *what);

/* Counters wrap: a file may give each project a billion completions. */
#define ADD_COUNT(member)                                                                          \
    (sum->member = (int32_t)((uint32_t)sum->member + (uint32_t)sign * (uint32_t)u->member))

/* sign -1: subtracts. Inline, because each start and each end of a run adds to several sums. */
static inline void bucket_add(struct usage_spec *sum, const struct usage_spec *u, int sign) {
    sum->tokens += sign * u->tokens;
    sum->unreported += sign * u->unreported;
    sum->money += sign * u->money;
    ADD_COUNT(starts);
    ADD_COUNT(completions);
    ADD_COUNT(reports);
    ADD_COUNT(priced);
    ADD_COUNT(unpriced);
}
#undef ADD_COUNT

/* Would the bucket at `at` stay non-negative after adding `less` (negative amounts)? */
bool fair_has(const struct core *c, uint32_t project, time_ms at, const struct usage_spec *less);
void fair_expire(struct core *c); /* drops expired buckets; call when the clock advances */
/* Call when the window's length has changed. */
void fair_rewindow(struct core *c, time_ms old_window);

int64_t fair_charge(const struct core *c, const struct run *r);
void fair_reserve(struct core *c, uint32_t run); /* at the start of the run */
void fair_release(struct core *c, uint32_t run); /* at the end of the run */
void fair_report(struct core *c, uint32_t run, int64_t tokens, int64_t money, int64_t expected);
void fair_set_external(struct core *c, uint32_t project, uint32_t running);
void fair_recharge(struct core *c); /* after a change of mode */

/* Updates W and T after the project's tokens, weight, activity or ready tasks changed. */
void fair_count_project(struct core *c, uint32_t project);
void fair_begin_decision(struct core *c); /* the document mode fixes W and T here */

/* W and T. `equal`: no project has a weight, so each counts the same. */
struct fair_totals {
    int64_t weight, tokens;
    bool equal;
};
static inline struct fair_totals fair_totals(const struct core *c) {
    bool document = c->policy.fair == FAIR_DOCUMENT;
    struct fair_totals totals = { document ? c->document_weight : c->share_weight,
                                  document ? c->document_tokens : c->share_tokens, false };
    if (totals.weight == 0) {
        totals.weight = 1000 * (document ? c->document_count : (int64_t)c->share_count);
        totals.equal = true;
    }
    if (totals.tokens < 1)
        totals.tokens = 1;
    return totals;
}
int fair_compare_weighted(const struct core *c, const struct project *a, const struct project *b,
                          struct winner_bounds *bounds);
/* By deficit: below 0 if a comes before b. Both are counted. Narrows the range of T/W to that in
 * which the result is the same; their own tokens and weights are taken as they are. */
static inline int fair_compare(const struct core *c, const struct project *a,
                               const struct project *b, struct winner_bounds *bounds) {
    if (a->counted_weight != b->counted_weight)
        return fair_compare_weighted(c, a, b, bounds);
    return (a->counted_tokens > b->counted_tokens) - (a->counted_tokens < b->counted_tokens);
}

/* Usage against a budget: tokens, and millionths of a dollar. project 0: all projects. */
int64_t fair_budget_used(const struct core *c, uint32_t project);
int64_t fair_money_used(const struct core *c, uint32_t project);
/* Charged to live and external runs, in millionths of a dollar. project 0: all projects. */
int64_t fair_money_reserved(const struct core *c, uint32_t project);
/* When enough leaves the window that used < budget for both, if nothing else happens. */
time_ms fair_budget_opens(const struct core *c, uint32_t project);
/* When the next bucket leaves: estimates, and so reserved amounts, may change then. */
time_ms fair_next_leaving(const struct core *c);
