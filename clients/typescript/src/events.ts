// events.ts: the stream of events, which continues where it broke.
import type { Event } from './api.js';
import { Backoff, type ByteStream, type Caller } from './caller.js';
import { ApiError, SluiceError, Unavailable } from './errors.js';

const SILENCE_MOST = 60_000; // the daemon sends a comment every 15 s

export interface EventOptions {
    /** The events behind this number; without it, those from now on. */
    after?: number;
    /** Only about this task. */
    task?: string;
    /** Milliseconds to look for the daemon after a broken connection; always if not given. */
    patience?: number;
    signal?: AbortSignal;
}

/**
 * Every event once and in order, from `position` on. After a broken connection it resumes by itself.
 *
 * An event of the kind `reset` says that events were deleted before they were read: read the state again. `position` is the number of
 * the last event that was given: keep it, and give it as `after` to go on there later.
 */
export class EventStream implements AsyncIterable<Event> {
    private stream: ByteStream | undefined;
    private closed = false;

    constructor(
        private readonly caller: Caller,
        public position: number,
        private readonly options: EventOptions,
    ) {}

    async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
        let lostAt: number | undefined;
        let backoff = new Backoff();
        try {
            while (!this.closed) {
                try {
                    for await (const event of this.connection()) {
                        lostAt = undefined;
                        backoff = new Backoff();
                        yield event;
                    }
                } catch (error) {
                    if (this.closed) return;
                    const passes =
                        error instanceof ApiError
                            ? ['stopping', 'standby', 'busy'].includes(error.code)
                            : error instanceof Unavailable;
                    if (!passes || !(error instanceof SluiceError)) throw error;
                    const { patience } = this.options;
                    if (
                        patience !== undefined &&
                        lostAt !== undefined &&
                        Date.now() - lostAt > patience
                    )
                        throw error;
                }
                lostAt ??= Date.now();
                if (!this.closed) await backoff.wait(this.options.signal);
            }
        } finally {
            this.close();
        }
    }

    /** The events of one connection. */
    private async *connection(): AsyncGenerator<Event, void, undefined> {
        const { task, signal } = this.options;
        this.stream = await this.caller.stream(
            {
                method: 'GET',
                path: '/v1/events',
                query: { after: this.position, task },
                accept: 'text/event-stream',
            },
            { timeout: SILENCE_MOST, ...(signal ? { signal } : {}) },
        );
        let [kind, data, number] = ['', '', ''];
        for await (const line of this.stream.lines()) {
            const colon = line.indexOf(':');
            const name = colon < 0 ? line : line.slice(0, colon);
            const value =
                colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
            if (name === 'event') kind = value;
            else if (name === 'data') data = value;
            else if (name === 'id') number = value;
            if (line !== '' || kind === '') continue;
            if (kind === 'overflow') return; // we were too slow: the next connection goes on here
            if (number !== '') this.position = Number(number);
            const parsed = JSON.parse(data || '{}') as unknown;
            yield kind === 'reset'
                ? {
                      seq: this.position,
                      at: Date.now(),
                      kind,
                      task: null,
                      attempt: null,
                      data: parsed as Event['data'],
                  }
                : (parsed as Event);
            [kind, data, number] = ['', '', ''];
        }
    }

    close(): void {
        this.closed = true;
        this.stream?.close();
    }
}
