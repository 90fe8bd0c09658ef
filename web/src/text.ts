// text.ts: foreign text and numbers, for eyes. Titles, logs and messages are written by agents: what would
// steer a terminal, or turn the order of the letters around, becomes a visible sign.

import { dayOf, knows, sameDay, timeOf, zone as chosenZone } from './zone';

export { knows as knowsZone };

// Controls but tab and newline, C1, marks and overrides of direction, separators, zero width, tags.
const UNSEEN =
    // eslint-disable-next-line no-control-regex
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

function sign(char: string): string {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    return `\u27e8${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
}

/** Text that shows everything that is in it, and does nothing. */
export function visible(text: string): string {
    return text.replace(UNSEEN, sign);
}

/** The same on one line. */
export function line(text: string | null | undefined): string {
    return text ? visible(text.replace(/[\n\t]+/g, ' ')) : '';
}

export function count(n: number | null | undefined): string {
    return n === null || n === undefined ? '–' : n.toLocaleString('en-US');
}

/** "1 run", "2 runs". */
export function many(n: number, one: string): string {
    return `${count(n)} ${one}${n === 1 ? '' : 's'}`;
}

/** 950, 12.3 k, 4.56 M: three digits that matter. */
export function short(n: number | null | undefined): string {
    if (n === null || n === undefined) return '–';
    for (const [size, unit] of [
        [1e12, 'T'],
        [1e9, 'G'],
        [1e6, 'M'],
        [1e3, 'k'],
    ] as const)
        if (Math.abs(n) >= size) {
            const value = n / size;
            return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
        }
    return String(Math.round(n * 100) / 100);
}

/** Cents; small amounts with up to four digits: $76.28, $0.0123, < $0.0001. */
export function money(usd: number | null | undefined): string {
    if (usd === null || usd === undefined) return '–';
    if (usd > 0 && usd < 0.0001) return '< $0.0001';
    return `$${usd.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: usd >= 0.1 ? 2 : 4 })}`;
}

/** What ended runs have cost, and apart from it what live runs have cost so far. */
export function moneyWithLive(usd: number | null, live: number | null | undefined): string {
    return live ? `${money(usd ?? 0)} + ${money(live)} in live runs` : money(usd);
}

export function megabytes(mb: number | null | undefined): string {
    if (mb === null || mb === undefined) return '–';
    return mb >= 10240
        ? `${(mb / 1024).toFixed(0)} GB`
        : mb >= 1024
          ? `${(mb / 1024).toFixed(1)} GB`
          : `${mb} MB`;
}

export function percent(part: number | null | undefined): string {
    return part === null || part === undefined
        ? '–'
        : `${(part * 100).toFixed(part < 0.1 ? 1 : 0)} %`;
}

/** 7 s, 3:07, 2:03:07, 3 d 4 h */
export function span(ms: number): string {
    const s = Math.max(0, Math.floor(ms / 1000));
    if (s < 60) return `${s} s`;
    const two = (n: number) => String(n).padStart(2, '0');
    if (s < 3600) return `${Math.floor(s / 60)}:${two(s % 60)}`;
    if (s < 86400) return `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
    return `${Math.floor(s / 86400)} d ${Math.floor(s / 3600) % 24} h`;
}

/** 14:03, or with the day when it is another one; in the chosen time zone. */
export function clock(ms: number | null | undefined, seconds = false): string {
    if (!ms) return '–';
    const time = timeOf(ms, seconds);
    return sameDay(ms, Date.now()) ? time : `${dayOf(ms)}, ${time}`;
}

const zones = new Map<string, Intl.DateTimeFormat>();

function formatter(zone: string): Intl.DateTimeFormat {
    const known = zones.get(zone);
    if (known) return known;
    const made = new Intl.DateTimeFormat('en-GB', {
        timeZone: zone,
        weekday: 'short',
        day: 'numeric',
        month: 'short',
        year: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
    });
    zones.set(zone, made);
    return made;
}

/** Thu 19 Nov, 02:00: in a time zone; with the year when it is another one, and with seconds when there are any. */
export function inZone(ms: number, zone: string | null, now: number): string {
    const known = knows(zone) ? zone : chosenZone();
    const parts = (at: number) =>
        Object.fromEntries(
            formatter(known)
                .formatToParts(at)
                .map((part) => [part.type, part.value]),
        );
    const t = parts(ms);
    const year = t.year === parts(now).year ? '' : ` ${t.year}`;
    const seconds = t.second === '00' ? '' : `:${t.second}`;
    return `${t.weekday} ${t.day} ${t.month}${year}, ${t.hour}:${t.minute}${seconds}`;
}

/** As the configuration takes it: 90s, 15m, 6h, 2d. */
export function spanWord(ms: number): string {
    for (const [size, unit] of [
        [86400000, 'd'],
        [3600000, 'h'],
        [60000, 'm'],
    ] as const)
        if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
    return `${ms / 1000}s`;
}

const HOLD: Record<string, string> = {
    person: 'held manually',
    backoff: 'before the next attempt',
    restart: 'before the next iteration',
    breaker: 'stopped by a breaker',
    budget: 'out of budget',
    review: 'waits for review',
    external: 'waits to be closed',
    denied: 'its agent was denied permission',
    check: 'waits for a check',
    question: 'waits for an answer',
    candidates: 'waits for its candidates',
    taken: 'taken over by a person',
};

export function holdWords(hold: string | null): string {
    return hold ? (HOLD[hold] ?? hold) : 'held';
}

/** The name of a gate, for a heading. */
export function gateWords(gate: string): string {
    const [kind, what, key] = [
        gate.split(':')[0],
        gate.split(':')[1],
        gate.split(':').slice(2).join(':'),
    ];
    if (kind === 'lease')
        switch (what) {
            case 'runs':
                return 'Slots for runs';
            case 'roots':
                return 'Slots for root tasks';
            case 'project':
                return `Slots of project ${key}`;
            case 'kind':
                return `Slots for kind ${key}`;
            case 'agent':
                return `Agent ${key}`;
            case 'agents':
                return 'Idle agents';
            case 'limiter':
                return `Slots of account ${key}`;
            case 'resource':
                return `Resource ${key}`;
            case 'review':
                return `Reviews of project ${key}`;
            case 'serial':
                return `Phase ${key}`;
            case 'workspace':
                return `Workspace ${key}`;
            case 'workspaces':
                return `Workspaces of project ${key}`;
            case 'task':
                return 'Previous run';
            default:
                return gate;
        }
    const names: Record<string, string> = {
        paused: 'Everything is paused',
        project: 'Paused projects',
        held: 'Held',
        dependency: 'Unfinished dependencies',
        parent: 'Unfinished parents',
        artifact: 'Missing files',
        probe: 'Closed gates',
        hours: 'Opening hours',
        breaker: 'Failed launches',
        limiter: 'Accounts',
        host: 'This machine',
        budget: 'Global budget',
        'project-budget': 'Project budgets',
        pace: 'Pace',
        other: 'Other',
    };
    return names[gate] ?? gate;
}

const GATES: Record<string, string> = {
    paused: 'Global pause',
    project: 'Project pause',
    held: 'Hold',
    dependency: 'Dependencies',
    parent: 'Parent',
    artifact: 'Required files',
    hours: 'Opening hours',
    probe: 'Gate',
    breaker: 'Launches',
    limiter: 'Account',
    'project-budget': 'Project budget',
};

/** The name of a gate that may be open or closed. */
export function gateName(gate: string): string {
    return GATES[gate] ?? gateWords(gate);
}

/** The name of a limit, for a bar. */
export function limitWords(key: string): string {
    const at = key.indexOf(':');
    return at < 0 ? key : `${key.slice(0, at)} ${key.slice(at + 1)}`;
}
