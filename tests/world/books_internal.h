/* books_internal.h: what the files of the books share. */
#pragma once

#include "books.h"

#define HELD_KEYS_MAX 24

/* books.c */
struct row *books_named(struct books *b, task_id id); /* made if it is not there */
void books_touch(struct books *b, task_id id);
void books_set_state(struct books *b, struct row *row, enum task_state state);
void books_leave_places(struct books *b, const struct row *row); /* around every change of … */
void books_take_places(struct books *b, const struct row *row);  /* … what a row holds */
size_t books_held(const struct books *b, const struct row *row, uint16_t ret[HELD_KEYS_MAX]);
uint8_t books_kept_needed(const struct books *b, const struct row *row);
bool books_launches_spent(const struct books *b, const struct row *row);
bool books_prerequisites(const struct books *b, const struct row *row);
unsigned books_limiter_of(const struct books *b, const struct row *row);
uint32_t books_depth(const struct books *b, const struct row *row);
bool books_keeps_parent_draining(const struct books *b, const struct row *parent);

/* books_world.c, books_task.c, books_run.c: one group of facts each */
void books_applied_world(struct books *b, const struct fact *fact);
void books_applied_task(struct books *b, const struct fact *fact);
void books_applied_run(struct books *b, const struct fact *fact);

/* books_share.c */
void share_clock(struct books *b);
void share_record(struct books *b, unsigned project, time_ms at, const struct bucket *what);
int64_t share_estimate(const struct books *b, unsigned project);
int64_t share_charge(const struct books *b, const struct row *row);
int64_t share_reserved(const struct books *b, unsigned project);
void share_start(struct books *b, struct row *row);
void share_refused(struct books *b, struct row *row);
void share_end(struct books *b, struct row *row, const struct fact *fact);
int64_t share_budget_used(const struct books *b, unsigned project); /* 0: of all */
int64_t share_money_reserved(const struct books *b, unsigned project);
int64_t share_money_used(const struct books *b, unsigned project); /* 0: of all */
__int128 share_deficit(const struct books *b, unsigned project);
void share_begin_decision(struct books *b);

/* books_limiter.c */
void limiter_applied(struct books *b, const struct limiter_spec *spec);
void limiter_cleared(struct books *b, unsigned limiter);
void agent_cleared(struct books *b, unsigned agent);
void limiter_was_hit(struct books *b, unsigned limiter, time_ms run_started, time_ms retry_after,
                     time_ms reset_at);
void limiter_succeeded(struct books *b, unsigned limiter, time_ms run_started);
bool limiter_is_open(const struct books *b, unsigned limiter); /* but for its hours */
void limiter_was_used(struct books *b, const struct fact *fact);
amount limiter_cap(const struct books *b, unsigned limiter); /* the most the rules allow now */

/* books_gate.c */
bool gate_project(const struct books *b, unsigned project);
bool gate_host(const struct books *b);
bool gate_budget(const struct books *b, unsigned project); /* 0: of all */
bool gate_agent(const struct books *b, unsigned agent);    /* its launches */
/* Inside the hours of an agent and a limiter? 0: none. */
bool gate_hours(const struct books *b, unsigned agent, unsigned limiter);
bool gate_pace(const struct books *b);
time_ms books_waited(const struct books *b, const struct row *row);
time_ms books_wait_clock(const struct books *b, const struct row *row); /* by which it waits */
bool books_overdue(const struct books *b, const struct row *row);
bool books_anyone_overdue(const struct books *b);
int32_t books_score(const struct books *b, const struct row *row);
/* Places a task would take with this agent and limiter. */
size_t books_needs(const struct books *b, const struct row *row, unsigned agent, unsigned limiter,
                   uint16_t ret[HELD_KEYS_MAX]);
bool books_has_place(const struct books *b, const struct row *row, unsigned key);
/* The first closed gate, GATE_MAX: none. *ret_key: with GATE_LEASE. */
enum gate books_closed_gate(const struct books *b, const struct row *row, unsigned agent,
                            unsigned *ret_key);
/* Is a before b in the order of rules.md §3? */
bool books_before(const struct books *b, const struct row *one, const struct row *other);

/* books_escalate.c */
void books_not_accepted(const struct books *b, struct row *row); /* a verified failure */
void books_own_agent_again(struct row *row);
void books_ordered_step(struct books *b, struct row *row, const struct order *order);

/* books_failover.c */
unsigned books_chooser(const struct books *b, const struct row *row); /* whose list counts, or 0 */
/* Whose clock measures its wait, besides its project's and account's; or 0. */
unsigned books_clock_agent(const struct books *b, const struct row *row);
bool books_agent_open(const struct books *b, unsigned agent); /* its account and its launches are */
bool books_is_covered(const struct books *b, unsigned agent); /* by one of its list that is open */
bool books_may_stand_in(const struct books *b, const struct row *row, unsigned agent);
unsigned books_runner(const struct books *b, const struct row *row); /* who would take it now */

/* books_lend.c */
unsigned books_lend_bit(unsigned key); /* enum lend, or 0 */
bool books_has_lent(const struct books *b, const struct row *row, unsigned bit);
bool books_can_lend(const struct books *b, const struct row *lender, unsigned key);
bool books_may_lend(const struct row *row); /* it waits, and lends to no task */
bool books_is_descendant(const struct books *b, const struct row *row, task_id above);
/* Is there nothing but places of the lender between it and its start? */
bool books_only_lacks(const struct books *b, const struct row *lender, const struct row *row,
                      unsigned agent);
void books_leave_chain(struct books *b, const struct row *row); /* it, and all who lend to it */
void books_take_chain(struct books *b, const struct row *row);
void books_lend(struct books *b, struct row *lender, struct row *row, unsigned agent);
void books_lend_ended(struct books *b, struct row *row);

/* audit_change.c: does this order follow from the facts? */
void audit_change(const struct books *b, const struct row *row, const struct order *order);
void audit_stop(const struct books *b, const struct row *row, const struct order *order);
/* audit_start.c */
void audit_start(const struct books *b, const struct row *row, const struct order *order);
