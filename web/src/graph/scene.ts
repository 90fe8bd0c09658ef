// scene.ts: what of a graph is drawn: tasks, and groups that are folded into one node.
import type { GraphNode, State, TaskGraph } from '../types';

export interface SceneNode {
    /** Of the task, or `group:NAME`. */
    id: string;
    title: string;
    project: string;
    state: State;
    critical: boolean;
    /** The tasks that it stands for: one, or those of a folded group. */
    tasks: GraphNode[];
    group: string | null;
    folded: boolean;
}

export interface Scene {
    nodes: SceneNode[];
    /** Where the node of each task is. */
    index: Map<string, number>;
    /** Pairs of nodes; edges with the same ends are one. */
    edges: { from: Uint32Array; to: Uint32Array; critical: Uint8Array; parent: Uint8Array };
    /** Groups with at least two tasks, and how many. */
    groups: Map<string, number>;
    /** Changes when nodes or edges do; states do not count. */
    shape: string;
}

export type Folding = 'none' | 'groups' | 'projects';

// What a folded group shows: what a person should look at comes first.
const URGENT: State[] = ['failed', 'running', 'starting', 'held', 'ready', 'waiting', 'draft'];

function stateOf(tasks: GraphNode[]): State {
    for (const state of URGENT) if (tasks.some((task) => task.state === state)) return state;
    return tasks[0]?.state ?? 'done';
}

const keyOf = (node: GraphNode, by: Folding) => (by === 'projects' ? node.project : node.group);

function single(node: GraphNode, group: string | null): SceneNode {
    return {
        id: node.id,
        title: node.title ?? '',
        project: node.project,
        state: node.state,
        critical: node.critical,
        tasks: [node],
        group,
        folded: false,
    };
}

function folded(name: string, tasks: GraphNode[]): SceneNode {
    return {
        id: `group:${name}`,
        title: name,
        project: tasks[0]?.project ?? '',
        state: stateOf(tasks),
        critical: tasks.some((task) => task.critical),
        tasks,
        group: name,
        folded: true,
    };
}

function members(graph: TaskGraph, by: Folding): Map<string, GraphNode[]> {
    const all = new Map<string, GraphNode[]>();
    for (const node of graph.nodes) {
        const key = keyOf(node, by);
        if (key === null) continue;
        const list = all.get(key);
        if (list) list.push(node);
        else all.set(key, [node]);
    }
    for (const [name, tasks] of all) if (tasks.length < 2) all.delete(name);
    return all;
}

function edgesOf(graph: TaskGraph, index: Map<string, number>, show: string): Scene['edges'] {
    const known = new Map<string, number>();
    const from: number[] = [];
    const to: number[] = [];
    const critical: number[] = [];
    const parent: number[] = [];
    for (const edge of graph.edges) {
        const [a, b] = [index.get(edge.from), index.get(edge.to)];
        if (a === undefined || b === undefined || a === b) continue;
        if (show !== 'both' && show !== edge.type) continue;
        const key = `${a} ${b} ${edge.type}`;
        const at = known.get(key);
        if (at !== undefined) {
            critical[at] = Number(!!critical[at] || edge.critical);
            continue;
        }
        known.set(key, from.length);
        from.push(a);
        to.push(b);
        critical.push(Number(edge.critical));
        parent.push(Number(edge.type === 'parent'));
    }
    return {
        from: Uint32Array.from(from),
        to: Uint32Array.from(to),
        critical: Uint8Array.from(critical),
        parent: Uint8Array.from(parent),
    };
}

/** `changed`: the groups that are not as `fold` says. */
export function sceneOf(
    graph: TaskGraph,
    fold: Folding,
    changed: Set<string>,
    show: string,
): Scene {
    const groups = members(graph, fold === 'projects' ? 'projects' : 'groups');
    const isFolded = (name: string) => groups.has(name) && (fold !== 'none') !== changed.has(name);
    const nodes: SceneNode[] = [];
    const index = new Map<string, number>();
    for (const node of graph.nodes) {
        const key = keyOf(node, fold === 'projects' ? 'projects' : 'groups');
        if (key === null || !isFolded(key)) {
            index.set(node.id, nodes.length);
            nodes.push(single(node, key));
            continue;
        }
        const tasks = groups.get(key) ?? [];
        if (tasks[0] === node) nodes.push(folded(key, tasks));
        index.set(node.id, index.get(tasks[0]?.id ?? '') ?? nodes.length - 1);
    }
    const edges = edgesOf(graph, index, show);
    return {
        nodes,
        index,
        edges,
        groups: new Map([...groups].map(([name, tasks]) => [name, tasks.length])),
        shape: `${show} ${nodes.map((node) => node.id).join(' ')} ${edges.from.join()} ${edges.to.join()}`,
    };
}

/** How many tasks of a folded group are in each state. */
export function countStates(tasks: GraphNode[]): [State, number][] {
    const counts = new Map<State, number>();
    for (const task of tasks) counts.set(task.state, (counts.get(task.state) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]);
}
