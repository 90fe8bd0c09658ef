/* slurm_ask.c: asks Slurm about all runs at once, and no more often than is of use.
 *
 * One squeue lists every job of this user with its comment, also those that ended lately, so a job is found by
 * its token whether its number is known or not. Asked soon after something has changed, ever more seldom
 * while nothing does, and never while there is nothing to ask about. An answer counts for what was the case
 * when the question was asked; a question without an answer counts for nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "executor/slurm_internal.h"

#define COST_SHARE 30 /* asking takes at most one part in so many of the time */
#define LOOKS_EACH 64 /* folders that are looked into without a reason, after each answer */

static const char squeue_format[] = "--Format=" SLURM_SQUEUE_COLUMNS;
static const char sacct_format[] = "--format=" SLURM_SACCT_COLUMNS;

/* Whoever wants it sooner gets it sooner; nobody can put it off for the others. */
static void ask_at(struct slurm *ex, time_ms at) {
    at = time_max(at, ex->ask_rest);
    if (ex->ask_call || at >= ex->ask_next)
        return; /* after an answer it is seen again when to ask */
    ex->ask_next = at;
    loop_timer_set(ex->loop, ex->ask_timer, at);
}

void slurm_ask_soon(struct slurm *ex) {
    ex->busy = true;
    ex->ask_delay = ex->poll_busy;
    ask_at(ex, loop_now_steady(ex->loop) + ex->poll_busy);
}

/* --- squeue ---------------------------------------------------------------------------------- */

static bool is_asked_about(const struct slurm_run *run) {
    return run && (run->state == SLURM_DOUBTFUL || run->state == SLURM_FOLLOWED);
}

/* Something of it can change without anybody telling us. */
static bool is_restless(const struct slurm_run *run) {
    if (!is_asked_about(run))
        return false;
    bool begins = run->has.state == JOB_RUNNING && !run->told_started;
    return begins || run->state == SLURM_DOUBTFUL || run->missed > 0 || run->over_since > 0
           || run->stop_asked || run->has.state == JOB_ENDING;
}

/* After an answer that was lost there may be two jobs for one run. Whichever begins has it; until then
 * both stay, because none of them can be taken back without perhaps ending the one that begins. */
static void note_job(struct slurm_run *run, const struct slurm_job *job, uint64_t number) {
    if (run->job && run->job != job->id) {
        if (run->begun && !slurm_job_is_over(job->state) && job->state != JOB_ENDING)
            slurm_cancel(run->ex, job->id);
        return;
    }
    if (run->has.state != job->state || strcmp(run->has.reason, job->reason) != 0)
        run->ex->busy = true;
    run->has = *job;
    run->seen = number;
    if (!run->job)
        slurm_set_job(run, job->id);
}

/* Those who have a job, by its number: a list may have thousands of jobs that none of them has. */
struct numbered {
    uint64_t job; /* when the list came; it may have lost it since */
    struct slurm_run *run;
};

struct by_number {
    struct numbered *items;
    size_t count;
    bool made;
};

static void by_number_finish(struct by_number *index) {
    free(index->items);
}

static int compare_numbers(const void *a, const void *b) {
    uint64_t x = ((const struct numbered *)a)->job, y = ((const struct numbered *)b)->job;
    return (x > y) - (x < y);
}

static void make_index(struct slurm *ex, struct by_number *index) {
    index->made = true;
    index->items = xcalloc(ex->runs.count + 1, sizeof(*index->items));
    for (size_t i = 1; i < ex->runs.count; i++) {
        struct slurm_run *run = slurm_at(ex, i);
        if (is_asked_about(run) && run->job)
            index->items[index->count++] = (struct numbered){ run->job, run };
    }
    qsort(index->items, index->count, sizeof(*index->items), compare_numbers);
}

/* The comment is not ours alone: a site may write into it, and whoever owns the job. */
static struct slurm_run *find_renamed(struct slurm *ex, struct by_number *index,
                                      const struct slurm_job *job, const char *comment) {
    if (!index->made)
        make_index(ex, index);
    struct numbered key = { .job = job->id };
    const struct numbered *found =
        bsearch(&key, index->items, index->count, sizeof(key), compare_numbers);
    struct slurm_run *run = found ? found->run : NULL;
    bool ours = run && run->job == job->id && slurm_job_is_renamed(job, comment, &run->order);
    return ours ? run : NULL;
}

/* Nobody is told of an end from here, so no run goes; but one may lose its job, or get one. */
static void take_list(struct slurm *ex, char *list, uint64_t number) {
    _cleanup_(by_number_finish) struct by_number index = { 0 };
    struct slurm_job job;
    const char *token;
    while (slurm_job_read(&list, &job, &token)) {
        struct slurm_run *run = slurm_find_token(ex, token);
        if (!run)
            run = find_renamed(ex, &index, &job, token);
        if (is_asked_about(run))
            note_job(run, &job, number);
        else if (!run && !slurm_job_is_over(job.state))
            slurm_lose_job(ex, job.id, NULL);
    }
    for (size_t i = 1; i < ex->runs.count; i++)
        if (is_asked_about(slurm_at(ex, i)))
            slurm_follow(slurm_at(ex, i), number);
}

/* A shared file system tells nobody of a change on another host. */
static void look_at_some(struct slurm *ex) {
    size_t left = ex->runs.count < LOOKS_EACH ? ex->runs.count : LOOKS_EACH;
    for (; left > 0; left--) {
        ex->look_at = ex->look_at + 1 < ex->runs.count ? ex->look_at + 1 : 1;
        struct slurm_run *run = ex->look_at < ex->runs.count ? slurm_at(ex, ex->look_at) : NULL;
        if (is_asked_about(run) && run->begun)
            slurm_look(run);
    }
}

/* --- sacct ----------------------------------------------------------------------------------- */

static void sacct_ended(void *ctx, const struct aside_end *end) {
    struct slurm *ex = ctx;
    struct slurm_job job;
    const char *token;
    _cleanup_(freep) char *ids = TAKE_PTR(ex->sacct_ids);
    ex->sacct_call = NULL;
    if (!slurm_call_went_well(end)) {
        ex->busy = true;
        return;
    }
    _cleanup_(freep) char *text = xstrndup(end->output, end->size);
    for (char *list = text; slurm_job_read(&list, &job, &token);)
        for (size_t i = 1; i < ex->runs.count; i++)
            if (is_asked_about(slurm_at(ex, i)) && slurm_at(ex, i)->job == job.id)
                slurm_follow_accounting(slurm_at(ex, i), &job);
    for (size_t i = 1; i < ex->runs.count; i++) {
        char id[32];
        struct slurm_run *run = slurm_at(ex, i);
        if (!is_asked_about(run) || !run->gone)
            continue;
        (void)snprintf(id, sizeof(id), ",%" PRIu64 ",", run->job);
        if (strstr(ids, id))
            slurm_follow_accounting(run, NULL);
    }
}

/* Those of whom the controller knows nothing any more. One call for all of them. */
static void ask_accounting(struct slurm *ex) {
    struct strbuf ids = STRBUF_INIT;
    if (ex->sacct_call)
        return;
    for (size_t i = 1; i < ex->runs.count; i++)
        if (is_asked_about(slurm_at(ex, i)) && slurm_at(ex, i)->gone && slurm_at(ex, i)->job)
            strbuf_printf(&ids, "%s%" PRIu64 ",", ids.length ? "" : ",", slurm_at(ex, i)->job);
    if (ids.length == 0)
        return;
    _cleanup_(freep) char *list = xstrndup(ids.text + 1, ids.length - 2);
    const char *const argv[] = { ex->programs[PROGRAM_SACCT],
                                 "--allocations",
                                 "--noheader",
                                 "--parsable2",
                                 "--starttime=now-7days",
                                 "--jobs",
                                 list,
                                 sacct_format,
                                 NULL };
    ex->sacct_ids = strbuf_take(&ids);
    if (slurm_call(ex, argv, true, sacct_ended, ex, &ex->sacct_call) < 0) {
        free(TAKE_PTR(ex->sacct_ids));
        ex->busy = true;
    }
}

/* --- when ------------------------------------------------------------------------------------ */

static void ask_again(struct slurm *ex) {
    bool wanted = false, restless = ex->busy;
    for (size_t i = 1; i < ex->runs.count; i++) {
        if (is_asked_about(slurm_at(ex, i)))
            slurm_follow_late(slurm_at(ex, i));
        wanted = wanted || is_asked_about(slurm_at(ex, i));
        restless = restless || is_restless(slurm_at(ex, i));
    }
    if (!wanted)
        return;
    time_ms now = loop_now_steady(ex->loop);
    ex->ask_rest = now + time_min(COST_SHARE * (now - ex->asked_at), ex->poll_idle);
    ex->ask_delay = restless ? ex->poll_busy : time_min(2 * ex->ask_delay, ex->poll_idle);
    ex->busy = false;
    if (ex->away)
        ex->ask_delay = time_max(ex->ask_delay, ex->away_delay);
    ask_at(ex, now + ex->ask_delay);
}

static void ask_ended(void *ctx, const struct aside_end *end) {
    struct slurm *ex = ctx;
    uint64_t number = ex->asks;
    ex->ask_call = NULL;
    if (slurm_call_went_well(end)) {
        _cleanup_(freep) char *list = xstrndup(end->output, end->size);
        slurm_heard(ex);
        slurm_ask_config(ex);
        take_list(ex, list, number);
        look_at_some(ex);
        if (ex->use_sacct)
            ask_accounting(ex);
    } else {
        slurm_not_heard(ex, NULL);
    }
    ask_again(ex);
}

void slurm_ask_due(void *ctx) {
    struct slurm *ex = ctx;
    const char *const argv[] = {
        ex->programs[PROGRAM_SQUEUE], "--me", "--noheader", "--states=all", squeue_format, NULL
    };
    ex->ask_next = TIME_NEVER;
    if (ex->ask_call)
        return;
    ex->asks++;
    ex->asked_at = loop_now_steady(ex->loop);
    if (slurm_call(ex, argv, true, ask_ended, ex, &ex->ask_call) < 0)
        ask_again(ex);
}
