// feed.ts: a long list of tasks, read page by page as far as it is scrolled, and kept current by events. Nothing
// here depends on how many tasks there are: what was not looked at was not read.
import { signal } from '@preact/signals';
import { ApiError, get, type Query, words } from './api';
import type { ChangedTask, Event, Page, State, Task } from './types';

const PAGE = 200; // the first one
const PAGES = 1000; // those behind it
const FETCH_MAX = 24; // single tasks read for one batch of events; above that the list is read again

export interface Wanted {
    states: State[];
    /** `sorted`: the query has `sort`. */
    order: 'new' | 'queue' | 'sorted';
    query: Query;
    /** What titles and ids must contain. */
    text: string;
}

/** Whether the daemon searches; else the page does, in what it reads. */
let searches: boolean | null = null;

export function numberOf(id: string): number {
    return Number(id.slice(id.lastIndexOf('-') + 1));
}

export class Feed {
    items: Task[] = [];
    done = false;
    error: string | null = null;
    /** Rises whenever `items` has changed. */
    readonly version = signal(0);
    private next: string | null = null;
    private busy = false;
    private need = PAGE;
    private stop = new AbortController();
    private known = new Set<string>();

    constructor(readonly wanted: Wanted) {}

    end(): void {
        this.stop.abort();
    }

    private query(limit: number, cursor: string | null): Query {
        const { states, order, query, text } = this.wanted;
        return {
            ...query,
            state: states.join(','),
            order: order === 'sorted' ? undefined : order,
            limit,
            cursor,
            text: text && searches !== false ? text : undefined,
        };
    }

    private fits(task: Task): boolean {
        const { states, query, text } = this.wanted;
        if (!states.includes(task.state)) return false;
        for (const name of ['project', 'agent', 'kind', 'group'] as const)
            if (query[name] && task[name] !== query[name]) return false;
        if (!text) return true;
        const low = text.toLowerCase();
        return (
            task.id.toLowerCase().includes(low) || (task.title ?? '').toLowerCase().includes(low)
        );
    }

    private async page(limit: number, cursor: string | null): Promise<Page<Task>> {
        try {
            const answer = await get<Page<Task>>(
                '/v1/tasks',
                this.query(limit, cursor),
                this.stop.signal,
            );
            if (this.wanted.text && searches === null) searches = true;
            return answer;
        } catch (error) {
            // An older daemon does not know the parameter.
            if (
                !(error instanceof ApiError) ||
                error.status !== 400 ||
                !this.wanted.text ||
                searches === false
            )
                throw error;
            searches = false;
            return this.page(limit, cursor);
        }
    }

    private changed(): void {
        this.version.value++;
    }

    /** At least the first `n` are read, or all. */
    async ensure(n: number): Promise<void> {
        this.need = Math.max(this.need, n);
        if (this.busy) return;
        this.busy = true;
        try {
            while (!this.done && this.items.length < this.need && !this.stop.signal.aborted) {
                const first = this.items.length === 0 && this.next === null;
                const answer = await this.page(first ? PAGE : PAGES, this.next);
                for (const task of answer.items)
                    if (!this.known.has(task.id) && this.fits(task)) {
                        this.known.add(task.id);
                        this.items.push(task);
                    }
                this.next = answer.next;
                this.done = answer.next === null;
                this.error = null;
                this.changed();
            }
        } catch (error) {
            if (!this.stop.signal.aborted) {
                this.error = words(error);
                this.changed();
            }
        } finally {
            this.busy = false;
        }
    }

    /** Reads what is loaded again, at most one page of it; what lies behind stays. */
    async again(): Promise<void> {
        if (this.busy) return;
        this.busy = true;
        try {
            const limit = Math.min(PAGES, Math.max(PAGE, this.items.length));
            const answer = await this.page(limit, null);
            const items = answer.items.filter((task) => this.fits(task));
            const fresh = new Set(items.map((task) => task.id));
            const last = items[items.length - 1];
            const behind =
                answer.next === null || this.wanted.order !== 'new' || !last
                    ? []
                    : this.items.filter(
                          (task) => !fresh.has(task.id) && numberOf(task.id) < numberOf(last.id),
                      );
            this.items = items.concat(behind);
            if (behind.length === 0) {
                this.next = answer.next;
                this.done = answer.next === null;
            }
            this.known = new Set(this.items.map((task) => task.id));
            this.error = null;
            this.changed();
        } catch (error) {
            if (!this.stop.signal.aborted) this.error = words(error);
        } finally {
            this.busy = false;
        }
    }

    private remove(id: string): void {
        if (!this.known.delete(id)) return;
        this.items = this.items.filter((task) => task.id !== id);
    }

    /** What is known of a task now; it moves to its place, or goes. */
    put(task: Task): void {
        if (!this.fits(task)) return this.remove(task.id);
        const at = this.known.has(task.id) ? this.items.findIndex((one) => one.id === task.id) : -1;
        if (at >= 0) {
            this.items[at] = task;
            return;
        }
        if (this.wanted.order !== 'new') return;
        const number = numberOf(task.id);
        let low = 0;
        let high = this.items.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (numberOf(this.items[middle]?.id ?? '0') > number) low = middle + 1;
            else high = middle;
        }
        if (low === this.items.length && !this.done) return;
        this.items.splice(low, 0, task);
        this.known.add(task.id);
    }

    /** The result of an action, before its events. */
    patch(changes: ChangedTask[]): void {
        for (const change of changes) {
            const task = this.items.find((one) => one.id === change.id);
            if (!change.state) this.remove(change.id);
            else if (task) this.put({ ...task, state: change.state, actions: change.actions });
        }
        this.changed();
    }

    /** Removes what has left, and says which tasks must be read. */
    applyEvents(events: Event[]): string[] {
        const wanted = new Set<string>();
        let removed = false;
        for (const event of events) {
            if (!event.task) continue;
            const to =
                event.kind === 'task.state' ? (event.data?.to as State | undefined) : undefined;
            if (to && !this.wanted.states.includes(to)) {
                if (this.known.has(event.task)) {
                    this.remove(event.task);
                    removed = true;
                }
                wanted.delete(event.task);
            } else if (
                this.wanted.order === 'new' &&
                (to || this.known.has(event.task) || event.kind === 'task.added')
            ) {
                wanted.add(event.task);
            }
        }
        if (removed) this.changed();
        return [...wanted];
    }

    touched(): void {
        this.changed();
    }
}

/** Reads the tasks that several feeds want to know about, once. */
export async function refresh(feeds: Feed[], ids: Set<string>): Promise<void> {
    if (ids.size > FETCH_MAX) {
        await Promise.all(feeds.map((feed) => feed.again()));
        return;
    }
    const tasks = await Promise.all(
        [...ids].map((id) => get<Task>(`/v1/tasks/${encodeURIComponent(id)}`).catch(() => null)),
    );
    for (const feed of feeds) {
        for (const task of tasks) if (task) feed.put(task);
        feed.touched();
    }
}
