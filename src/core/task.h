/* task.h: finds tasks, changes their state, and links them. Private to core/.
 *
 * Only task_become sets a state. It asserts the transition table, moves the task in or out of the
 * queue, releases what it no longer holds, adds the order, and notes which tasks to recheck;
 * task_settle rechecks them until nothing changes. No recursion: chains may be a million tasks
 * long. */
#pragma once

#include "core/state.h"

uint32_t task_find(const struct core *c, task_id id);       /* 0: unknown; may be absent */
uint32_t task_find_added(const struct core *c, task_id id); /* 0: unknown or absent */
uint32_t task_named(struct core *c, task_id id);            /* creates it as absent if unknown */
uint32_t task_new_named(struct core *c, task_id id);        /* of an unknown id */
void task_drop_if_unnamed(struct core *c, uint32_t task);   /* an absent task without referrers */

struct change {
    enum task_state to;
    enum reason reason;
    enum hold hold;
    time_ms until;
};

static inline struct change change_to(enum task_state state, enum reason reason) {
    return (struct change){ .to = state, .reason = reason };
}

/* Counts `more` (1 or -1) tasks in the state. */
void task_count(struct core *c, const struct task *t, enum task_state state, int more);
void task_become(struct core *c, uint32_t task, struct change change);
/* Like task_become, as a new iteration: children of older iterations are invalidated. */
void task_iterate(struct core *c, uint32_t task, struct change change);
/* A person has taken it over: it is queued, and starts before all others; or its run is that
 * person's; or that run has ended and it is held. */
static inline bool task_is_taken(const struct task *t) {
    return t->hold == HOLD_TAKEN;
}
void task_mark_taken(struct core *c, uint32_t task); /* one that is queued or live */
void task_recheck(struct core *c, uint32_t task);    /* in the next task_settle */
void task_settle(struct core *c);

bool task_parent_passed(const struct core *c, const struct task *t);
/* It waits for its parent, which ended without being done. */
bool task_parent_failed(const struct core *c, const struct task *t);
bool task_has_prerequisites(const struct core *c, const struct task *t);
/* Does it have all prerequisites and, for a loop, launches left? */
bool task_may_be_ready(const struct core *c, const struct task *t);

void task_reset_counters(struct core *c, uint32_t task);
void task_drop_parts(struct core *c, uint32_t task); /* its links and its history */
void task_set_timer(struct core *c, uint32_t task, time_ms at);

struct order *order_push(struct core *c, enum order_kind kind, uint32_t task);

/* Callback of the timers. */
void task_timer_moved(void *ctx, uint32_t handle, uint32_t position);

/* --- dependencies ---------------------------------------------------------------------------- */

/* Replaces its dependencies. Unknown tasks are created as absent. */
void depend_set(struct core *c, uint32_t task, const task_id *on, size_t count);
/* True: there were some. */
bool depend_drop_absent(struct core *c, uint32_t task);
/* The task is removed: met dependencies on it stay met, the others wait for its id. */
void depend_forget(struct core *c, uint32_t task);
/* Updates the dependants of a task whose state changed. */
void depend_changed(struct core *c, uint32_t task, enum task_state from, enum task_state to);

/* Would the task wait for itself, through dependencies and through parents that must be done? */
bool depend_would_cycle(struct core *c, uint32_t task, const task_id *on, size_t count,
                        task_id parent);
/* Did one of its dependencies end without being done? */
bool depend_has_failed(const struct core *c, uint32_t task);
/* The first dependency that is not done, in the given order; 0: all are. */
uint32_t depend_first_unmet(const struct core *c, uint32_t task);
bool depend_needed_by_unfinished(const struct core *c, uint32_t task);

/* --- parents and children -------------------------------------------------------------------- */

void tree_add_child(struct core *c, uint32_t parent, uint32_t child);
void tree_remove_child(struct core *c, uint32_t child);
/* Call when its parent changed: updates its depth and that of its descendants. */
void tree_set_depth(struct core *c, uint32_t task);
bool tree_would_cycle(const struct core *c, uint32_t task, task_id parent);

/* Call when its iteration rose: invalidates children of older ones, descendants first. */
void tree_invalidate_older(struct core *c, uint32_t parent);
void tree_invalidate(struct core *c, uint32_t task); /* with its descendants */
/* Call when it is deleted: its descendants fail. */
void tree_orphan_descendants(struct core *c, uint32_t parent);
/* The next descendant of `top` after `task` (first: `top`), parents first; 0: none. */
uint32_t tree_next_descendant(const struct core *c, uint32_t top, uint32_t task);
bool tree_has_unfinished_child(const struct core *c, uint32_t task);

/* Does a finished task have a child that it must wait for? */
bool tree_keeps_draining(const struct core *c, uint32_t task);
/* The children of added draining tasks are known now: rechecks the tasks. */
void tree_check_adopted(struct core *c);

/* --- groups ------------------------------------------------------------------------------------
 *
 * A group tracks and never blocks: it closes (an order) when its last open member is final or
 * removed, and reopens when a member joins or is reopened. */

#define GROUP_MAX (1u << 24)

/* Does nothing if the task has no group. */
void group_join(struct core *c, uint32_t task);
void group_leave(struct core *c, uint32_t task);
