// actions.ts: what a person can do to tasks, and what it is called. Front ends hold no rules: the daemon says with
// each task what can be done to it.
import { get, post, scope, words } from './api';
import { readStatus, wantStatus } from './live';
import { ask } from './parts/dialog';
import { say } from './parts/toast';
import type { Undo } from './parts/toast';
import { visible } from './text';
import type { AttentionDismiss, Changed, ChangedTask, RaisedBudget, Task } from './types';

export interface Action {
    name: string;
    /** As the daemon calls it in the `actions` of a task: the operation `task.OP`; if not given, `name`. */
    op?: string;
    label: string;
    body?: Record<string, unknown>;
    confirm?: string;
    reason?: string;
    /** Permits what the agent was denied, with the rule that its task names: for one task at a time. */
    allows?: boolean;
    done: string;
}

/** In the order of their buttons. Which of them fit a task, it says itself. */
export const ACTIONS: Action[] = [
    { name: 'approve', label: 'Approve', done: 'approved' },
    {
        name: 'reject',
        label: 'Reject',
        done: 'rejected',
        confirm: 'It runs again as a new iteration.',
        reason: 'What is wrong? The next iteration reads it.',
    },
    { name: 'close', label: 'Close', done: 'closed' },
    { name: 'sling', label: 'Schedule', done: 'scheduled' },
    { name: 'allow', op: 'retry', label: 'Allow', allows: true, done: 'allowed, and queued again' },
    { name: 'release', label: 'Release', done: 'released' },
    { name: 'retry', label: 'Retry', done: 'queued again' },
    {
        name: 'again',
        label: 'Do again',
        done: 'queued again',
        confirm: 'A new iteration begins; the results of the last one are invalidated.',
    },
    { name: 'priority', label: 'To the front', body: { to: 'front' }, done: 'moved to the front' },
    { name: 'hold', label: 'Hold', done: 'held' },
    {
        name: 'cancel',
        label: 'Cancel',
        done: 'canceled',
        confirm: 'A live run is asked to stop. Tasks that its runs added are canceled with it.',
    },
    {
        name: 'delete',
        label: 'Delete',
        done: 'deleted',
        confirm: 'The task and its history are deleted for good. Its children fail as orphans.',
    },
];

export function possible(task: Task): Action[] {
    if (scope.value === 'read') return [];
    return ACTIONS.filter(
        (action) =>
            task.actions.includes(action.op ?? action.name) &&
            (!action.allows || !!task.denied?.allow),
    );
}

const changeListeners = new Set<(changes: ChangedTask[]) => void>();

/** Views of tasks get the result of an action at once, before its events. */
export function changes(fn: (changes: ChangedTask[]) => void): () => void {
    changeListeners.add(fn);
    return () => changeListeners.delete(fn);
}

/** The rule as it is now, which the person sees before it is sent; null: no. */
async function askRule(id: string): Promise<string | null> {
    const denied = (await get<Task>(`/v1/tasks/${encodeURIComponent(id)}`)).denied;
    if (!denied?.allow) throw new Error(`${id} is no longer held because of a denied tool`);
    const text = `${denied.agent} may use ${denied.allow} in this task from now on, and continues in the same session.`;
    return (await ask(`Allow ${id}?`, visible(text), 'Allow', null, true)) === null
        ? null
        : denied.allow;
}

/** The most tasks that one request takes. */
const AT_ONCE = 10000;

async function send(op: string, body: Record<string, unknown>, ids: string[]): Promise<Changed> {
    const all: Changed = { tasks: [] };
    for (let at = 0; at < ids.length; at += AT_ONCE) {
        const got = await post<Changed>(`/v1/tasks/${op}`, {
            ...body,
            tasks: ids.slice(at, at + AT_ONCE),
        });
        all.tasks.push(...got.tasks);
        for (const fn of changeListeners) fn(got.tasks);
    }
    wantStatus();
    return all;
}

const INVERSE: Record<string, string> = { hold: 'release', release: 'hold' };

/** One step back, where the daemon has an inverse: tasks are held or released again, or get the priority that they had. */
function undoOf(action: Action, got: Changed, before: Task[]): Undo | undefined {
    const ids = got.tasks.filter((task) => !task.already).map((task) => task.id);
    const inverse = INVERSE[action.name];
    const known = before.filter((task) => ids.includes(task.id));
    if (ids.length === 0 || (!inverse && action.name !== 'priority')) return undefined;
    if (!inverse && known.length < ids.length) return undefined;
    return async () => {
        try {
            if (inverse) await send(inverse, {}, ids);
            else
                for (const priority of new Set(known.map((task) => task.priority)))
                    await send(
                        'priority',
                        { priority },
                        known.filter((task) => task.priority === priority).map(({ id }) => id),
                    );
            say(`${ids.length === 1 ? ids[0] : `${ids.length} tasks`}: as before`);
        } catch (error) {
            say(words(error), true);
        }
    };
}

/** `before`: the tasks as they are, as far as they are known. `given`: what a person has written already; then nothing is asked. */
export async function act(
    action: Action,
    ids: string[],
    before: Task[] = [],
    given?: string,
): Promise<boolean> {
    if (ids.length === 0) return false;
    const what = ids.length === 1 ? ids[0] : `${ids.length} tasks`;
    const body: Record<string, unknown> = { ...action.body };
    if (given) body.reason = given;
    if (action.confirm && given === undefined) {
        const answer = await ask(
            `${action.label} ${what}?`,
            action.confirm,
            action.label,
            action.reason ?? null,
        );
        if (answer === null) return false;
        if (action.reason && answer) body.reason = answer;
    }
    try {
        if (action.allows) {
            const rule = await askRule(ids[0] ?? '');
            if (rule === null) return false;
            body.allow = [rule];
        }
        const got = await send(action.op ?? action.name, body, ids);
        const already = got.tasks.every((task) => task.already);
        const running =
            action.name === 'cancel' &&
            got.tasks.some((task) => task.state === 'running' || task.state === 'starting');
        say(
            running
                ? `${what}: asked to stop`
                : `${what}: ${action.done}${already ? ' already' : ''}`,
            false,
            undoOf(action, got, before),
        );
        return true;
    } catch (error) {
        say(words(error), true);
        return false;
    }
}

export async function pause(on: boolean, project?: string): Promise<void> {
    try {
        await post(on ? '/v1/pause' : '/v1/resume', project ? { project } : {});
        await readStatus();
        say(
            `${project ?? 'everything'}: ${on ? 'paused; live runs continue' : 'resumed'}`,
            false,
            () => pause(!on, project),
        );
    } catch (error) {
        say(words(error), true);
    }
}

/** Sends a request and says what came of it. */
async function notify(send: () => Promise<unknown>, text: string, undo?: Undo): Promise<boolean> {
    try {
        await send();
        await readStatus();
        say(text, false, undo);
        return true;
    } catch (error) {
        say(words(error), true);
        return false;
    }
}

export const clearLimiter = (name: string): Promise<boolean> =>
    notify(
        () => post(`/v1/limiters/${encodeURIComponent(name)}/clear`),
        `account ${name}: open again`,
    );

export const clearAgent = (name: string): Promise<boolean> =>
    notify(() => post(`/v1/agents/${encodeURIComponent(name)}/clear`), `agent ${name}: open again`);

/** A failure that needs no one to act; it can be taken back. */
export function dismiss(ids: string[], dismissed = true): Promise<boolean> {
    const what = ids.length === 1 ? ids[0] : `${ids.length} tasks`;
    return notify(
        () => post<AttentionDismiss>('/v1/attention/dismiss', { tasks: ids, dismissed }),
        `${what}: ${dismissed ? 'dismissed' : 'listed again'}`,
        dismissed ? () => dismiss(ids, false) : undefined,
    );
}

export const pick = (task: string, candidate: string): Promise<boolean> =>
    notify(
        () => post(`/v1/tasks/${encodeURIComponent(task)}/pick`, { candidate }),
        `${candidate}: picked`,
    );

/** What the daemon has proposed: of a task, or (`task` null) a setting. */
export function raise(task: string | null, to: RaisedBudget): Promise<boolean> {
    if (task === null)
        return notify(
            () => post('/v1/config', { set: { [to.setting ?? '']: to.value } }),
            `${to.setting}: raised`,
        );
    const amounts = Object.fromEntries(
        (['tokens', 'usd', 'run_tokens', 'run_usd'] as const)
            .filter((name) => to[name] !== null)
            .map((name) => [name, to[name]]),
    );
    return notify(
        () => post(`/v1/tasks/${encodeURIComponent(task)}/budget`, amounts),
        `${task}: budget raised`,
    );
}
