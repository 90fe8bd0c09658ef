/* model.h: the states, phases, outcomes, gates and reasons of the scheduler.
 *
 * Every enum is an X-macro list of values with the names that users, files and tests see, and ends
 * in _MAX. Names never change after a release. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/symbol_table.h"
#include "base/time_ms.h"

/* Assigned by the store, increasing with every task ever added. Identifies the task in the core and
 * is the final tie-break of the order. 0: no task. */
typedef uint64_t task_id;

/* For qsort and bsearch of task ids, or of records that begin with one. */
int task_id_compare(const void *a, const void *b);

/* A cap or a budget. Not negative, or UNLIMITED. */
typedef int64_t amount;
#define UNLIMITED INT64_MAX

/* A budget of money, in millionths of a dollar. Zeroed: no budget. */
struct money_budget {
    bool is_set;
    int64_t micro;
};

#define ENUM_VALUE(value, name) value,

/* clang-format off */
#define TASK_STATES(X) \
    X(TASK_ABSENT, "absent") /* named by another task (parent, dependency) but never added */ \
    X(TASK_DRAFT, "draft") \
    X(TASK_WAITING, "waiting") \
    X(TASK_READY, "ready") \
    X(TASK_STARTING, "starting") \
    X(TASK_RUNNING, "running") \
    X(TASK_HELD, "held") \
    X(TASK_DONE, "done") \
    X(TASK_FAILED, "failed") \
    X(TASK_CANCELED, "canceled") \
    X(TASK_INVALIDATED, "invalidated")
enum task_state { TASK_STATES(ENUM_VALUE) TASK_STATE_MAX };

/* Why a task is held. Holds with a time end automatically. */
#define HOLDS(X) \
    X(HOLD_NONE, "none") \
    X(HOLD_PERSON, "person") /* by a request */ \
    X(HOLD_BACKOFF, "backoff") /* retry after a failure; has a time */ \
    X(HOLD_RESTART, "restart") /* between two iterations of a loop; has a time */ \
    X(HOLD_BREAKER, "breaker") /* too many launch failures; has a time */ \
    X(HOLD_BUDGET, "budget") /* its agent ran out (has a time), or the task itself did */ \
    X(HOLD_REVIEW, "review") /* finished, waits for approve or reject */ \
    X(HOLD_EXTERNAL, "external") /* finished its run, waits to be closed */ \
    X(HOLD_MARKER, "marker") /* its DONE marker is not a file, so nothing could end it */ \
    X(HOLD_DENIED, "denied") /* its agent lacked a permission; a person must grant it */ \
    X(HOLD_QUESTION, "question") /* its agent asked a question; continues with the answer */ \
    X(HOLD_CHECK, "check") /* a check has no result yet; it is asked again */ \
    X(HOLD_CANDIDATES, "candidates") /* its candidates work on it; one of them will be picked */ \
    X(HOLD_TAKEN, "taken") /* a person has taken it over; in other states: see task_is_taken */
enum hold { HOLDS(ENUM_VALUE) HOLD_MAX };

#define RUN_PHASES(X) \
    X(PHASE_WORKING, "working") \
    X(PHASE_WAITING, "waiting") /* for its own descendants: it may lend them its slots */ \
    X(PHASE_VALIDATING, "validating") /* check commands run; needs no API */ \
    X(PHASE_DRAINING, "draining") /* the run has ended, its children have not */ \
    X(PHASE_STOPPING, "stopping") /* a stop was ordered; every lease stays */
enum run_phase { RUN_PHASES(ENUM_VALUE) PHASE_MAX };

/* A requested stop, and what the task becomes when its run ends. */
#define STOP_REQUESTS(X) \
    X(STOP_NONE, "none") \
    X(STOP_CANCEL, "cancel") \
    X(STOP_INVALIDATE, "invalidate") \
    X(STOP_ORPHAN, "orphan") \
    X(STOP_TAKE, "take") /* weaker than all others */
enum stop_request { STOP_REQUESTS(ENUM_VALUE) STOP_REQUEST_MAX };

/* What completes a task. */
#define UNTILS(X) \
    X(UNTIL_EXIT, "exit") /* exit code 0 */ \
    X(UNTIL_DONE, "done") /* its DONE marker exists */ \
    X(UNTIL_VALIDATE, "validate") /* its check commands pass */ \
    X(UNTIL_EXTERNAL, "external") /* someone closes it */
enum until { UNTILS(ENUM_VALUE) UNTIL_MAX };

#define PARENT_GATES(X) \
    X(PARENT_DONE, "done") /* may start when the parent is done and its artifact exists */ \
    X(PARENT_NONE, "none") /* may start at once */
enum parent_gate { PARENT_GATES(ENUM_VALUE) PARENT_GATE_MAX };

/* How one attempt ended, as seen by the executor or the agent's adapter. */
#define OUTCOMES(X) \
    X(OUTCOME_OK, "ok") /* exit code 0; marker and checks, if it has any, passed */ \
    X(OUTCOME_UNFINISHED, "unfinished") /* exit code 0 without the marker */ \
    X(OUTCOME_INVALID, "invalid") /* the checks failed */ \
    X(OUTCOME_FAILED, "failed") /* exit code other than 0, refused, crashed, … */ \
    X(OUTCOME_LAUNCH, "launch") /* could not be launched, or died at once without output */ \
    X(OUTCOME_TIMEOUT, "timeout") \
    X(OUTCOME_LIMITED, "limited") /* rate limited or overloaded */ \
    X(OUTCOME_CLOSED, "closed") /* auth or billing: the account needs a person */ \
    X(OUTCOME_BUDGET, "budget") /* the agent's own budget is used up */ \
    X(OUTCOME_LOST, "lost") /* no end was recorded and no process is left */ \
    X(OUTCOME_CANCELED, "canceled") \
    X(OUTCOME_CONFLICT, "conflict") /* merge conflict */ \
    X(OUTCOME_UNMERGED, "unmerged") /* it succeeded, but merging failed without a conflict */ \
    X(OUTCOME_NEW_SESSION, "afresh") /* its session does not exist any more: not counted */ \
    X(OUTCOME_STUCK, "stuck") /* no changes any more, or always the same failure */ \
    X(OUTCOME_DENIED, "denied") /* the agent lacked a permission, and no check passed */ \
    X(OUTCOME_ASKED, "asked") /* it ended with a question that is not answered */ \
    X(OUTCOME_PENDING, "pending") /* a check has no result yet */ \
    X(OUTCOME_TAKEN, "taken") /* a person took it over, or worked in it */
enum outcome { OUTCOMES(ENUM_VALUE) OUTCOME_MAX };

/* The failure classes that have a policy row. */
#define RETRY_CLASSES(X) \
    X(RETRY_UNFINISHED, "unfinished") \
    X(RETRY_FAILED, "failed") \
    X(RETRY_LAUNCH, "launch") \
    X(RETRY_LOST, "lost")
enum retry_class { RETRY_CLASSES(ENUM_VALUE) RETRY_CLASS_MAX };

/* Kinds of limited keys, in display order of their gates. */
#define LEASE_KINDS(X) \
    X(LEASE_TASK, "task") \
    X(LEASE_SERIAL, "serial") \
    X(LEASE_WORKSPACE, "workspace") /* one named path */ \
    X(LEASE_WORKSPACES, "workspaces") /* the number of a project's workspaces */ \
    X(LEASE_PROJECT, "project") \
    X(LEASE_KIND, "kind") \
    X(LEASE_AGENT, "agent") \
    X(LEASE_AGENTS, "agents") /* no named agent, and none of the roster is idle */ \
    X(LEASE_LIMITER, "limiter") \
    X(LEASE_RESOURCE, "resource") \
    X(LEASE_REVIEW, "review") \
    X(LEASE_ROOTS, "roots") \
    X(LEASE_RUNS, "runs")
enum lease_kind { LEASE_KINDS(ENUM_VALUE) LEASE_KIND_MAX };

/* Conditions that must hold before a task may start, in the order in which they are checked. */
#define GATES(X) \
    X(GATE_PAUSED, "paused") \
    X(GATE_PROJECT, "project") \
    X(GATE_HELD, "held") \
    X(GATE_DEPENDENCY, "dependency") \
    X(GATE_PARENT, "parent") \
    X(GATE_ARTIFACT, "artifact") \
    X(GATE_PROBE, "probe") /* a command that asks the outside world */ \
    X(GATE_HOURS, "hours") /* opening hours of its project, agent or account */ \
    X(GATE_BREAKER, "breaker") \
    X(GATE_LIMITER, "limiter") \
    X(GATE_HOST, "host") \
    X(GATE_BUDGET, "budget") \
    X(GATE_PROJECT_BUDGET, "project-budget") \
    X(GATE_LEASE, "lease") \
    X(GATE_PACE, "pace")
enum gate { GATES(ENUM_VALUE) GATE_MAX };

/* The windows in which a provider counts the use of an account. */
#define QUOTA_WINDOWS(X) \
    X(QUOTA_FIVE_HOUR, "five_hour") \
    X(QUOTA_WEEKLY, "weekly")
enum quota_window { QUOTA_WINDOWS(ENUM_VALUE) QUOTA_WINDOW_MAX };

enum host_floor { HOST_DISK, HOST_MEMORY, HOST_LOAD, HOST_FLOOR_MAX };

/* Why a task changed its state, or why an order was issued. */
#define REASONS(X) \
    X(REASON_NONE, "none") \
    X(REASON_FIRST_IN_ORDER, "first-in-order") /* start */ \
    X(REASON_PREREQUISITES, "prerequisites") /* ready or waiting: they are complete or not */ \
    X(REASON_EXECUTED, "executed") /* running: the command was seen to start */ \
    X(REASON_SUCCEEDED, "succeeded") /* done */ \
    X(REASON_DRAIN, "drain") /* running, phase draining: waits for its children */ \
    X(REASON_DRAIN_TIMEOUT, "drain-timeout") /* done, although children are not: a warning */ \
    X(REASON_ITERATE, "iterate") /* held: the next iteration comes */ \
    X(REASON_RETRY, "retry") /* held: the next attempt comes */ \
    X(REASON_RELAUNCH, "relaunch") /* waiting: launch failed, tried again at once */ \
    X(REASON_BREAKER, "breaker") /* held or failed: too many launch failures */ \
    X(REASON_LIMITED, "limited") /* waiting: the account hit its limit; nothing counted */ \
    X(REASON_ACCOUNT_CLOSED, "account-closed") /* waiting: auth or billing; nothing counted */ \
    X(REASON_AGENT_BUDGET, "agent-budget") /* held: the agent's budget */ \
    X(REASON_LOST, "lost") /* waiting or failed */ \
    X(REASON_RETRIES, "retries") /* failed: no retry left */ \
    X(REASON_RESTARTS, "restarts") /* failed: no restart left */ \
    X(REASON_TIMEOUT, "timeout") /* failed: no retry left after a timeout */ \
    X(REASON_VALIDATION, "validation") /* failed: the checks failed and no restart is left */ \
    X(REASON_CONFLICT, "merge-conflict") /* failed: merge conflict */ \
    X(REASON_ORPHANED, "orphaned") /* failed: the parent was deleted */ \
    X(REASON_DEPENDENCY, "dependency") /* failed: a dependency failed or was deleted */ \
    X(REASON_INVALIDATED, "invalidated") /* the parent began a new iteration */ \
    X(REASON_CANCELED, "canceled") /* by a request */ \
    X(REASON_HELD, "held") /* by a request */ \
    X(REASON_RELEASED, "released") /* by a request, or its time has come */ \
    X(REASON_CLEARED, "cleared") /* back to draft */ \
    X(REASON_SLUNG, "slung") /* draft → waiting */ \
    X(REASON_RETRIED, "retried") /* by a request */ \
    X(REASON_AGAIN, "again") /* by a request: a new iteration */ \
    X(REASON_REVIEW, "review") /* held: waits for approval */ \
    X(REASON_EXTERNAL, "external") /* held: waits to be closed */ \
    X(REASON_APPROVED, "approved") \
    X(REASON_REJECTED, "rejected") \
    X(REASON_REFUSED, "refused") /* waiting: the order could not be committed; all was restored */ \
    X(REASON_MARKED, "marked") /* done: its DONE marker appeared while it waited */ \
    X(REASON_UNMERGED, "merge-failed") /* failed: it succeeded but could not be merged */ \
    X(REASON_NEW_SESSION, "afresh") /* waiting: begins a new session; nothing counted */ \
    X(REASON_STUCK, "stuck") /* failed: no progress */ \
    X(REASON_SPENT, "spent") /* held: the task has used up its own budget */ \
    X(REASON_DENIED, "denied") /* held: lack of a permission; nothing counted */ \
    X(REASON_ASKED, "asked") /* held: waits for an answer; nothing counted */ \
    X(REASON_PENDING, "pending") /* held: a check has no result yet; nothing counted */ \
    X(REASON_UNANSWERED, "unanswered") /* failed: its question was not answered in time */ \
    X(REASON_CANDIDATES, "candidates") /* held: they work; failed: none succeeded */ \
    X(REASON_TAKEN, "taken") /* waiting, held or done: a person has taken it over */ \
    X(REASON_GATE_TIMEOUT, "gate-timeout") /* failed: its gate did not say yes in time */
enum reason { REASONS(ENUM_VALUE) REASON_MAX };

/* clang-format on */

const char *task_state_name(enum task_state state);
const char *hold_name(enum hold hold);
const char *run_phase_name(enum run_phase phase);
const char *stop_request_name(enum stop_request request);
const char *until_name(enum until until);
const char *parent_gate_name(enum parent_gate gate);
const char *outcome_name(enum outcome outcome);
const char *retry_class_name(enum retry_class row);
const char *lease_kind_name(enum lease_kind kind);
const char *gate_name(enum gate gate);
const char *quota_window_name(enum quota_window window);
const char *reason_name(enum reason reason);

/* Final: the scheduler does not change it without a request. */
bool task_state_is_final(enum task_state state);
bool task_state_is_failure(enum task_state state);
/* Live: has or is getting a process, or waits for its children. */
bool task_state_is_live(enum task_state state);

/* The only transition table; checked before every state change. */
bool task_may_become(enum task_state from, enum task_state to);
