// events.tsx: everything that happens, as it happens, newest first.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../api';
import { useLoad } from '../load';
import { epoch, onEvents } from '../live';
import { Mark } from '../parts/mark';
import { Empty, Problem, Text, Tid } from '../parts/small';
import { VList } from '../parts/vlist';
import { refine, route } from '../route';
import { clock, count } from '../text';
import type { Event, Page, State } from '../types';
import { eventWords } from '../words';

const KEPT = 20_000;
const ROW = 28;
const KINDS: [string, string][] = [
    ['', 'everything'],
    ['task.', 'tasks'],
    ['run.', 'runs'],
    ['bad', 'what went wrong'],
    ['daemon.', 'the daemon'],
    ['limiter.', 'rate limits'],
    ['config.', 'configuration'],
    ['alert', 'alerts'],
];
const BAD = /fail|lost|timeout|limited|invalid|stuck|conflict|unmerged|alert\.raised|blocked/;

function isBad(event: Event): boolean {
    const d = event.data ?? {};
    return [event.kind, d.to, d.outcome, d.reason].some(
        (word) => typeof word === 'string' && BAD.test(word),
    );
}

function fits(event: Event, kind: string, text: string): boolean {
    if (kind === 'bad' ? !isBad(event) : !event.kind.startsWith(kind)) return false;
    if (!text) return true;
    return `${event.task ?? ''} ${event.kind} ${eventWords(event)}`
        .toLowerCase()
        .includes(text.toLowerCase());
}

/** The events that were read, newest first. While `held`, new ones wait in `waiting`. */
function useEvents() {
    const [held, setHeld] = useState(false);
    const [, drawn] = useState(0);
    const kept = useRef<Event[]>([]); // newest first
    const first = useRef(false);
    const heldNow = useRef(false);
    heldNow.current = held;
    const waiting = useRef<Event[]>([]);
    const page = useLoad(`events ${epoch.value}`, (signal) =>
        get<Page<Event> & { first_seq: number }>('/v1/events', { limit: 1000 }, signal),
    );

    const merge = (events: Event[]) => {
        const known = new Set(kept.current.slice(0, 2000).map((event) => event.seq));
        const fresh = events.filter((event) => !known.has(event.seq)).reverse();
        if (fresh.length === 0) return;
        kept.current = fresh
            .concat(kept.current)
            .sort((a, b) => b.seq - a.seq)
            .slice(0, KEPT);
        drawn((n) => n + 1);
    };
    useEffect(() => {
        if (page.data) merge(page.data.items);
    }, [page.data]);
    useEffect(
        () =>
            onEvents((events) => {
                if (heldNow.current) waiting.current = waiting.current.concat(events).slice(-KEPT);
                else merge(events);
                if (heldNow.current) drawn((n) => n + 1);
            }),
        [],
    );
    const older = async () => {
        const last = kept.current[kept.current.length - 1];
        if (!last || first.current) return;
        const got = await get<Page<Event>>('/v1/events', { before: last.seq, limit: 1000 }).catch(
            () => null,
        );
        if (!got) return;
        first.current = got.items.length === 0;
        kept.current = kept.current.concat([...got.items].reverse());
        drawn((n) => n + 1);
    };
    const hold = () => {
        if (held) {
            merge(waiting.current);
            waiting.current = [];
        }
        setHeld(!held);
    };
    return { events: kept.current, waiting: waiting.current.length, held, hold, older, page };
}

function Filters({
    kind,
    text,
    held,
    hold,
    waiting,
    shown,
}: {
    kind: string;
    text: string;
    held: boolean;
    hold: () => void;
    waiting: number;
    shown: number;
}) {
    return (
        <div class="filters" role="search">
            <select
                aria-label="kind of event"
                value={kind}
                onChange={(event) => refine({ kind: event.currentTarget.value })}
            >
                {KINDS.map(([value, label]) => (
                    <option key={value} value={value}>
                        {label}
                    </option>
                ))}
            </select>
            <input
                type="search"
                placeholder="search task, kind, words"
                aria-label="search events"
                value={text}
                onInput={(event) => refine({ text: event.currentTarget.value })}
            />
            <button class="quiet" aria-pressed={held} onClick={hold}>
                {held ? `continue${waiting ? ` (${count(waiting)} new)` : ''}` : 'pause'}
            </button>
            <span class="faint num">{count(shown)} shown</span>
        </div>
    );
}

function EventRow({ event }: { event: Event }) {
    const to = event.kind === 'task.state' ? (event.data?.to as State | undefined) : undefined;
    return (
        <div class="event" role="listitem">
            <time class="num faint">{clock(event.at, true)}</time>
            <span class="e-mark">{to && <Mark state={to} label={false} />}</span>
            <span class="e-task">{event.task && <Tid id={event.task} />}</span>
            <span class="one">
                <Text of={eventWords(event)} />
            </span>
            <span class="e-kind mono faint">{event.kind}</span>
            <span class="e-seq num faint">{event.seq}</span>
        </div>
    );
}

export function Events() {
    const query = route.value.query;
    const kind = query.get('kind') ?? '';
    const text = query.get('text') ?? '';
    const { events, waiting, held, hold, older, page } = useEvents();
    const shown = kind || text ? events.filter((event) => fits(event, kind, text)) : events;
    return (
        <div class="view board events">
            <h1 class="sr">Events</h1>
            <Filters
                kind={kind}
                text={text}
                held={held}
                hold={hold}
                waiting={waiting}
                shown={shown.length}
            />
            <Problem error={page.error} />
            {shown.length === 0 && !page.loading && (
                <Empty>{events.length === 0 ? 'No events yet.' : 'No events match.'}</Empty>
            )}
            <VList
                label="events, newest first"
                count={shown.length}
                rowHeight={ROW}
                class="event-rows"
                onRange={(_, last) => {
                    if (last >= shown.length && shown.length > 0) void older();
                }}
                row={(i) => {
                    const event = shown[i];
                    if (!event) return null;
                    return <EventRow key={event.seq} event={event} />;
                }}
            />
        </div>
    );
}
