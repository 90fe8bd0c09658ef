// rows.ts: the runs of a timeline as bars in rows: one row for each task, or the runs of each project packed in few rows.
import type { ForecastRun, ListedRun, State } from '../types';

export interface Bar {
    task: string;
    title: string | null;
    project: string;
    from: number;
    to: number;
    /** How it is drawn: as the picture of a simulation draws it. */
    look: 'ok' | 'live' | 'failed' | 'limited' | 'canceled' | 'expected';
    /** When the run was ordered, if it waited for its start. */
    since: number | null;
    run: ListedRun | null;
}

export interface Row {
    /** With one row for each task: its task, and its state as far as it is known. */
    task: string | null;
    title: string | null;
    state: State | null;
    bars: Bar[];
}

export interface Band {
    project: string;
    top: number;
    rows: Row[];
    runs: number;
    live: number;
    failed: number;
}

export const ROW = 20;
export const BAR = 15;
export const HEAD = 26;
export const GAP = 10;
export const AXIS = 28;

function lookOf(run: ListedRun): Bar['look'] {
    if (!run.ended_at) return 'live';
    if (run.outcome === 'ok') return 'ok';
    if (run.outcome === 'canceled') return 'canceled';
    return run.outcome === 'limited' ? 'limited' : 'failed';
}

/** Runs that were and are, and those that the forecast expects. */
export function barsOf(runs: ListedRun[], expected: ForecastRun[], now: number): Bar[] {
    const all: Bar[] = [];
    for (const run of runs) {
        const from = run.started_at ?? run.ordered_at;
        if (!from) continue;
        all.push({
            task: run.task,
            title: run.title ?? null,
            project: run.project ?? '–',
            from,
            to: run.ended_at ?? now,
            look: lookOf(run),
            since: run.ordered_at && run.ordered_at < from ? run.ordered_at : null,
            run,
        });
    }
    for (const one of expected) {
        const from = Math.max(now, one.start);
        all.push({
            task: one.task,
            title: one.title,
            project: one.project ?? '–',
            from,
            to: Math.max(from, one.end),
            look: 'expected',
            since: null,
            run: null,
        });
    }
    return all;
}

/** Each bar takes the first row that is free; what is expected of a live run follows it. */
function packed(bars: Bar[]): Row[] {
    const rows: Row[] = [];
    const free: number[] = [];
    const rowOf = new Map<string, number>();
    for (const bar of bars) {
        let row = bar.look === 'expected' ? rowOf.get(bar.task) : undefined;
        row ??= free.findIndex((end) => end <= bar.from);
        if (row < 0) row = rows.push({ task: null, title: null, state: null, bars: [] }) - 1;
        free[row] = Math.max(free[row] ?? 0, bar.to);
        if (bar.look === 'live') {
            rowOf.set(bar.task, row);
            free[row] = Infinity; // until its expected part comes
        }
        if (bar.look === 'expected' && rowOf.get(bar.task) === row) free[row] = bar.to;
        rows[row]?.bars.push(bar);
    }
    return rows;
}

const STATE: Record<Bar['look'], State> = {
    ok: 'done',
    live: 'running',
    failed: 'failed',
    limited: 'held',
    canceled: 'canceled',
    expected: 'ready',
};

function byTask(bars: Bar[], states: Map<string, State>): Row[] {
    const rows = new Map<string, Row>();
    for (const bar of bars) {
        const row = rows.get(bar.task) ?? {
            task: bar.task,
            title: bar.title,
            state: null,
            bars: [],
        };
        if (bar.look !== 'expected' || row.state === null)
            row.state = bar.run?.state ?? states.get(bar.task) ?? STATE[bar.look];
        row.bars.push(bar);
        rows.set(bar.task, row);
    }
    return [...rows.values()];
}

/** Bands of projects, in the daemon's order. */
export function bandsOf(
    bars: Bar[],
    order: string[],
    mode: 'task' | 'project',
    states: Map<string, State>,
): Band[] {
    const by = new Map<string, Bar[]>();
    for (const bar of bars) {
        const list = by.get(bar.project);
        if (list) list.push(bar);
        else by.set(bar.project, [bar]);
    }
    const place = (name: string) => order.indexOf(name) + 1 || 1e6;
    const names = [...by.keys()].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
    let top = AXIS;
    return names.map((project) => {
        const list = (by.get(project) ?? []).sort(
            (a, b) =>
                a.from - b.from || Number(a.look === 'expected') - Number(b.look === 'expected'),
        );
        const rows = mode === 'task' ? byTask(list, states) : packed(list);
        const count = (look: Bar['look']) => list.filter((bar) => bar.look === look).length;
        const band = {
            project,
            top,
            rows,
            runs: list.length - count('expected'),
            live: count('live'),
            failed: count('failed'),
        };
        top += HEAD + rows.length * ROW + GAP;
        return band;
    });
}

export const heightOf = (bands: Band[]): number => {
    const last = bands[bands.length - 1];
    return last ? last.top + HEAD + last.rows.length * ROW + GAP : AXIS;
};
