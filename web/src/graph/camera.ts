// camera.ts: the part of a graph that is on its canvas, and how pointer, wheel and search move it. Nothing else moves it:
// new tasks leave it where it is.
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { paint } from '../theme';
import { Screen, type Camera, type Picture } from './draw';
import type { SceneNode } from './scene';
import { NODE_H, NODE_W } from './size';

const READABLE = 0.34;
const COMFORTABLE = 0.6;
const LEAST = 0.01;
const MOST = 2.5;
const REST_MS = 140; // without a movement: the hand rests

interface Ref<T> {
    current: T;
}

/** The node at a point of the layout; -1: none. */
function nodeAt({ scene, layout }: Picture, x: number, y: number): number {
    for (let n = 0; n < scene.nodes.length; n++) {
        const nx = layout.at[n * 2] ?? 0;
        const ny = layout.at[n * 2 + 1] ?? 0;
        if (x >= nx && x <= nx + NODE_W && y >= ny && y <= ny + NODE_H) return n;
    }
    return -1;
}

/** What to look at first: the chosen task, else what runs, else the longest chain. */
function firstOf({ scene, chosen }: Picture): number {
    if (chosen >= 0) return chosen;
    const wanted = [
        (node: SceneNode) => node.state === 'running',
        (node: SceneNode) => node.critical && node.state !== 'done',
    ];
    return wanted.map((fits) => scene.nodes.findIndex(fits)).find((n) => n >= 0) ?? 0;
}

interface Refs {
    canvas: Ref<HTMLCanvasElement | null>;
    shown: Ref<Picture>;
    camera: Ref<Camera>;
    least: Ref<number>;
}

/** Moves to what is to be seen. */
function movers({ canvas, shown, camera, least }: Refs, redraw: () => void) {
    /** All of it. */
    const fitAll = () => {
        const el = canvas.current;
        if (!el) return;
        const { left, top, width, height } = shown.current.layout;
        const scale = Math.min(
            1,
            (el.clientWidth - 40) / Math.max(1, width),
            (el.clientHeight - 60) / Math.max(1, height),
        );
        least.current = Math.min(0.05, scale);
        camera.current = {
            scale,
            x: Math.max(20, (el.clientWidth - width * scale) / 2) - left * scale,
            y: Math.max(36, (el.clientHeight - height * scale) / 2) - top * scale,
        };
        redraw();
    };
    const lookAt = (n: number, scale: number) => {
        const el = canvas.current;
        const { at } = shown.current.layout;
        if (!el || n < 0) return;
        camera.current = {
            scale,
            x: el.clientWidth / 2 - ((at[n * 2] ?? 0) + NODE_W / 2) * scale,
            y: el.clientHeight / 2 - ((at[n * 2 + 1] ?? 0) + NODE_H / 2) * scale,
        };
        redraw();
    };
    /** All of it when that can be read, or when it is too much to begin anywhere; else what comes first. */
    const begin = () => {
        fitAll();
        if (camera.current.scale >= READABLE || shown.current.scene.nodes.length > 400) return;
        lookAt(firstOf(shown.current), COMFORTABLE);
    };
    /** Shows a node, close enough to read it. */
    const reveal = (n: number) => lookAt(n, Math.max(camera.current.scale, COMFORTABLE));
    /** After another layout: what was in the middle stays there. */
    const follow = (before: Picture, after: Picture) => {
        const el = canvas.current;
        if (!el) return;
        const { x, y, scale } = camera.current;
        const cx = (el.clientWidth / 2 - x) / scale;
        const cy = (el.clientHeight / 2 - y) / scale;
        let nearest = -1;
        let closest = Infinity;
        before.scene.nodes.forEach((_, n) => {
            const d = Math.hypot(
                (before.layout.at[n * 2] ?? 0) - cx,
                (before.layout.at[n * 2 + 1] ?? 0) - cy,
            );
            if (d < closest) [closest, nearest] = [d, n];
        });
        const task = before.scene.nodes[nearest]?.tasks[0]?.id;
        const there = task === undefined ? undefined : after.scene.index.get(task);
        if (there === undefined) return;
        const d = (i: number) =>
            (before.layout.at[nearest * 2 + i] ?? 0) - (after.layout.at[there * 2 + i] ?? 0);
        camera.current = { scale, x: x + d(0) * scale, y: y + d(1) * scale };
    };
    return { fitAll, begin, reveal, follow };
}

/** What it returns uses refs alone, so that listeners may keep it from the first drawing on. */
export function useCamera(canvas: Ref<HTMLCanvasElement | null>, shown: Ref<Picture>) {
    const camera = useRef<Camera>({ x: 20, y: 40, scale: 1 });
    const screen = useRef<Screen | null>(null);
    const frame = useRef(0);
    const rest = useRef<number | undefined>(undefined);
    const moving = useRef(false);
    const least = useRef(LEAST);
    const redraw = () => {
        if (frame.current) return;
        frame.current = requestAnimationFrame(() => {
            frame.current = 0;
            const el = canvas.current;
            if (!el) return;
            screen.current ??= new Screen();
            const sharp = screen.current.show(
                el,
                shown.current,
                camera.current,
                paint.peek(),
                moving.current,
            );
            el.dataset.camera = JSON.stringify(camera.current);
            el.dataset.drawings = String(screen.current.drawings);
            el.dataset.sharp = String(sharp);
            if (sharp) return;
            clearTimeout(rest.current);
            rest.current = window.setTimeout(() => {
                moving.current = false;
                redraw();
            }, REST_MS);
        });
    };
    const zoom = (factor: number, cx?: number, cy?: number) => {
        const el = canvas.current;
        if (!el) return;
        const x = cx ?? el.clientWidth / 2;
        const y = cy ?? el.clientHeight / 2;
        const old = camera.current;
        const scale = Math.min(MOST, Math.max(least.current, old.scale * factor));
        camera.current = {
            scale,
            x: x - ((x - old.x) * scale) / old.scale,
            y: y - ((y - old.y) * scale) / old.scale,
        };
        moving.current = true;
        redraw();
    };
    const pan = (dx: number, dy: number) => {
        const old = camera.current;
        camera.current = { ...old, x: old.x + dx, y: old.y + dy };
        moving.current = true;
        redraw();
    };
    const hit = (px: number, py: number): number =>
        nodeAt(
            shown.current,
            (px - camera.current.x) / camera.current.scale,
            (py - camera.current.y) / camera.current.scale,
        );
    const cancel = () => {
        cancelAnimationFrame(frame.current);
        clearTimeout(rest.current);
    };
    return { redraw, cancel, zoom, pan, hit, ...movers({ canvas, shown, camera, least }, redraw) };
}

/** Draws again when size or colours change; drags, pinches, zooms, chooses by a click and opens by two. */
export function usePointer(
    canvas: Ref<HTMLCanvasElement | null>,
    view: ReturnType<typeof useCamera>,
    choose: (n: number) => void,
    open: (n: number) => void,
) {
    const { redraw, cancel, zoom, pan, hit } = view;
    const calls = useRef({ choose, open });
    calls.current = { choose, open };
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
            const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
            if (other) {
                const before = Math.hypot(old.x - other.x, old.y - other.y);
                const after = Math.hypot(here.x - other.x, here.y - other.y);
                if (before > 0)
                    zoom(after / before, (here.x + other.x) / 2, (here.y + other.y) / 2);
            } else pan(here.x - old.x, here.y - old.y);
            moved += Math.abs(here.x - old.x) + Math.abs(here.y - old.y);
            fingers.set(event.pointerId, here);
        };
        const up = (event: PointerEvent) => {
            if (fingers.delete(event.pointerId) && moved < 5) {
                const { x, y } = local(event);
                calls.current.choose(hit(x, y));
            }
        };
        const wheel = (event: WheelEvent) => {
            event.preventDefault();
            const { x, y } = local(event);
            if (event.ctrlKey || !event.shiftKey) zoom(Math.exp(-event.deltaY * 0.0015), x, y);
            else pan(-event.deltaY, 0);
        };
        const twice = (event: MouseEvent) => {
            const { x, y } = local(event);
            calls.current.open(hit(x, y));
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
            cancel();
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
}
