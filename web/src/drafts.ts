// drafts.ts: what a person has typed and not sent. It is kept when another view is shown, when this tab is loaded again, and
// when the daemon refuses it or does not answer.
import { signal } from '@preact/signals';

const STORED = 'sluice.drafts';

function stored(): Record<string, string> {
    try {
        const all: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? '{}');
        return typeof all === 'object' && all !== null ? (all as Record<string, string>) : {};
    } catch {
        return {};
    }
}

export const drafts = signal<Record<string, string>>(stored());

/** An empty text removes it. */
export function setDraft(key: string, text: string): void {
    const all = { ...drafts.value };
    if (text) all[key] = text;
    else delete all[key];
    drafts.value = all;
    try {
        sessionStorage.setItem(STORED, JSON.stringify(drafts.value));
    } catch {
        // Without room in the storage the text is still kept in the page.
    }
}
