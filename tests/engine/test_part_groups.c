/* test_part_groups.c: names and ids of groups, without the rest of the engine. */
#include <errno.h>

#include "engine/engine.h"
#include "harness/test.h"
#include "part_kit.h"

static uint32_t open_group(struct part_kit *kit, const char *name, bool owned) {
    uint32_t id = 0;
    assert_int_equal(engine_open_group(&kit->engine, name, owned, &id, NULL), 0);
    return id;
}

TEST(a_group_is_opened_once_and_found_by_its_name) {
    struct part_kit kit;
    part_kit_new(&kit, &groups_part, PART_groups);
    uint32_t id = open_group(&kit, "release", false);
    assert_int_equal(open_group(&kit, "release", false), id);
    assert_int_equal(part_log.groups, 1);
    assert_int_equal(engine_find_group(&kit.engine, "release")->id, id);
    assert_null(engine_find_group(&kit.engine, "other"));
    part_kit_free(&kit);
}

TEST(a_generated_name_is_never_used_twice) {
    struct part_kit kit;
    part_kit_new(&kit, &groups_part, PART_groups);
    uint32_t first = open_group(&kit, NULL, false);
    assert_string_equal(engine_group_at(&kit.engine, 0)->name, "group-1");
    engine_take_back_group(&kit.engine, first);
    part_kit_step(&kit, STEP_UNLOAD);
    part_kit_load_note(&kit); /* "groups" = 1 */
    (void)open_group(&kit, NULL, false);
    assert_string_equal(engine_group_at(&kit.engine, 0)->name, "group-2");
    part_kit_free(&kit);
}

TEST(the_id_of_a_deleted_group_is_free_from_the_next_turn_on) {
    struct part_kit kit;
    part_kit_new(&kit, &groups_part, PART_groups);
    part_kit_step(&kit, STEP_BEGIN);
    uint32_t first = open_group(&kit, "a", false);
    engine_take_back_group(&kit.engine, first);
    assert_int_equal(part_log.deleted_groups, 1);
    assert_int_not_equal(open_group(&kit, "b", false), first);
    part_kit_step(&kit, STEP_BEGIN);
    assert_int_equal(open_group(&kit, "c", false), first);
    part_kit_free(&kit);
}

TEST(a_group_that_its_owner_closed_takes_no_more_tasks) {
    struct part_kit kit;
    uint32_t id;
    part_kit_new(&kit, &groups_part, PART_groups);
    (void)open_group(&kit, "mine", true);
    assert_int_equal(engine_close_group(&kit.engine, "mine", NULL), 0);
    assert_string_equal(part_log.event_kind, "group.closed");
    assert_int_equal(engine_close_group(&kit.engine, "mine", NULL), 1);
    assert_int_equal(engine_open_group(&kit.engine, "mine", true, &id, NULL), -EBUSY);
    assert_int_equal(engine_close_group(&kit.engine, "none", NULL), -ENOENT);
    part_kit_free(&kit);
}
