/* configure.c: the configuration changed while the daemon runs.
 *
 * The complete configuration is applied to the core again; what did not change has no effect. Names
 * that were removed get the defaults; removed projects are also paused (tasks/projects.c). Raising
 * a cap starts work in this turn, lowering one kills nothing. */
#include <assert.h>

#include "engine/engine_internal.h"

/* New names first: an existing agent may now have a new limiter. */
static int apply_names(const struct config *config, const struct config *old, struct core *core,
                       struct error *err) {
    int r = config_apply(config, core, err);
    return r == 0 ? config_apply_removed(config, old, core, err) : r;
}

static int apply_all(struct engine *e, const struct config *old, struct error *err) {
    int r = apply_names(e->config, old, e->core, err);
    PARTS_TRY(r, apply_config, e, err);
    return r;
}

int configure_copy(const struct engine *e, const struct config *config, struct core *copy,
                   struct error *err) {
    int r = apply_names(config, e->config, copy, err);
    PARTS_TRY(r, apply_to_copy, e, config, copy, err);
    return r;
}

int engine_set_config(struct engine *e, struct config *config, struct error *err) {
    struct config *old = e->config;
    e->config = config;
    PARTS_CALL(config_replaced, e, old);
    int r = parts_try(e, TRY_CHECK_CONFIG, err);
    if (r == 0)
        r = apply_all(e, old, err);
    if (r < 0) { /* the old one was valid before, so applying it cannot fail */
        e->config = old;
        (void)apply_all(e, config, NULL);
        return r;
    }
    r = parts_try(e, TRY_TAKE_CONFIG, err); /* writes, so it comes when nothing can be refused */
    assert(r == 0);
    config_free(old);
    parts_step(e, STEP_CONFIGURED);
    e->turn.configured = true;
    engine_event(e, "config.changed", 0, 0, NULL);
    return 0;
}

#define PLANNED_MAX 1000u /* planned starts */

static size_t report_starts(struct core *core, time_ms at, engine_would_start each, void *ctx) {
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
        (void)report_starts(copy, at, each, ctx);
    }
    if (policy->pace.tick > 0)
        end = time_add(core_pace(copy).tick_began, policy->pace.tick);
    bool paced = policy->runs != UNLIMITED && policy->pace.spawn_delay > 0;
    for (size_t n = 0; paced && n < PLANNED_MAX; n++) {
        at = time_add(time_max(core_pace(copy).last_start, e->now - policy->pace.spawn_delay),
                      policy->pace.spawn_delay);
        struct fact clock = { .kind = FACT_CLOCK, .now = at };
        if (at >= end || core_apply(copy, &clock, NULL) < 0
            || report_starts(copy, at, each, ctx) == 0)
            break;
    }
    core_free(copy);
}
