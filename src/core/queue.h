/* queue.h: ready tasks, so that the first in order is found without looking at the others.
 * Private to core/.
 *
 * A class holds tasks that need the same shared keys and compare alike but for their age, so inside
 * one the order never changes and a decision compares only the heads. A head that a rare key
 * (serial, workspace, resource) refuses is parked on that key and leaves the class's queue; when
 * the key gets a place, the best parked task of each class comes back. */
#pragma once

#include "core/state.h"

/* What a wait clock belongs to; indexes. */
struct wait_key {
    uint32_t project, limiter;
    uint32_t agent; /* whose failover list counts, or 0 */
};

/* It became ready, or comes back; `waited` counts for max_wait. */
void queue_enter(struct core *c, uint32_t task, time_ms waited);
/* It is ready no more, or its class is about to change; returns what it has waited. */
time_ms queue_leave(struct core *c, uint32_t task);
void queue_wake(struct core *c, uint32_t key); /* the key has a place for others */
/* The clock by which this task waits: it stands while a gate is closed. */
struct wait_key queue_wait_key(const struct core *c, const struct task *t);
time_ms queue_clock(const struct core *c, struct wait_key key);
void queue_clock_begin(struct core *c, struct wait_key key); /* if it is new */
struct wait_spec queue_wait_spec(const struct core *c, uint32_t project, const struct domain *d);
void queue_set_wait(struct core *c, struct wait_key key, const struct wait_spec *w);
/* FACT_WAIT has told of that clock. */
bool queue_wait_is_told(const struct core *c, struct wait_key key);
/* Which clocks go on from now, and which stand? Looked at when the time is about to change. */
void queue_clocks_look(struct core *c);
void queue_clocks_begin(struct core *c, time_ms at); /* the first time that is told */

/* Around a change of what classes or their order are made of: everybody out, everybody in again. What
 * a task has waited stays. */
void queue_empty(struct core *c);
void queue_fill(struct core *c);

/* The first of a class, or 0 when all are parked. */
uint32_t queue_head(const struct core *c, const struct queue_class *cls);

/* The rare key that has no place for it, or 0. */
uint32_t queue_refusing_key(const struct core *c, uint32_t task);
/* Takes it out of its class's queue until that key has a place. */
void queue_park(struct core *c, uint32_t task, uint32_t key);

/* The key now has a place for this very task, if for no other: lets it back if it is parked there. */
void queue_recheck_parked(struct core *c, uint32_t task, uint32_t key);

/* Time since ready that counts for max_wait. */
time_ms queue_waited(const struct core *c, const struct task *t);
bool queue_overdue(const struct core *c, const struct task *t);
/* No task of the class is overdue before that time. */
time_ms queue_class_overdue_from(const struct core *c, const struct queue_class *cls);

/* Does task a come before b, both of one project? Everything after the project parts of the order. */
bool queue_before(const struct core *c, uint32_t a, uint32_t b);
bool queue_before_by_rank(const struct core *c, uint32_t a, uint32_t b); /* overdue or not */
bool queue_created_before(const void *ctx, uint32_t a, uint32_t b);      /* the last part of it */

/* For the map of classes. */
bool queue_class_same(const void *ctx, uint32_t handle, const void *wanted);
