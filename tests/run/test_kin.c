/* test_kin.c: a process of a run is known as one, however it was born. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {
        BOTH_WAYS(the_command_of_a_run_is_of_a_run),
        BOTH_WAYS(so_is_one_whose_parents_are_dead),
        ONE_WAY(and_after_a_restart),
        ONE_WAY(of_who_is_gone_nobody_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
