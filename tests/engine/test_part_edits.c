/* test_part_edits.c: versions of tasks, without the rest of the engine. */
#include <string.h>

#include "engine/edits.h"
#include "harness/test.h"
#include "part_kit.h"

static void edit(struct part_kit *kit) {
    const char *const members[] = { "prompt", "title" };
    engine_edit_task(
        &kit->engine, 1,
        &(struct engine_edit){
            .title = "t", .json = "{}", .members = members, .member_count = 2, .by = "ann" });
}

TEST(the_version_rises_with_every_edit_and_every_attempt) {
    struct part_kit kit;
    part_kit_new(&kit, &edits_part, PART_edits);
    part_kit_add_task(&kit, 1, 0);
    assert_int_equal(engine_task_version(&kit.engine, 1), 0);
    edit(&kit);
    assert_int_equal(engine_task_version(&kit.engine, 1), 1);
    assert_string_equal(part_log.event_kind, "task.edited");
    assert_string_equal(part_log.event_data, "{\"members\":[\"prompt\",\"title\"],\"by\":\"ann\"}");
    edit(&kit);
    assert_int_equal(engine_task_version(&kit.engine, 1), 2);
    (void)part_kit_decide(&kit);
    assert_int_equal(engine_task_version(&kit.engine, 1), 3);
    part_kit_free(&kit);
}

TEST(the_count_survives_a_restart_and_the_end_of_the_task) {
    struct part_kit kit;
    part_kit_new(&kit, &edits_part, PART_edits);
    part_kit_add_task(&kit, 1, 0);
    edit(&kit);
    assert_string_equal(part_log.note_name, "edits.1");
    part_kit_step(&kit, STEP_UNLOAD);
    assert_int_equal(engine_task_version(&kit.engine, 1), 0);
    part_kit_load_note(&kit);
    assert_int_equal(engine_task_version(&kit.engine, 1), 1);
    (void)part_kit_decide(&kit);
    part_kit_run(&kit, 1, OUTCOME_OK);
    assert_int_equal(part_kit_state(&kit, 1), TASK_DONE);
    assert_int_equal(engine_task_version(&kit.engine, 1), 2);
    assert_int_equal(part_kit_apply(&kit, FACT_DELETE, 1), 0);
    assert_string_equal(part_log.note_text, "");
    part_kit_free(&kit);
}

TEST(a_request_that_writes_a_text_back_sees_what_others_have_written) {
    struct part_kit kit;
    part_kit_new(&kit, &edits_part, PART_edits);
    part_kit_add_task(&kit, 1, 0);
    part_kit_add_task(&kit, 2, 0);
    uint64_t read = engine_text_writes(&kit.engine);
    engine_put_context(&kit.engine, 2, "{}");
    assert_false(engine_text_changed(&kit.engine, 1, read));
    engine_put_context(&kit.engine, 1, "{}");
    assert_true(engine_text_changed(&kit.engine, 1, read));
    assert_true(engine_is_edited_now(&kit.engine, 1));
    read = engine_text_writes(&kit.engine);
    assert_false(engine_text_changed(&kit.engine, 1, read));
    edit(&kit);
    assert_true(engine_text_changed(&kit.engine, 1, read));
    read = engine_text_writes(&kit.engine);
    part_kit_step(&kit, STEP_UNLOAD); /* the commit failed */
    assert_true(engine_text_changed(&kit.engine, 1, read));
    part_kit_free(&kit);
}

TEST(until_its_commit_the_store_has_the_old_submission) {
    struct part_kit kit;
    part_kit_new(&kit, &edits_part, PART_edits);
    part_kit_add_task(&kit, 1, 0);
    assert_false(engine_is_edited_now(&kit.engine, 1));
    edit(&kit);
    assert_true(engine_is_edited_now(&kit.engine, 1));
    part_kit_step(&kit, STEP_BEGIN);
    assert_false(engine_is_edited_now(&kit.engine, 1));
    part_kit_free(&kit);
}
