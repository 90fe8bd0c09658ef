// keys.ts: keys that work everywhere, and those of the view that is shown. Keys are ignored while the user
// writes, or together with Ctrl, Alt or Meta: those belong to the browser.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { undoLast } from './parts/toast';
import { go } from './route';

export const helpShown = signal(false);
export const addShown = signal(false);

export const VIEWS: { name: string; label: string; key: string }[] = [
    { name: 'now', label: 'Now', key: 'n' },
    { name: 'board', label: 'Board', key: 'b' },
    { name: 'graph', label: 'Graph', key: 'g' },
    { name: 'timeline', label: 'Timeline', key: 't' },
    { name: 'schedules', label: 'Schedules', key: 'd' },
    { name: 'share', label: 'Fair share', key: 's' },
    { name: 'cost', label: 'Cost', key: 'c' },
    { name: 'whatif', label: 'What if', key: 'w' },
    { name: 'events', label: 'Events', key: 'e' },
];

type Handler = (key: string, event: KeyboardEvent) => boolean;
const own: Handler[] = []; // a view, and parts of it
let leader = 0;

/** The keys of a view or of a part of it; the handler says whether it took one. */
export function useKeys(handler: Handler): void {
    useEffect(() => {
        own.push(handler);
        return () => {
            own.splice(own.indexOf(handler), 1);
        };
    });
}

function writing(target: EventTarget | null): boolean {
    return (
        target instanceof HTMLElement &&
        (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
    );
}

/* Rows of any list; a view with keys of its own has taken j and k before. */
const ROWS =
    '[data-row], .rows > li, .schedule-rows > li, .history > li, .event, tbody > tr, .coming > li, .past > li';
const TARGET = 'a[href], button:not(:disabled), summary';

/** The next row gets the focus, or its link, so that Enter opens it. */
function moveBy(step: number): boolean {
    const rows = [...document.querySelectorAll<HTMLElement>(`main :is(${ROWS})`)].filter(
        (row) => row.offsetParent !== null,
    );
    const active = document.activeElement;
    let at = rows.findIndex((row) => row === active || row.contains(active));
    // The current row of a list may be marked without having the focus.
    if (at < 0) at = rows.findIndex((row) => row.classList.contains('here'));
    const row = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))];
    if (!row) return false;
    const target = row.hasAttribute('tabindex')
        ? row
        : (row.querySelector<HTMLElement>(TARGET) ?? row);
    if (target === row && !row.hasAttribute('tabindex')) row.tabIndex = -1;
    target.focus({ preventScroll: true });
    row.scrollIntoView({ block: 'nearest' });
    return true;
}

export function keys(): () => void {
    const down = (event: KeyboardEvent) => {
        if (
            event.defaultPrevented ||
            event.ctrlKey ||
            event.altKey ||
            event.metaKey ||
            document.querySelector('dialog[open]')
        )
            return;
        if (writing(event.target)) {
            if (event.key === 'Escape') (event.target as HTMLElement).blur();
            return;
        }
        const view = VIEWS.find((one) => one.key === event.key);
        if (leader && Date.now() - leader < 1500 && view) {
            leader = 0;
            go(view.name);
        } else if (own.some((handler) => handler(event.key, event))) {
            leader = 0;
        } else if (event.key === 'j' || event.key === 'k') {
            if (!moveBy(event.key === 'j' ? 1 : -1)) return;
        } else if (event.key === 'u') {
            if (!undoLast()) return;
        } else if (event.key === 'g') {
            leader = Date.now();
        } else if (event.key === '?') {
            helpShown.value = true;
        } else if (event.key === 'a') {
            addShown.value = true;
        } else if (event.key === '/') {
            go('board', '', { focus: '1' });
        } else {
            return;
        }
        event.preventDefault();
    };
    addEventListener('keydown', down);
    return () => removeEventListener('keydown', down);
}
