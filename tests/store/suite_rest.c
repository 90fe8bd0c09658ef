/* suite_rest.c: rules for runs, events, projects, groups, limiters, agents, usage and keys. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "suite.h"

static void expect_part(struct suite *suite, const char *begin, const char *expected) {
    _cleanup_(strbuf_finish) struct strbuf all = STRBUF_INIT;
    _cleanup_(strbuf_finish) struct strbuf part = STRBUF_INIT;
    kit_dump(suite->store, &all);
    for (char *line = strtok(all.text, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, begin, strlen(begin)) == 0)
            strbuf_printf(&part, "%s\n", line);
    assert_string_equal(strbuf_text(&part), expected);
}

SUITE_RULE(every_field_of_a_run_comes_back) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    struct task_row task = kit_task(4);
    store_add_task(suite->batch, &task);
    for (uint32_t attempt = 1; attempt <= 40; attempt++) {
        struct run_row row = kit_run(4, attempt);
        store_put_run(suite->batch, &row);
    }
    for (uint32_t attempt = 40; attempt >= 1; attempt--) {
        struct run_row row = kit_run(4, attempt);
        kit_print_run(&row, &expected);
    }
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_part(suite, "run ", strbuf_text(&expected));
}

SUITE_RULE(only_runs_that_have_not_ended_are_loaded) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    for (task_id id = 1; id <= 3; id++)
        for (uint32_t attempt = 1; attempt <= 2; attempt++) {
            struct run_row row = kit_run(id, attempt);
            store_put_run(suite->batch, &row);
        }
    kit_commit(suite->store, suite->batch);
    struct run_row ended = kit_run(2, 2);
    ended.ended = true;
    ended.outcome = OUTCOME_LOST;
    store_put_run(suite->batch, &ended);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    static const task_id open[] = { 1, 3 };
    for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
        struct run_row row = kit_run(open[i], 2);
        strbuf_puts(&expected, "open ");
        kit_print_run(&row, &expected);
    }
    expect_part(suite, "open ", strbuf_text(&expected));
}

static int note_external(void *ctx, const struct external_row *row, struct error *err) {
    (void)err;
    char(*seen)[16] = ctx;
    assert_true(row->task < 5);
    (void)snprintf(seen[row->task], sizeof(seen[0]), "%s", row->external_id);
    return 0;
}

SUITE_RULE(external_ids_are_loaded) {
    static const char *const ids[] = { NULL, "bd-1", NULL, "card 3", "bd-4" };
    char seen[5][16] = { "" };
    for (task_id id = 1; id < ARRAY_SIZE(ids); id++) {
        struct task_row task = kit_task(id);
        struct spec_row spec = kit_spec(id);
        spec.external_id = ids[id];
        store_add_task(suite->batch, &task);
        store_add_spec(suite->batch, &spec);
    }
    kit_commit(suite->store, suite->batch);
    store_delete_task(suite->batch, 4);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    (void)kit_load(suite->store, &(struct store_reader){ .external = note_external, .ctx = seen });
    assert_string_equal(seen[1], "bd-1");
    assert_string_equal(seen[2], "");
    assert_string_equal(seen[3], "card 3");
    assert_string_equal(seen[4], "");
}

SUITE_RULE(a_run_that_ended_can_be_opened_again) {
    struct task_row task = kit_task(1);
    struct run_row run = kit_run(1, 1); /* ended */
    store_add_task(suite->batch, &task);
    store_put_run(suite->batch, &run);
    kit_commit(suite->store, suite->batch);
    expect_part(suite, "open ", "");
    run.ended = false;
    store_put_run(suite->batch, &run);
    kit_commit(suite->store, suite->batch);
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    strbuf_puts(&expected, "open ");
    kit_print_run(&run, &expected);
    expect_part(suite, "open ", strbuf_text(&expected));
}

SUITE_RULE(events_are_pruned_from_the_front) {
    for (uint64_t seq = 1; seq <= 10; seq++) {
        struct event_row row = kit_event(seq, seq % 3);
        store_add_event(suite->batch, &row);
    }
    kit_commit(suite->store, suite->batch);
    store_prune_events(suite->batch, 9);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_part(suite, "totals", "totals last_task=0 events=9..10 tasks=0 paused=0\n");
    expect_part(suite, "event",
                "event 9 at=1700000006009 kind=daemon.started task=0/0 data={\"to\":\"ready\"}\n"
                "event 10 at=1700000006010 kind=task.state task=1/1 data=(none)\n");
}

SUITE_RULE(the_last_event_number_outlives_its_event) {
    struct event_row row = kit_event(7, 0);
    store_add_event(suite->batch, &row);
    store_prune_events(suite->batch, 100);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_part(suite, "totals", "totals last_task=0 events=0..7 tasks=0 paused=0\n");
}

SUITE_RULE(a_project_keeps_its_prefix) {
    struct project_row web = { .name = "web", .prefix = "w", .created_at = 10 };
    struct project_row api = { .name = "api", .prefix = "a", .paused = true, .created_at = 20 };
    store_put_project(suite->batch, &web);
    store_put_project(suite->batch, &api);
    kit_commit(suite->store, suite->batch);
    struct project_row changed = { .name = "web",
                                   .prefix = "x",
                                   .paused = true,
                                   .paused_by = "ann",
                                   .paused_at = 25,
                                   .created_at = 30 };
    store_put_project(suite->batch, &changed);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_part(suite, "project ",
                "project web prefix=w paused=1 created=10 by=ann at=25\n"
                "project api prefix=a paused=1 created=20\n");
}

SUITE_RULE(groups_limiters_and_agents_are_put_over_the_old_ones) {
    struct group_row group = { .id = 3, .name = "night", .owned = true, .created_at = 10 };
    struct limiter_row limiter = { .name = "anthropic",
                                   .spec = { .backoff_until = 1,
                                             .hits = 2,
                                             .closed = true,
                                             .backoff_since = 3,
                                             .last_hit = 4,
                                             .in_backoff = true,
                                             .ramp_since = 5,
                                             .last_success = 6,
                                             .quota = { { 7, 8 }, { 9, 10 } } } };
    struct agent_row agent = {
        .name = "claude",
        .spec = { .idle = true, .launch_failures = 1, .openings = 2, .closed_until = 3 }
    };
    store_put_group(suite->batch, &group);
    store_put_limiter(suite->batch, &limiter);
    store_put_agent(suite->batch, &agent);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_part(suite, "group", "group 3 night owned=1 closed=0 times=10,0\n");
    expect_part(suite, "limiter",
                "limiter anthropic until=1 hits=2 closed=1 since=3 last=4 in_backoff=1 ramp=5 "
                "success=6 five_hour=7,8 weekly=9,10\n");
    expect_part(suite, "agent", "agent claude idle=1 launch_failures=1 openings=2 closed=3\n");

    group.closed = true;
    group.closed_at = 20;
    limiter.spec = (struct limiter_spec){ .hits = 9 };
    agent.spec = (struct agent_spec){ .openings = 9 };
    store_put_group(suite->batch, &group);
    store_put_limiter(suite->batch, &limiter);
    store_put_agent(suite->batch, &agent);
    kit_commit(suite->store, suite->batch);
    expect_part(suite, "group", "group 3 night owned=1 closed=1 times=10,20\n");
    expect_part(suite, "limiter",
                "limiter anthropic until=0 hits=9 closed=0 since=0 last=0 in_backoff=0 ramp=0\n");
    expect_part(suite, "agent", "agent claude idle=0 launch_failures=0 openings=9 closed=0\n");
}

SUITE_RULE(a_group_that_is_deleted_leaves_its_number_to_another) {
    struct group_row night = { .id = 3, .name = "night" }, day = { .id = 4, .name = "day" };
    store_put_group(suite->batch, &night);
    store_put_group(suite->batch, &day);
    kit_commit(suite->store, suite->batch);
    store_delete_group(suite->batch, 3);
    store_delete_group(suite->batch, 9); /* does not exist */
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_part(suite, "group", "group 4 day owned=0 closed=0 times=0,0\n");
    store_delete_group(suite->batch, 4);
    night.id = 4;
    store_put_group(suite->batch, &night);
    kit_commit(suite->store, suite->batch);
    expect_part(suite, "group", "group 4 night owned=0 closed=0 times=0,0\n");
}

SUITE_RULE(usage_adds_up_in_its_bucket) {
    struct usage_row row = { .project = "web",
                             .bucket = 300000,
                             .tokens = 100,
                             .unreported = 10,
                             .reports = 1,
                             .starts = 2,
                             .completions = 3,
                             .money = 1250000,
                             .priced = 4,
                             .unpriced = 5 };
    store_add_usage(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    store_add_usage(suite->batch, &row);
    row.bucket = 600000;
    store_add_usage(suite->batch, &row);
    row.project = NULL; /* of no project; may be negative */
    row.tokens = -50;
    row.starts = -2; /* reverted */
    store_add_usage(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_part(
        suite, "usage",
        "usage (none) bucket=600000 tokens=-50 unreported=10 counts=1,-2,3 money=1250000 of=4,5\n"
        "usage web bucket=300000 tokens=200 unreported=20 counts=2,4,6 money=2500000 of=8,10\n"
        "usage web bucket=600000 tokens=100 unreported=10 counts=1,2,3 money=1250000 of=4,5\n");
    store_prune_usage(suite->batch, 600000);
    kit_commit(suite->store, suite->batch);
    expect_part(
        suite, "usage web",
        "usage web bucket=600000 tokens=100 unreported=10 counts=1,2,3 money=1250000 of=4,5\n");
}

SUITE_RULE(waits_are_put_over_the_old_ones) {
    struct wait_row row = { .project = "web", .lost = 10, .closed_since = 20 };
    struct wait_row limited = { .project = "web", .limiter = "anthropic", .lost = 30 };
    struct wait_row chosen = {
        .project = "web", .limiter = "anthropic", .agent = "claude", .lost = 40
    };
    store_put_wait(suite->batch, &row);
    store_put_wait(suite->batch, &limited);
    store_put_wait(suite->batch, &chosen);
    kit_commit(suite->store, suite->batch);
    row.lost = 11;
    row.closed_since = 0;
    store_put_wait(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_part(suite, "wait",
                "wait web/(none) lost=11 closed=0\n"
                "wait web/anthropic lost=30 closed=0\n"
                "wait web/anthropic/claude lost=40 closed=0\n");
}

SUITE_RULE(a_note_is_put_over_the_old_one_and_goes_with_its_text) {
    struct note_row row = { .name = "alert:disk", .text = "first" };
    struct note_row other = { .name = "alert:other", .text = "" };
    store_put_note(suite->batch, &row);
    store_put_note(suite->batch, &other);
    kit_commit(suite->store, suite->batch);
    row.text = "{\"since\":1}";
    store_put_note(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_part(suite, "note", "note alert:disk: {\"since\":1}\nnote alert:other: \n");
    row.text = NULL;
    store_put_note(suite->batch, &row);
    store_put_note(suite->batch, &(struct note_row){ .name = "never there" });
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_part(suite, "note", "note alert:other: \n");
}

SUITE_RULE(a_key_is_used_once) {
    struct key_row row = { .key = "key-1", .at = 1000, .status = 200, .answer = "{\"id\":1}" };
    struct key_row later = { .key = "key-2", .at = 2000, .status = 409 };
    store_add_key(suite->batch, &row);
    store_add_key(suite->batch, &later);
    kit_commit(suite->store, suite->batch);
    store_add_key(suite->batch, &row);
    suite_expect_failed(suite, -EEXIST);
    store_prune_keys(suite->batch, 2000);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_part(suite, "key", "key key-2 at=2000 status=409 answer=(none)\n");
    store_add_key(suite->batch, &row);
    kit_commit(suite->store, suite->batch);
}

SUITE_RULE(a_pause_is_kept_with_who_and_when) {
    store_put_pause(suite->batch, &(struct pause_row){ true, "ann", 4711 });
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    struct store_totals totals = kit_load(suite->store, &(struct store_reader){ 0 });
    assert_true(totals.pause.paused);
    assert_string_equal(totals.pause.by, "ann");
    assert_int_equal(totals.pause.at, 4711);
    store_put_pause(suite->batch, &(struct pause_row){ 0 });
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    totals = kit_load(suite->store, &(struct store_reader){ 0 });
    assert_false(totals.pause.paused);
    assert_null(totals.pause.by);
    assert_int_equal(totals.pause.at, 0);
}

SUITE_RULE(a_second_open_is_refused) {
    struct store_options options = { .url = suite->url, .reserve_bytes = -1 };
    struct store *second = NULL;
    struct error err = { 0 };
    assert_int_equal(store_open(&options, &second, NULL, &err), -EBUSY);
    assert_null(second);
    assert_non_null(strstr(err.text, "store '"));
}

SUITE_RULE(the_epoch_rises_with_every_open) {
    assert_int_equal(suite->report.epoch, 1);
    suite_reopen(suite);
    assert_int_equal(suite->report.epoch, 2);
    assert_false(suite->report.created);
    suite_reopen(suite);
    assert_int_equal(suite->report.epoch, 3);
}

static int refuse_task(void *ctx, const struct task_row *row, struct error *err) {
    (*(int *)ctx)++;
    return row->id == 2 ? error_set(err, -ECANCELED, "the reader has enough") : 0;
}

SUITE_RULE(a_reader_can_end_the_loading) {
    for (task_id id = 1; id <= 3; id++) {
        struct task_row row = kit_task(id);
        store_add_task(suite->batch, &row);
    }
    kit_commit(suite->store, suite->batch);
    int seen = 0;
    struct store_reader reader = { .task = refuse_task, .ctx = &seen };
    struct store_totals totals = { .tasks = 99 };
    struct error err = { 0 };
    assert_int_equal(store_load(suite->store, &reader, &totals, &err), -ECANCELED);
    assert_string_equal(err.text, "the reader has enough");
    assert_int_equal(seen, 2);
    assert_int_equal(totals.tasks, 99);
    /* The reader canceled the load; the store still works. */
    assert_int_equal(kit_load(suite->store, &(struct store_reader){ 0 }).tasks, 3);
}

/* --- a batch whose first part is sent before the commit ------------------------------------------ */

SUITE_RULE(ahead_is_one_with_the_rest) {
    struct task_row row = kit_task(1), other = kit_task(2);
    struct spec_row spec = kit_spec(1), second = kit_spec(2);
    store_add_event(suite->batch, &(struct event_row){ .seq = 1, .kind = "task.added", .task = 1 });
    store_add_spec(suite->batch, &spec);
    store_send_ahead(suite->store, suite->batch);
    store_add_event(suite->batch, &(struct event_row){ .seq = 2, .kind = "task.added", .task = 2 });
    store_add_spec(suite->batch, &second);
    store_send_ahead(suite->store, suite->batch);
    store_send_ahead(suite->store, suite->batch); /* nothing new */
    store_add_task(suite->batch, &row);
    store_add_task(suite->batch, &other);
    store_delete_task(suite->batch, 2);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    struct store_totals totals = kit_load(suite->store, &(struct store_reader){ 0 });
    assert_int_equal(totals.tasks, 1);
    assert_int_equal(totals.last_task, 2);
    assert_int_equal(totals.last_event, 2);
    expect_part(suite, "event 1 ", /* among all, and among those of its task */
                "event 1 at=0 kind=task.added task=1/0 data=(none)\n"
                "event 1 at=0 kind=task.added task=1/0 data=(none)\n");
    expect_part(suite, "event 2 ", "event 2 at=0 kind=task.added task=0/0 data=(none)\n");
}

SUITE_RULE(a_mistake_that_was_sent_ahead_fails_all_of_it) {
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT;
    struct error err = { 0 };
    struct key_row key = { .key = "k", .at = 1, .status = 200, .answer = "{}" };
    store_add_key(suite->batch, &key);
    kit_commit(suite->store, suite->batch);
    kit_dump(suite->store, &before);
    store_add_event(suite->batch, &(struct event_row){ .seq = 1, .kind = "daemon.started" });
    store_add_key(suite->batch, &key);
    store_send_ahead(suite->store, suite->batch);
    store_put_note(suite->batch, &(struct note_row){ .name = "a", .text = "b" });
    assert_int_equal(kit_try(suite->store, suite->batch, &err), STORE_FAILED);
    assert_int_equal(err.code, -EEXIST);
    assert_string_equal(err.text, "key 'k' was used already");
    suite_expect_dump(suite, strbuf_text(&before));
    store_add_event(suite->batch, &(struct event_row){ .seq = 1, .kind = "daemon.started" });
    kit_commit(suite->store, suite->batch);
}
