/* A slow store: what happens between a commit, or a query, and its answer. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "engine_kit.h"
#include "harness/test.h"
#include "late_store.h"

#define CALM KIT_CALM "limits: {runs: 50}\n"

static struct kit kit;

static int open_late(void **state) {
    (void)state;
    kit_open_late(&kit, CALM);
    kit_settle(&kit); /* the commit of the start */
    return 0;
}

static int close_it(void **state) {
    (void)state;
    if (late_has_commit())
        late_finish_commit(STORE_OK);
    kit_close(&kit);
    return 0;
}

static struct kit_ask adding(void) {
    return kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
}

/* The commit of everything that was sent so far waits. */
static void hold_one_commit(void) {
    late_hold_commits(true);
    kit_settle(&kit);
    assert_true(late_has_commit());
}

/* The engine has the report, and has done nothing else since. */
static void commit_is(enum store_outcome outcome) {
    late_hold_commits(false);
    late_finish_commit(outcome);
}

static void let_go(enum store_outcome outcome) {
    commit_is(outcome);
    kit_settle(&kit);
}

/* Its start is ordered and on disk; the store is asked what to start, and does not answer. */
static task_id ordered_without_spec(void) {
    late_hold_answers(true);
    struct kit_ask ask = adding();
    assert_int_equal(kit_do(&kit, &ask), 0);
    kit_settle(&kit);
    assert_int_equal(late_answers(), 1);
    assert_int_equal(fake_start_count(), 0);
    return ask.first;
}

static void let_it_answer(void) {
    late_hold_answers(false);
    late_give_answers();
}

/* It is unknown whether the request is on disk, and nothing of it was begun. */
static void assert_unknown(const struct kit_ask *ask) {
    assert_true(engine_is_broken(kit.engine));
    assert_true(ask->answered);
    assert_int_equal(ask->outcome, STORE_UNKNOWN);
    assert_int_equal(fake_start_count(), 0);
}

#define LATE_TEST(name_) TEST_WITH(name_, open_late, close_it)

/* Until then a power cut may take the commit, and only the shim can record the end again. */
LATE_TEST(a_shim_hears_that_its_end_is_stored_after_the_commit) {
    for (int i = 0; i < 2; i++) {
        struct kit_ask ask = adding();
        assert_int_equal(kit_do(&kit, &ask), 0);
    }
    kit_wait_starts(&kit, 2);
    struct run_end end = fake_exit(0);
    fake_report_ended(fake_start_at(0)->run, &end);
    hold_one_commit();
    fake_report_ended(fake_start_at(1)->run, &end); /* this commit does not have it */
    assert_int_equal(fake_stored_ends(), 0);
    commit_is(STORE_OK);
    assert_int_equal(fake_stored_ends(), 1);
    kit_settle(&kit);
    assert_int_equal(fake_stored_ends(), 2);
}

LATE_TEST(an_end_of_unknown_fate_is_not_reported_as_stored) {
    struct kit_ask ask = adding();
    assert_int_equal(kit_do(&kit, &ask), 0);
    kit_wait_starts(&kit, 1);
    struct run_end end = fake_exit(0);
    fake_report_ended(fake_start_at(0)->run, &end);
    hold_one_commit();
    let_go(STORE_UNKNOWN);
    assert_int_equal(fake_stored_ends(), 0);
}

LATE_TEST(nothing_is_answered_or_started_before_the_commit_is_known) {
    struct kit_ask ask = adding();
    kit_send(&kit, &ask);
    hold_one_commit();
    assert_true(engine_is_committing(kit.engine));
    assert_false(ask.answered);
    assert_int_equal(fake_start_count(), 0);
    let_go(STORE_OK);
    assert_true(ask.answered);
    assert_int_equal(ask.outcome, STORE_OK);
    assert_int_equal(fake_start_count(), 1);
    assert_false(engine_is_committing(kit.engine));
}

LATE_TEST(an_end_that_comes_during_a_commit_is_in_the_next_one) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    struct kit_ask other = adding();
    kit_send(&kit, &other);
    hold_one_commit();
    struct run_end end = fake_exit(0);
    fake_report_started(fake_start_at(0)->run);
    fake_report_ended(fake_start_at(0)->run, &end);
    kit_settle(&kit);
    assert_int_equal(kit_state(&kit, task), TASK_STARTING);
    let_go(STORE_OK);
    assert_int_equal(kit_state(&kit, task), TASK_DONE);
    assert_int_equal(kit_events(&kit, "run.ended", task), 1);
}

LATE_TEST(an_end_that_was_in_a_commit_that_failed_later_is_applied_again) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    struct run_end end = fake_exit(0);
    fake_report_ended(fake_start_at(0)->run, &end);
    hold_one_commit();
    struct kit_ask other = adding(); /* comes during the commit */
    kit_send(&kit, &other);
    kit_settle(&kit);
    assert_false(other.answered);
    let_go(STORE_FAILED);
    kit_wait_state(&kit, task, TASK_DONE);
    assert_true(other.answered);
    assert_int_equal(other.outcome, STORE_OK);
    assert_int_equal(kit_events(&kit, "run.ended", task), 1);
}

LATE_TEST(a_client_that_leaves_is_not_answered_and_its_request_stays) {
    struct kit_ask done = adding(), undone = adding();
    kit_send(&kit, &done);
    hold_one_commit();
    kit_send(&kit, &undone);
    engine_request_abandon(kit.engine, &undone.request); /* before it ran */
    engine_request_abandon(kit.engine, &done.request);   /* it waits for its commit */
    let_go(STORE_OK);
    assert_false(done.answered);
    assert_false(undone.answered);
    assert_int_equal(kit_state(&kit, done.first), TASK_STARTING);
    assert_int_equal(undone.first, 0);
}

LATE_TEST(a_task_that_is_canceled_while_its_spec_is_read_is_never_launched) {
    task_id task = ordered_without_spec();
    assert_int_equal(kit_apply(&kit, FACT_CANCEL, task), 0);
    let_it_answer();
    kit_wait_state(&kit, task, TASK_CANCELED);
    assert_int_equal(fake_start_count(), 0);
}

LATE_TEST(a_spec_that_comes_after_a_failed_commit_is_launched_all_the_same) {
    task_id task = ordered_without_spec();
    struct kit_ask other = adding();
    kit_send(&kit, &other);
    hold_one_commit();
    let_go(STORE_FAILED);
    assert_int_equal(kit_state(&kit, task), TASK_STARTING);
    let_it_answer();
    kit_wait_starts(&kit, 1);
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 1);
    assert_int_equal(fake_start_at(0)->run.task, task);
}

LATE_TEST(a_task_whose_spec_is_missing_is_a_launch_failure) {
    late_lose_specs(true);
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_state(&kit, task, TASK_HELD);
    assert_int_equal(kit_view(&kit, task).hold, HOLD_BREAKER);
    struct run_row run;
    assert_true(kit_last_run(&kit, task, &run));
    assert_int_equal(run.outcome, OUTCOME_LAUNCH);
    assert_non_null(strstr(run.message, "no command for this task"));
    assert_int_equal(fake_start_count(), 0);
}

LATE_TEST(a_commit_of_unknown_outcome_ends_the_engine) {
    struct kit_ask ask = adding(), behind = adding();
    kit_send(&kit, &ask);
    hold_one_commit();
    kit_send(&kit, &behind);
    commit_is(STORE_UNKNOWN);
    assert_unknown(&ask);
    kit_stop(&kit);
    assert_int_equal(behind.outcome, STORE_FAILED); /* that one surely not */
    assert_int_equal(fake_start_count(), 0);
    kit_start(&kit);
    assert_int_equal(kit_state(&kit, ask.first), TASK_ABSENT);
}

/* Stopping the daemon waits for ordered starts, also while a query for them is pending. */
LATE_TEST(a_start_whose_spec_is_being_read_is_a_launch) {
    (void)ordered_without_spec();
    assert_true(engine_is_launching(kit.engine));
    let_it_answer();
    kit_wait_starts(&kit, 1);
    assert_false(engine_is_launching(kit.engine));
}

/* The batch is the store's until its outcome is known: nothing may be freed before. */
LATE_TEST(a_question_that_fails_during_a_commit_ends_the_engine_behind_it) {
    (void)ordered_without_spec();
    struct kit_ask other = adding();
    kit_send(&kit, &other);
    hold_one_commit();
    late_fail_answers();
    assert_true(engine_is_broken(kit.engine));
    assert_true(engine_is_committing(kit.engine));
    assert_false(other.answered);
    commit_is(STORE_OK);
    assert_unknown(&other);
}

/* --- a store that is lost -------------------------------------------------------------------- */

static bool is_broken(struct kit *k, void *ctx) {
    (void)ctx;
    return engine_is_broken(k->engine);
}

LATE_TEST(a_store_that_is_lost_while_idle_ends_the_engine) {
    assert_false(engine_is_broken(kit.engine));
    late_lose_store();
    kit_wait(&kit, is_broken, NULL, "the engine sees it in the next round");
    assert_non_null(strstr(engine_why_broken(kit.engine), "another daemon has taken over"));
}

/* The next daemon sees the order without a start, and starts the run. If this daemon started it too, it would run twice. */
LATE_TEST(what_was_committed_and_not_begun_when_the_store_was_lost_is_not_begun) {
    (void)ordered_without_spec();
    late_lose_store();
    let_it_answer();
    kit_wait(&kit, is_broken, NULL, "the engine sees it in the next round");
    assert_int_equal(fake_start_count(), 0);
}

static bool first_was_started(struct kit *k, void *ctx) {
    (void)k;
    (void)ctx;
    return fake_start_count() > 0;
}

LATE_TEST(many_starts_end_with_the_store) {
    struct kit_ask many = adding();
    many.count = 40;
    kit_send(&kit, &many);
    kit_wait(&kit, first_was_started, NULL, "the first runs are started");
    size_t before = fake_start_count();
    assert_true(before < 40);
    late_lose_store();
    kit_wait(&kit, is_broken, NULL, "the engine sees it in the next round");
    assert_int_equal(fake_start_count(), before);
}

LATE_TEST(a_stop_that_may_not_be_on_disk_is_not_carried_out) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    fake_report_started(fake_start_at(0)->run);
    kit_wait_state(&kit, task, TASK_RUNNING);
    struct kit_ask ask = kit_ask_apply(FACT_CANCEL, task);
    kit_send(&kit, &ask);
    hold_one_commit();
    commit_is(STORE_UNKNOWN);
    assert_true(engine_is_broken(kit.engine));
    assert_int_equal(fake_stop_count(), 0);
}

/* One of several connections may fail while the others are at work. */
LATE_TEST(a_commit_at_the_end_of_the_daemon_is_unknown) {
    struct kit_ask ask = adding();
    struct error why = { 0 };
    error_set(&why, -EIO, "a question could not be read");
    kit_send(&kit, &ask);
    hold_one_commit();
    store_give_up(engine_store(kit.engine), &why);
    assert_false(engine_is_committing(kit.engine));
    assert_unknown(&ask);
}

/* --- one round does not take everything ------------------------------------------------------- */

LATE_TEST(large_requests_do_not_share_a_commit) {
    assert_int_equal(kit_pause(&kit, true), 0);
    uint64_t before = kit_stats(&kit).commits;
    struct kit_ask asks[3];
    for (size_t i = 0; i < 3; i++) {
        asks[i] = adding();
        asks[i].count = 6000;
        kit_send(&kit, &asks[i]);
    }
    hold_one_commit();
    assert_int_equal(asks[1].first, 6001);
    assert_int_equal(asks[2].first, 0); /* the first two were enough for one commit */
    let_go(STORE_OK);
    assert_true(asks[0].answered && asks[1].answered && asks[2].answered);
    assert_int_equal(asks[2].first, 12001);
    assert_int_equal(kit_stats(&kit).commits, before + 2);
}

/* Each start takes as long as the kernel likes; clients are served between them. */
LATE_TEST(many_starts_do_not_keep_others_waiting) {
    struct kit_ask many = adding(), other = adding();
    many.count = 40;
    kit_send(&kit, &many);
    kit_wait(&kit, first_was_started, NULL, "the first runs are started");
    assert_true(fake_start_count() < 40);
    assert_true(engine_is_launching(kit.engine));
    assert_int_equal(kit_apply(&kit, FACT_CANCEL, many.first + 39), 0); /* not launched yet */
    assert_int_equal(kit_do(&kit, &other), 0);
    assert_true(fake_start_count() < 40);
    kit_wait_state(&kit, many.first + 39, TASK_CANCELED);
    kit_settle(&kit);
    assert_false(engine_is_launching(kit.engine));
    assert_int_equal(fake_start_count(), 40); /* all but the canceled one, and the other */
}
