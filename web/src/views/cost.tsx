// cost.tsx: what was used, per day, by project or by agent, and by which tasks. The sums are the daemon's: those of ended
// runs, and apart from them what live runs have used so far. Usage that was not reported is marked, never counted as 0.
import { useEffect, useMemo } from 'preact/hooks';
import { get } from '../api';
import { identityColour } from '../identity';
import { useLoad, useThrottle } from '../load';
import { daemonNow, onEvents, status } from '../live';
import { unknownRuns } from '../parts/amount';
import { Chart, type Line } from '../parts/chart';
import { Mark } from '../parts/mark';
import { Empty, Meter, Problem, Section, Text, Tid } from '../parts/small';
import { refine, route } from '../route';
import { saveFile } from '../save';
import { count, limitWords, line, many, money, moneyWithLive, percent, short, span } from '../text';
import { colour, paint } from '../theme';
import type {
    Budget,
    UsageLive,
    UsageList,
    UsageName,
    UsageSum,
    UsageTasks,
    UsageTotal,
} from '../types';
import { days as daysShown, readUsage, tokensOf } from '../usage';
import { dayBefore, dayOf, weekdayOf, zone } from '../zone';

const DAY = 86400e3;
const SHOWN = 7; // the others are one
const TASKS = 50;

type Group = 'project' | 'agent';
type What = 'money' | 'tokens';

const OTHERS = '\u0000';

function titleOf(name: string, group: Group): string {
    if (name === '') return group === 'agent' ? 'commands' : 'no project';
    return name === OTHERS ? 'others' : name;
}

const colourOf = (name: string, group: Group) =>
    name === OTHERS ? colour('line-2') : identityColour(group, name);

/** Bars stand on each other: each has the sum of itself and all below. */
function stack(
    items: UsageSum[],
    shown: string[],
    times: number[],
    value: (sum: UsageTotal) => number,
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

/* --- as a file ---------------------------------------------------------------------------------- */

const cell = (value: string | number | null) =>
    value === null
        ? ''
        : /[",\n]/.test(String(value))
          ? `"${String(value).replaceAll('"', '""')}"`
          : String(value);

function download(name: string, rows: (string | number | null)[][]): void {
    const text = rows.map((row) => row.map(cell).join(',')).join('\n');
    saveFile(name, new Blob([`${text}\n`], { type: 'text/csv' }));
}

function exportDays(list: UsageList): void {
    download(`sluice-cost-by-${list.group}.csv`, [
        [
            'day',
            'timezone',
            list.group,
            'runs',
            'ok',
            'tokens_in',
            'tokens_out',
            'tokens_cached',
            'cost_usd',
            'runs_of_unknown_cost',
        ],
        ...list.items.map((item) => [
            new Date(item.at).toISOString(),
            list.timezone,
            item.name,
            item.runs,
            item.ok,
            item.tokens_in,
            item.tokens_out,
            item.tokens_cached,
            item.cost_usd,
            item.unknown_cost,
        ]),
    ]);
}

function exportTasks(list: UsageTasks): void {
    download('sluice-cost-by-task.csv', [
        [
            'task',
            'title',
            'project',
            'runs',
            'tokens_in',
            'tokens_out',
            'tokens_cached',
            'cost_usd',
            'live_usd',
            'runs_of_unknown_cost',
        ],
        ...list.items.map((item) => [
            item.task,
            item.title,
            item.project,
            item.runs,
            item.tokens_in,
            item.tokens_out,
            item.tokens_cached,
            item.cost_usd,
            item.live_usd,
            item.unknown_cost,
        ]),
    ]);
}

/* --- parts -------------------------------------------------------------------------------------- */

function Tabs<T extends string | number>({
    label,
    all,
    now,
    choose,
}: {
    label: string;
    all: [T, string][];
    now: T;
    choose: (one: T) => void;
}) {
    return (
        <div class="tabs" role="group" aria-label={label}>
            {all.map(([one, text]) => (
                <button
                    key={one}
                    class="quiet"
                    aria-pressed={now === one}
                    onClick={() => choose(one)}
                >
                    {text}
                </button>
            ))}
        </div>
    );
}

function Filters({
    days,
    group,
    what,
    list,
}: {
    days: number;
    group: Group;
    what: What;
    list: UsageList | null;
}) {
    return (
        <div class="filters">
            <Tabs
                label="time"
                all={[
                    [7, '7 days'],
                    [30, '30 days'],
                    [90, '90 days'],
                    [365, 'a year'],
                ]}
                now={days}
                choose={(n) => refine({ days: String(n) })}
            />
            <Tabs
                label="by"
                all={[
                    ['project', 'by project'],
                    ['agent', 'by agent'],
                ]}
                now={group}
                choose={(one) => refine({ group: one })}
            />
            <Tabs
                label="what"
                all={[
                    ['money', 'money'],
                    ['tokens', 'tokens'],
                ]}
                now={what}
                choose={(one) => refine({ what: one })}
            />
            {list && list.items.length > 0 && (
                <button class="export" onClick={() => exportDays(list)}>
                    export CSV
                </button>
            )}
        </div>
    );
}

function Sums({ all, live }: { all: UsageTotal; live: UsageLive }) {
    return (
        <div class="sums">
            <div>
                <b class="num">
                    {money(all.cost_usd)}
                    {live.cost_usd ? <small> + {money(live.cost_usd)} in live runs</small> : null}
                </b>
                <span>
                    {all.unknown_cost > 0
                        ? `reported; ${count(all.unknown_cost)} of ${many(all.runs, 'run')} did not report a cost`
                        : 'all runs reported'}
                </span>
            </div>
            <div>
                <b class="num">{short(all.tokens_in)}</b>
                <span>
                    tokens in
                    {all.tokens_cached > 0
                        ? `, ${percent(all.tokens_cached / all.tokens_in)} from a cache`
                        : ''}
                </span>
            </div>
            <div>
                <b class="num">{short(all.tokens_out)}</b>
                <span>tokens out</span>
            </div>
            <div>
                <b class="num">{count(all.runs)}</b>
                <span>
                    runs, {percent(all.runs ? all.ok / all.runs : null)} ok
                    {live.runs ? `; ${count(live.runs)} live` : ''}
                </span>
            </div>
        </div>
    );
}

/** What is used of each budget of dollars, with live runs as the lighter part. */
function Budgets() {
    const budgets = (status.value?.budgets ?? []).filter((one) => one.usd_cap !== null);
    if (budgets.length === 0) return null;
    return (
        <Section title="Budgets" note="live runs are lighter">
            <ul class="bars">
                {budgets.map((one) => {
                    const name = one.key === 'global' ? 'all projects' : limitWords(one.key);
                    const used = moneyWithLive(one.usd_used, one.usd_live);
                    return (
                        <li key={one.key}>
                            <span>{line(name)}</span>
                            <Meter
                                used={one.usd_used ?? 0}
                                reserved={one.usd_live ?? 0}
                                cap={one.usd_cap}
                                label={`budget ${name}: ${used} of ${money(one.usd_cap)}`}
                            />
                            <span class="num">
                                {used}
                                <span class="faint"> / {money(one.usd_cap)}</span>
                            </span>
                            <p class="under faint">
                                <span>of {short(one.window_ms / 3600e3)} hours</span>
                                {one.unknown_cost_runs > 0 && (
                                    <span>{unknownRuns(one.unknown_cost_runs)}</span>
                                )}
                            </p>
                        </li>
                    );
                })}
            </ul>
        </Section>
    );
}

function UsageRow({
    title,
    shade,
    one,
    cost,
}: {
    title: string;
    shade: string;
    one: UsageName;
    /** Of all rows. */
    cost: number;
}) {
    return (
        <tr>
            <td>
                <span class="swatch" style={{ background: shade }} />
                {line(title)}
            </td>
            <td class="r num">
                {one.runs > 0 && one.cost_usd === null ? 'unknown' : money(one.cost_usd)}
            </td>
            <td class="r num">{one.live.cost_usd ? money(one.live.cost_usd) : '–'}</td>
            <td class="r num">
                {percent(cost > 0 && one.cost_usd !== null ? one.cost_usd / cost : null)}
            </td>
            <td class="r num">{short(one.tokens_in)}</td>
            <td class="r num">{short(one.tokens_cached)}</td>
            <td class="r num">{short(one.tokens_out)}</td>
            <td class="r num">{count(one.runs)}</td>
            <td class="r num">{percent(one.runs ? one.ok / one.runs : null)}</td>
            <td class="r num">{span(one.busy_ms)}</td>
            <td class="r num">{one.unknown_cost ? many(one.unknown_cost, 'run') : '–'}</td>
        </tr>
    );
}

const zoneNote = (list: UsageList) =>
    `days of ${list.timezone}${list.utc_before ? `; before ${dayOf(list.utc_before)} of UTC` : ''}`;

function UsageTable({ group, list }: { group: Group; list: UsageList }) {
    return (
        <Section title={group === 'project' ? 'Projects' : 'Agents'} note={zoneNote(list)}>
            <div class="scroll-x" tabIndex={0} role="region" aria-label={`usage by ${group}`}>
                <table class="table">
                    <thead>
                        <tr>
                            <th>{group}</th>
                            <th class="r">cost</th>
                            <th class="r">live</th>
                            <th class="r">share</th>
                            <th class="r">tokens in</th>
                            <th class="r">cached</th>
                            <th class="r">out</th>
                            <th class="r">runs</th>
                            <th class="r">ok</th>
                            <th class="r">run time</th>
                            <th class="r">cost unknown</th>
                        </tr>
                    </thead>
                    <tbody>
                        {list.names.map((one) => (
                            <UsageRow
                                key={one.name ?? ''}
                                title={titleOf(one.name ?? '', group)}
                                shade={colourOf(one.name ?? '', group)}
                                one={one}
                                cost={list.totals.cost_usd ?? 0}
                            />
                        ))}
                    </tbody>
                </table>
            </div>
        </Section>
    );
}

function TaskTable({ since, at }: { since: number; at: number }) {
    const loaded = useLoad(`usage tasks ${since} ${at}`, (signal) =>
        get<UsageTasks>('/v1/usage/tasks', { since, limit: TASKS }, signal),
    );
    const list = loaded.data;
    if (!list || list.items.length === 0) return <Problem error={loaded.error} />;
    return (
        <Section
            title="Tasks"
            note={
                list.tasks > list.items.length
                    ? `the ${list.items.length} most expensive of ${count(list.tasks)}`
                    : 'the most expensive first'
            }
            actions={<button onClick={() => exportTasks(list)}>export CSV</button>}
        >
            <div class="scroll-x" tabIndex={0} role="region" aria-label="usage by task">
                <table class="table tasks-cost">
                    <thead>
                        <tr>
                            <th>task</th>
                            <th>title</th>
                            <th>project</th>
                            <th class="r">cost</th>
                            <th class="r">live</th>
                            <th class="r">tokens in</th>
                            <th class="r">out</th>
                            <th class="r">runs</th>
                            <th class="r">run time</th>
                        </tr>
                    </thead>
                    <tbody>
                        {list.items.map((one) => (
                            <tr key={one.task}>
                                <td class="nowrap">
                                    {one.state && <Mark state={one.state} />} <Tid id={one.task} />
                                </td>
                                <td class="title-cell">
                                    <Text of={one.title} />
                                </td>
                                <td class="nowrap">
                                    <span
                                        class="swatch"
                                        style={{
                                            background: colourOf(one.project ?? '', 'project'),
                                        }}
                                    />
                                    {line(one.project) || 'deleted'}
                                </td>
                                <td class="r num">
                                    {one.runs > 0 && one.cost_usd === null
                                        ? 'unknown'
                                        : money(one.cost_usd)}
                                </td>
                                <td class="r num">
                                    {one.live
                                        ? one.live_usd === null
                                            ? 'unknown'
                                            : money(one.live_usd)
                                        : '–'}
                                </td>
                                <td class="r num">{short(one.tokens_in)}</td>
                                <td class="r num">{short(one.tokens_out)}</td>
                                <td class="r num">{count(one.runs)}</td>
                                <td class="r num">{span(one.busy_ms)}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
        </Section>
    );
}

/* --- the chart ---------------------------------------------------------------------------------- */

/** The global budget, where it is about a day and not far above the bars. */
function dailyCap(what: What, most: number): number | null {
    const one: Budget | undefined = status.value?.budgets.find((budget) => budget.key === 'global');
    const cap = what === 'money' ? one?.usd_cap : one?.cap;
    if (!one || !cap) return null;
    const daily = (cap * DAY) / one.window_ms;
    return daily <= most * 4 ? daily : null;
}

function Days({
    list,
    group,
    what,
    since,
}: {
    list: UsageList;
    group: Group;
    what: What;
    since: number;
}) {
    const value = (sum: UsageTotal) => (what === 'money' ? (sum.cost_usd ?? 0) : tokensOf(sum));
    const order = useMemo(
        () => [...list.names].sort((a, b) => value(b) - value(a)).map((one) => one.name ?? ''),
        [list, what],
    );
    const shown = order.length > SHOWN ? [...order.slice(0, SHOWN - 1), OTHERS] : order;
    const times = daysShown(list, since, 6);
    const stacked = stack(list.items, shown, times, value);
    const most = Math.max(0, ...(stacked[stacked.length - 1] ?? []));
    const cap = dailyCap(what, most);
    const show = (n: number) => (what === 'money' ? money(n) : short(n));
    const describe = (i: number) => {
        const part = (r: number) =>
            (stacked[r]?.[i] ?? 0) - (r > 0 ? (stacked[r - 1]?.[i] ?? 0) : 0);
        return `${weekdayOf(times[i] ?? 0)}: ${show(stacked[stacked.length - 1]?.[i] ?? 0)}; ${shown.map((name, r) => `${line(titleOf(name, group))} ${show(part(r))}`).join(', ')}`;
    };
    const bars: Line[] = shown
        .map((name) => ({ label: titleOf(name, group), colour: colourOf(name, group), bars: true }))
        .reverse();
    const limit: Line = {
        label: 'budget of a day',
        colour: colour('full'),
        dash: true,
        width: 1.5,
    };
    return (
        <>
            <Chart
                label={`${what} per day by ${group}`}
                times={times}
                height={260}
                describe={describe}
                values={[
                    ...[...stacked].reverse(),
                    ...(cap === null ? [] : [times.map(() => cap)]),
                ]}
                format={(n) =>
                    what === 'money' && n < 1000
                        ? money(n)
                        : `${what === 'money' ? '$' : ''}${short(n)}`
                }
                lines={cap === null ? bars : [...bars, limit]}
            />
            <div class="chart-key">
                {shown.map((name) => (
                    <span key={name}>
                        <i style={{ background: colourOf(name, group) }} />
                        {line(titleOf(name, group))}
                    </span>
                ))}
                {cap !== null && (
                    <span class="cap-key">
                        <i class="dash" />
                        budget of a day: {show(cap)}
                    </span>
                )}
            </div>
        </>
    );
}

export function Cost() {
    const query = route.value.query;
    const days = Number(query.get('days') ?? '30');
    const group = query.get('group') === 'agent' ? 'agent' : 'project';
    const what = query.get('what') === 'tokens' ? 'tokens' : 'money';
    const since = dayBefore(daemonNow() - (days - 1) * DAY);
    const loaded = useLoad(`usage ${days} ${group} ${zone()}`, (signal) =>
        readUsage('day', group, since, signal),
    );
    const again = useThrottle(loaded.reload, 5000);
    useEffect(
        () =>
            onEvents((events) => {
                if (
                    events.some(
                        (event) => event.kind === 'run.ended' || event.kind === 'run.started',
                    )
                )
                    again();
            }),
        [],
    );
    void paint.value;
    const list = loaded.data;
    const used = !!list && (list.items.length > 0 || list.live.runs > 0);
    return (
        <div class="view cost">
            <h1 class="sr">Cost</h1>
            <Filters days={days} group={group} what={what} list={list} />
            <Problem error={loaded.error} absent={loaded.absent} />
            {list && !used && (
                <Empty command="sluice report --tokens-in 12000 --cost 0.12">
                    No run has ended in this time. A run reports what it used with:
                </Empty>
            )}
            {list && used && (
                <>
                    <Sums all={list.totals} live={list.live} />
                    <Days list={list} group={group} what={what} since={since} />
                    <Budgets />
                    <UsageTable group={group} list={list} />
                    <TaskTable since={since} at={list.totals.runs + list.live.runs} />
                </>
            )}
        </div>
    );
}
