// now.tsx: what runs, what comes next, what waits and for what, how full everything is, who is needed.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { act, ACTIONS, clearLimiter, pause } from '../actions';
import { get, scope } from '../api';
import { type Loaded, useLoad, useThrottle } from '../load';
import { onEvents, status } from '../live';
import { Instead, Lends } from '../parts/agent';
import { AmountBar, unknownRuns } from '../parts/amount';
import { Finished } from '../parts/finished';
import { Mark } from '../parts/mark';
import { Needs } from '../parts/needs';
import { Countdown, Elapsed, Empty, Meter, Problem, Section, Text, Tid } from '../parts/small';
import { LastLine } from '../parts/styled';
import { Windows } from '../parts/windows';
import { href } from '../route';
import {
    clock,
    count,
    gateWords,
    limitWords,
    line,
    megabytes,
    money,
    percent,
    short,
} from '../text';
import type { Agent, Page, Status, Task, TaskWhy } from '../types';

const SHOWN_READY = 12;
const GATES_ASKED = 12;
const TIMED = /^(hours|limiter|held|breaker|pace|budget|project-budget)/;

/** The sums, each with the way to its tasks. */
function Headline({ s }: { s: Status }) {
    const figures: [number, string, string][] = [
        [
            s.running.length < 50
                ? s.running.length
                : (s.counts.running ?? 0) + (s.counts.starting ?? 0),
            'running',
            'running,starting',
        ],
        [s.counts.ready ?? 0, 'ready', 'ready'],
        [s.counts.waiting ?? 0, 'waiting', 'waiting'],
        [s.counts.held ?? 0, 'held', 'held'],
        [s.counts.failed ?? 0, 'failed', 'failed'],
        [s.counts.done ?? 0, 'done', 'done'],
    ];
    return (
        <ul class="headline">
            {figures.map(([n, word, states]) => (
                <li key={word} class={`h-${word}${n ? '' : ' none'}`}>
                    <a href={href('board', '', { state: states })}>
                        <b class="num">{count(n)}</b>
                        <span>{word}</span>
                    </a>
                </li>
            ))}
        </ul>
    );
}

/** What stops everything, and is not for one person to work off. */
function Stopped({ s }: { s: Status }) {
    if (!s.paused && !s.store.full) return null;
    return (
        <div class="alerts">
            {s.paused && (
                <p class="alert paused">
                    <Mark state="held" label={false} />
                    <span>
                        Everything is paused
                        {s.paused_by ? (
                            <>
                                {' '}
                                by <Text of={s.paused_by} />
                            </>
                        ) : null}
                        {s.paused_at ? `, since ${clock(s.paused_at)}` : ''}. Live runs continue;
                        nothing starts.
                    </span>
                    {scope.value === 'admin' && (
                        <button onClick={() => pause(false)}>Resume</button>
                    )}
                </p>
            )}
            {s.store.full && (
                <p class="alert bad" role="alert">
                    The daemon’s disk is full: no tasks are accepted until space is freed.
                </p>
            )}
        </div>
    );
}

function Running({ s }: { s: Status }) {
    const total = (s.counts.running ?? 0) + (s.counts.starting ?? 0);
    return (
        <Section
            title="Running"
            note={total > s.running.length ? `${s.running.length} of ${count(total)}` : undefined}
        >
            {s.running.length === 0 ? (
                <Empty
                    command={
                        s.ready + (s.counts.waiting ?? 0) > 0
                            ? undefined
                            : 'sluice add -- make test'
                    }
                >
                    {s.ready > 0
                        ? 'Nothing is running. The gates below stop all ready tasks.'
                        : 'Nothing is running and nothing is ready.'}
                </Empty>
            ) : (
                <ul class="rows running">
                    {s.running.map((task) => {
                        const lastLine = task.run?.doing ?? task.last_line ?? '';
                        const tokens = task.run
                            ? (task.run.tokens_in ?? 0) + (task.run.tokens_out ?? 0)
                            : 0;
                        return (
                            <li key={task.id}>
                                <Mark state={task.state} />
                                <div class="what">
                                    <p>
                                        <Tid id={task.id} />{' '}
                                        <a class="title" href={href('task', task.id)}>
                                            <Text of={task.title} />
                                        </a>
                                    </p>
                                    <p class="said">
                                        {task.run?.lends_to ? (
                                            <Lends to={task.run.lends_to} />
                                        ) : (
                                            <LastLine of={lastLine} />
                                        )}
                                    </p>
                                    {task.run?.instead_of && (
                                        <p class="said">
                                            <Instead of={task.run} />
                                        </p>
                                    )}
                                </div>
                                <dl class="facts">
                                    <div>
                                        <dt>agent</dt>
                                        <dd>{line(task.run?.agent ?? task.agent) || 'command'}</dd>
                                    </div>
                                    {task.iteration > 1 && (
                                        <div>
                                            <dt>iteration</dt>
                                            <dd class="num">{task.iteration}</dd>
                                        </div>
                                    )}
                                    {task.attempt > 1 && (
                                        <div>
                                            <dt>attempt</dt>
                                            <dd class="num">{task.attempt}</dd>
                                        </div>
                                    )}
                                    <div class="w6">
                                        <dt>tokens</dt>
                                        <dd class="num">{tokens ? short(tokens) : '–'}</dd>
                                    </div>
                                    <div class="w6">
                                        <dt>
                                            {task.run?.phase && task.run.phase !== 'working'
                                                ? task.run.phase
                                                : 'elapsed'}
                                        </dt>
                                        <dd>
                                            <Elapsed from={task.run?.started_at ?? null} />
                                        </dd>
                                    </div>
                                </dl>
                            </li>
                        );
                    })}
                </ul>
            )}
        </Section>
    );
}

let early: Promise<Page<Task>> | null = null;

function readReady(signal?: AbortSignal): Promise<Page<Task>> {
    return get<Page<Task>>(
        '/v1/tasks',
        { state: 'ready', order: 'queue', limit: SHOWN_READY },
        signal,
    );
}

/** The queue is asked for beside the state and not behind it: the first view is one way to the daemon and back. */
export function askEarly(): void {
    early = readReady();
    early.catch(() => undefined); // who shows it says what was wrong
}

function useReady(): Loaded<Page<Task>> {
    const page = useLoad('ready', (signal) => {
        const first = early;
        early = null;
        return first ?? readReady(signal);
    });
    const again = useThrottle(page.reload, 700);
    useEffect(() => onEvents(again), []);
    return page;
}

function Next({ s, page }: { s: Status; page: Loaded<Page<Task>> }) {
    const promote = ACTIONS.find((action) => action.name === 'promote');
    const items = page.data?.items ?? [];
    return (
        <Section
            title="Next, in this order"
            note={
                s.ready > items.length ? (
                    <a href={href('board', '', { state: 'ready' })}>{count(s.ready)} ready</a>
                ) : undefined
            }
        >
            <Problem error={page.error} />
            {items.length === 0 && !page.loading && !page.error && <Empty>Nothing is ready.</Empty>}
            <ol class="rows next">
                {items.map((task, n) => (
                    <li key={task.id}>
                        <span class="pos num faint">{n + 1}</span>
                        <div class="what">
                            <p>
                                <Tid id={task.id} />{' '}
                                <a class="title" href={href('task', task.id)}>
                                    <Text of={task.title} />
                                </a>
                            </p>
                        </div>
                        <span class="why">
                            <Text of={task.why ?? 'may start now'} />
                        </span>
                        {scope.value !== 'read' && promote && n > 0 && (
                            <button
                                class="quiet"
                                aria-label={`${task.id}: to the front`}
                                title="to the front"
                                onClick={() => act(promote, [task.id])}
                            >
                                ↑
                            </button>
                        )}
                    </li>
                ))}
            </ol>
        </Section>
    );
}

function Waiting({ s }: { s: Status }) {
    const gates = s.waiting_by_gate;
    // Reasons that an older daemon does not report, and when gates open that open by themselves.
    const asked = gates
        .filter((gate) => gate.why === undefined || TIMED.test(gate.gate))
        .slice(0, GATES_ASKED)
        .map((gate) => gate.examples[0] ?? '')
        .join(' ')
        .trim();
    const whys = useLoad(`whys ${asked}`, (signal) =>
        Promise.all(
            asked
                .split(' ')
                .filter(Boolean)
                .map((id) =>
                    get<TaskWhy>(`/v1/tasks/${encodeURIComponent(id)}/why`, {}, signal).catch(
                        () => null,
                    ),
                ),
        ),
    );
    // What is known stays until the new answer is there.
    const kept = useRef<(TaskWhy | null)[]>([]);
    if (whys.data) kept.current = whys.data;
    const of = (gate: string) =>
        kept.current.find((why) => why?.gates.some((one) => one.gate === gate && !one.open));
    return (
        <Section
            title="Waiting, by what stops them"
            note={s.partial ? 'counted in part' : undefined}
        >
            {gates.length === 0 && <Empty>Nothing is waiting.</Empty>}
            <ul class="rows gates">
                {gates.map((gate) => {
                    const why = of(gate.gate);
                    const closed = why?.gates.find((one) => one.gate === gate.gate);
                    const opens = closed?.opens_at ?? null;
                    return (
                        <li key={gate.gate}>
                            <b class="num">{count(gate.count)}</b>
                            <div class="what">
                                <p class="title">{line(gateWords(gate.gate))}</p>
                                <p class="said">
                                    <Text of={gate.why ?? closed?.reason ?? why?.summary ?? ''} />
                                    {opens ? (
                                        <>
                                            , opens <Countdown to={opens} />
                                        </>
                                    ) : null}
                                </p>
                            </div>
                            <span class="ids">
                                {gate.examples.map((id) => (
                                    <Tid key={id} id={id} />
                                ))}
                                {gate.count > gate.examples.length && gate.examples.length > 0 ? (
                                    <span class="faint">…</span>
                                ) : null}
                            </span>
                        </li>
                    );
                })}
            </ul>
        </Section>
    );
}

function Limits({ s }: { s: Status }) {
    const shown = s.limits.filter((limit) => limit.cap !== null);
    return (
        <Section title="Limits">
            {shown.length === 0 && (
                <Empty command="sluice config set limits.runs=8">No limit is set.</Empty>
            )}
            <ul class="bars">
                {shown.map((limit) => (
                    <li key={limit.key}>
                        <span>{line(limitWords(limit.key))}</span>
                        <Meter
                            used={limit.used}
                            cap={limit.cap}
                            label={`${limitWords(limit.key)}: ${limit.used} of ${limit.cap ?? 'any'}`}
                        />
                        <span class="num">
                            {count(limit.used)}
                            <span class="faint"> / {count(limit.cap)}</span>
                        </span>
                    </li>
                ))}
            </ul>
        </Section>
    );
}

const LIMITER: Record<string, string> = {
    open: 'open',
    backoff: 'backing off',
    probing: 'one run probes it',
    ramping: 'recovering',
    reserved: 'only the reserve is left',
    off_hours: 'outside its opening hours',
    closed: 'closed: needs a person',
};

/** Who takes the tasks of this account meanwhile; asked for when one is closed. */
function useStandIns(s: Status): (limiter: string) => Agent[] {
    const closed = s.limiters
        .filter((one) => one.state !== 'open')
        .map((one) => one.name)
        .join(' ');
    const page = useLoad(`agents ${closed}`, (signal) =>
        closed
            ? get<Page<Agent>>('/v1/agents', { limit: 200 }, signal)
            : Promise.resolve({ items: [], next: null }),
    );
    return (limiter) =>
        (page.data?.items ?? []).filter(
            (agent) => agent.limiter === limiter && (agent.failover?.length ?? 0) > 0,
        );
}

function Accounts({ s }: { s: Status }) {
    const standIns = useStandIns(s);
    if (s.limiters.length === 0) return null;
    return (
        <Section title="Accounts">
            <ul class="bars">
                {s.limiters.map((limiter) => (
                    <li key={limiter.name} class={`limiter ${limiter.state}`}>
                        <span>{line(limiter.name)}</span>
                        <Meter
                            used={limiter.used}
                            cap={limiter.cap}
                            label={`account ${limiter.name}: ${limiter.used} of ${limiter.cap ?? 'any'}`}
                        />
                        <span class="num">
                            {count(limiter.used)}
                            <span class="faint">
                                {' '}
                                / {limiter.cap === null ? '∞' : count(limiter.cap)}
                            </span>
                        </span>
                        {limiter.state !== 'open' && (
                            <p class="under">
                                <span>
                                    {LIMITER[limiter.state] ?? limiter.state}
                                    {limiter.opens_at ? (
                                        <>
                                            , opens <Countdown to={limiter.opens_at} />
                                        </>
                                    ) : null}
                                </span>
                                {scope.value === 'admin' && (
                                    <button
                                        class="quiet"
                                        onClick={() => clearLimiter(limiter.name)}
                                    >
                                        open now
                                    </button>
                                )}
                            </p>
                        )}
                        <Windows of={limiter} />
                        {limiter.state !== 'open' &&
                            standIns(limiter.name).map((agent) => (
                                <p class="under plainly" key={agent.name}>
                                    <span>
                                        tasks of {line(agent.name)} go to{' '}
                                        {agent.failover?.map((name) => line(name)).join(', then ')}
                                    </span>
                                </p>
                            ))}
                    </li>
                ))}
            </ul>
        </Section>
    );
}

function Budgets({ s }: { s: Status }) {
    const shown = s.budgets.filter(
        (budget) => budget.cap !== null || (budget.usd_cap ?? null) !== null,
    );
    if (shown.length === 0) return null;
    return (
        <Section title="Budgets" note="of the window">
            <ul class="bars">
                {shown.map((budget) => {
                    const name = budget.key === 'global' ? 'all projects' : limitWords(budget.key);
                    return (
                        <li
                            key={budget.key}
                            class={budget.open === false ? 'budget closed' : 'budget'}
                        >
                            <AmountBar
                                name={name}
                                unit="tokens"
                                used={budget.used}
                                reserved={budget.reserved}
                                cap={budget.cap}
                                show={short}
                            />
                            <AmountBar
                                name={budget.cap === null ? name : ''}
                                label={name}
                                unit="dollars"
                                used={budget.usd_used ?? 0}
                                reserved={budget.usd_reserved ?? 0}
                                cap={budget.usd_cap ?? null}
                                show={money}
                            />
                            {(budget.open === false || (budget.unknown_cost_runs ?? 0) > 0) && (
                                <p class="under">
                                    {budget.open === false && (
                                        <span>
                                            used up
                                            {budget.opens_at ? (
                                                <>
                                                    , opens <Countdown to={budget.opens_at} />
                                                </>
                                            ) : null}
                                        </span>
                                    )}
                                    {budget.usd_cap !== null &&
                                        (budget.unknown_cost_runs ?? 0) > 0 && (
                                            <span class="faint">
                                                {unknownRuns(budget.unknown_cost_runs ?? 0)}
                                            </span>
                                        )}
                                </p>
                            )}
                        </li>
                    );
                })}
            </ul>
        </Section>
    );
}

function Projects({ s }: { s: Status }) {
    if (s.projects.length < 1) return null;
    return (
        <Section title="Projects" note="share of tokens, against target">
            <ul class="bars projects">
                {s.projects.slice(0, 20).map((project) => (
                    <li key={project.name} class={project.paused ? 'is-paused' : ''}>
                        <a href={href('board', '', { project: project.name })}>
                            {line(project.name)}
                        </a>
                        <div
                            class="share"
                            role="img"
                            aria-label={`share ${percent(project.share)}, target ${percent(project.target)}`}
                        >
                            <div class="used" style={{ width: `${project.share * 100}%` }} />
                            <i style={{ left: `${project.target * 100}%` }} />
                        </div>
                        <span class="num">
                            {percent(project.share)}
                            <span class="faint"> / {percent(project.target)}</span>
                        </span>
                        <p class="under">
                            <span>
                                {count(project.running)} running, {count(project.ready)} ready
                                {project.paused ? ', paused' : ''}
                            </span>
                            {scope.value === 'admin' && (
                                <button
                                    class="quiet"
                                    onClick={() => pause(!project.paused, project.name)}
                                >
                                    {project.paused ? 'resume' : 'pause'}
                                </button>
                            )}
                        </p>
                    </li>
                ))}
            </ul>
        </Section>
    );
}

function Machine({ s }: { s: Status }) {
    return (
        <Section title="Machine">
            <dl class="pairs">
                <div>
                    <dt>disk free</dt>
                    <dd class="num">{megabytes(s.host.disk_free_mb)}</dd>
                </div>
                <div>
                    <dt>memory free</dt>
                    <dd class="num">{megabytes(s.host.memory_free_mb)}</dd>
                </div>
                <div>
                    <dt>load</dt>
                    <dd class="num">{s.host.load?.toFixed(2) ?? '–'}</dd>
                </div>
                <div>
                    <dt>store</dt>
                    <dd class="num">
                        {megabytes(
                            Math.max(
                                1,
                                Math.round(
                                    ((s.store.bytes ?? 0) + (s.store.log_bytes ?? 0)) / 1048576,
                                ),
                            ),
                        )}
                    </dd>
                </div>
                <div>
                    <dt>daemon</dt>
                    <dd>
                        {line(s.version)}, up <Elapsed from={s.started_at} />
                    </dd>
                </div>
                <div>
                    <dt>preset</dt>
                    <dd>{line(s.preset)}</dd>
                </div>
            </dl>
        </Section>
    );
}

function First() {
    return (
        <div class="first">
            <h2>Nothing here yet</h2>
            <p>Give it something to do; this page follows by itself.</p>
            <p>
                <code class="command">sluice add -- make test</code>
            </p>
            <p>
                <code class="command">sluice add --agent claude "fix the flaky test"</code>
            </p>
        </div>
    );
}

/** For tests and for those who measure: when everything of the first view has been drawn, which is after its frame. */
let marked = false;
function useMark(there: boolean): void {
    useLayoutEffect(() => {
        if (!there || marked) return;
        marked = true;
        requestAnimationFrame(() => setTimeout(() => performance.mark('sluice:now')));
    }, [there]);
}

export function Now() {
    const s = status.value;
    const ready = useReady();
    useMark(s !== null && ready.data !== null);
    if (!s)
        return (
            <div class="loading" aria-busy="true">
                <span class="sr">loading the state</span>
            </div>
        );
    const any = Object.values(s.counts).some((n) => (n ?? 0) > 0);
    return (
        <div class="view now">
            <h1 class="sr">Now</h1>
            <Stopped s={s} />
            <Needs />
            <Finished />
            <Headline s={s} />
            <div class="columns">
                <div class="main">
                    {any ? (
                        <>
                            <Running s={s} />
                            <Next s={s} page={ready} />
                            <Waiting s={s} />
                        </>
                    ) : (
                        <First />
                    )}
                </div>
                <div class="side">
                    <Limits s={s} />
                    <Accounts s={s} />
                    <Budgets s={s} />
                    <Projects s={s} />
                    <Machine s={s} />
                </div>
            </div>
        </div>
    );
}
