/* lease.h: the one mechanism behind every cap and lock. Private to core/.
 *
 * A key has `cap` places. A run holds one place on each key it needs from its START to its end; what
 * belongs to the task (roots, review, a kept workspace) stays between runs. Nobody counts anything
 * else: a cap is exceeded only when it was lowered under what is held. */
#pragma once

#include "core/state.h"

uint32_t key_new(struct core *c, enum lease_kind kind, sym name, amount cap);

/* Is there a place for this task (0: for any other)? */
static inline bool key_has_place(const struct core *c, uint32_t key, uint32_t task) {
    const struct key *k = key_at(c, key);
    if (k->cap == UNLIMITED)
        return true;
    if (k->outside_task && task && k->outside_task == task_at(c, task)->id)
        return k->held < k->cap; /* its own lock, whoever reserved the key */
    amount used = k->held + k->outside;
    if (k->claimed && c->claim.task != task)
        used++;
    return used < k->cap;
}

/* The same for somebody who looks at no reservation. */
static inline bool key_is_free(const struct core *c, uint32_t key, uint32_t task) {
    const struct key *k = key_at(c, key);
    bool own = k->outside_task && k->outside_task == task_at(c, task)->id;
    return k->cap == UNLIMITED || k->held + (own ? 0 : k->outside) < k->cap;
}

void key_take(struct core *c, uint32_t key);
void key_give(struct core *c, uint32_t key);
void key_set_cap(struct core *c, uint32_t key, amount cap);
void key_set_outside(struct core *c, uint32_t key, amount outside);
void key_set_claimed(struct core *c, uint32_t key, bool claimed);

uint32_t key_serial(struct core *c, uint32_t project, sym phase, uint32_t kind);
uint32_t key_workspace(struct core *c, sym name);
uint32_t key_resource(struct core *c, sym name);

/* Rare keys (serial, workspace, resource) are there while a task names them, they are locked from
 * outside, or a fact has told their cap. */
void key_use(struct core *c, uint32_t key);
void key_unuse(struct core *c, uint32_t key);
void key_drop_if_unused(struct core *c, uint32_t key);

/* Which task-long places it must still take (TASK_KEEPS bits). */
uint16_t lease_missing_kept(const struct core *c, const struct task *t);

/* Takes those of them that are named by enum keep bits. */
void lease_keep(struct core *c, uint32_t task, unsigned keeps);

/* Keys this task would have to take now, in the order in which their gates are shown. `agent` and
 * `limiter` are what it would run with. */
size_t lease_needs(const struct core *c, const struct task *t, uint32_t agent, uint32_t limiter,
                   uint32_t ret[NEEDS_MAX]);

/* Takes them all for a run, from its lender what that one can lend; task-long ones are noted on the
 * task. */
void lease_take_all(struct core *c, uint32_t run);
void lease_give_run(struct core *c, uint32_t run);                   /* the run's own places */
void lease_give_kept(struct core *c, uint32_t task, uint16_t which); /* the task's */
/* A place that was taken already comes into the list of a run, or leaves it. */
void lease_add_key(const struct core *c, struct run *r, uint32_t key);
void lease_remove_key(struct run *r, unsigned at);
void lease_give_limiter(struct core *c, uint32_t run); /* validating needs no API */

/* For the map of serial keys. */
bool lease_serial_same(const void *ctx, uint32_t handle, const void *wanted);
