// diff_rows.tsx: the lines of one file of a change: old and new numbers, signs, tints, marked words. Names and lines were written
// by agents: all of it is text. Lines come in blocks; only those near the screen exist.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { DiffRow } from '../patch';
import { line, visible } from '../text';

const BLOCK = 60;
const ROW = 20;
const LINE_MAX = 4000;

const SIGNS: Record<DiffRow['kind'], string> = {
    hunk: '',
    same: ' ',
    added: '+',
    removed: '−',
    note: '',
};

/** What can be done with the lines of a file. Without it they are only shown. */
export interface RowActions {
    /** The row that the keys are at; null: in another file. */
    at: number | null;
    choose: (row: number) => void;
    /** What stands below a row: a comment, or the form for one. */
    below: (row: DiffRow, index: number) => ComponentChildren;
}

function Words({ row }: { row: DiffRow }) {
    const text = row.text.slice(0, LINE_MAX);
    const [from, to] = row.mark ?? [0, 0];
    if (to <= from) return <>{visible(text)}</>;
    return (
        <>
            {visible(text.slice(0, from))}
            <b class="diff-word">{visible(text.slice(from, to))}</b>
            {visible(text.slice(to))}
        </>
    );
}

function Row({
    row,
    index,
    actions,
}: {
    row: DiffRow;
    index: number;
    actions: RowActions | undefined;
}) {
    const canChoose = actions && row.kind !== 'hunk' && row.kind !== 'note';
    const here = actions?.at === index;
    const numbers = (
        <>
            <span>{row.old ?? ''}</span> <span>{row.new ?? ''}</span>
        </>
    );
    if (row.kind === 'hunk' || row.kind === 'note')
        return (
            <div class={`diff-line diff-${row.kind}`} data-line={index}>
                <span class="diff-n" aria-hidden="true" />
                <span class="diff-sign" />
                <span class="diff-code">
                    {row.kind === 'hunk' ? `⋯ ${visible(row.text)}` : visible(row.text)}
                </span>
            </div>
        );
    return (
        <>
            <div
                class={`diff-line diff-${row.kind}${here ? ' here' : ''}`}
                data-line={index}
                aria-current={here ? 'true' : undefined}
            >
                {canChoose ? (
                    <button
                        class="diff-n"
                        tabIndex={here ? 0 : -1}
                        title="comment on this line"
                        onClick={() => actions.choose(index)}
                    >
                        {numbers}
                    </button>
                ) : (
                    <span class="diff-n">{numbers}</span>
                )}
                <span class="diff-sign">{SIGNS[row.kind]}</span>
                <span class="diff-code foreign" dir="ltr">
                    <Words row={row} />
                </span>
            </div>
            {actions?.below(row, index)}
        </>
    );
}

/** A block that exists only near the screen; elsewhere it is room of the height that it had. */
function Block({
    rows,
    force,
    children,
}: {
    rows: number;
    force: boolean;
    children: () => ComponentChildren;
}) {
    const box = useRef<HTMLDivElement>(null);
    const [near, setNear] = useState(false);
    const height = useRef(rows * ROW);
    useEffect(() => {
        const el = box.current;
        if (!el) return;
        const observer = new IntersectionObserver(
            (entries) => {
                const entry = entries[entries.length - 1]; // the others are older
                if (!entry) return;
                if (!entry.isIntersecting && el.offsetHeight > 0) height.current = el.offsetHeight;
                setNear(entry.isIntersecting);
            },
            { rootMargin: '1200px 0px' },
        );
        observer.observe(el);
        return () => observer.disconnect();
    }, []);
    const isShown = near || force;
    return (
        <div ref={box} style={isShown ? undefined : { height: `${height.current}px` }}>
            {isShown && children()}
        </div>
    );
}

export function DiffRows({
    rows,
    name,
    actions,
}: {
    rows: DiffRow[];
    name: string;
    actions?: RowActions;
}) {
    const blocks: ComponentChildren[] = [];
    const at = actions?.at ?? null;
    const called = line(name);
    for (let first = 0; first < rows.length; first += BLOCK) {
        const some = rows.slice(first, first + BLOCK);
        blocks.push(
            <Block
                key={first}
                rows={some.length}
                force={at !== null && at >= first - 5 && at < first + BLOCK + 5}
            >
                {() =>
                    some.map((row, n) => (
                        <Row key={first + n} row={row} index={first + n} actions={actions} />
                    ))
                }
            </Block>,
        );
    }
    return (
        <div
            class="diff-text"
            dir="ltr"
            role="region"
            tabIndex={0}
            aria-label={`the change of ${called}`}
        >
            {blocks}
        </div>
    );
}
