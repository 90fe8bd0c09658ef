/* The turn: everything is on disk before a client gets a response or a run starts; a crash, a full disk and
 * a restart do not change results that clients have seen. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_kit.h"
#include "fault_vfs.h"
#include "harness/test.h"

static const char plain[] =
    KIT_CALM "limits: {runs: 2}\n"
             "agents: {bot: {command: [robot, --go], prompt: stdin},\n"
             "  arguer: {command: [robot, \"{prompt}\", last], prompt: argument,\n"
             "    stop_signal: INT, env: [\"COLOUR=red\"]}}\n";

static struct kit kit;

static int open_plain(void **state) {
    (void)state;
    kit_open(&kit, plain);
    return 0;
}

static int close_it(void **state) {
    (void)state;
    fault_set(FAULT_NONE, 0, 0);
    kit_close(&kit);
    return 0;
}

static task_id add(const char *json) {
    return kit_web(&kit, json);
}

static void add_for(const char *agent, const char *json) {
    task_id task = 0;
    assert_int_equal(kit_add_for(&kit, agent, json, &task), 0);
    if (kit.outcome != STORE_OK)
        fail_msg("the commit failed: %s", kit.err.text);
}

static const struct fake_start *last_start(void) {
    assert_true(fake_start_count() > 0);
    return fake_start_at(fake_start_count() - 1);
}

static void end_last(int code) {
    struct run_end end = fake_exit(code);
    fake_report_started(last_start()->run);
    fake_report_ended(last_start()->run, &end);
}

/* --- life cycle of a task -------------------------------------------------------------------- */

#define ENGINE_TEST(name_) TEST_WITH(name_, open_plain, close_it)

ENGINE_TEST(a_task_that_may_start_is_started_with_its_own_words) {
    task_id task = add("{\"argv\":[\"make\",\"all\"],\"cwd\":\"/srv\",\"env\":{\"A\":\"1\"},"
                       "\"timeout_s\":90}");
    kit_wait_starts(&kit, 1);
    const struct fake_start *start = last_start();
    assert_int_equal(start->run.task, task);
    assert_int_equal(start->run.attempt, 1);
    assert_string_equal(start->command, "make all");
    assert_string_equal(start->cwd, "/srv");
    assert_string_equal(start->folder, "web-1/1");
    assert_int_equal(start->timeout, SECONDS(90));
    assert_int_equal(start->stop_signal, SIGTERM);
    assert_non_null(strstr(start->env, "A=1\n"));
    assert_non_null(strstr(start->env, "SLUICE_TASK=web-1\n"));
    assert_non_null(strstr(start->env, "SLUICE_RUN=web-1.1\n"));
    assert_non_null(strstr(start->env, "SLUICE_PROJECT=web\n"));
    assert_int_equal(kit_state(&kit, task), TASK_STARTING);
    end_last(0);
    kit_wait_state(&kit, task, TASK_DONE);
}

ENGINE_TEST(the_environment_is_an_allow_list) {
    setenv("SECRET_OF_THE_DAEMON", "x", 1);
    add("{\"argv\":[\"env\"]}");
    kit_wait_starts(&kit, 1);
    assert_null(strstr(last_start()->env, "SECRET_OF_THE_DAEMON"));
    assert_non_null(strstr(last_start()->env, "PATH="));
}

ENGINE_TEST(an_agent_gets_its_prompt_where_it_wants_it) {
    add("{\"argv\":[\"cat\"],\"prompt\":\"to the input\"}");
    kit_wait_starts(&kit, 1);
    assert_string_equal(last_start()->prompt, "to the input");
    end_last(0);
    add_for("bot", "{\"prompt\":\"hello\"}");
    kit_wait_starts(&kit, 2);
    assert_string_equal(last_start()->command, "robot --go");
    assert_string_equal(last_start()->prompt, "hello");
    end_last(0);
    add_for("arguer", "{\"prompt\":\"two words\"}");
    kit_wait_starts(&kit, 3);
    assert_string_equal(last_start()->command, "robot two words last");
    assert_string_equal(last_start()->prompt, "");
    assert_int_equal(last_start()->stop_signal, SIGINT);
    assert_non_null(strstr(last_start()->env, "COLOUR=red\n"));
}

ENGINE_TEST(what_cannot_be_launched_is_a_launch_failure_and_not_lost) {
    fake_fail_starts(-ENOENT);
    task_id task = add("{\"argv\":[\"x\"]}");
    kit_wait_state(&kit, task, TASK_HELD);
    assert_int_equal(kit_view(&kit, task).hold, HOLD_BREAKER); /* the third failure opens it */
    assert_int_equal(kit_view(&kit, task).attempt, 3);
    assert_int_equal(fake_start_count(), 0);
}

ENGINE_TEST(a_task_without_a_command_says_so_and_runs_nothing) {
    task_id task = add("{\"argv\":[]}");
    kit_wait_state(&kit, task, TASK_HELD);
    assert_int_equal(fake_start_count(), 0);
}

ENGINE_TEST(a_canceled_run_is_stopped_and_keeps_its_place_until_it_has_ended) {
    task_id task = add("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    fake_report_started(last_start()->run);
    kit_wait_state(&kit, task, TASK_RUNNING);
    assert_int_equal(kit_apply(&kit, FACT_CANCEL, task), 0);
    assert_int_equal(fake_stop_count(), 1);
    assert_int_equal(fake_stop_at(0)->how, STOP_GRACEFULLY);
    assert_int_equal(kit_state(&kit, task), TASK_RUNNING);
    struct run_end end = { .kind = RUN_END_STOPPED, .code = -1, .signal = SIGTERM };
    fake_report_ended(last_start()->run, &end);
    kit_wait_state(&kit, task, TASK_CANCELED);
}

static bool is_answered(struct kit *k, void *ctx) {
    (void)k;
    return ((const struct kit_ask *)ctx)->answered;
}

/* The command of a task must not start after a client was notified of its cancellation. */
ENGINE_TEST(a_cancel_is_answered_when_nothing_can_begin_any_more) {
    struct run_end end = { .kind = RUN_END_STOPPED, .code = -1 };
    task_id ran = add("{\"argv\":[\"a\"]}"), never = add("{\"argv\":[\"b\"]}");
    kit_wait_starts(&kit, 2); /* their shims are alive; whether their commands are is unknown */
    struct kit_ask first = kit_ask_apply(FACT_CANCEL, ran),
                   second = kit_ask_apply(FACT_CANCEL, never);
    kit_send(&kit, &first);
    kit_send(&kit, &second);
    kit_settle(&kit);
    assert_int_equal(fake_stop_count(), 2);
    assert_false(first.answered || second.answered);
    fake_report_started(fake_start_at(0)->run);
    kit_settle(&kit);
    assert_false(first.answered);
    fake_report_ended(fake_start_at(1)->run, &end);
    kit_wait(&kit, is_answered, &first, "the answer to the first cancel");
    kit_wait(&kit, is_answered, &second, "the answer to the second cancel");
    assert_int_equal(first.outcome, STORE_OK);
}

ENGINE_TEST(a_cancel_is_answered_although_a_shim_says_nothing) {
    task_id task = add("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    struct kit_ask ask = kit_ask_apply(FACT_CANCEL, task);
    kit_send(&kit, &ask);
    kit_wait(&kit, is_answered, &ask, "the answer to the cancel");
    assert_int_equal(kit_state(&kit, task), TASK_STARTING);
}

ENGINE_TEST(a_cap_holds) {
    for (int i = 0; i < 5; i++)
        add("{\"argv\":[\"a\"]}");
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 2);
    end_last(0);
    kit_wait_starts(&kit, 3);
    assert_int_equal(fake_live(), 2);
}

/* --- restart --------------------------------------------------------------------------------- */

ENGINE_TEST(what_waits_waits_after_a_restart_too) {
    task_id first = add("{\"argv\":[\"a\"]}"), second = 0;
    assert_int_equal(kit_add_after(&kit, first, &second), 0);
    fake_will_adopt((struct run_key){ first, 1 }, ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    assert_int_equal(kit.report.tasks, 2);
    assert_int_equal(kit.report.adopted, 1);
    assert_int_equal(kit_state(&kit, second), TASK_WAITING);
    size_t starts = fake_start_count();
    struct run_end end = fake_exit(0);
    fake_report_ended((struct run_key){ first, 1 }, &end);
    kit_wait_state(&kit, first, TASK_DONE);
    kit_wait_starts(&kit, starts + 1);
    assert_int_equal(last_start()->run.task, second);
}

ENGINE_TEST(an_end_that_came_while_no_daemon_ran_is_read) {
    task_id task = add("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    struct run_end end = fake_exit(0);
    fake_will_adopt((struct run_key){ task, 1 }, ADOPTED_ENDED, &end);
    kit_restart(&kit);
    assert_int_equal(kit.report.ended, 1);
    kit_wait_state(&kit, task, TASK_DONE);
    assert_int_equal(fake_start_count(), 1); /* it did not run twice */
}

ENGINE_TEST(a_lost_run_is_no_success_and_is_repeated) {
    task_id task = add("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    kit_restart(&kit);
    assert_int_equal(kit.report.lost, 1);
    kit_wait_starts(&kit, 2);
    assert_int_equal(last_start()->run.attempt, 2);
    assert_int_equal(kit_view(&kit, task).losses, 1);
}

ENGINE_TEST(a_pause_outlives_the_daemon) {
    assert_int_equal(kit_pause(&kit, true), 0);
    add("{\"argv\":[\"a\"]}");
    kit_restart(&kit);
    assert_true(engine_is_paused(kit.engine));
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 0);
    assert_int_equal(kit_pause(&kit, false), 0);
    kit_wait_starts(&kit, 1);
}

ENGINE_TEST(numbers_go_on_where_they_were) {
    task_id first = add("{\"argv\":[\"a\"]}");
    uint64_t event = engine_last_event(kit.engine);
    kit_restart(&kit);
    task_id second = add("{\"argv\":[\"b\"]}");
    assert_int_equal(second, first + 1);
    assert_true(engine_last_event(kit.engine) > event);
}

/* --- a disk that fails ----------------------------------------------------------------------- */

ENGINE_TEST(a_full_disk_refuses_new_work_and_loses_none) {
    task_id kept = add("{\"argv\":[\"a\"]}"), refused = 0;
    kit_wait_starts(&kit, 1);
    fault_set(FAULT_FULL_ALWAYS, 1, 0);
    assert_int_equal(kit_add(&kit, "web", "{\"argv\":[\"b\"]}", &refused), 0);
    assert_int_equal(kit.outcome, STORE_FAILED);
    assert_int_equal(fake_start_count(), 1); /* a task that is not on disk does not run */
    assert_int_equal(kit_state(&kit, refused), TASK_ABSENT);
    assert_int_equal(kit_state(&kit, kept), TASK_STARTING);
    fault_set(FAULT_NONE, 0, 0);
    task_id next = add("{\"argv\":[\"c\"]}");
    assert_int_equal(next, refused); /* the number was never given to a client */
}

ENGINE_TEST(an_end_that_could_not_be_written_is_applied_again) {
    task_id task = add("{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    fault_set(FAULT_FULL_ALWAYS, 1, 0);
    end_last(0);
    kit_settle(&kit);
    assert_true(fault_happened());
    assert_int_equal(kit_state(&kit, task), TASK_STARTING);
    fault_set(FAULT_NONE, 0, 0);
    kit_wait_state(&kit, task, TASK_DONE);
    kit_restart(&kit);
    assert_int_equal(kit_state(&kit, task), TASK_DONE);
}

ENGINE_TEST(an_unknown_outcome_stops_everything) {
    task_id task = 0;
    fault_set(FAULT_EIO_ALWAYS, 1, 0);
    (void)kit_add(&kit, "web", "{\"argv\":[\"a\"]}", &task);
    assert_int_equal(kit.outcome, STORE_UNKNOWN);
    assert_true(engine_is_broken(kit.engine));
    assert_int_equal(fake_start_count(), 0);
}

int main(void) {
    fault_install();
    return tests_run();
}
