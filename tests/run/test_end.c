/* test_end.c: how a run ended is reported exactly, however short it was. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/scratch.h"
#include "harness/test.h"
#include "run/stage.h"

BOTH_WAYS(every_exit_code_is_reported) {
    struct stage *stage = STAGE(state);
    static const int codes[] = { 0, 1, 2, 125, 126, 127, 128, 137, 143, 255 };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", codes[i]);
        struct run_spec spec = stage_spec(stage, HOSTILE("exit", text));
        const struct run_end *end = stage_run(stage, i + 1, &spec);
        assert_int_equal(end->kind, RUN_END_EXIT);
        assert_int_equal(end->code, codes[i]);
        assert_int_equal(end->signal, 0);
        assert_true(end->durable);
        assert_int_equal(end->leftover, 0);
        assert_true(stage->runs[i + 1].started);
        assert_false(stage->runs[i + 1].validating);
        assert_true(end->started_at > 0 && end->ended_at >= end->started_at);
    }
    stage_free(stage);
}

BOTH_WAYS(many_runs_at_once_each_have_their_own_end) {
    struct stage *stage = STAGE(state);
    for (task_id task = 1; task < STAGE_RUNS; task++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", (int)task);
        struct run_spec spec = stage_spec(stage, HOSTILE("exit", text));
        stage_start(stage, task, &spec);
    }
    assert_int_equal(executor_live(stage->ex), STAGE_RUNS - 1);
    for (task_id task = 1; task < STAGE_RUNS; task++)
        assert_int_equal(stage_await_end(stage, task)->code, (int)task);
    stage_free(stage);
}

ONE_WAY(a_signal_is_not_an_exit_code) {
    struct stage *stage = STAGE(state);
    static const int signals[] = { SIGKILL, SIGSEGV, SIGTERM, SIGINT, SIGPIPE, SIGUSR1 };
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", signals[i]);
        struct run_spec spec = stage_spec(stage, HOSTILE("signal", text));
        const struct run_end *end = stage_run(stage, i + 1, &spec);
        assert_int_equal(end->kind, RUN_END_SIGNAL);
        assert_int_equal(end->signal, signals[i]);
        assert_int_equal(end->code, -1);
        assert_false(end->core_dumped);
    }
    stage_free(stage);
}

static const struct run_end *run_program(struct stage *stage, task_id task, const char *program) {
    struct run_spec spec = stage_spec(stage, ARGV(program));
    return stage_run(stage, task, &spec);
}

static void expect_launch_failure(const struct run_end *end, int error, const char *text) {
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_int_equal(end->exec_errno, error);
    assert_int_equal(end->code, -1);
    if (!strstr(end->message, text))
        fail_msg("the message does not say '%s': %s", text, end->message);
}

BOTH_WAYS(what_cannot_be_run_is_a_launch_failure) {
    struct stage *stage = STAGE(state);
    char script[STAGE_PATH + 16];
    (void)snprintf(script, sizeof(script), "%s/script", stage->home);
    int fd = open(script, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, "echo\n", 5) == 5);
    close(fd);

    expect_launch_failure(run_program(stage, 1, "/no/such/program"), ENOENT, "/no/such/program");
    expect_launch_failure(run_program(stage, 2, "no-such-program"), ENOENT, "PATH");
    expect_launch_failure(run_program(stage, 3, "/"), EACCES, "Permission denied");
    expect_launch_failure(run_program(stage, 4, script), EACCES, "script");
    assert_int_equal(chmod(script, 0700), 0);
    expect_launch_failure(run_program(stage, 5, script), ENOEXEC, "#!");
    expect_launch_failure(run_program(stage, 6, ""), ENOENT, "cannot run ''");
    for (task_id task = 1; task <= 6; task++)
        assert_false(stage->runs[task].started);
    stage_free(stage);
}

ONE_WAY(a_missing_folder_is_a_launch_failure) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    spec.cwd = "/no/such/folder";
    expect_launch_failure(stage_run(stage, 1, &spec), ENOENT, "enter folder '/no/such/folder'");
    spec = stage_spec(stage, ARGV("true"));
    spec.stdin_path = "no-such-file";
    expect_launch_failure(stage_run(stage, 2, &spec), ENOENT, "read 'no-such-file'");
    stage_free(stage);
}

ONE_WAY(a_word_that_is_too_long_is_a_launch_failure) {
    struct stage *stage = STAGE(state);
    size_t size = 200000; /* the kernel takes 128 KiB in one word */
    char *word = malloc(size + 1);
    assert_non_null(word);
    memset(word, 'a', size);
    word[size] = '\0';
    struct run_spec spec = stage_spec(stage, ARGV("true", word));
    expect_launch_failure(stage_run(stage, 1, &spec), E2BIG, "standard input");
    free(word);
    stage_free(stage);
}

static bool has_spare_folders(struct stage *stage, void *ctx) {
    (void)ctx;
    char path[STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%.200s/.spare/31/1/tmp", stage->root);
    return access(path, F_OK) == 0;
}

ONE_WAY(too_many_words_are_refused_before_anything_runs) {
    struct stage *stage = STAGE(state);
    struct error err = { 0 };
    static const char *words[RUN_ARGS_MAX + 2];
    for (size_t i = 0; i <= RUN_ARGS_MAX; i++)
        words[i] = "a";
    struct run_spec spec = stage_spec(stage, words);
    stage_await(stage, has_spare_folders, NULL, "folders made ahead"); /* not one of them is used */
    assert_int_equal(executor_start(stage->ex, (struct run_key){ 1, 1 }, "test-1/1", &spec, &err),
                     -E2BIG);
    assert_int_equal(executor_live(stage->ex), 0);
    assert_int_equal(access(stage->root, F_OK), 0);
    char path[STAGE_PATH];
    stage_path(stage, 1, "", path);
    assert_int_equal(access(path, F_OK), -1); /* nothing is left of it */
    stage_free(stage);
}

ONE_WAY(an_attempt_is_started_once) {
    struct stage *stage = STAGE(state);
    struct error err = { 0 };
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "0"));
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    assert_int_equal(executor_start(stage->ex, (struct run_key){ 1, 1 }, "test-1/1", &spec, &err),
                     -EEXIST);
    assert_non_null(strstr(err.text, "test-1/1"));
    /* What is there of the first one is untouched. */
    assert_non_null(strstr(stage_file(stage, 1, "end.json"), "\"kind\":\"exit\""));
    stage_free(stage);
}

ONE_WAY(a_folder_outside_of_the_root_is_refused) {
    struct stage *stage = STAGE(state);
    struct error err = { 0 };
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    static const char *const folders[] = { "../x/1", "/tmp/x", "a/../../x", "", "a//b", ".hidden" };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        assert_int_equal(
            executor_start(stage->ex, (struct run_key){ 1, 1 }, folders[i], &spec, &err), -EINVAL);
    stage_free(stage);
}

ONE_WAY(a_missing_shim_is_reported_at_once) {
    struct error err = { 0 };
    struct loop *loop = NULL;
    struct executor *ex = NULL;
    assert_int_equal(loop_new(&loop, &err), 0);
    char root[SCRATCH_PATH];
    scratch_make(root, "run");
    const struct executor_options options = { .root = root, .shim_path = "/no/such/shim" };
    const struct executor_events events = {
        (void (*)(void *, struct run_key, time_ms))1, (void (*)(void *, struct run_key))1,
        (void (*)(void *, struct run_key, const struct run_end *))1, NULL
    };
    assert_int_equal(executor_local_new(loop, &options, &events, &ex, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/no/such/shim"));
    scratch_remove(root);
    (void)loop_free(loop);
}

/* A program that cannot even begin: its interpreter is missing. */
ONE_WAY(a_shim_that_cannot_start_leaves_nothing) {
    char home[SCRATCH_PATH], script[SCRATCH_PATH + 16], path[STAGE_PATH];
    scratch_make(home, "run");
    (void)snprintf(script, sizeof(script), "%s/shim", home);
    int fd = open(script, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(fd >= 0 && write(fd, "#!/no/such/program\n", 19) == 19);
    close(fd);
    struct stage *stage = stage_new_in(home, *(const int *)*state, script);
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "0"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_int_equal(end->exec_errno, ENOENT);
    assert_non_null(strstr(end->message, script));
    assert_false(stage->runs[1].started);
    assert_int_equal(executor_live(stage->ex), 0);
    stage_path(stage, 1, "", path);
    assert_int_equal(access(path, F_OK), -1);
    stage_free(stage);
}

BOTH_WAYS(a_shim_that_does_nothing_means_lost) {
    char home[SCRATCH_PATH];
    scratch_make(home, "run");
    struct stage *stage = stage_new_in(home, *(const int *)*state, "/bin/true");
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "0"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_LOST); /* its own exit code 0 says nothing */
    assert_int_equal(end->code, -1);
    assert_false(stage->runs[1].started);
    stage_free(stage);
}
