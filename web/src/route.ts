// route.ts: which view, from the part of the address behind #. The daemon serves one page.
import { signal } from '@preact/signals';

export interface Route {
    view: string;
    id: string;
    /** What follows the id: `log/120` is a line of a task's log. */
    part: string;
    query: URLSearchParams;
}

function parse(): Route {
    const text = location.hash.replace(/^#\/?/, '');
    const [path = '', query = ''] = text.split('?', 2);
    const [view = '', id = '', ...part] = path.split('/');
    return {
        // The link of `sluice dash` is no view.
        view: !view || view.startsWith('t=') ? 'now' : view,
        id: safeDecode(id),
        part: part.join('/'),
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

export function href(view: string, id = '', query: Record<string, string> = {}, part = ''): string {
    const words = new URLSearchParams(
        Object.entries(query).filter(([, value]) => value !== ''),
    ).toString();
    const place = id ? `/${encodeURIComponent(id)}${part ? `/${part}` : ''}` : '';
    return `#/${view}${place}${words ? `?${words}` : ''}`;
}

export function go(view: string, id = '', query: Record<string, string> = {}): void {
    location.hash = href(view, id, query);
}

/** Changes the query of the view that is shown, without a step in the history. */
export function refine(query: Record<string, string>): void {
    const { view, id, part, query: old } = route.value;
    const all = Object.fromEntries(old.entries());
    history.replaceState(null, '', href(view, id, { ...all, ...query }, part));
    route.value = parse();
}

export function routing(): void {
    addEventListener('hashchange', () => {
        route.value = parse();
    });
}
