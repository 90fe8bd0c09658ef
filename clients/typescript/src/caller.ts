// caller.ts: calls of operations, repeated where that is safe. How a request is sent is in node.ts and browser.ts.
import { ApiError, Lost, makeError, SluiceError, Unavailable } from './errors.js';

export interface CallOptions {
    /** The key of a write; the same key within 24 hours is done once. Without it each call has a new one. */
    idempotencyKey?: string;
    /** Milliseconds to wait for the answer, instead of the client's. */
    timeout?: number;
    signal?: AbortSignal;
}

export interface ClientOptions {
    /** For TCP, of `sluice token add`. */
    token?: string;
    /** Milliseconds to wait for an answer; 60,000 if not given. */
    timeout?: number;
    /** Milliseconds to look for a daemon that has answered before, as while it is being restarted; 20,000 if not given. */
    patience?: number;
}

/** One request, as a transport sends it. */
export interface Request {
    address: string;
    method: string;
    path: string;
    headers: Record<string, string>;
    body: string | undefined;
    /** Milliseconds until the answer begins; undefined: any time. */
    timeout: number | undefined;
    signal: AbortSignal | undefined;
}

export interface Answer {
    status: number;
    header(name: string): string | null;
    body: AsyncIterable<Uint8Array>;
    close(): void;
}

/** Rejects with `Unavailable` if nothing was sent, and with `Lost` if there is no answer. */
export type Send = (request: Request) => Promise<Answer>;

/** What an operation asks for. */
export interface Call {
    method: 'GET' | 'POST';
    path: string;
    query?: object;
    body?: object;
    /** It is a write, and takes a key. */
    keyed?: boolean;
    /** It changes nothing, although it is a POST. */
    repeatable?: boolean;
    accept?: string;
    /** The bytes of its answer may take any time. */
    endless?: boolean;
}

const PAUSE_FIRST = 20;
const PAUSE_MOST = 250;

/** The pauses between two attempts. */
export class Backoff {
    private pause = PAUSE_FIRST;

    async wait(signal?: AbortSignal): Promise<void> {
        signal?.throwIfAborted();
        await new Promise((resolve) => setTimeout(resolve, this.pause));
        signal?.throwIfAborted();
        this.pause = Math.min(this.pause * 2, PAUSE_MOST);
    }
}

function within<T>(promise: Promise<T>, timeout: number | undefined): Promise<T> {
    if (timeout === undefined) return promise;
    return new Promise((resolve, reject) => {
        const timer = setTimeout(
            () => reject(new Lost(`nothing has arrived for ${timeout} ms`)),
            timeout,
        );
        promise.then(resolve, reject).finally(() => clearTimeout(timer));
    });
}

/** The bytes of an answer, as they arrive. Iterate over it, or take all of it. */
export class ByteStream implements AsyncIterable<Uint8Array> {
    constructor(
        private readonly answer: Answer,
        private readonly silence: number | undefined,
    ) {}

    get status(): number {
        return this.answer.status;
    }

    header(name: string): string | null {
        return this.answer.header(name);
    }

    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
        const pieces = this.answer.body[Symbol.asyncIterator]();
        try {
            for (;;) {
                const piece = await within(pieces.next(), this.silence);
                if (piece.done) return;
                yield piece.value;
            }
        } catch (error) {
            throw error instanceof SluiceError
                ? error
                : new Unavailable('the connection broke', { cause: error });
        } finally {
            this.close();
        }
    }

    /** All of it, as text. */
    async text(): Promise<string> {
        const decoder = new TextDecoder();
        let text = '';
        for await (const piece of this) text += decoder.decode(piece, { stream: true });
        return text + decoder.decode();
    }

    /** Its lines as they arrive, without their ends. */
    async *lines(): AsyncGenerator<string, void, undefined> {
        const decoder = new TextDecoder();
        let rest = '';
        for await (const piece of this) {
            const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
            rest = lines.pop() ?? '';
            for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
        }
    }

    close(): void {
        this.answer.close();
    }
}

function queryText(query: object): string {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(query) as [string, unknown][])
        if (value !== undefined && value !== null)
            words.set(name, Array.isArray(value) ? value.join(',') : String(value));
    const text = words.toString();
    return text && '?' + text;
}

function newKey(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export class Caller {
    private readonly addresses: string[];
    readonly timeout: number;
    private readonly patience: number;
    private readonly token: string | undefined;
    private hasAnswered = false; // then an absent daemon is probably being restarted

    constructor(
        addresses: string,
        options: ClientOptions,
        private readonly send: Send,
        private readonly headers: Record<string, string> = {},
    ) {
        this.addresses = addresses.split(',').filter((address) => address !== '');
        if (this.addresses.length === 0) throw new SluiceError('no address of a daemon was given');
        this.token = options.token;
        this.timeout = options.timeout ?? 60_000;
        this.patience = options.patience ?? 20_000;
    }

    async json<T>(call: Call, options: CallOptions = {}): Promise<T> {
        return JSON.parse(await this.text({ accept: 'application/json', ...call }, options)) as T;
    }

    async text(call: Call, options: CallOptions = {}): Promise<string> {
        return await (await this.stream(call, options)).text();
    }

    /** A successful answer, or an error. Repeats what may be repeated: without an answer, or while a daemon ends or takes over. */
    async stream(call: Call, options: CallOptions = {}): Promise<ByteStream> {
        const repeatable = call.method === 'GET' || call.keyed === true || call.repeatable === true;
        const timeout = call.endless ? undefined : (options.timeout ?? this.timeout);
        const headers: Record<string, string> = { ...this.headers, Accept: call.accept ?? '*/*' };
        if (this.token !== undefined) headers.Authorization = `Bearer ${this.token}`;
        if (call.method === 'POST') headers['Content-Type'] = 'application/json';
        if (call.keyed) headers['Idempotency-Key'] = options.idempotencyKey ?? newKey();
        const request = {
            method: call.method,
            path: call.path + (call.query ? queryText(call.query) : ''),
            headers,
            body: call.method === 'POST' ? JSON.stringify(call.body ?? {}) : undefined,
            timeout,
            signal: options.signal,
        };
        const begin = Date.now();
        const backoff = new Backoff();
        for (let tried = 0, at = 0; ;) {
            let last: SluiceError;
            options.signal?.throwIfAborted();
            try {
                const answer = await this.send({ ...request, address: this.addresses[at] ?? '' });
                const stream = new ByteStream(answer, timeout);
                this.hasAnswered = true;
                if (answer.status < 400) return stream;
                const refusal = makeError(answer.status, await stream.text());
                if (refusal.code === 'standby') this.learn(refusal);
                else if (
                    !['stopping', 'busy'].includes(refusal.code) &&
                    !(refusal.code === 'outcome_unknown' && repeatable)
                )
                    throw refusal;
                last = refusal;
            } catch (error) {
                if (!(error instanceof Unavailable)) throw error;
                if (error instanceof Lost) {
                    if (!repeatable) throw error;
                    this.hasAnswered = true;
                }
                last = error;
            }
            at = (at + 1) % this.addresses.length;
            if (++tried % this.addresses.length !== 0) continue;
            if (!this.hasAnswered || Date.now() - begin > this.patience) throw last;
            await backoff.wait(options.signal);
        }
    }

    /** A standby names the active daemon. Sockets only: a token goes to addresses that were given. */
    private learn(refusal: ApiError): void {
        const active = refusal.body.active;
        for (const address of Array.isArray(active) ? (active as unknown[]) : [])
            if (
                typeof address === 'string' &&
                address.startsWith('unix:/') &&
                !this.addresses.includes(address)
            )
                this.addresses.push(address);
    }
}
