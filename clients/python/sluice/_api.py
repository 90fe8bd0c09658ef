"""Types, errors and operations of the API. Made by scripts/generate-clients; do not edit."""

import json
from typing import Any, Dict, Iterator, List, Literal, Mapping, Optional, TypedDict, Union, cast
from urllib.parse import quote

from ._errors import ApiError, error_classes
from ._transport import Stream, Transport

VERSION = "0.2.0"


def _part(value: str) -> str:
    return quote(value, safe="")


AttentionKind = Literal["stopped", "account", "agent", "window", "question", "denied", "blocking", "pick", "review", "budget", "breaker", "close", "failed", "alert"]

State = Literal["draft", "waiting", "ready", "starting", "running", "held", "done", "failed", "canceled", "invalidated"]

Hold = Literal["person", "backoff", "restart", "breaker", "budget", "review", "external", "marker", "denied", "question", "check", "candidates", "taken"]

Reason = Literal["none", "first-in-order", "prerequisites", "executed", "succeeded", "drain", "drain-timeout", "iterate", "retry", "relaunch", "breaker", "limited", "account-closed", "agent-budget", "lost", "retries", "restarts", "timeout", "validation", "merge-conflict", "orphaned", "dependency", "invalidated", "canceled", "held", "released", "cleared", "slung", "retried", "again", "review", "external", "approved", "rejected", "refused", "marked", "merge-failed", "afresh", "stuck", "spent", "denied", "asked", "pending", "unanswered", "candidates", "taken", "gate-timeout"]

Phase = Literal["starting", "working", "waiting", "validating", "draining", "stopping"]

QuestionState = Literal["open", "answered", "withdrawn"]

Level = Literal["ok", "warning", "bad"]

LimiterState = Literal["open", "backoff", "probing", "ramping", "reserved", "off_hours", "closed"]

WindowName = Literal["five_hour", "weekly"]

OnBudget = Literal["hold", "stop"]

Outcome = Literal["ok", "unfinished", "invalid", "failed", "launch", "timeout", "limited", "closed", "budget", "lost", "canceled", "conflict", "unmerged", "afresh", "stuck", "denied", "asked", "pending", "taken"]

Scope = Literal["read", "submit", "admin"]

EdgeType = Literal["dependency", "parent"]

AgentState = Literal["open", "limited", "reserved", "closed", "not launched"]


class BadRequest(ApiError):
    code = "bad_request"


class Cycle(ApiError):
    code = "cycle"


class Unauthorized(ApiError):
    code = "unauthorized"


class Refused(ApiError):
    code = "refused"


class NotFound(ApiError):
    code = "not_found"


class Exists(ApiError):
    code = "exists"


class Conflict(ApiError):
    code = "conflict"


class Ambiguous(ApiError):
    code = "ambiguous"


class TooLarge(ApiError):
    code = "too_large"


class Deferred(ApiError):
    code = "deferred"


class NotSupported(ApiError):
    code = "not_supported"


class OutcomeUnknown(ApiError):
    code = "outcome_unknown"


class Stopping(ApiError):
    code = "stopping"


class Standby(ApiError):
    code = "standby"


class Busy(ApiError):
    code = "busy"


class DiskFull(ApiError):
    code = "disk_full"


error_classes.update(
    bad_request=BadRequest,
    cycle=Cycle,
    unauthorized=Unauthorized,
    refused=Refused,
    not_found=NotFound,
    exists=Exists,
    conflict=Conflict,
    ambiguous=Ambiguous,
    too_large=TooLarge,
    deferred=Deferred,
    not_supported=NotSupported,
    outcome_unknown=OutcomeUnknown,
    stopping=Stopping,
    standby=Standby,
    busy=Busy,
    disk_full=DiskFull,
)


class Submission(TypedDict, total=False):
    # the command, with the program first; either this or `prompt`. No shell is involved unless you name one,
    # or write `run`: its text is given to `sh -c`
    argv: List[str]
    # the prompt for its agent; either this or `argv`. It needs an `agent`, or a roster whose workers take it
    prompt: str
    # the agent that runs it: command, adapter, slots, account (`agents.A.*`)
    agent: str
    # the model that its agent uses for it, instead of `agents.A.model`
    model: str
    # the folder it runs in; default: that of its project. `sluice add` uses the current folder
    cwd: str
    # environment variables, in addition to those that every run gets; at most 32 KiB
    env: Dict[str, Any]
    # a file for its standard input; default: empty
    stdin: str
    # the sandbox of its runs; if not given, that of its project, its agent or `tasks.sandbox`
    sandbox: Literal["auto", "none", "bubblewrap", "podman"]
    # another sandbox program: its command line, which is put before the command and the checks of the task,
    # as in `tasks.wrap`
    wrap: List[str]
    # set by Sluice for a task that a run in a sandbox added: its sandbox and its folder
    inside: Dict[str, Any]
    # whether it runs on this machine or as a job of Slurm; default: that of its project, its agent or
    # `tasks.executor` when it is added
    executor: Literal["local", "slurm"]
    # Slurm options: `partition`, `account`, `qos`, `gres`, `constraint`, `cpus`, `options`; its memory and
    # time are `memory_mb` and `timeout_s`
    slurm: Dict[str, Any]
    # the title in lists; default: the beginning of the prompt or the command
    title: str
    # its kind: base score, cap, and when it is finished (`kinds.K.*`)
    kind: str
    # arbitrary data; stored and shown, not interpreted
    meta: Dict[str, Any]
    # default: `default`. Any other project must exist: `sluice project add`
    project: str
    # its name for other tasks of the same batch or file
    name: str
    # its id in another system (a card, an issue). A second task with the same external id in the project is
    # not added: the response is the first one, with `already`
    external_id: str
    # when it was created in another system. For imports: only the owner can set it; ms since the epoch, or a
    # text like 30m, 18:30 or 2027-01-31T18:30
    created_at: Union[float, str]
    # how it ended in another system: it does not run unless you retry it. `review`: it waits for approval.
    # Only the owner can set it
    state: Literal["done", "failed", "canceled", "invalidated", "review"]
    # projects into which its runs may import: add tasks with external ids, and change those that have not
    # started. Only for a command (`argv`). Only the owner can set it
    imports: List[str]
    # tasks that must be `done` first: ids, external ids, or names of the same batch. Cycles are refused, with
    # the cycle
    depends_on: List[str]
    # the task it belongs to: an id, an external id, or a name of the same batch
    parent: str
    # whether it waits until its parent is done; the default depends on the preset
    parent_gate: Literal["done", "none"]
    # a file that must exist; `iterations/{iteration}/artifacts/NAME` is one of its parent's
    artifact: str
    # a command that decides whether it may start: exit code 0 is yes, 75 not yet, anything else no, and its
    # last line is the reason. It runs again after `every_s` (60), and less and less often while its answer is
    # the same. With `timeout_s` the task fails if the answer is not yes in that time
    gate: Union[str, List[str], Dict[str, Any]]
    # it is held until then; ms since the epoch, or a text like 30m, 18:30 or 2027-01-31T18:30
    not_before: Union[float, str]
    # held until it is released
    hold: bool
    # stored, but not scheduled until it is slung; `hold` and `not_before` take effect then
    draft: bool
    # lower starts first; default 100
    priority: int
    # its phase: only one task of a project, phase and kind runs at a time, unless `parallelizable`
    serial: str
    # may run in parallel to others of its project, phase and kind; the default depends on the preset
    parallelizable: bool
    # the workspace it needs, a path of its project's pool; it waits while the workspace is in use
    workspace: str
    # limited resources of which it needs one slot each (`limits.resource.N`)
    resources: List[str]
    # the provider account it uses, instead of that of its agent
    limiter: str
    # when it is finished: its command exits with 0, its DONE marker exists, its `checks` pass, or it is
    # closed with `sluice close`
    until: Literal["exit", "done", "validate", "external"]
    # commands that must succeed after it, in order: each a list of words, a text for the shell, or `{argv or
    # run, timeout_s, every_s, pending_timeout_s}`. The first that fails ends it; one that exits with 75 has
    # no result yet and runs again later
    checks: List[Any]
    # the branch its worktree starts from; default: that of its project
    base_branch: str
    # what happens to its successful work; default: as its project sets
    merge: Literal["none", "local", "direct", "mr"]
    # what happens when its work conflicts with the base branch: it fails, or its next iteration resolves the
    # conflicts; default: as its project sets
    on_conflict: Literal["fail", "iterate"]
    # wait for `sluice approve` when it has finished; with `merge: direct` its work is merged after approval
    review: bool
    # the number of its first iteration; default 1
    iteration: int
    # a file of tasks that it writes, absolute or below its artifacts: they become its children when it has
    # succeeded
    spawn: str
    # how many candidates do the task, each in a worktree of its own, with an equal share of its budget; one
    # of those that succeed is picked
    best_of: int
    # the agents of its candidates, in turn; default: the `agent` of the task
    agents: List[str]
    # the agent that picks one of the candidates; default `person`. With `review` a person picks, even if only
    # one has succeeded
    chooser: str
    # number of retries after a failed run; -1: as configured (`retry.failed.max`). `sluice run` sets 0
    retries: int
    # whether other agents take it while its own is limited: as `agents.A.failover` sets, or never
    failover: Literal["auto", "none"]
    # stronger agents and models, one step after another, when its results are not accepted: `AGENT`,
    # `AGENT:MODEL`, or `:MODEL` for another model of the same agent; else `agents.A.escalate`
    escalate: List[str]
    # number of rejected results before the next step of `escalate`; 0: never; default:
    # `agents.A.escalate_after`
    escalate_after: int
    # whether the next attempt continues its agent's session after a limit, a crash or a restart, and to
    # repair a result that was not accepted; default: as its agent sets
    resume: Literal["auto", "never"]
    # a run is stopped and fails after this time; seconds, or a text like 30m
    timeout_s: Union[float, str]
    # a run is stopped when it prints nothing for this time; seconds, or a text like 30m
    idle_timeout_s: Union[float, str]
    # time between the stop signal and KILL; seconds, or a text like 30m
    grace_s: Union[float, str]
    # the signal that asks a run to stop
    stop_signal: Literal["TERM", "INT"]
    # maximum memory of all its processes; MB, or a text like 1.5GB
    memory_mb: Union[float, str]
    # maximum number of processes and threads
    processes: int
    # its nice value (lower processor priority)
    nice: int
    # maximum number of tokens of all its runs and of the children that they add (budgets)
    tokens: int
    # maximum cost of all its runs and of the children that they add; dollars, or a text like $2.50
    usd: Union[float, str]
    # maximum number of tokens of one of its runs
    run_tokens: int
    # maximum cost of one of its runs; dollars, or a text like $2.50
    run_usd: Union[float, str]
    # whether a run that exceeds a budget continues to its end or is stopped; then the task is held
    on_budget: Literal["hold", "stop"]


class Hours(TypedDict):
    """Opening hours: outside them nothing starts."""

    # the setting `hours`
    when: str
    # its time zone; null: that of the system
    timezone: Optional[str]
    # now is inside them
    open: bool
    # when they close, or open; null: never
    until: Optional[int]


class Agent(TypedDict):
    """An agent."""

    # its name
    name: str
    # it is configured, or a task names it
    named: bool
    # its command, if it has one of its own
    command: List[str]
    # the program that a run starts
    program: Optional[str]
    # its path in the PATH of runs
    found: Optional[str]
    # agents that take over while it is closed
    failover: List[str]
    # steps of its tasks when results are not accepted
    escalate: List[str]
    # its model, if it is set
    model: Optional[str]
    # how its output is read
    adapter: Optional[str]
    # it is a worker: it takes tasks that name no agent
    roster: bool
    # maximum number of runs at once; null: no limit
    slots: Optional[int]
    # live runs
    used: int
    # the provider account it uses
    limiter: Optional[str]
    # its opening hours; null: none
    hours: Optional[Hours]
    # several launches in a row failed: it gets no tasks before this time
    closed_until: Optional[int]


class Escalation(TypedDict):
    """Which step a task is at, and why."""

    # 0: with its own agent
    step: int
    # how many steps there are
    steps: int
    # rejected results before the next step; 0: it takes none
    after: int
    # rejected results since the last step
    failed: int
    # the next step; null: no further step
    next: Optional[str]
    # of an escalated task: the agent that it was added with
    own_agent: Optional[str]
    # of an escalated task: why its last result before this step was rejected
    reason: Optional[Reason]
    # of an escalated task: rejected results before this step
    failures: int
    # all of it in words
    text: str


class Taken(TypedDict):
    """Who has taken a task over."""

    # who
    by: Optional[str]
    # since when
    at: Optional[int]


class Denial(TypedDict):
    """What an agent was not permitted to do."""

    # who wanted it
    agent: Optional[str]
    # the tool it called
    tool: Optional[str]
    # and for what
    argument: Optional[str]
    # how many times
    count: int
    # the rule that `task.retry` takes to allow it; null: the agent has no such option
    allow: Optional[str]


class LiveRun(TypedDict):
    """A run that has not ended."""

    # its number
    attempt: int
    # what it is doing
    phase: Phase
    # the task below it that has its slots
    lends_to: Optional[str]
    # the task above it whose slots it has
    borrows_from: Optional[str]
    # the agent that does it
    agent: Optional[str]
    # when its command started
    started_at: Optional[int]
    # tokens read so far
    tokens_in: Optional[int]
    # tokens written so far
    tokens_out: Optional[int]
    # the last line of its output; of an agent, what it says or does
    last_line: Optional[str]
    # the host that it is on, if that is unreachable (`host.list`)
    unreachable_host: Optional[str]
    # since when
    unreachable_since: Optional[int]
    # the agent of the task, while another one works for it
    instead_of: Optional[str]
    # when that agent opens, if it is known
    instead_until: Optional[int]
    # what it does besides working
    doing: Optional[str]


class Changes(TypedDict):
    """What a task has changed in its worktree."""

    # commits on its branch
    commits: int
    # files that differ; 0: nothing
    files: int
    # lines added
    insertions: int
    # lines removed
    deletions: int


class _TaskRequired(TypedDict):
    # its id
    id: str
    # its project
    project: str
    # its kind
    kind: Optional[str]
    # its title
    title: Optional[str]
    # its state
    state: State
    # why it is held
    hold: Optional[Hold]
    # why it is in this state
    reason: Reason
    # lower starts first
    priority: int
    # its agent
    agent: Optional[str]
    # the model of its next run, or of its live one; null: its agent's choice
    model: Optional[str]
    # the task that it is below
    parent: Optional[str]
    # the group that follows it
    group: Optional[str]
    # what another system calls it
    external_id: Optional[str]
    # when it was added
    created_at: Optional[int]
    # when its row last changed
    changed_at: Optional[int]
    # how many tasks it is below
    depth: int
    # how often its work was begun
    iteration: int
    # how many runs it has had
    attempt: int
    # when it leaves its hold by itself
    not_before: Optional[int]
    # its place in the order, lower first
    score: int
    # what its runs have cost, the live one included; null: none has reported it
    cost_usd: Optional[float]
    # the first gate that stops it
    gate: Optional[str]
    # what that means
    why: Optional[str]
    # what can be done to it now: operations `task.ACTION`
    actions: List[str]
    # its live run
    run: Optional[LiveRun]
    # of one that has ended or waits for review; null: not known, or no worktree
    changes: Optional[Changes]


class Task(_TaskRequired, total=False):
    """A task, as lists show it."""

    # of a task with stronger agents or models for when its results are not accepted
    escalation: Escalation
    # it stays as it is until a person does something
    needs_person: bool
    # of a task that a person has taken over: it waits for its turn, runs at that person's terminal, or is
    # held afterwards
    taken: Taken
    # of a task that is held for it
    denied: Denial


class Question(TypedDict):
    """A question that a run asked."""

    # the task that asks
    task: str
    # the attempt that asked
    attempt: int
    # the agent of the task; null: a command
    agent: Optional[str]
    # the question
    question: str
    # the allowed answers; empty: any text
    choices: List[str]
    # the answer after the deadline
    default: Optional[str]
    # when it was asked
    asked_at: int
    # when the default is used, or the task fails without one
    deadline: Optional[int]
    # `withdrawn`: the task went on without an answer
    state: QuestionState
    # the answer
    answer: Optional[str]
    # who answered; `deadline`: the default was used; `link`: by a link
    by: Optional[str]
    # when it was answered
    answered_at: Optional[int]


class _CandidateRequired(TypedDict):
    # its id
    id: str
    # its agent
    agent: Optional[str]
    # its state
    state: State
    # why it is held
    hold: Optional[Hold]
    # number of its runs
    attempt: int
    # tokens that its runs have used
    tokens: int
    # cost of its runs; null: its agent does not report it
    usd: Optional[float]
    # its branch; null: it has not run
    branch: Optional[str]
    # number of changed files; null: not known yet
    files: Optional[int]
    # lines added
    insertions: Optional[int]
    # lines removed
    deletions: Optional[int]
    # `task.diff` can show what it changed
    has_diff: bool
    # it is the pick
    picked: bool


class Candidate(_CandidateRequired, total=False):
    """A candidate of a task with `best_of`."""

    # `passed`: it is done; `failed`: a check of its last run failed; null: neither. Not in `task.show`
    checks: Optional[str]
    # the reason its last run failed. Not in `task.show`
    message: Optional[str]


class BestOf(TypedDict):
    """The candidates of a task, side by side."""

    # the task
    task: str
    # the task whose agent picks; null: a person picks
    chooser: Optional[str]
    # the pick
    picked: Optional[str]
    # who picked it; `checks`: it was the only candidate that is done
    by: Optional[str]
    # the reason for the pick
    reason: Optional[str]
    # when it was picked
    picked_at: Optional[int]
    # the reason the last pick could not be merged
    refused: Optional[str]
    # tokens that all candidates and the chooser have used
    tokens: int
    # their cost, as far as it is known
    usd: float
    # in the order in which they were added
    candidates: List[Candidate]


class RaisedBudget(TypedDict):
    """A budget with which it can continue: twice what it has, or has used, as parameters of `task.budget`."""

    # for all its runs; null: this limit was not reached
    tokens: Optional[int]
    # the same in dollars
    usd: Optional[float]
    # of one run
    run_tokens: Optional[int]
    # the same in dollars
    run_usd: Optional[float]
    # for a project, or for all projects: the setting that `config.set` changes
    setting: Optional[str]
    # its new value
    value: Optional[float]


Attention = TypedDict(
    "Attention",
    {
        # identifies the item while it exists
        "key": "str",
        # why it needs a person
        "kind": "AttentionKind",
        # the kind in words for people
        "label": "str",
        # the account, agent, project or other subject, if it is not a task
        "name": "Optional[str]",
        # the reason: for a failure its last error, for a review the final message
        "text": "Optional[str]",
        # since when
        "since": "Optional[int]",
        # number of tasks that wait for it; at most 1,000 are counted
        "blocks": "int",
        # its task
        "task": "Optional[Task]",
        # its question
        "question": "Optional[Question]",
        # for a task that waits for a pick: its candidates
        "best_of": "Optional[BestOf]",
        # for a task that has used up its budget
        "raise": "Optional[RaisedBudget]",
    },
)


class _SettingRequired(TypedDict):
    # its name
    key: str
    # its value in force
    value: Optional[Any]
    # the origin of the value
    origin: Optional[str]


class Setting(_SettingRequired, total=False):
    """A setting."""

    # what `auto` stands for
    resolved: Any


class Feature(TypedDict):
    """An optional kernel feature."""

    # its name
    name: str
    # it is available
    there: bool
    # the fallback in use without it
    instead: Optional[str]
    # how to get it
    fix: Optional[str]


class Check(TypedDict):
    """A check."""

    # its name
    name: str
    # nothing must be fixed
    ok: bool
    # `warning`: nothing must be fixed; `bad`: must be fixed
    level: Level
    # the finding
    text: str
    # the fix
    fix: Optional[str]


class ActiveDaemon(TypedDict):
    """The active daemon."""

    # host and process
    who: Optional[str]
    # where it can be reached
    addresses: List[str]


class Event(TypedDict):
    """Something that happened."""

    # its number
    seq: int
    # when
    at: int
    # what
    kind: str
    # to which task
    task: Optional[str]
    # to which run of it
    attempt: Optional[int]
    # more, by kind (docs/reference/events.md)
    data: Dict[str, Any]


class Queue(TypedDict):
    """Number of waiting tasks."""

    # number of waiting tasks
    depth: int
    # by kind
    depths: Dict[str, int]
    # `queue.soft`; null: no limit
    soft: Optional[int]
    # `queue.hard`
    hard: Optional[int]
    # true while more than `soft` tasks wait
    warning: Optional[str]


class GateCount(TypedDict):
    """Waiting tasks with the same first closed gate."""

    # the gate
    gate: str
    # how many
    count: int
    # up to three from the front of the queue
    examples: List[str]
    # the reason for the first of these
    why: Optional[str]


class RunningTask(Task):
    """A running task."""

    # the last line of its output; of an agent, of its transcript (`task.log`, `format=text`)
    last_line: Optional[str]


class Alert(TypedDict):
    """A problem that needs a person."""

    # its subject
    key: str
    # the problem
    text: str
    # since when
    since: Optional[int]
    # the task it is about
    task: Optional[str]


class Limit(TypedDict):
    """A limit that has a cap or is used."""

    # which
    key: str
    # slots in use
    used: int
    # slots; null: no limit
    cap: Optional[int]


class QuotaWindow(TypedDict):
    """How much of an account is used."""

    # which one
    window: WindowName
    # how much of it is used, as an agent last reported; null: unknown
    used_percent: Optional[int]
    # how much of it is left to the owner of the account
    reserve_percent: int
    # when it ends, and nothing of the next one is used; null: unknown
    resets_at: Optional[int]
    # no more than the reserve is left: nothing starts before it ends
    reserved: bool


class _LimiterRequired(TypedDict):
    # its name
    name: str
    # `backoff`: the provider said wait; `probing`: one run goes first; `ramping`: slots come back step by
    # step; `reserved`: no more than the reserve is left of a window; `off_hours`: outside its opening hours;
    # `closed`: a person must act, then clear it
    state: LimiterState
    # when the backoff or the reserved window ends, and its hours open
    opens_at: Optional[int]
    # its opening hours; null: none
    hours: Optional[Hours]
    # limits hit in a row
    hits: int
    # when a run that used it last ended well
    last_success: Optional[int]
    # slots in use
    used: int
    # slots; null: no limit
    cap: Optional[int]
    # windows in which its provider counts its use: those with a reserve, and those whose use is known
    windows: List[QuotaWindow]


class Limiter(_LimiterRequired, total=False):
    """A provider account."""

    # of one that was closed because a login or a bill was refused: whose
    agent: Optional[str]
    # what it said
    said: Optional[str]
    # what to do
    fix: Optional[str]


class NamedHours(Hours):
    """The opening hours of a project, an agent or an account."""

    # `project`, `agent` or `limiter`
    scope: str
    # its name
    name: str


class Budget(TypedDict):
    """A budget, and what is used of it."""

    # `global` or `project:NAME`
    key: str
    # tokens used
    used: int
    # tokens that live runs have reported so far; in `reserved`, not in `used`
    live: int
    # tokens reserved for live runs
    reserved: int
    # tokens; null: no budget
    cap: Optional[int]
    # dollars used
    usd_used: Optional[float]
    # dollars that live runs have reported so far; in `usd_reserved`, not in `usd_used`
    usd_live: Optional[float]
    # dollars reserved
    usd_reserved: Optional[float]
    # dollars; null: no budget
    usd_cap: Optional[float]
    # runs that reported no cost
    unknown_cost_runs: int
    # the length of its window
    window_ms: int
    # something is left
    open: bool
    # when something is left again, if it is known
    opens_at: Optional[int]


class PoolPlace(TypedDict):
    """A folder of a project's pool."""

    # the folder
    path: str
    # the task that has it
    task: Optional[str]


class Project(TypedDict):
    """A project."""

    # its name
    name: str
    # what the ids of its tasks begin with
    prefix: str
    # its folder
    path: Optional[str]
    # its part of all tokens, compared with the others
    weight: float
    # most runs at once; null: no limit
    max_running: Optional[int]
    # its budget of tokens
    budget: Optional[int]
    # nothing of it starts
    paused: bool
    # who paused it
    paused_by: Optional[str]
    # when
    paused_at: Optional[int]
    # `section_removed`: the configuration no longer names it
    pause_reason: Optional[str]
    # it takes part in shares
    active: bool
    # its opening hours; null: none
    hours: Optional[Hours]
    # its tasks are never slung
    coordination: bool
    # tokens used in the window
    tokens: int
    # its budget of dollars
    budget_usd: Optional[float]
    # dollars used in the window
    usd: Optional[float]
    # runs in the window that reported no cost
    unknown_cost_runs: int
    # its part of all tokens in the window, live runs included
    share: float
    # what its weight gives it among the projects that are open
    target: float
    # tasks that could start
    ready: int
    # live runs
    running: int
    # live runs of it that do not belong to this daemon
    external: int
    # the setting of that name
    workspace_mode: str
    # how the work of its tasks is brought in
    merge: Optional[str]
    # its tasks by state
    counts: Dict[str, int]
    # its pool
    workspaces: List[PoolPlace]


class HostLoad(TypedDict):
    """The machine of the daemon."""

    # free space, in MB
    disk_free_mb: Optional[int]
    # free memory, in MB
    memory_free_mb: Optional[int]
    # load of the last minute
    load: Optional[float]


class Store(TypedDict):
    """The store."""

    # its size
    bytes: Optional[int]
    # of its log
    log_bytes: Optional[int]
    # new tasks are refused
    full: bool


class Listener(TypedDict):
    """The TCP listener."""

    # its address
    url: Optional[str]
    # why there is no listener
    problem: Optional[str]


class Sandbox(TypedDict):
    """The sandbox of this machine."""

    # what `auto` means
    auto: str
    # why there is no sandbox
    why: Optional[str]


class Status(TypedDict):
    """A summary of the daemon and its queue."""

    # of the daemon
    version: str
    # its process
    pid: int
    # when it started
    started_at: int
    # its clock; all times refer to it
    now: int
    # its folder
    home: str
    # the folder with the run folders
    runs_folder: str
    # the name of this host in the rows of its runs
    host_name: str
    # the time zone of the system; null: it has no name
    timezone: Optional[str]
    # the preset in force
    preset: str
    # nothing starts
    paused: bool
    # the last 10
    events: List[Event]
    # who paused it
    paused_by: Optional[str]
    # when
    paused_at: Optional[int]
    # tasks by state
    counts: Dict[str, int]
    # tasks that could start
    ready: int
    # tasks that wait for one that failed, was canceled or was invalidated
    blocked_dependencies: int
    # unanswered questions of runs
    questions: int
    # items that wait for a person (`attention.list`)
    attention: int
    # the queue
    queue: Queue
    # waiting tasks by the first closed gate
    waiting_by_gate: List[GateCount]
    # not all are counted: there are more than 10,000 kinds of tasks (project, kind, agent, limiter, priority
    # …)
    partial: bool
    # up to 50
    running: List[RunningTask]
    # pairs of agents that work in the same folder
    warning: Optional[str]
    # up to 50, oldest first
    alerts: List[Alert]
    # tasks of live runs that do not belong to this daemon and hold slots
    external: List[str]
    # limits
    limits: List[Limit]
    # provider accounts
    limiters: List[Limiter]
    # all opening hours; up to 1,000
    hours: List[NamedHours]
    # budgets
    budgets: List[Budget]
    # projects
    projects: List[Project]
    # the machine
    host: HostLoad
    # the store
    store: Store
    # the TCP listener
    http: Listener
    # the sandbox
    sandbox: Sandbox


class Start(TypedDict):
    """A start."""

    # the task
    id: str
    # its project
    project: str
    # its agent
    agent: Optional[str]
    # its position in the order
    score: int
    # when it starts; later than now for tasks that wait for `pace.spawn_delay_s`, if nothing changes until
    # then
    at: int


class Group(TypedDict):
    """Tasks that are followed together."""

    # its name
    name: str
    # it is not closed when all its tasks are final
    owned: bool
    # it is closed
    closed: bool
    # when it was opened
    created_at: Optional[int]
    # when it was closed
    closed_at: Optional[int]
    # its tasks
    total: int
    # those that are not final
    open: int
    # those that failed
    failed: int


class GroupTask(TypedDict):
    """A task of a group."""

    # its id
    id: str
    # its state
    state: State


class Host(TypedDict):
    """A host that has runs."""

    # its name
    name: str
    # that of this daemon
    active: bool
    # its daemon is the active one
    reachable: bool
    # live runs
    runs: int
    # when another daemon took over
    unreachable_since: Optional[int]
    # when it was forgotten
    forgotten_at: Optional[int]
    # the user who removed it
    forgotten_by: Optional[str]


class Way(TypedDict):
    """A way of notification."""

    # its setting
    way: str
    # the sample was delivered
    ok: bool
    # the result, for people
    text: str


class Bottleneck(TypedDict):
    """The gate at which tasks wait for the longest part of a forecast."""

    # the gate
    gate: str
    # the account, project or agent that it belongs to, where `gate` does not name it
    name: Optional[str]
    # the setting that would widen it; null: none does
    setting: Optional[str]
    # its slots; null: it is not counted in slots
    cap: Optional[int]
    # how long at least one task waits there
    waits_ms: int
    # how many wait there at the same time, at most
    tasks: int


class ForecastRun(TypedDict):
    """An expected run."""

    # its task
    task: str
    # the title of its task
    title: Optional[str]
    # its project
    project: Optional[str]
    # its agent
    agent: Optional[str]
    # the state of its task
    state: State
    # when it starts, or started
    start: int
    # when it ends
    end: int
    # it is live
    live: bool


class OutlookProject(TypedDict):
    """The tasks of a project in a forecast."""

    # the project
    name: str
    # how many of its tasks will be finished
    tasks: int
    # when the last of them is
    finish_at: int


class Outlook(TypedDict):
    """What would come of the queue."""

    # when everything is finished
    finish_at: int
    # how long that takes
    makespan_ms: int
    # how many tasks will be finished
    tasks: int
    # those that will not, because they wait for a person, a file or a task that failed
    others: int
    # those that may be finished after the end of the forecast
    later: int
    # everything is paused: it begins with a resume
    paused: bool
    # false: it was ended after 30 days or 2,000,000 steps, and more would follow
    complete: bool
    # where tasks wait longest; null: none waits for a limit
    bottleneck: Optional[Bottleneck]
    # by project
    projects: List[OutlookProject]
    # times, and how many tasks are left then; at most 120
    points: List[List[int]]


class Message(TypedDict):
    """A message on a bus."""

    # its id
    msg_id: Optional[str]
    # when it was posted
    at: int
    # such as `FACT`
    type: Optional[str]
    # the project
    project: Optional[str]
    # the task
    task: Optional[str]
    # the run that posted it
    run: Optional[str]
    # the issue it belongs to
    issue: Optional[str]
    # messages it answers
    parents: Optional[Any]
    # what it points to
    links: Optional[Any]
    # anything else
    meta: Optional[Any]
    # its text
    body: str


class MessagePage(TypedDict):
    """Messages, oldest first."""

    # this page
    items: List[Message]
    # the cursor of the next page; null after the last
    next: Optional[str]
    # the cursor of what comes later; `m0` is that of the beginning
    end: str


class Posted(TypedDict):
    """A message that was posted."""

    # its id
    msg_id: str


class OpenQuestion(Question):
    """A question without an answer."""

    # the title of the task
    title: Optional[str]


class _AmountRequired(TypedDict):
    # used so far; null: not known
    used: Optional[float]
    # null: there is none
    budget: Optional[float]


class Amount(_AmountRequired, total=False):
    """Tokens, or dollars."""

    # reserved for live runs
    reserved: float


class Spending(TypedDict):
    """Tokens and dollars."""

    # tokens
    tokens: Amount
    # dollars
    usd: Amount


class Handed(TypedDict):
    """What a task has given to those below it."""

    # tokens
    tokens: int
    # dollars
    usd: Optional[float]


class Window(Spending):
    """A budget over time."""

    # runs in the window that reported a cost
    known_cost_runs: int
    # runs that did not
    unknown_cost_runs: int
    # how long it is, in hours
    window_h: float
    # something is left
    open: bool
    # when something is left again, if it is known
    opens_at: Optional[int]


class TaskBudget(TypedDict):
    """What a task has used, and what it may use."""

    # of its live run, else of its last
    run: Spending
    # of all its runs
    task: Spending
    # to tasks below it
    handed: Handed
    # runs that reported no cost
    unknown_cost_runs: int
    # what happens to a run that uses more
    on_budget: OnBudget
    # of its project
    project: Window
    # of everything
    all: Window


class AnyRun(TypedDict):
    """A run, as every list shows it."""

    # its task
    task: str
    # its number
    attempt: int
    # the iteration of the task
    iteration: int
    # what it is doing; null: it has ended
    phase: Optional[Phase]
    # who did it
    agent: Optional[str]
    # the agent of the task, if another one did it
    instead_of: Optional[str]
    # when its start was decided
    ordered_at: Optional[int]
    # when its command started
    started_at: Optional[int]
    # when it ended
    ended_at: Optional[int]
    # how it ended
    outcome: Optional[Outcome]
    # how that is known
    how: Optional[str]
    # of its command
    exit_code: Optional[int]
    # the signal that ended its command
    signal: Optional[int]
    # its final message
    message: Optional[str]
    # the model that the agent used
    model: Optional[str]
    # tokens read
    tokens_in: Optional[int]
    # tokens written
    tokens_out: Optional[int]
    # tokens read from a cache
    tokens_cached: Optional[int]
    # what it cost
    cost_usd: Optional[float]


class ListedRun(AnyRun):
    """A run with what its task is called."""

    # the title of its task
    title: Optional[str]
    # its project
    project: Optional[str]
    # its kind
    kind: Optional[str]
    # the state of its task; null: it was deleted
    state: Optional[State]


class ScheduleSkip(TypedDict):
    """Due times that were skipped, one after the other."""

    # the first of them
    first: int
    # the last of them
    last: int
    # how many
    count: int
    # `missed`, `too_old`, `overlap`, `paused` or `refused`
    reason: str


class _ScheduleRequired(TypedDict):
    # its name
    name: str
    # the cron expression
    cron: Optional[str]
    # the time between two due times
    every: Optional[int]
    # the only due time
    at: Optional[str]
    # its time zone; null: that of the system
    timezone: Optional[str]
    # the name of the time zone in use; null: that of the system has none
    zone: Optional[str]
    # the task that it adds, as JSON text
    task: Optional[str]
    # the task file that it adds
    file: Optional[str]
    # the formula whose steps it adds
    formula: Optional[str]
    # the directory into which it writes backups, instead of adding tasks
    backup: Optional[str]
    # how many backups are kept
    keep: int
    # its last backup
    last_backup: Optional[str]
    # `skip`, `queue` or `replace`
    overlap: str
    # `last`, `all` or `none`
    catch_up: str
    # the age up to which missed due times are caught up; null: any
    catch_up_max: Optional[int]
    # the longest delay of a due time
    jitter: int
    # whether it adds nothing
    paused: bool
    # its next due time; null: none
    next_due: Optional[int]
    # when that fires, with its jitter; null: never, or paused
    next_at: Optional[int]
    # the due time of the last firing
    last_due: Optional[int]
    # the first task of the last firing
    last_task: Optional[str]
    # how many tasks the last firing added
    last_count: int
    # whether one of these tasks is not finished
    open: bool
    # how often it has fired
    fired: int
    # how many due times were skipped
    skipped: int
    # why its last task was refused, or its last backup failed; null: it was not
    error: Optional[str]
    # values for the variables of the formula
    vars: List[str]
    # the last records of skipped due times, newest first
    skips: List[ScheduleSkip]
    # what can be done to it now: operations `schedule.ACTION`
    actions: List[str]


class Schedule(_ScheduleRequired, total=False):
    """A schedule."""

    # with `dry_run`: its next due times, without jitter; at most 10
    due: List[int]


class _AddedTaskRequired(TypedDict):
    # its id; null: it was not added
    id: Optional[str]
    # `queued`, `started`, `held` …, `already`, `deferred`; with `dry_run` `new`
    result: str
    # it was there before
    already: bool
    # how many start before it, and it
    queue_position: Optional[int]
    # its state; null: it is not there
    state: Optional[State]


class AddedTask(_AddedTaskRequired, total=False):
    """A task that was to be added."""

    # its `name` in the request
    name: str


class _ChangedTaskRequired(TypedDict):
    # its id
    id: str
    # its state now; null: it was deleted
    state: Optional[State]
    # it was so before: nothing has changed
    already: bool
    # what can be done to it now
    actions: List[str]


class ChangedTask(_ChangedTaskRequired, total=False):
    """A task that was to be changed."""

    # `no_effect`: what was asked for was stored and changes nothing
    result: str
    # what it waits for, if it will take long
    note: str


class _ChangedRequired(TypedDict):
    # in the order of the request
    tasks: List[ChangedTask]


class Changed(_ChangedRequired, total=False):
    """The tasks that were to be changed."""

    # why it has no effect
    warning: str


class DiffFile(TypedDict):
    """A file that differs."""

    # its path
    path: str
    # what it was called before
    old_path: Optional[str]
    # lines added
    added: int
    # lines removed
    removed: int
    # it is not text
    binary: bool


class GraphNode(TypedDict):
    """A task in a graph."""

    # its id
    id: str
    # its title
    title: Optional[str]
    # its project
    project: str
    # its kind
    kind: Optional[str]
    # its agent
    agent: Optional[str]
    # its group
    group: Optional[str]
    # its state
    state: State
    # why it is held
    hold: Optional[Hold]
    # the first gate that stops it
    gate: Optional[str]
    # the task that it is below
    parent: Optional[str]
    # when its run started
    started_at: Optional[int]
    # when it would start if runs take as long as usual
    forecast: Optional[int]
    # what is expected to be left of it
    left_ms: int
    # how many steps stand before it
    level: int
    # it is on the chain that takes longest, by `left_ms`, or by its length when all are final
    critical: bool


GraphEdge = TypedDict(
    "GraphEdge",
    {
        # what comes first; of a `parent` the parent
        "from": "str",
        # what comes after it
        "to": "str",
        # what it is
        "type": "EdgeType",
        # it is on that chain
        "critical": "bool",
    },
)


class MergedTask(TypedDict):
    """A task that was to be merged."""

    # its id
    id: str
    # `merged`; `already`: the base branch had it; `empty`: it has changed nothing; `mergeable` (`dry_run`);
    # `conflict`; `failed`
    result: str
    # its branch
    branch: Optional[str]
    # the base branch
    into: Optional[str]
    # the new commit
    commit: Optional[str]
    # for people; of a conflict, the files
    message: Optional[str]


class Run(AnyRun):
    """A run of a task."""

    # where it ran
    executor: Optional[str]
    # what it was confined by
    sandbox: Optional[str]
    # the host it ran on
    host: Optional[str]
    # its folder
    folder: Optional[str]
    # what its agent reported
    said: Optional[str]
    # the session of its agent
    session: Optional[str]
    # it continued the session of the run before
    resumed: bool
    # which limits and which sandbox it really had
    applied: Optional[Any]


class Counters(TypedDict):
    """What limits further attempts."""

    # failed attempts
    failures: int
    # attempts that could not be launched
    launch_failures: int
    # runs that were lost
    losses: int
    # iterations of its loop
    restarts: int


class Workspace(TypedDict):
    """Where a task works."""

    # the folder
    path: str
    # its branch
    branch: Optional[str]
    # the branch that it came from
    base: Optional[str]
    # how its work is brought in
    merge: Optional[str]
    # what follows a conflict: `fail` or `iterate`
    on_conflict: Optional[str]
    # the commit of `base` that its work conflicts with, until that is repaired
    conflict: Optional[str]


class FollowUp(TypedDict):
    """A message that continues a finished task."""

    # the message
    message: str
    # who wrote it
    by: Optional[str]
    # when
    at: int
    # an attempt has got it and has ended
    used: bool
    # the attempt that has got it; null: none yet
    attempt: Optional[int]


class Delivery(TypedDict):
    """What became of the work of a task."""

    # how it was to be brought in
    strategy: Optional[str]
    # what came of it
    result: Optional[str]
    # the same for people
    message: Optional[str]
    # its branch
    branch: Optional[str]
    # the branch that it came from
    base: Optional[str]
    # the last commit
    commit: Optional[str]
    # the base branch has it
    merged: bool
    # what was removed after that
    removed: Optional[str]
    # when
    at: Optional[int]


class Iteration(TypedDict):
    """One of the last 10 iterations of a task."""

    # its number
    iteration: int
    # its folder
    folder: str
    # it began with feedback
    feedback: bool
    # the files in it
    artifacts: List[str]


class TaskFull(Task):
    """Everything about a task."""

    # what was submitted
    spec: Dict[str, Any]
    # what was given when it was slung
    context: Optional[Dict[str, Any]]
    # what it depends on
    depends_on: List[str]
    # its counters
    counters: Counters
    # where it runs: `local` or `slurm`
    executor: str
    # in Slurm, its partition; null: the default one
    partition: Optional[str]
    # where it works; null: not known yet
    works_in: Optional[Workspace]
    # `task.diff` can tell what it changed
    has_diff: bool
    # its last question; null: it has none, or is final
    question: Optional[Question]
    # the last message that continued it (`task.again`)
    follow_up: Optional[FollowUp]
    # its candidates (`task.candidates`); null: it has none
    best_of: Optional[BestOf]
    # the task that it is a candidate or the chooser of
    candidate_of: Optional[str]
    # `task.edit` can change it now
    editable: bool
    # `task.again` can continue it with a message
    continuable: bool
    # rises with every edit and every attempt; for `task.edit`
    version: int
    # null: it has no worktree, or no run of it has succeeded
    delivery: Optional[Delivery]
    # what it has used of which budget
    budget: TaskBudget
    # its last 10 runs, newest first
    runs: List[Run]
    # its last 10 iterations
    iterations: List[Iteration]


class _SlungTaskRequired(TypedDict):
    # its id; of a step that would be added, its external id
    id: Optional[str]
    # its state
    state: State
    # it was scheduled before
    already: bool
    # `slung`, `already`, `skipped` or `deferred`
    result: str
    # the group that follows it
    group: Optional[str]


class SlungTask(_SlungTaskRequired, total=False):
    """A task that was to be slung."""

    # its id before it moved to another project
    moved_from: str
    # of one that is skipped or deferred
    why: str


class LastRun(TypedDict):
    """The end of a run."""

    # how
    outcome: Outcome
    # of its command
    exit_code: Optional[int]
    # the signal that ended its command
    signal: Optional[int]
    # its final message
    message: Optional[str]


class WaitedTask(TypedDict):
    """A task that was waited for."""

    # its id
    id: str
    # its state, or `deleted`
    state: str
    # why it is in this state
    reason: Optional[str]
    # it is final
    finished: bool
    # it is held without a time, a draft, or behind a closed account
    needs_person: bool
    # what a person is needed for
    why: Optional[str]
    # how the last run that ended has ended
    run: Optional[LastRun]


class Gate(TypedDict):
    """A condition for the start of a task."""

    # its code
    gate: str
    # it does not stop the task
    open: bool
    # why it is closed; behind a breaker with the error of the last launch
    reason: Optional[str]
    # when it opens, if it is known
    opens_at: Optional[int]
    # of the gate `limiter`: the account
    limiter: Optional[str]
    # when it was paused
    since: Optional[int]


class AgentChoice(TypedDict):
    """An agent that a task may use."""

    # its name
    name: str
    # its account
    limiter: Optional[str]
    # `reserved`: only the reserve of its account is left; `closed`: until its account is cleared
    state: AgentState
    # when it opens, if it is known
    opens_at: Optional[int]


class Forecast(TypedDict):
    """When a task should start."""

    # when
    starts_at: Optional[int]
    # how many start before it
    ahead: Optional[int]
    # goes on with "it should start …"
    text: str


class Token(TypedDict):
    """A token for clients that come over TCP."""

    # its id
    id: str
    # its name
    name: str
    # what it may do
    scope: Scope
    # it belongs to a page that is signed in
    session: bool
    # when it was made
    created_at: Optional[int]
    # when it ends; null: never
    expires_at: Optional[int]
    # when it was last used
    used_at: Optional[int]


class UsageTotal(TypedDict):
    """What ended runs have used."""

    # runs
    runs: int
    # those that succeeded
    ok: int
    # how long they took together
    busy_ms: int
    # tokens read
    tokens_in: int
    # tokens written
    tokens_out: int
    # tokens read from a cache
    tokens_cached: int
    # runs that reported none
    unknown_tokens: int
    # what was reported; null: no run has reported any
    cost_usd: Optional[float]
    # runs that reported none
    unknown_cost: int


class UsageSum(UsageTotal):
    """What runs that ended in a span have used."""

    # when the span began
    at: int
    # the project or agent; null: none
    name: Optional[str]


class UsageLive(TypedDict):
    """What live runs have used so far; in no other sum."""

    # live runs
    runs: int
    # tokens read so far
    tokens_in: int
    # tokens written so far
    tokens_out: int
    # tokens read from a cache so far
    tokens_cached: int
    # runs that have reported none yet
    unknown_tokens: int
    # what they have cost so far; null: no run has reported any
    cost_usd: Optional[float]
    # runs that have reported none yet
    unknown_cost: int


class UsageName(UsageTotal):
    """What a project or agent has used in all spans."""

    # the project or agent; null: none
    name: Optional[str]
    # its live runs
    live: UsageLive


class UsageTarget(TypedDict):
    """The part of a project."""

    # the project
    name: str
    # its weight of today
    weight: float
    # its part
    target: float


class UsageTask(TypedDict):
    """What a task has used."""

    # the task
    task: str
    # its title
    title: Optional[str]
    # its project; null: it was deleted
    project: Optional[str]
    # its state; null: it was deleted
    state: Optional[State]
    # ended runs
    runs: int
    # those that succeeded
    ok: int
    # how long they took together
    busy_ms: int
    # tokens read
    tokens_in: int
    # tokens written
    tokens_out: int
    # tokens read from a cache
    tokens_cached: int
    # what ended runs have cost; null: no run has reported any
    cost_usd: Optional[float]
    # ended runs that reported none
    unknown_cost: int
    # it has a live run
    live: bool
    # what its live run has cost so far; null: not reported, or none
    live_usd: Optional[float]


class _ProblemRequired(TypedDict):
    # a word for programs
    code: str
    # a sentence for people
    message: str


class Problem(_ProblemRequired, total=False):
    """What went wrong."""

    # which entry of a list it is about, from 0
    index: int


class _ErrorRequired(TypedDict):
    # what went wrong
    error: Problem


class Error(_ErrorRequired, total=False):
    """Nothing has happened."""

    # with `deferred`: how many tasks wait, by kind
    depths: Dict[str, int]
    # with `standby`: the addresses of the active daemon
    active: List[str]


class AgentClearAnswer(TypedDict):
    # the agent
    name: str
    # `open`
    state: str
    # it was so before: nothing has changed
    already: bool


class AgentListAnswer(TypedDict):
    # this page
    items: List[Agent]
    # the cursor of the next page; null after the last
    next: Optional[str]


class AttentionDismissAnswer(TypedDict):
    # number of tasks that changed
    changed: int
    # whether they are dismissed now
    dismissed: bool


class AttentionListAnswer(TypedDict):
    # total number of items
    total: int
    # number of items by kind
    counts: Dict[str, int]
    # the most urgent items
    items: List[Attention]


class ConfigGetAnswer(TypedDict):
    # its name
    key: str
    # its value in force
    value: Optional[Any]
    # the origin of the value
    origin: Optional[str]
    # what it does
    text: str
    # the values it accepts
    expected: Optional[str]
    # its default
    default: Optional[Any]


class ConfigListAnswer(TypedDict):
    # the preset in force
    preset: str
    # the configuration file
    file: Optional[str]
    # the settings
    items: List[Setting]


class ConfigReloadAnswer(TypedDict):
    # the file that was read
    file: str
    # the preset in force
    preset: str


class ConfigSetAnswer(TypedDict):
    # the settings whose value has changed
    changed: List[str]


class DaemonBackupAnswer(TypedDict):
    # the copy
    path: str
    # its size
    bytes: int
    # how long it took
    took_ms: int


class DaemonDoctorAnswer(TypedDict):
    # kernel features
    features: List[Feature]
    # checks
    checks: List[Check]


class _DaemonHealthAnswerRequired(TypedDict):
    # it is healthy
    ok: bool


class DaemonHealthAnswer(_DaemonHealthAnswerRequired, total=False):
    # `active` or `standby`
    role: str
    # its version
    version: str
    # its process
    pid: int
    # uptime in seconds
    uptime_s: int
    # dispatch is paused
    paused: bool
    # the type of its store
    store: str
    # missing kernel features; see `GET /v1/doctor`
    degraded: List[str]


class DaemonPauseAnswer(TypedDict):
    # dispatch is paused
    paused: bool
    # it was so before: nothing has changed
    already: bool
    # who paused it
    paused_by: Optional[str]
    # when
    paused_at: Optional[int]


class DaemonResumeAnswer(TypedDict):
    # dispatch is paused
    paused: bool
    # it was so before: nothing has changed
    already: bool


class _DaemonShowAnswerRequired(TypedDict):
    # it is healthy
    ok: bool
    # `active` or `standby`
    role: str
    # its version
    version: str
    # its process
    pid: int
    # its host
    host: str
    # when it took this role
    since: int


class DaemonShowAnswer(_DaemonShowAnswerRequired, total=False):
    # for the active one: it becomes a standby again if it loses the store
    standby: bool
    # for the active one: its addresses
    addresses: List[str]
    # for a standby: the active one
    active: ActiveDaemon
    # for a standby: why it cannot use the store
    problem: Optional[str]


class DaemonStopAnswer(TypedDict):
    # it is stopping
    ok: bool


class DaemonTickAnswer(TypedDict):
    # what starts in this tick
    start: List[Start]


class _EventListAnswerRequired(TypedDict):
    # this page
    items: List[Event]
    # the cursor of the next page; null after the last
    next: Optional[str]
    # the oldest event that is kept
    first_seq: int
    # the newest
    last_seq: int


class EventListAnswer(_EventListAnswerRequired, total=False):
    # of a run: how many events were looked at
    looked: int
    # of a run: the last of those
    to: int


class GroupAddAnswer(TypedDict):
    # its name
    name: str
    # it was so before: nothing has changed
    already: bool


class GroupCloseAnswer(TypedDict):
    # its name
    name: str
    # it is closed
    closed: bool
    # it was so before: nothing has changed
    already: bool


class GroupListAnswer(TypedDict):
    # this page
    items: List[Group]
    # the cursor of the next page; null after the last
    next: Optional[str]


class GroupShowAnswer(Group):
    # up to 1,000 of its tasks, newest first
    tasks: List[GroupTask]


class HostForgetAnswer(TypedDict):
    # the host
    name: str
    # how many runs it had
    runs: int
    # it was said before, and there were none
    already: bool


class HostListAnswer(TypedDict):
    # this page
    items: List[Host]
    # the cursor of the next page; null after the last
    next: Optional[str]


class LimiterClearAnswer(TypedDict):
    # the account
    name: str
    # `open`
    state: str
    # it was so before: nothing has changed
    already: bool


class LimiterListAnswer(TypedDict):
    # this page
    items: List[Limiter]
    # the cursor of the next page; null after the last
    next: Optional[str]


class NotifyTestAnswer(TypedDict):
    # the configured channels
    ways: List[Way]


class PlanForecastAnswer(TypedDict):
    # when it was made
    at: int
    # false: the queue is too large for a forecast, and the rest is empty
    available: bool
    # everything is paused: it begins with a resume
    paused: bool
    # when everything is finished
    finish_at: int
    # how many tasks will be finished
    tasks: int
    # those that will not, because they wait for a person, a file or a task that failed
    others: int
    # those that may be finished after the end of the forecast
    later: int
    # false: it was ended after 30 days or 2,000,000 steps, and more would follow
    complete: bool
    # where tasks wait longest; null: none waits for a limit
    bottleneck: Optional[Bottleneck]
    # this page
    items: List[ForecastRun]
    # the cursor of the next page; null after the last
    next: Optional[str]


class PlanWhatifAnswer(TypedDict):
    # when it was played
    at: int
    # with the settings in force
    now: Outlook
    # with those of `set`
    then: Outlook


class ProjectDeleteAnswer(TypedDict):
    # the project
    name: str
    # how many of its tasks were canceled
    canceled: int


class ProjectListAnswer(TypedDict):
    # this page
    items: List[Project]
    # the cursor of the next page; null after the last
    next: Optional[str]


class QuestionListAnswer(TypedDict):
    # this page
    items: List[OpenQuestion]
    # the cursor of the next page; null after the last
    next: Optional[str]


class RunCorrectAnswer(TypedDict):
    # the task
    id: str
    # the run
    attempt: int
    # what the task has used now
    budget: TaskBudget


class RunListAnswer(TypedDict):
    # this page
    items: List[ListedRun]
    # the cursor of the next page; null after the last
    next: Optional[str]


class _RunReportAnswerRequired(TypedDict):
    # it was taken
    ok: bool


class RunReportAnswer(_RunReportAnswerRequired, total=False):
    # why numbers were not booked
    refused: str


class ScheduleListAnswer(TypedDict):
    # this page
    items: List[Schedule]
    # the cursor of the next page; null after the last
    next: Optional[str]


class ScheduleNextAnswer(TypedDict):
    # the schedule
    name: str
    # whether it adds nothing
    paused: bool
    # its next due times, without jitter
    due: List[int]


class ScheduleRemoveAnswer(TypedDict):
    # the schedule
    name: str


class ScheduleRunAnswer(TypedDict):
    # the schedule
    name: str
    # the tasks that were added
    tasks: List[str]


class SessionCodeAnswer(TypedDict):
    # opens the dashboard
    link: str
    # where the daemon listens
    url: Optional[str]
    # the code in the link
    code: str
    # what the page may do
    scope: Scope
    # until when it is good
    expires_at: int
    # the daemon began to listen for it
    opened: bool
    # the path of the requested file, which has mode 0600 and is removed when the code is used or expires
    file: Optional[str]


class SessionOpenAnswer(TypedDict):
    # for `Authorization: Bearer`; null if the session has a key
    token: Optional[str]
    # its id
    id: str
    # this start of the daemon, for signatures
    boot: str
    # what it may do
    scope: Scope
    # until when it is good
    expires_at: int


class _TaskAddAnswerRequired(TypedDict):
    # in the order of the request
    tasks: List[AddedTask]
    # the group they belong to
    group: Optional[str]
    # what a person should know
    warning: Optional[str]


class TaskAddAnswer(_TaskAddAnswerRequired, total=False):
    # at least one was there already, and `tasks.duplicates` is `refuse`
    refused: bool
    # how many had no room
    deferred: int
    # with a warning: how many tasks wait, by kind
    depths: Dict[str, int]


class TaskAskAnswer(TypedDict):
    # the task
    id: str
    # the question
    question: str
    # whether it is answered
    state: QuestionState
    # the answer, for this run; null: none yet
    answer: Optional[str]
    # who answered
    by: Optional[str]
    # the answer, or what the agent should do now
    text: str


class TaskBudgetAnswer(TypedDict):
    # the task
    id: str
    # its state
    state: State
    # why it is held
    hold: Optional[Hold]
    # its budget now
    budget: TaskBudget


class TaskDiffAnswer(TypedDict):
    # the one that was asked for; null: all of the task
    iteration: Optional[int]
    # what it is compared with
    branch: Optional[str]
    # the commit or tree before
    base: str
    # that after; null: the worktree now
    head: Optional[str]
    # at most 1,000
    files: List[DiffFile]
    # a unified diff, at most 1 MiB
    patch: Optional[str]
    # there is more
    truncated: bool


class TaskEditAnswer(TypedDict):
    # the task
    id: str
    # its state
    state: State
    # its version now
    version: int
    # nothing had to be changed
    already: bool


class _TaskEventsAnswerRequired(TypedDict):
    # this page
    items: List[Event]
    # the cursor of the next page; null after the last
    next: Optional[str]


class TaskEventsAnswer(_TaskEventsAnswerRequired, total=False):
    # of a run: how many events were looked at
    looked: int
    # of a run: the last of those
    to: int


class TaskGraphAnswer(TypedDict):
    # tasks, by number
    nodes: List[GraphNode]
    # what comes first, and what after it
    edges: List[GraphEdge]
    # how long that chain is
    critical_ms: int
    # there are more tasks, or more than five edges for each node that was asked for
    truncated: bool


class _TaskListAnswerRequired(TypedDict):
    # this page
    items: List[Task]
    # the cursor of the next page; null after the last
    next: Optional[str]


class TaskListAnswer(_TaskListAnswerRequired, total=False):
    # tasks of live runs that do not belong to this daemon; at most 50
    external: List[str]


class TaskMergeAnswer(TypedDict):
    # in the order of the request
    tasks: List[MergedTask]


class TaskRunsAnswer(TypedDict):
    # this page
    items: List[Run]
    # the cursor of the next page; null after the last
    next: Optional[str]


class TaskSelectAnswer(TypedDict):
    # the tasks
    ids: List[str]
    # what can be done to each of them
    actions: List[str]
    # the cursor of the next page; null after the last
    next: Optional[str]


class _TaskSlingAnswerRequired(TypedDict):
    # those that were named, and their steps
    tasks: List[SlungTask]
    # the group that was made or named
    group: Optional[str]
    # nothing was changed
    dry_run: bool
    # what a person should know
    warning: Optional[str]


class TaskSlingAnswer(_TaskSlingAnswerRequired, total=False):
    # how many had no room
    deferred: int
    # with a warning: how many tasks wait, by kind
    depths: Dict[str, int]


class TaskTakeAnswer(TypedDict):
    # the task
    id: str
    # its state
    state: State
    # how many runs it has had
    attempt: int
    # it has a command of its own: a shell opens
    command: bool


class TaskWaitAnswer(TypedDict):
    # in the order of the request
    tasks: List[WaitedTask]
    # the time was over first
    timed_out: bool
    # how long it took
    waited_ms: int


class TaskWhyAnswer(TypedDict):
    # the task
    id: str
    # its state
    state: State
    # the first gate that is closed
    first: Optional[str]
    # what that means, and how its last run ended unless that was a success
    summary: str
    # every condition, in the order in which they are checked; none for a task that runs or is final
    gates: List[Gate]
    # its agent and those it may fail over to, in order; empty for a task that has no choice
    agents: List[AgentChoice]
    # how many of its runs in a row have ended in less than `runaway.quick_s`
    quick_ends: int
    # how many start before it, and it
    queue_position: Optional[int]
    # when it should start
    forecast: Optional[Forecast]


class TokenAddAnswer(Token):
    # the token itself, shown here and never again
    token: str


class TokenListAnswer(TypedDict):
    # this page
    items: List[Token]
    # the cursor of the next page; null after the last
    next: Optional[str]


class TokenRevokeAnswer(TypedDict):
    # its id
    id: str
    # its name
    name: str


class _UsageListAnswerRequired(TypedDict):
    # `day` or `hour`
    by: str
    # `project` or `agent`
    group: str
    # the first span
    since: int
    # spans that began before
    until: int
    # the time zone of the days
    timezone: str
    # days before this time are of UTC: hours are no longer known; null: none
    utc_before: Optional[int]
    # this page
    items: List[UsageSum]
    # the cursor of the next page; null after the last
    next: Optional[str]
    # all spans, also those of other pages
    totals: UsageTotal
    # what live runs have used so far; in no other sum
    live: UsageLive
    # the same for each project or agent, the most expensive first; up to 1,000
    names: List[UsageName]


class UsageListAnswer(_UsageListAnswerRequired, total=False):
    # by project: what each active one should get of all tokens
    targets: List[UsageTarget]


class UsageTasksAnswer(TypedDict):
    # tasks
    items: List[UsageTask]
    # how many tasks have used something
    tasks: int
    # what the ended runs of all of them have cost; null: no run has reported any
    cost_usd: Optional[float]
    # what live runs have cost so far, in no other sum; null: none has reported any
    live_usd: Optional[float]
    # true: there are more than 100,000 runs, and only the latest are counted
    partial: bool


class AgentGroup:
    """The operations `agent.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def clear(
        self,
        name: str,
        *,
        idempotency_key: Optional[str] = None,
    ) -> AgentClearAnswer:
        """Open an agent that was closed after launch failures.

        Its tasks may start immediately, and its count of launch failures is reset. For a closed account
        (login, billing, limit), see `limiter.clear`.

        name: the agent
        """
        return cast("AgentClearAnswer", json.loads(self._transport.call("POST", f"/v1/agents/{_part(name)}/clear", key=idempotency_key, keyed=True).read()))

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> AgentListAnswer:
        """List the agents.

        Agents that are configured or that a task names come first, then those that need no configuration.

        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("AgentListAnswer", json.loads(self._transport.call("GET", "/v1/agents", query={"limit": limit, "cursor": cursor}).read()))

    def list_all(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[Agent]:
        """Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.list(limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return


class AttentionGroup:
    """The operations `attention.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def dismiss(
        self,
        *,
        tasks: List[str],
        dismissed: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> AttentionDismissAnswer:
        """Dismiss failures.

        They stay failed, but are no longer listed as waiting for a person until they have run and failed
        again. All are dismissed, or none.

        tasks: task ids, or external ids
        dismissed: false: list them again; default true
        """
        return cast("AttentionDismissAnswer", json.loads(self._transport.call("POST", "/v1/attention/dismiss", body={"tasks": tasks, "dismissed": dismissed}, key=idempotency_key, keyed=True).read()))

    def list(
        self,
        *,
        limit: Optional[int] = None,
    ) -> AttentionListAnswer:
        """List everything that waits for a person.

        Most urgent first: what stops everything, then accounts, agents and budgets, questions, denied
        permissions, failures that block other tasks, picks, reviews, tasks without budget, tasks that could
        not be launched, tasks to close, other failures (newest first), other alerts. Held tasks that continue
        automatically are not included, nor are those that a person holds or has taken over.

        limit: maximum number of items; default 50
        """
        return cast("AttentionListAnswer", json.loads(self._transport.call("GET", "/v1/attention", query={"limit": limit}).read()))


class ConfigGroup:
    """The operations `config.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(
        self,
        key: str,
    ) -> ConfigGetAnswer:
        """Show one setting.

        key: the setting: `limits.runs`, `agents.claude.slots`
        """
        return cast("ConfigGetAnswer", json.loads(self._transport.call("GET", f"/v1/config/{_part(key)}").read()))

    def list(
        self,
        *,
        all: Optional[bool] = None,
    ) -> ConfigListAnswer:
        """Show the settings in force and their origin.

        all: all settings, not only those that were set
        """
        return cast("ConfigListAnswer", json.loads(self._transport.call("GET", "/v1/config", query={"all": all}).read()))

    def reload(
        self,
        *,
        idempotency_key: Optional[str] = None,
    ) -> ConfigReloadAnswer:
        """Reload the configuration file.
        """
        return cast("ConfigReloadAnswer", json.loads(self._transport.call("POST", "/v1/config/reload", key=idempotency_key, keyed=True).read()))

    def set(
        self,
        *,
        set: Optional[Dict[str, Any]] = None,
        unset: Optional[List[str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> ConfigSetAnswer:
        """Change settings in the file and in the running daemon.

        All settings are changed, or none; comments and order of the file are kept. Raising a cap starts tasks
        immediately; lowering one stops nothing.

        set: settings and their new values
        unset: settings to reset to their default
        """
        return cast("ConfigSetAnswer", json.loads(self._transport.call("POST", "/v1/config", body={"set": set, "unset": unset}, key=idempotency_key, keyed=True).read()))


class DaemonGroup:
    """The operations `daemon.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def backup(
        self,
        *,
        path: str,
    ) -> DaemonBackupAnswer:
        """Write a backup of the store to a file.

        The backup is verified and on disk when the response arrives; the daemon keeps serving other requests
        until then. `sluice restore` restores it. Only one backup runs at a time; another request is refused.

        path: the path of the backup, on the daemon's machine
        """
        return cast("DaemonBackupAnswer", json.loads(self._transport.call("POST", "/v1/backup", body={"path": path}).read()))

    def doctor(
        self,
    ) -> DaemonDoctorAnswer:
        """Check the machine and the daemon.

        Where Slurm is used, it is checked, too.
        """
        return cast("DaemonDoctorAnswer", json.loads(self._transport.call("GET", "/v1/doctor").read()))

    def health(
        self,
    ) -> DaemonHealthAnswer:
        """Report whether the daemon is healthy.

        Status 503 when it is not. Over TCP without a token the response has only `ok`.
        """
        return cast("DaemonHealthAnswer", json.loads(self._transport.call("GET", "/healthz").read()))

    def metrics(
        self,
    ) -> str:
        """Show metrics for Prometheus.

        Text format, version 0.0.4. Names begin with `sluice_`; no label is an id.
        """
        return self._transport.call("GET", "/metrics", accept="text/plain").read().decode()

    def pause(
        self,
        *,
        project: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> DaemonPauseAnswer:
        """Pause dispatch.

        Nothing starts until it is resumed; running tasks continue. The pause survives a restart of the daemon
        and records who requested it: the run in the header `X-Sluice-Run`, else the user at the other end of
        the socket.

        project: only this project; default: all projects
        """
        return cast("DaemonPauseAnswer", json.loads(self._transport.call("POST", "/v1/pause", body={"project": project}, key=idempotency_key, keyed=True).read()))

    def resume(
        self,
        *,
        project: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> DaemonResumeAnswer:
        """Resume dispatch.

        project: only this project; default: all projects
        """
        return cast("DaemonResumeAnswer", json.loads(self._transport.call("POST", "/v1/resume", body={"project": project}, key=idempotency_key, keyed=True).read()))

    def show(
        self,
    ) -> DaemonShowAnswer:
        """Show which daemon answers, and whether it is the active one.

        Of several daemons that share a store, one is active. A standby answers this request, too, and every
        other request with 503, the code `standby` and the addresses of the active one as `active`. See
        [high-availability.md](../guide/high-availability.md).
        """
        return cast("DaemonShowAnswer", json.loads(self._transport.call("GET", "/v1/daemon").read()))

    def status(
        self,
    ) -> Status:
        """Show a summary of the daemon and its queue.
        """
        return cast("Status", json.loads(self._transport.call("GET", "/v1/status").read()))

    def stop(
        self,
    ) -> DaemonStopAnswer:
        """Stop the daemon.

        Runs continue without it, and the next daemon adopts them.
        """
        return cast("DaemonStopAnswer", json.loads(self._transport.call("POST", "/v1/shutdown").read()))

    def tick(
        self,
        *,
        dry_run: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> DaemonTickAnswer:
        """Run a scheduling decision now, regardless of the pace.

        A tick in which nothing can start has no effect.

        dry_run: only report what would start
        """
        return cast("DaemonTickAnswer", json.loads(self._transport.call("POST", "/v1/tick", body={"dry_run": dry_run}, key=idempotency_key, keyed=True).read()))


class EventGroup:
    """The operations `event.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        after: Optional[int] = None,
        before: Optional[int] = None,
        task: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> EventListAnswer:
        """List or follow what happens.

        A page, always oldest first: the newest one when neither `after` nor `before` is given. With `Accept:
        text/event-stream` it is a stream that goes on: `id` is the number, `event` the kind, `data` the
        object. `Last-Event-ID` or `after` resumes it; when that is too old there is one `event: reset`, and
        the client reads the state again.

        after: events with a higher number, oldest first
        before: the last ones with a lower number
        task: only about this task
        limit: most items in the answer; 50 when not given
        """
        return cast("EventListAnswer", json.loads(self._transport.call("GET", "/v1/events", query={"after": after, "before": before, "task": task, "limit": limit}).read()))


class GroupGroup:
    """The operations `group.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
        self,
        *,
        name: Optional[str] = None,
        owned: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> GroupAddAnswer:
        """Open a group.

        name: its name; made up when not given
        owned: closed only manually, not when all its tasks are final
        """
        return cast("GroupAddAnswer", json.loads(self._transport.call("POST", "/v1/groups", body={"name": name, "owned": owned}, key=idempotency_key, keyed=True).read()))

    def close(
        self,
        name: str,
        *,
        idempotency_key: Optional[str] = None,
    ) -> GroupCloseAnswer:
        """Close a group.

        Its tasks are left alone.

        name: the group
        """
        return cast("GroupCloseAnswer", json.loads(self._transport.call("POST", f"/v1/groups/{_part(name)}/close", key=idempotency_key, keyed=True).read()))

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> GroupListAnswer:
        """List the groups.

        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("GroupListAnswer", json.loads(self._transport.call("GET", "/v1/groups", query={"limit": limit, "cursor": cursor}).read()))

    def list_all(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[Group]:
        """Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.list(limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def show(
        self,
        name: str,
    ) -> GroupShowAnswer:
        """Show a group and its tasks.

        `GET /v1/tasks?group=` lists all of its tasks.

        name: the group
        """
        return cast("GroupShowAnswer", json.loads(self._transport.call("GET", f"/v1/groups/{_part(name)}").read()))


class HostGroup:
    """The operations `host.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def forget(
        self,
        name: str,
        *,
        idempotency_key: Optional[str] = None,
    ) -> HostForgetAnswer:
        """Say that a host is gone for good: its runs are lost.

        Their tasks go on as after any lost run (`lost`, `retry.lost`), and their slots are free. The host of
        this daemon is refused. If the host comes back all the same and its daemon is the active one, what
        still lives there of these runs is killed. The event is `host.forgotten`, with who did it.

        name: the host, as `host.list` names it
        """
        return cast("HostForgetAnswer", json.loads(self._transport.call("POST", f"/v1/hosts/{_part(name)}/forget", key=idempotency_key, keyed=True).read()))

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> HostListAnswer:
        """List the hosts that have runs.

        That of this daemon first. The others are those whose daemon is not the active one: while runs live
        there, they keep their slots and are not started a second time. One that was forgotten is shown until
        its own daemon is active again.

        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("HostListAnswer", json.loads(self._transport.call("GET", "/v1/hosts", query={"limit": limit, "cursor": cursor}).read()))

    def list_all(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[Host]:
        """Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.list(limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return


class LimiterGroup:
    """The operations `limiter.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def clear(
        self,
        name: str,
        *,
        idempotency_key: Optional[str] = None,
    ) -> LimiterClearAnswer:
        """Reopen a provider account.

        This also opens an account of which only the reserve is left, until an agent reports its usage again.

        name: the account
        """
        return cast("LimiterClearAnswer", json.loads(self._transport.call("POST", f"/v1/limiters/{_part(name)}/clear", key=idempotency_key, keyed=True).read()))

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> LimiterListAnswer:
        """List the provider accounts and their state.

        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("LimiterListAnswer", json.loads(self._transport.call("GET", "/v1/limiters", query={"limit": limit, "cursor": cursor}).read()))

    def list_all(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[Limiter]:
        """Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.list(limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def show(
        self,
        name: str,
    ) -> Limiter:
        """Show a provider account and its state.

        name: the account
        """
        return cast("Limiter", json.loads(self._transport.call("GET", f"/v1/limiters/{_part(name)}").read()))


class LinkGroup:
    """The operations `link.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def answer(
        self,
        code: str,
        *,
        text: str,
        idempotency_key: Optional[str] = None,
    ) -> str:
        """Answer the question of an answer link.

        Sent by the form of that page. The link is used up with the answer; the event `task.answered` has `by:
        link`. A process of a run is refused (403), and the link becomes invalid.

        code: the last part of the link
        text: the answer; one of the choices, if any
        """
        return self._transport.call("POST", f"/answer/{_part(code)}", body={"text": text}, key=idempotency_key, keyed=True, accept="text/html").read().decode()

    def show(
        self,
        code: str,
    ) -> str:
        """Show the question of an answer link.

        A page with a form, for the link that a notification has with `notify.answer_links`. Needs no token,
        and changes nothing. A link that is not valid is not found (404): its question is answered, withdrawn
        or over.

        code: the last part of the link
        """
        return self._transport.call("GET", f"/answer/{_part(code)}", accept="text/html").read().decode()


class NotifyGroup:
    """The operations `notify.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def test(
        self,
    ) -> NotifyTestAnswer:
        """Send a test through every configured notification channel.

        The response comes when all of them have finished, which may take as long as their timeouts. Only one
        test runs at a time; another request is refused.
        """
        return cast("NotifyTestAnswer", json.loads(self._transport.call("POST", "/v1/notify/test").read()))


class PlanGroup:
    """The operations `plan.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def forecast(
        self,
        *,
        project: Optional[str] = None,
        until: Optional[Union[float, str]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> PlanForecastAnswer:
        """Show which runs are expected, and when.

        The forecast that `task.why`, `task.graph` and `plan.whatif` show as well: it is made at most every
        ten seconds, and less often for a long queue. Each run takes as long as runs of its project and kind
        took on average (five minutes when none has ended yet) and succeeds; no task is added, approved or
        canceled, except by schedules. Live runs come first, then the others in the order in which they start.

        project: runs of this project
        until: runs that start before this time (ms)
        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("PlanForecastAnswer", json.loads(self._transport.call("GET", "/v1/forecast", query={"project": project, "until": until, "limit": limit, "cursor": cursor}).read()))

    def forecast_all(
        self,
        *,
        project: Optional[str] = None,
        until: Optional[Union[float, str]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[ForecastRun]:
        """Each item of `forecast`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.forecast(project=project, until=until, limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def snapshot(
        self,
        *,
        anonymous: Optional[bool] = None,
    ) -> Any:
        """Get the live queue as a snapshot for plan and sim.

        Everything the next decision depends on, as of one moment, in the format of
        docs/reference/snapshot.md. Titles, prompts and commands are not in it. The answer may be large (about
        200 bytes for each task) and comes in chunks. One at a time: another one meanwhile is refused with
        409. Above 1 GB of scheduler state (about 3 million tasks) it is refused with 413.

        anonymous: names and ids are replaced by neutral ones; the decisions stay the same
        """
        return json.loads(self._transport.call("GET", "/v1/snapshot", query={"anonymous": anonymous}).read())

    def whatif(
        self,
        *,
        set: Optional[Dict[str, Any]] = None,
        unset: Optional[List[str]] = None,
    ) -> PlanWhatifAnswer:
        """Simulate the queue as it is and with other settings.

        Changes nothing. Each run takes as long as runs of its project and kind took on average (five minutes
        when none has ended yet) and succeeds; no task is added, approved or canceled. `now` is the forecast
        of all other answers (`plan.forecast`). A queue that is too large to be copied at once is refused with
        413 (above 32 MB of scheduler state, about 100,000 tasks).

        set: settings and the values that they would have
        unset: settings that would have their default
        """
        return cast("PlanWhatifAnswer", json.loads(self._transport.call("POST", "/v1/whatif", body={"set": set, "unset": unset}).read()))


class ProjectGroup:
    """The operations `project.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
        self,
        *,
        name: str,
        prefix: Optional[str] = None,
        settings: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Project:
        """Add a project.

        name: the project
        prefix: what the ids of its tasks begin with; made from the name when not given
        settings: any setting `projects.P.KEY` of the configuration, such as `weight` or `path`, a folder that
        must be there
        """
        return cast("Project", json.loads(self._transport.call("POST", "/v1/projects", body={**(settings or {}), **{"name": name, "prefix": prefix}}, key=idempotency_key, keyed=True).read()))

    def delete(
        self,
        name: str,
        *,
        cancel: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> ProjectDeleteAnswer:
        """Delete a project.

        Removes it from the lists, and its section from the configuration. Its finished tasks stay until
        retention removes them, and its prefix stays taken: `project.add` with the same name brings it back.

        name: the project
        cancel: cancel its unfinished tasks; without it they are a conflict
        """
        return cast("ProjectDeleteAnswer", json.loads(self._transport.call("POST", f"/v1/projects/{_part(name)}/delete", body={"cancel": cancel}, key=idempotency_key, keyed=True).read()))

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> ProjectListAnswer:
        """List the projects.

        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("ProjectListAnswer", json.loads(self._transport.call("GET", "/v1/projects", query={"limit": limit, "cursor": cursor}).read()))

    def list_all(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[Project]:
        """Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.list(limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def messages(
        self,
        name: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        type: Optional[str] = None,
    ) -> MessagePage:
        """List the messages on the bus of a project.

        Oldest first; without a `cursor` the last ones. `end` is the cursor of what comes later, and `m0` that
        of the beginning. A page may be shorter than `limit` and have a `next` all the same: a megabyte of the
        file is looked at in each.

        name: the project
        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        type: only messages of this type
        """
        return cast("MessagePage", json.loads(self._transport.call("GET", f"/v1/projects/{_part(name)}/messages", query={"limit": limit, "cursor": cursor, "type": type}).read()))

    def messages_all(
        self,
        name: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        type: Optional[str] = None,
    ) -> Iterator[Message]:
        """Each item of `messages`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.messages(name, limit=limit, cursor=cursor, type=type)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def post(
        self,
        name: str,
        *,
        text: str,
        type: Optional[str] = None,
        issue: Optional[str] = None,
        parents: Optional[List[Dict[str, Any]]] = None,
        links: Optional[List[Dict[str, Any]]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> Posted:
        """Post a message to the bus of a project.

        It is in the file when this is answered. Takes no key: a message that is posted twice is there twice.

        name: the project
        text: the message
        type: such as `FACT`, `PROGRESS`, `QUESTION`; `INFO` when not given
        issue: the issue it belongs to
        parents: messages it answers: `[{"msg_id","kind"}]`
        links: what it points to
        meta: anything else
        """
        return cast("Posted", json.loads(self._transport.call("POST", f"/v1/projects/{_part(name)}/messages", body={"text": text, "type": type, "issue": issue, "parents": parents, "links": links, "meta": meta}).read()))

    def set(
        self,
        name: str,
        *,
        settings: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Project:
        """Change the settings of a project.

        The same as changing `projects.NAME.*` of the configuration.

        name: the project
        settings: any setting `projects.P.KEY` of the configuration, such as `weight` or `path`, a folder that
        must be there
        """
        return cast("Project", json.loads(self._transport.call("POST", f"/v1/projects/{_part(name)}/set", body={**(settings or {}), **{}}, key=idempotency_key, keyed=True).read()))

    def show(
        self,
        name: str,
    ) -> Project:
        """Show a project.

        name: the project
        """
        return cast("Project", json.loads(self._transport.call("GET", f"/v1/projects/{_part(name)}").read()))


class QuestionGroup:
    """The operations `question.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> QuestionListAnswer:
        """List open questions.

        Questions of runs without an answer, oldest first.

        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("QuestionListAnswer", json.loads(self._transport.call("GET", "/v1/questions", query={"limit": limit, "cursor": cursor}).read()))

    def list_all(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[OpenQuestion]:
        """Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.list(limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return


class RunGroup:
    """The operations `run.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def correct(
        self,
        id: str,
        *,
        attempt: Optional[int] = None,
        tokens: Optional[int] = None,
        tokens_in: Optional[int] = None,
        tokens_out: Optional[int] = None,
        cost_usd: Optional[Union[float, str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> RunCorrectAnswer:
        """Correct the usage that a run has booked.

        Replaces the usage that an ended run reported: in its row, in the usage of its task, in the project
        and global windows, and in the daily totals. Values that are not given do not change. A task that was
        held because its budget was used up continues if some of the budget is left.

        id: the task: `web-17`, its number alone, or its external id
        attempt: the number of the run; the last ended run if not given
        tokens: tokens used, input and output together
        tokens_in: input tokens
        tokens_out: output tokens
        cost_usd: cost in dollars
        """
        return cast("RunCorrectAnswer", json.loads(self._transport.call("POST", f"/v1/tasks/{_part(id)}/usage", body={"attempt": attempt, "tokens": tokens, "tokens_in": tokens_in, "tokens_out": tokens_out, "cost_usd": cost_usd}, key=idempotency_key, keyed=True).read()))

    def list(
        self,
        *,
        since: Optional[Union[float, str]] = None,
        until: Optional[Union[float, str]] = None,
        project: Optional[str] = None,
        agent: Optional[str] = None,
        state: Optional[str] = None,
        limit: Optional[int] = None,
        after: Optional[str] = None,
    ) -> RunListAnswer:
        """List runs of all tasks, those that live first, then by their end, latest first.

        For a picture of the time. A run that was still going on at `until` is not among those that ended
        before: ask for a later time to see it. One call looks at up to 5,000 ended runs: a page may have
        fewer items than asked for, or none, and still a `next`. Runs go with their tasks (`retention`); what
        they used stays (`usage.list`).

        since: those that live, or ended at this time (ms) or later
        until: those that ended before this time (ms); when not given also those that live
        project: only of this project
        agent: only by this agent
        state: `live`, `ended`, or an outcome: `ok`, `failed`, `limited` …
        limit: most items in the answer; 50 when not given
        after: `next` of the answer before: goes on behind it
        """
        return cast("RunListAnswer", json.loads(self._transport.call("GET", "/v1/runs", query={"since": since, "until": until, "project": project, "agent": agent, "state": state, "limit": limit, "after": after}).read()))

    def list_all(
        self,
        *,
        since: Optional[Union[float, str]] = None,
        until: Optional[Union[float, str]] = None,
        project: Optional[str] = None,
        agent: Optional[str] = None,
        state: Optional[str] = None,
        limit: Optional[int] = None,
        after: Optional[str] = None,
    ) -> Iterator[ListedRun]:
        """Each item of `list`, page by page; `after` is where it begins, `limit` the size of a page."""
        while True:
            page = self.list(since=since, until=until, project=project, agent=agent, state=state, limit=limit, after=after)
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def report(
        self,
        *,
        task: Optional[str] = None,
        attempt: Optional[int] = None,
        tokens_in: Optional[int] = None,
        tokens_out: Optional[int] = None,
        tokens: Optional[int] = None,
        cost_usd: Optional[Union[float, str]] = None,
        done: Optional[bool] = None,
        rate_limited_s: Optional[Union[float, str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> RunReportAnswer:
        """Tell from inside a run what it used and how it goes.

        Numbers above the limits of `report.*` are not booked, and the owner gets an alert.

        task: who reports; the run of the header `X-Sluice-Run` when not given
        attempt: which attempt; a report of one that is over is refused
        tokens_in: tokens read so far
        tokens_out: tokens written so far
        tokens: tokens used so far, read and written together
        cost_usd: what it cost so far
        done: makes the DONE marker of the task
        rate_limited_s: its provider said wait; so many seconds, 0: not said how long
        """
        return cast("RunReportAnswer", json.loads(self._transport.call("POST", "/v1/report", body={"task": task, "attempt": attempt, "tokens_in": tokens_in, "tokens_out": tokens_out, "tokens": tokens, "cost_usd": cost_usd, "done": done, "rate_limited_s": rate_limited_s}, key=idempotency_key, keyed=True).read()))


class ScheduleGroup:
    """The operations `schedule.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
        self,
        *,
        name: str,
        dry_run: Optional[bool] = None,
        settings: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Schedule:
        """Add a schedule.

        It needs one of `cron`, `every` and `at`, and one of `task`, `file`, `formula` and `backup`. See
        [schedules.md](../guide/schedules.md).

        name: its name
        dry_run: check only and change nothing; the answer is the schedule as it would be, with `due`
        settings: any setting `schedules.S.KEY` of the configuration, such as `cron` or `task`; an empty text
        removes it
        """
        return cast("Schedule", json.loads(self._transport.call("POST", "/v1/schedules", body={**(settings or {}), **{"name": name, "dry_run": dry_run}}, key=idempotency_key, keyed=True).read()))

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> ScheduleListAnswer:
        """List the schedules.

        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("ScheduleListAnswer", json.loads(self._transport.call("GET", "/v1/schedules", query={"limit": limit, "cursor": cursor}).read()))

    def list_all(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[Schedule]:
        """Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.list(limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def next(
        self,
        name: str,
        *,
        count: Optional[int] = None,
    ) -> ScheduleNextAnswer:
        """Show when a schedule is due.

        name: the schedule
        count: most due times in the answer; 10 when not given
        """
        return cast("ScheduleNextAnswer", json.loads(self._transport.call("GET", f"/v1/schedules/{_part(name)}/next", query={"count": count}).read()))

    def pause(
        self,
        name: str,
        *,
        idempotency_key: Optional[str] = None,
    ) -> Schedule:
        """Pause a schedule.

        name: the schedule
        """
        return cast("Schedule", json.loads(self._transport.call("POST", f"/v1/schedules/{_part(name)}/pause", key=idempotency_key, keyed=True).read()))

    def remove(
        self,
        name: str,
        *,
        idempotency_key: Optional[str] = None,
    ) -> ScheduleRemoveAnswer:
        """Remove a schedule.

        Removes its section from the configuration. Its tasks stay.

        name: the schedule
        """
        return cast("ScheduleRemoveAnswer", json.loads(self._transport.call("POST", f"/v1/schedules/{_part(name)}/remove", key=idempotency_key, keyed=True).read()))

    def resume(
        self,
        name: str,
        *,
        idempotency_key: Optional[str] = None,
    ) -> Schedule:
        """Resume a schedule.

        What was due while it was paused is recorded as skipped.

        name: the schedule
        """
        return cast("Schedule", json.loads(self._transport.call("POST", f"/v1/schedules/{_part(name)}/resume", key=idempotency_key, keyed=True).read()))

    def run(
        self,
        name: str,
        *,
        idempotency_key: Optional[str] = None,
    ) -> ScheduleRunAnswer:
        """Add the tasks of a schedule now.

        Also while it is paused or its last task is not finished. Its due times stay as they are.

        name: the schedule
        """
        return cast("ScheduleRunAnswer", json.loads(self._transport.call("POST", f"/v1/schedules/{_part(name)}/run", key=idempotency_key, keyed=True).read()))

    def set(
        self,
        name: str,
        *,
        dry_run: Optional[bool] = None,
        settings: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Schedule:
        """Change the settings of a schedule.

        The same as changing `schedules.NAME.*` of the configuration. When its times change, the schedule
        starts from now: earlier due times are not caught up.

        name: the schedule
        dry_run: check only and change nothing; the answer is the schedule as it would be, with `due`
        settings: any setting `schedules.S.KEY` of the configuration, such as `cron` or `task`; an empty text
        removes it
        """
        return cast("Schedule", json.loads(self._transport.call("POST", f"/v1/schedules/{_part(name)}/set", body={**(settings or {}), **{"dry_run": dry_run}}, key=idempotency_key, keyed=True).read()))

    def show(
        self,
        name: str,
    ) -> Schedule:
        """Show a schedule.

        name: the schedule
        """
        return cast("Schedule", json.loads(self._transport.call("GET", f"/v1/schedules/{_part(name)}").read()))


class SessionGroup:
    """The operations `session.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def code(
        self,
        *,
        scope: Optional[Literal["read", "submit", "admin"]] = None,
        file: Optional[bool] = None,
        port: Optional[int] = None,
    ) -> SessionCodeAnswer:
        """Make a link that opens the dashboard once.

        Good for one use within a minute. If the daemon has no TCP listener (`http.listen`), it listens on a
        loopback port from now on, until it ends. Only at the owner's socket.

        scope: what the page may do; `submit` when not given
        file: also write a private file that redirects to the link, for a browser on this machine: unlike the
        link, its path can be passed as an argument
        port: where to listen, if the daemon does not yet; 0, or not given: any that is free
        """
        return cast("SessionCodeAnswer", json.loads(self._transport.call("POST", "/v1/session/code", body={"scope": scope, "file": file, "port": port}).read()))

    def open(
        self,
        *,
        code: str,
        key: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> SessionOpenAnswer:
        """Swap the code of a link for a session.

        Needs no token over TCP, as /healthz and answer links do not. A code that was used, or is older than a
        minute, is refused (401). A process of a run is refused, too (403), and the code becomes invalid. With
        `key` the session has no token: each request is signed with the private key, `Authorization:
        Sluice-Key ID BOOT BODY SIGNATURE`. BODY is the SHA-256 of the body, or `-` without one. SIGNATURE is
        ECDSA with SHA-256, r and s, of these lines, without a newline at the end: `sluice-key-1`, the Host
        header, BOOT, ID, the method, the target with its query, BODY. Both are in hexadecimal digits. Another
        start of the daemon has another BOOT: it refuses the request with 401, and its header `X-Sluice-Boot`
        has the new one.

        code: what stands behind `#t=` in the link
        key: the public key of the page: an uncompressed point of P-256 in hexadecimal digits; without it the
        session gets a token
        """
        return cast("SessionOpenAnswer", json.loads(self._transport.call("POST", "/v1/session", body={"code": code, "key": key}, key=idempotency_key, keyed=True).read()))


class TaskGroup:
    """The operations `task.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
        self,
        *,
        tasks: List[Submission],
        group: Optional[str] = None,
        new_group: Optional[bool] = None,
        draft: Optional[bool] = None,
        force: Optional[bool] = None,
        partial: Optional[bool] = None,
        dry_run: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> TaskAddAnswer:
        """Add tasks.

        All tasks of a batch are added, or none; an error names the task (`index`). With `partial` an error in
        one still refuses all, but a full queue defers only those without room, and those that need them: send
        them again later. If a task with the same `external_id` already exists in the project, no task is
        added: the answer has the id of the existing task, and `already`. `queue_position` is given for
        batches of up to 100 tasks. A run adds children of its own task, or imports: see
        [capabilities.md](../guide/capabilities.md).

        tasks: what to add: objects as below, all or none
        group: the group they belong to; made if there is none of this name
        new_group: they belong to a new group, whose name is made up; not with `group`
        draft: all of them are drafts
        force: lets a dependency be missing and a prefix be another project's
        partial: adds as many as the queue has room for (`queue.hard`), in their order; the others are
        `deferred`
        dry_run: adds nothing; the result of each is `new`, `already` or `deferred`
        """
        return cast("TaskAddAnswer", json.loads(self._transport.call("POST", "/v1/tasks", body={"tasks": tasks, "group": group, "new_group": new_group, "draft": draft, "force": force, "partial": partial, "dry_run": dry_run}, key=idempotency_key, keyed=True).read()))

    def again(
        self,
        *,
        tasks: List[str],
        message: Optional[str] = None,
        own_agent: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Run finished tasks again.

        Starts a new iteration; children of the last iteration are invalidated. With `message`, a task that
        failed or was canceled can be continued too, as with `task.retry`. An agent without sessions, or one
        that has lost its session, gets the prompt of the task and the message. A command is refused. The
        event is `task.followed_up`, with the message and its author.

        tasks: task ids, or external ids
        message: continue one finished task in the session of its last run, with this as the prompt
        own_agent: start an escalated task with its own agent and model again
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/again", body={"tasks": tasks, "message": message, "own_agent": own_agent}, key=idempotency_key, keyed=True).read()))

    def answer(
        self,
        id: str,
        *,
        text: str,
        idempotency_key: Optional[str] = None,
    ) -> Question:
        """Answer the question of a task.

        A question is answered once. A held task goes on in the same session, with the answer as its prompt; a
        run that waits for the answer gets it. The event is `task.answered`, with who answered. Not for runs.

        id: the task: `web-17`, its number alone, or its external id
        text: the answer; one of the choices, if any
        """
        return cast("Question", json.loads(self._transport.call("POST", f"/v1/tasks/{_part(id)}/answer", body={"text": text}, key=idempotency_key, keyed=True).read()))

    def approve(
        self,
        *,
        tasks: List[str],
        reason: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Approve tasks that wait for review.

        The event is `task.approved`, with the user and the reason. With `merge: direct` the branch of the
        task is merged first, and the answer waits for that; if it cannot be merged, this is 409 with the
        reason, and the task still waits.

        tasks: task ids, or external ids
        reason: the reason; the next iteration of a rejected task finds it in its feedback
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/approve", body={"tasks": tasks, "reason": reason}, key=idempotency_key, keyed=True).read()))

    def ask(
        self,
        id: str,
        *,
        question: str,
        choices: Optional[List[str]] = None,
        default: Optional[str] = None,
        deadline_s: Optional[Union[float, str]] = None,
        wait_s: Optional[Union[float, str]] = None,
        attempt: Optional[int] = None,
        idempotency_key: Optional[str] = None,
    ) -> TaskAskAnswer:
        """Ask a person from inside a run.

        The question is stored, people are notified, and the call returns at once: the run should end now. Its
        outcome is `asked`, nothing is counted, and the task is held without a slot until it is answered
        (`task.answer`). The next attempt resumes the same session, and the answer is its prompt. With
        `wait_s` the call returns when the answer is there, or when the time is over. A task has one question
        at a time; the same question again returns its answer if there is one.

        id: the task: `web-17`, its number alone, or its external id
        question: the question, with what a person needs to answer it
        choices: the allowed answers; any text when not given
        default: the answer to use if none is given before the deadline
        deadline_s: seconds until the default is used; without a default the task fails then
        wait_s: most seconds to wait for the answer; 0 when not given: returns at once
        attempt: which attempt asks; one that is over is refused
        """
        return cast("TaskAskAnswer", json.loads(self._transport.call("POST", f"/v1/tasks/{_part(id)}/question", body={"question": question, "choices": choices, "default": default, "deadline_s": deadline_s, "wait_s": wait_s, "attempt": attempt}, key=idempotency_key, keyed=True).read()))

    def budget(
        self,
        id: str,
        *,
        tokens: Any = None,
        usd: Any = None,
        run_tokens: Any = None,
        run_usd: Any = None,
        on_budget: Optional[Literal["hold", "stop"]] = None,
        idempotency_key: Optional[str] = None,
    ) -> TaskBudgetAnswer:
        """Change how much a task may use.

        What is not given stays as it is. A task that is held because it has used up its budget goes on when
        it may use more now. What it has used so far is in `budget` of task.show, too.

        id: the task: `web-17`, its number alone, or its external id
        tokens: how many all its runs may use: a whole number, or `unlimited`
        usd: dollars that all its runs may cost, or `unlimited`
        run_tokens: how many one of its runs may use, or `unlimited`
        run_usd: dollars that one of its runs may cost, or `unlimited`
        on_budget: a run that passes a budget goes on to its end, or is stopped
        """
        return cast("TaskBudgetAnswer", json.loads(self._transport.call("POST", f"/v1/tasks/{_part(id)}/budget", body={"tokens": tokens, "usd": usd, "run_tokens": run_tokens, "run_usd": run_usd, "on_budget": on_budget}, key=idempotency_key, keyed=True).read()))

    def cancel(
        self,
        *,
        tasks: List[str],
        now: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Cancel tasks.

        A running task is asked to stop and is canceled when its run has ended; if the run succeeds first, the
        task is done. Children that its runs have added (`parent_gate: none`) are canceled with it. If its run
        is on an unreachable host (`host.list`), a `note` says when it will be stopped.

        tasks: task ids, or external ids
        now: kill runs immediately instead of asking them to stop first
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/cancel", body={"tasks": tasks, "now": now}, key=idempotency_key, keyed=True).read()))

    def candidates(
        self,
        id: str,
    ) -> BestOf:
        """Compare the candidates of a task.

        For a task that was added with `best_of`, or for one of its candidates: the state, the changes and the
        cost of each candidate. `task.diff` shows what one of them changed.

        id: the task: `web-17`, its number alone, or its external id
        """
        return cast("BestOf", json.loads(self._transport.call("GET", f"/v1/tasks/{_part(id)}/candidates").read()))

    def clear(
        self,
        *,
        tasks: List[str],
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Turn waiting tasks into drafts.

        Their counters and their escalation are reset.

        tasks: task ids, or external ids
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/clear", body={"tasks": tasks}, key=idempotency_key, keyed=True).read()))

    def close(
        self,
        *,
        tasks: List[str],
        reason: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Close tasks that are finished externally.

        The event is `task.approved`, with the user and the reason. With `merge: direct` the branch of the
        task is merged first, and the answer waits for that; if it cannot be merged, this is 409 with the
        reason, and the task still waits.

        tasks: task ids, or external ids
        reason: the reason; the next iteration of a rejected task finds it in its feedback
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/close", body={"tasks": tasks, "reason": reason}, key=idempotency_key, keyed=True).read()))

    def delete(
        self,
        *,
        tasks: List[str],
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Delete drafts and finished tasks.

        Their children fail as orphans, and so do tasks that wait for one that was not done.

        tasks: task ids, or external ids
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/delete", body={"tasks": tasks}, key=idempotency_key, keyed=True).read()))

    def depends(
        self,
        *,
        task: str,
        depends_on: List[str],
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Replace what a task depends on.

        task: whose dependencies they are
        depends_on: ids of all tasks that must be done first; an empty list: none
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/depends", body={"task": task, "depends_on": depends_on}, key=idempotency_key, keyed=True).read()))

    def diff(
        self,
        id: str,
        *,
        iteration: Optional[int] = None,
        stat: Optional[bool] = None,
        context: Optional[int] = None,
        path: Optional[str] = None,
        old_path: Optional[str] = None,
    ) -> TaskDiffAnswer:
        """Show what a task has changed in its git worktree.

        All of the task: the files of its worktree as they are now, committed or not, against where its branch
        left `branch`; after the worktree has gone, what was merged or was there at the end of its last run.
        With `iteration`: what that one changed, as it was recorded at its end, or so far. A task without a
        worktree, and what was not recorded or is no longer there, is 404 with a sentence that says which. No
        hook, filter or other program of the repository is run for it. More than 16 at once are refused with
        429.

        id: the task: `web-17`, its number alone, or its external id
        iteration: what this one changed; all of the task when not given
        stat: the files alone: `patch` is null
        context: unchanged lines around each change; 3 when not given
        path: only this file
        old_path: with `path`: what the file was called before
        """
        return cast("TaskDiffAnswer", json.loads(self._transport.call("GET", f"/v1/tasks/{_part(id)}/diff", query={"iteration": iteration, "stat": stat, "context": context, "path": path, "old_path": old_path}).read()))

    def edit(
        self,
        id: str,
        *,
        version: Optional[int] = None,
        prompt: Optional[str] = None,
        argv: Optional[List[str]] = None,
        title: Optional[str] = None,
        priority: Optional[int] = None,
        timeout_s: Any = None,
        idle_timeout_s: Any = None,
        checks: Optional[List[str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> TaskEditAnswer:
        """Change a task that does not run.

        For a task that waits, is held or is a draft; its next attempt uses the new values. What is not given
        stays as it is. With `version` the edit is refused (409) if the task was edited or started since that
        version was read. An attempt after a new prompt begins a new session. The event is `task.edited`, with
        the names of what has changed. Runs can edit what they may
        [import](../guide/capabilities.md#importing).

        id: the task: `web-17`, its number alone, or its external id
        version: `version` of task.show, as it was read
        prompt: what its agent should do; only for a task with a prompt
        argv: its command; only for a task with a command
        title: what lists show; empty: the beginning of the prompt
        priority: lower starts first
        timeout_s: how long a run may take: seconds, or `30m`
        idle_timeout_s: how long a run may print nothing: seconds, or `10m`
        checks: shell commands that must succeed after it, instead of its checks; an empty list: none
        """
        return cast("TaskEditAnswer", json.loads(self._transport.call("POST", f"/v1/tasks/{_part(id)}/edit", body={"version": version, "prompt": prompt, "argv": argv, "title": title, "priority": priority, "timeout_s": timeout_s, "idle_timeout_s": idle_timeout_s, "checks": checks}, key=idempotency_key, keyed=True).read()))

    def events(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> TaskEventsAnswer:
        """List what happened to a task, oldest first.

        id: the task: `web-17`, its number alone, or its external id
        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("TaskEventsAnswer", json.loads(self._transport.call("GET", f"/v1/tasks/{_part(id)}/events", query={"limit": limit, "cursor": cursor}).read()))

    def events_all(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[Event]:
        """Each item of `events`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.events(id, limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def graph(
        self,
        *,
        project: Optional[str] = None,
        group: Optional[str] = None,
        root: Optional[str] = None,
        state: Optional[Literal["open", "all"]] = None,
        limit: Optional[int] = None,
    ) -> TaskGraphAnswer:
        """Show what waits for what, as nodes and edges.

        Of a project, or of everything, the newest tasks.

        project: tasks of this project
        group: the tasks of this group, finished or not
        root: this task, all that it waits for and all that waits for it, finished or not
        state: of a project, or of everything: tasks that are not final (when not given), with those that they
        directly wait for, or `all`
        limit: most nodes in the answer; 2,000 when not given
        """
        return cast("TaskGraphAnswer", json.loads(self._transport.call("GET", "/v1/graph", query={"project": project, "group": group, "root": root, "state": state, "limit": limit}).read()))

    def hold(
        self,
        *,
        tasks: List[str],
        until: Optional[Union[float, str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Hold waiting tasks.

        tasks: task ids, or external ids
        until: when it continues automatically, in ms since the epoch; if not given, never
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/hold", body={"tasks": tasks, "until": until}, key=idempotency_key, keyed=True).read()))

    def list(
        self,
        *,
        state: Optional[str] = None,
        project: Optional[str] = None,
        kind: Optional[str] = None,
        group: Optional[str] = None,
        parent: Optional[str] = None,
        agent: Optional[str] = None,
        external_id: Optional[str] = None,
        schedule: Optional[str] = None,
        text: Optional[str] = None,
        order: Optional[Literal["new", "old", "queue"]] = None,
        sort: Optional[Literal["state", "project", "kind", "agent", "priority", "attempt"]] = None,
        reverse: Optional[bool] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> TaskListAnswer:
        """List tasks.

        One call looks at up to 20,000 tasks: a page may have fewer items than asked for, or none, and still a
        `next`; with a `text` it reads up to 10,000 titles. The order of the queue is the one in which tasks
        would start if each run succeeded and took as long as usual, shares, limits and dependencies included;
        of a paused queue, after a resume. The forecast ends after 30 days or 2,000,000 steps (about 300,000
        starts); what starts later or waits for a person stands behind it, by its place at this moment, and so
        does everything where the scheduler has more than 64 MB (about 300,000 tasks). There are up to 5,000
        of either. Of a live `run`, `doing` says what it does besides working, `last_line` what it printed
        last (of an agent, what it says or does), and `unreachable_host` and `unreachable_since` that it is on
        a host that is (`host.list`). `changes`: what a finished task, or one that waits for review, has
        changed in its worktree; `files` 0: nothing. null: it is not known, or it has no worktree.

        state: states with commas, `open` (those that are not final; when not given) or `all`
        project: only of this project
        kind: only of this kind
        group: only of this group
        parent: only children of this task
        agent: only for this agent
        external_id: only those with this external id, of any project
        schedule: only those that this schedule has added
        text: only those with this text in their title, id or external id, in capitals or not
        order: newest first (when not given), oldest first, or as they will start
        sort: by this member, of equal ones the newest first; instead of `order`, and without `text`
        reverse: with `sort`: the other way round
        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("TaskListAnswer", json.loads(self._transport.call("GET", "/v1/tasks", query={"state": state, "project": project, "kind": kind, "group": group, "parent": parent, "agent": agent, "external_id": external_id, "schedule": schedule, "text": text, "order": order, "sort": sort, "reverse": reverse, "limit": limit, "cursor": cursor}).read()))

    def list_all(
        self,
        *,
        state: Optional[str] = None,
        project: Optional[str] = None,
        kind: Optional[str] = None,
        group: Optional[str] = None,
        parent: Optional[str] = None,
        agent: Optional[str] = None,
        external_id: Optional[str] = None,
        schedule: Optional[str] = None,
        text: Optional[str] = None,
        order: Optional[Literal["new", "old", "queue"]] = None,
        sort: Optional[Literal["state", "project", "kind", "agent", "priority", "attempt"]] = None,
        reverse: Optional[bool] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[Task]:
        """Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.list(state=state, project=project, kind=kind, group=group, parent=parent, agent=agent, external_id=external_id, schedule=schedule, text=text, order=order, sort=sort, reverse=reverse, limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def log(
        self,
        id: str,
        *,
        attempt: Optional[int] = None,
        stream: Optional[Literal["out", "err", "check", "prepare", "all"]] = None,
        offset: Optional[int] = None,
        err_offset: Optional[int] = None,
        tail: Optional[int] = None,
        follow: Optional[bool] = None,
        format: Optional[Literal["raw", "text", "entries", "pieces"]] = None,
    ) -> Stream:
        """Read what a run printed.

        The bytes as they were printed, `application/octet-stream`; secrets of the run are replaced by the
        same number of bytes. `X-Sluice-Attempt` and `X-Sluice-Offset` say what they are; adding their number
        to the offset is where to go on. The middle of a long log may be gone; a line says how many bytes were
        cut there. `X-Sluice-Adapter` names the agent whose events the output is, if it is one. With
        `format=text` these events come as a transcript, `text/plain`: what the agent says, each tool call
        with its main argument and the first lines of its result, without control characters. Other output is
        the same in both formats. `offset` and `tail` count bytes of the log; a transcript begins with the
        next complete line. `stream=all` is output and errors in the order in which they were written, as far
        as the run has recorded it: writes that follow each other within milliseconds may come as output
        first. With `format=entries` and `pieces` the answer is `application/x-ndjson`, one JSON object per
        line. A piece of a stream is `{"stream": "err", "offset": 512, "text": "..."}`; `offset` is where to
        go on in this stream. An entry of a transcript has a `kind`: `say`, `think`, `prompt`, `call`,
        `result`, `note`, or `text` (a line that is no event), and its `text`. A call has its `tool`, the main
        argument as `text`, and `arguments`. A call and its results have the same `id`, if the agent gives
        one. `cut` (the text is longer), `failed`, `nested` (of a subagent) and `continues` (the entry before)
        are only there if they are true.

        id: the task: `web-17`, its number alone, or its external id
        attempt: which run; the last when not given
        stream: its output (the default), its errors, the output of its checks, or the output of
        `projects.P.prepare`; `all`: its output and errors, merged
        offset: bytes to leave out at the beginning
        err_offset: with `stream=all`: bytes of the errors to leave out; `offset` is that of the output
        tail: only so many bytes of the end
        follow: go on until the run has ended
        format: `raw` (the default): the bytes. `text`: what an agent says and does, for people. `entries`:
        the same as objects. `pieces`: the bytes as objects
        """
        return self._transport.call("GET", f"/v1/tasks/{_part(id)}/log", query={"attempt": attempt, "stream": stream, "offset": offset, "err_offset": err_offset, "tail": tail, "follow": follow, "format": format}, accept="*/*", endless=bool(follow))

    def merge(
        self,
        *,
        tasks: List[str],
        into: Optional[str] = None,
        dry_run: Optional[bool] = None,
        no_checks: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> TaskMergeAnswer:
        """Merge the branches of finished tasks.

        For tasks that are finished or wait for review, and have run in a worktree. What is left in the
        worktree is committed, the branch is rebased onto the base branch, the checks of the task run again if
        that changed anything, and the base branch moves forwards. One task after the other; the answer waits
        for all. After `conflict` and `failed` the base branch is as it was. With `on_conflict: iterate` a
        conflict begins the next iteration of the task, which repairs it; `message` says so. The event is
        `run.merge`.

        tasks: task ids, or external ids
        into: the branch to merge into; else the one that the task's branch came from
        dry_run: change nothing, and say whether there would be conflicts
        no_checks: do not run the checks of the task again after a rebase
        """
        return cast("TaskMergeAnswer", json.loads(self._transport.call("POST", "/v1/tasks/merge", body={"tasks": tasks, "into": into, "dry_run": dry_run, "no_checks": no_checks}, key=idempotency_key, keyed=True).read()))

    def messages(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        type: Optional[str] = None,
    ) -> MessagePage:
        """List the messages on the bus of a task.

        Oldest first; without a `cursor` the last ones. `end` is the cursor of what comes later, and `m0` that
        of the beginning. A page may be shorter than `limit` and have a `next` all the same: a megabyte of the
        file is looked at in each.

        id: the task: `web-17`, its number alone, or its external id
        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        type: only messages of this type
        """
        return cast("MessagePage", json.loads(self._transport.call("GET", f"/v1/tasks/{_part(id)}/messages", query={"limit": limit, "cursor": cursor, "type": type}).read()))

    def messages_all(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        type: Optional[str] = None,
    ) -> Iterator[Message]:
        """Each item of `messages`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.messages(id, limit=limit, cursor=cursor, type=type)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def pick(
        self,
        id: str,
        *,
        candidate: str,
        reason: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> BestOf:
        """Pick a candidate of a task.

        Only a candidate that is done can be picked. Candidates that have not ended are canceled, the branch
        of the pick is merged into the base branch unless the task has `merge: none` or `local`, and the task
        is done. The response waits for that. If the pick cannot be merged, the response is 409 with the
        reason, and the task waits for another pick. The events are `task.picked` and `task.pick_refused`. A
        run can pick only if it is the chooser of the task: `id` is then its own task.

        id: the task: `web-17`, its number alone, or its external id
        candidate: the candidate
        reason: why
        """
        return cast("BestOf", json.loads(self._transport.call("POST", f"/v1/tasks/{_part(id)}/pick", body={"candidate": candidate, "reason": reason}, key=idempotency_key, keyed=True).read()))

    def post(
        self,
        id: str,
        *,
        text: str,
        type: Optional[str] = None,
        issue: Optional[str] = None,
        parents: Optional[List[Dict[str, Any]]] = None,
        links: Optional[List[Dict[str, Any]]] = None,
        meta: Optional[Dict[str, Any]] = None,
    ) -> Posted:
        """Post a message to the bus of a task.

        It is in the file when this is answered. Takes no key: a message that is posted twice is there twice.

        id: the task: `web-17`, its number alone, or its external id
        text: the message
        type: such as `FACT`, `PROGRESS`, `QUESTION`; `INFO` when not given
        issue: the issue it belongs to
        parents: messages it answers: `[{"msg_id","kind"}]`
        links: what it points to
        meta: anything else
        """
        return cast("Posted", json.loads(self._transport.call("POST", f"/v1/tasks/{_part(id)}/messages", body={"text": text, "type": type, "issue": issue, "parents": parents, "links": links, "meta": meta}).read()))

    def priority(
        self,
        *,
        tasks: List[str],
        priority: Optional[int] = None,
        to: Optional[Literal["front", "back"]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Change the priority of tasks.

        Where the setting `order` does not name the priority, as under most presets, the number is stored and
        changes nothing.

        tasks: task ids, or external ids
        priority: lower starts first
        to: before, or behind, all that wait
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/priority", body={"tasks": tasks, "priority": priority, "to": to}, key=idempotency_key, keyed=True).read()))

    def reject(
        self,
        *,
        tasks: List[str],
        reason: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Reject tasks that wait for review.

        They run again, as a new iteration. The event is `task.rejected`, with the user and the reason.

        tasks: task ids, or external ids
        reason: the reason; the next iteration of a rejected task finds it in its feedback
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/reject", body={"tasks": tasks, "reason": reason}, key=idempotency_key, keyed=True).read()))

    def release(
        self,
        *,
        tasks: List[str],
        message: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Release held tasks.

        A task that a person has taken over (`task.take`) continues unattended in the same session.

        tasks: task ids, or external ids
        message: for tasks that are taken over: a message to the agent, in the same session
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/release", body={"tasks": tasks, "message": message}, key=idempotency_key, keyed=True).read()))

    def retry(
        self,
        *,
        tasks: List[str],
        allow: Optional[List[str]] = None,
        own_agent: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> Changed:
        """Queue failed, denied or canceled tasks again.

        Their counters are reset. A task that waits for its next attempt starts it now. `allow` is for a task
        that is held because its agent was denied a permission (`denied`): its next attempt continues in the
        same session, with these rules. It needs the scope `admin`.

        tasks: task ids, or external ids
        allow: permission rules for the agent from now on, for this task only: "Bash(git commit:*)"
        own_agent: start an escalated task with its own agent and model again
        """
        return cast("Changed", json.loads(self._transport.call("POST", "/v1/tasks/retry", body={"tasks": tasks, "allow": allow, "own_agent": own_agent}, key=idempotency_key, keyed=True).read()))

    def runs(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> TaskRunsAnswer:
        """List the runs of a task, newest first.

        id: the task: `web-17`, its number alone, or its external id
        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("TaskRunsAnswer", json.loads(self._transport.call("GET", f"/v1/tasks/{_part(id)}/runs", query={"limit": limit, "cursor": cursor}).read()))

    def runs_all(
        self,
        id: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[Run]:
        """Each item of `runs`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.runs(id, limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def select(
        self,
        *,
        state: Optional[str] = None,
        project: Optional[str] = None,
        kind: Optional[str] = None,
        group: Optional[str] = None,
        parent: Optional[str] = None,
        agent: Optional[str] = None,
        external_id: Optional[str] = None,
        schedule: Optional[str] = None,
        text: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> TaskSelectAnswer:
        """List the ids of tasks, for an action on all of them.

        The ids of what task.list would show, newest first, and the actions that are possible for each of
        them. One answer has up to 10,000 ids, as many as an action takes.

        state: states with commas, `open` (those that are not final; when not given) or `all`
        project: only of this project
        kind: only of this kind
        group: only of this group
        parent: only children of this task
        agent: only for this agent
        external_id: only those with this external id, of any project
        schedule: only those that this schedule has added
        text: only those with this text in their title, id or external id, in capitals or not
        limit: at most this many ids; 10,000 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("TaskSelectAnswer", json.loads(self._transport.call("GET", "/v1/selection", query={"state": state, "project": project, "kind": kind, "group": group, "parent": parent, "agent": agent, "external_id": external_id, "schedule": schedule, "text": text, "limit": limit, "cursor": cursor}).read()))

    def select_all(
        self,
        *,
        state: Optional[str] = None,
        project: Optional[str] = None,
        kind: Optional[str] = None,
        group: Optional[str] = None,
        parent: Optional[str] = None,
        agent: Optional[str] = None,
        external_id: Optional[str] = None,
        schedule: Optional[str] = None,
        text: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[str]:
        """Each item of `select`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.select(state=state, project=project, kind=kind, group=group, parent=parent, agent=agent, external_id=external_id, schedule=schedule, text=text, limit=limit, cursor=cursor)
            yield from page["ids"]
            cursor = page["next"]
            if cursor is None:
                return

    def show(
        self,
        id: str,
    ) -> TaskFull:
        """Show one task.

        id: the task: `web-17`, its number alone, or its external id
        """
        return cast("TaskFull", json.loads(self._transport.call("GET", f"/v1/tasks/{_part(id)}").read()))

    def sling(
        self,
        *,
        tasks: List[str],
        project: Optional[str] = None,
        force: Optional[bool] = None,
        dry_run: Optional[bool] = None,
        partial: Optional[bool] = None,
        group: Optional[str] = None,
        owned: Optional[bool] = None,
        no_group: Optional[bool] = None,
        agent: Optional[str] = None,
        limiter: Optional[str] = None,
        merge: Optional[Literal["none", "local", "direct", "mr"]] = None,
        base_branch: Optional[str] = None,
        no_merge: Optional[bool] = None,
        args: Optional[str] = None,
        meta: Optional[Dict[str, Any]] = None,
        steps: Optional[List[str]] = None,
        work: Optional[List[Dict[str, Any]]] = None,
        idempotency_key: Optional[str] = None,
    ) -> TaskSlingAnswer:
        """Schedule drafts.

        All or none, unless `partial`. What is scheduled already is `already`; tasks of a project that only
        coordinates are `skipped`. What is said of agent, account and merging stands beside the task as its
        `context`; what was submitted stays as it is.

        tasks: task ids, or names of groups: all drafts of them; with a task go all drafts below it
        project: the project they must belong to, or move to with `force`
        force: overrides the guards: another project (a draft moves there, with a new id), another group, a
        task that is at work or final
        dry_run: only says what would be slung
        partial: each of `tasks` by itself: those that the queue has no room for are `deferred`, the others
        slung
        group: the group that follows them; a new one is made for those that none follows
        owned: a group that is made is closed only manually
        no_group: makes no group
        agent: who runs them, instead of the agent they name
        limiter: the provider account they use
        merge: how the work is brought in, instead of what the task says
        base_branch: the branch they start from, instead of the task's
        no_merge: the same as `merge: none`
        args: a text that is put behind the prompt
        meta: anything to keep with them: formula, vars, mode …
        steps: drafts that do the work of the one task that is named: they are slung with it, it waits for
        them and runs nothing of its own
        work: formulas: `{task, formula, steps}`. The steps, objects as task.add takes them, are added and
        slung with the task, all of the call or none; it waits for them and runs nothing of its own
        """
        return cast("TaskSlingAnswer", json.loads(self._transport.call("POST", "/v1/tasks/sling", body={"tasks": tasks, "project": project, "force": force, "dry_run": dry_run, "partial": partial, "group": group, "owned": owned, "no_group": no_group, "agent": agent, "limiter": limiter, "merge": merge, "base_branch": base_branch, "no_merge": no_merge, "args": args, "meta": meta, "steps": steps, "work": work}, key=idempotency_key, keyed=True).read()))

    def take(
        self,
        id: str,
        *,
        terminal: str,
        term: Optional[str] = None,
        shell: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> TaskTakeAnswer:
        """Take a task over.

        For a program at a terminal on the host of the daemon, such as `sluice take`, which waits on a Unix
        socket. A live run is stopped, and the task starts before all others as soon as no gate stops it: its
        shim opens the agent at a terminal, with the session of the task, in its workspace and sandbox, and
        connects to the socket. However that run ends, the task is held then (`hold: taken`), and nothing is
        counted: `task.approve` makes it done, `task.release` lets the agent go on. The events are
        `task.taken` and `task.returned`. Refused over TCP and for runs.

        id: the task: `web-17`, its number alone, or its external id
        terminal: the path of the socket on which the program waits
        term: the kind of the terminal, as in `TERM`
        shell: the program that opens a task with a command of its own; /bin/sh when not given
        """
        return cast("TaskTakeAnswer", json.loads(self._transport.call("POST", f"/v1/tasks/{_part(id)}/take", body={"terminal": terminal, "term": term, "shell": shell}, key=idempotency_key, keyed=True).read()))

    def wait(
        self,
        *,
        tasks: List[str],
        any: Optional[bool] = None,
        patient: Optional[bool] = None,
        timeout_s: Optional[Union[float, str]] = None,
    ) -> TaskWaitAnswer:
        """Wait until tasks have ended.

        Answers when all of them (`any`: one) are final, or need a person (`patient` goes on waiting), or the
        time is over. A run that waits for tasks below it lends them its slots meanwhile, one at a time, and
        is answered when they are its own again. Closing the connection cancels the wait.

        tasks: task ids
        any: until one of them has ended, instead of all
        patient: go on waiting for a task that needs a person
        timeout_s: most seconds to wait; 0 only looks; 60 when not given
        """
        return cast("TaskWaitAnswer", json.loads(self._transport.call("POST", "/v1/wait", body={"tasks": tasks, "any": any, "patient": patient, "timeout_s": timeout_s}).read()))

    def why(
        self,
        id: str,
    ) -> TaskWhyAnswer:
        """Say why a task does not run.

        id: the task: `web-17`, its number alone, or its external id
        """
        return cast("TaskWhyAnswer", json.loads(self._transport.call("GET", f"/v1/tasks/{_part(id)}/why").read()))


class TokenGroup:
    """The operations `token.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
        self,
        *,
        name: str,
        scope: Optional[Literal["read", "submit", "admin"]] = None,
        expires_s: Optional[Union[float, str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> TokenAddAnswer:
        """Make a token for clients that connect over TCP.

        Only at the owner's socket.

        name: what it is called: letters, digits, dots, hyphens and underscores
        scope: what it may do; `read` when not given
        expires_s: how long it is good for, in seconds; for ever when not given
        """
        return cast("TokenAddAnswer", json.loads(self._transport.call("POST", "/v1/tokens", body={"name": name, "scope": scope, "expires_s": expires_s}, key=idempotency_key, keyed=True).read()))

    def list(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> TokenListAnswer:
        """List the tokens, and the pages that are signed in.

        Never their secrets. Those that have expired are shown until the next one is made. Only at the owner's
        socket.

        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("TokenListAnswer", json.loads(self._transport.call("GET", "/v1/tokens", query={"limit": limit, "cursor": cursor}).read()))

    def list_all(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[Token]:
        """Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.list(limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def revoke(
        self,
        name: str,
        *,
        idempotency_key: Optional[str] = None,
    ) -> TokenRevokeAnswer:
        """End a token at once.

        Its connections end, streams too. A page is revoked by its id. Only at the owner's socket.

        name: its name, or its id
        """
        return cast("TokenRevokeAnswer", json.loads(self._transport.call("POST", f"/v1/tokens/{_part(name)}/revoke", key=idempotency_key, keyed=True).read()))


class UsageGroup:
    """The operations `usage.…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        by: Optional[Literal["day", "hour"]] = None,
        group: Optional[Literal["project", "agent"]] = None,
        timezone: Optional[str] = None,
        since: Optional[Union[float, str]] = None,
        until: Optional[Union[float, str]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> UsageListAnswer:
        """Sum up what runs have used, by day or hour.

        A run counts in the span in which it ended; `live` shows apart what live runs have used so far. Days
        are kept for 800 days and hours for 40, also when the runs are gone. Days of a time zone are sums of
        hours: an hour belongs to the day in which it begins. Up to 1,000 sums in one answer, oldest first;
        `totals`, `live` and `names` are the same on every page.

        by: sums of days (when not given) or of hours
        group: one sum for each project (when not given) or for each agent
        timezone: the time zone of the days: a name such as `Europe/Berlin`, `system` for that of the daemon,
        UTC when not given
        since: a time (ms): spans from that in which it lies; 30 days or 48 hours ago when not given
        until: a time (ms): spans that began before; now when not given
        limit: most items in the answer; 50 when not given
        cursor: `next` of the answer before: goes on behind it
        """
        return cast("UsageListAnswer", json.loads(self._transport.call("GET", "/v1/usage", query={"by": by, "group": group, "timezone": timezone, "since": since, "until": until, "limit": limit, "cursor": cursor}).read()))

    def list_all(
        self,
        *,
        by: Optional[Literal["day", "hour"]] = None,
        group: Optional[Literal["project", "agent"]] = None,
        timezone: Optional[str] = None,
        since: Optional[Union[float, str]] = None,
        until: Optional[Union[float, str]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[UsageSum]:
        """Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page."""
        while True:
            page = self.list(by=by, group=group, timezone=timezone, since=since, until=until, limit=limit, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def tasks(
        self,
        *,
        since: Optional[Union[float, str]] = None,
        until: Optional[Union[float, str]] = None,
        project: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> UsageTasksAnswer:
        """List the tasks that have used the most.

        Sums of the runs that ended in a span, the most expensive task first. Runs go with their tasks
        (`retention`); the sums of `usage.list` stay.

        since: runs that ended at this time (ms) or later; 30 days ago when not given
        until: runs that ended before this time (ms)
        project: only of this project
        limit: most items in the answer; 50 when not given
        """
        return cast("UsageTasksAnswer", json.loads(self._transport.call("GET", "/v1/usage/tasks", query={"since": since, "until": until, "project": project, "limit": limit}).read()))


class Groups:
    """All operations, by group."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.agent = AgentGroup(transport)
        self.attention = AttentionGroup(transport)
        self.config = ConfigGroup(transport)
        self.daemon = DaemonGroup(transport)
        self.event = EventGroup(transport)
        self.group = GroupGroup(transport)
        self.host = HostGroup(transport)
        self.limiter = LimiterGroup(transport)
        self.link = LinkGroup(transport)
        self.notify = NotifyGroup(transport)
        self.plan = PlanGroup(transport)
        self.project = ProjectGroup(transport)
        self.question = QuestionGroup(transport)
        self.run = RunGroup(transport)
        self.schedule = ScheduleGroup(transport)
        self.session = SessionGroup(transport)
        self.task = TaskGroup(transport)
        self.token = TokenGroup(transport)
        self.usage = UsageGroup(transport)


__all__ = [
    "ActiveDaemon",
    "AddedTask",
    "Agent",
    "AgentChoice",
    "AgentClearAnswer",
    "AgentListAnswer",
    "AgentState",
    "Alert",
    "Ambiguous",
    "Amount",
    "AnyRun",
    "Attention",
    "AttentionDismissAnswer",
    "AttentionKind",
    "AttentionListAnswer",
    "BadRequest",
    "BestOf",
    "Bottleneck",
    "Budget",
    "Busy",
    "Candidate",
    "Changed",
    "ChangedTask",
    "Changes",
    "Check",
    "ConfigGetAnswer",
    "ConfigListAnswer",
    "ConfigReloadAnswer",
    "ConfigSetAnswer",
    "Conflict",
    "Counters",
    "Cycle",
    "DaemonBackupAnswer",
    "DaemonDoctorAnswer",
    "DaemonHealthAnswer",
    "DaemonPauseAnswer",
    "DaemonResumeAnswer",
    "DaemonShowAnswer",
    "DaemonStopAnswer",
    "DaemonTickAnswer",
    "Deferred",
    "Delivery",
    "Denial",
    "DiffFile",
    "DiskFull",
    "EdgeType",
    "Error",
    "Escalation",
    "Event",
    "EventListAnswer",
    "Exists",
    "Feature",
    "FollowUp",
    "Forecast",
    "ForecastRun",
    "Gate",
    "GateCount",
    "GraphEdge",
    "GraphNode",
    "Group",
    "GroupAddAnswer",
    "GroupCloseAnswer",
    "GroupListAnswer",
    "GroupShowAnswer",
    "GroupTask",
    "Handed",
    "Hold",
    "Host",
    "HostForgetAnswer",
    "HostListAnswer",
    "HostLoad",
    "Hours",
    "Iteration",
    "LastRun",
    "Level",
    "Limit",
    "Limiter",
    "LimiterClearAnswer",
    "LimiterListAnswer",
    "LimiterState",
    "ListedRun",
    "Listener",
    "LiveRun",
    "MergedTask",
    "Message",
    "MessagePage",
    "NamedHours",
    "NotFound",
    "NotSupported",
    "NotifyTestAnswer",
    "OnBudget",
    "OpenQuestion",
    "Outcome",
    "OutcomeUnknown",
    "Outlook",
    "OutlookProject",
    "Phase",
    "PlanForecastAnswer",
    "PlanWhatifAnswer",
    "PoolPlace",
    "Posted",
    "Problem",
    "Project",
    "ProjectDeleteAnswer",
    "ProjectListAnswer",
    "Question",
    "QuestionListAnswer",
    "QuestionState",
    "Queue",
    "QuotaWindow",
    "RaisedBudget",
    "Reason",
    "Refused",
    "Run",
    "RunCorrectAnswer",
    "RunListAnswer",
    "RunReportAnswer",
    "RunningTask",
    "Sandbox",
    "Schedule",
    "ScheduleListAnswer",
    "ScheduleNextAnswer",
    "ScheduleRemoveAnswer",
    "ScheduleRunAnswer",
    "ScheduleSkip",
    "Scope",
    "SessionCodeAnswer",
    "SessionOpenAnswer",
    "Setting",
    "SlungTask",
    "Spending",
    "Standby",
    "Start",
    "State",
    "Status",
    "Stopping",
    "Store",
    "Submission",
    "Taken",
    "Task",
    "TaskAddAnswer",
    "TaskAskAnswer",
    "TaskBudget",
    "TaskBudgetAnswer",
    "TaskDiffAnswer",
    "TaskEditAnswer",
    "TaskEventsAnswer",
    "TaskFull",
    "TaskGraphAnswer",
    "TaskListAnswer",
    "TaskMergeAnswer",
    "TaskRunsAnswer",
    "TaskSelectAnswer",
    "TaskSlingAnswer",
    "TaskTakeAnswer",
    "TaskWaitAnswer",
    "TaskWhyAnswer",
    "Token",
    "TokenAddAnswer",
    "TokenListAnswer",
    "TokenRevokeAnswer",
    "TooLarge",
    "Unauthorized",
    "UsageListAnswer",
    "UsageLive",
    "UsageName",
    "UsageSum",
    "UsageTarget",
    "UsageTask",
    "UsageTasksAnswer",
    "UsageTotal",
    "WaitedTask",
    "Way",
    "Window",
    "WindowName",
    "Workspace",
]
