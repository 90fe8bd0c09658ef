/* test_sweep.c: folders that are not needed are removed, those who live in one are found, and what the kernel can
 * do is reported. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/test.h"
#include "run/stage.h"

static bool knows_first(void *ctx, const char *task, uint32_t attempt) {
    (void)ctx;
    return strcmp(task, "test-1") == 0 && attempt == 1;
}

static bool knows_nothing(void *ctx, const char *task, uint32_t attempt) {
    (void)ctx;
    (void)task;
    (void)attempt;
    return false;
}

static void on_external(void *ctx, const char *task, uint32_t attempt,
                        const struct run_started *who) {
    struct stage *stage = ctx;
    assert_string_equal(task, "test-3");
    assert_int_equal(attempt, 1);
    assert_true(who->shim > 0);
    stage->externals++;
}

static void on_external_ended(void *ctx, const char *task, uint32_t attempt) {
    struct stage *stage = ctx;
    assert_string_equal(task, "test-3");
    assert_int_equal(attempt, 1);
    stage->externals_ended++;
}

static bool is_external_over(struct stage *stage, void *ctx) {
    (void)ctx;
    return stage->externals_ended == 1;
}

static bool is_deleted(struct stage *stage, void *ctx) {
    char path[STAGE_PATH + 64];
    (void)snprintf(path, sizeof(path), "%s/%s", stage->root, (const char *)ctx);
    return access(path, F_OK) < 0;
}

/* Of .trash only the empty folder stays. */
static bool is_trash_empty(struct stage *stage, void *ctx) {
    char path[STAGE_PATH + 64];
    unsigned count = 0;
    (void)ctx;
    (void)snprintf(path, sizeof(path), "%s/.trash", stage->root);
    DIR *dir = opendir(path);
    while (dir && readdir(dir))
        count++;
    if (dir)
        (void)closedir(dir);
    return count == 2; /* "." and ".." */
}

BOTH_WAYS(the_sweep_removes_the_dead_and_finds_the_living) {
    struct stage *stage = STAGE(state);
    struct run_spec quick = stage_spec(stage, HOSTILE("exit", "0"));
    struct run_spec slow = stage_spec(stage, HOSTILE("ignore"));
    assert_int_equal(stage_run(stage, 1, &quick)->code, 0);
    assert_int_equal(stage_run(stage, 2, &quick)->code, 0);
    stage_start(stage, 3, &slow);
    stage_await_text(stage, 3, "out.log", "ready");
    stage_restart(stage);
    struct executor_sweep sweep = { .known = knows_first,
                                    .external = on_external,
                                    .external_ended = on_external_ended,
                                    .ctx = stage };
    struct error err = { 0 };
    assert_int_equal(executor_sweep(stage->ex, &sweep, &err), 0);
    assert_int_equal(sweep.removed, 1);
    assert_int_equal(stage->externals, 1);
    assert_int_equal(stage->externals_ended, 0);
    assert_int_equal(executor_live(stage->ex), 1);
    assert_true(is_deleted(stage, (void *)(uintptr_t) "test-2")); /* at once out of sight */
    assert_false(is_deleted(stage, (void *)(uintptr_t) "test-1/1/end.json"));
    assert_int_equal(kill(stage_who(stage, 3).shim, SIGUSR1), 0);
    stage_await(stage, is_external_over, NULL, "the end of the external run");
    stage_await(stage, is_trash_empty, NULL, "the deletion");
    /* It may have been over before its shim was watched; then no process but its parent, which is this test,
     * takes it. */
    while (waitpid(-1, NULL, 0) > 0)
        ;
    stage_free(stage);
}

ONE_WAY(a_second_sweep_finds_nothing_new) {
    struct stage *stage = STAGE(state);
    struct run_spec slow = stage_spec(stage, HOSTILE("ignore"));
    stage_start(stage, 3, &slow);
    stage_await_text(stage, 3, "out.log", "ready");
    struct executor_sweep sweep = { .known = knows_nothing,
                                    .external = on_external,
                                    .external_ended = on_external_ended,
                                    .ctx = stage };
    struct error err = { 0 };
    /* Our own live run is no external one, whatever the store knows. */
    assert_int_equal(executor_sweep(stage->ex, &sweep, &err), 0);
    assert_int_equal(sweep.removed, 0);
    assert_int_equal(stage->externals, 0);
    stage_stop(stage, 3, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(stage, 3)->kind, RUN_END_STOPPED);
    assert_int_equal(executor_sweep(stage->ex, &sweep, &err), 0);
    assert_int_equal(sweep.removed, 1);
    stage_await(stage, is_trash_empty, NULL, "the deletion");
    stage_free(stage);
}

ONE_WAY(a_forgotten_task_goes_little_by_little) {
    struct stage *stage = STAGE(state);
    char path[STAGE_PATH + 64];
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "0"));
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    for (int i = 0; i < 500; i++) {
        (void)snprintf(path, sizeof(path), "%s/test-1/1/extra-%d", stage->root, i);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    uint64_t rounds = loop_wakeups(stage->loop);
    executor_forget(stage->ex, "test-1");
    executor_forget(stage->ex, "no-such-task");
    assert_true(is_deleted(stage, (void *)(uintptr_t) "test-1"));
    stage_await(stage, is_trash_empty, NULL, "the deletion");
    assert_true(loop_wakeups(stage->loop) - rounds >= 10); /* others had their turn */
    stage_free(stage);
}

ONE_WAY(a_deletion_goes_on_after_a_restart) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "0"));
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    executor_forget(stage->ex, "test-1");
    assert_false(is_trash_empty(stage, NULL));
    stage_restart(stage);
    stage_await(stage, is_trash_empty, NULL, "the deletion");
    stage_free(stage);
}

ONE_WAY(who_lives_is_not_forgotten) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, HOSTILE("ignore"));
    stage_start(stage, 1, &spec);
    executor_forget(stage->ex, "test-1");
    assert_false(is_deleted(stage, (void *)(uintptr_t) "test-1/1/lock"));
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    assert_int_equal(stage_await_end(stage, 1)->kind, RUN_END_STOPPED);
    stage_free(stage);
}

ONE_WAY(cgroups_of_a_killed_daemon_go) {
    struct stage *stage = STAGE(state);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) { /* a daemon that makes slots and is gone without a word */
        stage = stage_new_in(stage->home, *(const int *)*state, SHIM_PATH);
        struct run_spec spec = stage_spec(stage, HOSTILE("exit", "0"));
        for (task_id task = 1; task < 5; task++)
            stage_start(stage, task, &spec);
        for (task_id task = 1; task < 5; task++)
            (void)stage_await_end(stage, task);
        _exit(0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct executor_sweep sweep = { .known = knows_nothing };
    struct error err = { 0 };
    assert_int_equal(executor_sweep(stage->ex, &sweep, &err), 0);
    assert_int_equal(sweep.removed, 4);
    stage_await(stage, is_trash_empty, NULL, "the deletion");
    stage_free(stage); /* asks whether a cgroup is left */
}

BOTH_WAYS(what_is_missing_has_something_instead) {
    struct stage *stage = STAGE(state);
    const struct executor_feature *features = NULL;
    size_t count = executor_features(stage->ex, &features);
    static const char *const wanted[] = { "pidfd",         "cgroup",   "cgroup.kill", "memory.max",
                                          "hole punching", "pids.max", "close_range", "subreaper" };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        bool found = false;
        for (size_t k = 0; k < count; k++)
            found = found || strcmp(features[k].name, wanted[i]) == 0;
        if (!found)
            fail_msg("feature '%s' is not told", wanted[i]);
    }
    for (size_t k = 0; k < count; k++)
        if (!features[k].there && (!features[k].instead[0] || !features[k].fix))
            fail_msg("'%s' is missing, but not what is done instead or what helps",
                     features[k].name);
    assert_int_equal(strlen(executor_boot_id(stage->ex)), 36);
    assert_true(strlen(executor_host(stage->ex)) > 0);
    stage_free(stage);
}
