/* setup.c: the policy, the projects and everything else there is when a world begins. */
#include "world.h"

#define BEGINNING INT64_C(1700000000000)

amount setup_cap(struct world *w, amount highest) {
    if (!swarm_has(&w->swarm, HAS_CAPS) || world_chance(w, 20))
        return UNLIMITED;
    return rng_between(&w->rng, world_chance(w, 5) ? 0 : 1, highest);
}

static struct retry_policy draw_retry(struct world *w, amount most) {
    time_ms delay = world_chance(w, 30) ? 0 : world_span(w, 1, MINUTES(1));
    return (struct retry_policy){
        .max = (amount)rng_below(&w->rng, (uint64_t)most + 1),
        .delay = delay,
        .factor_milli = rng_between(&w->rng, 1000, 3000),
        .cap = delay + world_span(w, 0, MINUTES(4)),
        .jitter_milli = world_chance(w, 50) ? rng_between(&w->rng, 0, 300) : 0,
    };
}

static void draw_order(struct world *w, struct policy *p) {
    if (swarm_has(&w->swarm, HAS_DOCUMENT_SHARES)) {
        p->fair = FAIR_DOCUMENT;
        p->order = ORDER_BY_GUARANTEE | ORDER_BY_DEFICIT | ORDER_BY_POSITION | ORDER_BY_PRIORITY
                   | ORDER_BY_CREATED;
        p->guarantee = GUARANTEE_COMPLETION;
        p->budget_counts_reserved = world_chance(w, 50);
    } else if (world_chance(w, 25)) {
        p->order = (unsigned)rng_below(&w->rng, 1u << 8);
        p->guarantee = (enum guarantee)rng_below(&w->rng, GUARANTEE_MAX);
        p->fair = p->order & ORDER_BY_DEFICIT ? FAIR_RESERVE : FAIR_OFF;
    }
    static const time_ms windows[] = { SECONDS(20), MINUTES(3), HOURS(1), HOURS(24) };
    p->fair_window = windows[rng_below(&w->rng, ARRAY_SIZE(windows))];
    p->max_wait =
        swarm_has(&w->swarm, HAS_MAX_WAIT) ? world_span(w, SECONDS(10), MINUTES(20)) : TIME_NEVER;
    if (swarm_has(&w->swarm, HAS_MAX_WAIT))
        p->order |= ORDER_BY_OVERDUE;
}

static void draw_strict_rules(struct world *w, struct policy *p) {
    if (!swarm_has(&w->swarm, HAS_STRICT_RULES))
        return;
    p->count_launches = world_chance(w, 40);
    p->failed_is_unfinished = world_chance(w, 40);
    p->launch_is_failed = world_chance(w, 40);
    p->lost_requeue = world_chance(w, 50);
    p->drain_active_only = world_chance(w, 50);
    p->dependency_fails = world_chance(w, 50);
    if (world_chance(w, 40))
        p->breaker.reset = TIME_NEVER;
}

static void draw_policy(struct world *w) {
    struct policy *p = &w->policy;
    policy_default(p);
    draw_order(w, p);
    p->runs = swarm_has(&w->swarm, HAS_CAPS) ? rng_between(&w->rng, 1, 6)
              : world_chance(w, 30)          ? UNLIMITED
                                             : rng_between(&w->rng, 4, 12);
    p->roots = swarm_has(&w->swarm, HAS_ROOTS) ? rng_between(&w->rng, 1, 5) : UNLIMITED;
    for (unsigned i = 0; i < RETRY_CLASS_MAX; i++)
        p->retry[i] = draw_retry(w, i == RETRY_UNFINISHED ? 8 : 4);
    p->breaker.reset = world_span(w, SECONDS(10), MINUTES(10));
    p->breaker.reset_max = p->breaker.reset + world_span(w, 0, MINUTES(50));
    p->breaker.agent_max = rng_between(&w->rng, 1, 5);
    draw_strict_rules(w, p);
    if (swarm_has(&w->swarm, HAS_PACE)) {
        p->pace.batch = world_chance(w, 70) ? rng_between(&w->rng, 1, 3) : UNLIMITED;
        p->pace.spawn_delay = world_chance(w, 60) ? world_span(w, 1, SECONDS(5)) : 0;
        p->pace.tick = world_chance(w, 60) ? world_span(w, 1, SECONDS(30)) : 0;
    }
    p->host.memory_min_mb = world_chance(w, 50) ? 500 : 0;
    p->host.load_max_milli = world_chance(w, 50) ? 4000 : 0;
    p->drain = world_chance(w, 15) ? 0 : world_span(w, SECONDS(1), MINUTES(5));
}

/* About what its tokens would be worth, or none. */
struct money_budget setup_money(struct world *w, int64_t least, int64_t most) {
    if (!swarm_has(&w->swarm, HAS_BUDGETS) || !world_chance(w, 40))
        return (struct money_budget){ 0 };
    return (struct money_budget){ .is_set = true,
                                  .micro = rng_between(&w->rng, least, most) * 1000 };
}

struct project_spec setup_project(struct world *w, unsigned index) {
    bool budget = swarm_has(&w->swarm, HAS_BUDGETS) && world_chance(w, 60);
    bool places = swarm_has(&w->swarm, HAS_KEPT_PLACES);
    bool review = swarm_has(&w->swarm, HAS_REVIEW) && world_chance(w, 60);
    return (struct project_spec){
        .id = sym_of(SYM_PROJECT, index),
        .weight_milli = swarm_has(&w->swarm, HAS_WEIGHTS)
                            ? rng_between(&w->rng, world_chance(w, 10) ? 0 : 100, 5000)
                            : 1000,
        .max_running = setup_cap(w, 4),
        .budget = budget ? rng_between(&w->rng, 20, 400) * 1000 : UNLIMITED,
        .money = setup_money(w, 60, 1200),
        .active = true,
        .workspaces = places && world_chance(w, 70) ? rng_between(&w->rng, 1, 5) : UNLIMITED,
        .workspaces_kept = places && index % 2 == 0,
        .review = review ? rng_between(&w->rng, 1, 3) : UNLIMITED,
    };
}

/* Also of agents that come later in the list: the order does not matter. */
void setup_failover(struct world *w, struct agent_spec *spec) {
    spec->failover_count = 0;
    for (unsigned i = world_chance(w, 50) ? 0 : w->agents; i < w->agents; i++) {
        sym other = sym_of(SYM_AGENT, 1 + (unsigned)rng_below(&w->rng, w->agents));
        if (other != spec->id)
            spec->failover[spec->failover_count++] = other;
    }
}

/* To agents that exist, or to another model of the same one. */
static void setup_steps(struct world *w, struct agent_spec *spec) {
    unsigned count = world_chance(w, 50) ? (unsigned)rng_between(&w->rng, 1, 3) : 0;
    for (unsigned i = 0; i < count; i++)
        spec->escalate[spec->escalate_count++] =
            world_chance(w, 20) ? 0
                                : sym_of(SYM_AGENT, 1 + (unsigned)rng_below(&w->rng, w->agents));
    spec->escalate_after = (uint32_t)rng_between(&w->rng, 0, 3);
}

static void draw_limiters_and_agents(struct world *w) {
    for (unsigned l = 1; l <= w->limiters; l++)
        w->limiter_policies[l] = (struct limiter_policy){
            .max_running = setup_cap(w, 6),
            .initial = world_span(w, SECONDS(1), SECONDS(20)),
            .max = world_span(w, SECONDS(20), MINUTES(2)),
            .recovery = world_chance(w, 70) ? world_span(w, 1, MINUTES(2)) : 0,
            .probe = world_chance(w, 60),
            .any_success = world_chance(w, 25),
            .reserve = swarm_has(&w->swarm, HAS_RESERVES) ? rng_between(&w->rng, 0, 60) : 0,
            .reserve_of = { -1, world_chance(w, 30) ? rng_between(&w->rng, 0, 30) : -1 },
        };
    for (unsigned a = 1; a <= w->agents; a++)
        w->agent_specs[a] = (struct agent_spec){
            .id = sym_of(SYM_AGENT, a),
            .slots = setup_cap(w, 3),
            .limiter = w->limiters && world_chance(w, 60)
                           ? sym_of(SYM_LIMITER, 1 + (unsigned)rng_below(&w->rng, w->limiters))
                           : 0,
            .roster = swarm_has(&w->swarm, HAS_ROSTER),
            .idle = true,
            .hours = swarm_has(&w->swarm, HAS_HOURS) && world_chance(w, 50),
        };
    for (unsigned a = 1; a <= w->agents; a++)
        setup_failover(w, &w->agent_specs[a]);
    for (unsigned a = 1; a <= w->agents; a++)
        setup_steps(w, &w->agent_specs[a]);
}

static void draw_faults(struct world *w) {
    static const struct {
        enum swarm_switch needs;
        enum outcome outcome;
    } all[] = {
        { RUNS_FAIL_TO_LAUNCH, OUTCOME_LAUNCH },
        { RUNS_FAIL, OUTCOME_FAILED },
        { RUNS_STAY_UNFINISHED, OUTCOME_UNFINISHED },
        { RUNS_ARE_INVALID, OUTCOME_INVALID },
        { RUNS_TIME_OUT, OUTCOME_TIMEOUT },
        { RUNS_ARE_LIMITED, OUTCOME_LIMITED },
        { RUNS_CLOSE_ACCOUNTS, OUTCOME_CLOSED },
        { RUNS_SPEND_BUDGETS, OUTCOME_BUDGET },
        { RUNS_ARE_LOST, OUTCOME_LOST },
        { RUNS_ARE_CANCELED, OUTCOME_CANCELED },
        { RUNS_CONFLICT, OUTCOME_CONFLICT },
        { RUNS_ARE_DENIED, OUTCOME_DENIED },
        { RUNS_ASK, OUTCOME_ASKED },
        { RUNS_WAIT_FOR_CHECKS, OUTCOME_PENDING },
    };
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        if (swarm_has(&w->swarm, all[i].needs))
            w->faults[w->fault_count++] = all[i].outcome;
    }
    w->fault_percent = (unsigned)rng_below(&w->rng, 80);
}

void setup_draw(struct world *w) {
    const struct swarm *s = &w->swarm;
    w->now = BEGINNING + (time_ms)rng_below(&w->rng, DAYS(10));
    w->projects = 1 + (unsigned)rng_below(&w->rng, PROJECTS);
    w->kinds = (unsigned)rng_below(&w->rng, KINDS + 1);
    w->agents = swarm_has(s, HAS_AGENTS) ? 1 + (unsigned)rng_below(&w->rng, AGENTS) : 0;
    w->limiters = swarm_has(s, HAS_LIMITERS) ? 1 + (unsigned)rng_below(&w->rng, LIMITERS) : 0;
    w->resources = swarm_has(s, HAS_RESOURCES) ? 1 + (unsigned)rng_below(&w->rng, RESOURCES) : 0;
    w->workspaces = swarm_has(s, HAS_WISHES) ? 1 + (unsigned)rng_below(&w->rng, WORKSPACES) : 0;
    draw_policy(w);
    draw_limiters_and_agents(w);
    draw_faults(w);
    w->run_longest = world_span(w, SECONDS(10), MINUTES(10));
    w->arrival_every = world_span(w, SECONDS(1), MINUTES(10));
    w->person_every = world_span(w, SECONDS(5), MINUTES(10));
    w->config_every = world_span(w, SECONDS(10), HOURS(1));
    w->crash_every = world_span(w, MINUTES(1), MINUTES(30));
}

static void plan_everything(struct world *w) {
    const struct swarm *s = &w->swarm;
    world_plan(w, HAPPENS_ARRIVAL, 0);
    world_plan(w, HAPPENS_PERSON, w->person_every);
    if (swarm_has(s, PEOPLE_CONFIGURE) || swarm_has(s, PEOPLE_PAUSE) || swarm_has(s, HAS_HOST)
        || swarm_has(s, HAS_OUTSIDERS) || swarm_has(s, HAS_HOURS) || swarm_has(s, HAS_RESERVES))
        world_plan(w, HAPPENS_CONFIG, w->config_every);
    if (swarm_has(s, RUNS_ARE_LIMITED))
        world_plan(w, HAPPENS_OUTAGE, SECONDS(30));
    if (swarm_has(s, CLOCK_JUMPS))
        world_plan(w, HAPPENS_CLOCK, MINUTES(5));
    if (swarm_has(s, DAEMON_CRASHES))
        world_plan(w, HAPPENS_CRASH, w->crash_every);
}

static void apply_fact(struct world *w, struct fact fact) {
    if (world_apply_fact(w, &fact) != 0)
        breach_set(&w->breach, "I1", "%s was refused", fact_kind_name(fact.kind));
}

void setup_apply(struct world *w) {
    apply_fact(w, (struct fact){ .kind = FACT_POLICY, .policy = &w->policy });
    apply_fact(w, (struct fact){ .kind = FACT_CLOCK, .now = w->now });
    for (unsigned p = 1; p <= w->projects; p++)
        apply_fact(w, (struct fact){ .kind = FACT_PROJECT, .project = setup_project(w, p) });
    for (unsigned l = 1; l <= w->limiters; l++)
        apply_fact(w, (struct fact){ .kind = FACT_LIMITER,
                                     .limiter = { .id = sym_of(SYM_LIMITER, l),
                                                  .policy = w->limiter_policies[l] } });
    for (unsigned a = 1; a <= w->agents; a++)
        apply_fact(w, (struct fact){ .kind = FACT_AGENT, .agent = w->agent_specs[a] });
    for (unsigned k = 1; k <= w->kinds; k++)
        apply_fact(w, (struct fact){ .kind = FACT_KIND,
                                     .kind_spec = { .id = sym_of(SYM_KIND, k),
                                                    .base = rng_between(&w->rng, 50, 150),
                                                    .max_running = setup_cap(w, 4) } });
    for (unsigned r = 1; r <= w->resources; r++)
        apply_fact(w, (struct fact){
                          .kind = FACT_RESOURCE,
                          .resource = { .id = sym_of(SYM_RESOURCE, r), .cap = setup_cap(w, 3) } });
    if (swarm_has(&w->swarm, HAS_BUDGETS) && world_chance(w, 50))
        apply_fact(w, (struct fact){ .kind = FACT_BUDGET,
                                     .budget = rng_between(&w->rng, 50, 1000) * 1000,
                                     .money_budget = setup_money(w, 150, 3000) });
    books_end_turn(&w->books);
    plan_everything(w);
}
