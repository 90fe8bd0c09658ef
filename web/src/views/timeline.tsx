// timeline.tsx: which runs there were, are and probably will be, project by project. What is expected is a
// lighter continuation: of a live run as long as such runs take, of a waiting task from when it should start.
import { effect } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get } from '../api';
import { useLoad, useThrottle } from '../load';
import { daemonNow, onEvents, now, status } from '../live';
import { Empty, Problem, Text, Tid } from '../parts/small';
import { go, refine, route } from '../route';
import { clock, many, line, money, short, span } from '../text';
import { colour, paint } from '../theme';
import type { TaskGraph, Page, ListedRun } from '../types';

const RANGES: [string, string, number][] = [
    ['15m', '15 minutes', 900e3],
    ['1h', 'an hour', 3600e3],
    ['6h', '6 hours', 6 * 3600e3],
    ['1d', 'a day', 24 * 3600e3],
    ['7d', 'a week', 7 * 24 * 3600e3],
];
const RUNS_MAX = 4000;
const ROW = 16;
const HEAD = 26;
const AXIS = 26;
const GUTTER = 14;
const ROWS_MAX = 80;

interface Bar {
    task: string;
    title: string | null;
    project: string;
    from: number;
    to: number;
    colour: string;
    /** Expected, not seen. */
    guess: boolean;
    ordered: number | null;
    run: ListedRun | null;
    row: number;
}

interface Lane {
    project: string;
    top: number;
    rows: number;
    bars: Bar[];
}

function outcomeColour(run: ListedRun): string {
    if (!run.ended_at) return 'running';
    if (run.outcome === 'ok') return 'done';
    if (run.outcome === 'canceled') return 'canceled';
    return run.outcome === 'limited' || run.outcome === 'unfinished' || run.outcome === 'afresh'
        ? 'held'
        : 'failed';
}

function bars(runs: ListedRun[], graph: TaskGraph | null, at: number): Bar[] {
    const all: Bar[] = [];
    const left = new Map((graph?.nodes ?? []).map((node) => [node.id, node.left_ms ?? 0]));
    for (const run of runs) {
        const from = run.started_at ?? run.ordered_at;
        if (!from) continue;
        const common = {
            task: run.task,
            title: run.title ?? null,
            project: run.project ?? '–',
            run,
            row: 0,
        };
        all.push({
            ...common,
            from,
            to: run.ended_at ?? at,
            colour: outcomeColour(run),
            guess: false,
            ordered: run.ordered_at,
        });
        const more = left.get(run.task) ?? 0;
        if (!run.ended_at && more > 0)
            all.push({
                ...common,
                from: at,
                to: at + more,
                colour: 'running',
                guess: true,
                ordered: null,
            });
    }
    for (const node of graph?.nodes ?? [])
        if (node.forecast && (node.state === 'ready' || node.state === 'waiting'))
            all.push({
                task: node.id,
                title: node.title,
                project: node.project,
                from: Math.max(at, node.forecast),
                to: Math.max(at, node.forecast) + Math.max(node.left_ms ?? 0, 1),
                colour: 'ready',
                guess: true,
                ordered: null,
                run: null,
                row: 0,
            });
    return all;
}

/** Each bar takes the first row that is free; a guess follows its run in the same one. */
function lanes(all: Bar[], order: string[]): Lane[] {
    const by = new Map<string, Bar[]>();
    for (const bar of all)
        (by.get(bar.project) ?? by.set(bar.project, []).get(bar.project))?.push(bar);
    const names = [...by.keys()].sort(
        (a, b) =>
            (order.indexOf(a) + 1 || 1e6) - (order.indexOf(b) + 1 || 1e6) || a.localeCompare(b),
    );
    let top = AXIS;
    return names.map((project) => {
        const list = (by.get(project) ?? []).sort(
            (a, b) => a.from - b.from || Number(a.guess) - Number(b.guess),
        );
        const free: number[] = [];
        const rowOf = new Map<string, number>();
        for (const bar of list) {
            const mine = bar.guess && bar.run ? rowOf.get(bar.task) : undefined;
            let row = mine ?? free.findIndex((end) => end <= bar.from);
            if (row < 0) row = free.length < ROWS_MAX ? free.length : ROWS_MAX - 1;
            free[row] = Math.max(free[row] ?? 0, bar.to);
            bar.row = row;
            if (bar.run && !bar.run.ended_at) rowOf.set(bar.task, row);
        }
        const lane = { project, top, rows: free.length, bars: list };
        top += HEAD + free.length * ROW + 10;
        return lane;
    });
}

function step(range: number, width: number): number {
    const steps = [
        5e3,
        15e3,
        60e3,
        300e3,
        600e3,
        1800e3,
        3600e3,
        2 * 3600e3,
        3 * 3600e3,
        6 * 3600e3,
        12 * 3600e3,
        24 * 3600e3,
        48 * 3600e3,
    ];
    return steps.find((one) => (one / range) * width > 70) ?? 48 * 3600e3;
}

function draw(canvas: HTMLCanvasElement, all: Lane[], from: number, to: number, at: number): void {
    const ctx = canvas.getContext('2d');
    if (!ctx) return;
    const ratio = devicePixelRatio || 1;
    const w = canvas.clientWidth;
    const h = canvas.clientHeight;
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = (time: number) => GUTTER + ((time - from) / (to - from)) * (w - GUTTER * 2);
    const font = getComputedStyle(document.body).fontFamily;
    ctx.font = `11px ${font}`;
    const by = step(to - from, w);
    const zone = new Date().getTimezoneOffset() * 60e3;
    for (let t = Math.ceil((from - zone) / by) * by + zone; t < to; t += by) {
        ctx.fillStyle = colour('line');
        ctx.fillRect(Math.round(x(t)), AXIS - 4, 1, h);
        ctx.fillStyle = colour('ink-3');
        const date = new Date(t);
        const text =
            by >= 24 * 3600e3
                ? date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
                : date.toLocaleTimeString('en-GB', {
                      hour: '2-digit',
                      minute: '2-digit',
                      ...(by < 60e3 ? { second: '2-digit' } : {}),
                  });
        ctx.fillText(text, Math.round(x(t)) + 3, 14);
    }
    for (const lane of all) {
        ctx.fillStyle = colour('ink');
        ctx.font = `600 12px ${font}`;
        ctx.fillText(line(lane.project), GUTTER, lane.top + 17);
        ctx.fillStyle = colour('line');
        ctx.fillRect(0, lane.top + HEAD - 3, w, 1);
        ctx.font = `10.5px ${font}`;
        for (const bar of lane.bars) {
            const x1 = Math.max(GUTTER, x(bar.from));
            const x2 = Math.min(w - GUTTER, x(bar.to));
            if (x2 < GUTTER || x1 > w) continue;
            const y = lane.top + HEAD + bar.row * ROW;
            const width = Math.max(2, x2 - x1);
            const shade = colour(bar.colour);
            if (bar.ordered && bar.ordered < bar.from) {
                ctx.fillStyle = colour('line-2');
                ctx.fillRect(
                    Math.max(GUTTER, x(bar.ordered)),
                    y + ROW / 2 - 1,
                    x1 - Math.max(GUTTER, x(bar.ordered)),
                    1,
                );
            }
            ctx.globalAlpha = bar.guess ? 0.22 : 0.9;
            ctx.fillStyle = shade;
            ctx.beginPath();
            ctx.roundRect(x1, y + 1, width, ROW - 3, Math.min(3, width / 2));
            ctx.fill();
            ctx.globalAlpha = 1;
            if (bar.guess) {
                ctx.strokeStyle = shade;
                ctx.lineWidth = 1;
                ctx.setLineDash([3, 3]);
                ctx.stroke();
                ctx.setLineDash([]);
            }
            // A failed end has a shape as well as a colour.
            if (bar.colour === 'failed' && width > 9) {
                ctx.strokeStyle = colour('bg');
                ctx.lineWidth = 1.5;
                ctx.beginPath();
                ctx.moveTo(x2 - 8, y + 4);
                ctx.lineTo(x2 - 3, y + ROW - 6);
                ctx.moveTo(x2 - 3, y + 4);
                ctx.lineTo(x2 - 8, y + ROW - 6);
                ctx.stroke();
            }
            if (width > 60) {
                ctx.save();
                ctx.beginPath();
                ctx.rect(x1, y, width - (bar.colour === 'failed' ? 12 : 4), ROW);
                ctx.clip();
                ctx.fillStyle = bar.guess ? colour('ink-2') : colour('bg');
                ctx.fillText(`${line(bar.task)}  ${line(bar.title)}`, x1 + 5, y + ROW - 5);
                ctx.restore();
            }
        }
    }
    ctx.fillStyle = colour('accent');
    ctx.fillRect(Math.round(x(at)), AXIS - 8, 1.5, h);
    ctx.font = `600 11px ${font}`;
    ctx.fillText('now', Math.round(x(at)) + 4, AXIS + 6);
}

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

function barAt(
    event: MouseEvent,
    el: HTMLCanvasElement | null,
    all: Lane[],
    from: number,
    to: number,
): Bar | null {
    if (!el) return null;
    const box = el.getBoundingClientRect();
    const time =
        from + ((event.clientX - box.left - GUTTER) / (box.width - GUTTER * 2)) * (to - from);
    const y = event.clientY - box.top;
    const slack = ((to - from) / box.width) * 3;
    for (const lane of all)
        if (y >= lane.top + HEAD && y < lane.top + HEAD + lane.rows * ROW)
            return (
                lane.bars.find(
                    (bar) =>
                        bar.row === Math.floor((y - lane.top - HEAD) / ROW) &&
                        time >= bar.from - slack &&
                        time <= bar.to + slack,
                ) ?? null
            );
    return null;
}

function Filters({
    asked,
    project,
    ahead,
    runs,
}: {
    asked: string;
    project: string;
    ahead: boolean;
    runs: number;
}) {
    return (
        <div class="filters">
            <div class="tabs" role="group" aria-label="range">
                {[['', 'what there is'] as const, ...RANGES].map(([key, label]) => (
                    <button
                        key={key}
                        class="quiet"
                        aria-pressed={asked === key}
                        onClick={() => refine({ range: key })}
                    >
                        {label}
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
            <label class="choice">
                <input
                    type="checkbox"
                    checked={ahead}
                    onChange={(event) => refine({ ahead: event.currentTarget.checked ? '' : 'no' })}
                />{' '}
                forecast
            </label>
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
                left: `${Math.min(x + 14, room - 280)}px`,
                top: `${y + 16}px`,
            }}
        >
            <p>
                <span class="id">{line(bar.task)}</span> <Text of={bar.title} />
            </p>
            <p class="faint num">
                {bar.guess
                    ? `expected ${clock(bar.from)} to ${clock(bar.to)}`
                    : `${clock(bar.from, true)}, ${span(bar.to - bar.from)}, ${bar.run?.outcome ?? 'goes on'}`}
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
        <details>
            <summary>as a table</summary>
            <div class="scroll-x">
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
                                    {run.started_at
                                        ? span((run.ended_at ?? at) - run.started_at)
                                        : '–'}
                                </td>
                                <td>{line(run.outcome) || 'goes on'}</td>
                                <td class="r num">
                                    {short((run.tokens_in ?? 0) + (run.tokens_out ?? 0))}
                                </td>
                                <td class="r num">{money(run.cost_usd)}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
        </details>
    );
}

export function Timeline() {
    const asked = route.value.query.get('range') ?? '';
    const wide = RANGES.find(([key]) => key === asked)?.[2] ?? 24 * 3600e3;
    const project = route.value.query.get('project') ?? '';
    const ahead = route.value.query.get('ahead') !== 'no';
    const loaded = useLoad(`runs ${wide}`, (signal) => readRuns(daemonNow() - wide, signal));
    const graph = useLoad(`forecast ${ahead}`, (signal) =>
        ahead ? get<TaskGraph>('/v1/graph', { limit: 2000 }, signal) : Promise.resolve(null),
    );
    const again = useThrottle(() => {
        loaded.reload();
        if (ahead) graph.reload();
    }, 2000);
    useEffect(
        () =>
            onEvents((events) => {
                if (events.some((event) => event.kind.startsWith('run.'))) again();
            }),
        [asked, ahead],
    );
    const canvas = useRef<HTMLCanvasElement>(null);
    const [tip, setTip] = useState<{ bar: Bar; x: number; y: number } | null>(null);
    const order = (status.value?.projects ?? []).map((one) => one.name).join(' ');
    const at = now.value - (now.value % 2000);
    // The default: everything, up to a day.
    const first = asked
        ? 0
        : Math.min(at, ...(loaded.data ?? []).map((run) => run.started_at ?? at));
    const range = asked ? wide : Math.min(wide, Math.max(60e3, (at - first) * 1.04));
    const from = at - range;
    const all = useMemo(() => {
        const list = bars(loaded.data ?? [], graph.data ?? null, at).filter(
            (bar) => (!project || bar.project === project) && bar.to > from,
        );
        return lanes(list, order.split(' '));
    }, [loaded.data, graph.data, at, project, order]);
    const last = Math.max(0, ...all.flatMap((lane) => lane.bars.map((bar) => bar.to)));
    const to = Math.max(at + range * 0.04, Math.min(last + range * 0.02, at + range * 0.7));
    const bottom = all[all.length - 1];
    const height = bottom ? bottom.top + HEAD + bottom.rows * ROW + 14 : 120;
    const redraw = () => {
        if (canvas.current) draw(canvas.current, all, from, to, at);
    };
    useEffect(redraw);
    useEffect(
        () =>
            effect(() => {
                void paint.value;
                redraw();
            }),
        [all],
    );
    useEffect(() => {
        if (!canvas.current) return;
        const observer = new ResizeObserver(redraw);
        observer.observe(canvas.current);
        return () => observer.disconnect();
    }, [all]);
    const find = (event: MouseEvent) => barAt(event, canvas.current, all, from, to);
    const runs = (loaded.data ?? []).filter((run) => !project || run.project === project);
    return (
        <div class="view timeline">
            <h1 class="sr">Timeline</h1>
            <Filters asked={asked} project={project} ahead={ahead} runs={runs.length} />
            <Problem error={loaded.error} absent={loaded.absent} />
            {loaded.data && all.length === 0 && (
                <Empty command="sluice add -- make test">Nothing has run in this time.</Empty>
            )}
            {all.length > 0 && (
                <div class="timeline-box">
                    <canvas
                        ref={canvas}
                        style={{ height: `${height}px` }}
                        role="img"
                        aria-label={`${runs.length} runs; the table below has the same`}
                        onMouseMove={(event) => {
                            const bar = find(event);
                            setTip(bar ? { bar, x: event.offsetX, y: event.offsetY } : null);
                        }}
                        onMouseLeave={() => setTip(null)}
                        onClick={(event) => {
                            const bar = find(event);
                            if (bar) go('task', bar.task);
                        }}
                    />
                    {tip && <Tip {...tip} room={canvas.current?.clientWidth ?? 400} />}
                </div>
            )}
            {runs.length > 0 && <RunTable runs={runs} at={at} />}
        </div>
    );
}
