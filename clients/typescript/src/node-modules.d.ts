// The few parts of Node that are used, so that neither the build nor a user of this package needs its types.
declare module 'node:http' {
    export interface RequestOptions {
        socketPath?: string;
        host?: string;
        port?: string;
        method?: string;
        path?: string;
        headers?: Record<string, string>;
        agent?: false;
        signal?: AbortSignal;
        ca?: Uint8Array;
    }
    export interface IncomingMessage extends AsyncIterable<Uint8Array> {
        readonly statusCode?: number;
        readonly headers: Record<string, string | string[] | undefined>;
        destroy(): void;
    }
    export interface Socket {
        once(event: 'connect' | 'secureConnect', listener: () => void): void;
    }
    export interface ClientRequest {
        on(event: 'socket', listener: (socket: Socket) => void): void;
        on(event: 'error', listener: (error: Error) => void): void;
        end(body?: string): void;
        destroy(error?: Error): void;
    }
    export function request(
        options: RequestOptions,
        callback: (response: IncomingMessage) => void,
    ): ClientRequest;
}
declare module 'node:https' {
    import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
    export function request(
        options: RequestOptions,
        callback: (response: IncomingMessage) => void,
    ): ClientRequest;
}
declare module 'node:fs' {
    export function readFileSync(path: string): Uint8Array;
}
declare module 'node:os' {
    export function homedir(): string;
}
declare const process: {
    readonly env: Record<string, string | undefined>;
    cwd(): string;
    geteuid?(): number;
};
