/* model_run.c: what happened to runs (rules, 4 "order refused", "run started"; 5). */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "core/policy.h"
#include "model_lend.h"

/* --- holding for a while --------------------------------------------------------------------- */

/* "A delay of 0 means waiting at once." */
static void hold_for(struct model *m, struct model_task *t, enum hold hold, time_ms delay,
                     enum reason reason) {
    if (delay < t->pause)
        delay = t->pause; /* "Every delay of this table is at least the `pause` of the end." */
    if (delay > 0)
        model_hold(m, t, hold, time_add(m->now, delay), reason);
    else
        model_change(m, t, TASK_WAITING, reason);
}

static time_ms delay_number(const struct model *m, const struct model_task *t, enum retry_class row,
                            unsigned n) {
    return retry_delay(&m->policy.retry[row], n, t->s.id, t->s.attempt);
}

/* --- by outcome: the table of rules, 5 -------------------------------------------------------- */

static void ended_ok(struct model *m, struct model_task *t) {
    model_drop_counters(t);
    if (t->s.until == UNTIL_EXTERNAL)
        model_hold(m, t, HOLD_EXTERNAL, 0, REASON_EXTERNAL);
    else if (t->s.review)
        model_hold(m, t, HOLD_REVIEW, 0, REASON_REVIEW);
    else if (m->policy.drain > 0 && model_is_kept_by_children(m, t)) {
        model_change(m, t, TASK_RUNNING, REASON_DRAIN);
        t->s.phase = PHASE_DRAINING;
        t->drain_until = time_add(m->now, m->policy.drain);
        t->drain_unasked = false;
    } else
        model_change(m, t, TASK_DONE, REASON_SUCCEEDED);
}

static void ended_unfinished(struct model *m, struct model_task *t, enum reason when_spent) {
    amount max = m->policy.retry[RETRY_UNFINISHED].max;
    t->s.restarts++;
    if (m->policy.count_launches ? t->s.restarts >= max : t->s.restarts > max) {
        model_change(m, t, TASK_FAILED, when_spent);
        return;
    }
    time_ms delay = delay_number(m, t, RETRY_UNFINISHED, t->s.restarts);
    model_raise_iteration(m, t);
    hold_for(m, t, HOLD_RESTART, delay, REASON_ITERATE);
}

static void ended_failed(struct model *m, struct model_task *t, bool timeout) {
    if (m->policy.failed_is_unfinished
        && (t->s.until == UNTIL_DONE || t->s.until == UNTIL_VALIDATE)) {
        ended_unfinished(m, t, REASON_RESTARTS);
        return;
    }
    amount max = t->s.retry_max >= 0 ? t->s.retry_max : m->policy.retry[RETRY_FAILED].max;
    t->s.failures++;
    if (t->s.failures > max)
        model_change(m, t, TASK_FAILED, timeout ? REASON_TIMEOUT : REASON_RETRIES);
    else
        hold_for(m, t, HOLD_BACKOFF, delay_number(m, t, RETRY_FAILED, t->s.failures), REASON_RETRY);
}

static void ended_launch(struct model *m, struct model_task *t, bool agent_is_closed) {
    if (m->policy.launch_is_failed) {
        ended_failed(m, t, false);
        return;
    }
    if (!agent_is_closed)
        t->s.launch_failures++;
    if (agent_is_closed || t->s.launch_failures < m->policy.retry[RETRY_LAUNCH].max) {
        unsigned n = t->s.launch_failures > 0 ? t->s.launch_failures : 1;
        time_ms delay = delay_number(m, t, RETRY_LAUNCH, n);
        hold_for(m, t, HOLD_BACKOFF, delay, REASON_RELAUNCH);
        return;
    }
    if (m->policy.breaker.reset == TIME_NEVER) {
        model_change(m, t, TASK_FAILED, REASON_BREAKER);
        return;
    }
    time_ms reset =
        model_doubled(m->policy.breaker.reset, t->openings, m->policy.breaker.reset_max);
    t->openings++;
    hold_for(m, t, HOLD_BREAKER, reset, REASON_BREAKER);
}

static void ended_lost(struct model *m, struct model_task *t) {
    if (m->policy.lost_requeue)
        t->s.losses++;
    if (!m->policy.lost_requeue || t->s.losses > m->policy.retry[RETRY_LOST].max)
        model_change(m, t, TASK_FAILED, REASON_LOST);
    else
        hold_for(m, t, HOLD_BACKOFF, delay_number(m, t, RETRY_LOST, t->s.losses), REASON_LOST);
}

static void ended_by_outcome(struct model *m, struct model_task *t, const struct fact *fact,
                             bool agent_is_closed) {
    time_ms reset_at = fact->ended.reset_at;
    switch (fact->ended.outcome) {
    case OUTCOME_OK:
        ended_ok(m, t);
        break;
    case OUTCOME_UNFINISHED:
        model_not_accepted(m, t, REASON_ITERATE);
        ended_unfinished(m, t, REASON_RESTARTS);
        break;
    case OUTCOME_INVALID:
        model_not_accepted(m, t, REASON_VALIDATION);
        ended_unfinished(m, t, REASON_VALIDATION);
        break;
    case OUTCOME_FAILED:
        ended_failed(m, t, false);
        break;
    case OUTCOME_TIMEOUT:
        ended_failed(m, t, true);
        break;
    case OUTCOME_LAUNCH:
        ended_launch(m, t, agent_is_closed);
        break;
    case OUTCOME_LIMITED:
        model_change(m, t, TASK_WAITING, REASON_LIMITED);
        break;
    case OUTCOME_CLOSED:
        model_change(m, t, TASK_WAITING, REASON_ACCOUNT_CLOSED);
        break;
    case OUTCOME_BUDGET:
        model_hold(m, t, HOLD_BUDGET, reset_at > 0 ? reset_at : time_add(m->now, HOURS(1)),
                   REASON_AGENT_BUDGET);
        break;
    case OUTCOME_LOST:
        ended_lost(m, t);
        break;
    case OUTCOME_CANCELED:
        model_change(m, t, TASK_CANCELED, REASON_CANCELED);
        break;
    case OUTCOME_CONFLICT:
        if (fact->ended.iterates)
            ended_unfinished(m, t, REASON_CONFLICT);
        else
            model_change(m, t, TASK_FAILED, REASON_CONFLICT);
        break;
    case OUTCOME_UNMERGED:
        model_change(m, t, TASK_FAILED, REASON_UNMERGED);
        break;
    case OUTCOME_NEW_SESSION:
        model_change(m, t, TASK_WAITING, REASON_NEW_SESSION);
        break;
    case OUTCOME_STUCK:
        model_change(m, t, TASK_FAILED, REASON_STUCK);
        break;
    case OUTCOME_DENIED:
        model_hold(m, t, HOLD_DENIED, 0, REASON_DENIED);
        break;
    case OUTCOME_ASKED:
        model_hold(m, t, HOLD_QUESTION, 0, REASON_ASKED);
        break;
    case OUTCOME_PENDING:
        model_hold(m, t, HOLD_CHECK, 0, REASON_PENDING);
        break;
    case OUTCOME_TAKEN:
        model_hold(m, t, HOLD_TAKEN, 0, REASON_TAKEN);
        break;
    case OUTCOME_MAX:
        break;
    }
}

/* --- the end of a run, step by step ----------------------------------------------------------- */

/* Step 1: the leases go with the state; tokens count from now. */
static void settle_tokens(struct model *m, struct model_task *t, const struct fact *fact) {
    int64_t tokens = fact->ended.tokens;
    int64_t money = fact->ended.money >= 0 ? fact->ended.money : t->run.money;
    if (tokens < 0 && t->run.has_reported)
        tokens = t->run.reported;
    int64_t kept = m->policy.fair == FAIR_DOCUMENT ? 0 : model_charge(m, t);
    struct model_event *e = MODEL_ADD(m, events);
    *e = (struct model_event){
        .at = m->now,
        .project = t->s.project,
        .share = tokens >= 0 ? tokens : kept,
        .reported = tokens >= 0 ? tokens : 0,
        .reports = tokens >= 0,
        .money = money >= 0 ? money : 0,
        .priced = money >= 0,
        .unpriced = money < 0 && fact->ended.outcome != OUTCOME_LAUNCH,
    };
    t->keeps_workspaces = model_project(m, t->s.project)->spec.workspaces_kept;
}

/* A STOP was ordered, which comes before the outcome. True: that was all. */
static bool ended_by_stop(struct model *m, struct model_task *t, enum outcome outcome) {
    if (t->run.stop == STOP_ORPHAN)
        model_change(m, t, TASK_FAILED, REASON_ORPHANED);
    else if (t->run.stop == STOP_INVALIDATE)
        model_change(m, t, TASK_INVALIDATED, REASON_INVALIDATED);
    else if (t->run.stop == STOP_CANCEL && outcome != OUTCOME_OK)
        model_change(m, t, TASK_CANCELED, REASON_CANCELED);
    else if (t->run.stop == STOP_TAKE && outcome != OUTCOME_OK)
        model_take(m, t);
    else
        return false;
    return true;
}

/* Step 2. */
static void apply_limiter(struct model *m, const struct model_task *t, const struct fact *fact) {
    sym limiter = t->run.limiter;
    if (!limiter)
        return;
    if (fact->ended.outcome == OUTCOME_OK)
        model_limiter_success(m, limiter, t->run.started_at);
    if (fact->ended.outcome == OUTCOME_LIMITED)
        model_limiter_hit(m, limiter, t->run.started_at, fact->ended.retry_after,
                          fact->ended.reset_at);
    if (fact->ended.outcome == OUTCOME_CLOSED)
        model_limiter(m, limiter)->closed = true;
}

/* Step 3. True: the agent is closed, now or already, and the failure is not its task's. */
static bool apply_agent(struct model *m, sym agent, const struct fact *fact) {
    enum outcome outcome = fact->ended.outcome;
    if (!agent || (outcome == OUTCOME_LAUNCH && m->policy.launch_is_failed))
        return false;
    if (outcome == OUTCOME_TAKEN)
        return false; /* a person ended it */
    if (outcome == OUTCOME_LAUNCH && fact->ended.before_agent)
        return false; /* nothing is known of the agent */
    struct model_breaker *b = model_breaker(m, agent);
    if (outcome != OUTCOME_LAUNCH) {
        *b = (struct model_breaker){ .agent = agent };
        return false;
    }
    if (m->now < b->closed_until)
        return true;
    b->launch_failures++;
    if (b->launch_failures < m->policy.breaker.agent_max || m->policy.breaker.reset == TIME_NEVER)
        return false;
    time_ms reset =
        model_doubled(m->policy.breaker.reset, b->closings, m->policy.breaker.reset_max);
    b->closings++;
    b->closed_until = time_add(m->now, reset);
    return true;
}

static void run_ended(struct model *m, struct model_task *t, const struct fact *fact) {
    enum outcome outcome = fact->ended.outcome;
    settle_tokens(m, t, fact);
    model_lend_end(m, t);
    if (fact->ended.workspace)
        t->s.workspace = fact->ended.workspace;
    apply_limiter(m, t, fact);
    bool agent_is_closed = apply_agent(m, t->run.agent, fact);
    if (outcome != OUTCOME_LAUNCH || fact->ended.output) {
        t->s.launch_failures = 0;
        t->openings = 0;
    }
    if (ended_by_stop(m, t, outcome))
        return;
    t->run.stop = STOP_NONE;
    if (model_is_taken(t)) { /* however it ended */
        model_hold(m, t, HOLD_TAKEN, 0, REASON_TAKEN);
        return;
    }
    t->pause = fact->ended.pause;
    ended_by_outcome(m, t, fact, agent_is_closed);
}

/* --- before the end -------------------------------------------------------------------------- */

static void take_back_start(struct model *m, const struct model_task *t) {
    for (size_t i = 0; i < m->events_count; i++)
        if (m->events[i].starts && m->events[i].task == t->s.id
            && m->events[i].attempt == t->s.attempt)
            m->events[i].starts = 0;
    for (size_t i = 0; i < m->starts_count; i++)
        if (m->starts[i].task == t->s.id && m->starts[i].attempt == t->s.attempt)
            m->starts[i].tick = 0; /* of no tick; the spawn delay runs on */
}

/* Everything is as before the order; if it can start, it has been ready all the time. */
static void order_refused(struct model *m, struct model_task *t) {
    time_ms mark = t->ready_mark, enqueued_at = t->enqueued_at;
    bool adopted = t->run.adopted;
    enum stop_request stop = t->run.stop;
    take_back_start(m, t);
    model_lend_end(m, t);
    t->keeps_roots = t->run.had_roots;
    t->keeps_review = t->run.had_review;
    t->s.attempt--;
    if (stop != STOP_NONE) {
        t->s.state = TASK_STARTING;
        ended_by_stop(m, t, OUTCOME_CANCELED);
        return;
    }
    model_change(m, t, TASK_WAITING, REASON_REFUSED);
    model_settle(m);
    if (t->s.state == TASK_READY && !adopted) {
        t->ready_mark = mark;
        t->enqueued_at = enqueued_at;
    }
}

/* Tokens and money only rise: a lower number is an old message. */
static void run_tokens(struct model_task *t, int64_t tokens, int64_t money, int64_t expected) {
    if (tokens > t->run.reported)
        t->run.reported = tokens;
    t->run.has_reported |= tokens >= 0;
    if (money > t->run.money)
        t->run.money = money;
    if (expected > 0)
        t->run.expected = expected;
}

static int run_phase(struct model *m, struct model_task *t, enum run_phase phase) {
    if (t->run.stop != STOP_NONE || phase == t->s.phase)
        return 1; /* while it is stopped, every lease stays as it is */
    if (t->s.phase != PHASE_WORKING && t->s.phase != PHASE_WAITING)
        return 1;
    if (phase != PHASE_WORKING && phase != PHASE_WAITING && phase != PHASE_VALIDATING)
        return 1;
    t->s.phase = phase;
    model_lend_settle(m);
    return 0;
}

static int run_limited(struct model *m, const struct model_task *t, const struct fact *fact) {
    if (!t->run.limiter)
        return 1;
    model_limiter_hit(m, t->run.limiter, t->run.started_at, fact->limited.retry_after,
                      fact->limited.reset_at);
    return 0;
}

int model_apply_run(struct model *m, const struct fact *fact, struct error *err) {
    struct model_task *t = model_find(m, fact->task);
    if (!t)
        return error_set(err, -ENOENT, "no such task");
    if (!model_has_run(t) || t->s.attempt != fact->attempt)
        return 1;
    if (fact->kind == FACT_RUN_ENDED)
        run_ended(m, t, fact);
    else if (fact->kind == FACT_RUN_PHASE)
        return run_phase(m, t, fact->phase);
    else if (fact->kind == FACT_RUN_TOKENS)
        run_tokens(t, fact->tokens, fact->money, fact->expected);
    else if (fact->kind == FACT_RUN_LIMITED)
        return run_limited(m, t, fact);
    else if (t->s.state != TASK_STARTING)
        return 1;
    else if (fact->kind == FACT_RUN_STARTED)
        model_change(m, t, TASK_RUNNING, REASON_EXECUTED);
    else
        order_refused(m, t);
    return 0;
}
