// keys.ts: keys that work everywhere, and those of the view that is shown. Keys are ignored while the user
// writes, or together with Ctrl, Alt or Meta: those belong to the browser.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
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

export function keys(): () => void {
    const down = (event: KeyboardEvent) => {
        if (
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
