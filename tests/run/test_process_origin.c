/* test_kin.c: a process of a run is known as one, however it was born. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/executor_internal.h"
#include "harness/test.h"
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
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    (void)stage_await_end(stage, 1);
    stage_free(stage);
}

BOTH_WAYS(the_command_of_a_run_is_of_a_run) {
    struct stage *stage = STAGE(state);
    struct run_spec spec =
        stage_spec(stage, ARGV("sh", "-c", "echo pid $$; echo ready; exec sleep 1000"));
    stage_start(stage, 1, &spec);
    pid_t pid = printed_pid(stage, 1);
    assert_int_equal(executor_process_origin(stage->ex, pid), ORIGIN_RUN);
    assert_int_equal(executor_process_origin(stage->ex, getpid()), ORIGIN_OUTSIDE);
    assert_int_equal(executor_process_origin(stage->ex, 1), ORIGIN_OUTSIDE);
    end(stage);
}

BOTH_WAYS(so_is_one_whose_parents_are_dead) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(
        stage,
        ARGV("sh", "-c",
             "(setsid sh -c 'echo pid $$; echo ready; exec sleep 1000' &) ; exec sleep 1000"));
    stage_start(stage, 1, &spec);
    assert_int_equal(executor_process_origin(stage->ex, printed_pid(stage, 1)), ORIGIN_RUN);
    end(stage);
}

ONE_WAY(and_after_a_restart) {
    struct stage *stage = STAGE(state);
    char folder[STAGE_PATH];
    struct run_spec spec =
        stage_spec(stage, ARGV("sh", "-c", "echo pid $$; echo ready; exec sleep 1000"));
    stage_start(stage, 1, &spec);
    pid_t pid = printed_pid(stage, 1);
    stage_restart(stage);
    assert_int_equal(executor_process_origin(stage->ex, pid),
                     ORIGIN_RUN);                                     /* before the run is known */
    assert_int_equal(executor_process_origin(NULL, pid), ORIGIN_RUN); /* a standby knows none */
    stage_folder(1, folder);
    assert_int_equal(
        executor_adopt(stage->ex, (struct run_key){ 1, 1 }, folder,
                       &(struct executor_known){ .boot_id = executor_boot_id(stage->ex) }),
        ADOPTED_ALIVE);
    /* Its shim is in the table as soon as it is adopted, before the loop runs. */
    assert_int_equal(executor_origin_epoch(stage->ex), 1);
    assert_int_equal(executor_process_origin(stage->ex, pid), ORIGIN_RUN);
    stage_await_started(stage, 1);
    assert_int_equal(executor_process_origin(stage->ex, pid), ORIGIN_RUN);
    assert_int_equal(executor_origin_epoch(stage->ex), 1);
    end(stage);
}

static bool is_in_slot(pid_t pid) {
    char path[64], text[4096];
    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    FILE *stream = fopen(path, "re");
    assert_non_null(stream);
    size_t size = fread(text, 1, sizeof(text) - 1, stream);
    text[size] = '\0';
    assert_int_equal(fclose(stream), 0);
    return strstr(text, "/sluice-") != NULL;
}

/* Without a cgroup nothing distinguishes it from a process of the owner: that is the positive control. */
BOTH_WAYS(one_whose_shim_was_killed_is_known_by_its_cgroup) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(
        stage,
        ARGV("sh", "-c",
             "(setsid sh -c 'echo pid $$; echo ready; exec sleep 1000' &) ; exec sleep 1000"));
    stage_start(stage, 1, &spec);
    pid_t pid = printed_pid(stage, 1), shim = stage_who(stage, 1).shim;
    assert_int_equal(kill(shim, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)shim, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
    /* The executor has not heard of it yet: the loop does not run. */
    assert_int_equal(executor_process_origin(stage->ex, pid),
                     is_in_slot(pid) ? ORIGIN_RUN : ORIGIN_OUTSIDE);
    assert_int_equal(executor_process_origin(NULL, pid),
                     is_in_slot(pid) ? ORIGIN_RUN : ORIGIN_OUTSIDE);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_LOST);
    (void)kill(
        pid, SIGKILL); /* without a cgroup it is found by its TMPDIR, which it does not have here */
    stage_free(stage);
}

ONE_WAY(the_origin_of_an_ended_process_is_unknown) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "echo ready; exec sleep 1000"));
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(executor_process_origin(stage->ex, pid), ORIGIN_UNKNOWN);
    end(stage);
}

/* --- a folder like /proc, in which things are as a test wants them ----------------------------- */

#define NO_PID 5000000 /* above all that the kernel gives */

struct fake {
    struct stage *stage;
    char proc[STAGE_PATH + 8];
};

static void put_file(const struct fake *fake, const char *folder, const char *name,
                     const char *text) {
    char path[2 * STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%s/%s", fake->proc, folder);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof(path), "%s/%s/%s", fake->proc, folder, name);
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    (void)fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
}

static void put_process(const struct fake *fake, pid_t pid, const char *name, pid_t parent,
                        unsigned start) {
    char folder[16], line[256];
    (void)snprintf(folder, sizeof(folder), "%d", (int)pid);
    (void)snprintf(line, sizeof(line),
                   "%d (%s) S %d 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 %u 1000 10\n", (int)pid,
                   name, (int)parent, start);
    put_file(fake, folder, "stat", line);
}

static void put_cgroup(const struct fake *fake, const char *folder, const char *path) {
    char text[256];
    (void)snprintf(text, sizeof(text), "1:name=systemd:/\n0::%s\n", path);
    put_file(fake, folder, "cgroup", text);
}

static struct fake fake_new(struct stage *stage) {
    struct fake fake = { .stage = stage };
    (void)snprintf(fake.proc, sizeof(fake.proc), "%s/proc", stage->home);
    assert_int_equal(mkdir(fake.proc, 0700), 0);
    put_process(&fake, 1, "init", 0, 1);
    return fake;
}

static enum executor_process_origin kin_of(const struct fake *fake, pid_t pid) {
    return process_origin_in(fake->stage->ex, fake->proc, pid);
}

ONE_WAY(who_lives_is_never_unknown_and_a_hole_above_is_never_a_stranger) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "echo ready; exec sleep 1000"));
    stage_start(stage, 1, &spec);
    stage_await_started(stage, 1); /* its shim is known */
    struct fake fake = fake_new(stage);
    put_process(&fake, NO_PID + 1, "a) name) 9", 0, 10); /* came by `docker exec` */
    put_process(&fake, NO_PID + 2, "sh", NO_PID + 1, 11);
    put_process(&fake, NO_PID + 3, "sh", 1, 10);
    put_process(&fake, NO_PID + 4, "sh", stage_who(stage, 1).shim, 10); /* in our table */
    put_process(&fake, NO_PID + 5, "sh", NO_PID, 10);     /* its parent ends at this moment */
    put_process(&fake, NO_PID + 6, "sh", NO_PID + 6, 10); /* the walk ends */
    assert_int_equal(kin_of(&fake, NO_PID + 1), ORIGIN_OUTSIDE);
    assert_int_equal(kin_of(&fake, NO_PID + 2), ORIGIN_OUTSIDE);
    assert_int_equal(kin_of(&fake, NO_PID + 3), ORIGIN_OUTSIDE);
    assert_int_equal(kin_of(&fake, NO_PID + 4), ORIGIN_RUN);
    assert_int_equal(kin_of(&fake, NO_PID + 5), ORIGIN_UNKNOWN);
    assert_int_equal(kin_of(&fake, NO_PID + 6), ORIGIN_UNKNOWN);
    assert_int_equal(kin_of(&fake, 0), ORIGIN_UNKNOWN); /* outside of our pid namespace */
    assert_int_equal(kin_of(&fake, NO_PID), ORIGIN_UNKNOWN);
    end(stage);
}

ONE_WAY(any_shim_above_counts_unless_the_daemon_is_below_it_too) {
    struct stage *stage = STAGE(state);
    struct fake fake = fake_new(stage);
    put_process(&fake, NO_PID + 1, "sluice-shim", 1, 10);
    put_process(&fake, NO_PID + 2, "sh", NO_PID + 1, 11);
    put_process(&fake, NO_PID + 3, "sluice-shim-che", 1, 10); /* sluice-shim-checked */
    put_process(&fake, NO_PID + 4, "sh", NO_PID + 3, 11);
    assert_int_equal(kin_of(&fake, NO_PID + 2), ORIGIN_RUN);
    assert_int_equal(kin_of(&fake, NO_PID + 4), ORIGIN_RUN);
    put_process(&fake, getpid(), "sluiced", NO_PID + 1, 20); /* a run has started this daemon */
    put_process(&fake, NO_PID + 5, "sluice-shim", getpid(), 21);
    put_process(&fake, NO_PID + 6, "sh", NO_PID + 5, 22);
    assert_int_equal(kin_of(&fake, NO_PID + 2), ORIGIN_OUTSIDE);
    assert_int_equal(kin_of(&fake, NO_PID + 4), ORIGIN_RUN); /* another run */
    assert_int_equal(kin_of(&fake, NO_PID + 6), ORIGIN_RUN); /* one of ours */
    stage_free(stage);
}

ONE_WAY(a_number_that_was_given_again_is_no_parent) {
    struct stage *stage = STAGE(state);
    struct fake fake = fake_new(stage);
    put_process(&fake, NO_PID + 1, "bash", 1, 12);
    put_process(&fake, NO_PID + 2, "sh", NO_PID + 1, 11); /* older than its parent */
    put_process(&fake, NO_PID + 3, "sh", NO_PID + 1, 12);
    assert_int_equal(kin_of(&fake, NO_PID + 2), ORIGIN_UNKNOWN);
    assert_int_equal(kin_of(&fake, NO_PID + 3), ORIGIN_OUTSIDE);
    stage_free(stage);
}

/* The mount option hidepid: init cannot be seen, nor sshd, which is above the owner's shell. */
ONE_WAY(what_the_kernel_hides_ends_the_walk) {
    struct stage *stage = STAGE(state);
    struct fake fake = fake_new(stage);
    char init[2 * STAGE_PATH];
    put_process(&fake, NO_PID + 1, "sh", getppid(), 10); /* lives, and is not in the folder */
    put_process(&fake, NO_PID + 2, "sh", NO_PID, 10);    /* lives nowhere */
    assert_int_equal(kin_of(&fake, NO_PID + 1), ORIGIN_UNKNOWN); /* nothing is hidden here */
    (void)snprintf(init, sizeof(init), "%s/1/stat", fake.proc);
    assert_int_equal(unlink(init), 0);
    assert_int_equal(kin_of(&fake, NO_PID + 1), ORIGIN_OUTSIDE);
    assert_int_equal(kin_of(&fake, NO_PID + 2), ORIGIN_UNKNOWN);
    assert_int_equal(kin_of(&fake, getppid()), ORIGIN_UNKNOWN); /* nor is the one who asks */
    stage_free(stage);
}

ONE_WAY(a_slot_of_any_daemon_counts_unless_the_daemon_is_in_it_too) {
    struct stage *stage = STAGE(state);
    struct fake fake = fake_new(stage);
    put_process(&fake, NO_PID + 1, "sh", 1, 10);
    assert_int_equal(kin_of(&fake, NO_PID + 1), ORIGIN_OUTSIDE); /* no cgroups here */
    put_cgroup(&fake, "self", "/user.slice");
    assert_int_equal(kin_of(&fake, NO_PID + 1), ORIGIN_UNKNOWN); /* it has none: it has ended */
    static const struct {
        const char *path;
        enum executor_process_origin kin,
            inside; /* inside: of a daemon that is in /s/sluice-00000000/1.1 */
    } cases[] = {
        { "/", ORIGIN_OUTSIDE, ORIGIN_OUTSIDE },
        { "/user.slice/sluice.service", ORIGIN_OUTSIDE, ORIGIN_OUTSIDE },
        { "/sluice-web.service/1.1", ORIGIN_OUTSIDE, ORIGIN_OUTSIDE },
        { "/s/sluice-00000000", ORIGIN_OUTSIDE, ORIGIN_OUTSIDE },
        { "/s/sluice-00000000/daemon", ORIGIN_OUTSIDE, ORIGIN_OUTSIDE },
        { "/s/sluice-00000000/1.1", ORIGIN_RUN, ORIGIN_OUTSIDE },
        { "/s/sluice-00000000/1.1/deep", ORIGIN_RUN, ORIGIN_OUTSIDE },
        { "/s/sluice-00000000/1.10", ORIGIN_RUN, ORIGIN_RUN },
        { "/s/sluice-0123abcd/1700000000000.12", ORIGIN_RUN, ORIGIN_RUN },
        { "/s/sluice-00000000/1.1/sluice-0123abcd/2.1", ORIGIN_RUN, ORIGIN_RUN },
    };
    char folder[16];
    (void)snprintf(folder, sizeof(folder), "%d", NO_PID + 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put_cgroup(&fake, folder, cases[i].path);
        put_cgroup(&fake, "self", "/user.slice");
        assert_int_equal(kin_of(&fake, NO_PID + 1), cases[i].kin);
        put_cgroup(&fake, "self", "/s/sluice-00000000/1.1");
        assert_int_equal(kin_of(&fake, NO_PID + 1), cases[i].inside);
    }
    stage_free(stage);
}
