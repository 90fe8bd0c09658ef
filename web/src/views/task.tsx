// task.tsx: one task: why it does not run, what its runs print, what was asked for, what became of it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { act, ACTIONS, changes, possible } from '../actions';
import { get, post, scope, words } from '../api';
import { useKeys } from '../keys';
import { useLoad, useThrottle } from '../load';
import { onEvents, status } from '../live';
import { Borrows, Instead, Lends } from '../parts/agent';
import { Candidates } from '../parts/best_of';
import { Budget } from '../parts/budget';
import { Changes } from '../parts/diff';
import { editKey, EditPrompt, FollowUpForm } from '../parts/edit';
import { Log, type LogPlace } from '../parts/log';
import { Mark } from '../parts/mark';
import { draftKey, QuestionCard } from '../parts/question';
import {
    Ago,
    Countdown,
    Elapsed,
    Empty,
    type Pair,
    Pairs,
    Problem,
    Section,
    Text,
    Tid,
} from '../parts/small';
import { say } from '../parts/toast';
import { ReviewMode } from '../parts/review';
import { Windows } from '../parts/windows';
import { questionsOf } from '../questions';
import { go, href, route } from '../route';
import { clock, count, gateName, holdWords, line, money, short, span, visible } from '../text';
import type {
    AgentChoice,
    Event,
    Gate,
    Limiter,
    Message,
    Page,
    Run,
    Task,
    TaskFull,
    TaskWhy,
} from '../types';
import { eventWords } from '../words';

const LIVE = new Set(['starting', 'running']);
/** Outcomes that are neither success nor failure: the task continues. */
const PAUSES = new Set(['unfinished', 'limited', 'afresh', 'asked', 'pending']);

export function ActionButtons({
    task,
    after,
    without = [],
}: {
    task: Task;
    after?: () => void;
    /** Those that have buttons elsewhere. */
    without?: string[];
}) {
    const [busy, setBusy] = useState(false);
    const all = possible(task).filter((action) => !without.includes(action.name));
    if (all.length === 0) return null;
    return (
        <div class="actions">
            {all.map((action) => (
                <button
                    key={action.name}
                    disabled={busy}
                    class={
                        action.name === 'approve'
                            ? 'primary'
                            : action.confirm && action.name !== 'again'
                              ? 'danger'
                              : ''
                    }
                    onClick={() => {
                        setBusy(true);
                        void act(action, [task.id]).then((ok) => {
                            setBusy(false);
                            if (ok) after?.();
                            if (ok && action.name === 'delete') go('board');
                        });
                    }}
                >
                    {action.label}
                </button>
            ))}
        </div>
    );
}

/** The account that a gate is about, as it is now. */
function account(gate: Gate): Limiter | undefined {
    return status.value?.limiters.find((one) => one.name === gate.limiter);
}

/** Its agent and those that may take over from it. */
function Choice({ of: agents }: { of: AgentChoice[] }) {
    return (
        <ul class="agent-choice">
            {agents.map((agent) => (
                <li key={agent.name}>
                    <Text of={agent.name} />: {agent.state}
                    {agent.opens_at ? (
                        <>
                            , opens <Countdown to={agent.opens_at} />
                        </>
                    ) : null}
                </li>
            ))}
        </ul>
    );
}

function WhySection({ why, task }: { why: TaskWhy; task: TaskFull }) {
    const [all, setAll] = useState(false);
    const closed = why.gates.filter((gate) => !gate.open);
    const shown = all ? why.gates : closed;
    const f = why.forecast;
    return (
        <Section
            title="Why"
            note={
                why.queue_position
                    ? `position ${count(why.queue_position)} in the queue`
                    : undefined
            }
            actions={
                why.gates.length > 0 && (
                    <button class="quiet" onClick={() => setAll(!all)}>
                        {all ? 'only closed gates' : `all ${why.gates.length} gates`}
                    </button>
                )
            }
        >
            <p class="why-first">
                <Text
                    of={
                        why.summary ??
                        (LIVE.has(task.state)
                            ? 'running'
                            : closed.length === 0 && why.gates.length > 0
                              ? 'all gates are open'
                              : task.state)
                    }
                />
            </p>
            {f && (f.starts_at || f.text) && (
                <p class="faint">
                    It should start {f.starts_at ? <Countdown to={f.starts_at} /> : null}{' '}
                    {line(f.text)}
                    {f.ahead ? `; ${count(f.ahead)} go first` : ''}.
                </p>
            )}
            <ul class="gate-list">
                {shown.map((gate) => (
                    <li key={gate.gate} class={gate.open ? 'is-open' : 'is-closed'}>
                        <span
                            class="gate-mark"
                            role="img"
                            aria-label={gate.open ? 'open' : 'closed'}
                        >
                            {gate.open ? '○' : '■'}
                        </span>
                        <span class="gate-name">{line(gateName(gate.gate))}</span>
                        <span class="gate-why">
                            {gate.open ? 'open' : <Text of={gate.reason} />}
                            {gate.opens_at ? (
                                <>
                                    , opens <Countdown to={gate.opens_at} />
                                </>
                            ) : null}
                            {gate.since ? <>, since {clock(gate.since)}</> : null}
                            {!gate.open && account(gate) && <Windows of={account(gate)!} />}
                        </span>
                    </li>
                ))}
            </ul>
            {why.agents.length > 0 && (
                <>
                    <h3>agents it may use, in this order</h3>
                    <Choice of={why.agents} />
                </>
            )}
        </Section>
    );
}

function outcomeState(run: Run): Task['state'] {
    if (!run.ended_at && !run.outcome) return 'running';
    if (run.outcome === 'ok') return 'done';
    if (run.outcome === 'canceled') return 'canceled';
    if (PAUSES.has(run.outcome ?? '')) return 'ready';
    return 'failed';
}

function Attempts({
    runs,
    chosen,
    choose,
}: {
    runs: Run[];
    chosen: number;
    choose: (attempt: number) => void;
}) {
    if (runs.length === 0) return null;
    return (
        <Section title="Attempts" note={runs.length >= 10 ? 'the last ones' : undefined}>
            <div class="scroll-x">
                <table class="table">
                    <thead>
                        <tr>
                            <th>attempt</th>
                            <th>iteration</th>
                            <th>began</th>
                            <th class="r">took</th>
                            <th>ended</th>
                            <th class="r">tokens in</th>
                            <th class="r">out</th>
                            <th class="r">cached</th>
                            <th class="r">cost</th>
                            <th>agent</th>
                        </tr>
                    </thead>
                    <tbody>
                        {runs.map((run) => (
                            <tr key={run.attempt} class={run.attempt === chosen ? 'chosen' : ''}>
                                <td>
                                    <button
                                        class="quiet"
                                        aria-pressed={run.attempt === chosen}
                                        onClick={() => choose(run.attempt)}
                                        title="show its log"
                                    >
                                        {run.attempt}
                                    </button>
                                </td>
                                <td class="num">{run.iteration}</td>
                                <td class="num">{clock(run.started_at ?? run.ordered_at, true)}</td>
                                <td class="r">
                                    {run.started_at ? (
                                        run.ended_at ? (
                                            <span class="num">
                                                {span(run.ended_at - run.started_at)}
                                            </span>
                                        ) : (
                                            <Elapsed from={run.started_at} />
                                        )
                                    ) : (
                                        '–'
                                    )}
                                </td>
                                <td>
                                    <Mark state={outcomeState(run)} label={false} />{' '}
                                    {run.outcome ? line(run.outcome) : 'running'}
                                    {run.exit_code ? (
                                        <span class="faint"> exit {run.exit_code}</span>
                                    ) : null}
                                    {run.signal ? (
                                        <span class="faint"> signal {run.signal}</span>
                                    ) : null}
                                    {run.resumed ? <span class="faint"> resumed</span> : null}
                                </td>
                                <td class="r num">{short(run.tokens_in)}</td>
                                <td class="r num">{short(run.tokens_out)}</td>
                                <td class="r num">{short(run.tokens_cached)}</td>
                                <td class="r num">{money(run.cost_usd)}</td>
                                <td>
                                    {line(run.agent) || 'command'}
                                    {run.instead_of ? (
                                        <span class="faint"> for {line(run.instead_of)}</span>
                                    ) : null}
                                    {run.model ? (
                                        <span class="faint"> {line(run.model)}</span>
                                    ) : null}
                                </td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
            {runs
                .filter((run) => run.message)
                .slice(0, 3)
                .map((run) => (
                    <p class="message" key={run.attempt}>
                        <span class="faint">attempt {run.attempt} said</span>{' '}
                        <span class="foreign pre" dir="auto">
                            {visible(run.message ?? '')}
                        </span>
                    </p>
                ))}
        </Section>
    );
}

/** What became of its work: a success that has changed nothing must not look like any other. */
function Work({ task }: { task: TaskFull }) {
    const changes = task.changes;
    if (!changes && !task.delivery) return null;
    const many = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
    return (
        <Section title="Work">
            {changes && (
                <p>
                    {changes.files === 0
                        ? 'No changes'
                        : `${many(changes.commits, 'commit')}, ${many(changes.files, 'file')}, +${changes.insertions} -${changes.deletions}`}
                </p>
            )}
            {task.delivery?.message && (
                <p class="foreign break" dir="auto">
                    {visible(task.delivery.message)}
                </p>
            )}
            {task.delivery?.removed && <p class="faint">Removed: {line(task.delivery.removed)}</p>}
        </Section>
    );
}

function Iterations({ task }: { task: TaskFull }) {
    const path = task.works_in?.path ?? '';
    if (task.iterations.length === 0 && !path) return null;
    return (
        <Section title="Iterations and artifacts">
            <ul class="plain">
                {task.iterations.map((one) => (
                    <li key={one.iteration}>
                        <p>
                            Iteration {one.iteration}
                            {one.feedback ? ', with feedback' : ''}
                        </p>
                        <p class="mono faint break">{line(one.folder)}</p>
                        {one.artifacts.length > 0 && (
                            <ul class="files">
                                {one.artifacts.map((name) => (
                                    <li key={name} class="mono">
                                        {line(name)}
                                    </li>
                                ))}
                            </ul>
                        )}
                    </li>
                ))}
            </ul>
            {path && (
                <p class="faint">
                    It works in <span class="mono break">{line(path)}</span>.
                </p>
            )}
        </Section>
    );
}

function Messages({ id }: { id: string }) {
    const page = useLoad(`messages ${id}`, (signal) =>
        get<Page<Message>>(`/v1/tasks/${encodeURIComponent(id)}/messages`, { limit: 50 }, signal),
    );
    const box = useRef<HTMLInputElement>(null);
    const send = async (event: SubmitEvent) => {
        event.preventDefault();
        const text = box.current?.value.trim();
        if (!text) return;
        try {
            await post(`/v1/tasks/${encodeURIComponent(id)}/messages`, { text });
            if (box.current) box.current.value = '';
            page.reload();
        } catch (error) {
            say(words(error), true);
        }
    };
    const items = page.data?.items ?? [];
    return (
        <Section title="Messages">
            {page.error && !page.absent && <Problem error={page.error} />}
            {items.length === 0 && !page.loading && <Empty>No messages on its bus.</Empty>}
            <ul class="plain">
                {items.map((message) => (
                    <li key={message.msg_id}>
                        <p class="faint">
                            <b>{line(message.type)}</b> {line(message.run)}{' '}
                            <span class="num">{clock(message.at)}</span>
                        </p>
                        <p class="foreign pre" dir="auto">
                            {visible(message.body.slice(0, 4000))}
                        </p>
                    </li>
                ))}
            </ul>
            {scope.value !== 'read' && (
                <form class="inline" onSubmit={send}>
                    <input ref={box} placeholder="write to its bus" aria-label="message" />
                    <button>Post</button>
                </form>
            )}
        </Section>
    );
}

const EVENTS = 100;
const SHOWN_EVENTS = 30;

/** Its last events, oldest first. */
function useEvents(id: string, tick: number): Event[] {
    const page = useLoad(`history ${id} ${tick}`, (signal) =>
        get<Page<Event>>(`/v1/events`, { task: id, limit: EVENTS }, signal),
    );
    const kept = useRef<{ id: string; events: Event[] }>({ id, events: [] });
    if (page.data) kept.current = { id, events: page.data.items };
    return kept.current.id === id ? kept.current.events : [];
}

function History({ of: events }: { of: Event[] }) {
    return (
        <Section title="History">
            <ol class="history">
                {events
                    .slice(-SHOWN_EVENTS)
                    .reverse()
                    .map((event) => (
                        <li key={event.seq}>
                            <time class="num faint">{clock(event.at, true)}</time>
                            <span>{line(eventWords(event))}</span>
                        </li>
                    ))}
            </ol>
        </Section>
    );
}

/** The question it has now, and what was asked before; newest first. */
function Asked({ task, of: events, after }: { task: TaskFull; of: Event[]; after: () => void }) {
    // The events may be older than the task, or newer.
    const all = new Map(
        questionsOf(task.id, task.agent, events).map((q) => [q.asked_at, q] as const),
    );
    const last = task.question;
    if (last && (all.get(last.asked_at)?.state ?? 'open') === 'open') all.set(last.asked_at, last);
    if (all.size === 0) return null;
    return (
        <Section title={all.size === 1 ? 'Question' : 'Questions'}>
            {[...all.values()]
                .sort((a, b) => b.asked_at - a.asked_at)
                .map((q) => (
                    <QuestionCard key={draftKey(q)} q={q} after={after} />
                ))}
        </Section>
    );
}

function Facts({ task }: { task: TaskFull }) {
    const facts: Pair[] = [
        [
            'project',
            <a href={href('board', '', { project: task.project })}>{line(task.project)}</a>,
        ],
        ['kind', line(task.kind) || '–'],
        ['agent', line(task.agent) || 'a command'],
        ...(task.model ? [['model', line(task.model)] as Pair] : []),
        ...(task.escalation ? [['escalation', line(task.escalation.text)] as Pair] : []),
        ['priority', <span class="num">{task.priority}</span>],
        ['iteration', <span class="num">{task.iteration}</span>],
        ['attempts', <span class="num">{task.attempt}</span>],
        ['created', <Ago at={task.created_at} />],
        ['changed', <Ago at={task.changed_at} />],
    ];
    if (task.not_before) facts.push(['not before', clock(task.not_before)]);
    if (task.parent) facts.push(['parent', <Tid id={task.parent} />]);
    if (task.group) facts.push(['group', line(task.group)]);
    if (task.external_id) facts.push(['external id', line(task.external_id)]);
    for (const [name, n] of Object.entries(task.counters))
        if (n > 0) facts.push([name.replace('_', ' '), <span class="num">{n}</span>]);
    return (
        <Section title="Task">
            <Pairs of={facts} />
        </Section>
    );
}

function Depends({ task }: { task: TaskFull }) {
    const children = useLoad(`children ${task.id}`, (signal) =>
        get<Page<Task>>('/v1/tasks', { parent: task.id, state: 'all', limit: 50 }, signal),
    );
    const kids = children.data?.items ?? [];
    if (task.depends_on.length === 0 && kids.length === 0) return null;
    return (
        <Section
            title="Connected"
            actions={<a href={href('graph', '', { root: task.id })}>graph</a>}
        >
            {task.depends_on.length > 0 && (
                <>
                    <h3>waits for</h3>
                    <ul class="linked">
                        {task.depends_on.map((id) => (
                            <li key={id}>
                                <Tid id={id} />
                            </li>
                        ))}
                    </ul>
                </>
            )}
            {kids.length > 0 && (
                <>
                    <h3>children</h3>
                    <ul class="linked">
                        {kids.map((kid) => (
                            <li key={kid.id}>
                                <Mark state={kid.state} /> <Tid id={kid.id} />{' '}
                                <Text of={kid.title} />
                            </li>
                        ))}
                    </ul>
                </>
            )}
        </Section>
    );
}

function Spec({ task }: { task: TaskFull }) {
    const prompt = typeof task.spec.prompt === 'string' ? task.spec.prompt : null;
    const argv = Array.isArray(task.spec.argv) ? (task.spec.argv as string[]) : null;
    const [raw, setRaw] = useState(false);
    const [edits, setEdits] = useState(editKey(task.id) !== undefined);
    const mayEdit = task.editable && prompt !== null && scope.value !== 'read';
    return (
        <Section
            title="Asked for"
            actions={
                <>
                    {mayEdit && !edits && <button onClick={() => setEdits(true)}>Edit</button>}
                    <button class="quiet" aria-pressed={raw} onClick={() => setRaw(!raw)}>
                        as JSON
                    </button>
                </>
            }
        >
            {edits && prompt !== null ? (
                <EditPrompt
                    id={task.id}
                    prompt={prompt}
                    version={task.version}
                    close={() => setEdits(false)}
                />
            ) : raw || (!prompt && !argv) ? (
                <pre class="box foreign" dir="ltr" tabIndex={0}>
                    {visible(
                        JSON.stringify(
                            { ...task.spec, ...(task.context ? { context: task.context } : {}) },
                            null,
                            2,
                        ),
                    )}
                </pre>
            ) : prompt ? (
                <div class="prompt foreign pre" dir="auto">
                    {visible(prompt)}
                </div>
            ) : (
                <pre class="box foreign" dir="ltr" tabIndex={0}>
                    {visible(
                        (argv ?? [])
                            .map((word) =>
                                /^[\w./:=@%+-]+$/.test(word)
                                    ? word
                                    : `'${word.replace(/'/g, "'\\''")}'`,
                            )
                            .join(' '),
                    )}
                </pre>
            )}
        </Section>
    );
}

/** The message that continued it last, and a form for the next one. */
function FollowUp({ task, after }: { task: TaskFull; after: () => void }) {
    const last = task.follow_up;
    const mayWrite = task.continuable && scope.value !== 'read';
    if (!last && !mayWrite) return null;
    return (
        <Section title="Follow up">
            {last && (
                <p class="message">
                    <span class="faint">
                        {line(last.by) || 'an unknown user'} wrote, <Ago at={last.at} />
                        {last.attempt ? `, for attempt ${last.attempt}` : ''}
                    </span>{' '}
                    <span class="foreign pre" dir="auto">
                        {visible(last.message)}
                    </span>
                </p>
            )}
            {mayWrite && <FollowUpForm id={task.id} after={after} />}
        </Section>
    );
}

// What preparing its worktree has a log when it has succeeded, has failed, or is at work.
function hasPrepared(run: Run, doing?: string | null) {
    return (
        /\bprepared\b/.test(String(run.applied ?? '')) ||
        /^prepare\b/.test(run.message ?? '') ||
        doing === 'preparing its worktree'
    );
}

/** The task and why it does not run, read again after events about it. */
function useTask(id: string) {
    const task = useLoad(`task ${id}`, (signal) =>
        get<TaskFull>(`/v1/tasks/${encodeURIComponent(id)}`, {}, signal),
    );
    const why = useLoad(`why ${id}`, (signal) =>
        get<TaskWhy>(`/v1/tasks/${encodeURIComponent(id)}/why`, {}, signal),
    );
    const [tick, setTick] = useState(0);
    const again = useThrottle(() => {
        task.reload();
        why.reload();
        setTick((n) => n + 1);
    }, 300);
    useEffect(
        () =>
            onEvents((events) => {
                if (events.some((event) => event.task === id)) again();
            }),
        [id],
    );
    useEffect(
        () =>
            changes((list) => {
                if (list.some((one) => one.id === id && one.state)) again();
            }),
        [id],
    );
    // What stops it may change without an event of its own.
    useEffect(
        () =>
            onEvents(() => {
                if (task.data && !LIVE.has(task.data.state)) slow();
            }),
        [id, task.data?.state],
    );
    const slow = useThrottle(() => why.reload(), 2000);
    useKeys((key) => {
        if (key === 'Escape') {
            if (history.length > 1) history.back();
            else go('board');
        } else if (key === 'c' && task.data && !isReviewed(task.data)) {
            const cancel = ACTIONS.find((action) => action.name === 'cancel');
            if (cancel && possible(task.data).includes(cancel)) void act(cancel, [id]);
        } else return false;
        return true;
    });
    return { task, why, tick, again };
}

/** The runs of a task; a live one with the tokens of the latest status. */
function runsOf(t: TaskFull, fresh: Task | undefined): Run[] {
    return t.runs.map((run) =>
        fresh?.run && run.attempt === fresh.run.attempt && !run.ended_at
            ? {
                  ...run,
                  tokens_in: fresh.run.tokens_in ?? run.tokens_in,
                  tokens_out: fresh.run.tokens_out ?? run.tokens_out,
              }
            : run,
    );
}

function streamsOf(t: TaskFull, run: Run | undefined, doing?: string | null): string[] {
    const streams = ['all', 'out', 'err'];
    if (Array.isArray(t.spec.checks) && t.spec.checks.length > 0) streams.push('check');
    if (run && hasPrepared(run, doing)) streams.push('prepare');
    return streams;
}

/** Its change is shown first, with what decides on it. */
const isReviewed = (t: TaskFull): boolean =>
    t.state === 'held' && t.hold === 'review' && t.has_diff;

function Reviewed({ task, after }: { task: TaskFull; after: () => void }) {
    return isReviewed(task) ? <ReviewMode key={task.id} task={task} after={after} /> : null;
}

/** In a review they come first. */
function Changed({ task }: { task: TaskFull }) {
    return task.has_diff && !isReviewed(task) ? <Changes key={task.id} task={task} /> : null;
}

/** Which agent lends its slot or borrows one, else what the run does now. */
function Doing({ t, doing }: { t: TaskFull; doing: string | null | undefined }) {
    if (t.run?.lends_to) return <Lends to={t.run.lends_to} />;
    if (t.run?.borrows_from) return <Borrows from={t.run.borrows_from} />;
    return doing ? <Text of={doing} class="faint" /> : null;
}

function Head({
    t,
    run,
    live,
    doing,
    after,
}: {
    t: TaskFull;
    run: Run | undefined;
    live: boolean;
    doing: string | null | undefined;
    after: () => void;
}) {
    return (
        <header class="task-head">
            <p class="crumb">
                <a href={href('board')}>Board</a> /{' '}
                <a href={href('board', '', { project: t.project })}>{line(t.project)}</a> /{' '}
                <span class="id">{line(t.id)}</span>
            </p>
            <div class="task-title">
                <Mark state={t.state} />
                <h1>
                    <Text of={t.title ?? t.id} />
                </h1>
            </div>
            <div class="task-sub">
                <span class={`state s-${t.state}`}>
                    {t.state === 'held' ? holdWords(t.hold) : t.state}
                </span>
                {live && (
                    <span>
                        for <Elapsed from={run?.started_at ?? null} />
                    </span>
                )}
                <Doing t={t} doing={doing} />
                {t.run && <Instead of={t.run} />}
                {run && (run.tokens_in || run.tokens_out) ? (
                    <span class="num faint">
                        {short((run.tokens_in ?? 0) + (run.tokens_out ?? 0))} tokens
                    </span>
                ) : null}
                <ActionButtons
                    task={t}
                    after={after}
                    without={isReviewed(t) ? ['approve', 'reject'] : []}
                />
            </div>
        </header>
    );
}

/** The attempt and the line of its log that the address names. */
function placeOf(): { attempt: number | null; place: LogPlace } {
    const { part, query } = route.value;
    const line = /^log\/([0-9]{1,9})$/.exec(part);
    return {
        attempt: line ? Number(query.get('attempt')) || null : null,
        place: {
            stream: (line && query.get('stream')) || 'all',
            raw: !!line && query.get('raw') === '1',
            line: line ? Number(line[1]) : 0,
        },
    };
}

/** Whether the reasons say more than the state. */
function explains(why: TaskWhy, t: TaskFull): boolean {
    if (LIVE.has(t.state)) return false;
    return why.gates.length > 0 || (!!why.summary && why.summary !== t.state);
}

export function TaskView() {
    const id = route.value.id;
    const [chosen, choose] = useState<number | null>(null);
    const { task, why, tick, again } = useTask(id);
    const events = useEvents(id, tick);
    useEffect(() => choose(null), [id, route.value.part]);
    const t = task.data;
    if (!t)
        return (
            <div class="view">
                {task.error ? (
                    <Problem error={task.error} />
                ) : (
                    <div class="loading" aria-busy="true" />
                )}
            </div>
        );
    const fresh = status.value?.running.find((one) => one.id === id);
    const runs = runsOf(t, fresh);
    const { attempt: linked, place } = placeOf();
    const attempt = chosen ?? linked ?? runs[0]?.attempt ?? null;
    const run = runs.find((one) => one.attempt === attempt);
    const live = LIVE.has(t.state) && !!run && !run.ended_at;
    const overBudget = t.hold === 'budget' && t.state === 'held';
    return (
        <div class="view task">
            <Head t={t} run={run} live={live} doing={fresh?.run?.doing} after={again} />
            <Reviewed task={t} after={again} />
            <div class="columns">
                <div class="main">
                    <Asked task={t} of={events} after={again} />
                    {why.data && explains(why.data, t) && <WhySection why={why.data} task={t} />}
                    <Candidates task={t} after={again} />
                    {overBudget && <Budget task={t} after={again} />}
                    {attempt !== null && (
                        <Section
                            title="Log"
                            note={`attempt ${attempt}${run?.host ? ` on ${line(run.host)}` : ''}`}
                        >
                            <Log
                                key={`${id} ${attempt}`}
                                task={id}
                                attempt={attempt}
                                live={live}
                                streams={streamsOf(t, run, live ? fresh?.run?.doing : null)}
                                place={place}
                            />
                        </Section>
                    )}
                    <Attempts runs={runs} chosen={attempt ?? -1} choose={choose} />
                    <Spec key={t.id} task={t} />
                    <FollowUp task={t} after={again} />
                    <Work task={t} />
                    <Changed task={t} />
                    <Iterations task={t} />
                </div>
                <div class="side">
                    <Facts task={t} />
                    {!overBudget && <Budget task={t} after={again} />}
                    <Depends task={t} />
                    <Messages id={id} />
                    <History of={events} />
                </div>
            </div>
        </div>
    );
}
