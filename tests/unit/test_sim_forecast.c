/* test_sim_forecast.c: forecasts of when a task starts. */
#include <string.h>

#include "harness/test.h"
#include "sim/forecast.h"

#define NOW DAYS(20000)

enum { WEB = 1, FIX, PLAN, ACCOUNT };

static void apply_fact(struct core *core, struct fact fact) {
    struct error err = { 0 };
    if (core_apply(core, &fact, &err) < 0)
        fail_msg("%s: %s", fact_kind_name(fact.kind), err.text);
}

static struct core *core_with(amount runs) {
    static const char *const names[] = { "web", "fix", "plan", "account" };
    struct core *core = core_new();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        symbol_intern(core_symbols(core), names[i], strlen(names[i]));
    struct policy policy;
    policy_default(&policy);
    policy.runs = runs;
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = NOW });
    apply_fact(core, (struct fact){ .kind = FACT_POLICY, .policy = &policy });
    apply_fact(core, (struct fact){ .kind = FACT_PROJECT,
                                    .project = { .id = WEB,
                                                 .weight_milli = 1000,
                                                 .max_running = UNLIMITED,
                                                 .budget = UNLIMITED,
                                                 .active = true,
                                                 .workspaces = UNLIMITED,
                                                 .review = UNLIMITED } });
    for (sym kind = FIX; kind <= PLAN; kind++)
        apply_fact(core, (struct fact){ .kind = FACT_KIND,
                                        .kind_spec = { .id = kind, .max_running = UNLIMITED } });
    return core;
}

static struct task_spec task(task_id id, sym kind) {
    return (struct task_spec){
        .id = id,
        .project = WEB,
        .kind = kind,
        .state = TASK_WAITING,
        .iteration = 1,
        .created_at = NOW + (time_ms)id % 1000,
        .ready_since = NOW,
        .parallelizable = true,
        .retry_max = -1,
    };
}

static void add(struct core *core, struct task_spec spec) {
    apply_fact(core, (struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
}

static const struct forecast_mean means[] = {
    { .project = WEB, .kind = FIX, .duration = MINUTES(10), .tokens = 1000, .money = 2000 },
    { .project = WEB, .kind = 0, .duration = MINUTES(3), .tokens = -1, .money = -1 },
};

static struct forecast run_with(const struct core *core, struct forecast_options options) {
    struct forecast forecast = { 0 };
    struct core *copy = core_copy(core);
    options.now = NOW;
    options.means = means;
    options.mean_count = sizeof(means) / sizeof(means[0]);
    assert_int_equal(forecast_run(copy, &options, &forecast), 0);
    core_free(copy);
    return forecast;
}

TEST(those_behind_start_when_those_before_are_over) {
    struct core *core = core_with(1);
    add(core, task(1, FIX));
    add(core, task(2, PLAN)); /* has no mean of its own: that of the project */
    add(core, task(3, FIX));
    struct forecast f = run_with(core, (struct forecast_options){ 0 });
    assert_int_equal(forecast_start(&f, 1), NOW);
    assert_int_equal(forecast_start(&f, 2), NOW + MINUTES(10));
    assert_int_equal(forecast_start(&f, 3), NOW + MINUTES(13));
    assert_int_equal(forecast_start(&f, 4), TIME_NEVER);
    assert_true(f.complete);
    struct task_view view; /* the original is unchanged */
    assert_true(core_task(core, 1, &view));
    assert_int_equal(view.state, TASK_READY);
    forecast_finish(&f);
    core_free(core);
}

/* One is used up by the second run, and free again when the first leaves the window. */
TEST(a_budget_of_money_is_used_by_what_runs_cost) {
    struct core *core = core_with(1);
    apply_fact(core, (struct fact){ .kind = FACT_BUDGET,
                                    .budget = UNLIMITED,
                                    .money_budget = { .is_set = true, .micro = 3000 } });
    for (task_id id = 1; id <= 3; id++)
        add(core, task(id, FIX)); /* 2000 each */
    struct forecast f = run_with(core, (struct forecast_options){ 0 });
    assert_int_equal(forecast_start(&f, 2), NOW + MINUTES(10));
    assert_true(forecast_start(&f, 3) > NOW + HOURS(23));
    assert_true(forecast_start(&f, 3) <= NOW + HOURS(25));
    forecast_finish(&f);
    core_free(core);
}

TEST(the_order_is_that_of_the_starts_and_has_each_task_once) {
    struct core *core = core_with(2); /* two start at the same time */
    struct task_spec first = task(3, FIX);
    first.priority = -1;
    add(core, task(1, FIX));
    add(core, task(2, PLAN));
    add(core, first);
    struct forecast f = run_with(core, (struct forecast_options){ 0 });
    assert_int_equal(f.count, 3);
    assert_int_equal(f.order[0], 3);
    assert_int_equal(f.order[1], 1);
    assert_int_equal(f.order[2], 2);
    assert_int_equal(forecast_start(&f, 1), forecast_start(&f, 3));
    assert_int_equal(forecast_position(&f, 3), 0);
    assert_int_equal(forecast_position(&f, 2), 2);
    assert_int_equal(forecast_position(&f, 4), SIZE_MAX);
    forecast_finish(&f);
    core_free(core);
}

TEST(what_runs_already_ends_a_mean_after_its_start) {
    struct core *core = core_with(2);
    struct task_spec early = task(1, FIX), late = task(2, FIX);
    early.state = late.state = TASK_RUNNING;
    early.attempt = late.attempt = 1;
    early.started_at = NOW - MINUTES(4);
    late.started_at = NOW - HOURS(2); /* longer than any mean: a short rest is assumed */
    add(core, early);
    add(core, late);
    add(core, task(3, FIX));
    add(core, task(4, FIX));
    struct forecast f = run_with(core, (struct forecast_options){ 0 });
    assert_int_equal(forecast_start(&f, 3), NOW + MINUTES(1) + 1);
    assert_int_equal(forecast_start(&f, 4), NOW + MINUTES(6));
    assert_int_equal(forecast_start(&f, 1), TIME_NEVER); /* it has started */
    forecast_finish(&f);
    core_free(core);
}

TEST(ends_are_reported_in_their_order) {
    struct core *core = core_with(2);
    struct task_spec early = task(1, FIX);
    early.state = TASK_RUNNING;
    early.attempt = 1;
    early.started_at = NOW - MINUTES(4);
    add(core, early);
    add(core, task(2, PLAN));
    add(core, task(3, FIX));
    struct forecast f = run_with(core, (struct forecast_options){ 0 });
    static const time_ms ends[] = { MINUTES(3), MINUTES(6), MINUTES(13) };
    assert_int_equal(f.end_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(f.ends[i].at, NOW + ends[i]);
        assert_int_equal(f.ends[i].project, WEB);
    }
    assert_int_equal(f.live_count, 1);
    assert_int_equal(f.live[0].end, NOW + MINUTES(6));
    assert_int_equal(f.entries[1].end, NOW + MINUTES(13));
    forecast_finish(&f);
    core_free(core);
}

TEST(the_bottleneck_is_where_tasks_wait_longest) {
    struct core *core = core_with(1);
    for (task_id id = 1; id <= 3; id++)
        add(core, task(id, FIX));
    struct forecast f = run_with(core, (struct forecast_options){ 0 });
    assert_string_equal(f.bottleneck.code, "lease:runs");
    assert_int_equal(f.bottleneck.span, MINUTES(20)); /* the third one starts then */
    assert_int_equal(f.bottleneck.tasks, 2);
    assert_int_equal(f.bottleneck.gate.cap, 1);
    forecast_finish(&f);
    core_free(core);
}

TEST(without_a_wait_there_is_no_bottleneck) {
    struct core *core = core_with(8);
    add(core, task(1, FIX));
    struct task_spec held = task(2, FIX);
    held.state = TASK_HELD;
    held.hold = HOLD_PERSON;
    add(core, held);
    struct forecast f = run_with(core, (struct forecast_options){ 0 });
    assert_null(f.bottleneck.code);
    assert_true(f.complete);
    assert_int_equal(f.others, 1);
    assert_int_equal(f.later, 0);
    forecast_finish(&f);
    core_free(core);
}

TEST(what_a_short_forecast_does_not_reach_waits_for_no_person) {
    struct core *core = core_with(1);
    for (task_id id = 1; id <= 20; id++)
        add(core, task(id, FIX));
    struct task_spec held = task(21, FIX);
    held.state = TASK_HELD;
    held.hold = HOLD_PERSON;
    add(core, held);
    struct forecast f = run_with(core, (struct forecast_options){ .max_steps = 40 });
    assert_false(f.complete);
    assert_int_equal(f.others, 1);
    assert_int_equal(f.later + f.end_count, 20);
    assert_true(f.later > 0);
    forecast_finish(&f);
    core_free(core);
}

TEST(numbers_may_be_in_the_millions) {
    struct core *core = core_with(1);
    add(core, task(UINT64_C(900000001), FIX));
    add(core, task(UINT64_C(900000002), FIX));
    struct forecast f = run_with(core, (struct forecast_options){ 0 });
    assert_int_equal(f.count, 2);
    assert_int_equal(forecast_start(&f, UINT64_C(900000002)), NOW + MINUTES(10));
    forecast_finish(&f);
    core_free(core);
}

TEST(dependencies_start_after_what_they_need) {
    struct core *core = core_with(8);
    const task_id on[] = { 1 };
    struct task_spec second = task(2, PLAN);
    second.depends_on = on;
    second.depends_on_count = 1;
    add(core, task(1, FIX));
    add(core, second);
    struct forecast f = run_with(core, (struct forecast_options){ 0 });
    assert_int_equal(forecast_start(&f, 2), NOW + MINUTES(10));
    forecast_finish(&f);
    core_free(core);
}

TEST(a_task_that_waits_for_a_person_has_no_start) {
    struct core *core = core_with(8);
    const task_id on[] = { 1 };
    struct task_spec reviewed = task(1, FIX), behind = task(2, FIX), held = task(3, FIX);
    reviewed.review = true;
    behind.depends_on = on;
    behind.depends_on_count = 1;
    held.state = TASK_HELD;
    add(core, reviewed);
    add(core, behind);
    add(core, held);
    struct forecast f = run_with(core, (struct forecast_options){ 0 });
    assert_int_equal(forecast_start(&f, 1), NOW);
    assert_int_equal(forecast_start(&f, 2), TIME_NEVER);
    assert_int_equal(forecast_start(&f, 3), TIME_NEVER);
    assert_true(f.complete);
    forecast_finish(&f);
    core_free(core);
}

TEST(a_backoff_is_waited_for_and_then_one_goes_first) {
    struct core *core = core_with(8);
    struct policy policy;
    policy_default(&policy);
    policy.limiter.recovery = 0;
    apply_fact(core, (struct fact){ .kind = FACT_LIMITER,
                                    .limiter = { .id = ACCOUNT,
                                                 .policy = policy.limiter,
                                                 .hits = 1,
                                                 .backoff_until = NOW + HOURS(5) } });
    struct task_spec first = task(1, FIX), second = task(2, FIX);
    first.limiter = second.limiter = ACCOUNT;
    add(core, first);
    add(core, second);
    struct forecast f = run_with(core, (struct forecast_options){ 0 });
    assert_int_equal(forecast_start(&f, 1), NOW + HOURS(5));
    assert_int_equal(forecast_start(&f, 2), NOW + HOURS(5) + MINUTES(10));
    forecast_finish(&f);
    core_free(core);
}

TEST(it_ends_at_its_steps_and_at_its_horizon) {
    struct core *core = core_with(1);
    for (task_id id = 1; id <= 100; id++)
        add(core, task(id, FIX));
    struct forecast f = run_with(core, (struct forecast_options){ .max_steps = 40 });
    assert_false(f.complete);
    assert_in_range(f.count, 1, 20);
    assert_in_range(f.steps, 40, 60);
    forecast_finish(&f);
    f = run_with(core, (struct forecast_options){ .horizon = MINUTES(25) });
    assert_false(f.complete);
    assert_int_equal(f.count, 3);
    assert_int_equal(forecast_start(&f, 4), TIME_NEVER);
    forecast_finish(&f);
    core_free(core);
}

TEST(a_project_without_a_mean_takes_the_default) {
    struct core *core = core_with(1);
    struct forecast f = { 0 };
    add(core, task(1, FIX));
    add(core, task(2, FIX));
    struct core *copy = core_copy(core);
    assert_int_equal(
        forecast_run(copy, &(struct forecast_options){ .now = NOW, .default_duration = MINUTES(7) },
                     &f),
        0);
    assert_int_equal(forecast_start(&f, 2), NOW + MINUTES(7));
    forecast_finish(&f);
    core_free(copy);
    core_free(core);
}

TEST(a_coming_task_is_in_the_way_and_has_no_entry) {
    struct core *core = core_with(1);
    struct coming coming = { 0 };
    add(core, task(1, FIX));
    struct task_spec later = task(2, FIX), urgent = task(3, FIX);
    later.state = TASK_HELD;
    later.hold = HOLD_BACKOFF;
    later.not_before = NOW + MINUTES(15);
    add(core, later);
    urgent.created_at = urgent.ready_since = NOW + MINUTES(8);
    coming_add_task(&coming, NOW + MINUTES(8), FIX, &urgent);
    struct forecast f = run_with(core, (struct forecast_options){ .coming = &coming });
    assert_int_equal(forecast_start(&f, 1), NOW);
    assert_int_equal(forecast_start(&f, 2), NOW + MINUTES(20)); /* after that of the schedule */
    assert_int_equal(forecast_start(&f, 3), TIME_NEVER);
    assert_int_equal(f.count, 2);
    assert_true(f.complete);
    forecast_finish(&f);
    coming_finish(&coming);
    core_free(core);
}

/* A schedule that never ends does not keep a forecast going. */
TEST(a_forecast_ends_with_the_last_own_task) {
    struct core *core = core_with(1);
    struct coming coming = { 0 };
    add(core, task(1, FIX));
    for (task_id id = 2; id < 500; id++) {
        struct task_spec spec = task(id, FIX);
        coming_add_task(&coming, NOW + (time_ms)id * MINUTES(1), FIX, &spec);
    }
    coming_set_overlap(&coming, FIX, OVERLAP_QUEUE);
    struct forecast f = run_with(core, (struct forecast_options){ .coming = &coming });
    assert_true(f.complete);
    assert_int_equal(f.end, NOW + MINUTES(10));
    forecast_finish(&f);
    coming_finish(&coming);
    core_free(core);
}
