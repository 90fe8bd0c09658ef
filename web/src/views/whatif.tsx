// whatif.tsx: when would everything be finished with other caps and weights? The daemon plays its queue
// forward twice and changes nothing; a second button makes it so.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ApiError, get, post, scope, words } from '../api';
import { useLoad } from '../load';
import { wantStatus } from '../live';
import { Chart } from '../parts/chart';
import { ask } from '../parts/dialog';
import { Empty, Problem, Section } from '../parts/small';
import { say } from '../parts/toast';
import { clock, count, gateWords, many, line, span } from '../text';
import { colour, paint } from '../theme';
import type { Bottleneck, Outlook, PlanWhatif } from '../types';

interface Setting {
    key: string;
    value: unknown;
}

// What can be tried here: places and weights. Everything else by `sluice config`.
const TRIED =
    /^(limits\.(runs|roots|resource\..+)|kinds\.[^.]+\.max_running|projects\.[^.]+\.(weight|max_running)|agents\.[^.]+\.slots|limiters\.[^.]+\.max_running)$/;
const GROUPS: [string, RegExp][] = [
    ['Slots', /^limits\./],
    ['Projects', /^projects\./],
    ['Agents', /^agents\./],
    ['Accounts', /^limiters\./],
    ['Kinds', /^kinds\./],
];

function name(key: string): string {
    const parts = key.split('.');
    if (parts[0] === 'limits')
        return parts.length > 2 ? parts.slice(1).join(' ') : (parts[1] ?? key);
    const what =
        { max_running: 'at once', slots: 'at once', weight: 'weight' }[
            parts[parts.length - 1] ?? ''
        ] ?? '';
    return `${parts.slice(1, -1).join('.')}, ${what}`;
}

/** Times and how many are left, of both plays, on the times of both. */
function together(
    now: Outlook,
    then: Outlook,
    at: number,
): { times: number[]; values: (number | null)[][] } {
    const total = (one: Outlook): [number, number][] => [[at, one.tasks], ...one.points];
    const a = total(now);
    const b = total(then);
    const times = [...new Set([...a, ...b].map(([t]) => t))].sort((x, y) => x - y);
    const at_ = (points: [number, number][]) => {
        let i = 0;
        const last = points[points.length - 1]?.[0] ?? 0;
        return times.map((t) => {
            while (i + 1 < points.length && (points[i + 1]?.[0] ?? 0) <= t) i++;
            return t > last ? null : (points[i]?.[1] ?? null);
        });
    };
    return { times, values: [at_(a), at_(b)] };
}

/** How long both plays take, and what is in them. */
function Sums({ now, then, changed }: { now: Outlook; then: Outlook; changed: boolean }) {
    const won = now.makespan_ms - then.makespan_ms;
    return (
        <>
            <div class="sums">
                <div>
                    <b class="num">{span(now.makespan_ms)}</b>
                    <span>as it is: finished {clock(now.finish_at)}</span>
                </div>
                {changed && (
                    <div>
                        <b class="num">{span(then.makespan_ms)}</b>
                        <span>with the change: finished {clock(then.finish_at)}</span>
                    </div>
                )}
                {changed && (
                    <div>
                        <b class={`num ${won > 0 ? 'better' : won < 0 ? 'worse' : ''}`}>
                            {Math.abs(won) < 1000
                                ? 'no change'
                                : `${won > 0 ? '−' : '+'}${span(Math.abs(won))}`}
                        </b>
                        <span>
                            {Math.abs(won) < 1000
                                ? then.bottleneck
                                    ? `the bottleneck is ${line(gateWords(then.bottleneck.gate))}`
                                    : 'no limit is the bottleneck'
                                : won > 0
                                  ? 'sooner'
                                  : 'later'}
                        </span>
                    </div>
                )}
            </div>
            <p class="faint assumptions">
                {many(then.tasks, 'task')} will be finished
                {then.others > 0
                    ? `; ${count(then.others)} wait for a person, a file or a task that failed`
                    : ''}
                {then.later > 0
                    ? `; ${count(then.later)} more may finish after the end of this forecast`
                    : ''}
                . {now.paused ? 'Everything is paused: the forecast begins with a resume. ' : ''}
                Each run takes as long as similar runs did. Assuming no new tasks.
            </p>
        </>
    );
}

/** Which limit makes it long, and a button that tries twice as much. */
function BottleneckLine({
    of,
    change,
}: {
    of: Bottleneck | null;
    change: (key: string, value: string) => void;
}) {
    if (!of)
        return (
            <p class="bottleneck none">
                No task waits for a limit. Only shorter runs or fewer dependencies would be faster.
            </p>
        );
    const { setting, cap } = of;
    return (
        <p class="bottleneck">
            <span>
                Bottleneck:{' '}
                <b>
                    {line(gateWords(of.gate))}
                    {of.name ? ` (${line(of.name)})` : ''}
                </b>
                {cap === null ? '' : `, ${many(cap, 'slot')}`}
            </span>
            <span class="faint num">
                up to {many(of.tasks, 'task')} wait there, for {span(of.waits_ms)}
            </span>
            {setting !== null && cap !== null && TRIED.test(setting) && (
                <button type="button" onClick={() => change(setting, String(cap * 2))}>
                    try {count(cap * 2)}
                </button>
            )}
        </p>
    );
}

function TasksLeft({ chart, changed }: { chart: ReturnType<typeof together>; changed: boolean }) {
    return (
        <>
            <Chart
                label="tasks left over time, as it is and with the change"
                {...chart}
                height={240}
                format={(n) => count(Math.round(n))}
                lines={[
                    { label: 'as it is', colour: colour('waiting'), step: true },
                    {
                        label: 'with the change',
                        colour: colour('accent'),
                        step: true,
                        width: 2.5,
                    },
                ].slice(0, changed ? 2 : 1)}
            />
            <div class="chart-key">
                <span>
                    <i style={{ background: colour('waiting') }} />
                    as it is
                </span>
                {changed && (
                    <span>
                        <i style={{ background: colour('accent') }} />
                        with the change
                    </span>
                )}
                <span class="faint">tasks left</span>
            </div>
        </>
    );
}

function ProjectTable({
    names,
    now,
    then,
    changed,
}: {
    names: string[];
    now: Outlook;
    then: Outlook;
    changed: boolean;
}) {
    const of = (one: Outlook, project: string) =>
        one.projects.find((p) => p.name === project)?.finish_at ?? null;
    return (
        <div class="scroll-x">
            <table class="table">
                <thead>
                    <tr>
                        <th>project</th>
                        <th class="r">finished as it is</th>
                        {changed && (
                            <>
                                <th class="r">with the change</th>
                                <th class="r">difference</th>
                            </>
                        )}
                    </tr>
                </thead>
                <tbody>
                    {names.map((project) => {
                        const a = of(now, project);
                        const b = of(then, project);
                        const d = a && b ? a - b : 0;
                        return (
                            <tr key={project}>
                                <td>{line(project)}</td>
                                <td class="r num">{clock(a)}</td>
                                {changed && (
                                    <>
                                        <td class="r num">{clock(b)}</td>
                                        <td
                                            class={`r num ${d > 1000 ? 'better' : d < -1000 ? 'worse' : ''}`}
                                        >
                                            {Math.abs(d) <= 1000
                                                ? '–'
                                                : `${d > 0 ? '−' : '+'}${span(Math.abs(d))}`}
                                        </td>
                                    </>
                                )}
                            </tr>
                        );
                    })}
                </tbody>
            </table>
        </div>
    );
}

function Result({
    answer,
    changed,
    change,
}: {
    answer: PlanWhatif;
    changed: boolean;
    /** Tries another value. */
    change: (key: string, value: string) => void;
}) {
    const { now, then } = answer;
    const both = together(now, then, answer.at);
    const chart = changed ? both : { times: both.times, values: both.values.slice(0, 1) };
    const names = [...new Set([...now.projects, ...then.projects].map((one) => one.name))];
    void paint.value;
    return (
        <>
            <Sums now={now} then={then} changed={changed} />
            {now.tasks > 0 && (
                <BottleneckLine of={changed ? then.bottleneck : now.bottleneck} change={change} />
            )}
            {chart.times.length > 1 && <TasksLeft chart={chart} changed={changed} />}
            {names.length > 0 && (
                <ProjectTable names={names} now={now} then={then} changed={changed} />
            )}
        </>
    );
}

function text(value: unknown): string {
    return value === null || value === undefined ? 'unlimited' : String(value);
}

type Changed = Record<string, string>;

function SettingField({
    item,
    value,
    setChanged,
}: {
    item: Setting;
    /** As typed; undefined while it is not changed. */
    value: string | undefined;
    setChanged: (next: (old: Changed) => Changed) => void;
}) {
    return (
        <label class={`setting${value !== undefined ? ' changed' : ''}`} title={item.key}>
            <span>{line(name(item.key))}</span>
            <input
                inputMode="decimal"
                value={value ?? text(item.value)}
                aria-label={item.key}
                onInput={(event) => {
                    const typed = event.currentTarget.value.trim();
                    setChanged((old) => {
                        const next = { ...old };
                        if (typed === '' || typed === text(item.value)) delete next[item.key];
                        else next[item.key] = typed;
                        return next;
                    });
                }}
            />
        </label>
    );
}

/** The settings that can be tried, the changes to them, and the answer of the daemon. */
function usePlay() {
    const config = useLoad('config', (signal) =>
        get<{ items: Setting[] }>('/v1/config', { all: true }, signal),
    );
    const [changed, setChanged] = useState<Changed>({});
    const [answer, setAnswer] = useState<PlanWhatif | null>(null);
    const [error, setError] = useState<string | null>(null);
    const [absent, setAbsent] = useState(false);
    const [busy, setBusy] = useState(false);
    const [played, setPlayed] = useState(0);
    const settings = useMemo(
        () => (config.data?.items ?? []).filter((item) => TRIED.test(item.key)),
        [config.data],
    );
    const play = async (changes: Changed = changed) => {
        setBusy(true);
        setError(null);
        try {
            // The daemon wants a change: one setting as it is changes nothing.
            const first = settings.find((item) => item.key === 'limits.runs');
            const same = { 'limits.runs': first ? text(first.value) : 'unlimited' };
            setAnswer(
                await post<PlanWhatif>('/v1/whatif', {
                    set: Object.keys(changes).length > 0 ? changes : same,
                }),
            );
            setPlayed(Object.keys(changes).length);
            setAbsent(false);
        } catch (problem) {
            setAbsent(
                problem instanceof ApiError &&
                    (problem.status === 404 || problem.status === 405 || problem.status === 501),
            );
            setError(words(problem));
        }
        setBusy(false);
    };
    const known = settings.length > 0;
    useEffect(() => {
        if (known) void play();
    }, [known]);
    const apply = async () => {
        const list = Object.entries(changed)
            .map(([key, value]) => `${key} = ${value}`)
            .join(', ');
        if (
            (await ask(
                'Apply this change?',
                `The configuration of the daemon changes at once: ${list}. Raising a cap starts work, lowering one stops nothing.`,
                'Apply',
            )) === null
        )
            return;
        try {
            await post('/v1/config', { set: changed });
            say('the configuration has changed');
            setChanged({});
            setAnswer(null);
            config.reload();
            wantStatus();
        } catch (problem) {
            say(words(problem), true);
        }
    };
    return {
        config,
        settings,
        changed,
        setChanged,
        answer,
        error,
        absent,
        busy,
        played,
        play,
        apply,
    };
}

export function WhatIf() {
    const {
        config,
        settings,
        changed,
        setChanged,
        answer,
        error,
        absent,
        busy,
        played,
        play,
        apply,
    } = usePlay();
    const n = Object.keys(changed).length;
    return (
        <div class="view whatif">
            <h1 class="sr">What if</h1>
            <div class="columns flip">
                <form
                    class="side"
                    onSubmit={(event) => {
                        event.preventDefault();
                        // On a phone the result stands above the form.
                        document
                            .querySelector('.whatif .main')
                            ?.scrollIntoView({ block: 'nearest' });
                        void play();
                    }}
                >
                    <Problem error={config.error} />
                    {GROUPS.map(([title, fits]) => {
                        const list = settings.filter((item) => fits.test(item.key));
                        if (list.length === 0) return null;
                        return (
                            <Section key={title} title={title}>
                                {list.map((item) => (
                                    <SettingField
                                        key={item.key}
                                        item={item}
                                        value={changed[item.key]}
                                        setChanged={setChanged}
                                    />
                                ))}
                            </Section>
                        );
                    })}
                    <div class="buttons sticky">
                        {n > 0 && (
                            <button
                                type="button"
                                class="quiet"
                                onClick={() => {
                                    setChanged({});
                                }}
                            >
                                as it is
                            </button>
                        )}
                        {played > 0 && n > 0 && answer && scope.value === 'admin' && (
                            <button type="button" onClick={apply}>
                                Apply
                            </button>
                        )}
                        <button type="submit" class="primary" disabled={busy}>
                            {busy ? 'playing …' : 'Run the forecast'}
                        </button>
                    </div>
                </form>
                <div class="main">
                    <Problem error={error} absent={absent} />
                    {answer ? (
                        <Result
                            answer={answer}
                            changed={played > 0}
                            change={(key, value) => {
                                const next = { ...changed, [key]: value };
                                setChanged(() => next);
                                void play(next);
                            }}
                        />
                    ) : (
                        !error && (
                            <Empty>
                                Change a number, then run the forecast: both results are shown side
                                by side. Nothing changes until you apply it.
                            </Empty>
                        )
                    )}
                </div>
            </div>
        </div>
    );
}
