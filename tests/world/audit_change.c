/* audit_change.c: may this state follow that one, for this reason, and did something cause it?
 *
 * The table is docs/internals/rules.md §4 and §5 read backwards: for each change that may be announced, the
 * reasons it may have. It is wider than the core's own transition table on nothing, and it knows
 * more: a change by a person needs the fact in which the person asked. */
#include <inttypes.h>

#include "books_internal.h"

#define FROM(state) (1u << TASK_##state)
#define REST        (FROM(WAITING) | FROM(READY) | FROM(HELD))
#define LIVE        (FROM(STARTING) | FROM(RUNNING))
#define ASKED(fact) (UINT64_C(1) << FACT_##fact)
#define FAILS(cause)                                                                               \
    { TASK_FAILED, REASON_##cause, LIVE, 0 }

struct rule {
    enum task_state to;
    enum reason reason;
    unsigned from;
    uint64_t asked; /* one of these facts about the task, unless it is live; 0: none needed */
};

/* clang-format off */
static const struct rule rules[] = {
    { TASK_READY, REASON_PREREQUISITES, FROM(WAITING), 0 },
    { TASK_WAITING, REASON_PREREQUISITES, FROM(READY), 0 },
    { TASK_WAITING, REASON_SLUNG, FROM(DRAFT), ASKED(SLING) },
    { TASK_WAITING, REASON_RELEASED, FROM(HELD), 0 },  /* or the time: audit_time */
    { TASK_WAITING, REASON_REJECTED, FROM(HELD), ASKED(REJECT) },
    { TASK_WAITING, REASON_RETRIED, FROM(FAILED) | FROM(CANCELED), ASKED(RETRY) },
    { TASK_WAITING, REASON_AGAIN, FROM(DONE), ASKED(AGAIN) },
    { TASK_WAITING, REASON_REFUSED, FROM(STARTING), 0 },
    { TASK_WAITING, REASON_RELAUNCH, LIVE, 0 },
    { TASK_WAITING, REASON_LOST, LIVE, 0 },
    { TASK_WAITING, REASON_LIMITED, LIVE, 0 },
    { TASK_WAITING, REASON_ACCOUNT_CLOSED, LIVE, 0 },
    { TASK_WAITING, REASON_ITERATE, LIVE, 0 },
    { TASK_WAITING, REASON_RETRY, LIVE, 0 },
    { TASK_RUNNING, REASON_EXECUTED, FROM(STARTING), 0 },
    { TASK_RUNNING, REASON_DRAIN, LIVE, 0 },
    { TASK_HELD, REASON_HELD, REST, ASKED(HOLD) },
    { TASK_HELD, REASON_ITERATE, LIVE, 0 },
    { TASK_HELD, REASON_RETRY, LIVE, 0 },
    { TASK_HELD, REASON_RELAUNCH, LIVE, 0 },
    { TASK_HELD, REASON_LOST, LIVE, 0 },
    { TASK_HELD, REASON_BREAKER, LIVE, 0 },
    { TASK_HELD, REASON_AGENT_BUDGET, LIVE, 0 },
    { TASK_HELD, REASON_SPENT, REST, ASKED(SPENT) },
    { TASK_HELD, REASON_DENIED, LIVE, 0 },
    { TASK_HELD, REASON_ASKED, LIVE, 0 },
    { TASK_HELD, REASON_PENDING, LIVE, 0 },
    { TASK_FAILED, REASON_UNANSWERED, FROM(HELD), ASKED(UNANSWERED) },
    { TASK_FAILED, REASON_GATE_TIMEOUT, FROM(WAITING), ASKED(UNANSWERED) },
    { TASK_HELD, REASON_REVIEW, LIVE, 0 },
    { TASK_HELD, REASON_REVIEW, REST, ASKED(CANDIDATES) },
    { TASK_HELD, REASON_CANDIDATES, FROM(WAITING) | FROM(READY), ASKED(CANDIDATES) },
    { TASK_FAILED, REASON_CANDIDATES, FROM(HELD), ASKED(CANDIDATES) },
    { TASK_HELD, REASON_EXTERNAL, LIVE, 0 },
    { TASK_HELD, REASON_TAKEN, LIVE, 0 },
    { TASK_WAITING, REASON_TAKEN, LIVE | FROM(HELD) | FROM(DONE) | FROM(FAILED) | FROM(CANCELED), ASKED(TAKE) },
    { TASK_DONE, REASON_TAKEN, FROM(HELD), ASKED(APPROVE) },
    { TASK_DRAFT, REASON_CLEARED, REST, ASKED(CLEAR) },
    { TASK_DONE, REASON_SUCCEEDED, LIVE, 0 },
    { TASK_DONE, REASON_DRAIN_TIMEOUT, FROM(RUNNING), 0 },
    { TASK_DONE, REASON_APPROVED, FROM(HELD), ASKED(APPROVE) },
    { TASK_DONE, REASON_MARKED, REST, ASKED(MARKED) },
    FAILS(RETRIES), FAILS(BREAKER), FAILS(LOST), FAILS(TIMEOUT), FAILS(VALIDATION),
    FAILS(CONFLICT),
    { TASK_FAILED, REASON_RESTARTS, LIVE | FROM(WAITING), 0 },
    { TASK_FAILED, REASON_ORPHANED, LIVE | REST | FROM(DRAFT), 0 },
    { TASK_FAILED, REASON_DEPENDENCY, REST, 0 },
    { TASK_CANCELED, REASON_CANCELED, LIVE | REST | FROM(DRAFT), ASKED(CANCEL) },
    { TASK_INVALIDATED, REASON_INVALIDATED, LIVE | REST | FROM(DRAFT) | FROM(DONE), 0 },
};
/* clang-format on */

static const struct rule *find_rule(enum task_state from, enum task_state to, enum reason reason) {
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        if (rules[i].to == to && rules[i].reason == reason && (rules[i].from & (1u << from)))
            return &rules[i];
    }
    return NULL;
}

/* I8: the graph; the numbers that go with it. */
static bool audit_graph(const struct books *b, const struct row *row, const struct order *o) {
    const struct rule *rule = find_rule(o->from, o->to, o->reason);
    if (o->from != row->state) {
        breach_set(b->breach, "I8", "task %" PRIu64 " left %s but was %s", row->id,
                   task_state_name(o->from), task_state_name(row->state));
        return false;
    }
    if (!rule || !task_may_become(o->from, o->to)) {
        breach_set(b->breach, "I8", "task %" PRIu64 ": %s to %s for '%s' is in no table", row->id,
                   task_state_name(o->from), task_state_name(o->to), reason_name(o->reason));
        return false;
    }
    if (rule->asked && !task_state_is_live(o->from) && !(row->asked & rule->asked))
        breach_set(b->breach, "I8", "task %" PRIu64 ": %s to %s for '%s', but nobody asked",
                   row->id, task_state_name(o->from), task_state_name(o->to),
                   reason_name(o->reason));
    bool rises = o->reason == REASON_ITERATE || o->reason == REASON_AGAIN
                 || o->reason == REASON_REJECTED
                 || (o->reason == REASON_TAKEN && o->from == TASK_DONE);
    if (o->iteration != row->iteration + (rises ? 1 : 0))
        breach_set(b->breach, "I8", "task %" PRIu64 ": iteration %" PRIu32 " after %" PRIu32,
                   row->id, o->iteration, row->iteration);
    bool undone = task_state_is_live(o->from) && (row->asked & ASKED(ORDER_REFUSED));
    if (o->attempt != row->attempt - (undone ? 1 : 0))
        breach_set(b->breach, "I3", "task %" PRIu64 ": attempt %" PRIu32 " instead of %" PRIu32,
                   row->id, o->attempt, row->attempt);
    return true;
}

/* I18: held until its time, draining until its time, unless a person or the last child ends it. */
static void audit_time(const struct books *b, const struct row *row, const struct order *o) {
    bool due = row->not_before > 0 && b->now >= row->not_before;
    if (o->from == TASK_HELD && o->reason == REASON_RELEASED && !due
        && !(row->asked & ASKED(RELEASE)))
        breach_set(b->breach, "I18", "task %" PRIu64 " left held %" PRId64 " ms early", row->id,
                   row->not_before - b->now);
    if (o->reason == REASON_DRAIN_TIMEOUT && !due)
        breach_set(b->breach, "I18", "task %" PRIu64 " stopped draining %" PRId64 " ms early",
                   row->id, row->not_before - b->now);
}

static bool hold_fits(const struct expected_end *end, const struct order *o) {
    return o->to != TASK_HELD
           || (o->hold == end->hold && o->until >= end->until_from && o->until <= end->until_to);
}

/* I9, I19: what the end of a run makes of its task is what its outcome and its counters say. */
static void audit_end(const struct books *b, const struct row *row, const struct order *o) {
    const struct expected_end *end = &row->end;
    if (!end->exact)
        return;
    enum task_state to = end->to;
    enum reason reason = end->reason;
    if (end->success && to == TASK_DONE && b->policy.drain > 0
        && books_keeps_parent_draining(b, row)) {
        to = TASK_RUNNING;
        reason = REASON_DRAIN;
    }
    if (o->to == to && o->reason == reason && hold_fits(end, o))
        return;
    /* a delay that jitter can bring to 0 */
    if (to == TASK_HELD && end->until_from <= b->now && o->to == TASK_WAITING
        && o->reason == reason)
        return;
    breach_set(b->breach, reason == REASON_RETRY || to == TASK_FAILED ? "I19" : "I9",
               "task %" PRIu64 " became %s (%s, %s, until %" PRId64
               ") at the end of its run instead of %s (%s, %s, until %" PRId64 " to %" PRId64 ")",
               row->id, task_state_name(o->to), hold_name(o->hold), reason_name(o->reason),
               o->until, task_state_name(to), hold_name(end->hold), reason_name(reason),
               end->until_from, end->until_to);
}

static void audit_live(const struct books *b, const struct row *row, const struct order *o) {
    if (o->reason == REASON_EXECUTED) {
        if (!(row->asked & ASKED(RUN_STARTED)))
            breach_set(b->breach, "I8", "task %" PRIu64 " runs, but nobody saw it", row->id);
        return;
    }
    if (row->phase == PHASE_DRAINING) {
        if (o->to == TASK_CANCELED)
            breach_set(b->breach, "I9", "task %" PRIu64 " is canceled after its success", row->id);
        if (o->to == TASK_DONE && o->reason == REASON_SUCCEEDED
            && books_keeps_parent_draining(b, row) && !(row->asked & ASKED(CANCEL)))
            breach_set(b->breach, "I8",
                       "task %" PRIu64 " stopped draining although a child keeps it", row->id);
        return;
    }
    if (row->alive)
        breach_set(b->breach, "I8", "task %" PRIu64 " became %s while its run lives", row->id,
                   task_state_name(o->to));
    else
        audit_end(b, row, o);
}

void audit_change(const struct books *b, const struct row *row, const struct order *o) {
    if (!audit_graph(b, row, o))
        return;
    audit_time(b, row, o);
    if (task_state_is_live(o->from))
        audit_live(b, row, o);
    if (o->to == TASK_READY && !books_prerequisites(b, row))
        breach_set(b->breach, "I13", "task %" PRIu64 " is ready without its prerequisites",
                   row->id);
    if (o->to == TASK_WAITING && o->reason == REASON_REJECTED && row->hold != HOLD_REVIEW
        && row->hold != HOLD_EXTERNAL)
        breach_set(b->breach, "I8", "task %" PRIu64 " was rejected out of '%s'", row->id,
                   hold_name(row->hold));
}

void audit_stop(const struct books *b, const struct row *row, const struct order *o) {
    if (!task_state_is_live(row->state) || row->phase == PHASE_DRAINING)
        breach_set(b->breach, "I8", "task %" PRIu64 " is told to stop but does not run", row->id);
    if (row->phase == PHASE_STOPPING)
        breach_set(b->breach, "I8", "task %" PRIu64 " is told to stop twice", row->id);
    if (o->attempt != row->attempt)
        breach_set(b->breach, "I3",
                   "task %" PRIu64 ": attempt %" PRIu32 " is told to stop, %" PRIu32 " runs",
                   row->id, o->attempt, row->attempt);
    if (o->reason == REASON_CANCELED && !(row->asked & ASKED(CANCEL)))
        breach_set(b->breach, "I8", "task %" PRIu64 " is canceled, but nobody asked", row->id);
}
