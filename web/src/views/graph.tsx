// graph.tsx: what waits for what, and what belongs to what; the chain that takes longest stands out.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get } from '../api';
import { useCamera, usePointer } from '../graph/camera';
import type { Picture } from '../graph/draw';
import type { LayoutAnswer } from '../graph/layout';
import { useKeys } from '../keys';
import { useLoad, useThrottle } from '../load';
import { onEvents, status } from '../live';
import { Mark } from '../parts/mark';
import { Countdown, Empty, Problem, Text, Tid } from '../parts/small';
import { VList } from '../parts/vlist';
import { go, href, refine, route } from '../route';
import { many, gateWords, line, span } from '../text';
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
    const shown = useRef(picture);
    shown.current = picture;
    const view = useCamera(canvas, shown);
    const { camera, redraw, fitAll, begin, zoom } = view;
    usePointer(canvas, view, choose, (id) => go('task', id));
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

// The events after which the graph is read again.
const CHANGES = new Set(['task.state', 'task.added', 'task.depends']);

interface GraphFilters {
    project: string;
    root: string;
    group: string;
    every: boolean;
    show: Picture['show'];
}

function filtersOf(query: URLSearchParams): GraphFilters {
    return {
        project: query.get('project') ?? '',
        root: query.get('root') ?? '',
        group: query.get('group') ?? '',
        every: query.get('state') === 'all',
        show: (query.get('show') ?? 'both') as Picture['show'],
    };
}

/** The query of GET /v1/graph: a root comes before a group, a group before a project. */
function askedFor({ project, root, group, every }: GraphFilters) {
    return {
        project: root || group ? '' : project,
        root,
        group: root ? '' : group,
        state: every ? 'all' : '',
    };
}

function find(graph: TaskGraph | null, text: string): Set<string> | null {
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
}

function Filters({
    filters,
    graph,
    text,
    setText,
    asList,
    setAsList,
}: {
    filters: GraphFilters;
    graph: TaskGraph | null;
    text: string;
    setText: (text: string) => void;
    asList: boolean;
    setAsList: (asList: boolean) => void;
}) {
    const { project, root, every, show } = filters;
    return (
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
    );
}

function NodeList({ nodes }: { nodes: GraphNode[] }) {
    return (
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
                        <span class="faint">{one.critical ? 'on the longest chain' : ''}</span>
                    </div>
                ) : null;
            }}
        />
    );
}

/** The chosen task, or what the marks mean. */
function Legend({ node }: { node: GraphNode | undefined }) {
    return (
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
    );
}

export function Graph() {
    const filters = filtersOf(route.value.query);
    const { root, show } = filters;
    const [text, setText] = useState('');
    const [chosen, choose] = useState<string | null>(root || null);
    const [asList, setAsList] = useState(false);
    const ask = askedFor(filters);
    const loaded = useLoad(`graph ${JSON.stringify(ask)}`, (signal) =>
        get<TaskGraph>('/v1/graph', ask, signal),
    );
    const again = useThrottle(loaded.reload, 1500);
    useEffect(
        () =>
            onEvents((events) => {
                if (events.some((event) => CHANGES.has(event.kind))) again();
            }),
        [],
    );
    const graph = loaded.data;
    const layout = useLayout(graph, show);
    const index = useMemo(
        () => new Map((graph?.nodes ?? []).map((node, n) => [node.id, n])),
        [graph],
    );
    const found = useMemo(() => find(graph, text), [graph, text]);
    const node = chosen && graph ? graph.nodes[index.get(chosen) ?? -1] : undefined;
    const nodes = graph?.nodes.filter((one) => !found || found.has(one.id)) ?? [];
    return (
        <div class="view board graph">
            <h1 class="sr">Graph</h1>
            <Filters
                filters={filters}
                graph={graph}
                text={text}
                setText={setText}
                asList={asList}
                setAsList={setAsList}
            />
            <Problem error={loaded.error} absent={loaded.absent && !root} />
            {graph && graph.nodes.length === 0 && (
                <Empty command="sluice add --after web-1 -- make test">
                    No tasks to draw here. Connect some:
                </Empty>
            )}
            {graph &&
                graph.nodes.length > 0 &&
                (asList ? (
                    <NodeList nodes={nodes} />
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
            {graph && graph.nodes.length > 0 && !asList && <Legend node={node} />}
        </div>
    );
}
