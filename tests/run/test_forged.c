/* test_forged.c: what a run writes into its own folder changes neither how it ended nor who it is.
 *
 * Each attack is first made on a run that the daemon has no key for, or whose shim is not in the store, as those of
 * earlier versions: there it works. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "harness/scratch.h"
#include "harness/test.h"
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

/* Who reads no more than the file finds a success in it. */
static void check_forged(const struct stage *stage, task_id task) {
    char folder[STAGE_PATH];
    struct run_end end;
    stage_folder(task, folder);
    assert_int_equal(rundir_read_end(stage->root, folder, NULL, &end, NULL), 0);
    assert_int_equal(end.kind, RUN_END_EXIT);
    assert_int_equal(end.code, 0);
}

static const struct tag_key key = { { 1, 2, 3 } };

/* Leaves processes behind, writes an end into its folder, and waits for the request to kill its shim. */
static struct run_spec forging_spec(struct stage *stage) {
    static char tmp[STAGE_PATH + 8];
    static const char *const env[] = { "PATH=/usr/bin:/bin", tmp, NULL };
    static const char script[] = "\"$1\" leave 3; cat forged >\"$TMPDIR/../end.json\";"
                                 " echo forged; read -r _ <go; kill -9 $PPID";
    static const char *const argv[] = { "sh", "-c", script, "sh", HOSTILE_PATH, NULL };
    static const char *const failing[] = { "false", NULL };
    static const struct run_command check = { .argv = failing };
    (void)snprintf(tmp, sizeof(tmp), "TMPDIR=%.200s/test-1/1/tmp", stage->root);
    struct run_spec spec = stage_spec(stage, argv);
    spec.env = env;
    spec.checks = &check;
    spec.check_count = 1;
    spec.key = &key;
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

static bool no_process_is_left(struct stage *stage, void *ctx) {
    (void)ctx;
    return stage_survivors(stage) == 0;
}

BOTH_WAYS(a_shim_that_was_killed_is_lost_whatever_lies_in_its_folder) {
    struct stage *stage = STAGE(state);
    start_forging(stage);
    let_it_kill(stage);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_string_equal(end->message, "its shim was ended by signal 9");
    stage_await(stage, no_process_is_left, NULL, "the end of the last process");
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
BOTH_WAYS(who_is_in_the_cgroup_of_a_run_ends_with_it) {
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
    assert_int_equal(rundir_read_spec(stage->root, folder, NULL, &read, NULL), 0);
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

/* --- while no daemon lives ----------------------------------------------------------------------- */

static enum adopted adopt(struct stage *stage, const struct tag_key *with,
                          const struct executor_shim *shim) {
    struct executor_known known = { .boot_id = executor_boot_id(stage->ex), .key = with };
    if (shim)
        known.shim = *shim;
    return executor_adopt(stage->ex, (struct run_key){ 1, 1 }, "test-1/1", &known);
}

/* As a daemon that was killed leaves its run, whose shim is killed, too. */
static void die_with_shim(struct stage *stage) {
    stage->ex = executor_free(stage->ex);
    let_it_kill(stage);
    assert_true(waitpid(-1, NULL, 0) > 0);
    stage_restart(stage);
}

BOTH_WAYS(without_a_key_a_forged_end_is_believed) {
    struct stage *stage = STAGE(state);
    start_forging(stage);
    die_with_shim(stage);
    assert_int_equal(adopt(stage, NULL, NULL), ADOPTED_ENDED);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 0);
    stage_kill_survivors(stage); /* without a cgroup the executor has not killed them */
    stage_await(stage, no_process_is_left, NULL, "the end of the last process");
    stage_free(stage);
}

BOTH_WAYS(with_its_key_it_is_none) {
    struct stage *stage = STAGE(state);
    start_forging(stage);
    die_with_shim(stage);
    assert_int_equal(adopt(stage, &key, NULL), ADOPTED_LOST);
    const struct run_end *end = stage_await_end(stage, 1);
    assert_int_equal(end->kind, RUN_END_LOST);
    assert_string_equal(end->message, "'end.json' is damaged");
    stage_await(stage, no_process_is_left, NULL, "the end of the last process");
    stage_free(stage);
}

BOTH_WAYS(an_honest_end_is_believed_with_its_key) {
    struct stage *stage = STAGE(state);
    const struct tag_key other = { { 4 } };
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "exit 7"));
    spec.key = &key;
    assert_int_equal(stage_run(stage, 1, &spec)->code, 7);
    stage_restart(stage);
    assert_int_equal(adopt(stage, &key, NULL), ADOPTED_ENDED);
    assert_int_equal(stage_await_end(stage, 1)->code, 7);
    stage_restart(stage);
    assert_int_equal(adopt(stage, &other, NULL), ADOPTED_LOST);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_LOST);
    stage_free(stage);
}

/* --- who it is ------------------------------------------------------------------------------------- */

static struct executor_shim start_waiting(struct stage *stage) {
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "echo ready; exec sleep 1000"));
    spec.key = &key;
    stage_start(stage, 1, &spec);
    stage_await_text(stage, 1, "out.log", "ready");
    stage_await_started(stage, 1); /* from then on it is known */
    struct executor_shim shim = executor_shim(stage->ex, (struct run_key){ 1, 1 });
    assert_int_equal(shim.pid, stage_who(stage, 1).shim);
    assert_true(shim.start > 0);
    shim.cgroup = NULL; /* it ends with the executor */
    return shim;
}

static void zero_lock(const struct stage *stage) {
    static const char zeros[RUN_LOCK_SPEC + 1000];
    char path[STAGE_PATH];
    stage_path(stage, 1, "lock", path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
    close(fd);
}

static bool is_watched(struct stage *stage, void *ctx) {
    (void)ctx;
    return executor_shim(stage->ex, (struct run_key){ 1, 1 }).pid > 0
           && executor_stop(stage->ex, (struct run_key){ 1, 1 }, STOP_IMMEDIATELY) == 0;
}

BOTH_WAYS(a_run_that_has_wiped_its_lock_is_found_by_the_store) {
    struct stage *stage = STAGE(state);
    struct executor_shim shim = start_waiting(stage);
    zero_lock(stage);
    stage_restart(stage);
    assert_int_equal(adopt(stage, &key, NULL), ADOPTED_ALIVE);
    /* Without the store its identity is unknown. */
    assert_int_equal(executor_shim(stage->ex, (struct run_key){ 1, 1 }).pid, 0);
    stage_restart(stage);
    assert_int_equal(adopt(stage, &key, &shim), ADOPTED_ALIVE);
    stage_await(stage, is_watched, NULL, "the run to be watched");
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    stage_free(stage);
}

BOTH_WAYS(who_holds_the_lock_of_a_dead_shim_is_not_taken_for_it) {
    struct stage *stage = STAGE(state);
    struct executor_shim shim = start_waiting(stage);
    struct error err = { 0 };
    int lock = -1;
    stage->ex = executor_free(stage->ex);
    assert_int_equal(kill(shim.pid, SIGKILL), 0);
    assert_int_equal(waitpid(shim.pid, NULL, 0), shim.pid);
    if (stage_lock_folder(stage->root, "test-1/1", &lock, &err) < 0)
        fail_msg("%s", err.text);
    stage_restart(stage);
    assert_int_equal(adopt(stage, &key, NULL), ADOPTED_ALIVE); /* so it is without the store */
    stage_restart(stage);
    assert_int_equal(adopt(stage, &key, &shim), ADOPTED_LOST);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_LOST);
    close(lock);
    stage_free(stage);
}

/* Its number means nothing there: then the lock shows whether it is alive. */
BOTH_WAYS(in_another_pid_namespace_the_store_is_not_asked) {
    struct stage *stage = STAGE(state);
    struct executor_shim shim = start_waiting(stage);
    shim.start++; /* as if it were another process */
    stage_restart(stage);
    shim.space++;
    assert_int_equal(adopt(stage, &key, &shim), ADOPTED_ALIVE);
    stage_await_started(stage, 1);
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    stage_free(stage);
}

BOTH_WAYS(nor_is_another_process_with_its_number) {
    struct stage *stage = STAGE(state);
    struct executor_shim shim = start_waiting(stage);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    struct executor_shim other = { .pid = pid, .start = shim.start - 1, .space = shim.space };
    stage->ex = executor_free(stage->ex);
    assert_int_equal(kill(shim.pid, SIGKILL), 0);
    assert_int_equal(waitpid(shim.pid, NULL, 0), shim.pid);
    stage_restart(stage);
    assert_int_equal(adopt(stage, &key, &other), ADOPTED_LOST);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_LOST);
    assert_int_equal(kill(pid, SIGKILL), 0); /* it lived */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    stage_free(stage);
}

/* --- what it runs ------------------------------------------------------------------------------------ */

/* Its shim is a script, which becomes the real one. */
static struct stage *stage_of_script(void **state, const char *script) {
    char home[SCRATCH_PATH], path[SCRATCH_PATH + 16];
    scratch_make(home, "run");
    (void)snprintf(path, sizeof(path), "%s/shim", home);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_int_equal(write(fd, script, strlen(script)), strlen(script));
    close(fd);
    return stage_new_in(home, *(const int *)*state, path);
}

static const char *run_changed(struct stage *stage, task_id task, const struct tag_key *with) {
    struct run_spec spec = stage_spec(stage, ARGV("echo", "honest"));
    spec.key = with;
    (void)stage_run(stage, task, &spec);
    return stage_file(stage, task, "out.log");
}

ONE_WAY(a_spec_that_was_changed_is_not_run) {
    struct stage *stage =
        stage_of_script(state, "#!/bin/sh\ncd /proc/self/fd/3 || exit 1\n"
                               "sed 's/honest/forged/' lock >changed\n"
                               "cat changed 1<>lock\nexec " SHIM_PATH " \"$@\"\n");
    assert_string_equal(run_changed(stage, 1, NULL), "forged\n");
    assert_string_equal(run_changed(stage, 2, &key), "");
    assert_int_equal(stage->runs[2].end.kind, RUN_END_LAUNCH);
    assert_string_equal(stage->runs[2].end.message, "the spec is damaged");
    stage_free(stage);
}

static bool has_key_in(const char *path) {
    static char text[1 << 16];
    char hex[SHA256_HEX_SIZE];
    FILE *stream = fopen(path, "re");
    assert_non_null(stream);
    size_t size = fread(text, 1, sizeof(text), stream);
    assert_int_equal(fclose(stream), 0);
    assert_true(size > 0);
    sha256_hex(key.bytes, hex);
    return memmem(text, size, hex, strlen(hex)) != NULL;
}

ONE_WAY(the_key_is_nowhere_that_a_run_can_read) {
    struct stage *stage =
        stage_of_script(state, "#!/bin/sh\nenv >\"$0.env\"\nexec " SHIM_PATH " \"$@\"\n");
    char path[STAGE_PATH + 16];
    struct run_spec spec = stage_spec(
        stage,
        ARGV("sh", "-c", "env; cat /proc/$PPID/environ /proc/$PPID/cmdline; cat runs/*/*/lock"));
    spec.key = &key;
    (void)stage_run(stage, 1, &spec);
    (void)snprintf(path, sizeof(path), "%s/shim.env", stage->home);
    assert_true(has_key_in(path)); /* so the shim has it */
    stage_path(stage, 1, "out.log", path);
    assert_false(has_key_in(path));
    stage_free(stage);
}
