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
static const struct words words_reason = { "Reason", .at = reason_name_at };
static const struct words words_limiter = {
    "LimiterState", (const char *const[]){ "open", "backoff", "probing", "ramping", "closed", NULL }
};
static const struct words words_on_budget = { "OnBudget",
                                              (const char *const[]){ "hold", "stop", NULL } };

/* clang-format off */

/* --- tasks ----------------------------------------------------------------------------------- */

static const struct shape denial = { "Denial", "what an agent was not permitted to do", .members = SHAPE_ROWS(
    { "agent", T_TEXT | T_NULL, "who wanted it", "claude" },
    { "tool", T_TEXT | T_NULL, "the tool it called", "Bash" },
    { "argument", T_TEXT | T_NULL, "and for what", "git commit" },
    { "count", T_INT, "how many times" },
    { "allow", T_TEXT | T_NULL, "the rule that `task.retry` takes to allow it; null: the agent has no such option", "Bash(git commit:*)" }) };

static const struct shape live_run = { "LiveRun", "a run that has not ended", .members = SHAPE_ROWS(
    { "attempt", T_INT, "its number" },
    { "phase", T_WORD, "what it is doing", &words_phase },
    { "lends_to", T_ID | T_NULL, "the task below it that has its slots" },
    { "borrows_from", T_ID | T_NULL, "the task above it whose slots it has" },
    { "agent", T_TEXT | T_NULL, "the agent that does it", "claude" },
    { "instead_of", T_TEXT | T_NULL, "the agent of the task, while another one works for it", "codex" },
    { "instead_until", T_TIME | T_NULL, "when that agent opens, if it is known" },
    { "started_at", T_TIME | T_NULL, "when its command started" },
    { "tokens_in", T_INT | T_NULL, "tokens read so far" },
    { "tokens_out", T_INT | T_NULL, "tokens written so far" },
    { "doing", T_TEXT | T_NULL, "what it does besides working", "waits for tasks below it" },
    { "last_line", T_TEXT | T_NULL, "the last line of its output; of an agent, what it says or does", "All tests pass." },
    { "unreachable_host", T_TEXT | T_NULL, "the host that it is on, if that is unreachable (`host.list`)", "box1" },
    { "unreachable_since", T_TIME | T_NULL, "since when" }) };

static const struct shape changes = { "Changes", "what a task has changed in its worktree", .members = SHAPE_ROWS(
    { "commits", T_INT, "commits on its branch" },
    { "files", T_INT, "files that differ; 0: nothing" },
    { "insertions", T_INT, "lines added" },
    { "deletions", T_INT, "lines removed" }) };

const struct shape shape_task = { "Task", "a task, as lists show it", .members = SHAPE_ROWS(
    { "id", T_ID, "its id" },
    { "project", T_TEXT, "its project", "web" },
    { "kind", T_TEXT | T_NULL, "its kind", "implement" },
    { "title", T_TEXT | T_NULL, "its title", "write the parser" },
    { "state", T_WORD, "its state", &words_state },
    { "hold", T_WORD | T_NULL, "why it is held", &words_hold },
    { "reason", T_WORD, "why it is in this state", &words_reason },
    { "priority", T_INT, "lower starts first" },
    { "agent", T_TEXT | T_NULL, "its agent", "claude" },
    { "parent", T_ID | T_NULL, "the task that it is below" },
    { "group", T_TEXT | T_NULL, "the group that follows it", "night" },
    { "external_id", T_TEXT | T_NULL, "what another system calls it", "JIRA-12" },
    { "created_at", T_TIME | T_NULL, "when it was added" },
    { "changed_at", T_TIME | T_NULL, "when its row last changed" },
    { "depth", T_INT, "how many tasks it is below" },
    { "iteration", T_INT, "how often its work was begun" },
    { "attempt", T_INT, "how many runs it has had" },
    { "not_before", T_TIME | T_NULL, "when it leaves its hold by itself" },
    { "gate", T_TEXT | T_NULL, "the first gate that stops it", "lease:runs" },
    { "why", T_TEXT | T_NULL, "what that means", "all 8 places for runs are taken" },
    { "needs_person", T_BOOL | T_MAYBE, "it stays as it is until a person does something" },
    { "denied", T_OBJECT | T_MAYBE, "of a task that is held for it", &denial },
    { "score", T_INT, "its place in the order, lower first" },
    { "actions", T_TEXT | T_LIST, "what can be done to it now: operations `task.ACTION`", "cancel" },
    { "run", T_OBJECT | T_NULL, "its live run", &live_run },
    { "changes", T_OBJECT | T_NULL, "of one that has ended or waits for review; null: not known, or no worktree", &changes }) };

static const struct shape counters = { "Counters", "what limits further attempts", .members = SHAPE_ROWS(
    { "failures", T_INT, "failed attempts" },
    { "launch_failures", T_INT, "attempts that could not be launched" },
    { "losses", T_INT, "runs that were lost" },
    { "restarts", T_INT, "iterations of its loop" }) };

static const struct shape workspace = { "Workspace", "where a task works", .members = SHAPE_ROWS(
    { "path", T_TEXT, "the folder", "/home/me/web" },
    { "branch", T_TEXT | T_NULL, "its branch", "sluice/web-17" },
    { "base", T_TEXT | T_NULL, "the branch that it came from", "main" },
    { "merge", T_TEXT | T_NULL, "how its work is brought in", "direct" }) };

static const struct shape delivery = { "Delivery", "what became of the work of a task", .members = SHAPE_ROWS(
    { "strategy", T_TEXT | T_NULL, "how it was to be brought in", "direct" },
    { "result", T_TEXT | T_NULL, "what came of it", "merged" },
    { "message", T_TEXT | T_NULL, "the same for people", "merged into 'main'" },
    { "branch", T_TEXT | T_NULL, "its branch", "sluice/web-17" },
    { "base", T_TEXT | T_NULL, "the branch that it came from", "main" },
    { "commit", T_TEXT | T_NULL, "the last commit", "1f0c1e0a8c6c1f1f5f0c3c8a7a3d9b1e2f4a5b6c" },
    { "merged", T_BOOL, "the base branch has it" },
    { "removed", T_TEXT | T_NULL, "what was removed after that", "worktree" },
    { "at", T_TIME | T_NULL, "when" }) };

static const struct shape iteration = { "Iteration", "one of the last 10 iterations of a task", .members = SHAPE_ROWS(
    { "iteration", T_INT, "its number" },
    { "folder", T_TEXT, "its folder", "/home/me/.local/share/sluice/tasks/web-17/iterations/001" },
    { "feedback", T_BOOL, "it began with feedback" },
    { "artifacts", T_TEXT | T_LIST, "the files in it", "plan.md" }) };

const struct shape shape_task_full = { "TaskFull", "everything about a task", &shape_task, SHAPE_ROWS(
    { "spec", T_JSON | T_MAP, "what was submitted" },
    { "context", T_JSON | T_MAP | T_NULL, "what was given when it was slung" },
    { "depends_on", T_ID | T_LIST, "what it depends on" },
    { "counters", T_OBJECT, "its counters", &counters },
    { "executor", T_TEXT, "where it runs: `local` or `slurm`", "local" },
    { "partition", T_TEXT | T_NULL, "in Slurm, its partition; null: the default one", "gpu" },
    { "works_in", T_OBJECT | T_NULL, "where it works; null: not known yet", &workspace },
    { "has_diff", T_BOOL, "`task.diff` can tell what it changed" },
    { "delivery", T_OBJECT | T_NULL, "null: it has no worktree, or no run of it has succeeded", &delivery },
    { "budget", T_OBJECT, "what it has used of which budget", &shape_task_budget },
    { "runs", T_OBJECT | T_LIST, "its last 10 runs, newest first", &shape_run },
    { "iterations", T_OBJECT | T_LIST, "its last 10 iterations", &iteration }) };

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

static const struct shape any_run = { "AnyRun", "a run, as every list shows it", .members = SHAPE_ROWS(
    { "task", T_ID, "its task" },
    { "attempt", T_INT, "its number" },
    { "iteration", T_INT, "the iteration of the task" },
    { "phase", T_WORD | T_NULL, "what it is doing; null: it has ended", &words_phase },
    { "agent", T_TEXT | T_NULL, "who did it", "claude" },
    { "ordered_at", T_TIME | T_NULL, "when its start was decided" },
    { "started_at", T_TIME | T_NULL, "when its command started" },
    { "ended_at", T_TIME | T_NULL, "when it ended" },
    { "outcome", T_WORD | T_NULL, "how it ended", &words_outcome },
    { "how", T_TEXT | T_NULL, "how that is known", "exit" },
    { "exit_code", T_INT | T_NULL, "of its command" },
    { "message", T_TEXT | T_NULL, "its final message", "All tests pass." },
    { "model", T_TEXT | T_NULL, "the model that the agent used", "sonnet-5" },
    { "tokens_in", T_INT | T_NULL, "tokens read" },
    { "tokens_out", T_INT | T_NULL, "tokens written" },
    { "tokens_cached", T_INT | T_NULL, "tokens read from a cache" },
    { "cost_usd", T_USD | T_NULL, "what it cost" }) };

const struct shape shape_run = { "Run", "a run of a task", &any_run, SHAPE_ROWS(
    { "instead_of", T_TEXT | T_NULL, "the agent of the task, if another one did it", "codex" },
    { "executor", T_TEXT | T_NULL, "where it ran", "local" },
    { "sandbox", T_TEXT | T_NULL, "what it was confined by", "bubblewrap" },
    { "host", T_TEXT | T_NULL, "the host it ran on", "box" },
    { "folder", T_TEXT | T_NULL, "its folder", "web-17/1" },
    { "signal", T_INT | T_NULL, "the signal that ended its command" },
    { "applied", T_JSON | T_NULL, "which limits and which sandbox it really had" },
    { "said", T_TEXT | T_NULL, "what its agent reported", "ok" },
    { "session", T_TEXT | T_NULL, "the session of its agent", "1d66c3a0-5b1e" },
    { "resumed", T_BOOL, "it continued the session of the run before" }) };

const struct shape shape_listed_run = { "ListedRun", "a run with what its task is called", &any_run, SHAPE_ROWS(
    { "title", T_TEXT | T_NULL, "the title of its task", "write the parser" },
    { "project", T_TEXT | T_NULL, "its project", "web" },
    { "kind", T_TEXT | T_NULL, "its kind", "implement" },
    { "state", T_WORD | T_NULL, "the state of its task; null: it was deleted", &words_state }) };

const struct shape shape_event = { "Event", "something that happened", .members = SHAPE_ROWS(
    { "seq", T_INT, "its number" },
    { "at", T_TIME, "when" },
    { "kind", T_TEXT, "what", "task.state" },
    { "task", T_ID | T_NULL, "to which task" },
    { "attempt", T_INT | T_NULL, "to which run of it" },
    { "data", T_JSON | T_MAP, "more, by kind (docs/events.md)" }) };

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

static const struct shape pool_place = { "PoolPlace", "a folder of a project's pool", .members = SHAPE_ROWS(
    { "path", T_TEXT, "the folder", "/home/me/web-1" },
    { "task", T_ID | T_NULL, "the task that has it" }) };

const struct shape shape_project = { "Project", "a project", .members = SHAPE_ROWS(
    { "name", T_TEXT, "its name", "web" },
    { "prefix", T_TEXT, "what the ids of its tasks begin with", "web" },
    { "path", T_TEXT | T_NULL, "its folder", "/home/me/web" },
    { "weight", T_NUMBER, "its part of all tokens, compared with the others" },
    { "max_running", T_INT | T_NULL, "most runs at once; null: no limit" },
    { "budget", T_INT | T_NULL, "its budget of tokens" },
    { "paused", T_BOOL, "nothing of it starts" },
    { "paused_by", T_TEXT | T_NULL, "who paused it", "ann" },
    { "paused_at", T_TIME | T_NULL, "when" },
    { "pause_reason", T_TEXT | T_NULL, "`section_removed`: the configuration no longer names it", "section_removed" },
    { "active", T_BOOL, "it takes part in shares" },
    { "coordination", T_BOOL, "its tasks are never slung" },
    { "tokens", T_INT, "tokens used in the window" },
    { "budget_usd", T_USD | T_NULL, "its budget of dollars" },
    { "usd", T_USD | T_NULL, "dollars used in the window" },
    { "unknown_cost_runs", T_INT, "runs in the window that reported no cost" },
    { "share", T_NUMBER, "its part of all tokens in the window, live runs included" },
    { "target", T_NUMBER, "what its weight gives it among the projects that are open" },
    { "ready", T_INT, "tasks that could start" },
    { "running", T_INT, "live runs" },
    { "counts", T_INT | T_MAP, "its tasks by state", &words_state },
    { "external", T_INT, "live runs of it that do not belong to this daemon" },
    { "workspace_mode", T_TEXT, "the setting of that name", "auto" },
    { "merge", T_TEXT | T_NULL, "how the work of its tasks is brought in", "direct" },
    { "workspaces", T_OBJECT | T_LIST, "its pool", &pool_place }) };

const struct shape shape_group = { "Group", "tasks that are followed together", .members = SHAPE_ROWS(
    { "name", T_TEXT, "its name", "night" },
    { "owned", T_BOOL, "it is not closed when all its tasks are final" },
    { "closed", T_BOOL, "it is closed" },
    { "created_at", T_TIME | T_NULL, "when it was opened" },
    { "closed_at", T_TIME | T_NULL, "when it was closed" },
    { "total", T_INT, "its tasks" },
    { "open", T_INT, "those that are not final" },
    { "failed", T_INT, "those that failed" }) };

const struct shape shape_limiter = { "Limiter", "a provider account", .members = SHAPE_ROWS(
    { "name", T_TEXT, "its name", "anthropic" },
    { "state", T_WORD, "`backoff`: the provider said wait; `probing`: one run goes first; `ramping`: slots come back step by step; `closed`: a person must act, then clear it", &words_limiter },
    { "opens_at", T_TIME | T_NULL, "when the backoff ends" },
    { "hits", T_INT, "limits hit in a row" },
    { "last_success", T_TIME | T_NULL, "when a run that used it last ended well" },
    { "used", T_INT, "slots in use" },
    { "cap", T_INT | T_NULL, "slots; null: no limit" },
    { "agent", T_TEXT | T_NULL | T_MAYBE, "of one that was closed because a login or a bill was refused: whose", "claude" },
    { "said", T_TEXT | T_NULL | T_MAYBE, "what it said", "Credit balance is too low" },
    { "fix", T_TEXT | T_NULL | T_MAYBE, "what to do", "add credit, then: sluice limiter clear anthropic" }) };

const struct shape shape_token = { "Token", "a token for clients that come over TCP", .members = SHAPE_ROWS(
    { "id", T_TEXT, "its id", "k3f9x2m7aq" },
    { "name", T_TEXT, "its name", "phone" },
    { "scope", T_WORD, "what it may do", &words_scope },
    { "session", T_BOOL, "it belongs to a page that is signed in" },
    { "created_at", T_TIME | T_NULL, "when it was made" },
    { "expires_at", T_TIME | T_NULL, "when it ends; null: never" },
    { "used_at", T_TIME | T_NULL, "when it was last used" }) };

/* --- errors ---------------------------------------------------------------------------------- */

static const struct shape problem = { "Problem", "what went wrong", .members = SHAPE_ROWS(
    { "code", T_TEXT, "a word for programs", "not_found" },
    { "message", T_TEXT, "a sentence for people", "there is no task 'web-99'" },
    { "index", T_INT | T_MAYBE, "which entry of a list it is about, from 0" }) };

const struct shape shape_error = { "Error", "nothing has happened", .members = SHAPE_ROWS(
    { "error", T_OBJECT, "what went wrong", &problem },
    { "depths", T_INT | T_MAP | T_MAYBE, "with `deferred`: how many tasks wait, by kind" },
    { "active", T_TEXT | T_LIST | T_MAYBE, "with `standby`: the addresses of the active daemon" }) };
