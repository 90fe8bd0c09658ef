// diff.tsx: what a task has changed: the files, and the patch of those that are unfolded. Names and lines were
// written by agents: all of it is text. The files come first, without the patch; that is read when it is opened.
import { useState } from 'preact/hooks';
import { get } from '../api';
import { useLoad } from '../load';
import { parts, rowsOf } from '../patch';
import { count, line } from '../text';
import type { DiffFile, TaskDiff, TaskFull } from '../types';
import { DiffRows } from './diff_rows';
import { Empty, Problem, Section } from './small';

const ITERATIONS_SHOWN = 20;

/** The name of a file, and how much of it has changed. */
export function FileName({ file }: { file: DiffFile }) {
    return (
        <>
            <span class="mono">
                {file.old_path ? `${line(file.old_path)} → ` : ''}
                {line(file.path)}
            </span>
            {file.binary ? (
                <span class="faint">binary</span>
            ) : (
                <>
                    <span class="num diff-plus">+{count(file.added)}</span>
                    <span class="num diff-minus">−{count(file.removed)}</span>
                </>
            )}
        </>
    );
}

export function Patch({ lines, name }: { lines: string[] | undefined; name: string }) {
    return lines ? (
        <DiffRows rows={rowsOf(lines)} name={name} />
    ) : (
        <p class="faint">
            The change is too large to show here. Run <code class="command">sluice diff</code> to
            see it.
        </p>
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
                <FileName file={file} />
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

/** Which iteration is shown; 0: all of them. */
export function IterationChoice({
    task,
    iteration,
    choose,
}: {
    task: TaskFull;
    iteration: number;
    choose: (iteration: number) => void;
}) {
    const from = Math.max(1, task.iteration - ITERATIONS_SHOWN + 1);
    if (task.iteration <= 1) return null;
    return (
        <select
            aria-label="iteration"
            value={String(iteration)}
            onChange={(event) => choose(Number(event.currentTarget.value))}
        >
            <option value="0">all of it</option>
            {Array.from({ length: task.iteration - from + 1 }, (_, n) => from + n).map((n) => (
                <option key={n} value={String(n)}>
                    iteration {n}
                </option>
            ))}
        </select>
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
                    <IterationChoice
                        task={task}
                        iteration={iteration}
                        choose={(n) => {
                            setIteration(n);
                            setOpen(new Set());
                        }}
                    />
                    <button
                        class="quiet"
                        onClick={() => {
                            stat.reload();
                            full.reload();
                        }}
                    >
                        reload
                    </button>
                </>
            }
        >
            {error ? (
                <Problem error={error} />
            ) : (
                files.length === 0 && !stat.loading && <Empty>No changes.</Empty>
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
            {!error && stat.data?.truncated && <p class="faint">Not all files are shown.</p>}
        </Section>
    );
}
