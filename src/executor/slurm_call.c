/* slurm_call.c: runs Slurm's programs beside the loop, and knows whether anybody answers.
 *
 * They get an environment of their own: what is in the daemon's would become that of every job. Those that
 * change something go on when the daemon ends; half a submission is worse than a whole one that is found
 * by its token. */
#include <stdio.h>
#include <string.h>

#include "executor/slurm_internal.h"

#define CALL_TIMEOUT SECONDS(60)
#define LIST_MAX     (64u << 20) /* bytes of a list of jobs */
#define AWAY_MAX     SECONDS(30)

int slurm_call(struct slurm *ex, const char *const *argv, bool reads, aside_ended ended, void *ctx,
               struct aside **ret_call) {
    const struct aside_spec spec = {
        .argv = argv,
        .env = (const char *const *)ex->env,
        .timeout = CALL_TIMEOUT,
        .output_max = reads ? LIST_MAX : 0,
        .reads = reads,
        .outlives = !reads,
    };
    return aside_start(ex->loop, &spec, ended, ctx, ret_call, NULL);
}

bool slurm_call_went_well(const struct aside_end *end) {
    return end->code == 0 && !end->timed_out && !end->cut;
}

void slurm_heard(struct slurm *ex) {
    if (!ex->away)
        return;
    ex->away = false;
    ex->away_delay = ex->away_until = 0;
    ex->away_why[0] = '\0';
    loop_timer_set(ex->loop, ex->submit_timer, loop_now_steady(ex->loop));
}

void slurm_not_heard(struct slurm *ex, const char *why) {
    time_ms now = loop_now_steady(ex->loop);
    ex->away = true;
    if (why && *why)
        (void)snprintf(ex->away_why, sizeof(ex->away_why), "%s", why);
    if (now < ex->away_until)
        return; /* several calls that failed at the same time count once */
    ex->away_delay = ex->away_delay ? time_min(2 * ex->away_delay, AWAY_MAX) : ex->retry;
    ex->away_until = now + ex->away_delay;
    loop_timer_set(ex->loop, ex->submit_timer, ex->away_until);
}

/* --- how it is set up ------------------------------------------------------------------------ */

static void config_ended(void *ctx, const struct aside_end *end) {
    struct slurm *ex = ctx;
    struct slurm_config config = { .kill_wait = ex->kill_wait };
    ex->config_call = NULL;
    if (slurm_call_went_well(end)) {
        slurm_config_read(end->output, &config);
        ex->configured = true;
        ex->kill_wait = config.kill_wait;
        if (config.cluster[0])
            (void)snprintf(ex->base.boot_id, sizeof(ex->base.boot_id), "slurm:%.33s",
                           config.cluster);
        if (!config.accounting)
            ex->use_sacct = false;
        slurm_heard(ex);
    }
    slurm_submit_due(ex); /* who waited for it need not wait longer, whatever it said */
}

void slurm_ask_config(struct slurm *ex) {
    const char *const argv[] = { ex->programs[PROGRAM_SCONTROL], "show", "config", NULL };
    if (!ex->configured && !ex->config_call)
        (void)slurm_call(ex, argv, true, config_ended, ex, &ex->config_call);
}
