// layout.ts: where the nodes of a graph go. Each connected part is laid out on its own: small ones by dagre, which is
// beautiful and slow; large ones in layers, ordered by the middle of their neighbours, which takes a moment for 20,000
// nodes. The parts stand beside each other on shelves; tasks without connections in one block for each project.
//
// With the positions of an earlier layout, what has not changed stays where it is: only new parts and those that grew
// look for a place.
import dagre from '@dagrejs/dagre';
import { NODE_H, NODE_W } from './size';

const GAP_X = 56;
const GAP_Y = 12;
const GAP_ALONE = 16;
const GAP_PARTS = 48; // room for the name of a part
const DAGRE_NODES = 300;
const DAGRE_EDGES = 600;
const SWEEPS = 6;
const ASPECT = 2.4;

export interface LayoutAsk {
    count: number;
    /** Pairs of places in the list of nodes: from, to. */
    edges: Uint32Array;
    /** For each node a number; unconnected nodes with the same number stand together. */
    kinds?: Uint32Array;
    /** x, y for each node of an earlier layout; NaN: it is new. */
    previous?: Float32Array;
}

/** A part of the graph: its place, its first node and how many it has. */
export interface Part {
    x: number;
    y: number;
    width: number;
    height: number;
    first: number;
    count: number;
    /** Connected; else a block of single tasks. */
    joined: boolean;
}

export interface LayoutAnswer {
    /** Left upper corners: x, y for each node. */
    at: Float32Array;
    left: number;
    top: number;
    width: number;
    height: number;
    parts: Part[];
}

/* --- one connected part ------------------------------------------------------------------------- */

function withDagre(nodes: number[], edges: number[], at: Float32Array): void {
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

interface Near {
    after: number[][];
    ahead: number[][];
}

/** The longest way to each node; what lies on a circle stays where it was reached. */
function ranks(nodes: number[], near: Near): Map<number, number> {
    const rank = new Map<number, number>();
    const missing = new Map<number, number>();
    const queue: number[] = [];
    for (const n of nodes) {
        rank.set(n, 0);
        missing.set(n, near.ahead[n]?.length ?? 0);
        if (!missing.get(n)) queue.push(n);
    }
    for (let head = 0; head < queue.length; head++) {
        const n = queue[head] ?? 0;
        for (const m of near.after[n] ?? []) {
            rank.set(m, Math.max(rank.get(m) ?? 0, (rank.get(n) ?? 0) + 1));
            const left = (missing.get(m) ?? 0) - 1;
            missing.set(m, left);
            if (left === 0) queue.push(m);
        }
    }
    return rank;
}

function inLayers(nodes: number[], near: Near, at: Float32Array): void {
    const rank = ranks(nodes, near);
    const layers: number[][] = [];
    for (const n of nodes) (layers[rank.get(n) ?? 0] ??= []).push(n);
    const place = new Map<number, number>();
    const settle = (layer: number[] | undefined) =>
        layer?.forEach((n, i) => place.set(n, i - layer.length / 2));
    layers.forEach(settle);
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
        const down = sweep % 2 === 0;
        for (const layer of down ? layers : [...layers].reverse()) {
            if (!layer) continue;
            const middle = new Map<number, number>();
            for (const n of layer) {
                const others = (down ? near.ahead : near.after)[n] ?? [];
                middle.set(
                    n,
                    others.length
                        ? others.reduce((sum, m) => sum + (place.get(m) ?? 0), 0) / others.length
                        : (place.get(n) ?? 0),
                );
            }
            layer.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0));
            settle(layer);
        }
    }
    layers.forEach((layer, r) =>
        layer?.forEach((n) => {
            at[n * 2] = r * (NODE_W + GAP_X);
            at[n * 2 + 1] = (place.get(n) ?? 0) * (NODE_H + GAP_Y);
        }),
    );
}

/* --- the parts ---------------------------------------------------------------------------------- */

interface Block {
    nodes: number[];
    /** Positions of its nodes, from its own left upper corner. */
    at: Float32Array;
    width: number;
    height: number;
    joined: boolean;
}

interface Box {
    x: number;
    y: number;
    width: number;
    height: number;
}

function components(count: number, edges: Uint32Array): number[][] {
    const root = new Uint32Array(count).map((_, n) => n);
    const find = (n: number): number => {
        let top = n;
        while ((root[top] ?? top) !== top) top = root[top] ?? top;
        while ((root[n] ?? n) !== top) [root[n], n] = [top, root[n] ?? top];
        return top;
    };
    for (let i = 0; i < edges.length; i += 2) {
        const [a, b] = [find(edges[i] ?? 0), find(edges[i + 1] ?? 0)];
        root[Math.max(a, b)] = Math.min(a, b);
    }
    const lists = new Map<number, number[]>();
    for (let n = 0; n < count; n++) {
        const top = find(n);
        const list = lists.get(top);
        if (list) list.push(n);
        else lists.set(top, [n]);
    }
    return [...lists.values()];
}

function toOrigin(nodes: number[], all: Float32Array, joined: boolean): Block {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const n of nodes) {
        left = Math.min(left, all[n * 2] ?? 0);
        top = Math.min(top, all[n * 2 + 1] ?? 0);
        right = Math.max(right, (all[n * 2] ?? 0) + NODE_W);
        bottom = Math.max(bottom, (all[n * 2 + 1] ?? 0) + NODE_H);
    }
    const at = new Float32Array(nodes.length * 2);
    nodes.forEach((n, i) => {
        at[i * 2] = (all[n * 2] ?? 0) - left;
        at[i * 2 + 1] = (all[n * 2 + 1] ?? 0) - top;
    });
    return { nodes, at, width: right - left, height: bottom - top, joined };
}

function joinedBlock(nodes: number[], near: Near, all: Float32Array): Block {
    const edges: number[] = [];
    for (const n of nodes) for (const m of near.after[n] ?? []) edges.push(n, m);
    if (nodes.length <= DAGRE_NODES && edges.length / 2 <= DAGRE_EDGES)
        withDagre(nodes, edges, all);
    else inLayers(nodes, near, all);
    return toOrigin(nodes, all, true);
}

function aloneBlock(nodes: number[]): Block {
    const [w, h] = [NODE_W + GAP_ALONE, NODE_H + GAP_Y];
    const across = Math.max(3, Math.round(Math.sqrt((nodes.length * h * ASPECT) / w)));
    const at = new Float32Array(nodes.length * 2);
    nodes.forEach((_, i) => {
        at[i * 2] = (i % across) * w;
        at[i * 2 + 1] = Math.floor(i / across) * h;
    });
    return {
        nodes,
        at,
        width: Math.min(across, nodes.length) * w - GAP_ALONE,
        height: Math.ceil(nodes.length / across) * h - GAP_Y,
        joined: false,
    };
}

/** Puts boxes side by side, and below each other when a shelf is full. */
class Shelves {
    private x = 0;
    private tall = 0;
    constructor(
        private readonly width: number,
        private y = 0,
    ) {}

    place(width: number, height: number): Box {
        if (this.x > 0 && this.x + width > this.width) {
            this.y += this.tall + GAP_PARTS;
            this.x = this.tall = 0;
        }
        const box = { x: this.x, y: this.y, width, height };
        this.x += width + GAP_PARTS;
        this.tall = Math.max(this.tall, height);
        return box;
    }
}

function put(block: Block, x: number, y: number, at: Float32Array): void {
    block.nodes.forEach((n, i) => {
        at[n * 2] = x + (block.at[i * 2] ?? 0);
        at[n * 2 + 1] = y + (block.at[i * 2 + 1] ?? 0);
    });
}

function partOf(block: Block, x: number, y: number): Part {
    return {
        x,
        y,
        width: block.width,
        height: block.height,
        first: block.nodes[0] ?? 0,
        count: block.nodes.length,
        joined: block.joined,
    };
}

function shelfWidth(blocks: Block[]): number {
    const area = blocks.reduce(
        (sum, one) => sum + (one.width + GAP_PARTS) * (one.height + GAP_PARTS),
        0,
    );
    return Math.max(Math.sqrt(area * ASPECT), ...blocks.map((one) => one.width), 1);
}

/* --- with an earlier layout --------------------------------------------------------------------- */

const overlaps = (a: Box, b: Box) =>
    a.x < b.x + b.width + GAP_Y &&
    b.x < a.x + a.width + GAP_Y &&
    a.y < b.y + b.height + GAP_Y &&
    b.y < a.y + a.height + GAP_Y;

/** Where a block would be if its known nodes moved as little as possible; null: none is known. */
function anchored(
    block: Block,
    previous: Float32Array,
): { x: number; y: number; same: boolean } | null {
    let [x, y, known] = [0, 0, 0];
    block.nodes.forEach((n, i) => {
        if (Number.isNaN(previous[n * 2])) return;
        x += (previous[n * 2] ?? 0) - (block.at[i * 2] ?? 0);
        y += (previous[n * 2 + 1] ?? 0) - (block.at[i * 2 + 1] ?? 0);
        known++;
    });
    if (known === 0) return null;
    x /= known;
    y /= known;
    const same =
        known === block.nodes.length &&
        block.nodes.every(
            (n, i) =>
                Math.abs((previous[n * 2] ?? 0) - x - (block.at[i * 2] ?? 0)) < 1 &&
                Math.abs((previous[n * 2 + 1] ?? 0) - y - (block.at[i * 2 + 1] ?? 0)) < 1,
        );
    return { x, y, same };
}

/** Single tasks keep their place; a new one stands behind the last of its block, if that is free. */
function keepAlone(block: Block, previous: Float32Array, taken: Box[], at: Float32Array): number[] {
    const [w, h] = [NODE_W + GAP_ALONE, NODE_H + GAP_Y];
    const fresh: number[] = [];
    let last: Box | null = null;
    let left = Infinity;
    let right = -Infinity;
    for (const n of block.nodes) {
        if (Number.isNaN(previous[n * 2])) {
            fresh.push(n);
            continue;
        }
        const box = {
            x: previous[n * 2] ?? 0,
            y: previous[n * 2 + 1] ?? 0,
            width: NODE_W,
            height: NODE_H,
        };
        at[n * 2] = box.x;
        at[n * 2 + 1] = box.y;
        taken.push(box);
        left = Math.min(left, box.x);
        right = Math.max(right, box.x);
        if (!last || box.y > last.y || (box.y === last.y && box.x > last.x)) last = box;
    }
    const across = Math.max(right, left + 2 * w);
    return fresh.filter((n) => {
        if (!last) return true;
        const next: Box =
            last.x + w <= across + 1
                ? { ...last, x: last.x + w }
                : { ...last, x: left, y: last.y + h };
        if (taken.some((box) => overlaps(box, next))) return true;
        at[n * 2] = next.x;
        at[n * 2 + 1] = next.y;
        taken.push(next);
        last = next;
        return false;
    });
}

function again(blocks: Block[], previous: Float32Array, at: Float32Array): void {
    const taken: Box[] = [];
    const late: { block: Block; x: number; y: number }[] = [];
    const homeless: Block[] = [];
    for (const block of blocks) {
        if (!block.joined) continue;
        const place = anchored(block, previous);
        if (!place) homeless.push(block);
        else if (place.same) {
            put(block, place.x, place.y, at);
            taken.push({ x: place.x, y: place.y, width: block.width, height: block.height });
        } else late.push({ block, ...place });
    }
    for (const block of blocks)
        if (!block.joined) {
            const fresh = keepAlone(block, previous, taken, at);
            if (fresh.length > 0) homeless.push(aloneBlock(fresh));
        }
    for (const { block, x, y } of late) {
        const box = { x, y, width: block.width, height: block.height };
        if (taken.some((one) => overlaps(one, box))) homeless.push(block);
        else {
            put(block, x, y, at);
            taken.push(box);
        }
    }
    const bottom = Math.max(0, ...taken.map((box) => box.y + box.height + GAP_PARTS));
    const shelves = new Shelves(
        Math.max(...taken.map((box) => box.x + box.width), shelfWidth(homeless)),
        bottom,
    );
    for (const block of homeless) {
        const box = shelves.place(block.width, block.height);
        put(block, box.x, box.y, at);
    }
}

/* --- all ---------------------------------------------------------------------------------------- */

function inBlocks({ count, edges, kinds }: LayoutAsk, scratch: Float32Array): Block[] {
    const near: Near = {
        after: Array.from({ length: count }, () => []),
        ahead: Array.from({ length: count }, () => []),
    };
    for (let i = 0; i < edges.length; i += 2) {
        near.after[edges[i] ?? 0]?.push(edges[i + 1] ?? 0);
        near.ahead[edges[i + 1] ?? 0]?.push(edges[i] ?? 0);
    }
    const blocks: Block[] = [];
    const alone = new Map<number, number[]>();
    for (const nodes of components(count, edges)) {
        const n = nodes[0] ?? 0;
        if (nodes.length > 1) blocks.push(joinedBlock(nodes, near, scratch));
        else alone.set(kinds?.[n] ?? 0, [...(alone.get(kinds?.[n] ?? 0) ?? []), n]);
    }
    // The largest first: they are what one looks for.
    blocks.sort((a, b) => b.nodes.length - a.nodes.length || (a.nodes[0] ?? 0) - (b.nodes[0] ?? 0));
    for (const nodes of alone.values()) blocks.push(aloneBlock(nodes));
    return blocks;
}

function boundsOf(block: Block, at: Float32Array): Part {
    const { width, height } = toOrigin(block.nodes, at, block.joined);
    let [x, y] = [Infinity, Infinity];
    for (const n of block.nodes) {
        x = Math.min(x, at[n * 2] ?? 0);
        y = Math.min(y, at[n * 2 + 1] ?? 0);
    }
    return { ...partOf(block, x, y), width, height };
}

export function layout(ask: LayoutAsk): LayoutAnswer {
    const at = new Float32Array(ask.count * 2);
    const blocks = inBlocks(ask, new Float32Array(ask.count * 2));
    const { previous } = ask;
    if (previous?.some((n) => !Number.isNaN(n))) again(blocks, previous, at);
    else {
        const shelves = new Shelves(shelfWidth(blocks));
        for (const block of blocks) {
            const { x, y } = shelves.place(block.width, block.height);
            put(block, x, y, at);
        }
    }
    const parts = blocks.map((block) => boundsOf(block, at));
    const left = Math.min(0, ...parts.map((part) => part.x));
    const top = Math.min(0, ...parts.map((part) => part.y));
    return {
        at,
        left,
        top,
        width: Math.max(0, ...parts.map((part) => part.x + part.width)) - left,
        height: Math.max(0, ...parts.map((part) => part.y + part.height)) - top,
        parts,
    };
}
