/* Retention: which finished tasks are deleted, which are kept, and that it delays no request. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine_kit.h"
#include "harness/test.h"
#include "late_store.h"

#define OLD DAYS(40)

static struct kit kit;
static time_ms today;

static int close_it(void **state) {
    (void)state;
    kit_close(&kit);
    return 0;
}

static int open_short(void **state) {
    (void)state;
    kit_open(&kit,
             KIT_CALM "retention: {days: 30, tasks: 1000}\nevents: {keep_days: 30, keep: 1000}\n");
    kit_settle(&kit);
    today = engine_now(kit.engine);
    return 0;
}

static int open_late(void **state) {
    (void)state;
    kit_open_late(&kit, KIT_CALM "retention: {days: 30}\n");
    kit_settle(&kit);
    today = engine_now(kit.engine);
    return 0;
}

static void put_task(struct store_batch *batch, task_id id, enum task_state state, time_ms at) {
    struct task_row row = {
        .id = id,
        .project = "web",
        .spec = { .id = id,
                  .priority = 100,
                  .iteration = 1,
                  .attempt = 1,
                  .state = state,
                  .parallelizable = true,
                  .retry_max = -1,
                  .created_at = at,
                  .ready_since = at },
        .changed_at = at,
    };
    struct spec_row spec = { .id = id, .title = "t", .json = "{}", .json_size = 2 };
    store_add_task(batch, &row);
    store_add_spec(batch, &spec);
}

static void put_web(struct store_batch *batch) {
    struct project_row project = { .name = "web", .prefix = "web", .created_at = 1 };
    store_put_project(batch, &project);
}

static bool has_task(task_id task) {
    return kit_state(&kit, task) != TASK_ABSENT;
}

static bool is_deleted(struct kit *k, void *ctx) {
    (void)k;
    return !has_task(*(task_id *)ctx);
}

static void wait_deleted(task_id task) {
    kit_wait(&kit, is_deleted, &task, "a task is forgotten");
}

/* --- tasks ----------------------------------------------------------------------------------- */

static void two_of_each(struct store_batch *batch) {
    put_web(batch);
    put_task(batch, 101, TASK_DONE, today - OLD);
    put_task(batch, 102, TASK_DONE, today - DAYS(1));
    put_task(batch, 103, TASK_FAILED, today - OLD);
    put_task(batch, 104, TASK_DRAFT, today - OLD);
}

#define PRUNE_TEST(name_) TEST_WITH(name_, open_short, close_it)

PRUNE_TEST(what_is_old_and_finished_goes_with_its_folder_and_marker) {
    char marker[96];
    kit_stop(&kit);
    kit_store(&kit, two_of_each);
    snprintf(marker, sizeof(marker), "%s/done/web-103", kit.home);
    assert_int_equal(symlink("nowhere", marker), 0);
    kit_start(&kit);
    wait_deleted(103);
    assert_false(has_task(101));
    assert_true(has_task(102)); /* young */
    assert_true(has_task(104)); /* not finished */
    struct stat st;
    assert_string_equal(fake_forgotten(), "web-103");
    assert_int_equal(lstat(marker, &st), -1);
    kit_restart(&kit);
    assert_false(has_task(101));
}

static void too_many(struct store_batch *batch) {
    put_web(batch);
    for (task_id id = 1; id <= 1005; id++)
        put_task(batch, id, TASK_DONE, today - HOURS(2) + (time_ms)id);
}

PRUNE_TEST(of_too_many_the_oldest_go) {
    kit_stop(&kit);
    kit_store(&kit, too_many);
    kit_start(&kit);
    wait_deleted(5);
    kit_settle(&kit);
    assert_false(has_task(1));
    assert_true(has_task(6));
}

/* A group of finished tasks, one of which is not: all are needed. */
static void a_crowd_in_front(struct store_batch *batch) {
    put_web(batch);
    struct group_row group = { .id = 1, .name = "night", .created_at = 1 };
    store_put_group(batch, &group);
    for (task_id id = 1; id <= 450; id++) {
        struct task_row row = {
            .id = id,
            .project = "web",
            .spec = { .id = id,
                      .iteration = 1,
                      .state = id == 450 ? TASK_DRAFT : TASK_DONE,
                      .parallelizable = true,
                      .retry_max = -1,
                      .created_at = 1,
                      .ready_since = 1,
                      .group = 1 },
            .changed_at = (time_ms)id,
        };
        store_add_task(batch, &row);
    }
    put_task(batch, 500, TASK_DONE, today - OLD); /* younger than all of them, and alone */
}

PRUNE_TEST(those_that_are_needed_do_not_hide_those_that_are_not) {
    kit_stop(&kit);
    kit_store(&kit, a_crowd_in_front);
    kit_start(&kit);
    wait_deleted(500);
    assert_true(has_task(1));
    assert_true(has_task(449));
}

static void a_chain(struct store_batch *batch) {
    static const task_id before = 101;
    put_web(batch);
    put_task(batch, 101, TASK_DONE, today - OLD);
    put_task(batch, 102, TASK_DONE, today - DAYS(1));
    struct task_row behind = { .id = 102,
                               .project = "web",
                               .spec = { .id = 102,
                                         .priority = 100,
                                         .iteration = 1,
                                         .attempt = 1,
                                         .state = TASK_DONE,
                                         .parallelizable = true,
                                         .retry_max = -1 },
                               .depends_on = &before,
                               .depends_on_count = 1,
                               .changed_at = today - DAYS(1) };
    store_change_task(batch, &behind, STORE_CHANGE_NEEDS);
}

static void take_age(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    assert_int_equal(answer->count, 1);
    *(time_ms *)ctx = answer->specs[0].changed_at;
}

/* Else a chain of ten would be kept ten times as long. */
PRUNE_TEST(who_needed_a_task_that_goes_keeps_its_own_age) {
    const task_id behind = 102;
    time_ms changed_at = 0;
    kit_stop(&kit);
    kit_store(&kit, a_chain);
    kit_start(&kit);
    wait_deleted(101);
    kit_settle(&kit);
    struct store_query question = { .kind = QUERY_CHANGED, .tasks = &behind, .task_count = 1 };
    store_query(kit.store, &question, take_age, &changed_at);
    assert_int_equal(changed_at, today - DAYS(1));
}

/* --- events ---------------------------------------------------------------------------------- */

static uint64_t next_event;

static void old_and_young_events(struct store_batch *batch) {
    for (int i = 0; i < 700; i++) {
        struct event_row event = {
            .seq = next_event++,
            .at = i < 500 ? today - OLD : today - DAYS(2),
            .kind = i < 500 ? "test.old" : "test.young",
        };
        store_add_event(batch, &event);
    }
}

PRUNE_TEST(events_that_are_too_old_go) {
    next_event = engine_last_event(kit.engine) + 1;
    kit_stop(&kit);
    kit_store(&kit, old_and_young_events);
    kit_start(&kit);
    kit_settle(&kit);
    assert_int_equal(kit_events(&kit, "test.old", 0), 0);
    assert_int_equal(kit_events(&kit, "test.young", 0), 200);
    uint64_t first = engine_first_event(kit.engine);
    kit_restart(&kit);
    assert_int_equal(engine_first_event(kit.engine), first); /* that is what the store has */
}

static void only_old_events(struct store_batch *batch) {
    for (int i = 0; i < 50; i++) {
        struct event_row event = { .seq = next_event++, .at = today - OLD, .kind = "test.old" };
        store_add_event(batch, &event);
    }
}

PRUNE_TEST(numbers_rise_even_if_everything_was_old) {
    next_event = engine_last_event(kit.engine) + 1;
    kit_stop(&kit);
    kit_store(&kit, only_old_events);
    kit_start(&kit);
    kit_settle(&kit);
    uint64_t last = engine_last_event(kit.engine);
    assert_true(last >= next_event);
    kit_restart(&kit);
    kit_settle(&kit);
    assert_true(engine_last_event(kit.engine) > last);
}

static void many_events(struct store_batch *batch) {
    for (int i = 0; i < 1500; i++) {
        struct event_row event = { .seq = next_event++, .at = today, .kind = "test.young" };
        store_add_event(batch, &event);
    }
}

PRUNE_TEST(of_too_many_events_the_oldest_go) {
    next_event = engine_last_event(kit.engine) + 1;
    kit_stop(&kit);
    kit_store(&kit, many_events);
    kit_start(&kit);
    kit_settle(&kit);
    uint64_t kept = engine_last_event(kit.engine) - engine_first_event(kit.engine) + 1;
    assert_true(kept >= 999 && kept <= 1001); /* and the event of this start */
}

/* --- a store that answers later --------------------------------------------------------------- */

TEST_WITH(answers_that_come_later_are_used_then, open_late, close_it) {
    kit_stop(&kit);
    kit_store(&kit, two_of_each);
    late_hold_answers(true);
    kit_start(&kit);
    kit_settle(&kit);
    assert_true(late_answers() > 0);
    assert_true(has_task(101));
    late_hold_answers(false);
    late_give_answers();
    wait_deleted(101);
    assert_false(has_task(103));
    assert_true(has_task(102));
}
