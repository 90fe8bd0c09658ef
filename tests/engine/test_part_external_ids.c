/* test_part_external_ids.c: names of tasks in other systems, without the rest of the engine. */
#include <errno.h>
#include <string.h>

#include "engine/external_ids.h"
#include "harness/test.h"
#include "part_kit.h"

static void begin(struct part_kit *kit) {
    part_kit_new(kit, &external_ids_part, PART_external_ids);
    for (task_id task = 1; task <= 3; task++)
        part_kit_add_task(kit, task, 0);
}

TEST(a_task_is_found_by_its_external_id) {
    struct part_kit kit;
    begin(&kit);
    external_ids_add(&kit.engine, 1, "gt-17");
    assert_string_equal(engine_external_id(&kit.engine, 1), "gt-17");
    assert_null(engine_external_id(&kit.engine, 2));
    assert_int_equal(engine_find_external(&kit.engine, "web", "gt-17"), 1);
    assert_int_equal(engine_find_external(&kit.engine, "other", "gt-17"), 0);
    assert_int_equal(engine_find_task(&kit.engine, "gt-17", NULL), 1);
    part_kit_free(&kit);
}

TEST(a_word_that_names_two_tasks_is_refused) {
    struct part_kit kit;
    struct error err = { 0 };
    begin(&kit);
    external_ids_add(&kit.engine, 1, "same");
    external_ids_add(&kit.engine, 3, "same");
    assert_int_equal(engine_find_task(&kit.engine, "same", &err), 0);
    assert_int_equal(err.code, -ENOTUNIQ);
    external_ids_add(&kit.engine, 2, "t-1");
    assert_int_equal(engine_find_task(&kit.engine, "t-1", &err), 0);
    assert_int_equal(engine_find_task(&kit.engine, "#1", &err), 1);
    part_kit_free(&kit);
}

TEST(a_deleted_task_leaves_the_others_of_its_name) {
    struct part_kit kit;
    task_id tasks[4];
    begin(&kit);
    for (task_id task = 1; task <= 3; task++)
        external_ids_add(&kit.engine, task, "same");
    external_ids_part.task_changed(&kit.engine, 1, NULL);
    assert_null(engine_external_id(&kit.engine, 1));
    assert_int_equal(engine_external_tasks(&kit.engine, "same", tasks, 4), 2);
    external_ids_part.task_changed(&kit.engine, 3, NULL);
    assert_int_equal(engine_find_task(&kit.engine, "same", NULL), 2);
    external_ids_part.task_changed(&kit.engine, 2, NULL);
    assert_int_equal(engine_external_tasks(&kit.engine, "same", tasks, 4), 0);
    part_kit_free(&kit);
}

TEST(a_new_core_begins_without_names) {
    struct part_kit kit;
    begin(&kit);
    external_ids_add(&kit.engine, 1, "gt-17");
    part_kit_step(&kit, STEP_UNLOAD);
    assert_null(engine_external_id(&kit.engine, 1));
    external_ids_part.load_external(&kit.engine,
                                    &(struct external_row){ .task = 1, .external_id = "gt-17" });
    assert_int_equal(engine_find_task(&kit.engine, "gt-17", NULL), 1);
    part_kit_free(&kit);
}
