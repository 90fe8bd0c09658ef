/* Runs that repeatedly end quickly: the delay before the next attempt grows, an alert is raised, and one long run resets
 * both. */
#include <string.h>

#include "engine/alert.h"
#include "engine/loops.h"
#include "engine_kit.h"
#include "harness/test.h"

#define COMMAND "{\"argv\":[\"false\"]}"
#define PAUSES  "runaway: {pause_s: 1000, pause_max_s: 3000, alert_after: 3}\n"

static struct kit kit;
static task_id task;

static void begin(const char *config) {
    kit_open(&kit, config);
    task = kit_web(&kit, COMMAND);
}

static int close_it(void **state) {
    (void)state;
    kit_close(&kit);
    return 0;
}

static bool is_waiting(struct kit *k, void *ctx) {
    (void)ctx;
    enum task_state state = kit_state(k, task);
    return state == TASK_HELD || state == TASK_FAILED;
}

/* The next run of the task ends with exit code 1 after this long. */
static void end_after(time_ms span) {
    size_t starts = kit_view(&kit, task).attempt;
    if (kit_state(&kit, task) == TASK_HELD) {
        assert_int_equal(kit_apply(&kit, FACT_RELEASE, task), 0);
        starts++;
    }
    kit_wait_starts(&kit, starts > 0 ? starts : 1);
    struct run_end end = fake_exit(1);
    end.ended_at = engine_now(kit.engine);
    end.started_at = end.ended_at - span;
    fake_report_ended((struct run_key){ .task = task, .attempt = kit_view(&kit, task).attempt },
                      &end);
    kit_wait(&kit, is_waiting, NULL, "the end of the run");
}

/* How long it is held, in whole seconds; a loaded machine may have taken a while to ask. */
static bool held_for(time_ms least, time_ms most) {
    struct task_view view = kit_view(&kit, task);
    time_ms span = view.not_before - engine_now(kit.engine);
    return view.state == TASK_HELD && span > least - SECONDS(100) && span <= most;
}

static bool alert_is_open(void) {
    return engine_alert_is_open(kit.engine, "runaway:web-1");
}

TEST_WITH(the_pause_doubles_while_runs_end_quickly_up_to_its_maximum, NULL, close_it) {
    begin(KIT_CALM PAUSES);
    end_after(SECONDS(1));
    assert_true(held_for(SECONDS(1000), SECONDS(1000)));
    end_after(SECONDS(1));
    assert_true(held_for(SECONDS(2000), SECONDS(2000)));
    assert_false(alert_is_open());
    end_after(SECONDS(4));
    assert_true(held_for(SECONDS(3000), SECONDS(3000)));
    assert_true(alert_is_open());
    assert_int_equal(engine_quick_ends(kit.engine, task), 3);
}

TEST_WITH(a_run_that_lasts_ends_it, NULL, close_it) {
    begin(KIT_CALM PAUSES "retry: {failed: {max: unlimited}}\n");
    for (int i = 0; i < 3; i++)
        end_after(0);
    assert_true(alert_is_open());
    end_after(SECONDS(5));
    assert_true(held_for(SECONDS(100), SECONDS(300))); /* retry.failed alone: the longest delay */
    assert_int_equal(engine_quick_ends(kit.engine, task), 0);
    assert_false(alert_is_open());
    end_after(0);
    assert_true(held_for(SECONDS(1000), SECONDS(1000)));
}

TEST_WITH(a_restart_of_the_daemon_does_not_begin_the_count_again, NULL, close_it) {
    begin(KIT_CALM PAUSES);
    end_after(0);
    end_after(0);
    kit_restart(&kit);
    assert_int_equal(engine_quick_ends(kit.engine, task), 2);
    assert_true(held_for(SECONDS(2000), SECONDS(2000)));
}

TEST_WITH(a_delay_that_the_owner_has_set_is_kept_and_there_is_only_the_alert, NULL, close_it) {
    begin(KIT_CALM PAUSES "retry: {failed: {delay_s: 500, cap_s: 500, jitter: 0}}\n");
    for (int i = 0; i < 3; i++)
        end_after(0);
    assert_true(held_for(SECONDS(500), SECONDS(500)));
    assert_true(alert_is_open());
}

TEST_WITH(preset_conductor_keeps_the_delay_of_its_document, NULL, close_it) {
    begin("preset: conductor\n" KIT_CALM);
    assert_int_equal(config_number(engine_config(kit.engine), "runaway.pause_s", NULL), 0);
}

TEST_WITH(the_alert_ends_with_the_task, NULL, close_it) {
    begin(KIT_CALM PAUSES "retry: {failed: {max: 3}}\n");
    for (int i = 0; i < 3; i++)
        end_after(0);
    assert_true(alert_is_open());
    end_after(0);
    assert_int_equal(kit_state(&kit, task), TASK_FAILED);
    assert_false(alert_is_open());
    assert_int_equal(engine_quick_ends(kit.engine, task), 0);
}
