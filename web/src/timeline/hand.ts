// hand.ts: pointer and wheel on a timeline: drag and pinch, zoom around the pointer, choose by a click.
import { useEffect, useRef } from 'preact/hooks';

export interface Hand {
    /** By pixels. */
    pan: (dx: number, dy: number) => void;
    /** Around a point. */
    zoom: (factor: number, x: number) => void;
    over: (x: number, y: number) => void;
    leave: () => void;
    click: (x: number, y: number) => void;
}

export function useHand(
    canvas: { current: HTMLCanvasElement | null },
    hand: Hand,
    there: boolean,
): void {
    const latest = useRef(hand);
    latest.current = hand;
    useEffect(() => {
        const el = canvas.current;
        if (!el) return;
        const stop = new AbortController();
        const on = <K extends keyof HTMLElementEventMap>(
            name: K,
            fn: (event: HTMLElementEventMap[K]) => void,
        ) => el.addEventListener(name, fn, { signal: stop.signal, passive: false });
        const local = (event: MouseEvent) => {
            const box = el.getBoundingClientRect();
            return { x: event.clientX - box.left, y: event.clientY - box.top };
        };
        const fingers = new Map<number, { x: number; y: number }>();
        let moved = 0;
        on('pointerdown', (event) => {
            el.setPointerCapture(event.pointerId);
            fingers.set(event.pointerId, local(event));
            moved = 0;
        });
        on('pointermove', (event) => {
            const old = fingers.get(event.pointerId);
            const here = local(event);
            if (!old) {
                latest.current.over(here.x, here.y);
                return;
            }
            const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
            fingers.set(event.pointerId, here);
            moved += Math.abs(here.x - old.x) + Math.abs(here.y - old.y);
            if (other) {
                const before = Math.abs(old.x - other.x);
                const after = Math.abs(here.x - other.x);
                if (before > 8 && after > 8)
                    latest.current.zoom(after / before, (here.x + other.x) / 2);
            } else latest.current.pan(here.x - old.x, here.y - old.y);
        });
        const up = (event: PointerEvent) => {
            if (!fingers.delete(event.pointerId) || moved >= 5 || event.type === 'pointercancel')
                return;
            const { x, y } = local(event);
            latest.current.click(x, y);
        };
        on('pointerup', up);
        on('pointercancel', up);
        on('pointerleave', () => latest.current.leave());
        on('wheel', (event) => {
            event.preventDefault();
            if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
                latest.current.pan(-(event.deltaX || event.deltaY), 0);
            else latest.current.zoom(Math.exp(-event.deltaY * 0.0015), local(event).x);
        });
        return () => stop.abort();
    }, [there]);
}
