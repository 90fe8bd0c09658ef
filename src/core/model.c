/* model.c: enum names, the state transition table and the action table. */
#include "core/model.h"

#include "core/action.h"

#define NAME(value, name) [value] = (name),
#define DEFINE_NAMES(enum_type, function, values)                                                  \
    const char *function(enum enum_type value) {                                                   \
        static const char *const names[] = { values(NAME) };                                       \
        return names[value];                                                                       \
    }
DEFINE_NAMES(task_state, task_state_name, TASK_STATES)
DEFINE_NAMES(hold, hold_name, HOLDS)
DEFINE_NAMES(run_phase, run_phase_name, RUN_PHASES)
DEFINE_NAMES(stop_request, stop_request_name, STOP_REQUESTS)
DEFINE_NAMES(until, until_name, UNTILS)
DEFINE_NAMES(parent_gate, parent_gate_name, PARENT_GATES)
DEFINE_NAMES(outcome, outcome_name, OUTCOMES)
DEFINE_NAMES(retry_class, retry_class_name, RETRY_CLASSES)
DEFINE_NAMES(lease_kind, lease_kind_name, LEASE_KINDS)
DEFINE_NAMES(gate, gate_name, GATES)
DEFINE_NAMES(quota_window, quota_window_name, QUOTA_WINDOWS)
DEFINE_NAMES(reason, reason_name, REASONS)

int task_id_compare(const void *a, const void *b) {
    task_id left = *(const task_id *)a, right = *(const task_id *)b;
    return (left > right) - (left < right);
}

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
     | IN_HOLD(DENIED) | IN_HOLD(QUESTION) | IN_HOLD(CHECK))
#define STOPPED (ATTEMPT | IN_HOLD(PERSON) | IN_HOLD(TAKEN))
#define HELD    (STOPPED | VERDICT)
#define CLOSES  (VERDICT | IN_HOLD(TAKEN)) /* approval makes it done */
#define OPEN    (IN_STATE(DRAFT) | QUEUED | LIVE | HELD | IN_HOLD(CANDIDATES))
#define TAKABLE (QUEUED | LIVE | HELD | IN_STATE(DONE) | IN_STATE(FAILED) | IN_STATE(CANCELED))

/* clang-format off */
const struct task_action task_actions[] = {
    { "again", FACT_AGAIN, IN_STATE(DONE), IN_STATE(DONE), 0, "only what is done can be done again" },
    { "approve", FACT_APPROVE, CLOSES, IN_HOLD(REVIEW) | IN_HOLD(TAKEN), IN_STATE(DONE), "only what waits for review or to be closed can be approved" },
    { "cancel", FACT_CANCEL, OPEN, OPEN, FINAL, "" },
    { "clear", FACT_CLEAR, QUEUED | HELD, QUEUED | HELD, IN_STATE(DRAFT), "only what waits can become a draft again" },
    { "close", FACT_APPROVE, CLOSES, IN_HOLD(EXTERNAL), IN_STATE(DONE), "only what waits for review or to be closed can be closed" },
    { "delete", FACT_DELETE, FINAL | IN_STATE(DRAFT), FINAL | IN_STATE(DRAFT), 0, "cancel it first" },
    { "hold", FACT_HOLD, QUEUED | STOPPED, QUEUED, 0, "only what waits can be held" },
    { "priority", FACT_PRIORITY, OPEN, QUEUED, 0, "its priority no longer matters" },
    { "reject", FACT_REJECT, VERDICT, IN_HOLD(REVIEW), 0, "only what waits for review or to be closed can be rejected" },
    { "release", FACT_RELEASE, STOPPED, STOPPED, QUEUED, "only what is held can be released" },
    { "retry", FACT_RETRY, IN_STATE(FAILED) | IN_STATE(CANCELED) | ATTEMPT, IN_STATE(FAILED) | IN_STATE(CANCELED) | IN_HOLD(DENIED), 0, "only what has failed, was canceled or waits for its next attempt can be retried" },
    { "sling", FACT_SLING, IN_STATE(DRAFT), IN_STATE(DRAFT), 0, "" },
    { "take", FACT_TAKE, TAKABLE, 0, 0, "only what was queued once can be taken over" },
    { .name = NULL },
};
/* clang-format on */

uint32_t task_situation(enum task_state state, enum hold hold) {
    return state == TASK_HELD ? 1u << (16 + hold) : 1u << state;
}
