// common.ts: what both entry points export.
export * from './api.js';
export { ByteStream, type CallOptions, type ClientOptions } from './caller.js';
export type { WaitOptions } from './client.js';
export { ApiError, SluiceError, Unavailable, WaitTimedOut } from './errors.js';
export { type EventOptions, EventStream } from './events.js';
