/* gates.c: pause, project, host, budgets, breaker of an agent, pace. See gates.h. */
#include "core/gates.h"

#include "core/fair.h"
#include "core/limiter.h"

bool gate_host_open(const struct core *c) {
    if (c->host_disk >= 0 && c->host_disk < c->policy.host.disk_min_mb)
        return false;
    if (c->host_memory >= 0 && c->host_memory < c->policy.host.memory_min_mb)
        return false;
    return c->host_load < 0 || c->policy.host.load_max_milli == 0
           || c->host_load <= c->policy.host.load_max_milli;
}

bool gate_budget_open(const struct core *c, uint32_t project) {
    amount budget = project ? c->projects[project].spec.budget : c->budget;
    return budget == UNLIMITED || fair_budget_used(c, project) < budget;
}

bool gate_agent_open(const struct core *c, uint32_t agent) {
    return c->now >= c->agents[agent].closed_until;
}

bool gates_before_leases(const struct core *c, uint32_t project, uint32_t limiter) {
    return !c->paused && gate_project_open(&c->projects[project]) && limiter_open(c, limiter)
           && gate_host_open(c) && gate_budget_open(c, 0) && gate_budget_open(c, project);
}

static bool pace_in_force(const struct core *c) {
    return c->policy.runs != UNLIMITED
           && (c->policy.pace.batch != UNLIMITED || c->policy.pace.spawn_delay > 0);
}

bool pace_open(const struct core *c) {
    if (!pace_in_force(c))
        return true;
    if (c->tick_starts >= c->policy.pace.batch)
        return false;
    return !c->ticked || c->now >= time_add(c->last_start, c->policy.pace.spawn_delay);
}

time_ms pace_opens_at(const struct core *c) {
    time_ms at = c->now;
    if (c->policy.pace.spawn_delay > 0 && c->ticked)
        at = time_max(at, time_add(c->last_start, c->policy.pace.spawn_delay));
    if (c->tick_starts >= c->policy.pace.batch && c->policy.pace.tick > 0)
        at = time_max(at, time_add(c->tick_began, c->policy.pace.tick));
    return c->policy.pace.batch == 0 ? TIME_NEVER : at;
}

void pace_begin_decision(struct core *c) {
    bool due = !c->tick_running || c->policy.pace.tick == 0
               || c->now >= time_add(c->tick_began, c->policy.pace.tick);
    /* By itself a tick begins only when something waits. */
    if (!c->tick_asked && (!due || c->ready == 0))
        return;
    c->tick_running = true;
    c->tick_asked = false;
    c->tick_began = c->now;
    c->tick_starts = 0;
    c->tick_number++;
}

void pace_count_start(struct core *c) {
    c->tick_starts++;
    c->last_start = c->now;
    c->ticked = true;
}
