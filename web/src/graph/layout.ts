// layout.ts: where the nodes of a graph go. Small graphs are laid out by dagre, which is beautiful and slow;
// large ones in layers of their own, ordered by the middle of their neighbours, which takes a moment for
// 20,000 nodes. What is connected with nothing stands in a block below.
import dagre from '@dagrejs/dagre';
import { NODE_H, NODE_W } from './size';

const GAP_X = 56;
const GAP_Y = 12;
const DAGRE_NODES = 500;
const DAGRE_EDGES = 900;
const SWEEPS = 6;

export interface LayoutAsk {
    count: number;
    /** Pairs of places in the list of nodes: from, to. */
    edges: Uint32Array;
}

export interface LayoutAnswer {
    /** Left upper corners: x, y for each node. */
    at: Float32Array;
    width: number;
    height: number;
}

function withDagre(nodes: number[], edges: Uint32Array, at: Float32Array): void {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: 'LR', nodesep: GAP_Y, ranksep: GAP_X, marginx: 0, marginy: 0 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const n of nodes) graph.setNode(String(n), { width: NODE_W, height: NODE_H });
    for (let i = 0; i < edges.length; i += 2) graph.setEdge(String(edges[i]), String(edges[i + 1]));
    dagre.layout(graph);
    for (const n of nodes) {
        const node = graph.node(String(n));
        at[n * 2] = node.x - NODE_W / 2;
        at[n * 2 + 1] = node.y - NODE_H / 2;
    }
}

/** The longest way to each node; what lies on a circle stays where it was reached. */
function ranks(count: number, edges: Uint32Array, after: number[][]): Int32Array {
    const rank = new Int32Array(count);
    const before = new Int32Array(count);
    for (let i = 1; i < edges.length; i += 2)
        before[edges[i] ?? 0] = (before[edges[i] ?? 0] ?? 0) + 1;
    const queue: number[] = [];
    for (let n = 0; n < count; n++) if (before[n] === 0) queue.push(n);
    for (let head = 0; head < queue.length; head++) {
        const n = queue[head] ?? 0;
        for (const m of after[n] ?? []) {
            rank[m] = Math.max(rank[m] ?? 0, (rank[n] ?? 0) + 1);
            before[m] = (before[m] ?? 0) - 1;
            if (before[m] === 0) queue.push(m);
        }
    }
    return rank;
}

function inLayers(nodes: number[], count: number, edges: Uint32Array, at: Float32Array): void {
    const after: number[][] = Array.from({ length: count }, () => []);
    const ahead: number[][] = Array.from({ length: count }, () => []);
    for (let i = 0; i < edges.length; i += 2) {
        after[edges[i] ?? 0]?.push(edges[i + 1] ?? 0);
        ahead[edges[i + 1] ?? 0]?.push(edges[i] ?? 0);
    }
    const rank = ranks(count, edges, after);
    const layers: number[][] = [];
    for (const n of nodes) (layers[rank[n] ?? 0] ??= []).push(n);
    const place = new Float32Array(count);
    const settle = () => {
        for (const layer of layers)
            layer?.forEach((n, i) => {
                place[n] = i - layer.length / 2;
            });
    };
    settle();
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
        const down = sweep % 2 === 0;
        const order = down ? layers : [...layers].reverse();
        for (const layer of order) {
            if (!layer) continue;
            const middle = new Map<number, number>();
            for (const n of layer) {
                const near = (down ? ahead : after)[n] ?? [];
                middle.set(
                    n,
                    near.length
                        ? near.reduce((sum, m) => sum + (place[m] ?? 0), 0) / near.length
                        : (place[n] ?? 0),
                );
            }
            layer.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0));
            layer.forEach((n, i) => {
                place[n] = i - layer.length / 2;
            });
        }
    }
    settle();
    layers.forEach((layer, r) =>
        layer?.forEach((n) => {
            at[n * 2] = r * (NODE_W + GAP_X);
            at[n * 2 + 1] = (place[n] ?? 0) * (NODE_H + GAP_Y);
        }),
    );
}

export function layout(ask: LayoutAsk): LayoutAnswer {
    const { count, edges } = ask;
    const at = new Float32Array(count * 2);
    const touched = new Uint8Array(count);
    for (const n of edges) touched[n] = 1;
    const joined: number[] = [];
    const alone: number[] = [];
    for (let n = 0; n < count; n++) (touched[n] ? joined : alone).push(n);
    if (joined.length > 0) {
        if (joined.length <= DAGRE_NODES && edges.length / 2 <= DAGRE_EDGES)
            withDagre(joined, edges, at);
        else inLayers(joined, count, edges, at);
    }
    let top = Infinity,
        left = Infinity,
        bottom = -Infinity,
        right = -Infinity;
    for (const n of joined) {
        left = Math.min(left, at[n * 2] ?? 0);
        top = Math.min(top, at[n * 2 + 1] ?? 0);
        right = Math.max(right, (at[n * 2] ?? 0) + NODE_W);
        bottom = Math.max(bottom, (at[n * 2 + 1] ?? 0) + NODE_H);
    }
    if (joined.length === 0) left = top = right = bottom = 0;
    for (const n of joined) {
        at[n * 2] = (at[n * 2] ?? 0) - left;
        at[n * 2 + 1] = (at[n * 2 + 1] ?? 0) - top;
    }
    let width = right - left;
    let height = bottom - top;
    if (alone.length > 0) {
        const across = Math.max(
            4,
            Math.round(width / (NODE_W + 16)),
            Math.round(Math.sqrt(alone.length / 3)),
        );
        const from = joined.length > 0 ? height + 48 : 0;
        alone.forEach((n, i) => {
            at[n * 2] = (i % across) * (NODE_W + 16);
            at[n * 2 + 1] = from + Math.floor(i / across) * (NODE_H + GAP_Y);
        });
        width = Math.max(width, Math.min(across, alone.length) * (NODE_W + 16));
        height = from + Math.ceil(alone.length / across) * (NODE_H + GAP_Y);
    }
    return { at, width, height };
}
