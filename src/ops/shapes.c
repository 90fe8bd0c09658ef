/* shapes.c: the shapes that several answers have. */
#include "ops/shape.h"

#include <stddef.h>

#include "core/model.h"
#include "engine/access.h"

#define NAMES(function_, type_, end_)                                                              \
    static const char *function_##_at(int index) {                                                 \
        return index < (end_) ? function_((enum type_)index) : NULL;                               \
    }
NAMES(task_state_name, task_state, TASK_STATE_MAX)
NAMES(hold_name, hold, HOLD_MAX)
NAMES(outcome_name, outcome, OUTCOME_MAX)
NAMES(reason_name, reason, REASON_MAX)
NAMES(access_scope_name, access_scope, ACCESS_ADMIN + 1)

/* Before its command was seen to start, a run has a phase that the core does not know. */
static const char *phase_at(int index) {
    return index == 0 ? "starting" : index <= PHASE_MAX ? run_phase_name(index - 1) : NULL;
}

const struct words words_state = { "State", .at = task_state_name_at, .first = TASK_DRAFT };
const struct words words_hold = { "Hold", .at = hold_name_at, .first = HOLD_PERSON };
const struct words words_phase = { "Phase", .at = phase_at };
const struct words words_outcome = { "Outcome", .at = outcome_name_at };
const struct words words_scope = { "Scope", .at = access_scope_name_at, .first = ACCESS_READ };
const struct words words_reason = { "Reason", .at = reason_name_at };
const struct words words_limiter = {
    "LimiterState", (const char *const[]){ "open", "backoff", "probing", "ramping", "closed", NULL }
};
static const struct words words_on_budget = { "OnBudget",
                                              (const char *const[]){ "hold", "stop", NULL } };

/* clang-format off */

/* --- tasks ----------------------------------------------------------------------------------- */

static const struct shape changed_task = { "ChangedTask", "a task that was to be changed", .members = SHAPE_ROWS(
    { "id", T_ID, "its id" },
    { "state", T_WORD | T_NULL, "its state now; null: it was deleted", &words_state },
    SHAPE_ALREADY,
    { "actions", T_TEXT | T_LIST, "what can be done to it now", "cancel" },
    { "result", T_TEXT | T_MAYBE, "`no_effect`: what was asked for was stored and changes nothing", "no_effect" },
    { "note", T_TEXT | T_MAYBE, "what it waits for, if it will take long", "its run is on host 'box1', which is unreachable" }) };

const struct shape shape_changed = { "Changed", "the tasks that were to be changed", .members = SHAPE_ROWS(
    { "tasks", T_OBJECT | T_LIST, "in the order of the request", &changed_task },
    { "warning", T_TEXT | T_MAYBE, "why it has no effect", "the order of tasks does not depend on their priority" }) };

/* --- budgets --------------------------------------------------------------------------------- */

const struct shape shape_amount = { "Amount", "tokens, or dollars", .members = SHAPE_ROWS(
    { "used", T_NUMBER | T_NULL, "used so far; null: not known" },
    { "reserved", T_NUMBER | T_MAYBE, "reserved for live runs" },
    { "budget", T_NUMBER | T_NULL, "null: there is none" }) };

static const struct shape spending = { "Spending", "tokens and dollars", .members = SHAPE_ROWS(
    { "tokens", T_OBJECT, "tokens", &shape_amount },
    { "usd", T_OBJECT, "dollars", &shape_amount }) };

static const struct shape window = { "Window", "a budget over time", &spending, SHAPE_ROWS(
    { "known_cost_runs", T_INT, "runs in the window that reported a cost" },
    { "unknown_cost_runs", T_INT, "runs that did not" },
    { "window_h", T_NUMBER, "how long it is, in hours" },
    { "open", T_BOOL, "something is left" },
    { "opens_at", T_TIME | T_NULL, "when something is left again, if it is known" }) };

static const struct shape handed = { "Handed", "what a task has given to those below it", .members = SHAPE_ROWS(
    { "tokens", T_INT, "tokens" },
    { "usd", T_USD | T_NULL, "dollars" }) };

const struct shape shape_task_budget = { "TaskBudget", "what a task has used, and what it may use", .members = SHAPE_ROWS(
    { "run", T_OBJECT, "of its live run, else of its last", &spending },
    { "task", T_OBJECT, "of all its runs", &spending },
    { "handed", T_OBJECT, "to tasks below it", &handed },
    { "unknown_cost_runs", T_INT, "runs that reported no cost" },
    { "on_budget", T_WORD, "what happens to a run that uses more", &words_on_budget },
    { "project", T_OBJECT, "of its project", &window },
    { "all", T_OBJECT, "of everything", &window }) };

/* --- runs, events and messages --------------------------------------------------------------- */

static const struct shape message = { "Message", "a message on a bus", .members = SHAPE_ROWS(
    { "msg_id", T_TEXT | T_NULL, "its id", "MSG-20260102-030405-678000000-PID01234-0001" },
    { "at", T_TIME, "when it was posted" },
    { "type", T_TEXT | T_NULL, "such as `FACT`", "FACT" },
    { "project", T_TEXT | T_NULL, "the project", "web" },
    { "task", T_TEXT | T_NULL, "the task", "web-17" },
    { "run", T_TEXT | T_NULL, "the run that posted it", "web-17.2" },
    { "issue", T_TEXT | T_NULL, "the issue it belongs to", "12" },
    { "parents", T_JSON | T_NULL, "messages it answers" },
    { "links", T_JSON | T_NULL, "what it points to" },
    { "meta", T_JSON | T_NULL, "anything else" },
    { "body", T_TEXT, "its text", "the build passes" }) };

const struct shape shape_message_page = { "MessagePage", "messages, oldest first", .members = SHAPE_ROWS(
    SHAPE_PAGE(&message),
    { "end", T_TEXT, "the cursor of what comes later; `m0` is that of the beginning", "m4711" }) };

const struct shape shape_posted = { "Posted", "a message that was posted", .members = SHAPE_ROWS(
    { "msg_id", T_TEXT, "its id", "MSG-20260102-030405-678000000-PID01234-0001" }) };

/* --- projects, groups, accounts -------------------------------------------------------------- */

/* --- errors ---------------------------------------------------------------------------------- */

static const struct shape problem = { "Problem", "what went wrong", .members = SHAPE_ROWS(
    { "code", T_TEXT, "a word for programs", "not_found" },
    { "message", T_TEXT, "a sentence for people", "there is no task 'web-99'" },
    { "index", T_INT | T_MAYBE, "which entry of a list it is about, from 0" }) };

const struct shape shape_error = { "Error", "nothing has happened", .members = SHAPE_ROWS(
    { "error", T_OBJECT, "what went wrong", &problem },
    { "depths", T_INT | T_MAP | T_MAYBE, "with `deferred`: how many tasks wait, by kind" },
    { "active", T_TEXT | T_LIST | T_MAYBE, "with `standby`: the addresses of the active daemon" }) };
