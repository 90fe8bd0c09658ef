// columns.ts: what the list of tasks shows, and its saved filters. Both are this browser's own.
import { signal } from '@preact/signals';

export interface ListColumn {
    name: string;
    label: string;
    /** What task.list sorts by. */
    sort?: string;
    width: string;
    /** Always shown. */
    fixed?: boolean;
    /** Its width on a phone, if it is shown there. */
    narrow?: string;
}

export const COLUMNS: ListColumn[] = [
    { name: 'state', label: 'State', sort: 'state', width: '52px', fixed: true, narrow: '18px' },
    { name: 'id', label: 'Id', width: '84px', fixed: true, narrow: '72px' },
    {
        name: 'title',
        label: 'Title',
        width: 'minmax(0, 2fr)',
        fixed: true,
        narrow: 'minmax(0, 1fr)',
    },
    { name: 'why', label: 'Why', width: 'minmax(0, 1.3fr)' },
    { name: 'project', label: 'Project', sort: 'project', width: '80px' },
    { name: 'kind', label: 'Kind', sort: 'kind', width: '92px' },
    { name: 'agent', label: 'Agent', sort: 'agent', width: '86px' },
    { name: 'priority', label: 'Priority', sort: 'priority', width: '72px' },
    { name: 'attempt', label: 'Attempts', sort: 'attempt', width: '80px' },
    { name: 'age', label: 'Changed', width: '96px' },
];
const USUAL = ['why', 'project', 'agent', 'priority', 'age'];

function stored<T>(key: string, usual: T, fits: (value: unknown) => value is T): T {
    try {
        const value: unknown = JSON.parse(localStorage.getItem(key) ?? 'null');
        return fits(value) ? value : usual;
    } catch {
        return usual;
    }
}

function store(key: string, value: unknown): void {
    try {
        localStorage.setItem(key, JSON.stringify(value));
    } catch {
        // Without room in the storage it lasts as long as the page.
    }
}

const isNames = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((one) => typeof one === 'string');

const chosen = signal(stored('sluice.columns', USUAL, isNames));

export const isShown = (column: ListColumn): boolean =>
    !!column.fixed || chosen.value.includes(column.name);

export function showColumn(name: string, shown: boolean): void {
    chosen.value = shown ? [...chosen.value, name] : chosen.value.filter((one) => one !== name);
    store('sluice.columns', chosen.value);
}

export const isNarrow = (): boolean => matchMedia('(max-width: 860px)').matches;

export function shownColumns(): ListColumn[] {
    const narrow = isNarrow();
    return COLUMNS.filter((column) => (narrow ? column.narrow : isShown(column)));
}

/** The grid of the head and of each row: first the check box. */
export const gridOf = (columns: ListColumn[]): string =>
    isNarrow()
        ? ['44px', ...columns.map((column) => column.narrow ?? '')].join(' ')
        : ['28px', ...columns.map((column) => column.width)].join(' ');

/* --- saved filters ------------------------------------------------------------------------------ */

export interface SavedFilter {
    name: string;
    query: string;
}

const isFilters = (value: unknown): value is SavedFilter[] =>
    Array.isArray(value) &&
    value.every(
        (one: unknown) =>
            typeof one === 'object' &&
            one !== null &&
            typeof (one as SavedFilter).name === 'string' &&
            typeof (one as SavedFilter).query === 'string',
    );

export const savedFilters = signal(stored('sluice.filters', [], isFilters));

function keep(filters: SavedFilter[]): void {
    savedFilters.value = filters;
    store('sluice.filters', filters);
}

export const saveFilter = (name: string, query: string): void =>
    keep([...savedFilters.value.filter((one) => one.name !== name), { name, query }]);

export const dropFilter = (name: string): void =>
    keep(savedFilters.value.filter((one) => one.name !== name));
