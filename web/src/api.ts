// api.ts: one way to ask the daemon. Each request is signed by the session of this browser (session.ts). A refusal
// is a message of the daemon; the page shows it as it is.
import { signal } from '@preact/signals';
import { authorization, begin, renew, resume, type Scope, scopeNow } from './session';

export type Access = 'starting' | 'open' | 'locked';
export const access = signal<Access>('starting');
export const scope = signal<Scope>('admin');
/** Why the page is locked, when there is more to say than that its session has ended. */
export const lockedBecause = signal<string | null>(null);

export class ApiError extends Error {
    constructor(
        readonly status: number,
        readonly code: string,
        message: string,
        readonly index: number | null = null,
    ) {
        super(message);
    }
}

export const NOT_HERE = 'not available in this daemon';

/** What went wrong, in words for a person. */
export function words(error: unknown): string {
    if (error instanceof ApiError) return error.message;
    if (error instanceof Error) return error.message;
    return String(error);
}

async function refusal(answer: Response): Promise<ApiError> {
    let code = 'http';
    let message = `the daemon answered ${answer.status}`;
    let index: number | null = null;
    try {
        const body = (await answer.json()) as {
            error?: { code?: string; message?: string; index?: number };
        };
        code = body.error?.code ?? code;
        message = body.error?.message ?? message;
        index = body.error?.index ?? null;
    } catch {
        if (answer.status === 502) message = 'no daemon answers; start it with: sluice up';
    }
    if (answer.status === 401) {
        message = 'this session has ended: run `sluice dash` again';
        lock(null);
    }
    return new ApiError(answer.status, code, message, index);
}

export function lock(because: string | null): void {
    lockedBecause.value = because;
    access.value = 'locked';
}

interface Sending {
    method?: 'GET' | 'POST';
    headers?: Record<string, string>;
    body?: string;
    signal?: AbortSignal | null;
}

const sign = (path: string, sending: Sending): Promise<string | null> => {
    const { pathname, search } = new URL(path, location.href); // as it will be sent
    return authorization(sending.method ?? 'GET', pathname + search, sending.body ?? null);
};

async function sendOnce(
    path: string,
    sending: Sending,
    signature: string | null,
): Promise<Response> {
    const { headers = {} } = sending;
    try {
        return await fetch(path, {
            cache: 'no-store',
            credentials: 'omit',
            referrerPolicy: 'no-referrer',
            ...sending,
            headers: signature ? { ...headers, Authorization: signature } : headers,
        });
    } catch (error) {
        if (error instanceof DOMException && error.name === 'AbortError') throw error;
        throw new ApiError(0, 'unreachable', 'the daemon does not answer; the page keeps trying');
    }
}

async function send(path: string, sending: Sending): Promise<Response> {
    const signature = await sign(path, sending);
    let answer = await sendOnce(path, sending, signature);
    if (answer.status === 401 && (await renew(answer, signature)))
        answer = await sendOnce(path, sending, await sign(path, sending));
    if (!answer.ok) throw await refusal(answer);
    return answer;
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export function address(path: string, query: Query = {}): string {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
        if (value !== null && value !== undefined && value !== '') words.set(name, String(value));
    const text = words.toString();
    return text ? `${path}?${text}` : path;
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    const answer = await send(address(path, query), { signal: signal ?? null });
    return (await answer.json()) as T;
}

function posted(body: unknown, more: Record<string, string> = {}): Sending {
    return {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...more },
        body: JSON.stringify(body),
    };
}

/** A request that only checks: it changes nothing, so it needs no key. */
export async function tryPost<T>(path: string, body: unknown, signal: AbortSignal): Promise<T> {
    return (await (await send(path, { ...posted(body), signal })).json()) as T;
}

/** Each call has its own key, and the same one when it is tried again: nothing is done twice. */
export async function post<T>(path: string, body: unknown = {}): Promise<T> {
    const init = posted(body, { 'Idempotency-Key': crypto.randomUUID() });
    try {
        return (await (await send(path, init)).json()) as T;
    } catch (error) {
        const again =
            error instanceof ApiError &&
            (error.code === 'outcome_unknown' || error.code === 'unreachable');
        if (!again) throw error;
        await new Promise((go) => setTimeout(go, 400));
        return (await (await send(path, init)).json()) as T;
    }
}

/** A body that continues: events, a log that is followed. */
export function open(
    path: string,
    query: Query,
    signal: AbortSignal,
    more: Record<string, string> = {},
): Promise<Response> {
    return send(address(path, query), { headers: more, signal });
}

/* --- the session --------------------------------------------------------------------------------- */

/** Takes `#t=CODE` out of the address before anything else can see it, and swaps the code for a session. */
export async function enter(): Promise<void> {
    // Another program may have this port at ::1, which the browser would ask first.
    if (location.protocol === 'http:' && location.hostname === 'localhost')
        return location.replace(location.href.replace('//localhost', '//127.0.0.1'));
    const match = /^#t=([A-Za-z0-9_-]+)/.exec(location.hash);
    if (match) history.replaceState(null, '', location.pathname);
    let given: Scope | null = null;
    try {
        if (match) given = await begin(match[1] ?? '');
    } catch {
        return lock(
            'the daemon does not answer: start it with `sluice up`, then run `sluice dash` again',
        );
    }
    if (!given) await resume();
    given ??= scopeNow();
    if (match && !given)
        return lock('this link was used already or is too old: run `sluice dash` again');
    scope.value = given ?? 'admin';
    access.value = 'open';
}
