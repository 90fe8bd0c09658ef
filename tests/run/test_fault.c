/* test_fault.c: whatever fails below the shim, the exit status is not lost. */
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
#include "harness/scratch.h"
#include "harness/small_disk.h"
#include "harness/test.h"
#include "run/stage.h"

/* A stage whose shims run on a kernel that refuses these calls. */
static struct stage *faulty_stage(const void *mode, const char *faults) {
    char home[SCRATCH_PATH], path[SCRATCH_PATH + 16];
    scratch_make(home, "run");
    struct stage *stage = stage_new_in(home, *(const int *)mode, FAULTY_PATH);
    (void)snprintf(path, sizeof(path), "%s/runs/fault", home);
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    (void)fputs(faults, stream);
    assert_int_equal(fclose(stream), 0);
    return stage;
}

BOTH_WAYS(without_fsync_the_end_is_there_but_not_durable) {
    struct stage *stage = faulty_stage(*state, "fsync 5\n"); /* EIO */
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "42"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 42);
    assert_false(end->durable);
    assert_non_null(strstr(stage_file(stage, 1, "end.json"), "\"durable\":false"));
    stage_free(stage);
}

BOTH_WAYS(without_a_new_file_the_end_is_in_the_lock) {
    struct stage *stage = faulty_stage(*state, "fsync 5\nrenameat 28\nrenameat2 28\n");
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "43"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 43);
    assert_false(end->durable);
    char path[STAGE_PATH];
    stage_path(stage, 1, "end.json", path);
    assert_int_equal(access(path, F_OK), -1);
    /* Who lived there can still be read beside it. */
    assert_true(stage_who(stage, 1).command > 0);
    stage_free(stage);
}

BOTH_WAYS(without_any_file_the_end_comes_through_the_pipe) {
    struct stage *stage = faulty_stage(*state, "fsync 5\nrenameat 5\nrenameat2 5\npwrite64 5\n");
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "44"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 44);
    assert_false(end->durable);
    stage_free(stage);
}

BOTH_WAYS(an_old_kernel_runs_commands_too) {
    struct stage *stage = faulty_stage(*state, "clone3 38\nclose_range 38\ninotify_init1 24\n");
    struct run_spec spec = stage_spec(stage, HOSTILE("fds"));
    spec.log_head = spec.log_tail = 1 << 20;
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0);
    assert_string_equal(stage_file(stage, 1, "out.log"), "fd 0\nfd 1\nfd 2\n");

    spec = stage_spec(stage, HOSTILE("leave", "4", "0"));
    assert_int_equal(stage_run(stage, 2, &spec)->leftover, 4);

    stage_free(stage);
}

BOTH_WAYS(an_old_kernel_sees_silence_too) {
    struct stage *stage = faulty_stage(*state, "inotify_init1 24\n");
    struct run_spec spec = stage_spec(stage, HOSTILE("drip", "5", "50"));
    spec.idle_timeout = 800;
    spec.grace = 0;
    const struct run_end *end =
        &stage->runs[stage_run_timed(stage, &spec, &spec.idle_timeout, "out.log")].end;
    assert_int_equal(end->kind, RUN_END_TIMEOUT);
    assert_true(end->idle);
    assert_int_equal(end->out_bytes, 5 * 5 + 6);
    stage_free(stage);
}

ONE_WAY(without_descriptors_the_deadline_is_kept) {
    struct stage *stage =
        faulty_stage(*state, "signalfd4 24\ntimerfd_create 24\ninotify_init1 24\n"); /* EMFILE */
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    spec.command.timeout = 300;
    spec.grace = 100;
    spec.log_head = spec.log_tail = 1 << 20;
    task_id task = stage_run_timed(stage, &spec, &spec.command.timeout, "out.log");
    const struct run_end *end = &stage->runs[task].end;
    assert_int_equal(end->kind, RUN_END_TIMEOUT);
    assert_int_equal(end->signal, SIGKILL);
    spec = stage_spec(stage, HOSTILE("polite"));
    stage_start(stage, ++task, &spec);
    stage_await_text(stage, task, "out.log", "ready");
    stage_stop(stage, task, STOP_GRACEFULLY);
    assert_int_equal(stage_await_end(stage, task)->code, 3);
    stage_free(stage);
}

WITHOUT_CGROUP(a_kernel_without_pidfds_still_kills_the_tree) {
    struct stage *stage = faulty_stage(*state, "pidfd_open 38\n");
    struct run_spec spec = stage_spec(stage, HOSTILE("tree", "3", "3"));
    stage_start(stage, 1, &spec);
    stage_await_registered(stage, 1 + 3 + 9 + 27);
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    assert_int_equal(stage_survivors(stage), 0);
    stage_free(stage);
}

ONE_WAY(a_fork_that_fails_is_a_launch_failure) {
    struct stage *stage = faulty_stage(*state, "clone3 11\nclone 11\nfork 11\n"); /* EAGAIN */
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "0"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_LAUNCH);
    assert_int_equal(end->exec_errno, EAGAIN);
    assert_false(stage->runs[1].started);
    stage_free(stage);
}

/* --- a disk that is full --------------------------------------------------------------------- */

ONE_WAY(a_full_disk_does_not_lose_the_status) {
    char home[SCRATCH_PATH];
    scratch_make(home, "run");
    if (!small_disk_mount(home, 2)) {
        print_message("not run: no right to mount a small disk\n");
        scratch_remove(home);
        return;
    }
    struct stage *stage = stage_new_in(home, *(const int *)*state, SHIM_PATH);
    struct run_spec spec = stage_spec(stage, HOSTILE("fill", "45"));
    const struct run_end *end = stage_run(stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 45);
    /* With no room at all the next start is refused, with nothing left of it. */
    struct error err = { 0 };
    spec = stage_spec(stage, HOSTILE("exit", "0"));
    int r = executor_start(stage->ex, (struct run_key){ 2, 1 }, "test-2/1", &spec, &err);
    if (r == 0)
        (void)stage_await_end(stage, 2);
    else
        assert_int_equal(r, -ENOSPC);
    stage_free(stage);
    small_disk_unmount(home);
    scratch_remove(home);
}

/* --- without an executor --------------------------------------------------------------------- */

/* The shim as another program would start it: no pipe, no executor. `pending`: a signal that it finds when
 * it begins; 0: none. */
static void run_shim(int dir, int lock, int pending) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sigset_t all;
        sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        if (pending != 0)
            (void)raise(pending);
        int folder = fcntl(dir, F_DUPFD_CLOEXEC, 20), held = fcntl(lock, F_DUPFD_CLOEXEC, 20);
        if (dup2(folder, 3) < 0 || dup2(held, 4) < 0)
            _exit(99);
        (void)execl(SHIM_PATH, "sluice-shim", "test", (char *)NULL);
        _exit(98);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A run whose stop was acknowledged must not begin. */
ONE_WAY(a_stop_that_comes_first_keeps_the_command_from_beginning) {
    struct stage *stage = STAGE(state);
    struct error err = { 0 };
    static const int stops[] = { SIGTERM, SIGUSR1 };
    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
        struct run_end end = { 0 };
        struct run_started who = { 0 };
        char folder[64], path[STAGE_PATH];
        struct run_spec spec = stage_spec(stage, HOSTILE("exit", "0"));
        (void)snprintf(folder, sizeof(folder), "stopped-%zu/1", i);
        assert_int_equal(stage_create_folder(stage->root, folder, &spec, &err), 0);
        (void)snprintf(path, sizeof(path), "%.180s/%.60s", stage->root, folder);
        int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), lock = -1;
        assert_int_equal(rundir_lock_at(dir, &lock, &err), 0);
        run_shim(dir, lock, stops[i]);
        close(lock);
        if (rundir_read_end_at(dir, NULL, &end, &err) < 0
            || rundir_read_started_at(dir, NULL, &who, &err) < 0)
            fail_msg("a shim that was stopped at once has recorded nothing: %s", err.text);
        close(dir);
        assert_int_equal(end.kind, RUN_END_STOPPED);
        assert_int_equal(end.started_at, 0);
        assert_int_equal(who.command, 0);
    }
    stage_free(stage);
}

static struct run_end run_with_spec(const struct stage *stage, int number, const char *text,
                                    size_t size) {
    struct error err = { 0 };
    struct run_end end = { 0 };
    char folder[64], path[STAGE_PATH];
    struct run_spec spec = stage_spec(stage, ARGV("/no/such/program"));
    (void)snprintf(folder, sizeof(folder), "junk-%d/1", number);
    assert_int_equal(stage_create_folder(stage->root, folder, &spec, &err), 0);
    (void)snprintf(path, sizeof(path), "%.180s/%.60s/lock", stage->root, folder);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0 && ftruncate(fd, RUN_LOCK_SPEC) == 0
                && pwrite(fd, text, size, RUN_LOCK_SPEC) == (ssize_t)size);
    close(fd);
    path[strlen(path) - strlen("/lock")] = '\0';
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), lock = -1;
    assert_int_equal(rundir_lock_at(dir, &lock, &err), 0);
    run_shim(dir, lock, 0);
    close(lock);
    if (rundir_read_end_at(dir, NULL, &end, &err) < 0)
        fail_msg("a shim with a broken spec has recorded no end: %s", err.text);
    close(dir);
    return end;
}

ONE_WAY(a_spec_that_is_junk_is_a_launch_failure) {
    struct stage *stage = STAGE(state);
    struct rng rng = { 4711 };
    _cleanup_(strbuf_finish) struct strbuf good = STRBUF_INIT;
    struct run_spec spec = stage_spec(stage, ARGV("/no/such/program", "word"));
    run_spec_format(&spec, &good);
    int number = 0;
    struct run_end end = run_with_spec(stage, number++, good.text, good.length);
    assert_int_equal(end.kind, RUN_END_LAUNCH);
    assert_int_equal(end.exec_errno, ENOENT);
    end = run_with_spec(stage, number++, "", 0);
    assert_int_equal(end.kind, RUN_END_LAUNCH);
    assert_int_equal(end.exec_errno, EPROTO);
    for (size_t cut = 1; cut < good.length; cut += good.length / 8) {
        end = run_with_spec(stage, number++, good.text, cut);
        assert_int_equal(end.kind, RUN_END_LAUNCH);
        assert_int_equal(end.exec_errno, EPROTO);
    }
    for (int i = 0; i < 20; i++) { /* still no program that exists: it never runs */
        size_t at = rng_below(&rng, good.length);
        char before = good.text[at];
        good.text[at] = (char)rng_next(&rng);
        end = run_with_spec(stage, number++, good.text, good.length);
        good.text[at] = before;
        assert_int_equal(end.kind, RUN_END_LAUNCH);
    }
    stage_free(stage);
}
