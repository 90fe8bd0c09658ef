/* model.c: the names of the enums, the table of state transitions and the table of actions. */
#include "core/model.h"

#include <inttypes.h>

#include "base/macros.h"
#include "core/action.h"
#include "core/order.h"

/* The tests find a hole in the middle of a list, the assertion a missing end. */
#define DEFINE_NAMES(enum_type, function, list, max)                                               \
    _Static_assert(ARRAY_SIZE(list) == (max), "a value of " #enum_type " has no name");            \
    const char *function(enum enum_type value) {                                                   \
        return (list)[value];                                                                      \
    }

static const char *const task_states[] = {
    [TASK_ABSENT] = "absent",
    [TASK_DRAFT] = "draft",
    [TASK_WAITING] = "waiting",
    [TASK_READY] = "ready",
    [TASK_STARTING] = "starting",
    [TASK_RUNNING] = "running",
    [TASK_HELD] = "held",
    [TASK_DONE] = "done",
    [TASK_FAILED] = "failed",
    [TASK_CANCELED] = "canceled",
    [TASK_INVALIDATED] = "invalidated",
};
DEFINE_NAMES(task_state, task_state_name, task_states, TASK_STATE_MAX)

static const char *const holds[] = {
    [HOLD_NONE] = "none",       [HOLD_PERSON] = "person",     [HOLD_BACKOFF] = "backoff",
    [HOLD_RESTART] = "restart", [HOLD_BREAKER] = "breaker",   [HOLD_BUDGET] = "budget",
    [HOLD_REVIEW] = "review",   [HOLD_EXTERNAL] = "external", [HOLD_MARKER] = "marker",
    [HOLD_DENIED] = "denied",
};
DEFINE_NAMES(hold, hold_name, holds, HOLD_MAX)

static const char *const run_phases[] = {
    [PHASE_WORKING] = "working",   [PHASE_WAITING] = "waiting",   [PHASE_VALIDATING] = "validating",
    [PHASE_DRAINING] = "draining", [PHASE_STOPPING] = "stopping",
};
DEFINE_NAMES(run_phase, run_phase_name, run_phases, PHASE_MAX)

static const char *const stop_wishes[] = {
    [STOP_NONE] = "none",
    [STOP_CANCEL] = "cancel",
    [STOP_INVALIDATE] = "invalidate",
    [STOP_ORPHAN] = "orphan",
};
DEFINE_NAMES(stop_wish, stop_wish_name, stop_wishes, STOP_WISH_MAX)

static const char *const untils[] = {
    [UNTIL_EXIT] = "exit",
    [UNTIL_DONE] = "done",
    [UNTIL_VALIDATE] = "validate",
    [UNTIL_EXTERNAL] = "external",
};
DEFINE_NAMES(until, until_name, untils, UNTIL_MAX)

static const char *const parent_gates[] = {
    [PARENT_DONE] = "done",
    [PARENT_NONE] = "none",
};
DEFINE_NAMES(parent_gate, parent_gate_name, parent_gates, PARENT_GATE_MAX)

static const char *const outcomes[] = {
    [OUTCOME_OK] = "ok",
    [OUTCOME_UNFINISHED] = "unfinished",
    [OUTCOME_INVALID] = "invalid",
    [OUTCOME_FAILED] = "failed",
    [OUTCOME_LAUNCH] = "launch",
    [OUTCOME_TIMEOUT] = "timeout",
    [OUTCOME_LIMITED] = "limited",
    [OUTCOME_CLOSED] = "closed",
    [OUTCOME_BUDGET] = "budget",
    [OUTCOME_LOST] = "lost",
    [OUTCOME_CANCELED] = "canceled",
    [OUTCOME_CONFLICT] = "conflict",
    [OUTCOME_UNMERGED] = "unmerged",
    [OUTCOME_AFRESH] = "afresh",
    [OUTCOME_STUCK] = "stuck",
    [OUTCOME_DENIED] = "denied",
};
DEFINE_NAMES(outcome, outcome_name, outcomes, OUTCOME_MAX)

static const char *const retry_classes[] = {
    [RETRY_UNFINISHED] = "unfinished",
    [RETRY_FAILED] = "failed",
    [RETRY_LAUNCH] = "launch",
    [RETRY_LOST] = "lost",
};
DEFINE_NAMES(retry_class, retry_class_name, retry_classes, RETRY_CLASS_MAX)

static const char *const lease_kinds[] = {
    [LEASE_TASK] = "task",           [LEASE_SERIAL] = "serial",
    [LEASE_WORKSPACE] = "workspace", [LEASE_WORKSPACES] = "workspaces",
    [LEASE_PROJECT] = "project",     [LEASE_KIND] = "kind",
    [LEASE_AGENT] = "agent",         [LEASE_AGENTS] = "agents",
    [LEASE_LIMITER] = "limiter",     [LEASE_RESOURCE] = "resource",
    [LEASE_REVIEW] = "review",       [LEASE_ROOTS] = "roots",
    [LEASE_RUNS] = "runs",
};
DEFINE_NAMES(lease_kind, lease_kind_name, lease_kinds, LEASE_KIND_MAX)

static const char *const gates[] = {
    [GATE_PAUSED] = "paused",
    [GATE_PROJECT] = "project",
    [GATE_HELD] = "held",
    [GATE_DEPENDENCY] = "dependency",
    [GATE_PARENT] = "parent",
    [GATE_ARTIFACT] = "artifact",
    [GATE_BREAKER] = "breaker",
    [GATE_LIMITER] = "limiter",
    [GATE_HOST] = "host",
    [GATE_BUDGET] = "budget",
    [GATE_PROJECT_BUDGET] = "project-budget",
    [GATE_LEASE] = "lease",
    [GATE_PACE] = "pace",
};
DEFINE_NAMES(gate, gate_name, gates, GATE_MAX)

static const char *const reasons[] = {
    [REASON_NONE] = "none",
    [REASON_FIRST_IN_ORDER] = "first-in-order",
    [REASON_PREREQUISITES] = "prerequisites",
    [REASON_EXECUTED] = "executed",
    [REASON_SUCCEEDED] = "succeeded",
    [REASON_DRAIN] = "drain",
    [REASON_DRAIN_TIMEOUT] = "drain-timeout",
    [REASON_ITERATE] = "iterate",
    [REASON_RETRY] = "retry",
    [REASON_RELAUNCH] = "relaunch",
    [REASON_BREAKER] = "breaker",
    [REASON_LIMITED] = "limited",
    [REASON_ACCOUNT_CLOSED] = "account-closed",
    [REASON_AGENT_BUDGET] = "agent-budget",
    [REASON_LOST] = "lost",
    [REASON_RETRIES] = "retries",
    [REASON_RESTARTS] = "restarts",
    [REASON_TIMEOUT] = "timeout",
    [REASON_VALIDATION] = "validation",
    [REASON_CONFLICT] = "merge-conflict",
    [REASON_ORPHANED] = "orphaned",
    [REASON_DEPENDENCY] = "dependency",
    [REASON_INVALIDATED] = "invalidated",
    [REASON_CANCELED] = "canceled",
    [REASON_HELD] = "held",
    [REASON_RELEASED] = "released",
    [REASON_CLEARED] = "cleared",
    [REASON_SLUNG] = "slung",
    [REASON_RETRIED] = "retried",
    [REASON_AGAIN] = "again",
    [REASON_REVIEW] = "review",
    [REASON_EXTERNAL] = "external",
    [REASON_APPROVED] = "approved",
    [REASON_REJECTED] = "rejected",
    [REASON_REFUSED] = "refused",
    [REASON_MARKED] = "marked",
    [REASON_UNMERGED] = "merge-failed",
    [REASON_AFRESH] = "afresh",
    [REASON_STUCK] = "stuck",
    [REASON_SPENT] = "spent",
    [REASON_DENIED] = "denied",
};
DEFINE_NAMES(reason, reason_name, reasons, REASON_MAX)

bool task_state_is_final(enum task_state state) {
    return state == TASK_DONE || state == TASK_FAILED || state == TASK_CANCELED
           || state == TASK_INVALIDATED;
}

bool task_state_is_failure(enum task_state state) {
    return task_state_is_final(state) && state != TASK_DONE;
}

bool task_state_is_live(enum task_state state) {
    return state == TASK_STARTING || state == TASK_RUNNING;
}

#define TO(state) (1u << TASK_##state)
#define ENDED     (TO(FAILED) | TO(CANCELED) | TO(INVALIDATED))
/* clang-format off */
static const unsigned next_states[TASK_STATE_MAX] = {
    [TASK_ABSENT]   = TO(DRAFT) | TO(WAITING) | TO(STARTING) | TO(RUNNING) | TO(HELD) | TO(DONE) | ENDED,
    [TASK_DRAFT]    = TO(WAITING) | ENDED | TO(ABSENT),
    [TASK_WAITING]  = TO(READY) | TO(HELD) | TO(DRAFT) | TO(DONE) | ENDED | TO(ABSENT),
    [TASK_READY]    = TO(WAITING) | TO(STARTING) | TO(HELD) | TO(DRAFT) | TO(DONE) | ENDED | TO(ABSENT),
    [TASK_STARTING] = TO(RUNNING) | TO(WAITING) | TO(HELD) | TO(DONE) | ENDED,
    [TASK_RUNNING]  = TO(RUNNING) /* draining */ | TO(WAITING) | TO(HELD) | TO(DONE) | ENDED,
    [TASK_HELD]     = TO(HELD) | TO(WAITING) | TO(DRAFT) | TO(DONE) | ENDED | TO(ABSENT),
    [TASK_DONE]     = TO(WAITING) /* again */ | TO(INVALIDATED) | TO(ABSENT),
    [TASK_FAILED]   = TO(WAITING) /* retry */ | TO(ABSENT),
    [TASK_CANCELED] = TO(WAITING) /* retry */ | TO(ABSENT),
    [TASK_INVALIDATED] = TO(ABSENT),
};
/* clang-format on */

bool task_may_become(enum task_state from, enum task_state to) {
    return (next_states[from] >> to) & 1u;
}

/* --- actions --------------------------------------------------------------------------------- */

#define FINAL   (IN_STATE(DONE) | IN_STATE(FAILED) | IN_STATE(CANCELED) | IN_STATE(INVALIDATED))
#define LIVE    (IN_STATE(STARTING) | IN_STATE(RUNNING))
#define QUEUED  (IN_STATE(WAITING) | IN_STATE(READY))
#define VERDICT (IN_HOLD(REVIEW) | IN_HOLD(EXTERNAL))
/* Held between two attempts. */
#define ATTEMPT                                                                                    \
    (IN_HOLD(BACKOFF) | IN_HOLD(RESTART) | IN_HOLD(BREAKER) | IN_HOLD(BUDGET) | IN_HOLD(MARKER)    \
     | IN_HOLD(DENIED))
#define STOPPED (ATTEMPT | IN_HOLD(PERSON))
#define HELD    (STOPPED | VERDICT)
#define OPEN    (IN_STATE(DRAFT) | QUEUED | LIVE | HELD)

/* clang-format off */
const struct task_action task_actions[] = {
    { "again", FACT_AGAIN, IN_STATE(DONE), IN_STATE(DONE), 0, "only what is done can be done again" },
    { "approve", FACT_APPROVE, VERDICT, IN_HOLD(REVIEW), IN_STATE(DONE), "only what waits for review or to be closed can be approved" },
    { "cancel", FACT_CANCEL, OPEN, OPEN, FINAL, "" },
    { "clear", FACT_CLEAR, QUEUED | HELD, QUEUED | HELD, IN_STATE(DRAFT), "only what waits can become a draft again" },
    { "close", FACT_APPROVE, VERDICT, IN_HOLD(EXTERNAL), IN_STATE(DONE), "only what waits for review or to be closed can be closed" },
    { "delete", FACT_DELETE, FINAL | IN_STATE(DRAFT), FINAL | IN_STATE(DRAFT), 0, "cancel it first" },
    { "hold", FACT_HOLD, QUEUED | STOPPED, QUEUED, 0, "only what waits can be held" },
    { "priority", FACT_PRIORITY, OPEN, QUEUED, 0, "its priority no longer matters" },
    { "reject", FACT_REJECT, VERDICT, IN_HOLD(REVIEW), 0, "only what waits for review or to be closed can be rejected" },
    { "release", FACT_RELEASE, STOPPED, STOPPED, QUEUED, "only what is held can be released" },
    { "retry", FACT_RETRY, IN_STATE(FAILED) | IN_STATE(CANCELED) | ATTEMPT, IN_STATE(FAILED) | IN_STATE(CANCELED) | IN_HOLD(DENIED), 0, "only what has failed, was canceled or waits for its next attempt can be retried" },
    { "sling", FACT_SLING, IN_STATE(DRAFT), IN_STATE(DRAFT), 0, "" },
    { .name = NULL },
};
/* clang-format on */

uint32_t task_situation(enum task_state state, enum hold hold) {
    return state == TASK_HELD ? 1u << (16 + hold) : 1u << state;
}

/* --- orders ---------------------------------------------------------------------------------- */

static const char *const order_kinds[] = {
    [ORDER_START] = "start",
    [ORDER_STOP] = "stop",
    [ORDER_CHANGE] = "change",
    [ORDER_GROUP] = "group",
};
_Static_assert(ARRAY_SIZE(order_kinds) == ORDER_KIND_MAX, "an order has no name");

static void print_name(struct strbuf *out, const char *label, const struct symbol_table *symbols,
                       sym name) {
    if (name)
        strbuf_printf(out, " %s=%s", label, symbol_name(symbols, name));
}

void order_print(const struct order *o, const struct symbol_table *symbols, struct strbuf *out) {
    strbuf_puts(out, order_kinds[o->kind]);
    if (o->kind == ORDER_GROUP) {
        strbuf_printf(out, " group=%" PRIu32 " %s", o->group, task_state_name(o->to));
        return;
    }
    strbuf_printf(out, " task=%" PRIu64 " attempt=%" PRIu32 " iteration=%" PRIu32, o->task,
                  o->attempt, o->iteration);
    if (o->kind == ORDER_START) {
        print_name(out, "project", symbols, o->project);
        print_name(out, "agent", symbols, o->agent);
        print_name(out, "limiter", symbols, o->limiter);
        print_name(out, "workspace", symbols, o->workspace);
        strbuf_printf(out, " score=%" PRId32, o->score);
        if (o->lender)
            strbuf_printf(out, " lender=%" PRIu64, o->lender);
    }
    if (o->kind == ORDER_CHANGE)
        strbuf_printf(out, " %s->%s", task_state_name(o->from), task_state_name(o->to));
    if (o->kind == ORDER_CHANGE && o->to == TASK_HELD)
        strbuf_printf(out, "(%s) until=%" PRId64, hold_name(o->hold), o->until);
    strbuf_printf(out, " reason=%s", reason_name(o->reason));
}
