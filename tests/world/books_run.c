/* books_run.c: what happened to a run, and what must follow its end (docs/internals/rules.md §5). */
#include "books_internal.h"

/* min(delay·factor^(n−1), cap), and how far the jitter may carry it. */
static void delay_range(const struct retry_policy *policy, unsigned n, time_ms *ret_from,
                        time_ms *ret_to) {
    __int128 delay = policy->delay;
    for (unsigned i = 1; i < n && delay < policy->cap; i++) {
        delay = delay * policy->factor_milli / 1000;
        if (policy->factor_milli <= 1000 && i > 64)
            break;
    }
    if (delay > policy->cap)
        delay = policy->cap;
    int64_t spread = (int64_t)(delay * policy->jitter_milli / 1000);
    *ret_from = (time_ms)delay - spread;
    *ret_to = time_min((time_ms)delay + spread, policy->cap);
}

static void expect(struct row *row, enum task_state to, enum reason reason) {
    row->end.to = to;
    row->end.reason = reason;
}

static void expect_held(struct row *row, enum hold hold, enum reason reason, time_ms from,
                        time_ms to) {
    expect(row, TASK_HELD, reason);
    row->end.hold = hold;
    row->end.until_from = from;
    row->end.until_to = to;
}

/* Held for the delay number n of that row, or for the pause of the end if that is longer; a delay of 0
 * means waiting at once. */
static void expect_again(const struct books *b, struct row *row, enum retry_class class_,
                         unsigned n, enum reason reason) {
    time_ms from, to;
    delay_range(&b->policy.retry[class_], n, &from, &to);
    from = time_max(from, row->end.pause);
    to = time_max(to, row->end.pause);
    if (to <= 0)
        expect(row, TASK_WAITING, reason);
    else
        expect_held(row, class_ == RETRY_UNFINISHED ? HOLD_RESTART : HOLD_BACKOFF, reason,
                    b->now + from, b->now + to);
}

static void count_up(uint16_t *counter) {
    if (*counter < UINT16_MAX)
        (*counter)++;
}

static void ended_unfinished(const struct books *b, struct row *row, enum reason spent) {
    amount max = b->policy.retry[RETRY_UNFINISHED].max;
    count_up(&row->restarts);
    if (b->policy.count_launches ? row->restarts >= max : row->restarts > max)
        expect(row, TASK_FAILED, spent);
    else
        expect_again(b, row, RETRY_UNFINISHED, row->restarts, REASON_ITERATE);
}

static void ended_failed(const struct books *b, struct row *row, enum reason spent) {
    bool loop = row->until == UNTIL_DONE || row->until == UNTIL_VALIDATE;
    if (loop && b->policy.failed_is_unfinished) {
        ended_unfinished(b, row, REASON_RESTARTS);
        return;
    }
    amount max = row->retry_max >= 0 ? row->retry_max : b->policy.retry[RETRY_FAILED].max;
    count_up(&row->failures);
    if (row->failures > max)
        expect(row, TASK_FAILED, spent);
    else
        expect_again(b, row, RETRY_FAILED, row->failures, REASON_RETRY);
}

static time_ms doubled(time_ms first, unsigned n, time_ms longest) {
    __int128 delay = first;
    for (unsigned i = 1; i < n && delay < longest; i++)
        delay *= 2;
    return delay < longest ? (time_ms)delay : longest;
}

static void ended_launch(const struct books *b, struct row *row, bool counts) {
    if (counts)
        count_up(&row->launch_failures);
    if (!counts || row->launch_failures < b->policy.retry[RETRY_LAUNCH].max) {
        expect_again(b, row, RETRY_LAUNCH, row->launch_failures, REASON_RELAUNCH);
    } else if (b->policy.breaker.reset == TIME_NEVER) {
        expect(row, TASK_FAILED, REASON_BREAKER);
    } else {
        count_up(&row->openings);
        time_ms reset =
            doubled(b->policy.breaker.reset, row->openings, b->policy.breaker.reset_max);
        time_ms until = b->now + time_max(reset, row->end.pause);
        expect_held(row, HOLD_BREAKER, REASON_BREAKER, until, until);
    }
}

static void ended_lost(const struct books *b, struct row *row) {
    if (b->policy.lost_requeue)
        count_up(&row->losses);
    if (!b->policy.lost_requeue || row->losses > b->policy.retry[RETRY_LOST].max)
        expect(row, TASK_FAILED, REASON_LOST);
    else
        expect_again(b, row, RETRY_LOST, row->losses, REASON_LOST);
}

static void ended_ok(struct row *row) {
    row->failures = row->launch_failures = row->losses = row->restarts = row->openings = 0;
    row->end.success = true;
    if (row->until == UNTIL_EXTERNAL)
        expect_held(row, HOLD_EXTERNAL, REASON_EXTERNAL, 0, 0);
    else if (row->review)
        expect_held(row, HOLD_REVIEW, REASON_REVIEW, 0, 0);
    else
        expect(row, TASK_DONE, REASON_SUCCEEDED); /* or draining: its children decide */
}

static void ended_by_outcome(const struct books *b, struct row *row, const struct fact *fact,
                             bool launch_counts) {
    switch (fact->ended.outcome) {
    case OUTCOME_OK:
    case OUTCOME_MAX:
        ended_ok(row);
        break;
    case OUTCOME_UNFINISHED:
        books_not_accepted(b, row);
        ended_unfinished(b, row, REASON_RESTARTS);
        break;
    case OUTCOME_INVALID:
        books_not_accepted(b, row);
        ended_unfinished(b, row, REASON_VALIDATION);
        break;
    case OUTCOME_FAILED:
        ended_failed(b, row, REASON_RETRIES);
        break;
    case OUTCOME_TIMEOUT:
        ended_failed(b, row, REASON_TIMEOUT);
        break;
    case OUTCOME_LAUNCH:
        if (b->policy.launch_is_failed)
            ended_failed(b, row, REASON_RETRIES);
        else
            ended_launch(b, row, launch_counts);
        break;
    case OUTCOME_LIMITED:
        expect(row, TASK_WAITING, REASON_LIMITED);
        break;
    case OUTCOME_CLOSED:
        expect(row, TASK_WAITING, REASON_ACCOUNT_CLOSED);
        break;
    case OUTCOME_BUDGET: {
        time_ms until =
            fact->ended.reset_at > 0 ? fact->ended.reset_at : time_add(b->now, HOURS(1));
        expect_held(row, HOLD_BUDGET, REASON_AGENT_BUDGET, until, until);
        break;
    }
    case OUTCOME_LOST:
        ended_lost(b, row);
        break;
    case OUTCOME_CANCELED:
        expect(row, TASK_CANCELED, REASON_CANCELED);
        break;
    case OUTCOME_CONFLICT:
        if (fact->ended.iterates)
            ended_unfinished(b, row, REASON_CONFLICT);
        else
            expect(row, TASK_FAILED, REASON_CONFLICT);
        break;
    case OUTCOME_UNMERGED:
        expect(row, TASK_FAILED, REASON_UNMERGED);
        break;
    case OUTCOME_NEW_SESSION:
        expect(row, TASK_WAITING, REASON_NEW_SESSION);
        break;
    case OUTCOME_STUCK:
        expect(row, TASK_FAILED, REASON_STUCK);
        break;
    case OUTCOME_DENIED:
        expect_held(row, HOLD_DENIED, REASON_DENIED, 0, 0);
        break;
    case OUTCOME_ASKED:
        expect_held(row, HOLD_QUESTION, REASON_ASKED, 0, 0);
        break;
    case OUTCOME_PENDING:
        expect_held(row, HOLD_CHECK, REASON_PENDING, 0, 0);
        break;
    case OUTCOME_TAKEN:
        expect_held(row, HOLD_TAKEN, REASON_TAKEN, 0, 0);
        break;
    }
}

/* Whether a launch failure counts on its task and not on the agent. */
static bool agent_ended(struct books *b, unsigned a, const struct fact *fact) {
    struct agent_book *agent = &b->agent[a];
    if (fact->ended.outcome == OUTCOME_TAKEN)
        return true;
    if (fact->ended.outcome != OUTCOME_LAUNCH) {
        agent->launch_failures = agent->openings = 0;
        agent->closed_until = 0;
        return true;
    }
    if (b->policy.launch_is_failed || !a || b->policy.breaker.reset == TIME_NEVER
        || fact->ended.before_agent)
        return true;
    if (b->now < agent->closed_until)
        return false;
    if (++agent->launch_failures < b->policy.breaker.agent_max)
        return true;
    agent->openings++;
    agent->closed_until = time_add(
        b->now, doubled(b->policy.breaker.reset, agent->openings, b->policy.breaker.reset_max));
    return false;
}

/* False: no stop was requested, or success was first. */
static bool expect_by_wish(struct row *row, bool success) {
    if (row->wish == WISH_ORPHAN)
        expect(row, TASK_FAILED, REASON_ORPHANED);
    else if (row->wish == WISH_INVALIDATE)
        expect(row, TASK_INVALIDATED, REASON_INVALIDATED);
    else if (row->wish == WISH_CANCEL && !success)
        expect(row, TASK_CANCELED, REASON_CANCELED);
    else if (row->wish == WISH_TAKE && !success)
        expect(row, TASK_WAITING, REASON_TAKEN);
    else
        return false;
    return true;
}

static void applied_ended(struct books *b, struct row *row, const struct fact *fact) {
    enum outcome outcome = fact->ended.outcome;
    row->alive = false;
    row->end = (struct expected_end){ .exact = b->synced, .pause = fact->ended.pause };
    share_end(b, row, fact);
    if (row->run_limiter && outcome == OUTCOME_OK)
        limiter_succeeded(b, row->run_limiter, row->started_at);
    if (row->run_limiter && outcome == OUTCOME_LIMITED)
        limiter_was_hit(b, row->run_limiter, row->started_at, fact->ended.retry_after,
                        fact->ended.reset_at);
    if (row->run_limiter && outcome == OUTCOME_CLOSED)
        b->limiter[row->run_limiter].closed = true;
    bool launch_counts = agent_ended(b, row->run_agent, fact);
    if (outcome != OUTCOME_LAUNCH || fact->ended.output)
        row->launch_failures = row->openings = 0;
    row->before_end[0] = row->failures;
    row->before_end[1] = row->launch_failures;
    row->before_end[2] = row->losses;
    row->before_end[3] = row->restarts;
    if (expect_by_wish(row, outcome == OUTCOME_OK))
        return;
    if (row->hold == HOLD_TAKEN) /* the person decides, however it ended */
        expect_held(row, HOLD_TAKEN, REASON_TAKEN, 0, 0);
    else
        ended_by_outcome(b, row, fact, launch_counts);
}

void books_applied_run(struct books *b, const struct fact *fact) {
    struct row *row = books_row(b, fact->task);
    if (fact->kind == FACT_ORDER_REFUSED) {
        share_refused(b, row);
        if (row->tick == b->ticks)
            b->tick_starts--;
        row->alive = false;
        row->end = (struct expected_end){ .exact = b->synced };
        if (!expect_by_wish(row, false))
            expect(row, TASK_WAITING, REASON_REFUSED);
        return;
    }
    row->confirmed_attempt = fact->attempt;
    if (fact->kind == FACT_RUN_PHASE) {
        books_leave_chain(b, row);
        row->phase = fact->phase;
        row->limiter_given |= fact->phase == PHASE_VALIDATING;
        books_take_chain(b, row);
    } else if (fact->kind == FACT_RUN_TOKENS) {
        row->reported = fact->tokens > row->reported ? fact->tokens : row->reported;
        row->money = fact->money > row->money ? fact->money : row->money;
        row->expected = fact->expected > 0 ? fact->expected : row->expected;
    } else if (fact->kind == FACT_RUN_LIMITED) {
        limiter_was_hit(b, row->run_limiter, row->started_at, fact->limited.retry_after,
                        fact->limited.reset_at);
    } else if (fact->kind == FACT_RUN_ENDED) {
        applied_ended(b, row, fact);
    }
}
