/* stage.c: how the tests of this folder start, wait and clean up. */
#include "run/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "harness/patience.h"
#include "harness/scratch.h"
#include "os/clock.h"
#include "os/files.h"

int stage_with = WITH_CGROUP, stage_without = WITHOUT_CGROUP;

#define LOOK_AGAIN 2 /* ms */
#define FILE_MAX   (1u << 20)

/* --- what the executor reports --------------------------------------------------------------- */

static struct stage_run *run_of(struct stage *stage, task_id task) {
    assert_true(task < STAGE_RUNS);
    return &stage->runs[task];
}

static void on_started(void *ctx, struct run_key key, time_ms at) {
    assert_true(at > 0);
    run_of(ctx, key.task)->started = true;
}

static void on_validating(void *ctx, struct run_key key) {
    run_of(ctx, key.task)->validating = true;
}

static void on_ended(void *ctx, struct run_key key, const struct run_end *end) {
    struct stage *stage = ctx;
    struct stage_run *run = run_of(stage, key.task);
    run->ended = true;
    run->ended_times++;
    run->end = *end;
    if (stage->answers)
        executor_end_is_stored(stage->ex, key);
}

static void make_executor(struct stage *stage) {
    struct error err = { 0 };
    stage->events = (struct executor_events){ on_started, on_validating, on_ended, stage };
    stage->slurm.base = stage->options;
    int r =
        stage->on_slurm
            ? executor_slurm_new(stage->loop, &stage->slurm, &stage->events, &stage->ex, &err)
            : executor_local_new(stage->loop, &stage->options, &stage->events, &stage->ex, &err);
    if (r < 0)
        fail_msg("the executor could not be made: %s", err.text);
}

/* --- life ------------------------------------------------------------------------------------ */

static void look(void *ctx) {
    struct stage *stage = ctx;
    stage->done = stage->condition(stage, stage->ctx);
    stage->late = clock_read_steady() >= stage->deadline;
    if (stage->done || stage->late)
        loop_stop(stage->loop);
}

static void timer_due(void *ctx) {
    struct stage *stage = ctx;
    loop_timer_set(stage->loop, stage->timer, loop_now_steady(stage->loop) + LOOK_AGAIN);
}

static struct stage *make_stage(const char *home, int cgroup, const char *shim,
                                const struct executor_slurm_options *slurm) {
    struct error err = { 0 };
    struct stage *stage = calloc(1, sizeof(*stage));
    assert_non_null(stage);
    (void)snprintf(stage->home, sizeof(stage->home), "%s", home);
    (void)snprintf(stage->root, sizeof(stage->root), "%.200s/runs", home);
    assert_int_equal(loop_new(&stage->loop, &err), 0);
    stage->timer = loop_timer_new(stage->loop, timer_due, stage);
    loop_set_round(stage->loop, look, stage);
    stage->options = (struct executor_options){ .root = stage->root,
                                                .shim_path = shim,
                                                .use_cgroup = cgroup == WITH_CGROUP };
    stage->on_slurm = slurm != NULL;
    if (slurm)
        stage->slurm = *slurm;
    make_executor(stage);
    return stage;
}

struct stage *stage_new_in(const char *home, int cgroup, const char *shim) {
    return make_stage(home, cgroup, shim, NULL);
}

struct stage *stage_new_slurm(const struct executor_slurm_options *options) {
    char home[SCRATCH_PATH];
    scratch_make(home, "run");
    return make_stage(home, WITHOUT_CGROUP, SHIM_PATH, options);
}

struct stage *stage_new(int cgroup) {
    char home[SCRATCH_PATH];
    scratch_make(home, "run");
    return stage_new_in(home, cgroup, SHIM_PATH);
}

void stage_restart(struct stage *stage) {
    stage->ex = executor_free(stage->ex);
    memset(stage->runs, 0, sizeof(stage->runs));
    make_executor(stage);
}

void stage_store_ends(struct stage *stage, bool answers) {
    stage->options.stores_ends = true;
    stage->answers = answers;
    stage_restart(stage);
}

static bool has_no_child(struct stage *stage, void *ctx) {
    siginfo_t info;
    (void)stage;
    (void)ctx;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

void stage_await_shims(struct stage *stage) {
    stage_await(stage, has_no_child, NULL, "the exit of all shims");
}

static char slot_parent[32], slot_parent_path[PATH_MAX];
static unsigned slot_parents;

static int count_parent(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    if (type == FTW_D && strcmp(path + ftw->base, slot_parent) == 0) {
        (void)snprintf(slot_parent_path, sizeof(slot_parent_path), "%s", path);
        slot_parents++;
    }
    return 0;
}

/* How many folders for the cgroups of this stage there are, in the complete hierarchy. */
unsigned stage_cgroups(const struct stage *stage) {
    char line[1024], point[512] = "", root[STAGE_PATH * 4];
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    while (mounts && fgets(line, sizeof(line), mounts))
        if (strstr(line, " - cgroup2 "))
            (void)sscanf(line, "%*s %*s %*s %*s %511s", point);
    if (mounts)
        (void)fclose(mounts);
    (void)snprintf(root, sizeof(root), "%s", stage->root);
    (void)snprintf(slot_parent, sizeof(slot_parent), "sluice-%08x",
                   (unsigned)(uint32_t)hash_bytes(root, strlen(root)));
    slot_parents = 0;
    if (point[0])
        (void)nftw(point, count_parent, 16, FTW_PHYS | FTW_MOUNT);
    return slot_parents;
}

void stage_remove_cgroups(const struct stage *stage) {
    if (stage_cgroups(stage) == 0)
        return;
    DIR *dir = opendir(slot_parent_path);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    (void)closedir(dir);
}

void stage_free(struct stage *stage) {
    assert_int_equal(executor_live(stage->ex), 0);
    stage->ex = executor_free(stage->ex);
    if (stage_cgroups(stage) != 0)
        fail_msg("cgroups are left behind: their slots must be given back");
    while (stage->on_slurm && waitpid(-1, NULL, 0) > 0)
        continue; /* calls and jobs that go on without their executor; they end by themselves */
    if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
        fail_msg("a child of the test is left: every shim must be reaped");
    if (stage_survivors(stage) != 0)
        fail_msg("%u processes of a run have survived it", stage_survivors(stage));
    loop_timer_free(stage->loop, stage->timer);
    stage->loop = loop_free(stage->loop);
    scratch_remove(stage->home);
    free(stage);
}

/* --- waiting --------------------------------------------------------------------------------- */

void stage_be_patient(struct stage *stage) {
    stage->deadline = clock_read_steady() + patience_ms();
}

void stage_await(struct stage *stage, bool (*condition)(struct stage *stage, void *ctx), void *ctx,
                 const char *what) {
    struct error err = { 0 };
    stage->condition = condition;
    stage->ctx = ctx;
    stage_be_patient(stage);
    time_ms began = clock_read_steady();
    timer_due(stage);
    assert_int_equal(loop_run(stage->loop, &err), 0);
    loop_timer_clear(stage->loop, stage->timer);
    if (!stage->done)
        fail_msg("%s did not happen within %d s", what, (int)((stage->deadline - began) / 1000));
}

static bool has_ended(struct stage *stage, void *ctx) {
    return run_of(stage, *(task_id *)ctx)->ended;
}

const struct run_end *stage_await_end(struct stage *stage, task_id task) {
    stage_await(stage, has_ended, &task, "the end of the run");
    assert_int_equal(run_of(stage, task)->ended_times, 1);
    return &run_of(stage, task)->end;
}

static bool has_started(struct stage *stage, void *ctx) {
    return run_of(stage, *(task_id *)ctx)->started;
}

void stage_await_started(struct stage *stage, task_id task) {
    stage_await(stage, has_started, &task, "the start of the run");
}

static bool is_validating(struct stage *stage, void *ctx) {
    return run_of(stage, *(task_id *)ctx)->validating;
}

void stage_await_validating(struct stage *stage, task_id task) {
    stage_await(stage, is_validating, &task, "the beginning of the checks");
}

struct wanted_text {
    task_id task;
    const char *file, *text;
};

static bool has_text(struct stage *stage, void *ctx) {
    const struct wanted_text *wanted = ctx;
    return strstr(stage_file(stage, wanted->task, wanted->file), wanted->text) != NULL;
}

void stage_await_text(struct stage *stage, task_id task, const char *file, const char *text) {
    struct wanted_text wanted = { task, file, text };
    stage_await(stage, has_text, &wanted, text);
}

/* --- runs ------------------------------------------------------------------------------------ */

struct run_spec stage_spec(const struct stage *stage, const char *const *argv) {
    static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "WHO=test", NULL };
    return (struct run_spec){
        .run = "test-1.1",
        .command = { .argv = argv },
        .env = env,
        .cwd = stage->home,
        .grace = SECONDS(20),
        .stop_signal = SIGTERM,
    };
}

void stage_folder(task_id task, char out[STAGE_PATH]) {
    (void)snprintf(out, STAGE_PATH, "test-%d/1", (int)task);
}

void stage_start(struct stage *stage, task_id task, const struct run_spec *spec) {
    struct error err = { 0 };
    char folder[STAGE_PATH];
    stage_folder(task, folder);
    if (executor_start(stage->ex, (struct run_key){ task, 1 }, folder, spec, &err) < 0)
        fail_msg("the run could not be started: %s", err.text);
    assert_false(run_of(stage, task)->started); /* never from inside the call */
}

const struct run_end *stage_run(struct stage *stage, task_id task, const struct run_spec *spec) {
    stage_start(stage, task, spec);
    return stage_await_end(stage, task);
}

task_id stage_run_timed(struct stage *stage, const struct run_spec *spec, time_ms *time,
                        const char *file) {
    task_id task = 1;
    (void)stage_run(stage, task, spec);
    while (!strstr(stage_file(stage, task, file), "ready") && *time < patience_ms()) {
        *time *= 2;
        (void)stage_run(stage, ++task, spec);
    }
    return task;
}

void stage_stop(struct stage *stage, task_id task, enum stop_how how) {
    assert_int_equal(executor_stop(stage->ex, (struct run_key){ task, 1 }, how), 0);
    assert_false(run_of(stage, task)->ended); /* never from inside the call */
}

/* --- files ----------------------------------------------------------------------------------- */

void stage_path(const struct stage *stage, task_id task, const char *file, char out[STAGE_PATH]) {
    (void)snprintf(out, STAGE_PATH, "%.180s/test-%d/1/%s", stage->root, (int)task, file);
}

const char *stage_file(const struct stage *stage, task_id task, const char *file) {
    static char text[FILE_MAX];
    char path[STAGE_PATH];
    stage_path(stage, task, file, path);
    FILE *stream = fopen(path, "re");
    size_t size = stream ? fread(text, 1, sizeof(text) - 1, stream) : 0;
    if (stream)
        (void)fclose(stream);
    text[size] = '\0';
    return text;
}

struct run_started stage_who(const struct stage *stage, task_id task) {
    struct error err = { 0 };
    struct run_started who = { 0 };
    char folder[STAGE_PATH];
    stage_folder(task, folder);
    if (rundir_read_started(stage->root, folder, NULL, &who, &err) < 0)
        fail_msg("the lock file does not say who lives there: %s", err.text);
    return who;
}

/* --- processes ------------------------------------------------------------------------------- */

/* Dead, or a zombie that init has not looked at yet. */
static bool is_alive(int pid, unsigned long long since) {
    char path[64], text[1024] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *stream = fopen(path, "re");
    size_t size = stream ? fread(text, 1, sizeof(text) - 1, stream) : 0;
    if (stream)
        (void)fclose(stream);
    text[size] = '\0';
    const char *rest = strrchr(text, ')');
    char state = 'Z';
    unsigned long long began = 0;
    if (!rest
        || sscanf(rest + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d"
                  " %*d %*d %llu",
                  &state, &began)
               != 2)
        return false;
    return state != 'Z' && state != 'X' && began == since;
}

enum look { LOOK_ALL, LOOK_ALIVE, LOOK_KILL };

static unsigned count_processes(const struct stage *stage, enum look look) {
    char path[STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%.200s/pids", stage->home);
    FILE *stream = fopen(path, "re");
    unsigned count = 0;
    int pid;
    unsigned long long since;
    while (stream && fscanf(stream, "%d %llu\n", &pid, &since) == 2) {
        bool counts = look == LOOK_ALL || is_alive(pid, since);
        count += counts;
        if (counts && look == LOOK_KILL)
            (void)kill(pid, SIGKILL);
    }
    if (stream)
        (void)fclose(stream);
    return count;
}

unsigned stage_registered(const struct stage *stage) {
    return count_processes(stage, LOOK_ALL);
}

unsigned stage_survivors(const struct stage *stage) {
    return count_processes(stage, LOOK_ALIVE);
}

void stage_kill_survivors(const struct stage *stage) {
    (void)count_processes(stage, LOOK_KILL);
}

static bool has_registered(struct stage *stage, void *ctx) {
    return stage_registered(stage) >= *(unsigned *)ctx;
}

void stage_await_registered(struct stage *stage, unsigned count) {
    stage_await(stage, has_registered, &count, "the processes of the command");
}

int stage_create_folder(const char *root, const char *folder, const struct run_spec *spec,
                        struct error *err) {
    _cleanup_(fd_closep) int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct rundir_open open;
    int r = fd < 0 ? -errno : rundir_create_at(fd, folder, spec, &open, err);
    if (r < 0)
        return r;
    close(open.lock);
    close(open.dir);
    return 0;
}

int stage_lock_folder(const char *root, const char *folder, int *ret_fd, struct error *err) {
    _cleanup_(fd_closep) int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), dir = -1;
    int r = fd < 0 ? -errno : rundir_open_at(fd, folder, &dir, err);
    return r < 0 ? r : rundir_lock_at(dir, ret_fd, err);
}
