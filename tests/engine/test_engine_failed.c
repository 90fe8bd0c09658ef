/* A failed commit has no effect: nothing is lost, nothing is done twice, and the engine that is rebuilt from
 * the rows has the same state as before. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/tally.h"
#include "engine_kit.h"
#include "fault_vfs.h"
#include "harness/test.h"
#include "late_store.h"

#define CALM KIT_CALM "limits: {runs: 20}\n"
#define RUNS 20

static struct kit kit;

static void open_with(const char *config) {
    kit_open(&kit, config);
}

static int open_calm(void **state) {
    (void)state;
    open_with(CALM);
    return 0;
}

static int open_late(void **state) {
    (void)state;
    kit_open_late(&kit, CALM);
    return 0;
}

static int close_it(void **state) {
    (void)state;
    fault_set(FAULT_NONE, 0, 0);
    kit_close(&kit);
    return 0;
}

static void disk_is_full(bool full) {
    fault_set(full ? FAULT_FULL_ALWAYS : FAULT_NONE, full, 0);
}

/* Makes the next commit fail once, and returns after the recovery. */
static void fail_one_commit(void) {
    task_id refused = 0;
    disk_is_full(true);
    assert_int_equal(kit_add(&kit, "web", "{\"argv\":[\"refused\"]}", &refused), 0);
    assert_int_equal(kit.outcome, STORE_FAILED);
    disk_is_full(false);
    kit_settle(&kit);
}

/* --- reports during the recovery ------------------------------------------------------------- */

#define FAILED_TEST(name_) TEST_WITH(name_, open_calm, close_it)
#define LATE_TEST(name_)   TEST_WITH(name_, open_late, close_it)

FAILED_TEST(what_ends_while_the_disk_is_full_is_recorded_once_when_it_is_not) {
    for (int i = 0; i < RUNS; i++)
        kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, RUNS);
    for (int i = 0; i < RUNS; i++)
        fake_report_started(fake_start_at((size_t)i)->run);
    kit_wait_state(&kit, RUNS, TASK_RUNNING);
    disk_is_full(true);
    for (int i = 0; i < RUNS; i++) { /* some before the first try, some between two */
        struct run_end end = fake_exit(0);
        fake_report_ended(fake_start_at((size_t)i)->run, &end);
        if (i == RUNS / 2)
            kit_wait_failures(&kit, 1);
    }
    kit_wait_failures(&kit, 3);
    for (task_id task = 1; task <= RUNS; task++)
        assert_int_equal(kit_state(&kit, task), TASK_RUNNING);
    assert_int_equal(fake_stored_ends(), 0); /* their shims record them */
    disk_is_full(false);
    for (task_id task = 1; task <= RUNS; task++)
        kit_wait_state(&kit, task, TASK_DONE);
    kit_settle(&kit);
    assert_int_equal(fake_stored_ends(), RUNS);
    for (task_id task = 1; task <= RUNS; task++) {
        assert_int_equal(kit_events(&kit, "run.ended", task), 1);
        assert_int_equal(kit_events(&kit, "run.started", task), 1);
    }
    assert_int_equal(kit_stats(&kit).ends, RUNS);
    assert_int_equal(kit_stats(&kit).starts, RUNS);
    assert_int_equal(engine_tally_at(kit.engine, 0)->runs, RUNS);
    assert_int_equal(engine_outcome_count(kit.engine, OUTCOME_OK), RUNS);
    assert_int_equal(fake_start_count(), RUNS);
    kit_restart(&kit);
    for (task_id task = 1; task <= RUNS; task++)
        assert_int_equal(kit_state(&kit, task), TASK_DONE);
}

static int open_stuck(void **state) {
    (void)state;
    open_with(CALM "retry: {same_text: 2, failed: {delay_s: 0}}\n");
    return 0;
}

TEST_WITH(an_end_that_is_applied_twice_means_the_same, open_stuck, close_it) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    for (size_t i = 0; i < 2; i++) {
        kit_wait_starts(&kit, i + 1);
        fake_report_started(fake_start_at(i)->run);
        kit_wait_state(&kit, task, TASK_RUNNING);
        disk_is_full(true);
        struct run_end end = fake_exit(1);
        fake_report_ended(fake_start_at(i)->run, &end);
        kit_wait_failures(&kit, (unsigned)i * 2 + 2);
        disk_is_full(false);
    }
    kit_wait_state(&kit, task, TASK_FAILED);
    assert_int_equal(kit_view(&kit, task).reason, REASON_STUCK);
    assert_int_equal(kit_view(&kit, task).attempt, 2);
}

static int look_only(struct engine *engine, struct kit_ask *ask) {
    (void)engine;
    (void)ask;
    return 0;
}

FAILED_TEST(who_only_looks_is_answered_and_tries_nothing) {
    kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    disk_is_full(true);
    struct run_end end = fake_exit(0);
    fake_report_ended(fake_start_at(0)->run, &end);
    kit_wait_failures(&kit, 1);
    for (int i = 0; i < 20; i++) { /* all of them within the second of waiting */
        assert_int_equal(kit_run(&kit, look_only, NULL), 0);
        assert_int_equal(kit.outcome, STORE_OK);
    }
    assert_true(kit_stats(&kit).failed_commits <= 2);
    disk_is_full(false);
    kit_wait_state(&kit, 1, TASK_DONE); /* and lost no state */
}

FAILED_TEST(a_start_that_could_not_be_stored_is_made_later_with_the_same_number) {
    assert_int_equal(kit_pause(&kit, true), 0);
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    disk_is_full(true);
    assert_int_equal(kit_pause(&kit, false), 0);
    assert_int_equal(kit.outcome, STORE_FAILED);
    assert_true(engine_is_paused(kit.engine));
    assert_int_equal(fake_start_count(), 0);
    disk_is_full(false);
    assert_int_equal(kit_pause(&kit, false), 0);
    kit_wait_starts(&kit, 1);
    assert_int_equal(fake_start_at(0)->run.attempt, 1);
    assert_int_equal(kit_view(&kit, task).attempt, 1);
}

FAILED_TEST(a_run_that_is_seen_to_start_while_the_disk_is_full_is_not_late) {
    kit_close(&kit);
    open_with(CALM "tasks: {launch_s: 1}\n");
    kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    disk_is_full(true);
    fake_report_started(fake_start_at(0)->run);
    kit_wait_failures(&kit, 3); /* longer than a launch may take */
    disk_is_full(false);
    kit_wait_state(&kit, 1, TASK_RUNNING);
    assert_int_equal(fake_stop_count(), 0);
}

/* --- state of a rebuilt core ------------------------------------------------------------------ */

static int add_project(struct engine *engine, struct kit_ask *ask) {
    return engine_add_project(engine, ask->text, NULL, &ask->err);
}

static int open_group(struct engine *engine, struct kit_ask *ask) {
    uint32_t group = 0;
    int r = engine_open_group(engine, ask->text, false, &group, &ask->err);
    return r < 0 ? r : (int)group;
}

FAILED_TEST(names_of_a_failed_turn_are_free_again) {
    disk_is_full(true);
    assert_int_equal(kit_run(&kit, add_project, "api"), 0);
    assert_int_equal(kit.outcome, STORE_FAILED);
    assert_null(engine_find_project(kit.engine, "api"));
    assert_int_equal(kit_run(&kit, open_group, "night"), 1);
    assert_null(engine_find_group(kit.engine, "night"));
    disk_is_full(false);
    assert_int_equal(kit_run(&kit, add_project, "api"), 0);
    assert_int_equal(kit_run(&kit, open_group, "day"), 1);
    assert_string_equal(engine_find_project(kit.engine, "api")->prefix, "api");
}

static const char limited[] = CALM "limiters: {account: {initial_s: 600, max_s: 3600}}\n"
                                   "agents: {bot: {command: [bot], limiter: account}}\n"
                                   "breaker: {max: 9, agent_max: 2, reset_s: 900}\n";

static int report_limited(struct engine *engine, struct kit_ask *ask) {
    struct fact fact = { .kind = FACT_RUN_LIMITED, .task = 1, .attempt = 1 };
    return engine_apply(engine, &fact, &ask->err);
}

static struct limiter_view account(void) {
    struct limiter_view view = { 0 };
    struct core *core = (struct core *)engine_core(kit.engine);
    sym name = symbol_find(core_symbols(core), "account", strlen("account"));
    assert_true(core_limiter(core, name, &view));
    return view;
}

FAILED_TEST(a_backoff_outlives_a_failed_commit_and_a_restart) {
    kit_close(&kit);
    open_with(limited);
    task_id task = 0;
    assert_int_equal(kit_add_for(&kit, "bot", "{\"prompt\":\"x\"}", &task), 0);
    kit_wait_starts(&kit, 1);
    assert_int_equal(kit_run(&kit, report_limited, NULL), 0);
    time_ms until = account().backoff_until;
    assert_true(until > engine_now(kit.engine));
    fail_one_commit();
    assert_int_equal(account().backoff_until, until);
    assert_int_equal(account().hits, 1);
    fake_will_adopt(fake_start_at(0)->run, ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    assert_int_equal(account().backoff_until, until);
    assert_int_equal(account().hits, 1);
}

/* The agent reports it once. A restart of the daemon must not lose that. */
FAILED_TEST(a_run_that_had_to_wait_gives_up_without_having_failed) {
    kit_close(&kit);
    open_with(limited);
    task_id task = 0;
    assert_int_equal(kit_add_for(&kit, "bot", "{\"prompt\":\"x\"}", &task), 0);
    kit_wait_starts(&kit, 1);
    fake_report_started(fake_start_at(0)->run);
    kit_wait_state(&kit, task, TASK_RUNNING);
    assert_int_equal(kit_run(&kit, report_limited, NULL), 0);
    fail_one_commit();
    fake_will_adopt(fake_start_at(0)->run, ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    struct run_end end = fake_exit(1);
    fake_report_ended(fake_start_at(0)->run, &end);
    kit_wait_state(&kit, task, TASK_READY);
    assert_int_equal(kit_view(&kit, task).failures, 0);
    assert_int_equal(account().hits, 1); /* the account knows it already */
}

/* It continued for hours after the wait was over, so its failure has another cause. */
FAILED_TEST(who_went_on_after_the_wait_has_failed) {
    kit_close(&kit);
    open_with(limited);
    task_id task = 0;
    assert_int_equal(kit_add_for(&kit, "bot", "{\"prompt\":\"x\"}", &task), 0);
    kit_wait_starts(&kit, 1);
    assert_int_equal(kit_run(&kit, report_limited, NULL), 0);
    struct run_end end = fake_exit(1);
    end.ended_at += HOURS(2);
    fake_report_ended(fake_start_at(0)->run, &end);
    kit_wait_state(&kit, task, TASK_HELD);
    assert_int_equal(kit_view(&kit, task).failures, 1);
}

FAILED_TEST(f070_f072_the_last_success_of_an_account_is_kept) {
    kit_close(&kit);
    open_with(limited);
    task_id task = 0;
    assert_int_equal(kit_add_for(&kit, "bot", "{\"prompt\":\"x\"}", &task), 0);
    kit_wait_starts(&kit, 1);
    assert_int_equal(account().last_success, 0);
    struct run_end end = fake_exit(0);
    fake_report_started(fake_start_at(0)->run);
    fake_report_ended(fake_start_at(0)->run, &end);
    kit_wait_state(&kit, task, TASK_DONE);
    time_ms at = account().last_success;
    assert_true(at > 0 && at <= engine_now(kit.engine));
    fail_one_commit();
    assert_int_equal(account().last_success, at);
    kit_restart(&kit);
    assert_int_equal(account().last_success, at);
}

static struct agent_spec bot(void) {
    struct agent_spec spec = { 0 };
    struct core *core = (struct core *)engine_core(kit.engine);
    sym name = symbol_find(core_symbols(core), "bot", strlen("bot"));
    assert_true(core_agent_spec(core, name, &spec));
    return spec;
}

static bool bot_is_closed(struct kit *k, void *ctx) {
    (void)k;
    (void)ctx;
    return bot().closed_until > 0;
}

FAILED_TEST(an_agent_that_could_not_be_launched_stays_closed) {
    kit_close(&kit);
    open_with(limited);
    task_id task = 0;
    fake_fail_starts(-ENOENT);
    assert_int_equal(kit_add_for(&kit, "bot", "{\"prompt\":\"x\"}", &task), 0);
    kit_wait(&kit, bot_is_closed, NULL, "the agent closes");
    time_ms until = bot().closed_until;
    fail_one_commit();
    assert_int_equal(bot().closed_until, until);
    kit_restart(&kit);
    assert_int_equal(bot().closed_until, until);
    assert_int_equal(bot().openings, 1);
}

FAILED_TEST(runs_that_are_not_ours_keep_their_places) {
    kit_close(&kit);
    open_with(KIT_CALM "limits: {runs: 1}\n"
                       "projects: {web: {}}\n");
    fake_has_external("web-77");
    kit_restart(&kit);
    assert_int_equal(kit.report.external, 1);
    fail_one_commit();
    assert_int_equal(engine_find_project(kit.engine, "web")->external, 1);
    kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 0); /* the only slot is in use */
    fake_external_ends("web-77");
    kit_wait_starts(&kit, 1);
    assert_int_equal(engine_find_project(kit.engine, "web")->external, 0);
}

/* Otherwise more roots than allowed would run after a restore. */
FAILED_TEST(roots_that_are_not_ours_count_as_roots) {
    kit_close(&kit);
    open_with(KIT_CALM "limits: {roots: 1}\n"
                       "projects: {web: {}}\n");
    fake_has_external("web-77");
    kit_restart(&kit);
    kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 0);
    fake_external_ends("web-77");
    kit_wait_starts(&kit, 1);
}

static int configure(struct engine *engine, struct kit_ask *ask) {
    struct config *config = config_new();
    int r = config_read_text(config, "test", ask->text, strlen(ask->text), &ask->err);
    if (r == 0)
        r = engine_set_config(engine, config, &ask->err);
    if (r < 0)
        config_free(config);
    return r;
}

FAILED_TEST(a_configuration_is_in_force_though_its_event_comes_later) {
    disk_is_full(true);
    assert_int_equal(kit_run(&kit, configure, CALM "projects: {api: {}}\n"), 0);
    assert_int_equal(kit.outcome, STORE_FAILED);
    disk_is_full(false);
    kit_wait_failures(&kit, 1);
    kit_web(&kit, "{\"argv\":[\"a\"]}");
    assert_non_null(engine_find_project(kit.engine, "api"));
    assert_int_equal(kit_events(&kit, "config.changed", 0), 1);
    kit_restart(&kit); /* with the first configuration: the row is there */
    assert_non_null(engine_find_project(kit.engine, "api"));
}

FAILED_TEST(a_configuration_that_is_refused_leaves_nothing_behind) {
    assert_int_equal(
        kit_run(&kit, configure, CALM "projects: {one: {}, two: {prefix: x}, three: {prefix: x}}"),
        -EEXIST);
    assert_non_null(strstr(kit.err.text, "same prefix 'x'"));
    assert_int_equal(engine_project_count(kit.engine), 0);
    kit_restart(&kit);
    assert_int_equal(engine_project_count(kit.engine), 0);
}

FAILED_TEST(the_start_is_reported_even_if_its_first_commit_failed) {
    size_t before = kit_events(&kit, "daemon.started", 0);
    kit_stop(&kit);
    kit_start(&kit);
    disk_is_full(true);
    kit_wait_failures(&kit, 1);
    disk_is_full(false);
    kit_web(&kit, "{\"argv\":[\"a\"]}");
    assert_int_equal(kit_events(&kit, "daemon.started", 0), before + 1);
}

/* --- the end --------------------------------------------------------------------------------- */

static void fail_the_commit(void *ctx) {
    (void)ctx;
    late_finish_commit(STORE_FAILED);
}

LATE_TEST(an_engine_that_cannot_be_built_again_says_so_and_ends) {
    late_hold_commits(true);
    kit_settle(&kit); /* the commit of the start waits */
    assert_true(late_has_commit());
    struct kit_ask ask = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    kit_send(&kit, &ask);
    late_break_load(true);
    struct loop_timer *timer = loop_timer_new(kit.loop, fail_the_commit, NULL);
    loop_timer_set(kit.loop, timer, loop_now_steady(kit.loop));
    kit_wait_broken(&kit);
    loop_timer_free(kit.loop, timer);
    assert_non_null(strstr(engine_why_broken(kit.engine), "nothing be read"));
    assert_int_equal(fake_start_count(), 0);
    kit_stop(&kit); /* the request is refused */
    assert_true(ask.answered);
    assert_int_equal(ask.outcome, STORE_FAILED);
    late_reset();
    kit_start(&kit);
}

int main(void) {
    fault_install();
    return tests_run();
}
