// client.ts: the client, without the way in which requests are sent.
import { Groups, type TaskWaitAnswer, type WaitedTask } from './api.js';
import { WaitTimedOut } from './errors.js';
import { type EventOptions, EventStream } from './events.js';

export interface WaitOptions {
    /** Until one of them has ended, instead of all. */
    any?: boolean;
    /** Go on waiting for a task that needs a person. */
    patient?: boolean;
    /** Milliseconds; without it there is no end. */
    timeout?: number;
    signal?: AbortSignal;
}

const WAIT_MOST = 256; // tasks of one request
const WAIT_STEP = 50; // whole seconds of one request

export class ClientBase extends Groups {
    /** Follows the events from now on, or those behind a number. The stream resumes after a broken connection. */
    async events(options: EventOptions = {}): Promise<EventStream> {
        const after =
            options.after ??
            (await this.event.list({ limit: 1 }, options.signal ? { signal: options.signal } : {}))
                .last_seq;
        return new EventStream(this.caller, after, options);
    }

    /**
     * Waits until all of the tasks (`any`: one) have ended or need a person (`patient`: have ended).
     *
     * The state of each is in the answer. Rejects with `WaitTimedOut` after `timeout` milliseconds.
     */
    async wait(tasks: Iterable<string>, options: WaitOptions = {}): Promise<WaitedTask[]> {
        const names = [...tasks];
        const end = options.timeout === undefined ? undefined : Date.now() + options.timeout;
        if (options.any || names.length <= WAIT_MOST)
            return await this.waitFor(names, options, end);
        const answer: WaitedTask[] = [];
        for (let at = 0; at < names.length; at += WAIT_MOST)
            answer.push(...(await this.waitFor(names.slice(at, at + WAIT_MOST), options, end)));
        return answer;
    }

    private async waitFor(
        tasks: string[],
        options: WaitOptions,
        end: number | undefined,
    ): Promise<WaitedTask[]> {
        for (;;) {
            const left =
                end === undefined
                    ? WAIT_STEP
                    : Math.max(0, Math.min(WAIT_STEP, Math.ceil((end - Date.now()) / 1000)));
            const body = { tasks, any: options.any, patient: options.patient, timeout_s: left };
            const answer = await this.caller.json<TaskWaitAnswer>(
                { method: 'POST', path: '/v1/wait', body, repeatable: true },
                {
                    timeout: left * 1000 + this.caller.timeout,
                    ...(options.signal ? { signal: options.signal } : {}),
                },
            );
            if (!answer.timed_out) return answer.tasks;
            if (end !== undefined && Date.now() >= end)
                throw new WaitTimedOut('the tasks had not ended in time', answer.tasks);
        }
    }
}
