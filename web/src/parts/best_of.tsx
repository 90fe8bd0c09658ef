// best_of.tsx: the candidates of a task side by side: state, cost and diff of each, and the pick.
import { useState } from 'preact/hooks';
import { get, post, scope, words } from '../api';
import { useLoad } from '../load';
import { wantStatus } from '../live';
import { href } from '../route';
import { count, line, money, short } from '../text';
import type { BestOf, Candidate, TaskDiff, TaskFull } from '../types';
import { parts } from '../patch';
import { Patch } from './diff';
import { Mark } from './mark';
import { Problem, Section, Text } from './small';
import { say } from './toast';

function CandidateDiff({ of: candidate }: { of: Candidate }) {
    const what = `candidate ${candidate.id} ${candidate.state} ${candidate.attempt}`;
    const diff = useLoad(what, (signal) =>
        get<TaskDiff>(`/v1/tasks/${encodeURIComponent(candidate.id)}/diff`, {}, signal),
    );
    const patches = diff.data?.patch ? parts(diff.data.patch) : [];
    if (diff.error) return <Problem error={diff.error} />;
    return (
        <>
            {diff.data?.files.map((file, n) => (
                <div key={file.path}>
                    <p class="mono">{line(file.path)}</p>
                    <Patch lines={patches[n]} name={file.path} />
                </div>
            ))}
        </>
    );
}

function Column({
    task,
    of: candidate,
    open,
    after,
}: {
    task: TaskFull;
    of: Candidate;
    open: boolean;
    after: () => void;
}) {
    const [busy, setBusy] = useState(false);
    const pick = () => {
        setBusy(true);
        post<BestOf>(`/v1/tasks/${encodeURIComponent(task.id)}/pick`, { candidate: candidate.id })
            .then(() => say(`${candidate.id}: picked`))
            .catch((error: unknown) => say(words(error), true))
            .finally(() => {
                setBusy(false);
                wantStatus();
                after();
            });
    };
    return (
        <article class="candidate" aria-label={`candidate ${candidate.id}`}>
            <p>
                <Mark state={candidate.state} />{' '}
                <a href={href('task', candidate.id)}>{candidate.id}</a>{' '}
                <Text of={candidate.agent ?? 'a command'} />
            </p>
            <p class="faint num">
                {short(candidate.tokens)} tokens, {money(candidate.usd)}
                {candidate.files !== null &&
                    `, ${count(candidate.files)} file${candidate.files === 1 ? '' : 's'}, +${count(candidate.insertions ?? 0)} −${count(candidate.deletions ?? 0)}`}
            </p>
            {candidate.picked && <p>picked</p>}
            {open && candidate.state === 'done' && scope.value !== 'read' && (
                <button class="primary" disabled={busy} onClick={pick}>
                    Pick
                </button>
            )}
            {candidate.has_diff && candidate.state === 'done' && <CandidateDiff of={candidate} />}
        </article>
    );
}

export function Candidates({ task, after }: { task: TaskFull; after: () => void }) {
    const of = task.best_of;
    if (!of) return null;
    const open = !of.picked && (task.state === 'held' || task.state === 'failed');
    return (
        <Section
            title="Candidates"
            note={`${short(of.tokens)} tokens, ${money(of.usd)} all together`}
        >
            {of.picked && (
                <p>
                    <a href={href('task', of.picked)}>{of.picked}</a> was picked
                    {of.by ? ` by ${line(of.by)}` : ''}
                    {of.reason ? (
                        <>
                            : <Text of={of.reason} />
                        </>
                    ) : null}
                </p>
            )}
            {of.refused && (
                <p>
                    The last pick could not be merged: <Text of={of.refused} />
                </p>
            )}
            <div class="candidates">
                {of.candidates.map((one) => (
                    <Column key={one.id} task={task} of={one} open={open} after={after} />
                ))}
            </div>
        </Section>
    );
}
