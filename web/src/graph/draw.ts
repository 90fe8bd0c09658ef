// draw.ts: a laid-out graph on a canvas. Only what is in sight is drawn, and from afar only what can be seen: blocks of
// colour and the names of the parts, then symbols, then ids and titles.
//
// A picture is drawn somewhat larger than the canvas and kept: moving it is one copy, so that thousands of nodes follow the
// pointer. While the scale changes, the kept picture is stretched; it is drawn again when the hand rests.
import { fit } from '../canvas';
import { line } from '../text';
import { colour } from '../theme';
import { LOOKS, type State } from '../types';
import type { LayoutAnswer, Part } from './layout';
import { countStates, type Scene, type SceneNode } from './scene';
import { NODE_H, NODE_W } from './size';

export interface Camera {
    x: number;
    y: number;
    scale: number;
}

export interface Picture {
    scene: Scene;
    layout: LayoutAnswer;
    /** Nodes that the search found; null: no search. */
    found: Set<number> | null;
    /** The one that the search stands at, and the chosen one; -1: none. */
    hit: number;
    chosen: number;
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
const BLOCKS = 0.26; // below this scale nodes are blocks of colour
const TEXTS = 0.42; // from this scale on they have texts
const MARGIN = 0.5; // of the canvas, on each side of a kept picture
const SLOW_MS = 12; // a drawing that took longer is stretched while the scale changes
const PAUSE = 8; // after a slow drawing: times as long until the next one, while the hand moves
const NAMES_MAX = 40; // of parts, from afar

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

interface Pass {
    ctx: CanvasRenderingContext2D;
    picture: Picture;
    scale: number;
    colours: Record<string, string>;
    /** The part of the layout that is drawn. */
    left: number;
    top: number;
    right: number;
    bottom: number;
}

function drawEdges(pass: Pass, critical: number, parent: number): void {
    const { ctx, scale, colours, left, top, right, bottom } = pass;
    const { edges } = pass.picture.scene;
    const { at } = pass.picture.layout;
    ctx.beginPath();
    for (let i = 0; i < edges.from.length; i++) {
        if (edges.critical[i] !== critical || edges.parent[i] !== parent) continue;
        const a = edges.from[i] ?? 0;
        const b = edges.to[i] ?? 0;
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
        if (scale < BLOCKS) ctx.lineTo(x2, y2);
        else ctx.bezierCurveTo(x1 + 28, y1, x2 - 28, y2, x2, y2);
    }
    ctx.globalAlpha = !critical && edges.from.length > 800 ? 0.6 : 1;
    ctx.strokeStyle = (critical ? colours.accent : colours['line-2']) ?? '';
    ctx.lineWidth = (critical ? 2.6 : 1.2) / Math.max(0.4, Math.min(1, scale));
    // Dashes of thousands of lines cost more than all else.
    ctx.setLineDash(parent && scale >= BLOCKS ? [4, 4] : []);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
}

/** The states of a folded group, as a bar. */
function drawStates(pass: Pass, node: SceneNode, x: number, y: number, width: number): void {
    let from = x;
    for (const [state, count] of countStates(node.tasks)) {
        const part = (width * count) / node.tasks.length;
        pass.ctx.fillStyle = pass.colours[state] ?? '';
        pass.ctx.fillRect(from, y, Math.max(0.5, part - 1), 4);
        from += part;
    }
}

function drawFrame(pass: Pass, node: SceneNode, n: number, x: number, y: number): void {
    const { ctx, colours } = pass;
    const { chosen, hit } = pass.picture;
    ctx.fillStyle = colours.surface ?? '';
    ctx.strokeStyle =
        (n === chosen || n === hit
            ? colours.ink
            : node.critical
              ? colours.accent
              : colours['line-2']) ?? '';
    ctx.lineWidth = n === chosen || n === hit ? 2.2 : node.critical ? 1.8 : 1;
    ctx.beginPath();
    ctx.roundRect(x, y, NODE_W, NODE_H, 6);
    if (node.folded) {
        // Two sheets below.
        ctx.moveTo(x + 6, y + NODE_H + 3);
        ctx.lineTo(x + NODE_W - 6, y + NODE_H + 3);
        ctx.moveTo(x + 12, y + NODE_H + 6);
        ctx.lineTo(x + NODE_W - 12, y + NODE_H + 6);
    }
    ctx.fill();
    ctx.stroke();
}

function drawTexts(pass: Pass, node: SceneNode, x: number, y: number): void {
    const { ctx, colours } = pass;
    ctx.fillStyle = colours['ink-3'] ?? '';
    ctx.font = `11px ${MONO}`;
    const above = node.folded ? `${node.tasks.length} tasks` : line(node.id);
    ctx.fillText(fit(ctx, above, NODE_W - 40), x + 29, y + 17);
    ctx.fillStyle = colours.ink ?? '';
    ctx.font = node.folded ? `600 12px ${SANS}` : `12px ${SANS}`;
    ctx.fillText(fit(ctx, line(node.title), NODE_W - 22), x + 11, y + (node.folded ? 31 : 33));
}

function drawNode(pass: Pass, node: SceneNode, n: number, x: number, y: number): void {
    const { ctx, scale, colours } = pass;
    const { found } = pass.picture;
    const state = colours[node.state] ?? '';
    ctx.globalAlpha = found && !found.has(n) ? 0.25 : 1;
    drawFrame(pass, node, n, x, y);
    if (!node.folded) {
        ctx.fillStyle = state;
        ctx.beginPath();
        ctx.roundRect(x, y, 4, NODE_H, [6, 0, 0, 6]);
        ctx.fill();
    }
    ctx.fillStyle = state;
    ctx.strokeStyle = state;
    ctx.lineWidth = 1.8;
    mark(ctx, node.state, x + 17, y + 13);
    if (scale >= TEXTS) drawTexts(pass, node, x, y);
    if (node.folded) drawStates(pass, node, x + 6, y + NODE_H - 6, NODE_W - 12);
    ctx.globalAlpha = 1;
}

const inSight = (pass: Pass, x: number, y: number) =>
    x + NODE_W > pass.left && x < pass.right && y + NODE_H > pass.top && y < pass.bottom;

/** From afar: one fill for each state. */
function drawBlocks(pass: Pass): void {
    const { ctx, colours } = pass;
    const { scene, layout, found, hit, chosen } = pass.picture;
    const { at } = layout;
    const paths = new Map<string, Path2D>();
    scene.nodes.forEach((node, n) => {
        const x = at[n * 2] ?? 0;
        const y = at[n * 2 + 1] ?? 0;
        if (!inSight(pass, x, y)) return;
        const key = `${found && !found.has(n) ? '-' : ''}${node.state}`;
        let path = paths.get(key);
        if (!path) paths.set(key, (path = new Path2D()));
        path.rect(x, y, NODE_W, NODE_H);
    });
    for (const [key, path] of paths) {
        ctx.globalAlpha = key.startsWith('-') ? 0.18 : 1;
        ctx.fillStyle = colours[key.replace('-', '')] ?? '';
        ctx.fill(path);
    }
    ctx.globalAlpha = 1;
    for (const n of [hit, chosen])
        if (n >= 0) {
            ctx.strokeStyle = colours.ink ?? '';
            ctx.lineWidth = 3 / pass.scale;
            ctx.strokeRect(at[n * 2] ?? 0, at[n * 2 + 1] ?? 0, NODE_W, NODE_H);
        }
}

function nameOf(picture: Picture, part: Part): string {
    const node = picture.scene.nodes[part.first];
    const what = part.joined ? '' : ' alone';
    return `${line(node?.group ?? node?.project)} · ${part.count}${what}`;
}

const sees = (pass: Pass, part: Part) =>
    part.x <= pass.right &&
    part.x + part.width >= pass.left &&
    part.y <= pass.bottom &&
    part.y + part.height >= pass.top;

/** From afar each part has a ground, so that one sees where it ends. */
function drawGrounds(pass: Pass): void {
    const { ctx, scale, colours, picture } = pass;
    const room = Math.min(14, 5 / scale);
    ctx.fillStyle = colours.line ?? '';
    ctx.globalAlpha = 0.55;
    ctx.beginPath();
    for (const part of picture.layout.parts)
        if (part.count > 1 && sees(pass, part))
            ctx.roundRect(
                part.x - room,
                part.y - room,
                part.width + 2 * room,
                part.height + 2 * room,
                room,
            );
    ctx.fill();
    ctx.globalAlpha = 1;
}

/** The names of the largest parts, never smaller than ordinary text, and none over another. */
function drawNames(pass: Pass): void {
    const { ctx, scale, colours, picture } = pass;
    const size = Math.max(12, 12 / scale);
    ctx.font = `600 ${size}px ${SANS}`;
    ctx.lineJoin = 'round';
    ctx.lineWidth = 4 / scale;
    const taken: { x: number; y: number; width: number }[] = [];
    const parts = [...picture.layout.parts].sort((a, b) => b.count - a.count);
    for (const part of parts) {
        if (taken.length === NAMES_MAX) break;
        if (part.width * scale < 70 || part.count < 2 || !sees(pass, part)) continue;
        const y = part.y - size / 2;
        const text = fit(ctx, nameOf(picture, part), Math.round(part.width));
        const width = ctx.measureText(text).width;
        if (
            taken.some(
                (one) =>
                    Math.abs(one.y - y) < size * 1.6 &&
                    one.x < part.x + width + size &&
                    part.x < one.x + one.width + size,
            )
        )
            continue;
        taken.push({ x: part.x, y, width });
        ctx.strokeStyle = colours.bg ?? '';
        ctx.strokeText(text, part.x, y);
        ctx.fillStyle = colours['ink-2'] ?? '';
        ctx.fillText(text, part.x, y);
    }
}

function drawAll(
    ctx: CanvasRenderingContext2D,
    picture: Picture,
    pass: Omit<Pass, 'ctx' | 'picture' | 'colours'>,
): void {
    const colours = Object.fromEntries(
        [...STATES, ...['bg', 'ink', 'ink-2', 'ink-3', 'line', 'line-2', 'surface', 'accent']].map(
            (name) => [name, colour(name)],
        ),
    ) as Record<string, string>;
    const all: Pass = { ...pass, ctx, picture, colours };
    ctx.lineCap = 'butt';
    if (pass.scale < BLOCKS) drawGrounds(all);
    for (const critical of [0, 1]) for (const parent of [1, 0]) drawEdges(all, critical, parent);
    ctx.lineCap = 'round';
    if (pass.scale < BLOCKS) {
        drawBlocks(all);
        drawNames(all);
        return;
    }
    drawNames(all);
    const { at } = picture.layout;
    picture.scene.nodes.forEach((node, n) => {
        const x = at[n * 2] ?? 0;
        const y = at[n * 2 + 1] ?? 0;
        if (inSight(all, x, y)) drawNode(all, node, n, x, y);
    });
}

/** A kept picture of a graph, and what it is of. */
export class Screen {
    private readonly kept = document.createElement('canvas');
    private of: Picture | null = null;
    private camera: Camera = { x: 0, y: 0, scale: 0 };
    private paint = -1;
    private size = '';
    private took = 0;
    private drawnAt = 0;
    /** How often the graph was drawn: for tests. */
    drawings = 0;

    /** `moving`: the hand has not come to rest. False: it must be drawn once more when it has. */
    show(
        canvas: HTMLCanvasElement,
        picture: Picture,
        camera: Camera,
        paint: number,
        moving: boolean,
    ): boolean {
        const ctx = canvas.getContext('2d');
        const { clientWidth: w, clientHeight: h } = canvas;
        // A canvas without an area cannot be copied from.
        if (!ctx || w === 0 || h === 0) return true;
        const ratio = devicePixelRatio || 1;
        const size = `${w} ${h} ${ratio}`;
        if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
            canvas.width = Math.round(w * ratio);
            canvas.height = Math.round(h * ratio);
        }
        const usable = this.of === picture && this.paint === paint && this.size === size;
        const slow = moving && this.took > SLOW_MS;
        const stretched = this.camera.scale !== camera.scale && slow;
        // A slow drawing takes at most a small part of the time; meanwhile an edge may be empty.
        const late = slow && performance.now() - this.drawnAt < PAUSE * this.took;
        const fits =
            stretched ||
            (this.camera.scale === camera.scale && (late || this.covers(camera, w, h)));
        if (!usable || !fits) {
            this.keep(picture, camera, w, h, ratio);
            this.paint = paint;
            this.size = size;
        }
        const by = camera.scale / this.camera.scale;
        const x = camera.x - by * (this.camera.x + w * MARGIN);
        const y = camera.y - by * (this.camera.y + h * MARGIN);
        ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
        ctx.clearRect(0, 0, w, h);
        const wide = (1 + 2 * MARGIN) * by;
        ctx.drawImage(this.kept, x, y, w * wide, h * wide);
        return this.camera.scale === camera.scale && this.covers(camera, w, h);
    }

    private covers(camera: Camera, w: number, h: number): boolean {
        return (
            Math.abs(camera.x - this.camera.x) <= w * MARGIN &&
            Math.abs(camera.y - this.camera.y) <= h * MARGIN
        );
    }

    private keep(picture: Picture, camera: Camera, w: number, h: number, ratio: number): void {
        const began = performance.now();
        const wide = 1 + 2 * MARGIN;
        const { kept } = this;
        if (
            kept.width !== Math.round(w * wide * ratio) ||
            kept.height !== Math.round(h * wide * ratio)
        ) {
            kept.width = Math.round(w * wide * ratio);
            kept.height = Math.round(h * wide * ratio);
        }
        const ctx = kept.getContext('2d');
        if (!ctx) return;
        const { scale } = camera;
        const x = camera.x + w * MARGIN;
        const y = camera.y + h * MARGIN;
        ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
        ctx.clearRect(0, 0, w * wide, h * wide);
        ctx.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * x, ratio * y);
        const left = -x / scale;
        const top = -y / scale;
        drawAll(ctx, picture, {
            scale,
            left,
            top,
            right: left + (w * wide) / scale,
            bottom: top + (h * wide) / scale,
        });
        this.of = picture;
        this.camera = { ...camera };
        this.drawings++;
        this.drawnAt = performance.now();
        this.took = this.drawnAt - began;
    }
}
