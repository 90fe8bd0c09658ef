// bulk.tsx: what can be done to all chosen tasks, in one request.
import { act, ACTIONS, type Action, possible } from '../actions';
import { scope } from '../api';
import type { Selection } from '../selection';
import { count } from '../text';
import type { Task } from '../types';

function shared(selection: Selection, tasks: Task[]): Action[] {
    const { actions } = selection;
    if (scope.value === 'read') return [];
    if (actions)
        return ACTIONS.filter(
            (action) => !action.allows && actions.includes(action.op ?? action.name),
        );
    return ACTIONS.filter(
        (action) =>
            (!action.allows || tasks.length === 1) &&
            tasks.length > 0 &&
            tasks.every((task) => possible(task).includes(action)),
    );
}

export function Bulk({
    selection,
    tasks,
    clear,
}: {
    selection: Selection;
    /** Those of them that the page knows. */
    tasks: Task[];
    clear: () => void;
}) {
    const n = selection.actions ? selection.ids.size : tasks.length;
    if (n === 0) return null;
    const actions = shared(selection, tasks);
    const ids = selection.actions ? [...selection.ids] : tasks.map((task) => task.id);
    return (
        <div class="bulk" role="toolbar" aria-label="chosen tasks">
            <b class="num">{count(n)} chosen</b>
            {actions.length === 0 && (
                <span class="faint">nothing can be done to all of them at once</span>
            )}
            {actions.map((action) => (
                <button
                    key={action.name}
                    class={action.confirm ? 'danger' : ''}
                    onClick={() => {
                        void act(action, ids, tasks).then((ok) => {
                            if (ok) clear();
                        });
                    }}
                >
                    {action.label}
                </button>
            ))}
            <button class="quiet" onClick={clear}>
                clear
            </button>
        </div>
    );
}
