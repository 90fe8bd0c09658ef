// api.ts: types, errors and operations of the API. Made by scripts/generate-clients; do not edit.
import { ApiError, errorClasses } from './errors.js';
import type { ByteStream, CallOptions, Caller } from './caller.js';

export const VERSION = '0.2.0';

/** Parameters, and settings by name. */
export type SettingsOf<T> = T & Record<string, unknown>;

const part = encodeURIComponent;

export type AttentionKind = 'stopped' | 'account' | 'agent' | 'window' | 'question' | 'denied' | 'blocking' | 'pick' | 'review' | 'budget' | 'breaker' | 'close' | 'failed' | 'alert';

export type State = 'draft' | 'waiting' | 'ready' | 'starting' | 'running' | 'held' | 'done' | 'failed' | 'canceled' | 'invalidated';

export type Hold = 'person' | 'backoff' | 'restart' | 'breaker' | 'budget' | 'review' | 'external' | 'marker' | 'denied' | 'question' | 'check' | 'candidates' | 'taken';

export type Reason = 'none' | 'first-in-order' | 'prerequisites' | 'executed' | 'succeeded' | 'drain' | 'drain-timeout' | 'iterate' | 'retry' | 'relaunch' | 'breaker' | 'limited' | 'account-closed' | 'agent-budget' | 'lost' | 'retries' | 'restarts' | 'timeout' | 'validation' | 'merge-conflict' | 'orphaned' | 'dependency' | 'invalidated' | 'canceled' | 'held' | 'released' | 'cleared' | 'slung' | 'retried' | 'again' | 'review' | 'external' | 'approved' | 'rejected' | 'refused' | 'marked' | 'merge-failed' | 'afresh' | 'stuck' | 'spent' | 'denied' | 'asked' | 'pending' | 'unanswered' | 'candidates' | 'taken' | 'gate-timeout';

export type Phase = 'starting' | 'working' | 'waiting' | 'validating' | 'draining' | 'stopping';

export type QuestionState = 'open' | 'answered' | 'withdrawn';

export type Level = 'ok' | 'warning' | 'bad';

export type LimiterState = 'open' | 'backoff' | 'probing' | 'ramping' | 'reserved' | 'off_hours' | 'closed';

export type WindowName = 'five_hour' | 'weekly';

export type OnBudget = 'hold' | 'stop';

export type Outcome = 'ok' | 'unfinished' | 'invalid' | 'failed' | 'launch' | 'timeout' | 'limited' | 'closed' | 'budget' | 'lost' | 'canceled' | 'conflict' | 'unmerged' | 'afresh' | 'stuck' | 'denied' | 'asked' | 'pending' | 'taken';

export type Scope = 'read' | 'submit' | 'admin';

export type EdgeType = 'dependency' | 'parent';

export type AgentState = 'open' | 'limited' | 'reserved' | 'closed' | 'not launched';

export class BadRequest extends ApiError {}
errorClasses.set('bad_request', BadRequest);

export class Cycle extends ApiError {}
errorClasses.set('cycle', Cycle);

export class Unauthorized extends ApiError {}
errorClasses.set('unauthorized', Unauthorized);

export class Refused extends ApiError {}
errorClasses.set('refused', Refused);

export class NotFound extends ApiError {}
errorClasses.set('not_found', NotFound);

export class Exists extends ApiError {}
errorClasses.set('exists', Exists);

export class Conflict extends ApiError {}
errorClasses.set('conflict', Conflict);

export class Ambiguous extends ApiError {}
errorClasses.set('ambiguous', Ambiguous);

export class TooLarge extends ApiError {}
errorClasses.set('too_large', TooLarge);

export class Deferred extends ApiError {}
errorClasses.set('deferred', Deferred);

export class NotSupported extends ApiError {}
errorClasses.set('not_supported', NotSupported);

export class OutcomeUnknown extends ApiError {}
errorClasses.set('outcome_unknown', OutcomeUnknown);

export class Stopping extends ApiError {}
errorClasses.set('stopping', Stopping);

export class Standby extends ApiError {}
errorClasses.set('standby', Standby);

export class Busy extends ApiError {}
errorClasses.set('busy', Busy);

export class DiskFull extends ApiError {}
errorClasses.set('disk_full', DiskFull);

export interface Submission {
    /**
     * the command, with the program first; either this or `prompt`. No shell is involved unless you name one, or
     * write `run`: its text is given to `sh -c`
     */
    argv?: string[];
    /** the prompt for its agent; either this or `argv`. It needs an `agent`, or a roster whose workers take it */
    prompt?: string;
    /** the agent that runs it: command, adapter, slots, account (`agents.A.*`) */
    agent?: string;
    /** the model that its agent uses for it, instead of `agents.A.model` */
    model?: string;
    /** the folder it runs in; default: that of its project. `sluice add` uses the current folder */
    cwd?: string;
    /** environment variables, in addition to those that every run gets; at most 32 KiB */
    env?: Record<string, unknown>;
    /** a file for its standard input; default: empty */
    stdin?: string;
    /** the sandbox of its runs; if not given, that of its project, its agent or `tasks.sandbox` */
    sandbox?: 'auto' | 'none' | 'bubblewrap' | 'podman';
    /**
     * another sandbox program: its command line, which is put before the command and the checks of the task, as in
     * `tasks.wrap`
     */
    wrap?: string[];
    /** set by Sluice for a task that a run in a sandbox added: its sandbox and its folder */
    inside?: Record<string, unknown>;
    /**
     * whether it runs on this machine or as a job of Slurm; default: that of its project, its agent or
     * `tasks.executor` when it is added
     */
    executor?: 'local' | 'slurm';
    /**
     * Slurm options: `partition`, `account`, `qos`, `gres`, `constraint`, `cpus`, `options`; its memory and time are
     * `memory_mb` and `timeout_s`
     */
    slurm?: Record<string, unknown>;
    /** the title in lists; default: the beginning of the prompt or the command */
    title?: string;
    /** its kind: base score, cap, and when it is finished (`kinds.K.*`) */
    kind?: string;
    /** arbitrary data; stored and shown, not interpreted */
    meta?: Record<string, unknown>;
    /** default: `default`. Any other project must exist: `sluice project add` */
    project?: string;
    /** its name for other tasks of the same batch or file */
    name?: string;
    /**
     * its id in another system (a card, an issue). A second task with the same external id in the project is not
     * added: the response is the first one, with `already`
     */
    external_id?: string;
    /**
     * when it was created in another system. For imports: only the owner can set it; ms since the epoch, or a text
     * like 30m, 18:30 or 2027-01-31T18:30
     */
    created_at?: number | string;
    /**
     * how it ended in another system: it does not run unless you retry it. `review`: it waits for approval. Only the
     * owner can set it
     */
    state?: 'done' | 'failed' | 'canceled' | 'invalidated' | 'review';
    /**
     * projects into which its runs may import: add tasks with external ids, and change those that have not started.
     * Only for a command (`argv`). Only the owner can set it
     */
    imports?: string[];
    /**
     * tasks that must be `done` first: ids, external ids, or names of the same batch. Cycles are refused, with the
     * cycle
     */
    depends_on?: string[];
    /** the task it belongs to: an id, an external id, or a name of the same batch */
    parent?: string;
    /** whether it waits until its parent is done; the default depends on the preset */
    parent_gate?: 'done' | 'none';
    /** a file that must exist; `iterations/{iteration}/artifacts/NAME` is one of its parent's */
    artifact?: string;
    /**
     * a command that decides whether it may start: exit code 0 is yes, 75 not yet, anything else no, and its last
     * line is the reason. It runs again after `every_s` (60), and less and less often while its answer is the same.
     * With `timeout_s` the task fails if the answer is not yes in that time
     */
    gate?: string | string[] | Record<string, unknown>;
    /** it is held until then; ms since the epoch, or a text like 30m, 18:30 or 2027-01-31T18:30 */
    not_before?: number | string;
    /** held until it is released */
    hold?: boolean;
    /** stored, but not scheduled until it is slung; `hold` and `not_before` take effect then */
    draft?: boolean;
    /** lower starts first; default 100 */
    priority?: number;
    /** its phase: only one task of a project, phase and kind runs at a time, unless `parallelizable` */
    serial?: string;
    /** may run in parallel to others of its project, phase and kind; the default depends on the preset */
    parallelizable?: boolean;
    /** the workspace it needs, a path of its project's pool; it waits while the workspace is in use */
    workspace?: string;
    /** limited resources of which it needs one slot each (`limits.resource.N`) */
    resources?: string[];
    /** the provider account it uses, instead of that of its agent */
    limiter?: string;
    /**
     * when it is finished: its command exits with 0, its DONE marker exists, its `checks` pass, or it is closed with
     * `sluice close`
     */
    until?: 'exit' | 'done' | 'validate' | 'external';
    /**
     * commands that must succeed after it, in order: each a list of words, a text for the shell, or `{argv or run,
     * timeout_s, every_s, pending_timeout_s}`. The first that fails ends it; one that exits with 75 has no result
     * yet and runs again later
     */
    checks?: unknown[];
    /** the branch its worktree starts from; default: that of its project */
    base_branch?: string;
    /** what happens to its successful work; default: as its project sets */
    merge?: 'none' | 'local' | 'direct' | 'mr';
    /**
     * what happens when its work conflicts with the base branch: it fails, or its next iteration resolves the
     * conflicts; default: as its project sets
     */
    on_conflict?: 'fail' | 'iterate';
    /** wait for `sluice approve` when it has finished; with `merge: direct` its work is merged after approval */
    review?: boolean;
    /** the number of its first iteration; default 1 */
    iteration?: number;
    /**
     * a file of tasks that it writes, absolute or below its artifacts: they become its children when it has
     * succeeded
     */
    spawn?: string;
    /**
     * how many candidates do the task, each in a worktree of its own, with an equal share of its budget; one of
     * those that succeed is picked
     */
    best_of?: number;
    /** the agents of its candidates, in turn; default: the `agent` of the task */
    agents?: string[];
    /**
     * the agent that picks one of the candidates; default `person`. With `review` a person picks, even if only one
     * has succeeded
     */
    chooser?: string;
    /** number of retries after a failed run; -1: as configured (`retry.failed.max`). `sluice run` sets 0 */
    retries?: number;
    /** whether other agents take it while its own is limited: as `agents.A.failover` sets, or never */
    failover?: 'auto' | 'none';
    /**
     * stronger agents and models, one step after another, when its results are not accepted: `AGENT`, `AGENT:MODEL`,
     * or `:MODEL` for another model of the same agent; else `agents.A.escalate`
     */
    escalate?: string[];
    /** number of rejected results before the next step of `escalate`; 0: never; default: `agents.A.escalate_after` */
    escalate_after?: number;
    /**
     * whether the next attempt continues its agent's session after a limit, a crash or a restart, and to repair a
     * result that was not accepted; default: as its agent sets
     */
    resume?: 'auto' | 'never';
    /** a run is stopped and fails after this time; seconds, or a text like 30m */
    timeout_s?: number | string;
    /** a run is stopped when it prints nothing for this time; seconds, or a text like 30m */
    idle_timeout_s?: number | string;
    /** time between the stop signal and KILL; seconds, or a text like 30m */
    grace_s?: number | string;
    /** the signal that asks a run to stop */
    stop_signal?: 'TERM' | 'INT';
    /** maximum memory of all its processes; MB, or a text like 1.5GB */
    memory_mb?: number | string;
    /** maximum number of processes and threads */
    processes?: number;
    /** its nice value (lower processor priority) */
    nice?: number;
    /** maximum number of tokens of all its runs and of the children that they add (budgets) */
    tokens?: number;
    /** maximum cost of all its runs and of the children that they add; dollars, or a text like $2.50 */
    usd?: number | string;
    /** maximum number of tokens of one of its runs */
    run_tokens?: number;
    /** maximum cost of one of its runs; dollars, or a text like $2.50 */
    run_usd?: number | string;
    /** whether a run that exceeds a budget continues to its end or is stopped; then the task is held */
    on_budget?: 'hold' | 'stop';
}

/** Opening hours: outside them nothing starts. */
export interface Hours {
    /** the setting `hours` */
    when: string;
    /** its time zone; null: that of the system */
    timezone: string | null;
    /** now is inside them */
    open: boolean;
    /** when they close, or open; null: never */
    until: number | null;
}

/** An agent. */
export interface Agent {
    /** its name */
    name: string;
    /** it is configured, or a task names it */
    named: boolean;
    /** its command, if it has one of its own */
    command: string[];
    /** the program that a run starts */
    program: string | null;
    /** its path in the PATH of runs */
    found: string | null;
    /** agents that take over while it is closed */
    failover: string[];
    /** steps of its tasks when results are not accepted */
    escalate: string[];
    /** its model, if it is set */
    model: string | null;
    /** how its output is read */
    adapter: string | null;
    /** it is a worker: it takes tasks that name no agent */
    roster: boolean;
    /** maximum number of runs at once; null: no limit */
    slots: number | null;
    /** live runs */
    used: number;
    /** the provider account it uses */
    limiter: string | null;
    /** its opening hours; null: none */
    hours: Hours | null;
    /** several launches in a row failed: it gets no tasks before this time */
    closed_until: number | null;
}

/** Which step a task is at, and why. */
export interface Escalation {
    /** 0: with its own agent */
    step: number;
    /** how many steps there are */
    steps: number;
    /** rejected results before the next step; 0: it takes none */
    after: number;
    /** rejected results since the last step */
    failed: number;
    /** the next step; null: no further step */
    next: string | null;
    /** of an escalated task: the agent that it was added with */
    own_agent: string | null;
    /** of an escalated task: why its last result before this step was rejected */
    reason: Reason | null;
    /** of an escalated task: rejected results before this step */
    failures: number;
    /** all of it in words */
    text: string;
}

/** Who has taken a task over. */
export interface Taken {
    /** who */
    by: string | null;
    /** since when */
    at: number | null;
}

/** What an agent was not permitted to do. */
export interface Denial {
    /** who wanted it */
    agent: string | null;
    /** the tool it called */
    tool: string | null;
    /** and for what */
    argument: string | null;
    /** how many times */
    count: number;
    /** the rule that `task.retry` takes to allow it; null: the agent has no such option */
    allow: string | null;
}

/** A run that has not ended. */
export interface LiveRun {
    /** its number */
    attempt: number;
    /** what it is doing */
    phase: Phase;
    /** the task below it that has its slots */
    lends_to: string | null;
    /** the task above it whose slots it has */
    borrows_from: string | null;
    /** the agent that does it */
    agent: string | null;
    /** when its command started */
    started_at: number | null;
    /** tokens read so far */
    tokens_in: number | null;
    /** tokens written so far */
    tokens_out: number | null;
    /** the last line of its output; of an agent, what it says or does */
    last_line: string | null;
    /** the host that it is on, if that is unreachable (`host.list`) */
    unreachable_host: string | null;
    /** since when */
    unreachable_since: number | null;
    /** the agent of the task, while another one works for it */
    instead_of: string | null;
    /** when that agent opens, if it is known */
    instead_until: number | null;
    /** what it does besides working */
    doing: string | null;
}

/** What a task has changed in its worktree. */
export interface Changes {
    /** commits on its branch */
    commits: number;
    /** files that differ; 0: nothing */
    files: number;
    /** lines added */
    insertions: number;
    /** lines removed */
    deletions: number;
}

/** A task, as lists show it. */
export interface Task {
    /** its id */
    id: string;
    /** its project */
    project: string;
    /** its kind */
    kind: string | null;
    /** its title */
    title: string | null;
    /** its state */
    state: State;
    /** why it is held */
    hold: Hold | null;
    /** why it is in this state */
    reason: Reason;
    /** lower starts first */
    priority: number;
    /** its agent */
    agent: string | null;
    /** the model of its next run, or of its live one; null: its agent's choice */
    model: string | null;
    /** the task that it is below */
    parent: string | null;
    /** the group that follows it */
    group: string | null;
    /** what another system calls it */
    external_id: string | null;
    /** when it was added */
    created_at: number | null;
    /** when its row last changed */
    changed_at: number | null;
    /** how many tasks it is below */
    depth: number;
    /** how often its work was begun */
    iteration: number;
    /** how many runs it has had */
    attempt: number;
    /** when it leaves its hold by itself */
    not_before: number | null;
    /** its place in the order, lower first */
    score: number;
    /** what its runs have cost, the live one included; null: none has reported it */
    cost_usd: number | null;
    /** of a task with stronger agents or models for when its results are not accepted */
    escalation?: Escalation;
    /** the first gate that stops it */
    gate: string | null;
    /** what that means */
    why: string | null;
    /** it stays as it is until a person does something */
    needs_person?: boolean;
    /**
     * of a task that a person has taken over: it waits for its turn, runs at that person's terminal, or is held
     * afterwards
     */
    taken?: Taken;
    /** of a task that is held for it */
    denied?: Denial;
    /** what can be done to it now: operations `task.ACTION` */
    actions: string[];
    /** its live run */
    run: LiveRun | null;
    /** of one that has ended or waits for review; null: not known, or no worktree */
    changes: Changes | null;
}

/** A question that a run asked. */
export interface Question {
    /** the task that asks */
    task: string;
    /** the attempt that asked */
    attempt: number;
    /** the agent of the task; null: a command */
    agent: string | null;
    /** the question */
    question: string;
    /** the allowed answers; empty: any text */
    choices: string[];
    /** the answer after the deadline */
    default: string | null;
    /** when it was asked */
    asked_at: number;
    /** when the default is used, or the task fails without one */
    deadline: number | null;
    /** `withdrawn`: the task went on without an answer */
    state: QuestionState;
    /** the answer */
    answer: string | null;
    /** who answered; `deadline`: the default was used; `link`: by a link */
    by: string | null;
    /** when it was answered */
    answered_at: number | null;
}

/** A candidate of a task with `best_of`. */
export interface Candidate {
    /** its id */
    id: string;
    /** its agent */
    agent: string | null;
    /** its state */
    state: State;
    /** why it is held */
    hold: Hold | null;
    /** number of its runs */
    attempt: number;
    /** tokens that its runs have used */
    tokens: number;
    /** cost of its runs; null: its agent does not report it */
    usd: number | null;
    /** its branch; null: it has not run */
    branch: string | null;
    /** number of changed files; null: not known yet */
    files: number | null;
    /** lines added */
    insertions: number | null;
    /** lines removed */
    deletions: number | null;
    /** `task.diff` can show what it changed */
    has_diff: boolean;
    /** it is the pick */
    picked: boolean;
    /** `passed`: it is done; `failed`: a check of its last run failed; null: neither. Not in `task.show` */
    checks?: string | null;
    /** the reason its last run failed. Not in `task.show` */
    message?: string | null;
}

/** The candidates of a task, side by side. */
export interface BestOf {
    /** the task */
    task: string;
    /** the task whose agent picks; null: a person picks */
    chooser: string | null;
    /** the pick */
    picked: string | null;
    /** who picked it; `checks`: it was the only candidate that is done */
    by: string | null;
    /** the reason for the pick */
    reason: string | null;
    /** when it was picked */
    picked_at: number | null;
    /** the reason the last pick could not be merged */
    refused: string | null;
    /** tokens that all candidates and the chooser have used */
    tokens: number;
    /** their cost, as far as it is known */
    usd: number;
    /** in the order in which they were added */
    candidates: Candidate[];
}

/** A budget with which it can continue: twice what it has, or has used, as parameters of `task.budget`. */
export interface RaisedBudget {
    /** for all its runs; null: this limit was not reached */
    tokens: number | null;
    /** the same in dollars */
    usd: number | null;
    /** of one run */
    run_tokens: number | null;
    /** the same in dollars */
    run_usd: number | null;
    /** for a project, or for all projects: the setting that `config.set` changes */
    setting: string | null;
    /** its new value */
    value: number | null;
}

/** An item that waits for a person. */
export interface Attention {
    /** identifies the item while it exists */
    key: string;
    /** why it needs a person */
    kind: AttentionKind;
    /** the kind in words for people */
    label: string;
    /** the account, agent, project or other subject, if it is not a task */
    name: string | null;
    /** the reason: for a failure its last error, for a review the final message */
    text: string | null;
    /** since when */
    since: number | null;
    /** number of tasks that wait for it; at most 1,000 are counted */
    blocks: number;
    /** its task */
    task: Task | null;
    /** its question */
    question: Question | null;
    /** for a task that waits for a pick: its candidates */
    best_of: BestOf | null;
    /** for a task that has used up its budget */
    raise: RaisedBudget | null;
}

/** A setting. */
export interface Setting {
    /** its name */
    key: string;
    /** its value in force */
    value: unknown | null;
    /** what `auto` stands for */
    resolved?: unknown;
    /** the origin of the value */
    origin: string | null;
}

/** An optional kernel feature. */
export interface Feature {
    /** its name */
    name: string;
    /** it is available */
    there: boolean;
    /** the fallback in use without it */
    instead: string | null;
    /** how to get it */
    fix: string | null;
}

/** A check. */
export interface Check {
    /** its name */
    name: string;
    /** nothing must be fixed */
    ok: boolean;
    /** `warning`: nothing must be fixed; `bad`: must be fixed */
    level: Level;
    /** the finding */
    text: string;
    /** the fix */
    fix: string | null;
}

/** The active daemon. */
export interface ActiveDaemon {
    /** host and process */
    who: string | null;
    /** where it can be reached */
    addresses: string[];
}

/** Something that happened. */
export interface Event {
    /** its number */
    seq: number;
    /** when */
    at: number;
    /** what */
    kind: string;
    /** to which task */
    task: string | null;
    /** to which run of it */
    attempt: number | null;
    /** more, by kind (docs/reference/events.md) */
    data: Record<string, unknown>;
}

/** Number of waiting tasks. */
export interface Queue {
    /** number of waiting tasks */
    depth: number;
    /** by kind */
    depths: Record<string, number>;
    /** `queue.soft`; null: no limit */
    soft: number | null;
    /** `queue.hard` */
    hard: number | null;
    /** true while more than `soft` tasks wait */
    warning: string | null;
}

/** Waiting tasks with the same first closed gate. */
export interface GateCount {
    /** the gate */
    gate: string;
    /** how many */
    count: number;
    /** up to three from the front of the queue */
    examples: string[];
    /** the reason for the first of these */
    why: string | null;
}

/** A running task. */
export interface RunningTask extends Task {
    /** the last line of its output; of an agent, of its transcript (`task.log`, `format=text`) */
    last_line: string | null;
}

/** A problem that needs a person. */
export interface Alert {
    /** its subject */
    key: string;
    /** the problem */
    text: string;
    /** since when */
    since: number | null;
    /** the task it is about */
    task: string | null;
}

/** A limit that has a cap or is used. */
export interface Limit {
    /** which */
    key: string;
    /** slots in use */
    used: number;
    /** slots; null: no limit */
    cap: number | null;
}

/** How much of an account is used. */
export interface QuotaWindow {
    /** which one */
    window: WindowName;
    /** how much of it is used, as an agent last reported; null: unknown */
    used_percent: number | null;
    /** how much of it is left to the owner of the account */
    reserve_percent: number;
    /** when it ends, and nothing of the next one is used; null: unknown */
    resets_at: number | null;
    /** no more than the reserve is left: nothing starts before it ends */
    reserved: boolean;
}

/** A provider account. */
export interface Limiter {
    /** its name */
    name: string;
    /**
     * `backoff`: the provider said wait; `probing`: one run goes first; `ramping`: slots come back step by step;
     * `reserved`: no more than the reserve is left of a window; `off_hours`: outside its opening hours; `closed`: a
     * person must act, then clear it
     */
    state: LimiterState;
    /** when the backoff or the reserved window ends, and its hours open */
    opens_at: number | null;
    /** its opening hours; null: none */
    hours: Hours | null;
    /** limits hit in a row */
    hits: number;
    /** when a run that used it last ended well */
    last_success: number | null;
    /** slots in use */
    used: number;
    /** slots; null: no limit */
    cap: number | null;
    /** windows in which its provider counts its use: those with a reserve, and those whose use is known */
    windows: QuotaWindow[];
    /** of one that was closed because a login or a bill was refused: whose */
    agent?: string | null;
    /** what it said */
    said?: string | null;
    /** what to do */
    fix?: string | null;
}

/** The opening hours of a project, an agent or an account. */
export interface NamedHours extends Hours {
    /** `project`, `agent` or `limiter` */
    scope: string;
    /** its name */
    name: string;
}

/** A budget, and what is used of it. */
export interface Budget {
    /** `global` or `project:NAME` */
    key: string;
    /** tokens used */
    used: number;
    /** tokens that live runs have reported so far; in `reserved`, not in `used` */
    live: number;
    /** tokens reserved for live runs */
    reserved: number;
    /** tokens; null: no budget */
    cap: number | null;
    /** dollars used */
    usd_used: number | null;
    /** dollars that live runs have reported so far; in `usd_reserved`, not in `usd_used` */
    usd_live: number | null;
    /** dollars reserved */
    usd_reserved: number | null;
    /** dollars; null: no budget */
    usd_cap: number | null;
    /** runs that reported no cost */
    unknown_cost_runs: number;
    /** the length of its window */
    window_ms: number;
    /** something is left */
    open: boolean;
    /** when something is left again, if it is known */
    opens_at: number | null;
}

/** A folder of a project's pool. */
export interface PoolPlace {
    /** the folder */
    path: string;
    /** the task that has it */
    task: string | null;
}

/** A project. */
export interface Project {
    /** its name */
    name: string;
    /** what the ids of its tasks begin with */
    prefix: string;
    /** its folder */
    path: string | null;
    /** its part of all tokens, compared with the others */
    weight: number;
    /** most runs at once; null: no limit */
    max_running: number | null;
    /** its budget of tokens */
    budget: number | null;
    /** nothing of it starts */
    paused: boolean;
    /** who paused it */
    paused_by: string | null;
    /** when */
    paused_at: number | null;
    /** `section_removed`: the configuration no longer names it */
    pause_reason: string | null;
    /** it takes part in shares */
    active: boolean;
    /** its opening hours; null: none */
    hours: Hours | null;
    /** its tasks are never slung */
    coordination: boolean;
    /** tokens used in the window */
    tokens: number;
    /** its budget of dollars */
    budget_usd: number | null;
    /** dollars used in the window */
    usd: number | null;
    /** runs in the window that reported no cost */
    unknown_cost_runs: number;
    /** its part of all tokens in the window, live runs included */
    share: number;
    /** what its weight gives it among the projects that are open */
    target: number;
    /** tasks that could start */
    ready: number;
    /** live runs */
    running: number;
    /** live runs of it that do not belong to this daemon */
    external: number;
    /** the setting of that name */
    workspace_mode: string;
    /** how the work of its tasks is brought in */
    merge: string | null;
    /** its tasks by state */
    counts: Record<string, number>;
    /** its pool */
    workspaces: PoolPlace[];
}

/** The machine of the daemon. */
export interface HostLoad {
    /** free space, in MB */
    disk_free_mb: number | null;
    /** free memory, in MB */
    memory_free_mb: number | null;
    /** load of the last minute */
    load: number | null;
}

/** The store. */
export interface Store {
    /** its size */
    bytes: number | null;
    /** of its log */
    log_bytes: number | null;
    /** new tasks are refused */
    full: boolean;
}

/** The TCP listener. */
export interface Listener {
    /** its address */
    url: string | null;
    /** why there is no listener */
    problem: string | null;
}

/** The sandbox of this machine. */
export interface Sandbox {
    /** what `auto` means */
    auto: string;
    /** why there is no sandbox */
    why: string | null;
}

/** A summary of the daemon and its queue. */
export interface Status {
    /** of the daemon */
    version: string;
    /** its process */
    pid: number;
    /** when it started */
    started_at: number;
    /** its clock; all times refer to it */
    now: number;
    /** its folder */
    home: string;
    /** the folder with the run folders */
    runs_folder: string;
    /** the name of this host in the rows of its runs */
    host_name: string;
    /** the time zone of the system; null: it has no name */
    timezone: string | null;
    /** the preset in force */
    preset: string;
    /** nothing starts */
    paused: boolean;
    /** the last 10 */
    events: Event[];
    /** who paused it */
    paused_by: string | null;
    /** when */
    paused_at: number | null;
    /** tasks by state */
    counts: Record<string, number>;
    /** tasks that could start */
    ready: number;
    /** tasks that wait for one that failed, was canceled or was invalidated */
    blocked_dependencies: number;
    /** unanswered questions of runs */
    questions: number;
    /** items that wait for a person (`attention.list`) */
    attention: number;
    /** the queue */
    queue: Queue;
    /** waiting tasks by the first closed gate */
    waiting_by_gate: GateCount[];
    /** not all are counted: there are more than 10,000 kinds of tasks (project, kind, agent, limiter, priority …) */
    partial: boolean;
    /** up to 50 */
    running: RunningTask[];
    /** pairs of agents that work in the same folder */
    warning: string | null;
    /** up to 50, oldest first */
    alerts: Alert[];
    /** tasks of live runs that do not belong to this daemon and hold slots */
    external: string[];
    /** limits */
    limits: Limit[];
    /** provider accounts */
    limiters: Limiter[];
    /** all opening hours; up to 1,000 */
    hours: NamedHours[];
    /** budgets */
    budgets: Budget[];
    /** projects */
    projects: Project[];
    /** the machine */
    host: HostLoad;
    /** the store */
    store: Store;
    /** the TCP listener */
    http: Listener;
    /** the sandbox */
    sandbox: Sandbox;
}

/** A start. */
export interface Start {
    /** the task */
    id: string;
    /** its project */
    project: string;
    /** its agent */
    agent: string | null;
    /** its position in the order */
    score: number;
    /** when it starts; later than now for tasks that wait for `pace.spawn_delay_s`, if nothing changes until then */
    at: number;
}

/** Tasks that are followed together. */
export interface Group {
    /** its name */
    name: string;
    /** it is not closed when all its tasks are final */
    owned: boolean;
    /** it is closed */
    closed: boolean;
    /** when it was opened */
    created_at: number | null;
    /** when it was closed */
    closed_at: number | null;
    /** its tasks */
    total: number;
    /** those that are not final */
    open: number;
    /** those that failed */
    failed: number;
}

/** A task of a group. */
export interface GroupTask {
    /** its id */
    id: string;
    /** its state */
    state: State;
}

/** A host that has runs. */
export interface Host {
    /** its name */
    name: string;
    /** that of this daemon */
    active: boolean;
    /** its daemon is the active one */
    reachable: boolean;
    /** live runs */
    runs: number;
    /** when another daemon took over */
    unreachable_since: number | null;
    /** when it was forgotten */
    forgotten_at: number | null;
    /** the user who removed it */
    forgotten_by: string | null;
}

/** A way of notification. */
export interface Way {
    /** its setting */
    way: string;
    /** the sample was delivered */
    ok: boolean;
    /** the result, for people */
    text: string;
}

/** The gate at which tasks wait for the longest part of a forecast. */
export interface Bottleneck {
    /** the gate */
    gate: string;
    /** the account, project or agent that it belongs to, where `gate` does not name it */
    name: string | null;
    /** the setting that would widen it; null: none does */
    setting: string | null;
    /** its slots; null: it is not counted in slots */
    cap: number | null;
    /** how long at least one task waits there */
    waits_ms: number;
    /** how many wait there at the same time, at most */
    tasks: number;
}

/** An expected run. */
export interface ForecastRun {
    /** its task */
    task: string;
    /** the title of its task */
    title: string | null;
    /** its project */
    project: string | null;
    /** its agent */
    agent: string | null;
    /** the state of its task */
    state: State;
    /** when it starts, or started */
    start: number;
    /** when it ends */
    end: number;
    /** it is live */
    live: boolean;
}

/** The tasks of a project in a forecast. */
export interface OutlookProject {
    /** the project */
    name: string;
    /** how many of its tasks will be finished */
    tasks: number;
    /** when the last of them is */
    finish_at: number;
}

/** What would come of the queue. */
export interface Outlook {
    /** when everything is finished */
    finish_at: number;
    /** how long that takes */
    makespan_ms: number;
    /** how many tasks will be finished */
    tasks: number;
    /** those that will not, because they wait for a person, a file or a task that failed */
    others: number;
    /** those that may be finished after the end of the forecast */
    later: number;
    /** everything is paused: it begins with a resume */
    paused: boolean;
    /** false: it was ended after 30 days or 2,000,000 steps, and more would follow */
    complete: boolean;
    /** where tasks wait longest; null: none waits for a limit */
    bottleneck: Bottleneck | null;
    /** by project */
    projects: OutlookProject[];
    /** times, and how many tasks are left then; at most 120 */
    points: [number, number][];
}

/** A message on a bus. */
export interface Message {
    /** its id */
    msg_id: string | null;
    /** when it was posted */
    at: number;
    /** such as `FACT` */
    type: string | null;
    /** the project */
    project: string | null;
    /** the task */
    task: string | null;
    /** the run that posted it */
    run: string | null;
    /** the issue it belongs to */
    issue: string | null;
    /** messages it answers */
    parents: unknown | null;
    /** what it points to */
    links: unknown | null;
    /** anything else */
    meta: unknown | null;
    /** its text */
    body: string;
}

/** Messages, oldest first. */
export interface MessagePage {
    /** this page */
    items: Message[];
    /** the cursor of the next page; null after the last */
    next: string | null;
    /** the cursor of what comes later; `m0` is that of the beginning */
    end: string;
}

/** A message that was posted. */
export interface Posted {
    /** its id */
    msg_id: string;
}

/** A question without an answer. */
export interface OpenQuestion extends Question {
    /** the title of the task */
    title: string | null;
}

/** Tokens, or dollars. */
export interface Amount {
    /** used so far; null: not known */
    used: number | null;
    /** reserved for live runs */
    reserved?: number;
    /** null: there is none */
    budget: number | null;
}

/** Tokens and dollars. */
export interface Spending {
    /** tokens */
    tokens: Amount;
    /** dollars */
    usd: Amount;
}

/** What a task has given to those below it. */
export interface Handed {
    /** tokens */
    tokens: number;
    /** dollars */
    usd: number | null;
}

/** A budget over time. */
export interface Window extends Spending {
    /** runs in the window that reported a cost */
    known_cost_runs: number;
    /** runs that did not */
    unknown_cost_runs: number;
    /** how long it is, in hours */
    window_h: number;
    /** something is left */
    open: boolean;
    /** when something is left again, if it is known */
    opens_at: number | null;
}

/** What a task has used, and what it may use. */
export interface TaskBudget {
    /** of its live run, else of its last */
    run: Spending;
    /** of all its runs */
    task: Spending;
    /** to tasks below it */
    handed: Handed;
    /** runs that reported no cost */
    unknown_cost_runs: number;
    /** what happens to a run that uses more */
    on_budget: OnBudget;
    /** of its project */
    project: Window;
    /** of everything */
    all: Window;
}

/** A run, as every list shows it. */
export interface AnyRun {
    /** its task */
    task: string;
    /** its number */
    attempt: number;
    /** the iteration of the task */
    iteration: number;
    /** what it is doing; null: it has ended */
    phase: Phase | null;
    /** who did it */
    agent: string | null;
    /** the agent of the task, if another one did it */
    instead_of: string | null;
    /** when its start was decided */
    ordered_at: number | null;
    /** when its command started */
    started_at: number | null;
    /** when it ended */
    ended_at: number | null;
    /** how it ended */
    outcome: Outcome | null;
    /** how that is known */
    how: string | null;
    /** of its command */
    exit_code: number | null;
    /** the signal that ended its command */
    signal: number | null;
    /** its final message */
    message: string | null;
    /** the model that the agent used */
    model: string | null;
    /** tokens read */
    tokens_in: number | null;
    /** tokens written */
    tokens_out: number | null;
    /** tokens read from a cache */
    tokens_cached: number | null;
    /** what it cost */
    cost_usd: number | null;
}

/** A run with what its task is called. */
export interface ListedRun extends AnyRun {
    /** the title of its task */
    title: string | null;
    /** its project */
    project: string | null;
    /** its kind */
    kind: string | null;
    /** the state of its task; null: it was deleted */
    state: State | null;
}

/** Due times that were skipped, one after the other. */
export interface ScheduleSkip {
    /** the first of them */
    first: number;
    /** the last of them */
    last: number;
    /** how many */
    count: number;
    /** `missed`, `too_old`, `overlap`, `paused` or `refused` */
    reason: string;
}

/** A schedule. */
export interface Schedule {
    /** its name */
    name: string;
    /** the cron expression */
    cron: string | null;
    /** the time between two due times */
    every: number | null;
    /** the only due time */
    at: string | null;
    /** its time zone; null: that of the system */
    timezone: string | null;
    /** the name of the time zone in use; null: that of the system has none */
    zone: string | null;
    /** the task that it adds, as JSON text */
    task: string | null;
    /** the task file that it adds */
    file: string | null;
    /** the formula whose steps it adds */
    formula: string | null;
    /** the directory into which it writes backups, instead of adding tasks */
    backup: string | null;
    /** how many backups are kept */
    keep: number;
    /** its last backup */
    last_backup: string | null;
    /** `skip`, `queue` or `replace` */
    overlap: string;
    /** `last`, `all` or `none` */
    catch_up: string;
    /** the age up to which missed due times are caught up; null: any */
    catch_up_max: number | null;
    /** the longest delay of a due time */
    jitter: number;
    /** whether it adds nothing */
    paused: boolean;
    /** its next due time; null: none */
    next_due: number | null;
    /** when that fires, with its jitter; null: never, or paused */
    next_at: number | null;
    /** the due time of the last firing */
    last_due: number | null;
    /** the first task of the last firing */
    last_task: string | null;
    /** how many tasks the last firing added */
    last_count: number;
    /** whether one of these tasks is not finished */
    open: boolean;
    /** how often it has fired */
    fired: number;
    /** how many due times were skipped */
    skipped: number;
    /** why its last task was refused, or its last backup failed; null: it was not */
    error: string | null;
    /** values for the variables of the formula */
    vars: string[];
    /** the last records of skipped due times, newest first */
    skips: ScheduleSkip[];
    /** what can be done to it now: operations `schedule.ACTION` */
    actions: string[];
    /** with `dry_run`: its next due times, without jitter; at most 10 */
    due?: number[];
}

/** A task that was to be added. */
export interface AddedTask {
    /** its id; null: it was not added */
    id: string | null;
    /** `queued`, `started`, `held` …, `already`, `deferred`; with `dry_run` `new` */
    result: string;
    /** it was there before */
    already: boolean;
    /** how many start before it, and it */
    queue_position: number | null;
    /** its state; null: it is not there */
    state: State | null;
    /** its `name` in the request */
    name?: string;
}

/** A task that was to be changed. */
export interface ChangedTask {
    /** its id */
    id: string;
    /** its state now; null: it was deleted */
    state: State | null;
    /** it was so before: nothing has changed */
    already: boolean;
    /** what can be done to it now */
    actions: string[];
    /** `no_effect`: what was asked for was stored and changes nothing */
    result?: string;
    /** what it waits for, if it will take long */
    note?: string;
}

/** The tasks that were to be changed. */
export interface Changed {
    /** in the order of the request */
    tasks: ChangedTask[];
    /** why it has no effect */
    warning?: string;
}

/** A file that differs. */
export interface DiffFile {
    /** its path */
    path: string;
    /** what it was called before */
    old_path: string | null;
    /** lines added */
    added: number;
    /** lines removed */
    removed: number;
    /** it is not text */
    binary: boolean;
}

/** A task in a graph. */
export interface GraphNode {
    /** its id */
    id: string;
    /** its title */
    title: string | null;
    /** its project */
    project: string;
    /** its kind */
    kind: string | null;
    /** its agent */
    agent: string | null;
    /** its group */
    group: string | null;
    /** its state */
    state: State;
    /** why it is held */
    hold: Hold | null;
    /** the first gate that stops it */
    gate: string | null;
    /** the task that it is below */
    parent: string | null;
    /** when its run started */
    started_at: number | null;
    /** when it would start if runs take as long as usual */
    forecast: number | null;
    /** what is expected to be left of it */
    left_ms: number;
    /** how many steps stand before it */
    level: number;
    /** it is on the chain that takes longest, by `left_ms`, or by its length when all are final */
    critical: boolean;
}

/** An edge in a graph. */
export interface GraphEdge {
    /** what comes first; of a `parent` the parent */
    from: string;
    /** what comes after it */
    to: string;
    /** what it is */
    type: EdgeType;
    /** it is on that chain */
    critical: boolean;
}

/** A task that was to be merged. */
export interface MergedTask {
    /** its id */
    id: string;
    /**
     * `merged`; `already`: the base branch had it; `empty`: it has changed nothing; `mergeable` (`dry_run`);
     * `conflict`; `failed`
     */
    result: string;
    /** its branch */
    branch: string | null;
    /** the base branch */
    into: string | null;
    /** the new commit */
    commit: string | null;
    /** for people; of a conflict, the files */
    message: string | null;
}

/** A run of a task. */
export interface Run extends AnyRun {
    /** where it ran */
    executor: string | null;
    /** what it was confined by */
    sandbox: string | null;
    /** the host it ran on */
    host: string | null;
    /** its folder */
    folder: string | null;
    /** what its agent reported */
    said: string | null;
    /** the session of its agent */
    session: string | null;
    /** it continued the session of the run before */
    resumed: boolean;
    /** which limits and which sandbox it really had */
    applied: unknown | null;
}

/** What limits further attempts. */
export interface Counters {
    /** failed attempts */
    failures: number;
    /** attempts that could not be launched */
    launch_failures: number;
    /** runs that were lost */
    losses: number;
    /** iterations of its loop */
    restarts: number;
}

/** Where a task works. */
export interface Workspace {
    /** the folder */
    path: string;
    /** its branch */
    branch: string | null;
    /** the branch that it came from */
    base: string | null;
    /** how its work is brought in */
    merge: string | null;
    /** what follows a conflict: `fail` or `iterate` */
    on_conflict: string | null;
    /** the commit of `base` that its work conflicts with, until that is repaired */
    conflict: string | null;
}

/** A message that continues a finished task. */
export interface FollowUp {
    /** the message */
    message: string;
    /** who wrote it */
    by: string | null;
    /** when */
    at: number;
    /** an attempt has got it and has ended */
    used: boolean;
    /** the attempt that has got it; null: none yet */
    attempt: number | null;
}

/** What became of the work of a task. */
export interface Delivery {
    /** how it was to be brought in */
    strategy: string | null;
    /** what came of it */
    result: string | null;
    /** the same for people */
    message: string | null;
    /** its branch */
    branch: string | null;
    /** the branch that it came from */
    base: string | null;
    /** the last commit */
    commit: string | null;
    /** the base branch has it */
    merged: boolean;
    /** what was removed after that */
    removed: string | null;
    /** when */
    at: number | null;
}

/** One of the last 10 iterations of a task. */
export interface Iteration {
    /** its number */
    iteration: number;
    /** its folder */
    folder: string;
    /** it began with feedback */
    feedback: boolean;
    /** the files in it */
    artifacts: string[];
}

/** Everything about a task. */
export interface TaskFull extends Task {
    /** what was submitted */
    spec: Record<string, unknown>;
    /** what was given when it was slung */
    context: Record<string, unknown> | null;
    /** what it depends on */
    depends_on: string[];
    /** its counters */
    counters: Counters;
    /** where it runs: `local` or `slurm` */
    executor: string;
    /** in Slurm, its partition; null: the default one */
    partition: string | null;
    /** where it works; null: not known yet */
    works_in: Workspace | null;
    /** `task.diff` can tell what it changed */
    has_diff: boolean;
    /** its last question; null: it has none, or is final */
    question: Question | null;
    /** the last message that continued it (`task.again`) */
    follow_up: FollowUp | null;
    /** its candidates (`task.candidates`); null: it has none */
    best_of: BestOf | null;
    /** the task that it is a candidate or the chooser of */
    candidate_of: string | null;
    /** `task.edit` can change it now */
    editable: boolean;
    /** `task.again` can continue it with a message */
    continuable: boolean;
    /** rises with every edit and every attempt; for `task.edit` */
    version: number;
    /** null: it has no worktree, or no run of it has succeeded */
    delivery: Delivery | null;
    /** what it has used of which budget */
    budget: TaskBudget;
    /** its last 10 runs, newest first */
    runs: Run[];
    /** its last 10 iterations */
    iterations: Iteration[];
}

/** A task that was to be slung. */
export interface SlungTask {
    /** its id; of a step that would be added, its external id */
    id: string | null;
    /** its state */
    state: State;
    /** it was scheduled before */
    already: boolean;
    /** `slung`, `already`, `skipped` or `deferred` */
    result: string;
    /** the group that follows it */
    group: string | null;
    /** its id before it moved to another project */
    moved_from?: string;
    /** of one that is skipped or deferred */
    why?: string;
}

/** The end of a run. */
export interface LastRun {
    /** how */
    outcome: Outcome;
    /** of its command */
    exit_code: number | null;
    /** the signal that ended its command */
    signal: number | null;
    /** its final message */
    message: string | null;
}

/** A task that was waited for. */
export interface WaitedTask {
    /** its id */
    id: string;
    /** its state, or `deleted` */
    state: string;
    /** why it is in this state */
    reason: string | null;
    /** it is final */
    finished: boolean;
    /** it is held without a time, a draft, or behind a closed account */
    needs_person: boolean;
    /** what a person is needed for */
    why: string | null;
    /** how the last run that ended has ended */
    run: LastRun | null;
}

/** A condition for the start of a task. */
export interface Gate {
    /** its code */
    gate: string;
    /** it does not stop the task */
    open: boolean;
    /** why it is closed; behind a breaker with the error of the last launch */
    reason: string | null;
    /** when it opens, if it is known */
    opens_at: number | null;
    /** of the gate `limiter`: the account */
    limiter: string | null;
    /** when it was paused */
    since: number | null;
}

/** An agent that a task may use. */
export interface AgentChoice {
    /** its name */
    name: string;
    /** its account */
    limiter: string | null;
    /** `reserved`: only the reserve of its account is left; `closed`: until its account is cleared */
    state: AgentState;
    /** when it opens, if it is known */
    opens_at: number | null;
}

/** When a task should start. */
export interface Forecast {
    /** when */
    starts_at: number | null;
    /** how many start before it */
    ahead: number | null;
    /** goes on with "it should start …" */
    text: string;
}

/** A token for clients that come over TCP. */
export interface Token {
    /** its id */
    id: string;
    /** its name */
    name: string;
    /** what it may do */
    scope: Scope;
    /** it belongs to a page that is signed in */
    session: boolean;
    /** when it was made */
    created_at: number | null;
    /** when it ends; null: never */
    expires_at: number | null;
    /** when it was last used */
    used_at: number | null;
}

/** What ended runs have used. */
export interface UsageTotal {
    /** runs */
    runs: number;
    /** those that succeeded */
    ok: number;
    /** how long they took together */
    busy_ms: number;
    /** tokens read */
    tokens_in: number;
    /** tokens written */
    tokens_out: number;
    /** tokens read from a cache */
    tokens_cached: number;
    /** runs that reported none */
    unknown_tokens: number;
    /** what was reported; null: no run has reported any */
    cost_usd: number | null;
    /** runs that reported none */
    unknown_cost: number;
}

/** What runs that ended in a span have used. */
export interface UsageSum extends UsageTotal {
    /** when the span began */
    at: number;
    /** the project or agent; null: none */
    name: string | null;
}

/** What live runs have used so far; in no other sum. */
export interface UsageLive {
    /** live runs */
    runs: number;
    /** tokens read so far */
    tokens_in: number;
    /** tokens written so far */
    tokens_out: number;
    /** tokens read from a cache so far */
    tokens_cached: number;
    /** runs that have reported none yet */
    unknown_tokens: number;
    /** what they have cost so far; null: no run has reported any */
    cost_usd: number | null;
    /** runs that have reported none yet */
    unknown_cost: number;
}

/** What a project or agent has used in all spans. */
export interface UsageName extends UsageTotal {
    /** the project or agent; null: none */
    name: string | null;
    /** its live runs */
    live: UsageLive;
}

/** The part of a project. */
export interface UsageTarget {
    /** the project */
    name: string;
    /** its weight of today */
    weight: number;
    /** its part */
    target: number;
}

/** What a task has used. */
export interface UsageTask {
    /** the task */
    task: string;
    /** its title */
    title: string | null;
    /** its project; null: it was deleted */
    project: string | null;
    /** its state; null: it was deleted */
    state: State | null;
    /** ended runs */
    runs: number;
    /** those that succeeded */
    ok: number;
    /** how long they took together */
    busy_ms: number;
    /** tokens read */
    tokens_in: number;
    /** tokens written */
    tokens_out: number;
    /** tokens read from a cache */
    tokens_cached: number;
    /** what ended runs have cost; null: no run has reported any */
    cost_usd: number | null;
    /** ended runs that reported none */
    unknown_cost: number;
    /** it has a live run */
    live: boolean;
    /** what its live run has cost so far; null: not reported, or none */
    live_usd: number | null;
}

/** What went wrong. */
export interface Problem {
    /** a word for programs */
    code: string;
    /** a sentence for people */
    message: string;
    /** which entry of a list it is about, from 0 */
    index?: number;
}

export interface AgentClearAnswer {
    /** the agent */
    name: string;
    /** `open` */
    state: string;
    /** it was so before: nothing has changed */
    already: boolean;
}

export interface AgentListAnswer {
    /** this page */
    items: Agent[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface AttentionDismissAnswer {
    /** number of tasks that changed */
    changed: number;
    /** whether they are dismissed now */
    dismissed: boolean;
}

export interface AttentionListAnswer {
    /** total number of items */
    total: number;
    /** number of items by kind */
    counts: Record<string, number>;
    /** the most urgent items */
    items: Attention[];
}

export interface ConfigGetAnswer {
    /** its name */
    key: string;
    /** its value in force */
    value: unknown | null;
    /** the origin of the value */
    origin: string | null;
    /** what it does */
    text: string;
    /** the values it accepts */
    expected: string | null;
    /** its default */
    default: unknown | null;
}

export interface ConfigListAnswer {
    /** the preset in force */
    preset: string;
    /** the configuration file */
    file: string | null;
    /** the settings */
    items: Setting[];
}

export interface ConfigReloadAnswer {
    /** the file that was read */
    file: string;
    /** the preset in force */
    preset: string;
}

export interface ConfigSetAnswer {
    /** the settings whose value has changed */
    changed: string[];
}

export interface DaemonBackupAnswer {
    /** the copy */
    path: string;
    /** its size */
    bytes: number;
    /** how long it took */
    took_ms: number;
}

export interface DaemonDoctorAnswer {
    /** kernel features */
    features: Feature[];
    /** checks */
    checks: Check[];
}

export interface DaemonHealthAnswer {
    /** `active` or `standby` */
    role?: string;
    /** its version */
    version?: string;
    /** its process */
    pid?: number;
    /** uptime in seconds */
    uptime_s?: number;
    /** dispatch is paused */
    paused?: boolean;
    /** the type of its store */
    store?: string;
    /** it is healthy */
    ok: boolean;
    /** missing kernel features; see `GET /v1/doctor` */
    degraded?: string[];
}

export interface DaemonPauseAnswer {
    /** dispatch is paused */
    paused: boolean;
    /** it was so before: nothing has changed */
    already: boolean;
    /** who paused it */
    paused_by: string | null;
    /** when */
    paused_at: number | null;
}

export interface DaemonResumeAnswer {
    /** dispatch is paused */
    paused: boolean;
    /** it was so before: nothing has changed */
    already: boolean;
}

export interface DaemonShowAnswer {
    /** it is healthy */
    ok: boolean;
    /** `active` or `standby` */
    role: string;
    /** its version */
    version: string;
    /** its process */
    pid: number;
    /** its host */
    host: string;
    /** when it took this role */
    since: number;
    /** for the active one: it becomes a standby again if it loses the store */
    standby?: boolean;
    /** for the active one: its addresses */
    addresses?: string[];
    /** for a standby: the active one */
    active?: ActiveDaemon;
    /** for a standby: why it cannot use the store */
    problem?: string | null;
}

export interface DaemonStopAnswer {
    /** it is stopping */
    ok: boolean;
}

export interface DaemonTickAnswer {
    /** what starts in this tick */
    start: Start[];
}

export interface EventListAnswer {
    /** this page */
    items: Event[];
    /** the cursor of the next page; null after the last */
    next: string | null;
    /** the oldest event that is kept */
    first_seq: number;
    /** the newest */
    last_seq: number;
    /** of a run: how many events were looked at */
    looked?: number;
    /** of a run: the last of those */
    to?: number;
}

export interface GroupAddAnswer {
    /** its name */
    name: string;
    /** it was so before: nothing has changed */
    already: boolean;
}

export interface GroupCloseAnswer {
    /** its name */
    name: string;
    /** it is closed */
    closed: boolean;
    /** it was so before: nothing has changed */
    already: boolean;
}

export interface GroupListAnswer {
    /** this page */
    items: Group[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface GroupShowAnswer extends Group {
    /** up to 1,000 of its tasks, newest first */
    tasks: GroupTask[];
}

export interface HostForgetAnswer {
    /** the host */
    name: string;
    /** how many runs it had */
    runs: number;
    /** it was said before, and there were none */
    already: boolean;
}

export interface HostListAnswer {
    /** this page */
    items: Host[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface LimiterClearAnswer {
    /** the account */
    name: string;
    /** `open` */
    state: string;
    /** it was so before: nothing has changed */
    already: boolean;
}

export interface LimiterListAnswer {
    /** this page */
    items: Limiter[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface NotifyTestAnswer {
    /** the configured channels */
    ways: Way[];
}

export interface PlanForecastAnswer {
    /** when it was made */
    at: number;
    /** false: the queue is too large for a forecast, and the rest is empty */
    available: boolean;
    /** everything is paused: it begins with a resume */
    paused: boolean;
    /** when everything is finished */
    finish_at: number;
    /** how many tasks will be finished */
    tasks: number;
    /** those that will not, because they wait for a person, a file or a task that failed */
    others: number;
    /** those that may be finished after the end of the forecast */
    later: number;
    /** false: it was ended after 30 days or 2,000,000 steps, and more would follow */
    complete: boolean;
    /** where tasks wait longest; null: none waits for a limit */
    bottleneck: Bottleneck | null;
    /** this page */
    items: ForecastRun[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface PlanWhatifAnswer {
    /** when it was played */
    at: number;
    /** with the settings in force */
    now: Outlook;
    /** with those of `set` */
    then: Outlook;
}

export interface ProjectDeleteAnswer {
    /** the project */
    name: string;
    /** how many of its tasks were canceled */
    canceled: number;
}

export interface ProjectListAnswer {
    /** this page */
    items: Project[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface QuestionListAnswer {
    /** this page */
    items: OpenQuestion[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface RunCorrectAnswer {
    /** the task */
    id: string;
    /** the run */
    attempt: number;
    /** what the task has used now */
    budget: TaskBudget;
}

export interface RunListAnswer {
    /** this page */
    items: ListedRun[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface RunReportAnswer {
    /** it was taken */
    ok: boolean;
    /** why numbers were not booked */
    refused?: string;
}

export interface ScheduleListAnswer {
    /** this page */
    items: Schedule[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface ScheduleNextAnswer {
    /** the schedule */
    name: string;
    /** whether it adds nothing */
    paused: boolean;
    /** its next due times, without jitter */
    due: number[];
}

export interface ScheduleRemoveAnswer {
    /** the schedule */
    name: string;
}

export interface ScheduleRunAnswer {
    /** the schedule */
    name: string;
    /** the tasks that were added */
    tasks: string[];
}

export interface SessionCodeAnswer {
    /** opens the dashboard */
    link: string;
    /** where the daemon listens */
    url: string | null;
    /** the code in the link */
    code: string;
    /** what the page may do */
    scope: Scope;
    /** until when it is good */
    expires_at: number;
    /** the daemon began to listen for it */
    opened: boolean;
    /** the path of the requested file, which has mode 0600 and is removed when the code is used or expires */
    file: string | null;
}

export interface SessionOpenAnswer {
    /** for `Authorization: Bearer`; null if the session has a key */
    token: string | null;
    /** its id */
    id: string;
    /** this start of the daemon, for signatures */
    boot: string;
    /** what it may do */
    scope: Scope;
    /** until when it is good */
    expires_at: number;
}

export interface TaskAddAnswer {
    /** in the order of the request */
    tasks: AddedTask[];
    /** at least one was there already, and `tasks.duplicates` is `refuse` */
    refused?: boolean;
    /** the group they belong to */
    group: string | null;
    /** how many had no room */
    deferred?: number;
    /** what a person should know */
    warning: string | null;
    /** with a warning: how many tasks wait, by kind */
    depths?: Record<string, number>;
}

export interface TaskAskAnswer {
    /** the task */
    id: string;
    /** the question */
    question: string;
    /** whether it is answered */
    state: QuestionState;
    /** the answer, for this run; null: none yet */
    answer: string | null;
    /** who answered */
    by: string | null;
    /** the answer, or what the agent should do now */
    text: string;
}

export interface TaskBudgetAnswer {
    /** the task */
    id: string;
    /** its state */
    state: State;
    /** why it is held */
    hold: Hold | null;
    /** its budget now */
    budget: TaskBudget;
}

export interface TaskDiffAnswer {
    /** the one that was asked for; null: all of the task */
    iteration: number | null;
    /** what it is compared with */
    branch: string | null;
    /** the commit or tree before */
    base: string;
    /** that after; null: the worktree now */
    head: string | null;
    /** at most 1,000 */
    files: DiffFile[];
    /** a unified diff, at most 1 MiB */
    patch: string | null;
    /** there is more */
    truncated: boolean;
}

export interface TaskEditAnswer {
    /** the task */
    id: string;
    /** its state */
    state: State;
    /** its version now */
    version: number;
    /** nothing had to be changed */
    already: boolean;
}

export interface TaskEventsAnswer {
    /** this page */
    items: Event[];
    /** the cursor of the next page; null after the last */
    next: string | null;
    /** of a run: how many events were looked at */
    looked?: number;
    /** of a run: the last of those */
    to?: number;
}

export interface TaskGraphAnswer {
    /** tasks, by number */
    nodes: GraphNode[];
    /** what comes first, and what after it */
    edges: GraphEdge[];
    /** how long that chain is */
    critical_ms: number;
    /** there are more tasks, or more than five edges for each node that was asked for */
    truncated: boolean;
}

export interface TaskListAnswer {
    /** this page */
    items: Task[];
    /** the cursor of the next page; null after the last */
    next: string | null;
    /** tasks of live runs that do not belong to this daemon; at most 50 */
    external?: string[];
}

export interface TaskMergeAnswer {
    /** in the order of the request */
    tasks: MergedTask[];
}

export interface TaskRunsAnswer {
    /** this page */
    items: Run[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface TaskSelectAnswer {
    /** the tasks */
    ids: string[];
    /** what can be done to each of them */
    actions: string[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface TaskSlingAnswer {
    /** those that were named, and their steps */
    tasks: SlungTask[];
    /** the group that was made or named */
    group: string | null;
    /** nothing was changed */
    dry_run: boolean;
    /** how many had no room */
    deferred?: number;
    /** what a person should know */
    warning: string | null;
    /** with a warning: how many tasks wait, by kind */
    depths?: Record<string, number>;
}

export interface TaskTakeAnswer {
    /** the task */
    id: string;
    /** its state */
    state: State;
    /** how many runs it has had */
    attempt: number;
    /** it has a command of its own: a shell opens */
    command: boolean;
}

export interface TaskWaitAnswer {
    /** in the order of the request */
    tasks: WaitedTask[];
    /** the time was over first */
    timed_out: boolean;
    /** how long it took */
    waited_ms: number;
}

export interface TaskWhyAnswer {
    /** the task */
    id: string;
    /** its state */
    state: State;
    /** the first gate that is closed */
    first: string | null;
    /** what that means, and how its last run ended unless that was a success */
    summary: string;
    /** every condition, in the order in which they are checked; none for a task that runs or is final */
    gates: Gate[];
    /** its agent and those it may fail over to, in order; empty for a task that has no choice */
    agents: AgentChoice[];
    /** how many of its runs in a row have ended in less than `runaway.quick_s` */
    quick_ends: number;
    /** how many start before it, and it */
    queue_position: number | null;
    /** when it should start */
    forecast: Forecast | null;
}

export interface TokenAddAnswer extends Token {
    /** the token itself, shown here and never again */
    token: string;
}

export interface TokenListAnswer {
    /** this page */
    items: Token[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

export interface TokenRevokeAnswer {
    /** its id */
    id: string;
    /** its name */
    name: string;
}

export interface UsageListAnswer {
    /** `day` or `hour` */
    by: string;
    /** `project` or `agent` */
    group: string;
    /** the first span */
    since: number;
    /** spans that began before */
    until: number;
    /** the time zone of the days */
    timezone: string;
    /** days before this time are of UTC: hours are no longer known; null: none */
    utc_before: number | null;
    /** this page */
    items: UsageSum[];
    /** the cursor of the next page; null after the last */
    next: string | null;
    /** all spans, also those of other pages */
    totals: UsageTotal;
    /** what live runs have used so far; in no other sum */
    live: UsageLive;
    /** the same for each project or agent, the most expensive first; up to 1,000 */
    names: UsageName[];
    /** by project: what each active one should get of all tokens */
    targets?: UsageTarget[];
}

export interface UsageTasksAnswer {
    /** tasks */
    items: UsageTask[];
    /** how many tasks have used something */
    tasks: number;
    /** what the ended runs of all of them have cost; null: no run has reported any */
    cost_usd: number | null;
    /** what live runs have cost so far, in no other sum; null: none has reported any */
    live_usd: number | null;
    /** true: there are more than 100,000 runs, and only the latest are counted */
    partial: boolean;
}

/** The operations `agent.…`. */
export class AgentGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Open an agent that was closed after launch failures. Its tasks may start immediately, and its count of launch
     * failures is reset. For a closed account (login, billing, limit), see `limiter.clear`.
     */
    clear(name: string, options: CallOptions = {}): Promise<AgentClearAnswer> {
        return this.caller.json<AgentClearAnswer>({ method: 'POST', path: `/v1/agents/${part(name)}/clear`, keyed: true }, options);
    }

    /**
     * List the agents. Agents that are configured or that a task names come first, then those that need no
     * configuration.
     */
    list(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<AgentListAnswer> {
        return this.caller.json<AgentListAnswer>({ method: 'GET', path: '/v1/agents', query: params }, options);
    }

    /** Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *listAll(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Agent, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.list({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }
}

/** The operations `attention.…`. */
export class AttentionGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Dismiss failures. They stay failed, but are no longer listed as waiting for a person until they have run and
     * failed again. All are dismissed, or none.
     */
    dismiss(params: {
        /** task ids, or external ids */
        tasks: string[];
        /** false: list them again; default true */
        dismissed?: boolean;
    }, options: CallOptions = {}): Promise<AttentionDismissAnswer> {
        return this.caller.json<AttentionDismissAnswer>({ method: 'POST', path: '/v1/attention/dismiss', body: params, keyed: true }, options);
    }

    /**
     * List everything that waits for a person. Most urgent first: what stops everything, then accounts, agents and
     * budgets, questions, denied permissions, failures that block other tasks, picks, reviews, tasks without budget,
     * tasks that could not be launched, tasks to close, other failures (newest first), other alerts. Held tasks that
     * continue automatically are not included, nor are those that a person holds or has taken over.
     */
    list(params: {
        /** maximum number of items; default 50 */
        limit?: number;
    } = {}, options: CallOptions = {}): Promise<AttentionListAnswer> {
        return this.caller.json<AttentionListAnswer>({ method: 'GET', path: '/v1/attention', query: params }, options);
    }
}

/** The operations `config.…`. */
export class ConfigGroup {
    constructor(private readonly caller: Caller) {}

    /** Show one setting. */
    get(key: string, options: CallOptions = {}): Promise<ConfigGetAnswer> {
        return this.caller.json<ConfigGetAnswer>({ method: 'GET', path: `/v1/config/${part(key)}` }, options);
    }

    /** Show the settings in force and their origin. */
    list(params: {
        /** all settings, not only those that were set */
        all?: boolean;
    } = {}, options: CallOptions = {}): Promise<ConfigListAnswer> {
        return this.caller.json<ConfigListAnswer>({ method: 'GET', path: '/v1/config', query: params }, options);
    }

    /** Reload the configuration file. */
    reload(options: CallOptions = {}): Promise<ConfigReloadAnswer> {
        return this.caller.json<ConfigReloadAnswer>({ method: 'POST', path: '/v1/config/reload', keyed: true }, options);
    }

    /**
     * Change settings in the file and in the running daemon. All settings are changed, or none; comments and order
     * of the file are kept. Raising a cap starts tasks immediately; lowering one stops nothing.
     */
    set(params: {
        /** settings and their new values */
        set?: Record<string, unknown>;
        /** settings to reset to their default */
        unset?: string[];
    } = {}, options: CallOptions = {}): Promise<ConfigSetAnswer> {
        return this.caller.json<ConfigSetAnswer>({ method: 'POST', path: '/v1/config', body: params, keyed: true }, options);
    }
}

/** The operations `daemon.…`. */
export class DaemonGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Write a backup of the store to a file. The backup is verified and on disk when the response arrives; the
     * daemon keeps serving other requests until then. `sluice restore` restores it. Only one backup runs at a time;
     * another request is refused.
     */
    backup(params: {
        /** the path of the backup, on the daemon's machine */
        path: string;
    }, options: CallOptions = {}): Promise<DaemonBackupAnswer> {
        return this.caller.json<DaemonBackupAnswer>({ method: 'POST', path: '/v1/backup', body: params }, options);
    }

    /** Check the machine and the daemon. Where Slurm is used, it is checked, too. */
    doctor(options: CallOptions = {}): Promise<DaemonDoctorAnswer> {
        return this.caller.json<DaemonDoctorAnswer>({ method: 'GET', path: '/v1/doctor' }, options);
    }

    /**
     * Report whether the daemon is healthy. Status 503 when it is not. Over TCP without a token the response has
     * only `ok`.
     */
    health(options: CallOptions = {}): Promise<DaemonHealthAnswer> {
        return this.caller.json<DaemonHealthAnswer>({ method: 'GET', path: '/healthz' }, options);
    }

    /** Show metrics for Prometheus. Text format, version 0.0.4. Names begin with `sluice_`; no label is an id. */
    metrics(options: CallOptions = {}): Promise<string> {
        return this.caller.text({ method: 'GET', path: '/metrics' }, options);
    }

    /**
     * Pause dispatch. Nothing starts until it is resumed; running tasks continue. The pause survives a restart of
     * the daemon and records who requested it: the run in the header `X-Sluice-Run`, else the user at the other end
     * of the socket.
     */
    pause(params: {
        /** only this project; default: all projects */
        project?: string;
    } = {}, options: CallOptions = {}): Promise<DaemonPauseAnswer> {
        return this.caller.json<DaemonPauseAnswer>({ method: 'POST', path: '/v1/pause', body: params, keyed: true }, options);
    }

    /** Resume dispatch. */
    resume(params: {
        /** only this project; default: all projects */
        project?: string;
    } = {}, options: CallOptions = {}): Promise<DaemonResumeAnswer> {
        return this.caller.json<DaemonResumeAnswer>({ method: 'POST', path: '/v1/resume', body: params, keyed: true }, options);
    }

    /**
     * Show which daemon answers, and whether it is the active one. Of several daemons that share a store, one is
     * active. A standby answers this request, too, and every other request with 503, the code `standby` and the
     * addresses of the active one as `active`. See [high-availability.md](../guide/high-availability.md).
     */
    show(options: CallOptions = {}): Promise<DaemonShowAnswer> {
        return this.caller.json<DaemonShowAnswer>({ method: 'GET', path: '/v1/daemon' }, options);
    }

    /** Show a summary of the daemon and its queue. */
    status(options: CallOptions = {}): Promise<Status> {
        return this.caller.json<Status>({ method: 'GET', path: '/v1/status' }, options);
    }

    /** Stop the daemon. Runs continue without it, and the next daemon adopts them. */
    stop(options: CallOptions = {}): Promise<DaemonStopAnswer> {
        return this.caller.json<DaemonStopAnswer>({ method: 'POST', path: '/v1/shutdown' }, options);
    }

    /** Run a scheduling decision now, regardless of the pace. A tick in which nothing can start has no effect. */
    tick(params: {
        /** only report what would start */
        dry_run?: boolean;
    } = {}, options: CallOptions = {}): Promise<DaemonTickAnswer> {
        return this.caller.json<DaemonTickAnswer>({ method: 'POST', path: '/v1/tick', body: params, keyed: true }, options);
    }
}

/** The operations `event.…`. */
export class EventGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * List or follow what happens. A page, always oldest first: the newest one when neither `after` nor `before` is
     * given. With `Accept: text/event-stream` it is a stream that goes on: `id` is the number, `event` the kind,
     * `data` the object. `Last-Event-ID` or `after` resumes it; when that is too old there is one `event: reset`,
     * and the client reads the state again.
     */
    list(params: {
        /** events with a higher number, oldest first */
        after?: number;
        /** the last ones with a lower number */
        before?: number;
        /** only about this task */
        task?: string;
        /** most items in the answer; 50 when not given */
        limit?: number;
    } = {}, options: CallOptions = {}): Promise<EventListAnswer> {
        return this.caller.json<EventListAnswer>({ method: 'GET', path: '/v1/events', query: params }, options);
    }
}

/** The operations `group.…`. */
export class GroupGroup {
    constructor(private readonly caller: Caller) {}

    /** Open a group. */
    add(params: {
        /** its name; made up when not given */
        name?: string;
        /** closed only manually, not when all its tasks are final */
        owned?: boolean;
    } = {}, options: CallOptions = {}): Promise<GroupAddAnswer> {
        return this.caller.json<GroupAddAnswer>({ method: 'POST', path: '/v1/groups', body: params, keyed: true }, options);
    }

    /** Close a group. Its tasks are left alone. */
    close(name: string, options: CallOptions = {}): Promise<GroupCloseAnswer> {
        return this.caller.json<GroupCloseAnswer>({ method: 'POST', path: `/v1/groups/${part(name)}/close`, keyed: true }, options);
    }

    /** List the groups. */
    list(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<GroupListAnswer> {
        return this.caller.json<GroupListAnswer>({ method: 'GET', path: '/v1/groups', query: params }, options);
    }

    /** Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *listAll(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Group, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.list({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /** Show a group and its tasks. `GET /v1/tasks?group=` lists all of its tasks. */
    show(name: string, options: CallOptions = {}): Promise<GroupShowAnswer> {
        return this.caller.json<GroupShowAnswer>({ method: 'GET', path: `/v1/groups/${part(name)}` }, options);
    }
}

/** The operations `host.…`. */
export class HostGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Say that a host is gone for good: its runs are lost. Their tasks go on as after any lost run (`lost`,
     * `retry.lost`), and their slots are free. The host of this daemon is refused. If the host comes back all the
     * same and its daemon is the active one, what still lives there of these runs is killed. The event is
     * `host.forgotten`, with who did it.
     */
    forget(name: string, options: CallOptions = {}): Promise<HostForgetAnswer> {
        return this.caller.json<HostForgetAnswer>({ method: 'POST', path: `/v1/hosts/${part(name)}/forget`, keyed: true }, options);
    }

    /**
     * List the hosts that have runs. That of this daemon first. The others are those whose daemon is not the active
     * one: while runs live there, they keep their slots and are not started a second time. One that was forgotten is
     * shown until its own daemon is active again.
     */
    list(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<HostListAnswer> {
        return this.caller.json<HostListAnswer>({ method: 'GET', path: '/v1/hosts', query: params }, options);
    }

    /** Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *listAll(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Host, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.list({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }
}

/** The operations `limiter.…`. */
export class LimiterGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Reopen a provider account. This also opens an account of which only the reserve is left, until an agent
     * reports its usage again.
     */
    clear(name: string, options: CallOptions = {}): Promise<LimiterClearAnswer> {
        return this.caller.json<LimiterClearAnswer>({ method: 'POST', path: `/v1/limiters/${part(name)}/clear`, keyed: true }, options);
    }

    /** List the provider accounts and their state. */
    list(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<LimiterListAnswer> {
        return this.caller.json<LimiterListAnswer>({ method: 'GET', path: '/v1/limiters', query: params }, options);
    }

    /** Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *listAll(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Limiter, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.list({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /** Show a provider account and its state. */
    show(name: string, options: CallOptions = {}): Promise<Limiter> {
        return this.caller.json<Limiter>({ method: 'GET', path: `/v1/limiters/${part(name)}` }, options);
    }
}

/** The operations `link.…`. */
export class LinkGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Answer the question of an answer link. Sent by the form of that page. The link is used up with the answer; the
     * event `task.answered` has `by: link`. A process of a run is refused (403), and the link becomes invalid.
     */
    answer(code: string, params: {
        /** the answer; one of the choices, if any */
        text: string;
    }, options: CallOptions = {}): Promise<string> {
        return this.caller.text({ method: 'POST', path: `/answer/${part(code)}`, body: params, keyed: true }, options);
    }

    /**
     * Show the question of an answer link. A page with a form, for the link that a notification has with
     * `notify.answer_links`. Needs no token, and changes nothing. A link that is not valid is not found (404): its
     * question is answered, withdrawn or over.
     */
    show(code: string, options: CallOptions = {}): Promise<string> {
        return this.caller.text({ method: 'GET', path: `/answer/${part(code)}` }, options);
    }
}

/** The operations `notify.…`. */
export class NotifyGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Send a test through every configured notification channel. The response comes when all of them have finished,
     * which may take as long as their timeouts. Only one test runs at a time; another request is refused.
     */
    test(options: CallOptions = {}): Promise<NotifyTestAnswer> {
        return this.caller.json<NotifyTestAnswer>({ method: 'POST', path: '/v1/notify/test' }, options);
    }
}

/** The operations `plan.…`. */
export class PlanGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Show which runs are expected, and when. The forecast that `task.why`, `task.graph` and `plan.whatif` show as
     * well: it is made at most every ten seconds, and less often for a long queue. Each run takes as long as runs of
     * its project and kind took on average (five minutes when none has ended yet) and succeeds; no task is added,
     * approved or canceled, except by schedules. Live runs come first, then the others in the order in which they
     * start.
     */
    forecast(params: {
        /** runs of this project */
        project?: string;
        /** runs that start before this time (ms) */
        until?: number | string;
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<PlanForecastAnswer> {
        return this.caller.json<PlanForecastAnswer>({ method: 'GET', path: '/v1/forecast', query: params }, options);
    }

    /** Each item of `forecast`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *forecastAll(params: {
        /** runs of this project */
        project?: string;
        /** runs that start before this time (ms) */
        until?: number | string;
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<ForecastRun, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.forecast({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /**
     * Get the live queue as a snapshot for plan and sim. Everything the next decision depends on, as of one moment,
     * in the format of docs/reference/snapshot.md. Titles, prompts and commands are not in it. The answer may be
     * large (about 200 bytes for each task) and comes in chunks. One at a time: another one meanwhile is refused
     * with 409. Above 1 GB of scheduler state (about 3 million tasks) it is refused with 413.
     */
    snapshot(params: {
        /** names and ids are replaced by neutral ones; the decisions stay the same */
        anonymous?: boolean;
    } = {}, options: CallOptions = {}): Promise<unknown> {
        return this.caller.json<unknown>({ method: 'GET', path: '/v1/snapshot', query: params }, options);
    }

    /**
     * Simulate the queue as it is and with other settings. Changes nothing. Each run takes as long as runs of its
     * project and kind took on average (five minutes when none has ended yet) and succeeds; no task is added,
     * approved or canceled. `now` is the forecast of all other answers (`plan.forecast`). A queue that is too large
     * to be copied at once is refused with 413 (above 32 MB of scheduler state, about 100,000 tasks).
     */
    whatif(params: {
        /** settings and the values that they would have */
        set?: Record<string, unknown>;
        /** settings that would have their default */
        unset?: string[];
    } = {}, options: CallOptions = {}): Promise<PlanWhatifAnswer> {
        return this.caller.json<PlanWhatifAnswer>({ method: 'POST', path: '/v1/whatif', body: params }, options);
    }
}

/** The operations `project.…`. */
export class ProjectGroup {
    constructor(private readonly caller: Caller) {}

    /** Add a project. */
    add(params: SettingsOf<{
        /** the project */
        name: string;
        /** what the ids of its tasks begin with; made from the name when not given */
        prefix?: string;
    }>, options: CallOptions = {}): Promise<Project> {
        return this.caller.json<Project>({ method: 'POST', path: '/v1/projects', body: params, keyed: true }, options);
    }

    /**
     * Delete a project. Removes it from the lists, and its section from the configuration. Its finished tasks stay
     * until retention removes them, and its prefix stays taken: `project.add` with the same name brings it back.
     */
    delete(name: string, params: {
        /** cancel its unfinished tasks; without it they are a conflict */
        cancel?: boolean;
    } = {}, options: CallOptions = {}): Promise<ProjectDeleteAnswer> {
        return this.caller.json<ProjectDeleteAnswer>({ method: 'POST', path: `/v1/projects/${part(name)}/delete`, body: params, keyed: true }, options);
    }

    /** List the projects. */
    list(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<ProjectListAnswer> {
        return this.caller.json<ProjectListAnswer>({ method: 'GET', path: '/v1/projects', query: params }, options);
    }

    /** Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *listAll(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Project, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.list({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /**
     * List the messages on the bus of a project. Oldest first; without a `cursor` the last ones. `end` is the cursor
     * of what comes later, and `m0` that of the beginning. A page may be shorter than `limit` and have a `next` all
     * the same: a megabyte of the file is looked at in each.
     */
    messages(name: string, params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
        /** only messages of this type */
        type?: string;
    } = {}, options: CallOptions = {}): Promise<MessagePage> {
        return this.caller.json<MessagePage>({ method: 'GET', path: `/v1/projects/${part(name)}/messages`, query: params }, options);
    }

    /** Each item of `messages`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *messagesAll(name: string, params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
        /** only messages of this type */
        type?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Message, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.messages(name, { ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /**
     * Post a message to the bus of a project. It is in the file when this is answered. Takes no key: a message that
     * is posted twice is there twice.
     */
    post(name: string, params: {
        /** the message */
        text: string;
        /** such as `FACT`, `PROGRESS`, `QUESTION`; `INFO` when not given */
        type?: string;
        /** the issue it belongs to */
        issue?: string;
        /** messages it answers: `[{"msg_id","kind"}]` */
        parents?: Record<string, unknown>[];
        /** what it points to */
        links?: Record<string, unknown>[];
        /** anything else */
        meta?: Record<string, unknown>;
    }, options: CallOptions = {}): Promise<Posted> {
        return this.caller.json<Posted>({ method: 'POST', path: `/v1/projects/${part(name)}/messages`, body: params }, options);
    }

    /** Change the settings of a project. The same as changing `projects.NAME.*` of the configuration. */
    set(name: string, params: SettingsOf<object> = {}, options: CallOptions = {}): Promise<Project> {
        return this.caller.json<Project>({ method: 'POST', path: `/v1/projects/${part(name)}/set`, body: params, keyed: true }, options);
    }

    /** Show a project. */
    show(name: string, options: CallOptions = {}): Promise<Project> {
        return this.caller.json<Project>({ method: 'GET', path: `/v1/projects/${part(name)}` }, options);
    }
}

/** The operations `question.…`. */
export class QuestionGroup {
    constructor(private readonly caller: Caller) {}

    /** List open questions. Questions of runs without an answer, oldest first. */
    list(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<QuestionListAnswer> {
        return this.caller.json<QuestionListAnswer>({ method: 'GET', path: '/v1/questions', query: params }, options);
    }

    /** Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *listAll(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<OpenQuestion, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.list({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }
}

/** The operations `run.…`. */
export class RunGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Correct the usage that a run has booked. Replaces the usage that an ended run reported: in its row, in the
     * usage of its task, in the project and global windows, and in the daily totals. Values that are not given do
     * not change. A task that was held because its budget was used up continues if some of the budget is left.
     */
    correct(id: string, params: {
        /** the number of the run; the last ended run if not given */
        attempt?: number;
        /** tokens used, input and output together */
        tokens?: number;
        /** input tokens */
        tokens_in?: number;
        /** output tokens */
        tokens_out?: number;
        /** cost in dollars */
        cost_usd?: number | string;
    } = {}, options: CallOptions = {}): Promise<RunCorrectAnswer> {
        return this.caller.json<RunCorrectAnswer>({ method: 'POST', path: `/v1/tasks/${part(id)}/usage`, body: params, keyed: true }, options);
    }

    /**
     * List runs of all tasks, those that live first, then by their end, latest first. For a picture of the time. A
     * run that was still going on at `until` is not among those that ended before: ask for a later time to see it.
     * One call looks at up to 5,000 ended runs: a page may have fewer items than asked for, or none, and still a
     * `next`. Runs go with their tasks (`retention`); what they used stays (`usage.list`).
     */
    list(params: {
        /** those that live, or ended at this time (ms) or later */
        since?: number | string;
        /** those that ended before this time (ms); when not given also those that live */
        until?: number | string;
        /** only of this project */
        project?: string;
        /** only by this agent */
        agent?: string;
        /** `live`, `ended`, or an outcome: `ok`, `failed`, `limited` … */
        state?: string;
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        after?: string;
    } = {}, options: CallOptions = {}): Promise<RunListAnswer> {
        return this.caller.json<RunListAnswer>({ method: 'GET', path: '/v1/runs', query: params }, options);
    }

    /** Each item of `list`, page by page; `after` is where it begins, `limit` the size of a page. */
    async *listAll(params: {
        /** those that live, or ended at this time (ms) or later */
        since?: number | string;
        /** those that ended before this time (ms); when not given also those that live */
        until?: number | string;
        /** only of this project */
        project?: string;
        /** only by this agent */
        agent?: string;
        /** `live`, `ended`, or an outcome: `ok`, `failed`, `limited` … */
        state?: string;
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        after?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<ListedRun, void, undefined> {
        for (let cursor = params.after; ; ) {
            const page = await this.list({ ...params, ...(cursor === undefined ? {} : { after: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /**
     * Tell from inside a run what it used and how it goes. Numbers above the limits of `report.*` are not booked,
     * and the owner gets an alert.
     */
    report(params: {
        /** who reports; the run of the header `X-Sluice-Run` when not given */
        task?: string;
        /** which attempt; a report of one that is over is refused */
        attempt?: number;
        /** tokens read so far */
        tokens_in?: number;
        /** tokens written so far */
        tokens_out?: number;
        /** tokens used so far, read and written together */
        tokens?: number;
        /** what it cost so far */
        cost_usd?: number | string;
        /** makes the DONE marker of the task */
        done?: boolean;
        /** its provider said wait; so many seconds, 0: not said how long */
        rate_limited_s?: number | string;
    } = {}, options: CallOptions = {}): Promise<RunReportAnswer> {
        return this.caller.json<RunReportAnswer>({ method: 'POST', path: '/v1/report', body: params, keyed: true }, options);
    }
}

/** The operations `schedule.…`. */
export class ScheduleGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Add a schedule. It needs one of `cron`, `every` and `at`, and one of `task`, `file`, `formula` and `backup`.
     * See [schedules.md](../guide/schedules.md).
     */
    add(params: SettingsOf<{
        /** its name */
        name: string;
        /** check only and change nothing; the answer is the schedule as it would be, with `due` */
        dry_run?: boolean;
    }>, options: CallOptions = {}): Promise<Schedule> {
        return this.caller.json<Schedule>({ method: 'POST', path: '/v1/schedules', body: params, keyed: true }, options);
    }

    /** List the schedules. */
    list(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<ScheduleListAnswer> {
        return this.caller.json<ScheduleListAnswer>({ method: 'GET', path: '/v1/schedules', query: params }, options);
    }

    /** Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *listAll(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Schedule, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.list({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /** Show when a schedule is due. */
    next(name: string, params: {
        /** most due times in the answer; 10 when not given */
        count?: number;
    } = {}, options: CallOptions = {}): Promise<ScheduleNextAnswer> {
        return this.caller.json<ScheduleNextAnswer>({ method: 'GET', path: `/v1/schedules/${part(name)}/next`, query: params }, options);
    }

    /** Pause a schedule. */
    pause(name: string, options: CallOptions = {}): Promise<Schedule> {
        return this.caller.json<Schedule>({ method: 'POST', path: `/v1/schedules/${part(name)}/pause`, keyed: true }, options);
    }

    /** Remove a schedule. Removes its section from the configuration. Its tasks stay. */
    remove(name: string, options: CallOptions = {}): Promise<ScheduleRemoveAnswer> {
        return this.caller.json<ScheduleRemoveAnswer>({ method: 'POST', path: `/v1/schedules/${part(name)}/remove`, keyed: true }, options);
    }

    /** Resume a schedule. What was due while it was paused is recorded as skipped. */
    resume(name: string, options: CallOptions = {}): Promise<Schedule> {
        return this.caller.json<Schedule>({ method: 'POST', path: `/v1/schedules/${part(name)}/resume`, keyed: true }, options);
    }

    /**
     * Add the tasks of a schedule now. Also while it is paused or its last task is not finished. Its due times stay
     * as they are.
     */
    run(name: string, options: CallOptions = {}): Promise<ScheduleRunAnswer> {
        return this.caller.json<ScheduleRunAnswer>({ method: 'POST', path: `/v1/schedules/${part(name)}/run`, keyed: true }, options);
    }

    /**
     * Change the settings of a schedule. The same as changing `schedules.NAME.*` of the configuration. When its
     * times change, the schedule starts from now: earlier due times are not caught up.
     */
    set(name: string, params: SettingsOf<{
        /** check only and change nothing; the answer is the schedule as it would be, with `due` */
        dry_run?: boolean;
    }> = {}, options: CallOptions = {}): Promise<Schedule> {
        return this.caller.json<Schedule>({ method: 'POST', path: `/v1/schedules/${part(name)}/set`, body: params, keyed: true }, options);
    }

    /** Show a schedule. */
    show(name: string, options: CallOptions = {}): Promise<Schedule> {
        return this.caller.json<Schedule>({ method: 'GET', path: `/v1/schedules/${part(name)}` }, options);
    }
}

/** The operations `session.…`. */
export class SessionGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Make a link that opens the dashboard once. Good for one use within a minute. If the daemon has no TCP listener
     * (`http.listen`), it listens on a loopback port from now on, until it ends. Only at the owner's socket.
     */
    code(params: {
        /** what the page may do; `submit` when not given */
        scope?: 'read' | 'submit' | 'admin';
        /**
         * also write a private file that redirects to the link, for a browser on this machine: unlike the link, its path
         * can be passed as an argument
         */
        file?: boolean;
        /** where to listen, if the daemon does not yet; 0, or not given: any that is free */
        port?: number;
    } = {}, options: CallOptions = {}): Promise<SessionCodeAnswer> {
        return this.caller.json<SessionCodeAnswer>({ method: 'POST', path: '/v1/session/code', body: params }, options);
    }

    /**
     * Swap the code of a link for a session. Needs no token over TCP, as /healthz and answer links do not. A code
     * that was used, or is older than a minute, is refused (401). A process of a run is refused, too (403), and the
     * code becomes invalid. With `key` the session has no token: each request is signed with the private key,
     * `Authorization: Sluice-Key ID BOOT BODY SIGNATURE`. BODY is the SHA-256 of the body, or `-` without one.
     * SIGNATURE is ECDSA with SHA-256, r and s, of these lines, without a newline at the end: `sluice-key-1`, the
     * Host header, BOOT, ID, the method, the target with its query, BODY. Both are in hexadecimal digits. Another
     * start of the daemon has another BOOT: it refuses the request with 401, and its header `X-Sluice-Boot` has the
     * new one.
     */
    open(params: {
        /** what stands behind `#t=` in the link */
        code: string;
        /**
         * the public key of the page: an uncompressed point of P-256 in hexadecimal digits; without it the session gets
         * a token
         */
        key?: string;
    }, options: CallOptions = {}): Promise<SessionOpenAnswer> {
        return this.caller.json<SessionOpenAnswer>({ method: 'POST', path: '/v1/session', body: params, keyed: true }, options);
    }
}

/** The operations `task.…`. */
export class TaskGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Add tasks. All tasks of a batch are added, or none; an error names the task (`index`). With `partial` an error
     * in one still refuses all, but a full queue defers only those without room, and those that need them: send them
     * again later. If a task with the same `external_id` already exists in the project, no task is added: the answer
     * has the id of the existing task, and `already`. `queue_position` is given for batches of up to 100 tasks. A
     * run adds children of its own task, or imports: see [capabilities.md](../guide/capabilities.md).
     */
    add(params: {
        /** what to add: objects as below, all or none */
        tasks: Submission[];
        /** the group they belong to; made if there is none of this name */
        group?: string;
        /** they belong to a new group, whose name is made up; not with `group` */
        new_group?: boolean;
        /** all of them are drafts */
        draft?: boolean;
        /** lets a dependency be missing and a prefix be another project's */
        force?: boolean;
        /** adds as many as the queue has room for (`queue.hard`), in their order; the others are `deferred` */
        partial?: boolean;
        /** adds nothing; the result of each is `new`, `already` or `deferred` */
        dry_run?: boolean;
    }, options: CallOptions = {}): Promise<TaskAddAnswer> {
        return this.caller.json<TaskAddAnswer>({ method: 'POST', path: '/v1/tasks', body: params, keyed: true }, options);
    }

    /**
     * Run finished tasks again. Starts a new iteration; children of the last iteration are invalidated. With
     * `message`, a task that failed or was canceled can be continued too, as with `task.retry`. An agent without
     * sessions, or one that has lost its session, gets the prompt of the task and the message. A command is refused.
     * The event is `task.followed_up`, with the message and its author.
     */
    again(params: {
        /** task ids, or external ids */
        tasks: string[];
        /** continue one finished task in the session of its last run, with this as the prompt */
        message?: string;
        /** start an escalated task with its own agent and model again */
        own_agent?: boolean;
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/again', body: params, keyed: true }, options);
    }

    /**
     * Answer the question of a task. A question is answered once. A held task goes on in the same session, with the
     * answer as its prompt; a run that waits for the answer gets it. The event is `task.answered`, with who
     * answered. Not for runs.
     */
    answer(id: string, params: {
        /** the answer; one of the choices, if any */
        text: string;
    }, options: CallOptions = {}): Promise<Question> {
        return this.caller.json<Question>({ method: 'POST', path: `/v1/tasks/${part(id)}/answer`, body: params, keyed: true }, options);
    }

    /**
     * Approve tasks that wait for review. The event is `task.approved`, with the user and the reason. With `merge:
     * direct` the branch of the task is merged first, and the answer waits for that; if it cannot be merged, this is
     * 409 with the reason, and the task still waits.
     */
    approve(params: {
        /** task ids, or external ids */
        tasks: string[];
        /** the reason; the next iteration of a rejected task finds it in its feedback */
        reason?: string;
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/approve', body: params, keyed: true }, options);
    }

    /**
     * Ask a person from inside a run. The question is stored, people are notified, and the call returns at once: the
     * run should end now. Its outcome is `asked`, nothing is counted, and the task is held without a slot until it
     * is answered (`task.answer`). The next attempt resumes the same session, and the answer is its prompt. With
     * `wait_s` the call returns when the answer is there, or when the time is over. A task has one question at a
     * time; the same question again returns its answer if there is one.
     */
    ask(id: string, params: {
        /** the question, with what a person needs to answer it */
        question: string;
        /** the allowed answers; any text when not given */
        choices?: string[];
        /** the answer to use if none is given before the deadline */
        default?: string;
        /** seconds until the default is used; without a default the task fails then */
        deadline_s?: number | string;
        /** most seconds to wait for the answer; 0 when not given: returns at once */
        wait_s?: number | string;
        /** which attempt asks; one that is over is refused */
        attempt?: number;
    }, options: CallOptions = {}): Promise<TaskAskAnswer> {
        return this.caller.json<TaskAskAnswer>({ method: 'POST', path: `/v1/tasks/${part(id)}/question`, body: params, keyed: true }, options);
    }

    /**
     * Change how much a task may use. What is not given stays as it is. A task that is held because it has used up
     * its budget goes on when it may use more now. What it has used so far is in `budget` of task.show, too.
     */
    budget(id: string, params: {
        /** how many all its runs may use: a whole number, or `unlimited` */
        tokens?: unknown;
        /** dollars that all its runs may cost, or `unlimited` */
        usd?: unknown;
        /** how many one of its runs may use, or `unlimited` */
        run_tokens?: unknown;
        /** dollars that one of its runs may cost, or `unlimited` */
        run_usd?: unknown;
        /** a run that passes a budget goes on to its end, or is stopped */
        on_budget?: 'hold' | 'stop';
    } = {}, options: CallOptions = {}): Promise<TaskBudgetAnswer> {
        return this.caller.json<TaskBudgetAnswer>({ method: 'POST', path: `/v1/tasks/${part(id)}/budget`, body: params, keyed: true }, options);
    }

    /**
     * Cancel tasks. A running task is asked to stop and is canceled when its run has ended; if the run succeeds
     * first, the task is done. Children that its runs have added (`parent_gate: none`) are canceled with it. If its
     * run is on an unreachable host (`host.list`), a `note` says when it will be stopped.
     */
    cancel(params: {
        /** task ids, or external ids */
        tasks: string[];
        /** kill runs immediately instead of asking them to stop first */
        now?: boolean;
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/cancel', body: params, keyed: true }, options);
    }

    /**
     * Compare the candidates of a task. For a task that was added with `best_of`, or for one of its candidates: the
     * state, the changes and the cost of each candidate. `task.diff` shows what one of them changed.
     */
    candidates(id: string, options: CallOptions = {}): Promise<BestOf> {
        return this.caller.json<BestOf>({ method: 'GET', path: `/v1/tasks/${part(id)}/candidates` }, options);
    }

    /** Turn waiting tasks into drafts. Their counters and their escalation are reset. */
    clear(params: {
        /** task ids, or external ids */
        tasks: string[];
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/clear', body: params, keyed: true }, options);
    }

    /**
     * Close tasks that are finished externally. The event is `task.approved`, with the user and the reason. With
     * `merge: direct` the branch of the task is merged first, and the answer waits for that; if it cannot be merged,
     * this is 409 with the reason, and the task still waits.
     */
    close(params: {
        /** task ids, or external ids */
        tasks: string[];
        /** the reason; the next iteration of a rejected task finds it in its feedback */
        reason?: string;
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/close', body: params, keyed: true }, options);
    }

    /**
     * Delete drafts and finished tasks. Their children fail as orphans, and so do tasks that wait for one that was
     * not done.
     */
    delete(params: {
        /** task ids, or external ids */
        tasks: string[];
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/delete', body: params, keyed: true }, options);
    }

    /** Replace what a task depends on. */
    depends(params: {
        /** whose dependencies they are */
        task: string;
        /** ids of all tasks that must be done first; an empty list: none */
        depends_on: string[];
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/depends', body: params, keyed: true }, options);
    }

    /**
     * Show what a task has changed in its git worktree. All of the task: the files of its worktree as they are now,
     * committed or not, against where its branch left `branch`; after the worktree has gone, what was merged or was
     * there at the end of its last run. With `iteration`: what that one changed, as it was recorded at its end, or
     * so far. A task without a worktree, and what was not recorded or is no longer there, is 404 with a sentence
     * that says which. No hook, filter or other program of the repository is run for it. More than 16 at once are
     * refused with 429.
     */
    diff(id: string, params: {
        /** what this one changed; all of the task when not given */
        iteration?: number;
        /** the files alone: `patch` is null */
        stat?: boolean;
        /** unchanged lines around each change; 3 when not given */
        context?: number;
        /** only this file */
        path?: string;
        /** with `path`: what the file was called before */
        old_path?: string;
    } = {}, options: CallOptions = {}): Promise<TaskDiffAnswer> {
        return this.caller.json<TaskDiffAnswer>({ method: 'GET', path: `/v1/tasks/${part(id)}/diff`, query: params }, options);
    }

    /**
     * Change a task that does not run. For a task that waits, is held or is a draft; its next attempt uses the new
     * values. What is not given stays as it is. With `version` the edit is refused (409) if the task was edited or
     * started since that version was read. An attempt after a new prompt begins a new session. The event is
     * `task.edited`, with the names of what has changed. Runs can edit what they may
     * [import](../guide/capabilities.md#importing).
     */
    edit(id: string, params: {
        /** `version` of task.show, as it was read */
        version?: number;
        /** what its agent should do; only for a task with a prompt */
        prompt?: string;
        /** its command; only for a task with a command */
        argv?: string[];
        /** what lists show; empty: the beginning of the prompt */
        title?: string;
        /** lower starts first */
        priority?: number;
        /** how long a run may take: seconds, or `30m` */
        timeout_s?: unknown;
        /** how long a run may print nothing: seconds, or `10m` */
        idle_timeout_s?: unknown;
        /** shell commands that must succeed after it, instead of its checks; an empty list: none */
        checks?: string[];
    } = {}, options: CallOptions = {}): Promise<TaskEditAnswer> {
        return this.caller.json<TaskEditAnswer>({ method: 'POST', path: `/v1/tasks/${part(id)}/edit`, body: params, keyed: true }, options);
    }

    /** List what happened to a task, oldest first. */
    events(id: string, params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<TaskEventsAnswer> {
        return this.caller.json<TaskEventsAnswer>({ method: 'GET', path: `/v1/tasks/${part(id)}/events`, query: params }, options);
    }

    /** Each item of `events`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *eventsAll(id: string, params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Event, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.events(id, { ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /** Show what waits for what, as nodes and edges. Of a project, or of everything, the newest tasks. */
    graph(params: {
        /** tasks of this project */
        project?: string;
        /** the tasks of this group, finished or not */
        group?: string;
        /** this task, all that it waits for and all that waits for it, finished or not */
        root?: string;
        /**
         * of a project, or of everything: tasks that are not final (when not given), with those that they directly wait
         * for, or `all`
         */
        state?: 'open' | 'all';
        /** most nodes in the answer; 2,000 when not given */
        limit?: number;
    } = {}, options: CallOptions = {}): Promise<TaskGraphAnswer> {
        return this.caller.json<TaskGraphAnswer>({ method: 'GET', path: '/v1/graph', query: params }, options);
    }

    /** Hold waiting tasks. */
    hold(params: {
        /** task ids, or external ids */
        tasks: string[];
        /** when it continues automatically, in ms since the epoch; if not given, never */
        until?: number | string;
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/hold', body: params, keyed: true }, options);
    }

    /**
     * List tasks. One call looks at up to 20,000 tasks: a page may have fewer items than asked for, or none, and
     * still a `next`; with a `text` it reads up to 10,000 titles. The order of the queue is the one in which tasks
     * would start if each run succeeded and took as long as usual, shares, limits and dependencies included; of a
     * paused queue, after a resume. The forecast ends after 30 days or 2,000,000 steps (about 300,000 starts); what
     * starts later or waits for a person stands behind it, by its place at this moment, and so does everything where
     * the scheduler has more than 64 MB (about 300,000 tasks). There are up to 5,000 of either. Of a live `run`,
     * `doing` says what it does besides working, `last_line` what it printed last (of an agent, what it says or
     * does), and `unreachable_host` and `unreachable_since` that it is on a host that is (`host.list`). `changes`:
     * what a finished task, or one that waits for review, has changed in its worktree; `files` 0: nothing. null: it
     * is not known, or it has no worktree.
     */
    list(params: {
        /** states with commas, `open` (those that are not final; when not given) or `all` */
        state?: string;
        /** only of this project */
        project?: string;
        /** only of this kind */
        kind?: string;
        /** only of this group */
        group?: string;
        /** only children of this task */
        parent?: string;
        /** only for this agent */
        agent?: string;
        /** only those with this external id, of any project */
        external_id?: string;
        /** only those that this schedule has added */
        schedule?: string;
        /** only those with this text in their title, id or external id, in capitals or not */
        text?: string;
        /** newest first (when not given), oldest first, or as they will start */
        order?: 'new' | 'old' | 'queue';
        /** by this member, of equal ones the newest first; instead of `order`, and without `text` */
        sort?: 'state' | 'project' | 'kind' | 'agent' | 'priority' | 'attempt';
        /** with `sort`: the other way round */
        reverse?: boolean;
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<TaskListAnswer> {
        return this.caller.json<TaskListAnswer>({ method: 'GET', path: '/v1/tasks', query: params }, options);
    }

    /** Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *listAll(params: {
        /** states with commas, `open` (those that are not final; when not given) or `all` */
        state?: string;
        /** only of this project */
        project?: string;
        /** only of this kind */
        kind?: string;
        /** only of this group */
        group?: string;
        /** only children of this task */
        parent?: string;
        /** only for this agent */
        agent?: string;
        /** only those with this external id, of any project */
        external_id?: string;
        /** only those that this schedule has added */
        schedule?: string;
        /** only those with this text in their title, id or external id, in capitals or not */
        text?: string;
        /** newest first (when not given), oldest first, or as they will start */
        order?: 'new' | 'old' | 'queue';
        /** by this member, of equal ones the newest first; instead of `order`, and without `text` */
        sort?: 'state' | 'project' | 'kind' | 'agent' | 'priority' | 'attempt';
        /** with `sort`: the other way round */
        reverse?: boolean;
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Task, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.list({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /**
     * Read what a run printed. The bytes as they were printed, `application/octet-stream`; secrets of the run are
     * replaced by the same number of bytes. `X-Sluice-Attempt` and `X-Sluice-Offset` say what they are; adding their
     * number to the offset is where to go on. The middle of a long log may be gone; a line says how many bytes were
     * cut there. `X-Sluice-Adapter` names the agent whose events the output is, if it is one. With `format=text`
     * these events come as a transcript, `text/plain`: what the agent says, each tool call with its main argument
     * and the first lines of its result, without control characters. Other output is the same in both formats.
     * `offset` and `tail` count bytes of the log; a transcript begins with the next complete line. `stream=all` is
     * output and errors in the order in which they were written, as far as the run has recorded it: writes that
     * follow each other within milliseconds may come as output first. With `format=entries` and `pieces` the answer
     * is `application/x-ndjson`, one JSON object per line. A piece of a stream is `{"stream": "err", "offset": 512,
     * "text": "..."}`; `offset` is where to go on in this stream. An entry of a transcript has a `kind`: `say`,
     * `think`, `prompt`, `call`, `result`, `note`, or `text` (a line that is no event), and its `text`. A call has
     * its `tool`, the main argument as `text`, and `arguments`. A call and its results have the same `id`, if the
     * agent gives one. `cut` (the text is longer), `failed`, `nested` (of a subagent) and `continues` (the entry
     * before) are only there if they are true.
     */
    log(id: string, params: {
        /** which run; the last when not given */
        attempt?: number;
        /**
         * its output (the default), its errors, the output of its checks, or the output of `projects.P.prepare`; `all`:
         * its output and errors, merged
         */
        stream?: 'out' | 'err' | 'check' | 'prepare' | 'all';
        /** bytes to leave out at the beginning */
        offset?: number;
        /** with `stream=all`: bytes of the errors to leave out; `offset` is that of the output */
        err_offset?: number;
        /** only so many bytes of the end */
        tail?: number;
        /** go on until the run has ended */
        follow?: boolean;
        /**
         * `raw` (the default): the bytes. `text`: what an agent says and does, for people. `entries`: the same as
         * objects. `pieces`: the bytes as objects
         */
        format?: 'raw' | 'text' | 'entries' | 'pieces';
    } = {}, options: CallOptions = {}): Promise<ByteStream> {
        return this.caller.stream({ method: 'GET', path: `/v1/tasks/${part(id)}/log`, query: params, endless: params.follow === true }, options);
    }

    /**
     * Merge the branches of finished tasks. For tasks that are finished or wait for review, and have run in a
     * worktree. What is left in the worktree is committed, the branch is rebased onto the base branch, the checks of
     * the task run again if that changed anything, and the base branch moves forwards. One task after the other; the
     * answer waits for all. After `conflict` and `failed` the base branch is as it was. With `on_conflict: iterate`
     * a conflict begins the next iteration of the task, which repairs it; `message` says so. The event is
     * `run.merge`.
     */
    merge(params: {
        /** task ids, or external ids */
        tasks: string[];
        /** the branch to merge into; else the one that the task's branch came from */
        into?: string;
        /** change nothing, and say whether there would be conflicts */
        dry_run?: boolean;
        /** do not run the checks of the task again after a rebase */
        no_checks?: boolean;
    }, options: CallOptions = {}): Promise<TaskMergeAnswer> {
        return this.caller.json<TaskMergeAnswer>({ method: 'POST', path: '/v1/tasks/merge', body: params, keyed: true }, options);
    }

    /**
     * List the messages on the bus of a task. Oldest first; without a `cursor` the last ones. `end` is the cursor of
     * what comes later, and `m0` that of the beginning. A page may be shorter than `limit` and have a `next` all the
     * same: a megabyte of the file is looked at in each.
     */
    messages(id: string, params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
        /** only messages of this type */
        type?: string;
    } = {}, options: CallOptions = {}): Promise<MessagePage> {
        return this.caller.json<MessagePage>({ method: 'GET', path: `/v1/tasks/${part(id)}/messages`, query: params }, options);
    }

    /** Each item of `messages`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *messagesAll(id: string, params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
        /** only messages of this type */
        type?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Message, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.messages(id, { ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /**
     * Pick a candidate of a task. Only a candidate that is done can be picked. Candidates that have not ended are
     * canceled, the branch of the pick is merged into the base branch unless the task has `merge: none` or `local`,
     * and the task is done. The response waits for that. If the pick cannot be merged, the response is 409 with the
     * reason, and the task waits for another pick. The events are `task.picked` and `task.pick_refused`. A run can
     * pick only if it is the chooser of the task: `id` is then its own task.
     */
    pick(id: string, params: {
        /** the candidate */
        candidate: string;
        /** why */
        reason?: string;
    }, options: CallOptions = {}): Promise<BestOf> {
        return this.caller.json<BestOf>({ method: 'POST', path: `/v1/tasks/${part(id)}/pick`, body: params, keyed: true }, options);
    }

    /**
     * Post a message to the bus of a task. It is in the file when this is answered. Takes no key: a message that is
     * posted twice is there twice.
     */
    post(id: string, params: {
        /** the message */
        text: string;
        /** such as `FACT`, `PROGRESS`, `QUESTION`; `INFO` when not given */
        type?: string;
        /** the issue it belongs to */
        issue?: string;
        /** messages it answers: `[{"msg_id","kind"}]` */
        parents?: Record<string, unknown>[];
        /** what it points to */
        links?: Record<string, unknown>[];
        /** anything else */
        meta?: Record<string, unknown>;
    }, options: CallOptions = {}): Promise<Posted> {
        return this.caller.json<Posted>({ method: 'POST', path: `/v1/tasks/${part(id)}/messages`, body: params }, options);
    }

    /**
     * Change the priority of tasks. Where the setting `order` does not name the priority, as under most presets, the
     * number is stored and changes nothing.
     */
    priority(params: {
        /** task ids, or external ids */
        tasks: string[];
        /** lower starts first */
        priority?: number;
        /** before, or behind, all that wait */
        to?: 'front' | 'back';
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/priority', body: params, keyed: true }, options);
    }

    /**
     * Reject tasks that wait for review. They run again, as a new iteration. The event is `task.rejected`, with the
     * user and the reason.
     */
    reject(params: {
        /** task ids, or external ids */
        tasks: string[];
        /** the reason; the next iteration of a rejected task finds it in its feedback */
        reason?: string;
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/reject', body: params, keyed: true }, options);
    }

    /**
     * Release held tasks. A task that a person has taken over (`task.take`) continues unattended in the same
     * session.
     */
    release(params: {
        /** task ids, or external ids */
        tasks: string[];
        /** for tasks that are taken over: a message to the agent, in the same session */
        message?: string;
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/release', body: params, keyed: true }, options);
    }

    /**
     * Queue failed, denied or canceled tasks again. Their counters are reset. A task that waits for its next attempt
     * starts it now. `allow` is for a task that is held because its agent was denied a permission (`denied`): its
     * next attempt continues in the same session, with these rules. It needs the scope `admin`.
     */
    retry(params: {
        /** task ids, or external ids */
        tasks: string[];
        /** permission rules for the agent from now on, for this task only: "Bash(git commit:*)" */
        allow?: string[];
        /** start an escalated task with its own agent and model again */
        own_agent?: boolean;
    }, options: CallOptions = {}): Promise<Changed> {
        return this.caller.json<Changed>({ method: 'POST', path: '/v1/tasks/retry', body: params, keyed: true }, options);
    }

    /** List the runs of a task, newest first. */
    runs(id: string, params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<TaskRunsAnswer> {
        return this.caller.json<TaskRunsAnswer>({ method: 'GET', path: `/v1/tasks/${part(id)}/runs`, query: params }, options);
    }

    /** Each item of `runs`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *runsAll(id: string, params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Run, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.runs(id, { ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /**
     * List the ids of tasks, for an action on all of them. The ids of what task.list would show, newest first, and
     * the actions that are possible for each of them. One answer has up to 10,000 ids, as many as an action takes.
     */
    select(params: {
        /** states with commas, `open` (those that are not final; when not given) or `all` */
        state?: string;
        /** only of this project */
        project?: string;
        /** only of this kind */
        kind?: string;
        /** only of this group */
        group?: string;
        /** only children of this task */
        parent?: string;
        /** only for this agent */
        agent?: string;
        /** only those with this external id, of any project */
        external_id?: string;
        /** only those that this schedule has added */
        schedule?: string;
        /** only those with this text in their title, id or external id, in capitals or not */
        text?: string;
        /** at most this many ids; 10,000 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<TaskSelectAnswer> {
        return this.caller.json<TaskSelectAnswer>({ method: 'GET', path: '/v1/selection', query: params }, options);
    }

    /** Each item of `select`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *selectAll(params: {
        /** states with commas, `open` (those that are not final; when not given) or `all` */
        state?: string;
        /** only of this project */
        project?: string;
        /** only of this kind */
        kind?: string;
        /** only of this group */
        group?: string;
        /** only children of this task */
        parent?: string;
        /** only for this agent */
        agent?: string;
        /** only those with this external id, of any project */
        external_id?: string;
        /** only those that this schedule has added */
        schedule?: string;
        /** only those with this text in their title, id or external id, in capitals or not */
        text?: string;
        /** at most this many ids; 10,000 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<string, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.select({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.ids;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /** Show one task. */
    show(id: string, options: CallOptions = {}): Promise<TaskFull> {
        return this.caller.json<TaskFull>({ method: 'GET', path: `/v1/tasks/${part(id)}` }, options);
    }

    /**
     * Schedule drafts. All or none, unless `partial`. What is scheduled already is `already`; tasks of a project
     * that only coordinates are `skipped`. What is said of agent, account and merging stands beside the task as its
     * `context`; what was submitted stays as it is.
     */
    sling(params: {
        /** task ids, or names of groups: all drafts of them; with a task go all drafts below it */
        tasks: string[];
        /** the project they must belong to, or move to with `force` */
        project?: string;
        /**
         * overrides the guards: another project (a draft moves there, with a new id), another group, a task that is at
         * work or final
         */
        force?: boolean;
        /** only says what would be slung */
        dry_run?: boolean;
        /** each of `tasks` by itself: those that the queue has no room for are `deferred`, the others slung */
        partial?: boolean;
        /** the group that follows them; a new one is made for those that none follows */
        group?: string;
        /** a group that is made is closed only manually */
        owned?: boolean;
        /** makes no group */
        no_group?: boolean;
        /** who runs them, instead of the agent they name */
        agent?: string;
        /** the provider account they use */
        limiter?: string;
        /** how the work is brought in, instead of what the task says */
        merge?: 'none' | 'local' | 'direct' | 'mr';
        /** the branch they start from, instead of the task's */
        base_branch?: string;
        /** the same as `merge: none` */
        no_merge?: boolean;
        /** a text that is put behind the prompt */
        args?: string;
        /** anything to keep with them: formula, vars, mode … */
        meta?: Record<string, unknown>;
        /**
         * drafts that do the work of the one task that is named: they are slung with it, it waits for them and runs
         * nothing of its own
         */
        steps?: string[];
        /**
         * formulas: `{task, formula, steps}`. The steps, objects as task.add takes them, are added and slung with the
         * task, all of the call or none; it waits for them and runs nothing of its own
         */
        work?: Record<string, unknown>[];
    }, options: CallOptions = {}): Promise<TaskSlingAnswer> {
        return this.caller.json<TaskSlingAnswer>({ method: 'POST', path: '/v1/tasks/sling', body: params, keyed: true }, options);
    }

    /**
     * Take a task over. For a program at a terminal on the host of the daemon, such as `sluice take`, which waits on
     * a Unix socket. A live run is stopped, and the task starts before all others as soon as no gate stops it: its
     * shim opens the agent at a terminal, with the session of the task, in its workspace and sandbox, and connects
     * to the socket. However that run ends, the task is held then (`hold: taken`), and nothing is counted:
     * `task.approve` makes it done, `task.release` lets the agent go on. The events are `task.taken` and
     * `task.returned`. Refused over TCP and for runs.
     */
    take(id: string, params: {
        /** the path of the socket on which the program waits */
        terminal: string;
        /** the kind of the terminal, as in `TERM` */
        term?: string;
        /** the program that opens a task with a command of its own; /bin/sh when not given */
        shell?: string;
    }, options: CallOptions = {}): Promise<TaskTakeAnswer> {
        return this.caller.json<TaskTakeAnswer>({ method: 'POST', path: `/v1/tasks/${part(id)}/take`, body: params, keyed: true }, options);
    }

    /**
     * Wait until tasks have ended. Answers when all of them (`any`: one) are final, or need a person (`patient` goes
     * on waiting), or the time is over. A run that waits for tasks below it lends them its slots meanwhile, one at a
     * time, and is answered when they are its own again. Closing the connection cancels the wait.
     */
    wait(params: {
        /** task ids */
        tasks: string[];
        /** until one of them has ended, instead of all */
        any?: boolean;
        /** go on waiting for a task that needs a person */
        patient?: boolean;
        /** most seconds to wait; 0 only looks; 60 when not given */
        timeout_s?: number | string;
    }, options: CallOptions = {}): Promise<TaskWaitAnswer> {
        return this.caller.json<TaskWaitAnswer>({ method: 'POST', path: '/v1/wait', body: params }, options);
    }

    /** Say why a task does not run. */
    why(id: string, options: CallOptions = {}): Promise<TaskWhyAnswer> {
        return this.caller.json<TaskWhyAnswer>({ method: 'GET', path: `/v1/tasks/${part(id)}/why` }, options);
    }
}

/** The operations `token.…`. */
export class TokenGroup {
    constructor(private readonly caller: Caller) {}

    /** Make a token for clients that connect over TCP. Only at the owner's socket. */
    add(params: {
        /** what it is called: letters, digits, dots, hyphens and underscores */
        name: string;
        /** what it may do; `read` when not given */
        scope?: 'read' | 'submit' | 'admin';
        /** how long it is good for, in seconds; for ever when not given */
        expires_s?: number | string;
    }, options: CallOptions = {}): Promise<TokenAddAnswer> {
        return this.caller.json<TokenAddAnswer>({ method: 'POST', path: '/v1/tokens', body: params, keyed: true }, options);
    }

    /**
     * List the tokens, and the pages that are signed in. Never their secrets. Those that have expired are shown
     * until the next one is made. Only at the owner's socket.
     */
    list(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<TokenListAnswer> {
        return this.caller.json<TokenListAnswer>({ method: 'GET', path: '/v1/tokens', query: params }, options);
    }

    /** Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *listAll(params: {
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<Token, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.list({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /**
     * End a token at once. Its connections end, streams too. A page is revoked by its id. Only at the owner's
     * socket.
     */
    revoke(name: string, options: CallOptions = {}): Promise<TokenRevokeAnswer> {
        return this.caller.json<TokenRevokeAnswer>({ method: 'POST', path: `/v1/tokens/${part(name)}/revoke`, keyed: true }, options);
    }
}

/** The operations `usage.…`. */
export class UsageGroup {
    constructor(private readonly caller: Caller) {}

    /**
     * Sum up what runs have used, by day or hour. A run counts in the span in which it ended; `live` shows apart
     * what live runs have used so far. Days are kept for 800 days and hours for 40, also when the runs are gone.
     * Days of a time zone are sums of hours: an hour belongs to the day in which it begins. Up to 1,000 sums in one
     * answer, oldest first; `totals`, `live` and `names` are the same on every page.
     */
    list(params: {
        /** sums of days (when not given) or of hours */
        by?: 'day' | 'hour';
        /** one sum for each project (when not given) or for each agent */
        group?: 'project' | 'agent';
        /** the time zone of the days: a name such as `Europe/Berlin`, `system` for that of the daemon, UTC when not given */
        timezone?: string;
        /** a time (ms): spans from that in which it lies; 30 days or 48 hours ago when not given */
        since?: number | string;
        /** a time (ms): spans that began before; now when not given */
        until?: number | string;
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): Promise<UsageListAnswer> {
        return this.caller.json<UsageListAnswer>({ method: 'GET', path: '/v1/usage', query: params }, options);
    }

    /** Each item of `list`, page by page; `cursor` is where it begins, `limit` the size of a page. */
    async *listAll(params: {
        /** sums of days (when not given) or of hours */
        by?: 'day' | 'hour';
        /** one sum for each project (when not given) or for each agent */
        group?: 'project' | 'agent';
        /** the time zone of the days: a name such as `Europe/Berlin`, `system` for that of the daemon, UTC when not given */
        timezone?: string;
        /** a time (ms): spans from that in which it lies; 30 days or 48 hours ago when not given */
        since?: number | string;
        /** a time (ms): spans that began before; now when not given */
        until?: number | string;
        /** most items in the answer; 50 when not given */
        limit?: number;
        /** `next` of the answer before: goes on behind it */
        cursor?: string;
    } = {}, options: CallOptions = {}): AsyncGenerator<UsageSum, void, undefined> {
        for (let cursor = params.cursor; ; ) {
            const page = await this.list({ ...params, ...(cursor === undefined ? {} : { cursor: cursor }) }, options);
            yield* page.items;
            if (page.next === null) return;
            cursor = page.next;
        }
    }

    /**
     * List the tasks that have used the most. Sums of the runs that ended in a span, the most expensive task first.
     * Runs go with their tasks (`retention`); the sums of `usage.list` stay.
     */
    tasks(params: {
        /** runs that ended at this time (ms) or later; 30 days ago when not given */
        since?: number | string;
        /** runs that ended before this time (ms) */
        until?: number | string;
        /** only of this project */
        project?: string;
        /** most items in the answer; 50 when not given */
        limit?: number;
    } = {}, options: CallOptions = {}): Promise<UsageTasksAnswer> {
        return this.caller.json<UsageTasksAnswer>({ method: 'GET', path: '/v1/usage/tasks', query: params }, options);
    }
}

/** All operations, by group. */
export class Groups {
    readonly agent: AgentGroup;
    readonly attention: AttentionGroup;
    readonly config: ConfigGroup;
    readonly daemon: DaemonGroup;
    readonly event: EventGroup;
    readonly group: GroupGroup;
    readonly host: HostGroup;
    readonly limiter: LimiterGroup;
    readonly link: LinkGroup;
    readonly notify: NotifyGroup;
    readonly plan: PlanGroup;
    readonly project: ProjectGroup;
    readonly question: QuestionGroup;
    readonly run: RunGroup;
    readonly schedule: ScheduleGroup;
    readonly session: SessionGroup;
    readonly task: TaskGroup;
    readonly token: TokenGroup;
    readonly usage: UsageGroup;

    constructor(protected readonly caller: Caller) {
        this.agent = new AgentGroup(caller);
        this.attention = new AttentionGroup(caller);
        this.config = new ConfigGroup(caller);
        this.daemon = new DaemonGroup(caller);
        this.event = new EventGroup(caller);
        this.group = new GroupGroup(caller);
        this.host = new HostGroup(caller);
        this.limiter = new LimiterGroup(caller);
        this.link = new LinkGroup(caller);
        this.notify = new NotifyGroup(caller);
        this.plan = new PlanGroup(caller);
        this.project = new ProjectGroup(caller);
        this.question = new QuestionGroup(caller);
        this.run = new RunGroup(caller);
        this.schedule = new ScheduleGroup(caller);
        this.session = new SessionGroup(caller);
        this.task = new TaskGroup(caller);
        this.token = new TokenGroup(caller);
        this.usage = new UsageGroup(caller);
    }
}
