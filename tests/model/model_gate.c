/* model_gate.c: what stops a task (rules, 2).
 *
 * The slots taken on a key are counted for each query, from the tasks themselves. */
#include <assert.h>

#include "model_claim.h"
#include "model_failover.h"
#include "model_lend.h"

/* --- agents ---------------------------------------------------------------------------------- */

bool model_has_roster(const struct model *m) {
    for (size_t i = 0; i < m->agents_count; i++)
        if (m->agents[i].roster)
            return true;
    return false;
}

/* Applied as idle, allowed to run, and not given a task since. */
bool model_is_idle(const struct model *m, const struct agent_spec *agent) {
    if (!agent->roster || !agent->idle || agent->slots == 0)
        return false;
    for (size_t i = 0; i < m->tasks_count; i++)
        if (model_has_run(&m->tasks[i]) && m->tasks[i].run.agent == agent->id)
            return false;
    return true;
}

sym model_limiter_of(const struct model *m, const struct model_task *t, sym agent) {
    if (t->s.limiter)
        return t->s.limiter;
    const struct agent_spec *a = agent ? model_agent(m, agent) : NULL;
    return a ? a->limiter : 0;
}

bool model_agent_open(const struct model *m, sym agent) {
    for (size_t i = 0; i < m->breakers_count; i++)
        if (m->breakers[i].agent == agent)
            return m->now >= m->breakers[i].closed_until;
    return true;
}

bool model_agent_in_hours(const struct model *m, sym agent) {
    const struct agent_spec *a = agent ? model_agent(m, agent) : NULL;
    return !a || m->now >= a->hours_until;
}

/* --- keys ------------------------------------------------------------------------------------ */

bool model_key_same(const struct model_key *a, const struct model_key *b) {
    return a->kind == b->kind && a->name == b->name && a->project == b->project
           && a->task_kind == b->task_kind;
}

/* The keys on which a task needs a slot to start with this agent, in the order of the gates. */
size_t model_keys(const struct model *m, const struct model_task *t, sym agent,
                  struct model_key ret[MODEL_KEYS_MAX]) {
    size_t n = 0;
    sym project = t->s.project, limiter = model_limiter_of(m, t, agent);
    if (!t->s.parallelizable)
        ret[n++] = (struct model_key){ LEASE_SERIAL, t->s.serial, project, t->s.kind };
    if (t->s.workspace)
        ret[n++] = (struct model_key){ .kind = LEASE_WORKSPACE, .name = t->s.workspace };
    if (!t->keeps_workspaces)
        ret[n++] = (struct model_key){ .kind = LEASE_WORKSPACES, .name = project };
    ret[n++] = (struct model_key){ .kind = LEASE_PROJECT, .name = project };
    if (t->s.kind)
        ret[n++] = (struct model_key){ .kind = LEASE_KIND, .name = t->s.kind };
    if (agent)
        ret[n++] = (struct model_key){ .kind = LEASE_AGENT, .name = agent };
    else if (model_has_roster(m))
        ret[n++] = (struct model_key){ .kind = LEASE_AGENTS };
    if (limiter)
        ret[n++] = (struct model_key){ .kind = LEASE_LIMITER, .name = limiter };
    assert(t->s.resource_count <= MODEL_KEYS_MAX - 12);
    for (size_t i = 0; i < t->s.resource_count; i++)
        ret[n++] = (struct model_key){ .kind = LEASE_RESOURCE, .name = t->resources[i] };
    if (t->s.review && !t->keeps_review)
        ret[n++] = (struct model_key){ .kind = LEASE_REVIEW, .name = project };
    if (!t->s.parent && !t->keeps_roots)
        ret[n++] = (struct model_key){ .kind = LEASE_ROOTS };
    ret[n++] = (struct model_key){ .kind = LEASE_RUNS };
    return n;
}

/* An agent of the roster has one slot while it is idle, unless its cap is 0; with a roster, others have none. */
static amount agent_cap(const struct model *m, sym name) {
    const struct agent_spec *a = model_agent(m, name);
    if (!model_has_roster(m))
        return a ? a->slots : UNLIMITED;
    return a && model_is_idle(m, a) ? 1 : 0;
}

static amount resource_cap(const struct model *m, sym name) {
    for (size_t i = 0; i < m->resources_count; i++)
        if (m->resources[i].id == name)
            return m->resources[i].cap;
    return UNLIMITED;
}

amount model_key_cap(const struct model *m, const struct model_key *key) {
    const struct kind_spec *kind;
    switch (key->kind) {
    case LEASE_SERIAL:
    case LEASE_WORKSPACE:
        return 1;
    case LEASE_WORKSPACES:
        return model_project(m, key->name)->spec.workspaces;
    case LEASE_PROJECT:
        return model_project(m, key->name)->spec.max_running;
    case LEASE_KIND:
        kind = model_kind(m, key->name);
        return kind ? kind->max_running : UNLIMITED;
    case LEASE_AGENT:
        return agent_cap(m, key->name);
    case LEASE_LIMITER:
        return model_limiter_cap(m, key->name);
    case LEASE_RESOURCE:
        return resource_cap(m, key->name);
    case LEASE_REVIEW:
        return model_project(m, key->name)->spec.review;
    case LEASE_ROOTS:
        return m->policy.roots;
    case LEASE_RUNS:
        return m->policy.runs;
    case LEASE_TASK:
    case LEASE_AGENTS:
    case LEASE_KIND_MAX:
        break;
    }
    return UNLIMITED;
}

static bool has_resource(const struct model_task *t, sym name) {
    for (size_t i = 0; i < t->s.resource_count; i++)
        if (t->resources[i] == name)
            return true;
    return false;
}

/* Does this task hold a slot on the key? The table of rules, 2. */
bool model_holds(const struct model *m, const struct model_task *t, const struct model_key *key) {
    bool has_run = model_has_run(t) && !model_has_lent(m, t, model_lend_bit(key->kind));
    switch (key->kind) {
    case LEASE_RUNS:
        return has_run;
    case LEASE_PROJECT:
        return has_run && t->s.project == key->name;
    case LEASE_KIND:
        return has_run && t->s.kind == key->name;
    case LEASE_AGENT:
        return has_run && t->run.agent == key->name;
    case LEASE_RESOURCE:
        return has_run && has_resource(t, key->name);
    case LEASE_LIMITER:
        return has_run && t->s.phase != PHASE_VALIDATING && t->run.limiter == key->name;
    case LEASE_SERIAL:
        return has_run && !t->s.parallelizable && t->s.project == key->project
               && t->s.serial == key->name && t->s.kind == key->task_kind;
    case LEASE_WORKSPACE:
        return has_run && t->s.workspace == key->name;
    case LEASE_WORKSPACES:
        return (has_run || t->keeps_workspaces) && t->s.project == key->name;
    case LEASE_REVIEW:
        return t->keeps_review && t->s.project == key->name;
    case LEASE_ROOTS:
        return t->keeps_roots;
    case LEASE_TASK:
    case LEASE_AGENTS:
    case LEASE_KIND_MAX:
        break;
    }
    return false;
}

/* A lock from outside is a holder, except for the task that locked it. */
bool model_locked_outside(const struct model *m, sym name, const struct model_task *asking) {
    for (size_t i = 0; i < m->workspaces_count; i++) {
        const struct model_workspace *w = &m->workspaces[i];
        if (w->id == name && (w->locked || w->locked_by))
            return !w->locked_by || w->locked_by != asking->s.id;
    }
    return false;
}

amount model_key_used(const struct model *m, const struct model_key *key,
                      const struct model_task *asking) {
    amount used = 0;
    for (size_t i = 0; i < m->tasks_count; i++)
        used += model_holds(m, &m->tasks[i], key);
    if (key->kind == LEASE_WORKSPACE)
        used += model_locked_outside(m, key->name, asking);
    if (key->kind == LEASE_PROJECT)
        used += model_project(m, key->name)->external;
    if (key->kind == LEASE_LIMITER)
        used += model_limiter(m, key->name)->external;
    if (key->kind == LEASE_RUNS)
        used += m->external;
    if (key->kind == LEASE_RUNS)
        for (size_t i = 0; i < m->projects_count; i++)
            used += m->projects[i].external;
    if (key->kind == LEASE_ROOTS)
        used += m->external_roots;
    if (key->kind == LEASE_ROOTS)
        for (size_t i = 0; i < m->projects_count; i++)
            used += m->projects[i].external_roots;
    return used;
}

/* Is there an agent of the roster for a task that names none? Idle, not closed, and if the limiter
 * of the agent is that of the task, this one open and with a place. */
static bool some_agent_can_take(const struct model *m, const struct model_task *t) {
    for (size_t i = 0; i < m->agents_count; i++) {
        const struct agent_spec *agent = &m->agents[i];
        struct model_key limiter = { .kind = LEASE_LIMITER, .name = agent->limiter };
        if (!model_is_idle(m, agent) || !model_agent_open(m, agent->id)
            || !model_agent_in_hours(m, agent->id))
            continue;
        if (t->s.limiter)
            return true;
        if (!agent->limiter
            || (model_limiter_open(m, agent->limiter) && model_limiter_in_hours(m, agent->limiter)
                && !model_lacks(m, &limiter, t)))
            return true;
    }
    return false;
}

bool model_lacks(const struct model *m, const struct model_key *key,
                 const struct model_task *asking) {
    amount cap = model_key_cap(m, key);
    return cap != UNLIMITED && model_key_used(m, key, asking) >= cap;
}

bool model_has_place(const struct model *m, const struct model_key *key,
                     const struct model_task *t) {
    amount cap = model_key_cap(m, key);
    if (cap == UNLIMITED)
        return true;
    amount used = model_key_used(m, key, t);
    if (model_reserved_for_another(m, key, t))
        used++;
    return used < cap;
}

/* --- gates ----------------------------------------------------------------------------------- */

static bool host_open(const struct model *m) {
    if (m->policy.host.disk_min_mb && m->disk_free_mb >= 0
        && m->disk_free_mb < m->policy.host.disk_min_mb)
        return false;
    if (m->policy.host.memory_min_mb && m->memory_free_mb >= 0
        && m->memory_free_mb < m->policy.host.memory_min_mb)
        return false;
    return !m->policy.host.load_max_milli || m->load_milli < 0
           || m->load_milli <= m->policy.host.load_max_milli;
}

/* The gates behind which waiting does not count. */
bool model_world_open(const struct model *m, const struct model_clock *clock) {
    const struct model_project *p = model_project(m, clock->project);
    bool closed = !model_agent_in_hours(m, clock->agent)
                  || (clock->limiter
                      && (!model_limiter_open(m, clock->limiter)
                          || !model_limiter_in_hours(m, clock->limiter)));
    return !m->paused && p->spec.active && !p->spec.paused && m->now >= p->spec.hours_until
           && (!closed || model_is_covered(m, clock->agent)) && host_open(m) && model_budget_open(m)
           && model_project_budget_open(m, p);
}

static bool dependencies_met(const struct model *m, const struct model_task *t) {
    for (size_t i = 0; i < t->s.depends_on_count; i++)
        if (!model_dependency_met(m, &t->dependencies[i]))
            return false;
    return true;
}

bool model_stopped_before_leases(const struct model *m, const struct model_task *t, sym agent,
                                 struct model_block *ret) {
    const struct model_project *p = model_project(m, t->s.project);
    bool held = t->s.state == TASK_HELD, breaker = held && t->s.hold == HOLD_BREAKER;
    sym limiter = model_limiter_of(m, t, agent);
    *ret = (struct model_block){ 0 };
    if (m->paused)
        ret->gate = GATE_PAUSED;
    else if (!p->spec.active || p->spec.paused)
        *ret = (struct model_block){ .gate = GATE_PROJECT, .key = t->s.project };
    else if (held && !breaker)
        ret->gate = GATE_HELD;
    else if (!dependencies_met(m, t))
        ret->gate = GATE_DEPENDENCY;
    else if (!model_parent_met(m, t))
        ret->gate = GATE_PARENT;
    else if (t->s.artifact_missing)
        ret->gate = GATE_ARTIFACT;
    else if (t->s.probe_closed)
        ret->gate = GATE_PROBE;
    else if (m->now < p->spec.hours_until)
        *ret = (struct model_block){ .gate = GATE_HOURS, .key = t->s.project };
    else if (!model_agent_in_hours(m, agent))
        *ret = (struct model_block){ .gate = GATE_HOURS, .key = agent };
    else if (limiter && !model_limiter_in_hours(m, limiter))
        *ret = (struct model_block){ .gate = GATE_HOURS, .key = limiter };
    else if (breaker)
        ret->gate = GATE_BREAKER;
    else if (!model_agent_open(m, agent))
        *ret = (struct model_block){ .gate = GATE_BREAKER, .key = agent };
    else if (limiter && !model_limiter_open(m, limiter))
        *ret = (struct model_block){ .gate = GATE_LIMITER, .key = limiter };
    else if (!host_open(m))
        ret->gate = GATE_HOST;
    else if (!model_budget_open(m))
        ret->gate = GATE_BUDGET;
    else if (!model_project_budget_open(m, p))
        *ret = (struct model_block){ .gate = GATE_PROJECT_BUDGET, .key = t->s.project };
    else
        return false;
    return true;
}

bool model_pace_open(const struct model *m) {
    if (m->policy.runs == UNLIMITED)
        return true;
    amount in_tick = 0;
    for (size_t i = 0; i < m->starts_count; i++) {
        in_tick += m->starts[i].tick == m->tick;
        if (m->now < time_add(m->starts[i].at, m->policy.pace.spawn_delay))
            return false;
    }
    return in_tick < m->policy.pace.batch;
}

bool model_stopped(const struct model *m, const struct model_task *t, sym agent,
                   struct model_block *ret) {
    if (model_stopped_before_leases(m, t, agent, ret))
        return true;
    struct model_key keys[MODEL_KEYS_MAX];
    size_t count = model_keys(m, t, agent, keys);
    for (size_t i = 0; i < count; i++) {
        if (keys[i].kind == LEASE_AGENTS ? some_agent_can_take(m, t)
                                         : model_has_place(m, &keys[i], t))
            continue;
        *ret = (struct model_block){ GATE_LEASE, keys[i].kind, keys[i].name, keys[i].project,
                                     keys[i].task_kind };
        return true;
    }
    *ret = (struct model_block){ .gate = GATE_PACE };
    return !model_pace_open(m);
}

bool model_blocked(const struct model *m, task_id task, struct model_block *ret) {
    const struct model_task *t = model_find(m, task);
    bool waits =
        t && (t->s.state == TASK_WAITING || t->s.state == TASK_READY || t->s.state == TASK_HELD);
    return waits && model_stopped(m, t, model_runner(m, t), ret);
}
