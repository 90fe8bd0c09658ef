/* test_stop.c: a run ends when it must: asked, at once, or when its time is over. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/test.h"
#include "os/clock.h"
#include "run/stage.h"

BOTH_WAYS(a_polite_command_ends_itself) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("polite"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    stage_stop(stage, 1, STOP_GRACEFULLY);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_int_equal(end->code, 3); /* its own exit code is reported, too */
    assert_string_equal(stage_file(stage, 1, "out.log"), "ready\ngot TERM\n");
    stage_free(stage);
}

ONE_WAY(the_stop_signal_of_the_spec_is_used) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("polite"));
    spec.stop_signal = SIGINT;
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    stage_stop(stage, 1, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    assert_string_equal(stage_file(stage, 1, "out.log"), "ready\ngot INT\n");
    stage_free(stage);
}

BOTH_WAYS(who_ignores_the_stop_is_killed_after_the_grace) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    spec.grace = 200;
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    time_ms asked = clock_read_steady();
    stage_stop(stage, 1, STOP_GRACEFULLY);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_int_equal(end->signal, SIGKILL);
    assert_true(clock_read_steady() - asked >= 200); /* it had its time */
    stage_free(stage);
}

BOTH_WAYS(at_once_does_not_wait_for_the_grace) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    spec.grace = HOURS(1);
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    stage_stop(stage, 1, STOP_GRACEFULLY);
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_int_equal(end->signal, SIGKILL);
    stage_free(stage);
}

/* The shim has not even read its spec then; the signal must wait for it. */
BOTH_WAYS(a_stop_right_after_the_start_is_kept) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    spec.grace = 0;
    for (task_id task = 1; task <= 10; task++) {
        stage_start(stage, task, &spec);
        stage_stop(stage, task, task % 2 ? STOP_GRACEFULLY : STOP_IMMEDIATELY);
    }
    for (task_id task = 1; task <= 10; task++)
        assert_int_equal(stage_await_end(stage, task)->kind, RUN_END_STOPPED);
    stage_free(stage);
}

ONE_WAY(other_signals_do_not_end_a_shim) {
    struct stage *stage = STAGE(state);
    static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGUSR2, SIGTSTP };
    struct run_spec spec = stage_spec(stage, HOSTILE("polite"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    pid_t shim = stage_who(stage, 1).shim;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        assert_int_equal(kill(shim, signals[i]), 0);
    stage_stop(stage, 1, STOP_GRACEFULLY);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_int_equal(end->code, 3);
    stage_free(stage);
}

ONE_WAY(a_stopped_process_is_woken_to_end) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("stopped"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    stage_stop(stage, 1, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(stage, 1)->code, 3);
    stage_free(stage);
}

ONE_WAY(no_run_can_be_stopped_twice_or_after_the_end) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "0"));
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    assert_int_equal(executor_stop(stage->ex, (struct run_key){ 1, 1 }, STOP_IMMEDIATELY), -ENOENT);
    assert_int_equal(executor_stop(stage->ex, (struct run_key){ 9, 1 }, STOP_IMMEDIATELY), -ENOENT);
    stage_free(stage);
}

/* Opening a pipe without a writer waits forever, like a dead network disk. */
ONE_WAY(a_program_that_does_not_come_can_be_stopped) {
    struct stage *stage = STAGE(state);
    char path[STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%.200s/pipe", stage->home);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    spec.stdin_path = "pipe";
    stage_start(stage, 1, &spec);
    stage_stop(stage, 1, STOP_GRACEFULLY);
    spec.command.timeout = 100;
    stage_start(stage, 2, &spec);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    assert_int_equal(stage_await_end(stage, 2)->kind, RUN_END_TIMEOUT);
    assert_false(stage->runs[1].started);
    assert_false(stage->runs[2].started);
    stage_free(stage);
}

ONE_WAY(the_deadline_is_kept_by_the_shim) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("polite"));
    spec.command.timeout = 300;
    time_ms begin = clock_read_steady();
    const struct run_end *end =
        &stage->runs[stage_run_timed(stage, &spec, &spec.command.timeout, "out.log")].end;
    assert_int_equal(end->kind, RUN_END_TIMEOUT);
    assert_false(end->idle);
    assert_int_equal(end->code, 3); /* it was asked first */
    assert_true(clock_read_steady() - begin >= spec.command.timeout);
    assert_non_null(strstr(end->message, "time-out"));
    stage_free(stage);
}

BOTH_WAYS(a_deadline_shorter_than_the_first_look_is_kept) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    spec.command.timeout = 5;
    spec.grace = 5;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_TIMEOUT);
    assert_true(end->signal == SIGKILL || end->signal == SIGTERM); /* it may not ignore it yet */
    stage_free(stage);
}

ONE_WAY(silence_ends_a_run) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("drip", "5", "100"));
    spec.idle_timeout = 1000;
    spec.grace = 0;
    time_ms begin = clock_read_steady();
    const struct run_end *end =
        &stage->runs[stage_run_timed(stage, &spec, &spec.idle_timeout, "out.log")].end;
    assert_int_equal(end->kind, RUN_END_TIMEOUT);
    assert_true(end->idle);
    assert_int_equal(end->out_bytes, 5 * 5 + 6); /* all five lines came first */
    assert_true(clock_read_steady() - begin >= 400 + spec.idle_timeout);
    stage_free(stage);
}

ONE_WAY(closed_output_counts_as_silence) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("close"));
    spec.idle_timeout = 200;
    spec.grace = 0;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_TIMEOUT);
    assert_true(end->idle);
    stage_free(stage);
}

BOTH_WAYS(memory_beyond_the_limit_ends_a_run) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("eat", "200"));
    spec.memory_max = 50 << 20;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_SIGNAL);
    assert_int_equal(end->signal, SIGKILL);
    assert_non_null(strstr(end->message, "memory_max"));
    assert_non_null(strstr(end->applied, "memory."));
    stage_free(stage);
}

static bool has_feature(const struct stage *stage, const char *name) {
    const struct executor_feature *features = NULL;
    size_t count = executor_features(stage->ex, &features);
    for (size_t i = 0; i < count; i++)
        if (strcmp(features[i].name, name) == 0)
            return features[i].there;
    fail_msg("feature '%s' is not told", name);
    return false;
}

BOTH_WAYS(processes_beyond_the_limit_end_or_fail) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("tree", "20", "1"));
    spec.processes_max = 8;
    spec.command.timeout =
        *(const int *)*state == WITH_CGROUP && has_feature(stage, "pids.max") ? 1000 : 0;
    spec.grace = 0;
    const struct run_end *end = stage_run(stage, 1, &spec);
    if (spec.command.timeout > 0)
        assert_int_equal(end->kind, RUN_END_TIMEOUT); /* the kernel refused the others */
    else {
        assert_int_equal(end->kind, RUN_END_SIGNAL);
        assert_non_null(strstr(end->message, "processes_max"));
        assert_non_null(strstr(end->applied, "pids.watch"));
    }
    stage_free(stage);
}
