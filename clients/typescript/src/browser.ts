// browser.ts: the entry point of pages and of other places that have `fetch`. TCP only.
import { type Answer, Caller, type ClientOptions, type Request } from './caller.js';
import { ClientBase } from './client.js';
import { Lost, Unavailable } from './errors.js';

export * from './common.js';

async function* pieces(
    body: ReadableStream<Uint8Array> | null,
): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = body?.getReader();
    for (;;) {
        const piece = await reader?.read();
        if (!piece || piece.done) return;
        yield piece.value;
    }
}

async function send(request: Request): Promise<Answer> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(request.signal?.reason);
    let late = false;
    const timer =
        request.timeout === undefined
            ? undefined
            : setTimeout(() => {
                  late = true;
                  controller.abort();
              }, request.timeout);
    request.signal?.addEventListener('abort', abort, { once: true });
    const close = (): void => {
        request.signal?.removeEventListener('abort', abort);
        controller.abort();
    };
    try {
        const response = await fetch(request.address.replace(/\/$/, '') + request.path, {
            method: request.method,
            headers: request.headers,
            ...(request.body === undefined ? {} : { body: request.body }),
            signal: controller.signal,
            cache: 'no-store',
        });
        return {
            status: response.status,
            header: (name) => response.headers.get(name),
            body: pieces(response.body),
            close,
        };
    } catch (error) {
        request.signal?.throwIfAborted();
        close();
        if (late)
            throw new Lost(`the daemon at '${request.address}' gave no answer`, { cause: error });
        throw new Unavailable(`no daemon answers at '${request.address}': ${String(error)}`, {
            cause: error,
        });
    } finally {
        clearTimeout(timer);
    }
}

/** Each operation of the API is a method: `task.add` is `client.task.add(…)`. */
export class Client extends ClientBase {
    /** `address`: "http://HOST:PORT" or "https://HOST:PORT"; without it, where the page comes from. */
    constructor(options: ClientOptions & { address?: string } = {}) {
        super(new Caller(options.address ?? globalThis.location.origin, options, send));
    }
}
