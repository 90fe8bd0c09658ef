/* test_kin.c: a process of a run is known as one, however it was born. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "executor/executor_internal.h"
#include "run/stage.h"

/* The pid that the command has printed behind "pid ". */
static pid_t printed_pid(struct stage *stage, task_id task) {
    int pid = 0;
    stage_await_text(stage, task, "out.log", "ready");
    if (sscanf(stage_file(stage, task, "out.log"), "pid %d", &pid) != 1)
        fail_msg("no pid in: %s", stage_file(stage, task, "out.log"));
    return pid;
}

static void end(struct stage *stage) {
    stage_stop(stage, 1, STOP_AT_ONCE);
    (void)stage_await_end(stage, 1);
    stage_free(stage);
}

static void the_command_of_a_run_is_of_a_run(void **state) {
    struct stage *stage = STAGE(state);
    struct run_spec spec =
        stage_spec(stage, ARGV("sh", "-c", "echo pid $$; echo ready; exec sleep 1000"));
    stage_start(stage, 1, &spec);
    pid_t pid = printed_pid(stage, 1);
    assert_int_equal(executor_kin(stage->ex, pid), KIN_RUN);
    assert_int_equal(executor_kin(stage->ex, getpid()), KIN_NONE);
    assert_int_equal(executor_kin(stage->ex, 1), KIN_NONE);
    end(stage);
}

static void so_is_one_whose_parents_are_dead(void **state) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(
        stage,
        ARGV("sh", "-c",
             "(setsid sh -c 'echo pid $$; echo ready; exec sleep 1000' &) ; exec sleep 1000"));
    stage_start(stage, 1, &spec);
    assert_int_equal(executor_kin(stage->ex, printed_pid(stage, 1)), KIN_RUN);
    end(stage);
}

static void and_after_a_restart(void **state) {
    struct stage *stage = STAGE(state);
    char folder[STAGE_PATH];
    struct run_spec spec =
        stage_spec(stage, ARGV("sh", "-c", "echo pid $$; echo ready; exec sleep 1000"));
    stage_start(stage, 1, &spec);
    pid_t pid = printed_pid(stage, 1);
    stage_restart(stage);
    assert_int_equal(executor_kin(stage->ex, pid), KIN_NONE); /* it knows of none yet */
    stage_folder(1, folder);
    assert_int_equal(
        executor_adopt(stage->ex, (struct run_key){ 1, 1 }, folder, executor_boot_id(stage->ex)),
        ADOPTED_ALIVE);
    stage_await_started(stage, 1);
    assert_int_equal(executor_kin(stage->ex, pid), KIN_RUN);
    end(stage);
}

static void of_who_is_gone_nobody_knows(void **state) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "echo ready; exec sleep 1000"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(executor_kin(stage->ex, pid), KIN_UNKNOWN);
    end(stage);
}

/* A folder like /proc, in which things are as a test wants them. */
static void pretend(struct stage *stage, char *ret_proc, size_t room, pid_t pid, pid_t parent) {
    char path[2 * STAGE_PATH];
    (void)snprintf(ret_proc, room, "%s/proc", stage->home);
    (void)mkdir(ret_proc, 0700);
    (void)snprintf(path, sizeof(path), "%s/%d", ret_proc, (int)pid);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/%d/stat", ret_proc, (int)pid);
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    (void)fprintf(stream, "%d (a) name) 9) S %d 1 1 0", (int)pid, (int)parent);
    assert_int_equal(fclose(stream), 0);
}

static void who_lives_is_never_unknown_and_a_hole_above_is_never_a_stranger(void **state) {
    struct stage *stage = STAGE(state);
    char proc[STAGE_PATH + 8];
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "echo ready; exec sleep 1000"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    pid_t shim = stage_who(stage, 1).shim;
    pretend(stage, proc, sizeof(proc), 501, 0);   /* came by `docker exec` */
    pretend(stage, proc, sizeof(proc), 502, 501); /* its child */
    pretend(stage, proc, sizeof(proc), 503, 1);
    pretend(stage, proc, sizeof(proc), 504, shim);
    pretend(stage, proc, sizeof(proc), 505, 499); /* its parent ends while it is looked at */
    pretend(stage, proc, sizeof(proc), 506, 506); /* nobody looks for ever */
    assert_int_equal(kin_in(stage->ex, proc, 501), KIN_NONE);
    assert_int_equal(kin_in(stage->ex, proc, 502), KIN_NONE);
    assert_int_equal(kin_in(stage->ex, proc, 503), KIN_NONE);
    assert_int_equal(kin_in(stage->ex, proc, 504), KIN_RUN);
    assert_int_equal(kin_in(stage->ex, proc, 505), KIN_UNKNOWN);
    assert_int_equal(kin_in(stage->ex, proc, 506), KIN_UNKNOWN);
    end(stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BOTH_WAYS(the_command_of_a_run_is_of_a_run),
        BOTH_WAYS(so_is_one_whose_parents_are_dead),
        ONE_WAY(and_after_a_restart),
        ONE_WAY(of_who_is_gone_nobody_knows),
        ONE_WAY(who_lives_is_never_unknown_and_a_hole_above_is_never_a_stranger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
