/* slurm_submit.c: hands runs over to Slurm, a few at a time, and never an attempt twice.
 *
 * An sbatch that was refused has made no job, and one that reached nobody has not either. After any other end
 * there may be a job: the run is doubtful until the lists of several good answers have told. Side by side,
 * because an sbatch mostly waits for the controller; only a few, because the controller has other users. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "executor/slurm_internal.h"

#define FIXED_WORDS 16

/* --- the queue ------------------------------------------------------------------------------- */

void slurm_queue(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    run->state = SLURM_QUEUED;
    run->next = NULL;
    *ex->queue_end = run;
    ex->queue_end = &run->next;
    loop_timer_set(ex->loop, ex->submit_timer, time_max(ex->away_until, loop_now_steady(ex->loop)));
}

void slurm_unqueue(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    for (struct slurm_run **at = &ex->queue; *at; at = &(*at)->next) {
        if (*at != run)
            continue;
        *at = run->next;
        if (!*at)
            ex->queue_end = at;
        return;
    }
}

/* --- what became of it ----------------------------------------------------------------------- */

static void set_doubtful(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    if (run->state == SLURM_OVER)
        return;
    run->state = run->begun ? SLURM_FOLLOWED : SLURM_DOUBTFUL;
    run->heard_after = ex->asks;
    run->missed = 0;
    run->missed_since = loop_now_steady(ex->loop);
    slurm_ask_soon(ex);
}

static void take_job(struct slurm_run *run, uint64_t job) {
    run->state = SLURM_FOLLOWED;
    run->heard_after = run->ex->asks;
    slurm_ask_soon(run->ex);
    if (!run->begun) /* else its shim was quicker than this answer, or it is a second job */
        slurm_set_job(run, job);
    if (run->stop_asked)
        loop_timer_set(run->ex->loop, run->ex->stop_timer, loop_now_steady(run->ex->loop));
}

static void refuse(struct slurm_run *run, const char *why) {
    char message[256];
    (void)snprintf(message, sizeof(message), "sbatch refused it: %.200s", why);
    if (!slurm_end_jobless(run, RUN_END_LAUNCH, EINVAL, message))
        set_doubtful(run);
}

static void cannot_run(struct slurm_run *run, int error) {
    char message[256];
    (void)snprintf(message, sizeof(message),
                   "cannot run '%.100s': %s; install Slurm's commands on this host",
                   run->ex->programs[PROGRAM_SBATCH], strerror(error));
    if (!slurm_end_jobless(run, RUN_END_LAUNCH, error, message))
        set_doubtful(run);
}

/* Nobody was reached: the same again later, before those who came after it. */
static void put_back(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    run->state = SLURM_QUEUED;
    run->next = ex->queue;
    if (!ex->queue)
        ex->queue_end = &run->next;
    ex->queue = run;
}

/* Without a run there is nobody to tell; but a job that nobody needs must not stay. */
static void judge(struct slurm *ex, struct slurm_run *run, bool unwanted,
                  const struct aside_end *end) {
    uint64_t job = 0;
    char why[160] = "";
    bool ended =
        end->code >= 0 && !end->timed_out; /* killed: whatever it has said, it was not all */
    enum slurm_answer answer =
        ended ? slurm_answer_read(end->output, end->code == 0, &job, why, sizeof(why))
              : ANSWER_UNCLEAR;
    if (answer == ANSWER_ACCEPTED || answer == ANSWER_REFUSED)
        slurm_heard(ex);
    else
        slurm_not_heard(ex, why);
    if (!run && unwanted && answer == ANSWER_ACCEPTED)
        slurm_cancel(ex, job);
    if (!run)
        return;
    switch (answer) {
    case ANSWER_ACCEPTED:
        take_job(run, job);
        break;
    case ANSWER_REFUSED:
        refuse(run, why);
        break;
    case ANSWER_AWAY:
        if (run->begun) /* by an earlier sbatch */
            set_doubtful(run);
        else
            put_back(run);
        break;
    case ANSWER_UNCLEAR:
        set_doubtful(run);
        break;
    }
}

static void submit_ended(void *ctx, const struct aside_end *end) {
    struct slurm_submit *submit = ctx;
    struct slurm *ex = submit->ex;
    struct slurm_run *run = submit->run;
    for (struct slurm_submit **at = &ex->submits; *at; at = &(*at)->next) {
        if (*at == submit) {
            *at = submit->next;
            break;
        }
    }
    ex->submitting--;
    if (run)
        run->submit = NULL;
    if (run && run->state == SLURM_OVER) { /* it was quicker than this answer */
        submit->unwanted = !run->begun;
        run = NULL;
    }
    if (end->error && run)
        cannot_run(run, end->error);
    else if (!end->error)
        judge(ex, run, submit->unwanted, end);
    free(submit);
    slurm_submit_due(ex);
}

/* --- sbatch ---------------------------------------------------------------------------------- */

/* The words of the run may say anything; what follows them holds whatever they say. */
static void build_words(const struct slurm_run *run, const char *script,
                        const char *words[SLURM_WORDS_MAX + FIXED_WORDS]) {
    static const char *const first[] = { "--nodes=1", "--ntasks=1" };
    static const char *const last[] = {
        "--parsable",        "--export=ALL",       "--no-requeue",      "--chdir=/",
        "--input=/dev/null", "--output=/dev/null", "--error=/dev/null",
    };
    size_t count = 0;
    words[count++] = run->ex->programs[PROGRAM_SBATCH];
    for (size_t i = 0; i < ARRAY_SIZE(first); i++)
        words[count++] = first[i];
    for (char **word = run->order.words; *word; word++)
        words[count++] = *word;
    for (size_t i = 0; i < ARRAY_SIZE(last); i++)
        words[count++] = last[i];
    words[count++] = script;
    words[count] = NULL;
}

static int submit(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    const char *words[SLURM_WORDS_MAX + FIXED_WORDS];
    _cleanup_(strbuf_finish) struct strbuf script = STRBUF_INIT, folder = STRBUF_INIT;
    strbuf_printf(&folder, "%s/%s", ex->root_path, run->folder);
    strbuf_puts(&script, "--wrap=");
    slurm_script(&script, ex->shim_path, folder.text, ex->kill_wait);
    build_words(run, script.text, words);
    slurm_folder_watch(run); /* before anything can happen in it */
    struct slurm_submit *submit = xcalloc(1, sizeof(*submit));
    submit->ex = ex;
    submit->run = run;
    int r = slurm_call(ex, words, false, submit_ended, submit, &submit->aside);
    if (r < 0) {
        free(submit);
        return r;
    }
    submit->next = ex->submits;
    ex->submits = submit;
    ex->submitting++;
    run->submit = submit;
    run->state = SLURM_SUBMITTING;
    return 0;
}

void slurm_submit_due(void *ctx) {
    struct slurm *ex = ctx;
    time_ms now = loop_now_steady(ex->loop);
    uint32_t most = ex->away ? 1 : ex->submits_at_once;
    while (ex->queue && ex->submitting < most && !ex->config_call) {
        if (now < ex->away_until) {
            loop_timer_set(ex->loop, ex->submit_timer, ex->away_until);
            return;
        }
        struct slurm_run *run = ex->queue;
        slurm_unqueue(run);
        if (submit(run) < 0) { /* too many processes or descriptors, for now */
            put_back(run);
            loop_timer_set(ex->loop, ex->submit_timer, now + SECONDS(1));
            return;
        }
    }
}

void slurm_submits_free(struct slurm *ex) {
    while (ex->submits) {
        struct slurm_submit *submit = ex->submits;
        ex->submits = submit->next;
        aside_kill(submit->aside);
        free(submit);
    }
}
