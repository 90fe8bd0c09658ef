/* model_task.c: the state of a task, and what follows from it for others (rules, 1 and 4). */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model_internal.h"

bool model_is_draining(const struct model_task *t) {
    return t->s.state == TASK_RUNNING && t->s.phase == PHASE_DRAINING;
}

bool model_has_run(const struct model_task *t) {
    return task_state_is_live(t->s.state) && !model_is_draining(t);
}

bool model_is_taken(const struct model_task *t) {
    return t->s.hold == HOLD_TAKEN;
}

/* --- changes --------------------------------------------------------------------------------- */

void model_push(struct model *m, const struct order *order) {
    if (m->orders_read)
        m->orders_count = 0;
    m->orders_read = false;
    *MODEL_ADD(m, orders) = *order;
}

static void give_back_what_is_kept(struct model_task *t) {
    t->keeps_roots = t->keeps_review = t->keeps_workspaces = false;
}

static void became_ready(struct model *m, struct model_task *t) {
    model_clock_begin(m, t);
    t->ready_mark = model_clock(m, t);
    t->enqueued_at = m->now;
}

static void became_done(struct model *m, const struct model_task *t) {
    struct model_event *e = MODEL_ADD(m, events);
    *e = (struct model_event){ .at = m->now, .project = t->s.project, .completions = 1 };
}

static void change(struct model *m, struct model_task *t, struct order order) {
    order.kind = ORDER_CHANGE;
    order.task = t->s.id;
    order.from = t->s.state;
    order.attempt = t->s.attempt;
    order.iteration = t->s.iteration;
    /* Who is taken over stays so from the queue to the end of its run. */
    bool may_stay_taken = order.to == TASK_WAITING || order.to == TASK_READY
                          || order.to == TASK_STARTING || order.to == TASK_RUNNING;
    if (model_is_taken(t) && order.from != TASK_HELD && may_stay_taken)
        order.hold = HOLD_TAKEN;
    t->s.state = order.to;
    t->s.hold = order.hold;
    t->s.not_before = order.until;
    if (!task_state_is_live(order.to)) {
        t->s.phase = PHASE_WORKING;
        t->run.stop = STOP_NONE;
    }
    if (task_state_is_final(order.to) || order.to == TASK_DRAFT)
        give_back_what_is_kept(t);
    if (order.to == TASK_READY)
        became_ready(m, t);
    if (order.to == TASK_DONE)
        became_done(m, t);
    model_push(m, &order);
}

static bool look(struct model *m, struct model_task *t);

/* A task that begins to wait is looked at before those that need it. */
void model_change(struct model *m, struct model_task *t, enum task_state to, enum reason reason) {
    change(m, t, (struct order){ .to = to, .reason = reason });
    if (to == TASK_WAITING)
        look(m, t);
}

void model_take(struct model *m, struct model_task *t) {
    change(m, t, (struct order){ .to = TASK_WAITING, .hold = HOLD_TAKEN, .reason = REASON_TAKEN });
    look(m, t);
}

void model_hold(struct model *m, struct model_task *t, enum hold hold, time_ms until,
                enum reason reason) {
    struct order order = { .to = TASK_HELD, .hold = hold, .until = until, .reason = reason };
    change(m, t, order);
}

void model_drop_counters(struct model_task *t) {
    t->s.failures = t->s.launch_failures = t->s.losses = t->s.restarts = 0;
    t->openings = 0;
}

/* Orders the end of a run, once. */
void model_order_stop(struct model *m, struct model_task *t, enum stop_request stop) {
    static const enum reason reasons[] = {
        [STOP_CANCEL] = REASON_CANCELED,
        [STOP_INVALIDATE] = REASON_INVALIDATED,
        [STOP_ORPHAN] = REASON_ORPHANED,
        [STOP_TAKE] = REASON_TAKEN,
    };
    static const unsigned strength[] = {
        [STOP_NONE] = 0,       [STOP_TAKE] = 1,   [STOP_CANCEL] = 2,
        [STOP_INVALIDATE] = 3, [STOP_ORPHAN] = 4,
    };
    if (t->run.stop == STOP_NONE)
        model_push(m, &(struct order){
                          .kind = ORDER_STOP,
                          .task = t->s.id,
                          .attempt = t->s.attempt,
                          .iteration = t->s.iteration,
                          .from = t->s.state,
                          .to = t->s.state,
                          .reason = reasons[stop],
                      });
    if (strength[stop] > strength[t->run.stop])
        t->run.stop = stop;
}

/* --- readiness (rules, 1) -------------------------------------------------------------------- */

bool model_is_held_for_people(const struct model_task *t) {
    return t->s.state == TASK_HELD && (t->s.hold == HOLD_REVIEW || t->s.hold == HOLD_EXTERNAL);
}

bool model_may_fail_by_dependency(const struct model_task *t) {
    return t->s.state == TASK_WAITING || t->s.state == TASK_READY
           || (t->s.state == TASK_HELD && !model_is_held_for_people(t));
}

bool model_dependency_met(const struct model *m, const struct model_dependency *d) {
    const struct model_task *t = model_find(m, d->task);
    return t ? t->s.state == TASK_DONE : d->met_for_good;
}

bool model_parent_met(const struct model *m, const struct model_task *t) {
    if (!t->s.parent || t->s.parent_gate == PARENT_NONE)
        return true;
    const struct model_task *parent = model_find(m, t->s.parent);
    return parent ? parent->s.state == TASK_DONE : t->parent_was_done;
}

static bool has_failed_dependency(const struct model *m, const struct model_task *t) {
    for (size_t i = 0; i < t->s.depends_on_count; i++) {
        const struct model_task *d = model_find(m, t->dependencies[i].task);
        if (d && task_state_is_final(d->s.state) && d->s.state != TASK_DONE)
            return true;
    }
    return false;
}

static bool prerequisites_met(const struct model *m, const struct model_task *t) {
    for (size_t i = 0; i < t->s.depends_on_count; i++)
        if (!model_dependency_met(m, &t->dependencies[i]))
            return false;
    return model_parent_met(m, t) && !t->s.artifact_missing && !t->s.probe_closed;
}

static bool restarts_are_spent(const struct model *m, const struct model_task *t) {
    return m->policy.count_launches && (t->s.until == UNTIL_DONE || t->s.until == UNTIL_VALIDATE)
           && t->s.restarts >= m->policy.retry[RETRY_UNFINISHED].max;
}

bool model_is_kept_by_children(const struct model *m, const struct model_task *t) {
    for (size_t i = 0; i < m->tasks_count; i++) {
        const struct model_task *child = &m->tasks[i];
        if (child->s.parent != t->s.id || child->s.parent_gate != PARENT_NONE)
            continue;
        if (m->policy.drain_active_only ? task_state_is_live(child->s.state)
                                        : !task_state_is_final(child->s.state))
            return true;
    }
    return false;
}

void model_find_out_state(struct model *m, struct model_task *t, time_ms ready_since) {
    bool fails =
        (m->policy.dependency_fails && has_failed_dependency(m, t)) || restarts_are_spent(m, t);
    if (t->s.state != TASK_WAITING || fails || !prerequisites_met(m, t))
        return;
    t->s.state = TASK_READY;
    became_ready(m, t);
    if (ready_since < m->now) {
        t->ready_mark -= m->now - ready_since;
        t->enqueued_at = ready_since;
    }
}

/* Looks at one task again. True: its state is another one now. */
static bool look(struct model *m, struct model_task *t) {
    enum task_state state = t->s.state;
    bool waits = state == TASK_WAITING || state == TASK_READY;
    if (m->policy.dependency_fails && model_may_fail_by_dependency(t)
        && has_failed_dependency(m, t)) {
        model_change(m, t, TASK_FAILED, REASON_DEPENDENCY);
        return true;
    }
    if (model_is_draining(t) && !t->drain_unasked && !model_is_kept_by_children(m, t)) {
        model_change(m, t, TASK_DONE, REASON_SUCCEEDED);
        return true;
    }
    bool met = prerequisites_met(m, t);
    if (!waits || (state == TASK_READY) == met)
        return false;
    if (!met)
        model_change(m, t, TASK_WAITING, REASON_PREREQUISITES);
    else if (restarts_are_spent(m, t))
        model_change(m, t, TASK_FAILED, REASON_RESTARTS);
    else
        model_change(m, t, TASK_READY, REASON_PREREQUISITES);
    return true;
}

/* Looks at every task until all of them are right. */
void model_settle(struct model *m) {
    bool changed;
    do {
        changed = false;
        for (size_t i = 0; i < m->tasks_count; i++)
            changed |= look(m, &m->tasks[i]);
    } while (changed);
}

/* --- families (rules, 4) --------------------------------------------------------------------- */

void model_orphan(struct model *m, task_id id) {
    for (size_t i = 0; i < m->tasks_count; i++) {
        struct model_task *t = &m->tasks[i];
        if (t->s.parent != id)
            continue;
        if (model_has_run(t))
            model_order_stop(m, t, STOP_ORPHAN);
        else if (!task_state_is_final(t->s.state))
            model_change(m, t, TASK_FAILED, REASON_ORPHANED);
        model_orphan(m, t->s.id);
    }
}

void model_invalidate(struct model *m, task_id id) {
    for (size_t i = 0; i < m->tasks_count; i++)
        if (m->tasks[i].s.parent == id)
            model_invalidate(m, m->tasks[i].s.id);
    struct model_task *t = model_find(m, id);
    if (model_has_run(t))
        model_order_stop(m, t, STOP_INVALIDATE);
    else if (t->s.state != TASK_FAILED && t->s.state != TASK_CANCELED
             && t->s.state != TASK_INVALIDATED)
        model_change(m, t, TASK_INVALIDATED, REASON_INVALIDATED);
}

/* The children of the iteration before are invalid. */
void model_raise_iteration(struct model *m, struct model_task *t) {
    t->s.iteration++;
    for (size_t i = 0; i < m->tasks_count; i++) {
        const struct model_task *child = &m->tasks[i];
        if (child->s.parent == t->s.id && child->s.parent_gate == PARENT_DONE
            && child->s.parent_iteration < t->s.iteration)
            model_invalidate(m, child->s.id);
    }
}
