// live.ts: events of the daemon, as they happen. One stream of events reports that something has changed; the
// page then reads what it shows. Views get the events in batches, at most one per frame, so that a thousand
// events cost one drawing.
//
// A lost stream is opened again, later and later up to 5 s, and continues after the last number. `epoch` rises
// when that is not possible (another daemon, events too old): then everything is read again.
import { effect, signal } from '@preact/signals';
import { access, get, open } from './api';
import { readEvents } from './events';
import type { Event, Status } from './types';
import { systemZone } from './zone';

export type Connection = 'connecting' | 'live' | 'lost';

export const connection = signal<Connection>('connecting');
/** Since when the daemon does not answer; null while it does. */
export const lostSince = signal<number | null>(null);
export const status = signal<Status | null>(null);
export const epoch = signal(0);
/** Now, by the clock of the daemon, in whole seconds; what counts up or down reads it. */
export const now = signal(Date.now());
/** How far that clock is ahead of the one of this browser, in ms. */
let ahead = 0;
export const daemonNow = (): number => Date.now() + ahead;

const STATUS_EVERY_MS = 300; // at most, while much happens
const STATUS_RUNNING_MS = 2000; // while something runs: its last lines are no events
const STATUS_QUIET_MS = 15000;
const HIDDEN_MS = 30000; // then a hidden page lets go of its connection: a browser has six of them
const BACKOFF_MAX_MS = 5000;
const SKEW_MS = 1500; // below this it is the way of the answer, not the clock

type EventListener = (events: Event[]) => void;
const listeners = new Set<EventListener>();
let pending: Event[] = [];
let framed = false;
let lastSeq: number | null = null;
let stop: AbortController | null = null;
let statusTimer: number | undefined;
let statusAt = 0;
let statusBusy = false;
let statusWanted = false;
let firstStatus: Promise<void> | null = null;

export function onEvents(fn: EventListener): () => void {
    listeners.add(fn);
    return () => listeners.delete(fn);
}

function deliver(event: Event): void {
    pending.push(event);
    if (framed) return;
    framed = true;
    // A hidden page has no frames.
    if (document.hidden) setTimeout(flush, 100);
    else requestAnimationFrame(flush);
}

function flush(): void {
    framed = false;
    const batch = pending;
    pending = [];
    for (const fn of listeners) fn(batch);
    wantStatus();
}

/* --- the state at a glance ---------------------------------------------------------------------- */

export function wantStatus(): void {
    if (statusBusy) {
        statusWanted = true;
        return;
    }
    const wait = Math.max(0, statusAt + STATUS_EVERY_MS - Date.now());
    clearTimeout(statusTimer);
    statusTimer = window.setTimeout(readStatus, wait);
}

function setClock(next: Status): void {
    const by = next.now ? next.now - Date.now() : 0;
    if (Math.abs(by - ahead) < SKEW_MS) return;
    ahead = by;
    now.value = daemonNow();
}

export async function readStatus(): Promise<void> {
    clearTimeout(statusTimer);
    statusBusy = true;
    statusWanted = false;
    try {
        const next = await get<Status>('/v1/status');
        const before = status.value;
        setClock(next);
        status.value = next;
        systemZone.value = next.timezone;
        if (before && before.pid !== next.pid) epoch.value++;
    } catch {
        // The stream says that the connection is lost; the last state stays on the page.
    }
    statusBusy = false;
    statusAt = Date.now();
    if (statusWanted) return wantStatus();
    const busy = (status.value?.running.length ?? 0) > 0;
    if (!document.hidden && access.value === 'open')
        statusTimer = window.setTimeout(readStatus, busy ? STATUS_RUNNING_MS : STATUS_QUIET_MS);
}

/* --- the stream --------------------------------------------------------------------------------- */

/** From which number on to listen; true: the state on the page is the one of that number. */
async function begin(signal: AbortSignal): Promise<boolean> {
    if (lastSeq === null) {
        await firstStatus;
        const seen = status.value?.events.map((event) => event.seq) ?? [];
        if (seen.length > 0) {
            lastSeq = Math.max(...seen);
            return true;
        }
    }
    const { last_seq: last } = await get<{ last_seq: number }>('/v1/events', { limit: 1 }, signal);
    // Fewer events than this page has seen: the store is another one, or was put back.
    if (lastSeq !== null && last < lastSeq) epoch.value++;
    if (lastSeq === null || last < lastSeq) lastSeq = last;
    return false;
}

async function once(signal: AbortSignal): Promise<void> {
    const known = await begin(signal);
    const answer = await open('/v1/events', { after: lastSeq }, signal, {
        Accept: 'text/event-stream',
    });
    connection.value = 'live';
    lostSince.value = null;
    if (!known) void readStatus();
    if (!answer.body) return;
    await readEvents(answer.body, (kind, data) => {
        if (kind === 'reset') {
            lastSeq = null;
            firstStatus = readStatus();
            epoch.value++;
            return;
        }
        const event = JSON.parse(data) as Event;
        lastSeq = event.seq;
        deliver(event);
    });
}

async function follow(signal: AbortSignal): Promise<void> {
    let wait = 0;
    while (!signal.aborted) {
        const began = Date.now();
        try {
            await once(signal);
        } catch {
            if (signal.aborted || access.value !== 'open') return;
        }
        if (signal.aborted) return;
        connection.value = 'lost';
        lostSince.value ??= daemonNow();
        wait = Date.now() - began > 10000 ? 0 : Math.min(BACKOFF_MAX_MS, wait ? wait * 1.7 : 250);
        await new Promise((go) => setTimeout(go, wait * (0.8 + 0.4 * Math.random())));
    }
}

function start(): void {
    if (stop) return;
    stop = new AbortController();
    if (connection.value === 'lost') connection.value = 'connecting';
    firstStatus = readStatus();
    void follow(stop.signal);
}

function end(): void {
    stop?.abort();
    stop = null;
    clearTimeout(statusTimer);
}

let hidden: number | undefined;
let isWanted = (): boolean => false;

/** A page that is hidden keeps its connection as long as this is so. */
export function keepWhile(wanted: () => boolean): void {
    isWanted = wanted;
}

export function live(): void {
    effect(() => {
        if (access.value === 'open') start();
        else end();
    });
    document.addEventListener('visibilitychange', () => {
        clearTimeout(hidden);
        if (document.hidden) {
            hidden = window.setTimeout(() => {
                if (!isWanted()) end();
            }, HIDDEN_MS);
        } else if (access.value === 'open') {
            now.value = daemonNow();
            if (stop) void readStatus();
            else start();
        }
    });
    setInterval(() => {
        if (!document.hidden) now.value = daemonNow();
    }, 1000);
}
