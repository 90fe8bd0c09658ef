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
    switch (outcome) {
    case OUTCOME_FAILED:
    case OUTCOME_TIMEOUT:
        return loop && policy->failed_is_unfinished ? "retry.unfinished.delay_s"
                                                    : "retry.failed.delay_s";
    case OUTCOME_UNFINISHED:
    case OUTCOME_INVALID:
        return "retry.unfinished.delay_s";
    case OUTCOME_LOST:
        return "retry.lost.delay_s";
    case OUTCOME_LAUNCH:
        return "retry.launch.delay_s";
    case OUTCOME_OK:
    case OUTCOME_LIMITED:
    case OUTCOME_CLOSED:
    case OUTCOME_BUDGET:
    case OUTCOME_CANCELED:
    case OUTCOME_CONFLICT:
    case OUTCOME_UNMERGED:
    case OUTCOME_NEW_SESSION:
    case OUTCOME_STUCK:
    case OUTCOME_DENIED:
    case OUTCOME_MAX:
        break;
    }
    return NULL;
}

/* From the start of its command; if that was never seen, from its order. */
static bool was_quick(const struct engine *e, const struct live_run *run,
                      const struct run_end *end) {
    time_ms from = end->started_at ? end->started_at : run->view.ordered_at;
    time_ms to = end->ended_at ? end->ended_at : e->now;
    return to - from < config_number(e->config, "runaway.quick_s", NULL);
}

static void raise_alert(struct engine *e, const struct live_run *run, uint32_t count) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_printf(&key, "runaway:%s", engine_task_id(e, run->task, id));
    alert_raise(e, strbuf_text(&key), run->task, run->view.attempt,
                "the last %" PRIu32 " runs of '%s' have each ended in less than %g s "
                "(runaway.quick_s), and it is started again: 'sluice logs %s' shows what they "
                "print, 'sluice hold %s' stops it",
                count, id, (double)config_number(e->config, "runaway.quick_s", NULL) / 1000.0, id,
                id);
}

void runaway_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                   struct fact *ended) {
    const char *delay = delay_key(e, run->task, ended->ended.outcome);
    bool quick = delay && was_quick(e, run, end);
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
