// logtext.ts: a log as items: lines of its streams, and entries of an agent's transcript. An agent may print a line of any
// length and any bytes: a line keeps its beginning and says how much is missing, the oldest items go when there are too
// many, and nothing is ever one long string.
import { type Look, plain, PLAIN, runs } from './sgr';

const LINE_MAX = 4000;
const TEXT_MAX = 64 * 1024;
const ITEMS_MAX = 200_000;
const DROP = 20_000;
const FOUND_MAX = 10_000;

export interface LogLine {
    kind: 'line';
    stream: string;
    text: string;
    /** Characters that were not kept. */
    cut: number;
    /** The look in which it begins. */
    from: Look;
}

type EntryKind = 'say' | 'think' | 'prompt' | 'call' | 'result' | 'note' | 'text';

export interface LogEntry {
    kind: EntryKind;
    text: string;
    tool?: string;
    arguments?: Record<string, string>;
    id?: string;
    cut?: boolean;
    failed?: boolean;
    nested?: boolean;
    /** Of a call. */
    results?: LogEntry[];
}

export type LogItem = LogLine | LogEntry;

/** A line of the answer of `task.log`, with `format=entries` or `pieces`. */
type Wire =
    | { stream: string; offset: number; text: string; kind?: undefined }
    | (LogEntry & { continues?: boolean });

export class LogText {
    items: LogItem[] = [];
    /** Items that went at the beginning. */
    dropped = 0;
    /** Where to go on in each stream. */
    offsets: Record<string, number> = {};
    hasEntries = false;
    private open = new Map<string, LogLine>();
    private look = new Map<string, Look>();
    private skipped: Set<string>;
    private calls = new Map<string, LogEntry>();
    private lastCall: LogEntry | null = null;

    /** `middle`: streams that begin somewhere inside a line, which is left out. */
    constructor(middle: string[] = []) {
        this.skipped = new Set(middle);
    }

    add(wire: Wire): void {
        if (wire.kind === undefined) this.piece(wire.stream, wire.offset, wire.text);
        else this.entry(wire);
        if (this.items.length <= ITEMS_MAX) return;
        this.items = this.items.slice(DROP);
        this.dropped += DROP;
    }

    private piece(stream: string, offset: number, text: string): void {
        this.offsets[stream] = offset;
        let at = 0;
        while (at < text.length) {
            const end = text.indexOf('\n', at);
            const stop = end < 0 ? text.length : end;
            this.extend(stream, text, at, stop);
            if (end >= 0) this.close(stream);
            at = stop + 1;
        }
    }

    private begin(stream: string): LogLine {
        const line: LogLine = {
            kind: 'line',
            stream,
            text: '',
            cut: 0,
            from: this.look.get(stream) ?? PLAIN,
        };
        this.open.set(stream, line);
        this.items.push(line);
        return line;
    }

    private extend(stream: string, text: string, from: number, to: number): void {
        if (this.skipped.has(stream)) return;
        const line = this.open.get(stream) ?? this.begin(stream);
        const take = Math.min(Math.max(0, LINE_MAX - line.text.length), to - from);
        if (take > 0) line.text += text.slice(from, from + take);
        line.cut += to - from - take;
    }

    private close(stream: string): void {
        if (this.skipped.delete(stream)) return;
        const line = this.open.get(stream) ?? this.begin(stream);
        if (line.text.endsWith('\r')) line.text = line.text.slice(0, -1);
        // What was cut may have ended a look.
        if (line.cut > 0) this.look.delete(stream);
        else if (line.text.includes('\u001b'))
            this.look.set(stream, runs(line.text, line.from).after);
        this.open.delete(stream);
    }

    private entry({ continues, ...entry }: LogEntry & { continues?: boolean }): void {
        this.hasEntries = true;
        const last = this.items[this.items.length - 1];
        if (continues && last?.kind === entry.kind) {
            if (last.text.length < TEXT_MAX) last.text += entry.text;
            else (last as LogEntry).cut = true;
            return;
        }
        if (entry.kind === 'call') {
            entry.results = [];
            this.lastCall = entry;
            if (entry.id) this.calls.set(entry.id, entry);
        }
        const call = entry.id ? this.calls.get(entry.id) : this.lastCall;
        if (entry.kind === 'result' && call) call.results?.push(entry);
        else this.items.push(entry);
    }

    /** Lines with what is in them, for the foot. */
    get size(): number {
        return this.items.length + this.dropped;
    }

    /** Where a text is found, by item; bounded. */
    find(wanted: string): number[] {
        const low = wanted.toLowerCase();
        const found: number[] = [];
        if (low === '') return found;
        for (let i = 0; i < this.items.length && found.length < FOUND_MAX; i++) {
            const item = this.items[i];
            if (item && textOf(item).toLowerCase().includes(low)) found.push(i);
        }
        return found;
    }
}

/** Everything that is in an item, as it can be searched. */
function textOf(item: LogItem): string {
    if (item.kind === 'line') return plain(item.text);
    if (item.kind !== 'call') return item.text;
    return [
        item.tool,
        item.text,
        ...Object.values(item.arguments ?? {}),
        ...(item.results ?? []).map((result) => result.text),
    ].join('\n');
}

export interface Part {
    text: string;
    hit: boolean;
}

/** A text as parts, with what was searched for. */
export function parts(text: string, wanted: string): Part[] {
    const low = wanted.toLowerCase();
    const all: Part[] = [];
    const lower = low ? text.toLowerCase() : '';
    let from = 0;
    for (
        let hit = low ? lower.indexOf(low) : -1;
        hit >= 0 && all.length < 200;
        hit = lower.indexOf(low, from)
    ) {
        if (hit > from) all.push({ text: text.slice(from, hit), hit: false });
        all.push({ text: text.slice(hit, hit + low.length), hit: true });
        from = hit + low.length;
    }
    if (from < text.length) all.push({ text: text.slice(from), hit: false });
    return all;
}
