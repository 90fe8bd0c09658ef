// graph.tsx: what waits for what, and what belongs to what; the chain that takes longest stands out.
import { effect } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get } from '../api';
import { draw, type Camera, type Picture } from '../graph/draw';
import type { LayoutAnswer } from '../graph/layout';
import { NODE_H, NODE_W } from '../graph/size';
import { useKeys } from '../keys';
import { useLoad, useThrottle } from '../load';
import { hear, status } from '../live';
import { Mark } from '../parts/mark';
import { Countdown, Empty, Problem, Text, Tid } from '../parts/small';
import { VList } from '../parts/vlist';
import { go, href, refine, route } from '../route';
import { many, gateWords, line, span } from '../text';
import { paint } from '../theme';
import type { TaskGraph, GraphNode, State } from '../types';

const STATES: State[] = [
    'running',
    'ready',
    'waiting',
    'held',
    'done',
    'failed',
    'draft',
    'canceled',
];

const READABLE = 0.34;
const LEAST = 0.02;

function useLayout(graph: TaskGraph | null, show: string): LayoutAnswer | null {
    const [answer, setAnswer] = useState<{ shape: string; layout: LayoutAnswer } | null>(null);
    const worker = useRef<Worker | null>(null);
    const number = useRef(0);
    // States change often, the shape seldom: only another shape is laid out again.
    const shape = useMemo(
        () =>
            graph
                ? `${show} ${graph.nodes.map((node) => node.id).join(' ')} ${graph.edges.length}`
                : '',
        [graph, show],
    );
    useEffect(() => {
        worker.current = new Worker(new URL('../graph/layout.worker.ts', import.meta.url), {
            type: 'module',
        });
        return () => worker.current?.terminate();
    }, []);
    useEffect(() => {
        if (!graph || !worker.current) return;
        const index = new Map(graph.nodes.map((node, n) => [node.id, n]));
        const pairs: number[] = [];
        for (const edge of graph.edges) {
            const a = index.get(edge.from);
            const b = index.get(edge.to);
            if (
                a !== undefined &&
                b !== undefined &&
                a !== b &&
                (show === 'both' || show === edge.type)
            )
                pairs.push(a, b);
        }
        const mine = ++number.current;
        worker.current.onmessage = (event: MessageEvent<{ n: number; answer: LayoutAnswer }>) => {
            if (event.data.n === mine) setAnswer({ shape, layout: event.data.answer });
        };
        worker.current.postMessage({
            n: mine,
            ask: { count: graph.nodes.length, edges: Uint32Array.from(pairs) },
        });
    }, [shape]);
    return answer && answer.shape === shape ? answer.layout : null;
}

function Canvas({ picture, choose }: { picture: Picture; choose: (id: string | null) => void }) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const camera = useRef<Camera>({ x: 20, y: 20, scale: 1 });
    const frame = useRef(0);
    const least = useRef(LEAST);
    const shown = useRef(picture);
    shown.current = picture;
    const redraw = () => {
        if (!frame.current)
            frame.current = requestAnimationFrame(() => {
                frame.current = 0;
                if (canvas.current) draw(canvas.current, shown.current, camera.current);
            });
    };
    const fitAll = () => {
        const el = canvas.current;
        if (!el) return;
        const { width, height } = shown.current.layout;
        const scale = Math.min(
            1,
            Math.min(
                (el.clientWidth - 40) / Math.max(1, width),
                (el.clientHeight - 40) / Math.max(1, height),
            ),
        );
        least.current = Math.min(LEAST, scale);
        camera.current = {
            scale,
            x: Math.max(20, (el.clientWidth - width * scale) / 2),
            y: Math.max(20, (el.clientHeight - height * scale) / 2),
        };
        redraw();
    };
    /** All of it when that can be read; else what runs now, or the chain that takes longest. */
    const begin = () => {
        fitAll();
        const el = canvas.current;
        if (!el || camera.current.scale >= READABLE) return;
        const { nodes } = shown.current.graph;
        const wanted = [
            (n: GraphNode) => n.id === shown.current.chosen,
            (n: GraphNode) => n.state === 'running',
            (n: GraphNode) => !!n.critical && n.state !== 'done',
            () => true,
        ];
        const at = wanted.map((fits) => nodes.findIndex(fits)).find((n) => n >= 0) ?? 0;
        const { at: places } = shown.current.layout;
        // Not beyond the edges: there is nothing to see.
        const inside = (wanted: number, room: number, size: number) =>
            Math.min(20, Math.max(Math.min(20, room - size * 0.6 - 20), wanted));
        const { width, height } = shown.current.layout;
        camera.current = {
            scale: 0.6,
            x: inside(el.clientWidth / 3 - (places[at * 2] ?? 0) * 0.6, el.clientWidth, width),
            y: inside(
                el.clientHeight / 2 - (places[at * 2 + 1] ?? 0) * 0.6,
                el.clientHeight,
                height,
            ),
        };
        redraw();
    };
    const zoom = (factor: number, cx?: number, cy?: number) => {
        const el = canvas.current;
        if (!el) return;
        const x = cx ?? el.clientWidth / 2;
        const y = cy ?? el.clientHeight / 2;
        const old = camera.current;
        const scale = Math.min(2.5, Math.max(least.current, old.scale * factor));
        camera.current = {
            scale,
            x: x - ((x - old.x) * scale) / old.scale,
            y: y - ((y - old.y) * scale) / old.scale,
        };
        redraw();
    };
    const hit = (px: number, py: number): string | null => {
        const { layout, graph } = shown.current;
        const x = (px - camera.current.x) / camera.current.scale;
        const y = (py - camera.current.y) / camera.current.scale;
        for (let n = 0; n < graph.nodes.length; n++) {
            const nx = layout.at[n * 2] ?? 0;
            const ny = layout.at[n * 2 + 1] ?? 0;
            if (x >= nx && x <= nx + NODE_W && y >= ny && y <= ny + NODE_H)
                return graph.nodes[n]?.id ?? null;
        }
        return null;
    };
    useEffect(() => {
        const el = canvas.current;
        if (!el) return;
        const observer = new ResizeObserver(redraw);
        observer.observe(el);
        const off = effect(() => {
            void paint.value;
            redraw();
        });
        const fingers = new Map<number, { x: number; y: number }>();
        let moved = 0;
        const local = (event: PointerEvent | WheelEvent | MouseEvent) => {
            const box = el.getBoundingClientRect();
            return { x: event.clientX - box.left, y: event.clientY - box.top };
        };
        const down = (event: PointerEvent) => {
            el.setPointerCapture(event.pointerId);
            fingers.set(event.pointerId, local(event));
            moved = 0;
        };
        const move = (event: PointerEvent) => {
            const old = fingers.get(event.pointerId);
            if (!old) return;
            const here = local(event);
            const others = [...fingers]
                .filter(([id]) => id !== event.pointerId)
                .map(([, at]) => at);
            const other = others[0];
            if (other) {
                const before = Math.hypot(old.x - other.x, old.y - other.y);
                const after = Math.hypot(here.x - other.x, here.y - other.y);
                if (before > 0)
                    zoom(after / before, (here.x + other.x) / 2, (here.y + other.y) / 2);
            } else {
                camera.current = {
                    ...camera.current,
                    x: camera.current.x + here.x - old.x,
                    y: camera.current.y + here.y - old.y,
                };
            }
            moved += Math.abs(here.x - old.x) + Math.abs(here.y - old.y);
            fingers.set(event.pointerId, here);
            redraw();
        };
        const up = (event: PointerEvent) => {
            if (fingers.delete(event.pointerId) && moved < 5) {
                const { x, y } = local(event);
                choose(hit(x, y));
            }
        };
        const wheel = (event: WheelEvent) => {
            event.preventDefault();
            const { x, y } = local(event);
            if (event.ctrlKey || !event.shiftKey) zoom(Math.exp(-event.deltaY * 0.0015), x, y);
            else {
                camera.current = { ...camera.current, x: camera.current.x - event.deltaY };
                redraw();
            }
        };
        const twice = (event: MouseEvent) => {
            const { x, y } = local(event);
            const id = hit(x, y);
            if (id) go('task', id);
        };
        el.addEventListener('pointerdown', down);
        el.addEventListener('pointermove', move);
        el.addEventListener('pointerup', up);
        el.addEventListener('pointercancel', up);
        el.addEventListener('wheel', wheel, { passive: false });
        el.addEventListener('dblclick', twice);
        return () => {
            off();
            observer.disconnect();
            cancelAnimationFrame(frame.current);
            for (const [name, fn] of [
                ['pointerdown', down],
                ['pointermove', move],
                ['pointerup', up],
                ['pointercancel', up],
                ['wheel', wheel],
                ['dblclick', twice],
            ] as const)
                el.removeEventListener(name, fn as EventListener);
        };
    }, []);
    useEffect(begin, [picture.layout]);
    useEffect(redraw, [picture]);
    useKeys((key) => {
        const by = 80;
        if (key === '+' || key === '=') zoom(1.25);
        else if (key === '-') zoom(0.8);
        else if (key === '0') fitAll();
        else if (key === 'ArrowLeft') camera.current.x += by;
        else if (key === 'ArrowRight') camera.current.x -= by;
        else if (key === 'ArrowUp') camera.current.y += by;
        else if (key === 'ArrowDown') camera.current.y -= by;
        else if (key === 'Enter' && shown.current.chosen) go('task', shown.current.chosen);
        else return false;
        redraw();
        return true;
    });
    const { nodes, edges } = picture.graph;
    return (
        <div class="graph-canvas">
            <canvas
                ref={canvas}
                role="img"
                aria-label={`graph of ${nodes.length} tasks and ${edges.length} connections; the list view has the same`}
            />
            <div class="zoom" role="group" aria-label="zoom">
                <button onClick={() => zoom(1.25)} aria-label="closer" title="closer (+)">
                    +
                </button>
                <button
                    onClick={() => zoom(0.8)}
                    aria-label="further away"
                    title="further away (−)"
                >
                    −
                </button>
                <button onClick={fitAll} title="everything (0)">
                    all
                </button>
            </div>
        </div>
    );
}

export function Graph() {
    const query = route.value.query;
    const project = query.get('project') ?? '';
    const root = query.get('root') ?? '';
    const group = query.get('group') ?? '';
    const every = query.get('state') === 'all';
    const show = (query.get('show') ?? 'both') as Picture['show'];
    const [text, setText] = useState('');
    const [chosen, choose] = useState<string | null>(root || null);
    const [asList, setAsList] = useState(false);
    const ask = {
        project: root || group ? '' : project,
        root,
        group: root ? '' : group,
        state: every ? 'all' : '',
    };
    const loaded = useLoad(`graph ${JSON.stringify(ask)}`, (signal) =>
        get<TaskGraph>('/v1/graph', ask, signal),
    );
    const again = useThrottle(loaded.reload, 1500);
    useEffect(
        () =>
            hear((events) => {
                if (
                    events.some(
                        (event) =>
                            event.kind === 'task.state' ||
                            event.kind === 'task.added' ||
                            event.kind === 'task.depends',
                    )
                )
                    again();
            }),
        [],
    );
    const graph = loaded.data;
    const layout = useLayout(graph, show);
    const index = useMemo(
        () => new Map((graph?.nodes ?? []).map((node, n) => [node.id, n])),
        [graph],
    );
    const found = useMemo(() => {
        const low = text.trim().toLowerCase();
        if (!low || !graph) return null;
        return new Set(
            graph.nodes
                .filter(
                    (node) =>
                        node.id.toLowerCase().includes(low) ||
                        (node.title ?? '').toLowerCase().includes(low),
                )
                .map((node) => node.id),
        );
    }, [graph, text]);
    const node = chosen && graph ? graph.nodes[index.get(chosen) ?? -1] : undefined;
    const nodes = graph?.nodes.filter((one) => !found || found.has(one.id)) ?? [];
    return (
        <div class="view board graph">
            <h1 class="sr">Graph</h1>
            <div class="filters" role="search">
                <select
                    aria-label="project"
                    value={project}
                    onChange={(event) =>
                        refine({ project: event.currentTarget.value, root: '', group: '' })
                    }
                >
                    <option value="">all projects</option>
                    {(status.value?.projects ?? []).map((one) => (
                        <option key={one.name} value={one.name}>
                            {line(one.name)}
                        </option>
                    ))}
                </select>
                <select
                    class="long"
                    aria-label="connections"
                    value={show}
                    onChange={(event) => refine({ show: event.currentTarget.value })}
                >
                    <option value="both">dependencies and hierarchy</option>
                    <option value="dependency">dependencies</option>
                    <option value="parent">hierarchy</option>
                </select>
                <label class="choice">
                    <input
                        type="checkbox"
                        checked={every}
                        onChange={(event) =>
                            refine({ state: event.currentTarget.checked ? 'all' : '' })
                        }
                    />{' '}
                    finished too
                </label>
                <input
                    type="search"
                    placeholder="find"
                    aria-label="find in the graph"
                    value={text}
                    onInput={(event) => setText(event.currentTarget.value)}
                />
                {root && (
                    <button class="quiet" onClick={() => refine({ root: '' })}>
                        around {line(root)} ✕
                    </button>
                )}
                <button class="quiet" aria-pressed={asList} onClick={() => setAsList(!asList)}>
                    as a list
                </button>
                {graph && (
                    <span class="faint num">
                        {many(graph.nodes.length, 'task')}
                        {graph.truncated ? ', there are more: choose a project' : ''}
                        {graph.critical_ms && graph.critical_ms >= 1000
                            ? `; longest chain ${span(graph.critical_ms)}`
                            : ''}
                    </span>
                )}
            </div>
            <Problem error={loaded.error} absent={loaded.absent && !root} />
            {graph && graph.nodes.length === 0 && (
                <Empty command="sluice add --after web-1 -- make test">
                    No tasks to draw here. Connect some:
                </Empty>
            )}
            {graph &&
                graph.nodes.length > 0 &&
                (asList ? (
                    <VList
                        label="tasks of the graph"
                        class="graph-list"
                        count={nodes.length}
                        rowHeight={30}
                        row={(i) => {
                            const one = nodes[i];
                            return one ? (
                                <div key={one.id} class="event graph-row" role="listitem">
                                    <Mark state={one.state} />
                                    <Tid id={one.id} />
                                    <span class="one">
                                        <Text of={one.title} />
                                    </span>
                                    <span class="faint">
                                        {one.critical ? 'on the longest chain' : ''}
                                    </span>
                                </div>
                            ) : null;
                        }}
                    />
                ) : layout ? (
                    <Canvas
                        picture={{ graph, index, layout, found, chosen, show }}
                        choose={choose}
                    />
                ) : (
                    <div class="graph-canvas busy" aria-busy="true">
                        <p class="faint">laying it out …</p>
                    </div>
                ))}
            {graph && graph.nodes.length > 0 && !asList && (
                <div class="legend">
                    {node ? (
                        <p class="picked">
                            <Mark state={node.state} />
                            <Tid id={node.id} />
                            <a class="title" href={href('task', node.id)}>
                                <Text of={node.title} />
                            </a>
                            <span class="faint">
                                {node.state}
                                {node.gate ? `: ${line(gateWords(node.gate))}` : ''}
                                {node.forecast ? (
                                    <>
                                        , starts <Countdown to={node.forecast} />
                                    </>
                                ) : null}
                            </span>
                            <a class="button" href={href('graph', '', { root: node.id })}>
                                around it
                            </a>
                        </p>
                    ) : (
                        STATES.map((state) => (
                            <span key={state}>
                                <Mark state={state} label={false} /> {state}
                            </span>
                        ))
                    )}
                    <span class="critical-key">longest chain</span>
                </div>
            )}
        </div>
    );
}
