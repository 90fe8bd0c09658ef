/* test_adopt.c: runs outlive the daemon, and no end is ever missed, guessed or reported twice. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "harness/test.h"
#include "run/stage.h"

static enum adopted adopt(struct stage *stage, task_id task) {
    char folder[STAGE_PATH];
    stage_folder(task, folder);
    enum adopted adopted =
        executor_adopt(stage->ex, (struct run_key){ task, 1 }, folder,
                       &(struct executor_known){ .boot_id = executor_boot_id(stage->ex) });
    assert_false(stage->runs[task].ended); /* never from inside the call */
    assert_false(stage->runs[task].started);
    return adopted;
}

static bool knows_everything(void *ctx, const char *task, uint32_t attempt) {
    (void)ctx;
    (void)task;
    (void)attempt;
    return true;
}

static void kill_shim(const struct stage *stage, task_id task) {
    assert_int_equal(kill(stage_who(stage, task).shim, SIGKILL), 0);
}

/* The new executor does not reap what it has not started; a daemon's children go to init. */
static void reap_others(void) {
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

BOTH_WAYS(a_live_run_is_found_and_its_end_reported) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("polite"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    stage_restart(stage);
    assert_int_equal(adopt(stage, 1), ADOPTED_ALIVE);
    assert_int_equal(executor_live(stage->ex), 1);
    stage_await_started(stage, 1);
    stage_stop(stage, 1, STOP_GRACEFULLY);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_STOPPED);
    assert_int_equal(end->code, 3);
    stage_free(stage);
}

BOTH_WAYS(a_run_that_ended_meanwhile_has_its_exit_code) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "echo to nobody; exit 9"));
    stage_start(stage, 1, &spec);
    stage->ex = executor_free(stage->ex); /* at once: no process reads what the shim sends */
    assert_true(waitpid(-1, NULL, 0) > 0);
    stage_restart(stage);
    assert_int_equal(adopt(stage, 1), ADOPTED_ENDED);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 9);
    assert_string_equal(stage_file(stage, 1, "out.log"), "to nobody\n");
    stage_free(stage);
}

/* Slots are used again. A store that was restored still has a run whose end an earlier daemon has seen. */
BOTH_WAYS(an_end_that_was_seen_before_does_not_kill_the_next_run_of_its_cgroup) {
    struct stage *stage = STAGE(state);
    struct run_spec quick = stage_spec(stage, ARGV("true"));
    struct run_spec lasting = stage_spec(stage, ARGV("sh", "-c", "echo ready; exec sleep 1000"));
    stage_start(stage, 1, &quick);
    assert_int_equal(stage_await_end(stage, 1)->code, 0);
    stage_start(stage, 2, &lasting);
    stage_await_text(stage, 2, "out.log", "ready");
    stage_restart(stage);
    assert_int_equal(adopt(stage, 1), ADOPTED_ENDED);
    assert_int_equal(stage_await_end(stage, 1)->code, 0);
    assert_int_equal(adopt(stage, 2), ADOPTED_ALIVE);
    stage_stop(stage, 2, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(stage, 2)->kind, RUN_END_STOPPED);
    stage_free(stage);
}

BOTH_WAYS(a_run_adopted_at_any_moment_is_reported_once) {
    struct stage *stage = STAGE(state);
    for (task_id task = 1; task < 32; task++) {
        char code[16];
        (void)snprintf(code, sizeof(code), "%d", (int)task);
        struct run_spec spec = stage_spec(stage, HOSTILE("exit", code));
        stage_start(stage, task, &spec);
    }
    stage_restart(stage); /* some shims have not begun, some have ended */
    for (task_id task = 1; task < 32; task++)
        assert_int_not_equal(adopt(stage, task), ADOPTED_LOST);
    for (task_id task = 1; task < 32; task++)
        assert_int_equal(stage_await_end(stage, task)->code, (int)task);
    reap_others();
    stage_free(stage);
}

BOTH_WAYS(a_stop_of_a_run_that_is_still_hidden_is_kept) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    spec.grace = 0;
    stage_start(stage, 1, &spec);
    stage_restart(stage);
    assert_int_equal(adopt(stage, 1), ADOPTED_ALIVE);
    stage_stop(stage, 1, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    stage_free(stage);
}

/* To the command that reads from this FIFO. */
static void write_line(const char *fifo) {
    int fd = open(fifo, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "\n", 1), 1);
    close(fd);
}

BOTH_WAYS(checks_that_begin_after_the_restart_are_reported) {
    struct stage *stage = STAGE(state);
    static const char *const wait[] = { "sh", "-c", "read line <go2", NULL };
    static const struct run_command checks[] = { { wait, 0 } };
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "echo ready; read line <go"));
    assert_int_equal(chdir(stage->home), 0);
    assert_int_equal(mkfifo("go", 0600), 0);
    assert_int_equal(mkfifo("go2", 0600), 0);
    spec.checks = checks;
    spec.check_count = 1;
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    stage_restart(stage);
    assert_int_equal(adopt(stage, 1), ADOPTED_ALIVE);
    stage_await_started(stage, 1);
    assert_false(stage->runs[1].validating);
    write_line("go");
    stage_await_validating(stage, 1);
    stage_restart(stage); /* a daemon that starts only now is notified, too */
    assert_int_equal(adopt(stage, 1), ADOPTED_ALIVE);
    stage_await_validating(stage, 1);
    write_line("go2");
    assert_int_equal(stage_await_end(stage, 1)->code, 0);
    assert_int_equal(chdir("/"), 0);
    stage_free(stage);
}

/* What every run has; by it those are found who left their session, where there is no cgroup. */
static struct run_spec leaving_spec(const struct stage *stage) {
    static char variable[STAGE_PATH + 16];
    static const char *const env[] = { variable, NULL };
    static const char *const argv[] = { HOSTILE_PATH, "leave", "5", "stay", NULL };
    char path[STAGE_PATH];
    stage_path(stage, 1, "tmp", path);
    (void)snprintf(variable, sizeof(variable), "TMPDIR=%s", path);
    struct run_spec spec = stage_spec(stage, argv);
    spec.env = env;
    return spec;
}

/* They were killed before the end was reported; a process that ends has lost its environment, by which it would be
 * found again, a moment before it is gone. */
static bool no_process_is_left(struct stage *stage, void *ctx) {
    (void)ctx;
    return stage_survivors(stage) == 0;
}

BOTH_WAYS(a_killed_shim_means_lost_and_no_process_survives) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = leaving_spec(stage);
    stage_start(stage, 1, &spec);
    stage_await_registered(stage, 6);
    kill_shim(stage, 1);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_int_equal(end->code, -1);
    assert_false(end->durable);
    stage_await(stage, no_process_is_left, NULL, "the end of the last process");
    stage_free(stage);
}

/* The shim may find no cgroup, or one that the command cannot join: then it has no process to kill. */
ONE_WAY(nor_where_the_cgroup_was_not_used) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = leaving_spec(stage);
    stage_remove_cgroups(stage);
    stage_start(stage, 1, &spec);
    stage_await_registered(stage, 6);
    kill_shim(stage, 1);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_LOST);
    stage_await(stage, no_process_is_left, NULL, "the end of the last process");
    stage_free(stage);
}

BOTH_WAYS(a_shim_killed_while_no_daemon_lived_is_lost_too) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = leaving_spec(stage);
    stage_start(stage, 1, &spec);
    stage_await_registered(stage, 6);
    stage->ex = executor_free(stage->ex);
    kill_shim(stage, 1);
    assert_true(waitpid(-1, NULL, 0) > 0);
    stage_restart(stage);
    assert_int_equal(adopt(stage, 1), ADOPTED_LOST);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_LOST);
    stage_await(stage, no_process_is_left, NULL, "the end of the last process");
    stage_free(stage);
}

/* Both have the same slot: a daemon uses one again when its run has ended. */
BOTH_WAYS(what_runs_in_the_slot_of_an_earlier_run_is_left_alone) {
    struct stage *stage = STAGE(state);
    struct run_spec first = stage_spec(stage, ARGV("true"));
    struct run_spec second = stage_spec(stage, HOSTILE("polite"));
    _cleanup_(run_spec_read_free) struct run_spec_read *of_first = NULL, *of_second = NULL;
    (void)stage_run(stage, 1, &first);
    stage_start(stage, 2, &second);
    stage_await_text(stage, 2, "out.log", "ready");
    assert_int_equal(rundir_read_spec(stage->root, "test-1/1", NULL, &of_first, NULL), 0);
    assert_int_equal(rundir_read_spec(stage->root, "test-2/1", NULL, &of_second, NULL), 0);
    assert_int_equal(of_first->spec.cgroup != NULL, of_second->spec.cgroup != NULL);
    if (of_first->spec.cgroup)
        assert_string_equal(of_first->spec.cgroup, of_second->spec.cgroup);
    stage_restart(stage);
    assert_int_equal(adopt(stage, 1), ADOPTED_ENDED);
    assert_int_equal(adopt(stage, 2), ADOPTED_ALIVE);
    assert_int_equal(stage_await_end(stage, 1)->code, 0);
    stage_await_started(stage, 2);
    stage_stop(stage, 2, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(stage, 2)->code, 3);
    stage_free(stage);
}

WITHOUT_CGROUP(without_a_cgroup_the_session_of_a_dead_shim_is_killed) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    spec.command.argv =
        ARGV("sh", "-c", "\"$1\" ignore & \"$1\" ignore & wait", "sh", HOSTILE_PATH);
    stage_start(stage, 1, &spec);
    stage_await_registered(stage, 2);
    kill_shim(stage, 1);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_LOST);
    assert_int_equal(stage_survivors(stage), 0);
    stage_free(stage);
}

ONE_WAY(after_a_reboot_only_a_recorded_end_counts) {
    struct stage *stage = STAGE(state);
    static const char *const other = "11111111-2222-3333-4444-555555555555";
    struct error err = { 0 };
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "6"));
    stage_start(stage, 1, &spec);
    assert_int_equal(stage_await_end(stage, 1)->code, 6);
    assert_int_equal(stage_create_folder(stage->root, "test-2/1", &spec, &err), 0);
    stage_restart(stage);
    assert_int_equal(executor_adopt(stage->ex, (struct run_key){ 1, 1 }, "test-1/1",
                                    &(struct executor_known){ .boot_id = other }),
                     ADOPTED_ENDED);
    assert_int_equal(executor_adopt(stage->ex, (struct run_key){ 2, 1 }, "test-2/1",
                                    &(struct executor_known){ .boot_id = other }),
                     ADOPTED_LOST);
    assert_int_equal(executor_adopt(stage->ex, (struct run_key){ 3, 1 }, "test-3/1",
                                    &(struct executor_known){ .boot_id = other }),
                     ADOPTED_LOST);
    assert_int_equal(stage_await_end(stage, 1)->code, 6);
    assert_int_equal(stage_await_end(stage, 2)->kind, RUN_END_LOST);
    assert_int_equal(stage_await_end(stage, 3)->kind, RUN_END_LOST);
    stage_free(stage);
}

ONE_WAY(a_folder_that_was_never_made_is_lost) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    struct error err = { 0 };
    assert_int_equal(adopt(stage, 1), ADOPTED_LOST);
    assert_int_equal(stage_create_folder(stage->root, "test-2/1", &spec, &err), 0);
    assert_int_equal(adopt(stage, 2), ADOPTED_LOST); /* killed between folder and spawn */
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_LOST);
    assert_int_equal(stage_await_end(stage, 2)->kind, RUN_END_LOST);
    stage_free(stage);
}

/* The daemon that ordered it may still be there, beside us and without the store, and about to start it. */
ONE_WAY(a_run_that_was_reported_lost_is_never_started) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    struct error err = { 0 };
    assert_int_equal(adopt(stage, 1), ADOPTED_LOST);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_LOST);
    stage_restart(stage);
    assert_int_equal(executor_start(stage->ex, (struct run_key){ 1, 1 }, "test-1/1", &spec, &err),
                     -EEXIST);
    assert_int_equal(executor_live(stage->ex), 0);
    stage_free(stage);
}

static void write_text(const struct stage *stage, task_id task, const char *file,
                       const char *text) {
    char path[STAGE_PATH];
    stage_path(stage, task, file, path);
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    (void)fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
}

ONE_WAY(an_end_that_is_junk_is_lost_with_a_reason) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("true"));
    struct error err = { 0 };
    static const char *const junk[] = {
        "",
        "{",
        "[]",
        "{\"version\":1,\"kind\":\"exit\"}",
        "{\"version\":1,\"kind\":\"lost\",\"code\":0}",
        "\xff\xfe\x00",
        "{\"version\":1,\"kind\":\"exit\",\"code\":1e999}",
    };
    for (task_id task = 1; task <= sizeof(junk) / sizeof(junk[0]); task++) {
        char folder[STAGE_PATH];
        stage_folder(task, folder);
        assert_int_equal(stage_create_folder(stage->root, folder, &spec, &err), 0);
        write_text(stage, task, "end.json", junk[task - 1]);
        write_text(stage, task, "lock", junk[task - 1]);
        assert_int_equal(adopt(stage, task), ADOPTED_LOST);
        const struct run_end *end = stage_await_end(stage, task);
        assert_int_equal(end->kind, RUN_END_LOST);
        /* Empty: its shim was killed before it could write. */
        assert_non_null(strstr(end->message, junk[task - 1][0] ? "end.json" : "no end"));
    }
    stage_free(stage);
}

/* The lock decides, not a number in a file: here it names a process that is alive. */
ONE_WAY(a_foreign_process_is_never_taken_for_a_shim) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    struct run_started who = stage_who(stage, 1);
    pid_t shim = who.shim;
    who.shim = getpid();
    char text[RUN_RECORD_MAX], path[STAGE_PATH];
    size_t size = run_started_format(&who, NULL, text, sizeof(text));
    stage_path(stage, 1, "lock", path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0 && pwrite(fd, text, size, 0) == (ssize_t)size);
    close(fd);
    stage_restart(stage);
    assert_int_equal(adopt(stage, 1), ADOPTED_ALIVE);
    stage_stop(stage, 1, STOP_IMMEDIATELY); /* would end this test */
    assert_int_equal(kill(shim, SIGKILL), 0);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_LOST);
    reap_others();
    stage_free(stage);
}

/* --- a daemon that is killed ----------------------------------------------------------------- */

#define KILL_TASKS 30

static bool at_once(struct stage *stage, void *ctx) {
    (void)stage;
    (void)ctx;
    return true;
}

/* Starts run after run; each writes its number into a file and exits with it. */
static void be_daemon(const char *home, int cgroup, int progress) {
    struct stage *stage = stage_new_in(home, cgroup, SHIM_PATH);
    for (task_id task = 1; task <= KILL_TASKS; task++) {
        char number[16];
        (void)snprintf(number, sizeof(number), "%d", (int)task);
        struct run_spec spec =
            stage_spec(stage, ARGV("sh", "-c", "echo $1 >> ran; exit $1", "sh", number));
        if (write(progress, "b", 1) != 1) /* before */
            _exit(1);
        stage_start(stage, task, &spec);
        if (write(progress, "a", 1) != 1) /* after */
            _exit(1);
        stage_await(stage, at_once, NULL, "a round");
    }
    _exit(0);
}

static unsigned times_run(const struct stage *stage, task_id task) {
    char path[STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%.200s/ran", stage->home);
    FILE *stream = fopen(path, "re");
    unsigned count = 0;
    int number;
    while (stream && fscanf(stream, "%d", &number) == 1)
        count += (task_id)number == task;
    if (stream)
        (void)fclose(stream);
    return count;
}

/* Kills a daemon after it has reported `steps` events. */
static void kill_daemon_after(const char *home, int cgroup, unsigned steps) {
    int progress[2];
    assert_int_equal(pipe2(progress, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(progress[0]);
        be_daemon(home, cgroup, progress[1]);
    }
    close(progress[1]);
    char step;
    while (steps > 0 && read(progress[0], &step, 1) == 1)
        steps--;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(progress[0]);
}

BOTH_WAYS(a_daemon_killed_at_any_moment_loses_no_status) {
    struct rng rng = { 20 };
    for (int round = 0; round < 8; round++) {
        struct stage *stage = STAGE(state);
        kill_daemon_after(stage->home, *(const int *)*state,
                          (unsigned)rng_between(&rng, 1, 2 * KILL_TASKS));
        for (task_id task = 1; task <= KILL_TASKS; task++)
            (void)adopt(stage, task);
        for (task_id task = 1; task <= KILL_TASKS; task++) {
            const struct run_end *end = stage_await_end(stage, task);
            unsigned times = times_run(stage, task);
            if (end->kind == RUN_END_LOST ? times != 0 : end->code != (int)task || times != 1)
                fail_msg("run %d: %s with code %d, but its command ran %u times", (int)task,
                         run_end_kind_name(end->kind), end->code, times);
        }
        struct executor_sweep sweep = { .known = knows_everything };
        struct error err = { 0 };
        assert_int_equal(executor_sweep(stage->ex, &sweep, &err), 0); /* its cgroups */
        stage_free(stage);
    }
}
