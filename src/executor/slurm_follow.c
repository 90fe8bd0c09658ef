/* slurm_follow.c: how a run ended, from what Slurm lists and what is in its folder.
 *
 * The record of the shim is the truth, and it is looked for first. Without one: a run that has not begun is
 * closed, so that it never will, and has ended as its job has; one that has begun gets some time, because its
 * record may be on its way to us, and is lost after that. Only a job that was listed as ended, or that was
 * missing in several good answers over some time, counts as ended: a controller that was restarted may need
 * a while to know its jobs again. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "executor/slurm_internal.h"
#include "os/files.h"

#define MISSED_MIN  2 /* good answers */
#define ANSWER_LATE 4 /* times the patience; then it goes without */

#define EXIT_NO_ACCESS  126 /* of /bin/sh: it cannot run the shim */
#define EXIT_NO_PROGRAM 127

/* --- what is told ---------------------------------------------------------------------------- */

static void tell_started(struct slurm_run *run, time_ms at) {
    if (run->told_started)
        return;
    run->told_started = true;
    if (!run->external_task)
        run->ex->base.events.started(run->ex->base.events.ctx, run->key, at);
}

static void tell_validating(struct slurm_run *run) {
    if (run->told_validating)
        return;
    run->told_validating = true;
    if (!run->external_task)
        run->ex->base.events.validating(run->ex->base.events.ctx, run->key);
}

static void tell_end(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    struct run_end end = run->end;
    struct run_key key = run->key;
    if (run->external_task) {
        if (ex->sweep.external_ended)
            ex->sweep.external_ended(ex->sweep.ctx, run->external_task, run->external_attempt);
        slurm_run_free(run);
        return;
    }
    if (end.started_at > 0)
        tell_started(run, end.started_at);
    slurm_run_free(run);
    ex->base.events.ended(ex->base.events.ctx, key, &end);
}

void slurm_over_due(void *ctx) {
    struct slurm *ex = ctx;
    for (size_t i = 1; i < ex->runs.count && ex->over_count > 0; i++)
        if (slurm_at(ex, i) && slurm_at(ex, i)->state == SLURM_OVER)
            tell_end(slurm_at(ex, i));
}

/* --- what its job has become ----------------------------------------------------------------- */

struct verdict {
    enum run_end_kind kind;
    int signal;
    char message[256];
};

#define SAY(verdict, ...)                                                                          \
    (void)snprintf((verdict)->message, sizeof((verdict)->message), __VA_ARGS__)

static void judge_cancelled(const struct slurm_run *run, struct verdict *ret) {
    if (run->has.cancelled_by >= 0)
        SAY(ret, "job %" PRIu64 " was cancelled in Slurm by user %" PRId64, run->job,
            run->has.cancelled_by);
    else
        SAY(ret, "job %" PRIu64 " was cancelled in Slurm", run->job);
}

/* Its script ended before the shim had begun: what is missing on that node? */
static void judge_not_begun(const struct slurm_run *run, struct verdict *ret) {
    const struct slurm *ex = run->ex;
    const char *node = run->has.node[0] ? run->has.node : "?";
    int code = run->has.code;
    ret->kind = RUN_END_LAUNCH;
    if (code == EXIT_NO_PROGRAM || code == EXIT_NO_ACCESS)
        SAY(ret, "cannot run the shim '%.120s' on node '%.40s': put it there under that name",
            ex->shim_path, node);
    else if (code == RUN_NODE_NO_FOLDER)
        SAY(ret, "node '%.40s' has no folder '%.120s': put the runs on a shared file system", node,
            ex->root_path);
    else if (code == RUN_NODE_NO_WRITE)
        SAY(ret, "node '%.40s' cannot write into folder '%.120s': is it mounted read-only there?",
            node, ex->root_path);
    else if (run->has.node[0] == '\0' && run->has.reason[0])
        SAY(ret, "job %" PRIu64 " failed in Slurm: %.60s", run->job, run->has.reason);
    else
        SAY(ret, "job %" PRIu64 " failed on node '%.40s' before it began: exit code %d, signal %d",
            run->job, node, code, run->has.signal);
}

static void judge_failed(const struct slurm_run *run, struct verdict *ret) {
    if (!run->begun)
        judge_not_begun(run, ret);
    else if (run->has.code == RUN_NODE_BEGUN)
        SAY(ret,
            "Slurm ended job %" PRIu64 " and started it again: what was begun is not begun twice",
            run->job);
    else
        SAY(ret, "job %" PRIu64 " failed with exit code %d, signal %d, and has recorded no end",
            run->job, run->has.code, run->has.signal);
}

/* What the state of its job makes of a run without a record. Whatever is not the doing of the task is
 * `lost`: it may run again, and nothing counts against it. */
static void judge(const struct slurm_run *run, struct verdict *ret) {
    *ret = (struct verdict){ .kind = RUN_END_LOST };
    switch (run->has.state) {
    case JOB_CANCELLED:
        judge_cancelled(run, ret);
        break;
    case JOB_TIMEOUT:
        ret->kind = run->begun ? RUN_END_TIMEOUT : RUN_END_LOST;
        SAY(ret, "Slurm ended job %" PRIu64 ": its time limit was over", run->job);
        break;
    case JOB_OUT_OF_MEMORY:
        ret->kind = RUN_END_SIGNAL;
        ret->signal = SIGKILL;
        SAY(ret, "Slurm killed it: it used more memory than job %" PRIu64 " was given", run->job);
        break;
    case JOB_NODE_FAIL:
        SAY(ret, "node '%.60s' failed", run->node[0] ? run->node : run->has.node);
        break;
    case JOB_PREEMPTED:
        SAY(ret, "job %" PRIu64 " was preempted by another one", run->job);
        break;
    case JOB_FAILED:
        judge_failed(run, ret);
        break;
    case JOB_PENDING:
        SAY(ret, "job %" PRIu64 " was put back into the queue by Slurm", run->job);
        break;
    case JOB_COMPLETED:
        SAY(ret, "job %" PRIu64 " is over and has recorded no end", run->job);
        break;
    case JOB_UNKNOWN:
    case JOB_RUNNING:
    case JOB_ENDING:
    case JOB_STATE_MAX:
        SAY(ret, "Slurm does not know job %" PRIu64 " any more, and it has recorded no end",
            run->job);
        break;
    }
    if (run->stop_asked) {
        ret->kind = RUN_END_STOPPED;
        ret->signal = run->begun ? SIGKILL : 0;
    }
}

/* --- ends ------------------------------------------------------------------------------------ */

static void end_without_record(struct slurm_run *run, const struct verdict *verdict) {
    run->end = (struct run_end){ .kind = verdict->kind,
                                 .code = -1,
                                 .signal = verdict->signal,
                                 .cause = LAUNCH_HOST,
                                 .ended_at = loop_now(run->ex->loop) };
    (void)snprintf(run->end.message, sizeof(run->end.message), "%s", verdict->message);
    slurm_set_over(run);
}

/* The shim was told by Slurm to end, and says so; or its command was killed, and nobody of us did it. Why, only
 * Slurm knows. */
static bool is_stopped_by_slurm(const struct slurm_run *run) {
    return run->end.kind == RUN_END_STOPPED && strstr(run->end.applied, "slurm.term")
           && !run->stop_asked;
}

static bool is_killed_by_somebody(const struct slurm_run *run) {
    return run->end.kind == RUN_END_SIGNAL && run->end.signal == SIGKILL
           && run->end.message[0] == '\0';
}

/* What is known by now about why it ended is all that will be. */
static void end_by_slurm(struct slurm_run *run) {
    struct verdict verdict;
    judge(run, &verdict);
    bool plain = run->gone || run->has.state == JOB_COMPLETED || run->has.state == JOB_FAILED
                 || !slurm_job_is_over(run->has.state);
    if (plain && !run->stop_asked) {
        verdict.kind = RUN_END_LOST;
        SAY(&verdict, "Slurm told job %" PRIu64 " to end", run->job);
    }
    if (is_stopped_by_slurm(run))
        run->end.kind = verdict.kind;
    if (run->end.kind == verdict.kind)
        (void)snprintf(run->end.message, sizeof(run->end.message), "%s", verdict.message);
    slurm_set_over(run);
}

void slurm_follow_late(struct slurm_run *run) {
    time_ms wait = run->ex->patience * (is_stopped_by_slurm(run) ? ANSWER_LATE : 1);
    if (run->has_end && run->state != SLURM_OVER
        && loop_now_steady(run->ex->loop) - run->over_since >= wait)
        end_by_slurm(run);
}

/* A daemon that has lost the store, and does not know it yet, may be about to make the folder: it must find it made. */
static int open_or_make(const struct slurm_run *run, int *ret_dir) {
    int r = slurm_folder_open(run, ret_dir);
    if (r == -ENOENT && rundir_make_at(run->ex->root, run->folder, NULL) >= 0)
        r = slurm_folder_open(run, ret_dir);
    return r;
}

/* -EEXIST: a shim was first. */
static int close_folder(struct slurm_run *run) {
    _cleanup_(fd_closep) int dir = -1;
    int r = open_or_make(run, &dir);
    if (r == 0)
        r = rundir_begin_at(dir, RUN_BEGIN_CLOSED);
    if (r == -EEXIST)
        slurm_look(run);
    return r == -ENOENT || r == -ENOTDIR ? 0 : r; /* without its folder no shim begins either */
}

static void end_unbegun(struct slurm_run *run, enum run_end_kind kind, int error,
                        const char *message) {
    struct verdict verdict = { .kind = kind };
    SAY(&verdict, "%.250s", message);
    end_without_record(run, &verdict);
    run->end.exec_errno = kind == RUN_END_LAUNCH ? error : 0;
    if (run->job && !slurm_job_is_over(run->has.state) && !run->gone)
        slurm_cancel(run->ex, run->job);
}

bool slurm_give_up(struct slurm_run *run, enum run_end_kind kind, int error, const char *message) {
    if (close_folder(run) < 0)
        return false;
    end_unbegun(run, kind, error, message);
    return true;
}

bool slurm_end_jobless(struct slurm_run *run, enum run_end_kind kind, int error,
                       const char *message) {
    if (close_folder(run) == -EEXIST)
        return false;
    end_unbegun(run, kind, error, message);
    return true;
}

/* --- the folder ------------------------------------------------------------------------------ */

static void note_begun(struct slurm_run *run, int dir) {
    struct slurm *ex = run->ex;
    uint64_t job = 0;
    int begun = slurm_folder_begun(dir, &job, run->node);
    if (begun == 2) {
        (void)slurm_give_up(run, run->stop_asked ? RUN_END_STOPPED : RUN_END_LOST, 0,
                            "it was given up before it began");
        return;
    }
    if (begun != 1)
        return;
    run->begun = true;
    run->heard_after = ex->asks;
    run->missed = 0;
    if (run->state == SLURM_QUEUED) /* an earlier sbatch was accepted after all */
        slurm_unqueue(run);
    if (run->state != SLURM_SUBMITTING)
        run->state = SLURM_FOLLOWED;
    if (run->job == job)
        return;
    if (run->job)
        slurm_cancel(ex, run->job);
    run->has = (struct slurm_job){ .id = job };
    slurm_set_job(run, job);
}

/* It could not be read when the run was adopted. */
static void read_order(struct slurm_run *run, int dir) {
    struct slurm_order order = { 0 };
    if (slurm_folder_read_order(dir, &order) == 0)
        slurm_run_set_order(run, &order);
}

void slurm_look(struct slurm_run *run) {
    struct run_started who;
    struct run_end end;
    _cleanup_(fd_closep) int dir = -1;
    if (run->state == SLURM_OVER || run->has_end || slurm_folder_open(run, &dir) < 0)
        return;
    if (!run->order.words)
        read_order(run, dir);
    if (!run->begun)
        note_begun(run, dir);
    if (!run->begun)
        return;
    if (!run->told_validating && rundir_read_started_at(dir, NULL, &who, NULL) == 0) {
        if (who.command > 0)
            tell_started(run, who.at);
        if (who.validating)
            tell_validating(run);
    }
    if (rundir_read_end_at(dir, NULL, &end, NULL) < 0) /* none, or a part of one */
        return;
    run->end = end;
    run->has_end = true;
    if (!is_stopped_by_slurm(run) && !is_killed_by_somebody(run)) {
        slurm_set_over(run);
        return;
    }
    run->over_since = loop_now_steady(run->ex->loop);
    slurm_ask_soon(run->ex);
}

/* --- what was heard -------------------------------------------------------------------------- */

/* A folder that cannot be closed may be closed later; but not for ever, because there is no job any more. */
static void conclude_unbegun(struct slurm_run *run, const struct verdict *verdict, time_ms now) {
    if (now - run->over_since < ANSWER_LATE * run->ex->patience)
        (void)slurm_give_up(run, verdict->kind, ENOEXEC, verdict->message);
    else
        (void)slurm_end_jobless(run, verdict->kind, ENOEXEC, verdict->message);
}

/* Its job is over, or nobody knows it: what does that mean? */
static void conclude(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    struct verdict verdict;
    time_ms now = loop_now_steady(ex->loop);
    if (run->over_since == 0)
        run->over_since = now;
    slurm_look(run);
    if (run->state == SLURM_OVER)
        return;
    if (run->has_end) {
        end_by_slurm(run);
        return;
    }
    judge(run, &verdict);
    if (!run->begun) {
        conclude_unbegun(run, &verdict, now);
        return;
    }
    time_ms wait = run->has.state == JOB_PENDING ? ex->patience : ex->record_delay;
    if (now - run->over_since < wait)
        return;
    _cleanup_(fd_closep) int dir = -1;
    if (slurm_folder_open(run, &dir) == 0) {
        slurm_folder_refresh(dir);
        slurm_look(run);
    }
    if (run->state == SLURM_OVER || run->has_end)
        return;
    if (run->has.state == JOB_PENDING)
        slurm_cancel(ex, run->job);
    end_without_record(run, &verdict);
}

static bool was_missed_for(const struct slurm_run *run, time_ms span) {
    return run->missed >= MISSED_MIN && loop_now_steady(run->ex->loop) - run->missed_since >= span;
}

/* Perhaps it was submitted, and now it is known that it was not. */
static void follow_jobless(struct slurm_run *run) {
    run->missed = 0;
    if (run->stop_asked)
        (void)slurm_end_jobless(run, RUN_END_STOPPED, 0, "it was stopped before it began");
    else if (run->order.words)
        slurm_queue(run);
    else
        (void)slurm_end_jobless(run, RUN_END_LOST, 0,
                                "Slurm has no job of it, and its folder does not say what to "
                                "submit: look at the file system of the runs");
}

static void follow_missing(struct slurm_run *run) {
    if (run->missed++ == 0)
        run->missed_since = loop_now_steady(run->ex->loop);
    slurm_look(run);
    if (run->state == SLURM_OVER || !was_missed_for(run, run->ex->patience))
        return;
    if (run->state == SLURM_DOUBTFUL && !run->external_task) {
        follow_jobless(run);
        return;
    }
    run->gone = true; /* accounting may know more; if there is any, and if it answers */
    if (!run->ex->use_sacct || !run->job || was_missed_for(run, ANSWER_LATE * run->ex->patience))
        conclude(run);
}

void slurm_follow_accounting(struct slurm_run *run, const struct slurm_job *job) {
    if (!run->gone || run->state == SLURM_OVER)
        return;
    if (job && slurm_job_is_over(job->state))
        run->has = *job;
    conclude(run);
}

void slurm_follow(struct slurm_run *run, uint64_t number) {
    if (run->seen != number) {
        if (number > run->heard_after)
            follow_missing(run);
        return;
    }
    run->missed = 0;
    run->gone = false;
    if (run->state == SLURM_DOUBTFUL)
        run->state = SLURM_FOLLOWED;
    bool requeued = run->begun && run->has.state == JOB_PENDING && number > run->heard_after;
    if (slurm_job_is_over(run->has.state) || requeued) {
        conclude(run);
        return;
    }
    if (!run->has_end)
        run->over_since = 0;
    if (run->has.state == JOB_ENDING || (run->has.state == JOB_RUNNING && !run->told_started))
        slurm_look(run);
}
