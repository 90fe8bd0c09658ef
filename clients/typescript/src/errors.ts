// errors.ts: what can go wrong. The classes of the API's error codes are generated (api.ts).

/** The base of all errors of this package. */
export class SluiceError extends Error {
    constructor(message: string, options?: ErrorOptions) {
        super(message, options);
        this.name = new.target.name;
    }
}

/** No daemon answers, or the connection broke and the outcome is not known. */
export class Unavailable extends SluiceError {}

/** A request was sent, and the connection broke before its answer. */
export class Lost extends Unavailable {}

/** The tasks had not ended in time; `tasks` is how they are. */
export class WaitTimedOut<T = unknown> extends SluiceError {
    constructor(
        message: string,
        readonly tasks: T[],
    ) {
        super(message);
    }
}

/** The daemon refused a request. Nothing has happened, unless the code says otherwise. */
export class ApiError extends SluiceError {
    /** Which entry of a list the error is about, from 0. */
    readonly index: number | undefined;

    constructor(
        readonly status: number,
        readonly code: string,
        message: string,
        readonly body: Record<string, unknown>,
    ) {
        super(message);
        const index = isRecord(body.error) ? body.error.index : undefined;
        this.index = typeof index === 'number' ? index : undefined;
    }
}

/** By code; filled by the generated classes. */
export const errorClasses = new Map<string, typeof ApiError>();

export function isRecord(value: unknown): value is Record<string, unknown> {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The typed error of an answer; an unknown code of a later version is an `ApiError`. */
export function makeError(status: number, text: string): ApiError {
    let parsed: unknown;
    try {
        parsed = JSON.parse(text);
    } catch {
        parsed = undefined;
    }
    const body = isRecord(parsed) ? parsed : {};
    const problem = isRecord(body.error) ? body.error : {};
    const code = typeof problem.code === 'string' ? problem.code : `http_${status}`;
    const message =
        typeof problem.message === 'string'
            ? problem.message
            : text.trim().slice(0, 200) || `HTTP status ${status}`;
    return new (errorClasses.get(code) ?? ApiError)(status, code, message, body);
}
