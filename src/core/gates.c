/* gates.c: pause, project, host, budgets, breaker of an agent, pace. See gates.h. */
#include "core/gates.h"

#include "core/fair.h"
#include "core/limiter.h"

/* Above it (the load: below) a start is allowed. */
static bool floor_holds(int64_t is, int64_t wanted, bool below) {
    return is < 0 || wanted == 0 || (below ? is <= wanted : is >= wanted);
}

bool gate_floor_open(const struct core *c, enum host_floor floor, amount *ret_is,
                     amount *ret_wanted) {
    switch (floor) {
    case HOST_DISK:
        *ret_is = c->host_disk;
        *ret_wanted = c->policy.host.disk_min_mb;
        break;
    case HOST_MEMORY:
        *ret_is = c->host_memory;
        *ret_wanted = c->policy.host.memory_min_mb;
        break;
    case HOST_LOAD:
    case HOST_FLOOR_MAX:
        *ret_is = c->host_load;
        *ret_wanted = c->policy.host.load_max_milli;
        break;
    }
    return floor_holds(*ret_is, *ret_wanted, floor == HOST_LOAD);
}

bool gate_host_open(const struct core *c) {
    amount is, wanted;
    return gate_floor_open(c, HOST_DISK, &is, &wanted)
           && gate_floor_open(c, HOST_MEMORY, &is, &wanted)
           && gate_floor_open(c, HOST_LOAD, &is, &wanted);
}

bool gate_tokens_open(const struct core *c, uint32_t project) {
    amount budget = project ? c->projects[project].spec.budget : c->budget;
    return budget == UNLIMITED || fair_budget_used(c, project) < budget;
}

bool gate_budget_open(const struct core *c, uint32_t project) {
    const struct money_budget *money =
        project ? &c->projects[project].spec.money : &c->money_budget;
    return gate_tokens_open(c, project)
           && (!money->is_set || fair_money_used(c, project) < money->micro);
}

bool gate_agent_open(const struct core *c, uint32_t agent) {
    return c->now >= c->agents[agent].closed_until;
}

bool gates_before_leases(const struct core *c, uint32_t project, uint32_t limiter) {
    return !c->paused && gate_project_open(&c->projects[project]) && limiter_open(c, limiter)
           && gate_host_open(c) && gate_budget_open(c, 0) && gate_budget_open(c, project);
}

bool pace_in_force(const struct core *c) {
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
    c->tick_before.is_extra = !due || c->ready == 0;
    if (!c->tick_asked && c->tick_before.is_extra) {
        c->tick_before.is_extra = false;
        return;
    }
    c->tick_before.was_running = c->tick_running;
    c->tick_before.began = c->tick_began;
    c->tick_before.starts = c->tick_starts;
    c->pace_changed =
        c->pace_changed || !c->tick_running || c->policy.pace.tick > 0 || c->tick_starts > 0;
    c->tick_running = true;
    c->tick_asked = false;
    c->tick_began = c->now;
    c->tick_starts = 0;
    c->tick_number++;
}

void pace_end_decision(struct core *c) {
    if (!c->tick_before.is_extra)
        return;
    c->tick_before.is_extra = false;
    if (c->tick_starts > 0)
        return;
    c->tick_running = c->tick_before.was_running;
    c->tick_began = c->tick_before.began;
    c->tick_starts = c->tick_before.starts;
    c->tick_number--;
}

void pace_count_start(struct core *c) {
    c->tick_starts++;
    c->last_start = c->now;
    c->ticked = true;
    c->pace_changed = true;
}
