// types.ts: what the daemon answers (docs/api.md), as far as the page reads it. What may be absent in an
// older or newer daemon is optional: the page shows what is there.

export type State =
    | 'draft' | 'waiting' | 'ready' | 'starting' | 'running' | 'held'
    | 'done' | 'failed' | 'canceled' | 'invalidated';

export interface LiveRun {
    attempt: number;
    phase: string | null;
    started_at: number | null;
    tokens_in: number | null;
    tokens_out: number | null;
    doing?: string | null;
    agent?: string | null;
    /** The agent of the task, while another one works for it; and until when it is closed, if anybody knows. */
    instead_of?: string | null;
    instead_until?: number | null;
    lends_to?: string | null;
    borrows_from?: string | null;
}

export interface Task {
    id: string;
    project: string;
    kind: string | null;
    title: string | null;
    state: State;
    hold: string | null;
    /** Of a task that is held because its agent was denied a tool; `allow`: the rule that would permit it. */
    denied?: { agent: string; tool: string | null; argument: string | null; count: number; allow: string | null };
    reason: string | null;
    priority: number;
    agent: string | null;
    parent: string | null;
    group: string | null;
    created_at: number;
    changed_at: number;
    iteration: number;
    attempt: number;
    not_before: number | null;
    gate: string | null;
    why: string | null;
    score: number | null;
    run: LiveRun | null;
    /** What a finished task has changed in its worktree; null: not known. */
    changes?: { commits: number; files: number; insertions: number; deletions: number } | null;
    /** What its run has printed last; in the state at a glance alone. */
    last_line?: string | null;
}

export interface Run {
    task: string;
    title?: string | null;
    project?: string;
    attempt: number;
    iteration: number;
    phase: string | null;
    agent: string | null;
    instead_of?: string | null;
    host?: string | null;
    folder?: string | null;
    ordered_at: number | null;
    started_at: number | null;
    ended_at: number | null;
    outcome: string | null;
    how?: string | null;
    exit_code?: number | null;
    signal?: string | number | null;
    tokens_in: number | null;
    tokens_out: number | null;
    tokens_cached: number | null;
    cost_usd?: number | null;
    cost?: number | null;
    applied?: unknown;
    message?: string | null;
    session?: string | null;
    resumed?: boolean;
    model?: string | null;
}

export interface Iteration {
    iteration: number;
    folder: string;
    feedback: boolean;
    artifacts: string[];
}

export interface Amount {
    used: number | null;
    budget: number | null;
    reserved?: number;
}

export interface Window {
    tokens: Amount;
    usd: Amount;
    unknown_cost_runs: number;
    open: boolean;
    opens_at: number | null;
}

export interface TaskBudget {
    run: { tokens: Amount; usd: Amount };
    task: { tokens: Amount; usd: Amount };
    handed: { tokens: number; usd: number };
    unknown_cost_runs: number;
    on_budget: 'hold' | 'stop';
    project: Window | null;
    all: Window | null;
}

export interface TaskFull extends Task {
    budget?: TaskBudget;
    spec: Record<string, unknown>;
    context: Record<string, unknown> | null;
    depends_on: string[];
    counters: Record<string, number>;
    works_in: Record<string, unknown> | string | null;
    has_diff?: boolean;
    delivery?: { message: string; removed: string | null; merged: boolean } | null;
    runs: Run[];
    iterations: Iteration[];
    external_id: string | null;
}

export interface DiffFile {
    path: string;
    old_path: string | null;
    added: number;
    removed: number;
    binary: boolean;
}

export interface Diff {
    iteration: number | null;
    branch: string | null;
    base: string;
    head: string | null;
    files: DiffFile[];
    patch: string | null;
    truncated: boolean;
}

export interface Gate {
    gate: string;
    open: boolean;
    reason: string | null;
    opens_at: number | null;
    since: number | null;
}

export interface Why {
    id: string;
    state: State;
    first: string | null;
    summary: string | null;
    gates: Gate[];
    queue_position: number | null;
    forecast: { starts_at: number | null; ahead: number | null; text: string } | null;
}

export interface Limiter {
    name: string;
    state: string;
    opens_at: number | null;
    hits: number;
    used: number;
    cap: number | null;
}

export interface Project {
    name: string;
    weight: number;
    max_running: number | null;
    paused: boolean;
    paused_by: string | null;
    tokens: number;
    share: number;
    target: number;
    ready: number;
    running: number;
    active: boolean;
    counts?: Partial<Record<State, number>>;
}

export interface Status {
    version: string;
    pid: number;
    started_at: number;
    now?: number;
    home: string;
    preset: string;
    paused: boolean;
    paused_by: string | null;
    paused_at: number | null;
    counts: Partial<Record<State, number>>;
    ready: number;
    blocked_dependencies: number;
    waiting_by_gate: { gate: string; count: number; examples: string[]; why?: string | null }[];
    partial: boolean;
    running: Task[];
    alerts: { key: string; text: string; since: number; task: string | null }[];
    limits: { key: string; used: number; cap: number | null }[];
    limiters: Limiter[];
    budgets: {
        key: string; used: number; reserved: number; cap: number | null;
        usd_used?: number; usd_reserved?: number; usd_cap?: number | null;
        unknown_cost_runs?: number; open?: boolean; opens_at?: number | null;
    }[];
    projects: Project[];
    host: { disk_free_mb: number | null; memory_free_mb: number | null; load: number | null };
    store: { bytes: number; log_bytes: number; full: boolean };
    events: Event[];
}

export interface Event {
    seq: number;
    at: number;
    kind: string;
    task: string | null;
    attempt: number | null;
    data: Record<string, unknown> | null;
}

export interface Page<T> {
    items: T[];
    next: string | null;
}

export interface Message {
    msg_id: string;
    at: number;
    type: string;
    project: string;
    task: string | null;
    run: string | null;
    body: string;
}

export interface Agent {
    name: string;
    slots: number | null;
    used: number;
    limiter: string | null;
    failover?: string[];
    closed_until: number | null;
}

export interface GraphNode {
    id: string;
    title: string | null;
    project: string;
    kind: string | null;
    state: State;
    gate: string | null;
    parent: string | null;
    started_at: number | null;
    forecast: number | null;
    left_ms?: number;
    critical?: boolean;
}

export interface GraphEdge {
    from: string;
    to: string;
    type: 'dependency' | 'parent';
    critical?: boolean;
}

export interface GraphAnswer {
    nodes: GraphNode[];
    edges: GraphEdge[];
    critical_ms?: number;
    truncated: boolean;
}

export interface UsageSum {
    at: number;
    name: string | null;
    runs: number;
    ok?: number;
    busy_ms?: number;
    tokens_in: number;
    tokens_out: number;
    tokens_cached: number;
    unknown_tokens?: number;
    cost_usd: number | null;
    unknown_cost: number;
}

export interface Usage extends Page<UsageSum> {
    since: number;
    until: number;
    targets?: { name: string; weight: number; target: number }[];
}

export interface Outlook {
    finish_at: number;
    makespan_ms: number;
    tasks: number;
    others: number;
    complete: boolean;
    projects: { name: string; tasks: number; finish_at: number }[];
    points: [number, number][];
}

export interface WhatIfAnswer {
    at: number;
    now: Outlook;
    then: Outlook;
}
