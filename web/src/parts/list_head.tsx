// list_head.tsx: the head of the list of tasks: all that match, sorting (by the daemon, because the page knows only a part),
// which columns there are, and saved filters.
import {
    isNarrow,
    COLUMNS,
    dropFilter,
    gridOf,
    isShown,
    saveFilter,
    savedFilters,
    showColumn,
    shownColumns,
} from '../columns';
import { go, refine, route } from '../route';
import { line } from '../text';
import { ask } from './dialog';

export interface Sorting {
    by: string;
    reverse: boolean;
}

export const sortingOf = (query: URLSearchParams): Sorting => ({
    by: query.get('sort') ?? '',
    reverse: query.get('dir') === 'down',
});

/** Up, down, and as it was. */
function sortBy(name: string, now: Sorting): void {
    const again = now.by === name;
    refine({
        sort: again && now.reverse ? '' : name,
        dir: again && !now.reverse ? 'down' : '',
    });
}

export function ListHead({
    sorting,
    sortable,
    all,
    toggleAll,
}: {
    sorting: Sorting;
    sortable: boolean;
    all: boolean;
    toggleAll: (all: boolean) => void;
}) {
    const columns = shownColumns();
    return (
        <div class="list-head" style={{ gridTemplateColumns: gridOf(columns) }}>
            <label class="pick" title="all that match">
                <input
                    type="checkbox"
                    aria-label="choose all that match"
                    checked={all}
                    onChange={(event) => toggleAll(event.currentTarget.checked)}
                />
            </label>
            {columns.map((column) => {
                const by = column.sort;
                if (!by || !sortable)
                    return (
                        <span key={column.name} class={`c-${column.name}`}>
                            {column.label}
                        </span>
                    );
                const here = sorting.by === by;
                const way = here ? (sorting.reverse ? 'descending' : 'ascending') : 'not sorted';
                return (
                    <span key={column.name} class={`c-${column.name}`}>
                        <button
                            class="quiet"
                            aria-pressed={here}
                            aria-label={`sort by ${column.label.toLowerCase()}, ${way}`}
                            onClick={() => sortBy(by, sorting)}
                        >
                            {column.label}
                            <span aria-hidden="true">
                                {here ? (sorting.reverse ? '↓' : '↑') : ''}
                            </span>
                        </button>
                    </span>
                );
            })}
        </div>
    );
}

export function ColumnChoice() {
    if (isNarrow()) return null;
    return (
        <details class="column-choice">
            <summary>Columns</summary>
            <div class="column-list">
                {COLUMNS.filter((column) => !column.fixed).map((column) => (
                    <label key={column.name} class="choice">
                        <input
                            type="checkbox"
                            checked={isShown(column)}
                            onChange={(event) =>
                                showColumn(column.name, event.currentTarget.checked)
                            }
                        />{' '}
                        {column.label}
                    </label>
                ))}
            </div>
        </details>
    );
}

async function save(): Promise<void> {
    const name = (
        await ask('Save this filter', 'It is kept in this browser.', 'Save', 'Name')
    )?.trim();
    if (name) saveFilter(name, route.value.query.toString());
}

export function SavedFilters({ filtered }: { filtered: boolean }) {
    const now = route.value.query.toString();
    const known = savedFilters.value.some((one) => one.query === now);
    return (
        <>
            {savedFilters.value.map((one) => (
                <span key={one.name} class={`saved${one.query === now ? ' here' : ''}`}>
                    <button
                        class="quiet"
                        aria-pressed={one.query === now}
                        onClick={() =>
                            go('board', '', Object.fromEntries(new URLSearchParams(one.query)))
                        }
                    >
                        {line(one.name)}
                    </button>
                    <button
                        class="quiet"
                        aria-label={`remove the filter ${one.name}`}
                        onClick={() => dropFilter(one.name)}
                    >
                        ✕
                    </button>
                </span>
            ))}
            {filtered && !known && (
                <button class="quiet" onClick={() => void save()}>
                    Save filter
                </button>
            )}
        </>
    );
}
