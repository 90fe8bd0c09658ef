// graph.tsx: what waits for what, and what belongs to what; the chain that takes longest stands out. New tasks find a place
// beside the others, and the view stays where it is: only the buttons, the search and the hand move it.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get } from '../api';
import { useCamera, usePointer } from '../graph/camera';
import type { Picture } from '../graph/draw';
import type { LayoutAnswer } from '../graph/layout';
import { countStates, sceneOf, type Folding, type Scene, type SceneNode } from '../graph/scene';
import { useKeys } from '../keys';
import { useLoad, useThrottle } from '../load';
import { onEvents, status } from '../live';
import { Mark } from '../parts/mark';
import { Countdown, Empty, Problem, Text, Tid } from '../parts/small';
import { VList } from '../parts/vlist';
import { go, href, refine, route } from '../route';
import { many, gateWords, line, span } from '../text';
import type { TaskGraph, GraphNode, State } from '../types';

const NODES_MAX = 5000;

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

interface LaidOut {
    key: string;
    scene: Scene;
    layout: LayoutAnswer;
}

/** Where the nodes of a scene were before; nothing, when another view is laid out. */
function placesOf(scene: Scene, before: LaidOut | null): Float32Array | undefined {
    if (!before) return undefined;
    const places = new Float32Array(scene.nodes.length * 2).fill(NaN);
    const known = new Map(before.scene.nodes.map((node, n) => [node.id, n]));
    scene.nodes.forEach((node, n) => {
        const was = known.get(node.id);
        if (was === undefined) return;
        places[n * 2] = before.layout.at[was * 2] ?? NaN;
        places[n * 2 + 1] = before.layout.at[was * 2 + 1] ?? NaN;
    });
    return places;
}

/** Lays a scene out in a worker. `key`: what is looked at; only another one, or `again`, begins from nothing. */
function useLayout(scene: Scene | null, key: string): LaidOut | null {
    const [answer, setAnswer] = useState<LaidOut | null>(null);
    const worker = useRef<Worker | null>(null);
    const number = useRef(0);
    const latest = useRef<LaidOut | null>(null);
    useEffect(() => {
        worker.current = new Worker(new URL('../graph/layout.worker.ts', import.meta.url), {
            type: 'module',
        });
        return () => worker.current?.terminate();
    }, []);
    // States change often, the shape seldom: only another shape is laid out again.
    useEffect(() => {
        if (!scene || !worker.current) return;
        const { from, to } = scene.edges;
        const edges = new Uint32Array(from.length * 2);
        from.forEach((n, i) => {
            edges[i * 2] = n;
            edges[i * 2 + 1] = to[i] ?? 0;
        });
        const projects = [...new Set(scene.nodes.map((node) => node.project))].sort();
        const mine = ++number.current;
        worker.current.onmessage = (event: MessageEvent<{ n: number; answer: LayoutAnswer }>) => {
            if (event.data.n !== mine) return;
            latest.current = { key, scene, layout: event.data.answer };
            setAnswer(latest.current);
        };
        worker.current.postMessage({
            n: mine,
            ask: {
                count: scene.nodes.length,
                edges,
                kinds: Uint32Array.from(scene.nodes, (node) => projects.indexOf(node.project)),
                previous: latest.current?.key === key ? placesOf(scene, latest.current) : undefined,
            },
        });
    }, [scene?.shape, key]);
    if (!answer || !scene) return null;
    // The same nodes in other states: the old layout, and the new colours.
    return answer.scene.shape === scene.shape ? { ...answer, scene } : answer;
}

function Zoom({ view, tidy }: { view: ReturnType<typeof useCamera>; tidy: () => void }) {
    const { zoom, fitAll } = view;
    return (
        <div class="zoom" role="group" aria-label="zoom">
            <button onClick={() => zoom(1.25)} aria-label="zoom in" title="zoom in (+)">
                +
            </button>
            <button onClick={() => zoom(0.8)} aria-label="zoom out" title="zoom out (−)">
                −
            </button>
            <button onClick={fitAll} title="show all (0)">
                fit
            </button>
            <button onClick={tidy} title="lay everything out again">
                tidy up
            </button>
        </div>
    );
}

function Canvas({
    picture,
    viewed,
    choose,
    fold,
    tidy,
}: {
    picture: Picture;
    /** What is looked at: the camera begins again only for another one. */
    viewed: string;
    choose: (n: number) => void;
    fold: (name: string) => void;
    tidy: () => void;
}) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const shown = useRef(picture);
    const drawn = useRef<{ viewed: string; picture: Picture } | null>(null);
    shown.current = picture;
    const view = useCamera(canvas, shown);
    const { redraw, fitAll, begin, reveal, zoom, pan, follow } = view;
    const open = (n: number) => {
        const node = shown.current.scene.nodes[n];
        if (node?.folded && node.group !== null) fold(node.group);
        else if (node) go('task', node.id);
    };
    usePointer(canvas, view, choose, open);
    useEffect(() => {
        const before = drawn.current;
        if (!before || before.viewed !== viewed) begin();
        else if (before.picture.layout !== picture.layout) follow(before.picture, picture);
        drawn.current = { viewed, picture };
        redraw();
    }, [picture, viewed]);
    useEffect(() => {
        if (picture.hit >= 0) reveal(picture.hit);
    }, [picture.hit]);
    useKeys((key) => {
        const by = 80;
        if (key === '+' || key === '=') zoom(1.25);
        else if (key === '-') zoom(0.8);
        else if (key === '0') fitAll();
        else if (key === 'ArrowLeft') pan(by, 0);
        else if (key === 'ArrowRight') pan(-by, 0);
        else if (key === 'ArrowUp') pan(0, by);
        else if (key === 'ArrowDown') pan(0, -by);
        else if (key === 'Enter' && shown.current.chosen >= 0) open(shown.current.chosen);
        else return false;
        return true;
    });
    const { nodes, edges } = picture.scene;
    return (
        <div class="graph-canvas">
            <canvas
                ref={canvas}
                role="img"
                aria-label={`graph of ${nodes.length} nodes and ${edges.from.length} connections; the list view has the same`}
            />
            <Zoom view={view} tidy={tidy} />
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
    show: string;
    fold: Folding;
}

const FOLDINGS: Folding[] = ['none', 'groups', 'projects'];

function filtersOf(query: URLSearchParams): GraphFilters {
    return {
        project: query.get('project') ?? '',
        root: query.get('root') ?? '',
        group: query.get('group') ?? '',
        every: query.get('state') === 'all',
        show: query.get('show') ?? 'both',
        fold: FOLDINGS.find((one) => one === query.get('fold')) ?? 'none',
    };
}

/** The query of GET /v1/graph: a root comes before a group, a group before a project. */
function askedFor({ project, root, group, every }: GraphFilters) {
    return {
        project: root || group ? '' : project,
        root,
        group: root ? '' : group,
        state: every ? 'all' : '',
        limit: NODES_MAX,
    };
}

/** The nodes whose tasks have this in their id or title, in reading order: from top to bottom. */
function find(shown: LaidOut | null, text: string): number[] | null {
    const low = text.trim().toLowerCase();
    if (!low || !shown) return null;
    const { at } = shown.layout;
    const fits = (node: GraphNode) =>
        node.id.toLowerCase().includes(low) || (node.title ?? '').toLowerCase().includes(low);
    return shown.scene.nodes
        .flatMap((node, n) => (node.tasks.some(fits) ? [n] : []))
        .sort(
            (a, b) =>
                (at[a * 2 + 1] ?? 0) - (at[b * 2 + 1] ?? 0) || (at[a * 2] ?? 0) - (at[b * 2] ?? 0),
        );
}

/** The search: Enter steps to the next hit, Shift+Enter to the one before. */
function Find({
    text,
    setText,
    hits,
    at,
    step,
}: {
    text: string;
    setText: (text: string) => void;
    hits: number[] | null;
    at: number;
    step: (by: number) => void;
}) {
    return (
        <span class="find">
            <input
                type="search"
                placeholder="find"
                aria-label="find in the graph"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
                onKeyDown={(event) => {
                    if (event.key !== 'Enter') return;
                    event.preventDefault();
                    step(event.shiftKey ? -1 : 1);
                }}
            />
            {hits && (
                <>
                    <span class="num faint" role="status">
                        {hits.length === 0
                            ? 'no match'
                            : at < 0
                              ? `${hits.length} hits`
                              : `${at + 1} of ${hits.length}`}
                    </span>
                    <button
                        class="quiet"
                        disabled={hits.length === 0}
                        onClick={() => step(-1)}
                        aria-label="previous hit"
                        title="previous hit (Shift+Enter)"
                    >
                        ↑
                    </button>
                    <button
                        class="quiet"
                        disabled={hits.length === 0}
                        onClick={() => step(1)}
                        aria-label="next hit"
                        title="next hit (Enter)"
                    >
                        ↓
                    </button>
                </>
            )}
        </span>
    );
}

function Filters({
    filters,
    graph,
    children,
    asList,
    setAsList,
}: {
    filters: GraphFilters;
    graph: TaskGraph | null;
    /** The search. */
    children: ComponentChildren;
    asList: boolean;
    setAsList: (asList: boolean) => void;
}) {
    const { project, root, every, show, fold } = filters;
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
                <option value="both">all connections</option>
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
                with finished tasks
            </label>
            <select
                aria-label="fold"
                value={fold}
                onChange={(event) => refine({ fold: event.currentTarget.value })}
            >
                <option value="none">nothing folded</option>
                <option value="groups">groups folded</option>
                <option value="projects">projects folded</option>
            </select>
            {children}
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

function PickedTask({ node }: { node: GraphNode }) {
    return (
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
                neighborhood
            </a>
        </p>
    );
}

function PickedGroup({ node }: { node: SceneNode }) {
    return (
        <p class="picked">
            <b>
                <Text of={node.title} />
            </b>
            <span class="faint">{many(node.tasks.length, 'task')}</span>
            {countStates(node.tasks).map(([state, count]) => (
                <span key={state} class="num">
                    <Mark state={state} label={false} /> {count} {state}
                </span>
            ))}
        </p>
    );
}

/** The chosen node with what can be folded neighborhood, or what the marks mean. */
function Legend({
    node,
    scene,
    fold,
}: {
    node: SceneNode | undefined;
    scene: Scene;
    fold: (name: string) => void;
}) {
    const task = node?.tasks[0];
    const group = node?.group ?? null;
    const canFold = group !== null && scene.groups.has(group);
    return (
        <div class="legend">
            {node?.folded ? (
                <PickedGroup node={node} />
            ) : task ? (
                <PickedTask node={task} />
            ) : (
                STATES.map((state) => (
                    <span key={state}>
                        <Mark state={state} label={false} /> {state}
                    </span>
                ))
            )}
            {canFold && (
                <button onClick={() => fold(group)}>
                    {node?.folded ? 'unfold' : `fold ${line(group)}`}
                </button>
            )}
            <span class="critical-key">longest chain</span>
        </div>
    );
}

/** Which groups are not as the selection says, for one kind of folding. */
function useFolding(fold: Folding): [Set<string>, (name: string) => void] {
    const [changed, setChanged] = useState<{ fold: Folding; names: Set<string> }>({
        fold,
        names: new Set(),
    });
    const names = useMemo(
        () => (changed.fold === fold ? changed.names : new Set<string>()),
        [changed, fold],
    );
    return [
        names,
        (name) => {
            const next = new Set(names);
            if (!next.delete(name)) next.add(name);
            setChanged({ fold, names: next });
        },
    ];
}

/** What was found, and where the search stands: at no hit before the first step. */
function useFind(shown: LaidOut | null) {
    const [text, setText] = useState('');
    const [task, setTask] = useState<string | null>(null);
    const hits = useMemo(() => find(shown, text), [shown?.scene, shown?.layout, text]);
    const hit = task === null ? -1 : (shown?.scene.index.get(task) ?? -1);
    const at = hits?.indexOf(hit) ?? -1;
    const goTo = (n: number | undefined) =>
        setTask(n === undefined ? null : (shown?.scene.nodes[n]?.tasks[0]?.id ?? null));
    return {
        text,
        hits,
        at,
        hit: at < 0 ? -1 : hit,
        setText: (next: string) => {
            setText(next);
            // The view moves to the first hit of what is typed.
            goTo(find(shown, next)?.[0]);
        },
        step: (by: number) => {
            if (!hits || hits.length === 0) return;
            const next = at < 0 ? (by > 0 ? 0 : hits.length - 1) : at + by;
            goTo(hits[(next + hits.length) % hits.length]);
        },
    };
}

function useGraph(ask: ReturnType<typeof askedFor>) {
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
    return loaded;
}

export function Graph() {
    const filters = filtersOf(route.value.query);
    const { root, show, fold } = filters;
    const [chosen, choose] = useState<string | null>(root || null);
    const [asList, setAsList] = useState(false);
    const [tidied, setTidied] = useState(0);
    const [changed, toggle] = useFolding(fold);
    const ask = askedFor(filters);
    const loaded = useGraph(ask);
    const graph = loaded.data;
    const scene = useMemo(
        () => (graph ? sceneOf(graph, fold, changed, show) : null),
        [graph, fold, changed, show],
    );
    const viewed = `${JSON.stringify(ask)} ${fold} ${show}`;
    const shown = useLayout(scene, `${viewed} ${tidied}`);
    const search = useFind(shown);
    const picked = chosen === null ? -1 : (shown?.scene.index.get(chosen) ?? -1);
    const picture = useMemo<Picture | null>(
        () =>
            shown && {
                scene: shown.scene,
                layout: shown.layout,
                found: search.hits && new Set(search.hits),
                hit: search.hit,
                chosen: picked,
            },
        [shown?.scene, shown?.layout, search.hits, search.hit, picked],
    );
    const list =
        shown && search.hits ? search.hits.flatMap((n) => shown.scene.nodes[n]?.tasks ?? []) : null;
    const nodes = list ?? graph?.nodes ?? [];
    return (
        <div class="view board graph">
            <h1 class="sr">Graph</h1>
            <Filters filters={filters} graph={graph} asList={asList} setAsList={setAsList}>
                <Find {...search} />
            </Filters>
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
                ) : picture ? (
                    <Canvas
                        picture={picture}
                        viewed={shown?.key ?? ''}
                        choose={(n) => choose(picture.scene.nodes[n]?.tasks[0]?.id ?? null)}
                        fold={toggle}
                        tidy={() => setTidied(tidied + 1)}
                    />
                ) : (
                    <div class="graph-canvas busy" aria-busy="true">
                        <p class="faint">computing the layout …</p>
                    </div>
                ))}
            {picture && !asList && (
                <Legend node={picture.scene.nodes[picked]} scene={picture.scene} fold={toggle} />
            )}
        </div>
    );
}
