/* model_asked.c: what people and other programs ask for (the table of rules, 4). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model_internal.h"

static int refuse(const struct model_task *t, struct error *err) {
    return error_set(err, -EINVAL, "not possible for a task that is %s",
                     task_state_name(t->s.state));
}

static bool is_waiting_or_ready(const struct model_task *t) {
    return t->s.state == TASK_WAITING || t->s.state == TASK_READY;
}

static int sling(struct model *m, struct model_task *t, const struct sling_spec *reported,
                 struct error *err) {
    if (t->s.state != TASK_DRAFT)
        return 1;
    if ((reported->agent && !model_agent(m, reported->agent))
        || (reported->limiter && !model_limiter(m, reported->limiter)))
        return error_set(err, -ENOENT, "the agent or limiter was never told");
    if (reported->renames) {
        model_own_agent_again(t);
        t->s.agent = reported->agent;
        t->s.limiter = reported->limiter;
    }
    model_change(m, t, TASK_WAITING, REASON_SLUNG);
    return 0;
}

static int hold(struct model *m, struct model_task *t, const struct fact *fact, struct error *err) {
    if (!is_waiting_or_ready(t) && t->s.state != TASK_HELD)
        return refuse(t, err);
    enum hold hold = fact->marker ? HOLD_MARKER : HOLD_PERSON;
    model_hold(m, t, model_is_taken(t) ? HOLD_TAKEN : hold, fact->until, REASON_HELD);
    return 0;
}

static int release(struct model *m, struct model_task *t, struct error *err) {
    if (t->s.state != TASK_HELD || model_is_held_for_people(t))
        return refuse(t, err);
    model_change(m, t, TASK_WAITING, REASON_RELEASED);
    return 0;
}

static int spent(struct model *m, struct model_task *t, struct error *err) {
    if (!is_waiting_or_ready(t) && t->s.state != TASK_HELD)
        return refuse(t, err);
    bool known = t->s.hold == HOLD_BUDGET && t->s.not_before == 0;
    if (t->s.state == TASK_HELD
        && (known || t->s.hold == HOLD_PERSON || t->s.hold == HOLD_QUESTION
            || t->s.hold == HOLD_CHECK || t->s.hold == HOLD_CANDIDATES || model_is_taken(t)
            || model_is_held_for_people(t)))
        return 1;
    model_hold(m, t, HOLD_BUDGET, 0, REASON_SPENT);
    return 0;
}

static int clear(struct model *m, struct model_task *t, bool own_agent, struct error *err) {
    if (!is_waiting_or_ready(t) && t->s.state != TASK_HELD)
        return refuse(t, err);
    model_drop_counters(t);
    model_change(m, t, TASK_DRAFT, REASON_CLEARED);
    if (own_agent)
        model_own_agent_again(t);
    return 0;
}

static int cancel(struct model *m, struct model_task *t) {
    if (task_state_is_final(t->s.state))
        return 1;
    if (model_is_draining(t)) {
        model_change(m, t, TASK_DONE, REASON_SUCCEEDED);
        return 0;
    }
    if (model_has_run(t))
        model_order_stop(m, t, STOP_CANCEL);
    else
        model_change(m, t, TASK_CANCELED, REASON_CANCELED);
    return 0;
}

/* A prerequisite that does not exist would never be met. */
static void drop_missing_prerequisites(const struct model *m, struct model_task *t) {
    size_t kept = 0;
    for (size_t i = 0; i < t->s.depends_on_count; i++)
        if (model_find(m, t->dependencies[i].task))
            t->dependencies[kept++] = t->dependencies[i];
    t->s.depends_on_count = kept;
    if (t->s.parent && !model_find(m, t->s.parent))
        t->s.parent_gate = PARENT_NONE;
}

static int retry(struct model *m, struct model_task *t, bool own_agent, struct error *err) {
    if (t->s.state != TASK_FAILED && t->s.state != TASK_CANCELED)
        return refuse(t, err);
    model_drop_counters(t);
    if (own_agent)
        model_own_agent_again(t);
    drop_missing_prerequisites(m, t);
    model_change(m, t, TASK_WAITING, REASON_RETRIED);
    return 0;
}

static int again(struct model *m, struct model_task *t, bool own_agent, struct error *err) {
    if (t->s.state != TASK_DONE)
        return refuse(t, err);
    if (own_agent)
        model_own_agent_again(t);
    model_raise_iteration(m, t);
    model_change(m, t, TASK_WAITING, REASON_AGAIN);
    return 0;
}

/* docs/internals/rules.md, 4: who is taken over and does not run is queued; a run is stopped first. */
static int take(struct model *m, struct model_task *t, struct error *err) {
    enum task_state state = t->s.state;
    bool had_run = state == TASK_DONE || state == TASK_FAILED || state == TASK_CANCELED;
    if (model_has_run(t)) {
        if (model_is_taken(t) || t->run.stop != STOP_NONE)
            return refuse(t, err);
        model_order_stop(m, t, STOP_TAKE);
        return 0;
    }
    if (is_waiting_or_ready(t)) {
        if (model_is_taken(t))
            return refuse(t, err);
        t->s.hold = HOLD_TAKEN;
        return 0;
    }
    if (!had_run && (state != TASK_HELD || t->s.hold == HOLD_CANDIDATES))
        return refuse(t, err);
    if (state == TASK_FAILED || state == TASK_CANCELED) {
        model_drop_counters(t);
        drop_missing_prerequisites(m, t);
    }
    if (state == TASK_DONE)
        model_raise_iteration(m, t);
    model_take(m, t);
    return 0;
}

static int approve(struct model *m, struct model_task *t, struct error *err) {
    bool is_taken = t->s.state == TASK_HELD && model_is_taken(t);
    if (!is_taken && !model_is_held_for_people(t))
        return refuse(t, err);
    model_change(m, t, TASK_DONE, is_taken ? REASON_TAKEN : REASON_APPROVED);
    return 0;
}

static int reject(struct model *m, struct model_task *t, struct error *err) {
    if (!model_is_held_for_people(t))
        return refuse(t, err);
    t->keeps_review = false;
    model_not_accepted(m, t, REASON_REJECTED);
    model_raise_iteration(m, t);
    model_change(m, t, TASK_WAITING, REASON_REJECTED);
    return 0;
}

static int marked(struct model *m, struct model_task *t) {
    bool waits = is_waiting_or_ready(t) || t->s.state == TASK_HELD;
    if (!waits || t->s.until != UNTIL_DONE || model_is_taken(t))
        return 1;
    model_change(m, t, TASK_DONE, REASON_MARKED);
    return 0;
}

static int priority(struct model_task *t, int32_t value, struct error *err) {
    if (task_state_is_final(t->s.state))
        return refuse(t, err);
    t->s.priority = value;
    return 0;
}

static int dependencies(struct model *m, struct model_task *t, const struct fact *fact,
                        struct error *err) {
    if (t->s.state != TASK_DRAFT && !is_waiting_or_ready(t) && t->s.state != TASK_HELD)
        return refuse(t, err);
    const task_id *items = fact->dependencies.items;
    size_t count = fact->dependencies.count;
    if (model_dependencies_close_a_circle(m, t->s.id, items, count))
        return error_set(err, -ELOOP, "the task would wait for itself");

    struct model_dependency *list = xcalloc(count + 1, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        list[i].task = items[i];
        for (size_t k = 0; k < t->s.depends_on_count; k++)
            if (t->dependencies[k].task == items[i])
                list[i].met_for_good = t->dependencies[k].met_for_good;
    }
    free(t->dependencies);
    t->dependencies = list;
    t->s.depends_on_count = count;
    return 0;
}

static int unanswered(struct model *m, struct model_task *t, struct error *err) {
    bool has_asked = t->s.state == TASK_HELD && t->s.hold == HOLD_QUESTION;
    bool is_probed = t->s.state == TASK_WAITING && t->s.probe_closed;
    if (!has_asked && !is_probed)
        return refuse(t, err);
    model_change(m, t, TASK_FAILED, has_asked ? REASON_UNANSWERED : REASON_GATE_TIMEOUT);
    return 0;
}

/* docs/internals/rules.md, 4: a task that its candidates work on is held; how they end decides what follows. */
static int candidates(struct model *m, struct model_task *t, enum candidates what,
                      struct error *err) {
    bool waits_for_them = t->s.state == TASK_HELD && t->s.hold == HOLD_CANDIDATES;
    if (what == CANDIDATES_WORK && is_waiting_or_ready(t))
        model_hold(m, t, HOLD_CANDIDATES, 0, REASON_CANDIDATES);
    else if (what == CANDIDATES_REVIEW && (waits_for_them || is_waiting_or_ready(t)))
        model_hold(m, t, HOLD_REVIEW, 0, REASON_REVIEW);
    else if (what == CANDIDATES_NONE && waits_for_them)
        model_change(m, t, TASK_FAILED, REASON_CANDIDATES);
    else
        return refuse(t, err);
    return 0;
}

/* --- delete and forget ----------------------------------------------------------------------- */

/* Those that depend on it, or have it as parent, remember that it was done. */
static void remember_that_it_was_done(struct model *m, task_id id, bool parents_too) {
    for (size_t i = 0; i < m->tasks_count; i++) {
        struct model_task *t = &m->tasks[i];
        if (t->s.parent == id && parents_too)
            t->parent_was_done = true;
        for (size_t k = 0; k < t->s.depends_on_count; k++)
            if (t->dependencies[k].task == id)
                t->dependencies[k].met_for_good = true;
    }
}

static bool names_dependency(const struct model_task *t, task_id id) {
    for (size_t i = 0; i < t->s.depends_on_count; i++)
        if (t->dependencies[i].task == id)
            return true;
    return false;
}

static void remove_task(struct model *m, struct model_task *t) {
    free(t->dependencies);
    free(t->resources);
    size_t index = (size_t)(t - m->tasks);
    memmove(t, t + 1, (m->tasks_count - index - 1) * sizeof(*t));
    m->tasks_count--;
}

static int delete_task(struct model *m, struct model_task *t, struct error *err) {
    if (task_state_is_live(t->s.state))
        return refuse(t, err);
    task_id id = t->s.id;
    bool done = t->s.state == TASK_DONE;
    model_orphan(m, id);
    remove_task(m, t);
    if (done) {
        remember_that_it_was_done(m, id, false);
        return 0;
    }
    for (size_t i = 0; i < m->tasks_count; i++) {
        struct model_task *other = &m->tasks[i];
        if (names_dependency(other, id) && model_may_fail_by_dependency(other))
            model_change(m, other, TASK_FAILED, REASON_DEPENDENCY);
    }
    return 0;
}

static int forget(struct model *m, struct model_task *t, struct error *err) {
    if (!task_state_is_final(t->s.state))
        return refuse(t, err);
    task_id id = t->s.id;
    for (size_t i = 0; i < m->tasks_count; i++) {
        const struct model_task *other = &m->tasks[i];
        if (!task_state_is_final(other->s.state)
            && (other->s.parent == id || names_dependency(other, id)))
            return error_set(err, -EBUSY, "a task that is not final needs it");
    }
    if (t->s.state == TASK_DONE)
        remember_that_it_was_done(m, id, true);
    remove_task(m, t);
    return 0;
}

int model_apply_asked(struct model *m, const struct fact *fact, struct error *err) {
    struct model_task *t = model_find(m, fact->task);
    if (!t)
        return error_set(err, -ENOENT, "no such task");
    if (fact->kind == FACT_SLING)
        return sling(m, t, &fact->sling, err);
    if (fact->kind == FACT_HOLD)
        return hold(m, t, fact, err);
    if (fact->kind == FACT_RELEASE)
        return release(m, t, err);
    if (fact->kind == FACT_SPENT)
        return spent(m, t, err);
    if (fact->kind == FACT_CLEAR)
        return clear(m, t, fact->own_agent, err);
    if (fact->kind == FACT_CANCEL)
        return cancel(m, t);
    if (fact->kind == FACT_RETRY)
        return retry(m, t, fact->own_agent, err);
    if (fact->kind == FACT_AGAIN)
        return again(m, t, fact->own_agent, err);
    if (fact->kind == FACT_APPROVE)
        return approve(m, t, err);
    if (fact->kind == FACT_REJECT)
        return reject(m, t, err);
    if (fact->kind == FACT_DELETE)
        return delete_task(m, t, err);
    if (fact->kind == FACT_FORGET)
        return forget(m, t, err);
    if (fact->kind == FACT_PRIORITY)
        return priority(t, fact->priority, err);
    if (fact->kind == FACT_DEPENDENCIES)
        return dependencies(m, t, fact, err);
    if (fact->kind == FACT_MARKED)
        return marked(m, t);
    if (fact->kind == FACT_UNANSWERED)
        return unanswered(m, t, err);
    if (fact->kind == FACT_TAKE)
        return take(m, t, err);
    if (fact->kind == FACT_CANDIDATES)
        return candidates(m, t, fact->candidates, err);
    if (fact->kind == FACT_ARTIFACT)
        t->s.artifact_missing = !fact->artifact_present;
    if (fact->kind == FACT_PROBE)
        t->s.probe_closed = !fact->probe_open;
    return 0;
}
