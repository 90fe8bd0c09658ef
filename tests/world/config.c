/* config.c: someone changes what holds for many: caps, pauses, budgets, floors, locks. */
#include "world.h"

static unsigned draw_index(struct world *w, unsigned count) {
    return 1 + (unsigned)rng_below(&w->rng, count);
}

static void apply_fact(struct world *w, struct fact fact) {
    (void)world_apply_fact(w, &fact);
}

/* Numbers that may change at run time; the order and the mode of shares stay. */
static void change_policy(struct world *w) {
    struct policy *p = &w->policy;
    if (swarm_has(&w->swarm, HAS_CAPS))
        p->runs = rng_between(&w->rng, world_chance(w, 10) ? 0 : 1, 8);
    if (swarm_has(&w->swarm, HAS_ROOTS))
        p->roots = rng_between(&w->rng, 1, 6);
    if (swarm_has(&w->swarm, HAS_MAX_WAIT))
        p->max_wait = world_span(w, SECONDS(5), MINUTES(20));
    if (swarm_has(&w->swarm, HAS_PACE) && p->pace.batch != UNLIMITED)
        p->pace.batch = rng_between(&w->rng, 1, 4);
    p->score.per_depth = rng_between(&w->rng, 0, 20);
    apply_fact(w, (struct fact){ .kind = FACT_POLICY, .policy = p });
}

static void change_project(struct world *w) {
    unsigned index = draw_index(w, w->projects);
    struct project_spec spec = setup_project(w, index);
    spec.paused = swarm_has(&w->swarm, PEOPLE_PAUSE) && world_chance(w, 30);
    spec.active = !swarm_has(&w->swarm, PEOPLE_PAUSE) || world_chance(w, 85);
    apply_fact(w, (struct fact){ .kind = FACT_PROJECT, .project = spec });
}

static void change_agent(struct world *w) {
    if (w->agents == 0)
        return;
    struct agent_spec *spec = &w->agent_specs[draw_index(w, w->agents)];
    spec->slots = setup_cap(w, 3);
    spec->idle = world_chance(w, 75);
    if (w->limiters && world_chance(w, 30))
        spec->limiter = world_chance(w, 70) ? sym_of(SYM_LIMITER, draw_index(w, w->limiters)) : 0;
    if (world_chance(w, 30))
        setup_failover(w, spec);
    apply_fact(w, (struct fact){ .kind = FACT_AGENT, .agent = *spec });
}

static void clear_agent(struct world *w) {
    if (w->agents > 0)
        apply_fact(w, (struct fact){ .kind = FACT_AGENT_CLEAR,
                                     .agent_clear = sym_of(SYM_AGENT, draw_index(w, w->agents)) });
}

static void change_limiter(struct world *w) {
    if (w->limiters == 0)
        return;
    unsigned l = draw_index(w, w->limiters);
    if (world_chance(w, 50)) {
        apply_fact(w, (struct fact){ .kind = FACT_LIMITER_CLEAR,
                                     .limiter_clear = sym_of(SYM_LIMITER, l) });
        return;
    }
    w->limiter_policies[l].max_running = setup_cap(w, 6);
    apply_fact(w, (struct fact){ .kind = FACT_LIMITER,
                                 .limiter = { .id = sym_of(SYM_LIMITER, l),
                                              .policy = w->limiter_policies[l] } });
}

static void change_cap(struct world *w) {
    if (w->kinds > 0 && world_chance(w, 50))
        apply_fact(w, (struct fact){ .kind = FACT_KIND,
                                     .kind_spec = { .id = sym_of(SYM_KIND, draw_index(w, w->kinds)),
                                                    .base = rng_between(&w->rng, 50, 150),
                                                    .max_running = setup_cap(w, 4) } });
    else if (w->resources > 0)
        apply_fact(
            w, (struct fact){ .kind = FACT_RESOURCE,
                              .resource = { .id = sym_of(SYM_RESOURCE, draw_index(w, w->resources)),
                                            .cap = setup_cap(w, 3) } });
}

static void change_budget(struct world *w) {
    apply_fact(w,
               (struct fact){ .kind = FACT_BUDGET,
                              .budget = world_chance(w, 30) ? UNLIMITED
                                                            : rng_between(&w->rng, 0, 1000) * 1000,
                              .money_budget = setup_money(w, 0, 3000) });
}

static void change_host(struct world *w) {
    apply_fact(w, (struct fact){ .kind = FACT_HOST,
                                 .host = { .disk_free_mb = rng_between(&w->rng, -1, 20000),
                                           .memory_free_mb = rng_between(&w->rng, -1, 3000),
                                           .load_milli = rng_between(&w->rng, -1, 6000) } });
}

static void change_lock(struct world *w) {
    sym id = sym_of(SYM_WORKSPACE, draw_index(w, w->workspaces));
    unsigned kind = (unsigned)rng_below(&w->rng, 3);
    task_id owner = w->next_task - rng_below(&w->rng, w->next_task < 20 ? w->next_task : 20);
    apply_fact(w, (struct fact){ .kind = FACT_WORKSPACE,
                                 .workspace = { .id = id,
                                                .locked_by = kind == 1 ? owner : 0,
                                                .locked = kind == 2 } });
}

static void change_outsiders(struct world *w) {
    uint32_t running = world_chance(w, 40) ? 0 : (uint32_t)rng_below(&w->rng, 4);
    unsigned what = (unsigned)rng_below(&w->rng, 3);
    if (what == 0 && w->workspaces > 0)
        change_lock(w);
    else if (what == 1 && w->limiters > 0)
        apply_fact(w, (struct fact){
                          .kind = FACT_EXTERNAL,
                          .external = { .limiter = sym_of(SYM_LIMITER, draw_index(w, w->limiters)),
                                        .running = running } });
    else
        apply_fact(w, (struct fact){
                          .kind = FACT_EXTERNAL,
                          .external = { .project = sym_of(SYM_PROJECT, draw_index(w, w->projects)),
                                        .running = running,
                                        .roots = running ? running - 1 : 0 } });
}

static void change_pause(struct world *w) {
    apply_fact(w, (struct fact){ .kind = w->books.paused ? FACT_RESUME : FACT_PAUSE });
}

static void ask_for_tick(struct world *w) {
    apply_fact(w, (struct fact){ .kind = FACT_TICK });
}

/* Usage of another program, or of a time before. */
static void apply_usage(struct world *w) {
    unsigned p = (unsigned)rng_below(&w->rng, w->projects + 1);
    apply_fact(w, (struct fact){ .kind = FACT_USAGE,
                                 .usage = { .project = sym_of(SYM_PROJECT, p),
                                            .tokens = rng_between(&w->rng, 0, 20) * 1000,
                                            .money = rng_between(&w->rng, 0, 20) * 3000,
                                            .priced = (int32_t)rng_below(&w->rng, 3),
                                            .at = w->now - world_span(w, 0, HOURS(2)) } });
}

/* The hours of something end, or begin before their time. */
static void change_hours(struct world *w) {
    struct fact fact = { .kind = FACT_HOURS };
    unsigned what = (unsigned)rng_below(&w->rng, 3);
    fact.hours.scope = LEASE_PROJECT;
    fact.hours.id = sym_of(SYM_PROJECT, draw_index(w, w->projects));
    if (what == 1 && w->agents > 0) {
        fact.hours.scope = LEASE_AGENT;
        fact.hours.id = sym_of(SYM_AGENT, draw_index(w, w->agents));
    } else if (what == 2 && w->limiters > 0) {
        fact.hours.scope = LEASE_LIMITER;
        fact.hours.id = sym_of(SYM_LIMITER, draw_index(w, w->limiters));
    }
    fact.hours.until = world_chance(w, 25) ? 0 : w->now + world_span(w, 0, HOURS(1));
    apply_fact(w, fact);
}

/* What a provider reports: rising use, a late report, the next window, the end of a window that was guessed. */
static void report_use(struct world *w) {
    struct fact fact = { .kind = FACT_LIMITER_USED };
    if (w->limiters == 0)
        return;
    fact.used.limiter = sym_of(SYM_LIMITER, draw_index(w, w->limiters));
    fact.used.window = (enum quota_window)rng_below(&w->rng, QUOTA_WINDOW_MAX);
    fact.used.quota.used_milli = (int32_t)rng_between(&w->rng, 0, 1100);
    fact.used.quota.resets_at = w->now + world_span(w, 0, HOURS(2)) - MINUTES(5);
    fact.used.corrects = world_chance(w, 30);
    apply_fact(w, fact);
}

void config_change(struct world *w) {
    static const struct {
        enum swarm_switch needs;
        void (*change)(struct world *);
    } changes[] = {
        { PEOPLE_CONFIGURE, change_policy },
        { PEOPLE_CONFIGURE, change_project },
        { PEOPLE_CONFIGURE, change_agent },
        { PEOPLE_CONFIGURE, change_limiter },
        { PEOPLE_CONFIGURE, change_cap },
        { PEOPLE_PAUSE, change_pause },
        { PEOPLE_PAUSE, change_project },
        { HAS_HOST, change_host },
        { HAS_OUTSIDERS, change_outsiders },
        { HAS_PACE, ask_for_tick },
        { HAS_BUDGETS, change_budget },
        { HAS_BUDGETS, apply_usage },
        { RUNS_CLOSE_ACCOUNTS, change_limiter },
        { RUNS_FAIL_TO_LAUNCH, clear_agent },
        { HAS_HOURS, change_hours },
        { HAS_RESERVES, report_use },
        { HAS_RESERVES, report_use },
    };
    for (unsigned tries = 0; tries < 20; tries++) {
        size_t i = rng_below(&w->rng, ARRAY_SIZE(changes));
        if (!swarm_has(&w->swarm, changes[i].needs))
            continue;
        changes[i].change(w);
        return;
    }
}
