/* runaway.c: see agents_internal.h. The count is in the note of the task between attempts
 * (session.c), so a restart of the daemon does not reset it. */
#include "engine/agents/agents_internal.h"

#include <inttypes.h>

#include "core/policy.h"
#include "engine/alerts/alerts_internal.h"
#include "engine/loops.h"

/* The key of the delay before the next attempt; NULL: none follows, or another guard applies. */
static const char *delay_key(const struct engine *e, task_id task, enum outcome outcome) {
    const struct policy *policy = config_policy(e->config);
    struct task_view view = { .until = UNTIL_EXIT };
    (void)core_task(e->core, task, &view);
    bool loop = view.until == UNTIL_DONE || view.until == UNTIL_VALIDATE;
    if (outcome == OUTCOME_LAUNCH && policy->launch_is_failed)
        outcome = OUTCOME_FAILED;
    if (outcome == OUTCOME_LAUNCH && policy->retry[RETRY_LAUNCH].max != UNLIMITED)
        return NULL;
    static const char *const keys[OUTCOME_MAX] = {
        [OUTCOME_FAILED] = "retry.failed.delay_s",
        [OUTCOME_TIMEOUT] = "retry.failed.delay_s",
        [OUTCOME_UNFINISHED] = "retry.unfinished.delay_s",
        [OUTCOME_INVALID] = "retry.unfinished.delay_s",
        [OUTCOME_LOST] = "retry.lost.delay_s",
        [OUTCOME_LAUNCH] = "retry.launch.delay_s",
    };
    bool is_iteration = loop && policy->failed_is_unfinished
                        && (outcome == OUTCOME_FAILED || outcome == OUTCOME_TIMEOUT);
    return is_iteration ? keys[OUTCOME_UNFINISHED] : keys[outcome];
}

static void raise_alert(struct engine *e, const struct live_run *run, uint32_t count) {
    char id[ENGINE_ID_MAX];
    _cleanup_(freep) char *key = xasprintf("runaway:%s", engine_task_id(e, run->task, id));
    alert_raise(e, key, run->task, run->view.attempt,
                "the last %" PRIu32 " runs of '%s' have each ended in less than %g s "
                "(runaway.quick_s), and it is started again: 'sluice logs %s' shows what they "
                "print, 'sluice hold %s' stops it",
                count, id, (double)config_number(e->config, "runaway.quick_s", NULL) / 1000.0, id,
                id);
}

void runaway_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                   struct fact *ended) {
    const char *delay = delay_key(e, run->task, ended->ended.outcome);
    /* From the start of its command; if that was never seen, from its order. */
    time_ms from = end->started_at ? end->started_at : run->view.ordered_at;
    time_ms took = (end->ended_at ? end->ended_at : e->now) - from;
    bool quick = delay && took < config_number(e->config, "runaway.quick_s", NULL);
    if (!quick) {
        if (delay || ended->ended.outcome == OUTCOME_OK)
            session_not_quick(e, run->task);
        return;
    }
    uint32_t count = session_quick(e, run->task);
    int64_t alert_after = config_number(e->config, "runaway.alert_after", NULL);
    if (alert_after > 0 && count >= alert_after)
        raise_alert(e, run, count);
    time_ms pause = config_number(e->config, "runaway.pause_s", NULL);
    time_ms longest = config_number(e->config, "runaway.pause_max_s", NULL);
    if (pause > 0 && !config_is_chosen(e->config, delay))
        ended->ended.pause = backoff_doubled(pause, count, time_max(pause, longest));
}

bool runaway_alert_is_over(const struct engine *e, const struct alert *alert) {
    return engine_quick_ends(e, alert->view.task) == 0;
}
