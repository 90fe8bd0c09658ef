/* test_offer.c: an end is durable once, by the commit of its daemon or by its shim, whatever dies between. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/test.h"
#include "run/stage.h"

#define TASK 1

static struct stage *offering_stage(const int *cgroup, bool answers) {
    struct stage *stage = stage_new(*cgroup);
    stage_store_ends(stage, answers);
    return stage;
}

static bool has_end_file(const struct stage *stage) {
    char path[STAGE_PATH];
    stage_path(stage, TASK, "end.json", path);
    return access(path, F_OK) == 0;
}

static bool is_on_record(struct stage *stage, void *ctx) {
    (void)ctx;
    return strstr(stage_file(stage, TASK, "end.json"), "\"durable\":true") != NULL;
}

/* As a later daemon reads it. */
static struct run_end recorded(const struct stage *stage) {
    struct run_end end;
    struct error err = { 0 };
    if (rundir_read_end(stage->root, "test-1/1", NULL, &end, &err) < 0)
        fail_msg("no end is on record: %s", err.text);
    return end;
}

static const struct run_end *adopt(struct stage *stage, enum adopted expected) {
    const struct executor_known known = { .boot_id = executor_boot_id(stage->ex) };
    const struct run_key key = { TASK, 1 };
    assert_int_equal(executor_adopt(stage->ex, key, "test-1/1", &known), expected);
    return stage_await_end(stage, TASK);
}

BOTH_WAYS(an_end_that_is_stored_needs_no_file) {
    struct stage *stage = offering_stage(*state, true);
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "7"));
    const struct run_end *end = stage_run(stage, TASK, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 7);
    stage_await_shims(stage);
    assert_int_equal(stage->runs[TASK].ended_times, 1);
    assert_false(has_end_file(stage));
    assert_int_equal(recorded(stage).code, 7); /* for a store that is restored from a backup */
    stage_free(stage);
}

BOTH_WAYS(an_end_that_is_not_stored_is_written_by_its_shim) {
    struct stage *stage = offering_stage(*state, false);
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "7"));
    assert_int_equal(stage_run(stage, TASK, &spec)->code, 7);
    assert_int_equal(executor_live(stage->ex), 0); /* it does not hold up what follows */
    stage_await(stage, is_on_record, NULL, "the record of the shim");
    stage_await_shims(stage);
    assert_int_equal(stage->runs[TASK].ended_times, 1);
    stage_free(stage);
}

BOTH_WAYS(a_daemon_that_dies_before_it_stores_an_end_gets_it_again) {
    struct stage *stage = offering_stage(*state, false);
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "7"));
    assert_int_equal(stage_run(stage, TASK, &spec)->code, 7);
    stage_restart(stage);
    const struct executor_known known = { .boot_id = executor_boot_id(stage->ex) };
    (void)executor_adopt(stage->ex, (struct run_key){ TASK, 1 }, "test-1/1", &known);
    const struct run_end *end = stage_await_end(stage, TASK);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 7);
    assert_true(is_on_record(stage, NULL));
    stage_await_shims(stage);
    stage_free(stage);
}

/* Both are killed: the end is in the lock file. */
BOTH_WAYS(the_death_of_daemon_and_shim_loses_no_end) {
    struct stage *stage = offering_stage(*state, false);
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "7"));
    assert_int_equal(stage_run(stage, TASK, &spec)->code, 7);
    pid_t shim = stage_who(stage, TASK).shim;
    assert_int_equal(kill(shim, SIGKILL), 0);
    stage_await_shims(stage);
    assert_false(has_end_file(stage));
    stage_restart(stage);
    const struct run_end *end = adopt(stage, ADOPTED_ENDED);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 7);
    stage_free(stage);
}

/* The answer is a signal, and a run may signal its shim. */
ONE_WAY(a_run_cannot_answer_for_the_daemon) {
    struct stage *stage = offering_stage(*state, false);
    struct run_spec spec = stage_spec(stage, ARGV("/bin/sh", "-c", "kill -USR2 $PPID; exit 7"));
    const struct run_end *end = stage_run(stage, TASK, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 7);
    stage_await(stage, is_on_record, NULL, "the record of the shim");
    stage_await_shims(stage);
    stage_free(stage);
}

/* What a run leaves behind is dead before its end is reported. */
BOTH_WAYS(nothing_of_a_run_is_alive_when_its_end_is_offered) {
    struct stage *stage = offering_stage(*state, true);
    struct run_spec spec = stage_spec(stage, HOSTILE("leave", "5", "0"));
    const struct run_end *end = stage_run(stage, TASK, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(stage_survivors(stage), 0);
    stage_await_shims(stage);
    stage_free(stage);
}

ONE_WAY(the_folders_of_many_offered_runs_are_reused) {
    struct stage *stage = offering_stage(*state, true);
    for (task_id task = 1; task <= 100; task++) {
        struct run_spec spec = stage_spec(stage, HOSTILE("exit", "3"));
        stage_start(stage, task, &spec);
        if (task % 10 == 0)
            assert_int_equal(stage_await_end(stage, task)->code, 3);
    }
    for (task_id task = 1; task <= 100; task++)
        assert_int_equal(stage_await_end(stage, task)->code, 3);
    stage_await_shims(stage);
    for (task_id task = 1; task <= 100; task++) {
        char path[STAGE_PATH];
        stage_path(stage, task, "tmp", path);
        assert_int_equal(access(path, F_OK), -1);
    }
    stage_free(stage);
}
