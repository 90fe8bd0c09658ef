// blocks.tsx: a list of any length whose rows have any height. Rows come in blocks; only those near what is visible exist, the
// others are room of the height that they had, or should have.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface BlocksProps {
    count: number;
    /** Rows of a block. */
    size?: number;
    /** Expected height of a row, in px. */
    rowHeight: number;
    /** The outermost element of a row has `data-row`. */
    row: (index: number) => ComponentChildren;
    label: string;
    class?: string;
    role?: 'list' | 'log';
    /** The row that must be seen; it is scrolled to when this changes. */
    reveal?: number | null;
    /** Keeps the end in sight while rows are added. */
    stick?: boolean;
    onScrolledAway?: (isAway: boolean) => void;
}

const NEAR = '600px 0px';

/** The blocks that are near what is visible. */
function useNear(count: number) {
    const box = useRef<HTMLDivElement>(null);
    const [near, setNear] = useState<ReadonlySet<number>>(new Set([0]));
    const observer = useRef<IntersectionObserver | null>(null);
    useEffect(() => {
        const made = new IntersectionObserver(
            (entries) =>
                setNear((old) => {
                    const next = new Set(old);
                    for (const entry of entries) {
                        const n = Number((entry.target as HTMLElement).dataset.block);
                        if (entry.isIntersecting) next.add(n);
                        else next.delete(n);
                    }
                    return next;
                }),
            { root: box.current, rootMargin: NEAR },
        );
        observer.current = made;
        for (const block of box.current?.children ?? []) made.observe(block);
        return () => made.disconnect();
    }, []);
    useEffect(() => {
        for (const block of box.current?.children ?? []) observer.current?.observe(block);
    }, [count]);
    return { box, near };
}

export function Blocks(props: BlocksProps) {
    const { count, rowHeight, row, reveal, stick = false, size = 100, onScrolledAway } = props;
    const blocks = Math.ceil(count / size);
    const { box, near } = useNear(blocks);
    const heights = useRef(new Map<number, number>());
    const wanted = reveal !== null && reveal !== undefined && reveal >= 0 ? reveal : null;
    const shown = (n: number) =>
        near.has(n) ||
        (stick && n >= blocks - 2) ||
        (wanted !== null && Math.abs(n - Math.floor(wanted / size)) <= 1);

    useLayoutEffect(() => {
        const el = box.current;
        if (!el) return;
        for (const block of el.children) {
            const { block: n = '', full } = (block as HTMLElement).dataset;
            if (full) heights.current.set(Number(n), (block as HTMLElement).offsetHeight);
        }
        if (stick) el.scrollTop = el.scrollHeight;
    });
    useLayoutEffect(() => {
        const el = box.current;
        const there = wanted === null ? null : el?.querySelector(`[data-row="${wanted}"]`);
        if (!el || !there) return;
        const [inside, at] = [el.getBoundingClientRect(), there.getBoundingClientRect()];
        if (at.top < inside.top + rowHeight || at.bottom > inside.bottom - rowHeight)
            el.scrollTop += at.top - inside.top - el.clientHeight / 3;
    }, [wanted, wanted !== null && wanted < count]);

    const made: ComponentChildren[] = [];
    for (let n = 0; n < blocks; n++) {
        const [first, last] = [n * size, Math.min(count, (n + 1) * size)];
        const isFull = last - first === size;
        if (!shown(n)) {
            const height = (isFull && heights.current.get(n)) || (last - first) * rowHeight;
            made.push(<div key={n} data-block={n} style={{ height: `${height}px` }} />);
            continue;
        }
        const rows: ComponentChildren[] = [];
        for (let i = first; i < last; i++) rows.push(row(i));
        made.push(
            <div key={n} data-block={n} data-full={isFull ? '1' : undefined}>
                {rows}
            </div>,
        );
    }
    return (
        <div
            ref={box}
            class={`blocks ${props.class ?? ''}`}
            tabIndex={0}
            role={props.role ?? 'list'}
            aria-label={props.label}
            onScroll={() => {
                const el = box.current;
                if (el && onScrolledAway)
                    onScrolledAway(
                        el.scrollTop + el.clientHeight < el.scrollHeight - rowHeight * 2,
                    );
            }}
        >
            {made}
        </div>
    );
}
