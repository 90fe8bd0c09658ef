/* test_part_alerts.c: alerts are raised once and cleared once, without the rest of the engine. */
#include <stdio.h>
#include <string.h>

#include "engine/alerts/alerts_internal.h"
#include "harness/test.h"
#include "part_kit.h"

static void begin(struct part_kit *kit) {
    part_kit_new(kit, &alerts_part, PART_alerts);
    part_kit_set(kit, "alerts.stuck_s", "0");
    part_kit_step(kit, STEP_CONFIGURED);
}

TEST(a_cause_is_one_alert_until_it_is_cleared) {
    struct part_kit kit;
    begin(&kit);
    assert_true(alert_raise(&kit.engine, "webhook", 0, 0, "it does not answer"));
    assert_false(alert_raise(&kit.engine, "webhook", 0, 0, "it still does not answer"));
    assert_int_equal(engine_alert_count(&kit.engine), 1);
    assert_string_equal(part_log.event_kind, "alert");
    engine_alert_clear(&kit.engine, "webhook");
    assert_string_equal(part_log.event_kind, "alert.cleared");
    assert_false(engine_alert_is_open(&kit.engine, "webhook"));
    unsigned events = part_log.events;
    engine_alert_clear(&kit.engine, "webhook");
    assert_int_equal(part_log.events, events);
    part_kit_free(&kit);
}

TEST(the_next_daemon_knows_the_open_ones) {
    struct part_kit kit;
    begin(&kit);
    assert_true(alert_raise(&kit.engine, "marker:t-3", 3, 2, "remove it"));
    part_kit_step(&kit, STEP_UNLOAD);
    assert_int_equal(engine_alert_count(&kit.engine), 0);
    part_kit_load_note(&kit);
    const struct engine_alert *alert = engine_alert_at(&kit.engine, 0);
    assert_string_equal(alert->key, "marker:t-3");
    assert_string_equal(alert->text, "remove it");
    assert_int_equal(alert->task, 3);
    assert_false(alert_raise(&kit.engine, "marker:t-3", 3, 2, "remove it"));
    part_kit_free(&kit);
}

TEST(too_many_are_one_more_that_reports_this) {
    struct part_kit kit;
    char key[32];
    begin(&kit);
    for (unsigned i = 0; i < 1005; i++) {
        (void)snprintf(key, sizeof(key), "marker:t-%u", i);
        assert_int_equal(alert_raise(&kit.engine, key, 0, 0, "x"), i < 1000);
    }
    assert_int_equal(engine_alert_count(&kit.engine), 1001);
    assert_true(engine_alert_is_open(&kit.engine, "many"));
    for (unsigned i = 0; i < 501; i++) {
        (void)snprintf(key, sizeof(key), "marker:t-%u", i);
        engine_alert_clear(&kit.engine, key);
    }
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_false(engine_alert_is_open(&kit.engine, "many"));
    part_kit_free(&kit);
}

TEST(a_failed_task_that_others_wait_for_is_a_chain) {
    struct part_kit kit;
    begin(&kit);
    part_kit_add_task(&kit, 1, 0);
    part_kit_add_task(&kit, 2, 1);
    (void)part_kit_decide(&kit);
    assert_int_equal(part_kit_apply(&kit, FACT_CANCEL, 1), 0);
    part_kit_run(&kit, 1, OUTCOME_FAILED);
    (void)part_kit_decide(&kit);
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_true(engine_alert_is_open(&kit.engine, "chain:t-1"));
    assert_int_equal(part_kit_apply(&kit, FACT_RETRY, 1), 0);
    (void)part_kit_decide(&kit);
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_false(engine_alert_is_open(&kit.engine, "chain:t-1"));
    part_kit_free(&kit);
}

TEST(a_low_disk_is_an_alert_until_there_is_space) {
    struct part_kit kit;
    begin(&kit);
    host_of(&kit.engine)->disk_low = true;
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_true(engine_alert_is_open(&kit.engine, "disk"));
    assert_int_equal(alerts_part.next_wakeup(&kit.engine), MINUTES(1));
    host_of(&kit.engine)->disk_low = false;
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_false(engine_alert_is_open(&kit.engine, "disk"));
    part_kit_free(&kit);
}

TEST(a_kind_that_is_no_longer_known_is_over) {
    struct part_kit kit;
    begin(&kit);
    (void)alert_raise(&kit.engine, "retired:x", 0, 0, "x");
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_int_equal(engine_alert_count(&kit.engine), 0);
    part_kit_free(&kit);
}
