/* model_add.c: a task comes in (rules, 1 and 4; core.h "restart"). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model_internal.h"

/* Does `from` wait for `to`, through dependencies and through parents that must be done? */
static bool waits_for(const struct model *m, task_id from, task_id to) {
    if (from == to)
        return true;
    const struct model_task *t = model_find(m, from);
    if (!t)
        return false;
    if (t->s.parent && t->s.parent_gate == PARENT_DONE && waits_for(m, t->s.parent, to))
        return true;
    for (size_t i = 0; i < t->s.depends_on_count; i++)
        if (waits_for(m, t->dependencies[i].task, to))
            return true;
    return false;
}

bool model_dependencies_close_a_circle(const struct model *m, task_id id, const task_id *items,
                                       size_t count) {
    for (size_t i = 0; i < count; i++)
        if (waits_for(m, items[i], id))
            return true;
    return false;
}

static bool is_descendant(const struct model *m, task_id id, task_id ancestor) {
    while (id) {
        if (id == ancestor)
            return true;
        const struct model_task *t = model_find(m, id);
        id = t ? t->s.parent : 0;
    }
    return false;
}

static int check(const struct model *m, const struct task_spec *spec, struct error *err) {
    if (spec->id == 0 || spec->state == TASK_ABSENT)
        return error_set(err, -EINVAL, "a task needs a number and a state");
    if (model_find(m, spec->id))
        return error_set(err, -EEXIST, "the task is already there");
    if (!model_project(m, spec->project))
        return error_set(err, -ENOENT, "the project was never told");
    if (spec->kind && !model_kind(m, spec->kind))
        return error_set(err, -ENOENT, "the kind was never told");
    if (spec->agent && !model_agent(m, spec->agent))
        return error_set(err, -ENOENT, "the agent was never told");
    const struct escalation_spec *x = &spec->escalation;
    if (x->step > 0 && x->own_agent && !model_agent(m, x->own_agent))
        return error_set(err, -ENOENT, "its own agent is not known");
    if (spec->limiter && !model_limiter(m, spec->limiter))
        return error_set(err, -ENOENT, "the limiter was never told");
    if (model_dependencies_close_a_circle(m, spec->id, spec->depends_on, spec->depends_on_count))
        return error_set(err, -ELOOP, "the task would wait for itself");
    if (spec->parent && spec->parent_gate == PARENT_DONE && waits_for(m, spec->parent, spec->id))
        return error_set(err, -ELOOP, "the task would wait for itself through its parent");
    if (is_descendant(m, spec->parent, spec->id))
        return error_set(err, -ELOOP, "the task would be its own ancestor");
    return 0;
}

/* What is its own between two runs. */
static void take_up_kept(struct model *m, struct model_task *t) {
    t->keeps_roots = (t->s.keeps & KEEP_ROOTS) && t->s.parent == 0;
    t->keeps_review = (t->s.keeps & KEEP_REVIEW) && t->s.review;
    t->keeps_workspaces =
        (t->s.keeps & KEEP_WORKSPACE) && model_project(m, t->s.project)->spec.workspaces_kept;
}

/* A live task takes what its phase holds. */
static void take_up_run(struct model *m, struct model_task *t) {
    sym agent = model_agent(m, t->s.run_agent) ? t->s.run_agent : t->s.agent;
    t->run = (struct model_run){
        .money = -1,
        .agent = agent,
        .limiter = model_limiter_of(m, t, agent),
        .started_at = t->s.started_at > 0 ? time_min(t->s.started_at, m->now) : m->now,
        .stop = t->s.stop,
        .had_roots = t->keeps_roots,
        .had_review = t->keeps_review,
        .adopted = true,
    };
    if (model_limiter(m, t->s.run_limiter))
        t->run.limiter = t->s.run_limiter;
    else if (t->s.run_unlimited)
        t->run.limiter = 0;
    if (t->s.phase == PHASE_STOPPING && t->s.stop == STOP_NONE)
        t->run.stop = STOP_CANCEL;
    if (model_is_draining(t))
        t->run.stop = STOP_NONE;
    t->keeps_roots = t->s.parent == 0;
    t->keeps_review = t->s.review;
    if (model_is_draining(t))
        t->keeps_workspaces = model_project(m, t->s.project)->spec.workspaces_kept;
    t->drain_until = t->s.not_before > 0 ? t->s.not_before : time_add(m->now, m->policy.drain);
    t->drain_unasked = true;
    struct model_event *e = MODEL_ADD(m, events);
    *e = (struct model_event){ .at = t->run.started_at,
                               .project = t->s.project,
                               .starts = 1,
                               .task = t->s.id,
                               .attempt = t->s.attempt };
}

static bool is_of_an_older_iteration(const struct model *m, const struct model_task *t) {
    const struct model_task *parent = model_find(m, t->s.parent);
    return parent && t->s.parent_gate == PARENT_DONE && t->s.parent_iteration < parent->s.iteration;
}

int model_apply_added(struct model *m, const struct task_spec *spec, struct error *err) {
    int r = check(m, spec, err);
    if (r < 0)
        return r;

    struct model_task *t = MODEL_ADD(m, tasks);
    t->s = *spec;
    t->dependencies = xcalloc(spec->depends_on_count + 1, sizeof(*t->dependencies));
    for (size_t i = 0; i < spec->depends_on_count; i++)
        t->dependencies[i].task = spec->depends_on[i];
    t->resources = xcalloc(spec->resource_count + 1, sizeof(*t->resources));
    for (size_t i = 0; i < spec->resource_count; i++)
        t->resources[i] = spec->resources[i];
    t->s.depends_on = NULL;
    t->s.resources = NULL;
    if (spec->state == TASK_READY)
        t->s.state = TASK_WAITING;
    bool may_be_taken =
        spec->state == TASK_WAITING || spec->state == TASK_READY || task_state_is_live(spec->state);
    if (spec->state != TASK_HELD && !(may_be_taken && spec->hold == HOLD_TAKEN))
        t->s.hold = HOLD_NONE;
    t->openings = spec->breaker_openings;
    if (spec->state != TASK_DRAFT && !task_state_is_final(spec->state))
        take_up_kept(m, t);
    const struct model_task *parent = model_find(m, spec->parent);
    if (parent && spec->parent_iteration == 0)
        t->s.parent_iteration = parent->s.iteration;

    if (task_state_is_live(spec->state))
        take_up_run(m, t);
    else
        t->s.phase = PHASE_WORKING;
    if (spec->state != TASK_HELD)
        t->s.not_before = 0;
    model_find_out_state(m, t, spec->ready_since);
    if (is_of_an_older_iteration(m, t))
        model_invalidate(m, t->s.id);
    return 0;
}
