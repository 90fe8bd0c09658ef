/* failover.c: see failover.h.
 *
 * Asked by class, not by task: all tasks of a class name the same agent. Lists are not followed from one agent to
 * the next: what is closed behind the first list stays closed, so two exhausted accounts never hand a task to and
 * fro. Names are looked up when they are needed: an agent may name one that is told later. */
#include "core/failover_internal.h"

#include "core/gates.h"
#include "core/lease.h"
#include "core/limiter.h"
#include "core/task.h"

bool failover_agent_open(const struct core *c, uint32_t agent) {
    return gate_agent_open(c, agent) && limiter_open(c, c->agents[agent].limiter);
}

/* Number i of its list, or 0: it is not known. */
static uint32_t other(const struct core *c, uint32_t agent, unsigned i) {
    return by_symbol_get(&c->agent_of, c->agents[agent].spec.failover[i]);
}

bool failover_is_covered(const struct core *c, uint32_t agent) {
    if (c->roster_count > 0)
        return false;
    for (unsigned i = 0; i < c->agents[agent].spec.failover_count; i++) {
        uint32_t b = other(c, agent, i);
        if (b && failover_agent_open(c, b))
            return true;
    }
    return false;
}

time_ms failover_opens_at(const struct core *c, uint32_t agent) {
    const struct limiter_spec *l = &c->limiters[c->agents[agent].limiter].spec;
    return l->closed ? TIME_NEVER : time_max(l->backoff_until, c->agents[agent].closed_until);
}

time_ms failover_others_open_at(const struct core *c, uint32_t agent) {
    time_ms at = TIME_NEVER;
    for (unsigned i = 0; c->roster_count == 0 && i < c->agents[agent].spec.failover_count; i++) {
        uint32_t b = other(c, agent, i);
        if (b)
            at = time_min(at, failover_opens_at(c, b));
    }
    return at;
}

static bool has_places(const struct core *c, struct runner with, uint32_t task) {
    return key_has_place(c, c->agents[with.agent].key, task)
           && (!with.limiter || key_has_place(c, c->limiters[with.limiter].key, task));
}

struct runner failover_pick(const struct core *c, uint32_t agent, uint32_t task) {
    struct runner result = { agent, c->agents[agent].limiter };
    if (c->roster_count > 0 || failover_agent_open(c, agent))
        return result;
    for (unsigned i = 0; i < c->agents[agent].spec.failover_count; i++) {
        uint32_t b = other(c, agent, i);
        if (!b || !failover_agent_open(c, b))
            continue;
        struct runner with = { b, c->agents[b].limiter };
        if (has_places(c, with, task))
            return with;
        if (result.agent == agent)
            result = with; /* open and full: that is what it waits for, if nobody has a place */
    }
    return result;
}

static struct agent_state state_of(const struct core *c, uint32_t agent) {
    const struct agent *a = &c->agents[agent];
    const struct limiter_spec *l = &c->limiters[a->limiter].spec;
    bool open = failover_agent_open(c, agent);
    return (struct agent_state){ .agent = a->spec.id,
                                 .limiter = l->id,
                                 .open = open,
                                 .closed = l->closed,
                                 .limited = !l->closed && c->now < l->backoff_until,
                                 .broken = !gate_agent_open(c, agent),
                                 .opens_at = open ? 0 : failover_opens_at(c, agent) };
}

size_t core_task_agents(const struct core *c, task_id id,
                        struct agent_state ret[FAILOVER_MAX + 1]) {
    uint32_t handle = task_find_added(c, id);
    const struct task *t = handle ? task_at(c, handle) : NULL;
    if (!t || !t->agent)
        return 0;
    size_t count = 0;
    ret[count++] = state_of(c, t->agent);
    uint32_t chooser = failover_chooser(c, t->agent, failover_is_bound(t));
    for (unsigned i = 0;
         chooser && c->roster_count == 0 && i < c->agents[chooser].spec.failover_count; i++) {
        uint32_t b = other(c, chooser, i);
        if (b)
            ret[count++] = state_of(c, b);
    }
    return count;
}
