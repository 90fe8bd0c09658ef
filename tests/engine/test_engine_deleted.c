/* Deleted tasks: their files are removed, also if the daemon crashes in between, and their group is removed
 * with its last task. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/loops.h"
#include "engine_kit.h"
#include "fault_vfs.h"
#include "harness/test.h"

#define CALM KIT_CALM "retention: {days: 30}\n"

static struct kit kit;
static char forgotten[128]; /* the tasks that others must forget */

static void note_forgotten(void *ctx, const char *project, const char *id) {
    (void)ctx;
    size_t used = strlen(forgotten);
    snprintf(forgotten + used, sizeof(forgotten) - used, "%s/%s ", project, id);
}

static void listen(struct kit *k) {
    engine_set_forgotten(k->engine, note_forgotten, NULL);
}

static int open_calm(void **state) {
    (void)state;
    forgotten[0] = '\0';
    kit_open(&kit, CALM);
    listen(&kit);
    kit.before_start = listen;
    kit_settle(&kit);
    return 0;
}

static int close_it(void **state) {
    (void)state;
    fault_set(FAULT_NONE, 0, 0);
    kit_close(&kit);
    return 0;
}

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", kit.home, name);
    return path;
}

static bool is_there(const char *name) {
    return access(path_of(name), F_OK) == 0;
}

static void make_folders_of(const char *id) {
    char name[64];
    (void)mkdir(path_of("tasks"), 0700);
    (void)mkdir(path_of("runs"), 0700);
    snprintf(name, sizeof(name), "tasks/%s", id);
    assert_int_equal(mkdir(path_of(name), 0700), 0);
}

/* --- folders --------------------------------------------------------------------------------- */

static task_id draft(void) {
    struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    add.draft.spec.state = TASK_DRAFT;
    assert_int_equal(kit_do(&kit, &add), 0);
    return add.first;
}

#define DELETED_TEST(name_) TEST_WITH(name_, open_calm, close_it)

DELETED_TEST(folders_go_when_the_commit_is_there_and_not_before) {
    assert_int_equal(draft(), 1);
    make_folders_of("web-1");
    fault_set(FAULT_FULL_ALWAYS, 1, 0);
    assert_int_equal(kit_apply(&kit, FACT_DELETE, 1), 0);
    assert_int_equal(kit.outcome, STORE_FAILED);
    assert_true(is_there("tasks/web-1"));
    assert_string_equal(forgotten, "");
    fault_set(FAULT_NONE, 0, 0);
    assert_int_equal(kit_apply(&kit, FACT_DELETE, 1), 0);
    assert_int_equal(kit.outcome, STORE_OK);
    assert_false(is_there("tasks/web-1"));
    assert_true(is_there("runs/web-1/tasks")); /* and from there it is thrown away */
    assert_string_equal(fake_forgotten(), "web-1");
    assert_string_equal(forgotten, "web/web-1 ");
}

static void as_after_a_crash(struct store_batch *batch) {
    store_put_note(batch, &(struct note_row){ .name = "gone", .text = "web-7 web-1 web-8" });
}

DELETED_TEST(what_the_daemon_before_did_not_come_to_is_done_at_the_start) {
    assert_int_equal(draft(), 1);
    make_folders_of("web-7");
    make_folders_of("web-1"); /* it exists: a backup was restored */
    make_folders_of("web-9"); /* no note says that it was deleted */
    kit_stop(&kit);
    kit_store(&kit, as_after_a_crash);
    kit_start(&kit);
    assert_false(is_there("tasks/web-7"));
    assert_true(is_there("tasks/web-1"));
    assert_true(is_there("tasks/web-9"));
    assert_string_equal(forgotten, "web/web-7 web/web-8 ");
}

DELETED_TEST(it_is_done_once) {
    assert_int_equal(draft(), 1);
    kit_stop(&kit);
    kit_store(&kit, as_after_a_crash);
    kit_start(&kit);
    assert_string_equal(forgotten, "web/web-7 web/web-8 ");
    kit_settle(&kit); /* its first commit has no such note any more */
    forgotten[0] = '\0';
    kit_restart(&kit);
    assert_string_equal(forgotten, "");
}

DELETED_TEST(a_crash_behind_the_commit_is_made_good) {
    assert_int_equal(draft(), 1);
    assert_int_equal(kit_apply(&kit, FACT_DELETE, 1), 0);
    forgotten[0] = '\0';
    make_folders_of("web-1"); /* as if it had not come so far */
    kit_restart(&kit);
    assert_false(is_there("tasks/web-1"));
    assert_string_equal(forgotten, "web/web-1 ");
}

/* --- groups ---------------------------------------------------------------------------------- */

static bool owned;

static int open_group(struct engine *engine, struct kit_ask *ask) {
    uint32_t group = 0;
    int r = engine_open_group(engine, ask->text, owned, &group, &ask->err);
    return r < 0 ? r : (int)group;
}

static int close_group(struct engine *engine, struct kit_ask *ask) {
    return engine_close_group(engine, ask->text, &ask->err);
}

static uint32_t group_of(const char *name) {
    owned = false;
    return (uint32_t)kit_run(&kit, open_group, name);
}

static task_id member_of(uint32_t group) {
    struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    add.draft.spec.state = TASK_DRAFT;
    add.draft.spec.group = group;
    assert_int_equal(kit_do(&kit, &add), 0);
    return add.first;
}

static bool has_group(const char *name) {
    return engine_find_group(kit.engine, name) != NULL;
}

DELETED_TEST(f148_a_group_goes_with_the_last_of_its_tasks) {
    uint32_t night = group_of("night");
    task_id one = member_of(night), two = member_of(night);
    assert_int_equal(kit_apply(&kit, FACT_DELETE, one), 0);
    assert_true(has_group("night"));
    assert_int_equal(kit_apply(&kit, FACT_DELETE, two), 0);
    assert_false(has_group("night"));
    kit_restart(&kit);
    assert_false(has_group("night"));
}

DELETED_TEST(its_place_is_taken_again_and_its_name_is_not) {
    uint32_t first = group_of(NULL), second = group_of(NULL);
    assert_true(has_group("group-1") && has_group("group-2"));
    (void)member_of(first);
    assert_int_equal(kit_apply(&kit, FACT_DELETE, member_of(second)), 0);
    assert_false(has_group("group-2"));
    kit_restart(&kit);
    assert_int_equal(group_of(NULL), second);
    assert_true(has_group("group-3"));
    assert_false(has_group("group-2"));
    assert_int_equal(engine_group_count(kit.engine), 2);
}

DELETED_TEST(a_commit_that_failed_has_removed_none) {
    task_id task = member_of(group_of("night"));
    fault_set(FAULT_FULL_ALWAYS, 1, 0);
    assert_int_equal(kit_apply(&kit, FACT_DELETE, task), 0);
    assert_int_equal(kit.outcome, STORE_FAILED);
    assert_true(has_group("night"));
}

DELETED_TEST(f147_one_that_is_owned_stays_until_its_owner_closes_it) {
    owned = true;
    task_id task = member_of((uint32_t)kit_run(&kit, open_group, "mine"));
    assert_int_equal(kit_apply(&kit, FACT_DELETE, task), 0);
    assert_true(has_group("mine"));
    assert_int_equal(kit_run(&kit, close_group, "mine"), 0);
    kit_restart(&kit);
    assert_true(has_group("mine")); /* who asks again is forgotten that it is closed */
}

static time_ms today;

static void two_closed_ones(struct store_batch *batch) {
    struct group_row old = { .id = 1, .name = "old", .closed = true };
    struct group_row young = { .id = 2, .name = "young", .closed = true };
    old.created_at = old.closed_at = today - DAYS(31);
    young.created_at = young.closed_at = today - DAYS(29);
    store_put_group(batch, &old);
    store_put_group(batch, &young);
}

DELETED_TEST(one_that_was_closed_without_tasks_goes_when_it_is_old) {
    today = engine_now(kit.engine);
    kit_stop(&kit);
    kit_store(&kit, two_closed_ones);
    kit_start(&kit);
    assert_false(has_group("old"));
    assert_true(has_group("young"));
    kit_settle(&kit);
    assert_int_equal(group_of("new"), 1);
}

/* The core has an order about the old one, which must not close the new one. */
static int cancel_delete_and_open(struct engine *engine, struct kit_ask *ask) {
    uint32_t group = 0;
    for (task_id task = 1; task <= 2; task++) {
        struct fact cancel = { .kind = FACT_CANCEL, .task = task };
        struct fact delete = { .kind = FACT_DELETE, .task = task };
        int r = engine_apply(engine, &cancel, &ask->err);
        if (r == 0)
            r = engine_apply(engine, &delete, &ask->err);
        if (r < 0)
            return r;
    }
    return engine_open_group(engine, "new", false, &group, &ask->err);
}

DELETED_TEST(a_place_is_not_taken_in_the_turn_in_which_it_became_free) {
    uint32_t night = group_of("night");
    for (int i = 0; i < 2; i++) {
        struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
        add.draft.spec.state = TASK_HELD;
        add.draft.spec.hold = HOLD_PERSON;
        add.draft.spec.group = night;
        assert_int_equal(kit_do(&kit, &add), 0);
    }
    assert_int_equal(kit_run(&kit, cancel_delete_and_open, NULL), 0);
    assert_false(has_group("night"));
    assert_true(has_group("new"));
    assert_false(engine_find_group(kit.engine, "new")->closed);
}

/* As task.add does it: the second of two is more than the core takes. */
static int open_and_be_refused(struct engine *engine, struct kit_ask *ask) {
    struct submission tasks[2] = { ask->draft, ask->draft };
    uint32_t group = 0;
    bool made = !engine_find_group(engine, ask->text);
    assert_int_equal(engine_open_group(engine, ask->text, false, &group, &ask->err), 0);
    tasks[0].spec.group = tasks[1].spec.group = group;
    tasks[1].spec.keeps = UINT8_MAX;
    int r = engine_add_tasks(engine, tasks, 2, &ask->err);
    if (r < 0 && made)
        engine_take_back_group(engine, group);
    return r;
}

DELETED_TEST(a_group_goes_again_when_its_tasks_are_refused) {
    struct kit_ask ask = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    assert_int_equal(kit_do(&kit, &ask), 0);
    ask = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    ask.run = open_and_be_refused;
    ask.text = "night";
    assert_int_equal(kit_do(&kit, &ask), -EINVAL);
    assert_false(has_group("night"));
    kit_restart(&kit);
    assert_false(has_group("night"));
    /* One that was there before stays, with what is in it. */
    (void)member_of(group_of("day"));
    ask = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    ask.run = open_and_be_refused;
    ask.text = "day";
    assert_int_equal(kit_do(&kit, &ask), -EINVAL);
    assert_true(has_group("day"));
    assert_int_equal(engine_find_group(kit.engine, "day")->total, 1);
}

int main(void) {
    fault_install();
    return tests_run();
}
