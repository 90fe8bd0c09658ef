// cost.tsx: what was used, per day, by project or by agent. Usage that was not reported is marked, never counted as 0.
import { useEffect, useMemo } from 'preact/hooks';
import { useLoad, useThrottle } from '../load';
import { daemonNow, onEvents } from '../live';
import { Chart } from '../parts/chart';
import { Empty, Problem, Section } from '../parts/small';
import { refine, route } from '../route';
import { count, many, line, money, percent, short, span } from '../text';
import { paint, seriesColour } from '../theme';
import type { UsageSum } from '../types';
import { names, readUsage, spans, tokensOf } from '../usage';

const DAY = 86400e3;
const SHOWN = 6; // the others are one

function add(items: UsageSum[]) {
    const sum = { runs: 0, ok: 0, in: 0, out: 0, cached: 0, cost: 0, unknown: 0, busy: 0 };
    for (const item of items) {
        sum.runs += item.runs;
        sum.ok += item.ok ?? 0;
        sum.in += item.tokens_in;
        sum.out += item.tokens_out;
        sum.cached += item.tokens_cached;
        sum.cost += item.cost_usd ?? 0;
        sum.unknown += item.unknown_cost;
        sum.busy += item.busy_ms ?? 0;
    }
    return sum;
}

type Group = 'project' | 'agent';
type Sum = ReturnType<typeof add>;

const OTHERS = '\u0000';

function titleOf(name: string, group: Group): string {
    if (name === '') return group === 'agent' ? 'commands' : 'no project';
    return name === OTHERS ? 'others' : name;
}

/** Bars stand on each other: each has the sum of itself and all below. */
function stack(
    items: UsageSum[],
    shown: string[],
    times: number[],
    value: (sum: UsageSum) => number,
): number[][] {
    const at = new Map(times.map((t, i) => [t, i]));
    const rows = shown.map(() => times.map(() => 0));
    for (const item of items) {
        const column = at.get(item.at);
        let row = shown.indexOf(item.name ?? '');
        if (row < 0) row = shown.length - 1;
        const list = rows[row];
        if (column !== undefined && list) list[column] = (list[column] ?? 0) + value(item);
    }
    for (let r = 1; r < rows.length; r++)
        rows[r] = (rows[r] ?? []).map((n, i) => n + (rows[r - 1]?.[i] ?? 0));
    return rows;
}

function Filters({ days, group, what }: { days: number; group: Group; what: string }) {
    return (
        <div class="filters">
            <div class="tabs" role="group" aria-label="time">
                {[7, 30, 90, 365].map((n) => (
                    <button
                        key={n}
                        class="quiet"
                        aria-pressed={days === n}
                        onClick={() => refine({ days: String(n) })}
                    >
                        {n === 365 ? 'a year' : `${n} days`}
                    </button>
                ))}
            </div>
            <div class="tabs" role="group" aria-label="by">
                {(['project', 'agent'] as const).map((one) => (
                    <button
                        key={one}
                        class="quiet"
                        aria-pressed={group === one}
                        onClick={() => refine({ group: one })}
                    >
                        by {one}
                    </button>
                ))}
            </div>
            <div class="tabs" role="group" aria-label="what">
                {(['money', 'tokens'] as const).map((one) => (
                    <button
                        key={one}
                        class="quiet"
                        aria-pressed={what === one}
                        onClick={() => refine({ what: one })}
                    >
                        {one}
                    </button>
                ))}
            </div>
        </div>
    );
}

function Sums({ all }: { all: Sum }) {
    return (
        <div class="sums">
            <div>
                <b class="num">{money(all.cost)}</b>
                <span>
                    {all.unknown > 0
                        ? `reported; ${count(all.unknown)} of ${many(all.runs, 'run')} did not say`
                        : 'all runs reported'}
                </span>
            </div>
            <div>
                <b class="num">{short(all.in)}</b>
                <span>
                    tokens in
                    {all.cached > 0 ? `, ${percent(all.cached / all.in)} from a cache` : ''}
                </span>
            </div>
            <div>
                <b class="num">{short(all.out)}</b>
                <span>tokens out</span>
            </div>
            <div>
                <b class="num">{count(all.runs)}</b>
                <span>runs, {percent(all.runs ? all.ok / all.runs : null)} ok</span>
            </div>
        </div>
    );
}

function UsageRow({
    title,
    colour,
    sum,
    cost,
}: {
    title: string;
    colour: string;
    sum: Sum;
    /** Of all rows. */
    cost: number;
}) {
    return (
        <tr>
            <td>
                <span class="swatch" style={{ background: colour }} />
                {line(title)}
            </td>
            <td class="r num">{sum.unknown >= sum.runs ? 'unknown' : money(sum.cost)}</td>
            <td class="r num">
                {percent(cost > 0 && sum.unknown < sum.runs ? sum.cost / cost : null)}
            </td>
            <td class="r num">{short(sum.in)}</td>
            <td class="r num">{short(sum.cached)}</td>
            <td class="r num">{short(sum.out)}</td>
            <td class="r num">{count(sum.runs)}</td>
            <td class="r num">{percent(sum.runs ? sum.ok / sum.runs : null)}</td>
            <td class="r num">{span(sum.busy)}</td>
            <td class="r num">{sum.unknown ? many(sum.unknown, 'run') : '–'}</td>
        </tr>
    );
}

function UsageTable({
    group,
    names,
    items,
    all,
}: {
    group: Group;
    names: string[];
    items: UsageSum[];
    all: Sum;
}) {
    return (
        <Section title={group === 'project' ? 'Projects' : 'Agents'} note="days are those of UTC">
            <div class="scroll-x" tabIndex={0} role="region" aria-label="usage, as a table">
                <table class="table">
                    <thead>
                        <tr>
                            <th>{group}</th>
                            <th class="r">cost</th>
                            <th class="r">part</th>
                            <th class="r">tokens in</th>
                            <th class="r">cached</th>
                            <th class="r">out</th>
                            <th class="r">runs</th>
                            <th class="r">ok</th>
                            <th class="r">at work</th>
                            <th class="r">cost unknown</th>
                        </tr>
                    </thead>
                    <tbody>
                        {names.map((name, i) => (
                            <UsageRow
                                key={name}
                                title={titleOf(name, group)}
                                colour={seriesColour(Math.min(i, SHOWN - 1))}
                                sum={add(items.filter((item) => (item.name ?? '') === name))}
                                cost={all.cost}
                            />
                        ))}
                    </tbody>
                </table>
            </div>
        </Section>
    );
}

export function Cost() {
    const query = route.value.query;
    const days = Number(query.get('days') ?? '30');
    const group = query.get('group') === 'agent' ? 'agent' : 'project';
    const what = query.get('what') === 'tokens' ? 'tokens' : 'money';
    const since = daemonNow() - (daemonNow() % DAY) - (days - 1) * DAY;
    const loaded = useLoad(`usage ${days} ${group}`, (signal) =>
        readUsage('day', group, since, signal),
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
    const value = (sum: UsageSum) => (what === 'money' ? (sum.cost_usd ?? 0) : tokensOf(sum));
    const order = useMemo(() => names(items, value), [loaded.data, what]);
    const title = (name: string) => titleOf(name, group);
    const shown = order.length > SHOWN ? [...order.slice(0, SHOWN - 1), OTHERS] : order;
    const times = spans(items, DAY, since, 6);
    const stacked = useMemo(
        () => stack(items, shown, times, value),
        [loaded.data, what, shown.join(' ')],
    );
    const all = add(items);
    const describe = (i: number) => {
        const part = (r: number) =>
            (stacked[r]?.[i] ?? 0) - (r > 0 ? (stacked[r - 1]?.[i] ?? 0) : 0);
        const show = (n: number) => (what === 'money' ? money(n) : short(n));
        const day = new Date(times[i] ?? 0).toLocaleDateString('en-GB', {
            weekday: 'short',
            day: 'numeric',
            month: 'short',
            timeZone: 'UTC',
        });
        return `${day}: ${show(stacked[stacked.length - 1]?.[i] ?? 0)}; ${shown.map((name, r) => `${line(title(name))} ${show(part(r))}`).join(', ')}`;
    };
    void paint.value;
    return (
        <div class="view cost">
            <h1 class="sr">Cost</h1>
            <Filters days={days} group={group} what={what} />
            <Problem error={loaded.error} absent={loaded.absent} />
            {loaded.data && items.length === 0 && (
                <Empty command="sluice report --tokens-in 12000 --cost 0.12">
                    No run has ended in this time. From inside a run, what it used is told by:
                </Empty>
            )}
            {items.length > 0 && (
                <>
                    <Sums all={all} />
                    <Chart
                        label={`${what} per day by ${group}`}
                        times={times}
                        height={280}
                        describe={describe}
                        values={[...stacked].reverse()}
                        format={(n) => (what === 'money' ? `$${short(n)}` : short(n))}
                        lines={shown
                            .map((name, i) => ({
                                label: title(name),
                                colour: seriesColour(i),
                                bars: true,
                            }))
                            .reverse()}
                    />
                    <div class="chart-key">
                        {shown.map((name, i) => (
                            <span key={name}>
                                <i style={{ background: seriesColour(i) }} />
                                {line(title(name))}
                            </span>
                        ))}
                    </div>
                    <UsageTable group={group} names={order} items={items} all={all} />
                </>
            )}
        </div>
    );
}
