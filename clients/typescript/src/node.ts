// node.ts: the entry point of programs. The daemon's Unix socket, or TCP.
import * as http from 'node:http';
import * as https from 'node:https';
import { readFileSync } from 'node:fs';

import { type Answer, Caller, type ClientOptions, type Request } from './caller.js';
import { ClientBase } from './client.js';
import { Lost, SluiceError, Unavailable } from './errors.js';
import { findDaemon } from './home.js';

export * from './common.js';
export { findSocket } from './home.js';

export interface NodeClientOptions extends ClientOptions {
    /**
     * "unix:/PATH", "http://HOST:PORT" or "https://HOST:PORT"; several with commas, of daemons with one store. Without it: the socket of
     * this user's daemon, found through SLUICE_HOME, XDG_RUNTIME_DIR and XDG_DATA_HOME as `sluice` finds it, or the daemon of the run that
     * this process belongs to.
     */
    address?: string;
    /** A file of trusted certificates; else those of Node. */
    ca?: string;
}

function target(address: string): { secure: boolean; where: http.RequestOptions } {
    if (address.startsWith('unix:'))
        return {
            secure: false,
            where: { socketPath: address.slice('unix:'.length), host: 'localhost' },
        };
    let url: URL | undefined;
    try {
        url = new URL(address);
    } catch {
        url = undefined;
    }
    if (!url || !['http:', 'https:'].includes(url.protocol))
        throw new SluiceError(
            `'${address}' is not an address of a daemon: unix:/PATH, http://HOST:PORT or https://HOST:PORT`,
        );
    const secure = url.protocol === 'https:';
    // Brackets are part of an IPv6 address in a URL only.
    return {
        secure,
        where: {
            host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
            port: url.port || (secure ? '443' : '80'),
        },
    };
}

function makeSend(ca: string | undefined): (request: Request) => Promise<Answer> {
    const certificates = ca === undefined ? undefined : readFileSync(ca);
    return (request) =>
        new Promise((resolve, reject) => {
            const { secure, where } = target(request.address);
            const abort = new AbortController();
            const onAbort = (): void => abort.abort(request.signal?.reason);
            const headers = {
                ...request.headers,
                ...(request.body === undefined
                    ? {}
                    : { 'Content-Length': String(new TextEncoder().encode(request.body).length) }),
            };
            let reached = false; // the connection can carry a request
            let connected = false;
            let timer: unknown;
            const options = {
                ...where,
                method: request.method,
                path: request.path,
                headers,
                agent: false as const,
                signal: abort.signal,
            };
            const begun = (response: http.IncomingMessage): void => {
                clearTimeout(timer as number);
                resolve({
                    status: response.statusCode ?? 0,
                    header: (name) => {
                        const value = response.headers[name.toLowerCase()];
                        return value === undefined ? null : String(value);
                    },
                    body: response,
                    close: () => {
                        request.signal?.removeEventListener('abort', onAbort);
                        response.destroy();
                    },
                });
            };
            const sent = secure
                ? https.request(
                      { ...options, ...(certificates ? { ca: certificates } : {}) },
                      begun,
                  )
                : http.request(options, begun);
            sent.on('socket', (socket) => {
                socket.once('connect', () => {
                    connected = true;
                    reached ||= !secure;
                });
                socket.once('secureConnect', () => (reached = true));
            });
            sent.on('error', (error) => {
                clearTimeout(timer as number);
                request.signal?.removeEventListener('abort', onAbort);
                const where = `'${request.address}'`;
                if (request.signal?.aborted) reject(request.signal.reason as Error);
                else if (reached)
                    reject(
                        new Lost(`the daemon at ${where} gave no answer: ${error.message}`, {
                            cause: error,
                        }),
                    );
                else if (connected)
                    reject(new SluiceError(`${where}: ${error.message}`, { cause: error }));
                else {
                    const hint = request.address.startsWith('unix:')
                        ? "; 'sluice up' starts it"
                        : '';
                    reject(
                        new Unavailable(`no daemon answers at ${where}: ${error.message}${hint}`, {
                            cause: error,
                        }),
                    );
                }
            });
            if (request.timeout !== undefined)
                timer = setTimeout(
                    () => sent.destroy(new Error(`nothing for ${request.timeout} ms`)),
                    request.timeout,
                );
            request.signal?.addEventListener('abort', onAbort, { once: true });
            sent.end(request.body);
        });
}

/** A connection to a daemon. Each operation of the API is a method: `task.add` is `client.task.add(…)`. */
export class Client extends ClientBase {
    constructor(options: NodeClientOptions = {}) {
        const found = options.address === undefined ? findDaemon() : undefined;
        const address = found?.address ?? options.address ?? '';
        const variable =
            found || address.startsWith('unix:') ? undefined : process.env.SLUICE_API_TOKEN;
        const token = options.token ?? found?.token ?? variable;
        const run = process.env.SLUICE_RUN;
        const headers: Record<string, string> =
            run && token !== undefined ? { 'X-Sluice-Run': run } : {};
        super(
            new Caller(
                address,
                token === undefined ? options : { ...options, token },
                makeSend(options.ca ?? found?.ca),
                headers,
            ),
        );
    }
}
