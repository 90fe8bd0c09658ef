// draw.ts: a timeline on a canvas, in the style of the picture of a simulation (src/sim/svg.c): bars in the colour of their
// project, hatched where a run failed or was limited, lighter with a dashed edge where it still runs or is expected, and dots
// where it waits. Symbols and colours of states are those of the rest of the page.
import { fit } from '../canvas';
import { identityColour } from '../identity';
import { line, many } from '../text';
import { colour } from '../theme';
import { LOOKS, type State } from '../types';
import { dayOf, sameDay, ticks, timeOf } from '../zone';
import { AXIS, BAR, HEAD, ROW, type Band, type Bar, type Row } from './rows';

export interface Window {
    from: number;
    to: number;
}

export const gutterOf = (width: number) => (width < 560 ? 84 : 210);
const EDGE = 12; // right of the plot

export const xOf = (time: number, { from, to }: Window, width: number) =>
    gutterOf(width) + ((time - from) / (to - from)) * (width - gutterOf(width) - EDGE);
export const timeAt = (x: number, { from, to }: Window, width: number) =>
    from + ((x - gutterOf(width)) / (width - gutterOf(width) - EDGE)) * (to - from);

const STEPS = [
    1e3,
    5e3,
    15e3,
    30e3,
    60e3,
    300e3,
    600e3,
    1800e3,
    3600e3,
    7200e3,
    10800e3,
    21600e3,
    43200e3,
    86400e3,
    2 * 86400e3,
    7 * 86400e3,
    14 * 86400e3,
];

interface Pass {
    ctx: CanvasRenderingContext2D;
    window: Window;
    width: number;
    height: number;
    top: number;
    now: number;
    font: string;
    byTask: boolean;
}

/** Stripes for what did not succeed. */
const patterns = new Map<string, CanvasPattern>();

function hatch(
    ctx: CanvasRenderingContext2D,
    shade: string,
    ground: string,
): CanvasPattern | string {
    const key = `${shade} ${ground}`;
    const known = patterns.get(key);
    if (known) return known;
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const c = tile.getContext('2d');
    if (!c) return shade;
    c.fillStyle = ground;
    c.fillRect(0, 0, 6, 6);
    c.strokeStyle = shade;
    c.lineWidth = 2;
    for (const at of [-6, 0, 6]) {
        c.moveTo(at, 6);
        c.lineTo(at + 6, 0);
    }
    c.stroke();
    const made = ctx.createPattern(tile, 'repeat');
    if (!made) return shade;
    patterns.set(key, made);
    return made;
}

function mark(ctx: CanvasRenderingContext2D, state: State, x: number, y: number): void {
    const look = LOOKS[state] ?? LOOKS.waiting;
    ctx.save();
    ctx.translate(x, y);
    ctx.scale(0.82, 0.82);
    ctx.strokeStyle = ctx.fillStyle = colour(state);
    ctx.lineWidth = look.heavy ? 2.2 : 1.6;
    ctx.lineCap = 'round';
    ctx.setLineDash(look.dashed ? [2.2, 2] : []);
    ctx.stroke(new Path2D(look.outline));
    ctx.fill(new Path2D(look.solid));
    ctx.restore();
}

/** Cut where it does not fit. */
function put(
    ctx: CanvasRenderingContext2D,
    text: string,
    x: number,
    y: number,
    room: number,
): void {
    // In steps, so that a bar that grows does not fill the memory of what fits.
    const steps = Math.floor(room / 6) * 6;
    if (steps >= 12) ctx.fillText(fit(ctx, text, steps), x, y);
}

function dots(pass: Pass, from: number, to: number, y: number): void {
    const { ctx } = pass;
    if (to - from < 5) return;
    ctx.strokeStyle = colour('ink-3');
    ctx.lineWidth = 1.6;
    ctx.lineCap = 'round';
    ctx.setLineDash([0.1, 4.4]);
    ctx.beginPath();
    ctx.moveTo(from + 2, y);
    ctx.lineTo(to - 2, y);
    ctx.stroke();
    ctx.setLineDash([]);
}

function fillOf(pass: Pass, bar: Bar): CanvasPattern | string {
    if (bar.look === 'failed') return hatch(pass.ctx, colour('failed'), colour('surface'));
    if (bar.look === 'limited') return hatch(pass.ctx, colour('held'), colour('surface'));
    if (bar.look === 'canceled') return hatch(pass.ctx, colour('canceled'), colour('surface'));
    return identityColour('project', bar.project);
}

const EDGES: Partial<Record<Bar['look'], State>> = {
    failed: 'failed',
    limited: 'held',
    canceled: 'canceled',
};

function drawBar(pass: Pass, bar: Bar, y: number): void {
    const { ctx, window, width } = pass;
    const left = gutterOf(width);
    const x1 = Math.max(left, xOf(bar.from, window, width));
    const x2 = Math.min(width, xOf(bar.to, window, width));
    if (x2 < left || x1 > width) return;
    const w = Math.max(1.5, x2 - x1);
    const light = bar.look === 'expected' ? 0.16 : bar.look === 'live' ? 0.6 : 1;
    ctx.globalAlpha = light;
    ctx.fillStyle = fillOf(pass, bar);
    ctx.beginPath();
    ctx.roundRect(x1, y, w, BAR, Math.min(3, w / 2));
    ctx.fill();
    ctx.globalAlpha = 1;
    const edge = EDGES[bar.look];
    if (edge || bar.look === 'expected' || bar.look === 'live') {
        ctx.strokeStyle = edge ? colour(edge) : identityColour('project', bar.project);
        ctx.lineWidth = 1;
        ctx.setLineDash(edge ? [] : [3, 2]);
        ctx.stroke();
        ctx.setLineDash([]);
    }
    if (edge && w > 14) {
        ctx.fillStyle = colour('surface');
        ctx.beginPath();
        ctx.arc(x1 + 8, y + BAR / 2, 6.5, 0, 7);
        ctx.fill();
        mark(ctx, edge, x1 + 1.5, y + 1);
    }
    if (w > 34 && !edge) drawName(pass, bar, x1, y, w);
}

function drawName(pass: Pass, bar: Bar, x: number, y: number, w: number): void {
    const { ctx } = pass;
    ctx.font = `10.5px ${pass.font}`;
    ctx.fillStyle = colour(bar.look === 'ok' ? 'surface' : 'ink');
    const text = pass.byTask ? line(bar.run?.agent ?? '') : `${line(bar.task)}  ${line(bar.title)}`;
    put(ctx, text, x + 5, y + 11, w - 8);
}

function drawRow(pass: Pass, row: Row, y: number): void {
    const { ctx, window, width } = pass;
    for (const bar of row.bars) {
        if (bar.since === null) continue;
        const x1 = Math.max(gutterOf(width), xOf(bar.since, window, width));
        dots(pass, x1, Math.min(width, xOf(bar.from, window, width)), y + BAR / 2);
    }
    const first = row.bars[0];
    if (row.task !== null && row.bars.length === 1 && first?.look === 'expected') {
        const x1 = Math.max(gutterOf(width), xOf(pass.now, window, width));
        dots(pass, x1, Math.min(width, xOf(first.from, window, width)), y + BAR / 2);
    }
    for (const bar of row.bars) drawBar(pass, bar, y);
    if (row.task === null) return;
    const room = gutterOf(width);
    if (row.state) mark(ctx, row.state, 18, y + 1);
    ctx.font = `11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace`;
    ctx.fillStyle = colour('ink-2');
    put(ctx, line(row.task), 36, y + 11.5, room - 42);
    if (room < 120) return;
    const used = ctx.measureText(line(row.task)).width;
    ctx.font = `11.5px ${pass.font}`;
    ctx.fillStyle = colour('ink-3');
    put(ctx, line(row.title), 44 + used, y + 11.5, room - used - 54);
}

function drawBand(pass: Pass, band: Band): void {
    const { ctx, width } = pass;
    const top = band.top - pass.top;
    const height = HEAD + band.rows.length * ROW;
    if (top > pass.height || top + height < AXIS) return;
    ctx.fillStyle = identityColour('project', band.project);
    ctx.beginPath();
    ctx.roundRect(8, top + 4, 4, height - 6, 2);
    ctx.fill();
    ctx.font = `600 12.5px ${pass.font}`;
    ctx.fillStyle = colour('ink');
    put(ctx, line(band.project), 20, top + 18, gutterOf(width) - 24);
    const note = [
        many(band.runs, 'run'),
        band.live ? `${band.live} live` : '',
        band.failed ? `${band.failed} failed` : '',
    ];
    ctx.font = `11px ${pass.font}`;
    ctx.fillStyle = colour('ink-3');
    ctx.textAlign = 'right';
    ctx.fillText(note.filter(Boolean).join(' · '), width - EDGE, top + 18);
    ctx.textAlign = 'left';
    band.rows.forEach((row, i) => {
        const y = top + HEAD + i * ROW;
        if (y + ROW > AXIS && y < pass.height) drawRow(pass, row, y);
    });
}

function drawGrid(pass: Pass): void {
    const { ctx, window, width } = pass;
    const plot = width - gutterOf(width) - EDGE;
    const step = STEPS.find((one) => (one / (window.to - window.from)) * plot > 76) ?? 28 * 86400e3;
    ctx.font = `11px ${pass.font}`;
    let before = window.from;
    for (const at of ticks(window.from, window.to, step)) {
        const x = Math.round(xOf(at, window, width));
        ctx.fillStyle = colour('line');
        ctx.fillRect(x, AXIS, 1, pass.height);
        // The day stands at its beginning, and at the first time that is shown.
        const day = step >= 86400e3 || !sameDay(before, at) || before === window.from;
        ctx.fillStyle = colour(day ? 'ink-2' : 'ink-3');
        const time = timeOf(at, step < 60e3);
        ctx.fillText(step >= 86400e3 || (day && time === '00:00') ? dayOf(at) : time, x + 4, 18);
        before = at;
    }
}

function drawNow(pass: Pass): void {
    const { ctx, window, width, now } = pass;
    if (now < window.from || now > window.to) return;
    const x = Math.round(xOf(now, window, width));
    ctx.fillStyle = colour('accent');
    ctx.fillRect(x, AXIS - 6, 1.5, pass.height);
    ctx.font = `600 11px ${pass.font}`;
    const text = `now ${timeOf(now)}`;
    const room = ctx.measureText(text).width + 10;
    ctx.beginPath();
    const left = Math.min(Math.max(gutterOf(width), x - room / 2), width - room - 2);
    ctx.roundRect(left, 4, room, 18, 9);
    ctx.fill();
    ctx.fillStyle = colour('accent-ink');
    ctx.fillText(text, left + 5, 17);
}

export function draw(
    canvas: HTMLCanvasElement,
    bands: Band[],
    window: Window,
    { top, now, byTask }: { top: number; now: number; byTask: boolean },
): void {
    const ctx = canvas.getContext('2d');
    if (!ctx) return;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (
        canvas.width !== Math.round(width * ratio) ||
        canvas.height !== Math.round(height * ratio)
    ) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const font = getComputedStyle(document.body).fontFamily;
    const pass: Pass = { ctx, window, width, height, top, now, font, byTask };
    drawGrid(pass);
    for (const band of bands) drawBand(pass, band);
    // The axis stays above what is scrolled.
    ctx.clearRect(0, 0, width, AXIS - 2);
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, 0, width, AXIS);
    ctx.clip();
    drawGrid({ ...pass, height: AXIS });
    ctx.restore();
    ctx.fillStyle = colour('line');
    ctx.fillRect(0, AXIS - 2, width, 1);
    drawNow(pass);
    canvas.dataset.window = JSON.stringify([Math.round(window.from), Math.round(window.to)]);
}

/** The bar at a point of the canvas, or its row's task. */
export function barAt(
    bands: Band[],
    window: Window,
    { x, y, top, width }: { x: number; y: number; top: number; width: number },
): Bar | null {
    if (y < AXIS) return null;
    const slack = ((window.to - window.from) / width) * 3;
    const time = timeAt(x, window, width);
    for (const band of bands) {
        const n = Math.floor((y + top - band.top - HEAD) / ROW);
        const row = n >= 0 ? band.rows[n] : undefined;
        if (!row) continue;
        if (x < gutterOf(width)) return row.task === null ? null : (row.bars[0] ?? null);
        return row.bars.find((bar) => time >= bar.from - slack && time <= bar.to + slack) ?? null;
    }
    return null;
}
