/* configure.c: the configuration changed while the daemon runs.
 *
 * The complete configuration is applied to the core again; what did not change has no effect. Names
 * that were removed get the defaults; removed projects are also paused (tasks/projects.c). Raising
 * a cap starts work in this turn, lowering one kills nothing. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "engine/forecast/forecast_internal.h"
#include "engine/partition.h"
#include "engine/runs/runs_internal.h"
#include "engine/tasks/tasks_internal.h"

struct telling {
    struct core *core;
    const struct config *config, *old;
    struct error *err;
};

static int tell(const struct telling *t, const struct fact *fact) {
    int r = core_apply(t->core, fact, t->err);
    return r < 0 ? r : 0;
}

static int tell_removed(const struct telling *t) {
    int r = 0;
    for (size_t i = 0; i < config_kind_count(t->old) && r == 0; i++) {
        struct fact fact = { .kind = FACT_KIND };
        config_kind_spec(t->config, t->core, config_kind_name(t->old, i), &fact.kind_spec);
        r = tell(t, &fact);
    }
    for (size_t i = 0; i < config_limiter_count(t->old) && r == 0; i++) {
        struct fact fact = { .kind = FACT_LIMITER };
        config_limiter_spec(t->config, t->core, config_limiter_name(t->old, i), &fact.limiter);
        r = tell(t, &fact);
    }
    for (size_t i = 0; i < config_agent_count(t->old) && r == 0; i++) {
        struct fact fact = { .kind = FACT_AGENT };
        config_agent_spec(t->config, t->core, config_agent_name(t->old, i), &fact.agent);
        r = tell(t, &fact);
    }
    for (size_t i = 0; i < config_resource_count(t->old) && r == 0; i++) {
        const char *name = config_resource_name(t->old, i);
        struct fact fact = { .kind = FACT_RESOURCE };
        fact.resource.id = symbol_intern(core_symbols(t->core), name, strlen(name));
        fact.resource.cap = config_number(t->config, "limits.resource.N", name);
        r = tell(t, &fact);
    }
    return r;
}

/* New names first: an existing agent may now have a new limiter. */
static int tell_names(const struct telling *t) {
    int r = config_apply(t->config, t->core, t->err);
    return r == 0 ? tell_removed(t) : r;
}

static int tell_all(struct engine *e, const struct config *old, struct error *err) {
    struct telling t = { e->core, e->config, old, err };
    int r = tell_names(&t);
    if (r == 0)
        run_token_configure(e, old);
    return r == 0 ? projects_tell_all(e, err) : r;
}

int configure_copy(const struct engine *e, const struct config *config, struct core *copy,
                   struct error *err) {
    struct telling t = { copy, config, e->config, err };
    int r = tell_names(&t);
    partitions_tell(e, config, copy);
    for (size_t i = 0; i < project_count(e) && r == 0; i++) {
        struct fact fact = { .kind = FACT_PROJECT };
        project_fact(config, copy, project_at(e, i), &fact);
        r = tell(&t, &fact);
    }
    return r;
}

int engine_set_config(struct engine *e, struct config *config, struct error *err) {
    struct config *old = e->config;
    e->config = config;
    agents_stay_known(e, old);
    int r = projects_check(e, err);
    if (r == 0)
        r = agents_check(e, err);
    if (r == 0)
        r = tell_all(e, old, err);
    if (r < 0) { /* the old one was valid before, so applying it cannot fail */
        e->config = old;
        (void)tell_all(e, config, NULL);
        return r;
    }
    r = projects_from_config(e, err); /* writes, so it comes when nothing can be refused any more */
    assert(r == 0);
    r = projects_settle(e, err);
    assert(r == 0);
    config_free(old);
    parts_step(e, STEP_CONFIGURED);
    e->turn.configured = true;
    engine_event(e, "config.changed", 0, 0, NULL);
    return 0;
}

#define PLANNED_MAX 1000u /* planned starts */

static size_t tell_starts(struct core *core, time_ms at, engine_would_start each, void *ctx) {
    size_t count = 0, starts = 0;
    const struct order *orders = core_decide(core, &count);
    for (size_t i = 0; i < count; i++) {
        if (orders[i].kind != ORDER_START)
            continue;
        starts++;
        each(ctx, &orders[i], at);
    }
    return starts;
}

/* The rest of a tick follows at intervals of one spawn delay, if nothing else changes. */
void engine_planned_starts(struct engine *e, bool with_tick, engine_would_start each, void *ctx) {
    const struct policy *policy = config_policy(e->config);
    struct core *copy = core_copy(e->core);
    time_ms at = e->now, end = TIME_NEVER;
    if (with_tick) {
        struct fact tick = { .kind = FACT_TICK };
        (void)core_apply(copy, &tick, NULL);
        (void)tell_starts(copy, at, each, ctx);
    }
    if (policy->pace.tick > 0)
        end = time_add(core_pace(copy).tick_began, policy->pace.tick);
    bool paced = policy->runs != UNLIMITED && policy->pace.spawn_delay > 0;
    for (size_t n = 0; paced && n < PLANNED_MAX; n++) {
        at = time_add(time_max(core_pace(copy).last_start, e->now - policy->pace.spawn_delay),
                      policy->pace.spawn_delay);
        struct fact clock = { .kind = FACT_CLOCK, .now = at };
        if (at >= end || core_apply(copy, &clock, NULL) < 0
            || tell_starts(copy, at, each, ctx) == 0)
            break;
    }
    core_free(copy);
}
