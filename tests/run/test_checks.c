/* test_checks.c: a command that succeeded is checked, in order, and the first failure ends it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/test.h"
#include "run/stage.h"

#define CHECKS(spec, ...)                                                                          \
    do {                                                                                           \
        static const struct run_command list_[] = { __VA_ARGS__ };                                 \
        (spec)->checks = list_;                                                                    \
        (spec)->check_count = sizeof(list_) / sizeof(list_[0]);                                    \
    } while (0)

static const char *const say_one[] = { "sh", "-c", "echo one", NULL };
static const char *const say_two[] = { "sh", "-c", "echo two >&2", NULL };
static const char *const fail_five[] = { "sh", "-c", "echo five; exit 5", NULL };
static const char *const missing[] = { "no-such-check", NULL };
static const char *const hang[] = { HOSTILE_PATH, "ignore", NULL };
static const char *const leave[] = { HOSTILE_PATH, "leave", "2", "0", NULL };
static const char *const killed[] = { HOSTILE_PATH, "signal", "9", NULL };
static const char *const mark[] = { "touch", "marked", NULL };

BOTH_WAYS(all_checks_pass) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "echo out"));
    CHECKS(&spec, { say_one, 0 }, { say_two, SECONDS(30) });
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0);
    assert_true(stage->runs[1].validating);
    assert_string_equal(stage_file(stage, 1, "out.log"), "out\n");
    assert_string_equal(stage_file(stage, 1, "check.log"), "one\ntwo\n");
    assert_int_equal(end->out_bytes, 4); /* of the command alone */
    stage_free(stage);
}

ONE_WAY(the_first_failure_ends_it) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    CHECKS(&spec, { say_one, 0 }, { fail_five, 0 }, { say_two, 0 });
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_CHECK);
    assert_int_equal(end->check, 1);
    assert_int_equal(end->code, 5);
    assert_string_equal(stage_file(stage, 1, "check.log"), "one\nfive\n");
    stage_free(stage);
}

ONE_WAY(a_command_that_failed_is_not_checked) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("false"));
    CHECKS(&spec, { mark, 0 });
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 1);
    assert_false(stage->runs[1].validating);
    assert_string_equal(stage_file(stage, 1, "check.log"), "");
    stage_free(stage);
}

ONE_WAY(a_check_that_cannot_be_run_fails) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    CHECKS(&spec, { missing, 0 });
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_CHECK);
    assert_int_equal(end->check, 0);
    assert_int_equal(end->exec_errno, ENOENT);
    assert_int_equal(end->code, -1);
    assert_non_null(strstr(end->message, "no-such-check"));
    stage_free(stage);
}

ONE_WAY(a_check_has_its_own_time_out) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    struct run_command checks[] = { { say_one, 0 }, { hang, 200 } };
    spec.grace = 50;
    spec.checks = checks;
    spec.check_count = 2;
    const struct run_end *end =
        &stage->runs[stage_run_timed(stage, &spec, &checks[1].timeout, "check.log")].end;
    assert_int_equal(end->kind, RUN_END_CHECK);
    assert_int_equal(end->check, 1);
    assert_int_equal(end->signal, SIGKILL);
    assert_non_null(strstr(end->message, "time-out"));
    stage_free(stage);
}

ONE_WAY(a_check_that_dies_of_a_signal_fails) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    CHECKS(&spec, { killed, 0 });
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_CHECK);
    assert_int_equal(end->signal, SIGKILL);
    assert_int_equal(end->code, -1);
    stage_free(stage);
}

BOTH_WAYS(what_command_and_checks_leave_is_killed) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("leave", "3", "0"));
    CHECKS(&spec, { leave, 0 });
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0);
    assert_int_equal(end->leftover, 3 + 2);
    stage_free(stage);
}

BOTH_WAYS(a_stop_ends_the_checks) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    spec.grace = 50;
    CHECKS(&spec, { hang, 0 }, { mark, 0 });
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "check.log", "ready");
    stage_stop(stage, 1, STOP_GRACEFULLY);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    char path[STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%.200s/marked", stage->home);
    assert_int_equal(access(path, F_OK), -1); /* no further check was begun */
    stage_free(stage);
}
