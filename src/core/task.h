/* task.h: finding tasks and changing their state. Private to core/.
 *
 * task_become is the only place that sets a state. It asks the transition table, moves the task in
 * or out of the queue, gives back what it no longer holds, announces the change, and notes whom it
 * concerns; task_settle then looks at those again until nothing changes any more. No recursion: a
 * chain of a million tasks falls like a chain of ten. */
#pragma once

#include "core/state.h"

uint32_t task_find(const struct core *c, task_id id);       /* 0: unknown; may be absent */
uint32_t task_find_added(const struct core *c, task_id id); /* 0: unknown or absent */
uint32_t task_named(struct core *c, task_id id);            /* found, or made as absent */
uint32_t task_new_named(struct core *c, task_id id);        /* made as absent; it was not there */
void task_drop_if_unnamed(struct core *c, uint32_t task);   /* an absent task nobody names */

struct change {
    enum task_state to;
    enum reason reason;
    enum hold hold;
    time_ms until;
};

/* One more, or one less, is in this state. */
void task_count(struct core *c, const struct task *t, enum task_state state, int more);
void task_become(struct core *c, uint32_t task, struct change change);
/* The same, as a new iteration: what came from the last one is invalidated. */
void task_iterate(struct core *c, uint32_t task, struct change change);
/* held(hold) until now + delay; a delay of 0 is waiting at once. */
struct change change_to_held(const struct core *c, enum hold hold, time_ms delay,
                             enum reason reason);
void task_look_again(struct core *c, uint32_t task); /* at the end of this fact */
void task_settle(struct core *c);                    /* do it now */

bool task_parent_passed(const struct core *c, const struct task *t);
/* It waits for its parent, which ended otherwise than done. */
bool task_parent_failed(const struct core *c, const struct task *t);
bool task_has_prerequisites(const struct core *c, const struct task *t);
/* Is every prerequisite there, and has a loop launches left? */
bool task_may_be_ready(const struct core *c, const struct task *t);

void task_reset_counters(struct task *t);
void task_set_timer(struct core *c, uint32_t task, time_ms at);

/* Appends to the list of orders. */
struct order *order_push(struct core *c, enum order_kind kind, uint32_t task);

/* For the maps. */
bool task_same(const void *ctx, uint32_t handle, const void *id);
void task_timer_moved(void *ctx, uint32_t handle, uint32_t position);
