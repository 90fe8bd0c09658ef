/* ready_queue.h: finds the first task in order without visiting the others. Private to core/.
 *
 * A class holds ready tasks that need the same shared keys and compare equal except for age, so its
 * order never changes and only the heads are compared (ready_first.h). A head that a rare key (serial,
 * workspace, resource) refuses is parked on that key and leaves the class's queue; when the key
 * gets a free slot, the best parked task of each class returns. */
#pragma once

#include "core/state.h"

/* Identifies a wait clock; indexes. */
struct wait_key {
    uint32_t project, limiter;
    uint32_t agent; /* whose failover list or hours apply, or 0 */
};

/* Adds a ready task; `waited` counts for max_wait. */
void queue_enter(struct core *c, uint32_t task, time_ms waited);
/* Call before the task is no longer ready or its class changes. Returns its wait so far. */
time_ms queue_leave(struct core *c, uint32_t task);
void queue_wake(struct core *c, uint32_t key); /* the key has a free slot */
/* Do its tasks that are or are not bound to it have a clock of their own? */
bool queue_agent_has_clock(const struct agent_spec *agent, bool bound);
/* The clock that measures this task's wait; it stops while a gate is closed. */
struct wait_key queue_wait_key(const struct core *c, const struct task *t);
time_ms queue_clock(const struct core *c, struct wait_key key);
void queue_clock_create(struct core *c, struct wait_key key); /* unless it exists */
struct wait_spec queue_wait_spec(const struct core *c, uint32_t project, const struct domain *d);
void queue_set_wait(struct core *c, struct wait_key key, const struct wait_spec *w);
/* Has a FACT_WAIT set this clock? */
bool queue_wait_is_restored(const struct core *c, struct wait_key key);
/* Stops and resumes clocks according to the gates. Call before the time changes. */
void queue_clocks_update(struct core *c);
void queue_clocks_start(struct core *c, time_ms at); /* with the first FACT_CLOCK */

/* Brackets a change of what defines classes or their order: all tasks leave and re-enter. Waits are
 * kept. */
void queue_empty(struct core *c);
void queue_fill(struct core *c);

/* 0: all are parked. */
uint32_t queue_head(const struct core *c, const struct queue_class *cls);

/* The rare key that has no slot for it, or 0. */
uint32_t queue_refusing_key(const struct core *c, uint32_t task);
/* Removes it from its class's queue until the key has a slot. */
void queue_park(struct core *c, uint32_t task, uint32_t key);

/* The key may have a slot for this particular task: unparks it if it is parked there. */
void queue_recheck_parked(struct core *c, uint32_t task, uint32_t key);

/* The wait clock; it stops while a gate is closed. */
static inline time_ms domain_clock(const struct core *c, const struct domain *d) {
    return (d->closed ? d->closed_since : c->now) - d->lost;
}
/* Time since ready that counts for max_wait. */
static inline time_ms queue_waited(const struct core *c, const struct task *t) {
    return domain_clock(c, domain_at(c, class_at(c, t->cls)->domain)) - t->ready_clock;
}
static inline bool queue_overdue(const struct core *c, const struct task *t) {
    return (c->policy.order & ORDER_BY_OVERDUE) && queue_waited(c, t) >= c->policy.max_wait;
}
/* No task of the class is overdue before this time. */
time_ms queue_class_overdue_from(const struct core *c, const struct queue_class *cls);

void queue_class_finish(struct queue_class *k);
void park_finish(struct park *park);
/* Callbacks for the maps. */
bool lane_same(const void *ctx, uint32_t handle, const void *wanted);
bool queue_class_same(const void *ctx, uint32_t handle, const void *wanted);
bool crowd_same(const void *ctx, uint32_t handle, const void *wanted);

/* --- waiting tasks -----------------------------------------------------------------------------
 *
 * core.waiting lists the tasks that lack a prerequisite, so that a queue position is found without
 * counting. Each project counts its own by the first prerequisite they lack. */

void waiting_add(struct core *c, uint32_t task); /* or waiting_recount */
/* Call when what it lacks, or whether one of its dependencies has failed, may have changed. */
void waiting_recount(struct core *c, uint32_t task);
void waiting_remove(struct core *c, uint32_t task);
void waiting_clear(struct core *c); /* before the order changes */
