// schedules.tsx: what is added at set times: when next, what became of the last due times, and a form to change it.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, post, scope, words } from '../api';
import { useLoad, useThrottle } from '../load';
import { now, onEvents } from '../live';
import { ask } from '../parts/dialog';
import { Mark } from '../parts/mark';
import { ScheduleForm } from '../parts/schedule_form';
import {
    Ago,
    Countdown,
    Empty,
    type Pair,
    Pairs,
    Problem,
    Section,
    Text,
    Tid,
} from '../parts/small';
import { say } from '../parts/toast';
import { go, href, route } from '../route';
import { count, inZone, knowsZone, line, many, spanWord, visible } from '../text';
import type { Page, Schedule, ScheduleNext, ScheduleRun, ScheduleSkip, Task } from '../types';

const PAGE = 200;
const COMING = 10;
const PAST = 20;
const LATE_MS = 3000;

const REASONS: Record<string, string> = {
    overlap: 'the last task was not finished',
    missed: 'the time had passed',
    too_old: 'the time had passed too long ago',
    paused: 'the schedule was paused',
    refused: 'the task could not be added',
};

/** When it is due, as it was written. */
function When({ of: s }: { of: Schedule }) {
    if (s.cron !== null) return <span class="mono">{line(s.cron)}</span>;
    if (s.every !== null) return <span>every {spanWord(s.every)}</span>;
    return <span>once, at {line(s.at)}</span>;
}

/** A time in the time zone of the schedule. */
function At({ ms, of: s }: { ms: number; of: Schedule }) {
    return (
        <time class="num" dateTime={new Date(ms).toISOString()}>
            {inZone(ms, s.zone, now.value)}
        </time>
    );
}

const zoneWords = (s: Schedule) => (knowsZone(s.zone) ? s.zone : 'time zone of this browser');

function state(s: Schedule): [Task['state'], string] {
    if (s.paused) return ['held', 'paused'];
    if (s.error !== null) return ['failed', 'its last task was refused'];
    if (s.next_due === null) return ['done', 'not due again'];
    return ['waiting', 'active'];
}

function Skip({ of: skip, in: s }: { of: ScheduleSkip; in: Schedule }) {
    return (
        <>
            {many(skip.count, 'due time')} skipped: {REASONS[skip.reason] ?? line(skip.reason)}
            {', '}
            <At ms={skip.first} of={s} />
            {skip.count > 1 && (
                <>
                    {' to '}
                    <At ms={skip.last} of={s} />
                </>
            )}
        </>
    );
}

interface Action {
    op: string;
    label: string;
    done: (s: Schedule, answer: unknown) => string;
    confirm?: string;
}

/** In the order of their buttons. Which of them fit a schedule, it says itself. */
const ACTIONS: Action[] = [
    {
        op: 'run',
        label: 'Run now',
        done: (s, answer) => `${s.name}: ${(answer as ScheduleRun).tasks.join(', ')} added`,
    },
    { op: 'pause', label: 'Pause', done: (s) => `${s.name}: paused` },
    { op: 'resume', label: 'Resume', done: (s) => `${s.name}: resumed` },
    {
        op: 'remove',
        label: 'Remove',
        done: (s) => `${s.name}: removed`,
        confirm: 'It adds no more tasks. The tasks it has added stay.',
    },
];

function Buttons({ of: s, ops, after }: { of: Schedule; ops: string[]; after: () => void }) {
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<string | null>(null);
    if (scope.value !== 'admin') return null;
    const run = async (action: Action) => {
        if (
            action.confirm &&
            (await ask(`${action.label} ${s.name}?`, action.confirm, action.label)) === null
        )
            return;
        setBusy(true);
        setError(null);
        try {
            const answer = await post(`/v1/schedules/${encodeURIComponent(s.name)}/${action.op}`);
            say(action.done(s, answer));
            if (action.op === 'remove') go('schedules');
            else after();
        } catch (problem) {
            setError(words(problem));
        }
        setBusy(false);
    };
    return (
        <>
            <div class="actions">
                {ops.includes('set') && s.actions.includes('set') && (
                    <a class="button" href={href('schedules', s.name, { form: '1' })}>
                        Edit
                    </a>
                )}
                {ACTIONS.filter((one) => ops.includes(one.op) && s.actions.includes(one.op)).map(
                    (action) => (
                        <button
                            key={action.op}
                            disabled={busy}
                            class={action.confirm ? 'danger' : ''}
                            aria-label={`${action.label}: ${s.name}`}
                            onClick={() => void run(action)}
                        >
                            {action.label}
                        </button>
                    ),
                )}
            </div>
            <Problem error={error} />
        </>
    );
}

function Row({ of: s, after }: { of: Schedule; after: () => void }) {
    const [mark, word] = state(s);
    const skip = s.skips[0];
    return (
        <li>
            <Mark state={mark} label={false} />
            <div class="schedule-what">
                <p>
                    <a class="title" href={href('schedules', s.name)}>
                        <Text of={s.name} />
                    </a>{' '}
                    <span class="faint">
                        <When of={s} />, {line(zoneWords(s))}
                    </span>
                </p>
                <p>
                    {s.next_at !== null && s.next_due !== null ? (
                        <>
                            next <At ms={s.next_due} of={s} />, <Countdown to={s.next_at} />
                        </>
                    ) : (
                        <span class={`state s-${mark}`}>{word}</span>
                    )}
                </p>
                <p class="faint">
                    {s.last_due !== null ? (
                        <>
                            last <At ms={s.last_due} of={s} />
                            {s.last_task !== null && (
                                <>
                                    : <Tid id={s.last_task} />
                                    {s.last_count > 1 ? ` and ${count(s.last_count - 1)} more` : ''}
                                    {s.open ? ', not finished' : ''}
                                </>
                            )}
                        </>
                    ) : (
                        'has not added a task yet'
                    )}
                </p>
                {skip && (
                    <p class="faint">
                        <Skip of={skip} in={s} />
                    </p>
                )}
                {s.error !== null && (
                    <p class="problem">
                        <Text of={s.error} />
                    </p>
                )}
            </div>
            <div class="schedule-act">
                <Buttons of={s} ops={['run', 'pause', 'resume']} after={after} />
            </div>
        </li>
    );
}

async function readPages(pages: number, signal: AbortSignal): Promise<Page<Schedule>> {
    const all: Page<Schedule> = { items: [], next: '' };
    for (let n = 0; n < pages && all.next !== null; n++) {
        const page: Page<Schedule> = await get(
            '/v1/schedules',
            { limit: PAGE, cursor: all.next },
            signal,
        );
        all.items.push(...page.items);
        all.next = page.next;
    }
    return all;
}

/** Reads again when a schedule has fired or was changed, and when a task has ended. */
function useNews(reload: () => void): void {
    const again = useThrottle(reload, 1000);
    useEffect(
        () =>
            onEvents((events) => {
                if (
                    events.some(
                        ({ kind }) =>
                            kind.startsWith('schedule.') ||
                            kind === 'config.changed' ||
                            kind === 'task.state',
                    )
                )
                    again();
            }),
        [],
    );
}

/** Reads again when a due time has passed: skips that follow each other are one record, and have no event each. */
function useDue(due: number | null, reload: () => void): void {
    const again = useThrottle(reload, LATE_MS);
    const late = due !== null && now.value > due ? Math.floor(now.value / LATE_MS) : 0;
    useEffect(() => {
        if (late) again();
    }, [late]);
}

function AddButton() {
    return scope.value === 'admin' ? (
        <a class="button primary" href={href('schedules', '', { form: '1' })}>
            Add schedule
        </a>
    ) : null;
}

function List() {
    const [pages, setPages] = useState(1);
    const all = useLoad(`schedules ${pages}`, (signal) => readPages(pages, signal));
    // What is known stays while one page more is read.
    const kept = useRef<Page<Schedule> | null>(null);
    if (all.data) kept.current = all.data;
    useNews(all.reload);
    const page = kept.current;
    const due = page?.items.map((s) => s.next_at).filter((at) => at !== null) ?? [];
    useDue(due.length > 0 ? Math.min(...due) : null, all.reload);
    return (
        <div class="view schedules">
            <div class="title-row">
                <h1>Schedules</h1>
                <span class="right">
                    <AddButton />
                </span>
            </div>
            <Problem error={all.error} absent={all.absent} />
            {!page && all.loading && <div class="loading" aria-busy="true" />}
            {page?.items.length === 0 && (
                <Empty command="sluice schedule add nightly --cron '0 2 * * *' -- make test">
                    No schedule yet. A schedule adds tasks at set times.
                </Empty>
            )}
            <ul class="rows schedule-rows">
                {page?.items.map((s) => (
                    <Row key={s.name} of={s} after={all.reload} />
                ))}
            </ul>
            {page?.next && (
                <p class="buttons">
                    <button onClick={() => setPages(pages + 1)}>More</button>
                </p>
            )}
        </div>
    );
}

/* --- one schedule ------------------------------------------------------------------------------- */

/** Every task of a schedule has the external id NAME@TIME; of one that a person has started, NAME@run-TIME.MS. */
function firing(task: Task): { at: number; manual: boolean } {
    const id = task.external_id ?? '';
    const [, run, time] = /@(run-)?([^@]*Z)[^@]*$/.exec(id) ?? [];
    const at = Date.parse(time ?? '');
    return { at: Number.isNaN(at) ? (task.created_at ?? 0) : at, manual: !!run };
}

interface PastRow {
    key: string;
    at: number;
    row: ComponentChildren;
}

function Past({ of: s }: { of: Schedule }) {
    const [older, setOlder] = useState<{ items: Task[]; next: string | null } | null>(null);
    const [error, setError] = useState<string | null>(null);
    const query = { schedule: s.name, state: 'all,draft', limit: PAST };
    const newest = useLoad(`fired ${s.name}`, (signal) =>
        get<Page<Task>>('/v1/tasks', query, signal),
    );
    useNews(newest.reload);
    const next = older ? older.next : newest.data?.next;
    const more = async () => {
        setError(null);
        try {
            const page = await get<Page<Task>>('/v1/tasks', { ...query, cursor: next });
            setOlder({ items: [...(older?.items ?? []), ...page.items], next: page.next });
        } catch (problem) {
            setError(words(problem));
        }
    };
    const tasks = new Map(
        [...(newest.data?.items ?? []), ...(older?.items ?? [])].map((task) => [task.id, task]),
    );
    const rows: PastRow[] = [...tasks.values()].map((task) => {
        const { at, manual } = firing(task);
        return {
            key: task.id,
            at,
            row: (
                <>
                    <Mark state={task.state} />
                    <At ms={at} of={s} />
                    <span class="what">
                        <Tid id={task.id} /> <Text of={task.title} />
                        {manual && <span class="faint"> run manually</span>}
                    </span>
                </>
            ),
        };
    });
    for (const skip of s.skips)
        rows.push({
            key: `skip ${skip.first} ${skip.reason}`,
            at: skip.last,
            row: (
                <>
                    <Mark state="canceled" label={false} />
                    <span class="skipped">
                        <Skip of={skip} in={s} />
                    </span>
                </>
            ),
        });
    rows.sort((a, b) => b.at - a.at);
    return (
        <Section title="Past" note={`${count(s.fired)} fired, ${count(s.skipped)} skipped`}>
            <Problem error={error ?? newest.error} />
            {rows.length === 0 && !newest.loading && <Empty>Nothing has been due yet.</Empty>}
            <ul class="past">
                {rows.map(({ key, row }) => (
                    <li key={key}>{row}</li>
                ))}
            </ul>
            {next && (
                <button class="quiet" onClick={() => void more()}>
                    older
                </button>
            )}
        </Section>
    );
}

function Coming({ of: s }: { of: Schedule }) {
    const coming = useLoad(`coming ${s.name} ${s.next_due} ${s.zone}`, (signal) =>
        get<ScheduleNext>(
            `/v1/schedules/${encodeURIComponent(s.name)}/next`,
            { count: COMING },
            signal,
        ),
    );
    const kept = useRef<number[]>([]);
    if (coming.data) kept.current = coming.data.due;
    return (
        <Section title="Coming" note={line(zoneWords(s))}>
            <Problem error={coming.error} />
            {s.paused && <p class="faint">Paused: nothing is added at these times.</p>}
            {coming.data?.due.length === 0 && <Empty>It has no more due times.</Empty>}
            <ol class="coming">
                {kept.current.map((ms) => (
                    <li key={ms}>
                        <At ms={ms} of={s} />
                        <span class="faint">
                            <Countdown to={ms} />
                        </span>
                    </li>
                ))}
            </ol>
        </Section>
    );
}

function Facts({ of: s }: { of: Schedule }) {
    const facts: Pair[] = [
        ['due', <When of={s} />],
        ['time zone', line(s.timezone ?? (s.zone ? `${s.zone}, of the system` : 'of the system'))],
        ['overlap', line(s.overlap)],
        ['catch up', line(s.catch_up)],
    ];
    if (s.catch_up_max !== null) facts.push(['at most', `${spanWord(s.catch_up_max)} old`]);
    if (s.jitter > 0) facts.push(['jitter', `up to ${spanWord(s.jitter)}`]);
    facts.push([
        'last',
        s.last_due === null ? (
            'never'
        ) : (
            <>
                <Ago at={s.last_due} /> {s.last_task && <Tid id={s.last_task} />}
            </>
        ),
    ]);
    return (
        <Section title="Schedule">
            <Pairs of={facts} />
        </Section>
    );
}

function Adds({ of: s }: { of: Schedule }) {
    let text = s.task ?? '';
    try {
        text = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
        // shown as it is
    }
    const [title, shown] =
        s.backup !== null
            ? ['Backups', `${s.backup}\nthe newest ${s.keep} are kept`]
            : s.formula !== null
              ? ['The formula', [s.formula, ...s.vars].join('\n')]
              : s.file !== null
                ? ['The task file', s.file]
                : ['The task', text];
    return (
        <Section title={title}>
            <pre class="box foreign wrap" dir="ltr">
                {visible(shown)}
            </pre>
        </Section>
    );
}

function Detail({ name }: { name: string }) {
    const one = useLoad(`schedule ${name}`, (signal) =>
        get<Schedule>(`/v1/schedules/${encodeURIComponent(name)}`, {}, signal),
    );
    useNews(one.reload);
    const s = one.data;
    useDue(s?.next_at ?? null, one.reload);
    const editing = route.value.query.has('form') && scope.value === 'admin';
    if (!s)
        return (
            <div class="view">
                {one.error ? (
                    <Problem error={one.error} />
                ) : (
                    <div class="loading" aria-busy="true" />
                )}
            </div>
        );
    const [mark, word] = state(s);
    return (
        <div class="view schedules">
            <p class="crumb">
                <a href={href('schedules')}>Schedules</a> / {line(s.name)}
            </p>
            <div class="task-title">
                <Mark state={mark} label={false} />
                <h1>
                    <Text of={s.name} />
                </h1>
            </div>
            <div class="task-sub">
                <span class={`state s-${mark}`}>{word}</span>
                {s.next_at !== null && s.next_due !== null && (
                    <span>
                        next <At ms={s.next_due} of={s} />, <Countdown to={s.next_at} />
                    </span>
                )}
                {!editing && (
                    <Buttons
                        of={s}
                        ops={['run', 'pause', 'resume', 'set', 'remove']}
                        after={one.reload}
                    />
                )}
            </div>
            {s.error !== null && (
                <p class="problem" role="alert">
                    <Text of={s.error} />
                </p>
            )}
            {editing ? (
                <ScheduleForm
                    of={s}
                    done={() => {
                        one.reload();
                        go('schedules', s.name);
                    }}
                />
            ) : (
                <div class="columns">
                    <div class="main">
                        <Coming of={s} />
                        <Past key={s.name} of={s} />
                    </div>
                    <div class="side">
                        <Facts of={s} />
                        <Adds of={s} />
                    </div>
                </div>
            )}
        </div>
    );
}

function New() {
    return (
        <div class="view schedules">
            <p class="crumb">
                <a href={href('schedules')}>Schedules</a> / new
            </p>
            <h1>Add schedule</h1>
            <ScheduleForm of={null} done={(name) => go('schedules', name)} />
        </div>
    );
}

export function Schedules() {
    const { id, query } = route.value;
    if (id) return <Detail key={id} name={id} />;
    return query.has('form') && scope.value === 'admin' ? <New /> : <List />;
}
