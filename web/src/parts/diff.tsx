// diff.tsx: what a task has changed: the files, and the patch of those that are unfolded. Names and lines were
// written by agents: all of it is text. The files come first, without the patch; that is read when it is opened.
import { useState } from 'preact/hooks';
import { get } from '../api';
import { useLoad } from '../load';
import { count, line, visible } from '../text';
import type { DiffFile, TaskDiff, TaskFull } from '../types';
import { Empty, Problem, Section } from './small';

const LINES_MAX = 2000;
const LINE_MAX = 4000;
const ITERATIONS_SHOWN = 20;

/** The part of each file, in the order of the files. Lines of a file have a sign before them, so none is taken for a head. */
export function parts(patch: string): string[][] {
    const found: string[][] = [];
    for (const text of patch.split('\n'))
        if (text.startsWith('diff --git ')) found.push([]);
        else found[found.length - 1]?.push(text);
    for (const one of found) if (one[one.length - 1] === '') one.pop();
    return found;
}

function lineClass(text: string, head: boolean): string {
    if (head || text.startsWith('@@') || text.startsWith('\\')) return 'diff-hunk';
    return text.startsWith('+') ? 'diff-added' : text.startsWith('-') ? 'diff-removed' : '';
}

export function Patch({ lines, name }: { lines: string[] | undefined; name: string }) {
    if (!lines)
        return (
            <p class="faint">
                The change is too large to be shown here: <code class="command">sluice diff</code>{' '}
                and git have it.
            </p>
        );
    const first = lines.findIndex((text) => text.startsWith('@@'));
    return (
        <div
            class="diff-text"
            dir="ltr"
            role="region"
            tabIndex={0}
            aria-label={`the change of ${line(name)}`}
        >
            {lines.slice(0, LINES_MAX).map((text, n) => (
                <div key={n} class={`diff-line ${lineClass(text, first < 0 || n < first)}`}>
                    {visible(text.slice(0, LINE_MAX))}
                </div>
            ))}
            {lines.length > LINES_MAX && (
                <div class="diff-line diff-hunk">{count(lines.length - LINES_MAX)} more lines</div>
            )}
        </div>
    );
}

function File({
    file,
    lines,
    loading,
    open,
    toggle,
}: {
    file: DiffFile;
    lines: string[] | undefined;
    loading: boolean;
    open: boolean;
    toggle: () => void;
}) {
    return (
        <li>
            <button class="quiet diff-file" aria-expanded={open} onClick={toggle}>
                <span class="mono">
                    {file.old_path ? `${line(file.old_path)} → ` : ''}
                    {line(file.path)}
                </span>
                {file.binary ? (
                    <span class="faint">binary</span>
                ) : (
                    <>
                        <span class="num diff-added">+{count(file.added)}</span>
                        <span class="num diff-removed">−{count(file.removed)}</span>
                    </>
                )}
            </button>
            {open &&
                (loading ? (
                    <div class="loading" aria-busy="true" />
                ) : (
                    <Patch lines={lines} name={file.path} />
                ))}
        </li>
    );
}

export function Changes({ task }: { task: TaskFull }) {
    const [iteration, setIteration] = useState(0);
    const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
    const address = `/v1/tasks/${encodeURIComponent(task.id)}/diff`;
    // It may have changed when an attempt begins or ends; while one runs, on request.
    const what = `${task.id} ${iteration} ${task.state} ${task.attempt}`;
    const stat = useLoad(`diff ${what}`, (signal) =>
        get<TaskDiff>(address, { iteration: iteration || null, stat: true }, signal),
    );
    const looked = open.size > 0;
    const full = useLoad(`patch ${what} ${looked}`, (signal) =>
        looked
            ? get<TaskDiff>(address, { iteration: iteration || null }, signal)
            : Promise.resolve(null),
    );
    const files = (full.data ?? stat.data)?.files ?? [];
    const patches = full.data?.patch ? parts(full.data.patch) : [];
    const toggle = (path: string) => {
        const next = new Set(open);
        if (!next.delete(path)) next.add(path);
        setOpen(next);
    };
    const from = Math.max(1, task.iteration - ITERATIONS_SHOWN + 1);
    const error = stat.error ?? full.error;
    return (
        <Section
            title="Changes"
            note={
                files.length > 0
                    ? `${count(files.length)} file${files.length === 1 ? '' : 's'}${stat.data?.branch ? ` since ${line(stat.data.branch)}` : ''}`
                    : undefined
            }
            actions={
                <>
                    {task.iteration > 1 && (
                        <select
                            aria-label="iteration"
                            value={String(iteration)}
                            onChange={(event) => {
                                setIteration(Number(event.currentTarget.value));
                                setOpen(new Set());
                            }}
                        >
                            <option value="0">all of it</option>
                            {Array.from(
                                { length: task.iteration - from + 1 },
                                (_, n) => from + n,
                            ).map((n) => (
                                <option key={n} value={String(n)}>
                                    iteration {n}
                                </option>
                            ))}
                        </select>
                    )}
                    <button
                        class="quiet"
                        onClick={() => {
                            stat.reload();
                            full.reload();
                        }}
                    >
                        look again
                    </button>
                </>
            }
        >
            {error ? (
                <Problem error={error} />
            ) : (
                files.length === 0 && !stat.loading && <Empty>It has changed nothing.</Empty>
            )}
            {!error && (
                <ul class="diff-files">
                    {files.map((file, n) => (
                        <File
                            key={file.path}
                            file={file}
                            lines={patches[n]}
                            loading={full.loading}
                            open={open.has(file.path)}
                            toggle={() => toggle(file.path)}
                        />
                    ))}
                </ul>
            )}
            {!error && stat.data?.truncated && (
                <p class="faint">There are more files than are shown here.</p>
            )}
        </Section>
    );
}
