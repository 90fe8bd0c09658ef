/* retell.c: see retell.h.
 *
 * Each array and slab of struct core (state.h) is either told here, or follows from what is told: classes, parks, crowds,
 * edges, timers, domains, sums and caches are built again by the facts. */
#include "core/retell.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "core/claim.h"
#include "core/gates.h"
#include "core/state.h"

struct retelling {
    const struct core *core;
    core_fact_each each;
    void *ctx;
    int r;
};

static void tell(struct retelling *t, const struct fact *fact) {
    if (t->r >= 0)
        t->r = t->each(t->ctx, fact);
}

/* --- the world ------------------------------------------------------------------------------- */

static void tell_definitions(struct retelling *t) {
    const struct core *c = t->core;
    tell(t, &(struct fact){ .kind = FACT_CLOCK, .now = c->now });
    tell(t, &(struct fact){ .kind = FACT_POLICY, .policy = &c->policy });
    for (size_t i = 1; i < c->project_count; i++)
        tell(t, &(struct fact){ .kind = FACT_PROJECT, .project = c->projects[i].spec });
    for (size_t i = 1; i < c->kind_count; i++)
        tell(t, &(struct fact){ .kind = FACT_KIND, .kind_spec = c->kinds[i].spec });
    for (size_t i = 1; i < c->limiter_count; i++) {
        struct fact limiter = { .kind = FACT_LIMITER };
        (void)core_limiter_spec(c, c->limiters[i].spec.id, &limiter.limiter);
        tell(t, &limiter);
    }
    for (size_t i = 1; i < c->agent_count; i++) {
        struct fact agent = { .kind = FACT_AGENT };
        (void)core_agent_spec(c, c->agents[i].spec.id, &agent.agent);
        tell(t, &agent);
    }
}

static void tell_keys(struct retelling *t) {
    const struct core *c = t->core;
    for (sym name = 1; name <= c->symbols.count; name++) {
        uint32_t resource = by_symbol_get(&c->resource_of, name);
        if (resource && key_at(c, resource)->told) {
            struct fact fact = { .kind = FACT_RESOURCE };
            fact.resource.id = name;
            fact.resource.cap = key_at(c, resource)->cap;
            tell(t, &fact);
        }
        uint32_t workspace = by_symbol_get(&c->workspace_of, name);
        if (workspace && key_at(c, workspace)->outside > 0) {
            struct fact fact = { .kind = FACT_WORKSPACE };
            fact.workspace.id = name;
            fact.workspace.locked_by = key_at(c, workspace)->outside_task;
            fact.workspace.locked = fact.workspace.locked_by == 0;
            tell(t, &fact);
        }
    }
}

static void tell_external(struct retelling *t) {
    const struct core *c = t->core;
    for (size_t i = 0; i < c->project_count; i++) { /* the first stands for none */
        struct fact fact = { .kind = FACT_EXTERNAL };
        fact.external.project = i ? c->projects[i].spec.id : 0;
        fact.external.running = c->projects[i].external;
        fact.external.roots = c->projects[i].external_roots;
        if (fact.external.running || fact.external.roots)
            tell(t, &fact);
    }
    for (size_t i = 1; i < c->limiter_count; i++) {
        struct fact fact = { .kind = FACT_EXTERNAL };
        fact.external.limiter = c->limiters[i].spec.id;
        fact.external.running = (uint32_t)key_at(c, c->limiters[i].key)->outside;
        if (fact.external.running)
            tell(t, &fact);
    }
}

static void tell_bucket(void *ctx, const struct usage_spec *bucket) {
    tell(ctx, &(struct fact){ .kind = FACT_USAGE, .usage = *bucket });
}

static void tell_wait(void *ctx, const struct wait_spec *wait) {
    tell(ctx, &(struct fact){ .kind = FACT_WAIT, .wait = *wait });
}

static void tell_amounts(struct retelling *t) {
    const struct core *c = t->core;
    struct fact budget = { .kind = FACT_BUDGET };
    budget.budget = c->budget;
    budget.money_budget = c->money_budget;
    struct fact host = { .kind = FACT_HOST };
    host.host.disk_free_mb = c->host_disk;
    host.host.memory_free_mb = c->host_memory;
    host.host.load_milli = c->host_load;
    tell(t, &(struct fact){ .kind = c->paused ? FACT_PAUSE : FACT_RESUME });
    tell(t, &budget);
    tell(t, &host);
    core_usage(c, 0, tell_bucket, t);
    for (size_t i = 1; i < c->project_count; i++)
        core_usage(c, c->projects[i].spec.id, tell_bucket, t);
    tell_external(t);
    core_waits(c, tell_wait, t);
    if (pace_in_force(c))
        tell(t, &(struct fact){ .kind = FACT_PACE, .pace = core_pace(c) });
    if (c->claim.task)
        tell(t, &(struct fact){ .kind = FACT_CLAIM, .claim = claim_spec(c) });
}

/* --- tasks ----------------------------------------------------------------------------------- */

struct needs {
    task_id *items;
    size_t capacity;
};

static void tell_task(struct retelling *t, task_id task, struct needs *needs) {
    const struct core *c = t->core;
    struct task_spec spec;
    struct task_view view;
    sym resources[RESOURCES_MAX];
    if (!core_task_spec(c, task, &spec) || !core_task(c, task, &view))
        return;
    spec.depends_on_count = core_task_depends(c, task, needs->items, needs->capacity);
    if (spec.depends_on_count > needs->capacity) {
        needs->items =
            xgrow(needs->items, &needs->capacity, spec.depends_on_count, sizeof(*needs->items));
        (void)core_task_depends(c, task, needs->items, needs->capacity);
    }
    spec.depends_on = needs->items;
    spec.resource_count = core_task_resources(c, task, resources, RESOURCES_MAX);
    spec.resources = resources;
    spec.group = 0;
    tell(t, &(struct fact){ .kind = FACT_TASK_ADDED, .task = task, .spec = &spec });
    struct fact tokens = { .kind = FACT_RUN_TOKENS, .task = task, .attempt = spec.attempt };
    tokens.tokens = view.tokens;
    tokens.money = view.money;
    if (view.tokens >= 0 || view.money >= 0)
        tell(t, &tokens);
}

static int by_number(const void *a, const void *b) {
    task_id left = *(const task_id *)a, right = *(const task_id *)b;
    return left < right ? -1 : left > right;
}

static void tell_tasks(struct retelling *t) {
    const struct core *c = t->core;
    task_id *tasks = xcalloc((size_t)c->tasks.next + 1, sizeof(*tasks));
    struct needs needs = { 0 };
    size_t count = 0;
    for (uint32_t h = 1; h < c->tasks.next; h++)
        if (task_at(c, h)->state != TASK_ABSENT)
            tasks[count++] = task_at(c, h)->id;
    qsort(tasks, count, sizeof(*tasks), by_number);
    for (size_t i = 0; i < count && t->r >= 0; i++)
        tell_task(t, tasks[i], &needs);
    free(tasks);
    free(needs.items);
}

int core_retell(const struct core *core, core_fact_each each, void *ctx) {
    struct retelling t = { .core = core, .each = each, .ctx = ctx };
    tell_definitions(&t);
    tell_keys(&t);
    tell_amounts(&t);
    tell_tasks(&t);
    return t.r;
}
