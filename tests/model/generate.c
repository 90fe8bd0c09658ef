/* generate.c: a random history, one step at a time.
 *
 * Each kind of fact has a weight and a function that fills it. Late, doubled and mistaken facts are
 * part of life and are drawn as well: the core must refuse or ignore exactly what the rules say. */
#include "generate.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void history_init(struct history *h) {
    memset(h, 0, sizeof(*h));
}

void history_finish(struct history *h) {
    free(h->steps);
    arena_finish(&h->arena);
    memset(h, 0, sizeof(*h));
}

void history_add(struct history *h, const struct step *step) {
    h->steps = xgrow(h->steps, &h->capacity, h->count + 1, sizeof(h->steps[0]));
    h->steps[h->count++] = *step;
}

void generate_applied(struct generator *g, struct fact fact) {
    history_add(g->history, &(struct step){ .fact = fact });
}

void generate_applied_policy(struct generator *g) {
    struct policy *copy = arena_alloc(&g->history->arena, sizeof(*copy));
    *copy = g->policy;
    generate_applied(g, (struct fact){ .kind = FACT_POLICY, .policy = copy });
}

static int64_t between(struct generator *g, int64_t low, int64_t high) {
    return rng_between(&g->rng, low, high);
}

/* --- choosing a task -------------------------------------------------------------------------- */

#define ANY    0xffffu
#define BIT(s) (1u << TASK_##s)
#define LIVE   (BIT(STARTING) | BIT(RUNNING))
#define WAITS  (BIT(WAITING) | BIT(READY) | BIT(HELD))
#define FINAL  (BIT(DONE) | BIT(FAILED) | BIT(CANCELED) | BIT(INVALIDATED))

/* A task in one of the states, if there is one. */
static bool some_task(struct generator *g, const struct model *m, unsigned states,
                      struct model_view *ret) {
    size_t count = model_task_count(m), found = 0;
    for (size_t i = 0; i < count; i++) {
        struct model_view view = model_task_at(m, i);
        if ((states & (1u << view.state)) && rng_below(&g->rng, ++found) == 0)
            *ret = view;
    }
    return found > 0;
}

/* Mostly a task for which the fact makes sense; sometimes any, or one that is not there. */
static task_id task_for(struct generator *g, const struct model *m, unsigned states) {
    struct model_view view;
    if (generate_chance(g, 3))
        return g->next_task + (task_id)between(g, 0, 3);
    if (some_task(g, m, generate_chance(g, 90) ? states : ANY, &view)
        || some_task(g, m, ANY, &view))
        return view.id;
    return g->next_task;
}

/* --- a new task ------------------------------------------------------------------------------ */

static sym some_name(struct generator *g, const sym *names, unsigned count, unsigned percent) {
    if (count == 0 || !generate_chance(g, percent))
        return 0;
    return names[rng_below(&g->rng, count)];
}

/* Numbers of tasks that are there, or will come. */
static size_t some_tasks(struct generator *g, const struct model *m, task_id self, task_id *ret,
                         size_t most) {
    size_t wanted =
               generate_chance(g, g->families ? 97 : 70) ? 0 : (size_t)between(g, 1, (int64_t)most),
           n = 0;
    for (size_t i = 0; i < wanted; i++) {
        struct model_view view = { .id = g->next_task + (task_id)between(g, 1, 3) };
        if (generate_chance(g, 94))
            some_task(g, m, ANY, &view);
        bool known = view.id == self && !generate_chance(g, 5);
        for (size_t k = 0; k < n; k++)
            known = known || ret[k] == view.id;
        if (!known)
            ret[n++] = view.id;
    }
    return n;
}

static enum task_state some_state(struct generator *g) {
    static const enum task_state rare[] = { TASK_DRAFT,    TASK_DRAFT,      TASK_HELD,
                                            TASK_HELD,     TASK_DONE,       TASK_RUNNING,
                                            TASK_RUNNING,  TASK_STARTING,   TASK_FAILED,
                                            TASK_CANCELED, TASK_INVALIDATED };
    if (generate_chance(g, g->families ? 95 : 80))
        return generate_chance(g, 50) ? TASK_WAITING : TASK_READY;
    return rare[rng_below(&g->rng, ARRAY_SIZE(rare))];
}

static void fill_live(struct generator *g, struct task_spec *s, time_ms now) {
    s->attempt = (uint32_t)between(g, 1, 3);
    s->phase = generate_chance(g, 70) ? PHASE_WORKING : PHASE_VALIDATING;
    if (generate_chance(g, 20))
        s->phase = PHASE_WAITING;
    s->started_at = generate_chance(g, 50) ? 0 : s->created_at;
    if (s->state == TASK_RUNNING && generate_chance(g, 20))
        s->phase = generate_chance(g, 50) ? PHASE_DRAINING : PHASE_STOPPING;
    if (generate_chance(g, 10))
        s->stop = (enum stop_request)rng_below(&g->rng, STOP_REQUEST_MAX);
    if (s->phase == PHASE_DRAINING && generate_chance(g, 50))
        s->not_before = now + between(g, -1000, 60000);
    s->run_agent = some_name(g, g->names.agents, g->agents, s->agent ? 10 : 20);
    s->run_limiter = some_name(g, g->names.limiters, g->limiters, 10);
    s->run_unlimited = generate_chance(g, 3);
}

static void fill_state(struct generator *g, struct task_spec *s, time_ms now) {
    s->state = some_state(g);
    s->iteration = generate_chance(g, 80) ? 1 : (uint32_t)between(g, 2, 8);
    if (s->state == TASK_HELD) {
        s->hold = (enum hold)between(g, HOLD_PERSON, HOLD_MAX - 1);
        bool for_people = s->hold == HOLD_REVIEW || s->hold == HOLD_EXTERNAL;
        if (!for_people && (s->hold != HOLD_PERSON || generate_chance(g, 50)))
            s->not_before = now + between(g, -1000, 60000);
    }
    if (generate_chance(g, 20))
        s->keeps = (unsigned)rng_below(&g->rng, KEEP_ALL + 1);
    if (s->state == TASK_STARTING || s->state == TASK_RUNNING)
        fill_live(g, s, now);
    else if (generate_chance(g, 10))
        s->attempt = (uint32_t)between(g, 0, 3);
    if (generate_chance(g, 10)) {
        s->failures = (uint16_t)between(g, 0, 3);
        s->launch_failures = (uint16_t)between(g, 0, 3);
        s->losses = (uint16_t)between(g, 0, 2);
        s->restarts = (uint16_t)between(g, 0, 3);
        s->breaker_openings = (uint16_t)between(g, 0, 2);
    }
}

/* A list of its own, perhaps with agents that are added later or never; perhaps some steps up. */
static void fill_escalation(struct generator *g, struct task_spec *s) {
    struct escalation_spec *x = &s->escalation;
    if (generate_chance(g, 50)) {
        unsigned count = (unsigned)between(g, 1, 3);
        for (unsigned i = 0; i < count; i++)
            x->agents[x->count++] =
                generate_chance(g, 20) ? 0 : g->names.agents[rng_below(&g->rng, WORLD_AGENTS)];
    }
    if (generate_chance(g, 60))
        x->after = (uint16_t)ONE_OF(g, 1, 1, 2, 2, 3, ESCALATE_NEVER);
    if (!generate_chance(g, 15))
        return;
    x->step = (uint16_t)between(g, 0, 2);
    x->failed = (uint16_t)between(g, 0, 2);
    if (x->step > 0)
        x->own_agent = some_name(g, g->names.agents, g->agents, 80);
}

static void fill_wishes(struct generator *g, struct task_spec *s) {
    s->kind = some_name(g, g->names.kinds, g->kinds, 70);
    s->agent = some_name(g, g->names.agents, g->agents, g->roster ? 20 : 50);
    s->limiter = some_name(g, g->names.limiters, g->limiters, 40);
    s->workspace = some_name(g, g->names.workspaces, g->workspaces, 40);
    s->serial = some_name(g, g->names.phases, WORLD_PHASES, 50);
    s->bound = generate_chance(g, 10);
    s->parallelizable = generate_chance(g, g->policy.serial ? 30 : 80);
    s->review = generate_chance(g, 15);
    s->artifact_missing = generate_chance(g, 6);
    s->probe_closed = generate_chance(g, 5);
    s->until = generate_chance(g, 40) ? g->policy.until : (enum until)rng_below(&g->rng, UNTIL_MAX);
    s->retry_max = generate_chance(g, 85) ? -1 : (int32_t)between(g, 0, 3);
    s->priority = generate_chance(g, 60) ? 100 : (int32_t)between(g, 98, 102);
    if (generate_chance(g, 30))
        fill_escalation(g, s);
}

void generate_applied_task(struct generator *g, const struct model *m) {
    time_ms now = model_now(m);
    struct task_spec *s = arena_alloc(&g->history->arena, sizeof(*s));
    s->id = g->next_task++;
    if (generate_chance(g, 2))
        s->id = task_for(g, m, ANY); /* the same number again */
    s->project = g->names.projects[rng_below(&g->rng, g->projects)];
    fill_wishes(g, s);
    fill_state(g, s, now);
    if (generate_chance(g, 1))
        s->project = g->names.projects[WORLD_PROJECTS - 1]; /* perhaps never applied */

    struct model_view parent;
    if (generate_chance(g, g->families ? 90 : 30)
        && some_task(g, m, g->families ? LIVE : ANY, &parent)) {
        s->parent = parent.id;
        s->parent_iteration = generate_chance(g, 60) ? 0 : parent.iteration;
        if (generate_chance(g, 10))
            s->parent_iteration = (uint32_t)between(g, 0, parent.iteration + 1);
    } else if (generate_chance(g, 4))
        s->parent = g->next_task + (task_id)between(g, 0, 2);
    s->parent_gate = generate_chance(g, g->families ? 10 : 50) ? PARENT_DONE : PARENT_NONE;

    task_id *dependencies = arena_alloc(&g->history->arena, 3 * sizeof(task_id));
    s->depends_on_count = some_tasks(g, m, s->id, dependencies, 3);
    s->depends_on = dependencies;
    sym *resources = arena_alloc(&g->history->arena, WORLD_RESOURCES * sizeof(sym));
    for (unsigned i = 0; i < g->resources; i++)
        if (generate_chance(g, 25))
            resources[s->resource_count++] = g->names.resources[i];
    s->resources = resources;
    s->created_at = now - (generate_chance(g, 60) ? between(g, 0, 3) : between(g, 0, HOURS(1)));
    s->ready_since = generate_chance(g, 70) ? now : now - between(g, 0, HOURS(1));
    generate_applied(g, (struct fact){ .kind = FACT_TASK_ADDED, .spec = s });
}

/* --- time ------------------------------------------------------------------------------------ */

/* A moment at which something ends by itself, or one before or after it. */
static time_ms moment(struct generator *g, const struct model *m) {
    struct model_view view;
    time_ms at = 0;
    if (generate_chance(g, 30) && g->limiters > 0)
        at = model_backoff_until(m, g->names.limiters[rng_below(&g->rng, g->limiters)]);
    else if (some_task(g, m, BIT(HELD) | BIT(RUNNING), &view))
        at = view.not_before;
    if (at <= 0 || at > model_now(m) + DAYS(2))
        return model_now(m);
    return at + between(g, -1, 1);
}

static void draw_clock(struct generator *g, const struct model *m) {
    static const time_ms most[] = { 0, 1, 1000, 10000, 60000, 60000, 600000, 3600000, 7200000 };
    time_ms now = model_now(m);
    time_ms t = now + between(g, 0, most[rng_below(&g->rng, ARRAY_SIZE(most))]);
    if (generate_chance(g, 40))
        t = moment(g, m);
    if (generate_chance(g, 1))
        t = now + HOURS(between(g, 1, 30));
    generate_applied(g, (struct fact){ .kind = FACT_CLOCK, .now = t });
}

/* --- runs ------------------------------------------------------------------------------------ */

static bool some_run(struct generator *g, const struct model *m, unsigned states,
                     struct fact *fact) {
    struct model_view view;
    if (!some_task(g, m, generate_chance(g, 96) ? states : ANY, &view))
        return false;
    fact->task = generate_chance(g, 1) ? g->next_task : view.id;
    fact->attempt = view.attempt;
    if (generate_chance(g, 4))
        fact->attempt = (uint32_t)between(g, 0, view.attempt + 1);
    return true;
}

static void draw_started(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_RUN_STARTED };
    if (some_run(g, m, BIT(STARTING), &fact))
        generate_applied(g, fact);
}

static void draw_refused(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_ORDER_REFUSED };
    if (some_run(g, m, BIT(STARTING), &fact))
        generate_applied(g, fact);
}

static void draw_phase(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_RUN_PHASE };
    fact.phase = generate_chance(g, 60) ? PHASE_VALIDATING : PHASE_WORKING;
    if (some_run(g, m, LIVE, &fact))
        generate_applied(g, fact);
}

static void draw_wait(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_RUN_PHASE, .phase = PHASE_WAITING };
    if (some_run(g, m, LIVE, &fact))
        generate_applied(g, fact);
}

static void draw_tokens(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_RUN_TOKENS };
    fact.tokens =
        generate_chance(g, 90) ? between(g, 0, generate_chance(g, 50) ? 3000 : 20000) : -1;
    fact.money = generate_chance(g, 60) ? between(g, 0, 3000) : -1;
    fact.expected = generate_chance(g, 30) ? between(g, 1, 4000) : 0;
    if (some_run(g, m, LIVE, &fact))
        generate_applied(g, fact);
}

static time_ms some_reset(struct generator *g, const struct model *m) {
    return generate_chance(g, 70) ? 0 : model_now(m) + between(g, -1000, 300000);
}

static void draw_limited(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_RUN_LIMITED };
    fact.limited.retry_after = generate_chance(g, 60) ? 0 : between(g, 0, 200000);
    fact.limited.reset_at = some_reset(g, m);
    if (some_run(g, m, LIVE, &fact))
        generate_applied(g, fact);
}

static void draw_ended(struct generator *g, const struct model *m) {
    static const enum outcome outcomes[] = {
        OUTCOME_OK,          OUTCOME_OK,       OUTCOME_OK,         OUTCOME_OK,
        OUTCOME_OK,          OUTCOME_OK,       OUTCOME_OK,         OUTCOME_OK,
        OUTCOME_UNFINISHED,  OUTCOME_INVALID,  OUTCOME_FAILED,     OUTCOME_FAILED,
        OUTCOME_LAUNCH,      OUTCOME_LAUNCH,   OUTCOME_TIMEOUT,    OUTCOME_LIMITED,
        OUTCOME_LIMITED,     OUTCOME_CLOSED,   OUTCOME_BUDGET,     OUTCOME_LOST,
        OUTCOME_CANCELED,    OUTCOME_CONFLICT, OUTCOME_UNFINISHED, OUTCOME_UNMERGED,
        OUTCOME_NEW_SESSION, OUTCOME_STUCK,    OUTCOME_DENIED,     OUTCOME_ASKED,
        OUTCOME_PENDING,     OUTCOME_TAKEN,
    };
    struct fact fact = { .kind = FACT_RUN_ENDED };
    fact.ended.outcome = outcomes[rng_below(&g->rng, ARRAY_SIZE(outcomes))];
    fact.ended.tokens = generate_chance(g, 30) ? -1 : between(g, 0, 5000);
    fact.ended.money = generate_chance(g, 40) ? -1 : between(g, 0, 2000);
    fact.ended.output = generate_chance(g, 30);
    fact.ended.before_agent = generate_chance(g, 30);
    fact.ended.iterates = fact.ended.outcome == OUTCOME_CONFLICT && generate_chance(g, 50);
    fact.ended.pause = generate_chance(g, 70) ? 0 : between(g, 0, 120000);
    fact.ended.workspace = some_name(g, g->names.workspaces, g->workspaces, 20);
    if (fact.ended.outcome == OUTCOME_LIMITED)
        fact.ended.retry_after = generate_chance(g, 60) ? 0 : between(g, 0, 200000);
    if (fact.ended.outcome == OUTCOME_LIMITED || fact.ended.outcome == OUTCOME_BUDGET)
        fact.ended.reset_at = some_reset(g, m);
    if (some_run(g, m, LIVE, &fact))
        generate_applied(g, fact);
}

/* --- what people ask for --------------------------------------------------------------------- */

static void draw_asked(struct generator *g, const struct model *m) {
    static const struct {
        enum fact_kind kind;
        unsigned states, weight;
    } asked[] = {
        { FACT_SLING, BIT(DRAFT), 6 },
        { FACT_HOLD, WAITS, 4 },
        { FACT_RELEASE, BIT(HELD), 5 },
        { FACT_SPENT, WAITS, 3 },
        { FACT_CLEAR, WAITS, 3 },
        { FACT_CANCEL, WAITS | LIVE | BIT(DRAFT), 6 },
        { FACT_RETRY, BIT(FAILED) | BIT(CANCELED), 6 },
        { FACT_AGAIN, BIT(DONE), 5 },
        { FACT_APPROVE, BIT(HELD), 4 },
        { FACT_REJECT, BIT(HELD), 4 },
        { FACT_DELETE, WAITS | FINAL | BIT(DRAFT), 4 },
        { FACT_FORGET, FINAL, 3 },
        { FACT_PRIORITY, WAITS | LIVE | BIT(DRAFT), 3 },
        { FACT_DEPENDENCIES, WAITS | BIT(DRAFT), 5 },
        { FACT_ARTIFACT, ANY, 6 },
        { FACT_PROBE, ANY, 5 },
        { FACT_UNANSWERED, BIT(HELD) | BIT(WAITING), 3 },
        { FACT_MARKED, WAITS, 3 },
        { FACT_CANDIDATES, WAITS, 4 },
        { FACT_TAKE, ANY, 6 },
    };
    unsigned total = 0, i = 0;
    for (size_t k = 0; k < ARRAY_SIZE(asked); k++)
        total += asked[k].weight;
    unsigned drawn = (unsigned)rng_below(&g->rng, total);
    for (; drawn >= asked[i].weight; i++)
        drawn -= asked[i].weight;

    struct model_view view;
    if (!some_task(g, m, asked[i].states, &view) && !generate_chance(g, 15))
        return;
    struct fact fact = { .kind = asked[i].kind, .task = task_for(g, m, asked[i].states) };
    if (fact.kind == FACT_HOLD) {
        fact.until = generate_chance(g, 50) ? 0 : model_now(m) + between(g, -10, 60000);
        fact.marker = generate_chance(g, 20);
    }
    if (fact.kind == FACT_SLING && generate_chance(g, 30)) {
        fact.sling.renames = generate_chance(g, 80);
        fact.sling.agent = some_name(g, g->names.agents, g->agents, 60);
        fact.sling.limiter = some_name(g, g->names.limiters, g->limiters, 40);
    }
    if (fact.kind == FACT_RETRY || fact.kind == FACT_AGAIN || fact.kind == FACT_CLEAR)
        fact.own_agent = generate_chance(g, 30);
    if (fact.kind == FACT_PRIORITY)
        fact.priority = (int32_t)between(g, 95, 105);
    if (fact.kind == FACT_ARTIFACT)
        fact.artifact_present = generate_chance(g, 75);
    if (fact.kind == FACT_PROBE)
        fact.probe_open = generate_chance(g, 80);
    if (fact.kind == FACT_CANDIDATES)
        fact.candidates = (enum candidates)rng_below(&g->rng, CANDIDATES_MAX);
    if (fact.kind == FACT_DEPENDENCIES) {
        task_id *items = arena_alloc(&g->history->arena, 3 * sizeof(task_id));
        fact.dependencies.count = some_tasks(g, m, fact.task, items, 3);
        fact.dependencies.items = items;
    }
    generate_applied(g, fact);
}

/* --- the world changes ------------------------------------------------------------------------ */

static void draw_counts(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_EXTERNAL };
    if (generate_chance(g, 50)) {
        fact.kind = FACT_USAGE;
        fact.usage.project = some_name(g, g->names.projects, g->projects, 90);
        fact.usage.tokens = generate_chance(g, 97) ? between(g, 0, 5000) : -1;
        fact.usage.starts = (int32_t)between(g, 0, 2);
        fact.usage.completions = (int32_t)between(g, 0, 2);
        if (generate_chance(g, 30)) {
            fact.usage.reports = (int32_t)between(g, 0, 3);
            fact.usage.unreported = between(g, 0, 3000);
        }
        fact.usage.money = generate_chance(g, 40) ? between(g, 0, 4000) : 0;
        fact.usage.priced = fact.usage.money ? (int32_t)between(g, 0, 3) : 0;
        fact.usage.unpriced = (int32_t)between(g, 0, 1);
        fact.usage.at = model_now(m) - (generate_chance(g, 70) ? 0 : between(g, 0, HOURS(30)));
        if (generate_chance(g, 25)) { /* a correction */
            fact.usage.tokens = -between(g, 0, 2000);
            fact.usage.money = -between(g, 0, 2000);
            fact.usage.starts = fact.usage.completions = 0;
            fact.usage.unreported = generate_chance(g, 10) ? -between(g, 0, 2000) : 0;
            fact.usage.reports = (int32_t)between(g, -1, 1);
            fact.usage.priced = (int32_t)between(g, -1, 1);
            fact.usage.unpriced = (int32_t)between(g, -1, 1);
        }
    } else if (g->limiters > 0 && generate_chance(g, 40))
        fact.external.limiter = g->names.limiters[rng_below(&g->rng, g->limiters)];
    else
        fact.external.project = some_name(g, g->names.projects, g->projects, 90);
    if (fact.kind == FACT_EXTERNAL)
        fact.external.running = (uint32_t)between(g, 0, 2);
    if (fact.kind == FACT_EXTERNAL && !fact.external.limiter)
        fact.external.roots = (uint32_t)between(g, 0, fact.external.running);
    generate_applied(g, fact);
}

static void draw_place(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_RESOURCE };
    if (g->resources > 0 && generate_chance(g, 40)) {
        fact.resource.id = g->names.resources[rng_below(&g->rng, g->resources)];
        fact.resource.cap = generate_cap(g, 10);
    } else if (g->workspaces > 0 && generate_chance(g, 60)) {
        fact.kind = FACT_WORKSPACE;
        fact.workspace.id = g->names.workspaces[rng_below(&g->rng, g->workspaces)];
        fact.workspace.locked = generate_chance(g, 20);
        if (!fact.workspace.locked && generate_chance(g, 50))
            fact.workspace.locked_by = task_for(g, m, ANY);
    } else {
        fact.kind = FACT_HOST;
        fact.host.disk_free_mb = generate_chance(g, 85) ? 10000 : between(g, -1, 200);
        fact.host.memory_free_mb = generate_chance(g, 85) ? -1 : between(g, 0, 200);
        fact.host.load_milli = generate_chance(g, 85) ? -1 : between(g, 500, 1500);
    }
    generate_applied(g, fact);
}

/* The hours of something end or begin, also of something unknown. */
static void draw_hours(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_HOURS };
    fact.hours.scope = ONE_OF(g, LEASE_PROJECT, LEASE_AGENT, LEASE_LIMITER);
    fact.hours.id =
        fact.hours.scope == LEASE_PROJECT ? g->names.projects[rng_below(&g->rng, WORLD_PROJECTS)]
        : fact.hours.scope == LEASE_AGENT ? g->names.agents[rng_below(&g->rng, WORLD_AGENTS)]
                                          : g->names.limiters[rng_below(&g->rng, WORLD_LIMITERS)];
    fact.hours.until = generate_chance(g, 40) ? 0 : model_now(m) + between(g, -1, 120000);
    generate_applied(g, fact);
}

static void draw_used(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_LIMITER_USED };
    fact.used.limiter = g->names.limiters[rng_below(&g->rng, WORLD_LIMITERS)];
    fact.used.window = ONE_OF(g, QUOTA_FIVE_HOUR, QUOTA_WEEKLY);
    fact.used.quota.used_milli = (int32_t)ONE_OF(g, 0, 300, 790, 800, 810, 950, 1000, 1200);
    fact.used.quota.resets_at =
        model_now(m) + ONE_OF(g, -1, 0, 1, 60000, 300000, 600000, 600001, 3600000);
    fact.used.corrects = generate_chance(g, 30);
    generate_applied(g, fact);
}

static void draw_agent_clear(struct generator *g) {
    struct fact fact = { .kind = FACT_AGENT_CLEAR };
    fact.agent_clear = g->names.agents[rng_below(&g->rng, WORLD_AGENTS)];
    generate_applied(g, fact);
}

static void draw_limiter(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_LIMITER_CLEAR };
    sym id = g->names.limiters[rng_below(&g->rng, WORLD_LIMITERS)];
    if (g->limiters == 0 || generate_chance(g, 50))
        fact.limiter_clear = id;
    else {
        fact.kind = FACT_LIMITER;
        fact.limiter.id = g->names.limiters[rng_below(&g->rng, g->limiters)];
        fact.limiter.policy = generate_limiter_policy(g);
        if (generate_chance(g, 30)) {
            fact.limiter.backoff_until = model_now(m) + between(g, -1000, 60000);
            fact.limiter.hits = (uint32_t)between(g, 1, 3);
        }
    }
    generate_applied(g, fact);
}

static void draw_world(struct generator *g, const struct model *m) {
    struct fact fact = { .kind = FACT_PROJECT };
    switch (rng_below(&g->rng, 19)) {
    case 0:
    case 1:
        fact.project = generate_project(g, (unsigned)rng_below(&g->rng, g->projects));
        break;
    case 2:
        fact.kind = FACT_KIND;
        fact.kind_spec = generate_kind(g, (unsigned)rng_below(&g->rng, WORLD_KINDS));
        break;
    case 3:
    case 4:
        if (g->agents == 0)
            return;
        fact.kind = FACT_AGENT;
        fact.agent = generate_agent(g, (unsigned)rng_below(&g->rng, g->agents));
        break;
    case 5:
        draw_limiter(g, m);
        return;
    case 6:
    case 7:
        draw_counts(g, m);
        return;
    case 8:
        draw_place(g, m);
        return;
    case 9:
        generate_varied(g);
        generate_applied_policy(g);
        return;
    case 10:
        fact.kind = FACT_BUDGET;
        fact.budget = generate_chance(g, 75) ? UNLIMITED : between(g, 0, 60000);
        fact.money_budget = (struct money_budget){ .is_set = generate_chance(g, 25),
                                                   .micro = between(g, 0, 20000) };
        break;
    case 11:
        fact.kind = generate_chance(g, 20) ? FACT_PAUSE : FACT_RESUME;
        break;
    case 12:
        draw_agent_clear(g);
        return;
    case 13:
    case 14:
        draw_hours(g, m);
        return;
    case 15:
    case 16:
    case 17:
        draw_used(g, m);
        return;
    default:
        fact.kind = FACT_TICK;
        break;
    }
    generate_applied(g, fact);
}

/* Something that was closed opens again: a world in which everything waits tests little. */
static void draw_open(struct generator *g, const struct model *m) {
    struct model_view view;
    struct fact fact = { .kind = FACT_RESUME };
    if (generate_chance(g, 40)) {
        fact.kind = FACT_PROJECT;
        fact.project = generate_project(g, (unsigned)rng_below(&g->rng, g->projects));
        fact.project.active = true;
        fact.project.paused = false;
    } else if (generate_chance(g, 60) && some_task(g, m, BIT(WAITING), &view)) {
        fact.task = view.id;
        if (generate_chance(g, 50)) {
            fact.kind = FACT_ARTIFACT;
            fact.artifact_present = true;
        } else {
            fact.kind = FACT_PROBE;
            fact.probe_open = true;
        }
    }
    generate_applied(g, fact);
}

/* --- the next step ---------------------------------------------------------------------------- */

bool generate_next(struct generator *g, const struct model *m) {
    size_t before = g->history->count;
    if (g->steps_wanted == 0)
        return false;
    g->steps_wanted--;
    if (generate_chance(g, g->decide_percent)) {
        history_add(g->history, &(struct step){ .kind = STEP_DECIDE });
        return true;
    }
    if (generate_chance(g, 3)) {
        history_add(g->history,
                    &(struct step){ .kind = generate_chance(g, 60) ? STEP_RESTART : STEP_COPY });
        return true;
    }
    while (g->history->count == before) {
        unsigned first = g->tasks_wanted > 0 ? 0 : 45;
        unsigned drawn = first + (unsigned)rng_below(&g->rng, 100 - first);
        if (drawn < 45) {
            g->tasks_wanted--;
            generate_applied_task(g, m);
        } else if (drawn < 51)
            draw_clock(g, m);
        else if (drawn < 66)
            draw_ended(g, m);
        else if (drawn < 72)
            draw_started(g, m);
        else if (drawn < 74)
            draw_refused(g, m);
        else if (drawn < 76)
            draw_phase(g, m);
        else if (drawn < 78)
            draw_tokens(g, m);
        else if (drawn < 79)
            draw_limited(g, m);
        else if (drawn < 88)
            draw_asked(g, m);
        else if (drawn < 92)
            draw_world(g, m);
        else if (drawn < 94)
            draw_open(g, m);
        else if (drawn < (g->families ? 100 : 95))
            draw_wait(g, m);
    }
    return true;
}
