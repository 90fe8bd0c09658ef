/* escalate.c: stronger agents for tasks whose results were not accepted. See escalate.h. */
#include "core/escalate.h"

#include "base/hash.h"
#include "core/task.h"

static struct escalation *escalation_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->escalations, handle);
}

bool escalation_same(const void *ctx, uint32_t handle, const void *id) {
    return escalation_at(ctx, handle)->task == *(const task_id *)id;
}

static struct escalation *find(const struct core *c, task_id task) {
    uint32_t handle =
        c->escalations.used > 0 ? id_map_find(&c->escalation_map, hash_sequence(task), &task) : 0;
    return handle ? escalation_at(c, handle) : NULL;
}

static struct escalation *find_or_add(struct core *c, task_id task) {
    struct escalation *found = find(c, task);
    if (found)
        return found;
    uint32_t handle = slab_alloc(&c->escalations);
    found = escalation_at(c, handle);
    found->task = task;
    id_map_add(&c->escalation_map, hash_sequence(task), handle);
    return found;
}

void escalate_add(struct core *c, uint32_t task, const struct escalation_spec *spec) {
    find_or_add(c, task_at(c, task)->id)->spec = *spec;
}

void escalate_spec(const struct core *c, task_id task, struct escalation_spec *ret) {
    const struct escalation *found = find(c, task);
    *ret = found ? found->spec : (struct escalation_spec){ 0 };
}

void escalate_drop(struct core *c, task_id task) {
    uint32_t handle =
        c->escalations.used > 0 ? id_map_find(&c->escalation_map, hash_sequence(task), &task) : 0;
    if (!handle)
        return;
    id_map_remove(&c->escalation_map, hash_sequence(task), &task);
    slab_free(&c->escalations, handle);
}

static void set_agent(struct core *c, struct task *t, uint32_t agent) {
    t->agent = agent;
    if (!(t->flags & TASK_OWN_LIMITER))
        t->limiter = c->agents[agent].limiter;
}

void escalate_reset(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    struct escalation *found = find(c, t->id);
    if (!found || (found->spec.step == 0 && found->spec.failed == 0))
        return;
    if (found->spec.step > 0)
        set_agent(c, t, by_symbol_get(&c->agent_of, found->spec.own_agent));
    found->spec.step = 0;
    found->spec.own_agent = 0;
    found->spec.failed = 0;
    task_changed(c, task);
    if (found->spec.count == 0 && found->spec.after == 0)
        escalate_drop(c, t->id);
}

/* The list that applies to a task, and the failures before each step. */
struct plan {
    const sym *agents;
    unsigned count;
    uint32_t after;
};

static struct plan plan_of(const struct core *c, const struct task *t,
                           const struct escalation_spec *spec) {
    uint32_t own = spec->step > 0 ? by_symbol_get(&c->agent_of, spec->own_agent) : t->agent;
    const struct agent_spec *agent = &c->agents[own].spec;
    struct plan plan = { spec->agents, spec->count,
                         spec->after ? spec->after : agent->escalate_after };
    if (spec->count == 0 && !(t->flags & TASK_BOUND)) {
        plan.agents = agent->escalate;
        plan.count = agent->escalate_count;
    }
    if (plan.after == 0 || plan.after == ESCALATE_NEVER)
        plan.count = 0;
    return plan;
}

/* The next step whose agent is known; 0: none is left. */
static unsigned next_step(const struct core *c, const struct plan *plan, unsigned step) {
    for (unsigned i = step; i < plan->count; i++)
        if (!plan->agents[i] || by_symbol_get(&c->agent_of, plan->agents[i]))
            return i + 1;
    return 0;
}

static void take_step(struct core *c, uint32_t task, struct escalation_spec *spec, unsigned step,
                      sym agent, enum reason reason) {
    struct task *t = task_at(c, task);
    sym before = c->agents[t->agent].spec.id;
    if (spec->step == 0)
        spec->own_agent = before;
    if (agent)
        set_agent(c, t, by_symbol_get(&c->agent_of, agent));
    struct order *o = order_push(c, ORDER_ESCALATE, task);
    o->step = step;
    o->agent = c->agents[t->agent].spec.id;
    o->instead_of = before;
    o->reason = reason;
    o->failures = spec->failed;
    spec->step = (uint16_t)step;
    spec->failed = 0;
}

void escalate_count_failure(struct core *c, uint32_t task, enum reason reason) {
    const struct task *t = task_at(c, task);
    const struct escalation *known = find(c, t->id);
    struct escalation_spec spec = known ? known->spec : (struct escalation_spec){ 0 };
    struct plan plan = plan_of(c, t, &spec);
    unsigned step = next_step(c, &plan, spec.step);
    if (step == 0)
        return;
    if (spec.failed < UINT16_MAX)
        spec.failed++;
    if (spec.failed >= plan.after)
        take_step(c, task, &spec, step, plan.agents[step - 1], reason);
    find_or_add(c, t->id)->spec = spec;
    task_changed(c, task);
}
