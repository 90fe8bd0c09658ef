/* lease.h: the one mechanism behind every cap and lock. Private to core/.
 *
 * A key has `cap` slots. A run holds one slot on each key it needs from START to end; the slots of
 * the task (roots, review, a kept workspace) persist between runs. There is no other counter: usage
 * exceeds a cap only if the cap was lowered. */
#pragma once

#include "core/state.h"

uint32_t key_new(struct core *c, enum lease_kind kind, sym name, amount cap);

/* Is there a slot for this task (0: for any other)? */
static inline bool key_has_slot(const struct core *c, uint32_t key, uint32_t task) {
    const struct key *k = key_at(c, key);
    if (k->cap == UNLIMITED)
        return true;
    if (k->locked_by && task && k->locked_by == task_at(c, task)->id)
        return k->held < k->cap; /* its own lock takes precedence over any reservation */
    amount used = k->held + k->external;
    if (k->claimed && c->claim.task != task)
        used++;
    return used < k->cap;
}

void key_set_cap(struct core *c, uint32_t key, amount cap);
void key_set_external(struct core *c, uint32_t key, amount external);
void key_set_claimed(struct core *c, uint32_t key, bool claimed);

uint32_t key_serial(struct core *c, uint32_t project, sym phase, uint32_t kind);
uint32_t key_workspace(struct core *c, sym name);
uint32_t key_resource(struct core *c, sym name);

/* Rare keys (serial, workspace, resource) exist while a task names them, they are locked
 * externally, or a fact has set their cap. */
void key_use(struct core *c, uint32_t key);
void key_unuse(struct core *c, uint32_t key);
void key_drop_if_unused(struct core *c, uint32_t key);

/* The task's slots that it must still acquire (TASK_KEEPS bits). */
uint16_t lease_missing_kept(const struct core *c, const struct task *t);
/* Acquires the slots given by enum keep bits. */
void lease_keep(struct core *c, uint32_t task, unsigned keeps);

/* The keys this task would have to acquire now, in display order of their gates. `agent` and
 * `limiter` are those it would run with. */
size_t lease_needs(const struct core *c, const struct task *t, uint32_t agent, uint32_t limiter,
                   uint32_t ret[NEEDS_MAX]);

/* Acquires all needed keys for a run, from its lender where possible. */
void lease_acquire_all(struct core *c, uint32_t run);
void lease_release_run(struct core *c, uint32_t run);                   /* the run's slots */
void lease_release_kept(struct core *c, uint32_t task, uint16_t which); /* the task's slots */
void lease_release_limiter(struct core *c, uint32_t run); /* validating needs no API */

/* Callback for the map of serial keys. */
bool lease_serial_same(const void *ctx, uint32_t handle, const void *wanted);

/* --- lending -----------------------------------------------------------------------------------
 *
 * A run in PHASE_WAITING holds its slots while it waits for its descendants: with a cap of one, its
 * child could never start. So it lends the slots that both need (enum lend) to one descendant at a
 * time. The slot moves between runs, and the number of taken slots never changes. Slots that the
 * borrower releases return to its lender before any other task can take them.
 *
 * When a run ends that has lent what it borrowed, its lender and borrower are linked, so that no
 * slot is lost in the middle of a chain. docs/internals/rules.md §3. */

/* The task of a run, or 0. */
task_id lend_task(const struct core *c, uint32_t run);
/* Call before lease_acquire_all of the borrower. */
void lend_link(struct core *c, uint32_t lender, uint32_t borrower);
/* A live run was loaded with a lender, whose row may come later. */
void lend_load(struct core *c, uint32_t run, const struct task_spec *spec);
void lend_loaded(struct core *c);

/* The oldest waiting run that lends nothing and has a descendant that lacks only slots it could
 * lend; among its descendants, the first in order. Returns that task, or 0. `ret_agent`: the agent
 * that takes it. */
uint32_t lend_find(struct core *c, bool (*before)(const struct core *c, uint32_t a, uint32_t b),
                   uint32_t *ret_lender, uint32_t *ret_agent);
