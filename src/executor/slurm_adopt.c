/* slurm_adopt.c: finds runs again that an earlier daemon, or one on another host, has handed over.
 *
 * The folder says everything: what to submit, who has begun, how it ended. A run without a known job may have
 * one all the same (the answer was lost with the daemon that waited for it), so it is looked for before it
 * is submitted. Only a run whose folder is not there, or was never whole, can be called lost at once; if that
 * folder can be closed. If not, Slurm is asked for its job first. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "executor/slurm_internal.h"
#include "executor/sweep.h"
#include "os/files.h"

static void follow(struct slurm_run *run, int dir) {
    struct slurm *ex = run->ex;
    run->job = dir >= 0 ? slurm_folder_read_job(dir) : 0;
    run->state = run->job ? SLURM_FOLLOWED : SLURM_DOUBTFUL;
    run->heard_after = ex->asks;
    run->missed_since = loop_now_steady(ex->loop);
    slurm_folder_watch(run);
    slurm_ask_soon(ex);
    loop_timer_set(ex->loop, ex->look_timer, loop_now_steady(ex->loop));
}

/* Its record is there and says all; one that Slurm has ended is asked about first. */
static bool has_plain_end(int dir) {
    struct run_end end;
    return rundir_read_end_at(dir, NULL, &end, NULL) == 0
           && !(end.kind == RUN_END_STOPPED && strstr(end.applied, "slurm.term"));
}

enum adopted slurm_adopt(struct executor *base, struct run_key key, const char *folder,
                         const struct executor_known *known) {
    struct slurm *ex = slurm_of(base);
    struct slurm_order order = { 0 };
    _cleanup_(fd_closep) int dir = -1;
    (void)known; /* which host was booted when means nothing to a job */
    if (slurm_find(ex, key))
        return ADOPTED_ALIVE;
    int r = rundir_open_at(ex->root, folder, &dir, NULL);
    if (r == 0)
        r = slurm_folder_read_order(dir, &order);
    struct slurm_run *run = slurm_run_new(ex, key, folder, &order);
    bool unsubmitted = r == -ENOENT || r == -ENOTDIR || r == -EPROTO;
    if (unsubmitted
        && slurm_give_up(run, RUN_END_LOST, 0,
                         "its folder is gone, or it was never handed over to Slurm"))
        return ADOPTED_LOST;
    follow(run, dir);
    return dir >= 0 && has_plain_end(dir) ? ADOPTED_ENDED : ADOPTED_ALIVE;
}

/* --- all of them ----------------------------------------------------------------------------- */

static bool is_over(int dir) {
    struct run_end end;
    uint64_t job;
    char node[SLURM_NODE_MAX];
    return rundir_read_end_at(dir, NULL, &end, NULL) == 0
           || slurm_folder_begun(dir, &job, node) == 2;
}

static enum sweep_verdict sweep_look(void *ctx, const char *folder, const char *task,
                                     uint32_t attempt) {
    struct slurm *ex = ctx;
    struct slurm_order order = { 0 };
    struct run_started who = { 0 };
    _cleanup_(fd_closep) int dir = -1;
    if (rundir_open_at(ex->root, folder, &dir, NULL) < 0)
        return SWEEP_KEEP;
    int r = slurm_folder_read_order(dir, &order);
    if (r == -EPROTO)
        return SWEEP_REMOVE; /* never whole, so never submitted */
    if (r < 0)
        return SWEEP_KEEP; /* none of ours; or nobody can say now */
    if (is_over(dir)) {
        slurm_order_finish(&order);
        return SWEEP_REMOVE;
    }
    struct slurm_run *run = slurm_run_new(ex, (struct run_key){ 0 }, folder, &order);
    run->external_task = xstrdup(task);
    run->external_attempt = attempt;
    follow(run, dir);
    (void)rundir_read_started_at(dir, NULL, &who, NULL);
    if (ex->sweep.external)
        ex->sweep.external(ex->sweep.ctx, task, attempt, &who);
    return SWEEP_KEEP;
}

int slurm_sweep(struct executor *base, struct executor_sweep *sweep, struct error *err) {
    struct slurm *ex = slurm_of(base);
    ex->sweep = *sweep;
    struct sweep all = { ex->root, ex->root_path, ex->trash, &ex->runs, sweep_look, ex };
    return sweep_folders(&all, sweep, err);
}
