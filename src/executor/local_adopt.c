/* local_adopt.c: finds runs again that an earlier daemon has started.
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
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "executor/proc.h"
#include "executor/sweep.h"
#include "os/files.h"
#include "os/inotify.h"

/* --- checks that began before us ------------------------------------------------------------- */

static void lock_heard(void *ctx, const struct inotify_event *event) {
    struct local *ex = ctx;
    for (size_t i = 1; i < ex->runs.count; i++) {
        struct local_run *run = local_at(ex, i);
        struct run_started who;
        if (!run || run->lock_watch != event->wd
            || rundir_read_started(ex->root_path, run->folder, &who, NULL) < 0)
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

/* The cgroup of its spec, if it is one that a daemon of this root has made: the file could have been
 * changed by the command itself, and everybody in that cgroup may be killed. */
static char *read_cgroup(const struct local *ex, int dir) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (rundir_read_spec_at(dir, &read, NULL) < 0 || !read->spec.cgroup
        || !cgroup_is_ours(ex->cgroups, read->spec.cgroup))
        return NULL;
    return xstrdup(read->spec.cgroup);
}

static void set_over(struct local_run *run, bool same_boot) {
    local_conclude(run);
    run->state = same_boot ? LOCAL_DYING : LOCAL_OVER;
}

/* Is the process that the lock file names the one that wrote it? If the lock is still held after the
 * pidfd was opened, the shim has lived all the time in between, and its number was nobody else's. But the
 * file can be written by the command, too, and whom it names may be killed: so it must be called a shim
 * of this run. */
static int open_shim(const struct local_run *run, int dir) {
    int pidfd = (int)syscall(SYS_pidfd_open, run->who.shim, 0);
    if (pidfd < 0)
        return -1;
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (rundir_read_spec_at(dir, &read, NULL) == 0 && proc_is_shim(run->who.shim, read->spec.run)
        && rundir_is_locked_at(dir) > 0)
        return pidfd;
    close(pidfd);
    return -1;
}

static void set_shim(struct local_run *run, pid_t shim) {
    if (run->shim != shim)
        run->ex->base.kin_epoch++;
    run->shim = shim;
}

void local_unhide(struct local_run *run) {
    struct local *ex = run->ex;
    _cleanup_(fd_closep) int dir = -1;
    if (rundir_open_at(ex->root, run->folder, &dir, NULL) == -ENOENT
        || (dir >= 0 && rundir_is_locked_at(dir) == 0)) {
        set_over(run, true);
        return;
    }
    if (dir < 0 || rundir_read_started_at(dir, &run->who, NULL) < 0)
        return;
    int pidfd = open_shim(run, dir);
    if (pidfd < 0 || local_watch_shim(run, pidfd, NULL) < 0)
        return;
    set_shim(run, run->who.shim);
    watch_lock(run);
    /* Read again: it may have changed before the file was watched. */
    if (rundir_read_started_at(dir, &run->who, NULL) < 0)
        return;
    if (run->who.command > 0)
        local_tell_started(run, run->who.at);
    if (run->who.validating)
        local_tell_validating(run);
}

/* Its processes are known from now on, before anybody can ask; it is watched from the loop. */
static void find_shim(struct local_run *run, int dir) {
    int pidfd =
        dir >= 0 && rundir_read_started_at(dir, &run->who, NULL) == 0 ? open_shim(run, dir) : -1;
    if (pidfd < 0)
        return;
    close(pidfd);
    set_shim(run, run->who.shim);
}

enum adopted local_adopt(struct executor *base, struct run_key key, const char *folder,
                         const char *boot_id) {
    struct local *ex = local_of(base);
    if (local_find(ex, key))
        return ADOPTED_ALIVE;
    struct local_run *run = local_run_new(ex, key, folder);
    bool same_boot = *boot_id == '\0' || strcmp(boot_id, base->boot_id) == 0;
    _cleanup_(fd_closep) int dir = -1;
    int r = rundir_open_at(ex->root, folder, &dir, NULL);
    /* It is lost. A daemon beside us that has lost the store, and does not know it yet, may be about to start it: it must
     * find the folder made. If it was quicker, its run is adopted. */
    if (r == -ENOENT && same_boot && rundir_make_at(ex->root, folder, NULL) == -EEXIST)
        r = rundir_open_at(ex->root, folder, &dir, NULL);
    int locked = dir >= 0 ? rundir_is_locked_at(dir) : 0;
    if (dir >= 0 && same_boot)
        run->old_cgroup = read_cgroup(ex, dir);
    if (same_boot && (locked != 0 || (r < 0 && r != -ENOENT && r != -ENOTDIR && r != -EINVAL))) {
        find_shim(run, dir);
        local_set_pending(run, LOCAL_HIDDEN);
        return ADOPTED_ALIVE;
    }
    if (dir >= 0)
        (void)rundir_read_started_at(dir, &run->who, NULL);
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
    (void)rundir_read_started_at(dir, &who, NULL);
    struct local_run *run = local_run_new(ex, (struct run_key){ 0 }, folder);
    run->external_task = xstrdup(task);
    run->external_attempt = attempt;
    run->old_cgroup = read_cgroup(ex, dir);
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
