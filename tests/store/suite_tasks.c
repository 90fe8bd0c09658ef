/* suite_tasks.c: rules for tasks and batches, on every backend. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "store/store_internal.h"
#include "suite.h"

SUITE_RULE(a_new_store_is_empty) {
    assert_true(suite->report.created);
    assert_false(suite->report.was_unclean);
    assert_int_equal(suite->report.epoch, 1);
    suite_expect_dump(suite, "totals last_task=0 events=0..0 tasks=0 paused=0\n");
}

static int collect_task(void *ctx, const struct task_row *row, struct error *err) {
    (void)err;
    kit_print_task(row, ctx);
    return 0;
}

static void expect_tasks(struct suite *suite, const char *expected) {
    _cleanup_(strbuf_finish) struct strbuf found = STRBUF_INIT;
    kit_load(suite->store, &(struct store_reader){ .task = collect_task, .ctx = &found });
    assert_string_equal(strbuf_text(&found), expected);
}

/* 128 rows: every value of every enum, in different combinations. */
SUITE_RULE(every_field_of_a_task_comes_back) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    for (task_id id = 1; id <= 128; id++) {
        struct task_row row = kit_task(id);
        store_add_task(suite->batch, &row);
        kit_print_task(&row, &expected);
    }
    kit_commit(suite->store, suite->batch);
    expect_tasks(suite, strbuf_text(&expected));
    suite_reopen(suite);
    expect_tasks(suite, strbuf_text(&expected));
}

SUITE_RULE(extreme_values_come_back) {
    struct task_row row = kit_task(3);
    row.spec.priority = INT32_MIN;
    row.spec.not_before = INT64_MAX;
    row.spec.created_at = INT64_MIN;
    row.spec.iteration = row.spec.attempt = row.spec.group = UINT32_MAX;
    row.spec.failures = row.spec.breaker_openings = UINT16_MAX;
    row.spec.retry_max = INT32_MAX;
    row.spec.parent = INT64_MAX;
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    kit_print_task(&row, &expected);
    store_add_task(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_tasks(suite, strbuf_text(&expected));
}

SUITE_RULE(an_empty_name_is_none) {
    struct task_row row = kit_task(1);
    row.kind = row.agent = row.limiter = row.workspace = row.serial = row.resources = "";
    row.run_agent = row.run_limiter = "";
    store_add_task(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    row.kind = row.agent = row.limiter = row.workspace = row.serial = row.resources = NULL;
    row.run_agent = row.run_limiter = NULL;
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    kit_print_task(&row, &expected);
    expect_tasks(suite, strbuf_text(&expected));
}

SUITE_RULE(tasks_come_in_the_order_of_their_numbers) {
    static const task_id added[] = { 5, 2, 9, 1000000000000, 3 };
    static const task_id sorted[] = { 2, 3, 5, 9, 1000000000000 };
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(added); i++) {
        struct task_row row = kit_task(added[i]);
        store_add_task(suite->batch, &row);
        row = kit_task(sorted[i]);
        kit_print_task(&row, &expected);
    }
    kit_commit(suite->store, suite->batch);
    expect_tasks(suite, strbuf_text(&expected));
}

SUITE_RULE(a_change_leaves_what_scheduling_does_not_change) {
    struct task_row row = kit_task(15);
    store_add_task(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    struct task_row changed = kit_task(10);
    changed.id = 15;
    changed.project = "elsewhere";
    changed.resources = NULL;
    store_change_task(suite->batch, &changed, STORE_CHANGE_SEEN);
    kit_commit(suite->store, suite->batch);

    changed.spec.id = 15;
    changed.project = row.project;
    changed.resources = row.resources;
    changed.spec.created_at = row.spec.created_at;
    changed.depends_on = row.depends_on;
    changed.depends_on_count = row.depends_on_count;
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    kit_print_task(&changed, &expected);
    suite_reopen(suite);
    expect_tasks(suite, strbuf_text(&expected));
}

SUITE_RULE(changed_dependencies_take_the_place_of_the_old_ones) {
    struct task_row row = kit_task(3);
    static const task_id needs[] = { 40, 2 };
    store_add_task(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    row.depends_on = needs;
    row.depends_on_count = ARRAY_SIZE(needs);
    store_change_task(suite->batch, &row, STORE_CHANGE_NEEDS);
    kit_commit(suite->store, suite->batch);
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    kit_print_task(&row, &expected);
    expect_tasks(suite, strbuf_text(&expected));

    row.depends_on_count = 0;
    store_change_task(suite->batch, &row, STORE_CHANGE_NEEDS);
    kit_commit(suite->store, suite->batch);
    strbuf_clear(&expected);
    kit_print_task(&row, &expected);
    expect_tasks(suite, strbuf_text(&expected));
}

SUITE_RULE(a_number_is_given_once) {
    struct task_row row = kit_task(1);
    store_add_task(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    struct task_row other = kit_task(2);
    store_add_task(suite->batch, &other);
    store_add_task(suite->batch, &row);
    suite_expect_failed(suite, -EEXIST);
}

SUITE_RULE(a_task_that_is_not_there_is_not_changed) {
    struct task_row row = kit_task(1);
    store_change_task(suite->batch, &row, STORE_CHANGE_NEEDS);
    suite_expect_failed(suite, -ENOENT);
}

static int take_changed_at(void *ctx, const struct task_row *row, struct error *err) {
    (void)err;
    *(time_ms *)ctx = row->changed_at;
    return 0;
}

static void count_answer(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    *(size_t *)ctx = answer->count;
}

static time_ms changed_at(struct suite *suite, struct task_row *row, unsigned what) {
    time_ms at = 0;
    row->changed_at++;
    store_change_task(suite->batch, row, what);
    kit_commit(suite->store, suite->batch);
    (void)kit_load(suite->store, &(struct store_reader){ .task = take_changed_at, .ctx = &at });
    return at;
}

static size_t expired_before(struct suite *suite, time_ms before) {
    size_t count = 0;
    struct store_query question = { .kind = QUERY_EXPIRED, .before_time = before };
    kit_ask(suite->store, &question, count_answer, &count);
    return count;
}

/* The engine decides whether users see a change: rows_digest. */
SUITE_RULE(changed_at_moves_when_users_see_a_change) {
    struct task_row row = kit_task(1);
    row.spec.state = TASK_HELD;
    row.spec.hold = HOLD_PERSON;
    row.changed_at = 100;
    store_add_task(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    row.spec.priority++;
    assert_int_equal(changed_at(suite, &row, 0), 100);
    assert_int_equal(changed_at(suite, &row, STORE_CHANGE_NEEDS), 100);
    assert_int_equal(changed_at(suite, &row, STORE_CHANGE_SEEN), 103);
    assert_int_equal(expired_before(suite, TIME_NEVER), 0);
    row.spec.state = TASK_DONE;
    row.spec.hold = HOLD_NONE;
    assert_int_equal(changed_at(suite, &row, STORE_CHANGE_SEEN | STORE_CHANGE_NEEDS), 104);
    assert_int_equal(changed_at(suite, &row, STORE_CHANGE_NEEDS), 104); /* and so its age */
    assert_int_equal(expired_before(suite, 104), 0);
    assert_int_equal(expired_before(suite, 105), 1);
}

SUITE_RULE(a_spec_may_come_before_its_task) {
    struct task_row row = kit_task(1);
    struct spec_row spec = kit_spec(1);
    spec.external_id = "key-1";
    store_add_spec(suite->batch, &spec);
    store_add_task(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    row = kit_task(3); /* the same project */
    spec.id = 3;
    store_add_spec(suite->batch, &spec);
    store_add_task(suite->batch, &row);
    suite_expect_failed(suite, -EEXIST);
}

static void compare_context(void *ctx, const struct store_answer *answer, const struct error *err) {
    const char *expected = ctx, *context = answer->specs[0].context;
    assert_null(err);
    assert_int_equal(answer->count, 1);
    assert_string_equal(context ? context : "none", expected ? expected : "none");
    assert_string_equal(answer->specs[0].json, "{\"prompt\":\"do it\"}"); /* as it was */
}

static void suite_expect_context(struct suite *suite, task_id task, const char *expected) {
    struct store_query question = { .kind = QUERY_SPECS, .tasks = &task, .task_count = 1 };
    kit_ask(suite->store, &question, compare_context, (void *)expected);
}

SUITE_RULE(a_context_stands_beside_the_spec) {
    struct task_row row = kit_task(1);
    struct spec_row spec = kit_spec(1);
    store_put_context(suite->batch, 1, "{\"merge\":\"direct\"}"); /* the task of this batch */
    store_add_task(suite->batch, &row);
    store_add_spec(suite->batch, &spec);
    kit_commit(suite->store, suite->batch);
    suite_expect_context(suite, 1, "{\"merge\":\"direct\"}");
    store_put_context(suite->batch, 1, "{\"agent\":\"codex\"}");
    store_put_context(suite->batch, 2, "{}"); /* no such task */
    kit_commit(suite->store, suite->batch);
    suite_expect_context(suite, 1, "{\"agent\":\"codex\"}");
    store_put_context(suite->batch, 1, NULL);
    kit_commit(suite->store, suite->batch);
    suite_expect_context(suite, 1, NULL);
}

static void compare_edited(void *ctx, const struct store_answer *answer, const struct error *err) {
    const char *const *expected = ctx; /* title, JSON */
    assert_null(err);
    assert_int_equal(answer->count, 1);
    assert_string_equal(answer->specs[0].title, expected[0]);
    assert_int_equal(answer->specs[0].json_size, strlen(expected[1]));
    assert_memory_equal(answer->specs[0].json, expected[1], strlen(expected[1]));
    assert_string_equal(answer->specs[0].external_id, "ext-1"); /* as it was */
    assert_string_equal(answer->specs[0].context, "{\"merge\":\"local\"}");
}

SUITE_RULE(an_edit_replaces_title_and_submission) {
    struct task_row row = kit_task(1);
    struct spec_row spec = kit_spec(1);
    task_id task = 1;
    struct store_query question = { .kind = QUERY_SPECS, .tasks = &task, .task_count = 1 };
    spec.external_id = "ext-1";
    store_add_task(suite->batch, &row);
    store_add_spec(suite->batch, &spec);
    store_put_context(suite->batch, 1, "{\"merge\":\"local\"}");
    kit_commit(suite->store, suite->batch);
    store_edit_spec(suite->batch, 1, "first", "{\"prompt\":\"first\"}");
    store_edit_spec(suite->batch, 1, "it's \"last\"", "{\"prompt\":\"the last one wins\"}");
    store_edit_spec(suite->batch, 2, "none", "{}"); /* no such task */
    kit_commit(suite->store, suite->batch);
    const char *last[] = { "it's \"last\"", "{\"prompt\":\"the last one wins\"}" };
    kit_ask(suite->store, &question, compare_edited, (void *)last);
    suite_reopen(suite);
    kit_ask(suite->store, &question, compare_edited, (void *)last);
}

/* Added and deleted in one turn: the caller need not handle this case. */
SUITE_RULE(a_spec_without_its_task_is_left_out) {
    struct task_row row = kit_task(1);
    struct spec_row spec = kit_spec(1), alone = kit_spec(2);
    store_add_task(suite->batch, &row);
    store_add_spec(suite->batch, &spec);
    store_add_spec(suite->batch, &alone);
    store_delete_task(suite->batch, 1);
    kit_commit(suite->store, suite->batch);
    suite_expect_dump(suite, "totals last_task=1 events=0..0 tasks=0 paused=0\n");
}

/* Its counters are removed with its progress, also after the next start. */
SUITE_RULE(progress_can_be_taken_back) {
    struct task_row row = kit_task(13);
    store_add_task(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    struct task_row fresh = { .id = 13,
                              .project = row.project,
                              .spec = { .state = TASK_DRAFT, .iteration = 1 } };
    store_change_task(suite->batch, &fresh, STORE_CHANGE_NEEDS | STORE_CHANGE_SEEN);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    fresh.spec.id = 13;
    fresh.spec.created_at = row.spec.created_at;
    fresh.resources = row.resources;
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    kit_print_task(&fresh, &expected);
    expect_tasks(suite, strbuf_text(&expected));
}

/* Each value alone makes progress that must be stored. */
SUITE_RULE(every_part_of_the_progress_counts) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    for (task_id id = 1; id <= 16; id++) {
        struct task_row row = { .id = id,
                                .project = "web",
                                .run_agent = id == 1 ? "codex" : NULL,
                                .run_limiter = id == 2 ? "openai" : NULL,
                                .spec = { .id = id,
                                          .state = TASK_RUNNING,
                                          .iteration = id == 3 ? 0 : 1,
                                          .attempt = id == 4,
                                          .hold = id == 5 ? HOLD_REVIEW : HOLD_NONE,
                                          .not_before = id == 6,
                                          .phase = id == 7 ? PHASE_DRAINING : PHASE_WORKING,
                                          .started_at = id == 8,
                                          .stop = id == 9 ? STOP_ORPHAN : STOP_NONE,
                                          .failures = id == 10,
                                          .launch_failures = id == 11,
                                          .losses = id == 12,
                                          .restarts = id == 13,
                                          .breaker_openings = id == 14,
                                          .lender = id == 15,
                                          .borrowed = id == 16 } };
        store_add_task(suite->batch, &row);
        kit_print_task(&row, &expected);
    }
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_tasks(suite, strbuf_text(&expected));
}

SUITE_RULE(a_task_has_one_spec) {
    struct task_row row = kit_task(1);
    struct spec_row spec = kit_spec(1);
    store_add_task(suite->batch, &row);
    store_add_spec(suite->batch, &spec);
    kit_commit(suite->store, suite->batch);
    store_add_spec(suite->batch, &spec);
    suite_expect_failed(suite, -EEXIST);
}

static void add_with_external(struct suite *suite, task_id id, const char *external) {
    struct task_row row = kit_task(id); /* odd: project web, even: api */
    struct spec_row spec = kit_spec(id);
    spec.external_id = external;
    store_add_task(suite->batch, &row);
    store_add_spec(suite->batch, &spec);
}

SUITE_RULE(an_external_id_is_unique_in_its_project) {
    add_with_external(suite, 1, "key-1");
    add_with_external(suite, 2, "key-1"); /* another project */
    add_with_external(suite, 3, NULL);
    add_with_external(suite, 5, NULL); /* none is not a value */
    kit_commit(suite->store, suite->batch);
    add_with_external(suite, 7, "key-1");
    suite_expect_failed(suite, -EEXIST);
}

SUITE_RULE(a_deleted_task_leaves_only_its_events) {
    struct task_row row = kit_task(3);
    struct run_row run = kit_run(3, 1);
    struct event_row of_task = kit_event(1, 3), of_none = kit_event(2, 0);
    struct project_row project = { .name = "web", .prefix = "w" };
    store_put_project(suite->batch, &project);
    store_add_event(suite->batch, &of_task);
    store_add_event(suite->batch, &of_none);
    add_with_external(suite, 3, "key-1");
    store_put_run(suite->batch, &run);
    run.attempt = 2;
    run.ended = false;
    store_put_run(suite->batch, &run);
    kit_commit(suite->store, suite->batch);

    store_delete_task(suite->batch, 3);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    suite_expect_dump(suite,
                      "project web prefix=w paused=0 created=0\n"
                      "totals last_task=3 events=1..2 tasks=0 paused=0\n"
                      "event 1 at=1700000006001 kind=task.state task=0/1 data={\"to\":\"ready\"}\n"
                      "event 2 at=1700000006002 kind=daemon.started task=0/2 data=(none)\n");
    /* A deleted task leaves nothing that conflicts with a new one. */
    row.id = 5;
    store_add_task(suite->batch, &row);
    struct spec_row spec = kit_spec(5);
    spec.external_id = "key-1";
    store_add_spec(suite->batch, &spec);
    kit_commit(suite->store, suite->batch);
}

SUITE_RULE(the_highest_number_outlives_its_task) {
    struct task_row row = kit_task(41);
    store_add_task(suite->batch, &row);
    row = kit_task(42);
    store_add_task(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    store_delete_task(suite->batch, 42);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    assert_int_equal(kit_load(suite->store, &(struct store_reader){ 0 }).last_task, 42);
    store_delete_task(suite->batch, 41);
    store_delete_task(suite->batch, 77); /* never existed */
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    assert_int_equal(kit_load(suite->store, &(struct store_reader){ 0 }).last_task, 42);
}

SUITE_RULE(numbers_can_be_taken_without_a_task) {
    store_assign_numbers(suite->batch, 40);
    store_assign_numbers(suite->batch, 17); /* those are among them */
    kit_commit(suite->store, suite->batch);
    assert_int_equal(kit_load(suite->store, &(struct store_reader){ 0 }).last_task, 40);
    suite_reopen(suite);
    assert_int_equal(kit_load(suite->store, &(struct store_reader){ 0 }).last_task, 40);
    struct task_row row = kit_task(41);
    store_add_task(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    assert_int_equal(kit_load(suite->store, &(struct store_reader){ 0 }).last_task, 41);
}

/* One write of each kind, and then an invalid one. */
SUITE_RULE(a_batch_is_written_whole_or_not_at_all) {
    struct task_row row = kit_task(1);
    struct event_row event = kit_event(1, 1);
    struct key_row key = { .key = "key-1", .at = 5, .status = 200, .answer = "{}" };
    struct usage_row usage = { .project = "web", .bucket = 300000, .tokens = 10, .starts = 1 };
    store_add_task(suite->batch, &row);
    store_add_event(suite->batch, &event);
    store_add_key(suite->batch, &key);
    store_add_usage(suite->batch, &usage);
    kit_commit(suite->store, suite->batch);

    struct task_row other = kit_task(2);
    struct spec_row spec = kit_spec(2);
    struct run_row run = kit_run(2, 1);
    struct event_row second = kit_event(2, 2);
    struct project_row project = { .name = "new", .prefix = "n" };
    struct group_row group = { .id = 1, .name = "night" };
    struct limiter_row limiter = { .name = "a new account", .spec = { .hits = 3 } };
    struct agent_row agent = { .name = "a new agent", .spec = { .openings = 3 } };
    struct key_row new_key = { .key = "key-2", .at = 6 };
    other.kind = "a name that is new";
    store_add_task(suite->batch, &other);
    store_add_spec(suite->batch, &spec);
    row.spec.priority = 77;
    store_change_task(suite->batch, &row, STORE_CHANGE_NEEDS);
    store_put_run(suite->batch, &run);
    store_add_event(suite->batch, &second);
    store_prune_events(suite->batch, 2);
    store_put_project(suite->batch, &project);
    store_put_group(suite->batch, &group);
    store_put_limiter(suite->batch, &limiter);
    store_put_agent(suite->batch, &agent);
    store_add_usage(suite->batch, &usage);
    store_prune_usage(suite->batch, 300001);
    store_add_key(suite->batch, &new_key);
    store_prune_keys(suite->batch, 6);
    store_put_pause(suite->batch, &(struct pause_row){ .paused = true });
    store_assign_numbers(suite->batch, 77);
    store_delete_task(suite->batch, 1);
    store_add_event(suite->batch, &second); /* its number is in use */
    suite_expect_failed(suite, -EEXIST);
    /* The store still works, also with the names that were new in the failed batch. */
    store_add_task(suite->batch, &other);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    assert_int_equal(kit_load(suite->store, &(struct store_reader){ 0 }).tasks, 2);
}

SUITE_RULE(writes_of_a_batch_happen_in_their_order) {
    struct task_row row = kit_task(1);
    store_add_task(suite->batch, &row);
    store_delete_task(suite->batch, 1);
    row.spec.priority = 5;
    store_add_task(suite->batch, &row);
    row.spec.priority = 6;
    store_change_task(suite->batch, &row, 0);
    kit_commit(suite->store, suite->batch);
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    kit_print_task(&row, &expected);
    expect_tasks(suite, strbuf_text(&expected));
}

SUITE_RULE(a_batch_owns_its_texts) {
    char title[] = "the title", json[] = "{\"a\":1}", kind[] = "kind";
    task_id needs[] = { 8, 9 };
    struct task_row row = kit_task(1);
    row.kind = kind;
    row.depends_on = needs;
    row.depends_on_count = 2;
    struct spec_row spec = { .id = 1, .title = title, .json = json, .json_size = strlen(json) };
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    kit_print_task(&row, &expected);
    store_add_task(suite->batch, &row);
    store_add_spec(suite->batch, &spec);
    memset(title, 'x', sizeof(title));
    memset(json, 'x', sizeof(json));
    memset(kind, 'x', sizeof(kind));
    memset(needs, 'x', sizeof(needs));
    kit_commit(suite->store, suite->batch);
    expect_tasks(suite, strbuf_text(&expected));
}

SUITE_RULE(large_batches_are_one_batch) {
    for (task_id id = 1; id <= 3000; id++) {
        struct task_row row = kit_task(id);
        store_add_task(suite->batch, &row);
    }
    assert_int_equal(store_batch_count(suite->batch), 3000);
    kit_commit(suite->store, suite->batch);
    assert_int_equal(store_batch_count(suite->batch), 0);
    struct store_info info;
    store_info(suite->store, &info);
    assert_int_equal(info.commits, 1);
    assert_int_equal(info.rows, 3000);
    suite_reopen(suite);
    assert_int_equal(kit_load(suite->store, &(struct store_reader){ 0 }).tasks, 3000);
}

/* --- every column of every row ------------------------------------------------------------------- */

/* The value of a text is the name of its column; all numbers are different. */
static void fill_row(enum row_kind kind, void *row) {
    int64_t number = 2;
    ROW_COLUMNS(c, &row_types[kind]) {
        if (!column_is_read(c))
            continue;
        if (column_is_pointer(c))
            column_set_text(c, row, c->name);
        else if (c->type == COLUMN_FLAGS)
            task_take_flags(row, 1 + 2 + 4 + 16 * 5 + 256);
        else
            column_set_number(c, row,
                              c->type == COLUMN_NUMBER || c->type == COLUMN_SMALL ? number++ : 1);
    }
}

static uint64_t hash_of(enum row_kind kind, const void *row) {
    uint64_t hash = row_hash(kind, row, 0);
    return kind == ROW_TASK ? row_hash(ROW_PROGRESS, row, hash) : hash;
}

struct columns_check {
    uint64_t hashes[ROW_KIND_MAX];
    unsigned found[ROW_KIND_MAX];
};

static int check_row(struct columns_check *check, enum row_kind kind, const void *row) {
    check->found[kind]++;
    if (hash_of(kind, row) != check->hashes[kind])
        fail_msg("a column of %s does not come back", row_types[kind].table);
    return 0;
}

#define CHECKER(KIND, name)                                                                        \
    static int check_##name(void *ctx, const struct name##_row *row, struct error *err) {          \
        (void)err;                                                                                 \
        return check_row(ctx, ROW_##KIND, row);                                                    \
    }                                                                                              \
    struct checker_needs_a_semicolon_
CHECKER(PROJECT, project);
CHECKER(LIMITER, limiter);
CHECKER(AGENT, agent);
CHECKER(GROUP, group);
CHECKER(USAGE, usage);
CHECKER(WAIT, wait);
CHECKER(NOTE, note);
CHECKER(TASK, task);
CHECKER(RUN, run);

struct columns_asked {
    struct columns_check *check;
    enum row_kind kind;
};

static void check_answer(void *ctx, const struct store_answer *answer, const struct error *err) {
    const struct columns_asked *asked = ctx;
    assert_null(err);
    assert_int_equal(answer->count, 1);
    (void)check_row(asked->check, asked->kind, answer->rows);
}

static void check_asked(struct suite *suite, struct columns_check *check, enum row_kind kind,
                        struct store_query question) {
    struct columns_asked asked = { check, kind };
    kit_ask(suite->store, &question, check_answer, &asked);
}

static void check_columns(struct suite *suite, struct columns_check *check, task_id spec) {
    const struct store_reader reader = { .project = check_project,
                                         .limiter = check_limiter,
                                         .agent = check_agent,
                                         .group = check_group,
                                         .usage = check_usage,
                                         .wait = check_wait,
                                         .note = check_note,
                                         .task = check_task,
                                         .run = check_run,
                                         .ctx = check };
    memset(check->found, 0, sizeof(check->found));
    (void)kit_load(suite->store, &reader);
    check_asked(suite, check, ROW_EVENT, (struct store_query){ .kind = QUERY_EVENTS });
    check_asked(suite, check, ROW_KEY, (struct store_query){ .kind = QUERY_KEYS });
    check_asked(suite, check, ROW_SPEC,
                (struct store_query){ .kind = QUERY_SPECS, .tasks = &spec, .task_count = 1 });
    check_asked(
        suite, check, ROW_SPENT,
        (struct store_query){ .kind = QUERY_SPENT, .apart = true, .before_time = TIME_NEVER });
    for (enum row_kind kind = 0; kind < ROW_KIND_MAX; kind++)
        if (check->found[kind] != (kind != ROW_PROGRESS && kind != ROW_PAUSE))
            fail_msg("a row of %s does not come back", row_types[kind].table);
}

/* Generated from the lists of columns: a new column is tested without a change here. */
SUITE_RULE(every_column_comes_back) {
    struct columns_check check = { 0 };
    task_id spec = 0;
    for (enum row_kind kind = 0; kind < ROW_KIND_MAX; kind++) {
        _cleanup_(freep) void *row = xcalloc(1, row_types[kind].size);
        fill_row(kind, row);
        if (kind == ROW_TASK) {
            fill_row(ROW_PROGRESS, row);
            spec = ((struct task_row *)row)->id;
        }
        if (kind == ROW_RUN)
            ((struct run_row *)row)->ended = false;
        check.hashes[kind] = hash_of(kind, row);
        if (kind != ROW_PROGRESS && kind != ROW_PAUSE)
            store_write_row(suite->batch, kind, row);
    }
    kit_commit(suite->store, suite->batch);
    check_columns(suite, &check, spec);
    suite_reopen(suite);
    check_columns(suite, &check, spec);
}
