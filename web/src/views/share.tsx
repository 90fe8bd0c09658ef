// share.tsx: does each project get what its weight promises? Tokens per project over time, against the target.
import { useEffect, useMemo } from 'preact/hooks';
import { identityColour } from '../identity';
import { useLoad, useThrottle } from '../load';
import { daemonNow, onEvents, status } from '../live';
import { Chart } from '../parts/chart';
import { Empty, Problem, Section } from '../parts/small';
import { refine, route } from '../route';
import { clock, line, percent, short } from '../text';
import { paint } from '../theme';
import type { Project, UsageSum } from '../types';
import { days, hours as hoursShown, readUsage, tokensOf } from '../usage';
import { zone } from '../zone';

const HOUR = 3600e3;
const SHOWN = 6;

/** For each of `projects` and each of `times`: its share of the tokens in the `window` spans that end there. */
function sharesOf(
    items: UsageSum[],
    projects: string[],
    all: number[],
    times: number[],
    window: number,
): (number | null)[][] {
    const at = new Map(all.map((t, i) => [t, i]));
    const used = new Map<string, number[]>(projects.map((one) => [one, all.map(() => 0)]));
    const total = all.map(() => 0);
    for (const item of items) {
        const i = at.get(item.at);
        if (i === undefined) continue;
        total[i] = (total[i] ?? 0) + tokensOf(item);
        const list = used.get(item.name ?? '');
        if (list) list[i] = (list[i] ?? 0) + tokensOf(item);
    }
    const sum = (list: number[], i: number) =>
        list.slice(Math.max(0, i - window + 1), i + 1).reduce((a, b) => a + b, 0);
    return projects.map((one) =>
        times.map((t) => {
            const i = at.get(t) ?? 0;
            const whole = sum(total, i);
            return whole > 0 ? sum(used.get(one) ?? [], i) / whole : null;
        }),
    );
}

function ShareBar({ project }: { project: Project }) {
    const off = project.share - project.target;
    return (
        <li>
            <span>
                {line(project.name)} <span class="faint">weight {project.weight}</span>
            </span>
            <div
                class="share"
                role="img"
                aria-label={`${percent(project.share)} of ${percent(project.target)}`}
            >
                <div class="used" style={{ width: `${project.share * 100}%` }} />
                <i style={{ left: `${project.target * 100}%` }} />
            </div>
            <span class="num">
                {percent(project.share)}
                <span class="faint"> / {percent(project.target)}</span>
            </span>
            <p class="under">
                <span class="num">{short(project.tokens)} tokens</span>
                <span class="num">
                    {Math.abs(off) < 0.005
                        ? 'on target'
                        : off < 0
                          ? `${percent(-off)} below target: goes first`
                          : `${percent(off)} above target: others go first`}
                </span>
            </p>
        </li>
    );
}

function ShareChart({
    projects,
    times,
    shares,
    targets,
}: {
    projects: string[];
    times: number[];
    shares: (number | null)[][];
    targets: Map<string, number>;
}) {
    return (
        <>
            <Chart
                label="share of tokens per project over time, with targets"
                times={times}
                height={300}
                max={1}
                describe={(i) =>
                    `${clock(times[i])}: ${projects.map((one, r) => `${line(one) || 'no project'} ${percent(shares[r]?.[i])}`).join(', ')}`
                }
                values={[
                    ...shares,
                    ...projects.map((one) => times.map(() => targets.get(one) ?? null)),
                ]}
                format={(n) => `${Math.round(n * 100)} %`}
                lines={[
                    ...projects.map((one) => ({
                        label: one,
                        colour: identityColour('project', one),
                    })),
                    ...projects.map((one) => ({
                        label: `${one}, target`,
                        colour: identityColour('project', one),
                        dash: true,
                        width: 1.2,
                    })),
                ]}
            />
            <div class="chart-key">
                {projects.map((one) => (
                    <span key={one}>
                        <i style={{ background: identityColour('project', one) }} />
                        {line(one) || 'no project'}
                    </span>
                ))}
                <span>
                    <i class="dash" />
                    target by weight
                </span>
            </div>
        </>
    );
}

export function Share() {
    const name = route.value.query.get('range') ?? '2d';
    const hours = { '2d': 48, '7d': 168, '30d': 720 }[name] ?? 48;
    const by = hours > 200 ? 'day' : 'hour';
    const length = by === 'day' ? 24 * HOUR : HOUR;
    // Each point is the share of a window that ends there: what fairness looks at is not a single hour.
    const window = by === 'day' ? 1 : 24;
    const since = daemonNow() - hours * HOUR - (by === 'hour' ? 24 * HOUR : 0);
    const loaded = useLoad(`share ${name} ${zone()}`, (signal) =>
        readUsage(by, 'project', since, signal),
    );
    const again = useThrottle(loaded.reload, 5000);
    useEffect(
        () =>
            onEvents((events) => {
                if (events.some((event) => event.kind === 'run.ended')) again();
            }),
        [],
    );
    const items = loaded.data?.items ?? [];
    const projects = status.value?.projects ?? [];
    const order = useMemo(
        () =>
            [...(loaded.data?.names ?? [])]
                .sort((a, b) => tokensOf(b) - tokensOf(a))
                .map((one) => one.name ?? '')
                .slice(0, SHOWN),
        [loaded.data],
    );
    const all = by === 'day' ? days(loaded.data, since, 7) : hoursShown(items, since, 12);
    const times = all.filter((t) => t >= daemonNow() - hours * HOUR - length);
    const shares = useMemo(
        () => sharesOf(items, order, all, times, window),
        [loaded.data, name, times.length],
    );
    const targets = new Map(
        (loaded.data?.targets ?? projects).map((one) => [one.name, one.target]),
    );
    void paint.value;
    return (
        <div class="view share-view">
            <h1 class="sr">Fair share</h1>
            <div class="filters">
                <div class="tabs" role="group" aria-label="time">
                    {[
                        ['2d', '2 days'],
                        ['7d', 'a week'],
                        ['30d', '30 days'],
                    ].map(([key, label]) => (
                        <button
                            key={key}
                            class="quiet"
                            aria-pressed={name === key}
                            onClick={() => refine({ range: key ?? '' })}
                        >
                            {label}
                        </button>
                    ))}
                </div>
            </div>
            <Section
                title="Now"
                note="share of the tokens in the window, live runs included; the mark is the target by weight"
            >
                {projects.length === 0 && (
                    <Empty command="sluice project add web --weight 2">
                        There are no projects yet.
                    </Empty>
                )}
                <ul class="bars share-now">
                    {projects.map((project) => (
                        <ShareBar key={project.name} project={project} />
                    ))}
                </ul>
            </Section>
            <Section
                title="Over time"
                note={
                    by === 'hour'
                        ? 'each point: the 24 hours before it'
                        : `each point: one day of ${loaded.data?.timezone ?? zone()}`
                }
            >
                <Problem error={loaded.error} absent={loaded.absent} />
                {loaded.data && items.length === 0 && <Empty>No run has ended in this time.</Empty>}
                {items.length > 0 && (
                    <ShareChart projects={order} times={times} shares={shares} targets={targets} />
                )}
            </Section>
        </div>
    );
}
