// selection.ts: which tasks are chosen on the board: by key, by check box, a range with Shift, or all that match.
import { useRef, useState } from 'preact/hooks';
import { get, type Query } from './api';
import type { Task, TaskSelect } from './types';

export interface Selection {
    ids: Set<string>;
    /** Of all that match: what can be done to each of them, as the daemon says. */
    actions: string[] | null;
}

const NONE: Selection = { ids: new Set(), actions: null };

/** All that match, in pages of as many as one action takes. */
async function select(query: Query): Promise<Selection> {
    const ids = new Set<string>();
    let actions: string[] | null = null;
    let cursor: string | null = null;
    do {
        const page: TaskSelect = await get<TaskSelect>('/v1/selection', { ...query, cursor });
        for (const id of page.ids) ids.add(id);
        if (page.ids.length > 0)
            actions = actions
                ? actions.filter((name) => page.actions.includes(name))
                : page.actions;
        cursor = page.next;
    } while (cursor);
    return { ids, actions: actions ?? [] };
}

export function useSelection() {
    const [selection, set] = useState<Selection>(NONE);
    const last = useRef<string | null>(null);
    const toggle = (id: string) => {
        last.current = id;
        set((old) => {
            const ids = new Set(old.ids);
            if (!ids.delete(id)) ids.add(id);
            return { ids, actions: null };
        });
    };
    return {
        selection,
        toggle,
        /** With Shift: all from the last one to this, in the order of the list. */
        click: (task: Task, items: Task[], isRange: boolean) => {
            const from = items.findIndex((one) => one.id === last.current);
            const to = items.indexOf(task);
            if (!isRange || from < 0 || to < 0) return toggle(task.id);
            const range = items.slice(Math.min(from, to), Math.max(from, to) + 1);
            last.current = task.id;
            set((old) => ({
                ids: new Set([...old.ids, ...range.map((one) => one.id)]),
                actions: null,
            }));
        },
        all: async (query: Query) => set(await select(query)),
        clear: () => set(NONE),
    };
}
