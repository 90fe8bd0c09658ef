// api.ts: one way to ask the daemon. The key of this page comes from the link of `sluice dash`, lives in the
// session storage of this tab, and goes with every request. A refusal is a message of the daemon; the page
// shows it as it is.
import { signal } from '@preact/signals';

export type Access = 'starting' | 'open' | 'locked';
export type Scope = 'read' | 'submit' | 'admin';

const KEY = 'sluice.token';
const SCOPE = 'sluice.scope';

export const access = signal<Access>('starting');
export const scope = signal<Scope>((sessionStorage.getItem(SCOPE) as Scope | null) ?? 'admin');
/** Why the page is locked, when there is more to say than that its key has ended. */
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

function headers(more: Record<string, string> = {}): Record<string, string> {
    const token = sessionStorage.getItem(KEY);
    return token ? { Authorization: `Bearer ${token}`, ...more } : more;
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
        message = "this page's key has ended: run `sluice dash` again";
        lock(null);
    }
    return new ApiError(answer.status, code, message, index);
}

export function lock(because: string | null): void {
    sessionStorage.removeItem(KEY);
    lockedBecause.value = because;
    access.value = 'locked';
}

async function send(path: string, init: RequestInit): Promise<Response> {
    let answer: Response;
    try {
        answer = await fetch(path, {
            cache: 'no-store',
            credentials: 'omit',
            referrerPolicy: 'no-referrer',
            ...init,
        });
    } catch (error) {
        if (error instanceof DOMException && error.name === 'AbortError') throw error;
        throw new ApiError(0, 'unreachable', 'the daemon does not answer; the page keeps trying');
    }
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
    const answer = await send(address(path, query), { headers: headers(), signal: signal ?? null });
    return (await answer.json()) as T;
}

function posted(body: unknown, more: Record<string, string> = {}): RequestInit {
    return {
        method: 'POST',
        headers: headers({ 'Content-Type': 'application/json', ...more }),
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
    return send(address(path, query), { headers: headers(more), signal });
}

/* --- the key ------------------------------------------------------------------------------------ */

/** Takes `#t=CODE` out of the address before anything else can see it, and swaps the code for a key. */
export async function enter(): Promise<void> {
    const match = /^#t=([A-Za-z0-9_-]+)/.exec(location.hash);
    if (match) {
        history.replaceState(null, '', location.pathname);
        try {
            const answer = await fetch('/v1/session', {
                method: 'POST',
                headers: { 'Content-Type': 'application/json' },
                body: JSON.stringify({ code: match[1] }),
                cache: 'no-store',
                credentials: 'omit',
            });
            if (!answer.ok) {
                if (!sessionStorage.getItem(KEY))
                    return lock(
                        'this link was used already or is too old: run `sluice dash` again',
                    );
            } else {
                const got = (await answer.json()) as { token: string; scope: Scope };
                sessionStorage.setItem(KEY, got.token);
                sessionStorage.setItem(SCOPE, got.scope);
                scope.value = got.scope;
            }
        } catch {
            return lock(
                'the daemon does not answer: start it with `sluice up`, then run `sluice dash` again',
            );
        }
    }
    access.value = 'open';
}
