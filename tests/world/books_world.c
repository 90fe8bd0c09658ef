/* books_world.c: facts about everything but tasks and runs. */
#include "books_internal.h"

/* Each pair of project and limiter has a clock that goes while nothing but places can stop a task; those with an agent
 * that names others or has hours have their own, which also goes while one of the others is open. */
static void advance_wait_clocks(struct books *b, time_ms by) {
    if (b->paused || !gate_host(b) || !gate_budget(b, 0))
        return;
    for (unsigned p = 1; p <= PROJECTS; p++) {
        if (!b->applied[KEY_PROJECT + p] || !gate_project(b, p) || !gate_budget(b, p)
            || b->now < b->project[p].spec.hours_until)
            continue;
        for (unsigned l = 0; l <= LIMITERS; l++) {
            for (unsigned a = 0; a <= AGENTS; a++)
                if ((limiter_is_open(b, l) && gate_hours(b, a, l)) || books_is_covered(b, a))
                    b->wait_clock[p][l][a] += by;
        }
    }
}

static void applied_clock(struct books *b, time_ms now) {
    if (b->clock_applied)
        advance_wait_clocks(b, now - b->now);
    b->clock_applied = true;
    b->now = now;
    share_clock(b);
}

static void applied_policy(struct books *b, const struct policy *policy) {
    b->policy = *policy;
    if (policy->order & ORDER_BY_SCORE)
        b->policy.order = (b->policy.order | ORDER_BY_CREATED) & ~(unsigned)ORDER_BY_ENQUEUED;
    b->cap[KEY_RUNS] = policy->runs;
    b->cap[KEY_ROOTS] = policy->roots;
}

static void applied_project(struct books *b, const struct project_spec *spec) {
    unsigned p = index_of(SYM_PROJECT, spec->id);
    time_ms hours_until = b->project[p].spec.hours_until;
    b->project[p].spec = *spec;
    b->project[p].spec.hours_until = hours_until;
    b->cap[KEY_PROJECT + p] = spec->max_running;
    b->cap[KEY_PLACES + p] = spec->workspaces;
    b->cap[KEY_REVIEW + p] = spec->review;
    b->applied[KEY_PROJECT + p] = b->applied[KEY_PLACES + p] = b->applied[KEY_REVIEW + p] = true;
}

static void applied_agent(struct books *b, const struct agent_spec *spec) {
    unsigned a = index_of(SYM_AGENT, spec->id);
    struct agent_book *agent = &b->agent[a];
    unsigned limiter = index_of(SYM_LIMITER, spec->limiter);
    struct agent_book before = *agent, after = before;
    after.limiter = (uint8_t)limiter;
    after.other_count = spec->failover_count;
    after.has_hours = spec->hours;
    after.step_count = spec->escalate_count;
    after.steps_after = spec->escalate_after;
    for (unsigned i = 0; i < spec->escalate_count; i++)
        after.steps[i] = (uint8_t)index_of(SYM_AGENT, spec->escalate[i]);
    for (unsigned i = 0; i < spec->failover_count; i++)
        after.others[i] = (uint8_t)index_of(SYM_AGENT, spec->failover[i]);
    for (size_t i = 1; i < b->count; i++) {
        struct row *row = &b->rows[i];
        if (row->agent != a)
            continue;
        *agent = before;
        time_ms apart = -books_wait_clock(b, row);
        *agent = after;
        apart += books_wait_clock(b, row);
        row->ready_clock += apart; /* it has waited as long as before */
        row->ready_clock_before += apart;
    }
    *agent = after;
    b->roster += (unsigned)spec->roster - (unsigned)agent->roster;
    agent->roster = spec->roster;
    agent->idle = spec->idle;
    b->cap[KEY_AGENT + a] = spec->roster && spec->slots > 1 ? 1 : spec->slots;
    b->outside[KEY_AGENT + a] = spec->roster && !spec->idle ? 1 : 0;
    b->applied[KEY_AGENT + a] = true;
}

static void applied_hours(struct books *b, const struct fact *fact) {
    if (fact->hours.scope == LEASE_PROJECT)
        b->project[index_of(SYM_PROJECT, fact->hours.id)].spec.hours_until = fact->hours.until;
    else if (fact->hours.scope == LEASE_AGENT)
        b->agent[index_of(SYM_AGENT, fact->hours.id)].hours_until = fact->hours.until;
    else
        b->limiter[index_of(SYM_LIMITER, fact->hours.id)].hours_until = fact->hours.until;
}

static void applied_external(struct books *b, const struct fact *fact) {
    unsigned p = index_of(SYM_PROJECT, fact->external.project);
    unsigned l = index_of(SYM_LIMITER, fact->external.limiter);
    if (l)
        b->outside[KEY_LIMITER + l] = fact->external.running;
    if (l && !p)
        return;
    b->outside[KEY_RUNS] += (amount)fact->external.running - b->project[p].external;
    b->project[p].external = fact->external.running;
    b->outside[KEY_ROOTS] += (amount)fact->external.roots - b->project[p].external_roots;
    b->project[p].external_roots = fact->external.roots;
    if (!p)
        return;
    b->outside[KEY_PROJECT + p] = fact->external.running;
}

static void applied_workspace(struct books *b, const struct fact *fact) {
    unsigned w = index_of(SYM_WORKSPACE, fact->workspace.id);
    bool locked = fact->workspace.locked || fact->workspace.locked_by;
    b->outside[KEY_WORKSPACE + w] = locked ? 1 : 0;
    b->locked_by[w] = fact->workspace.locked_by;
    b->applied[KEY_WORKSPACE + w] = true;
}

static void applied_usage(struct books *b, const struct fact *fact) {
    share_record(
        b, index_of(SYM_PROJECT, fact->usage.project), fact->usage.at,
        &(struct bucket){ .share = fact->usage.tokens,
                          .reported = fact->usage.tokens,
                          .reports = fact->usage.tokens ? (uint32_t)fact->usage.completions : 0,
                          .starts = (uint32_t)fact->usage.starts,
                          .completions = (uint32_t)fact->usage.completions,
                          .money = fact->usage.money,
                          .priced = (uint32_t)fact->usage.priced,
                          .unpriced = (uint32_t)fact->usage.unpriced });
}

static void applied_kind(struct books *b, const struct kind_spec *spec) {
    unsigned k = index_of(SYM_KIND, spec->id);
    b->kind_base[k] = spec->base;
    b->cap[KEY_KIND + k] = spec->max_running;
    b->applied[KEY_KIND + k] = true;
}

static void applied_resource(struct books *b, const struct fact *fact) {
    unsigned r = index_of(SYM_RESOURCE, fact->resource.id);
    b->cap[KEY_RESOURCE + r] = fact->resource.cap;
    b->applied[KEY_RESOURCE + r] = true;
}

static void applied_host(struct books *b, const struct fact *fact) {
    b->disk = fact->host.disk_free_mb;
    b->memory = fact->host.memory_free_mb;
    b->load = fact->host.load_milli;
}

void books_applied_world(struct books *b, const struct fact *fact) {
    if (fact->kind == FACT_CLOCK)
        applied_clock(b, fact->now);
    else if (fact->kind == FACT_POLICY)
        applied_policy(b, fact->policy);
    else if (fact->kind == FACT_PROJECT)
        applied_project(b, &fact->project);
    else if (fact->kind == FACT_KIND)
        applied_kind(b, &fact->kind_spec);
    else if (fact->kind == FACT_AGENT)
        applied_agent(b, &fact->agent);
    else if (fact->kind == FACT_LIMITER)
        limiter_applied(b, &fact->limiter);
    else if (fact->kind == FACT_RESOURCE)
        applied_resource(b, fact);
    else if (fact->kind == FACT_WORKSPACE)
        applied_workspace(b, fact);
    else if (fact->kind == FACT_HOST)
        applied_host(b, fact);
    else if (fact->kind == FACT_BUDGET)
        b->budget = fact->budget, b->money_budget = fact->money_budget;
    else if (fact->kind == FACT_USAGE)
        applied_usage(b, fact);
    else if (fact->kind == FACT_EXTERNAL)
        applied_external(b, fact);
    else if (fact->kind == FACT_PAUSE || fact->kind == FACT_RESUME)
        b->paused = fact->kind == FACT_PAUSE;
    else if (fact->kind == FACT_TICK)
        b->tick_requested = true;
    else if (fact->kind == FACT_HOURS)
        applied_hours(b, fact);
    else if (fact->kind == FACT_LIMITER_USED)
        limiter_was_used(b, fact);
    else if (fact->kind == FACT_LIMITER_CLEAR)
        limiter_cleared(b, index_of(SYM_LIMITER, fact->limiter_clear));
    else if (fact->kind == FACT_AGENT_CLEAR)
        agent_cleared(b, index_of(SYM_AGENT, fact->agent_clear));
}
