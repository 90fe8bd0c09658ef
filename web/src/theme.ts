// theme.ts: light or dark, as the system says or as the switch does. Colours are in style.css and states.css.
import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

export const theme = signal<Theme>(
    (localStorage.getItem('sluice.theme') as Theme | null) ?? 'system',
);
/** Rises when colours change: what is drawn on a canvas is drawn again. */
export const paint = signal(0);

export function nextTheme(): void {
    const order: Theme[] = ['system', 'light', 'dark'];
    theme.value = order[(order.indexOf(theme.value) + 1) % order.length] ?? 'system';
}

export function theming(): void {
    effect(() => {
        localStorage.setItem('sluice.theme', theme.value);
        if (theme.value === 'system') delete document.documentElement.dataset.theme;
        else document.documentElement.dataset.theme = theme.value;
        paint.value = paint.peek() + 1;
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => paint.value++);
}

/** A colour of these files, for canvases. */
export function colour(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
