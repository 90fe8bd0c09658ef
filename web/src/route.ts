// route.ts: which view, from the part of the address behind #. The daemon serves one page.
import { signal } from '@preact/signals';

export interface Route {
    view: string;
    id: string;
    query: URLSearchParams;
}

function parse(): Route {
    const text = location.hash.replace(/^#\/?/, '');
    const [path = '', query = ''] = text.split('?', 2);
    const [view = '', id = ''] = path.split('/', 2);
    return {
        // The link of `sluice dash` is no view.
        view: !view || view.startsWith('t=') ? 'now' : view,
        id: safeDecode(id),
        query: new URLSearchParams(query),
    };
}

function safeDecode(text: string): string {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

export const route = signal<Route>(parse());

export function href(view: string, id = '', query: Record<string, string> = {}): string {
    const words = new URLSearchParams(
        Object.entries(query).filter(([, value]) => value !== ''),
    ).toString();
    return `#/${view}${id ? `/${encodeURIComponent(id)}` : ''}${words ? `?${words}` : ''}`;
}

export function go(view: string, id = '', query: Record<string, string> = {}): void {
    location.hash = href(view, id, query);
}

/** Changes the query of the view that is shown, without a step in the history. */
export function refine(query: Record<string, string>): void {
    const { view, id, query: old } = route.value;
    const all = Object.fromEntries(old.entries());
    history.replaceState(null, '', href(view, id, { ...all, ...query }));
    route.value = parse();
}

export function routing(): void {
    addEventListener('hashchange', () => {
        route.value = parse();
    });
}
