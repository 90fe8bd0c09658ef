/* test_part_prune.c: retention, without the rest of the engine. */
#include "harness/test.h"
#include "part_kit.h"

static void begin(struct part_kit *kit) {
    part_kit_new(kit, &prune_part, PART_prune);
    part_kit_set(kit, "retention.days", "30");
    part_kit_set(kit, "events.keep_days", "never");
}

TEST(old_tasks_are_deleted_unless_another_needs_them) {
    struct part_kit kit;
    begin(&kit);
    part_kit_add_task(&kit, 1, 0);
    part_kit_add_task(&kit, 2, 0);
    (void)part_kit_decide(&kit);
    part_kit_run(&kit, 1, OUTCOME_OK);
    part_kit_run(&kit, 2, OUTCOME_OK);
    (void)part_kit_decide(&kit);
    part_kit_add_task(&kit, 3, 2);
    (void)part_kit_apply(&kit, FACT_HOLD, 3);
    part_kit_step(&kit, STEP_BEFORE_DECIDE);
    assert_int_equal(part_log.question.kind, QUERY_EXPIRED);
    assert_int_equal(part_log.question.before_time, kit.engine.now - DAYS(30));
    const task_id old[] = { 1, 2 };
    part_kit_answer(&(struct store_answer){ .count = 2, .tasks = old });
    assert_int_equal(prune_part.next_wakeup(&kit.engine), kit.engine.now);
    part_kit_step(&kit, STEP_BEFORE_DECIDE);
    assert_int_equal(part_kit_state(&kit, 1), TASK_ABSENT);
    assert_int_equal(part_kit_state(&kit, 2), TASK_DONE);
    part_kit_free(&kit);
}

TEST(one_pass_an_hour_and_at_once_while_the_disk_is_low) {
    struct part_kit kit;
    begin(&kit);
    part_kit_step(&kit, STEP_BEFORE_DECIDE);
    assert_int_equal(prune_part.next_wakeup(&kit.engine), kit.engine.now + HOURS(1));
    part_kit_answer(&(struct store_answer){ 0 });
    unsigned questions = part_log.questions;
    part_kit_step(&kit, STEP_BEFORE_DECIDE);
    assert_int_equal(part_log.questions, questions);
    host_of(&kit.engine)->disk_low = true;
    part_kit_set(&kit, "retention.low_disk_days", "1");
    prune_now(&kit.engine);
    part_kit_step(&kit, STEP_BEFORE_DECIDE);
    assert_int_equal(part_log.question.before_time, kit.engine.now - DAYS(1));
    assert_int_equal(prune_part.next_wakeup(&kit.engine), kit.engine.now + MINUTES(1));
    part_kit_free(&kit);
}

TEST(the_newest_events_are_kept) {
    struct part_kit kit;
    begin(&kit);
    part_kit_set(&kit, "events.keep", "1000");
    kit.engine.first_event = 1;
    kit.engine.last_event = kit.engine.committed_event = 3000;
    part_kit_step(&kit, STEP_BEFORE_DECIDE);
    assert_int_equal(part_log.first_kept_event, 2001);
    assert_int_equal(kit.engine.first_event, 2001);
    part_kit_free(&kit);
}

TEST(old_events_are_found_by_a_binary_search) {
    struct part_kit kit;
    begin(&kit);
    part_kit_set(&kit, "events.keep_days", "30");
    part_kit_set(&kit, "retention.days", "never");
    kit.engine.first_event = 1;
    kit.engine.last_event = kit.engine.committed_event = 1000;
    part_kit_step(&kit, STEP_BEFORE_DECIDE);
    unsigned steps = 0;
    while (part_log.answered) { /* those before 601 are old */
        uint64_t seq = part_log.question.after + 1;
        struct event_row event = { .seq = seq, .at = kit.engine.now - (seq > 600 ? 0 : DAYS(31)) };
        part_kit_answer(&(struct store_answer){ .count = 1, .events = &event });
        assert_true(++steps <= 11);
    }
    prune_now(&kit.engine);
    part_kit_step(&kit, STEP_BEFORE_DECIDE);
    assert_int_equal(part_log.first_kept_event, 601);
    part_kit_free(&kit);
}
