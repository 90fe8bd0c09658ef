/* test_part_journal.c: when the depth of the queue is logged, without the rest of the engine. */
#include "harness/test.h"
#include "part_kit.h"

static void begin(struct part_kit *kit, const char *seconds) {
    part_kit_new(kit, &journal_part, PART_journal);
    part_kit_set(kit, "log.depth_s", seconds);
    part_kit_step(kit, STEP_CONFIGURED);
}

static void add_waiting(struct part_kit *kit, task_id task) {
    part_kit_add_task(kit, task, 0);
    (void)part_kit_apply(kit, FACT_PAUSE, 0);
    (void)part_kit_decide(kit);
}

TEST(a_queue_is_logged_once_it_has_been_there_for_a_while) {
    struct part_kit kit;
    begin(&kit, "60");
    assert_int_equal(journal_part.next_wakeup(&kit.engine), TIME_NEVER);
    add_waiting(&kit, 1);
    time_ms due = kit.engine.now + SECONDS(60);
    assert_int_equal(journal_part.next_wakeup(&kit.engine), due);
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_int_equal(journal_part.next_wakeup(&kit.engine), due);
    kit.engine.now = due;
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_int_equal(journal_part.next_wakeup(&kit.engine), TIME_NEVER); /* no change since */
    add_waiting(&kit, 2);
    assert_int_equal(journal_part.next_wakeup(&kit.engine), due + SECONDS(60));
    part_kit_free(&kit);
}

TEST(zero_seconds_switch_it_off) {
    struct part_kit kit;
    begin(&kit, "0");
    add_waiting(&kit, 1);
    assert_int_equal(journal_part.next_wakeup(&kit.engine), TIME_NEVER);
    part_kit_free(&kit);
}
