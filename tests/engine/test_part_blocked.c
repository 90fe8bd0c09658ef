/* test_part_blocked.c: events about dependencies, without the rest of the engine. */
#include <string.h>

#include "engine/tasks/tasks_internal.h"
#include "harness/test.h"
#include "part_kit.h"

/* Task 2 waits for task 1. */
static void begin(struct part_kit *kit, const char *lifecycle) {
    part_kit_new(kit, &blocked_part, PART_blocked);
    part_kit_set(kit, "bus.lifecycle", lifecycle);
    part_kit_add_task(kit, 1, 0);
    part_kit_add_task(kit, 2, 1);
    part_kit_step(kit, STEP_BEGIN);
}

TEST(a_task_is_added_with_what_it_waits_for) {
    struct part_kit kit;
    begin(&kit, "all");
    blocked_added(&kit.engine, 1);
    assert_int_equal(part_log.events, 0);
    blocked_added(&kit.engine, 2);
    assert_string_equal(part_log.event_kind, "task.blocked");
    assert_string_equal(part_log.event_data, "{\"blockers\":[\"t-1\"],\"count\":1}");
    part_kit_free(&kit);
}

TEST(nothing_is_written_unless_the_bus_reports_everything) {
    struct part_kit kit;
    begin(&kit, "off");
    blocked_added(&kit.engine, 2);
    assert_int_equal(part_log.events, 0);
    part_kit_free(&kit);
}

TEST(other_dependencies_are_an_event_and_the_same_ones_are_not) {
    struct part_kit kit;
    task_id same = 1;
    begin(&kit, "all");
    part_kit_add_task(&kit, 3, 0);
    struct fact fact = { .kind = FACT_DEPENDENCIES, .task = 2 };
    fact.dependencies.items = &same;
    fact.dependencies.count = 1;
    (void)engine_apply(&kit.engine, &fact, NULL);
    assert_int_equal(part_log.events, 0);
    task_id both[] = { 1, 3 };
    fact.dependencies.items = both;
    fact.dependencies.count = 2;
    assert_int_equal(engine_apply(&kit.engine, &fact, NULL), 0);
    assert_string_equal(part_log.event_data, "{\"blockers\":[\"t-1\",\"t-3\"],\"count\":2}");
    part_kit_free(&kit);
}

TEST(a_finished_dependency_is_one_event_for_each_dependant) {
    struct part_kit kit;
    begin(&kit, "all");
    part_kit_add_task(&kit, 3, 1);
    (void)part_kit_decide(&kit);
    assert_int_equal(part_log.events, 0);
    part_kit_step(&kit, STEP_BEGIN);
    part_kit_run(&kit, 1, OUTCOME_OK);
    (void)part_kit_decide(&kit);
    assert_int_equal(part_kit_state(&kit, 1), TASK_DONE);
    assert_int_equal(part_log.events, 2);
    assert_int_equal(part_log.event_task, 3);
    assert_string_equal(part_log.event_data, "{\"blockers\":[],\"count\":0}");
    part_kit_free(&kit);
}
