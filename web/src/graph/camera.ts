// camera.ts: the part of a graph that is on its canvas, and how pointer and wheel move it.
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { paint } from '../theme';
import type { GraphNode } from '../types';
import { draw, type Camera, type Picture } from './draw';
import { NODE_H, NODE_W } from './size';

const READABLE = 0.34;
const LEAST = 0.02;

interface Ref<T> {
    current: T;
}

/** What it returns uses refs alone, so that listeners may keep it from the first drawing on. */
export function useCamera(canvas: Ref<HTMLCanvasElement | null>, shown: Ref<Picture>) {
    const camera = useRef<Camera>({ x: 20, y: 20, scale: 1 });
    const frame = useRef(0);
    const least = useRef(LEAST);
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
    const cancel = () => cancelAnimationFrame(frame.current);
    return { camera, redraw, cancel, fitAll, begin, zoom, hit };
}

/** Draws again when size or colours change; drags, pinches, zooms, chooses by a click and opens by two. */
export function usePointer(
    canvas: Ref<HTMLCanvasElement | null>,
    view: ReturnType<typeof useCamera>,
    choose: (id: string | null) => void,
    open: (id: string) => void,
) {
    const { camera, redraw, cancel, zoom, hit } = view;
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
            if (id) open(id);
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
