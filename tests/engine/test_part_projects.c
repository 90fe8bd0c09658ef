/* test_part_projects.c: prefixes, ids, pauses and removed sections, without the rest of the engine. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/test.h"
#include "part_kit.h"

static void begin(struct part_kit *kit) {
    part_kit_new(kit, &projects_part, PART_projects);
}

static const char *prefix_of(struct part_kit *kit, const char *project) {
    return engine_find_project(&kit->engine, project)->prefix;
}

/* As after a change of the file: only the sections of `names`. */
static void configure(struct part_kit *kit, const char *const *names) {
    struct engine *e = &kit->engine;
    config_free(e->config);
    e->config = config_new();
    for (; *names; names++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "projects.%s.max_running", *names);
        part_kit_set(kit, key, "3");
    }
    assert_int_equal(projects_part.try[TRY_CHECK_CONFIG](e, NULL), 0);
    assert_int_equal(projects_part.apply_config(e, NULL), 0);
    assert_int_equal(projects_part.try[TRY_TAKE_CONFIG](e, NULL), 0);
}

TEST(a_prefix_is_made_of_the_name_and_is_unique) {
    struct part_kit kit;
    begin(&kit);
    assert_int_equal(engine_add_project(&kit.engine, "default", NULL, NULL), 0);
    assert_int_equal(engine_add_project(&kit.engine, "Web shop", NULL, NULL), 0);
    assert_int_equal(engine_add_project(&kit.engine, "web-shop", NULL, NULL), 0);
    assert_int_equal(engine_add_project(&kit.engine, "42", NULL, NULL), 0);
    assert_string_equal(prefix_of(&kit, "default"), "t");
    assert_string_equal(prefix_of(&kit, "Web shop"), "webshop");
    assert_string_equal(prefix_of(&kit, "web-shop"), "webshop2");
    assert_string_equal(prefix_of(&kit, "42"), "p");
    part_kit_free(&kit);
}

TEST(a_given_prefix_must_be_valid_and_free) {
    struct part_kit kit;
    begin(&kit);
    assert_int_equal(engine_add_project(&kit.engine, "a", "x", NULL), 0);
    assert_int_equal(engine_add_project(&kit.engine, "b", "x", NULL), -EEXIST);
    assert_int_equal(engine_add_project(&kit.engine, "b", "1x", NULL), -EINVAL);
    assert_int_equal(engine_add_project(&kit.engine, "b", "x-1", NULL), -EINVAL);
    assert_int_equal(engine_add_project(&kit.engine, "b", "x-y", NULL), 0);
    assert_int_equal(engine_add_project(&kit.engine, "b", "z", NULL), -EEXIST);
    assert_int_equal(part_log.projects, 2);
    part_kit_free(&kit);
}

TEST(an_id_is_the_prefix_and_the_number) {
    struct part_kit kit;
    char id[ENGINE_ID_MAX];
    begin(&kit);
    assert_int_equal(engine_add_project(&kit.engine, "web", "w", NULL), 0);
    part_kit_add_task(&kit, 7, 0);
    assert_string_equal(engine_task_id(&kit.engine, 7, id), "w-7");
    assert_string_equal(engine_task_id(&kit.engine, 8, id), "#8");
    assert_int_equal(engine_task_of_id(&kit.engine, "w-7", NULL), 7);
    assert_int_equal(engine_task_of_id(&kit.engine, "#7", NULL), 7);
    assert_int_equal(engine_task_of_id(&kit.engine, "x-7", NULL), 0);
    assert_int_equal(engine_task_of_id(&kit.engine, "w-8", NULL), 0);
    assert_int_equal(engine_task_of_id(&kit.engine, "w-", NULL), 0);
    assert_ptr_equal(project_of_id(&kit.engine, "w-99"), project_at(&kit.engine, 0));
    part_kit_free(&kit);
}

TEST(a_pause_keeps_its_first_author) {
    struct part_kit kit;
    begin(&kit);
    assert_int_equal(engine_pause(&kit.engine, true, "ada", NULL), 0);
    assert_int_equal(engine_pause(&kit.engine, true, "bob", NULL), 1);
    assert_string_equal(engine_paused(&kit.engine)->by, "ada");
    struct store_totals totals = { .pause = { .paused = true, .by = "eve", .at = 5 } };
    assert_int_equal(projects_part.load_totals(&kit.engine, &totals, NULL), 0);
    assert_string_equal(engine_paused(&kit.engine)->by, "eve");
    assert_int_equal(engine_pause(&kit.engine, false, "ada", NULL), 0);
    assert_null(engine_paused(&kit.engine));
    part_kit_free(&kit);
}

TEST(a_project_that_loses_its_section_is_paused_until_it_has_one) {
    struct part_kit kit;
    begin(&kit);
    configure(&kit, (const char *const[]){ "web", NULL });
    part_kit_add_task(&kit, 1, 0);
    assert_int_equal(part_log.alerts, 0);
    configure(&kit, (const char *const[]){ NULL });
    assert_int_equal(engine_find_project(&kit.engine, "web")->standing, PROJECT_ORPHANED);
    assert_string_equal(part_log.event_kind, "project.paused");
    assert_string_equal(part_log.alert_key, "section:web");
    assert_int_equal(part_kit_decide(&kit), 0);
    assert_int_equal(engine_pause_project(&kit.engine, "web", false, "ada", NULL), -EBUSY);
    configure(&kit, (const char *const[]){ "web", NULL });
    assert_string_equal(part_log.event_kind, "project.resumed");
    assert_true(part_kit_decide(&kit) > 0);
    part_kit_free(&kit);
}

TEST(a_deleted_project_is_hidden_and_keeps_its_prefix) {
    struct part_kit kit;
    begin(&kit);
    assert_int_equal(engine_add_project(&kit.engine, "web", "w", NULL), 0);
    assert_int_equal(engine_delete_project(&kit.engine, "web", "ada", NULL), 0);
    assert_null(engine_find_project(&kit.engine, "web"));
    part_kit_load_note(&kit); /* as written: "deleted" */
    assert_int_equal(engine_add_project(&kit.engine, "other", "w", NULL), -EEXIST);
    assert_int_equal(engine_add_project(&kit.engine, "web", "x", NULL), -EEXIST);
    assert_int_equal(engine_add_project(&kit.engine, "web", NULL, NULL), 0);
    assert_string_equal(prefix_of(&kit, "web"), "w");
    part_kit_free(&kit);
}
