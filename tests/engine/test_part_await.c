/* test_part_await.c: when a wait for tasks is over, without the rest of the engine. */
#include "engine/await.h"
#include "harness/test.h"
#include "part_kit.h"

static unsigned over;

static void count_over(void *ctx) {
    (void)ctx;
    over++;
}

static void begin(struct part_kit *kit) {
    part_kit_new(kit, &await_part, PART_await);
    over = 0;
    part_kit_add_task(kit, 1, 0);
    part_kit_add_task(kit, 2, 0);
    (void)part_kit_decide(kit);
}

static struct engine_await *wait_for(struct part_kit *kit, size_t count, bool any, bool patient) {
    static const task_id tasks[] = { 1, 2 };
    struct engine_await_spec spec = {
        .tasks = tasks, .count = count, .any = any, .patient = patient, .timeout = HOURS(1)
    };
    return engine_await_begin(&kit->engine, &spec, count_over, NULL);
}

static void turn(struct part_kit *kit) {
    part_kit_step(kit, STEP_BEFORE_DECIDE);
    (void)part_kit_decide(kit);
    part_kit_step(kit, STEP_ROUND_END);
}

TEST(a_wait_is_over_when_every_task_is_final) {
    struct part_kit kit;
    begin(&kit);
    (void)wait_for(&kit, 2, false, false);
    part_kit_run(&kit, 1, OUTCOME_OK);
    turn(&kit);
    turn(&kit);
    assert_int_equal(over, 0);
    part_kit_run(&kit, 2, OUTCOME_OK);
    turn(&kit);
    turn(&kit);
    assert_int_equal(over, 1);
    part_kit_free(&kit);
    assert_int_equal(over, 1);
}

TEST(any_needs_one_of_them) {
    struct part_kit kit;
    begin(&kit);
    (void)wait_for(&kit, 2, true, false);
    turn(&kit);
    assert_int_equal(over, 0);
    part_kit_run(&kit, 2, OUTCOME_OK);
    turn(&kit);
    turn(&kit);
    assert_int_equal(over, 1);
    part_kit_free(&kit);
}

TEST(a_task_that_needs_a_person_is_settled_unless_the_wait_is_patient) {
    struct part_kit kit;
    begin(&kit);
    part_kit_add_task(&kit, 3, 0);
    (void)part_kit_apply(&kit, FACT_HOLD, 3);
    (void)part_kit_decide(&kit);
    assert_true(engine_await_settled(&kit.engine, 3));
    assert_false(engine_await_settled(&kit.engine, 1));
    static const task_id held = 3;
    struct engine_await_spec spec = { .tasks = &held, .count = 1, .timeout = HOURS(1) };
    (void)engine_await_begin(&kit.engine, &spec, count_over, NULL);
    spec.patient = true;
    (void)engine_await_begin(&kit.engine, &spec, count_over, NULL);
    turn(&kit);
    turn(&kit);
    assert_int_equal(over, 1);
    part_kit_free(&kit);
    assert_int_equal(over, 2); /* the daemon ends: the patient wait, too */
}

TEST(a_canceled_wait_is_not_reported) {
    struct part_kit kit;
    begin(&kit);
    engine_await_end(&kit.engine, wait_for(&kit, 2, false, false));
    engine_await_end(&kit.engine, NULL);
    part_kit_free(&kit);
    assert_int_equal(over, 0);
}

TEST(a_run_that_waits_is_set_to_waiting_and_back_to_working) {
    struct part_kit kit;
    begin(&kit);
    struct fact started = { .kind = FACT_RUN_STARTED, .task = 1, .attempt = 1 };
    assert_int_equal(core_apply(kit.engine.core, &started, NULL), 0);
    kit.runs[kit.run_count++] = (struct live_run){ .task = 1, .view = { .attempt = 1 } };
    static const task_id other = 2;
    struct engine_await_spec spec = {
        .tasks = &other, .count = 1, .timeout = HOURS(1), .run = 1, .attempt = 1
    };
    (void)engine_await_begin(&kit.engine, &spec, count_over, NULL);
    turn(&kit);
    assert_string_equal(part_log.event_kind, "run.waiting");
    part_kit_run(&kit, 2, OUTCOME_OK);
    turn(&kit);
    turn(&kit);
    assert_string_equal(part_log.event_kind, "run.working");
    assert_int_equal(over, 1);
    part_kit_free(&kit);
}
