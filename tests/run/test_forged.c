/* test_forged.c: an end that a run has written itself is none. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macros.h"
#include "run/stage.h"

/* Leaves "forged" in the home of the stage: the end of a run that succeeded, as its shim has written it. */
static void make_forged(struct stage *stage) {
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    char path[STAGE_PATH + 8];
    assert_int_equal(stage_run(stage, 9, &spec)->kind, RUN_END_EXIT);
    (void)snprintf(path, sizeof(path), "%s/forged", stage->home);
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    (void)fputs(stage_file(stage, 9, "end.json"), stream);
    assert_int_equal(fclose(stream), 0);
}

/* The positive control: who reads no more than the file finds a success in it. */
static void check_forged(const struct stage *stage, task_id task) {
    char folder[STAGE_PATH];
    struct run_end end;
    stage_folder(task, folder);
    assert_int_equal(rundir_read_end(stage->root, folder, &end, NULL), 0);
    assert_int_equal(end.kind, RUN_END_EXIT);
    assert_int_equal(end.code, 0);
}

/* Leaves processes behind, writes an end into its folder, and waits to be told to kill its shim. */
static struct run_spec forging_spec(struct stage *stage) {
    static char tmp[STAGE_PATH + 8];
    static const char *const env[] = { "PATH=/usr/bin:/bin", tmp, NULL };
    static const char *const argv[] = { "sh",
                                        "-c",
                                        "\"$1\" leave 3; cat forged >\"$TMPDIR/../end.json\";"
                                        " echo forged; read -r _ <go; kill -9 $PPID",
                                        "sh",
                                        HOSTILE_PATH,
                                        NULL };
    static const char *const failing[] = { "false", NULL };
    static const struct run_command check = { .argv = failing };
    (void)snprintf(tmp, sizeof(tmp), "TMPDIR=%.200s/test-1/1/tmp", stage->root);
    struct run_spec spec = stage_spec(stage, argv);
    spec.env = env;
    spec.checks = &check;
    spec.check_count = 1;
    return spec;
}

static void start_forging(struct stage *stage) {
    char path[STAGE_PATH + 8];
    (void)snprintf(path, sizeof(path), "%s/go", stage->home);
    assert_int_equal(mkfifo(path, 0600), 0);
    make_forged(stage);
    struct run_spec spec = forging_spec(stage);
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "forged");
    check_forged(stage, 1);
}

static void let_it_kill(const struct stage *stage) {
    char path[STAGE_PATH + 8];
    (void)snprintf(path, sizeof(path), "%s/go", stage->home);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "\n", 1), 1);
    close(fd);
}

static bool nobody_is_left(struct stage *stage, void *ctx) {
    (void)ctx;
    return stage_survivors(stage) == 0;
}

static void a_shim_that_was_killed_is_lost_whatever_lies_in_its_folder(void **state) {
    struct stage *stage = STAGE(state);
    start_forging(stage);
    let_it_kill(stage);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_string_equal(end->message, "its shim was ended by signal 9");
    stage_await(stage, nobody_is_left, NULL, "the end of the last process");
    stage_free(stage);
}

static bool is_reaped(struct stage *stage, void *ctx) {
    (void)stage;
    return waitpid(*(pid_t *)ctx, NULL, WNOHANG) > 0;
}

static bool join(const char *cgroup, pid_t pid) {
    char path[PATH_MAX], number[16];
    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
    int size = snprintf(number, sizeof(number), "%d", (int)pid);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool joined = fd >= 0 && write(fd, number, (size_t)size) == size;
    if (fd >= 0)
        close(fd);
    return joined;
}

/* A process of another run, or of the owner, may have put itself into the cgroup of a run. */
static void who_is_in_the_cgroup_of_a_run_ends_with_it(void **state) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "echo ready; read -r _ <go"));
    char path[STAGE_PATH + 8];
    (void)snprintf(path, sizeof(path), "%s/go", stage->home);
    assert_int_equal(mkfifo(path, 0600), 0);
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    char folder[STAGE_PATH];
    stage_folder(1, folder);
    assert_int_equal(rundir_read_spec(stage->root, folder, &read, NULL), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    assert_true(pid > 0);
    bool joined = read->spec.cgroup && join(read->spec.cgroup, pid);
    if (!joined)
        assert_int_equal(kill(pid, SIGKILL), 0); /* no cgroups here */
    let_it_kill(stage);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0);
    stage_await(stage, is_reaped, &pid, "the end of the process that was put into the cgroup");
    stage_free(stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BOTH_WAYS(a_shim_that_was_killed_is_lost_whatever_lies_in_its_folder),
        BOTH_WAYS(who_is_in_the_cgroup_of_a_run_ends_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
