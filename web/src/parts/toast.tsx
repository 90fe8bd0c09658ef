// toast.tsx: what an action did, or why not, in one message that disappears by itself (a refusal stays longer). If the daemon
// can take it back, the message has a button for that, and the key `u` does the same.
import { signal } from '@preact/signals';
import { line } from '../text';

export type Undo = () => Promise<unknown>;

interface Toast {
    id: number;
    text: string;
    bad: boolean;
    undo: Undo | undefined;
}

const STAYS_MS = 4000;
const STAYS_LONG_MS = 12000;

const toasts = signal<Toast[]>([]);
let next = 1;

export function say(text: string, bad = false, undo?: Undo): void {
    const id = next++;
    // Only the last step can be undone.
    const others = undo ? toasts.value.map((one) => ({ ...one, undo: undefined })) : toasts.value;
    toasts.value = [...others.slice(-3), { id, text, bad, undo }];
    setTimeout(() => drop(id), bad || undo ? STAYS_LONG_MS : STAYS_MS);
}

function drop(id: number): void {
    toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** False: the last step cannot be undone any more. */
export function undoLast(): boolean {
    const toast = toasts.value.find((one) => one.undo);
    if (!toast?.undo) return false;
    drop(toast.id);
    void toast.undo();
    return true;
}

export function Toasts() {
    return (
        <div class="toasts" role="status" aria-live="polite">
            {toasts.value.map((toast) => (
                <div key={toast.id} class="toast-row">
                    <button
                        class={`toast${toast.bad ? ' bad' : ''}`}
                        onClick={() => drop(toast.id)}
                        title="dismiss"
                    >
                        {line(toast.text)}
                    </button>
                    {toast.undo && (
                        <button class="toast-undo" onClick={undoLast} title="undo (u)">
                            Undo
                        </button>
                    )}
                </div>
            ))}
        </div>
    );
}
