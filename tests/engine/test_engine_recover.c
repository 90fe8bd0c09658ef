/* Runs outlive the daemon: how the next daemon adopts live runs, and records the ends of others. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine_kit.h"
#include "fault_vfs.h"
#include "harness/test.h"

static struct kit kit;

static int open_calm(void **state) {
    (void)state;
    kit_open(&kit, KIT_CALM "tasks: {launch_s: 1}\n"
                            "agents: {bot: {command: [bot], adapter: claude}}\n");
    return 0;
}

static int close_it(void **state) {
    (void)state;
    fault_set(FAULT_NONE, 0, 0);
    kit_close(&kit);
    return 0;
}

static struct run_key last_run(void) {
    assert_true(fake_start_count() > 0);
    return fake_start_at(fake_start_count() - 1)->run;
}

static void end_last(struct run_end end) {
    fake_report_ended(last_run(), &end);
}

static task_id running(void) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    size_t starts = fake_start_count();
    kit_wait_starts(&kit, starts > 0 ? starts : 1);
    fake_report_started(last_run());
    kit_wait_state(&kit, task, TASK_RUNNING);
    return task;
}

static enum outcome recorded(task_id task) {
    struct run_row run;
    assert_true(kit_last_run(&kit, task, &run));
    assert_true(run.ended);
    return run.outcome;
}

/* --- stops ----------------------------------------------------------------------------------- */

#define RECOVER_TEST(name_) TEST_WITH(name_, open_calm, close_it)

RECOVER_TEST(a_stop_that_was_ordered_is_sent_again_by_the_next_daemon) {
    task_id task = running();
    assert_int_equal(kit_apply(&kit, FACT_CANCEL, task), 0);
    assert_int_equal(fake_stop_count(), 1);
    fake_will_adopt(last_run(), ADOPTED_ALIVE, NULL);
    kit_restart(&kit); /* the daemon may have died just before it sent the first one */
    assert_int_equal(fake_stop_count(), 2);
    assert_int_equal(fake_stop_at(1)->run.task, task);
    assert_int_equal(fake_stop_at(1)->how, STOP_GRACEFULLY);
    end_last((struct run_end){ .kind = RUN_END_STOPPED, .code = -1, .started_at = 1 });
    kit_wait_state(&kit, task, TASK_CANCELED);
}

RECOVER_TEST(a_run_that_goes_on_is_not_stopped_by_a_restart) {
    task_id task = running();
    fake_will_adopt(last_run(), ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    kit_settle(&kit);
    assert_int_equal(fake_stop_count(), 0);
    assert_int_equal(kit_state(&kit, task), TASK_RUNNING);
}

static bool is_zero(const struct tag_key *key) {
    static const struct tag_key zero;
    return memcmp(key, &zero, sizeof(zero)) == 0;
}

RECOVER_TEST(the_store_knows_who_a_run_is_while_it_lives) {
    struct run_row run;
    fake_shim_is(4711, 99, "/sys/fs/cgroup/sluice-0123abcd/1.1");
    task_id task = running();
    struct tag_key key = fake_start_at(0)->key;
    assert_true(fake_start_at(0)->has_key);
    assert_false(is_zero(&key));
    fake_will_adopt(last_run(), ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    assert_true(fake_known()->has_key);
    assert_memory_equal(&fake_known()->key, &key, sizeof(key));
    assert_int_equal(fake_known()->pid, 4711);
    assert_int_equal(fake_known()->start, 99);
    assert_int_equal(fake_known()->space, 7);
    assert_string_equal(fake_known()->cgroup, "/sys/fs/cgroup/sluice-0123abcd/1.1");
    end_last(fake_exit(0));
    kit_wait_state(&kit, task, TASK_DONE);
    assert_true(kit_last_run(&kit, task, &run));
    assert_null(run.shim_key);
    assert_int_equal(run.shim_pid, 0);
    assert_null(run.cgroup);
}

/* The key is in the commit of the order: a live shim always has one that the store knows. */
RECOVER_TEST(the_key_is_stored_before_the_shim_lives) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    struct tag_key key = fake_start_at(0)->key;
    fake_will_adopt(last_run(), ADOPTED_ALIVE, NULL);
    kit_restart(&kit); /* before its command was seen to run */
    assert_true(fake_known()->has_key);
    assert_memory_equal(&fake_known()->key, &key, sizeof(key));
    assert_int_equal(fake_known()->pid, 0);
    /* Who it is comes with the news that it runs. */
    fake_shim_is(4712, 100, NULL);
    fake_report_started(last_run());
    kit_wait_state(&kit, task, TASK_RUNNING);
    fake_will_adopt(last_run(), ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    assert_int_equal(fake_known()->pid, 4712);
    assert_string_equal(fake_known()->cgroup, "");
}

RECOVER_TEST(two_runs_have_two_keys) {
    (void)running();
    end_last((struct run_end){ .kind = RUN_END_LOST, .code = -1 });
    kit_wait_starts(&kit, 2);
    assert_true(fake_start_at(1)->has_key);
    assert_memory_not_equal(&fake_start_at(0)->key, &fake_start_at(1)->key, sizeof(struct tag_key));
}

/* As at the shutdown of the machine, when every process gets a TERM. */
RECOVER_TEST(a_run_that_was_stopped_from_outside_is_not_canceled) {
    task_id task = running();
    end_last((struct run_end){
        .kind = RUN_END_STOPPED, .code = -1, .signal = SIGTERM, .started_at = 1, .ended_at = 2 });
    kit_wait_starts(&kit, 2);
    assert_int_equal(last_run().attempt, 2);
    assert_int_equal(kit_view(&kit, task).losses, 1);
    struct run_row run;
    struct run_end end = fake_exit(0);
    end_last(end);
    kit_wait_state(&kit, task, TASK_DONE);
    assert_true(kit_last_run(&kit, task, &run));
    assert_int_equal(run.attempt, 2);
    assert_int_equal(kit_events(&kit, "run.ended", task), 2);
}

static int cancel_now(struct engine *engine, struct kit_ask *ask) {
    struct fact fact = { .kind = FACT_CANCEL, .task = 1 };
    engine_stop_at_once(engine, 1);
    return engine_apply(engine, &fact, &ask->err);
}

RECOVER_TEST(the_second_cancel_kills_at_once) {
    task_id task = running();
    assert_int_equal(kit_apply(&kit, FACT_CANCEL, task), 0);
    assert_true(kit_run(&kit, cancel_now, NULL) >= 0);
    assert_int_equal(fake_stop_count(), 2);
    assert_int_equal(fake_stop_at(0)->how, STOP_GRACEFULLY);
    assert_int_equal(fake_stop_at(1)->how, STOP_IMMEDIATELY);
    struct run_row run;
    assert_true(kit_last_run(&kit, task, &run));
    assert_int_equal(run.phase, PHASE_STOPPING);
    fake_will_adopt(last_run(), ADOPTED_ALIVE, NULL);
    kit_restart(&kit); /* nor does the next daemon wait longer */
    assert_int_equal(fake_stop_count(), 3);
    assert_int_equal(fake_stop_at(2)->how, STOP_IMMEDIATELY);
}

/* --- launches -------------------------------------------------------------------------------- */

static bool is_stopped(struct kit *k, void *ctx) {
    (void)k;
    (void)ctx;
    return fake_stop_count() > 0;
}

RECOVER_TEST(a_launch_that_takes_too_long_is_ended_and_tried_again) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait(&kit, is_stopped, NULL, "the launch is ended");
    assert_int_equal(fake_stop_at(0)->how, STOP_IMMEDIATELY);
    end_last((struct run_end){ .kind = RUN_END_STOPPED, .code = -1 });
    kit_wait_starts(&kit, 2);
    assert_int_equal(kit_view(&kit, task).launch_failures, 1);
    fake_report_started(last_run());
    kit_wait_state(&kit, task, TASK_RUNNING);
}

/* One daemon sends the stop, another one reads the end. */
RECOVER_TEST(its_end_is_a_launch_failure_for_the_next_daemon_too) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    struct run_end end = { .kind = RUN_END_STOPPED, .code = -1 };
    fake_will_adopt(last_run(), ADOPTED_ENDED, &end);
    kit_restart(&kit);
    kit_wait_starts(&kit, 2);
    assert_int_equal(kit_view(&kit, task).launch_failures, 1);
}

RECOVER_TEST(an_agent_that_ends_at_once_without_a_word_was_not_launched) {
    task_id task = 0;
    struct run_end silent = fake_exit(0);
    silent.out_bytes = 0;
    assert_int_equal(kit_add_for(&kit, "bot", "{\"prompt\":\"x\"}", &task), 0);
    kit_wait_starts(&kit, 1);
    end_last(silent);
    kit_wait_starts(&kit, 2);
    assert_int_equal(kit_view(&kit, task).launch_failures, 1);
    struct run_end spoke = fake_exit(0);
    end_last(spoke); /* launched, but without the final message that its adapter waits for */
    kit_wait_state(&kit, task, TASK_HELD);
    assert_int_equal(kit_view(&kit, task).launch_failures, 0);
    assert_int_equal(kit_view(&kit, task).failures, 1);
    task = kit_web(&kit, "{\"argv\":[\"true\"]}"); /* a plain command may be silent */
    kit_wait_starts(&kit, 3);
    end_last(silent);
    kit_wait_state(&kit, task, TASK_DONE);
}

/* --- a store that does not fit ---------------------------------------------------------------- */

static void call_it_running(struct store_batch *batch) {
    struct task_row row = {
        .id = 1,
        .project = "web",
        .spec = { .id = 1,
                  .priority = 100,
                  .iteration = 1,
                  .attempt = 3,
                  .state = TASK_RUNNING,
                  .parallelizable = true,
                  .retry_max = -1,
                  .created_at = 1,
                  .ready_since = 1,
                  .started_at = 1 },
        .changed_at = 1,
    };
    store_change_task(batch, &row, STORE_CHANGE_SEEN);
}

RECOVER_TEST(a_live_task_without_a_run_is_lost_and_not_live_for_ever) {
    assert_int_equal(kit_pause(&kit, true), 0);
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_stop(&kit);
    kit_store(&kit, call_it_running);
    kit_start(&kit);
    assert_int_equal(kit.report.lost, 1);
    assert_string_equal(fake_adopted(0), "1.3=lost");
    kit_wait_state(&kit, task, TASK_READY);
    assert_int_equal(kit_view(&kit, task).losses, 1);
}

/* The core that is built after it has such a task too. */
RECOVER_TEST(also_when_the_first_commit_fails) {
    assert_int_equal(kit_pause(&kit, true), 0);
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_stop(&kit);
    kit_store(&kit, call_it_running);
    kit_start(&kit);
    fault_set(FAULT_FULL_ALWAYS, true, 0);
    kit_wait_failures(&kit, 1);
    fault_set(FAULT_NONE, 0, 0);
    kit_wait_state(&kit, task, TASK_READY);
    assert_int_equal(kit_view(&kit, task).losses, 1);
}

static int delete_what_was_added(struct engine *engine, struct kit_ask *ask) {
    struct fact fact = { .kind = FACT_DELETE, .task = engine_last_task(engine) };
    return engine_apply(engine, &fact, &ask->err);
}

static void count_specs(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    *(size_t *)ctx = answer->count;
}

RECOVER_TEST(a_task_that_is_deleted_in_the_turn_that_brought_it_leaves_nothing) {
    struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    add.draft.spec.state = TASK_DRAFT;
    add.draft.external_id = "card-1";
    struct kit_ask delete = { .run = delete_what_was_added };
    kit_send(&kit, &add);
    assert_int_equal(kit_do(&kit, &delete), 0);
    assert_int_equal(kit_state(&kit, add.first), TASK_ABSENT);
    size_t specs = 9;
    struct store_query question = { .kind = QUERY_SPECS, .tasks = &add.first, .task_count = 1 };
    store_query(kit.store, &question, count_specs, &specs);
    assert_int_equal(specs, 0);
    struct kit_ask again = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    again.draft.external_id = "card-1"; /* unique: no task has it any more */
    assert_int_equal(kit_do(&kit, &again), 0);
    assert_int_equal(again.outcome, STORE_OK);
}

/* --- what runs say ---------------------------------------------------------------------------- */

static int report_tokens(struct engine *engine, struct kit_ask *ask) {
    struct engine_usage usage = { .tokens_in = -1, .tokens_out = -1, .cost_micro_usd = -1 };
    sscanf(ask->text, "%lld %lld", (long long *)&usage.tokens_in, (long long *)&usage.tokens_out);
    return engine_report_usage(engine, 1, &usage, &ask->err);
}

RECOVER_TEST(an_old_report_takes_nothing_back) {
    task_id task = running();
    assert_int_equal(kit_run(&kit, report_tokens, "1000 50"), 0);
    assert_int_equal(kit_run(&kit, report_tokens, "900 60"), 0);
    struct engine_run run;
    assert_true(engine_live_run(kit.engine, task, &run));
    assert_int_equal(run.tokens_in, 1000);
    assert_int_equal(run.tokens_out, 60);
    fake_will_adopt(last_run(), ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    assert_int_equal(kit_view(&kit, task).tokens, 1060);
}

RECOVER_TEST(an_end_before_the_start_was_reported_is_both) {
    task_id task = kit_web(&kit, "{\"argv\":[\"a\"]}");
    kit_wait_starts(&kit, 1);
    end_last(fake_exit(0));
    kit_wait_state(&kit, task, TASK_DONE);
    assert_int_equal(recorded(task), OUTCOME_OK);
    assert_int_equal(kit_events(&kit, "run.started", task), 1);
    fake_report_started(last_run()); /* late: ignored */
    kit_settle(&kit);
    assert_int_equal(kit_events(&kit, "run.started", task), 1);
}

static int mark(struct engine *engine, struct kit_ask *ask) {
    return engine_mark_done(engine, 1, &ask->err);
}

RECOVER_TEST(work_that_is_done_again_needs_a_new_marker) {
    struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    add.draft.spec.until = UNTIL_DONE;
    assert_int_equal(kit_do(&kit, &add), 0);
    kit_wait_starts(&kit, 1);
    assert_int_equal(kit_run(&kit, mark, NULL), 0);
    end_last(fake_exit(0));
    kit_wait_state(&kit, add.first, TASK_DONE);
    assert_int_equal(kit_apply(&kit, FACT_AGAIN, add.first), 0);
    kit_wait_starts(&kit, 2);
    end_last(fake_exit(0)); /* without a word about being done */
    kit_wait_state(&kit, add.first, TASK_HELD);
    assert_int_equal(kit_view(&kit, add.first).hold, HOLD_RESTART);
}

static int open_group(struct engine *engine, struct kit_ask *ask) {
    uint32_t group = 0;
    int r = engine_open_group(engine, ask->text, false, &group, &ask->err);
    return r < 0 ? r : (int)group;
}

RECOVER_TEST(a_generated_name_is_unique) {
    assert_int_equal(kit_run(&kit, open_group, "group-2"), 1);
    assert_int_equal(kit_run(&kit, open_group, NULL), 2);
    assert_non_null(engine_find_group(kit.engine, "group-3"));
}

/* --- silence --------------------------------------------------------------------------------- */

static void the_time_is_over(void *ctx) {
    loop_stop(ctx);
}

RECOVER_TEST(without_work_nothing_wakes_up) {
    running();
    kit_settle(&kit);
    struct error err = { 0 };
    uint64_t before = loop_wakeups(kit.loop);
    struct loop_timer *timer = loop_timer_new(kit.loop, the_time_is_over, kit.loop);
    loop_timer_set(kit.loop, timer, loop_now_steady(kit.loop) + 300);
    assert_int_equal(loop_run(kit.loop, &err), 0);
    loop_timer_free(kit.loop, timer);
    assert_true(loop_wakeups(kit.loop) - before <= 2); /* the timer of this test */
}

RECOVER_TEST(f057_a_restart_is_no_tick) {
    kit_close(&kit);
    kit_open(&kit, KIT_CALM "preset: gastown\nlimits: {runs: 4}\npace: {tick_s: 3600}\n");
    task_id task = running();
    (void)kit_web(&kit, "{\"argv\":[\"a\"]}");
    fake_will_adopt(last_run(), ADOPTED_ALIVE, NULL);
    kit_restart(&kit);
    kit_settle(&kit);
    assert_int_equal(fake_start_count(), 1);
    assert_int_equal(kit_state(&kit, task), TASK_RUNNING);
    assert_int_equal(kit_state(&kit, task + 1), TASK_READY);
}

int main(void) {
    fault_install();
    return tests_run();
}
