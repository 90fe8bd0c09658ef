/* test_part_deleted.c: files of deleted tasks, without the rest of the engine. */
#include "harness/test.h"
#include "part_kit.h"

static void begin(struct part_kit *kit) {
    part_kit_new(kit, &deleted_part, PART_deleted);
    part_kit_add_task(kit, 1, 0);
    part_kit_add_task(kit, 2, 0);
}

TEST(files_are_removed_after_the_commit_whose_note_names_the_task) {
    struct part_kit kit;
    begin(&kit);
    assert_int_equal(part_kit_apply(&kit, FACT_DELETE, 1), 0);
    assert_int_equal(part_kit_apply(&kit, FACT_DELETE, 2), 0);
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_string_equal(part_log.note_name, "gone");
    assert_string_equal(part_log.note_text, "t-1 t-2");
    assert_int_equal(part_log.forgotten, 0);
    part_kit_step(&kit, STEP_CARRY_OUT);
    assert_int_equal(part_log.forgotten, 2);
    part_log.batch = 1; /* the next commit that is made anyway removes the note */
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_string_equal(part_log.note_text, "");
    part_kit_free(&kit);
}

TEST(a_failed_commit_removes_nothing) {
    struct part_kit kit;
    begin(&kit);
    assert_int_equal(part_kit_apply(&kit, FACT_DELETE, 1), 0);
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    part_kit_step(&kit, STEP_UNDONE);
    part_kit_step(&kit, STEP_CARRY_OUT);
    assert_int_equal(part_log.forgotten, 0);
    part_kit_free(&kit);
}

TEST(a_refused_fact_deletes_nothing) {
    struct part_kit kit;
    begin(&kit);
    assert_int_not_equal(part_kit_apply(&kit, FACT_DELETE, 99), 0);
    part_kit_step(&kit, STEP_AFTER_DECIDE);
    assert_int_equal(part_log.notes, 0);
    part_kit_free(&kit);
}

TEST(a_start_finishes_what_the_previous_daemon_began) {
    struct part_kit kit;
    begin(&kit);
    kit.engine.started = false;
    struct note_row note = { .name = "gone", .text = "t-8 t-1 t-9" };
    deleted_part.load_note(&kit.engine, &note);
    part_kit_step(&kit, STEP_START);
    assert_int_equal(part_log.forgotten, 2); /* task 1 exists */
    part_kit_free(&kit);
}
