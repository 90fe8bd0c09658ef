/* slurm_stop.c: ends runs that are somewhere else, and takes back jobs that nobody needs.
 *
 * A run that has not begun is closed: nothing of it will ever run, whatever becomes of its job. One that has is
 * asked through its shim (a signal for the script alone, which is the shim), so that it has its own grace
 * and its end is recorded; only when that leads to nothing Slurm ends the whole job in its own way. All
 * that are due go into one call. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "executor/slurm_internal.h"

#define JOBS_EACH    SLURM_CANCELS
#define STEP_MARGIN  SECONDS(15)
#define UNWANTED_MAX 20 /* calls that failed in a row, until jobs of closed runs are left alone */

enum { STEP_ASK, STEP_CANCEL, STEP_KILL };

/* --- one run --------------------------------------------------------------------------------- */

static void look_at_stops(struct slurm *ex) {
    loop_timer_set(ex->loop, ex->stop_timer, loop_now_steady(ex->loop));
}

int slurm_stop(struct executor *base, struct run_key key, enum stop_how how) {
    struct slurm *ex = slurm_of(base);
    struct slurm_run *run = slurm_find(ex, key);
    if (!run || run->state == SLURM_OVER)
        return -ENOENT;
    if (run->stop_asked && (run->stop_how == how || run->stop_how == STOP_AT_ONCE))
        return 0;
    run->stop_asked = true;
    run->stop_how = how;
    run->stop_step = STEP_ASK;
    run->stop_at = loop_now_steady(ex->loop);
    look_at_stops(ex);
    return 0;
}

void slurm_cancel(struct slurm *ex, uint64_t job) {
    for (size_t i = 0; i < ex->unwanted_count; i++)
        if (ex->unwanted[i] == job)
            return;
    ex->unwanted =
        xgrow(ex->unwanted, &ex->unwanted_capacity, ex->unwanted_count + 1, sizeof(uint64_t));
    ex->unwanted[ex->unwanted_count++] = job;
    look_at_stops(ex);
}

/* Nothing runs yet, and now nothing will. true: so it is. */
static bool stop_unbegun(struct slurm_run *run) {
    if (run->begun || run->state == SLURM_OVER)
        return run->state == SLURM_OVER;
    static const char why[] = "it was stopped before it began";
    if (run->state == SLURM_QUEUED)
        slurm_unqueue(run);
    bool closed = run->state == SLURM_QUEUED ? slurm_end_jobless(run, RUN_END_STOPPED, 0, why)
                                             : slurm_give_up(run, RUN_END_STOPPED, 0, why);
    if (closed || run->begun)
        return closed;
    if (run->state == SLURM_QUEUED)
        slurm_queue(run);
    else if (run->job && !slurm_job_is_over(run->has.state)) /* then its job must not begin */
        slurm_cancel(run->ex, run->job);
    return false;
}

/* --- calls ----------------------------------------------------------------------------------- */

static void cancel_ended(void *ctx, const struct aside_end *end) {
    struct slurm *ex = ctx;
    bool good = slurm_call_went_well(end);
    time_ms now = loop_now_steady(ex->loop);
    ex->cancel_call = NULL;
    /* One that is gone already is no error of this call (--quiet); whatever else went wrong comes again. */
    for (size_t i = 0; i < ex->cancel_count && !good; i++)
        for (size_t k = 1; k < ex->runs.count; k++) {
            struct slurm_run *run = slurm_at(ex, k);
            if (run && run->job == ex->cancel_jobs[i] && run->stop_asked) {
                run->stop_step = ex->cancel_step;
                run->stop_at = now + 2 * ex->retry;
            }
        }
    if (ex->cancel_unwanted) {
        ex->unwanted_tries = good ? 0 : ex->unwanted_tries + 1;
        if (good || ex->unwanted_tries >= UNWANTED_MAX) {
            ex->unwanted_count -= ex->cancel_count;
            memmove(ex->unwanted, ex->unwanted + ex->cancel_count,
                    ex->unwanted_count * sizeof(uint64_t));
            ex->unwanted_tries = 0;
        }
    }
    slurm_ask_soon(ex);
    loop_timer_set(ex->loop, ex->stop_timer, good ? now : now + 2 * ex->retry);
}

static void call_scancel(struct slurm *ex, const char *const *options) {
    char ids[JOBS_EACH][24];
    const char *argv[JOBS_EACH + 8];
    size_t count = 0;
    argv[count++] = ex->programs[PROGRAM_SCANCEL];
    argv[count++] = "--quiet";
    for (; *options; options++)
        argv[count++] = *options;
    for (size_t i = 0; i < ex->cancel_count; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "%" PRIu64, ex->cancel_jobs[i]);
        argv[count++] = ids[i];
    }
    argv[count] = NULL;
    if (slurm_call(ex, argv, false, cancel_ended, ex, &ex->cancel_call) < 0)
        loop_timer_set(ex->loop, ex->stop_timer, loop_now_steady(ex->loop) + 2 * ex->retry);
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool is_due(const struct slurm_run *run, time_ms now) {
    return run && run->stop_asked && run->begun && run->job && run->state != SLURM_OVER
           && !run->has_end && now >= run->stop_at;
}

static void next_step(struct slurm_run *run, time_ms now) {
    struct slurm *ex = run->ex;
    time_ms wait = run->stop_how == STOP_POLITELY ? run->order.grace : 0;
    if (run->stop_step == STEP_CANCEL)
        wait = ex->kill_wait;
    run->stop_at = time_add(now, time_add(wait, STEP_MARGIN));
    if (run->stop_step < STEP_KILL)
        run->stop_step++;
}

/* Those who are to be told the same. 0: nobody is due. */
static size_t collect(struct slurm *ex, const struct slurm_run *first, time_ms now) {
    unsigned step = first->stop_step;
    enum stop_how how = first->stop_how;
    ex->cancel_count = 0;
    ex->cancel_step = step;
    ex->cancel_unwanted = false;
    for (size_t i = first->index; i < ex->runs.count && ex->cancel_count < JOBS_EACH; i++) {
        struct slurm_run *run = slurm_at(ex, i);
        if (!is_due(run, now) || run->stop_step != step || run->stop_how != how)
            continue;
        ex->cancel_jobs[ex->cancel_count++] = run->job;
        next_step(run, now);
    }
    return ex->cancel_count;
}

static void signal_runs(struct slurm *ex, const struct slurm_run *first, time_ms now) {
    static const char *const politely[] = { "--batch", "--signal=USR2", NULL };
    static const char *const at_once[] = { "--batch", "--signal=USR1", NULL };
    static const char *const cancel[] = { NULL };
    static const char *const kill[] = { "--full", "--signal=KILL", NULL };
    const char *const *options = first->stop_step == STEP_CANCEL    ? cancel
                                 : first->stop_step == STEP_KILL    ? kill
                                 : first->stop_how == STOP_POLITELY ? politely
                                                                    : at_once;
    (void)collect(ex, first, now);
    call_scancel(ex, options);
}

static void drop_needed(struct slurm *ex) {
    size_t count = 0;
    for (size_t i = 0; i < ex->unwanted_count; i++)
        if (ex->unwanted[i])
            ex->unwanted[count++] = ex->unwanted[i];
    ex->unwanted_count = count;
}

static void cancel_unwanted(struct slurm *ex) {
    static const char *const options[] = { NULL };
    drop_needed(ex);
    if (ex->unwanted_count == 0)
        return;
    ex->cancel_count = ex->unwanted_count < JOBS_EACH ? ex->unwanted_count : JOBS_EACH;
    memcpy(ex->cancel_jobs, ex->unwanted, ex->cancel_count * sizeof(uint64_t));
    ex->cancel_unwanted = true;
    call_scancel(ex, options);
}

void slurm_stop_due(void *ctx) {
    struct slurm *ex = ctx;
    time_ms now = loop_now_steady(ex->loop), next = TIME_NEVER;
    struct slurm_run *first = NULL;
    for (size_t i = 1; i < ex->runs.count; i++) {
        struct slurm_run *run = slurm_at(ex, i);
        if (!run || !run->stop_asked || run->state == SLURM_OVER || stop_unbegun(run))
            continue;
        if (!first && is_due(run, now))
            first = run;
        if (!run->begun)
            run->stop_at = now + 2 * ex->retry;
        if (!is_due(run, now))
            next = time_min(next, run->stop_at);
    }
    if (!ex->cancel_call && first)
        signal_runs(ex, first, now);
    else if (!ex->cancel_call && ex->unwanted_count > 0)
        cancel_unwanted(ex);
    else if (next != TIME_NEVER && !ex->cancel_call) /* its end looks again */
        loop_timer_set(ex->loop, ex->stop_timer, time_max(next, now + 1));
}
