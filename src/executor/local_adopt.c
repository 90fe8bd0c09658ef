/* local_adopt.c: finds runs again that an earlier daemon has started.
 *
 * The store has pid and start time of the shim of each run that was seen to run. They decide, whatever the folder says, which
 * the run can write. Without them (the earlier daemon ended too early, or did not store them) the folder decides.
 *
 * Alive is asked before ended: a shim writes its end before it lets go of the lock, so a free lock and no
 * end means lost. Asked the other way round, a run that ends between the two looks would be called
 * lost. "Cannot say" is never taken for dead: such a run is looked at again. */
#include "executor/local.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "executor/sweep.h"
#include "os/files.h"
#include "os/inotify.h"
#include "os/proc.h"

/* --- checks that began before us ------------------------------------------------------------- */

static void lock_heard(void *ctx, const struct inotify_event *event) {
    struct local *ex = ctx;
    for (size_t i = 1; i < ex->runs.count; i++) {
        struct local_run *run = local_at(ex, i);
        struct run_started who;
        if (!run || run->lock_watch != event->wd
            || rundir_read_started(ex->root_path, run->folder, run->tag_key, &who, NULL) < 0)
            continue;
        if (who.command > 0)
            local_tell_started(run, who.at);
        if (who.validating)
            local_tell_validating(run);
        break;
    }
}

static void lock_changed(void *ctx, int fd, unsigned events) {
    (void)events;
    inotify_read(fd, lock_heard, ctx);
}

/* An adopted shim has no pipe to us; what it says is in its lock file too. */
static void watch_lock(struct local_run *run) {
    struct local *ex = run->ex;
    if (ex->inotify < 0)
        ex->inotify = inotify_open(ex->loop, lock_changed, ex, &ex->inotify_watch);
    if (ex->inotify < 0)
        return;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/%s/lock", ex->root_path, run->folder);
    run->lock_watch = inotify_add_watch(ex->inotify, path.text, IN_MODIFY);
}

/* --- one run --------------------------------------------------------------------------------- */

/* The cgroup of its spec, if it is one that a daemon of this root has made: without a key the command itself could have
 * changed the file, and everybody in that cgroup may be killed. */
static char *read_cgroup(const struct local *ex, int dir, const struct tag_key *key) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (rundir_read_spec_at(dir, key, &read, NULL) < 0 || !read->spec.cgroup
        || !cgroup_is_ours(ex->cgroups, read->spec.cgroup))
        return NULL;
    return xstrdup(read->spec.cgroup);
}

static void set_over(struct local_run *run, bool same_boot) {
    local_conclude(run);
    run->state = same_boot ? LOCAL_DYING : LOCAL_OVER;
}

static void set_shim(struct local_run *run, pid_t shim) {
    if (run->shim != shim)
        run->ex->base.kin_epoch++;
    run->shim = shim;
}

/* The process with the pid and the start time of the store. 0, -ESRCH: it has ended; -EACCES: /proc does not show it. */
static int open_stored(const struct local_run *run, int *ret_pidfd) {
    struct proc_stat process = { 0 };
    int pidfd = proc_open(run->shim);
    if (pidfd < 0)
        return errno == ESRCH ? -ESRCH : -EACCES;
    int r = proc_read("/proc", run->shim, &process);
    if (r == 0 && process.start == run->shim_start) {
        *ret_pidfd = pidfd;
        return 0;
    }
    close(pidfd);
    return r == 0 ? -ESRCH : -EACCES;
}

/* Is the process that the lock file names the one that wrote it? If the lock is still held after the
 * pidfd was opened, the shim has lived all the time in between, and its number was nobody else's. But the
 * command can write the file and hold the lock, too, and whom it names may be killed: so it must be called a shim of
 * this run. */
static int open_shim(const struct local_run *run, int dir) {
    int pidfd = proc_open(run->who.shim);
    if (pidfd < 0)
        return -1;
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (rundir_read_spec_at(dir, run->tag_key, &read, NULL) == 0
        && proc_has_text(run->who.shim, "cmdline", read->spec.run, "sluice-shim")
        && rundir_is_locked_at(dir) > 0)
        return pidfd;
    close(pidfd);
    return -1;
}

/* As the lock file says. <0: nobody can say; it is looked at again. */
static int open_told(struct local_run *run, int dir, int *ret_pidfd) {
    if (dir < 0 || rundir_read_started_at(dir, run->tag_key, &run->who, NULL) < 0)
        return -EACCES;
    int pidfd = open_shim(run, dir);
    if (pidfd < 0)
        return -EACCES;
    struct proc_stat process = { 0 };
    set_shim(run, run->who.shim);
    if (proc_read("/proc", run->shim, &process) == 0)
        run->shim_start = process.start;
    *ret_pidfd = pidfd;
    return 0;
}

/* 0 and a pidfd: it lives; -ESRCH: it does not; -EACCES: nobody can say. */
static int find_shim(struct local_run *run, int dir, int *ret_pidfd) {
    if (run->is_stored) {
        int r = open_stored(run, ret_pidfd);
        if (r != -EACCES)
            return r;
        run->is_stored = false;
    }
    if (dir >= 0 && rundir_is_locked_at(dir) == 0)
        return -ESRCH;
    return open_told(run, dir, ret_pidfd);
}

void local_unhide(struct local_run *run) {
    struct local *ex = run->ex;
    _cleanup_(fd_closep) int dir = -1;
    int pidfd = -1;
    int opened = rundir_open_at(ex->root, run->folder, &dir, NULL);
    int r = find_shim(run, dir, &pidfd);
    if (r == -ESRCH || (r < 0 && opened == -ENOENT)) {
        set_over(run, true);
        return;
    }
    if (r < 0 || local_watch_shim(run, pidfd, NULL) < 0)
        return;
    watch_lock(run);
    /* Read again: it may have changed before the file was watched. */
    if (dir < 0 || rundir_read_started_at(dir, run->tag_key, &run->who, NULL) < 0)
        return;
    if (run->who.command > 0)
        local_tell_started(run, run->who.at);
    if (run->who.validating)
        local_tell_validating(run);
}

static void take_known(struct local_run *run, const struct executor_known *known, bool same_boot) {
    local_set_key(run, known->key);
    const struct executor_shim *shim = &known->shim;
    if (!same_boot || shim->pid <= 1 || shim->start == 0 || shim->space != run->ex->pid_space)
        return;
    run->is_stored = true;
    run->shim_start = shim->start;
    set_shim(run, shim->pid);
    if (shim->cgroup && cgroup_is_ours(run->ex->cgroups, shim->cgroup))
        run->old_cgroup = xstrdup(shim->cgroup);
}

enum adopted local_adopt(struct executor *base, struct run_key key, const char *folder,
                         const struct executor_known *known) {
    struct local *ex = local_of(base);
    const char *boot_id = known->boot_id ? known->boot_id : "";
    if (local_find(ex, key))
        return ADOPTED_ALIVE;
    struct local_run *run = local_run_new(ex, key, folder);
    bool same_boot = *boot_id == '\0' || strcmp(boot_id, base->boot_id) == 0;
    _cleanup_(fd_closep) int dir = -1;
    _cleanup_(fd_closep) int pidfd = -1;
    take_known(run, known, same_boot);
    int r = rundir_open_at(ex->root, folder, &dir, NULL);
    /* It is lost. A daemon beside us that has lost the store, and does not know it yet, may be about to start it: it must
     * find the folder made. If it was quicker, its run is adopted. */
    if (r == -ENOENT && same_boot && rundir_make_at(ex->root, folder, NULL) == -EEXIST)
        r = rundir_open_at(ex->root, folder, &dir, NULL);
    if (dir >= 0 && same_boot && !run->old_cgroup)
        run->old_cgroup = read_cgroup(ex, dir, run->tag_key);
    bool is_away = dir < 0 && (r == -ENOENT || r == -ENOTDIR || r == -EINVAL);
    /* Its processes are known from now on, before anybody can ask. It is watched from the loop. */
    if (same_boot && (!is_away || run->is_stored) && find_shim(run, dir, &pidfd) != -ESRCH) {
        local_set_pending(run, LOCAL_HIDDEN);
        return ADOPTED_ALIVE;
    }
    if (dir >= 0 && run->shim == 0
        && rundir_read_started_at(dir, run->tag_key, &run->who, NULL) == 0)
        run->shim = run->who.shim;
    set_over(run, same_boot);
    bool ended = run->has_end;
    local_set_pending(run, run->state);
    return ended ? ADOPTED_ENDED : ADOPTED_LOST;
}

/* --- all of them ----------------------------------------------------------------------------- */

/* Slurm's runs have no lock that could be asked: their own executor knows about them. */
static bool is_of_slurm(int dir) {
    return faccessat(dir, "slurm", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum sweep_verdict sweep_look(void *ctx, const char *folder, const char *task,
                                     uint32_t attempt) {
    struct local *ex = ctx;
    _cleanup_(fd_closep) int dir = -1;
    if (rundir_open_at(ex->root, folder, &dir, NULL) < 0)
        return SWEEP_KEEP;
    if (is_of_slurm(dir))
        return SWEEP_LEAVE;
    int locked = rundir_is_locked_at(dir);
    if (locked <= 0)
        return locked == 0 ? SWEEP_REMOVE : SWEEP_KEEP;
    struct run_started who = { 0 };
    (void)rundir_read_started_at(dir, NULL, &who, NULL);
    struct local_run *run = local_run_new(ex, (struct run_key){ 0 }, folder);
    run->external_task = xstrdup(task);
    run->external_attempt = attempt;
    run->old_cgroup = read_cgroup(ex, dir, NULL);
    local_set_pending(run, LOCAL_HIDDEN);
    if (ex->sweep.external)
        ex->sweep.external(ex->sweep.ctx, task, attempt, &who);
    return SWEEP_KEEP;
}

static bool cgroup_used_by_run(void *ctx, const char *path) {
    const struct local *ex = ctx;
    for (size_t i = 1; i < ex->runs.count; i++) {
        const struct local_run *run = local_at(ex, i);
        if (run && run->old_cgroup && strcmp(run->old_cgroup, path) == 0)
            return true;
    }
    return false;
}

int local_sweep(struct executor *base, struct executor_sweep *sweep, struct error *err) {
    struct local *ex = local_of(base);
    ex->sweep = *sweep;
    struct sweep all = { ex->root, ex->root_path, ex->trash, &ex->runs, sweep_look, ex };
    int r = sweep_folders(&all, sweep, err);
    if (r < 0)
        return r;
    cgroup_sweep(ex->cgroups, cgroup_used_by_run, ex);
    return 0;
}
