// types.ts: what the daemon answers. Made from the shapes of its operations by `make docs`; do not edit.

/** A page of any list */
export interface Page<T> {
    items: T[];
    next: string | null;
}

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

/** How a state looks; `outline` and `solid` are SVG paths in a box of 16 x 16 */
export interface Look {
    outline: string;
    solid: string;
    heavy: boolean;
    dashed: boolean;
}

export const LOOKS: Record<State, Look> = {
    draft: { outline: 'M13 8A5 5 0 1 1 3 8A5 5 0 1 1 13 8z', solid: '', heavy: false, dashed: true },
    waiting: { outline: 'M13 8A5 5 0 1 1 3 8A5 5 0 1 1 13 8z', solid: '', heavy: false, dashed: false },
    ready: { outline: 'M13 8A5 5 0 1 1 3 8A5 5 0 1 1 13 8z', solid: 'M10.2 8A2.2 2.2 0 1 1 5.8 8A2.2 2.2 0 1 1 10.2 8z', heavy: false, dashed: false },
    starting: { outline: 'M13 8A5 5 0 1 1 3 8A5 5 0 1 1 13 8z', solid: 'M8 3a5 5 0 0 1 0 10z', heavy: false, dashed: false },
    running: { outline: 'M4.5 2.8v10.4L13 8z', solid: 'M4.5 2.8v10.4L13 8z', heavy: false, dashed: false },
    held: { outline: 'M5.5 3.5v9M10.5 3.5v9', solid: '', heavy: true, dashed: false },
    done: { outline: 'M3 8.6l3.3 3.3L13 4.8', solid: '', heavy: true, dashed: false },
    failed: { outline: 'M4 4l8 8M12 4l-8 8', solid: '', heavy: true, dashed: false },
    canceled: { outline: 'M13 8A5 5 0 1 1 3 8A5 5 0 1 1 13 8zM4.5 11.5l7-7', solid: '', heavy: false, dashed: false },
    invalidated: { outline: 'M3 9.5c1.7-3 3.3-3 5-1.5s3.3 1.5 5-1.5', solid: '', heavy: true, dashed: false },
};

/** opening hours: outside them nothing starts */
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

/** an agent */
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

/** which step a task is at, and why */
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

/** who has taken a task over */
export interface Taken {
    /** who */
    by: string | null;
    /** since when */
    at: number | null;
}

/** what an agent was not permitted to do */
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

/** a run that has not ended */
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

/** what a task has changed in its worktree */
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

/** a task, as lists show it */
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
    /** of a task that a person has taken over: it waits for its turn, runs at that person's terminal, or is held afterwards */
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

/** a question that a run asked */
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

/** a candidate of a task with `best_of` */
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

/** the candidates of a task, side by side */
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

/** a budget with which it can continue: twice what it has, or has used, as parameters of `task.budget` */
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

/** an item that waits for a person */
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

/** a setting */
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

/** an optional kernel feature */
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

/** a check */
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

/** the active daemon */
export interface ActiveDaemon {
    /** host and process */
    who: string | null;
    /** where it can be reached */
    addresses: string[];
}

/** something that happened */
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

/** number of waiting tasks */
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

/** waiting tasks with the same first closed gate */
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

/** a running task */
export interface RunningTask extends Task {
    /** the last line of its output; of an agent, of its transcript (`task.log`, `format=text`) */
    last_line: string | null;
}

/** a problem that needs a person */
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

/** a limit that has a cap or is used */
export interface Limit {
    /** which */
    key: string;
    /** slots in use */
    used: number;
    /** slots; null: no limit */
    cap: number | null;
}

/** how much of an account is used */
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

/** a provider account */
export interface Limiter {
    /** its name */
    name: string;
    /** `backoff`: the provider said wait; `probing`: one run goes first; `ramping`: slots come back step by step; `reserved`: no more than the reserve is left of a window; `off_hours`: outside its opening hours; `closed`: a person must act, then clear it */
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

/** the opening hours of a project, an agent or an account */
export interface NamedHours extends Hours {
    /** `project`, `agent` or `limiter` */
    scope: string;
    /** its name */
    name: string;
}

/** a budget, and what is used of it */
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

/** a folder of a project's pool */
export interface PoolPlace {
    /** the folder */
    path: string;
    /** the task that has it */
    task: string | null;
}

/** a project */
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
    counts: Record<State, number>;
    /** its pool */
    workspaces: PoolPlace[];
}

/** the machine of the daemon */
export interface HostLoad {
    /** free space, in MB */
    disk_free_mb: number | null;
    /** free memory, in MB */
    memory_free_mb: number | null;
    /** load of the last minute */
    load: number | null;
}

/** the store */
export interface Store {
    /** its size */
    bytes: number | null;
    /** of its log */
    log_bytes: number | null;
    /** new tasks are refused */
    full: boolean;
}

/** the TCP listener */
export interface Listener {
    /** its address */
    url: string | null;
    /** why there is no listener */
    problem: string | null;
}

/** the sandbox of this machine */
export interface Sandbox {
    /** what `auto` means */
    auto: string;
    /** why there is no sandbox */
    why: string | null;
}

/** a summary of the daemon and its queue */
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
    counts: Record<State, number>;
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

/** a start */
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

/** tasks that are followed together */
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

/** a task of a group */
export interface GroupTask {
    /** its id */
    id: string;
    /** its state */
    state: State;
}

/** a host that has runs */
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

/** a way of notification */
export interface Way {
    /** its setting */
    way: string;
    /** the sample was delivered */
    ok: boolean;
    /** the result, for people */
    text: string;
}

/** the gate at which tasks wait for the longest part of a forecast */
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

/** an expected run */
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

/** the tasks of a project in a forecast */
export interface OutlookProject {
    /** the project */
    name: string;
    /** how many of its tasks will be finished */
    tasks: number;
    /** when the last of them is */
    finish_at: number;
}

/** what would come of the queue */
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

/** a message on a bus */
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

/** messages, oldest first */
export interface MessagePage {
    /** this page */
    items: Message[];
    /** the cursor of the next page; null after the last */
    next: string | null;
    /** the cursor of what comes later; `m0` is that of the beginning */
    end: string;
}

/** a message that was posted */
export interface Posted {
    /** its id */
    msg_id: string;
}

/** a question without an answer */
export interface OpenQuestion extends Question {
    /** the title of the task */
    title: string | null;
}

/** tokens, or dollars */
export interface Amount {
    /** used so far; null: not known */
    used: number | null;
    /** reserved for live runs */
    reserved?: number;
    /** null: there is none */
    budget: number | null;
}

/** tokens and dollars */
export interface Spending {
    /** tokens */
    tokens: Amount;
    /** dollars */
    usd: Amount;
}

/** what a task has given to those below it */
export interface Handed {
    /** tokens */
    tokens: number;
    /** dollars */
    usd: number | null;
}

/** a budget over time */
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

/** what a task has used, and what it may use */
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

/** a run, as every list shows it */
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

/** a run with what its task is called */
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

/** due times that were skipped, one after the other */
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

/** a schedule */
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

/** a task that was to be added */
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

/** a task that was to be changed */
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

/** the tasks that were to be changed */
export interface Changed {
    /** in the order of the request */
    tasks: ChangedTask[];
    /** why it has no effect */
    warning?: string;
}

/** a file that differs */
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

/** a task in a graph */
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

/** an edge in a graph */
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

/** a task that was to be merged */
export interface MergedTask {
    /** its id */
    id: string;
    /** `merged`; `already`: the base branch had it; `empty`: it has changed nothing; `mergeable` (`dry_run`); `conflict`; `failed` */
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

/** a run of a task */
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

/** what limits further attempts */
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

/** where a task works */
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

/** a message that continues a finished task */
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

/** what became of the work of a task */
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

/** one of the last 10 iterations of a task */
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

/** everything about a task */
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

/** a task that was to be slung */
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

/** the end of a run */
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

/** a task that was waited for */
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

/** a condition for the start of a task */
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

/** an agent that a task may use */
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

/** when a task should start */
export interface Forecast {
    /** when */
    starts_at: number | null;
    /** how many start before it */
    ahead: number | null;
    /** goes on with "it should start …" */
    text: string;
}

/** a token for clients that come over TCP */
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

/** what ended runs have used */
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

/** what runs that ended in a span have used */
export interface UsageSum extends UsageTotal {
    /** when the span began */
    at: number;
    /** the project or agent; null: none */
    name: string | null;
}

/** what live runs have used so far; in no other sum */
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

/** what a project or agent has used in all spans */
export interface UsageName extends UsageTotal {
    /** the project or agent; null: none */
    name: string | null;
    /** its live runs */
    live: UsageLive;
}

/** the part of a project */
export interface UsageTarget {
    /** the project */
    name: string;
    /** its weight of today */
    weight: number;
    /** its part */
    target: number;
}

/** what a task has used */
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

/** what went wrong */
export interface Problem {
    /** a word for programs */
    code: string;
    /** a sentence for people */
    message: string;
    /** which entry of a list it is about, from 0 */
    index?: number;
}

/** nothing has happened */
export interface Error {
    /** what went wrong */
    error: Problem;
    /** with `deferred`: how many tasks wait, by kind */
    depths?: Record<string, number>;
    /** with `standby`: the addresses of the active daemon */
    active?: string[];
}

/** POST /v1/agents/{name}/clear */
export interface AgentClear {
    /** the agent */
    name: string;
    /** `open` */
    state: string;
    /** it was so before: nothing has changed */
    already: boolean;
}

/** GET /v1/agents */
export interface AgentList {
    /** this page */
    items: Agent[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

/** POST /v1/attention/dismiss */
export interface AttentionDismiss {
    /** number of tasks that changed */
    changed: number;
    /** whether they are dismissed now */
    dismissed: boolean;
}

/** GET /v1/attention */
export interface AttentionList {
    /** total number of items */
    total: number;
    /** number of items by kind */
    counts: Record<AttentionKind, number>;
    /** the most urgent items */
    items: Attention[];
}

/** GET /v1/config/{key} */
export interface ConfigGet {
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

/** GET /v1/config */
export interface ConfigList {
    /** the preset in force */
    preset: string;
    /** the configuration file */
    file: string | null;
    /** the settings */
    items: Setting[];
}

/** POST /v1/config/reload */
export interface ConfigReload {
    /** the file that was read */
    file: string;
    /** the preset in force */
    preset: string;
}

/** POST /v1/config */
export interface ConfigSet {
    /** the settings whose value has changed */
    changed: string[];
}

/** POST /v1/backup */
export interface DaemonBackup {
    /** the copy */
    path: string;
    /** its size */
    bytes: number;
    /** how long it took */
    took_ms: number;
}

/** GET /v1/doctor */
export interface DaemonDoctor {
    /** kernel features */
    features: Feature[];
    /** checks */
    checks: Check[];
}

/** GET /healthz */
export interface DaemonHealth {
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

/** POST /v1/pause */
export interface DaemonPause {
    /** dispatch is paused */
    paused: boolean;
    /** it was so before: nothing has changed */
    already: boolean;
    /** who paused it */
    paused_by: string | null;
    /** when */
    paused_at: number | null;
}

/** POST /v1/resume */
export interface DaemonResume {
    /** dispatch is paused */
    paused: boolean;
    /** it was so before: nothing has changed */
    already: boolean;
}

/** GET /v1/daemon */
export interface DaemonShow {
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

/** POST /v1/shutdown */
export interface DaemonStop {
    /** it is stopping */
    ok: boolean;
}

/** POST /v1/tick */
export interface DaemonTick {
    /** what starts in this tick */
    start: Start[];
}

/** GET /v1/events */
export interface EventList {
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

/** POST /v1/groups */
export interface GroupAdd {
    /** its name */
    name: string;
    /** it was so before: nothing has changed */
    already: boolean;
}

/** POST /v1/groups/{name}/close */
export interface GroupClose {
    /** its name */
    name: string;
    /** it is closed */
    closed: boolean;
    /** it was so before: nothing has changed */
    already: boolean;
}

/** GET /v1/groups */
export interface GroupList {
    /** this page */
    items: Group[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

/** GET /v1/groups/{name} */
export interface GroupShow extends Group {
    /** up to 1,000 of its tasks, newest first */
    tasks: GroupTask[];
}

/** POST /v1/hosts/{name}/forget */
export interface HostForget {
    /** the host */
    name: string;
    /** how many runs it had */
    runs: number;
    /** it was said before, and there were none */
    already: boolean;
}

/** GET /v1/hosts */
export interface HostList {
    /** this page */
    items: Host[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

/** POST /v1/limiters/{name}/clear */
export interface LimiterClear {
    /** the account */
    name: string;
    /** `open` */
    state: string;
    /** it was so before: nothing has changed */
    already: boolean;
}

/** GET /v1/limiters */
export interface LimiterList {
    /** this page */
    items: Limiter[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

/** POST /v1/notify/test */
export interface NotifyTest {
    /** the configured channels */
    ways: Way[];
}

/** GET /v1/forecast */
export interface PlanForecast {
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

/** POST /v1/whatif */
export interface PlanWhatif {
    /** when it was played */
    at: number;
    /** with the settings in force */
    now: Outlook;
    /** with those of `set` */
    then: Outlook;
}

/** POST /v1/projects/{name}/delete */
export interface ProjectDelete {
    /** the project */
    name: string;
    /** how many of its tasks were canceled */
    canceled: number;
}

/** GET /v1/projects */
export interface ProjectList {
    /** this page */
    items: Project[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

/** GET /v1/questions */
export interface QuestionList {
    /** this page */
    items: OpenQuestion[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

/** POST /v1/tasks/{id}/usage */
export interface RunCorrect {
    /** the task */
    id: string;
    /** the run */
    attempt: number;
    /** what the task has used now */
    budget: TaskBudget;
}

/** GET /v1/runs */
export interface RunList {
    /** this page */
    items: ListedRun[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

/** POST /v1/report */
export interface RunReport {
    /** it was taken */
    ok: boolean;
    /** why numbers were not booked */
    refused?: string;
}

/** GET /v1/schedules */
export interface ScheduleList {
    /** this page */
    items: Schedule[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

/** GET /v1/schedules/{name}/next */
export interface ScheduleNext {
    /** the schedule */
    name: string;
    /** whether it adds nothing */
    paused: boolean;
    /** its next due times, without jitter */
    due: number[];
}

/** POST /v1/schedules/{name}/remove */
export interface ScheduleRemove {
    /** the schedule */
    name: string;
}

/** POST /v1/schedules/{name}/run */
export interface ScheduleRun {
    /** the schedule */
    name: string;
    /** the tasks that were added */
    tasks: string[];
}

/** POST /v1/session/code */
export interface SessionCode {
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

/** POST /v1/session */
export interface SessionOpen {
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

/** POST /v1/tasks */
export interface TaskAdd {
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

/** POST /v1/tasks/{id}/question */
export interface TaskAsk {
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

/** POST /v1/tasks/{id}/budget */
export interface TaskBudget {
    /** the task */
    id: string;
    /** its state */
    state: State;
    /** why it is held */
    hold: Hold | null;
    /** its budget now */
    budget: TaskBudget;
}

/** GET /v1/tasks/{id}/diff */
export interface TaskDiff {
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

/** POST /v1/tasks/{id}/edit */
export interface TaskEdit {
    /** the task */
    id: string;
    /** its state */
    state: State;
    /** its version now */
    version: number;
    /** nothing had to be changed */
    already: boolean;
}

/** GET /v1/tasks/{id}/events */
export interface TaskEvents {
    /** this page */
    items: Event[];
    /** the cursor of the next page; null after the last */
    next: string | null;
    /** of a run: how many events were looked at */
    looked?: number;
    /** of a run: the last of those */
    to?: number;
}

/** GET /v1/graph */
export interface TaskGraph {
    /** tasks, by number */
    nodes: GraphNode[];
    /** what comes first, and what after it */
    edges: GraphEdge[];
    /** how long that chain is */
    critical_ms: number;
    /** there are more tasks, or more than five edges for each node that was asked for */
    truncated: boolean;
}

/** GET /v1/tasks */
export interface TaskList {
    /** this page */
    items: Task[];
    /** the cursor of the next page; null after the last */
    next: string | null;
    /** tasks of live runs that do not belong to this daemon; at most 50 */
    external?: string[];
}

/** POST /v1/tasks/merge */
export interface TaskMerge {
    /** in the order of the request */
    tasks: MergedTask[];
}

/** GET /v1/tasks/{id}/runs */
export interface TaskRuns {
    /** this page */
    items: Run[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

/** GET /v1/selection */
export interface TaskSelect {
    /** the tasks */
    ids: string[];
    /** what can be done to each of them */
    actions: string[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

/** POST /v1/tasks/sling */
export interface TaskSling {
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

/** POST /v1/tasks/{id}/take */
export interface TaskTake {
    /** the task */
    id: string;
    /** its state */
    state: State;
    /** how many runs it has had */
    attempt: number;
    /** it has a command of its own: a shell opens */
    command: boolean;
}

/** POST /v1/wait */
export interface TaskWait {
    /** in the order of the request */
    tasks: WaitedTask[];
    /** the time was over first */
    timed_out: boolean;
    /** how long it took */
    waited_ms: number;
}

/** GET /v1/tasks/{id}/why */
export interface TaskWhy {
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

/** POST /v1/tokens */
export interface TokenAdd extends Token {
    /** the token itself, shown here and never again */
    token: string;
}

/** GET /v1/tokens */
export interface TokenList {
    /** this page */
    items: Token[];
    /** the cursor of the next page; null after the last */
    next: string | null;
}

/** POST /v1/tokens/{name}/revoke */
export interface TokenRevoke {
    /** its id */
    id: string;
    /** its name */
    name: string;
}

/** GET /v1/usage */
export interface UsageList {
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

/** GET /v1/usage/tasks */
export interface UsageTasks {
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
