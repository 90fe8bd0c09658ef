/* tree.c: what a change of one task means for those below it.
 *
 * Walks by the links between tasks, without recursion and without a stack: hierarchies may be as
 * deep as they like. */
#include "core/tree.h"

#include "core/queue.h"
#include "core/run.h"
#include "core/task.h"

void tree_add_child(struct core *c, uint32_t parent, uint32_t child) {
    struct task *p = task_at(c, parent), *t = task_at(c, child);
    t->parent = parent;
    t->prev_sibling = p->last_child;
    if (p->last_child)
        task_at(c, p->last_child)->next_sibling = child;
    else
        p->first_child = child;
    p->last_child = child;
}

void tree_remove_child(struct core *c, uint32_t child) {
    struct task *t = task_at(c, child);
    if (!t->parent)
        return;
    struct task *p = task_at(c, t->parent);
    if (t->prev_sibling)
        task_at(c, t->prev_sibling)->next_sibling = t->next_sibling;
    else
        p->first_child = t->next_sibling;
    if (t->next_sibling)
        task_at(c, t->next_sibling)->prev_sibling = t->prev_sibling;
    else
        p->last_child = t->prev_sibling;
    t->parent = t->prev_sibling = t->next_sibling = 0;
}

uint32_t tree_next_below(const struct core *c, uint32_t top, uint32_t task) {
    if (task_at(c, task)->first_child)
        return task_at(c, task)->first_child;
    while (task != top && !task_at(c, task)->next_sibling)
        task = task_at(c, task)->parent;
    return task == top ? 0 : task_at(c, task)->next_sibling;
}

static uint32_t deepest_first(const struct core *c, uint32_t task) {
    while (task_at(c, task)->first_child)
        task = task_at(c, task)->first_child;
    return task;
}

static void set_depth(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    uint16_t above = t->parent ? task_at(c, t->parent)->depth : 0;
    uint16_t depth = !(t->flags & TASK_HAS_PARENT) ? 0
                     : above == UINT16_MAX         ? UINT16_MAX
                                                   : (uint16_t)(above + 1);
    if (depth == t->depth)
        return;
    bool ready = t->state == TASK_READY;
    time_ms waited = ready ? queue_leave(c, task) : 0; /* its class has its depth in it */
    t->depth = depth;
    if (ready)
        queue_enter(c, task, waited);
}

void tree_set_depth(struct core *c, uint32_t task) {
    for (uint32_t t = task; t; t = tree_next_below(c, task, t))
        set_depth(c, t);
}

bool tree_would_cycle(const struct core *c, uint32_t task, task_id parent) {
    uint32_t above = task ? task_find(c, parent) : 0;
    for (; above; above = task_at(c, above)->parent) {
        if (above == task)
            return true;
    }
    return false;
}

static void invalidate_one(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    switch ((enum task_state)t->state) {
    case TASK_ABSENT:
    case TASK_FAILED:
    case TASK_CANCELED:
    case TASK_INVALIDATED:
    case TASK_STATE_MAX:
        return;
    case TASK_STARTING:
    case TASK_RUNNING:
        if (run_order_stop(c, task, STOP_INVALIDATE, REASON_INVALIDATED))
            return;
        break; /* it was draining: nothing runs */
    case TASK_DRAFT:
    case TASK_WAITING:
    case TASK_READY:
    case TASK_HELD:
    case TASK_DONE:
        break;
    }
    task_become(c, task, (struct change){ .to = TASK_INVALIDATED, .reason = REASON_INVALIDATED });
}

void tree_invalidate(struct core *c, uint32_t top) {
    uint32_t task = deepest_first(c, top);
    while (task != top) {
        invalidate_one(c, task);
        const struct task *t = task_at(c, task);
        task = t->next_sibling ? deepest_first(c, t->next_sibling) : t->parent;
    }
    invalidate_one(c, top);
}

void tree_invalidate_older(struct core *c, uint32_t parent) {
    uint32_t iteration = task_at(c, parent)->iteration;
    for (uint32_t child = task_at(c, parent)->first_child; child;
         child = task_at(c, child)->next_sibling) {
        const struct task *t = task_at(c, child);
        if (t->parent_gate == PARENT_DONE && t->parent_iteration < iteration)
            tree_invalidate(c, child);
    }
}

static void orphan_one(struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    if (t->state == TASK_ABSENT || task_state_is_final(t->state))
        return;
    if (task_state_is_live(t->state) && run_order_stop(c, task, STOP_ORPHAN, REASON_ORPHANED))
        return;
    task_become(c, task, (struct change){ .to = TASK_FAILED, .reason = REASON_ORPHANED });
}

void tree_orphan_below(struct core *c, uint32_t parent) {
    uint32_t task = task_at(c, parent)->first_child;
    while (task) {
        orphan_one(c, task);
        task = tree_next_below(c, parent, task);
    }
}

bool tree_has_unfinished_child(const struct core *c, uint32_t task) {
    for (uint32_t h = task_at(c, task)->first_child; h; h = task_at(c, h)->next_sibling) {
        if (!task_state_is_final(task_at(c, h)->state))
            return true;
    }
    return false;
}

bool tree_keeps_draining(const struct core *c, uint32_t task) {
    for (uint32_t h = task_at(c, task)->first_child; h; h = task_at(c, h)->next_sibling) {
        const struct task *child = task_at(c, h);
        if (child->parent_gate != PARENT_NONE)
            continue;
        if (c->policy.drain_active_only ? task_state_is_live(child->state)
                                        : !task_state_is_final(child->state))
            return true;
    }
    return false;
}

void tree_end_drain_if_due(struct core *c, uint32_t task) {
    const struct run *r = run_at(c, task_at(c, task)->run);
    if (r->phase == PHASE_DRAINING && !r->unasked && !tree_keeps_draining(c, task))
        run_end_drain(c, task, TASK_DONE, REASON_SUCCEEDED);
}

void tree_ask_adopted(struct core *c) {
    for (size_t i = 0; i < c->adopted_count; i++) {
        const struct task *t = task_at(c, c->adopted[i]);
        if (!t->run)
            continue;
        run_at(c, t->run)->unasked = false;
        task_look_again(c, c->adopted[i]);
    }
    c->adopted_count = 0;
    task_settle(c);
}
