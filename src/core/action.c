/* action.c: see action.h. The facts themselves are checked once more when they are applied (docs/rules.md §4). */
#include "core/action.h"

#include <stddef.h>

#define FINAL   (IN_STATE(DONE) | IN_STATE(FAILED) | IN_STATE(CANCELED) | IN_STATE(INVALIDATED))
#define LIVE    (IN_STATE(STARTING) | IN_STATE(RUNNING))
#define QUEUED  (IN_STATE(WAITING) | IN_STATE(READY))
#define VERDICT (IN_HOLD(REVIEW) | IN_HOLD(EXTERNAL))
/* It would go on by itself later, or when a person lets it. */
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
