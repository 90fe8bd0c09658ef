// question.tsx: a question of a run, and the form that answers it. It is answered once: if two people answer, the
// first answer counts, and the second person sees who was faster and keeps the typed text.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, post, scope, words } from '../api';
import { drafts, setDraft } from '../drafts';
import { useLoad } from '../load';
import { wantStatus } from '../live';
import { href } from '../route';
import { clock, line, visible } from '../text';
import { questionsOf } from '../questions';
import type { Event, Page, Question, TaskFull } from '../types';
import { Ago, Countdown, Text, Tid } from './small';
import { say } from './toast';

const PREFIX = 'answer ';
const EVENTS = 200;

/** A task may ask more than once. */
export const draftKey = (q: Question): string => `${PREFIX}${q.task} ${q.asked_at}`;

/** Drafts of answers whose question is not among these: it was answered or withdrawn meanwhile. */
export function orphanedDrafts(open: Question[]): string[] {
    const keys = new Set(open.map(draftKey));
    return Object.keys(drafts.value).filter((key) => key.startsWith(PREFIX) && !keys.has(key));
}

/** The draft whose form disappeared while a person was typing: what follows must not act as keys of the page. */
let interrupted = '';

function Deadline({ q }: { q: Question }) {
    if (!q.deadline) return <span>The task waits for an answer.</span>;
    return (
        <span>
            If there is no answer,{' '}
            {q.default === null ? 'the task fails' : <>“{line(q.default)}” is used</>}{' '}
            <Countdown to={q.deadline} />, at <span class="num">{clock(q.deadline)}</span>.
        </span>
    );
}

function Options({ q, chosen }: { q: Question; chosen: string }) {
    const key = draftKey(q);
    return (
        <fieldset class="options">
            <legend class="sr">Answer</legend>
            {q.choices.map((choice) => (
                <label key={choice} class="option">
                    <input
                        type="radio"
                        name={key}
                        value={choice}
                        required
                        checked={chosen === choice}
                        onChange={() => setDraft(key, choice)}
                    />
                    <Text of={choice} />
                    {choice === q.default && <span class="faint">default</span>}
                </label>
            ))}
        </fieldset>
    );
}

function Form({ q, after }: { q: Question; after: () => void }) {
    const key = draftKey(q);
    const typed = drafts.value[key] ?? '';
    const form = useRef<HTMLFormElement>(null);
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<string | null>(null);
    useEffect(
        () => () => {
            if (form.current?.contains(document.activeElement)) interrupted = key;
        },
        [],
    );
    const send = async (event: SubmitEvent) => {
        event.preventDefault();
        if (busy) return;
        setBusy(true);
        setError(null);
        try {
            await post(`/v1/tasks/${encodeURIComponent(q.task)}/answer`, { text: typed });
            setDraft(key, '');
            say(`${q.task}: answered`);
            wantStatus();
            document.getElementById('main')?.focus();
        } catch (problem) {
            setError(words(problem));
        }
        setBusy(false);
        after();
    };
    return (
        <form ref={form} onSubmit={send}>
            {q.choices.length > 0 ? (
                <Options q={q} chosen={typed} />
            ) : (
                <textarea
                    rows={2}
                    required
                    aria-label={`answer to ${q.task}`}
                    placeholder={q.default ?? 'your answer'}
                    value={typed}
                    onInput={(event) => setDraft(key, event.currentTarget.value)}
                    onKeyDown={(event) => {
                        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
                            form.current?.requestSubmit();
                    }}
                />
            )}
            {error && (
                <p class="problem" role="alert">
                    {line(error)}
                </p>
            )}
            <div class="question-foot">
                <span class="faint">
                    <Deadline q={q} />
                </span>
                <button class="primary" disabled={busy}>
                    Answer
                </button>
            </div>
        </form>
    );
}

/** What was typed for a question that is closed: it can still be copied. */
function Unsent({ of: key, typed }: { of: string; typed: string }) {
    const field = useRef<HTMLTextAreaElement>(null);
    useEffect(() => {
        if (interrupted === key) field.current?.focus();
        interrupted = '';
    }, []);
    return (
        <div class="unsent">
            <label class="field">
                Your answer was not sent
                <textarea ref={field} rows={2} readOnly value={typed} />
            </label>
            <button onClick={() => setDraft(key, '')}>Dismiss</button>
        </div>
    );
}

function Result({ q, typed }: { q: Question; typed: string }) {
    if (q.state === 'withdrawn')
        return <p class="faint">Withdrawn: the task continued without an answer.</p>;
    const late = q.by === 'deadline';
    return (
        <>
            <p class="answer foreign pre" dir="auto">
                {visible(q.answer ?? '')}
            </p>
            <p class="faint">
                {late ? (
                    'The default, because there was no answer before the deadline'
                ) : typed ? (
                    <>
                        <Text of={q.by ?? 'Another person'} /> answered first
                    </>
                ) : (
                    <>
                        Answered by <Text of={q.by ?? 'an unknown user'} />
                    </>
                )}
                , <Ago at={q.answered_at} />
            </p>
        </>
    );
}

/** `title`: of its task; without one the page is about that task. */
export function QuestionCard({
    q,
    title,
    after,
}: {
    q: Question;
    title?: string | null;
    after: () => void;
}) {
    const typed = drafts.value[draftKey(q)] ?? '';
    return (
        <article class={`question ${q.state}`} aria-label={`question of ${q.task}`}>
            <p class="question-of">
                {title !== undefined && (
                    <>
                        <Tid id={q.task} />{' '}
                        <a class="title" href={href('task', q.task)}>
                            <Text of={title ?? q.task} />
                        </a>{' '}
                    </>
                )}
                <span class="faint">
                    {q.agent ? <Text of={q.agent} /> : 'its command'} asked, <Ago at={q.asked_at} />
                </span>
            </p>
            <div class="question-text foreign pre" dir="auto" tabIndex={0}>
                {visible(q.question)}
            </div>
            {q.state !== 'open' ? (
                <>
                    <Result q={q} typed={typed} />
                    {typed && <Unsent of={draftKey(q)} typed={typed} />}
                </>
            ) : scope.value === 'read' ? (
                <p class="faint">
                    <Deadline q={q} />
                </p>
            ) : (
                <Form q={q} after={after} />
            )}
        </article>
    );
}

interface Found {
    q: Question | null;
    title: string | null;
}

/** What became of a question. Of a task that is final, only its events know it. */
async function find(task: string, askedAt: number, signal: AbortSignal): Promise<Found> {
    const path = `/v1/tasks/${encodeURIComponent(task)}`;
    const t = await get<TaskFull>(path, {}, signal);
    if (t.question?.asked_at === askedAt) return { q: t.question, title: t.title };
    const events = await get<Page<Event>>('/v1/events', { task, limit: EVENTS }, signal);
    const asked = questionsOf(task, t.agent, events.items);
    return { q: asked.find((one) => one.asked_at === askedAt) ?? null, title: t.title };
}

/** A question of the list of open ones; or, without `q`, one that is not open any more and for which something was typed. */
export function QuestionEntry({
    of: key,
    q,
    title,
    after,
}: {
    of: string;
    q?: Question | undefined;
    title?: string | null | undefined;
    after: () => void;
}) {
    const [task = '', askedAt = ''] = key.slice(PREFIX.length).split(' ');
    const last = useRef(q);
    if (q) last.current = q;
    const now = useLoad(`question ${key} ${!!q}`, (signal) =>
        q ? Promise.resolve(null) : find(task, Number(askedAt), signal),
    );
    // The form stays until it is known what became of the question.
    const shown = q ?? (now.data ? now.data.q : now.absent ? null : last.current);
    if (shown)
        return (
            <QuestionCard q={shown} title={title ?? now.data?.title ?? shown.task} after={after} />
        );
    if (now.loading) return null;
    return (
        <article class="question" aria-label={`question of ${task}`}>
            <p class="question-of">
                <Tid id={task} /> <span class="faint">This question no longer exists.</span>
            </p>
            <Unsent of={key} typed={drafts.value[key] ?? ''} />
        </article>
    );
}
