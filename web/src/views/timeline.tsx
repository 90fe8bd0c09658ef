// timeline.tsx: which runs there were, are and probably will be: one row for each task, or each project. What is expected
// comes from the daemon's forecast, the same as on the page of a task and in what-if.
import { effect } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get } from '../api';
import { useKeys } from '../keys';
import { useLoad, useThrottle } from '../load';
import { onEvents, now, status } from '../live';
import { Mark } from '../parts/mark';
import { Empty, Problem, Text, Tid } from '../parts/small';
import { go, refine, route } from '../route';
import { clock, many, line, money, short, span } from '../text';
import { paint } from '../theme';
import { barAt, draw, gutterOf, timeAt, type Window } from '../timeline/draw';
import { useHand } from '../timeline/hand';
import { bandsOf, barsOf, heightOf, type Band, type Bar } from '../timeline/rows';
import type { ForecastRun, ListedRun, Page, PlanForecast, State } from '../types';
import { zone } from '../zone';

const HOUR = 3600e3;
const RANGES: [string, string, number][] = [
    ['15m', '15 min', 900e3],
    ['1h', '1 h', HOUR],
    ['6h', '6 h', 6 * HOUR],
    ['1d', '1 day', 24 * HOUR],
    ['7d', '7 days', 7 * 24 * HOUR],
];
const RUNS_MAX = 4000;
const EXPECTED_MAX = 1000;
const LEAST = 10e3;
const MOST = 90 * 24 * HOUR;
const READ_EVERY_MS = 2000;

async function readRuns(since: number, signal: AbortSignal): Promise<ListedRun[]> {
    const all: ListedRun[] = [];
    for (let after: string | null = ''; after !== null && all.length < RUNS_MAX;) {
        const page: Page<ListedRun> = await get<Page<ListedRun>>(
            '/v1/runs',
            { since, limit: 1000, after },
            signal,
        );
        all.push(...page.items);
        after = page.next;
    }
    return all;
}

type Mode = 'task' | 'project';

function Filters({
    project,
    ahead,
    mode,
    runs,
    asList,
    setAsList,
    show,
}: {
    project: string;
    ahead: boolean;
    mode: Mode;
    runs: number;
    asList: boolean;
    setAsList: (asList: boolean) => void;
    /** The length of the past that is shown, in ms; 0: everything. */
    show: (range: number) => void;
}) {
    return (
        <div class="filters">
            <div class="tabs" role="group" aria-label="rows">
                {(['project', 'task'] as const).map((one) => (
                    <button
                        key={one}
                        class="quiet"
                        aria-pressed={mode === one}
                        onClick={() => refine({ rows: one === 'project' ? '' : one })}
                    >
                        by {one}
                    </button>
                ))}
            </div>
            <select
                aria-label="project"
                value={project}
                onChange={(event) => refine({ project: event.currentTarget.value })}
            >
                <option value="">all projects</option>
                {(status.value?.projects ?? []).map((one) => (
                    <option key={one.name} value={one.name}>
                        {line(one.name)}
                    </option>
                ))}
            </select>
            <div class="ranges" role="group" aria-label="range">
                {RANGES.map(([key, label, range]) => (
                    <button key={key} class="quiet" onClick={() => show(range)}>
                        {label}
                    </button>
                ))}
                <button class="quiet" title="show all (0)" onClick={() => show(0)}>
                    fit
                </button>
            </div>
            <label class="choice">
                <input
                    type="checkbox"
                    checked={ahead}
                    onChange={(event) => refine({ ahead: event.currentTarget.checked ? '' : 'no' })}
                />{' '}
                expected
            </label>
            <button class="quiet" aria-pressed={asList} onClick={() => setAsList(!asList)}>
                as a table
            </button>
            <span class="faint num">
                {many(runs, 'run')}
                {runs >= RUNS_MAX ? ', the latest' : ''}
            </span>
        </div>
    );
}

function Tip({ bar, x, y, room }: { bar: Bar; x: number; y: number; room: number }) {
    return (
        <div
            class="tip"
            style={{
                left: `${Math.max(4, Math.min(x + 14, room - 280))}px`,
                top: `${y + 16}px`,
            }}
        >
            <p>
                <span class="id">{line(bar.task)}</span> <Text of={bar.title} />
            </p>
            <p class="faint num">
                {bar.run
                    ? `${clock(bar.from, true)}, ${span(bar.to - bar.from)}, ${bar.run.outcome ?? 'still running'}`
                    : `expected ${clock(bar.from)} to ${clock(bar.to)}`}
            </p>
            {bar.run && (
                <p class="faint num">
                    {line(bar.run.agent) || 'command'}, attempt {bar.run.attempt},{' '}
                    {short((bar.run.tokens_in ?? 0) + (bar.run.tokens_out ?? 0))} tokens,{' '}
                    {money(bar.run.cost_usd)}
                </p>
            )}
        </div>
    );
}

function RunTable({ runs, at }: { runs: ListedRun[]; at: number }) {
    return (
        <div class="scroll-x run-table" tabIndex={0} role="region" aria-label="runs">
            <table class="table">
                <thead>
                    <tr>
                        <th>task</th>
                        <th>title</th>
                        <th>project</th>
                        <th>agent</th>
                        <th>began</th>
                        <th class="r">took</th>
                        <th>ended</th>
                        <th class="r">tokens</th>
                        <th class="r">cost</th>
                    </tr>
                </thead>
                <tbody>
                    {runs.slice(0, 300).map((run) => (
                        <tr key={`${run.task} ${run.attempt}`}>
                            <td>
                                <Tid id={run.task} />
                            </td>
                            <td>
                                <Text of={run.title} />
                            </td>
                            <td>{line(run.project)}</td>
                            <td>{line(run.agent)}</td>
                            <td class="num">{clock(run.started_at, true)}</td>
                            <td class="r num">
                                {run.started_at ? span((run.ended_at ?? at) - run.started_at) : '–'}
                            </td>
                            <td>{line(run.outcome) || 'running'}</td>
                            <td class="r num">
                                {short((run.tokens_in ?? 0) + (run.tokens_out ?? 0))}
                            </td>
                            <td class="r num">{money(run.cost_usd)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function Key() {
    const states: [State, string][] = [
        ['failed', 'failed'],
        ['held', 'rate limited'],
        ['canceled', 'canceled'],
    ];
    return (
        <div class="legend">
            <span>
                <i class="bar-key solid" /> finished
            </span>
            <span>
                <i class="bar-key live" /> running
            </span>
            <span>
                <i class="bar-key expected" /> expected
            </span>
            {states.map(([state, text]) => (
                <span key={state}>
                    <i class={`bar-key hatch s-${state}`} /> <Mark state={state} label={false} />{' '}
                    {text}
                </span>
            ))}
            <span>
                <i class="bar-key dots" /> waits
            </span>
        </div>
    );
}

/** What is read: runs that ended since `since`, and the forecast. */
function useRuns(since: number, ahead: boolean, project: string) {
    const runs = useLoad(`runs ${since}`, (signal) => readRuns(since, signal));
    const expected = useLoad(`forecast ${ahead} ${project}`, (signal) =>
        ahead
            ? get<PlanForecast>('/v1/forecast', { limit: EXPECTED_MAX, project }, signal)
            : Promise.resolve(null),
    );
    const again = useThrottle(() => {
        runs.reload();
        if (ahead) expected.reload();
    }, READ_EVERY_MS);
    useEffect(
        () =>
            onEvents((events) => {
                if (events.some((event) => /^run\.|^task\.added/.test(event.kind))) again();
            }),
        [since, ahead, project],
    );
    return { runs, expected };
}

/** The part of the time that is shown. While now is in it, it moves with now. */
function useWindow() {
    const at = now.value - (now.value % 1000);
    const [shown, setShown] = useState<{ window: Window; at: number; asked: boolean }>({
        window: { from: at - HOUR, to: at + 0.3 * HOUR },
        at,
        asked: false,
    });
    const { window } = shown;
    const by = window.from <= shown.at && shown.at <= window.to ? at - shown.at : 0;
    const moved = { from: window.from + by, to: window.to + by };
    return {
        at,
        window: moved,
        asked: shown.asked,
        setWindow: (from: number, to: number, asked = true) => {
            const range = Math.min(MOST, Math.max(LEAST, to - from));
            setShown({ window: { from, to: from + range }, at, asked });
        },
    };
}

/** Everything that is known: from the first run to the last expected end, up to a day back. */
function everything(bands: Band[], at: number): Window {
    const bars = bands.flatMap((band) => band.rows.flatMap((row) => row.bars));
    const from = Math.max(
        at - 24 * HOUR,
        Math.min(at - 60e3, ...bars.map((bar) => bar.since ?? bar.from)),
    );
    const last = Math.max(at + 60e3, ...bars.map((bar) => bar.to));
    // What is expected takes at most as much room as what was.
    const to = Math.min(last, at + Math.max(2 * (at - from), 120e3));
    const room = (to - from) * 0.02;
    return { from: from - room, to: to + room };
}

/** So far back runs are read: in steps, so that a small move reads nothing. */
function sinceOf(from: number, at: number): number {
    const back = at - from;
    const known = [24 * HOUR, 7 * 24 * HOUR, 30 * 24 * HOUR, 120 * 24 * HOUR];
    const range = known.find((one) => back <= one) ?? 400 * 24 * HOUR;
    return Math.floor(at / HOUR) * HOUR - range;
}

/** Pans and zooms, also by keys. */
function useMoves(
    { window, setWindow }: ReturnType<typeof useWindow>,
    width: () => number,
    box: { current: HTMLDivElement | null },
    fit: () => void,
    moved: () => void,
) {
    const perPixel = () =>
        (window.to - window.from) / Math.max(1, width() - gutterOf(width()) - 12);
    const pan = (dx: number, dy: number) => {
        if (box.current && dy) box.current.scrollTop -= dy;
        if (dx) setWindow(window.from - dx * perPixel(), window.to - dx * perPixel());
        moved();
    };
    const zoom = (factor: number, x?: number) => {
        const middle = x === undefined ? (window.from + window.to) / 2 : timeAt(x, window, width());
        const range = Math.min(MOST, Math.max(LEAST, (window.to - window.from) / factor));
        const part = (middle - window.from) / (window.to - window.from);
        setWindow(middle - part * range, middle + (1 - part) * range);
        moved();
    };
    const page = 0.2 * (window.to - window.from);
    useKeys((key) => {
        if (key === '+' || key === '=') zoom(1.25);
        else if (key === '-') zoom(0.8);
        else if (key === 'ArrowLeft') setWindow(window.from - page, window.to - page);
        else if (key === 'ArrowRight') setWindow(window.from + page, window.to + page);
        else if (key === 'ArrowUp') pan(0, 60);
        else if (key === 'ArrowDown') pan(0, -60);
        else if (key === '0') fit();
        else return false;
        return true;
    });
    return { pan, zoom };
}

function Drawing({
    bands,
    mode,
    view,
    fit,
}: {
    /** What is in sight. */
    bands: Band[];
    mode: Mode;
    view: ReturnType<typeof useWindow>;
    /** Shows everything. */
    fit: () => void;
}) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const box = useRef<HTMLDivElement>(null);
    const [tip, setTip] = useState<{ bar: Bar; x: number; y: number } | null>(null);
    const { at, window, setWindow } = view;
    const redraw = () => {
        const el = canvas.current;
        const top = box.current?.scrollTop ?? 0;
        if (el) draw(el, bands, window, { top, now: at, byTask: mode === 'task' });
    };
    const latest = useRef(redraw);
    latest.current = redraw;
    useEffect(redraw);
    useEffect(() => {
        if (!canvas.current) return;
        const observer = new ResizeObserver(() => latest.current());
        observer.observe(canvas.current);
        const off = effect(() => {
            void paint.value;
            void zone();
            latest.current();
        });
        return () => {
            observer.disconnect();
            off();
        };
    }, []);
    const width = () => canvas.current?.clientWidth ?? 1;
    const { pan, zoom } = useMoves(view, width, box, fit, () => setTip(null));
    const at_ = (x: number, y: number) =>
        barAt(bands, window, { x, y, top: box.current?.scrollTop ?? 0, width: width() });
    useHand(
        canvas,
        {
            pan,
            zoom,
            over: (x, y) => {
                const bar = at_(x, y);
                setTip(bar ? { bar, x, y } : null);
            },
            leave: () => setTip(null),
            click: (x, y) => {
                const bar = at_(x, y);
                if (bar) go('task', bar.task);
            },
        },
        true,
    );
    const runs = bands.reduce((sum, band) => sum + band.runs, 0);
    const seen = at >= window.from && at <= window.to;
    const range = window.to - window.from;
    return (
        <div class="timeline-box">
            <div
                ref={box}
                class="timeline-rows"
                tabIndex={0}
                role="region"
                aria-label="timeline"
                onScroll={redraw}
            >
                <div style={{ height: `${heightOf(bands)}px` }}>
                    <canvas
                        ref={canvas}
                        role="img"
                        aria-label={`${runs} runs from ${clock(window.from)} to ${clock(window.to)}; the table has the same`}
                    />
                </div>
            </div>
            <div class="zoom" role="group" aria-label="zoom">
                {!seen && (
                    <button onClick={() => setWindow(at - 0.7 * range, at + 0.3 * range)}>
                        now
                    </button>
                )}
                <button onClick={() => zoom(1.5)} aria-label="zoom in" title="zoom in (+)">
                    +
                </button>
                <button onClick={() => zoom(1 / 1.5)} aria-label="zoom out" title="zoom out (−)">
                    −
                </button>
            </div>
            {tip && <Tip {...tip} room={width()} />}
        </div>
    );
}

export function Timeline() {
    const { query } = route.value;
    const project = query.get('project') ?? '';
    const ahead = query.get('ahead') !== 'no';
    const mode: Mode = query.get('rows') === 'task' ? 'task' : 'project';
    const [asList, setAsList] = useState(false);
    const view = useWindow();
    const { at, window, asked, setWindow } = view;
    const { runs: loaded, expected } = useRuns(sinceOf(window.from, at), ahead, project);
    const runs = (loaded.data ?? []).filter((run) => !project || run.project === project);
    const order = (status.value?.projects ?? []).map((one) => one.name).join(' ');
    const bands = useMemo(() => {
        const items: ForecastRun[] = (expected.data?.items ?? []).filter(
            (one) => !project || one.project === project,
        );
        const states = new Map(items.map((one) => [one.task, one.state]));
        return bandsOf(barsOf(runs, items, at), order.split(' '), mode, states);
    }, [loaded.data, expected.data, at, project, order, mode]);
    const inSight = useMemo(
        () =>
            bandsOf(
                bands.flatMap((band) =>
                    band.rows.flatMap((row) =>
                        row.bars.filter(
                            (bar) => bar.to >= window.from && (bar.since ?? bar.from) <= window.to,
                        ),
                    ),
                ),
                order.split(' '),
                mode,
                new Map(
                    bands.flatMap((band) =>
                        band.rows.flatMap((row) =>
                            row.task && row.state ? [[row.task, row.state]] : [],
                        ),
                    ),
                ),
            ),
        [bands, window.from, window.to],
    );
    const fit = () => {
        const { from, to } = everything(bands, at);
        setWindow(from, to);
    };
    const ready = !!loaded.data && (!ahead || !expected.loading);
    // At first everything; from then on the hand decides.
    useEffect(() => {
        if (asked || !ready || bands.length === 0) return;
        fit();
    }, [ready, bands.length > 0]);
    return (
        <div class="view board timeline">
            <h1 class="sr">Timeline</h1>
            <Filters
                project={project}
                ahead={ahead}
                mode={mode}
                runs={runs.length}
                asList={asList}
                setAsList={setAsList}
                show={(range) => (range ? setWindow(at - range, at + range * 0.3) : fit())}
            />
            <Problem error={loaded.error} absent={loaded.absent} />
            {loaded.data && bands.length === 0 && (
                <Empty command="sluice add -- make test">Nothing has run in this time.</Empty>
            )}
            {bands.length > 0 &&
                (asList ? (
                    <RunTable runs={runs} at={at} />
                ) : (
                    <>
                        <Drawing bands={inSight} mode={mode} view={view} fit={fit} />
                        <Key />
                    </>
                ))}
        </div>
    );
}
