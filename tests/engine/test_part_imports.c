/* test_part_imports.c: which tasks may import, without the rest of the engine. */
#include <jansson.h>

#include "engine/imports.h"
#include "harness/test.h"
#include "part_kit.h"

static void let_import(struct part_kit *kit, task_id task) {
    json_t *projects = json_pack("[s, s]", "web", "docs");
    imports_add(&kit->engine, task, projects);
    json_decref(projects);
}

TEST(a_task_may_import_into_its_listed_projects_alone) {
    struct part_kit kit;
    part_kit_new(&kit, &imports_part, PART_imports);
    part_kit_add_task(&kit, 1, 0);
    part_kit_add_task(&kit, 2, 0);
    let_import(&kit, 1);
    assert_true(engine_may_import(&kit.engine, 1, "web"));
    assert_true(engine_may_import(&kit.engine, 1, "docs"));
    assert_false(engine_may_import(&kit.engine, 1, "we"));
    assert_false(engine_may_import(&kit.engine, 1, "other"));
    assert_false(engine_may_import(&kit.engine, 2, "web"));
    assert_null(engine_import_projects(&kit.engine, 2));
    part_kit_free(&kit);
}

TEST(the_right_survives_a_restart) {
    struct part_kit kit;
    part_kit_new(&kit, &imports_part, PART_imports);
    part_kit_add_task(&kit, 1, 0);
    let_import(&kit, 1);
    assert_string_equal(part_log.note_name, "imports.1");
    assert_string_equal(part_log.note_text, "[\"web\",\"docs\"]");
    part_kit_step(&kit, STEP_UNLOAD);
    assert_false(engine_may_import(&kit.engine, 1, "web"));
    part_kit_load_note(&kit);
    assert_true(engine_may_import(&kit.engine, 1, "docs"));
    part_kit_free(&kit);
}

TEST(it_ends_with_the_task) {
    struct part_kit kit;
    part_kit_new(&kit, &imports_part, PART_imports);
    part_kit_add_task(&kit, 1, 0);
    let_import(&kit, 1);
    (void)part_kit_decide(&kit);
    part_kit_run(&kit, 1, OUTCOME_OK);
    assert_true(engine_may_import(&kit.engine, 1, "web"));
    assert_int_equal(part_kit_apply(&kit, FACT_DELETE, 1), 0);
    assert_string_equal(part_log.note_text, "");
    assert_false(engine_may_import(&kit.engine, 1, "web"));
    part_kit_free(&kit);
}
