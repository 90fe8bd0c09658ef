/* generate_world.c: the policy, and the projects, kinds, agents and limiters of a random world.
 *
 * Small numbers on purpose: a cap of 1 or 2 and a delay of 0 or a few seconds meet each other in
 * thirty tasks; the defaults would not. */
#include <stdio.h>
#include <string.h>

#include "generate.h"

bool generate_chance(struct generator *g, unsigned percent) {
    return rng_below(&g->rng, 100) < percent;
}

static int64_t between(struct generator *g, int64_t low, int64_t high) {
    return rng_between(&g->rng, low, high);
}

amount generate_cap(struct generator *g, unsigned percent_unlimited) {
    return generate_chance(g, percent_unlimited) ? UNLIMITED
                                                 : ONE_OF(g, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 5, 5);
}

static void intern_all(sym *ret, size_t count, char letter, struct symbol_table *table) {
    for (size_t i = 0; i < count; i++) {
        char name[8];
        int n = snprintf(name, sizeof(name), "%c%zu", letter, i + 1);
        ret[i] = symbol_intern(table, name, (size_t)n);
    }
}

void names_intern(struct names *names, struct symbol_table *table) {
    intern_all(names->projects, WORLD_PROJECTS, 'P', table);
    intern_all(names->kinds, WORLD_KINDS, 'K', table);
    intern_all(names->agents, WORLD_AGENTS, 'A', table);
    intern_all(names->limiters, WORLD_LIMITERS, 'L', table);
    intern_all(names->resources, WORLD_RESOURCES, 'R', table);
    intern_all(names->workspaces, WORLD_WORKSPACES, 'W', table);
    intern_all(names->phases, WORLD_PHASES, 'S', table);
}

/* --- the policy ------------------------------------------------------------------------------ */

struct limiter_policy generate_limiter_policy(struct generator *g) {
    return (struct limiter_policy){
        .max_running = generate_cap(g, 25),
        .initial = ONE_OF(g, 1, 2000, 5000, 5000, 60000),
        .max = ONE_OF(g, 64000, 120000, 120000, 4000),
        .recovery = ONE_OF(g, 0, 30000, 30000, 1000, 600000),
        .probe = generate_chance(g, 60),
        .any_success = generate_chance(g, 25),
        .reserve = generate_chance(g, 40) ? 0 : ONE_OF(g, 1, 20, 50, 100),
        .reserve_of = { generate_chance(g, 60) ? -1 : ONE_OF(g, 0, 5, 20),
                        generate_chance(g, 70) ? -1 : ONE_OF(g, 0, 5, 20) },
    };
}

static struct retry_policy retry_row(struct generator *g) {
    return (struct retry_policy){
        .max = generate_chance(g, 10) ? UNLIMITED : ONE_OF(g, 0, 1, 1, 2, 3, 5),
        .delay = ONE_OF(g, 0, 0, 1, 1000, 1000, 30000),
        .factor_milli = ONE_OF(g, 1000, 2000, 2000, 1500),
        .cap = ONE_OF(g, 300000, 300000, 1000, 5000),
        .jitter_milli = ONE_OF(g, 0, 0, 100, 500),
    };
}

/* What the presets set, as far as the core sees it. */
static void like_a_preset(struct generator *g) {
    struct policy *p = &g->policy;
    switch (rng_below(&g->rng, 6)) {
    case 1: /* loopr */
        p->order = ORDER_BY_SCORE | ORDER_BY_CREATED;
        p->fair = FAIR_OFF;
        p->max_wait = TIME_NEVER;
        p->limiter.any_success = true;
        p->limiter.probe = false;
        break;
    case 2: /* conductor */
        p->order = 0;
        p->fair = FAIR_OFF;
        p->max_wait = TIME_NEVER;
        p->runs = UNLIMITED;
        p->count_launches = p->failed_is_unfinished = p->drain_active_only = true;
        break;
    case 3: /* gastown */
        p->order = ORDER_BY_CREATED;
        p->fair = FAIR_OFF;
        p->max_wait = TIME_NEVER;
        p->runs = between(g, 1, 3);
        p->pace.batch = 1;
        p->pace.tick = MINUTES(3);
        p->breaker.reset = TIME_NEVER;
        break;
    case 4: /* agency */
        p->order = ORDER_BY_ENQUEUED;
        p->fair = FAIR_OFF;
        p->max_wait = TIME_NEVER;
        p->runs = 1;
        p->launch_is_failed = true;
        p->lost_requeue = false;
        break;
    case 5: /* agent-queue */
        p->order = ORDER_BY_GUARANTEE | ORDER_BY_DEFICIT | ORDER_BY_POSITION | ORDER_BY_PRIORITY;
        p->fair = FAIR_DOCUMENT;
        p->guarantee = GUARANTEE_COMPLETION;
        p->max_wait = TIME_NEVER;
        p->runs = UNLIMITED;
        p->budget_counts_reserved = false;
        break;
    default:
        break;
    }
}

static void vary_order(struct generator *g) {
    struct policy *p = &g->policy;
    if (generate_chance(g, 30))
        p->order = (unsigned)rng_below(&g->rng, 256);
    if (generate_chance(g, 40))
        p->fair = (enum fair_mode)rng_below(&g->rng, FAIR_MODE_MAX);
    if (generate_chance(g, 40))
        p->guarantee = (enum guarantee)rng_below(&g->rng, GUARANTEE_MAX);
    if (generate_chance(g, 50))
        p->max_wait = ONE_OF(g, 0, 1, 5000, 30000, 60000, 600000, TIME_NEVER);
    p->run_tokens = ONE_OF(g, 0, 1, 100, 1000, 10000);
    if (generate_chance(g, 30))
        p->budget_counts_reserved = generate_chance(g, 50);
    if (generate_chance(g, 20)) {
        p->score.age_per_minute = between(g, 0, 3);
        p->score.age_max = between(g, 0, 60);
        p->score.per_depth = between(g, -5, 10);
        p->score.per_retry = between(g, 0, 10);
        p->score.retry_max = between(g, 0, 30);
        p->score.base = between(g, 0, 100);
    }
}

static void vary_limits(struct generator *g) {
    struct policy *p = &g->policy;
    if (generate_chance(g, 50))
        p->runs = generate_cap(g, 30);
    p->roots = generate_cap(g, 75);
    p->limiter = generate_limiter_policy(g);
    if (generate_chance(g, 30)) {
        p->pace.batch = generate_cap(g, 20);
        p->pace.spawn_delay = ONE_OF(g, 0, 0, 1, 1000, 30000);
        p->pace.tick = ONE_OF(g, 0, 0, 1000, 180000);
    }
    p->host.disk_min_mb = ONE_OF(g, 0, 100, 5000);
    p->host.memory_min_mb = ONE_OF(g, 0, 0, 100);
    p->host.load_max_milli = ONE_OF(g, 0, 0, 1000);
}

static void vary_endings(struct generator *g) {
    struct policy *p = &g->policy;
    for (int i = 0; i < RETRY_CLASS_MAX; i++)
        if (generate_chance(g, 60))
            p->retry[i] = retry_row(g);
    if (generate_chance(g, 20))
        p->count_launches = generate_chance(g, 50);
    if (generate_chance(g, 20))
        p->failed_is_unfinished = generate_chance(g, 50);
    if (generate_chance(g, 20))
        p->launch_is_failed = generate_chance(g, 50);
    if (generate_chance(g, 30))
        p->lost_requeue = generate_chance(g, 70);
    if (generate_chance(g, 50)) {
        p->breaker.reset = ONE_OF(g, 1000, 60000, 1800000, TIME_NEVER);
        p->breaker.reset_max = ONE_OF(g, 60000, 86400000);
        p->breaker.agent_max = generate_chance(g, 20) ? UNLIMITED : between(g, 1, 4);
    }
    p->drain = ONE_OF(g, 0, 1000, 300000, 300000);
    if (generate_chance(g, 20))
        p->drain_active_only = generate_chance(g, 50);
    if (generate_chance(g, 40))
        p->dependency_fails = generate_chance(g, 50);
}

void generate_policy(struct generator *g) {
    policy_default(&g->policy);
    like_a_preset(g);
    vary_order(g);
    vary_limits(g);
    vary_endings(g);
    if (g->families) {
        g->policy.runs = between(g, 1, 3);
        g->policy.host = (__typeof__(g->policy.host)){ 0 };
    }
    g->policy.fair_window = ONE_OF(g, 86400000, 86400000, 3600000, 28800, 600000);
}

void generate_varied(struct generator *g) {
    switch (rng_below(&g->rng, 5)) {
    case 0:
        vary_order(g);
        break;
    case 1:
        vary_endings(g);
        break;
    case 2:
        vary_limits(g);
        break;
    default:
        g->policy.runs = generate_cap(g, 20);
        break;
    }
}

/* --- projects and the rest ------------------------------------------------------------------- */

struct project_spec generate_project(struct generator *g, unsigned index) {
    return (struct project_spec){
        .id = g->names.projects[index],
        .weight_milli = ONE_OF(g, 0, 1000, 1000, 1000, 2000, 3000, 500),
        .max_running = generate_cap(g, 60),
        .budget = generate_chance(g, 85) ? UNLIMITED : ONE_OF(g, 0, 1000, 5000, 20000, 60000),
        .money = { .is_set = generate_chance(g, 12), .micro = ONE_OF(g, 0, 300, 5000, 20000) },
        .active = generate_chance(g, 96),
        .paused = generate_chance(g, 3),
        .workspaces = generate_cap(g, 75),
        .workspaces_kept = g->kept[index] != generate_chance(g, 2), /* once set, it stays */
        .review = generate_cap(g, 70),
    };
}

struct kind_spec generate_kind(struct generator *g, unsigned index) {
    return (struct kind_spec){
        .id = g->names.kinds[index],
        .base = ONE_OF(g, 40, 60, 80, 100, 100),
        .max_running = generate_cap(g, 60),
    };
}

/* Some name themselves, or one that is added later or never. */
static void fill_failover(struct generator *g, struct agent_spec *spec) {
    unsigned count = (unsigned)between(g, 1, 3);
    for (unsigned i = 0; i < count; i++) {
        sym other = g->names.agents[rng_below(&g->rng, WORLD_AGENTS)];
        if (other != spec->id || generate_chance(g, 1))
            spec->failover[spec->failover_count++] = other;
    }
}

static void fill_escalate(struct generator *g, struct agent_spec *spec) {
    unsigned count = (unsigned)between(g, 1, 3);
    for (unsigned i = 0; i < count; i++)
        spec->escalate[spec->escalate_count++] =
            generate_chance(g, 20) ? 0 : g->names.agents[rng_below(&g->rng, WORLD_AGENTS)];
}

struct agent_spec generate_agent(struct generator *g, unsigned index) {
    bool limited = g->limiters > 0 && generate_chance(g, 50);
    struct agent_spec spec = {
        .id = g->names.agents[index],
        .slots = g->roster && generate_chance(g, 80) ? (generate_chance(g, 90) ? 1 : UNLIMITED)
                                                     : generate_cap(g, 50),
        .limiter = limited ? g->names.limiters[rng_below(&g->rng, g->limiters)] : 0,
        .roster = g->roster && generate_chance(g, 90),
        .idle = generate_chance(g, 75),
        .hours = generate_chance(g, 30),
        .launch_failures = generate_chance(g, 90) ? 0 : (uint32_t)between(g, 0, 3),
        .openings = generate_chance(g, 90) ? 0 : (uint32_t)between(g, 0, 2),
        .closed_until = generate_chance(g, 93) ? 0 : DAYS(101) + between(g, 0, DAYS(1)),
    };
    if (generate_chance(g, 40))
        fill_failover(g, &spec);
    if (generate_chance(g, 40))
        fill_escalate(g, &spec);
    spec.escalate_after = (uint32_t)ONE_OF(g, 0, 1, 1, 2, 2, 3, ESCALATE_NEVER);
    return spec;
}

static void apply_limiters(struct generator *g, time_ms now) {
    for (unsigned i = 0; i < g->limiters; i++) {
        if (generate_chance(g, 5))
            continue; /* tasks that name it are refused */
        bool hit = generate_chance(g, 15);
        struct limiter_spec spec = {
            .id = g->names.limiters[i],
            .policy = generate_limiter_policy(g),
            .backoff_until = hit ? now + between(g, -5000, 60000) : 0,
            .hits = hit ? (uint32_t)between(g, 1, 4) : 0,
            .closed = generate_chance(g, 3),
            .ramp_since = !hit && generate_chance(g, 10) ? now - between(g, 0, 30000) : 0,
        };
        if (hit && generate_chance(g, 50)) {
            spec.in_backoff = true;
            spec.backoff_since = now - between(g, 0, 60000);
            spec.last_hit = spec.backoff_since + between(g, 0, 1000);
        }
        generate_applied(g, (struct fact){ .kind = FACT_LIMITER, .limiter = spec });
    }
}

static void apply_places(struct generator *g) {
    for (unsigned i = 0; i < g->resources; i++)
        if (generate_chance(g, 90)) {
            struct fact fact = { .kind = FACT_RESOURCE };
            fact.resource.id = g->names.resources[i];
            fact.resource.cap = generate_cap(g, 10);
            generate_applied(g, fact);
        }
    if (generate_chance(g, 15))
        generate_applied(
            g, (struct fact){ .kind = FACT_BUDGET, .budget = ONE_OF(g, 0, 20000, 50000, 100000) });
    if (generate_chance(g, 30)) {
        struct fact fact = { .kind = FACT_HOST };
        fact.host.disk_free_mb = ONE_OF(g, -1, 50, 10000, 10000, 10000);
        fact.host.memory_free_mb = ONE_OF(g, -1, -1, 50, 10000, 10000, 10000);
        fact.host.load_milli = ONE_OF(g, -1, 500, 500, 500, 500, 5000);
        generate_applied(g, fact);
    }
}

void generate_world(struct generator *g, uint64_t seed, struct history *history) {
    memset(g, 0, sizeof(*g));
    g->rng.state = hash_u64(seed);
    g->history = history;
    struct symbol_table table;
    symbol_table_init(&table);
    names_intern(&g->names, &table);
    symbol_table_finish(&table);

    g->projects = (unsigned)between(g, 1, WORLD_PROJECTS);
    g->kinds = (unsigned)between(g, 0, WORLD_KINDS);
    g->agents = (unsigned)between(g, 0, WORLD_AGENTS);
    g->limiters = (unsigned)between(g, 0, WORLD_LIMITERS);
    g->resources = (unsigned)between(g, 0, WORLD_RESOURCES);
    g->workspaces = generate_chance(g, 40) ? (unsigned)between(g, 1, WORLD_WORKSPACES) : 0;
    g->roster = g->agents > 0 && generate_chance(g, 30);
    g->families = generate_chance(g, 30);
    for (unsigned i = 0; i < g->projects; i++)
        g->kept[i] = generate_chance(g, 40);
    g->next_task = (task_id)between(g, 1, 5);
    g->tasks_wanted = (unsigned)ONE_OF(g, 3, 5, 8, 12, 20, 30);
    g->steps_wanted = (unsigned)ONE_OF(g, 30, 60, 100, 200, 300);
    g->decide_percent = (unsigned)ONE_OF(g, 20, 40, 60);

    time_ms now = DAYS(100) + between(g, 0, DAYS(2));
    generate_applied(g, (struct fact){ .kind = FACT_CLOCK, .now = now });
    generate_policy(g);
    generate_applied_policy(g);
    for (unsigned i = 0; i < g->projects; i++)
        generate_applied(g,
                         (struct fact){ .kind = FACT_PROJECT, .project = generate_project(g, i) });
    for (unsigned i = 0; i < g->kinds; i++)
        generate_applied(g, (struct fact){ .kind = FACT_KIND, .kind_spec = generate_kind(g, i) });
    apply_limiters(g, now);
    for (unsigned i = 0; i < g->agents; i++)
        if (generate_chance(g, 97))
            generate_applied(g, (struct fact){ .kind = FACT_AGENT, .agent = generate_agent(g, i) });
    apply_places(g);
}
