/* test_part_maintenance.c: when the store may work between commits, without the rest of the engine. */
#include "harness/test.h"
#include "part_kit.h"

TEST(the_store_works_after_commits_that_wrote_something) {
    struct part_kit kit;
    part_kit_new(&kit, &maintenance_part, PART_maintenance);
    part_kit_step(&kit, STEP_CARRY_OUT);
    assert_int_equal(part_log.maintained, 0);
    part_log.batch = 1;
    part_kit_step(&kit, STEP_CARRY_OUT);
    assert_int_equal(part_log.maintained, 1);
    part_kit_free(&kit);
}

static void stop(void *ctx) {
    loop_stop(ctx);
}

/* Until a timer that is due after the one of the part. */
static void run_timers(struct part_kit *kit) {
    struct loop *loop = kit->engine.loop;
    struct loop_timer *timer = loop_timer_new(loop, stop, loop);
    loop_timer_set(loop, timer, loop_now_steady(loop) + 5);
    assert_int_equal(loop_run(loop, NULL), 0);
    loop_timer_free(loop, timer);
}

TEST(it_is_called_again_when_it_wants_and_not_during_a_commit) {
    struct part_kit kit;
    part_kit_new(&kit, &maintenance_part, PART_maintenance);
    part_log.batch = 1;
    part_log.maintain_after = 0;
    part_kit_step(&kit, STEP_CARRY_OUT);
    kit.engine.committing = true;
    run_timers(&kit);
    assert_int_equal(part_log.maintained, 1);
    kit.engine.committing = false;
    part_kit_step(&kit, STEP_CARRY_OUT);
    part_log.maintain_after = TIME_NEVER;
    run_timers(&kit);
    assert_int_equal(part_log.maintained, 3);
    part_kit_free(&kit);
}
