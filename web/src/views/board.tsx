// board.tsx: all tasks, by state, by project or in one list; filtered, searched, moved through by keys.
import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { changes } from '../actions';
import { get } from '../api';
import { gridOf, isNarrow, type ListColumn, shownColumns } from '../columns';
import { Feed, refresh } from '../feed';
import { useKeys } from '../keys';
import { useLoad, useThrottle } from '../load';
import { epoch, onEvents, status } from '../live';
import { Bulk } from '../parts/bulk';
import { ColumnChoice, ListHead, SavedFilters, type Sorting, sortingOf } from '../parts/list_head';
import { Mark } from '../parts/mark';
import { Ago, Empty, Problem, Text, Tid } from '../parts/small';
import { VList } from '../parts/vlist';
import { go, href, refine, route } from '../route';
import { useSelection } from '../selection';
import { count, holdWords, line } from '../text';
import type { Agent, Event, Page, State, Status, Task } from '../types';

const OPEN: State[] = ['draft', 'waiting', 'ready', 'starting', 'running', 'held'];
const ALL: State[] = [...OPEN, 'done', 'failed', 'canceled', 'invalidated'];
const CARD = 72;
const ROW = 34;
const ROW_NARROW = 48;

interface Column {
    key: string;
    label: string;
    mark: State | null;
    states: State[];
    order: 'new' | 'queue' | 'sorted';
    query: Record<string, string>;
    total: number | null;
}

const BY_STATE: { label: string; states: State[]; order: 'new' | 'queue'; always?: boolean }[] = [
    { label: 'Running', states: ['running', 'starting'], order: 'new', always: true },
    { label: 'Ready', states: ['ready'], order: 'queue', always: true },
    { label: 'Waiting', states: ['waiting'], order: 'new' },
    { label: 'Held', states: ['held'], order: 'new' },
    { label: 'Failed', states: ['failed'], order: 'new' },
    { label: 'Done', states: ['done'], order: 'new', always: true },
    { label: 'Draft', states: ['draft'], order: 'new' },
    { label: 'Canceled', states: ['canceled', 'invalidated'], order: 'new' },
];

interface Filters {
    layout: string;
    states: State[];
    project: string;
    agent: string;
    kind: string;
    group: string;
    text: string;
    sorting: Sorting;
}

function filters(query: URLSearchParams): Filters {
    const word = query.get('state') ?? '';
    const states =
        word === 'all'
            ? ALL
            : word.split(',').filter((s): s is State => (ALL as string[]).includes(s));
    return {
        layout: query.get('by') ?? (word || query.get('text') ? 'list' : 'state'),
        states,
        project: query.get('project') ?? '',
        agent: query.get('agent') ?? '',
        kind: query.get('kind') ?? '',
        group: query.get('group') ?? '',
        text: query.get('text') ?? '',
        sorting: sortingOf(query),
    };
}

function countOf(s: Status | null, states: State[], f: Filters): number | null {
    if (!s || f.agent || f.kind || f.group || f.text) return null;
    const counts = f.project ? s.projects.find((one) => one.name === f.project)?.counts : s.counts;
    return counts ? states.reduce((sum, state) => sum + (counts[state] ?? 0), 0) : null;
}

function columns(f: Filters, s: Status | null): Column[] {
    const query: Record<string, string> = {};
    for (const name of ['project', 'agent', 'kind', 'group'] as const)
        if (f[name]) query[name] = f[name];
    if (f.layout === 'project') {
        const states = f.states.length ? f.states : OPEN;
        return (s?.projects ?? [])
            .filter((project) => !f.project || project.name === f.project)
            .map((project) => ({
                key: project.name,
                label: project.name,
                mark: null,
                states,
                order: 'new',
                query: { ...query, project: project.name },
                total: countOf(s, states, { ...f, project: project.name }),
            }));
    }
    if (f.layout === 'list') {
        const states = f.states.length ? f.states : f.text ? ALL : OPEN;
        // The daemon sorts, and not together with a search.
        const sorted = !f.text && f.sorting.by !== '';
        if (sorted) {
            query.sort = f.sorting.by;
            if (f.sorting.reverse) query.reverse = 'true';
        }
        return [
            {
                key: 'list',
                label: '',
                mark: null,
                states,
                order: sorted
                    ? 'sorted'
                    : states.length === 1 && states[0] === 'ready'
                      ? 'queue'
                      : 'new',
                query,
                total: countOf(s, states, f),
            },
        ];
    }
    return BY_STATE.map((one) => ({
        ...one,
        states: f.states.length
            ? one.states.filter((state) => f.states.includes(state))
            : one.states,
    }))
        .filter((one) => one.states.length > 0 && (one.always || countOf(s, one.states, f) !== 0))
        .map((one) => ({
            key: one.label,
            label: one.label,
            mark: one.states[0] ?? null,
            states: one.states,
            order: one.order,
            query,
            total: countOf(s, one.states, f),
        }));
}

/** The same tasks, for those who want all of their ids. */
function matching(f: Filters, column: Column | undefined): Record<string, string> {
    const query: Record<string, string> = { ...column?.query };
    delete query.sort;
    delete query.reverse;
    if (f.text) query.text = f.text;
    return { ...query, state: (column?.states ?? []).join(',') };
}

function reasonOf(task: Task): string {
    if (task.state === 'held') return task.why ?? holdWords(task.hold);
    if (task.state === 'running' || task.state === 'starting')
        return task.run?.doing ?? task.agent ?? '';
    if (task.why) return task.why;
    return task.reason && task.reason !== 'none' && task.state !== 'ready' ? task.reason : '';
}

interface Place {
    column: number;
    row: number;
}

function Pick({
    task,
    chosen,
    pick,
}: {
    task: Task;
    chosen: boolean;
    pick: (isRange: boolean) => void;
}) {
    return (
        <label class="pick">
            <input
                type="checkbox"
                aria-label={`choose ${task.id}`}
                checked={chosen}
                onClick={(event) => pick(event.shiftKey)}
            />
        </label>
    );
}

function Cell({ column, task }: { column: ListColumn; task: Task }) {
    switch (column.name) {
        case 'state':
            return <Mark state={task.state} />;
        case 'id':
            return <Tid id={task.id} />;
        case 'title':
            return (
                <a class="title" href={href('task', task.id)}>
                    <Text of={task.title} />
                </a>
            );
        case 'why':
            return <Text of={reasonOf(task)} />;
        case 'age':
            return <Ago at={task.changed_at} />;
        case 'project':
            return <Text of={task.project} />;
        case 'kind':
            return <Text of={task.kind} />;
        case 'agent':
            return <Text of={task.agent} />;
        case 'priority':
            return <>{task.priority}</>;
        default:
            return <>{task.attempt}</>;
    }
}

function Card({
    task,
    here,
    chosen,
    wide,
    pick,
}: {
    task: Task;
    here: boolean;
    chosen: boolean;
    wide: boolean;
    pick: (isRange: boolean) => void;
}) {
    const columns = shownColumns();
    const name = `card${here ? ' here' : ''}${chosen ? ' chosen' : ''}`;
    if (wide)
        return (
            <div
                class={`${name} line`}
                role="listitem"
                aria-current={here ? 'true' : undefined}
                style={{ gridTemplateColumns: gridOf(columns) }}
            >
                <Pick task={task} chosen={chosen} pick={pick} />
                {columns.map((column) => (
                    <span key={column.name} class={`cell c-${column.name}`}>
                        <Cell column={column} task={task} />
                    </span>
                ))}
            </div>
        );
    return (
        <div class={name} role="listitem" aria-current={here ? 'true' : undefined}>
            <p class="card-top">
                <Mark state={task.state} />
                <Tid id={task.id} />
                <span class="faint right">
                    <Ago at={task.changed_at} />
                </span>
                <Pick task={task} chosen={chosen} pick={pick} />
            </p>
            <p class="one">
                <a class="title" href={href('task', task.id)}>
                    <Text of={task.title} />
                </a>
            </p>
            <p class="one faint small">
                <Text of={reasonOf(task)} />
            </p>
        </div>
    );
}

function ColumnView({
    column,
    feed,
    here,
    chosen,
    wide,
    pick,
}: {
    column: Column;
    feed: Feed;
    here: number | null;
    chosen: Set<string>;
    wide: boolean;
    pick: (task: Task, items: Task[], isRange: boolean) => void;
}) {
    void feed.version.value;
    const items = feed.items;
    // Room for all tasks that are known to exist, so that the scroll bar is correct.
    const total = feed.done
        ? items.length
        : Math.max(
              items.length,
              column.order === 'queue' ? items.length + 1 : (column.total ?? items.length + 1),
          );
    return (
        <section class={wide ? 'column wide' : 'column'} aria-label={column.label || 'tasks'}>
            {!wide && (
                <header>
                    {column.mark && <Mark state={column.mark} label={false} />}
                    <h2>{line(column.label)}</h2>
                    <span class="num faint">
                        {count(column.total ?? items.length)}
                        {column.total === null && !feed.done ? '+' : ''}
                    </span>
                </header>
            )}
            <Problem error={feed.error} />
            {items.length === 0 && feed.done && (
                <p class="column-empty">
                    {column.states.length === 1 && column.states[0] === 'ready'
                        ? 'nothing is ready'
                        : 'none'}
                </p>
            )}
            <VList
                label={column.label || 'tasks'}
                count={total}
                rowHeight={wide ? (isNarrow() ? ROW_NARROW : ROW) : CARD}
                reveal={here}
                onRange={(_, last) => {
                    if (last > items.length - 40) void feed.ensure(last + 40);
                }}
                row={(i) => {
                    const task = items[i];
                    if (!task)
                        return (
                            <div
                                key={`gap ${i}`}
                                class={wide ? 'card line gap' : 'card gap'}
                                aria-hidden="true"
                            >
                                <span />
                            </div>
                        );
                    return (
                        <Card
                            key={task.id}
                            task={task}
                            here={here === i}
                            chosen={chosen.has(task.id)}
                            wide={wide}
                            pick={(isRange) => pick(task, items, isRange)}
                        />
                    );
                }}
            />
        </section>
    );
}

/** One feed per column, kept up to date by events and by what was just done on this page. */
function useFeeds(f: Filters, cols: Column[]): Feed[] {
    const key = JSON.stringify([f, epoch.value, cols.map((column) => column.key)]);
    const feeds = useMemo(
        () =>
            cols.map(
                (column) =>
                    new Feed({
                        states: column.states,
                        order: column.order,
                        query: column.query,
                        text: f.text,
                    }),
            ),
        [key],
    );
    const wanted = useRef(new Set<string>());
    useEffect(() => {
        for (const feed of feeds) void feed.ensure(1);
        return () => feeds.forEach((feed) => feed.end());
    }, [feeds]);
    const soon = useThrottle(() => {
        const ids = wanted.current;
        wanted.current = new Set();
        if (ids.size > 0)
            void refresh(
                feeds.filter((feed) => feed.wanted.order === 'new'),
                ids,
            );
    }, 250);
    const queue = useThrottle(() => {
        for (const feed of feeds) if (feed.wanted.order !== 'new') void feed.again();
    }, 1000);
    useEffect(
        () =>
            onEvents((events: Event[]) => {
                for (const feed of feeds)
                    for (const id of feed.applyEvents(events)) wanted.current.add(id);
                soon();
                queue();
            }),
        [feeds],
    );
    useEffect(
        () =>
            changes((list) => {
                for (const feed of feeds) feed.patch(list);
            }),
        [feeds],
    );
    return feeds;
}

/** Moves through the columns and chooses tasks by keys. */
function useBoardKeys(feeds: Feed[], search: RefObject<HTMLInputElement>) {
    const [place, setPlace] = useState<Place | null>(null);
    const chosen = useSelection();
    const moved = useRef(false);
    useEffect(() => setPlace(null), [feeds]);
    const at = (p: Place | null) => (p ? feeds[p.column]?.items[p.row] : undefined);
    useKeys((pressed) => {
        const p = place ?? {
            column: Math.max(
                0,
                feeds.findIndex((feed) => feed.items.length > 0),
            ),
            row: -1,
        };
        const size = (c: number) => feeds[c]?.items.length ?? 0;
        const move = (column: number, row: number) => {
            moved.current = true;
            setPlace({ column, row: Math.max(0, Math.min(size(column) - 1, row)) });
        };
        const side = (by: number) => {
            let c = p.column + by;
            while (c >= 0 && c < feeds.length && size(c) === 0) c += by;
            if (c >= 0 && c < feeds.length) move(c, Math.max(0, p.row));
        };
        const task = at(place);
        if (pressed === 'j' || pressed === 'ArrowDown') move(p.column, p.row + 1);
        else if (pressed === 'k' || pressed === 'ArrowUp') move(p.column, p.row - 1);
        else if (pressed === 'h' || pressed === 'ArrowLeft') side(-1);
        else if (pressed === 'l' || pressed === 'ArrowRight') side(1);
        else if (pressed === 'G') move(p.column, size(p.column) - 1);
        else if (pressed === 'Enter' && task) go('task', task.id);
        else if (pressed === 'x' && task) chosen.toggle(task.id);
        else if (pressed === 'Escape' && chosen.selection.ids.size > 0) chosen.clear();
        else if (pressed === '/') search.current?.focus();
        else return false;
        return true;
    });
    useEffect(() => {
        if (!moved.current) return;
        moved.current = false;
        const shown = document.querySelectorAll('.columns-x > .column');
        shown[place?.column ?? 0]?.scrollIntoView({ inline: 'nearest', block: 'nearest' });
    }, [place]);
    return { place, chosen };
}

/** The kinds that have a limit, and those of the tasks on the page. */
function kindsOf(s: Status | null, feeds: Feed[]): string[] {
    const kinds = new Set(
        (s?.limits ?? [])
            .filter((limit) => limit.key.startsWith('kind:'))
            .map((limit) => limit.key.slice(5)),
    );
    for (const feed of feeds)
        for (const task of feed.items.slice(0, 200)) if (task.kind) kinds.add(task.kind);
    return [...kinds].sort();
}

function Choice({
    label,
    value,
    choose,
    all,
    names,
}: {
    label: string;
    value: string;
    choose: (value: string) => void;
    all: string;
    names: string[];
}) {
    return (
        <select
            aria-label={label}
            value={value}
            onChange={(event) => choose(event.currentTarget.value)}
        >
            <option value="">{all}</option>
            {names.map((name) => (
                <option key={name} value={name}>
                    {line(name)}
                </option>
            ))}
        </select>
    );
}

function StateChoice({ f, word }: { f: Filters; word: string }) {
    return (
        <select
            aria-label="state"
            value={word}
            onChange={(event) => refine({ state: event.currentTarget.value, by: f.layout })}
        >
            <option value="">{f.text ? 'any state' : 'open'}</option>
            <option value="all">all states</option>
            {ALL.map((state) => (
                <option key={state} value={state}>
                    {state}
                </option>
            ))}
            {word.includes(',') && <option value={word}>{word}</option>}
        </select>
    );
}

function FilterBar({
    f,
    search,
    projects,
    agents,
    kinds,
}: {
    f: Filters;
    search: RefObject<HTMLInputElement>;
    projects: string[];
    agents: string[];
    kinds: string[];
}) {
    const query = route.value.query;
    const filtered = !!(
        f.project ||
        f.agent ||
        f.kind ||
        f.text ||
        f.states.length > 0 ||
        f.group ||
        f.sorting.by
    );
    return (
        <div class="filters" role="search">
            <div class="tabs" role="group" aria-label="layout">
                {[
                    ['state', 'By state'],
                    ['project', 'By project'],
                    ['list', 'List'],
                ].map(([name, label]) => (
                    <button
                        key={name}
                        class="quiet"
                        aria-pressed={f.layout === name}
                        onClick={() => refine({ by: name ?? '' })}
                    >
                        {label}
                    </button>
                ))}
            </div>
            <input
                ref={search}
                type="search"
                placeholder="search titles and ids  ( / )"
                aria-label="search titles and ids"
                value={f.text}
                onInput={(event) =>
                    refine({
                        text: event.currentTarget.value,
                        by:
                            event.currentTarget.value && !query.get('by')
                                ? 'list'
                                : (query.get('by') ?? ''),
                    })
                }
            />
            <Choice
                label="project"
                value={f.project}
                choose={(value) => refine({ project: value })}
                all="all projects"
                names={projects}
            />
            <Choice
                label="agent"
                value={f.agent}
                choose={(value) => refine({ agent: value })}
                all="all agents"
                names={agents}
            />
            <Choice
                label="kind"
                value={f.kind}
                choose={(value) => refine({ kind: value })}
                all="all kinds"
                names={kinds}
            />
            {f.layout !== 'state' && <StateChoice f={f} word={query.get('state') ?? ''} />}
            {filtered && (
                <button class="quiet" onClick={() => go('board', '', { by: f.layout })}>
                    clear
                </button>
            )}
            <SavedFilters filtered={filtered} />
            {f.layout === 'list' && <ColumnChoice />}
        </div>
    );
}

export function Board() {
    const f = filters(route.value.query);
    const s = status.value;
    const cols = columns(f, s);
    const feeds = useFeeds(f, cols);
    const search = useRef<HTMLInputElement>(null);
    const agents = useLoad('agents', (signal) =>
        get<Page<Agent>>('/v1/agents', { limit: 200 }, signal),
    );
    const { place, chosen } = useBoardKeys(feeds, search);
    const { ids } = chosen.selection;

    useEffect(() => {
        if (route.value.query.get('focus')) {
            search.current?.focus();
            refine({ focus: '' });
        }
    }, [route.value.query.get('focus')]);

    const picked = feeds.flatMap((feed) => feed.items.filter((task) => ids.has(task.id)));
    const wide = f.layout === 'list';
    const any = !s || Object.values(s.counts).some((n) => (n ?? 0) > 0);
    return (
        <div class="view board">
            <h1 class="sr">Board</h1>
            <FilterBar
                f={f}
                search={search}
                projects={(s?.projects ?? []).map((project) => project.name)}
                agents={(agents.data?.items ?? []).map((agent) => agent.name)}
                kinds={kindsOf(s, feeds)}
            />
            {!any ? (
                <Empty command="sluice add -- make test">
                    There are no tasks yet. Add the first one:
                </Empty>
            ) : (
                <div class={wide ? 'columns-x one' : 'columns-x'}>
                    {wide && (
                        <ListHead
                            sorting={f.sorting}
                            sortable={!f.text}
                            all={chosen.selection.actions !== null}
                            toggleAll={(all) => {
                                if (all) void chosen.all(matching(f, cols[0]));
                                else chosen.clear();
                            }}
                        />
                    )}
                    {cols.map((column, c) => {
                        const feed = feeds[c];
                        return feed ? (
                            <ColumnView
                                key={`${column.key} ${f.sorting.by} ${f.sorting.reverse}`}
                                column={column}
                                feed={feed}
                                here={place?.column === c ? place.row : null}
                                chosen={ids}
                                wide={wide}
                                pick={chosen.click}
                            />
                        ) : null;
                    })}
                </div>
            )}
            <Bulk selection={chosen.selection} tasks={picked} clear={chosen.clear} />
        </div>
    );
}
