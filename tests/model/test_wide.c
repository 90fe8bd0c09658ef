/* test_wide.c: does the core find the first task among hundreds of projects and classes?
 *
 * The histories of test_differential.c have a few projects. Here there are many, with few kinds of
 * facts: what starts is compared with the slow model after each decision. Seeds are fixed:
 *
 *   test_wide [--seeds N] [--first S] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "core/core.h"
#include "model.h"

#define SEEDS    12
#define ROUNDS   60
#define PROJECTS 60
#define KINDS    4
#define AGENTS   5
#define LIMITERS 2
#define TASKS    60
#define RUNS_MAX 64

struct wide {
    struct rng rng;
    struct core *core;
    struct model *model;
    size_t project_count;
    amount runs;
    sym projects[PROJECTS], kinds[KINDS], agents[AGENTS], limiters[LIMITERS];
    task_id next, live[TASKS * ROUNDS];
    uint32_t attempts[TASKS * ROUNDS];
    size_t live_count;
    time_ms now;
    uint64_t starts;
};

static uint64_t draw(struct wide *w, uint64_t below) {
    return rng_below(&w->rng, below);
}

static amount some_cap(struct wide *w, uint64_t most) {
    return draw(w, 2) ? UNLIMITED : (amount)draw(w, most + 1);
}

static void apply(struct wide *w, const struct fact *fact) {
    int a = core_apply(w->core, fact, NULL), b = model_apply(w->model, fact, NULL);
    if (a != b) {
        fprintf(stderr, "%s: core %d, model %d\n", fact_kind_name(fact->kind), a, b);
        exit(1);
    }
}

static void intern(struct wide *w, const char *prefix, sym *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char text[16];
        int size = snprintf(text, sizeof(text), "%s%zu", prefix, i);
        names[i] = symbol_intern(core_symbols(w->core), text, (size_t)size);
    }
}

static void apply_policy(struct wide *w) {
    static const unsigned orders[] = {
        ORDER_BY_GUARANTEE | ORDER_BY_DEFICIT | ORDER_BY_OVERDUE | ORDER_BY_PRIORITY
            | ORDER_BY_SCORE | ORDER_BY_CREATED,
        ORDER_BY_DEFICIT | ORDER_BY_OVERDUE | ORDER_BY_ENQUEUED,
        ORDER_BY_OVERDUE | ORDER_BY_PRIORITY | ORDER_BY_SCORE,
        ORDER_BY_DEFICIT | ORDER_BY_POSITION | ORDER_BY_PRIORITY,
        ORDER_BY_GUARANTEE | ORDER_BY_DEFICIT,
    };
    struct policy policy;
    policy_default(&policy);
    policy.order = orders[draw(w, sizeof(orders) / sizeof(orders[0]))];
    policy.fair = (enum fair_mode)draw(w, FAIR_MODE_MAX);
    policy.guarantee = (enum guarantee)draw(w, GUARANTEE_MAX);
    policy.max_wait = draw(w, 3) ? MINUTES(1 + draw(w, 20)) : TIME_NEVER;
    policy.runs = w->runs;
    policy.fair_window = HOURS(1 + draw(w, 4));
    apply(w, &(struct fact){ .kind = FACT_POLICY, .policy = &policy });
}

static void apply_project(struct wide *w, size_t i) {
    int64_t weight = draw(w, 4) ? 1000 : (int64_t)draw(w, 5000);
    apply(w, &(struct fact){ .kind = FACT_PROJECT,
                             .project = { .id = w->projects[i],
                                          .weight_milli = weight,
                                          .max_running = some_cap(w, 3),
                                          .budget = draw(w, 8) ? UNLIMITED : 30000,
                                          .money = { .is_set = draw(w, 8) == 0, .micro = 20000 },
                                          .active = draw(w, 10) > 0,
                                          .paused = draw(w, 10) == 0,
                                          .workspaces = UNLIMITED,
                                          .review = some_cap(w, 2) } });
}

static void apply_kind(struct wide *w, size_t i) {
    apply(w, &(struct fact){ .kind = FACT_KIND,
                             .kind_spec = { .id = w->kinds[i],
                                            .base = (int32_t)draw(w, 3) * 20,
                                            .max_running = some_cap(w, 6) } });
}

static void apply_limiter(struct wide *w, size_t i) {
    struct policy policy;
    policy_default(&policy);
    policy.limiter.max_running = some_cap(w, 6);
    apply(w, &(struct fact){ .kind = FACT_LIMITER,
                             .limiter = { .id = w->limiters[i], .policy = policy.limiter } });
}

static void apply_agent(struct wide *w, size_t i) {
    struct agent_spec agent = { .id = w->agents[i],
                                .slots = some_cap(w, 8),
                                .limiter = i < LIMITERS ? w->limiters[i] : 0 };
    if (i == 0 && draw(w, 2))
        agent.failover[agent.failover_count++] = w->agents[1];
    apply(w, &(struct fact){ .kind = FACT_AGENT, .agent = agent });
}

static void add_task(struct wide *w) {
    size_t agent = draw(w, AGENTS + 1), kind = draw(w, KINDS + 1);
    struct task_spec spec = {
        .id = w->next++,
        .project = w->projects[draw(w, w->project_count)],
        .kind = kind ? w->kinds[kind - 1] : 0,
        .agent = agent ? w->agents[agent - 1] : 0,
        .priority = (int32_t)draw(w, 3),
        .created_at = w->now - (time_ms)draw(w, MINUTES(60)),
        .ready_since = w->now - (time_ms)draw(w, MINUTES(30)),
        .iteration = 1 + (uint32_t)draw(w, 2),
        .state = TASK_WAITING,
        .parallelizable = draw(w, 5) > 0,
        .review = draw(w, 8) == 0,
        .retry_max = -1,
    };
    apply(w, &(struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
}

static void apply_hours(struct wide *w) {
    struct fact fact = { .kind = FACT_HOURS };
    fact.hours.until = w->now + (time_ms)draw(w, MINUTES(2));
    fact.hours.scope = draw(w, 2) ? LEASE_PROJECT : LEASE_LIMITER;
    fact.hours.id = fact.hours.scope == LEASE_PROJECT ? w->projects[draw(w, w->project_count)]
                                                      : w->limiters[draw(w, LIMITERS)];
    apply(w, &fact);
}

static void change_something(struct wide *w) {
    switch (draw(w, 12)) {
    case 0:
        apply_kind(w, draw(w, KINDS));
        break;
    case 1:
        apply_limiter(w, draw(w, LIMITERS));
        break;
    case 2:
        apply_agent(w, draw(w, AGENTS));
        break;
    case 3:
        apply_hours(w);
        break;
    case 4:
        if (draw(w, 4) == 0)
            apply_policy(w);
        break;
    default:
        apply_project(w, draw(w, w->project_count));
        break;
    }
}

static void end_run(struct wide *w, size_t i) {
    static const enum outcome outcomes[] = { OUTCOME_OK, OUTCOME_OK, OUTCOME_FAILED,
                                             OUTCOME_LIMITED };
    struct fact end = { .kind = FACT_RUN_ENDED, .task = w->live[i], .attempt = w->attempts[i] };
    end.ended.outcome = outcomes[draw(w, 4)];
    end.ended.output = true;
    end.ended.tokens = draw(w, 4) ? (int64_t)draw(w, 9000) : -1;
    end.ended.money = draw(w, 2) ? (int64_t)draw(w, 9000) : -1;
    apply(w, &end);
    w->live_count--;
    w->live[i] = w->live[w->live_count];
    w->attempts[i] = w->attempts[w->live_count];
}

static const struct order *next_start(const struct order *orders, size_t count, size_t *at) {
    while (*at < count && orders[*at].kind != ORDER_START)
        ++*at;
    return *at < count ? &orders[(*at)++] : NULL;
}

/* Compares what starts, in order. */
static bool decide(struct wide *w) {
    size_t count, model_count, i = 0, j = 0;
    const struct order *orders = core_decide(w->core, &count);
    const struct order *wanted = model_decide(w->model, &model_count);
    for (;;) {
        const struct order *a = next_start(orders, count, &i);
        const struct order *b = next_start(wanted, model_count, &j);
        if (!a && !b)
            return true;
        if (!a || !b || a->task != b->task || a->agent != b->agent) {
            fprintf(stderr, "core starts %" PRIu64 ", model %" PRIu64 "\n", a ? a->task : 0,
                    b ? b->task : 0);
            return false;
        }
        w->live[w->live_count] = a->task;
        w->attempts[w->live_count++] = a->attempt;
        w->starts++;
    }
}

static bool play_round(struct wide *w) {
    w->now += (time_ms)draw(w, draw(w, 3) ? SECONDS(10) : MINUTES(3));
    apply(w, &(struct fact){ .kind = FACT_CLOCK, .now = w->now });
    if (draw(w, 3) == 0)
        change_something(w);
    if (draw(w, 2))
        add_task(w);
    for (size_t i = w->live_count; i-- > 0;)
        if (draw(w, 2))
            end_run(w, i);
    if (draw(w, 8) == 0) { /* what is cached must be copied */
        struct core *copy = core_copy(w->core);
        core_free(w->core);
        w->core = copy;
    }
    return decide(w);
}

static void set_up(struct wide *w) {
    /* Either many projects, or many classes in each. */
    w->project_count = draw(w, 2) ? PROJECTS : 1 + draw(w, 4);
    w->runs = draw(w, 2) ? 2 : RUNS_MAX;
    intern(w, "p", w->projects, PROJECTS);
    intern(w, "k", w->kinds, KINDS);
    intern(w, "a", w->agents, AGENTS);
    intern(w, "l", w->limiters, LIMITERS);
    apply(w, &(struct fact){ .kind = FACT_CLOCK, .now = w->now });
    apply_policy(w);
    for (size_t i = 0; i < w->project_count; i++)
        apply_project(w, i);
    for (size_t i = 0; i < KINDS; i++)
        apply_kind(w, i);
    for (size_t i = 0; i < LIMITERS; i++)
        apply_limiter(w, i);
    for (size_t i = 0; i < AGENTS; i++)
        apply_agent(w, i);
    for (int i = 0; i < TASKS; i++)
        add_task(w);
}

static bool play(uint64_t seed, uint64_t *starts) {
    struct wide *w = xcalloc(1, sizeof(*w));
    bool same = true;
    w->rng = (struct rng){ seed };
    w->core = core_new();
    w->model = model_new();
    w->next = 1;
    w->now = DAYS(20000);
    set_up(w);
    for (int round = 0; same && round < ROUNDS; round++)
        same = play_round(w);
    if (!same)
        fprintf(stderr, "seed %" PRIu64 " differs\n", seed);
    *starts += w->starts;
    core_free(w->core);
    model_free(w->model);
    free(w);
    return same;
}

static uint64_t number(int argc, char **argv, const char *name, uint64_t otherwise) {
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return strtoull(argv[i + 1], NULL, 10);
    return otherwise;
}

int main(int argc, char **argv) {
    uint64_t seeds = number(argc, argv, "--seeds", SEEDS), first = number(argc, argv, "--first", 1);
    uint64_t starts = 0, differ = 0;
    for (uint64_t seed = first; seed < first + seeds; seed++)
        differ += !play(seed, &starts);
    printf("%" PRIu64 " histories, %" PRIu64 " starts: %" PRIu64 " differ\n", seeds, starts,
           differ);
    return differ || starts == 0;
}
