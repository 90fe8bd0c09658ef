// logread.ts: reads the log of a run, and follows it while the run is live. What was read stays on the page while the daemon is
// away; then it continues: bytes at the next offset, a transcript by reading it again and changing over when it has caught up.
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Access, access, open, type Query, words } from './api';
import { connection } from './live';
import { LogText } from './logtext';

const TAIL_BYTES = 256 * 1024;
const CATCH_UP_MS = 400;

export interface LogChoice {
    task: string;
    attempt: number;
    stream: string;
    /** From the beginning. */
    whole: boolean;
    /** The events of an agent as it prints them. */
    raw: boolean;
}

/** Calls `take` with each line of the answer. */
async function eachLine(answer: Response, take: (line: string) => void): Promise<void> {
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let rest: string[] = [];
    for (;;) {
        const part = await reader?.read();
        if (!part || part.done) return;
        const lines = part.value.split('\n');
        rest.push(lines[0] ?? '');
        for (const next of lines.slice(1)) {
            take(rest.join(''));
            rest = [next];
        }
    }
}

const address = (task: string): string => `/v1/tasks/${encodeURIComponent(task)}/log`;

/** The file of a stream as it was written. */
export async function wholeLog(choice: LogChoice, signal: AbortSignal): Promise<Blob> {
    const { task, attempt, stream } = choice;
    return (await open(address(task), { attempt, stream, format: 'raw' }, signal)).blob();
}

export class Reading {
    log = new LogText();
    /** Bytes at the beginning that were not read. */
    missing = 0;
    agent = false;
    error: string | null = null;
    private stop = new AbortController();
    private next: LogText | null = null;

    constructor(
        readonly choice: LogChoice,
        private isLive: () => boolean,
        private draw: () => void,
    ) {}

    end(): void {
        this.stop.abort();
    }

    private where(again: boolean): Query {
        if (!again) return { tail: this.choice.whole ? null : TAIL_BYTES };
        const { offsets } = this.log;
        return this.choice.stream === 'all'
            ? { offset: offsets.out ?? 0, err_offset: offsets.err ?? 0 }
            : { offset: offsets[this.choice.stream] ?? 0 };
    }

    /** Shows the new log instead of the old one. */
    private changeOver(): void {
        if (this.next) this.log = this.next;
        this.next = null;
        this.draw();
    }

    private begin(answer: Response): LogText {
        const out = Number(answer.headers.get('X-Sluice-Offset') ?? '0');
        const err = Number(answer.headers.get('X-Sluice-Err-Offset') ?? '0');
        const { stream } = this.choice;
        this.missing = out + err;
        const log = new LogText([
            ...(out > 0 ? [stream === 'all' ? 'out' : stream] : []),
            ...(err > 0 ? ['err'] : []),
        ]);
        log.offsets = stream === 'all' ? { out, err } : { [stream]: out };
        return log;
    }

    private async once(): Promise<void> {
        const { task, attempt, stream, raw } = this.choice;
        const had = this.log.items.length;
        const again = had > 0 && !this.log.hasEntries;
        const query = {
            attempt,
            stream,
            follow: this.isLive(),
            format: raw ? 'pieces' : 'entries',
        };
        const answer = await open(
            address(task),
            { ...query, ...this.where(again) },
            this.stop.signal,
        );
        this.agent = answer.headers.has('X-Sluice-Adapter');
        this.error = null;
        if (!again) this.next = this.begin(answer);
        if (had === 0) this.changeOver();
        const late = setTimeout(() => this.changeOver(), CATCH_UP_MS);
        try {
            await eachLine(answer, (line) => {
                const log = this.next ?? this.log;
                if (line) log.add(JSON.parse(line) as Parameters<LogText['add']>[0]);
                if (this.next && log.items.length >= had) this.changeOver();
                this.draw();
            });
            this.changeOver();
        } finally {
            clearTimeout(late);
            this.next = null;
        }
    }

    async run(): Promise<void> {
        for (;;) {
            try {
                await this.once();
                return;
            } catch (problem) {
                if (this.stop.signal.aborted) return;
                this.error = words(problem);
                this.draw();
            }
            if ((access.value as Access) === 'locked') return;
            await this.daemonIsBack();
            if (this.stop.signal.aborted) return;
        }
    }

    /** A refusal is final until the daemon was away; a lost connection is not. */
    private daemonIsBack(): Promise<void> {
        const refused = connection.value === 'live' && !this.isLive();
        let first = true;
        return new Promise((go) => {
            const done = () => {
                clearTimeout(timer);
                forget();
                go();
            };
            const timer = setTimeout(() => (refused ? undefined : done()), 1000);
            const forget = connection.subscribe((state) => {
                if (!first && state === 'live') queueMicrotask(done);
                first = false;
            });
            this.stop.signal.addEventListener('abort', done, { once: true });
        });
    }
}

/** The caller is drawn again as items arrive. */
export function useLog(choice: LogChoice, live: boolean): Reading {
    const [, drawn] = useState(0);
    const isLive = useRef(live);
    isLive.current = live;
    const key = JSON.stringify(choice);
    const kept = useRef<{ key: string; reading: Reading } | null>(null);
    const frame = useRef(0);
    const draw = () => {
        if (!frame.current)
            frame.current = requestAnimationFrame(() => {
                frame.current = 0;
                drawn((n) => n + 1);
            });
    };
    if (kept.current?.key !== key)
        kept.current = { key, reading: new Reading(choice, () => isLive.current, draw) };
    const { reading } = kept.current;
    useEffect(() => {
        void reading.run();
        return () => {
            reading.end();
            cancelAnimationFrame(frame.current);
            frame.current = 0;
        };
    }, [reading]);
    return reading;
}
