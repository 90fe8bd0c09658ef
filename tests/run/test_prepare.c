/* test_prepare.c: what prepares a worktree runs before the command, as the command does; if it fails, the run was
 * not launched. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/test.h"
#include "run/stage.h"

static struct run_spec prepared_spec(const struct stage *stage, const char *const *prepare) {
    static const char *const command[] = { "sh", "-c", "cat made; touch began", NULL };
    struct run_spec spec = stage_spec(stage, command);
    spec.prepare.argv = prepare;
    return spec;
}

static bool is_there(const struct stage *stage, const char *name) {
    char path[STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%.200s/%s", stage->home, name);
    return access(path, F_OK) == 0;
}

static void says(const struct run_end *end, const char *part) {
    if (!strstr(end->message, part))
        fail_msg("'%s' is not in: %s", part, end->message);
}

/* An end before the command: the command was not run, and the daemon heard of no start. */
static void expect_not_begun(struct stage *stage, enum run_end_kind kind) {
    const struct run_end *end = &stage->runs[1].end;
    assert_int_equal(end->kind, kind);
    assert_int_equal(end->started_at, 0);
    assert_false(stage->runs[1].started);
    assert_false(is_there(stage, "began"));
    assert_null(strstr(end->applied, "prepared"));
}

BOTH_WAYS(it_runs_before_the_command) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = prepared_spec(
        stage, ARGV("sh", "-c", "test ! -e began && echo here >made && echo out && echo err >&2"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0);
    assert_true(end->started_at > 0);
    assert_non_null(strstr(end->applied, "prepared"));
    assert_string_equal(stage_file(stage, 1, "prepare.log"), "out\nerr\n");
    assert_string_equal(stage_file(stage, 1, "out.log"), "here\n");
    assert_int_equal(end->out_bytes, 5); /* of the command alone */
    stage_free(stage);
}

ONE_WAY(a_run_without_it_has_no_log_of_it) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_null(strstr(end->applied, "prepared"));
    char path[STAGE_PATH];
    stage_path(stage, 1, "prepare.log", path);
    assert_int_equal(access(path, F_OK), -1);
    stage_free(stage);
}

ONE_WAY(it_has_the_environment_and_no_input) {
    struct stage *stage = STAGE(state);
    struct run_spec spec =
        prepared_spec(stage, ARGV("sh", "-c", "cat; echo \"$COLOUR\" >made; pwd >where"));
    spec.env = (const char *const[]){ "PATH=/usr/bin:/bin", "COLOUR=blue", NULL };
    spec.prompt = "for the command";
    spec.prompt_size = strlen(spec.prompt);
    const struct run_end *end = stage_run(stage, 1, &spec);
    if (end->kind != RUN_END_EXIT)
        fail_msg("%s", end->message);
    assert_string_equal(stage_file(stage, 1, "prepare.log"), "");
    assert_string_equal(stage_file(stage, 1, "out.log"), "blue\n");
    assert_true(is_there(stage, "where"));
    stage_free(stage);
}

ONE_WAY(it_has_a_folder_of_its_own) {
    struct stage *stage = STAGE(state);
    char top[STAGE_PATH], sub[STAGE_PATH];
    (void)snprintf(top, sizeof(top), "%.200s", stage->home);
    (void)snprintf(sub, sizeof(sub), "%.200s/sub", stage->home);
    assert_int_equal(mkdir(sub, 0700), 0);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "cat ../made; pwd"));
    spec.prepare.argv = ARGV("sh", "-c", "echo here >made");
    spec.prepare_cwd = top;
    spec.cwd = sub;
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    assert_non_null(strstr(stage_file(stage, 1, "out.log"), "/sub\n"));
    stage_free(stage);
}

ONE_WAY(a_failure_is_that_of_the_launch) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = prepared_spec(stage, ARGV("sh", "-c", "echo no network; exit 3", "npm"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    expect_not_begun(stage, RUN_END_LAUNCH);
    assert_int_equal(end->code, 3);
    says(end, "'sh -c echo no network; exit 3 npm'");
    says(end, "exit code 3");
    says(end, "sluice logs --prepare");
    assert_string_equal(stage_file(stage, 1, "prepare.log"), "no network\n");
    stage_free(stage);
}

ONE_WAY(a_long_command_is_shortened) {
    struct stage *stage = STAGE(state);
    char word[400];
    memset(word, 'x', sizeof(word));
    word[sizeof(word) - 1] = '\0';
    struct run_spec spec = prepared_spec(stage, ARGV("false", word, word));
    const struct run_end *end = stage_run(stage, 1, &spec);
    expect_not_begun(stage, RUN_END_LAUNCH);
    says(end, "'false xxx");
    says(end, "exit code 1");
    says(end, "sluice logs --prepare");
    stage_free(stage);
}

ONE_WAY(one_that_cannot_be_run_is_named) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = prepared_spec(stage, ARGV("no-such-program"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    expect_not_begun(stage, RUN_END_LAUNCH);
    assert_int_equal(end->exec_errno, ENOENT);
    says(end, "no-such-program");
    says(end, "PATH");
    stage_free(stage);
}

ONE_WAY(a_signal_is_a_failure) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = prepared_spec(stage, HOSTILE("signal", "11"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    expect_not_begun(stage, RUN_END_LAUNCH);
    assert_int_equal(end->signal, SIGSEGV);
    says(end, "signal 11");
    stage_free(stage);
}

BOTH_WAYS(it_has_its_own_time_out) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = prepared_spec(stage, HOSTILE("ignore"));
    spec.prepare.timeout = 200;
    spec.command.timeout = SECONDS(3600);
    spec.grace = 50;
    const struct run_end *end =
        &stage->runs[stage_run_timed(stage, &spec, &spec.prepare.timeout, "prepare.log")].end;
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_int_equal(end->started_at, 0);
    says(end, "time-out");
    assert_false(is_there(stage, "began"));
    stage_free(stage);
}

BOTH_WAYS(a_stop_ends_it_and_the_command_never_begins) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = prepared_spec(stage, HOSTILE("ignore"));
    spec.grace = 50;
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "prepare.log", "ready");
    stage_stop(stage, 1, STOP_GRACEFULLY);
    (void)stage_await_end(stage, 1);
    expect_not_begun(stage, RUN_END_STOPPED);
    says(&stage->runs[1].end, "prepared");
    stage_free(stage);
}

BOTH_WAYS(what_it_leaves_is_killed) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = prepared_spec(stage, HOSTILE("leave", "3", "0"));
    spec.command.argv = ARGV("true");
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->leftover, 3);
    stage_free(stage);
}

ONE_WAY(checks_still_follow_the_command) {
    struct stage *stage = STAGE(state);
    static const char *const check[] = { "sh", "-c", "test -e began", NULL };
    static const struct run_command checks[] = { { check, 0 } };
    struct run_spec spec = prepared_spec(stage, ARGV("sh", "-c", "echo >made"));
    spec.checks = checks;
    spec.check_count = 1;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_true(stage->runs[1].validating);
    stage_free(stage);
}
