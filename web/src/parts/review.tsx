// review.tsx: the change of a task that waits for review: its files, their lines, and comments on these. By keys, too: j k lines,
// J K changes, ] [ files, c a comment, z folds, e shows more around; A, R and T decide (review_verdict.tsx).
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { get } from '../api';
import { useKeys } from '../keys';
import { useLoad } from '../load';
import { type DiffRow, parts, rowsOf } from '../patch';
import { type Comment, reviewKey, reviewOf, sameLine, setComment, setReview } from '../review';
import { count, line, many } from '../text';
import type { DiffFile, TaskDiff, TaskFull } from '../types';
import { FileName, IterationChoice } from './diff';
import { DiffRows } from './diff_rows';
import { Verdict } from './review_verdict';
import { Empty, Problem } from './small';

const CONTEXTS = [3, 25, 1_000_000];
const FOLDED_LINES = 3000; // a larger file is folded at first

interface Place {
    file: number;
    row: number;
}

/* --- comments ----------------------------------------------------------------------------------- */

function CommentForm({
    of: comment,
    reviewed,
    close,
}: {
    of: Comment;
    reviewed: string;
    close: () => void;
}) {
    const box = useRef<HTMLTextAreaElement>(null);
    useLayoutEffect(() => box.current?.focus(), []);
    return (
        <div class="review-comment">
            <textarea
                ref={box}
                rows={3}
                aria-label={`comment on line ${comment.line} of ${line(comment.path)}`}
                placeholder="What should be different here?"
                value={comment.text}
                onInput={(event) =>
                    setComment(reviewed, { ...comment, text: event.currentTarget.value })
                }
                onKeyDown={(event) => {
                    const isDone = event.key === 'Enter' && (event.ctrlKey || event.metaKey);
                    if (isDone || event.key === 'Escape') close();
                }}
            />
            <p class="buttons">
                <span class="faint">It stays in this browser until you reject the task.</span>
                <button
                    class="quiet"
                    onClick={() => {
                        setComment(reviewed, { ...comment, text: '' });
                        close();
                    }}
                >
                    Delete
                </button>
                <button onClick={close} title="Ctrl+Enter">
                    Done
                </button>
            </p>
        </div>
    );
}

function Written({ of: comment, edit }: { of: Comment; edit: () => void }) {
    return (
        <div class="review-comment">
            <p class="pre">{comment.text}</p>
            <button class="quiet" onClick={edit}>
                Edit
            </button>
        </div>
    );
}

function placeOf(file: DiffFile, row: DiffRow): Pick<Comment, 'path' | 'side' | 'line'> {
    return row.new === null
        ? { path: file.old_path ?? file.path, side: 'old', line: row.old ?? 0 }
        : { path: file.path, side: 'new', line: row.new };
}

/* --- files -------------------------------------------------------------------------------------- */

/** A file that was added or removed has nothing around. */
const isComplete = (rows: DiffRow[]): boolean =>
    rows.some((row) => row.kind === 'note' && /^(?:new|deleted) file/.test(row.text));

/** The rows of a file: from the patch of all of them, or its own with more around, or when that one was cut. */
function useRows(task: TaskFull, iteration: number, file: DiffFile, lines: string[] | undefined) {
    const [step, setStep] = useState(0);
    const [wanted, want] = useState(false);
    const own = step > 0 || wanted;
    const read = useLoad(`file ${task.id} ${iteration} ${file.path} ${step} ${own}`, (signal) =>
        own
            ? get<TaskDiff>(
                  `/v1/tasks/${encodeURIComponent(task.id)}/diff`,
                  {
                      iteration: iteration || null,
                      context: CONTEXTS[step],
                      path: file.path,
                      old_path: file.old_path,
                  },
                  signal,
              )
            : Promise.resolve(null),
    );
    const kept = useRef<string[] | undefined>(lines);
    const mine = read.data?.patch ? parts(read.data.patch)[0] : undefined;
    kept.current = mine ?? (own ? kept.current : lines);
    const memo = useRef<{ lines: string[] | undefined; rows: DiffRow[] }>({ lines, rows: [] });
    if (memo.current.lines !== kept.current || memo.current.rows.length === 0)
        memo.current = { lines: kept.current, rows: kept.current ? rowsOf(kept.current) : [] };
    return {
        rows: kept.current ? memo.current.rows : null,
        error: read.error,
        isCut: !!read.data?.truncated,
        load: () => want(true),
        more: step < CONTEXTS.length - 1 ? () => setStep(step + 1) : null,
        step,
    };
}

interface FileProps {
    task: TaskFull;
    iteration: number;
    file: DiffFile;
    lines: string[] | undefined;
    folded: boolean;
    fold: () => void;
    /** Row of the keys in this file; null: in another one. */
    at: number | null;
    writes: boolean;
    choose: (row: number, writes: boolean) => void;
    reviewed: string;
    known: (rows: DiffRow[] | null, more: (() => void) | null) => void;
}

function File(props: FileProps) {
    const { task, iteration, file, lines, folded, fold, at, writes, choose, reviewed } = props;
    const { rows, error, isCut, load, more, step } = useRows(task, iteration, file, lines);
    const { comments } = reviewOf(reviewed);
    useEffect(() => props.known(folded ? null : rows, more));
    const below = (row: DiffRow, index: number) => {
        const place = placeOf(file, row);
        const comment = comments.find((one) => sameLine(one, place));
        if (writes && at === index)
            return (
                <CommentForm
                    of={comment ?? { ...place, quote: row.text, text: '' }}
                    reviewed={reviewed}
                    close={() => choose(index, false)}
                />
            );
        return comment ? <Written of={comment} edit={() => choose(index, true)} /> : null;
    };
    return (
        <section class="review-file" aria-label={line(file.path)}>
            <header>
                <button class="quiet diff-file" aria-expanded={!folded} onClick={fold}>
                    <FileName file={file} />
                </button>
                {!folded && more && !file.binary && rows && !isComplete(rows) && (
                    <button class="quiet" onClick={more} title="show more unchanged lines (e)">
                        {step === 0 ? 'more around' : 'all lines'}
                    </button>
                )}
            </header>
            <Problem error={error} />
            {folded ? null : file.binary ? (
                <p class="faint review-note">This is not a text file.</p>
            ) : rows ? (
                <DiffRows
                    rows={rows}
                    name={file.path}
                    actions={{ at, choose: (row) => choose(row, true), below }}
                />
            ) : (
                <p class="review-note">
                    <button onClick={load}>Load this file</button>
                </p>
            )}
            {isCut && !folded && (
                <p class="faint review-note">
                    The rest is too large to show here. Run <code class="command">sluice diff</code>{' '}
                    to see it.
                </p>
            )}
        </section>
    );
}

function Tree({
    files,
    at,
    comments,
    open,
}: {
    files: DiffFile[];
    at: number;
    comments: Comment[];
    open: (file: number) => void;
}) {
    let folder = '';
    return (
        <nav class="review-tree" aria-label="changed files">
            <ul>
                {files.map((file, n) => {
                    const cut = file.path.lastIndexOf('/') + 1;
                    const own = file.path.slice(0, cut);
                    const isNew = own !== folder;
                    folder = own;
                    const written = comments.filter((one) => one.path === file.path).length;
                    return (
                        <li key={file.path}>
                            {isNew && own && <p class="review-folder mono">{line(own)}</p>}
                            <button
                                class="quiet"
                                aria-current={n === at ? 'true' : undefined}
                                onClick={() => open(n)}
                            >
                                <span class="mono">{line(file.path.slice(cut))}</span>
                                {written > 0 && (
                                    <span class="review-count" title={many(written, 'comment')}>
                                        {written}
                                    </span>
                                )}
                                <span class="num diff-plus">
                                    {file.binary ? '' : `+${count(file.added)}`}
                                </span>
                                <span class="num diff-minus">
                                    {file.binary ? '' : `−${count(file.removed)}`}
                                </span>
                            </button>
                        </li>
                    );
                })}
            </ul>
        </nav>
    );
}

/* --- keys --------------------------------------------------------------------------------------- */

interface Known {
    rows: DiffRow[] | null;
    more: (() => void) | null;
}

const isLine = (row: DiffRow | undefined) => !!row && row.kind !== 'hunk' && row.kind !== 'note';
const isChange = (row: DiffRow | undefined) => row?.kind === 'added' || row?.kind === 'removed';

/** The next row in this direction, across files; of a change its first row. */
function nextRow(known: Known[], from: Place | null, by: number, changes: boolean): Place | null {
    let { file, row } = from ?? { file: 0, row: -1 };
    for (;;) {
        row += by;
        const rows = known[file]?.rows ?? [];
        if (row < 0 || row >= rows.length) {
            file += by;
            if (file < 0 || file >= known.length) return null;
            row = by > 0 ? -1 : (known[file]?.rows ?? []).length;
            continue;
        }
        const isFirst = isChange(rows[row]) && !isChange(rows[row - 1]);
        if (changes ? isFirst : isLine(rows[row])) return { file, row };
    }
}

function useCursor(known: { current: Known[] }, unfold: (file: number) => void) {
    const [at, draw] = useState<Place | null>(null);
    const [writes, setWrites] = useState(false);
    // Keys may come faster than the page is drawn.
    const now = useRef<Place | null>(null);
    const set = (to: Place) => {
        now.current = to;
        draw(to);
    };
    const move = (to: Place | null) => {
        if (!to) return;
        set(to);
        setWrites(false);
    };
    useEffect(() => {
        if (!at) return;
        const file = document.querySelectorAll('.review-file')[at.file];
        const there = file?.querySelector(`[data-line="${at.row}"]`) ?? file;
        there?.scrollIntoView({ block: 'nearest' });
    }, [at?.file, at?.row]);
    const openFile = (file: number) => {
        if (file < 0 || file >= known.current.length) return;
        unfold(file);
        setWrites(false);
        set(nextRow(known.current, { file, row: -1 }, 1, true) ?? { file, row: 0 });
        document.querySelectorAll('.review-file')[file]?.scrollIntoView({ block: 'start' });
    };
    return { at, now, writes, move, openFile, set, setWrites };
}

function useReviewKeys(
    known: { current: Known[] },
    cursor: ReturnType<typeof useCursor>,
    fold: (file: number) => void,
): void {
    const { now, move, openFile, setWrites } = cursor;
    const step = (by: number, changes: boolean) =>
        move(nextRow(known.current, now.current, by, changes));
    useKeys((key) => {
        const at = now.current;
        if (key === 'j') step(1, false);
        else if (key === 'k') step(-1, false);
        else if (key === 'J') step(1, true);
        else if (key === 'K') step(-1, true);
        else if (key === ']') openFile(at ? at.file + 1 : 0);
        else if (key === '[') openFile(at ? at.file - 1 : 0);
        else if (key === 'z' && at) fold(at.file);
        else if (key === 'e' && at) known.current[at.file]?.more?.();
        else if (key === 'c' && at) setWrites(true);
        else return false;
        return true;
    });
}

/* --- the review --------------------------------------------------------------------------------- */

function useFolded(files: DiffFile[]) {
    const [folded, setFolded] = useState<ReadonlySet<string> | null>(null);
    const large = files
        .filter((file) => file.added + file.removed > FOLDED_LINES)
        .map((file) => file.path);
    const now = folded ?? new Set(large);
    const set = (path: string, on: boolean) => {
        const next = new Set(now);
        if (on) next.add(path);
        else next.delete(path);
        setFolded(next);
    };
    return { is: (path: string) => now.has(path), set };
}

function General({ reviewed }: { reviewed: string }) {
    const review = reviewOf(reviewed);
    return (
        <label class="field review-general">
            On the change as a whole
            <textarea
                rows={2}
                value={review.text}
                placeholder="Sent with the comments when you reject it."
                onInput={(event) =>
                    setReview(reviewed, { ...review, text: event.currentTarget.value })
                }
            />
        </label>
    );
}

export function ReviewMode({ task, after }: { task: TaskFull; after: () => void }) {
    const [iteration, setIteration] = useState(0);
    const diff = useLoad(`review ${task.id} ${iteration} ${task.attempt}`, (signal) =>
        get<TaskDiff>(
            `/v1/tasks/${encodeURIComponent(task.id)}/diff`,
            { iteration: iteration || null },
            signal,
        ),
    );
    const files = diff.data?.files ?? [];
    const patches = useRef<{ patch: string | null; parts: string[][] }>({ patch: null, parts: [] });
    const patch = diff.data?.patch ?? '';
    if (patches.current.patch !== patch) patches.current = { patch, parts: parts(patch) };
    // The last part of a patch that was cut may be incomplete: that file is loaded on its own.
    const whole = patches.current.parts.length - (diff.data?.truncated ? 1 : 0);
    const folded = useFolded(files);
    const known = useRef<Known[]>([]);
    known.current.length = files.length;
    const unfold = (n: number) => folded.set(files[n]?.path ?? '', false);
    const cursor = useCursor(known, unfold);
    const fold = (n: number) => folded.set(files[n]?.path ?? '', !folded.is(files[n]?.path ?? ''));
    useReviewKeys(known, cursor, fold);
    const reviewed = reviewKey(task.id, task.iteration);
    const { comments } = reviewOf(reviewed);
    const sum = (of: 'added' | 'removed') => files.reduce((all, file) => all + file[of], 0);
    return (
        <section class="review" aria-label="Review">
            <div class="review-bar">
                <span class="review-sum">
                    <b>{many(files.length, 'file')}</b>{' '}
                    <span class="num diff-plus">+{count(sum('added'))}</span>{' '}
                    <span class="num diff-minus">−{count(sum('removed'))}</span>
                    {diff.data?.branch && (
                        <span class="faint"> since {line(diff.data.branch)}</span>
                    )}
                </span>
                <IterationChoice task={task} iteration={iteration} choose={setIteration} />
                <Verdict
                    task={task}
                    reviewed={reviewed}
                    paths={files.map((file) => file.path)}
                    after={after}
                />
            </div>
            <Problem error={diff.error} />
            {files.length === 0 && !diff.loading && !diff.error && <Empty>No changes.</Empty>}
            <div class="review-columns">
                <Tree
                    files={files}
                    at={cursor.at?.file ?? -1}
                    comments={comments}
                    open={cursor.openFile}
                />
                <div class="review-files">
                    {files.map((file, n) => (
                        <File
                            key={`${iteration} ${file.path}`}
                            task={task}
                            iteration={iteration}
                            file={file}
                            lines={n < whole ? patches.current.parts[n] : undefined}
                            folded={folded.is(file.path)}
                            fold={() => fold(n)}
                            at={cursor.at?.file === n ? cursor.at.row : null}
                            writes={cursor.writes}
                            choose={(row, writes) => {
                                cursor.set({ file: n, row });
                                cursor.setWrites(writes);
                            }}
                            reviewed={reviewed}
                            known={(rows, more) => {
                                known.current[n] = { rows, more };
                            }}
                        />
                    ))}
                    {diff.data?.truncated && files.length >= 1000 && (
                        <p class="faint">Not all files are shown.</p>
                    )}
                    {files.length > 0 && <General reviewed={reviewed} />}
                </div>
            </div>
        </section>
    );
}
