/* task.c: see task.h. */
#include "core/task.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "core/changes.h"
#include "core/depend.h"
#include "core/fair.h"
#include "core/group.h"
#include "core/lease.h"
#include "core/position.h"
#include "core/queue.h"
#include "core/tree.h"

bool task_same(const void *ctx, uint32_t handle, const void *id) {
    return task_at(ctx, handle)->id == *(const task_id *)id;
}

void task_timer_moved(void *ctx, uint32_t handle, uint32_t position) {
    task_at(ctx, handle)->timer = position;
}

uint32_t task_find(const struct core *c, task_id id) {
    return id_map_find(&c->task_map, hash_sequence(id), &id);
}

uint32_t task_find_added(const struct core *c, task_id id) {
    uint32_t task = task_find(c, id);
    return task && task_at(c, task)->state != TASK_ABSENT ? task : 0;
}

uint32_t task_new_named(struct core *c, task_id id) {
    uint32_t task = slab_alloc(&c->tasks);
    task_at(c, task)->id = id;
    id_map_add(&c->task_map, hash_sequence(id), task);
    return task;
}

uint32_t task_named(struct core *c, task_id id) {
    uint32_t task = task_find(c, id);
    return task ? task : task_new_named(c, id);
}

void task_drop_if_unnamed(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    if (t->state != TASK_ABSENT || t->needed_by || t->first_child)
        return;
    id_map_remove(&c->task_map, hash_sequence(t->id), &t->id);
    slab_free(&c->tasks, task);
}

struct order *order_push(struct core *c, enum order_kind kind, uint32_t task) {
    if (c->orders_given) {
        c->order_count = 0;
        c->orders_given = false;
    }
    c->orders = xgrow(c->orders, &c->order_capacity, c->order_count + 1, sizeof(*c->orders));
    struct order *o = &c->orders[c->order_count++];
    *o = (struct order){ .kind = kind };
    if (task) {
        const struct task *t = task_at(c, task);
        o->task = t->id;
        o->attempt = t->attempt;
        o->iteration = t->iteration;
    }
    return o;
}

void task_set_timer(struct core *c, uint32_t task, time_ms at) {
    struct task *t = task_at(c, task);
    timer_heap_remove(&c->timers, t->timer);
    t->not_before = at;
    if (at > 0)
        timer_heap_add(&c->timers, at, t->id, task);
}

void task_look_again(struct core *c, uint32_t task) {
    c->pending = xgrow(c->pending, &c->pending_capacity, c->pending_count + 1, sizeof(*c->pending));
    c->pending[c->pending_count++] = task;
}

static bool is_queued(enum task_state state) {
    return state == TASK_WAITING || state == TASK_READY;
}

/* Who may be concerned by the change of one task. */
static void tell_neighbours(struct core *c, uint32_t task, enum task_state from,
                            enum task_state to) {
    const struct task *t = task_at(c, task);
    depend_changed(c, task, from, to);
    if ((from == TASK_DONE) != (to == TASK_DONE)) {
        for (uint32_t child = t->first_child; child; child = task_at(c, child)->next_sibling)
            task_look_again(c, child);
    }
    if (task_state_is_failure(from) != task_state_is_failure(to)) {
        for (uint32_t child = t->first_child; child; child = task_at(c, child)->next_sibling)
            position_recount(c, child);
    }
    if (t->parent && t->parent_gate == PARENT_NONE)
        task_look_again(c, t->parent); /* it may be draining */
}

void task_count(struct core *c, const struct task *t, enum task_state state, int more) {
    c->by_state[state] += (uint32_t)more;
    c->projects[t->project].by_state[state] += (uint32_t)more;
}

void task_become(struct core *c, uint32_t task, struct change change) {
    struct task *t = task_at(c, task);
    enum task_state from = t->state, to = change.to;
    assert(task_may_become(from, to));
    change_task(c, task);
    if (from == TASK_READY)
        (void)queue_leave(c, task);
    if (from == TASK_WAITING)
        position_unlist(c, task);
    if (t->timer)
        timer_heap_remove(&c->timers, t->timer);
    t->not_before = 0;
    t->state = (uint8_t)to;
    t->hold = (uint8_t)(to == TASK_HELD ? change.hold : HOLD_NONE);
    t->reason = (uint8_t)change.reason;
    task_count(c, t, from, -1);
    task_count(c, t, to, 1);
    c->kinds[t->kind].queued += (uint32_t)is_queued(to) - (uint32_t)is_queued(from);
    if (to == TASK_HELD)
        task_set_timer(c, task, change.until);
    if (task_state_is_final(to) || to == TASK_DRAFT)
        lease_give_kept(c, task, TASK_KEEPS);
    if (to != TASK_STARTING)
        t->enqueued_at = to == TASK_READY ? c->now : t->created_at;
    if (to == TASK_READY)
        queue_enter(c, task, 0);
    if (to != TASK_STARTING) {
        struct order *o = order_push(c, ORDER_CHANGE, task);
        o->from = from;
        o->to = to;
        o->hold = t->hold;
        o->reason = change.reason;
        o->until = to == TASK_HELD ? change.until : 0;
    }
    if (to == TASK_DONE)
        fair_record(c, t->project, c->now, &(struct bucket){ .completions = 1 });
    group_count(c, t, from);
    if (to == TASK_WAITING || to == TASK_HELD)
        task_look_again(c, task); /* before its neighbours: they see what becomes of it */
    tell_neighbours(c, task, from, to);
}

struct change change_to_held(const struct core *c, enum hold hold, time_ms delay,
                             enum reason reason) {
    if (delay <= 0)
        return (struct change){ .to = TASK_WAITING, .reason = reason };
    return (struct change){
        .to = TASK_HELD, .reason = reason, .hold = hold, .until = time_add(c->now, delay)
    };
}

void task_iterate(struct core *c, uint32_t task, struct change change) {
    struct task *t = task_at(c, task);
    if (t->iteration < UINT32_MAX)
        t->iteration++;
    task_become(c, task, change);
    tree_invalidate_older(c, task);
}

void task_reset_counters(struct task *t) {
    t->failures = t->launch_failures = t->losses = t->restarts = t->breaker_openings = 0;
}

bool task_parent_passed(const struct core *c, const struct task *t) {
    if (!(t->flags & TASK_HAS_PARENT) || t->parent_gate == PARENT_NONE)
        return true;
    return task_at(c, t->parent)->state == TASK_DONE;
}

bool task_parent_failed(const struct core *c, const struct task *t) {
    return t->parent && t->parent_gate == PARENT_DONE
           && task_state_is_failure(task_at(c, t->parent)->state);
}

bool task_has_prerequisites(const struct core *c, const struct task *t) {
    return t->unmet == 0 && !(t->flags & TASK_ARTIFACT_MISSING) && task_parent_passed(c, t);
}

static bool launches_spent(const struct core *c, const struct task *t) {
    return c->policy.count_launches && (t->until == UNTIL_DONE || t->until == UNTIL_VALIDATE)
           && t->restarts >= c->policy.retry[RETRY_UNFINISHED].max;
}

bool task_may_be_ready(const struct core *c, const struct task *t) {
    return task_has_prerequisites(c, t) && !launches_spent(c, t);
}

static void look(struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    enum task_state state = t->state;
    if (state == TASK_RUNNING) {
        tree_end_drain_if_due(c, task);
        return;
    }
    if (state != TASK_WAITING && state != TASK_READY && state != TASK_HELD)
        return;
    if (t->hold == HOLD_REVIEW || t->hold == HOLD_EXTERNAL)
        return; /* its work is done; only a verdict is missing */
    if (c->policy.dependency_fails && t->unmet > 0 && depend_has_failed(c, task)) {
        task_become(c, task, (struct change){ .to = TASK_FAILED, .reason = REASON_DEPENDENCY });
        return;
    }
    if (state == TASK_HELD)
        return;
    bool ready = task_has_prerequisites(c, t);
    if (!ready && state == TASK_WAITING)
        position_list(c, task);
    if (ready == (state == TASK_READY))
        return;
    if (ready && launches_spent(c, t))
        task_become(c, task, (struct change){ .to = TASK_FAILED, .reason = REASON_RESTARTS });
    else
        task_become(c, task,
                    (struct change){ .to = ready ? TASK_READY : TASK_WAITING,
                                     .reason = REASON_PREREQUISITES });
}

void task_settle(struct core *c) {
    for (size_t i = 0; i < c->pending_count && !c->loading; i++)
        look(c, c->pending[i]);
    c->pending_count = 0;
}
