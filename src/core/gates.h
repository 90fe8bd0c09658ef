/* gates.h: what stops a start, except leases. Private to core/.
 *
 * Decisions and explanations call the same functions, so the displayed reason is the actual one. */
#pragma once

#include "core/core.h"
#include "core/state.h"

bool gate_host_open(const struct core *c);
/* One floor of it, with the current and the required amount. */
bool gate_floor_open(const struct core *c, enum host_floor floor, amount *ret_is,
                     amount *ret_wanted);
/* Tokens and money; project 0: the global budgets. */
bool gate_budget_open(const struct core *c, uint32_t project);
bool gate_tokens_open(const struct core *c, uint32_t project); /* tokens alone */
bool gate_agent_open(const struct core *c, uint32_t agent);    /* its breaker and its hours */
static inline bool gate_project_open(const struct project *p) {
    return p->spec.active && !p->spec.paused;
}
static inline bool gate_hours_open(const struct core *c, time_ms hours_until) {
    return c->now >= hours_until;
}
/* All gates before the leases that do not depend on one task. */
bool gates_before_leases(const struct core *c, uint32_t project, uint32_t limiter);

/* Pace: in force only while `runs` is finite. */
bool pace_open(const struct core *c);
bool pace_in_force(const struct core *c);
time_ms pace_opens_at(const struct core *c);
void pace_begin_decision(struct core *c);
/* Undoes a tick requested by FACT_TICK that started nothing; else it would start a run later. */
void pace_end_decision(struct core *c);
void pace_count_start(struct core *c);

/* --- limiters: provider accounts ------------------------------------------------------------- */

/* When its backoff and its reserve are over; TIME_NEVER: when it is cleared. */
static inline time_ms limiter_usable_at(const struct limiter *l) {
    return l->spec.closed ? TIME_NEVER : time_max(l->spec.backoff_until, l->reserved_until);
}
static inline time_ms limiter_opens_at(const struct limiter *l) {
    return time_max(limiter_usable_at(l), l->spec.hours_until);
}
static inline bool limiter_open(const struct core *c, uint32_t limiter) {
    return c->now >= limiter_opens_at(&c->limiters[limiter]);
}
static inline time_ms agent_opens_at(const struct agent *a) {
    return time_max(a->spec.closed_until, a->spec.hours_until);
}

/* A report of its provider. False: late, or nothing new. */
bool limiter_set_quota(struct core *c, uint32_t limiter, enum quota_window window,
                       struct quota quota, bool corrects);
/* No more than the reserve of this window is left. */
bool limiter_is_reserved(const struct core *c, const struct limiter *l, enum quota_window window);
/* The window because of which the rest is reserved; QUOTA_WINDOW_MAX: none. */
enum quota_window limiter_reserved_window(const struct core *c, const struct limiter *l);
/* Call after a change of its policy or quota. */
void limiter_refresh_reserve(struct core *c, uint32_t limiter);

void limiter_hit(struct core *c, uint32_t limiter, time_ms run_started, time_ms retry_after,
                 time_ms reset_at);
void limiter_success(struct core *c, uint32_t limiter, time_ms run_started);
void limiter_close(struct core *c, uint32_t limiter); /* until a person clears it */
void limiter_clear(struct core *c, uint32_t limiter);

/* Hit and not cleared since: one run goes first. */
bool limiter_probing(const struct limiter *l);
/* Sets the cap that holds now (probe, ramp, full). */
void limiter_refresh(struct core *c, uint32_t limiter);
/* When that cap rises next; TIME_NEVER: only after an event. */
time_ms limiter_rises_at(const struct core *c, uint32_t limiter);

/* --- failover: the agent and account that a task would run with now -------------------------- */

/* Indexes, as in struct run. */
struct runner {
    uint32_t agent, limiter;
};

/* Is an agent of its list open now, regardless of slots? */
bool failover_is_covered(const struct core *c, uint32_t agent);
/* TIME_NEVER: unknown. A time not after now: it is open. */
time_ms failover_opens_at(const struct core *c, uint32_t agent);
/* When the first of its list opens; TIME_NEVER: unknown, or the list is empty. */
time_ms failover_others_open_at(const struct core *c, uint32_t agent);
/* The agent itself unless it is closed; then the first of its list that is open and has a slot for
 * this task (0: for any other); else the first that is open; else itself. */
struct runner failover_pick(const struct core *c, uint32_t agent, uint32_t task);

/* The agent whose failover list applies, or 0. */
static inline uint32_t failover_chooser(const struct core *c, uint32_t agent, bool bound) {
    return !bound && c->agents[agent].spec.failover_count > 0 ? agent : 0;
}
static inline bool failover_is_bound(const struct task *t) {
    return t->flags & (TASK_BOUND | TASK_OWN_LIMITER);
}
/* handle 0: for any task like `t`. */
static inline struct runner failover_runner(const struct core *c, uint32_t handle,
                                            const struct task *t) {
    if (!failover_chooser(c, t->agent, failover_is_bound(t)))
        return (struct runner){ t->agent, t->limiter };
    return failover_pick(c, t->agent, handle);
}
