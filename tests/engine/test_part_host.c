/* test_part_host.c: what a short disk closes, without the rest of the engine. */
#include "harness/test.h"
#include "part_kit.h"

#define MORE_THAN_ANY_DISK "100000000"

static void begin(struct part_kit *kit) {
    part_kit_new(kit, &host_part, PART_host);
    kit->engine.data = (char *)(uintptr_t) "/";
}

TEST(a_low_disk_closes_the_gate_and_begins_one_pass_of_retention) {
    struct part_kit kit;
    begin(&kit);
    part_kit_step(&kit, STEP_BEGIN);
    assert_true(core_host_is_open(kit.engine.core));
    assert_int_equal(host_part.next_wakeup(&kit.engine), TIME_NEVER);
    part_kit_set(&kit, "host.disk_free_gb", "1000000");
    part_kit_add_task(&kit, 1, 0);
    part_kit_step(&kit, STEP_BEGIN);
    part_kit_step(&kit, STEP_BEGIN);
    assert_true(host_of(&kit.engine)->disk_low);
    assert_false(core_host_is_open(kit.engine.core));
    assert_int_equal(part_log.prunes, 1);
    part_kit_free(&kit);
}

TEST(it_is_measured_again_while_a_task_waits_behind_the_gate) {
    struct part_kit kit;
    begin(&kit);
    part_kit_set(&kit, "host.disk_free_gb", "1000000");
    part_kit_step(&kit, STEP_BEGIN);
    assert_int_equal(host_part.next_wakeup(&kit.engine), TIME_NEVER);
    part_kit_add_task(&kit, 1, 0);
    (void)part_kit_decide(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_READY);
    assert_int_equal(host_part.next_wakeup(&kit.engine), kit.engine.now + SECONDS(10));
    part_kit_free(&kit);
}

TEST(the_store_has_a_floor_of_its_own) {
    struct part_kit kit;
    begin(&kit);
    part_kit_step(&kit, STEP_BEGIN);
    int64_t free_mb = host_of(&kit.engine)->disk_free_mb;
    assert_false(engine_is_full(&kit.engine));
    assert_true(free_mb > 0);
    part_kit_set(&kit, "store.min_free_mb", MORE_THAN_ANY_DISK);
    part_kit_step(&kit, STEP_BEGIN);
    assert_true(engine_is_full(&kit.engine));
    assert_false(host_of(&kit.engine)->disk_low);
    part_kit_free(&kit);
}
