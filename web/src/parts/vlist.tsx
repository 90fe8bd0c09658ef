// vlist.tsx: a list of any length, of which only the visible rows exist. All rows have the same height.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

const OVERSCAN = 8;

export interface VListProps {
    count: number;
    rowHeight: number;
    row: (index: number) => ComponentChildren;
    label: string;
    class?: string;
    /** Wanted height in px, where it is not the style's alone. */
    height?: number;
    /** The row that must be seen; it is scrolled to when this changes. */
    reveal?: number | null;
    /** Keeps the end in sight while rows are added. */
    stick?: boolean;
    onScrolledAway?: (isAway: boolean) => void;
    onRange?: (first: number, last: number) => void;
    role?: 'list' | 'log' | 'listbox';
}

export function VList(props: VListProps) {
    const { count, rowHeight, row, reveal, stick = false, onRange, onScrolledAway } = props;
    const box = useRef<HTMLDivElement>(null);
    const [view, setView] = useState({ top: 0, height: 600 });
    const frame = useRef(0);

    const look = () => {
        frame.current = 0;
        const el = box.current;
        if (!el) return;
        setView((old) =>
            old.top === el.scrollTop && old.height === el.clientHeight
                ? old
                : { top: el.scrollTop, height: el.clientHeight },
        );
    };
    const scrolled = () => {
        const el = box.current;
        if (el && onScrolledAway)
            onScrolledAway(el.scrollTop + el.clientHeight < el.scrollHeight - rowHeight * 2);
        if (!frame.current) frame.current = requestAnimationFrame(look);
    };
    useEffect(() => {
        const el = box.current;
        if (!el) return;
        const observer = new ResizeObserver(look);
        observer.observe(el);
        return () => {
            observer.disconnect();
            cancelAnimationFrame(frame.current);
        };
    }, []);
    useLayoutEffect(() => {
        const el = box.current;
        if (el && stick) el.scrollTop = el.scrollHeight;
    }, [count, stick]);
    useLayoutEffect(() => {
        const el = box.current;
        if (!el || reveal === null || reveal === undefined || reveal < 0) return;
        const y = reveal * rowHeight;
        if (y < el.scrollTop + rowHeight) el.scrollTop = Math.max(0, y - rowHeight);
        else if (y + rowHeight * 2 > el.scrollTop + el.clientHeight)
            el.scrollTop = y + rowHeight * 2 - el.clientHeight;
        look();
    }, [reveal]);

    const first = Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN);
    const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + OVERSCAN);
    useEffect(() => {
        onRange?.(first, last);
    }, [first, last, count]);
    const rows: ComponentChildren[] = [];
    for (let i = first; i < last; i++) rows.push(row(i));
    return (
        <div
            ref={box}
            class={`vlist ${props.class ?? ''}`}
            onScroll={scrolled}
            style={props.height ? { height: `${props.height}px` } : undefined}
            tabIndex={0}
            role={props.role ?? 'list'}
            aria-label={props.label}
        >
            <div class="vspace" style={{ height: `${count * rowHeight}px` }}>
                <div class="vrows" style={{ transform: `translateY(${first * rowHeight}px)` }}>
                    {rows}
                </div>
            </div>
        </div>
    );
}
