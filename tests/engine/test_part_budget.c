/* test_part_budget.c: limits of tasks and runs, and grants to children, without the rest of the engine. */
#include <string.h>

#include "engine/budget/budget_internal.h"
#include "harness/test.h"
#include "part_kit.h"

static void begin(struct part_kit *kit) {
    part_kit_new(kit, &allowances_part, PART_allowances);
    part_kit_add_part(kit, &budget_part, PART_budget);
    part_kit_add_task(kit, 1, 0);
}

static void add_child(struct part_kit *kit, task_id task, task_id parent) {
    struct task_spec spec = { .id = task,
                              .project = symbol_find(core_symbols(kit->engine.core), "web", 3),
                              .parent = parent,
                              .parent_gate = PARENT_NONE,
                              .priority = 100,
                              .iteration = 1,
                              .state = TASK_WAITING,
                              .retry_max = -1 };
    struct fact fact = { .kind = FACT_TASK_ADDED, .spec = &spec };
    assert_int_equal(core_apply(kit->engine.core, &fact, NULL), 0);
}

static void limit_tokens(struct part_kit *kit, task_id task, int64_t tokens) {
    struct engine_limits limits = ENGINE_LIMITS_NONE;
    limits.task.tokens = tokens;
    engine_set_limits(&kit->engine, task, &limits);
}

static struct live_run *add_run(struct part_kit *kit, task_id task, int64_t tokens) {
    struct live_run *run = &kit->runs[kit->run_count++];
    *run = (struct live_run){
        .task = task,
        .view = { .attempt = 1, .started_at = 1, .tokens_in = tokens, .tokens_out = -1 },
        .cost_micro_usd = -1,
    };
    return run;
}

TEST(the_limit_is_that_of_the_task_or_of_its_project) {
    struct part_kit kit;
    begin(&kit);
    assert_int_equal(allowance_limit(&kit.engine, 1).tokens, UNLIMITED);
    part_kit_set(&kit, "projects.web.task_tokens", "500");
    assert_int_equal(allowance_limit(&kit.engine, 1).tokens, 500);
    limit_tokens(&kit, 1, 300);
    assert_int_equal(allowance_limit(&kit.engine, 1).tokens, 300);
    assert_int_equal(allowance_limit(&kit.engine, 1).usd, UNLIMITED);
    part_kit_free(&kit);
}

TEST(a_grant_is_taken_from_the_parent_and_its_rest_goes_back) {
    struct part_kit kit;
    begin(&kit);
    add_child(&kit, 2, 1);
    limit_tokens(&kit, 1, 1000);
    engine_grant_budget(&kit.engine, 1, 2,
                        (struct engine_amounts){ .tokens = 400, .usd = ALLOWANCE_NONE });
    assert_int_equal(engine_budget_left(&kit.engine, 1).tokens, 600);
    allowance_get(&kit.engine, 2)->used.tokens = 150;
    allowance_state_changed(&kit.engine, 2, TASK_CANCELED);
    assert_int_equal(engine_budget_left(&kit.engine, 1).tokens, 850);
    allowance_state_changed(&kit.engine, 2, TASK_CANCELED); /* once */
    assert_int_equal(engine_budget_left(&kit.engine, 1).tokens, 850);
    part_kit_free(&kit);
}

TEST(a_reopened_child_takes_as_much_of_its_rest_as_is_left) {
    struct part_kit kit;
    begin(&kit);
    add_child(&kit, 2, 1);
    add_child(&kit, 3, 1);
    limit_tokens(&kit, 1, 1000);
    struct engine_amounts some = { .tokens = 400, .usd = ALLOWANCE_NONE };
    engine_grant_budget(&kit.engine, 1, 2, some);
    allowance_state_changed(&kit.engine, 2, TASK_CANCELED);
    some.tokens = 900;
    engine_grant_budget(&kit.engine, 1, 3, some);
    allowance_state_changed(&kit.engine, 2, TASK_WAITING);
    assert_int_equal(engine_budget_left(&kit.engine, 1).tokens, 0);
    assert_int_equal(allowance_find(&kit.engine, 2)->granted.tokens, 100);
    part_kit_free(&kit);
}

TEST(a_lent_amount_is_for_children_only) {
    struct part_kit kit;
    begin(&kit);
    assert_int_equal(engine_budget_left(&kit.engine, 1).tokens, ALLOWANCE_NONE);
    engine_lend_budget(&kit.engine, 1,
                       (struct engine_amounts){ .tokens = 50, .usd = ALLOWANCE_NONE });
    assert_int_equal(engine_budget_left(&kit.engine, 1).tokens, 50);
    assert_int_equal(allowance_limit(&kit.engine, 1).tokens, UNLIMITED);
    part_kit_free(&kit);
}

TEST(a_task_without_budget_is_held_until_the_limit_is_raised) {
    struct part_kit kit;
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    begin(&kit);
    struct live_run *run = add_run(&kit, 1, 120);
    limit_tokens(&kit, 1, 100);
    budget_ended(&kit.engine, run, OUTCOME_FAILED, NULL);
    kit.run_count = 0;
    part_kit_step(&kit, STEP_BEFORE_DECIDE);
    assert_int_equal(part_kit_state(&kit, 1), TASK_HELD);
    assert_true(engine_explain_budget_hold(&kit.engine, 1, &why));
    assert_non_null(strstr(strbuf_text(&why), "has used 120 of 100 tokens"));
    assert_int_equal(part_kit_apply(&kit, FACT_RELEASE, 1), 0);
    part_kit_step(&kit, STEP_BEFORE_DECIDE); /* no operation bypasses a budget */
    assert_int_equal(part_kit_state(&kit, 1), TASK_HELD);
    limit_tokens(&kit, 1, 1000);
    assert_int_not_equal(part_kit_state(&kit, 1), TASK_HELD);
    part_kit_free(&kit);
}

TEST(a_run_beyond_its_limit_is_reported_once_and_stopped_if_configured) {
    struct part_kit kit;
    begin(&kit);
    struct live_run *run = add_run(&kit, 1, 120);
    limit_tokens(&kit, 1, 100);
    assert_string_equal(part_log.event_kind, "task.budget");
    unsigned events = part_log.events;
    budget_reported(&kit.engine, run);
    assert_int_equal(part_log.events, events);
    assert_false(budget_is_stopping(&kit.engine, run));
    struct engine_limits limits = ENGINE_LIMITS_NONE;
    limits.on_budget = ON_BUDGET_STOP;
    engine_set_limits(&kit.engine, 1, &limits);
    assert_true(budget_is_stopping(&kit.engine, run));
    assert_int_equal(kit.engine.turn.stops.count, 1);
    struct strbuf why = STRBUF_INIT;
    budget_explain_stop(&kit.engine, run, &why);
    assert_string_equal(strbuf_text(&why), "stopped: its task has used 120 of 100 tokens");
    strbuf_finish(&why);
    part_kit_free(&kit);
}

TEST(a_note_brings_everything_back) {
    struct part_kit kit;
    begin(&kit);
    struct allowance *a = allowance_get(&kit.engine, 1);
    a->limit = (struct engine_amounts){ .tokens = 1, .usd = 2 };
    a->handed = (struct engine_amounts){ .tokens = 3, .usd = 4 };
    a->unknown = 5;
    a->on_budget = ON_BUDGET_STOP;
    a->stopping = 6;
    a->by_window = true;
    struct allowance before = *a;
    allowance_write(&kit.engine, a);
    part_kit_step(&kit, STEP_UNLOAD);
    assert_null(allowance_find(&kit.engine, 1));
    part_kit_load_note(&kit);
    const struct allowance *after = allowance_find(&kit.engine, 1);
    assert_int_equal(after->limit.usd, before.limit.usd);
    assert_int_equal(after->handed.tokens, before.handed.tokens);
    assert_int_equal(after->unknown, before.unknown);
    assert_int_equal(after->on_budget, before.on_budget);
    assert_int_equal(after->stopping, before.stopping);
    assert_true(after->by_window);
    part_kit_free(&kit);
}

TEST(a_deleted_task_leaves_no_note) {
    struct part_kit kit;
    begin(&kit);
    limit_tokens(&kit, 1, 100);
    allowances_part.task_changed(&kit.engine, 1, NULL);
    assert_string_equal(part_log.note_name, "tokens:1");
    assert_string_equal(part_log.note_text, "");
    assert_null(allowance_find(&kit.engine, 1));
    part_kit_free(&kit);
}
