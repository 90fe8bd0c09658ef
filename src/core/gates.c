/* gates.c: pause, project, host, budgets, limiters, agents and failover, pace. See gates.h. */
#include "core/gates.h"

#include <string.h>

#include "core/fair.h"
#include "core/lease.h"
#include "core/policy.h"
#include "core/task.h"

bool gate_floor_open(const struct core *c, enum host_floor floor, amount *ret_is,
                     amount *ret_wanted) {
    const amount is[] = { c->host.disk_free_mb, c->host.memory_free_mb, c->host.load_milli };
    const amount wanted[] = { c->policy.host.disk_min_mb, c->policy.host.memory_min_mb,
                              c->policy.host.load_max_milli };
    *ret_is = is[floor];
    *ret_wanted = wanted[floor];
    if (*ret_is < 0 || *ret_wanted == 0)
        return true;
    return floor == HOST_LOAD ? *ret_is <= *ret_wanted : *ret_is >= *ret_wanted;
}

bool gate_host_open(const struct core *c) {
    amount is, wanted;
    return gate_floor_open(c, HOST_DISK, &is, &wanted)
           && gate_floor_open(c, HOST_MEMORY, &is, &wanted)
           && gate_floor_open(c, HOST_LOAD, &is, &wanted);
}

bool gate_tokens_open(const struct core *c, uint32_t project) {
    amount budget = c->projects[project].spec.budget;
    return budget == UNLIMITED || fair_budget_used(c, project) < budget;
}

bool gate_budget_open(const struct core *c, uint32_t project) {
    const struct money_budget *money = &c->projects[project].spec.money;
    return gate_tokens_open(c, project)
           && (!money->is_set || fair_money_used(c, project) < money->micro);
}

bool gate_agent_open(const struct core *c, uint32_t agent) {
    return c->now >= agent_opens_at(&c->agents[agent]);
}

bool gates_before_leases(const struct core *c, uint32_t project, uint32_t limiter) {
    const struct project *p = &c->projects[project];
    return !c->paused && gate_project_open(p) && gate_hours_open(c, p->spec.hours_until)
           && limiter_open(c, limiter) && gate_host_open(c) && gate_budget_open(c, 0)
           && gate_budget_open(c, project);
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
    /* Without FACT_TICK, a tick begins only when a task is ready. */
    c->tick_before.is_extra = !due || c->ready == 0;
    if (!c->tick_requested && c->tick_before.is_extra) {
        c->tick_before.is_extra = false;
        return;
    }
    c->tick_before.was_running = c->tick_running;
    c->tick_before.began = c->tick_began;
    c->tick_before.starts = c->tick_starts;
    c->pace_changed =
        c->pace_changed || !c->tick_running || c->policy.pace.tick > 0 || c->tick_starts > 0;
    c->tick_running = true;
    c->tick_requested = false;
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

/* --- limiters ----------------------------------------------------------------------------------
 *
 * Many runs hit the same limit in the same second. Counting each would double the backoff a dozen
 * times for one event, so only a run started after the current backoff began counts; older ones
 * only prolong it. After the backoff one run goes first (the probe): if the account is still
 * limited, one run is lost instead of ten. */

void limiter_hit(struct core *c, uint32_t limiter, time_ms run_started, time_ms retry_after,
                 time_ms reset_at) {
    struct limiter *l = &c->limiters[limiter];
    const struct limiter_policy *p = &l->spec.policy;
    if (p->any_success || !l->spec.in_backoff || run_started > l->spec.backoff_since) {
        if (l->spec.hits < UINT32_MAX)
            l->spec.hits++;
        l->spec.backoff_since = c->now;
        l->spec.in_backoff = true;
    }
    time_ms delay = time_max(retry_after, backoff_doubled(p->initial, l->spec.hits, p->max));
    time_ms until = time_max(reset_at, time_add(c->now, delay));
    l->spec.backoff_until = time_max(l->spec.backoff_until, until);
    c->epoch += c->list_count > 0; /* other agents may now take its tasks */
    l->spec.last_hit = c->now;
    l->changed = true;
    limiter_refresh(c, limiter);
}

void limiter_success(struct core *c, uint32_t limiter, time_ms run_started) {
    struct limiter *l = &c->limiters[limiter];
    l->spec.last_success = c->now;
    l->changed = true;
    if (!l->spec.in_backoff || (!l->spec.policy.any_success && run_started <= l->spec.last_hit))
        return;
    l->ramping = c->now >= l->spec.backoff_until;
    l->spec.ramp_since = l->spec.policy.probe ? c->now : l->spec.backoff_until;
    l->spec.in_backoff = false;
    l->spec.hits = 0;
    l->spec.backoff_until = 0;
    limiter_refresh(c, limiter);
    c->epoch++;
}

void limiter_close(struct core *c, uint32_t limiter) {
    c->limiters[limiter].spec.closed = true;
    c->epoch += c->list_count > 0;
    c->limiters[limiter].changed = true;
}

void limiter_clear(struct core *c, uint32_t limiter) {
    struct limiter *l = &c->limiters[limiter];
    l->spec.closed = false;
    l->spec.hits = 0;
    l->spec.backoff_until = 0;
    l->spec.in_backoff = l->ramping = false;
    memset(l->spec.quota, 0, sizeof(l->spec.quota));
    l->reserved_until = 0;
    l->changed = true;
    limiter_refresh(c, limiter);
    c->epoch++;
}

/* --- reserve -----------------------------------------------------------------------------------
 *
 * A provider counts what is used of an account in windows. The owner may keep a part of each for
 * other work: when no more than that is left, nothing starts until the window ends. */

/* Of the same window, providers report ends that differ a little. */
#define SAME_WINDOW MINUTES(5)

bool limiter_is_reserved(const struct core *c, const struct limiter *l, enum quota_window window) {
    const struct quota *q = &l->spec.quota[window];
    amount reserve = limiter_reserve(&l->spec.policy, window);
    return reserve > 0 && c->now < q->resets_at && q->used_milli >= 1000 - 10 * reserve;
}

enum quota_window limiter_reserved_window(const struct core *c, const struct limiter *l) {
    unsigned last = QUOTA_WINDOW_MAX;
    for (unsigned w = 0; w < QUOTA_WINDOW_MAX; w++)
        if (limiter_is_reserved(c, l, w)
            && (last == QUOTA_WINDOW_MAX
                || l->spec.quota[w].resets_at > l->spec.quota[last].resets_at))
            last = w;
    return last;
}

void limiter_refresh_reserve(struct core *c, uint32_t limiter) {
    struct limiter *l = &c->limiters[limiter];
    enum quota_window window = limiter_reserved_window(c, l);
    l->reserved_until = window == QUOTA_WINDOW_MAX ? 0 : l->spec.quota[window].resets_at;
    c->epoch++;
}

bool limiter_set_quota(struct core *c, uint32_t limiter, enum quota_window window,
                       struct quota quota, bool corrects) {
    struct limiter *l = &c->limiters[limiter];
    struct quota *last = &l->spec.quota[window];
    bool is_earlier = quota.resets_at < last->resets_at - SAME_WINDOW;
    if (quota.resets_at <= c->now || (is_earlier && !corrects))
        return false;
    if (quota.resets_at <= last->resets_at + SAME_WINDOW) { /* use only rises in a window */
        bool rises = quota.used_milli > last->used_milli;
        if (!rises && !is_earlier)
            return false;
        if (!rises)
            quota.used_milli = last->used_milli;
        if (!is_earlier)
            quota.resets_at = last->resets_at;
    }
    *last = quota;
    l->changed = true;
    limiter_refresh_reserve(c, limiter);
    return true;
}

/* The ramp after `elapsed` ms; at least one slot. */
static amount ramp_cap(const struct limiter_policy *p, time_ms elapsed) {
    if (elapsed >= p->recovery || p->max_running == UNLIMITED)
        return p->max_running;
    amount cap = elapsed <= 0 ? 0 : (amount)((__int128)p->max_running * elapsed / p->recovery);
    if (cap < 1)
        cap = 1;
    return cap < p->max_running ? cap : p->max_running;
}

bool limiter_probing(const struct limiter *l) {
    return l->spec.in_backoff && l->spec.policy.probe;
}

/* When the ramp begins; TIME_NEVER: it does not ramp. */
static time_ms ramp_begin(const struct limiter *l) {
    if (l->spec.in_backoff)
        return l->spec.policy.probe ? TIME_NEVER : l->spec.backoff_until;
    return l->ramping ? l->spec.ramp_since : TIME_NEVER;
}

void limiter_refresh(struct core *c, uint32_t limiter) {
    const struct limiter *l = &c->limiters[limiter];
    const struct limiter_policy *p = &l->spec.policy;
    amount cap = p->max_running;
    if (limiter_probing(l))
        cap = cap < 1 ? cap : 1;
    else if (ramp_begin(l) != TIME_NEVER)
        cap = ramp_cap(p, c->now - ramp_begin(l));
    if (cap != key_at(c, l->key)->cap)
        key_set_cap(c, l->key, cap);
}

time_ms limiter_rises_at(const struct core *c, uint32_t limiter) {
    const struct limiter *l = &c->limiters[limiter];
    const struct limiter_policy *p = &l->spec.policy;
    amount cap = key_at(c, l->key)->cap;
    if (ramp_begin(l) == TIME_NEVER || p->max_running == UNLIMITED || cap >= p->max_running)
        return TIME_NEVER;
    __int128 step = ((__int128)(cap + 1) * p->recovery + p->max_running - 1) / p->max_running;
    return time_add(ramp_begin(l), (time_ms)step);
}

/* --- failover ----------------------------------------------------------------------------------
 *
 * Computed per class, since all its tasks name the same agent. Lists are not followed transitively,
 * so two exhausted accounts never pass a task back and forth. Names are resolved on use: an agent
 * may name one that is added later. */

static bool failover_agent_open(const struct core *c, uint32_t agent) {
    return gate_agent_open(c, agent) && limiter_open(c, c->agents[agent].limiter);
}

/* Agent i of its list; 0: unknown. */
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
    const struct agent *a = &c->agents[agent];
    return time_max(limiter_opens_at(&c->limiters[a->limiter]), agent_opens_at(a));
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

struct runner failover_pick(const struct core *c, uint32_t agent, uint32_t task) {
    struct runner result = { agent, c->agents[agent].limiter };
    if (c->roster_count > 0 || failover_agent_open(c, agent))
        return result;
    for (unsigned i = 0; i < c->agents[agent].spec.failover_count; i++) {
        uint32_t b = other(c, agent, i);
        if (!b || !failover_agent_open(c, b))
            continue;
        struct runner with = { b, c->agents[b].limiter };
        if (key_has_slot(c, c->agents[b].key, task)
            && (!with.limiter || key_has_slot(c, c->limiters[with.limiter].key, task)))
            return with;
        if (result.agent == agent)
            result = with; /* open and full: what the task waits for if no other has a slot */
    }
    return result;
}

static struct agent_state state_of(const struct core *c, uint32_t agent) {
    const struct agent *a = &c->agents[agent];
    const struct limiter *limiter = &c->limiters[a->limiter];
    const struct limiter_spec *l = &limiter->spec;
    bool open = failover_agent_open(c, agent);
    return (struct agent_state){ .agent = a->spec.id,
                                 .limiter = l->id,
                                 .open = open,
                                 .closed = l->closed,
                                 .limited = !l->closed && c->now < l->backoff_until,
                                 .reserved = !l->closed && c->now < limiter->reserved_until,
                                 .off_hours =
                                     c->now < time_max(a->spec.hours_until, l->hours_until),
                                 .broken = c->now < a->spec.closed_until,
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
