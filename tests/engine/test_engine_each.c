/* Repeats one small history, each time with another failing commit: the result is always the same. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "engine_kit.h"
#include "harness/test.h"
#include "late_store.h"

static const char config[] = KIT_CALM "limits: {runs: 2}\n"
                                      "retry: {failed: {max: 3, delay_s: 0, jitter: 0}}\n";

/* The tasks, by their numbers. */
enum { FIRST = 1, AFTER, FLAKY, HELD, STOPPED, LAST = STOPPED };

static struct kit kit;
static size_t played,
    stops; /* of the starts and stops of the executor, how many have had their end */

static int close_it(void **state) {
    (void)state;
    kit_close(&kit);
    return 0;
}

/* Like a client: repeats requests that certainly failed. */
static void insist(struct kit_ask ask) {
    for (int i = 0; i < 2; i++) {
        struct kit_ask once = ask;
        assert_true(kit_do(&kit, &once) >= 0);
        if (once.outcome == STORE_OK)
            return;
        assert_int_equal(once.outcome, STORE_FAILED);
    }
    fail_msg("the same request failed twice, though one commit does");
}

static void add(task_id after, bool draft) {
    struct kit_ask ask = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
    ask.draft.spec.depends_on = &after;
    ask.draft.spec.depends_on_count = after != 0;
    ask.draft.spec.state = draft ? TASK_DRAFT : TASK_WAITING;
    insist(ask);
}

/* Every run ends by itself, successfully except for the first attempt of one task; the test waits for one. */
static void play(void) {
    for (; played < fake_start_count(); played++) {
        struct run_key run = fake_start_at(played)->run;
        struct run_end end = fake_exit(run.task == FLAKY && run.attempt == 1);
        fake_report_started(run);
        if (run.task != STOPPED)
            fake_report_ended(run, &end);
    }
    for (; stops < fake_stop_count(); stops++) {
        struct run_end end = {
            .kind = RUN_END_STOPPED, .code = -1, .started_at = 1, .ended_at = 2
        };
        fake_report_ended(fake_stop_at(stops)->run, &end);
    }
}

static bool is_over(struct kit *k, void *ctx) {
    static const enum task_state due[] = {
        [FIRST] = TASK_DONE,    [AFTER] = TASK_DONE,       [FLAKY] = TASK_DONE,
        [HELD] = TASK_CANCELED, [STOPPED] = TASK_CANCELED,
    };
    (void)ctx;
    play();
    for (task_id task = FIRST; task <= LAST; task++)
        if (kit_state(k, task) != due[task])
            return false;
    return true;
}

static bool is_running(struct kit *k, void *ctx) {
    (void)ctx;
    play();
    return kit_state(k, STOPPED) == TASK_RUNNING;
}

static void live(unsigned failing) {
    played = stops = 0;
    kit_open_late(&kit, config);
    late_fail_commit(failing);
    add(0, false);
    add(FIRST, false);
    add(0, false);
    add(0, true);
    add(0, false);
    insist(kit_ask_apply(FACT_CANCEL, HELD));
    kit_wait(&kit, is_running, NULL, "the last one runs");
    insist(kit_ask_apply(FACT_CANCEL, STOPPED));
    kit_wait(&kit, is_over, NULL, "everything is over");
}

static void judge(unsigned failing) {
    static const size_t runs[] = {
        [FIRST] = 1, [AFTER] = 1, [FLAKY] = 2, [HELD] = 0, [STOPPED] = 1
    };
    size_t all = 0;
    for (task_id task = FIRST; task <= LAST; task++) {
        size_t ended = kit_events(&kit, "run.ended", task);
        size_t started = kit_events(&kit, "run.started", task);
        if (ended != runs[task] || started != runs[task])
            fail_msg("commit %u failed: %zu starts and %zu ends of task %d are on record, not %zu",
                     failing, started, ended, (int)task, runs[task]);
        assert_int_equal(kit_view(&kit, task).attempt, runs[task]);
        assert_int_equal(kit_events(&kit, "task.added", task), 1);
        all += runs[task];
    }
    assert_int_equal(fake_start_count(), all);
    assert_int_equal(fake_stop_count(), 1);
    assert_int_equal(kit_stats(&kit).ends, all);
    assert_int_equal(kit_events(&kit, "daemon.started", 0), 1);
    amount used = -1, cap;
    assert_true(core_lease(engine_core(kit.engine), LEASE_RUNS, 0, &used, &cap));
    assert_int_equal(used, 0);
    assert_int_equal(engine_live_tasks(kit.engine, NULL, 0), 0);
}

TEST_WITH(whichever_commit_fails_the_outcome_is_the_same, NULL, close_it) {
    unsigned commits = 1;
    uint64_t failed = 0;
    for (unsigned failing = 0; failing <= commits; failing++) {
        if (failing > 0)
            kit_close(&kit);
        live(failing);
        judge(failing);
        failed += kit_stats(&kit).failed_commits;
        if (failing == 0)
            commits = late_commits();
    }
    assert_true(commits >= 8);
    assert_true(failed >= commits - 1 && failed <= commits); /* the last may be one too many */
    kit_restart(&kit);
    for (task_id task = FIRST; task <= LAST; task++)
        assert_true(task_state_is_final(kit_state(&kit, task)));
}
