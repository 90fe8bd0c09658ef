/* test_core_order.c: comparisons whose results the core keeps are repeated when their time is over.
 *
 * In each test items (classes, lanes or projects) stand in pairs. The first decision starts a task of
 * the first pair. Meanwhile the order in the other pair changes by itself. The last item is there to
 * move into the slot of the first when that is empty. */
#include <stdio.h>

#include "core_facts.h"

#include "core/policy.h"
#include "harness/test.h"

enum { A = 1, B, C, D, LAST }; /* tasks */
enum level { CLASSES, LANES, PROJECTS, CLASSES_ELSEWHERE, LEVEL_MAX };

static struct core *ordered_core(unsigned order, time_ms max_wait) {
    struct core *core = core_with_a_world(false);
    struct policy policy;
    policy_default(&policy);
    policy.order = order;
    policy.max_wait = max_wait;
    policy.runs = 1;
    apply_fact(core, (struct fact){ .kind = FACT_POLICY, .policy = &policy });
    return core;
}

static sym named(struct core *core, char prefix, task_id task) {
    char text[] = { prefix, (char)('0' + task) };
    return symbol_intern(core_symbols(core), text, sizeof(text));
}

static sym add_project(struct core *core, task_id task, int64_t weight) {
    sym id = named(core, 'p', task);
    apply_fact(core, (struct fact){ .kind = FACT_PROJECT,
                                    .project = { .id = id,
                                                 .weight_milli = weight,
                                                 .max_running = UNLIMITED,
                                                 .budget = UNLIMITED,
                                                 .active = true,
                                                 .workspaces = UNLIMITED,
                                                 .review = UNLIMITED } });
    return id;
}

/* Tasks that differ in priority or iteration are in different classes; also in different lanes or
 * projects, if that is the level. CLASSES_ELSEWHERE: the pair that changes is in a project in which
 * nothing starts. */
static void add_at(struct core *core, enum level level, struct task_spec spec) {
    if (level == LANES) {
        spec.kind = named(core, 'k', spec.id);
        apply_fact(core,
                   (struct fact){
                       .kind = FACT_KIND,
                       .kind_spec = { .id = spec.kind, .base = 100, .max_running = UNLIMITED } });
    }
    if (level == PROJECTS)
        spec.project = add_project(core, spec.id, 1000);
    if (level == CLASSES_ELSEWHERE && (spec.id == C || spec.id == D))
        spec.project = add_project(core, C, 1000);
    assert_int_equal(add(core, spec), 0);
}

static task_id started(struct core *core) {
    size_t count;
    const struct order *orders = core_decide(core, &count);
    task_id task = 0;
    for (size_t i = 0; i < count; i++) {
        if (orders[i].kind == ORDER_START)
            task = orders[i].task;
    }
    return task;
}

static void end_after(struct core *core, task_id task, time_ms later, int64_t tokens) {
    struct fact end = { .kind = FACT_RUN_ENDED, .task = task, .attempt = 1 };
    end.ended.tokens = tokens;
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = NOW + later });
    assert_int_equal(apply_fact(core, end), 0);
}

TEST(a_task_that_becomes_overdue_overtakes_at_every_level) {
    static const int32_t priorities[] = { [A] = 1, [B] = 4, [C] = 2, [D] = 3, [LAST] = 5 };
    for (enum level level = CLASSES; level < LEVEL_MAX; level++) {
        struct core *core =
            ordered_core(ORDER_BY_OVERDUE | ORDER_BY_PRIORITY | ORDER_BY_CREATED, MINUTES(1));
        for (task_id id = A; id <= LAST; id++) {
            struct task_spec spec = row(id, TASK_READY);
            spec.priority = priorities[id];
            spec.ready_since = id == D ? NOW - SECONDS(50) : NOW;
            add_at(core, level, spec);
        }
        assert_int_equal(started(core), A);
        end_after(core, A, SECONDS(20), 0);
        assert_int_equal(started(core), D);
        core_free(core);
    }
}

TEST(a_score_that_grows_overtakes_at_every_level) {
    static const uint32_t iterations[] = { [A] = 1, [B] = 7, [C] = 5, [D] = 1, [LAST] = 6 };
    for (enum level level = CLASSES; level < LEVEL_MAX; level++) {
        struct core *core = ordered_core(ORDER_BY_SCORE | ORDER_BY_CREATED, TIME_NEVER);
        for (task_id id = A; id <= LAST; id++) {
            struct task_spec spec = row(id, TASK_READY);
            spec.iteration = iterations[id]; /* each after the first costs 5 points */
            spec.created_at = id == D ? NOW : NOW - MINUTES(60); /* 50 points at most */
            add_at(core, level, spec);
        }
        assert_int_equal(started(core), A);
        end_after(core, A, MINUTES(40), 0);
        assert_int_equal(started(core), D);
        core_free(core);
    }
}

TEST(a_class_has_another_head_when_its_oldest_task_becomes_overdue) {
    static const int32_t priorities[] = { [A] = 1, [B] = 2, [C] = 2, [D] = 3, [LAST] = 4 };
    struct core *core =
        ordered_core(ORDER_BY_OVERDUE | ORDER_BY_PRIORITY | ORDER_BY_CREATED, MINUTES(1));
    for (task_id id = A; id <= LAST; id++) { /* B and C: one class */
        struct task_spec spec = row(id, TASK_READY);
        spec.priority = priorities[id];
        spec.created_at = id == C ? NOW : NOW - SECONDS(100);
        spec.ready_since = id == C ? NOW - SECONDS(50) : NOW;
        add_at(core, CLASSES, spec);
    }
    assert_int_equal(started(core), A);
    end_after(core, A, SECONDS(20), 0);
    assert_int_equal(started(core), C);
    core_free(core);
}

static void use(struct core *core, sym project, int64_t tokens) {
    struct fact used = { .kind = FACT_USAGE };
    used.usage.project = project;
    used.usage.tokens = tokens;
    used.usage.at = NOW;
    assert_int_equal(apply_fact(core, used), 0);
}

/* C comes before D while T < 2 W, by their tokens and weights, which stay the same. */
TEST(what_another_project_uses_changes_the_order_of_two) {
    static const int64_t weights[] = { [A] = 1000, [B] = 1000, [C] = 1000, [D] = 2000 };
    static const int64_t tokens[] = { [A] = 0, [B] = 3500, [C] = 1000, [D] = 3000 };
    for (int more = 0; more < 2; more++) {
        struct core *core = ordered_core(ORDER_BY_DEFICIT, TIME_NEVER);
        for (task_id id = A; id <= D; id++) {
            struct task_spec spec = row(id, TASK_READY);
            spec.project = add_project(core, id, weights[id]);
            assert_int_equal(add(core, spec), 0);
            use(core, spec.project, tokens[id]);
        }
        assert_int_equal(started(core), A); /* W = 5000, T = 7500 */
        end_after(core, A, 1, 0);
        use(core, named(core, 'p', B), more ? 1000 : 0); /* W = 4000, T = 8500 or 7500 */
        assert_int_equal(started(core), more ? D : C);
        core_free(core);
    }
}

/* The clock alone opens it: no fact names the project. */
TEST(a_project_competes_again_when_its_hours_begin) {
    struct core *core = ordered_core(ORDER_BY_PRIORITY, TIME_NEVER);
    for (task_id id = A; id <= D; id++) {
        struct task_spec spec = row(id, TASK_READY);
        spec.priority = (int32_t)id;
        add_at(core, PROJECTS, spec);
    }
    struct fact hours = { .kind = FACT_HOURS };
    hours.hours.scope = LEASE_PROJECT;
    hours.hours.id = named(core, 'p', A);
    hours.hours.until = NOW + SECONDS(10);
    assert_int_equal(apply_fact(core, hours), 0);
    assert_int_equal(started(core), B);
    end_after(core, B, SECONDS(5), 0);
    assert_int_equal(started(core), C);
    end_after(core, C, SECONDS(10), 0);
    assert_int_equal(started(core), A);
    core_free(core);
}

/* More closed lanes than are found one by one; each slot that is given back starts the next. */
TEST(a_full_account_stops_all_projects_and_then_starts_them_in_order) {
    struct core *core = ordered_core(ORDER_BY_PRIORITY, TIME_NEVER);
    struct policy policy;
    policy_default(&policy);
    policy.order = ORDER_BY_PRIORITY;
    policy.runs = 1000;
    policy.limiter.max_running = 1;
    apply_fact(core, (struct fact){ .kind = FACT_POLICY, .policy = &policy });
    apply_fact(core, (struct fact){ .kind = FACT_LIMITER,
                                    .limiter = { .id = LIMITER, .policy = policy.limiter } });
    for (task_id id = 1; id <= 100; id++) {
        struct task_spec spec = row(id, TASK_READY);
        char text[16];
        int size = snprintf(text, sizeof(text), "kind%d", (int)id);
        spec.kind = symbol_intern(core_symbols(core), text, (size_t)size);
        apply_fact(core,
                   (struct fact){ .kind = FACT_KIND,
                                  .kind_spec = { .id = spec.kind, .max_running = UNLIMITED } });
        spec.agent = AGENT;
        spec.priority = 1000 - (int32_t)id;
        assert_int_equal(add(core, spec), 0);
    }
    for (task_id id = 100; id >= 1; id--) {
        assert_int_equal(started(core), id);
        assert_int_equal(started(core), 0);
        end_after(core, id, 0, 0);
    }
    core_free(core);
}
