/* attempt.c: one attempt, from its order to its end.
 *
 * This file alone decides where each failure counts and what happens to the task. The table in
 * docs/internals/rules.md §5 is its specification. */
#include "core/attempt.h"

#include "base/alloc.h"
#include "core/escalate.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/policy.h"
#include "core/ready_queue.h"
#include "core/task.h"

static uint32_t run_new(struct core *c, uint32_t task, uint32_t agent) {
    struct task *t = task_at(c, task);
    uint32_t handle = slab_alloc(&c->runs);
    struct run *r = run_at(c, handle);
    r->task = task;
    r->agent = agent ? agent : t->agent;
    r->limiter = t->flags & TASK_OWN_LIMITER ? t->limiter : c->agents[r->agent].limiter;
    r->started_at = c->now;
    r->reported = r->money = -1;
    t->run = handle;
    c->projects[t->project].live++;
    c->live_roots += !(t->flags & TASK_HAS_PARENT);
    return handle;
}

static void adopt_draining(struct core *c, uint32_t task, const struct task_spec *spec) {
    struct run *r = run_at(c, task_at(c, task)->run);
    lease_release_run(c, task_at(c, task)->run);
    time_ms until = spec->not_before > 0 ? spec->not_before : time_add(c->now, c->policy.drain);
    task_set_timer(c, task, until);
    r->children_unknown = !c->loading; /* when loading, apply_loaded rechecks it */
    if (c->loading)
        return;
    c->adopted = xgrow(c->adopted, &c->adopted_capacity, c->adopted_count + 1, sizeof(*c->adopted));
    c->adopted[c->adopted_count++] = task;
}

void run_set_phase(struct core *c, uint32_t run, enum run_phase phase) {
    struct run *r = run_at(c, run);
    c->waiting_runs += (uint32_t)(phase == PHASE_WAITING) - (uint32_t)(r->phase == PHASE_WAITING);
    r->phase = (uint8_t)phase;
}

static void run_drop(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    run_set_phase(c, t->run, PHASE_WORKING); /* for the count of waiting runs */
    c->projects[t->project].live--;
    c->live_roots -= !(t->flags & TASK_HAS_PARENT);
    slab_free(&c->runs, t->run);
    t->run = 0;
}

void run_start(struct core *c, uint32_t task, uint32_t agent, uint32_t lender) {
    struct task *t = task_at(c, task);
    t->attempt++;
    uint32_t run = run_new(c, task, agent);
    if (lender)
        lend_link(c, lender, run);
    lease_acquire_all(c, run); /* before it leaves the queue, so that no other task is woken */
    task_become(c, task, change_to(TASK_STARTING, REASON_FIRST_IN_ORDER));
    fair_reserve(c, run);
    fair_record(c, t->project, c->now, &(struct usage_spec){ .starts = 1 });
}

void run_adopt(struct core *c, uint32_t task, const struct task_spec *spec) {
    struct task *t = task_at(c, task);
    uint32_t run = run_new(c, task, by_symbol_get(&c->agent_of, spec->run_agent));
    struct run *r = run_at(c, run);
    uint32_t limiter = by_symbol_get(&c->limiter_of, spec->run_limiter);
    if (limiter || spec->run_unlimited)
        r->limiter = limiter;
    if (spec->started_at > 0 && spec->started_at < c->now)
        r->started_at = spec->started_at;
    r->adopted = !c->loading || spec->ready_since == 0;
    if (!c->loading) /* when loading, it is in the loaded usage */
        fair_record(c, t->project, r->started_at, &(struct usage_spec){ .starts = 1 });
    lease_keep(c, task, spec->keeps);
    lease_acquire_all(c, run);
    if (spec->phase == PHASE_VALIDATING)
        lease_release_limiter(c, run);
    run_set_phase(c, run, spec->phase);
    if (spec->phase == PHASE_DRAINING) {
        adopt_draining(c, task, spec);
        return;
    }
    if (spec->phase == PHASE_STOPPING || spec->stop != STOP_NONE) {
        run_set_phase(c, run, PHASE_STOPPING);
        r->stop = (uint8_t)(spec->stop ? spec->stop : STOP_CANCEL);
    }
    lend_load(c, run, spec);
    fair_reserve(c, run);
}

/* Applies a requested stop. False: there was none, or the run succeeded before a cancel or a take. */
static bool end_by_stop(struct core *c, uint32_t task, enum stop_request stop, bool ok) {
    static const struct change changes[STOP_REQUEST_MAX] = {
        [STOP_CANCEL] = { TASK_CANCELED, REASON_CANCELED },
        [STOP_INVALIDATE] = { TASK_INVALIDATED, REASON_INVALIDATED },
        [STOP_ORPHAN] = { TASK_FAILED, REASON_ORPHANED },
        [STOP_TAKE] = { TASK_WAITING, REASON_TAKEN, HOLD_TAKEN },
    };
    if (stop == STOP_NONE || ((stop == STOP_CANCEL || stop == STOP_TAKE) && ok))
        return false;
    run_drop(c, task);
    task_become(c, task, changes[stop]);
    return true;
}

void run_undo(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    struct run *r = run_at(c, t->run);
    uint16_t kept = r->kept_new;
    time_ms ready_clock = t->ready_clock, enqueued_at = t->enqueued_at;
    enum stop_request stop = r->stop;
    bool adopted = r->adopted;
    fair_release(c, t->run);
    fair_record(c, t->project, r->started_at, &(struct usage_spec){ .starts = -1 });
    lease_release_run(c, t->run);
    lease_release_kept(c, task, kept);
    t->attempt--;
    if (end_by_stop(c, task, stop, false))
        return;
    run_drop(c, task);
    task_become(c, task, change_to(TASK_WAITING, REASON_REFUSED));
    task_settle(c);
    if (t->state != TASK_READY || adopted)
        return;                                    /* the wait of an adopted run is unknown */
    time_ms longer = t->ready_clock - ready_clock; /* it has waited since before the order */
    time_ms waited = queue_leave(c, task);
    t->enqueued_at = enqueued_at;
    queue_enter(c, task, waited + longer);
}

bool run_order_stop(struct core *c, uint32_t task, enum stop_request stop, enum reason reason) {
    struct task *t = task_at(c, task);
    struct run *r = run_at(c, t->run);
    if (r->phase == PHASE_DRAINING) {
        run_drop(c, task);
        return false;
    }
    if (r->stop == STOP_NONE)
        order_push(c, ORDER_STOP, task)->reason = reason;
    bool is_weak = r->stop == STOP_NONE || r->stop == STOP_TAKE;
    if (is_weak || (stop != STOP_TAKE && stop > (enum stop_request)r->stop))
        r->stop = (uint8_t)stop;
    task_changed(c, task);
    run_set_phase(c, t->run, PHASE_STOPPING);
    return true;
}

void run_end_drain(struct core *c, uint32_t task, enum task_state to, enum reason reason) {
    run_drop(c, task);
    task_become(c, task, change_to(to, reason));
}

/* --- the end --------------------------------------------------------------------------------- */

static void settle_usage(struct core *c, uint32_t task, const struct fact *fact) {
    const struct task *t = task_at(c, task);
    const struct run *r = run_at(c, t->run);
    int64_t charge = fair_charge(c, r);
    int64_t tokens = fact->ended.tokens >= 0 ? fact->ended.tokens : r->reported;
    int64_t money = fact->ended.money >= 0 ? fact->ended.money : r->money;
    fair_release(c, t->run);
    struct usage_spec end = { .reports = tokens >= 0, .priced = money >= 0 };
    if (tokens >= 0)
        end.tokens = tokens;
    else
        end.unreported = charge;
    if (money >= 0)
        end.money = money;
    else /* a run that was not launched costs nothing */
        end.unpriced = fact->ended.outcome != OUTCOME_LAUNCH;
    fair_record(c, t->project, c->now, &end);
}

/* False: the failure counts against the agent, not the task. */
static bool count_launch_on_agent(struct core *c, uint32_t agent) {
    struct agent_spec *a = &c->agents[agent].spec;
    if (!agent)
        return true;
    if (c->now < a->closed_until)
        return false;
    c->agents[agent].changed = true;
    if (a->launch_failures < UINT32_MAX)
        a->launch_failures++;
    if (a->launch_failures < c->policy.breaker.agent_max || c->policy.breaker.reset == TIME_NEVER)
        return true;
    a->openings++;
    a->closed_until = time_add(
        c->now, backoff_doubled(c->policy.breaker.reset, a->openings, c->policy.breaker.reset_max));
    c->epoch += c->list_count > 0; /* other agents may now take its tasks */
    return false;
}

void agent_open(struct core *c, uint32_t agent) {
    struct agent_spec *a = &c->agents[agent].spec;
    if (a->closed_until > c->now)
        c->epoch++;
    c->agents[agent].changed |= a->launch_failures || a->openings || a->closed_until;
    a->launch_failures = a->openings = 0;
    a->closed_until = 0;
}

static void count_up(uint16_t *counter) {
    if (*counter < UINT16_MAX)
        (*counter)++;
}

/* Held for the delay of the policy, but at least for the pause in the fact; waiting if that is 0. */
static struct change next_attempt(const struct core *c, const struct fact *end, enum hold hold,
                                  time_ms delay, enum reason reason) {
    delay = time_max(delay, end->ended.pause);
    return delay <= 0 ? change_to(TASK_WAITING, reason)
                      : (struct change){ TASK_HELD, reason, hold, time_add(c->now, delay) };
}

static time_ms delay_of(const struct core *c, const struct task *t, enum retry_class row,
                        unsigned n) {
    return retry_delay(&c->policy.retry[row], n, t->id, t->attempt);
}

static void end_ok(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    task_reset_counters(c, task);
    if (t->until == UNTIL_EXTERNAL || (t->flags & TASK_REVIEW)) {
        struct change held = { TASK_HELD, REASON_REVIEW, HOLD_REVIEW, 0 };
        if (t->until == UNTIL_EXTERNAL)
            held = (struct change){ TASK_HELD, REASON_EXTERNAL, HOLD_EXTERNAL, 0 };
        run_drop(c, task);
        task_become(c, task, held);
    } else if (c->policy.drain > 0 && tree_keeps_draining(c, task)) {
        run_set_phase(c, t->run, PHASE_DRAINING);
        run_at(c, t->run)->stop = STOP_NONE; /* it succeeded before the stop */
        task_become(c, task, change_to(TASK_RUNNING, REASON_DRAIN));
        task_set_timer(c, task, time_add(c->now, c->policy.drain));
    } else {
        run_end_drain(c, task, TASK_DONE, REASON_SUCCEEDED);
    }
}

static void end_unfinished(struct core *c, uint32_t task, const struct fact *fact,
                           enum reason spent_reason) {
    struct task *t = task_at(c, task);
    amount max = c->policy.retry[RETRY_UNFINISHED].max;
    count_up(&history_own(c, task)->restarts);
    unsigned restarts = history_of(c, t)->restarts;
    if (c->policy.count_launches ? restarts >= max : restarts > max) {
        task_become(c, task, change_to(TASK_FAILED, spent_reason));
        return;
    }
    time_ms delay = delay_of(c, t, RETRY_UNFINISHED, restarts);
    task_iterate(c, task, next_attempt(c, fact, HOLD_RESTART, delay, REASON_ITERATE));
}

static void end_failed(struct core *c, uint32_t task, const struct fact *fact,
                       enum reason spent_reason) {
    struct task *t = task_at(c, task);
    bool loop = t->until == UNTIL_DONE || t->until == UNTIL_VALIDATE;
    if (loop && c->policy.failed_is_unfinished) {
        end_unfinished(c, task, fact, REASON_RESTARTS);
        return;
    }
    amount max =
        t->retry_max != RETRY_MAX_DEFAULT ? t->retry_max : c->policy.retry[RETRY_FAILED].max;
    struct task_history *history = history_own(c, task);
    count_up(&history->failures);
    if (history->failures > max) {
        task_become(c, task, change_to(TASK_FAILED, spent_reason));
        return;
    }
    time_ms delay = delay_of(c, t, RETRY_FAILED, history->failures);
    task_become(c, task, next_attempt(c, fact, HOLD_BACKOFF, delay, REASON_RETRY));
}

static void end_launch(struct core *c, uint32_t task, const struct fact *fact, bool counts) {
    const struct task *t = task_at(c, task);
    struct task_history *history = history_own(c, task);
    if (counts)
        count_up(&history->launch_failures);
    if (!counts || history->launch_failures < c->policy.retry[RETRY_LAUNCH].max) {
        time_ms delay = delay_of(c, t, RETRY_LAUNCH, history->launch_failures);
        task_become(c, task, next_attempt(c, fact, HOLD_BACKOFF, delay, REASON_RELAUNCH));
        return;
    }
    if (c->policy.breaker.reset == TIME_NEVER) {
        task_become(c, task, change_to(TASK_FAILED, REASON_BREAKER));
        return;
    }
    count_up(&history->breaker_openings);
    time_ms delay = backoff_doubled(c->policy.breaker.reset, history->breaker_openings,
                                    c->policy.breaker.reset_max);
    task_become(c, task, next_attempt(c, fact, HOLD_BREAKER, delay, REASON_BREAKER));
}

static void end_lost(struct core *c, uint32_t task, const struct fact *fact) {
    const struct task *t = task_at(c, task);
    struct task_history *history = history_own(c, task);
    if (c->policy.lost_requeue)
        count_up(&history->losses);
    if (!c->policy.lost_requeue || history->losses > c->policy.retry[RETRY_LOST].max) {
        task_become(c, task, change_to(TASK_FAILED, REASON_LOST));
        return;
    }
    time_ms delay = delay_of(c, t, RETRY_LOST, history->losses);
    task_become(c, task, next_attempt(c, fact, HOLD_BACKOFF, delay, REASON_LOST));
}

static void end_by_outcome(struct core *c, uint32_t task, const struct fact *fact, bool counts) {
    /* The resulting change for outcomes that neither count nor retry. */
    static const struct change changes[OUTCOME_MAX] = {
        [OUTCOME_LIMITED] = { TASK_WAITING, REASON_LIMITED },
        [OUTCOME_CLOSED] = { TASK_WAITING, REASON_ACCOUNT_CLOSED },
        [OUTCOME_BUDGET] = { TASK_HELD, REASON_AGENT_BUDGET, HOLD_BUDGET },
        [OUTCOME_CANCELED] = { TASK_CANCELED, REASON_CANCELED },
        [OUTCOME_CONFLICT] = { TASK_FAILED, REASON_CONFLICT },
        [OUTCOME_UNMERGED] = { TASK_FAILED, REASON_UNMERGED },
        [OUTCOME_NEW_SESSION] = { TASK_WAITING, REASON_NEW_SESSION },
        [OUTCOME_STUCK] = { TASK_FAILED, REASON_STUCK },
        [OUTCOME_DENIED] = { TASK_HELD, REASON_DENIED, HOLD_DENIED },
        [OUTCOME_ASKED] = { TASK_HELD, REASON_ASKED, HOLD_QUESTION },
        [OUTCOME_PENDING] = { TASK_HELD, REASON_PENDING, HOLD_CHECK },
        [OUTCOME_TAKEN] = { TASK_HELD, REASON_TAKEN, HOLD_TAKEN },
    };
    enum outcome outcome = fact->ended.outcome;
    struct change change = changes[outcome];
    if (outcome == OUTCOME_BUDGET)
        change.until = fact->ended.reset_at > 0 ? fact->ended.reset_at : time_add(c->now, HOURS(1));
    if (outcome == OUTCOME_UNFINISHED || outcome == OUTCOME_INVALID)
        escalate_count_failure(c, task,
                               outcome == OUTCOME_INVALID ? REASON_VALIDATION : REASON_ITERATE);
    if (outcome == OUTCOME_UNFINISHED)
        end_unfinished(c, task, fact, REASON_RESTARTS);
    else if (outcome == OUTCOME_INVALID)
        end_unfinished(c, task, fact, REASON_VALIDATION);
    else if (outcome == OUTCOME_CONFLICT && fact->ended.iterates)
        end_unfinished(c, task, fact, REASON_CONFLICT);
    else if (outcome == OUTCOME_FAILED || (outcome == OUTCOME_LAUNCH && c->policy.launch_is_failed))
        end_failed(c, task, fact, REASON_RETRIES);
    else if (outcome == OUTCOME_TIMEOUT)
        end_failed(c, task, fact, REASON_TIMEOUT);
    else if (outcome == OUTCOME_LAUNCH)
        end_launch(c, task, fact, counts);
    else if (outcome == OUTCOME_LOST)
        end_lost(c, task, fact);
    else
        task_become(c, task, change);
}

/* True: a launch failure counts against the task. */
static bool update_account_and_agent(struct core *c, const struct run *r, const struct fact *fact) {
    enum outcome outcome = fact->ended.outcome;
    if (r->limiter && outcome == OUTCOME_OK)
        limiter_success(c, r->limiter, r->started_at);
    if (r->limiter && outcome == OUTCOME_LIMITED && !fact->ended.limit_reported)
        limiter_hit(c, r->limiter, r->started_at, fact->ended.retry_after, fact->ended.reset_at);
    if (r->limiter && outcome == OUTCOME_CLOSED)
        limiter_close(c, r->limiter);
    if (outcome == OUTCOME_TAKEN) /* a person ended it: it shows nothing about its agent */
        return true;
    if (outcome != OUTCOME_LAUNCH) {
        agent_open(c, r->agent);
        return true;
    }
    return c->policy.launch_is_failed || fact->ended.before_agent
           || count_launch_on_agent(c, r->agent);
}

void run_end(struct core *c, uint32_t task, const struct fact *fact) {
    struct task *t = task_at(c, task);
    struct run *r = run_at(c, t->run);
    enum outcome outcome = fact->ended.outcome;
    enum stop_request stop = r->stop;
    settle_usage(c, task, fact);
    lease_release_run(c, t->run);
    if (fact->ended.workspace) { /* the next attempt continues there; the run held the old one */
        uint32_t old = t->workspace_key;
        t->workspace_key = key_workspace(c, fact->ended.workspace);
        key_use(c, t->workspace_key);
        key_unuse(c, old);
    }
    bool counts = update_account_and_agent(c, r, fact);
    if (t->history && (outcome != OUTCOME_LAUNCH || fact->ended.output)) {
        struct task_history *history = history_own(c, task);
        history->launch_failures = history->breaker_openings = 0;
    }
    if (end_by_stop(c, task, stop, outcome == OUTCOME_OK))
        return;
    bool is_taken = task_is_taken(t);
    if (outcome == OUTCOME_OK && !is_taken) {
        end_ok(c, task);
        return;
    }
    run_drop(c, task);
    if (is_taken) { /* the person decides, however it ended */
        task_become(c, task, (struct change){ TASK_HELD, REASON_TAKEN, HOLD_TAKEN, 0 });
        return;
    }
    end_by_outcome(c, task, fact, counts);
}
