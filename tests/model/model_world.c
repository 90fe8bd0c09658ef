/* model_world.c: facts about the world around the tasks, and the clocks that measure waiting.
 *
 * The last fact counts. Nothing here changes a task's state: a cap that is lowered stops
 * no run, and one that is raised is seen by the next decision. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "model_failover.h"

/* --- clocks (rules, 3: "waited") ------------------------------------------------------------- */

static const struct model_clock *find_clock(const struct model *m, const struct model_task *t) {
    sym limiter = model_limiter_of(m, t, t->s.agent), agent = model_clock_agent(m, t);
    for (size_t i = 0; i < m->clocks_count; i++)
        if (m->clocks[i].project == t->s.project && m->clocks[i].limiter == limiter
            && m->clocks[i].agent == agent)
            return &m->clocks[i];
    return NULL;
}

time_ms model_clock(const struct model *m, const struct model_task *t) {
    const struct model_clock *c = find_clock(m, t);
    return c ? c->reading : 0;
}

void model_clock_begin(struct model *m, const struct model_task *t) {
    if (find_clock(m, t))
        return;
    struct model_clock *c = MODEL_ADD(m, clocks);
    c->project = t->s.project;
    c->limiter = model_limiter_of(m, t, t->s.agent);
    c->agent = model_clock_agent(m, t);
}

static int apply_clock(struct model *m, time_ms t) {
    if (t < m->now)
        return 1;
    for (size_t i = 0; i < m->clocks_count; i++)
        if (model_world_open(m, &m->clocks[i]))
            m->clocks[i].reading += t - m->now;
    m->now = t;
    return 0;
}

/* --- projects, kinds, agents, limiters, resources, workspaces -------------------------------- */

static bool has_tasks(const struct model *m, sym project) {
    for (size_t i = 0; i < m->tasks_count; i++)
        if (m->tasks[i].s.project == project)
            return true;
    return false;
}

/* Whether a place stays with its task cannot change under its tasks. */
static int apply_project(struct model *m, const struct project_spec *spec, struct error *err) {
    struct model_project *p = model_project(m, spec->id);
    if (p && p->spec.workspaces_kept != spec->workspaces_kept && has_tasks(m, spec->id))
        return error_set(err, -EBUSY, "where the workspaces stay cannot change");
    bool is_new = !p;
    if (is_new)
        p = MODEL_ADD(m, projects);
    time_ms hours_until = is_new ? spec->hours_until : p->spec.hours_until;
    p->spec = *spec;
    p->spec.hours_until = hours_until;
    return 0;
}

static int apply_kind(struct model *m, const struct kind_spec *spec) {
    for (size_t i = 0; i < m->kinds_count; i++)
        if (m->kinds[i].id == spec->id) {
            m->kinds[i] = *spec;
            return 0;
        }
    *MODEL_ADD(m, kinds) = *spec;
    return 0;
}

/* An agent's limiter is also that of the tasks that name it. They go on waiting on another clock,
 * and have waited as long as before. */
static int apply_agent(struct model *m, const struct agent_spec *spec, struct error *err) {
    if (spec->limiter && !model_limiter(m, spec->limiter))
        return error_set(err, -ENOENT, "the limiter was never told");
    for (unsigned i = 0; i < spec->failover_count; i++)
        if (spec->failover[i] == spec->id)
            return error_set(err, -EINVAL, "it cannot fail over to itself");
    time_ms *waited = xcalloc(m->tasks_count + 1, sizeof(*waited));
    for (size_t i = 0; i < m->tasks_count; i++) {
        const struct model_task *t = &m->tasks[i];
        waited[i] = model_clock(m, t) - t->ready_mark;
    }

    struct agent_spec *agent = (struct agent_spec *)model_agent(m, spec->id);
    time_ms hours_until = agent ? agent->hours_until : spec->hours_until;
    if (!agent) { /* the first telling also says how its launches went */
        agent = MODEL_ADD(m, agents);
        *model_breaker(m, spec->id) =
            (struct model_breaker){ .agent = spec->id,
                                    .launch_failures = spec->launch_failures,
                                    .closings = spec->openings,
                                    .closed_until = spec->closed_until };
    }
    *agent = *spec;
    agent->hours_until = hours_until;

    for (size_t i = 0; i < m->tasks_count; i++) {
        struct model_task *t = &m->tasks[i];
        if (t->s.state != TASK_READY && !task_state_is_live(t->s.state))
            continue; /* live ones too: their order may still be refused */
        model_clock_begin(m, t);
        t->ready_mark = model_clock(m, t) - waited[i];
    }
    freep(&waited);
    return 0;
}

/* The first telling also says how the limiter was left; later ones change the policy only. */
static int apply_limiter(struct model *m, const struct limiter_spec *spec) {
    struct model_limiter *l = model_limiter(m, spec->id);
    if (!l) {
        l = MODEL_ADD(m, limiters);
        l->id = spec->id;
        l->hit = spec->hits > 0 || spec->backoff_until > 0;
        l->hits = spec->hits;
        l->until = spec->backoff_until;
        l->began = l->last_hit = m->now;
        l->closed = spec->closed;
        if (spec->in_backoff) {
            l->hit = true;
            l->began = spec->backoff_since;
            l->last_hit = spec->last_hit;
        }
        l->ramped = spec->ramp_since > 0;
        l->ramp_from = spec->ramp_since;
        l->hours_until = spec->hours_until;
        memcpy(l->quota, spec->quota, sizeof(l->quota));
    }
    l->policy = spec->policy;
    return 0;
}

static int apply_resource(struct model *m, sym id, amount cap) {
    for (size_t i = 0; i < m->resources_count; i++)
        if (m->resources[i].id == id) {
            m->resources[i].cap = cap;
            return 0;
        }
    *MODEL_ADD(m, resources) = (struct model_resource){ .id = id, .cap = cap };
    return 0;
}

static int apply_workspace(struct model *m, const struct fact *fact) {
    struct model_workspace *w = NULL;
    for (size_t i = 0; i < m->workspaces_count; i++)
        if (m->workspaces[i].id == fact->workspace.id)
            w = &m->workspaces[i];
    if (!w)
        w = MODEL_ADD(m, workspaces);
    w->id = fact->workspace.id;
    w->locked_by = fact->workspace.locked_by;
    w->locked = fact->workspace.locked;
    return 0;
}

/* --- what was used, and what runs outside ----------------------------------------------------- */

static int apply_usage(struct model *m, const struct fact *fact, struct error *err) {
    if (fact->usage.project && !model_project(m, fact->usage.project))
        return error_set(err, -ENOENT, "usage of a project that was never told");
    if (!model_can_correct(m, &fact->usage))
        return error_set(err, -ERANGE, "used less than nothing");
    struct model_event *e = MODEL_ADD(m, events);
    e->at = time_min(fact->usage.at, m->now);
    e->project = fact->usage.project;
    e->share = fact->usage.tokens + fact->usage.unreported;
    e->reported = fact->usage.tokens;
    e->completions = (uint32_t)fact->usage.completions;
    e->reports = fact->usage.tokens != 0 ? e->completions : 0;
    if (fact->usage.reports != 0)
        e->reports = (uint32_t)fact->usage.reports;
    e->starts = (uint32_t)fact->usage.starts;
    e->money = fact->usage.money;
    e->priced = (uint32_t)fact->usage.priced;
    e->unpriced = (uint32_t)fact->usage.unpriced;
    return 0;
}

static int apply_external(struct model *m, const struct fact *fact, struct error *err) {
    if (fact->external.project) {
        struct model_project *p = model_project(m, fact->external.project);
        if (!p)
            return error_set(err, -ENOENT, "runs of a project that was never told");
        p->external = fact->external.running;
        p->external_roots = fact->external.roots;
        return 0;
    }
    if (!fact->external.limiter) {
        m->external = fact->external.running;
        m->external_roots = fact->external.roots;
        return 0;
    }
    struct model_limiter *l = model_limiter(m, fact->external.limiter);
    if (!l)
        return error_set(err, -ENOENT, "runs of a limiter that was never told");
    l->external = fact->external.running;
    return 0;
}

/* A report about a window that ended, or that a later window has replaced, is late; unless the end of the later one was
 * a guess that this report corrects: then the window ends earlier, and its use does not sink. */
static int apply_used(struct model *m, const struct fact *fact, struct error *err) {
    struct model_limiter *l = model_limiter(m, fact->used.limiter);
    const struct quota *next = &fact->used.quota;
    if (!l)
        return error_set(err, -ENOENT, "no such limiter");
    struct quota *last = &l->quota[fact->used.window];
    time_ms later = next->resets_at - last->resets_at;
    if (next->resets_at <= m->now)
        return 1;
    if (later < -MINUTES(5)) {
        if (!fact->used.corrects)
            return 1;
        last->resets_at = next->resets_at;
        if (last->used_milli < next->used_milli)
            last->used_milli = next->used_milli;
        return 0;
    }
    if (later > MINUTES(5)) {
        *last = *next;
        return 0;
    }
    if (next->used_milli <= last->used_milli)
        return 1;
    last->used_milli = next->used_milli;
    return 0;
}

static int apply_hours(struct model *m, const struct fact *fact, struct error *err) {
    struct model_project *p =
        fact->hours.scope == LEASE_PROJECT ? model_project(m, fact->hours.id) : NULL;
    struct agent_spec *a = fact->hours.scope == LEASE_AGENT
                               ? (struct agent_spec *)model_agent(m, fact->hours.id)
                               : NULL;
    struct model_limiter *l =
        fact->hours.scope == LEASE_LIMITER ? model_limiter(m, fact->hours.id) : NULL;
    if (!p && !a && !l)
        return error_set(err, -ENOENT, "hours of nothing that is known");
    *(p ? &p->spec.hours_until : a ? &a->hours_until : &l->hours_until) = fact->hours.until;
    return 0;
}

static int apply_limiter_clear(struct model *m, sym limiter, struct error *err) {
    struct model_limiter *l = model_limiter(m, limiter);
    if (!l)
        return error_set(err, -ENOENT, "no such limiter");
    model_limiter_clear(l);
    return 0;
}

static int apply_agent_clear(struct model *m, sym agent, struct error *err) {
    if (!model_agent(m, agent))
        return error_set(err, -ENOENT, "no such agent");
    *model_breaker(m, agent) = (struct model_breaker){ .agent = agent };
    return 0;
}

static int apply_host(struct model *m, const struct fact *fact) {
    m->disk_free_mb = fact->host.disk_free_mb;
    m->memory_free_mb = fact->host.memory_free_mb;
    m->load_milli = fact->host.load_milli;
    return 0;
}

static int apply_flag(bool *flag, bool value) {
    *flag = value;
    return 0;
}

int model_apply_world(struct model *m, const struct fact *fact, struct error *err) {
    if (fact->kind == FACT_CLOCK)
        return apply_clock(m, fact->now);
    if (fact->kind == FACT_PROJECT)
        return apply_project(m, &fact->project, err);
    if (fact->kind == FACT_KIND)
        return apply_kind(m, &fact->kind_spec);
    if (fact->kind == FACT_AGENT)
        return apply_agent(m, &fact->agent, err);
    if (fact->kind == FACT_LIMITER)
        return apply_limiter(m, &fact->limiter);
    if (fact->kind == FACT_LIMITER_USED)
        return apply_used(m, fact, err);
    if (fact->kind == FACT_HOURS)
        return apply_hours(m, fact, err);
    if (fact->kind == FACT_LIMITER_CLEAR)
        return apply_limiter_clear(m, fact->limiter_clear, err);
    if (fact->kind == FACT_AGENT_CLEAR)
        return apply_agent_clear(m, fact->agent_clear, err);
    if (fact->kind == FACT_RESOURCE)
        return apply_resource(m, fact->resource.id, fact->resource.cap);
    if (fact->kind == FACT_WORKSPACE)
        return apply_workspace(m, fact);
    if (fact->kind == FACT_HOST)
        return apply_host(m, fact);
    if (fact->kind == FACT_USAGE)
        return apply_usage(m, fact, err);
    if (fact->kind == FACT_EXTERNAL)
        return apply_external(m, fact, err);
    if (fact->kind == FACT_PAUSE || fact->kind == FACT_RESUME)
        return apply_flag(&m->paused, fact->kind == FACT_PAUSE);
    if (fact->kind == FACT_TICK)
        return apply_flag(&m->tick_wanted, true);
    if (fact->kind == FACT_POLICY)
        m->policy = *fact->policy;
    else if (fact->kind == FACT_BUDGET) {
        m->budget = fact->budget;
        m->money_budget = fact->money_budget;
    }
    return 0;
}
