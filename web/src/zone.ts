// zone.ts: the time zone of all times on the page: that of this browser, that of the daemon's system, UTC, or a named one.
// The choice is kept in this browser.
import { effect, signal } from '@preact/signals';

/** `browser`, `system`, or the name of a zone. */
export const zoneChoice = signal(globalThis.localStorage?.getItem('sluice.zone') ?? 'browser');
/** The zone of the daemon's system; null: it has no name, or is not known yet. */
export const systemZone = signal<string | null>(null);

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

const known = new Map<string, boolean>();

/** Whether this browser can show times of the zone. */
export function knows(zone: string | null): zone is string {
    if (!zone) return false;
    let good = known.get(zone);
    if (good === undefined) {
        try {
            new Intl.DateTimeFormat('en-GB', { timeZone: zone });
            good = true;
        } catch {
            good = false;
        }
        known.set(zone, good);
    }
    return good;
}

/** The name of the chosen zone. */
export function zone(): string {
    const choice = zoneChoice.value;
    if (choice === 'system') return knows(systemZone.value) ? systemZone.value : ownZone();
    return knows(choice) ? choice : ownZone();
}

export function choose(choice: string): void {
    zoneChoice.value = choice;
}

effect(() => {
    globalThis.localStorage?.setItem('sluice.zone', zoneChoice.value);
});

/* --- times in it -------------------------------------------------------------------------------- */

const formats = new Map<string, Intl.DateTimeFormat>();

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
    const timeZone = zone();
    const key = `${timeZone} ${JSON.stringify(options)}`;
    let made = formats.get(key);
    if (!made) {
        made = new Intl.DateTimeFormat('en-GB', { ...options, timeZone });
        formats.set(key, made);
    }
    return made;
}

const DAY: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' };
const DATE: Intl.DateTimeFormatOptions = { year: 'numeric', month: 'numeric', day: 'numeric' };
const MINUTES: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit' };
const SECONDS: Intl.DateTimeFormatOptions = { ...MINUTES, second: '2-digit' };

/** 14:03, or 14:03:09. */
export const timeOf = (ms: number, seconds = false) =>
    format(seconds ? SECONDS : MINUTES).format(ms);
/** 18 Nov. */
export const dayOf = (ms: number) => format(DAY).format(ms);
/** Wed 18 Nov. */
export const weekdayOf = (ms: number) => format({ weekday: 'short', ...DAY }).format(ms);
/** Wed 18 Nov 2026, 14:03:09 CET. */
export const fullTime = (ms: number) =>
    format({ weekday: 'short', ...DAY, year: 'numeric', ...SECONDS, timeZoneName: 'short' }).format(
        ms,
    );
export const sameDay = (a: number, b: number) => format(DATE).format(a) === format(DATE).format(b);

/** How far its clocks are ahead of UTC at a moment, in ms. */
export function offsetAt(ms: number): number {
    const parts = format({ ...DATE, ...SECONDS, hourCycle: 'h23' }).formatToParts(ms);
    const part = (type: string) => Number(parts.find((one) => one.type === type)?.value);
    const local = Date.UTC(
        part('year'),
        part('month') - 1,
        part('day'),
        part('hour'),
        part('minute'),
        part('second'),
    );
    return local - (ms - (ms % 1000));
}

/** The moments from `from` to `to` at which its clocks show a multiple of `step` ms since midnight. */
export function ticks(from: number, to: number, step: number): number[] {
    const all: number[] = [];
    // Clocks change at most twice a year: the offset is right again at the next tick.
    for (let at = from; at <= to;) {
        const offset = offsetAt(at);
        let next = Math.ceil((at + offset) / step) * step - offset;
        next += offset - offsetAt(next);
        if (next > to) break;
        if (next >= from && next !== all[all.length - 1]) all.push(next);
        at = Math.max(next, at) + Math.min(step, 3600e3 * 24) / 2;
    }
    return all;
}

/** The beginning of the day in which a moment lies. */
export function dayBefore(ms: number): number {
    const local = ms + offsetAt(ms);
    const start = local - (((local % 86400e3) + 86400e3) % 86400e3);
    const guess = start - offsetAt(ms);
    return start - offsetAt(guess);
}

/** The beginnings of the days from that of `from` to that of `to`. */
export function daysOf(from: number, to: number): number[] {
    const all: number[] = [];
    for (
        let day = dayBefore(from);
        day <= to && all.length < 1000;
        day = dayBefore(day + 30 * 3600e3)
    )
        all.push(day);
    return all;
}
