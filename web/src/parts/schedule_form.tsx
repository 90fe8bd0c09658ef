// schedule_form.tsx: adds a schedule, or changes one. What its fields may be is the daemon's word: each change is checked with a
// request that stores nothing, which answers with the next due times or with the reason of a refusal.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, post, tryPost, words } from '../api';
import { useLoad } from '../load';
import { now, status } from '../live';
import { href } from '../route';
import { inZone, knowsZone, line, spanWord } from '../text';
import type { Agent, Page, Schedule } from '../types';
import { Countdown } from './small';

const PREVIEWED = 5;
const PAUSE_MS = 400; // after the last key, before the daemon is asked

type Times = 'cron' | 'every' | 'at';
type Kind = 'prompt' | 'command' | 'json' | 'file';

const TIMES: [Times, string, string, string][] = [
    ['cron', 'Cron', '0 2 * * 1-5', 'Minute, hour, day, month, weekday; or @daily'],
    ['every', 'Every', '6h', 'The time between two due times'],
    ['at', 'Once', '2027-01-31 18:30', 'Date and time in the time zone below'],
];
const KINDS: [Kind, string, string][] = [
    ['prompt', 'Prompt', 'What the agent should do'],
    ['command', 'Command', 'Command, given to sh -c'],
    ['json', 'JSON', 'The members of a task, as in POST /v1/tasks'],
    [
        'file',
        'File',
        'A task file, read at each due time: an absolute path on the machine of the daemon',
    ],
];
const OVERLAP: [string, string][] = [
    ['skip', 'skip: nothing is added'],
    ['queue', 'queue: it is added'],
    ['replace', 'replace: it is added, the unfinished one is canceled'],
];
const CATCH_UP: [string, string][] = [
    ['last', 'last: only the last one'],
    ['all', 'all: each of them'],
    ['none', 'none'],
];

interface Fields {
    name: string;
    times: Times;
    cron: string;
    every: string;
    at: string;
    timezone: string;
    kind: Kind;
    prompt: string;
    command: string;
    json: string;
    file: string;
    agent: string;
    project: string;
    overlap: string;
    catch_up: string;
    catch_up_max_s: string;
    jitter_s: string;
}

type Spec = Record<string, unknown>;

function parsed(task: string | null): Spec {
    try {
        const value: unknown = JSON.parse(task ?? '{}');
        return typeof value === 'object' && value !== null ? (value as Spec) : {};
    } catch {
        return {};
    }
}

const text = (value: unknown) => (typeof value === 'string' ? value : '');

/** The command of `sh -c`; null: the task has another one. */
function shell(argv: unknown): string | null {
    return Array.isArray(argv) && argv.length === 3 && argv[0] === 'sh' && argv[1] === '-c'
        ? text(argv[2])
        : null;
}

const NEW: Fields = {
    name: '',
    times: 'cron',
    cron: '',
    every: '',
    at: '',
    timezone: '',
    kind: 'prompt',
    prompt: '',
    command: '',
    json: '',
    file: '',
    agent: '',
    project: '',
    overlap: 'skip',
    catch_up: 'last',
    catch_up_max_s: '',
    jitter_s: '',
};

const spanOr = (ms: number | null) => (ms ? spanWord(ms) : '');

function kindOf(s: Schedule, spec: Spec): Kind {
    if (s.file !== null) return 'file';
    if (typeof spec.prompt === 'string') return 'prompt';
    return shell(spec.argv) === null ? 'json' : 'command';
}

function fieldsOf(s: Schedule | null): Fields {
    if (!s) return NEW;
    const spec = parsed(s.task);
    return {
        name: s.name,
        times: s.cron !== null ? 'cron' : s.every !== null ? 'every' : 'at',
        cron: s.cron ?? '',
        every: spanOr(s.every),
        at: s.at ?? '',
        timezone: s.timezone ?? '',
        kind: kindOf(s, spec),
        prompt: text(spec.prompt),
        command: shell(spec.argv) ?? '',
        json: s.task ? JSON.stringify(spec, null, 2) : '',
        file: s.file ?? '',
        agent: text(spec.agent),
        project: text(spec.project),
        overlap: s.overlap,
        catch_up: s.catch_up,
        catch_up_max_s: spanOr(s.catch_up_max),
        jitter_s: spanOr(s.jitter),
    };
}

/** Members of a task that the form has fields for. */
const SHOWN = ['prompt', 'argv', 'agent', 'project'];
const unshown = (spec: Spec) => Object.entries(spec).filter(([name]) => !SHOWN.includes(name));

/** The task that the fields describe, as JSON text. Members that the form has no field for stay as they are. */
function taskOf(f: Fields, before: Spec): string {
    if (f.kind === 'file') return '';
    if (f.kind === 'json') return f.json.trim().replace(/\s*\n\s*/g, ' ');
    return JSON.stringify({
        ...Object.fromEntries(unshown(before)),
        ...(f.project ? { project: f.project } : {}),
        ...(f.kind === 'prompt'
            ? { ...(f.agent ? { agent: f.agent } : {}), prompt: f.prompt }
            : { argv: ['sh', '-c', f.command] }),
    });
}

/** The settings of the schedule. An empty text removes one. */
function settingsOf(f: Fields, before: Spec): Record<string, string> {
    return {
        cron: f.times === 'cron' ? f.cron.trim() : '',
        every: f.times === 'every' ? f.every.trim() : '',
        at: f.times === 'at' ? f.at.trim() : '',
        timezone: f.timezone.trim(),
        task: taskOf(f, before),
        file: f.kind === 'file' ? f.file.trim() : '',
        overlap: f.overlap,
        catch_up: f.catch_up,
        catch_up_max_s: f.catch_up_max_s.trim(),
        jitter_s: f.jitter_s.trim(),
    };
}

/** What differs from before; of a new one, what is not empty. */
function changesOf(f: Fields, s: Schedule | null): Record<string, string> {
    const before = fieldsOf(s);
    const spec = parsed(s?.task ?? null);
    const was = settingsOf(before, spec);
    return Object.fromEntries(
        Object.entries(settingsOf(f, spec)).filter(([key, value]) => value !== was[key]),
    );
}

interface Preview {
    schedule: Schedule | null;
    problem: string | null;
}

/** Asks the daemon what would become of it, when nothing was typed for a moment. */
function usePreview(path: string, body: Record<string, unknown>, wanted: boolean): Preview {
    const [preview, setPreview] = useState<Preview>({ schedule: null, problem: null });
    const key = JSON.stringify(body);
    useEffect(() => {
        if (!wanted) {
            setPreview({ schedule: null, problem: null });
            return;
        }
        const stop = new AbortController();
        const timer = setTimeout(() => {
            tryPost<Schedule>(path, { ...body, dry_run: true }, stop.signal).then(
                (schedule) => setPreview({ schedule, problem: null }),
                (error: unknown) => {
                    if (!stop.signal.aborted) setPreview({ schedule: null, problem: words(error) });
                },
            );
        }, PAUSE_MS);
        return () => {
            clearTimeout(timer);
            stop.abort();
        };
    }, [key, wanted]);
    return preview;
}

function Next({ of: { schedule, problem } }: { of: Preview }) {
    const due = schedule?.due ?? [];
    return (
        <section class="preview" aria-label="next due times" aria-live="polite">
            <h3>
                Next due times
                {schedule ? (
                    <span class="faint">
                        {' '}
                        {knowsZone(schedule.zone)
                            ? line(schedule.zone)
                            : 'time zone of this browser'}
                    </span>
                ) : null}
            </h3>
            {problem !== null ? (
                <p class="faint">{line(problem)}</p>
            ) : !schedule ? (
                <p class="faint">They appear here once a time is entered.</p>
            ) : due.length === 0 ? (
                <p class="faint">It has no more due times.</p>
            ) : (
                <ol class="coming">
                    {due.slice(0, PREVIEWED).map((ms) => (
                        <li key={ms}>
                            <time class="num" dateTime={new Date(ms).toISOString()}>
                                {inZone(ms, schedule.zone, now.value)}
                            </time>
                            <span class="faint">
                                <Countdown to={ms} />
                            </span>
                        </li>
                    ))}
                </ol>
            )}
        </section>
    );
}

function Select({
    label,
    value,
    options,
    set,
}: {
    label: string;
    value: string;
    options: [string, string][];
    set: (value: string) => void;
}) {
    // A value that the page does not know, or a name that was removed, stays as it is.
    const all = options.some(([one]) => one === value)
        ? options
        : [...options, [value, line(value)] as [string, string]];
    return (
        <label class="field">
            {label}
            <select value={value} onChange={(event) => set(event.currentTarget.value)}>
                {all.map(([one, shown]) => (
                    <option key={one} value={one}>
                        {shown}
                    </option>
                ))}
            </select>
        </label>
    );
}

function Tabs<T extends string>({
    label,
    value,
    options,
    set,
}: {
    label: string;
    value: T;
    options: readonly (readonly [T, string, ...string[]])[];
    set: (value: T) => void;
}) {
    return (
        <div class="tabs" role="group" aria-label={label}>
            {options.map(([one, shown]) => (
                <button
                    key={one}
                    type="button"
                    class="quiet"
                    aria-pressed={value === one}
                    onClick={() => set(one)}
                >
                    {shown}
                </button>
            ))}
        </div>
    );
}

interface Part {
    f: Fields;
    set: (change: Partial<Fields>) => void;
}

function zones(): string[] {
    return typeof Intl.supportedValuesOf === 'function' ? Intl.supportedValuesOf('timeZone') : [];
}

function TimeFields({ f, set, system }: Part & { system: string }) {
    const [, , example, help] = TIMES.find(([one]) => one === f.times) ?? TIMES[0]!;
    return (
        <>
            <Tabs label="when" value={f.times} options={TIMES} set={(times) => set({ times })} />
            <div class="grid-2">
                <label class="field">
                    {help}
                    <input
                        class="mono"
                        required
                        autocomplete="off"
                        spellcheck={false}
                        value={f[f.times]}
                        placeholder={example}
                        onInput={(event) => set({ [f.times]: event.currentTarget.value })}
                    />
                </label>
                <label class="field">
                    Time zone
                    <input
                        list="zones"
                        autocomplete="off"
                        spellcheck={false}
                        value={f.timezone}
                        placeholder={system}
                        onInput={(event) => set({ timezone: event.currentTarget.value })}
                    />
                </label>
            </div>
            <datalist id="zones">
                {zones().map((zone) => (
                    <option key={zone} value={zone} />
                ))}
            </datalist>
        </>
    );
}

function TaskFields({ f, set, spec }: Part & { spec: Spec }) {
    const agents = useLoad('agents', (signal) =>
        get<Page<Agent>>('/v1/agents', { limit: 200 }, signal),
    );
    const label = KINDS.find(([one]) => one === f.kind)?.[2] ?? '';
    const names = (all: { name: string }[]) =>
        all.map((one): [string, string] => [one.name, line(one.name)]);
    const kept = unshown(spec).map(([name]) => name);
    const field = f.kind;
    return (
        <>
            <Tabs
                label="what it adds"
                value={f.kind}
                options={KINDS}
                set={(kind) =>
                    set(
                        kind === 'json' && f.kind !== 'json' && f.kind !== 'file'
                            ? { kind, json: JSON.stringify(JSON.parse(taskOf(f, spec)), null, 2) }
                            : { kind },
                    )
                }
            />
            <label class="field">
                {label}
                {f.kind === 'file' ? (
                    <input
                        class="mono"
                        required
                        value={f.file}
                        placeholder="/home/me/tasks.yaml"
                        onInput={(event) => set({ file: event.currentTarget.value })}
                    />
                ) : (
                    <textarea
                        class={f.kind === 'prompt' ? '' : 'mono'}
                        rows={f.kind === 'command' ? 3 : 6}
                        required
                        spellcheck={f.kind === 'prompt'}
                        value={f[field]}
                        onInput={(event) => set({ [field]: event.currentTarget.value })}
                    />
                )}
            </label>
            {(f.kind === 'prompt' || f.kind === 'command') && (
                <>
                    <div class="grid-2">
                        {f.kind === 'prompt' && (
                            <Select
                                label="Agent"
                                value={f.agent}
                                options={[['', 'choose one'], ...names(agents.data?.items ?? [])]}
                                set={(agent) => set({ agent })}
                            />
                        )}
                        <Select
                            label="Project"
                            value={f.project}
                            options={[['', 'default'], ...names(status.value?.projects ?? [])]}
                            set={(project) => set({ project })}
                        />
                    </div>
                    {kept.length > 0 && (
                        <p class="faint small">Also set, and kept: {line(kept.join(', '))}.</p>
                    )}
                </>
            )}
        </>
    );
}

function RuleFields({ f, set }: Part) {
    const span = (key: 'catch_up_max_s' | 'jitter_s', label: string, example: string) => (
        <label class="field">
            {label}
            <input
                autocomplete="off"
                value={f[key]}
                placeholder={example}
                onInput={(event) => set({ [key]: event.currentTarget.value })}
            />
        </label>
    );
    return (
        <div class="grid-2">
            <Select
                label="While its last task is not finished"
                value={f.overlap}
                options={OVERLAP}
                set={(overlap) => set({ overlap })}
            />
            <Select
                label="Due times that were missed"
                value={f.catch_up}
                options={CATCH_UP}
                set={(catch_up) => set({ catch_up })}
            />
            {span('catch_up_max_s', 'How old a missed one may be', 'any age')}
            {span('jitter_s', 'Delay each by up to', 'no delay')}
        </div>
    );
}

export function ScheduleForm({
    of: s,
    done,
}: {
    of: Schedule | null;
    done: (name: string) => void;
}) {
    // The schedule as it was when the form was opened: events about it do not change what was typed.
    const first = useRef(s).current;
    const [f, setFields] = useState<Fields>(() => fieldsOf(first));
    const [error, setError] = useState<string | null>(null);
    const [busy, setBusy] = useState(false);
    const set = (change: Partial<Fields>) => setFields((old) => ({ ...old, ...change }));
    const spec = parsed(first?.task ?? null);
    // Paths that the daemon reads or writes are the owner's to choose, at the machine of the daemon.
    const fixed = first?.formula ? 'A formula' : first?.backup ? 'Backups' : null;
    const path = first ? `/v1/schedules/${encodeURIComponent(first.name)}/set` : '/v1/schedules';
    const changes = changesOf(f, first);
    const body = first ? changes : { name: f.name, ...changes };
    // Due times can be shown before there is a name and a task: these stand in for them.
    const unnamed = useRef(crypto.randomUUID()).current;
    const preview = usePreview(
        path,
        {
            ...body,
            ...(first ? {} : { name: f.name.trim() || unnamed }),
            ...(fixed || f[f.kind].trim() ? {} : { task: '{"argv": ["true"]}', file: '' }),
            [f.times]: f[f.times].trim(),
        },
        f[f.times].trim() !== '',
    );
    const submit = async (event: SubmitEvent) => {
        event.preventDefault();
        if (busy) return;
        if (first && Object.keys(changes).length === 0) return done(first.name);
        setBusy(true);
        setError(null);
        try {
            const got = await post<Schedule>(path, body);
            done(got.name);
        } catch (problem) {
            setError(words(problem));
            setBusy(false);
        }
    };
    return (
        <form class="schedule-form" onSubmit={submit} aria-label="schedule">
            {!first && (
                <label class="field">
                    Name
                    <input
                        required
                        autocomplete="off"
                        autofocus
                        value={f.name}
                        placeholder="nightly"
                        onInput={(event) => set({ name: event.currentTarget.value })}
                    />
                </label>
            )}
            <h2>When</h2>
            <TimeFields
                f={f}
                set={set}
                system={first?.zone && !first.timezone ? first.zone : 'the zone of the daemon'}
            />
            <Next of={preview} />
            <h2>What it adds</h2>
            {fixed ? (
                <p class="faint">
                    {fixed}: change it with <code>sluice schedule set</code>.
                </p>
            ) : (
                <TaskFields f={f} set={set} spec={spec} />
            )}
            <h2>Rules</h2>
            <RuleFields f={f} set={set} />
            {error && (
                <p class="problem" role="alert">
                    {line(error)}
                </p>
            )}
            <div class="buttons">
                <a class="button" href={href('schedules', first?.name ?? '')}>
                    Cancel
                </a>
                <button class="primary" disabled={busy}>
                    {first ? 'Save' : 'Add'}
                </button>
            </div>
        </form>
    );
}
