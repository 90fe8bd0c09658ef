// logtext.ts: the bytes of a log as lines. An agent may print a line of any length and any bytes: a line keeps
// its beginning and says how much is missing, the oldest lines go when there are too many, and nothing is ever
// one long string.

const LINE_MAX = 4000;
const LINES_MAX = 200_000;
const DROP = 20_000;

export interface LogLine {
    text: string;
    /** Characters that were not kept. */
    cut: number;
}

export class LogText {
    lines: LogLine[] = [];
    /** Lines that went at the beginning. */
    dropped = 0;
    bytes = 0;
    private open: LogLine | null = null;
    private decoder = new TextDecoder();
    private skipFirst: boolean;

    /** `middle`: the bytes begin somewhere inside a line, which is left out. */
    constructor(middle: boolean) {
        this.skipFirst = middle;
    }

    add(bytes: Uint8Array): void {
        this.bytes += bytes.length;
        const text = this.decoder.decode(bytes, { stream: true });
        let at = 0;
        while (at < text.length) {
            const end = text.indexOf('\n', at);
            const stop = end < 0 ? text.length : end;
            this.extend(text, at, stop);
            if (end >= 0) this.close();
            at = stop + 1;
        }
    }

    private extend(text: string, from: number, to: number): void {
        if (this.skipFirst) return;
        if (!this.open) {
            this.open = { text: '', cut: 0 };
            this.lines.push(this.open);
        }
        const room = Math.max(0, LINE_MAX - this.open.text.length);
        const take = Math.min(room, to - from);
        if (take > 0) this.open.text += text.slice(from, from + take);
        this.open.cut += to - from - take;
    }

    private close(): void {
        if (this.skipFirst) {
            this.skipFirst = false;
            return;
        }
        if (!this.open) this.lines.push({ text: '', cut: 0 });
        else if (this.open.text.endsWith('\r')) this.open.text = this.open.text.slice(0, -1);
        this.open = null;
        if (this.lines.length > LINES_MAX) {
            this.lines = this.lines.slice(DROP);
            this.dropped += DROP;
        }
    }

    /** Where a text is found, by line; bounded. */
    find(wanted: string): number[] {
        const low = wanted.toLowerCase();
        const found: number[] = [];
        if (low === '') return found;
        for (let i = 0; i < this.lines.length && found.length < 10_000; i++)
            if (this.lines[i]?.text.toLowerCase().includes(low)) found.push(i);
        return found;
    }
}

export interface Piece {
    text: string;
    kind: 'text' | 'code' | 'hit';
}

// What a terminal would obey: colours and cursor, titles and links, single letters behind escape.
const CODES =
    // eslint-disable-next-line no-control-regex
    /\u001b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\u0007\u001b]{0,256}(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;

/** A line as pieces: its text, the codes in it, what was searched for. */
export function pieces(text: string, wanted: string): Piece[] {
    const all: Piece[] = [];
    let at = 0;
    for (const match of text.matchAll(CODES)) {
        if (match.index > at) all.push({ text: text.slice(at, match.index), kind: 'text' });
        all.push({ text: match[0], kind: 'code' });
        at = match.index + match[0].length;
    }
    if (at < text.length) all.push({ text: text.slice(at), kind: 'text' });
    if (wanted === '') return all;
    const low = wanted.toLowerCase();
    return all.flatMap((piece) => {
        if (piece.kind !== 'text') return [piece];
        const parts: Piece[] = [];
        const lower = piece.text.toLowerCase();
        let from = 0;
        for (
            let hit = lower.indexOf(low);
            hit >= 0 && parts.length < 200;
            hit = lower.indexOf(low, from)
        ) {
            if (hit > from) parts.push({ text: piece.text.slice(from, hit), kind: 'text' });
            parts.push({ text: piece.text.slice(hit, hit + low.length), kind: 'hit' });
            from = hit + low.length;
        }
        parts.push({ text: piece.text.slice(from), kind: 'text' });
        return parts;
    });
}
