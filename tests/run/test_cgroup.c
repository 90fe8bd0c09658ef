/* test_cgroup.c: what a killed daemon leaves is removed by any other one; what a living one has stays.
 *
 * In an ordinary folder: what counts here (locks, and that a folder with something in it cannot be removed) is the same,
 * and no other daemon of this machine cleans up in between. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "executor/cgroup.h"
#include "harness/test.h"
#include "os/proc.h"
#include "run/stage.h"
#include "rundir/rundir.h"

#define KILLED  "sluice-0000000a"
#define OTHER   "sluice-0000000b"
#define ROUNDS  500
#define HELD_MS 50 /* much less than a shim waits */

static char own[64];

static int set_up(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    (void)snprintf(own, sizeof(own), "%s/cgroup-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(own));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return rmdir(own); /* nothing is left */
}

static bool is_there(const char *name) {
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", own, name);
    return access(path, F_OK) == 0;
}

static int wait_for(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

/* Slots that it took go to `ret`, in the caller's memory. */
static void killed_daemon(size_t slots, char ret[][128]) {
    int pipes[2];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct cgroup_pool *pool = cgroup_pool_new_in(own, KILLED);
        for (size_t i = 0; i < slots; i++) {
            char path[128] = "";
            (void)snprintf(path, sizeof(path), "%s", cgroup_take(pool)->path);
            (void)!write(pipes[1], path, sizeof(path));
        }
        (void)raise(SIGKILL);
    }
    (void)close(pipes[1]);
    for (size_t i = 0; i < slots; i++)
        assert_int_equal(read(pipes[0], ret[i], 128), 128);
    (void)close(pipes[0]);
    assert_int_equal(wait_for(pid), SIGKILL);
    assert_true(is_there(KILLED));
}

TEST_WITH(what_a_killed_daemon_left_goes_with_the_next_start_of_any, set_up, tear_down) {
    char slots[3][128];
    killed_daemon(3, slots);
    struct cgroup_pool *pool = cgroup_pool_new_in(own, OTHER);
    assert_false(is_there(KILLED));
    assert_true(is_there(OTHER));
    (void)cgroup_pool_free(pool);
    assert_false(is_there(OTHER));
}

TEST_WITH(what_a_living_daemon_has_stays, set_up, tear_down) {
    struct cgroup_pool *living = cgroup_pool_new_in(own, KILLED);
    struct cgroup_slot *slot = cgroup_take(living); /* a free one, too, is not there for others */
    cgroup_give_back(living, slot);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        size_t kept;
        struct cgroup_pool *pool = cgroup_pool_new_in(own, OTHER);
        size_t removed = cgroup_clean(pool, &kept);
        (void)cgroup_pool_free(pool);
        _exit((int)(removed + kept));
    }
    assert_int_equal(wait_for(pid), 0);
    slot = cgroup_take(living);
    assert_int_equal(access(slot->path, F_OK), 0);
    cgroup_give_back(living, slot);
    (void)cgroup_pool_free(living);
}

/* A shim has a lock on its slot, whichever daemon created it. */
TEST_WITH(a_run_that_outlives_its_daemon_keeps_its_slot_alone, set_up, tear_down) {
    char slots[2][128];
    size_t kept;
    killed_daemon(2, slots);
    int shim = open(slots[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(shim, LOCK_SH), 0);
    struct cgroup_pool *pool = cgroup_pool_new_in(own, OTHER);
    assert_int_equal(access(slots[0], F_OK), -1);
    assert_int_equal(access(slots[1], F_OK), 0);
    assert_int_equal(cgroup_clean(pool, &kept), 0);
    assert_int_equal(kept, 1);
    (void)close(shim);
    assert_int_equal(cgroup_clean(pool, &kept), 1);
    assert_int_equal(kept, 0);
    assert_false(is_there(KILLED));
    (void)cgroup_pool_free(pool);
}

/* A process in a cgroup, a file in a folder: it cannot be removed. */
TEST_WITH(a_slot_with_a_process_in_it_stays, set_up, tear_down) {
    char slots[1][128], path[160];
    size_t kept;
    killed_daemon(1, slots);
    (void)snprintf(path, sizeof(path), "%s/process", slots[0]);
    assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    struct cgroup_pool *pool = cgroup_pool_new_in(own, OTHER);
    assert_int_equal(cgroup_clean(pool, &kept), 0);
    assert_int_equal(kept, 1);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(cgroup_clean(pool, &kept), 1);
    (void)cgroup_pool_free(pool);
}

TEST_WITH(what_is_not_ours_is_not_touched, set_up, tear_down) {
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/user.slice", own);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)cgroup_pool_free(cgroup_pool_new_in(own, OTHER));
    assert_int_equal(rmdir(path), 0);
}

TEST_WITH(two_pools_of_one_name_do_not_take_it_from_each_other, set_up, tear_down) {
    struct cgroup_pool *first = cgroup_pool_new_in(own, OTHER);
    struct cgroup_pool *second = cgroup_pool_new_in(own, OTHER);
    (void)cgroup_pool_free(first);
    struct cgroup_slot *slot = cgroup_take(second);
    assert_int_equal(access(slot->path, F_OK), 0);
    cgroup_give_back(second, slot);
    (void)cgroup_pool_free(second);
}

/* A daemon with the same name, or a shim that is removing its slot, holds the folder. */
TEST_WITH(the_slot_of_an_ended_run_is_removed_while_another_holds_the_folder, set_up, tear_down) {
    char path[128], above[128];
    struct cgroup_pool *pool = cgroup_pool_new_in(own, OTHER);
    struct cgroup_slot *slot = cgroup_take(pool);
    (void)snprintf(path, sizeof(path), "%s", slot->path);
    (void)snprintf(above, sizeof(above), "%s/%s", own, OTHER);
    cgroup_leave(pool, slot);
    int other = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_SH | LOCK_NB), 0);
    (void)cgroup_pool_free(pool);
    assert_int_equal(access(path, F_OK), -1);
    (void)close(other);
    assert_int_equal(rmdir(above), 0);
}

/* Daemons of one home start and end, others clean up all the time: a daemon that has started has its folder. */
TEST_WITH(starts_and_cleaning_do_not_meet, set_up, tear_down) {
    pid_t cleaners[2];
    for (size_t i = 0; i < ARRAY_SIZE(cleaners); i++) {
        cleaners[i] = fork();
        assert_true(cleaners[i] >= 0);
        if (cleaners[i] == 0) {
            char name[32];
            size_t kept;
            (void)snprintf(name, sizeof(name), "sluice-cleaner%zu", i);
            struct cgroup_pool *pool = cgroup_pool_new_in(own, name);
            for (;;)
                (void)cgroup_clean(pool, &kept);
        }
    }
    unsigned missing = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct cgroup_pool *pool = cgroup_pool_new_in(own, KILLED);
        struct cgroup_slot *slot = cgroup_take(pool);
        missing += !slot || access(slot->path, F_OK) < 0;
        cgroup_give_back(pool, slot);
        (void)cgroup_pool_free(pool);
    }
    for (size_t i = 0; i < ARRAY_SIZE(cleaners); i++) {
        (void)kill(cleaners[i], SIGKILL);
        (void)wait_for(cleaners[i]);
    }
    (void)cgroup_pool_free(cgroup_pool_new_in(own, OTHER));
    assert_int_equal(missing, 0);
}

/* Where the kernel gives us cgroups. */
BOTH_WAYS(a_shim_has_the_lock_on_its_slot) {
    struct stage *stage = STAGE(state);
    struct run_spec spec = stage_spec(stage, ARGV("sleep", "1000"));
    stage_start(stage, 1, &spec);
    stage_await_started(stage, 1);
    char folder[STAGE_PATH];
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    stage_folder(1, folder);
    assert_int_equal(rundir_read_spec(stage->root, folder, NULL, &read, NULL), 0);
    if (read->spec.cgroup) {
        int fd = open(read->spec.cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
        assert_int_equal(errno, EWOULDBLOCK);
        (void)close(fd);
    }
    stage_stop(stage, 1, STOP_IMMEDIATELY);
    (void)stage_await_end(stage, 1);
    stage_free(stage);
}

/* Its daemon has left it alone, and no other daemon starts. */
BOTH_WAYS(the_last_run_of_a_dead_daemon_removes_the_cgroup) {
    struct stage *stage = STAGE(state);
    char fifo[2 * STAGE_PATH];
    (void)snprintf(fifo, sizeof(fifo), "%s/fifo", stage->home);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "read -r word <fifo"));
    stage_start(stage, 1, &spec);
    stage_await_started(stage, 1);
    pid_t shim = stage_who(stage, 1).shim;
    stage->ex = executor_free(stage->ex);
    int end = open(fifo, O_WRONLY | O_CLOEXEC);
    assert_true(end >= 0);
    (void)close(end);
    (void)wait_for(shim);
    assert_int_equal(stage_cgroups(stage), 0);
    stage_restart(stage);
    stage_free(stage);
}

/* It holds the folder longer than usual, for instance because the scheduler has taken its processor. */
BOTH_WAYS(a_shim_waits_for_another_remover) {
    struct stage *stage = STAGE(state);
    char fifo[2 * STAGE_PATH], above[PATH_MAX] = "", folder[STAGE_PATH];
    (void)snprintf(fifo, sizeof(fifo), "%s/fifo", stage->home);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    struct run_spec spec = stage_spec(stage, ARGV("sh", "-c", "read -r word <fifo"));
    stage_start(stage, 1, &spec);
    stage_await_started(stage, 1);
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    stage_folder(1, folder);
    assert_int_equal(rundir_read_spec(stage->root, folder, NULL, &read, NULL), 0);
    pid_t shim = stage_who(stage, 1).shim;
    struct pollfd exit_of_shim = { .fd = proc_open(shim), .events = POLLIN };
    stage->ex = executor_free(stage->ex);
    int remover = -1;
    if (read->spec.cgroup) {
        (void)snprintf(above, sizeof(above), "%s", read->spec.cgroup);
        *strrchr(above, '/') = '\0';
        remover = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(flock(remover, LOCK_EX | LOCK_NB), 0);
    }
    int end = open(fifo, O_WRONLY | O_CLOEXEC);
    assert_true(end >= 0);
    (void)close(end);
    while (read->spec.cgroup && access(read->spec.cgroup, F_OK) == 0
           && poll(&exit_of_shim, 1, 1) == 0)
        continue; /* it removes its slot first */
    if (remover >= 0) {
        assert_int_equal(poll(&exit_of_shim, 1, HELD_MS), 0);
        (void)close(remover);
    }
    (void)wait_for(shim);
    (void)close(exit_of_shim.fd);
    assert_int_equal(stage_cgroups(stage), 0);
    stage_restart(stage);
    stage_free(stage);
}

/* Some have ended before, some in the same moment, some have hardly begun. */
ONE_WAY(runs_that_end_together_with_their_daemon_leave_nothing) {
    for (task_id round = 0; round < 20; round++) {
        struct stage *stage = STAGE(state);
        struct run_spec spec = stage_spec(stage, ARGV("true"));
        for (task_id task = 1; task <= 8; task++)
            stage_start(stage, task, &spec);
        if (round % 5 > 0)
            (void)stage_await_end(stage, 2 * (round % 5));
        stage->ex = executor_free(stage->ex);
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
            continue;
        if (stage_cgroups(stage) != 0)
            fail_msg("round %u: a cgroup is left", (unsigned)round);
        stage_restart(stage);
        stage_free(stage);
    }
}
