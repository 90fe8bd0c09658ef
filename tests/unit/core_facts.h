/* core_facts.h: a small core and helpers that apply facts to it, for unit tests of the core. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/core.h"

#define NOW DAYS(20000)

enum { PROJECT = 1, LIMITER, AGENT, WORKSPACE, RESOURCE };

static inline int apply_fact(struct core *core, struct fact fact) {
    return core_apply(core, &fact, NULL);
}

static inline struct core *core_with_a_world(bool loading) {
    static const char *const names[] = { "project", "limiter", "agent", "workspace", "resource" };
    struct core *core = core_new();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        symbol_intern(core_symbols(core), names[i], strlen(names[i]));
    if (loading)
        assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_LOADING }), 0);
    struct policy policy;
    policy_default(&policy);
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = NOW });
    apply_fact(core, (struct fact){ .kind = FACT_POLICY, .policy = &policy });
    apply_fact(core, (struct fact){ .kind = FACT_PROJECT,
                                    .project = { .id = PROJECT,
                                                 .weight_milli = 1000,
                                                 .max_running = UNLIMITED,
                                                 .budget = UNLIMITED,
                                                 .active = true,
                                                 .workspaces = UNLIMITED,
                                                 .review = UNLIMITED } });
    apply_fact(core, (struct fact){ .kind = FACT_LIMITER,
                                    .limiter = { .id = LIMITER, .policy = policy.limiter } });
    apply_fact(core,
               (struct fact){ .kind = FACT_AGENT,
                              .agent = { .id = AGENT, .slots = UNLIMITED, .limiter = LIMITER } });
    return core;
}

static inline struct task_spec row(task_id id, enum task_state state) {
    return (struct task_spec){
        .id = id,
        .project = PROJECT,
        .state = state,
        .iteration = 1,
        .attempt = task_state_is_live(state),
        .created_at = NOW,
        .ready_since = NOW,
        .parallelizable = true,
        .retry_max = -1,
    };
}

static inline int add(struct core *core, struct task_spec spec) {
    return apply_fact(core, (struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
}

static inline void loaded(struct core *core) {
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_LOADED }), 0);
}

static inline struct task_view view(const struct core *core, task_id task) {
    struct task_view v = { 0 };
    assert_true(core_task(core, task, &v));
    return v;
}

static inline amount used(const struct core *core, enum lease_kind kind, sym name) {
    amount taken = -1, cap;
    return core_lease(core, kind, name, &taken, &cap) ? taken : -1;
}

static inline void end_run(struct core *core, task_id task, enum outcome outcome) {
    assert_int_equal(
        apply_fact(core,
                   (struct fact){ .kind = FACT_RUN_ENDED,
                                  .task = task,
                                  .attempt = 1,
                                  .ended = { .outcome = outcome, .tokens = -1, .money = -1 } }),
        0);
}
