// draw.ts: a laid-out graph on a canvas. Only what is in sight is drawn, and from afar only what can be seen:
// no text, then no frames.
import { line } from '../text';
import { colour } from '../theme';
import { LOOKS, type GraphNode, type State, type TaskGraph } from '../types';
import type { LayoutAnswer } from './layout';
import { NODE_H, NODE_W } from './size';

export interface Camera {
    x: number;
    y: number;
    scale: number;
}

export interface Picture {
    graph: TaskGraph;
    index: Map<string, number>;
    layout: LayoutAnswer;
    /** Nodes that are named by the search; null: no search. */
    found: Set<string> | null;
    chosen: string | null;
    show: 'both' | 'dependency' | 'parent';
}

const STATES = Object.keys(LOOKS) as State[];
const SHAPES = Object.fromEntries(
    STATES.map((state) => [
        state,
        {
            outline: new Path2D(LOOKS[state].outline),
            solid: new Path2D(LOOKS[state].solid),
            dash: LOOKS[state].dashed ? [2, 2] : [],
        },
    ]),
);
const SANS =
    '-apple-system, "Segoe UI", Inter, Roboto, "Noto Sans", Cantarell, Ubuntu, "Helvetica Neue", Arial, sans-serif';
const MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** The shape of a state, around a middle. */
function mark(ctx: CanvasRenderingContext2D, state: State, x: number, y: number): void {
    const shape = SHAPES[state] ?? SHAPES.waiting;
    if (!shape) return;
    ctx.translate(x - 8, y - 8);
    ctx.setLineDash(shape.dash);
    ctx.stroke(shape.outline);
    ctx.fill(shape.solid);
    ctx.setLineDash([]);
    ctx.translate(8 - x, 8 - y);
}

const widths = new Map<string, string>();

/** Text that fits; remembered, because measuring is what takes time. */
function fit(ctx: CanvasRenderingContext2D, text: string, room: number): string {
    const key = `${room} ${text}`;
    const known = widths.get(key);
    if (known !== undefined) return known;
    let shown = text.slice(0, 80);
    if (ctx.measureText(shown).width > room) {
        let low = 0;
        let high = shown.length;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (ctx.measureText(`${shown.slice(0, middle)}…`).width <= room) low = middle;
            else high = middle - 1;
        }
        shown = `${shown.slice(0, low)}…`;
    }
    if (widths.size > 50_000) widths.clear();
    widths.set(key, shown);
    return shown;
}

interface Scene {
    ctx: CanvasRenderingContext2D;
    picture: Picture;
    scale: number;
    colours: Record<string, string>;
    /** The part of the layout that is on the canvas. */
    left: number;
    top: number;
    right: number;
    bottom: number;
}

function drawEdges(scene: Scene, critical: boolean, type: string): void {
    const { ctx, scale, colours, left, top, right, bottom } = scene;
    const { graph, index, layout } = scene.picture;
    const at = layout.at;
    ctx.beginPath();
    for (const edge of graph.edges) {
        if (!!edge.critical !== critical || edge.type !== type) continue;
        const a = index.get(edge.from);
        const b = index.get(edge.to);
        if (a === undefined || b === undefined) continue;
        const x1 = (at[a * 2] ?? 0) + NODE_W;
        const y1 = (at[a * 2 + 1] ?? 0) + NODE_H / 2;
        const x2 = at[b * 2] ?? 0;
        const y2 = (at[b * 2 + 1] ?? 0) + NODE_H / 2;
        if (
            Math.max(x1, x2) < left ||
            Math.min(x1, x2) > right ||
            Math.max(y1, y2) < top ||
            Math.min(y1, y2) > bottom
        )
            continue;
        ctx.moveTo(x1, y1);
        if (scale < 0.2) ctx.lineTo(x2, y2);
        else ctx.bezierCurveTo(x1 + 28, y1, x2 - 28, y2, x2, y2);
    }
    ctx.globalAlpha = !critical && graph.edges.length > 800 ? 0.55 : 1;
    ctx.strokeStyle = (critical ? colours.accent : colours['line-2']) ?? '';
    ctx.lineWidth = (critical ? 2.6 : 1.2) / Math.max(0.5, Math.min(1, scale));
    ctx.setLineDash(type === 'parent' ? [4, 4] : []);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
}

function drawNode(scene: Scene, node: GraphNode, x: number, y: number): void {
    const { ctx, scale, colours } = scene;
    const { found, chosen } = scene.picture;
    const state = colours[node.state] ?? '';
    ctx.globalAlpha = found && !found.has(node.id) ? 0.25 : 1;
    if (scale < 0.28) {
        ctx.fillStyle = state;
        ctx.fillRect(x, y, NODE_W, NODE_H);
        ctx.globalAlpha = 1;
        return;
    }
    ctx.fillStyle = colours.surface ?? '';
    ctx.strokeStyle =
        (node.id === chosen ? colours.ink : node.critical ? colours.accent : colours['line-2']) ??
        '';
    ctx.lineWidth = node.id === chosen ? 2 : node.critical ? 1.8 : 1;
    ctx.beginPath();
    ctx.roundRect(x, y, NODE_W, NODE_H, 6);
    ctx.fill();
    ctx.stroke();
    ctx.fillStyle = state;
    ctx.beginPath();
    ctx.roundRect(x, y, 4, NODE_H, [6, 0, 0, 6]);
    ctx.fill();
    ctx.strokeStyle = state;
    ctx.lineWidth = 1.8;
    mark(ctx, node.state, x + 17, y + 13);
    if (scale >= 0.4) {
        ctx.fillStyle = colours['ink-3'] ?? '';
        ctx.font = `11px ${MONO}`;
        ctx.fillText(fit(ctx, line(node.id), NODE_W - 40), x + 29, y + 17);
        ctx.fillStyle = colours.ink ?? '';
        ctx.font = `12px ${SANS}`;
        ctx.fillText(fit(ctx, line(node.title), NODE_W - 22), x + 11, y + 33);
    }
    ctx.globalAlpha = 1;
}

export function draw(canvas: HTMLCanvasElement, picture: Picture, camera: Camera): void {
    const ctx = canvas.getContext('2d');
    if (!ctx) return;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: w, clientHeight: h } = canvas;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
        canvas.width = Math.round(w * ratio);
        canvas.height = Math.round(h * ratio);
    }
    const colours = Object.fromEntries(
        [...STATES, 'ink', 'ink-2', 'ink-3', 'line', 'line-2', 'surface', 'accent'].map((name) => [
            name,
            colour(name),
        ]),
    ) as Record<string, string>;
    const { scale } = camera;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, w, h);
    ctx.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * camera.x, ratio * camera.y);
    const left = -camera.x / scale;
    const top = -camera.y / scale;
    const right = left + w / scale;
    const bottom = top + h / scale;
    const scene = { ctx, picture, scale, colours, left, top, right, bottom };
    for (const critical of [false, true])
        for (const type of ['parent', 'dependency'])
            if (picture.show === 'both' || picture.show === type) drawEdges(scene, critical, type);

    ctx.lineCap = 'round';
    const at = picture.layout.at;
    picture.graph.nodes.forEach((node, n) => {
        const x = at[n * 2] ?? 0;
        const y = at[n * 2 + 1] ?? 0;
        if (x + NODE_W > left && x < right && y + NODE_H > top && y < bottom)
            drawNode(scene, node, x, y);
    });
}
